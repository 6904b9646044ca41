"""Uncertainty of eigenvalues and critical speeds due to uncertain parameters of a bicycle.

An eigenvalue s is a root of `P(s, p) = det N`, `N = M s^2 + C s + K`, so that exactly

    ds/dp = -tr(adj N dN/dp) / tr(adj N dN/ds),        eq. [eigenvalue-change],

and variances of independent parameters add up, to first order. With tyres, compliant parts or a control law
with states, s is an eigenvalue of the exact linear system A(p): `ds/dp = y' dA/dp x`, with eigenvectors
`y' x = 1` and the exact derivative of A, see `mode_sensitivity`. Samples, computed together in SIMD lanes,
show whether the first order suffices.
"""

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.bicycle.critical import Critical, critical_speeds_of
from draisine.analysis.bicycle.eigenvalues import eigenmodes_of, eigenvalues, is_plain
from draisine.analysis.bicycle.followed import TwoWheeler
from draisine.analysis.bicycle.mode_sensitivity import eigenvalue_changes
from draisine.analysis.bicycle.sensitivity import sensitivities, straight_changes
from draisine.analysis.bicycle.straight import canonical_matrices
from draisine.analysis.eigenmodes import Eigenmodes
from draisine.errors import ParameterError
from draisine.system.artifacts import find_invalid_machines
from draisine.system.system import System
from draisine.system.tracing import Law
from draisine.vehicles import check_number

MAX_DRAWS = 100
"""Largest number of draws per requested sample; if more are needed, hardly any draw is physically
valid.
"""


@dataclass(frozen=True, eq=False)
class Spread:
    """Eigenmodes with standard deviations of their eigenvalues and of the critical speeds."""

    modes: Eigenmodes
    real: Floats  # standard deviations of the real parts, 1/s, (speeds, modes)
    imaginary: Floats  # standard deviations of the imaginary parts, rad/s, (speeds, modes)
    critical: dict[str, float]  # standard deviations of the critical speeds by name, m/s


def spread(
    system: System, deviations: Mapping[str, float], speed: Floats, law: Law | None = None
) -> Spread:
    """Return the standard deviations of eigenvalues and critical speeds, to first order.

    Parameters
    ----------
    system
        The bicycle.
    deviations
        Standard deviations of independent parameters by name, in their units.
    speed
        Speeds (m/s).
    law
        Control law; critical speeds are computed only without a control law.

    Returns
    -------
    Spread
        Eigenmodes with the standard deviations of eigenvalues (1/s, rad/s) and critical speeds
        (m/s).

    Examples
    --------
    >>> from draisine import compile
    >>> uncertain = spread(compile("whipple"), {"c": 0.01}, np.array([5.0]))
    >>> print(f"{uncertain.critical['weave']:.4f} m/s")
    0.1148 m/s
    """
    _check_deviations(system, deviations)
    modes = eigenvalues(system, speed, law=law)
    indices = [list(system.parameters).index(name) for name in deviations]
    sizes = np.array(list(deviations.values()))
    is_exact = is_plain(system) and not getattr(law, "states", 0)
    if is_exact:
        changes = derivatives(system, modes, law)[..., indices] * sizes
    else:
        changes = eigenvalue_changes(TwoWheeler(system, law), modes, list(deviations)) * sizes
    critical: dict[str, float] = {}
    if is_exact and law is None:
        change = sensitivities(system)
        for name in ("weave", "capsize"):
            contributions = getattr(change, name)[indices] * sizes
            critical[name] = float(np.sqrt(np.sum(contributions**2)))
    real, imaginary = (
        np.sqrt(np.sum(component**2, axis=-1)) for component in (changes.real, changes.imag)
    )
    return Spread(modes, real, imaginary, critical)


def derivatives(system: System, modes: Eigenmodes, law: Law | None = None) -> Floats:
    """Return ds/dp of every eigenvalue s by every parameter, (speeds, modes, parameters), eq.
    [eigenvalue-change].

    A derivative is not finite if two eigenvalues are equal.
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


def sample(
    system: System, deviations: Mapping[str, float], speed: Floats, count: int, seed: int = 0
) -> tuple[Eigenmodes, Critical]:
    """Sample eigenmodes and critical speeds of bicycles with normally distributed parameters.

    Physically invalid parameters, such as a negative moment of inertia, are drawn again, and a warning
    reports their share: the distribution is the normal one under the condition of validity.

    Parameters
    ----------
    system
        The ideal bicycle.
    deviations
        Standard deviations of independent parameters by name, in their units.
    speed
        Speeds (m/s).
    count, seed
        Number of samples, and seed of the random numbers.

    Returns
    -------
    Eigenmodes (samples, speeds, 4) and critical speeds (samples,).
    """
    _check_deviations(system, deviations)
    if not is_plain(system):
        raise ParameterError(
            "sample needs an ideal bicycle: wheels without slip, rigid parts, rigid rider. Use `spread`, "
            "which computes standard deviations to first order, for other machines."
        )
    drawn: dict[str, Any] = _draw_valid_parameters(
        system, deviations, count, np.random.default_rng(seed)
    )
    matrices = canonical_matrices(system, **drawn)
    return eigenmodes_of(matrices, speed), critical_speeds_of(matrices)


def _draw_valid_parameters(
    system: System, deviations: Mapping[str, float], count: int, rng: np.random.Generator
) -> dict[str, Floats]:
    """Return physically valid random parameters by name, (count,) each."""
    table = np.repeat(system.values[:, None], count, axis=1)
    indices = [list(system.parameters).index(name) for name in deviations]
    sizes = np.array(list(deviations.values()))
    missing = np.arange(count)
    drawn = 0
    reason = ""
    while len(missing):
        table[indices, missing[:, None]] = (
            system.values[indices] + sizes * rng.standard_normal((len(indices), len(missing))).T
        )
        drawn += len(missing)
        invalid = find_invalid_machines(system.artifacts, table)
        missing = np.array(sorted(invalid), dtype=int)
        reason = next(iter(invalid.values()), reason)
        if drawn > MAX_DRAWS * count:
            raise ParameterError(
                f"Almost all samples are physically invalid: {reason} Use smaller deviations."
            )
    if drawn > count:
        warnings.warn(
            f"{1 - count / drawn:.2g} of the samples were physically invalid "
            f"({re.split('[.;] ', reason)[0]}) and were drawn again. The deviations are so large that the "
            "normal distributions are truncated.",
            UserWarning,
            stacklevel=3,
        )
    return {name: table[k] for name, k in zip(deviations, indices, strict=True)}


def _check_deviations(system: System, deviations: Mapping[str, float]) -> None:
    """Raise an error if standard deviations are negative, not finite, or of unknown parameters."""
    numbers = check_number(system.vehicle, system.parameters, deviations)
    for name, size in numbers.items():
        if size < 0.0:
            raise ParameterError(
                f"The standard deviation of {name}, {size:g}, must not be negative."
            )
