"""Consistent states from what people know: values of outputs, joints and speeds by name.

What is asked for, and what the contacts demand, is satisfied; of the rest as much as possible stays
as in the drawing and at rest, as `configuration` solves it.
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
from draisine.mechanics.couplings import loops_turned_over
from draisine.mechanics.kinematics import geometry
from draisine.mechanics.tree import Tree
from draisine.model.names import SYNONYMS, Axes, benchmark_sign, check_axes, state_names, variables
from draisine.system.artifacts import check_system
from draisine.system.configuration import Configuration
from draisine.system.layout import state_sizes

if TYPE_CHECKING:
    from draisine.model import Model
    from draisine.system.closed_form import ClosedForm
    from draisine.system.system import System


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Where a machine is and how it moves: pose (unit quaternion q, position p of the drawing's
    origin), shape r, speeds v. `element_state` are the states of its force elements, such as the
    deflections of tyres; empty if all are zero.
    """

    q: Floats
    p: Floats
    r: Floats
    v: Floats
    joints: tuple[str, ...] = ()
    speeds: tuple[str, ...] = ()
    element_state: Floats = field(default_factory=lambda: np.zeros(0))

    def elements(self, count: int) -> Floats:
        """Return the states of so many force elements' states as numbers, zero if none are given."""
        given = np.asarray(self.element_state, float)
        return given if given.size else np.zeros(count)

    def _named(self) -> dict[str, dict[str, float]]:
        """Return all numbers by name: pose, shape, twist, rates of the joints, element states."""
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
        parts = [part for part in self._named().values() if part]
        lines = [", ".join(f"{n}={_short(x)}" for n, x in part.items()) for part in parts]
        return f"State({(',' + chr(10) + '      ').join(lines)})"

    def _repr_html_(self) -> str:
        rows = [
            f"<tr><th>{title}</th>"
            + "".join(f"<td>{escape(n)}<br>{_short(x)}</td>" for n, x in part.items())
            + "</tr>"
            for title, part in self._named().items()
            if part
        ]
        return f"<table>{''.join(rows)}</table>"


def misshapen(system: "System", state: State) -> list[str]:
    """Return the names of state arrays that have the wrong length, as texts."""
    sizes = state_sizes(system.model, v=len(system.model.speeds))
    if np.size(state.element_state):
        sizes |= {"element_state": system.model.memory}
    return [
        f"{name} has the shape {np.shape(getattr(state, name))} instead of ({size},)"
        for name, size in sizes.items()
        if np.shape(getattr(state, name)) != (size,)
    ]


def misfit(system: "System", state: Any) -> ConfigurationError:
    """Return the error that tells why a state cannot be one of a machine."""
    if not isinstance(state, State):
        return ConfigurationError(
            f"{type(state).__name__} is not a State; build one with draisine.state()."
        )
    told = "; ".join(misshapen(system, state)) or "it holds something that is not a number"
    return ConfigurationError(f"the state does not fit {system.vehicle.__name__}: {told}.")


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


def _short(x: float) -> str:
    return f"{x + 0.0 if abs(x) > 1e-12 else 0.0:.4g}"


def state(
    system: "System",
    *,
    mode: Mapping[str, str] | None = None,
    t: float = 0.0,
    at_rest: bool | None = None,
    element_state: Sequence[float] | Floats = (),
    axes: Axes = "draisine",
    **asked: float | str,
) -> State:
    """Return the state in which everything asked for is so: outputs, joints, speeds by name, in SI
    units and radians, or angles as "10deg"; `speed` means `forward_speed`. `element_state` are the
    states of the force elements, such as the deflections of tyres (none: zero).

    Speeds that are not asked for are zero as far as possible, rates of joints and turning of the base
    before spins of rolling wheels; a zero that would multiply the kinetic energy gives way, eq.
    [dear-zero].

    `at_rest` takes, of all speeds that keep the contacts and the rates that are asked for or
    prescribed, those of least kinetic energy: the machine has no momentum along what the contacts
    leave free, as if its joints had just begun to move, eq. [rest]. It is the default where no
    contact guides a machine with prescribed joints and no speed is asked for. A machine on tyres starts
    without slip where what is asked for allows that, and where no `mode` is given.

    With `axes="benchmark"` the values asked for have the signs of Meijaard et al. 2007 (steer, yaw and y to
    the right, pitch nose up, z down); see `model.names`. The state itself is in ours.

    >>> from draisine.system.system import compile
    >>> bicycle = compile("whipple")
    >>> state(bicycle, lean="10deg", steer=0.1, forward_speed=5.0)
    State(x=0, y=0, z=2.285e-07, yaw=0, lean=0.1745, pitch=-0.001244,
          steer=0.1, rear_wheel=0, front_wheel=0,
          Vx=4.975, Vy=0.0001736, Vz=-0.006219, Wx=0, Wy=0.08206, Wz=0.4654,
          steer_rate=0, rear_wheel_rate=16.58, front_wheel_rate=14.29)
    """
    check_system("state", system)
    check_axes(axes)
    if axes == "benchmark":
        numbers = initial_values(asked, system.model)
        asked = {name: x * benchmark_sign(system.model, name) for name, x in numbers.items()}
    found = state_of(system, asked, mode=mode, at_rest=at_rest, t=t)
    found = replace(found, element_state=np.asarray(element_state, float))
    if misshapen(system, found):
        raise misfit(system, found)
    return found


def state_of(system: "System", asked: Mapping[str, float | str], **options: Any) -> State:
    """Return the state in which everything asked for is so, by the options of `states`."""
    numbers = {name: [value] for name, value in initial_values(asked, system.model).items()}
    return _only(system.model, *states(system, numbers, **options))


def initial_values(asked: Mapping[str, Any], model: "Model") -> dict[str, float]:
    """Return what is asked of an initial state as numbers, by the names that the model has."""
    known, found = state_names(model), dict[str, float]()
    for given, value in asked.items():
        name = given if given in known else SYNONYMS.get(given, given)
        if name in found:
            raise ParameterError(f"initial state: {given} means {name}, which is given, too.")
        found[name] = _number(name, value, model)
    return found


def flat_lean(lean: float) -> str:
    """Return why a lean is none, a quarter turn, where headings end, or more; nothing where it is one.

    >>> flat_lean(20.0)
    "lean = 20 rad lies flat or beyond, it stays between -90deg and 90deg. Degrees are written '20deg'."
    """
    if abs(lean) <= np.pi / 2 - 1e-6:
        return ""
    degrees = f" Degrees are written '{lean:g}deg'." if 2.0 < abs(lean) < 90.0 else ""
    return f"lean = {lean:g} rad lies flat or beyond, it stays between -90deg and 90deg.{degrees}"


def states(
    system: "System",
    asked: Mapping[str, Sequence[float] | Floats],
    *,
    mode: Mapping[str, str] | None = None,
    at_rest: bool | None = None,
    t: float = 0.0,
    parameters: Floats | None = None,
    tilt: Floats | None = None,
) -> tuple[dict[str, Floats], list[str]]:
    """Return many states as q, p, r, v with one column for each, as `state` would with the values
    asked of each name, and what is wrong with each (nothing: an empty text); `parameters` (N,
    parameters) gives each machine its own. With a `tilt` (a quaternion) they are states on level
    ground in which everything asked for is so after they are turned by it, onto a slope; places are
    those on the level.

    >>> from draisine.system.system import compile
    >>> found, wrong = states(compile("whipple"), {"forward_speed": [3.0, 4.0, 5.0]})
    >>> found["v"].shape, wrong
    ((9, 3), ['', '', ''])
    """
    tyred = {wheel.name: "rolling" for wheel in system.model.wheels if wheel.tyre is not None}
    first = tyred if tyred and mode is None else mode
    found, wrong = _consistent(system.machine(first), asked, t, at_rest, parameters, tilt)
    slips = [k for k, text in enumerate(wrong) if text and first is not mode]
    if slips:  # they are asked to slip
        own = {name: np.asarray(x, float)[slips] for name, x in asked.items()}
        some = None if parameters is None else parameters[slips]
        others, told = _consistent(system.machine(mode), own, t, at_rest, some, tilt)
        for name in found:
            found[name][:, slips] = others[name]
        wrong = [told[slips.index(k)] if k in slips else text for k, text in enumerate(wrong)]
    return found, wrong


def _number(name: str, value: Any, model: "Model") -> float:
    """Return a number that may be written as text."""
    if not isinstance(value, str):
        try:
            return float(value)
        except (OverflowError, TypeError, ValueError):
            text = f"initial state: {name:.80} = {value!r:.80} is not a number."
            raise ParameterError(text) from None
    from draisine.model.quantity import number

    known = variables(model)
    try:
        return number(value, known[name].unit if name in known else None)
    except ValueError as error:
        raise ParameterError(f"initial state: {name} = {error}.") from None


def consistent_state(
    machine: "ClosedForm", asked: Mapping[str, float], t: float = 0.0, at_rest: bool | None = None
) -> State:
    """Return the state in which everything asked for is so, by Newton's method for the pose, then
    linearly for the speeds.

    Angles far from the drawing are approached in steps. What cannot be is a `ConfigurationError`.
    """
    numbers = {name: [value] for name, value in asked.items()}
    return _only(machine.system.model, *_consistent(machine, numbers, t, at_rest))


def _only(model: "Model", found: Mapping[str, Floats], wrong: list[str]) -> State:
    """Return the one state that there is."""
    if wrong[0]:
        raise ConfigurationError(wrong[0])
    q, p, r, v = (found[name][:, 0] for name in "qprv")
    return State(q, p, r, v, tuple(joint.name for joint in model.joints), tuple(model.speeds))


def _consistent(
    machine: "ClosedForm",
    asked: Mapping[str, Sequence[float] | Floats],
    t: float,
    at_rest: bool | None,
    parameters: Floats | None = None,
    tilt: Floats | None = None,
) -> tuple[dict[str, Floats], list[str]]:
    """Return states of a machine as columns, and what is wrong with each."""
    numbers = {name: np.asarray(values, float) for name, values in asked.items()}
    _check_asked(numbers, state_names(machine.system.model))
    count = len(next(iter(numbers.values()), [0])) if parameters is None else len(parameters)
    wrong = [""] * count
    if "lean" in numbers:
        _note(wrong, {k: flat_lean(x) for k, x in enumerate(numbers["lean"].tolist())})
        numbers["lean"] = np.where([bool(text) for text in wrong], 0.0, numbers["lean"])
    pose = Configuration(machine, count, t, parameters, tilt)
    targets = {name: x for name, x in numbers.items() if name not in pose.fast}
    drawn = pose.closed_drawing(targets) if machine.system.model.loops else None
    _note(wrong, pose.approach(targets))
    if at_rest is None:
        at_rest = _swims(machine) and not any(name in pose.fast for name in asked)
    s, contradictions = pose.speeds(numbers, at_rest)
    _note(wrong, contradictions)
    at, frames = machine.layout, pose.frames
    q, p = machine.user_pose(pose.y[:, at.q].T, pose.y[:, at.p].T, frames)
    q = np.where(q[0] >= 0, q, -q)
    found = {"q": q, "p": p, "r": pose.y[:, at.r].T, "v": machine.user_speeds(s.T, frames)}
    _note(wrong, _turned_over(pose, drawn, targets))
    _note(wrong, _flat_wheels(pose, found))
    return found, wrong


def _check_asked(asked: Mapping[str, Floats], known: Sequence[str]) -> None:
    """Raise where something is asked of what there is not, or a value is no number."""
    for name, values in asked.items():
        expect_known("initial state: nothing is called", name, known)
        for value in values[~np.isfinite(values)].tolist():
            raise ParameterError(f"initial state: {name} = {value} is not a finite number.")


def _note(wrong: list[str], found: Mapping[int, str]) -> None:
    """Keep what is wrong with some, where nothing was before."""
    for k, text in found.items():
        wrong[k] = wrong[k] or text


def _turned_over(
    pose: Configuration, drawn: Floats | None, targets: Mapping[str, Floats]
) -> dict[int, str]:
    """Return which configurations close a loop on another branch than the drawing, as texts."""
    found = {}
    if drawn is None:
        return {}
    for k in range(len(pose.y)):
        r = pose.y[k, pose.machine.layout.r]
        for loop in loops_turned_over(pose.tree(k), drawn[k], r, targets):
            found[k] = (
                f"loop {loop!r} would close on the other branch: a dead point lies between the drawing "
                "and what is asked for. Ask for less, or draw the machine on that branch."
            )
    return found


def _swims(machine: "ClosedForm") -> bool:
    """Return whether prescribed joints alone move a machine that no contact guides."""
    model = machine.system.model
    touching = any(
        c.rows[status] for c, (_, status) in zip(model.contacts, machine.mode, strict=True)
    )
    return not touching and bool(constraints.prescribed_joints(model))


def _flat_wheels(pose: Configuration, found: Mapping[str, Floats]) -> dict[int, str]:
    """Return in which configurations the axle of a closed wheel is along the ground's normal, as
    texts. Wheels that have a heading do not lie flat.
    """
    program, parts = pose.machine.project, pose.machine.layout.split(pose.y.T)
    given = {name: parts[name] for name in "qpr"}
    headings = program.batch(program.inputs.pack(**given), pose.table(program))["headings"]
    sizes = np.hypot(headings[::2], headings[1::2]).min(axis=0, initial=1.0)
    told = {}
    for k in np.flatnonzero(~(sizes > 1e-3)).tolist():
        flat = _flat_wheel(pose.machine, pose.tree(k), found["q"][:, k], found["r"][:, k])
        if flat is not None:
            told[k] = f"the wheel {flat!r} would lie flat. Ask for less lean."
    return told


def _flat_wheel(machine: "ClosedForm", tree: Tree, q: Floats, r: Floats) -> str | None:
    """Return a closed wheel whose axle is along the ground's normal, if there is one."""
    world = constraints.ground(tree, geometry(tree, r), rotation(q))
    for contact, (name, status) in zip(tree.model.contacts, machine.mode, strict=True):
        surface = contact.surface.turned(tree.axes(contact.body))
        up = world.up[tree.place[contact.body][0]]
        if status != "open" and surface.slope(up) < 4e-5:
            return name
    return None
