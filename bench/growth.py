"""How work grows with the size of a machine: `python bench/growth.py [--longest N]`.

Chains without contacts, snakes with a blade on each link and trains of trailers, from 4 links on: operations,
microseconds per right-hand side, and the processor's seconds to derive and to compile all that a first
run needs (`initial`, `enter`, `project`, `rate`, `observe`), nothing kept; then the exponents from 8
links on. Below nine links all rows are solved at once, above joint by joint.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import draisine
from draisine.algebra.scalar import Floats
from draisine.codegen.cache import Store
from draisine.codegen.routine import Address, call, routine
from draisine.codegen.targets.native import compile_routines
from draisine.model import Blade, Body, Model, Revolute, inertia

FIRST_RUN = ("initial", "enter", "project", "rate", "observe")


def blades(
    *, mass: float = 1.0, moment: float = 0.05, pitch: float = 0.3, links: int = 32
) -> Model:
    """Return a snake of free links, hinged midway, with a blade 0.05 m behind each middle."""
    up, ahead = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)
    middles = [(-pitch * k, 0.0, 0.0) for k in range(links)]
    spread = inertia(moment / 2, moment / 2, moment)
    return Model(
        bodies=[Body(f"link{k}", mass, x, spread) for k, x in enumerate(middles)],
        joints=[
            Revolute(f"joint{k}", f"link{k}", f"link{k + 1}", up, (-pitch * (k + 0.5), 0.0, 0.0))
            for k in range(links - 1)
        ],
        contacts=[
            Blade(f"blade{k}", f"link{k}", (x[0] - 0.05, 0.0, 0.0), ahead)
            for k, x in enumerate(middles)
        ],
        gravity=np.zeros(3),
        base="SE(2)",
    )


MACHINES = {
    "chain": ("chain", lambda n: {"links": n}),
    "snake": (blades, lambda n: {"links": n}),
    "trailers": ("car_with_trailers", lambda n: {"lengths": (1.0,) * n}),
}


@routine
def repeated(address: Address, x: Floats, table: Floats, out: Floats, count: int) -> None:
    """Call a program over and over."""
    for _ in range(count):
        call(address, x, table, out, 1)


def clock(job):
    """Return the processor's seconds for a job, and what it returned."""
    start = time.process_time()
    result = job()
    return time.process_time() - start, result


def measure(vehicle, arguments, loop):
    """Return operations, microseconds, seconds to derive and seconds to compile."""
    with tempfile.TemporaryDirectory() as folder:
        system = draisine.compile(vehicle, **arguments, store=Store(Path(folder)))
        machine = system.machine()
        derived, _ = clock(lambda: [machine.programs[name] for name in FIRST_RUN])
        compiled, _ = clock(lambda: [machine.bind(name) for name in FIRST_RUN])
        rate, operations = machine.rate, machine.programs["rate"].operations
        x, out = rate.inputs.pack(q=[1.0, 0.0, 0.0, 0.0]), np.zeros(rate.outputs.size)
        spent = min(clock(lambda: loop(rate.address, x, rate.table, out, 500))[0] for _ in range(9))
    return operations, 1e6 * spent / 500, derived, compiled


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--longest", type=int, default=64, help="most links")
    longest = parser.parse_args().longest
    (loop,) = compile_routines(repeated)
    for name, (vehicle, sized) in MACHINES.items():
        print(f"{name}: links, operations, us, derive s, compile s")
        rows = []
        for n in (k for k in (4, 8, 10, 16, 20, 32, 64) if k <= longest):
            rows.append((n, *measure(vehicle, sized(n), loop)))
            print("  {:3d} {:8d} {:8.3f} {:8.2f} {:8.2f}".format(*rows[-1]), flush=True)
        long = np.log([row for row in rows if row[0] > 8])
        fits = [np.polyfit(long[:, 0], long[:, k], 1)[0] for k in range(1, 5)]
        print("  exponents above 8 links: {:8.2f} {:8.2f} {:8.2f} {:8.2f}".format(*fits))


if __name__ == "__main__":
    sys.exit(main())
