"""Adams methods: a predictor alone, or predict, evaluate, correct, evaluate."""

import math
from collections.abc import Sequence

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Routine, each, routine
from draisine.codegen.targets.native import Packed
from draisine.simulation.integrators import rk4
from draisine.simulation.integrators._drivers import Problem, Span, Workspace, evaluate, march_code
from draisine.simulation.integrators._explicit import EqualSteps

PARTS = 4
"""Runge-Kutta steps per step at the start."""


def _step(corrector: Sequence[float]) -> Routine:
    """Return the step of the method with a corrector's weights of f at steps n + 1, n, ..., n - 3."""
    corrects = len(corrector) > 0
    b0, b1, b2, b3, b4 = [*corrector, *[0.0] * 5][:5]
    a1, a2, a3, a4 = 55.0 / 24.0, -59.0 / 24.0, 37.0 / 24.0, -9.0 / 24.0

    @routine
    def step(p: Workspace, t0: float, h: float, last: float, i: int) -> None:
        """Write y + h sum a_j f_j, where f_j is the rate j - 1 steps ago; then, where there is a
        corrector, y + h sum b_j f_j with f_0 the rate there.
        """
        c, size, row, x, y = p.lanes, p.n * p.lanes, p.row, p.x, p.y
        f0, f1, f2 = p.k[4 * row :], p.k[i % 4 * row :], p.k[(i + 3) % 4 * row :]
        f3, f4 = p.k[(i + 2) % 4 * row :], p.k[(i + 1) % 4 * row :]
        for k in each(size):
            move = h * a1 * f1[k] + h * a2 * f2[k] + h * a3 * f3[k] + h * a4 * f4[k]
            x[c + k] = y[k] + move
        if corrects:
            evaluate(p, min(t0 + (i + 1) * h, last), f0)
            for k in each(size):
                move = h * b1 * f1[k] + h * b2 * f2[k] + h * b3 * f3[k] + h * b4 * f4[k]
                x[c + k] = y[k] + (h * b0 * f0[k] + move)

    return step


@routine
def remember(p: Workspace, t0: float, h: float, done: int, states: Floats) -> None:
    """Keep the rates of the states before the first three steps, and go on from that after the last
    step that is done.
    """
    c, size = p.lanes, p.n * p.lanes
    for i in range(4):
        p.x[c : c + size] = states[min(i, done) * PARTS * size :][:size]
        if i < 3:
            evaluate(p, t0 + i * h, p.k[i * p.row :])


class Adams(EqualSteps):
    """The Adams method with AB4 as its predictor and a corrector (empty: the predictor alone).

    The first three steps are Runge-Kutta's, each in four parts: at full length they would excite
    the stiff correction (2.41) a thousand times as much as all later steps.
    """

    def __init__(self, corrector: Sequence[float]) -> None:
        super().__init__(_step(corrector), stages=5, ring=4)

    def steps(self, span: Span) -> int:
        """Return how many equal steps no longer than dt a stretch has: four at least."""
        return max(4, super().steps(span))

    def start(self, problem: Problem, p: Packed, span: Span, samples: Floats) -> int:
        """Take the first three steps; return with which step to go on."""
        w, t0, h = p.record, span.start, (span.end - span.start) / self.steps(span)
        third, end = t0 + 3 * h, 3 * PARTS
        first = p if w.keep else problem.workspace(w.n, 4, np.zeros(1))
        states = np.empty((end + 1, w.n * w.lanes))
        states[0] = first.record.x[w.lanes :][: w.n * w.lanes] = samples[0].ravel()
        march, keep = (march_code(r, w.lanes) for r in (rk4.equal.march, remember))
        part, last = (third - t0) / end, math.nextafter(third, t0)
        done = int(march(first, t0, part, last, 0, end, states)) // PARTS
        w.wrong[:], w.ended[:] = first.record.wrong, first.record.ended / PARTS
        if w.keep:
            samples[: done + 1] = states[: done * PARTS + 1 : PARTS]
        keep(p, t0, h, done, states)
        return done
