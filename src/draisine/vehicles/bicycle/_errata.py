"""Warnings about known errors in published parameters of bicycles and about impossible inertias."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Wheels:
    """Wheels of a measured bicycle: masses (kg) and radii (m) that identify the bicycle, and its
    correct moments (kg m2).
    """

    name: str
    mR: float
    mF: float
    rR: float
    rF: float
    IRxx: float
    IFxx: float


_MEASURED = (
    _Wheels("Browser", 3.11, 2.02, 0.340958858855, 0.34352982332, 0.0904114316, 0.0883826871),
    _Wheels("Browserins", 3.11, 2.02, 0.340775218536, 0.342550408285, 0.0904114316, 0.0883826871),
    _Wheels("Crescendo", 3.96, 3.545, 0.339954958444, 0.342550408285, 0.0966455697, 0.0954028663),
    _Wheels("Fisher", 1.94, 1.5, 0.338636246059, 0.330178297654, 0.0630220805, 0.0631442259),
    _Wheels("Pista", 1.38, 1.58, 0.332088156971, 0.333838861345, 0.0552268228, 0.0553476419),
    _Wheels("Stratos", 3.96, 3.334, 0.338477091116, 0.340003929196, 0.0938710999, 0.0915638224),
    _Wheels("Yellow", 2.57, 1.9, 0.341375110244, 0.341877060449, 0.0876699101, 0.0851500333),
)


def find_benchmark_errors(parameters: Mapping[str, float]) -> Iterator[str]:
    """Yield a warning for each known error in the benchmark's 26 parameters."""
    yield from _find_rounded_inertia(parameters)
    yield from _find_exchanged_moments(parameters)
    yield from _find_impossible_inertias(parameters)


def _find_rounded_inertia(parameters: Mapping[str, float]) -> Iterator[str]:
    """Yield a warning if the parameters are those of the benchmark bicycle with a rounded fork
    inertia.
    """
    exact = {"mB": 85.0, "mH": 4.0, "IBxx": 9.2, "xH": 0.9, "zH": -0.7, "IHyy": 0.06}
    rounded = {"IHxx": 0.0589, "IHzz": 0.0071, "IHxz": -0.0076}
    if all(parameters[name] == value for name, value in (exact | rounded).items()):
        yield (
            "this is the benchmark bicycle with the inertia of its fork rounded (IHxx = "
            "0.0589 for 0.05892, IHzz = 0.0071 for 0.00708, IHxz = -0.0076 for -0.00756); the "
            "weave speed comes out 4.29228 m/s instead of 4.29238. The exact one is the "
            "parameter set 'benchmark'."
        )


def find_rider_errors(parameters: Mapping[str, float]) -> Iterator[str]:
    """Yield a warning if the principal radii of gyration of a rider are exchanged."""
    published = {"mP": 83.5, "kPaa": 0.36717241, "kPyy": 0.36796654, "kPbb": 0.15276369}
    if all(
        math.isclose(parameters[name], value, rel_tol=1e-4) for name, value in published.items()
    ):
        yield (
            "kPaa and kPyy of this rider are exchanged with respect to the original inertia model "
            "(kPaa = 0.36797, kPyy = 0.36717); the values of the file are used."
        )


def _find_exchanged_moments(parameters: Mapping[str, float]) -> Iterator[str]:
    """Yield a warning if the radial moments of inertia of the two wheels are exchanged."""
    for bicycle in _MEASURED:
        same = all(
            math.isclose(parameters[name], getattr(bicycle, name), rel_tol=1e-6)
            for name in ("mR", "mF", "rR", "rF")
        )
        as_published = abs(parameters["IRxx"] - bicycle.IRxx) + abs(
            parameters["IFxx"] - bicycle.IFxx
        )
        exchanged = abs(parameters["IRxx"] - bicycle.IFxx) + abs(parameters["IFxx"] - bicycle.IRxx)
        if same and exchanged < 0.1 * as_published:
            yield (
                f"IRxx and IFxx are exchanged with respect to the measured bicycle "
                f"{bicycle.name!r} (IRxx = {bicycle.IRxx:.6g}, IFxx = {bicycle.IFxx:.6g}); the "
                "values of the file are used."
            )


MEASUREMENT_ERROR = 0.1
"""Largest violation of the triangle inequality of principal moments of inertia that measurement
errors explain.

It is the excess of the largest principal moment over the sum of the others, relative to this sum.
"""


def _find_impossible_inertias(parameters: Mapping[str, float]) -> Iterator[str]:
    """Yield a warning for each body whose principal moments violate the triangle inequality."""
    for body in "RBHF":
        xx = parameters[f"I{body}xx"]
        yy = parameters[f"I{body}yy"]
        zz, xz = (parameters[f"I{body}zz"], parameters[f"I{body}xz"]) if body in "BH" else (xx, 0.0)
        mean = (xx + zz) / 2
        radius = math.hypot((xx - zz) / 2, xz)
        moments = sorted((mean - radius, yy, mean + radius))
        if moments[0] < 0 or moments[0] + moments[1] < moments[2] * (1 - MEASUREMENT_ERROR):
            use = "a model refuses them" if moments[0] < 0 else "a model uses them nevertheless"
            yield (
                f"no distribution of mass has the principal moments of body {body}, "
                f"{', '.join(f'{moment:.6g}' for moment in moments)} kg m^2 (the greatest must not "
                f"exceed the sum of the others); {use}."
            )
