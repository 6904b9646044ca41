"""This package: RK4 in steps of 5 ms."""

import numpy as np

import draisine
from beside._work import DT, UNTIL
from draisine.algebra.scalar import Floats
from draisine.analysis.bicycle.eigenvalues import eigenvalues
from draisine.codegen.routine import Address, call, routine
from draisine.codegen.targets.native import compile_routines

MODULE, NAME = "draisine", "draisine, RK4, 5 ms"
NOTE = "checked and projected at every step; the jump with located events and its dataset"


@routine
def repeated(address: Address, x: Floats, table: Floats, out: Floats, count: int) -> None:
    """Call a program over and over."""
    for _ in range(count):
        call(address, x, table, out, 1)


def prepare(work):
    """Return its jobs."""
    system, start = work.fresh("rk4")
    numerics = draisine.Numerics(integrator="rk4", dt=DT)
    machine, (loop,) = system.machine(), compile_routines(repeated)
    rate = machine.rate
    x = rate.inputs.pack(**machine.layout.split(work.y))
    out = np.zeros(rate.outputs.size)
    flight = system.machine({"rear": "open", "front": "open"})
    z = flight.enter(start)
    at = flight.rate.inputs.pack(**flight.layout.split(z))

    def fly():
        for _ in range(work.repeat):
            flight.rate.flat(at)

    def run():
        motion = draisine.simulate(system, start, UNTIL, numerics=numerics)
        return motion.arcs[-1].y[-1, work.steer_entry]

    def lanes():
        end = draisine.simulate_many(system, [start] * work.many, UNTIL, numerics=numerics)
        return end["r"][work.steer_entry - machine.layout.r.start]

    def jump():
        draisine.run("mauny2018/ramp-jump")

    run()
    return {
        "rate": lambda: loop(rate.address, x, rate.table, out, work.repeat),
        "flight": fly,
        "run": run,
        "lanes": lanes,
        "jump": jump,
        "eigenvalues": lambda: eigenvalues(system, work.speeds),
    }
