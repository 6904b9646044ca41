"""Prescribed joint motions r(t) with their first two time derivatives."""

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
    """Return the joint motion `r = centre + amplitude sin(2 pi frequency t + phase)`.

    Parameters
    ----------
    amplitude, centre
        Amplitude and mean (rad or m).
    frequency
        Frequency (Hz).
    phase
        Phase (rad).

    Returns
    -------
    JointMotion
        Function from time (s) to (r, rdot, rddot).

    Examples
    --------
    >>> print(*sine(2.0, 0.5)(0.0))
    0.0 6.283185307179586 -0.0
    """

    def evaluate_motion(t: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        """Return r, rdot and rddot at time t (s)."""
        turning = 2 * math.pi * frequency
        s = sin(turning * t + phase)
        c = cos(turning * t + phase)
        return centre + amplitude * s, amplitude * turning * c, -amplitude * turning * turning * s

    return evaluate_motion


def smooth_step(value: Scalar, start: Scalar, end: Scalar, begin: Scalar = 0.0) -> JointMotion:
    """Return the joint motion of a smooth step between two values, with continuous acceleration.

    The motion follows s - sin(2 pi s) / (2 pi), with s from 0 to 1 between `start` and `end`. After
    Mauny, Porez and Boyer 2017, doi:10.1016/j.ifacol.2017.08.1007, (20)-(22).

    Parameters
    ----------
    value
        Value from the time `end` on (rad or m).
    start, end
        Times (s).
    begin
        Value until the time `start` (rad or m).

    Returns
    -------
    JointMotion
        Function from time (s) to (r, rdot, rddot).

    Examples
    --------
    >>> angle, rate, _ = smooth_step(2.0, 1.0, 3.0)(2.0)
    >>> angle, rate
    (1.0, 2.0)
    """
    is_numeric = isinstance(start, (int, float)) and isinstance(end, (int, float))
    if is_numeric and not start < end:
        raise ParameterError(
            f"smooth_step: the end time, {end} s, must be after the start time, {start} s."
        )

    def evaluate_motion(t: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        """Return r, rdot and rddot at time t (s)."""
        distance = value - begin
        duration = end - start
        turn = 2.0 * math.pi
        s = where(t < start, 0.0, where(t < end, (t - start) / duration, 1.0))
        return (
            begin + distance * (s - sin(turn * s) / turn),
            distance / duration * (1.0 - cos(turn * s)),
            distance / duration**2 * turn * sin(turn * s),
        )

    return evaluate_motion


def uniform(rate: Scalar, begin: Scalar = 0.0) -> JointMotion:
    """Return the joint motion `r = begin + rate t` at a constant rate.

    Parameters
    ----------
    rate
        Constant rate (rad/s or m/s).
    begin
        Value at time zero (rad or m).

    Returns
    -------
    JointMotion
        Function from time (s) to (r, rdot, rddot).

    Examples
    --------
    >>> uniform(2.0, 1.0)(3.0)
    (7.0, 2.0, 0.0)
    """

    def evaluate_motion(t: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        """Return r, rdot and rddot at time t (s)."""
        return begin + rate * t, rate, 0.0

    return evaluate_motion


def way_points(times: Sequence[float], values: Sequence[float]) -> JointMotion:
    """Return the joint motion through values at given times, with a smooth step from each to the
    next.

    Parameters
    ----------
    times
        Rising times (s), at least two.
    values
        Values at these times (rad or m).

    Returns
    -------
    JointMotion
        Function from time (s) to (r, rdot, rddot).

    Examples
    --------
    >>> way_points([0.0, 1.0, 3.0], [0.0, 2.0, -2.0])(2.0)[0]
    0.0
    """
    if len(times) != len(values) or len(times) < 2:
        raise ParameterError(
            f"way_points: equal numbers of times and values are needed, at least two, not {len(times)} "
            f"times and {len(values)} values."
        )
    legs = [
        smooth_step(end - begin, t0, t1)
        for t0, t1, begin, end in zip(times, times[1:], values, values[1:], strict=False)
    ]

    def evaluate_motion(t: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        """Return r, rdot and rddot at time t (s)."""
        legs_now = [leg(t) for leg in legs]
        r, rate, acceleration = (sum(leg_now[k] for leg_now in legs_now) for k in range(3))
        return values[0] + r, rate, acceleration

    return evaluate_motion


def spline(
    times: Sequence[float], values: Sequence[float], ends: Literal["rest", "natural"] = "rest"
) -> JointMotion:
    """Return the joint motion of a cubic spline through a table of values, with continuous
    acceleration.

    Before the first and after the last time the value is constant.

    Parameters
    ----------
    times
        Rising times (s), at least two.
    values
        Values at these times (rad or m).
    ends
        Conditions at both ends: "rest" (rate zero) or "natural" (acceleration zero).

    Returns
    -------
    JointMotion
        Function from time (s) to (r, rdot, rddot).

    Examples
    --------
    >>> bend = spline([0.0, 1.0, 2.0], [0.0, 1.0, 0.0])
    >>> print(bend(1.0)[0], bend(0.5)[0])
    1.0 0.5
    """
    t, y = (np.asarray(x, float) for x in (times, values))
    if t.shape != y.shape or len(t) < 2 or not np.all(np.diff(t) > 0):
        raise ParameterError(
            f"spline: equal numbers of rising times and values are needed, at least two, not {len(t)} times "
            f"and {len(y)} values."
        )
    if ends not in ("rest", "natural"):
        raise ParameterError(f"spline: unknown ends {ends!r}. Available: rest, natural.")
    h = np.diff(t)
    slopes = np.diff(y) / np.diff(t)
    bend = _spline_second_derivatives(h, slopes, ends)
    rates = slopes - h * (2 * bend[:-1] + bend[1:]) / 6

    def evaluate_motion(time: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        """Return r, rdot and rddot at a time (s)."""
        value: tuple[Scalar, Scalar, Scalar] = (float(y[0]), 0.0, 0.0)
        for k in range(len(h)):
            s = time - t[k]
            a = y[k]
            b = rates[k]
            c = bend[k] / 2
            d = (bend[k + 1] - bend[k]) / (6 * h[k])
            piece = (a + s * (b + s * (c + s * d)), b + s * (2 * c + 3 * d * s), 2 * c + 6 * d * s)
            value = tuple(
                where(time < t[k], old, new) for old, new in zip(value, piece, strict=True)
            )
        over = (float(y[-1]), 0.0, 0.0)
        return tuple(where(time > t[-1], end, x) for end, x in zip(over, value, strict=True))

    return evaluate_motion


def _spline_second_derivatives(step_lengths: Any, slopes: Any, ends: str) -> Any:
    """Return the second derivatives of a cubic spline at its points, by a tridiagonal system."""
    n = len(step_lengths) + 1
    A = np.zeros((n, n))
    b = np.zeros(n)
    for k in range(1, n - 1):
        A[k, k - 1 : k + 2] = (
            step_lengths[k - 1],
            2 * (step_lengths[k - 1] + step_lengths[k]),
            step_lengths[k],
        )
        b[k] = 6 * (slopes[k] - slopes[k - 1])
    A[0, 0] = A[-1, -1] = 1.0
    if ends == "rest":
        A[0, :2] = (2 * step_lengths[0], step_lengths[0])
        b[0] = 6 * slopes[0]
        A[-1, -2:] = (step_lengths[-1], 2 * step_lengths[-1])
        b[-1] = -6 * slopes[-1]
    return np.linalg.solve(A, b)


def follow_joint(leader: JointMotion, value: Callable[[Scalar], Scalar]) -> JointMotion:
    """Return the joint motion `value(r(t))`, a function of the motion r(t) of another joint.

    Parameters
    ----------
    leader
        Motion of the other joint.
    value
        Function from the coordinate of the other joint to that of this joint, over any scalar type.

    Returns
    -------
    JointMotion
        Function from time (s) to (r, rdot, rddot).

    Examples
    --------
    >>> follow_joint(sine(1.0, 0.5), lambda r: r * r)(0.5)[0]
    1.0
    """

    def evaluate_motion(t: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        """Return the value with its first two derivatives at time t (s), by the chain rule."""
        result = value(Jet(*leader(t)))
        return (result.x, result.x1, result.x2) if isinstance(result, Jet) else (result, 0.0, 0.0)

    return evaluate_motion


JOINT_MOTIONS: dict[str, Callable[..., JointMotion]] = {
    "sine": sine,
    "smooth_step": smooth_step,
    "spline": spline,
    "uniform": uniform,
    "way_points": way_points,
}
"""Functions that construct joint motions, by their names in scenario files."""


def motion_from_table(table: Mapping[str, Any]) -> JointMotion:
    """Return the joint motion of a scenario entry with `name` and parameters.

    Raises
    ------
    UnknownNameError, ParameterError
        If the motion or a parameter does not exist, or a parameter is missing.

    Examples
    --------
    >>> motion_from_table({"name": "sine", "amplitude": 0.1, "frequency": 2.0, "centre": 0.5})(0.0)[0]
    0.5
    """
    name = str(table["name"])
    numbers = {k: v for k, v in table.items() if k != "name"}
    if name not in JOINT_MOTIONS:
        raise UnknownNameError(
            f"Unknown joint motion {name!r}. {did_you_mean(name, JOINT_MOTIONS)}"
        )
    parameters = inspect.signature(JOINT_MOTIONS[name]).parameters
    expect_known(f"{name} has no", numbers, parameters)
    for key, parameter in parameters.items():
        if key not in numbers and parameter.default is parameter.empty:
            raise ParameterError(
                f"The joint motion {name!r} needs the parameter {key!r}. Add this parameter."
            )
    return JOINT_MOTIONS[name](**numbers)
