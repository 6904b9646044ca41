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
from draisine.scenario.values import convert_field_value
from draisine.simulation.options import CONTACT, ContactOptions
from draisine.system.state import describe_flat_lean
from draisine.system.system import System
from draisine.terrain import Terrain


def read_start(table: Mapping[str, Any], vehicle: str, model: Model, mistakes: Mistakes) -> Start:
    """Validate the table `initial` and return the specification of the initial state."""
    units = state_units(model)
    values: dict[str, float] = {}
    if "steady" in table:
        for name in table:
            if name not in ("steady", "place"):
                text = "cannot be combined with initial.steady; move it into that table."
                mistakes.add(f"initial.{name}", text, table[name])
        place = _read_place(table.get("place"), mistakes)
        return Start(place=place, steady=_read_steady(table["steady"], vehicle, model, mistakes))
    for name, value in table.items():
        path = f"initial.{name}"
        if name in ("mode", "place", "at_rest"):
            continue
        text = f"{vehicle} has no such quantity"
        if mistakes.check_known(path, name, units, text, value):
            with mistakes.convert_errors(path):
                values[name] = parse_number(value, units[name])
            if name == "lean" and (flat := describe_flat_lean(values.get(name, 0.0))):
                mistakes.add(path, flat)
    mode = read_mode(table.get("mode"), model, "initial.mode", mistakes)
    rest = table.get("at_rest")
    if rest is not None and not isinstance(rest, bool):
        mistakes.add("initial.at_rest", "must be true or false.", rest)
    return Start(values, mode, rest, _read_place(table.get("place"), mistakes))


def _read_steady(
    table: Any, vehicle: str, model: Model, mistakes: Mistakes
) -> SteadyRequest | None:
    """Validate the table `initial.steady` and return the requested steady motion, or None."""
    path = "initial.steady"
    if not isinstance(table, dict):
        text = "must be a table: quantities of the motion by name, free (inputs), inputs."
        mistakes.add(path, text, table)
        return None
    units = quantity_names(model) | {"radius": "m"}
    prescribed: dict[str, float] = {}
    for name, value in table.items():
        text = f"{vehicle} has no such quantity"
        if name in ("free", "inputs"):
            continue
        if mistakes.check_known(f"{path}.{name}", name, units, text, value):
            with mistakes.convert_errors(f"{path}.{name}"):
                prescribed[name] = parse_number(value, units[name])
    free = table.get("free")
    inputs = table.get("inputs", {})
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
        with mistakes.convert_errors(f"{path}.inputs.{name}"):
            numbers[name] = parse_number(value)
    return SteadyRequest(prescribed, None if free is None else tuple(free), numbers)


def solve_steady_start(
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
        "law": _straighten_paths(law),
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


def _straighten_paths(law: Any) -> Any:
    """Return a control law in which paths of varying curvature are replaced by straight lines."""
    if isinstance(law, CombinedLaws):
        return CombinedLaws(tuple(map(_straighten_paths, law.laws)))
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
        start = _correct_law_states(motion, law, z[len(z) - count :])
        laws.append(StartedLaw(law, len(start), tuple(start)) if start else law)
    steps = tuple(Step(name, x) for name, x in motion.inputs.items() if x)
    time_signals = () if signals is None else signals.signals
    if steps or time_signals:
        laws.append(TimeInputs((*time_signals, *steps)))
    return _combine_laws(laws)


def _combine_laws(laws: list[Any]) -> Any:
    """Combine several control laws into one, whose inputs add up; None if the list is empty."""
    if not laws:
        return None
    return laws[0] if len(laws) == 1 else CombinedLaws(tuple(laws))


def _correct_law_states(motion: Steady, law: Any, z: Any) -> list[float]:
    """Return the states of a control law in a steady motion that was solved on uniformly curved paths."""
    states: list[float] = []
    for each in law.laws if isinstance(law, CombinedLaws) else (law,):
        count = law_states(_straighten_paths(each))
        law_state = z[:count]
        z = z[count:]
        if count < law_states(each):  # on a straight line the path parameter is not a state
            x, y = motion.state.p[:2]
            states.append(float(law_start(each, float(x), float(y), motion.values["yaw"])[0]))
        states += map(float, law_state)
    return states


def _read_place(table: Any, mistakes: Mistakes) -> WheelPlace | None:
    """Validate the table `initial.place` and return the position of a wheel, or None."""
    if table is None:
        return None
    if not isinstance(table, dict):
        mistakes.add("initial.place", "must be a table: wheel, centre, on.", table)
        return None
    place = validate_table(WheelPlace, table, "initial.place", mistakes)
    return place if isinstance(place, WheelPlace) else None


def read_mode(table: Any, model: Model, key_path: str, mistakes: Mistakes) -> dict[str, str] | None:
    """Validate a table of contact statuses and return it by contact name, or None."""
    if not isinstance(table, dict):
        if table is not None:
            mistakes.add(key_path, "must be a table of contacts and statuses.", table)
        return None
    contacts = {c.name: c for c in model.contacts}
    for name, status in table.items():
        place = f"{key_path}.{name}"
        is_known = mistakes.check_known(place, name, contacts, "no such contact", status)
        if is_known and status not in contacts[name].rows:
            allowed = ", ".join(contacts[name].rows)
            mistakes.add(place, f"no such status. Possible values: {allowed}.", status)
    return table or None


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
        with mistakes.convert_errors(f"law[{k}]"):
            law = _design_gains(law, system, speed)
        parsed.append(law)
    signals = [
        _read_signal(entry, system.model, f"inputs[{k}]", mistakes)
        for k, entry in enumerate(inputs)
    ]
    if mistakes:
        return None
    if signals:
        parsed.append(TimeInputs(tuple(signals)))
    return _combine_laws(parsed)


def check_steady_path(law: Any, mistakes: Mistakes) -> None:
    """Report a control law that follows a path of varying curvature, for which no eigenvalues exist."""
    for each in law.laws if isinstance(law, CombinedLaws) else (law,):
        if _straighten_paths(each) is not each:
            text = "has a varying curvature: eigenvalues need a constant one, such as path = 0.0 (1/m)."
            mistakes.add("law.path", text)


def _design_gains(law: Any, system: System, speed: float | None) -> Any:
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
                "The law needs a speed, for which its gains are designed. Set speed in m/s, or the "
                "initial value forward_speed."
            )
        return follow_path(system, **options | {"weights": dict(law.weights) or None})
    return law


def _read_single_law(
    law_table: Mapping[str, Any], model: Model, key_path: str, mistakes: Mistakes
) -> Any:
    """Validate one table of `[[law]]` and return its control law, or None."""
    name = law_table.get("name")
    if not isinstance(name, str):
        mistakes.add(f"{key_path}.name", f"is missing. See: {', '.join(names('law'))}.", name)
        return None
    law: Any = None
    with mistakes.convert_errors(f"{key_path}.name"):
        law = find("law", name)
    if law is None:
        return None
    options = {k: v for k, v in law_table.items() if k != "name"}
    record = _read_record(law, options, key_path, mistakes)
    joints = [joint.name for joint in model.joints]
    for key in ("steer", "drive"):
        joint = getattr(record, key, None)
        if isinstance(joint, str):
            mistakes.check_known(f"{key_path}.{key}", joint, joints, "no such joint", joint)
    return record


def _read_signal(
    signal_table: Mapping[str, Any], model: Model, key_path: str, mistakes: Mistakes
) -> Any:
    """Validate one input signal table and return its signal, or None."""
    shape = signal_table.get("shape")
    name = signal_table.get("input")
    if shape not in SIGNALS:
        expected = f"must be one of: {', '.join(SIGNALS)}."
        mistakes.add(
            f"{key_path}.shape", expected if shape is not None else f"is missing; {expected}", shape
        )
        return None
    if isinstance(name, str):
        mistakes.check_known(f"{key_path}.input", name, model.inputs, "no such input", name)
    table = {k: v for k, v in signal_table.items() if k != "shape"}
    return _read_record(SIGNALS[shape], table, key_path, mistakes)


def _read_record(
    record_class: Any, table: Mapping[str, Any], key_path: str, mistakes: Mistakes
) -> Any:
    """Build the dataclass that a table describes; report unknown keys and wrong values.

    A plain function is a control law without options.
    """
    if not dataclasses.is_dataclass(record_class):
        for key, value in table.items():
            mistakes.add(f"{key_path}.{key}", "is unknown: the law has no options.", value)
        return record_class
    fields = {f.name: f for f in dataclasses.fields(record_class)}
    hints = get_type_hints(record_class)
    count = len(mistakes)
    values = {}
    for key, value in table.items():
        if mistakes.check_known(f"{key_path}.{key}", key, fields, "is unknown", value):
            with mistakes.convert_errors(f"{key_path}.{key}"):
                values[key] = convert_field_value(hints[key], value)
    for key, field in fields.items():
        is_required = field.default is dataclasses.MISSING
        if key not in table and is_required and field.default_factory is dataclasses.MISSING:
            mistakes.add(f"{key_path}.{key}", "is missing.")
    if len(mistakes) == count:
        with mistakes.convert_errors(key_path):
            return record_class(**values)  # type: ignore[operator]
    return None
