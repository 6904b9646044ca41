"""How a machine starts and what drives it: initial values, statuses of contacts, laws, inputs."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, get_type_hints

from draisine.analysis.lqr import balance
from draisine.control import SIGNALS, TimeInputs, Together
from draisine.control.lqr import LeastCost
from draisine.model import Model
from draisine.model.names import state_units
from draisine.model.quantity import number
from draisine.registry import find, names
from draisine.scenario.plan import Start
from draisine.scenario.terrain import WheelPlace
from draisine.scenario.validate.mistakes import Mistakes, read_table
from draisine.scenario.values import field_value
from draisine.system.state import flat_lean
from draisine.system.system import System


def read_start(given: Mapping[str, Any], vehicle: str, model: Model, mistakes: Mistakes) -> Start:
    """Return how a machine starts."""
    units, values = state_units(model), {}
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
    """Return the control laws and inputs of a scenario as one law; None where there are none. A law
    that is designed for its machine keeps the forward speed of the start: rest, where none is told.
    """
    found = []
    for k, entry in enumerate(laws):
        law = _law(entry, system.model, f"law[{k}]", mistakes)
        if isinstance(law, LeastCost):
            with mistakes.at(f"law[{k}]"):
                moves = "forward_speed" in system.outputs
                about = dict(law.about) or ({"forward_speed": speed or 0.0} if moves else {})
                law = balance(system, law.weights, law.costs, **about)
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
    return found[0] if len(found) == 1 else Together(tuple(found))


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
