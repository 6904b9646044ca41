"""The classical Runge-Kutta method of fourth order."""

from draisine.codegen.routine import routine
from draisine.simulation.integrators._drivers import Workspace, evaluate_rates
from draisine.simulation.integrators._explicit import EqualSteps

ORDER = 4
ADAPTIVE = False


@routine
def step(p: Workspace, t0: float, h: float, last: float, i: int) -> None:
    """Write the state after step i, y + h (k1 + 2 k2 + 2 k3 + k4) / 6, to x."""
    t = t0 + i * h
    c = p.lanes
    size = p.n * p.lanes
    x = p.x
    y = p.y
    k1 = p.k
    k2 = p.k[p.row :]
    k3 = p.k[2 * p.row :]
    k4 = p.k[3 * p.row :]
    x[c : c + size] = y[:size] + 0.5 * h * k1[:size]
    evaluate_rates(p, min(t + 0.5 * h, last), k2)
    x[c : c + size] = y[:size] + 0.5 * h * k2[:size]
    evaluate_rates(p, min(t + 0.5 * h, last), k3)
    x[c : c + size] = y[:size] + h * k3[:size]
    evaluate_rates(p, min(t + h, last), k4)
    x[c : c + size] = y[:size] + h * (k1[:size] + 2.0 * (k2[:size] + k3[:size]) + k4[:size]) / 6.0


advance = equal = EqualSteps(step, stages=4)
