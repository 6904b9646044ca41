"""Adams methods with equal steps: Adams-Bashforth predictor only, or predictor and corrector (PECE mode)."""

import math
from collections.abc import Sequence

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Routine, each, routine
from draisine.codegen.targets.native import Packed
from draisine.simulation.integrators import rk4
from draisine.simulation.integrators._drivers import (
    Problem,
    Span,
    Workspace,
    evaluate_rates,
    step_loop_code,
)
from draisine.simulation.integrators._explicit import EqualSteps

STARTING_SUBSTEPS = 4
"""Number of Runge-Kutta substeps in each of the first three steps.

An Adams method of fourth order needs the rates at three earlier steps, which do not exist yet.
"""


def _step(corrector: Sequence[float]) -> Routine:
    """Return the routine of one Adams step with the predictor AB4.

    `corrector` contains the weights of the rates at steps n + 1, n, ..., n - 3 in the corrector. If it is
    empty, the step consists of the predictor alone.
    """
    corrects = len(corrector) > 0
    b0, b1, b2, b3, b4 = [*corrector, *[0.0] * 5][:5]
    a1, a2, a3, a4 = 55.0 / 24.0, -59.0 / 24.0, 37.0 / 24.0, -9.0 / 24.0

    @routine
    def step(p: Workspace, t0: float, h: float, last: float, i: int) -> None:
        """Write the state after step i to x.

        The predictor is y + h sum a_j f_j, where f_j is the rate j - 1 steps ago. The corrector is
        y + h sum b_j f_j, where f_0 is the rate at the predicted state.
        """
        c = p.lanes
        size = p.n * p.lanes
        row = p.row
        x = p.x
        y = p.y
        f0 = p.k[4 * row :]
        f1 = p.k[i % 4 * row :]
        f2 = p.k[(i + 3) % 4 * row :]
        f3 = p.k[(i + 2) % 4 * row :]
        f4 = p.k[(i + 1) % 4 * row :]
        for k in each(size):
            move = h * a1 * f1[k] + h * a2 * f2[k] + h * a3 * f3[k] + h * a4 * f4[k]
            x[c + k] = y[k] + move
        if corrects:
            evaluate_rates(p, min(t0 + (i + 1) * h, last), f0)
            for k in each(size):
                move = h * b1 * f1[k] + h * b2 * f2[k] + h * b3 * f3[k] + h * b4 * f4[k]
                x[c + k] = y[k] + (h * b0 * f0[k] + move)

    return step


@routine
def store_rates(p: Workspace, t0: float, h: float, done: int, states: Floats) -> None:
    """Store the rates at the first three states, and write the state after the last finished step to x.

    `states` are the states after all Runge-Kutta substeps, and `done` is the number of finished steps.
    """
    c = p.lanes
    size = p.n * p.lanes
    for i in range(4):
        p.x[c : c + size] = states[min(i, done) * STARTING_SUBSTEPS * size :][:size]
        if i < 3:
            evaluate_rates(p, t0 + i * h, p.k[i * p.row :])


class Adams(EqualSteps):
    """An Adams method with AB4 as predictor and the weights of a corrector (empty: the predictor alone).

    RK4 takes the first three steps, in substeps. Full RK4 steps would excite the stiff drift correction,
    (2.41) of the thesis, a thousand times as much as all later steps.
    """

    def __init__(self, corrector: Sequence[float]) -> None:
        super().__init__(_step(corrector), stages=5, ring=4)

    def steps(self, span: Span) -> int:
        """Return the number of equal steps of an interval, no longer than dt and at least four."""
        return max(4, super().steps(span))

    def start(self, problem: Problem, p: Packed, span: Span, samples: Floats) -> int:
        """Take the first three steps by RK4; return the number of finished steps."""
        w = p.record
        t0 = span.start
        h = (span.end - span.start) / self.steps(span)
        third = t0 + 3 * h
        substeps = 3 * STARTING_SUBSTEPS
        # RK4 stores all its states, so it needs a workspace that keeps samples.
        first = p if w.keep else problem.workspace(w.n, 4, np.zeros(1))
        states = np.empty((substeps + 1, w.n * w.lanes))
        states[0] = samples[0].ravel()
        first.record.x[w.lanes :][: w.n * w.lanes] = states[0]
        take_steps = step_loop_code(rk4.equal.take_steps, w.lanes)
        substep = (third - t0) / substeps
        last = math.nextafter(third, t0)
        done = int(take_steps(first, t0, substep, last, 0, substeps, states)) // STARTING_SUBSTEPS
        w.wrong[:] = first.record.wrong
        w.ended[:] = first.record.ended / STARTING_SUBSTEPS
        if w.keep:
            samples[: done + 1] = states[: done * STARTING_SUBSTEPS + 1 : STARTING_SUBSTEPS]
        step_loop_code(store_rates, w.lanes)(p, t0, h, done, states)
        return done
