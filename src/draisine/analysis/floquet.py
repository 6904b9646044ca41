"""Floquet multipliers of periodic runs, and transition matrices along any smooth run.

Deviations from a run obey `d(dx)/dt = A(t) dx` (`linearise(run)`). The transition matrix F solves
`dF/dt = A(t) F`, F(0) = 1; over one period T it is the monodromy matrix, whose eigenvalues are the Floquet
multipliers, eq. [floquet]. The dense output of a run consists of polynomials in time. Each step of the run is
divided into equal intervals, in which F is computed by collocation: a polynomial satisfies the equation at
every Chebyshev node but the first. The number of intervals is doubled until F converges.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.linear import Linear, linear_systems, smooth_arcs
from draisine.analysis.variation import Chart, chart, vary
from draisine.errors import ConfigurationError
from draisine.simulation.trajectory import BilateralArc, Trajectory

COLLOCATION_NODES = 8
"""Number of Chebyshev nodes per interval; the error falls with the 12th power of the interval
length.
"""

MAX_INTERVALS = 32
"""Largest number of intervals per integrator step; 5 doublings gain 18 digits."""

TRANSITION_TOLERANCE = 1e-11
"""Largest relative change of the transition matrix at which the intervals are not divided further."""

PERIODIC_TOLERANCE = 1e-6
"""Largest difference of initial and final state of a periodic run, as a fraction of the largest state."""

STABILITY_MARGIN = 1e-9
"""Largest distance from the unit circle of a multiplier that counts as lying on it; smaller distances are
rounding errors."""


@dataclass(frozen=True, eq=False)
class Floquet:
    """Monodromy matrix of a periodic run, with its multipliers.

    Attributes
    ----------
    monodromy
        Matrix (states, states) that maps deviations at the start to those one period later.
    states
        Names of the states.
    period
        Period (s).
    """

    monodromy: Floats
    states: tuple[str, ...]
    period: float

    def __repr__(self) -> str:
        largest = ", ".join(f"{abs(x):.6g}" for x in self.multipliers[:3])
        return f"Floquet multipliers over {self.period:.6g} s, largest magnitudes: {largest}"

    @cached_property
    def multipliers(self) -> Floats:
        """Floquet multipliers (growth factors of deviations in one period), largest magnitude
        first.
        """
        values = np.linalg.eigvals(self.monodromy)
        return values[np.lexsort((-values.imag, -np.abs(values)))]

    @property
    def exponents(self) -> Floats:
        """Floquet exponents log(multiplier) / period (1/s); imaginary parts up to 2 pi / period."""
        return np.log(self.multipliers.astype(complex)) / self.period

    @property
    def stable(self) -> bool:
        """Whether all multipliers lie inside the unit circle by more than rounding errors."""
        return bool(np.abs(self.multipliers[0]) < 1.0 - STABILITY_MARGIN)


def floquet(run: Trajectory) -> Floquet:
    """Compute the Floquet multipliers of a run over one period.

    Parameters
    ----------
    run
        Run over exactly one period, of an adaptive integrator, without impacts. Cyclic coordinates
        (position, heading, angles of wheels) need not return to their initial values.

    Returns
    -------
    Floquet
        Monodromy matrix, multipliers and exponents.

    Raises
    ------
    ConfigurationError
        If the run is not periodic, has no dense output, or has impacts.

    Examples
    --------
    Once around a steady circle, multipliers are `exp(eigenvalue * period)`:

    >>> import numpy as np
    >>> from draisine import compile
    >>> from draisine.analysis.equilibrium import steady
    >>> turn = steady(compile("whipple"), free=["steer"], lean=0.1, forward_speed=4.5)
    >>> period = 2.0 * np.pi / abs(turn.values["yaw_rate"])
    >>> multipliers = floquet(turn.simulate(period))
    >>> growth = turn.linear().eigenvalues().real.max()
    >>> bool(abs(multipliers.exponents[0].real - growth) < 1e-8)
    True
    """
    matrix, ends = transition(run)
    first = ends[0]
    difference = np.abs(ends[1].x0 - first.x0)
    scale = 1.0 + np.abs(first.x0).max(initial=0.0)
    worst = int(np.argmax(difference))
    if difference[worst] > PERIODIC_TOLERANCE * scale:
        raise ConfigurationError(
            f"The run is not periodic: {first.states[worst]} differs by {difference[worst]:.3g} between "
            "its ends. Let it end after exactly one period; return_map finds periodic motions."
        )
    return Floquet(matrix, first.states, float(run.t[-1] - run.t[0]))


def transition(run: Trajectory) -> tuple[Floats, Linear]:
    """Return the transition matrix over a smooth run, and the linear systems at both ends.

    To first order, the final deviations are the matrix times the initial deviations.

    Parameters
    ----------
    run
        Run in one contact mode without impacts, of an adaptive integrator.

    Returns
    -------
    matrix
        Transition matrix, (states, states).
    linear
        Linear systems at the beginning and at the end of the run, stacked along the first axis.

    Examples
    --------
    >>> from draisine import compile, simulate, state
    >>> disc = compile("rolling_disc")
    >>> matrix, ends = transition(simulate(disc, state(disc, forward_speed=3.0), 1.0))
    >>> matrix.shape[0] == len(ends.states)
    True
    """
    names: Chart | None = None
    total: Floats | None = None
    ends: list[Linear] = []
    for arc in smooth_arcs(run):
        if arc.dense is None:
            raise ConfigurationError(
                "The run has no dense output. Simulate it with an adaptive integrator, the default."
            )
        if names is None:
            names = chart(vary(arc.machine, arc.y, arc.inputs, t=arc.t, anchors=arc.anchors))
        matrix, first, last = _arc_transition(arc, names, float(run.t[-1]))
        total = matrix if total is None else matrix @ total
        ends += [first, last]
    assert total is not None
    both = [ends[0], ends[-1]]
    arrays = ("A", "B", "C", "D", "x0", "w0", "y0", "heading", "rates")
    joined: dict[str, Any] = {
        name: np.array([getattr(end, name) for end in both]) for name in arrays
    }
    times = np.array([run.t[0], run.t[-1]])
    return total, replace(ends[0], **joined, times=times)


def _arc_transition(arc: BilateralArc, names: Chart, until: float) -> tuple[Floats, Linear, Linear]:
    """Return the transition matrix over a smooth arc of a run, and the linear systems at both ends."""
    ends = linear_systems(
        arc.machine, arc.y[[0, -1]], arc.inputs[[0, -1]], form="frozen", t=arc.t[[0, -1]],
        names=names,
    )  # fmt: skip
    intervals = 1
    total = _divided_transition(arc, names, until, intervals)
    while intervals < MAX_INTERVALS:
        intervals *= 2
        previous = total
        total = _divided_transition(arc, names, until, intervals)
        if np.abs(total - previous).max() <= TRANSITION_TOLERANCE * np.abs(total).max():
            break
    return total, ends[0], ends[1]


def _divided_transition(arc: BilateralArc, names: Chart, until: float, intervals: int) -> Floats:
    """Return the transition matrix over an arc whose steps are divided into intervals."""
    assert arc.dense is not None
    count = COLLOCATION_NODES
    nodes = 0.5 - 0.5 * np.cos(np.pi * np.arange(count) / (count - 1))  # Chebyshev nodes in [0, 1]
    dense_inputs = np.broadcast_to(arc.dense.inputs.T, (arc.dense.t.size, arc.inputs.shape[1]))
    dense_inputs = dense_inputs.reshape(*arc.dense.t.shape, -1)

    # Evaluate the linear systems at all nodes of the arc in one call.
    times = []
    states = []
    inputs = []
    for dense_times, y, w in zip(arc.dense.t, arc.dense.y, dense_inputs, strict=True):
        # The last step of the integrator may extend beyond the end of the run: cut it off.
        end = min(float(dense_times[-1]), until)
        if end <= dense_times[0]:
            continue
        for begin, stop in pairwise(np.linspace(dense_times[0], end, intervals + 1)):
            t = begin + nodes * (stop - begin)
            weights = np.array([_interpolation_weights(dense_times, x) for x in t])
            times.append(t)
            states.append(weights @ y)
            inputs.append(weights @ w)
    t, y, w = (np.concatenate(x) for x in (times, states, inputs))
    A = linear_systems(arc.machine, y, w, form="frozen", t=t, names=names).A

    total = np.eye(A.shape[1])
    for k, t in enumerate(times):
        total = _transition_of_interval(t, A[k * count : (k + 1) * count]) @ total
    return total


def _transition_of_interval(times: Floats, A: Floats) -> Floats:
    """Return the transition matrix over one interval from A at its nodes, (nodes, n, n).

    The polynomial's derivative at each node but the first equals A times its value there.
    """
    n = A.shape[1]
    system = np.kron(_differentiation_matrix(times), np.eye(n))
    for k in range(len(times)):
        system[k * n : (k + 1) * n, k * n : (k + 1) * n] -= A[k]
    solution = np.linalg.solve(system[n:, n:], -system[n:, :n])
    return solution[-n:]


def _barycentric_weights(times: Floats) -> Floats:
    """Return the barycentric interpolation weights of nodes, (nodes,)."""
    apart = (times[:, None] - times[None, :]) / (times[-1] - times[0])
    np.fill_diagonal(apart, 1.0)
    return 1.0 / np.prod(apart, axis=1)


def _differentiation_matrix(times: Floats) -> Floats:
    """Return the matrix (nodes, nodes) that differentiates a polynomial given at the nodes (1/s)."""
    weights = _barycentric_weights(times)
    apart = times[:, None] - times[None, :]
    np.fill_diagonal(apart, 1.0)
    D = weights[None, :] / weights[:, None] / apart
    np.fill_diagonal(D, 0.0)
    np.fill_diagonal(D, -D.sum(axis=1))
    return D


def _interpolation_weights(times: Floats, time: float) -> Floats:
    """Return the weights (nodes,) that evaluate a polynomial, given at the nodes, at a time."""
    apart = time - times
    if np.any(apart == 0.0):
        return (apart == 0.0).astype(float)
    terms = _barycentric_weights(times) / apart
    return terms / terms.sum()
