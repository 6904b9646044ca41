"""Eigenvalues of a two-wheeler on tyres that runs straight, followed along the speed and named:
weave, wobble, capsize, and the tyres' own.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.bicycle.eigenmodes import Eigenmodes, fill_speeds, track
from draisine.analysis.linear import linearise
from draisine.errors import ConfigurationError
from draisine.system.state import state
from draisine.system.system import System

SETTLED = 30.0
"""Names are given at this speed, m/s, or at the highest asked for: there the fast pair is the
wobble and the slow one the weave.
"""


def tyred_eigenmodes(system: System, speed: Any) -> Eigenmodes:
    """Return the eigenmodes of straight running at speeds in m/s, linearised from the nonlinear
    model. The speed's own root, which is zero, is left out.

    >>> from draisine import compile
    >>> modes = tyred_eigenmodes(compile("motorcycle"), [15.24])
    >>> print(modes.mode("wobble").round(3), modes.mode("capsize").round(3))
    [-6.519+54.589j] [0.073+0.j]
    """
    v = np.atleast_1d(np.asarray(speed, float))
    grid = fill_speeds(np.unique(np.concatenate([v, [0.0, SETTLED]])))
    unit = state(system, forward_speed=1.0)  # straight running is linear in the speed
    found = linearise(system, [replace(unit, v=x * unit.v) for x in grid])
    moved = np.abs(found.A).max(axis=(0, 2)) > 1e-9  # nothing changes the speed to first order
    values, vectors = np.linalg.eig(found.A[:, moved][:, :, moved])
    order = track(values)
    names, places = _named(np.take_along_axis(values, order, axis=1)[-1])
    order = order[:, places]
    at = np.searchsorted(grid, v)
    named = np.take_along_axis(values[at], order[at], axis=1)
    shapes = np.take_along_axis(vectors[at], order[at][:, None, :], axis=2)
    states = tuple(name for name, yes in zip(found.states, moved, strict=True) if yes)
    return Eigenmodes(v, _upper_first(named), shapes, names, states)


def _named(last: Floats) -> tuple[tuple[str, ...], list[int]]:
    """Return the names of eigenvalues at the last speed, and which is whose."""
    pairs = sorted((k for k in range(len(last)) if last[k].imag > 1e-9), key=lambda k: last[k].imag)
    rest = [k for k in range(len(last)) if abs(last[k].imag) <= 1e-9]
    if len(pairs) < 2 or not rest:
        raise ConfigurationError(
            "at the highest speed there are no two swinging eigenmodes (weave, wobble) and a capsize; "
            "ask analysis.linear for the eigenvalues as they are."
        )

    def conjugate(k: int) -> int:
        others = [j for j in range(len(last)) if j != k]
        return min(others, key=lambda j: abs(last[j] - np.conj(last[k])))

    rest = sorted(rest, key=lambda k: abs(last[k]))
    weave, wobble, middle = pairs[0], pairs[-1], pairs[1:-1]
    tyres = [j for k in middle for j in (k, conjugate(k))] + rest[1:]
    places = [weave, conjugate(weave), wobble, conjugate(wobble), rest[0], *tyres]
    names = ("weave", "weave", "wobble", "wobble", "capsize", *["tyre"] * len(tyres))
    return names, places


def _upper_first(values: Floats) -> Floats:
    """Return eigenvalues whose pairs begin with the one of larger imaginary (or real) part."""
    out = values.copy()
    for k in (0, 2):
        pair = out[:, k : k + 2]
        turned = (pair[:, 0].imag < pair[:, 1].imag) | (
            (pair[:, 0].imag == pair[:, 1].imag) & (pair[:, 0].real < pair[:, 1].real)
        )
        out[turned, k : k + 2] = pair[turned][:, ::-1]
    return out
