"""Basins of attraction of walkers: many initial states are integrated at once, by RK4 with a constant time
step.
"""

from dataclasses import dataclass

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.gait.walk import Walk
from draisine.errors import ConfigurationError
from draisine.system.configuration import find_configurations

RK4_STEPS = 400
"""Number of RK4 steps in the longest allowed duration of a walker's step."""


@dataclass(frozen=True, eq=False)
class Basin:
    """Numbers of completed steps and final states from N initial states."""

    steps: Floats  # number of steps completed from each initial state, (N,)
    x: Floats  # reduced state x after the last completed step, (N, components)


def basin(walk: Walk, starts: Floats, steps: int = 10) -> Basin:
    """Return the number of steps that a walker completes from each initial state.

    Touch-downs are located on cubic interpolants of RK4 steps, with errors of about 1e-7.

    Parameters
    ----------
    walk
        Return map of the walker.
    starts
        Initial reduced states x, (N, components).
    steps
        Largest number of steps of the walker.

    Examples
    --------
    >>> from draisine.analysis.gait.walk import walk
    >>> from draisine.system.system import compile
    >>> wheel = walk(compile("rimless_wheel"), 3.0)
    >>> basin(wheel, np.array([[-0.39, 0.3], [-0.39, 2.0]]), 3).steps
    array([0, 3])
    """
    x = np.array(starts, dtype=float)
    completed = np.zeros(len(x), dtype=int)
    active = np.arange(len(x))
    for _ in range(steps):
        if not len(active):
            break
        images, struck = _take_steps(walk, x[active])
        active = active[struck]
        x[active] = images[struck]
        completed[active] += 1
    return Basin(completed, x)


def _take_steps(walk: Walk, reduced_states: Floats) -> tuple[Floats, Floats]:
    """Return the images (N, components) of reduced states under the return map, and a mask (N,).

    The mask is false for states without image: the walker falls before it touches down.
    """
    layout = walk.machine.layout
    h = walk.longest / RK4_STEPS
    y = _state_vectors(walk, reduced_states)
    rate = _state_rates(walk, y)
    gap = _second_foot_gaps(walk, y)[0]
    end = y.copy()
    struck = np.zeros(len(y), dtype=bool)
    for _ in range(RK4_STEPS):
        later = y + h / 6 * _runge_kutta_sum(walk, y, rate, h)
        later[:, layout.q] /= np.linalg.norm(later[:, layout.q], axis=1, keepdims=True)
        new_rate = _state_rates(walk, later)
        new_gap, armed = _second_foot_gaps(walk, later)
        touches = (gap > 0) & (new_gap <= 0) & (armed > 0) & ~struck
        if touches.any():
            ends = (y[touches], later[touches], h * rate[touches], h * new_rate[touches])
            end[touches] = _locate_touchdown(walk, gap[touches], new_gap[touches], *ends)
            struck |= touches
        if struck.all():
            break
        y = later
        rate = new_rate
        gap = new_gap
    images = reduced_states.copy()
    if struck.any():
        images[struck] = walk.foot_impact(end[struck, None])[0][:, 0]
    # If a leg is beyond the horizontal, the walker has fallen and its step does not count.
    upright = np.abs(images[:, : len(walk.joints)]).max(axis=1) < np.pi / 2
    return images, struck & upright


def _state_vectors(walk: Walk, reduced_states: Floats) -> Floats:
    """Return the state vectors y (N, entries) of many reduced states (N, components)."""
    k = len(walk.joints)
    try:
        y = find_configurations(
            walk.machine, {name: reduced_states[:, i] for i, name in enumerate(walk.joints)}
        )
    except ConfigurationError as error:
        raise ConfigurationError(f"A start of the basin is infeasible: {error}") from error
    return walk.set_independent_speeds(y[:, None], reduced_states[:, None, k:])[:, 0]


def _state_rates(walk: Walk, states: Floats) -> Floats:
    """Return the time derivatives of many state vectors, (N, entries)."""
    code = walk.machine.rate
    return code.batch(code.inputs.pack(**walk.machine.layout.split(states.T)))["rate"].T


def _runge_kutta_sum(walk: Walk, states: Floats, k1: Floats, step: float) -> Floats:
    """Return k1 + 2 k2 + 2 k3 + k4 of an RK4 step of length (s)."""
    k2 = _state_rates(walk, states + step / 2 * k1)
    k3 = _state_rates(walk, states + step / 2 * k2)
    return k1 + 2 * (k2 + k3) + _state_rates(walk, states + step * k3)


def _second_foot_gaps(walk: Walk, states: Floats) -> tuple[Floats, Floats]:
    """Return the gaps (m) and arming conditions of the second foot at many state vectors, (N,)
    each.
    """
    return walk.second_foot_gap(states[:, walk.machine.layout.r])


def _locate_touchdown(walk: Walk, gap: Floats, later: Floats, *ends: Floats) -> Floats:
    """Return the states (N, entries) at which the gaps close on cubic interpolants, by the chord method.

    `gap` and `later` are the gaps (m) at the ends of the interval, `ends` states and rates there.
    """
    share = gap / (gap - later)
    for _ in range(4):
        gap_there = _second_foot_gaps(walk, _interpolate_hermite(share[:, None], *ends))[0]
        share = np.clip(share + gap_there / (gap - later), 0.0, 1.0)
    return _interpolate_hermite(share[:, None], *ends)


def _interpolate_hermite(
    fraction: Floats, first_state: Floats, last_state: Floats, first_rate: Floats, last_rate: Floats
) -> Floats:
    """Return the cubic Hermite interpolant between two states at a fraction in [0, 1] of the step."""
    return (
        (1 + 2 * fraction) * (1 - fraction) ** 2 * first_state
        + fraction * (1 - fraction) ** 2 * first_rate
        + fraction * fraction * (3 - 2 * fraction) * last_state
        + fraction * fraction * (fraction - 1) * last_rate
    )
