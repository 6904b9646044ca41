"""Motions r(t) that vehicles make their joints follow."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from draisine.algebra.jet import Jet
from draisine.algebra.scalar import Scalar, cos, sin, where
from draisine.errors import ParameterError, UnknownNameError, did_you_mean, expect_known
from draisine.model import JointMotion


def sine(
    amplitude: Scalar, frequency: Scalar, phase: Scalar = 0.0, centre: Scalar = 0.0
) -> JointMotion:
    """Return the motion `r = centre + amplitude sin(2 pi frequency t + phase)` with its two
    derivatives; frequency in Hz, phase in rad.

    >>> print(*sine(2.0, 0.5)(0.0))
    0.0 6.283185307179586 -0.0
    """

    def motion(t: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        turning = 2 * math.pi * frequency
        s, c = sin(turning * t + phase), cos(turning * t + phase)
        return centre + amplitude * s, amplitude * turning * c, -amplitude * turning * turning * s

    return motion


def smooth_step(value: Scalar, start: Scalar, end: Scalar, begin: Scalar = 0.0) -> JointMotion:
    """Return the motion that goes from `begin` at the time `start` to `value` at `end`, by the smooth
    step s - sin(2 pi s) / (2 pi) of the passed part s, and stays there; rates and accelerations are
    continuous.

    Mauny, Porez and Boyer 2017, doi:10.1016/j.ifacol.2017.08.1007, (20)-(22).

    >>> angle, rate, _ = smooth_step(2.0, 1.0, 3.0)(2.0)
    >>> angle, rate
    (1.0, 2.0)
    """
    known = isinstance(start, (int, float)) and isinstance(end, (int, float))
    if known and not start < end:
        raise ParameterError(f"a smooth step that starts at {start} s cannot end at {end} s.")

    def motion(t: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        way, duration, turn = value - begin, end - start, 2.0 * math.pi
        s = where(t < start, 0.0, where(t < end, (t - start) / duration, 1.0))
        return (
            begin + way * (s - sin(turn * s) / turn),
            way / duration * (1.0 - cos(turn * s)),
            way / duration**2 * turn * sin(turn * s),
        )

    return motion


def uniform(rate: Scalar, begin: Scalar = 0.0) -> JointMotion:
    """Return the motion `r = begin + rate t`.

    >>> uniform(2.0, 1.0)(3.0)
    (7.0, 2.0, 0.0)
    """

    def motion(t: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        return begin + rate * t, rate, 0.0

    return motion


def way_points(times: Sequence[float], values: Sequence[float]) -> JointMotion:
    """Return the motion through values at times, by a smooth step from each to the next.

    >>> way_points([0.0, 1.0, 3.0], [0.0, 2.0, -2.0])(2.0)[0]
    0.0
    """
    if len(times) != len(values) or len(times) < 2:
        raise ParameterError(f"{len(times)} times and {len(values)} values make no way.")
    legs = [
        smooth_step(end - begin, t0, t1)
        for t0, t1, begin, end in zip(times, times[1:], values, values[1:], strict=False)
    ]

    def motion(t: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        parts = [leg(t) for leg in legs]
        r, rate, acceleration = (sum(part[k] for part in parts) for k in range(3))
        return values[0] + r, rate, acceleration

    return motion


def spline(
    times: Sequence[float], values: Sequence[float], ends: Literal["rest", "natural"] = "rest"
) -> JointMotion:
    """Return the motion through a table of values at times, such as one taken from a film, by the
    cubic spline: its rates and accelerations are continuous. At both ends it is at rest, or ends
    without an acceleration ("natural"); before and after, the values of the ends stay.

    >>> bend = spline([0.0, 1.0, 2.0], [0.0, 1.0, 0.0])
    >>> print(bend(1.0)[0], bend(0.5)[0])
    1.0 0.5
    """
    t, y = (np.asarray(x, float) for x in (times, values))
    if t.shape != y.shape or len(t) < 2 or not np.all(np.diff(t) > 0):
        raise ParameterError(
            f"a spline needs as many values as times, two or more, the times rising; there are {len(t)} "
            f"times and {len(y)} values."
        )
    if ends not in ("rest", "natural"):
        raise ParameterError(f"ends = {ends!r}: a spline ends at 'rest' or 'natural'.")
    h, slopes = np.diff(t), np.diff(y) / np.diff(t)
    bend = _second_derivatives(h, slopes, ends)
    rates = slopes - h * (2 * bend[:-1] + bend[1:]) / 6

    def motion(at: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        found: tuple[Scalar, Scalar, Scalar] = (float(y[0]), 0.0, 0.0)
        for k in range(len(h)):
            s, a, b, c = at - t[k], y[k], rates[k], bend[k] / 2
            d = (bend[k + 1] - bend[k]) / (6 * h[k])
            piece = (a + s * (b + s * (c + s * d)), b + s * (2 * c + 3 * d * s), 2 * c + 6 * d * s)
            found = tuple(where(at < t[k], old, new) for old, new in zip(found, piece, strict=True))
        over = (float(y[-1]), 0.0, 0.0)
        return tuple(where(at > t[-1], end, x) for end, x in zip(over, found, strict=True))

    return motion


def _second_derivatives(h: Any, slopes: Any, ends: str) -> Any:
    """Return the second derivatives of a cubic spline at its points."""
    n = len(h) + 1
    A, b = np.zeros((n, n)), np.zeros(n)
    for k in range(1, n - 1):
        A[k, k - 1 : k + 2] = h[k - 1], 2 * (h[k - 1] + h[k]), h[k]
        b[k] = 6 * (slopes[k] - slopes[k - 1])
    A[0, 0] = A[-1, -1] = 1.0
    if ends == "rest":
        A[0, :2], b[0] = (2 * h[0], h[0]), 6 * slopes[0]
        A[-1, -2:], b[-1] = (h[-1], 2 * h[-1]), -6 * slopes[-1]
    return np.linalg.solve(A, b)


def follow(leader: JointMotion, value: Callable[[Scalar], Scalar]) -> JointMotion:
    """Return the motion `value(r)` of another one, r(t), with its derivatives.

    >>> follow(sine(1.0, 0.5), lambda r: r * r)(0.5)[0]
    1.0
    """

    def motion(t: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        found = value(Jet(*leader(t)))
        return (found.x, found.x1, found.x2) if isinstance(found, Jet) else (found, 0.0, 0.0)

    return motion


MOTIONS: dict[str, Callable[..., JointMotion]] = {
    "sine": sine,
    "smooth_step": smooth_step,
    "spline": spline,
    "uniform": uniform,
    "way_points": way_points,
}
"""The motions that scenario files can name."""


def motion_of(entry: Mapping[str, Any]) -> JointMotion:
    """Return the motion that an entry tells by its `name` and its numbers, or say what is wrong.

    >>> motion_of({"name": "sine", "amplitude": 0.1, "frequency": 2.0, "centre": 0.5})(0.0)[0]
    0.5
    """
    name, numbers = str(entry["name"]), {k: v for k, v in entry.items() if k != "name"}
    if name not in MOTIONS:
        raise UnknownNameError(f"no motion {name!r} for a joint. {did_you_mean(name, MOTIONS)}")
    known = inspect.signature(MOTIONS[name]).parameters
    expect_known(f"{name} has no", numbers, known)
    for key, parameter in known.items():
        if key not in numbers and parameter.default is parameter.empty:
            raise ParameterError(f"{name} needs {key!r}.")
    return MOTIONS[name](**numbers)
