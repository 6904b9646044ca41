"""What can be asked of a run, by name: every variable of its dataset, and what follows from them.

A *series* is a value per time: `lean`, `steer_rate`, `position[x]`, `contact_force[rear, normal]`. A
*question* is a series reduced to one number: `final lean`, `max steer`, `time when lean = 45deg`.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError, did_you_mean
from draisine.model import Model
from draisine.model.quantity import number
from draisine.results.bodies import Bodies, restore_system
from draisine.results.events import EventQuestion, parse_event
from draisine.system.closed_form import State

AXES = ("x", "y", "z")

Labels = tuple[tuple[str, ...], ...]
"""The labels that a series takes, per dimension after time."""


@dataclass(frozen=True)
class DerivedQuantity:
    """A quantity that follows from a dataset: of each wheel or of the machine, with axes or without."""

    compute: Callable[[Bodies, str], Floats]
    unit: str
    meaning: str
    per_wheel: bool = True
    vector: bool = False


def _centre(bodies: Bodies, name: str) -> Floats:
    wheel = bodies.wheels[name]
    return bodies.carrier(wheel).position(np.asarray(wheel.centre, float))


def _centre_velocity(bodies: Bodies, name: str) -> Floats:
    wheel = bodies.wheels[name]
    return bodies.carrier(wheel).velocity(np.asarray(wheel.centre, float))


def _centre_acceleration(bodies: Bodies, name: str) -> Floats:
    wheel = bodies.wheels[name]
    return bodies.carrier(wheel).acceleration(np.asarray(wheel.centre, float))


def _in_base(bodies: Bodies, x: Floats) -> Floats:
    R = bodies.motions[bodies.model.bodies[0].name].R
    return cast(Floats, np.einsum("tji,tj->ti", R, x))


def _curvature(bodies: Bodies, name: str) -> Floats:
    """Return the curvature of the wheel centre's path seen from above, positive to the left."""
    v, a = _centre_velocity(bodies, name), _centre_acceleration(bodies, name)
    speed = np.hypot(v[:, 0], v[:, 1])
    turning = v[:, 0] * a[:, 1] - v[:, 1] * a[:, 0]
    return cast(Floats, turning / np.where(speed > 0.0, speed, np.nan) ** 3)


def _track_curvature(bodies: Bodies, name: str) -> Floats:
    """Return the curvature of the track that a rolling wheel draws on the ground: the rate of its
    heading over the speed of its contact point.
    """
    wheel = bodies.wheels[name]
    carrier = bodies.carrier(wheel)
    a = carrier.R @ (np.asarray(wheel.axle, float) / np.linalg.norm(np.asarray(wheel.axle, float)))
    rate = np.cross(carrier.w, a)
    turning = (a[:, 0] * rate[:, 1] - a[:, 1] * rate[:, 0]) / (a[:, 0] ** 2 + a[:, 1] ** 2)
    flat = np.sqrt(1.0 - a[:, 2:] ** 2)
    down = a[:, 2:] * a - np.array([0.0, 0.0, 1.0])
    sinking = rate[:, 2:] * a + a[:, 2:] * rate + down * a[:, 2:] * rate[:, 2:] / flat**2
    v = _centre_velocity(bodies, name) + float(wheel.surface.ring) * sinking / flat
    ahead = np.stack([a[:, 1], -a[:, 0]], axis=1) / flat
    speed = np.einsum("ti,ti->t", ahead, v[:, :2])
    return cast(Floats, turning / np.where(speed != 0.0, speed, np.nan))


def _angle_acceleration(bodies: Bodies, which: int) -> Floats:
    """Return the second rate of yaw, lean or pitch, from R = Rz(yaw) Rx(lean) Ry(pitch)."""
    dW = _in_base(bodies, bodies.motions[bodies.model.bodies[0].name].dw)
    lean, pitch = bodies.data["lean"].values, bodies.data["pitch"].values
    rates = np.stack([bodies.data[f"{n}_rate"].values for n in ("yaw", "lean", "pitch")], axis=1)
    sl, cl, sp, cp = np.sin(lean), np.cos(lean), np.sin(pitch), np.cos(pitch)
    zero, one = np.zeros_like(sl), np.ones_like(sl)
    E = np.array([[-sp * cl, cp, zero], [sl, zero, one], [cp * cl, sp, zero]])
    dl, dp = rates[:, 1], rates[:, 2]
    dE = np.array(
        [
            [sp * sl * dl - cp * cl * dp, -sp * dp, zero],
            [cl * dl, zero, zero],
            [-sp * cl * dp - cp * sl * dl, cp * dp, zero],
        ]
    )
    rest = dW - np.einsum("ijt,tj->ti", dE, rates)
    solved = np.linalg.solve(np.moveaxis(E, 2, 0), rest[:, :, None])
    return cast(Floats, solved[:, which, 0])


def _energy_drift(bodies: Bodies, _: str) -> Floats:
    """Return the change of energy since the start, relative to the kinetic energy and the change of
    the potential one.
    """
    E, T, U = (bodies.data[n].values for n in ("energy", "kinetic_energy", "potential_energy"))
    scale = np.abs(T).max() + np.abs(U - U[0]).max()
    return cast(Floats, (E - E[0]) / (scale if scale > 0.0 else 1.0))


def _formulation_difference(bodies: Bodies, _: str) -> Floats:
    """Return how far the accelerations are from those by multipliers, relative to their size."""
    system, data = restore_system(bodies.data), bodies.data
    mode = json.loads(data.attrs["mode"])
    if not isinstance(mode, dict):
        raise ParameterError("formulation_difference is not told of runs on a terrain.")
    parts = (data[n].values for n in ("orientation", "position", "shape", "speeds"))
    states = zip(*parts, strict=True)
    times, ours = data["time"].values, data["accelerations"].values
    out = np.zeros(len(times))
    for k, (at, given) in enumerate(zip(states, data["inputs"].values, strict=True)):
        inputs = dict(zip(system.model.inputs, given, strict=True))
        other, _forces = system.accelerate(State(*at), inputs, mode, float(times[k]))
        out[k] = np.abs(ours[k] - other).max() / max(1.0, float(np.abs(other).max()))
    return out


DERIVED: dict[str, DerivedQuantity] = {
    "wheel_centre": DerivedQuantity(_centre, "m", "position of a wheel's centre", vector=True),
    "wheel_centre_velocity": DerivedQuantity(
        _centre_velocity, "m/s", "velocity of a wheel's centre, world axes", vector=True
    ),
    "wheel_centre_acceleration": DerivedQuantity(
        _centre_acceleration, "m/s2", "acceleration of a wheel's centre, world axes", vector=True
    ),
    "wheel_centre_velocity_base": DerivedQuantity(
        lambda bodies, name: _in_base(bodies, _centre_velocity(bodies, name)),
        "m/s",
        "velocity of a wheel's centre, the base body's axes",
        vector=True,
    ),
    "path_curvature": DerivedQuantity(
        _curvature, "1/m", "curvature of a wheel centre's path seen from above, left positive"
    ),
    "track_curvature": DerivedQuantity(
        _track_curvature, "1/m", "curvature of a wheel's track on the ground, left positive"
    ),
    "energy_drift": DerivedQuantity(
        _energy_drift, "", "change of energy, relative to what moves", per_wheel=False
    ),
    "formulation_difference": DerivedQuantity(
        _formulation_difference, "", "accelerations against those by multipliers", per_wheel=False
    ),
    "yaw_acceleration": DerivedQuantity(
        lambda bodies, _: _angle_acceleration(bodies, 0), "rad/s2", "second rate of yaw", False
    ),
    "lean_acceleration": DerivedQuantity(
        lambda bodies, _: _angle_acceleration(bodies, 1), "rad/s2", "second rate of lean", False
    ),
    "pitch_acceleration": DerivedQuantity(
        lambda bodies, _: _angle_acceleration(bodies, 2), "rad/s2", "second rate of pitch", False
    ),
}
"""What follows from a dataset and its model."""


def stored_series(model: Model) -> dict[str, Labels]:
    """Return the variables that every run of a model stores, with the labels that each takes."""
    contacts = tuple(c.name for c in model.contacts)
    prescribed = tuple(j.name for j in model.joints if j.motion is not None)
    own = ("yaw", "lean", "pitch", *(o.name for o in model.outputs))
    found: dict[str, Labels] = {
        "time": (),
        "orientation": (("w", *AXES),),
        "position": (AXES,),
        "shape": (tuple(j.name for j in model.joints),),
        "speeds": (model.speeds,),
        "accelerations": (model.speeds,),
        "inputs": (model.inputs,),
        "momentum": (AXES,),
        "angular_momentum": (AXES,),
    }
    found |= dict.fromkeys(("kinetic_energy", "potential_energy", "energy"), ())
    found |= {name: () for output in own for name in (output, f"{output}_rate")}
    if contacts:
        found["contact_point"] = (contacts, AXES)
        found["contact_force"] = (contacts, ("normal", "along", "across"))
        found["contact_force_world"] = found["contact_force_base"] = (contacts, AXES)
        found["friction_needed"] = found["gap"] = (contacts,)
    if prescribed:
        found["motion_torque"] = (prescribed,)
    if model.couplings:
        found["coupling_force"] = (tuple(row for c in model.couplings for row in c.rows),)
    return found


def known_series(model: Model) -> dict[str, Labels]:
    """Return all series that can be asked of a run of a model, with the labels that each takes."""
    joints = [j.name for j in model.joints]
    found = stored_series(model) | {"control_state": (tuple(str(k) for k in range(100)),)}
    found |= dict.fromkeys((*joints, *model.speeds), ())
    found |= {f"{name}_acceleration": () for name in joints}
    wheels = tuple(c.name for c in model.wheels)
    for name, derived in DERIVED.items():
        if wheels or not derived.per_wheel:
            labels: Labels = (wheels,) if derived.per_wheel else ()
            found[name] = (*labels, AXES) if derived.vector else labels
    return found


_SERIES = re.compile(r"\s*(\w+(?:\.\w+)?)\s*(?:\[([^\]]*)\])?\s*")


def parse_series(text: str, model: Model) -> tuple[str, tuple[str, ...]]:
    """Return the name and the labels of a series of a model, or say what is wrong with it."""
    return parse_labels(text, known_series(model))


def parse_labels(text: str, known: Mapping[str, Labels]) -> tuple[str, tuple[str, ...]]:
    """Return the name and the labels of one of the known quantities, or say what is wrong.

    >>> parse_labels("position[x]", {"position": (("x", "y"),)})
    ('position', ('x',))
    """
    match = _SERIES.fullmatch(text)
    if match is None:
        raise ParameterError(f"{text!r} is not a quantity; write 'lean' or 'position[x]'.")
    name, inside = match.groups()
    if name not in known:
        raise ParameterError(f"no quantity {name!r}. {did_you_mean(name, known)}")
    labels = tuple(part.strip() for part in inside.split(",")) if inside is not None else ()
    wanted = known[name]
    if len(labels) != len(wanted):
        example = ", ".join(allowed[0] for allowed in wanted)
        way = f"write '{name}[{example}]'" if wanted else f"write '{name}' alone"
        raise ParameterError(f"{text!r}: {name} takes {len(wanted)} labels; {way}.")
    for label, allowed in zip(labels, wanted, strict=True):
        if label not in allowed:
            raise ParameterError(f"{text!r}: no {label!r}. {did_you_mean(label, allowed)}")
    return name, labels


def series(text: str, bodies: Bodies) -> Floats:
    """Return a series of a dataset, one value per time."""
    model, data = bodies.model, bodies.data
    name, labels = parse_series(text, model)
    if name in DERIVED:
        derived = DERIVED[name]
        values = derived.compute(bodies, labels[0] if derived.per_wheel else "")
        return values[:, AXES.index(labels[-1])] if derived.vector else values
    joints = [j.name for j in model.joints]
    if name in joints:
        return data["shape"].values[:, joints.index(name)]
    if name in model.speeds:
        return data["speeds"].values[:, model.speeds.index(name)]
    if name.removesuffix("_acceleration") in joints:
        speed = f"{name.removesuffix('_acceleration')}_rate"
        return data["accelerations"].values[:, model.speeds.index(speed)]
    if name not in data:
        raise ParameterError(
            f"this run has no {name!r}: it was made without a law that has states."
        )
    values = data[name].values
    for label, allowed in zip(labels, known_series(model)[name], strict=True):
        k = allowed.index(label)
        if k >= values.shape[1]:
            raise ParameterError(f"{text!r}: this run has only {values.shape[1]} of them.")
        values = values[:, k]
    return values


def unit_of(text: str, model: Model) -> str:
    """Return the unit of a series; empty where it has none or several."""
    name, labels = parse_series(text, model)
    units = {"yaw": "rad", "lean": "rad", "pitch": "rad"} | {o.name: o.unit for o in model.outputs}
    units |= {f"{n}_rate": f"{u}/s" for n, u in units.items()}
    units |= {n: d.unit for n, d in DERIVED.items()}
    units |= {"time": "s", "position": "m", "gap": "m", "contact_point": "m"}
    units |= dict.fromkeys(("kinetic_energy", "potential_energy", "energy"), "J")
    units |= dict.fromkeys(("contact_force", "contact_force_world", "contact_force_base"), "N")
    efforts = {joint.name: joint.effort for joint in model.joints}
    for joint in model.joints:
        units |= {joint.name: joint.unit, f"{joint.name}_rate": f"{joint.unit}/s"}
        units |= {f"{joint.name}_acceleration": f"{joint.unit}/s2"}
    units |= {n: "m/s" if n[0] == "V" else "rad/s" for n in model.speeds if len(n) == 2}
    if name == "inputs":
        return efforts.get(labels[0], "N")
    return units.get(name, "")


_REDUCERS: dict[str, Callable[[Floats, Floats], float]] = {
    "initial": lambda t, x: float(x[0]),
    "final": lambda t, x: float(x[-1]),
    "maximum": lambda t, x: float(x.max()),
    "minimum": lambda t, x: float(x.min()),
    "mean rate of": lambda t, x: float((x[-1] - x[0]) / (t[-1] - t[0])),
    "mean": lambda t, x: float(np.trapezoid(x, t) / (t[-1] - t[0])),
    "peak": lambda t, x: float(np.abs(x).max()),
    "spread of": lambda t, x: float(x.max() - x.min()),
    "relative spread of": lambda t, x: float((x.max() - x.min()) / abs(x[0])),
    "time of maximum": lambda t, x: float(t[np.argmax(x)]),
    "time of minimum": lambda t, x: float(t[np.argmin(x)]),
}
"""How a series becomes a number; `peak` is the maximum of the absolute value."""

_WHEN = re.compile(r"\s*time when\s+(.+?)\s*=\s*(\S+)\s*")


@dataclass(frozen=True)
class Question:
    """A series, and how it becomes a number."""

    series: str
    reducer: str
    level: float = 0.0

    def unit(self, model: Model) -> str:
        """Return the unit of the number."""
        own = unit_of(self.series, model)
        if self.reducer.startswith("time "):
            return "s"
        if self.reducer == "mean rate of":
            return f"{own}/s" if own else ""
        return "" if self.reducer.startswith("relative ") else own

    def answer(self, bodies: Bodies) -> float:
        """Return the one number."""
        t, x = bodies.data["time"].values, series(self.series, bodies)
        if self.reducer == "time when":
            return first_crossing(t, x - self.level)
        return _REDUCERS[self.reducer](t, x)


def parse_question(text: str, model: Model) -> Question | EventQuestion:
    """Return what a text asks for, or say what is wrong with it.

    >>> from draisine.vehicles.bicycle.whipple import whipple
    >>> parse_question("time when lean = 90deg", whipple())
    Question(series='lean', reducer='time when', level=1.5707963267948966)
    """
    text = " ".join(text.split())
    event = parse_event(text, model)
    if event is not None:
        return event
    when = _WHEN.fullmatch(text)
    if when:
        parse_series(when.group(1), model)
        try:
            return Question(when.group(1), "time when", number(when.group(2)))
        except ValueError as error:
            raise ParameterError(f"{text!r}: {error}.") from None
    for reducer in _REDUCERS:
        if text.startswith(f"{reducer} "):
            rest = text.removeprefix(f"{reducer} ")
            parse_series(rest, model)
            return Question(rest, reducer)
    first, _, rest = text.partition(" ")
    if rest and "[" not in first:
        raise ParameterError(
            f"{text!r} asks for nothing known. {did_you_mean(first, _REDUCERS)} Examples: 'final "
            "lean', 'maximum steer', 'time when lean = 45deg', 'collision 1 time'."
        )
    parse_series(text, model)
    raise ParameterError(f"{text!r} changes in time; ask for 'final {text}' or 'maximum {text}'.")


def first_crossing(t: Floats, x: Floats) -> float:
    """Return when x first passes zero, by the cubic through the four samples around; NaN where it
    never does. Times that stand twice are events: there x may jump, and no cubic goes across.

    >>> t = np.linspace(0.0, 2.0, 21)
    >>> first_crossing(t, t**3 - 0.729)
    0.9
    """
    found = np.nonzero(np.sign(x[1:]) != np.sign(x[0]))[0]
    if x[0] == 0.0 or not len(found):
        return float(t[0]) if x[0] == 0.0 else float("nan")
    k = int(found[0])
    if t[k] == t[k + 1]:
        return float(t[k])
    jumps = np.nonzero(t[1:] == t[:-1])[0] + 1
    first = max(jumps[jumps <= k], default=0)
    last = min(jumps[jumps > k], default=len(t))
    low = max(first, min(k - 1, last - 4))
    around = slice(low, min(low + 4, last))
    cubic = np.polynomial.Polynomial.fit(t[around], x[around], len(t[around]) - 1)
    guess = t[k] - x[k] * (t[k + 1] - t[k]) / (x[k + 1] - x[k])
    slope = cubic.deriv()
    for _ in range(20):
        step = cubic(guess) / slope(guess) if slope(guess) else 0.0
        guess = min(max(guess - step, t[k]), t[k + 1])
    return round(float(guess), 12)
