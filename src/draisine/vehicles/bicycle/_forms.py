"""Two published forms of the Whipple bicycle's 26 parameters, and the conversions between them.

*benchmark*: Meijaard et al. 2007, doi:10.1098/rspa.2007.1857. Axes x forward, y right, z down,
origin at the rear contact; `lam` is the tilt of the steer axis, `c` the trail; R, B, H, F are the
rear wheel, the rear frame with the rider, the front fork with the handlebar, the front wheel.

*thesis*: Mauny 2018, chapter 2 (Boyer, Porez and Mauny 2018, doi:10.1007/s00332-017-9434-x). Axes
(s, n, a) = (up, forward, left); bodies 0 to 3 are frame, fork, front wheel, rear wheel. Frame 0 has
its origin at the rear hub. Frame 1 has its a-axis along the steer axis, upward, and its origin
where the steer axis is as high as the front hub, l1 ahead of the rear hub and l2 behind the front
one, cf. (2.14). A wheel's zz is its axial moment.

All moments of inertia are about the centre of mass of their body; products are entries of the
tensor.
"""

import math
from collections.abc import Mapping, Sequence

from draisine.errors import ParameterError, did_you_mean

BENCHMARK = (
    *("w", "c", "lam", "g"),
    *("rR", "mR", "IRxx", "IRyy"),
    *("xB", "zB", "mB", "IBxx", "IByy", "IBzz", "IBxz"),
    *("xH", "zH", "mH", "IHxx", "IHyy", "IHzz", "IHxz"),
    *("rF", "mF", "IFxx", "IFyy"),
)
"""Names of the benchmark's parameters."""

THESIS = (
    *("g", "mu", "l1", "l2", "h2", "h3"),
    *("m0", "x0", "y0", "I0xx", "I0yy", "I0zz", "I0xy"),
    *("m1", "x1", "z1", "I1xx", "I1yy", "I1zz", "I1zx"),
    *("m2", "I2xx", "I2zz"),
    *("m3", "I3xx", "I3zz"),
)
"""Names of the parameters in Mauny's thesis (2018)."""


EQUAL_PARAMETERS = {
    **{"g": "g", "lam": "mu", "rF": "h2", "rR": "h3"},
    **{"mB": "m0", "xB": "y0", "IBzz": "I0xx", "IBxx": "I0yy", "IByy": "I0zz"},
    **{"mH": "m1", "IHyy": "I1yy"},
    **{"mF": "m2", "IFxx": "I2xx", "IFyy": "I2zz"},
    **{"mR": "m3", "IRxx": "I3xx", "IRyy": "I3zz"},
}
"""Map from benchmark names to thesis names, for the parameters that have the same value in both
forms.
"""


def to_thesis(values: Mapping[str, float]) -> dict[str, float]:
    """Convert the benchmark's 26 parameters to those of Mauny's thesis (2018).

    Parameters
    ----------
    values
        All 26 benchmark parameters by name, SI units.

    Returns
    -------
    dict
        Mauny's (2018) parameters by name, SI units.

    Raises
    ------
    ParameterError
        If a parameter is missing, unknown or not finite.

    Examples
    --------
    >>> from draisine.vehicles import parameter_set
    >>> thesis = to_thesis(parameter_set("whipple", "benchmark"))
    >>> round(thesis["l1"], 10), round(thesis["x1"], 10)
    (0.9862781063, 0.0261005928)
    """
    p = _check_values(values, BENCHMARK, "benchmark")
    l2 = p["rF"] * math.tan(p["lam"]) - p["c"]
    l1 = p["w"] - l2
    x1, z1 = _reflect_point(-p["zH"] - p["rF"], p["xH"] - l1, p["lam"])
    I1xx, I1zz, I1zx = _reflect_tensor(p["IHzz"], p["IHxx"], -p["IHxz"], p["lam"])
    thesis = {theirs: p[ours] for ours, theirs in EQUAL_PARAMETERS.items()}
    thesis |= {"l1": l1, "l2": l2, "x0": -p["zB"] - p["rR"], "I0xy": -p["IBxz"]}
    thesis |= {"x1": x1, "z1": z1, "I1xx": I1xx, "I1zz": I1zz, "I1zx": I1zx}
    return {name: thesis[name] for name in THESIS}


def from_thesis(values: Mapping[str, float]) -> dict[str, float]:
    """Convert Mauny's (2018) 26 parameters to those of the benchmark; the inverse of `to_thesis`.

    Parameters
    ----------
    values
        All 26 thesis parameters by name, SI units.

    Returns
    -------
    dict
        The benchmark's parameters by name, SI units.

    Raises
    ------
    ParameterError
        If a parameter is missing, unknown or not finite.
    """
    t = _check_values(values, THESIS, "thesis")
    up, ahead = _reflect_point(t["x1"], t["z1"], t["mu"])
    IHzz, IHxx, IHzx = _reflect_tensor(t["I1xx"], t["I1zz"], t["I1zx"], t["mu"])
    benchmark = {ours: t[theirs] for ours, theirs in EQUAL_PARAMETERS.items()}
    benchmark |= {"w": t["l1"] + t["l2"], "c": t["h2"] * math.tan(t["mu"]) - t["l2"]}
    benchmark |= {"zB": -t["x0"] - t["h3"], "IBxz": -t["I0xy"]}
    benchmark |= {"xH": t["l1"] + ahead, "zH": -up - t["h2"]}
    benchmark |= {"IHxx": IHxx, "IHzz": IHzz, "IHxz": -IHzx}
    return {name: benchmark[name] for name in BENCHMARK}


def _reflect_point(height: float, distance: float, tilt: float) -> tuple[float, float]:
    """Return a point of the drawing (height, distance ahead) in the axes (s1, a1) of the fork (m),
    or the reverse.

    s1 = (sin, cos) and a1 = (cos, -sin) of the tilt: the change of axes is a reflection, its own
    inverse.
    """
    s, c = math.sin(tilt), math.cos(tilt)
    return s * height + c * distance, c * height - s * distance


def _reflect_tensor(uu: float, aa: float, ua: float, tilt: float) -> tuple[float, float, float]:
    """Return the entries (ss, aa, sa) of a planar tensor in the axes of the fork, by the same
    reflection.
    """
    s, c = math.sin(tilt), math.cos(tilt)
    mixed = 2.0 * s * c * ua
    return (
        s * s * uu + c * c * aa + mixed,
        c * c * uu + s * s * aa - mixed,
        s * c * (uu - aa) + (c * c - s * s) * ua,
    )


def _check_values(values: Mapping[str, float], names: Sequence[str], form: str) -> dict[str, float]:
    """Return the values as floats; raise `ParameterError` unless all 26 names have finite values."""
    for name in values:
        if name not in names:
            raise ParameterError(
                f"{name!r} is not one of the {form} form's 26 parameters. {did_you_mean(name, names)}"
            )
    missing = [name for name in names if name not in values]
    if missing:
        raise ParameterError(
            f"The {form} form needs 26 parameters; {', '.join(missing)} are missing."
        )
    for name in names:
        if not math.isfinite(values[name]):
            raise ParameterError(f"{name} = {values[name]} is not a finite number.")
    return {name: float(values[name]) for name in names}
