"""Families of steady motions by pseudo-arclength continuation.

`equilibrium.curve` predicts and corrects one step. This module controls the step length and
computes folds, stability and hands-free circles of bicycles.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, Literal

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.bicycle.critical import branching_speed, critical_speeds
from draisine.analysis.bicycle.eigenvalues import is_plain
from draisine.analysis.bicycle.straight import canonical_matrices
from draisine.analysis.eigenmodes import track_eigenvalues
from draisine.analysis.equilibrium import Steady, steady
from draisine.analysis.equilibrium.balance import Balance, quantity_names
from draisine.analysis.equilibrium.curve import GROW_BEND, MAX_BEND, Curve
from draisine.analysis.linear import linear_systems
from draisine.errors import ConfigurationError, ParameterError, expect_known
from draisine.mechanics.base import base_angles
from draisine.system.state import state
from draisine.system.system import System

MIN_RELATIVE_STEP = 1e-6
"""Smallest continuation step, as a fraction of the largest one; a family that needs shorter steps is
singular."""

ZERO_EIGENVALUE = 1e-7
"""Largest magnitude of an eigenvalue that counts as zero, 1/s. Each motion of a family has an eigenvalue
zero, because its neighbours are steady motions as well."""


@dataclass(frozen=True, eq=False)
class SteadyFamily:
    """Consecutive steady motions of a one-parameter family."""

    points: tuple[Steady, ...]

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        model = self.points[0].machine.system.model
        joints = (joint.name for joint in model.joints)
        candidates = [*(output.name for output in model.outputs[:1]), *base_angles(model), *joints]
        names = [name for name in candidates if np.ptp(self[name]) > 1e-9]
        first, last = (_format_values(point, names) for point in (self.points[0], self.points[-1]))
        return f"SteadyFamily of {len(self)} motions\n  from {first}\n  to {last}"

    def __getitem__(self, name: str) -> Floats:
        """Return a coordinate, output, speed or input by name, one value per motion, (motions,)."""
        if name in self.points[0].values:
            return np.array([point.values[name] for point in self.points])
        return np.array([point.inputs[name] for point in self.points])

    def folds(self, name: str) -> list[int]:
        """Return the indices of motions at which a quantity has an extremum along the family."""
        steps = np.sign(np.diff(self[name]))
        return [int(k) + 1 for k in np.flatnonzero(steps[:-1] * steps[1:] < 0)]

    @cached_property
    def states(self) -> tuple[str, ...]:
        """Names of the states of the linear systems about the motions."""
        return self.points[0].linear().states

    @cached_property
    def eigenvalues(self) -> Floats:
        """Eigenvalues (1/s) of the linear system about each motion, (motions, states).

        Each column tracks one eigenvalue from motion to motion.
        """
        values_by_machine = []
        for _, group in groupby(self.points, key=lambda point: id(point.machine)):
            points = list(group)
            y = np.array([point.y for point in points])
            w = np.array([point.w for point in points])
            values_by_machine.append(
                linear_systems(points[0].machine, y, w, form="frozen").eigenvalues()
            )
        values = np.concatenate(values_by_machine)
        return np.take_along_axis(values, track_eigenvalues(values), axis=1)

    @property
    def stable(self) -> Floats:
        """Whether each motion is stable, (motions,); the zero eigenvalue along the family is ignored."""
        return self._are_damped(self.eigenvalues)

    @property
    def stable_backwards(self) -> Floats:
        """Whether each time-reversed motion is stable, (motions,), for systems without damping.

        Reversing time changes the signs of all eigenvalues.
        """
        return self._are_damped(-self.eigenvalues)

    def _are_damped(self, eigenvalues: Floats) -> Floats:
        """Return whether all eigenvalues but the zero one have negative real parts, (motions,)."""
        smallest = np.abs(eigenvalues).min(axis=1, keepdims=True)
        is_zero = np.abs(eigenvalues) <= np.maximum(smallest, ZERO_EIGENVALUE)
        return np.all((eigenvalues.real < 0) | is_zero, axis=1)


def family(
    start: Steady,
    direction: Mapping[str, float],
    *,
    free: Sequence[str] = (),
    keep: Sequence[str] = (),
    until: Mapping[str, float] | None = None,
    step: float = 0.02,
    max_motions: int = 1000,
) -> SteadyFamily:
    """Compute the family of steady motions through a start, by pseudo-arclength continuation.

    Parameters
    ----------
    start
        First motion.
    direction
        Name of a quantity and the sign of its initial change, such as `{"lean": 1.0}`. At a branch point
        it also selects the branch along which this quantity changes most.
    free
        Names of the inputs that change along the family.
    keep
        Quantities that keep their values, such as `["forward_speed"]`; names as in `steady`.
    until
        The family ends with a motion at which one of these quantities has the given value.
    step
        Largest change from one motion to the next: in m or rad for coordinates, in units of 10 m/s or
        10 rad/s for speeds (0.02 is 0.2 m/s).
    max_motions
        Largest number of motions.

    Returns
    -------
    SteadyFamily
        The motions in their order along the family.

    Raises
    ------
    ConfigurationError
        If no family leads from the start in that direction, or it cannot be followed farther.

    Examples
    --------
    >>> from draisine import compile
    >>> bicycle = compile("whipple")
    >>> upright = steady(bicycle, free=["steer"], forward_speed=5.0)
    >>> turns = family(
    ...     upright, {"lean": 1.0}, free=["steer"], keep=["forward_speed"], until={"lean": 0.3}
    ... )
    >>> print(f"{turns['steer'][-1]:.4f} rad at {turns['forward_speed'][-1]:.1f} m/s")
    -0.1251 rad at 5.0 m/s
    """
    names = list(quantity_names(start.machine.system.model))
    expect_known("family of steady motions: nothing is called", [*direction, *keep], names)
    curve = _start_curve(start, direction, free, keep)
    points = [start]
    size = step
    while len(points) < max_motions:
        try:
            y, w, s, bend = curve.compute_next_point(size)
        except ConfigurationError:
            bend = np.inf
        if bend > MAX_BEND:
            size /= 2
            if size < MIN_RELATIVE_STEP * step:
                raise ConfigurationError(
                    f"The family of steady motions cannot be continued beyond "
                    f"{_format_values(points[-1], direction)}. Let it end there with `until`."
                )
            continue
        points.append(Steady(curve.balance.machine, y, w, start.law, start.acceleration))
        for name, value in (until or {}).items():
            if len(points) > 2 and _has_passed_value(points, name, value):
                points[-1] = _locate_value(points, curve, name, value)
                return SteadyFamily(tuple(points))
        curve.accept_point(y, w, s)
        size = min(step, 1.5 * size) if bend < GROW_BEND else size
    return SteadyFamily(tuple(points))


def _start_curve(
    start: Steady, direction: Mapping[str, float], free: Sequence[str], keep: Sequence[str]
) -> Curve:
    """Return the continuation curve through a start, in the direction in which a quantity changes."""
    free_inputs = [list(start.inputs).index(name) for name in free]
    balance = Balance(start.machine, start.y, start.w, free_inputs)
    variation = balance.evaluate(start.y, start.w)
    kept, _ = balance.quantities(variation, start.y, start.w, keep)
    fixed = dict(zip(keep, map(float, kept), strict=True))
    if start.acceleration:
        fixed["forward_acceleration"] = start.acceleration
    curve = Curve(balance, start.y, start.w, start.law, fixed)
    _, rows = balance.quantities(variation, start.y, start.w, direction)
    wanted = np.array(list(direction.values())) @ rows * balance.scale
    if not curve.set_direction(wanted):
        raise ConfigurationError(
            f"No family of steady motions leads from this start along {', '.join(direction)}. Free an "
            "input, or keep fewer quantities."
        )
    return curve


def _format_values(point: Steady, names: Iterable[str]) -> str:
    """Return named quantities of a motion with their values as text."""
    available = [name for name in names if name in point.values]
    return ", ".join(f"{name} = {round(point.values[name], 12) + 0.0:.6g}" for name in available)


def _has_passed_value(points: Sequence[Steady], name: str, value: float) -> bool:
    """Return whether a quantity passed a value between the last two motions."""
    before, after = (point.values[name] - value for point in points[-2:])
    return before * after <= 0.0 and before != 0.0


def _locate_value(points: Sequence[Steady], curve: Curve, name: str, value: float) -> Steady:
    """Return the motion between the last two motions at which a quantity has a given value."""
    near = min(points[-2:], key=lambda point: abs(point.values[name] - value))
    balance = Balance(near.machine, near.y, near.w, curve.balance.free)
    y, w = balance.solve(near.y, near.w, curve.base | {name: value})
    return Steady(near.machine, y, w, near.law, near.acceleration)


def steady_turns(
    system: System,
    *,
    kind: Literal["forward", "reversed", "pivoting"] = "forward",
    until: Mapping[str, float] | None = None,
    step: float = 0.02,
) -> SteadyFamily:
    """Compute a family of hands-free circles of a bicycle or motorcycle, starting with right turns.

    Three families exist (Basu-Mandal et al. 2007, doi:10.1098/rspa.2007.1849). On tyres, which
    dissipate energy in a turn, a torque at the rear wheel keeps the speed.

    Parameters
    ----------
    system
        The compiled bicycle or motorcycle.
    kind
        "forward" and "reversed" (handlebar back to front) start from straight running at the speed at
        which a real eigenvalue is zero (capsize). "pivoting" passes a motion in which the rear wheel
        does not roll and the front wheel runs around it; it leads from circles with the handlebar
        forward to circles with the handlebar reversed.
    until
        The family ends at one of these values; by default at rest or at a lean of 1.5 rad, the pivoting
        one at 1.4 rad and at a yaw rate of 12 rad/s.
    step
        Largest change of coordinates from one motion to the next, as in `family`.

    Returns
    -------
    SteadyFamily
        The circles in their order along the family.

    Raises
    ------
    ParameterError
        If the vehicle has no such family.

    Examples
    --------
    >>> from draisine import compile
    >>> circles = steady_turns(compile("whipple"), until={"lean": 0.2})
    >>> print(f"{circles['rear_wheel_speed'][-1]:.4f} m/s")
    5.9083 m/s
    """
    if kind == "pivoting":
        return _pivoting_turns(system, until, step)
    if kind not in ("forward", "reversed"):
        raise ParameterError(f"Unknown family {kind!r}. Available: forward, reversed, pivoting.")
    prescribed: dict[str, Any] = {"steer": np.pi if kind == "reversed" else 0.0}
    drive: list[str] = []
    speed_name = "rear_wheel_speed" if "rear_wheel_speed" in system.outputs else "forward_speed"
    if is_plain(system):
        speed = branching_speed(canonical_matrices(system, about=prescribed))
    elif kind == "forward":
        slips = any(wheel.tyre is not None for wheel in system.model.wheels)
        drive = ["rear_wheel"] if slips else []
        speed = float(critical_speeds(system).capsize)
    else:
        raise ParameterError(
            "Circles with a reversed handlebar need an ideal bicycle: rigid parts, wheels without slip."
        )
    if not np.isfinite(speed):
        raise ParameterError(
            f"{system.vehicle.__name__} has no capsize speed with these parameters: the circles start from "
            "straight running at the speed at which a real eigenvalue is zero."
        )
    start = state(system, forward_speed=speed, **prescribed)
    prescribed |= {"lean": 0.0, speed_name: speed}
    upright = steady(system, start=start, free=drive, **prescribed)
    ends = {speed_name: 0.0, "lean": 1.5} if until is None else until
    return family(upright, {"lean": 1.0}, free=drive, until=ends, step=step)


def _pivoting_turns(system: System, until: Mapping[str, float] | None, step: float) -> SteadyFamily:
    """Return the family of circles from forward to reversed handlebar that contains the pivoting motion.

    In the pivoting motion the rear wheel does not roll.
    """
    if not is_plain(system):
        raise ParameterError(
            "Circles about a pivoting rear wheel need an ideal bicycle: rigid parts, wheels without slip."
        )
    pivot = _find_pivot(system)
    ends = {"lean": 1.4, "yaw_rate": -12.0} if until is None else until
    forward, backward = (
        family(pivot, {"rear_wheel_speed": sense}, until=ends, step=step) for sense in (1.0, -1.0)
    )
    return SteadyFamily((*forward.points[:0:-1], *backward.points))


def _find_pivot(system: System) -> Steady:
    """Return the hands-free motion with the rear wheel at rest.

    The front wheel, almost perpendicular to the frame, runs around the rear contact.
    """
    wheelbase = float(system.parameters.get("w", 1.0))
    g = float(system.parameters.get("g", 9.81))
    turn = -0.6 * float(np.sqrt(g / wheelbase))  # turning rate of bicycles in the literature, rad/s
    # Rest satisfies the same equations. Therefore the first search prescribes the steer angle, not
    # the speed.
    for steer in (-0.51 * np.pi, -0.53 * np.pi, -0.56 * np.pi, -0.6 * np.pi):
        try:
            start = state(system, lean=0.0, steer=steer, yaw_rate=turn, rear_wheel_speed=0.0)
            near = steady(system, start=start, steer=steer)
            pivot = steady(system, start=near, rear_wheel_speed=0.0)
        except ConfigurationError:
            continue
        if abs(pivot.values["yaw_rate"]) > 0.1 * abs(turn):
            return pivot
    raise ConfigurationError(
        f"{system.vehicle.__name__} has no hands-free circle about a rear wheel at rest with these "
        "parameters."
    )
