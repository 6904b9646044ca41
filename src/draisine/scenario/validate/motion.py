"""How a machine starts and what drives it: initial values or a steady motion, statuses of contacts, laws,
inputs.
"""

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
from draisine.model.quantity import number
from draisine.registry import find, names
from draisine.scenario.plan import Start, SteadyRequest
from draisine.scenario.terrain import WheelPlace
from draisine.scenario.validate.mistakes import Mistakes, read_table
from draisine.scenario.values import field_value
from draisine.system.state import flat_lean
from draisine.system.system import System


def read_start(given: Mapping[str, Any], vehicle: str, model: Model, mistakes: Mistakes) -> Start:
    """Return how a machine starts."""
    units, values = state_units(model), {}
    if "steady" in given:
        for name in given:
            if name not in ("steady", "place"):
                text = (
                    "goes without initial.steady; write quantities of the motion into that table."
                )
                mistakes.add(f"initial.{name}", text, given[name])
        place = _read_place(given.get("place"), mistakes)
        return Start(place=place, steady=_read_steady(given["steady"], vehicle, model, mistakes))
    for name, value in given.items():
        path = f"initial.{name}"
        if name in ("mode", "place", "at_rest"):
            continue
        text = f"nothing of {vehicle} is called so"
        if mistakes.check_known(path, name, units, text, value):
            with mistakes.at(path):
                values[name] = number(value, units[name])
            if name == "lean" and (flat := flat_lean(values.get(name, 0.0))):
                mistakes.add(path, flat)
    mode = read_mode(given.get("mode"), model, "initial.mode", mistakes)
    rest = given.get("at_rest")
    if rest is not None and not isinstance(rest, bool):
        mistakes.add("initial.at_rest", "must be true or false.", rest)
    return Start(values, mode, rest, _read_place(given.get("place"), mistakes))


def _read_steady(
    given: Any, vehicle: str, model: Model, mistakes: Mistakes
) -> SteadyRequest | None:
    """Return the steady motion that a table asks for."""
    path = "initial.steady"
    if not isinstance(given, dict):
        text = "must be a table: quantities of the motion by name, free (inputs), inputs."
        mistakes.add(path, text, given)
        return None
    units = quantity_names(model) | {"radius": "m"}
    asked: dict[str, float] = {}
    for name, value in given.items():
        text = f"nothing of {vehicle} is called so"
        if name in ("free", "inputs"):
            continue
        if mistakes.check_known(f"{path}.{name}", name, units, text, value):
            with mistakes.at(f"{path}.{name}"):
                asked[name] = number(value, units[name])
    free, inputs = given.get("free"), given.get("inputs", {})
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
            numbers[name] = number(value)
    return SteadyRequest(asked, None if free is None else tuple(free), numbers)


def find_motion(
    system: System, request: SteadyRequest, law: Any, mode: Mapping[str, str] | None
) -> Steady:
    """Return the steady motion that a run starts in, under the laws of the run.

    Riders on a path of varying curvature have no steady motion there; they ride along a straight line.
    """
    options: dict[str, Any] = {"law": _on_lines(law), "mode": mode, "inputs": request.inputs}
    options |= request.asked
    if request.free is not None:
        return steady(system, free=request.free, **options)
    free = [name for name in driven_inputs(system, law) if name not in request.inputs]
    return steady_driven(system, free, **options)


def _on_lines(law: Any) -> Any:
    """Return a law whose riders are on paths of constant curvature."""
    if isinstance(law, CombinedLaws):
        return CombinedLaws(tuple(map(_on_lines, law.laws)))
    varied = hasattr(law, "path") and not law.path.uniform
    return law.on(0.0) if varied else law


def continue_motion(motion: Steady, law: Any, signals: Any) -> Any:
    """Return the law of a run that starts in a steady motion: laws in their states, the inputs of the
    motion, and signals beside them.
    """
    found: list[Any] = []
    count = motion.machine.states
    if law is not None:
        z = motion.y[motion.machine.layout.z]
        start = _law_states(motion, law, z[len(z) - count :])
        found.append(StartedLaw(law, len(start), tuple(start)) if start else law)
    steps = tuple(Step(name, x) for name, x in motion.inputs.items() if x)
    own = () if signals is None else signals.signals
    if steps or own:
        found.append(TimeInputs((*own, *steps)))
    if not found:
        return None
    return found[0] if len(found) == 1 else CombinedLaws(tuple(found))


def _law_states(motion: Steady, law: Any, z: Any) -> list[float]:
    """Return the states of a law in a steady motion that was found with riders on lines."""
    states: list[float] = []
    for each in law.laws if isinstance(law, CombinedLaws) else (law,):
        count = law_states(_on_lines(each))
        own, z = z[:count], z[count:]
        if count < law_states(each):  # the parameter of a path is no state on a line
            x, y = motion.state.p[:2]
            states.append(float(law_start(each, float(x), float(y), motion.values["yaw"])[0]))
        states += [float(value) for value in own]
    return states


def _read_place(given: Any, mistakes: Mistakes) -> WheelPlace | None:
    if given is None:
        return None
    if not isinstance(given, dict):
        mistakes.add("initial.place", "must be a table: wheel, centre, on.", given)
        return None
    found = read_table(WheelPlace, given, "initial.place", mistakes)
    return found if isinstance(found, WheelPlace) else None


def read_mode(given: Any, model: Model, path: str, mistakes: Mistakes) -> dict[str, str] | None:
    """Return statuses of contacts; None where none are told."""
    if not isinstance(given, dict):
        if given is not None:
            mistakes.add(path, "must be a table of contacts and statuses.", given)
        return None
    contacts = {c.name: c for c in model.contacts}
    for name, status in given.items():
        place = f"{path}.{name}"
        known = mistakes.check_known(place, name, contacts, "no such contact", status)
        if known and status not in contacts[name].rows:
            allowed = ", ".join(contacts[name].rows)
            mistakes.add(place, f"no such status; take one of: {allowed}.", status)
    return given or None


def read_law(
    laws: Sequence[Mapping[str, Any]],
    inputs: Sequence[Mapping[str, Any]],
    system: System,
    speed: float | None,
    mistakes: Mistakes,
) -> Any:
    """Return the control laws and inputs of a scenario as one law; None where there are none. A law of
    least cost keeps the forward speed of the start: rest, where none is told.
    """
    found = []
    for k, entry in enumerate(laws):
        law = _law(entry, system.model, f"law[{k}]", mistakes)
        with mistakes.at(f"law[{k}]"):
            law = _designed(law, system, speed)
        found.append(law)
    signals = [
        _signal(entry, system.model, f"inputs[{k}]", mistakes) for k, entry in enumerate(inputs)
    ]
    if mistakes:
        return None
    if signals:
        found.append(TimeInputs(tuple(signals)))
    if not found:
        return None
    return found[0] if len(found) == 1 else CombinedLaws(tuple(found))


def check_steady_path(law: Any, mistakes: Mistakes) -> None:
    """Report a rider whose path has no steady motion, and so no eigenvalues."""
    for each in law.laws if isinstance(law, CombinedLaws) else (law,):
        if _on_lines(each) is not each:
            text = "has a varying curvature: eigenvalues need a constant one, such as path = 0.0 (1/m)."
            mistakes.add("law.path", text)


def _designed(law: Any, system: System, speed: float | None) -> Any:
    """Return the law of a design for a machine; other laws as they are."""
    if isinstance(law, LQR):
        moves = "forward_speed" in system.outputs
        about = dict(law.about) or ({"forward_speed": speed or 0.0} if moves else {})
        return balance(system, law.weights, law.costs, **about)
    if isinstance(law, FollowPath):
        from draisine.analysis.rider.preview import follow_path

        numbers = {one.name: getattr(law, one.name) for one in dataclasses.fields(law)}
        numbers["speed"] = speed if law.speed is None else law.speed
        if numbers["speed"] is None:
            raise ParameterError(
                "speed is missing: gains belong to one speed. Give speed in m/s, or a forward_speed of "
                "the start."
            )
        return follow_path(system, **numbers | {"weights": dict(law.weights) or None})
    return law


def _law(entry: Mapping[str, Any], model: Model, path: str, mistakes: Mistakes) -> Any:
    name = entry.get("name")
    if not isinstance(name, str):
        mistakes.add(f"{path}.name", f"is missing. Take one of: {', '.join(names('law'))}.", name)
        return None
    law: Any = None
    with mistakes.at(f"{path}.name"):
        law = find("law", name)
    if law is None:
        return None
    made = _record(law, {k: v for k, v in entry.items() if k != "name"}, path, mistakes)
    joints = [joint.name for joint in model.joints]
    for key in ("steer", "drive"):
        joint = getattr(made, key, None)
        if isinstance(joint, str):
            mistakes.check_known(f"{path}.{key}", joint, joints, "no such joint", joint)
    return made


def _signal(entry: Mapping[str, Any], model: Model, path: str, mistakes: Mistakes) -> Any:
    shape, name = entry.get("shape"), entry.get("input")
    if shape not in SIGNALS:
        known = f"must be one of: {', '.join(SIGNALS)}."
        mistakes.add(f"{path}.shape", known if shape is not None else f"is missing; {known}", shape)
        return None
    if isinstance(name, str):
        mistakes.check_known(f"{path}.input", name, model.inputs, "no such input", name)
    table = {k: v for k, v in entry.items() if k != "shape"}
    return _record(SIGNALS[shape], table, path, mistakes)


def _record(record: Any, table: Mapping[str, Any], path: str, mistakes: Mistakes) -> Any:
    """Return the dataclass that a table stands for; what is no dataclass is a law without numbers."""
    if not dataclasses.is_dataclass(record):
        for key, value in table.items():
            mistakes.add(f"{path}.{key}", "is unknown: the law takes no numbers.", value)
        return record
    fields, hints = {f.name: f for f in dataclasses.fields(record)}, get_type_hints(record)
    count, values = len(mistakes), {}
    for key, value in table.items():
        if mistakes.check_known(f"{path}.{key}", key, fields, "is unknown", value):
            with mistakes.at(f"{path}.{key}"):
                values[key] = field_value(hints[key], value)
    for key, field in fields.items():
        needed = field.default is dataclasses.MISSING
        if key not in table and needed and field.default_factory is dataclasses.MISSING:
            mistakes.add(f"{path}.{key}", "is missing.")
    if len(mistakes) == count:
        with mistakes.at(path):
            return record(**values)  # type: ignore[operator]
    return None
