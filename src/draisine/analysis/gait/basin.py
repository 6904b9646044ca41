"""Where walkers must begin so that they do not fall: many starts side by side, step after step."""

from dataclasses import dataclass

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.gait.walk import Walk
from draisine.errors import ConfigurationError
from draisine.system.configuration import configurations

FINE = 400
"""In how many equal steps of Runge and Kutta the longest step is followed."""


@dataclass(frozen=True, eq=False)
class Basin:
    """What became of N starts: how many steps each one went, and x after the last of them."""

    steps: Floats
    x: Floats


def basin(walk: Walk, starts: Floats, steps: int = 10) -> Basin:
    """Return how many of some steps a walker goes from each start (N, components of x).

    Strikes are found on cubic arcs between equal steps, to some 1e-7: enough to tell who falls.

    >>> from draisine.analysis.gait.walk import walk
    >>> from draisine.system.system import compile
    >>> wheel = walk(compile("rimless_wheel"), 3.0)
    >>> basin(wheel, np.array([[-0.39, 0.3], [-0.39, 2.0]]), 3).steps
    array([0, 3])
    """
    x = np.array(starts, dtype=float)
    gone, going = np.zeros(len(x), dtype=int), np.arange(len(x))
    for _ in range(steps):
        if not len(going):
            break
        images, struck = _step_all(walk, x[going])
        going = going[struck]
        x[going] = images[struck]
        gone[going] += 1
    return Basin(gone, x)


def _step_all(walk: Walk, x: Floats) -> tuple[Floats, Floats]:
    """Return the images of many x, and which of them end with a strike before the walker lies down."""
    at, h = walk.machine.layout, walk.longest / FINE
    y = _begin_all(walk, x)
    rate, gap = _rates(walk, y), _gaps(walk, y)[0]
    end, struck = y.copy(), np.zeros(len(y), dtype=bool)
    for _ in range(FINE):
        later = y + h / 6 * _increment(walk, y, rate, h)
        later[:, at.q] /= np.linalg.norm(later[:, at.q], axis=1, keepdims=True)
        new_rate, (new_gap, armed) = _rates(walk, later), _gaps(walk, later)
        now = (gap > 0) & (new_gap <= 0) & (armed > 0) & ~struck
        if now.any():
            ends = (y[now], later[now], h * rate[now], h * new_rate[now])
            end[now] = _touch_down(walk, gap[now], new_gap[now], *ends)
            struck |= now
        if struck.all():
            break
        y, rate, gap = later, new_rate, new_gap
    images = x.copy()
    if struck.any():
        images[struck] = walk.strike(end[struck, None])[0][:, 0]
    upright = np.abs(images[:, : len(walk.joints)]).max(axis=1) < np.pi / 2
    return images, struck & upright


def _begin_all(walk: Walk, x: Floats) -> Floats:
    """Return y for many x."""
    k, machine = len(walk.joints), walk.machine
    try:
        y = configurations(machine, {name: x[:, i] for i, name in enumerate(walk.joints)})
    except ConfigurationError as error:
        raise ConfigurationError(f"some starts are no configurations: {error}") from error
    return walk.with_speeds(y[:, None], x[:, None, k:])[:, 0]


def _rates(walk: Walk, y: Floats) -> Floats:
    code, at = walk.machine.rate, walk.machine.layout
    return code.batch(code.inputs.pack(**at.split(y.T)))["rate"].T


def _increment(walk: Walk, y: Floats, k1: Floats, h: float) -> Floats:
    """Return k1 + 2 k2 + 2 k3 + k4 of a step."""
    k2 = _rates(walk, y + h / 2 * k1)
    k3 = _rates(walk, y + h / 2 * k2)
    return k1 + 2 * (k2 + k3) + _rates(walk, y + h * k3)


def _gaps(walk: Walk, y: Floats) -> tuple[Floats, Floats]:
    return walk.gaps(y[:, walk.machine.layout.r])


def _touch_down(walk: Walk, gap: Floats, later: Floats, *ends: Floats) -> Floats:
    """Return where gaps close on cubic arcs, by the method of chords."""
    part = gap / (gap - later)
    for _ in range(4):
        here = _gaps(walk, _arc(part[:, None], *ends))[0]
        part = np.clip(part + here / (gap - later), 0.0, 1.0)
    return _arc(part[:, None], *ends)


def _arc(s: Floats, y0: Floats, y1: Floats, d0: Floats, d1: Floats) -> Floats:
    """Return the cubic arc between two states at a part s of the step."""
    return (
        (1 + 2 * s) * (1 - s) ** 2 * y0
        + s * (1 - s) ** 2 * d0
        + s * s * (3 - 2 * s) * y1
        + s * s * (s - 1) * d1
    )
