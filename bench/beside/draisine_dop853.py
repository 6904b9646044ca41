"""This package: the eighth order, as long steps as 1e-10 allows; in lanes 63 equal ones."""

import draisine
from beside._work import UNTIL

MODULE, NAME = "draisine", "draisine, DOP853, 1e-10"
NOTE = "1,000 samples; in lanes equal steps of 80 ms"


def prepare(work):
    """Return its jobs."""
    numerics = draisine.Numerics(integrator="dop853", rtol=1e-10, atol=1e-12, dt=0.005)
    equal = draisine.Numerics(integrator="dop853", dt=UNTIL / 63)
    system, start = work.fresh("dop853")
    first = system.machine().layout.r.start

    def run():
        motion = draisine.simulate(system, start, UNTIL, numerics=numerics)
        return motion.arcs[-1].y[-1, work.steer_entry]

    def lanes():
        states = [start] * work.many
        return draisine.simulate_many(system, states, UNTIL, numerics=equal)["r"][
            work.steer_entry - first
        ]

    run()
    return {"run": run, "lanes": lanes}
