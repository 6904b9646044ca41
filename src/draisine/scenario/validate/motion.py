"""Validation of initial values, steady starts, contact statuses, control laws and inputs of a scenario."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, get_type_hints

from draisine.analysis.bicycle.eigenvalues import driven_inputs
from draisine.analysis.equilibrium import StartedLaw, Steady, steady, steady_driven
from draisine.analysis.equilibrium.balance import quantity_names
from draisine.analysis.lqr import balance
from draisine.control import SIGNALS, CombinedLaws, Step, TimeInputs
from draisine.control.follow_path import FollowPath
from draisine.control.lqr import LQR
from draisine.errors import ParameterError
from draisine.mechanics.readings import law_start, law_states
from draisine.model import Model
from draisine.model.names import state_units
from draisine.model.quantity import parse_number
from draisine.registry import find, names
from draisine.scenario.plan import Start, SteadyRequest
from draisine.scenario.terrain import WheelPlace
from draisine.scenario.validate.mistakes import Mistakes, validate_table
from draisine.scenario.values import field_value
from draisine.simulation.options import CONTACT, ContactOptions
from draisine.system.state import describe_flat_lean
from draisine.system.system import System
from draisine.terrain import Terrain


def read_start(given: Mapping[str, Any], vehicle: str, model: Model, mistakes: Mistakes) -> Start:
    """Validate the table `initial` and return the specification of the initial state."""
    units = state_units(model)
    values: dict[str, float] = {}
    if "steady" in given:
        for name in given:
            if name not in ("steady", "place"):
                text = "cannot be combined with initial.steady; move it into that table."
                mistakes.add(f"initial.{name}", text, given[name])
        place = _read_place(given.get("place"), mistakes)
        return Start(place=place, steady=_read_steady(given["steady"], vehicle, model, mistakes))
    for name, value in given.items():
        path = f"initial.{name}"
        if name in ("mode", "place", "at_rest"):
            continue
        text = f"{vehicle} has no such quantity"
        if mistakes.check_known(path, name, units, text, value):
            with mistakes.at(path):
                values[name] = parse_number(value, units[name])
            if name == "lean" and (flat := describe_flat_lean(values.get(name, 0.0))):
                mistakes.add(path, flat)
    mode = read_mode(given.get("mode"), model, "initial.mode", mistakes)
    rest = given.get("at_rest")
    if rest is not None and not isinstance(rest, bool):
        mistakes.add("initial.at_rest", "must be true or false.", rest)
    return Start(values, mode, rest, _read_place(given.get("place"), mistakes))


def _read_steady(
    given: Any, vehicle: str, model: Model, mistakes: Mistakes
) -> SteadyRequest | None:
    """Validate the table `initial.steady` and return the requested steady motion, or None."""
    path = "initial.steady"
    if not isinstance(given, dict):
        text = "must be a table: quantities of the motion by name, free (inputs), inputs."
        mistakes.add(path, text, given)
        return None
    units = quantity_names(model) | {"radius": "m"}
    prescribed: dict[str, float] = {}
    for name, value in given.items():
        text = f"{vehicle} has no such quantity"
        if name in ("free", "inputs"):
            continue
        if mistakes.check_known(f"{path}.{name}", name, units, text, value):
            with mistakes.at(f"{path}.{name}"):
                prescribed[name] = parse_number(value, units[name])
    free = given.get("free")
    inputs = given.get("inputs", {})
    if free is not None and not isinstance(free, list):
        mistakes.add(f"{path}.free", "must be a list of inputs.", free)
        free = None
    if not isinstance(inputs, dict):
        mistakes.add(f"{path}.inputs", "must be a table of numbers by input.", inputs)
        inputs = {}
    for key, names_of in (("free", free or ()), ("inputs", inputs)):
        for name in map(str, names_of):
            mistakes.check_known(f"{path}.{key}", name, model.inputs, f"no input {name!r}")
    numbers = {}
    for name, value in inputs.items():
        with mistakes.at(f"{path}.inputs.{name}"):
            numbers[name] = parse_number(value)
    return SteadyRequest(prescribed, None if free is None else tuple(free), numbers)


def find_motion(
    system: System,
    request: SteadyRequest,
    law: Any,
    mode: Mapping[str, str] | None,
    terrain: Terrain | None = None,
    contact: ContactOptions = CONTACT,
) -> Steady:
    """Solve the steady motion in which a run starts, under the control laws of the run.

    No steady motion exists on a path of varying curvature. For the solution, control laws that follow such a
    path follow a straight line instead.
    """
    options: dict[str, Any] = {
        "law": _with_uniform_paths(law),
        "mode": mode,
        "inputs": request.inputs,
        "terrain": terrain,
        "contact": contact,
    }
    options |= request.prescribed
    if request.free is not None:
        return steady(system, free=request.free, **options)
    free = [name for name in driven_inputs(system, law) if name not in request.inputs]
    return steady_driven(system, free, **options)


def _with_uniform_paths(law: Any) -> Any:
    """Return a control law in which paths of varying curvature are replaced by straight lines."""
    if isinstance(law, CombinedLaws):
        return CombinedLaws(tuple(map(_with_uniform_paths, law.laws)))
    is_varying = hasattr(law, "path") and not law.path.uniform
    return law.on(0.0) if is_varying else law


def continue_motion(motion: Steady, law: Any, signals: Any) -> Any:
    """Return the control law of a run that starts in a steady motion.

    The law combines the control laws (with their states in the steady motion), the constant inputs of the
    motion, and input signals.
    """
    laws: list[Any] = []
    count = motion.machine.states
    if law is not None:
        z = motion.y[motion.machine.layout.z]
        start = _law_states(motion, law, z[len(z) - count :])
        laws.append(StartedLaw(law, len(start), tuple(start)) if start else law)
    steps = tuple(Step(name, x) for name, x in motion.inputs.items() if x)
    time_signals = () if signals is None else signals.signals
    if steps or time_signals:
        laws.append(TimeInputs((*time_signals, *steps)))
    return _combine(laws)


def _combine(laws: list[Any]) -> Any:
    """Combine several control laws into one, whose inputs add up; None if the list is empty."""
    if not laws:
        return None
    return laws[0] if len(laws) == 1 else CombinedLaws(tuple(laws))


def _law_states(motion: Steady, law: Any, z: Any) -> list[float]:
    """Return the states of a control law in a steady motion that was solved on uniformly curved paths."""
    states: list[float] = []
    for each in law.laws if isinstance(law, CombinedLaws) else (law,):
        count = law_states(_with_uniform_paths(each))
        law_state = z[:count]
        z = z[count:]
        if count < law_states(each):  # on a straight line the path parameter is not a state
            x, y = motion.state.p[:2]
            states.append(float(law_start(each, float(x), float(y), motion.values["yaw"])[0]))
        states += map(float, law_state)
    return states


def _read_place(given: Any, mistakes: Mistakes) -> WheelPlace | None:
    """Validate the table `initial.place` and return the position of a wheel, or None."""
    if given is None:
        return None
    if not isinstance(given, dict):
        mistakes.add("initial.place", "must be a table: wheel, centre, on.", given)
        return None
    place = validate_table(WheelPlace, given, "initial.place", mistakes)
    return place if isinstance(place, WheelPlace) else None


def read_mode(given: Any, model: Model, path: str, mistakes: Mistakes) -> dict[str, str] | None:
    """Validate a table of contact statuses and return it by contact name, or None."""
    if not isinstance(given, dict):
        if given is not None:
            mistakes.add(path, "must be a table of contacts and statuses.", given)
        return None
    contacts = {c.name: c for c in model.contacts}
    for name, status in given.items():
        place = f"{path}.{name}"
        is_known = mistakes.check_known(place, name, contacts, "no such contact", status)
        if is_known and status not in contacts[name].rows:
            allowed = ", ".join(contacts[name].rows)
            mistakes.add(place, f"no such status. Possible values: {allowed}.", status)
    return given or None


def read_law(
    laws: Sequence[Mapping[str, Any]],
    inputs: Sequence[Mapping[str, Any]],
    system: System,
    speed: float | None,
    mistakes: Mistakes,
) -> Any:
    """Combine the control laws and input signals of a scenario into one law; None if there are none.

    `speed` (m/s) is the initial forward speed, for which gains are designed; None means unspecified.
    """
    parsed = []
    for k, entry in enumerate(laws):
        law = _read_single_law(entry, system.model, f"law[{k}]", mistakes)
        with mistakes.at(f"law[{k}]"):
            law = _design(law, system, speed)
        parsed.append(law)
    signals = [
        _read_signal(entry, system.model, f"inputs[{k}]", mistakes)
        for k, entry in enumerate(inputs)
    ]
    if mistakes:
        return None
    if signals:
        parsed.append(TimeInputs(tuple(signals)))
    return _combine(parsed)


def check_steady_path(law: Any, mistakes: Mistakes) -> None:
    """Report a control law that follows a path of varying curvature, for which no eigenvalues exist."""
    for each in law.laws if isinstance(law, CombinedLaws) else (law,):
        if _with_uniform_paths(each) is not each:
            text = "has a varying curvature: eigenvalues need a constant one, such as path = 0.0 (1/m)."
            mistakes.add("law.path", text)


def _design(law: Any, system: System, speed: float | None) -> Any:
    """Return a control law with gains designed for a vehicle at a speed (m/s).

    Control laws with fixed gains are returned unchanged.
    """
    if isinstance(law, LQR):
        has_speed = "forward_speed" in system.outputs
        about = dict(law.about) or ({"forward_speed": speed or 0.0} if has_speed else {})
        return balance(system, law.weights, law.costs, **about)
    if isinstance(law, FollowPath):
        from draisine.analysis.rider.preview import follow_path

        options = {field.name: getattr(law, field.name) for field in dataclasses.fields(law)}
        options["speed"] = speed if law.speed is None else law.speed
        if options["speed"] is None:
            raise ParameterError(
                "speed is missing: gains are designed for one speed. Set speed in m/s, or the initial value "
                "forward_speed."
            )
        return follow_path(system, **options | {"weights": dict(law.weights) or None})
    return law


def _read_single_law(entry: Mapping[str, Any], model: Model, path: str, mistakes: Mistakes) -> Any:
    """Validate one table of `[[law]]` and return its control law, or None."""
    name = entry.get("name")
    if not isinstance(name, str):
        mistakes.add(f"{path}.name", f"is missing. See: {', '.join(names('law'))}.", name)
        return None
    law: Any = None
    with mistakes.at(f"{path}.name"):
        law = find("law", name)
    if law is None:
        return None
    options = {k: v for k, v in entry.items() if k != "name"}
    record = _read_record(law, options, path, mistakes)
    joints = [joint.name for joint in model.joints]
    for key in ("steer", "drive"):
        joint = getattr(record, key, None)
        if isinstance(joint, str):
            mistakes.check_known(f"{path}.{key}", joint, joints, "no such joint", joint)
    return record


def _read_signal(entry: Mapping[str, Any], model: Model, path: str, mistakes: Mistakes) -> Any:
    """Validate one input signal table and return its signal, or None."""
    shape = entry.get("shape")
    name = entry.get("input")
    if shape not in SIGNALS:
        expected = f"must be one of: {', '.join(SIGNALS)}."
        mistakes.add(
            f"{path}.shape", expected if shape is not None else f"is missing; {expected}", shape
        )
        return None
    if isinstance(name, str):
        mistakes.check_known(f"{path}.input", name, model.inputs, "no such input", name)
    table = {k: v for k, v in entry.items() if k != "shape"}
    return _read_record(SIGNALS[shape], table, path, mistakes)


def _read_record(record: Any, table: Mapping[str, Any], path: str, mistakes: Mistakes) -> Any:
    """Build the dataclass that a table describes; report unknown keys and wrong values.

    A plain function is a control law without options.
    """
    if not dataclasses.is_dataclass(record):
        for key, value in table.items():
            mistakes.add(f"{path}.{key}", "is unknown: the law has no options.", value)
        return record
    fields = {f.name: f for f in dataclasses.fields(record)}
    hints = get_type_hints(record)
    count = len(mistakes)
    values = {}
    for key, value in table.items():
        if mistakes.check_known(f"{path}.{key}", key, fields, "is unknown", value):
            with mistakes.at(f"{path}.{key}"):
                values[key] = field_value(hints[key], value)
    for key, field in fields.items():
        is_required = field.default is dataclasses.MISSING
        if key not in table and is_required and field.default_factory is dataclasses.MISSING:
            mistakes.add(f"{path}.{key}", "is missing.")
    if len(mistakes) == count:
        with mistakes.at(path):
            return record(**values)  # type: ignore[operator]
    return None
