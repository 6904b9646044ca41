"""Steady circles of bicycles and motorcycles: speed, radius, lean, steer, torques and stability.

Circles are steady motions about a vertical axis. Hands-free circles, and turns at constant speed, are
families followed by continuation; a single circle is solved for two prescribed quantities. Stability
follows from the eigenvalues of the linearised motion.
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
from draisine.simulation.dataset import with_recipe
from draisine.system.system import System

if TYPE_CHECKING:
    from xarray import Dataset

MAX_TURN_LEAN = math.radians(50.0)
"""Largest lean (rad) of turns at constant speed, about the limit of road tyres."""

DEFAULT_TURN_SPEED = 10.0
"""Speed (m/s) of the turns of a two-wheeler without hands-free circles, a usual riding speed."""

CONTINUATION_STEP = 0.04
"""Largest change of a coordinate (rad, m/s) between neighbouring circles of a family.

Finer steps yield the same families, with more points than a figure can show.

"""

NEUTRAL_GROWTH = 1e-7
"""Largest growth rate (1/s) of circles at the limit of stability, the error of computed eigenvalues."""

TURN_QUANTITIES = {
    "rear_wheel_speed": ("m/s", "speed of the rear wheel's rim"),
    "forward_speed": ("m/s", "velocity of the rear hub along the heading"),
    "yaw_rate": ("rad/s", "turning rate, positive to the left"),
    "lean": ("rad", "lean, positive to the right"),
    "steer": ("rad", "steer, positive to the left"),
    "pitch": ("rad", "pitch, positive nose down"),
}
"""Unit and meaning of the outputs that are reported for each circle, by name."""

TURN_UNITS = {"speed": "m/s", "radius": "m", "lean": "rad", "steer": "rad"}
"""Units of the quantities that determine a circle; any two of them suffice."""

FAMILY_TITLES = {"reversed": "handlebar reversed", "pivoting": "about a rear wheel at rest"}
"""Titles of the families of hands-free circles except "forward", by family."""


@with_recipe
def find_hands_free_circles(
    vehicle: str,
    parameters: Mapping[str, Any] | None = None,
    parameter_set: str | None = None,
    *,
    kind: Literal["forward", "reversed", "pivoting"] = "forward",
) -> "Dataset":
    """Find a family of hands-free circles by continuation, see `steady_turns`.

    A two-wheeler on tyres without a capsize speed has no hands-free circles; its turns at 10 m/s with a
    steer torque are returned instead.

    Parameters
    ----------
    vehicle
        Name of the vehicle.
    parameters
        Parameters that replace those of the parameter set.
    parameter_set
        Name of a parameter set; by default that of the vehicle.
    kind
        Family of circles: handlebar forward, handlebar reversed, or turning about the rear contact.

    Returns
    -------
    Dataset
        One entry per circle along the dimension `motion`, SI units.

    Examples
    --------
    >>> circles = find_hands_free_circles("whipple")
    >>> print(f"{float(circles.rear_wheel_speed[0]):.6f} m/s")
    6.024262 m/s
    """
    system = build_system(vehicle, parameters, parameter_set)
    start_time = time.perf_counter()
    _check_bicycle(system)
    try:
        circles = steady_turns(system, kind=kind, step=CONTINUATION_STEP)
    except ParameterError:
        # Slipping tyres dissipate energy. On tyres a steady circle may therefore require a drive
        # torque.
        if kind != "forward" or not _has_tyres(system):
            raise
        return _follow_turns(system, DEFAULT_TURN_SPEED, start_time)
    title = "hands-free circles" + ("" if kind == "forward" else f", {FAMILY_TITLES[kind]}")
    return _make_dataset(system, circles.points, circles.eigenvalues, title, start_time)


@with_recipe
def trace_turns(
    vehicle: str,
    parameters: Mapping[str, Any] | None = None,
    parameter_set: str | None = None,
    *,
    speed: float,
) -> "Dataset":
    """Compute the family of turns to the right at a constant speed (m/s) by continuation.

    The family extends from straight running to a lean of 50 deg or to a fold; a constant steer
    torque balances each turn.

    >>> turns = trace_turns("motorcycle", speed=20.0)
    >>> print(f"{float(turns.lean[-1]):.4f} rad")
    0.8727 rad
    """
    system = build_system(vehicle, parameters, parameter_set)
    start_time = time.perf_counter()
    _check_bicycle(system)
    return _follow_turns(system, speed, start_time)


def _follow_turns(system: System, speed: float, start_time: float) -> "Dataset":
    """Return the family of turns of a vehicle at a constant speed (m/s) as a dataset."""
    inputs = _control_inputs(system)
    name = _speed_name(system)
    straight: dict[str, Any] = {name: speed}
    upright = steady(system, free=inputs, lean=0.0, **straight)
    turns = family(
        upright,
        {"lean": 1.0},
        free=inputs,
        keep=[name],
        until={"lean": MAX_TURN_LEAN},
        step=CONTINUATION_STEP,
        max_motions=400,
    )
    # Beyond a fold the lean decreases again. Leave this branch out: it has another steer angle at
    # the same lean.
    if folds := turns.folds("lean"):
        turns = SteadyFamily(turns.points[: folds[0] + 1])
    title = f"turns at {speed:g} m/s"
    return _make_dataset(system, turns.points, turns.eigenvalues, title, start_time)


@with_recipe
def solve_turn(
    vehicle: str,
    parameters: Mapping[str, Any] | None = None,
    parameter_set: str | None = None,
    **prescribed: float,
) -> "Dataset":
    """Solve the steady circle of a bicycle or motorcycle for two prescribed quantities.

    Prescribe two of `speed` (m/s, of the rear wheel's rim or, on tyres, of its hub), `radius` of the path
    (m, positive to the left), `lean` and `steer` (rad). A constant steer torque balances the circle. If the
    tyres slip, a torque at the rear wheel maintains the speed.

    >>> turn = solve_turn("whipple", speed=5.0, radius=20.0)
    >>> print(f"{float(turn.radius[0]):.10f} m, {float(turn.steer_torque[0]):.4f} N m")
    20.0000000000 m, -0.1058 N m
    """
    system, point, title, start_time = _solve_prescribed_turn(
        vehicle, parameters, parameter_set, prescribed
    )
    return _make_dataset(system, [point], point.linear().eigenvalues()[None], title, start_time)


def simulate_turn(
    vehicle: str,
    parameters: Mapping[str, Any] | None = None,
    parameter_set: str | None = None,
    **prescribed: float,
) -> "Dataset":
    """Simulate one revolution along a steady circle under its constant torques.

    An unstable circle is simulated until round-off has grown to a relative error of about 1e-3.

    >>> run = simulate_turn("whipple", speed=5.0, radius=20.0)
    >>> print(f"{float(run.time[-1]):.4f} s")
    25.1327 s
    """
    _, point, title, _ = _solve_prescribed_turn(vehicle, parameters, parameter_set, prescribed)
    # Simulate large circles and straight running for about one minute, other circles for one
    # revolution.
    period = 2.0 * math.pi / max(abs(point.values["yaw_rate"]), 0.1)
    growth = float(point.linear().eigenvalues().real.max())
    # Round-off errors of 1e-13 may grow by a factor of 1e10 until a relative error of 1e-3 is
    # reached.
    until = min(period, math.log(1e10) / max(growth, 1e-3))
    return point.simulate(until).to_xarray().assign_attrs(title=title)


def _solve_prescribed_turn(
    vehicle: str,
    parameters: Mapping[str, Any] | None,
    parameter_set: str | None,
    prescribed: Mapping[str, float],
) -> tuple[System, Steady, str, float]:
    """Return compiled vehicle, steady circle, title, and the clock time (s) at which the solution started."""
    if len(prescribed) != 2:
        raise ParameterError(
            f"A circle is determined by two of speed, radius, lean and steer; {len(prescribed)} "
            f"given ({', '.join(prescribed)}). Examples: --speed 5 --radius 20, "
            "--speed 5 --lean 10deg."
        )
    system = build_system(vehicle, parameters, parameter_set)
    start_time = time.perf_counter()
    _check_bicycle(system)
    outputs: dict[str, Any] = {
        _speed_name(system) if name == "speed" else name: x for name, x in prescribed.items()
    }
    point = steady(system, free=_control_inputs(system), **outputs)
    values = ", ".join(f"{name} {x:.6g} {TURN_UNITS[name]}" for name, x in prescribed.items())
    return system, point, f"circle with {values}", start_time


def _has_tyres(system: System) -> bool:
    """Return whether the wheels have tyres, which slip and dissipate energy in a turn."""
    return any(wheel.tyre is not None for wheel in system.model.wheels)


def _control_inputs(system: System) -> list[str]:
    """Return the names of the inputs that balance a circle: steer torque and, on tyres, drive torque."""
    return ["steer", "rear_wheel"] if _has_tyres(system) else ["steer"]


def _speed_name(system: System) -> str:
    """Return the name of the speed output (m/s): that of the rear wheel's rim or, on tyres, of its hub."""
    return "rear_wheel_speed" if "rear_wheel_speed" in system.outputs else "forward_speed"


def _make_dataset(
    system: System, points: Sequence[Steady], eigenvalues: Floats, title: str, start_time: float
) -> "Dataset":
    """Return steady circles with their eigenvalues (circles, states) as a dataset."""
    import xarray

    driven = "rear_wheel" in _control_inputs(system)
    if driven:
        # The drive torque determines the speed. Then each circle is isolated and has no zero
        # eigenvalue.
        growth = eigenvalues.real.max(axis=1)
        backwards = -eigenvalues.real.min(axis=1)
    else:
        # Circles form a family. The zero eigenvalue along the family does not affect stability.
        growth = growth_beside(eigenvalues)
        backwards = growth_beside(-eigenvalues)
    data: dict[str, tuple[Any, str, str]] = {
        name: (np.array([point.values[name] for point in points]), unit, meaning)
        for name, (unit, meaning) in TURN_QUANTITIES.items()
        if name in points[0].values
    }
    torque = np.array([point.inputs["steer"] for point in points])
    data["steer_torque"] = (torque, "N m", "torque at the handlebar, positive to the left")
    if driven:
        drive = np.array([point.inputs["rear_wheel"] for point in points])
        meaning = "torque at the rear wheel, positive if it drives"
        data["rear_wheel_torque"] = (drive, "N m", meaning)
    radius = np.array([_compute_radius(point) for point in points])
    data["radius"] = (radius, "m", "radius of the rear contact's path")
    data["growth"] = (growth, "1/s", "largest real part of the eigenvalues, without one zero")
    data["stable"] = (growth < -NEUTRAL_GROWTH, "", "whether disturbances decay")
    data["stable_backwards"] = (
        backwards < -NEUTRAL_GROWTH,
        "",
        "whether disturbances decay when the circle is run in the opposite direction",
    )
    return xarray.Dataset(
        {n: ("motion", x, {"units": u, "long_name": m}) for n, (x, u, m) in data.items()},
        coords={"motion": np.arange(len(points))},
        attrs={
            "vehicle": system.vehicle.__name__,
            **machine_attributes(system, title),
            "seconds": time.perf_counter() - start_time,
        },
    )


def _check_bicycle(system: System) -> None:
    """Raise an error if a compiled vehicle is not a bicycle or motorcycle."""
    if not is_two_wheeler(system):
        # `canonical_matrices` raises an error that names a missing joint or wheel.
        canonical_matrices(system)


def _compute_radius(point: Steady) -> float:
    """Return the radius (m) of the path of the rear contact; at rest, the limit for a slow motion."""
    name = _speed_name(point.machine.system)
    speed = point.values[name]
    yaw_rate = point.values["yaw_rate"]
    if abs(speed) < 1e-9 and abs(yaw_rate) < 1e-9:
        # At rest the radius is 0/0. Use the yaw rate per unit speed at constant lean and steer
        # instead.
        derivatives = vary(point.machine, point.y[None], point.w[None], seeds=("du",))
        rows = derivatives.observation_derivatives(["lean_rate", "steer_rate", name], "du")[0]
        rolling = np.linalg.lstsq(rows, np.array([0.0, 0.0, 1.0]), rcond=None)[0]
        speed = 1.0
        yaw_rate = float(derivatives.observation_derivatives(["yaw_rate"], "du")[0, 0] @ rolling)
    return abs(speed / yaw_rate) if abs(yaw_rate) > 1e-9 else float("inf")


def summarise_circles(data: "Dataset") -> dict[str, Any]:
    """Return steady circles as plain data in SI units for JSON; the radius of a straight path is None."""
    columns = {
        str(name): [_finite_or_none(x) for x in values.values.tolist()]
        for name, values in data.data_vars.items()
    }
    return {
        "vehicle": data.attrs["vehicle"],
        "parameters": json.loads(data.attrs["parameters"]),
        "motions": columns,
        "seconds": data.attrs["seconds"],
    }


def _finite_or_none(value: Any) -> Any:
    """Return a bool or finite number unchanged, and None otherwise, because JSON has no NaN."""
    return value if isinstance(value, bool) or np.isfinite(value) else None


def tabulate_circles(data: "Dataset", max_rows: int = 16) -> list[list[str]]:
    """Return evenly spaced circles as rows of text, including the ends and all changes of stability.

    The columns are speed, radius, lean, steer, yaw rate, growth and stability.
    """
    count = data.sizes["motion"]
    rows_shown = np.unique(np.linspace(0, count - 1, min(max_rows, count)).round().astype(int))
    changes = np.flatnonzero(np.diff(data["stable"].values.astype(int)))
    rows_shown = np.union1d(rows_shown, np.concatenate([changes, changes + 1]))
    rows = []
    for k in rows_shown:
        circle = {str(n): v.item() for n, v in data.isel(motion=int(k)).data_vars.items()}
        angles = (np.degrees(circle[name]) for name in ("lean", "steer", "yaw_rate"))
        radius = f"{circle['radius']:.4f}" if np.isfinite(circle["radius"]) else "straight"
        rows.append(
            [
                f"{_round_for_print(circle[find_speed_variable(data)]):.4f}",
                radius,
                *(f"{_round_for_print(x):.3f}" for x in angles),
                f"{_round_for_print(circle['growth']):.4f}",
                _format_stability(circle),
            ]
        )
    return rows


def describe_circles(data: "Dataset") -> list[str]:
    """Return text lines about the ends and stable range of a family, or the torques of one circle."""
    if data.sizes["motion"] == 1:
        torque = float(data["steer_torque"][0])
        side = "left" if torque > 0.0 else "right"
        lines = [f"required torque at the handlebar: {abs(torque):.6g} N m to the {side}"]
        if "rear_wheel_torque" in data:
            torque = float(data["rear_wheel_torque"][0])
            drives = "driving" if torque > 0.0 else "braking"
            lines.append(f"required torque at the rear wheel: {abs(torque):.6g} N m, {drives}")
        return [*lines, f"computed in {data.attrs['seconds']:.3g} s"]
    first = data.isel(motion=0)
    last = data.isel(motion=-1)
    name = find_speed_variable(data)
    speed = float(last[name])
    end = "rest" if abs(speed) < 1e-9 else f"{speed:.6g} m/s"
    stable = data[name].values[data["stable"].values]
    stability = f"{len(stable)} of {data.sizes['motion']} circles are stable"
    # Hands-free circles differ in their speed. Circles at one speed differ in their lean.
    if len(stable) and np.ptp(data[name].values) > 1e-6:
        stability += f", at speeds from {stable.min():.6g} to {stable.max():.6g} m/s"
    elif len(stable):
        leans = np.degrees(data["lean"].values[data["stable"].values])
        stability += f", at leans from {leans.min():.6g} to {leans.max():.6g} deg"
    return [
        f"from {_describe_first_circle(data, first)}",
        f"to {end} with lean {_format_degrees(last, 'lean')} and steer {_format_degrees(last, 'steer')}",
        stability if len(stable) else "no circle is stable",
        f"{data.sizes['motion']} circles, computed in {data.attrs['seconds']:.3g} s",
    ]


def find_speed_variable(data: "Dataset") -> str:
    """Return the name of the dataset variable that contains the speed of circles."""
    return "rear_wheel_speed" if "rear_wheel_speed" in data else "forward_speed"


def _describe_first_circle(data: "Dataset", first: "Dataset") -> str:
    """Return a text that describes the first circle of a family."""
    speed = float(first[find_speed_variable(data)])
    if abs(float(first["lean"])) > 1e-6:
        angles = (
            f"lean {_format_degrees(first, 'lean')} and steer {_format_degrees(first, 'steer')}"
        )
        return f"{speed:.6g} m/s with {angles}"
    free = " (capsize speed)" if str(data.attrs["title"]).startswith("hands-free") else ""
    return f"straight running at {speed:.12g} m/s{free}"


def _format_degrees(circle: "Dataset", name: str) -> str:
    """Format an angle of a circle in degrees as text."""
    return f"{_round_for_print(float(np.degrees(circle[name]))):.6g} deg"


def _round_for_print(number: float) -> float:
    """Round a number for printing; round-off becomes zero without a minus sign."""
    return 0.0 if abs(number) < 5e-10 else number


def _format_stability(circle: Mapping[str, Any]) -> str:
    """Return the stability of a circle as text: "yes", "no", "limit" or "backwards".

    "backwards" means that the circle is stable when run in the opposite direction.
    """
    if abs(circle["growth"]) <= NEUTRAL_GROWTH:
        return "limit"
    if circle["stable"]:
        return "yes"
    return "backwards" if circle["stable_backwards"] else "no"
