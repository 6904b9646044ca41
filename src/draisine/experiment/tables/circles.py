"""Circles of a bicycle as data, hands-free ones or the one that is asked for: speed, radius, lean, steer,
and whether they are stable.
"""

import json
import math
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.bicycle.critical import branching_speed
from draisine.analysis.bicycle.eigenvalues import is_plain, is_two_wheeler
from draisine.analysis.bicycle.straight import canonical_matrices
from draisine.analysis.continuation import steady_turns
from draisine.analysis.eigenmodes import growth_beside
from draisine.analysis.equilibrium import Steady, steady
from draisine.analysis.variation import vary
from draisine.errors import ParameterError
from draisine.results.bodies import machine_attributes, restore_system
from draisine.scenario.validate.vehicle import build_system
from draisine.simulation.simulate import compute_run
from draisine.system.state import state
from draisine.system.system import System

if TYPE_CHECKING:
    from xarray import Dataset

STEP = 0.04
"""How far coordinates move at most from one circle to the next."""

_NOTHING = 1e-7
"""An eigenvalue smaller than this, 1/s, neither grows nor decays."""

SEEN = {
    "rear_wheel_speed": ("m/s", "speed of the rear wheel's rim"),
    "forward_speed": ("m/s", "velocity of the rear hub along the heading"),
    "yaw_rate": ("rad/s", "turning rate, positive to the left"),
    "lean": ("rad", "lean, positive to the right"),
    "steer": ("rad", "steer, positive to the left"),
    "pitch": ("rad", "pitch, positive nose down"),
}


def hands_free(
    vehicle: str,
    parameters: Mapping[str, Any] | None = None,
    parameter_set: str | None = None,
    *,
    reversed: bool = False,
) -> "Dataset":
    """Return the hands-free circles to the right of a bicycle, from straight running at its capsize
    speed on, to rest or to a lean of 1.5 rad.

    >>> circles = hands_free("whipple")
    >>> print(f"{float(circles.rear_wheel_speed[0]):.6f} m/s")
    6.024262 m/s
    """
    system = build_system(vehicle, parameters, parameter_set)
    begun = time.perf_counter()
    _check_start(system, reversed)
    found = steady_turns(system, reversed=reversed, step=STEP)
    title = "hands-free circles" + (", handlebar reversed" if reversed else "")
    return _dataset(system, found.points, found.eigenvalues, title, begun)


def asked_turn(
    vehicle: str,
    parameters: Mapping[str, Any] | None = None,
    parameter_set: str | None = None,
    **asked: float,
) -> "Dataset":
    """Return the one circle of a bicycle that two wishes decide: its `speed` (of the rear wheel's rim)
    and `radius` (of the rear contact's path, positive to the left), or two of `speed`, `lean` and
    `steer`. A torque at the handlebar holds it, and does not change when the circle is disturbed; where
    tyres slip, one at the rear wheel keeps the speed, and the radius is the rim's speed by the yaw rate.

    >>> turn = asked_turn("whipple", speed=5.0, radius=20.0)
    >>> print(f"{float(turn.radius[0]):.10f} m, {float(turn.steer_torque[0]):.4f} N m")
    20.0000000000 m, -0.1058 N m
    """
    if len(asked) != 2 or ("radius" in asked and "speed" not in asked):
        raise ParameterError(
            f"a circle is decided by speed and radius, or by two of speed, lean and steer, not by "
            f"{' and '.join(asked)} alone: --speed 5 --radius 20, --speed 5 --lean 10deg."
        )
    system = build_system(vehicle, parameters, parameter_set)
    begun = time.perf_counter()
    _check_bicycle(system)
    found = _asked(system, asked)
    told = ", ".join(f"{name} {x:.6g} {_UNITS[name]}" for name, x in asked.items())
    return _dataset(
        system, [found], found.linear().eigenvalues()[None], f"circle with {told}", begun
    )


def ride_turn(turn: "Dataset") -> "Dataset":
    """Return the run along a circle that was asked for, with its torque: once around, as far as errors
    of rounding do not grow over a thousandth where it is unstable.

    >>> run = ride_turn(asked_turn("whipple", speed=5.0, radius=20.0))
    >>> print(f"{float(run.time[-1]):.4f} s")
    25.1327 s
    """
    system = restore_system(turn)
    if not is_plain(system):
        raise ParameterError(
            "--plot: a run begins with tyres that do not slip and with parts that do not bend, and would "
            "leave this circle; without --plot it is told."
        )
    names = ("lean", "steer", "yaw_rate", "rear_wheel_speed")
    found = {name: float(turn[name][0]) for name in (*names, "growth", "steer_torque")}
    around = 2.0 * math.pi / max(abs(found["yaw_rate"]), 0.1)
    until = min(around, math.log(1e10) / max(found["growth"], 1e-3))
    begin: dict[str, Any] = {name: found[name] for name in names}
    start = state(system, **begin)
    run = compute_run(system, start, until, inputs={"steer": found["steer_torque"]})
    return run.to_xarray().assign_attrs(title=turn.attrs["title"])


_UNITS = {"speed": "m/s", "radius": "m", "lean": "rad", "steer": "rad"}
"""What a circle can be asked for."""

_SAME = {"speed": "rear_wheel_speed"}
"""What the model calls a wish."""


def _asked(system: System, asked: Mapping[str, float]) -> Steady:
    """Return the steady motion with two wishes, from a start that a point mass would have."""
    speed, radius, lean, steer = (asked.get(name) for name in _UNITS)
    w, g = (float(system.parameters.get(name, x)) for name, x in (("w", 1.0), ("g", 9.81)))
    bend = math.tan(steer) / w if steer is not None else None if radius is None else 1.0 / radius
    if speed is None:
        bend = bend or -math.tan(lean or 0.0) * g / 25.0
        speed = math.sqrt(abs(g * math.tan(lean or 0.0) / bend)) if lean and bend else 5.0
    bend = -math.tan(lean or 0.0) * g / max(speed, 1e-3) ** 2 if bend is None else bend
    start = state(
        system,
        forward_speed=speed,
        lean=-math.atan(speed**2 * bend / g) if lean is None else lean,
        steer=math.atan(w * bend) if steer is None else steer,
    )
    wishes: dict[str, Any] = {_SAME.get(n, n): x for n, x in asked.items() if n != "radius"}
    if radius is not None:
        wishes["yaw_rate"] = speed / radius
    return steady(system, start=start, free=_held_by(system), **wishes)


def _held_by(system: System) -> list[str]:
    """Return the inputs that hold a circle: where tyres slip and take energy, two."""
    slips = any(wheel.tyre is not None for wheel in system.model.wheels)
    return ["steer", "rear_wheel"] if slips else ["steer"]


def _dataset(
    system: System, points: Sequence[Steady], eigenvalues: Floats, title: str, begun: float
) -> "Dataset":
    """Return circles as a dataset."""
    import xarray

    driven = "rear_wheel" in _held_by(system)
    if driven:  # a torque that keeps the speed leaves no family of circles, and no eigenvalue zero
        growth, backwards = eigenvalues.real.max(axis=1), -eigenvalues.real.min(axis=1)
    else:
        growth, backwards = growth_beside(eigenvalues), growth_beside(-eigenvalues)
    data: dict[str, tuple[Any, str, str]] = {
        name: (np.array([point.values[name] for point in points]), unit, meaning)
        for name, (unit, meaning) in SEEN.items()
    }
    torque = np.array([point.inputs["steer"] for point in points])
    data["steer_torque"] = (torque, "N m", "torque at the handlebar, positive to the left")
    if driven:
        push = np.array([point.inputs["rear_wheel"] for point in points])
        data["rear_wheel_torque"] = (push, "N m", "torque at the rear wheel, positive if it drives")
    radius = np.array([_radius(point) for point in points])
    data["radius"] = (radius, "m", "radius of the rear contact's path")
    data["growth"] = (growth, "1/s", "largest real part of the eigenvalues, but for one zero")
    data["stable"] = (growth < -_NOTHING, "", "whether disturbances die out")
    data["stable_backwards"] = (
        backwards < -_NOTHING,
        "",
        "whether they die out when the circle is run the other way round",
    )
    return xarray.Dataset(
        {n: ("motion", x, {"units": u, "long_name": m}) for n, (x, u, m) in data.items()},
        coords={"motion": np.arange(len(points))},
        attrs={
            "vehicle": system.vehicle.__name__,
            **machine_attributes(system, title),
            "seconds": time.perf_counter() - begun,
        },
    )


def _check_bicycle(system: System) -> None:
    """Raise where no circles are told of a machine."""
    if not is_two_wheeler(system):
        canonical_matrices(system)  # tells what is no bicycle
    if "rear_wheel_speed" not in system.outputs:
        raise ParameterError(
            f"{system.vehicle.__name__} has no output rear_wheel_speed, by which circles are told. In Python "
            "analysis.equilibrium.steady(system, free=['steer', 'rear_wheel'], forward_speed=5, "
            "yaw_rate=0.25) finds one."
        )


def _check_start(system: System, reversed: bool) -> None:
    """Raise where there is no straight running from which circles branch off."""
    if is_two_wheeler(system) and not is_plain(system):
        raise ParameterError(
            "hands-free circles are those of wheels that do not slip and of nothing that gives: tyres take "
            "energy in a turn. --speed 5 --radius 20 finds the one circle, with the torques that keep it up."
        )
    found = canonical_matrices(system)  # tells what is no bicycle
    if reversed:
        found = canonical_matrices(system, about={"steer": np.pi})
    if not np.isfinite(branching_speed(found)):
        raise ParameterError(
            f"{system.vehicle.__name__} has no capsize speed with these parameters: the circles start from "
            "straight running at the speed at which a real eigenvalue is zero."
        )


def _radius(point: Steady) -> float:
    """Return the radius of the rear contact's path; at rest, that of the path it would take."""
    speed, turn = point.values["rear_wheel_speed"], point.values["yaw_rate"]
    if abs(speed) < 1e-9 and abs(turn) < 1e-9:
        found = vary(point.machine, point.y[None], point.w[None], seeds=("du",))
        rows = found.rows(["lean_rate", "steer_rate", "rear_wheel_speed"], "du")[0]
        rolled = np.linalg.solve(rows, np.array([0.0, 0.0, 1.0]))
        speed, turn = 1.0, float(found.rows(["yaw_rate"], "du")[0, 0] @ rolled)
    return abs(speed / turn) if abs(turn) > 1e-9 else float("inf")


def summary(data: "Dataset") -> dict[str, Any]:
    """Return circles as plain data in SI units, ready for JSON; a straight path has no radius."""
    columns = {
        str(name): [_plain(x) for x in values.values.tolist()]
        for name, values in data.data_vars.items()
    }
    return {
        "vehicle": data.attrs["vehicle"],
        "parameters": json.loads(data.attrs["parameters"]),
        "motions": columns,
        "seconds": data.attrs["seconds"],
    }


def _plain(x: Any) -> Any:
    return x if isinstance(x, bool) or np.isfinite(x) else None


def table(data: "Dataset", most: int = 16) -> list[list[str]]:
    """Return some of the circles as rows of text: speed, radius, lean, steer, turning rate, growth,
    stable or not; the first and the last are among them.
    """
    count = data.sizes["motion"]
    chosen = np.unique(np.linspace(0, count - 1, min(most, count)).round().astype(int))
    stable = data["stable"].values
    edges = np.flatnonzero(np.diff(stable.astype(int)))
    chosen = np.union1d(chosen, np.concatenate([edges, edges + 1]))
    rows = []
    for k in chosen:
        one = {str(n): v.item() for n, v in data.isel(motion=int(k)).data_vars.items()}
        numbers = (np.degrees(one["lean"]), np.degrees(one["steer"]), np.degrees(one["yaw_rate"]))
        radius = f"{one['radius']:.4f}" if np.isfinite(one["radius"]) else "straight"
        rows.append(
            [
                f"{_settled(one['rear_wheel_speed']):.4f}",
                radius,
                *(f"{_settled(x):.3f}" for x in numbers),
                f"{_settled(one['growth']):.4f}",
                _verdict(one),
            ]
        )
    return rows


def remarks(data: "Dataset") -> list[str]:
    """Return lines on where the circles begin and end, and where they are stable; of one, what holds
    it.
    """
    if data.sizes["motion"] == 1:
        torque = float(data["steer_torque"][0])
        side = "left" if torque > 0.0 else "right"
        held = f"a torque of {abs(torque):.6g} N m to the {side} at the handlebar holds it"
        if "rear_wheel_torque" in data:
            push = float(data["rear_wheel_torque"][0])
            drives = "drives" if push > 0.0 else "brakes"
            held += f", one of {abs(push):.6g} N m that {drives} at the rear wheel keeps its speed"
        return [held, f"computed in {data.attrs['seconds']:.3g} s"]
    first, last = data.isel(motion=0), data.isel(motion=-1)
    speed = float(last["rear_wheel_speed"])
    end = "rest" if abs(speed) < 1e-9 else f"{speed:.6g} m/s"
    stable = data["rear_wheel_speed"].values[data["stable"].values]
    steady = f"{len(stable)} of {data.sizes['motion']} circles are stable"
    if len(stable):
        steady += f", at speeds from {stable.min():.6g} to {stable.max():.6g} m/s"
    return [
        f"from straight running at {float(first['rear_wheel_speed']):.12g} m/s (capsize speed)",
        f"to {end} with lean {_degrees(last, 'lean')} and steer {_degrees(last, 'steer')}",
        steady if len(stable) else "no circle is stable",
        f"{data.sizes['motion']} circles, computed in {data.attrs['seconds']:.3g} s",
    ]


def _degrees(one: "Dataset", name: str) -> str:
    return f"{_settled(float(np.degrees(one[name]))):.6g} deg"


def _settled(x: float) -> float:
    return 0.0 if abs(x) < 5e-10 else x


def _verdict(one: Mapping[str, Any]) -> str:
    if abs(one["growth"]) <= _NOTHING:
        return "limit"
    if one["stable"]:
        return "yes"
    return "backwards" if one["stable_backwards"] else "no"
