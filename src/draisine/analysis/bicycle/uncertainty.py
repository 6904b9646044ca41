"""How uncertain eigenvalues and critical speeds are where the parameters of a bicycle are.

An eigenvalue s is a root of `P(s, p) = det N`, `N = M s^2 + C s + K`, so that exactly

    ds/dp = -tr(adj N dN/dp) / tr(adj N dN/ds),        eq. [eigenvalue-change],

and independent deviations of the parameters add up by their squares, to first order. On tyres, with parts
that give, or under a control law with states it is an eigenvalue of the exact linear system A(p):
`ds/dp = y' dA/dp x`, with its eigenvectors `y' x = 1` and dA/dp by differences of fourth order. Samples,
all at once in lanes, tell how far the first order carries.
"""

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.bicycle.critical import Critical, critical_of
from draisine.analysis.bicycle.eigenvalues import eigenmodes_of, eigenvalues, is_plain
from draisine.analysis.bicycle.followed import TwoWheeler
from draisine.analysis.bicycle.sensitivity import sensitivities, straight_changes
from draisine.analysis.bicycle.straight import canonical_matrices
from draisine.analysis.eigenmodes import Eigenmodes
from draisine.errors import ParameterError
from draisine.system.artifacts import find_invalid_machines
from draisine.system.system import System
from draisine.system.tracing import Law
from draisine.vehicles import check_number

FUTILE = 100
"""How many times as many as are wanted are drawn at most."""


@dataclass(frozen=True, eq=False)
class Spread:
    """Eigenmodes, and the standard deviations of their real and imaginary parts (speeds, modes); those
    of the critical speeds by name, m/s.
    """

    modes: Eigenmodes
    real: Floats
    imaginary: Floats
    critical: dict[str, float]


def spread(
    system: System, deviations: Mapping[str, float], speed: Floats, law: Law | None = None
) -> Spread:
    """Return how uncertain the eigenvalues of a bicycle are at speeds in m/s, its parameters having
    independent standard deviations, to first order; critical speeds without a law.

    >>> from draisine import compile
    >>> found = spread(compile("whipple"), {"c": 0.01}, np.array([5.0]))
    >>> print(f"{found.critical['weave']:.4f} m/s")
    0.1148 m/s
    """
    _check(system, deviations)
    modes = eigenvalues(system, speed, law=law)
    places = [list(system.parameters).index(name) for name in deviations]
    sizes = np.array(list(deviations.values()))
    plain = is_plain(system) and not getattr(law, "states", 0)
    if plain:
        moved = derivatives(system, modes, law)[..., places] * sizes
    else:
        moved = _followed_derivatives(TwoWheeler(system, law), modes, list(deviations)) * sizes
    critical: dict[str, float] = {}
    if plain and law is None:
        change = sensitivities(system)
        for name in ("weave", "capsize"):
            each = getattr(change, name)[places] * sizes
            critical[name] = float(np.sqrt(np.sum(each**2)))
    real, imaginary = (np.sqrt(np.sum(part**2, axis=-1)) for part in (moved.real, moved.imag))
    return Spread(modes, real, imaginary, critical)


def derivatives(system: System, modes: Eigenmodes, law: Law | None = None) -> Floats:
    """Return ds/dp of every eigenvalue by every parameter, (speeds, modes, parameters), eq.
    [eigenvalue-change]; not finite where two eigenvalues meet.
    """
    changes = straight_changes(system, modes.speed, law)
    out = np.empty((*modes.values.shape, len(system.parameters)), complex)
    for k, (M, C, K) in enumerate(changes):
        for j, s in enumerate(modes.values[k]):
            N = M.value[0] * s * s + C.value[0] * s + K.value[0]
            adjugate = np.array([[N[1, 1], -N[0, 1]], [-N[1, 0], N[0, 0]]])
            moved = M.rate * s * s + C.rate * s + K.rate
            by_p = np.einsum("ij,pji->p", adjugate, moved)
            by_s = np.trace(adjugate @ (2.0 * s * M.value[0] + C.value[0]))
            with np.errstate(divide="ignore", invalid="ignore"):
                out[k, j] = -by_p / by_s
    return out


def _followed_derivatives(running: TwoWheeler, modes: Eigenmodes, names: list[str]) -> Floats:
    """Return ds/dp of every eigenvalue of any two-wheeler by some parameters, (speeds, modes, names)."""
    A, _ = running.matrices(modes.speed)
    values, right = np.linalg.eig(A)
    left = np.linalg.inv(right)
    which = np.argmin(np.abs(modes.values[:, :, None] - values[:, None, :]), axis=2)
    out = np.empty((*modes.values.shape, len(names)), complex)
    for k, name in enumerate(names):
        p = running.system.parameters[name]
        h = 1e-3 * max(abs(p), 1e-3)
        ends = [
            replace(running, system=running.system.with_parameters(**{name: p + way * h}))
            for way in (1.0, -1.0, 2.0, -2.0)
        ]
        near, behind, far, back = (other.matrices(modes.speed)[0] for other in ends)
        slope = (8.0 * (near - behind) - (far - back)) / (12.0 * h)
        moved = np.einsum("vij,vjk,vki->vi", left, slope, right)
        out[..., k] = np.take_along_axis(moved, which, axis=1)
    return out


def sample(
    system: System, deviations: Mapping[str, float], speed: Floats, count: int, seed: int = 0
) -> tuple[Eigenmodes, Critical]:
    """Return eigenmodes (samples, speeds, 4) and critical speeds of bicycles whose parameters are drawn
    from independent normal distributions, all in lanes of one computation.

    What is drawn and is no machine, such as a negative moment of inertia, is drawn anew, and a warning
    tells the share: the distribution is the normal one given that there is such a machine.
    """
    _check(system, deviations)
    if not is_plain(system):
        raise ParameterError(
            "samples are drawn of bicycles that roll without slip, with a rigid rider; of others `spread` "
            "tells the deviations to first order."
        )
    drawn: dict[str, Any] = _draw(system, deviations, count, np.random.default_rng(seed))
    matrices = canonical_matrices(system, **drawn)
    return eigenmodes_of(matrices, speed), critical_of(matrices)


def _draw(
    system: System, deviations: Mapping[str, float], count: int, rng: np.random.Generator
) -> dict[str, Floats]:
    """Return parameters of machines, drawn until all of them are some."""
    table = np.repeat(system.values[:, None], count, axis=1)
    places = [list(system.parameters).index(name) for name in deviations]
    sizes = np.array(list(deviations.values()))
    missing, tried, why = np.arange(count), 0, ""
    while len(missing):
        table[places, missing[:, None]] = (
            system.values[places] + sizes * rng.standard_normal((len(places), len(missing))).T
        )
        tried += len(missing)
        wrong = find_invalid_machines(system.artifacts, table)
        missing = np.array(sorted(wrong), dtype=int)
        why = next(iter(wrong.values()), why)
        if tried > FUTILE * count:
            raise ParameterError(f"hardly any bicycle has such parameters: {why}")
    if tried > count:
        warnings.warn(
            f"{1 - count / tried:.2g} of what was drawn is no machine ({re.split('[.;] ', why)[0]}) and was "
            "drawn anew: with deviations as large as these a normal distribution is cut.",
            UserWarning,
            stacklevel=3,
        )
    return {name: table[k] for name, k in zip(deviations, places, strict=True)}


def _check(system: System, deviations: Mapping[str, float]) -> None:
    """Raise where deviations are none, or of something else."""
    given = check_number(system.vehicle, system.parameters, deviations)
    for name, size in given.items():
        if size < 0.0:
            raise ParameterError(f"the deviation of {name}, {size:g}, is negative.")
