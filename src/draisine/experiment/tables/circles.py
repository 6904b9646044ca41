"""Circles of a bicycle as data, hands-free ones or the one that is asked for: speed, radius, lean, steer,
and whether they are stable.
"""

import json
import math
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.bicycle.eigenvalues import is_two_wheeler
from draisine.analysis.bicycle.straight import canonical_matrices
from draisine.analysis.continuation import SteadyFamily, family, steady_turns
from draisine.analysis.eigenmodes import growth_beside
from draisine.analysis.equilibrium import Steady, steady
from draisine.analysis.variation import vary
from draisine.errors import ParameterError
from draisine.results.bodies import machine_attributes
from draisine.scenario.validate.vehicle import build_system
from draisine.simulation.dataset import recorded
from draisine.system.system import System

if TYPE_CHECKING:
    from xarray import Dataset

DEEPEST = math.radians(50.0)
"""Turns at one speed are followed to this lean, rad, or to a fold."""

SPEED = 10.0
"""Speed of the turns, m/s, of a machine that has no hands-free circles."""

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


@recorded
def find_hands_free_circles(
    vehicle: str,
    parameters: Mapping[str, Any] | None = None,
    parameter_set: str | None = None,
    *,
    kind: Literal["forward", "reversed", "pivoting"] = "forward",
) -> "Dataset":
    """Return a family of hands-free circles (see `steady_turns`); of a machine without capsize speed the
    turns at 10 m/s with a steer torque.

    >>> circles = find_hands_free_circles("whipple")
    >>> print(f"{float(circles.rear_wheel_speed[0]):.6f} m/s")
    6.024262 m/s
    """
    system = build_system(vehicle, parameters, parameter_set)
    begun = time.perf_counter()
    _check_bicycle(system)
    try:
        found = steady_turns(system, kind=kind, step=STEP)
    except ParameterError:
        if kind != "forward" or not _slips(system):
            raise
        return _turns(system, SPEED, begun)
    title = "hands-free circles" + ("" if kind == "forward" else f", {_KINDS[kind]}")
    return _dataset(system, found.points, found.eigenvalues, title, begun)


_KINDS = {"reversed": "handlebar reversed", "pivoting": "past a rear wheel at rest"}


@recorded
def trace_turns(
    vehicle: str,
    parameters: Mapping[str, Any] | None = None,
    parameter_set: str | None = None,
    *,
    speed: float,
) -> "Dataset":
    """Return the turns to the right at a speed (m/s), from straight running to a lean of 50 deg or to
    the fold at which they end; a torque at the handlebar keeps them up.

    >>> turns = trace_turns("motorcycle", speed=20.0)
    >>> print(f"{float(turns.lean[-1]):.4f} rad")
    0.8727 rad
    """
    system = build_system(vehicle, parameters, parameter_set)
    begun = time.perf_counter()
    _check_bicycle(system)
    return _turns(system, speed, begun)


def _turns(system: System, speed: float, begun: float) -> "Dataset":
    """Return the turns of a machine at a speed."""
    held, name = _held_by(system), _speed_name(system)
    straight: dict[str, Any] = {name: speed}
    upright = steady(system, free=held, lean=0.0, **straight)
    found = family(
        upright, {"lean": 1.0}, free=held, keep=[name], until={"lean": DEEPEST}, step=STEP, most=400
    )
    if folds := found.folds("lean"):
        found = SteadyFamily(found.points[: folds[0] + 1])
    title = f"turns at {speed:g} m/s"
    return _dataset(system, found.points, found.eigenvalues, title, begun)


@recorded
def solve_turn(
    vehicle: str,
    parameters: Mapping[str, Any] | None = None,
    parameter_set: str | None = None,
    **asked: float,
) -> "Dataset":
    """Return the one circle of a bicycle or motorcycle with two prescribed quantities: two of its `speed`
    (of the rear wheel's rim, or of the hub), the `radius` of its path (positive to the left), `lean` and
    `steer`. A constant torque at the handlebar keeps it up; if tyres slip, one at the rear wheel keeps the
    speed.

    >>> turn = solve_turn("whipple", speed=5.0, radius=20.0)
    >>> print(f"{float(turn.radius[0]):.10f} m, {float(turn.steer_torque[0]):.4f} N m")
    20.0000000000 m, -0.1058 N m
    """
    return _dataset_of_turn(*_asked_turn(vehicle, parameters, parameter_set, asked))


def simulate_turn(
    vehicle: str,
    parameters: Mapping[str, Any] | None = None,
    parameter_set: str | None = None,
    **asked: float,
) -> "Dataset":
    """Return the run along a circle with prescribed quantities, with its torques: once around, or until
    rounding errors have grown to a thousandth if it is unstable.

    >>> run = simulate_turn("whipple", speed=5.0, radius=20.0)
    >>> print(f"{float(run.time[-1]):.4f} s")
    25.1327 s
    """
    _, point, title, _ = _asked_turn(vehicle, parameters, parameter_set, asked)
    around = 2.0 * math.pi / max(abs(point.values["yaw_rate"]), 0.1)
    growth = float(point.linear().eigenvalues().real.max())
    until = min(around, math.log(1e10) / max(growth, 1e-3))
    return point.simulate(until).to_xarray().assign_attrs(title=title)


def _asked_turn(
    vehicle: str,
    parameters: Mapping[str, Any] | None,
    parameter_set: str | None,
    asked: Mapping[str, float],
) -> tuple[System, Steady, str, float]:
    """Return the machine, the circle with prescribed quantities, its title, and when the work began."""
    if len(asked) != 2:
        raise ParameterError(
            f"a circle is decided by two of speed, radius, lean and steer, not by "
            f"{' and '.join(asked)} alone: --speed 5 --radius 20, --speed 5 --lean 10deg."
        )
    system = build_system(vehicle, parameters, parameter_set)
    begun = time.perf_counter()
    _check_bicycle(system)
    wanted: dict[str, Any] = {
        _speed_name(system) if name == "speed" else name: x for name, x in asked.items()
    }
    point = steady(system, free=_held_by(system), **wanted)
    told = ", ".join(f"{name} {x:.6g} {_UNITS[name]}" for name, x in asked.items())
    return system, point, f"circle with {told}", begun


def _dataset_of_turn(system: System, point: Steady, title: str, begun: float) -> "Dataset":
    return _dataset(system, [point], point.linear().eigenvalues()[None], title, begun)


_UNITS = {"speed": "m/s", "radius": "m", "lean": "rad", "steer": "rad"}
"""What a circle can be asked for."""


def _slips(system: System) -> bool:
    """Return whether tyres slip, and dissipate energy in a turn."""
    return any(wheel.tyre is not None for wheel in system.model.wheels)


def _held_by(system: System) -> list[str]:
    """Return the inputs that keep a circle up; if tyres slip, two."""
    return ["steer", "rear_wheel"] if _slips(system) else ["steer"]


def _speed_name(system: System) -> str:
    """Return the output by which the speed of a circle is counted."""
    return "rear_wheel_speed" if "rear_wheel_speed" in system.outputs else "forward_speed"


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
        if name in points[0].values
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
    """Raise if a machine is not a bicycle or motorcycle."""
    if not is_two_wheeler(system):
        canonical_matrices(system)  # its error says what is missing


def _radius(point: Steady) -> float:
    """Return the radius of the rear contact's path; at rest, that of the path it would take."""
    name = _speed_name(point.machine.system)
    speed, turn = point.values[name], point.values["yaw_rate"]
    if abs(speed) < 1e-9 and abs(turn) < 1e-9:
        found = vary(point.machine, point.y[None], point.w[None], seeds=("du",))
        rows = found.rows(["lean_rate", "steer_rate", name], "du")[0]
        rolled = np.linalg.lstsq(rows, np.array([0.0, 0.0, 1.0]), rcond=None)[0]
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
                f"{_settled(one[speed_of(data)]):.4f}",
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
        lines = [f"required torque at the handlebar: {abs(torque):.6g} N m to the {side}"]
        if "rear_wheel_torque" in data:
            push = float(data["rear_wheel_torque"][0])
            drives = "driving" if push > 0.0 else "braking"
            lines.append(f"required torque at the rear wheel: {abs(push):.6g} N m, {drives}")
        return [*lines, f"computed in {data.attrs['seconds']:.3g} s"]
    first, last = data.isel(motion=0), data.isel(motion=-1)
    name = speed_of(data)
    speed = float(last[name])
    end = "rest" if abs(speed) < 1e-9 else f"{speed:.6g} m/s"
    stable = data[name].values[data["stable"].values]
    steady = f"{len(stable)} of {data.sizes['motion']} circles are stable"
    if len(stable) and np.ptp(data[name].values) > 1e-6:
        steady += f", at speeds from {stable.min():.6g} to {stable.max():.6g} m/s"
    elif len(stable):
        leans = np.degrees(data["lean"].values[data["stable"].values])
        steady += f", at leans from {leans.min():.6g} to {leans.max():.6g} deg"
    return [
        f"from {_beginning(data, first)}",
        f"to {end} with lean {_degrees(last, 'lean')} and steer {_degrees(last, 'steer')}",
        steady if len(stable) else "no circle is stable",
        f"{data.sizes['motion']} circles, computed in {data.attrs['seconds']:.3g} s",
    ]


def speed_of(data: "Dataset") -> str:
    """Return the variable that is the speed of circles."""
    return "rear_wheel_speed" if "rear_wheel_speed" in data else "forward_speed"


def _beginning(data: "Dataset", first: "Dataset") -> str:
    """Return where a family of circles begins, in words."""
    speed = float(first[speed_of(data)])
    if abs(float(first["lean"])) > 1e-6:
        angles = f"lean {_degrees(first, 'lean')} and steer {_degrees(first, 'steer')}"
        return f"{speed:.6g} m/s with {angles}"
    free = " (capsize speed)" if str(data.attrs["title"]).startswith("hands-free") else ""
    return f"straight running at {speed:.12g} m/s{free}"


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
