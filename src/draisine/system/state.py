"""Initial states from requested values of outputs, joints and speeds.

The state satisfies the requested values and the constraints of the contacts. The other coordinates stay as
close as possible to the zero configuration, and the other speeds to zero (the method is in
`system.configuration`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.lie import rotation
from draisine.algebra.scalar import Floats
from draisine.errors import ConfigurationError, ParameterError, expect_known
from draisine.mechanics import constraints
from draisine.mechanics.couplings import find_flipped_loops
from draisine.mechanics.kinematics import geometry
from draisine.mechanics.tree import Tree
from draisine.model.names import SYNONYMS, Axes, benchmark_sign, check_axes, state_names, variables
from draisine.system.artifacts import require_system
from draisine.system.configuration import Configuration
from draisine.system.layout import state_sizes

if TYPE_CHECKING:
    from draisine.model import Model
    from draisine.system.closed_form import ClosedForm
    from draisine.system.system import System


NEARLY_FLAT_HEADING = 1e-3
"""Length of a wheel's heading vector, below which the wheel may lie flat and is examined more exactly. The
length is the sine of the angle between axle and ground normal.
"""

FLAT_SLOPE = 4e-5
"""Angle (rad) between the plane of a wheel and the ground below which the wheel counts as lying flat. At
smaller angles, its contact point has no significant digits.
"""


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Configuration and speeds of a system at one instant."""

    q: Floats  # (4,) unit quaternion of the base, scalar first
    p: Floats  # (3,) position of the origin of the base frame, m
    r: Floats  # (joints,) joint coordinates, rad or m
    v: Floats  # (speeds,) body twist of the base, then joint rates; m/s and rad/s
    joints: tuple[str, ...] = ()  # names of the joints
    speeds: tuple[str, ...] = ()  # names of the speeds
    # States of the force elements, such as deflections of tyres; empty if all are zero
    element_state: Floats = field(default_factory=lambda: np.zeros(0))

    def elements(self, count: int) -> Floats:
        """Return the `count` states of the force elements, zero if none are stored."""
        values = np.asarray(self.element_state, float)
        return values if values.size else np.zeros(count)

    def _named_numbers(self) -> dict[str, dict[str, float]]:
        """Return all numbers of the state by name: pose, joint coordinates, twist, joint rates, element
        states.
        """
        joints = self.joints or [f"r[{k}]" for k in range(len(self.r))]
        speeds = self.speeds or [f"v[{k}]" for k in range(len(self.v))]
        first = 6 if len(self.v) == 6 + len(self.r) else len(self.v) - len(self.r)
        return {
            "pose": dict(zip("xyz", self.p, strict=True)) | angles_of(self.q),
            "shape": dict(zip(joints, self.r, strict=True)),
            "twist": dict(zip(speeds[:first], self.v[:first], strict=True)),
            "rates": dict(zip(speeds[first:], self.v[first:], strict=True)),
            "elements": {f"z[{k}]": x for k, x in enumerate(self.element_state)},
        }

    def __repr__(self) -> str:
        parts = [part for part in self._named_numbers().values() if part]
        lines = [", ".join(f"{n}={_format_short(x)}" for n, x in part.items()) for part in parts]
        return f"State({(',' + chr(10) + '      ').join(lines)})"

    def _repr_html_(self) -> str:
        """Return the state as an HTML table for notebooks."""
        rows = [
            f"<tr><th>{title}</th>"
            + "".join(f"<td>{escape(n)}<br>{_format_short(x)}</td>" for n, x in part.items())
            + "</tr>"
            for title, part in self._named_numbers().items()
            if part
        ]
        return f"<table>{''.join(rows)}</table>"


def find_wrong_lengths(system: "System", state: State) -> list[str]:
    """Return descriptions of the state arrays that have the wrong length."""
    sizes = state_sizes(system.model, v=len(system.model.speeds))
    if np.size(state.element_state):
        sizes |= {"element_state": system.model.memory}
    return [
        f"{name} has the shape {np.shape(getattr(state, name))} instead of ({size},)"
        for name, size in sizes.items()
        if np.shape(getattr(state, name)) != (size,)
    ]


def make_state_error(system: "System", state: Any) -> ConfigurationError:
    """Return the error for a state that does not belong to a system."""
    if not isinstance(state, State):
        return ConfigurationError(
            f"{type(state).__name__} is not a State; build one with draisine.state()."
        )
    reason = (
        "; ".join(find_wrong_lengths(system, state)) or "it contains a value that is not a number"
    )
    return ConfigurationError(f"the state does not fit {system.vehicle.__name__}: {reason}.")


def angles_of(q: Floats) -> dict[str, float]:
    """Return yaw, lean and pitch of a unit quaternion, R = Rz(yaw) Rx(lean) Ry(pitch).

    >>> angles_of(np.array([1.0, 0.0, 0.0, 0.0]))
    {'yaw': 0.0, 'lean': 0.0, 'pitch': 0.0}
    """
    R = np.asarray(rotation(q), float)
    return {
        "yaw": float(np.arctan2(-R[0, 1], R[1, 1])) + 0.0,
        "lean": float(np.arcsin(np.clip(R[2, 1], -1.0, 1.0))) + 0.0,
        "pitch": float(np.arctan2(-R[2, 0], R[2, 2])) + 0.0,
    }


def _format_short(number: float) -> str:
    """Return a number with four digits; rounding errors are printed as 0."""
    return f"{number + 0.0 if abs(number) > 1e-12 else 0.0:.4g}"


def state(
    system: "System",
    *,
    mode: Mapping[str, str] | None = None,
    t: float = 0.0,
    at_rest: bool | None = None,
    element_state: Sequence[float] | Floats = (),
    axes: Axes = "draisine",
    **requested: float | str,
) -> State:
    """Return a consistent initial state with requested values.

    Speeds that are not requested are zero as far as possible: rates of joints and of the base first, then
    spins of rolling wheels. A zero that would multiply the kinetic energy is dropped, eq. [dear-zero]. A
    vehicle on tyres starts without slip, unless the requested values or a `mode` exclude that.

    Parameters
    ----------
    system
        The compiled vehicle.
    mode
        Status of each contact by name; by default that of the model.
    t
        Time (s), which determines the positions of prescribed joints.
    at_rest
        Whether to choose, among all speeds that satisfy the constraints and the requested rates, those of
        least kinetic energy: the vehicle has no momentum in the directions that the contacts leave free,
        eq. [rest]. By default True if the system has prescribed joints but no active contacts, and no speed
        is requested.
    element_state
        States of the force elements, such as deflections of tyres; by default zero.
    axes
        "draisine", or "benchmark" for requested values with the signs of Meijaard et al. 2007 (steer, yaw
        and y to the right, pitch nose up, z down). The returned state has draisine's signs.
    **requested
        Outputs, joints and speeds by name, in SI units and radians; angles may be written "10deg". `speed`
        means `forward_speed`.

    Returns
    -------
    State
        Pose, joint coordinates and speeds that satisfy the closed contacts and the requested values, SI
        units.

    Raises
    ------
    ConfigurationError
        If no state has the requested values.

    Examples
    --------
    >>> from draisine.system.system import compile
    >>> bicycle = compile("whipple")
    >>> state(bicycle, lean="10deg", steer=0.1, forward_speed=5.0)
    State(x=0, y=0, z=2.285e-07, yaw=0, lean=0.1745, pitch=-0.001244,
          steer=0.1, rear_wheel=0, front_wheel=0,
          Vx=4.975, Vy=0.0001736, Vz=-0.006219, Wx=0, Wy=0.08206, Wz=0.4654,
          steer_rate=0, rear_wheel_rate=16.58, front_wheel_rate=14.29)
    """
    require_system("state", system)
    check_axes(axes)
    if axes == "benchmark":
        numbers = initial_values(requested, system.model)
        requested = {name: x * benchmark_sign(system.model, name) for name, x in numbers.items()}
    initial = make_state(system, requested, mode=mode, at_rest=at_rest, t=t)
    initial = replace(initial, element_state=np.asarray(element_state, float))
    if find_wrong_lengths(system, initial):
        raise make_state_error(system, initial)
    return initial


def make_state(system: "System", requested: Mapping[str, float | str], **options: Any) -> State:
    """Return the state with requested values by name; `options` are keyword arguments of `states`."""
    numbers = {name: [value] for name, value in initial_values(requested, system.model).items()}
    return _take_single_state(system.model, *states(system, numbers, **options))


def initial_values(requested: Mapping[str, Any], model: "Model") -> dict[str, float]:
    """Return the requested values of an initial state as numbers, by name as in the model."""
    valid_names = state_names(model)
    numbers: dict[str, float] = {}
    for alias, value in requested.items():
        name = alias if alias in valid_names else SYNONYMS.get(alias, alias)
        if name in numbers:
            raise ParameterError(
                f"initial state: {alias} means {name}, which is requested as well."
            )
        numbers[name] = _parse_value(name, value, model)
    return numbers


def describe_flat_lean(lean: float) -> str:
    """Return the reason why a lean angle (rad) cannot be requested, or an empty string. The lean must stay
    between -90 and 90 degrees, where the heading is defined.

    >>> describe_flat_lean(20.0)
    "lean = 20 rad lies flat or beyond, it stays between -90deg and 90deg. Degrees are written '20deg'."
    """
    if abs(lean) <= np.pi / 2 - 1e-6:
        return ""
    degrees = f" Degrees are written '{lean:g}deg'." if 2.0 < abs(lean) < 90.0 else ""
    return f"lean = {lean:g} rad lies flat or beyond, it stays between -90deg and 90deg.{degrees}"


def states(
    system: "System",
    requested: Mapping[str, Sequence[float] | Floats],
    *,
    mode: Mapping[str, str] | None = None,
    at_rest: bool | None = None,
    t: float = 0.0,
    parameters: Floats | None = None,
    tilt: Floats | None = None,
) -> tuple[dict[str, Floats], list[str]]:
    """Return many consistent states at once.

    Parameters
    ----------
    system
        The compiled vehicle.
    requested
        N values of each requested name.
    mode, at_rest, t
        As in `state`.
    parameters
        Parameters of each vehicle, (N, parameters); by default those of the system.
    tilt
        Quaternion that rotates level ground onto a slope. The returned states are those on level ground;
        they have the requested values after the rotation. Positions are those on level ground.

    Returns
    -------
    columns
        Arrays q, p, r, v with one column for each state.
    errors
        For each state, the reason why it does not exist, or an empty string.

    >>> from draisine.system.system import compile
    >>> columns, errors = states(compile("whipple"), {"forward_speed": [3.0, 4.0, 5.0]})
    >>> columns["v"].shape, errors
    ((9, 3), ['', '', ''])
    """
    # If possible, start vehicles on tyres without slip: choose the speeds as if their wheels
    # rolled.
    tyred = {wheel.name: "rolling" for wheel in system.model.wheels if wheel.tyre is not None}
    first_mode = tyred if tyred and mode is None else mode
    columns, errors = _find_consistent_states(
        system.machine(first_mode), requested, t, at_rest, parameters, tilt
    )
    slipping = [k for k, text in enumerate(errors) if text and first_mode is not mode]
    if slipping:
        values = {name: np.asarray(x, float)[slipping] for name, x in requested.items()}
        subset = None if parameters is None else parameters[slipping]
        others, other_errors = _find_consistent_states(
            system.machine(mode), values, t, at_rest, subset, tilt
        )
        for name in columns:
            columns[name][:, slipping] = others[name]
        for k, text in zip(slipping, other_errors, strict=True):
            errors[k] = text
    return columns, errors


def _parse_value(name: str, value: Any, model: "Model") -> float:
    """Return the numerical value of a request, which may be written as text."""
    if not isinstance(value, str):
        try:
            return float(value)
        except (OverflowError, TypeError, ValueError):
            text = f"initial state: {name:.80} = {value!r:.80} is not a number."
            raise ParameterError(text) from None
    from draisine.model.quantity import parse_number

    by_name = variables(model)
    try:
        return parse_number(value, by_name[name].unit if name in by_name else None)
    except ValueError as error:
        raise ParameterError(f"initial state: {name} = {error}.") from None


def consistent_state(
    machine: "ClosedForm",
    requested: Mapping[str, float],
    t: float = 0.0,
    at_rest: bool | None = None,
) -> State:
    """Return the state of a compiled contact mode with requested values: the configuration by Newton's
    method, then the speeds by linear equations.

    Distant angles are approached in steps.

    Raises
    ------
    ConfigurationError
        If no state has the requested values.
    """
    numbers = {name: [value] for name, value in requested.items()}
    return _take_single_state(
        machine.system.model, *_find_consistent_states(machine, numbers, t, at_rest)
    )


def _take_single_state(model: "Model", columns: Mapping[str, Floats], errors: list[str]) -> State:
    """Return the state in the first column; raise ConfigurationError if this column has an error
    message.
    """
    if errors[0]:
        raise ConfigurationError(errors[0])
    q, p, r, v = (columns[name][:, 0] for name in "qprv")
    return State(q, p, r, v, tuple(joint.name for joint in model.joints), tuple(model.speeds))


def _find_consistent_states(
    machine: "ClosedForm",
    requested: Mapping[str, Sequence[float] | Floats],
    t: float,
    at_rest: bool | None,
    parameters: Floats | None = None,
    tilt: Floats | None = None,
) -> tuple[dict[str, Floats], list[str]]:
    """Return consistent states as arrays q, p, r, v with one column per state, and the error message of
    each state (or an empty string).
    """
    numbers = {name: np.asarray(values, float) for name, values in requested.items()}
    _check_requests(numbers, state_names(machine.system.model))
    count = len(next(iter(numbers.values()), [0])) if parameters is None else len(parameters)
    errors = [""] * count
    if "lean" in numbers:
        _add_errors(
            errors, {k: describe_flat_lean(x) for k, x in enumerate(numbers["lean"].tolist())}
        )
        # Replace an impossible lean by zero, so that this state does not affect the solution of the
        # other states.
        numbers["lean"] = np.where([bool(text) for text in errors], 0.0, numbers["lean"])
    pose = Configuration(machine, count, t, parameters, tilt)
    targets = {name: x for name, x in numbers.items() if name not in pose.fast}
    drawn = pose.close_loops(targets) if machine.system.model.loops else None
    _add_errors(errors, pose.try_move_to(targets))
    if at_rest is None:
        at_rest = _has_prescribed_motion_only(machine) and not any(
            name in pose.fast for name in requested
        )
    s, contradictions = pose.speeds(numbers, at_rest)
    _add_errors(errors, contradictions)
    layout = machine.layout
    frames = pose.frames
    q, p = machine.user_pose(pose.y[:, layout.q].T, pose.y[:, layout.p].T, frames)
    q = np.where(q[0] >= 0, q, -q)
    r = pose.y[:, layout.r].T
    columns = {"q": q, "p": p, "r": r, "v": machine.user_speeds(s.T, frames)}
    _add_errors(errors, _find_flipped_loops(pose, drawn, targets))
    _add_errors(errors, _find_flat_wheels(pose, columns))
    return columns, errors


def _check_requests(requested: Mapping[str, Floats], valid_names: Sequence[str]) -> None:
    """Raise ParameterError if a requested name does not exist, or a value is not a finite number."""
    for name, values in requested.items():
        expect_known("initial state: nothing is called", name, valid_names)
        for value in values[~np.isfinite(values)].tolist():
            raise ParameterError(f"initial state: {name} = {value} is not a finite number.")


def _add_errors(errors: list[str], new: Mapping[int, str]) -> None:
    """Add error messages by index of the state; the first message of a state is kept."""
    for k, text in new.items():
        errors[k] = errors[k] or text


def _find_flipped_loops(
    configuration: Configuration, start_coordinates: Floats | None, targets: Mapping[str, Floats]
) -> dict[int, str]:
    """Return the error messages of configurations that close a kinematic loop on another branch than the
    zero configuration, by index.
    """
    errors = {}
    if start_coordinates is None:
        return {}
    for k in range(len(configuration.y)):
        r = configuration.y[k, configuration.machine.layout.r]
        for loop in find_flipped_loops(
            configuration.numerical_tree(k), start_coordinates[k], r, targets
        ):
            errors[k] = (
                f"loop {loop!r} would close on the other branch: a dead point lies between the drawing "
                "and the requested values. Request smaller ones, or draw the machine on that branch."
            )
    return errors


def _has_prescribed_motion_only(machine: "ClosedForm") -> bool:
    """Return whether the system has prescribed joints but no active contacts."""
    model = machine.system.model
    touching = any(
        c.rows[status] for c, (_, status) in zip(model.contacts, machine.mode, strict=True)
    )
    return not touching and bool(constraints.prescribed_joints(model))


def _find_flat_wheels(
    configuration: Configuration, columns: Mapping[str, Floats]
) -> dict[int, str]:
    """Return the error messages of configurations in which the axle of a wheel in contact is parallel to
    the ground normal, by index.
    """
    program = configuration.machine.project
    parts = configuration.machine.layout.split(configuration.y.T)
    inputs = program.inputs.pack(**{name: parts[name] for name in "qpr"})
    headings = program.batch(inputs, configuration.prologue_table(program))["headings"]
    # The heading vector of a wheel vanishes as the wheel falls flat. Wheels with long heading
    # vectors need no further check.
    lengths = np.hypot(headings[::2], headings[1::2]).min(axis=0, initial=1.0)
    errors = {}
    for k in np.flatnonzero(~(lengths > NEARLY_FLAT_HEADING)).tolist():
        flat = _flat_wheel_name(
            configuration.machine,
            configuration.numerical_tree(k),
            columns["q"][:, k],
            columns["r"][:, k],
        )
        if flat is not None:
            errors[k] = f"the wheel {flat!r} would lie flat. Request less lean."
    return errors


def _flat_wheel_name(machine: "ClosedForm", tree: Tree, q: Floats, r: Floats) -> str | None:
    """Return the name of a wheel in contact whose axle is parallel to the ground normal, or None."""
    world = constraints.ground(tree, geometry(tree, r), rotation(q))
    for contact, (name, status) in zip(tree.model.contacts, machine.mode, strict=True):
        surface = contact.surface.turned(tree.axes_in_link(contact.body))
        up = world.up[tree.place[contact.body][0]]
        if status != "open" and surface.slope(up) < FLAT_SLOPE:
            return name
    return None
