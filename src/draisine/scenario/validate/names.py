"""The names and numbers in a scenario, held against the vehicle that it names."""

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from draisine.analysis.gait.map import gait_obstacle
from draisine.errors import DraisineError, did_you_mean
from draisine.model import Model
from draisine.model.motion import motion_of
from draisine.model.names import state_units
from draisine.model.quantity import number
from draisine.registry import find, names
from draisine.results.questions import parse_question, parse_series
from draisine.scenario.build import (
    check_lean,
    is_numeric,
    law_value,
    make_law,
    motion_arguments,
)
from draisine.scenario.overrides import single
from draisine.scenario.schema import KINDS, motion_entry
from draisine.scenario.validate.expectations import expected_mistakes
from draisine.scenario.validate.mistakes import Mistake, key_path, structure_mistakes
from draisine.scenario.validate.terrain import footing_mistakes
from draisine.vehicles import meanings, parameter_set


def find_mistakes(content: Mapping[str, Any]) -> list[Mistake]:
    """Return all that is wrong in the content of a scenario file."""
    kind = content.get("kind")
    if kind is None:
        return [Mistake("kind", f"is missing. Take one of: {', '.join(KINDS)}.")]
    if not isinstance(kind, str) or kind not in KINDS:
        return [Mistake("kind", f"no such kind. {did_you_mean(str(kind), KINDS)}", kind)]
    found = structure_mistakes(KINDS[kind], content)
    names_found = _Names(content).mistakes()
    seen = {m.path for m in found}
    return found + [m for m in names_found if m.path not in seen]


class _Names:
    """The names and numbers in a scenario, held against the vehicle that it names."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.found: list[Mistake] = []

    def mistakes(self) -> list[Mistake]:
        """Return what is wrong with names and numbers."""
        model = self._vehicle()
        if model is None:
            return self.found
        self._initial(model)
        self._statuses(model, self._table("run").get("mode"), "run.mode")
        self._inputs(model)
        self._control(model)
        self._methods()
        self.found += footing_mistakes(self.content, model)
        self._map(model)
        self._cycle(model)
        self._sweep(model)
        self.found += expected_mistakes(self.content, model)
        return self.found

    def _add(self, path: str, text: str, value: Any = None) -> None:
        self.found.append(Mistake(path, text, value))

    def _table(self, name: str) -> Mapping[str, Any]:
        table = self.content.get(name, {})
        return table if isinstance(table, dict) else {}

    def _vehicle(self) -> Model | None:
        table = self._table("vehicle")
        name = table.get("name")
        if not isinstance(name, str):
            return None
        try:
            vehicle = find("vehicle", name)
        except DraisineError as error:
            self._add("vehicle.name", str(error), name)
            return None
        arguments = self._set(name, table.get("parameter_set"))
        count = len(self.found)
        arguments |= self._parameters(vehicle, table.get("parameters", {}))
        arguments |= self._motions(vehicle, table.get("motions", {}))
        try:
            model: Model = vehicle(**arguments)
        except (DraisineError, TypeError) as error:
            self._add("vehicle.parameters", str(error))
            model = vehicle()
        if len(self.found) > count and not arguments:
            model = vehicle()
        return model

    def _set(self, vehicle: str, wanted: Any) -> dict[str, float]:
        if not isinstance(wanted, str):
            return {}
        try:
            return parameter_set(vehicle, wanted)
        except DraisineError as error:
            self._add("vehicle.parameter_set", str(error), wanted)
            return {}

    def _parameters(self, vehicle: Callable[..., Model], given: Any) -> dict[str, Any]:
        if not isinstance(given, dict):
            return {}
        known = inspect.signature(vehicle).parameters
        out: dict[str, Any] = {}
        for name, value in given.items():
            path = f"vehicle.parameters.{name}"
            if name not in known:
                text = f"{vehicle.__name__} has no such parameter. {did_you_mean(name, known)}"
                self._add(path, text, value)
            elif not is_numeric(vehicle, name):
                out[name] = value
            else:
                unit = meanings(vehicle).get(name, (None, ""))[0]
                try:
                    out[name] = number(value, unit)
                except ValueError as error:
                    self._add(path, f"{error}.")
        return out

    def _motions(self, vehicle: Callable[..., Model], given: Any) -> dict[str, Any]:
        known = motion_arguments(vehicle)
        out: dict[str, Any] = {}
        for name, entry in given.items() if isinstance(given, dict) else ():
            path = f"vehicle.motions.{name}"
            if name not in known:
                self._add(
                    path, f"{vehicle.__name__} guides nothing so. {did_you_mean(name, known)}"
                )
                continue
            try:
                out[name] = motion_of(motion_entry(entry))
            except DraisineError as error:
                self._add(path, str(error))
            except ValueError:  # see structure
                continue
        return out

    def _initial(self, model: Model) -> None:
        units = state_units(model)
        for name, value in self._table("initial").items():
            path = f"initial.{name}"
            if name == "mode":
                self._statuses(model, value, path)
            elif name == "place":
                continue  # see footing
            elif name == "at_rest":
                if not isinstance(value, bool):
                    self._add(path, "must be true or false.", value)
            elif name not in units:
                text = f"nothing of {self._table('vehicle')['name']} is called so. "
                self._add(path, text + did_you_mean(name, units), value)
            else:
                try:
                    check_lean(name, number(value, units[name]))
                except ValueError as error:
                    self._add(path, f"{error}.")

    def _statuses(self, model: Model, given: Any, path: str) -> None:
        if not isinstance(given, dict):
            if given is not None:
                self._add(path, "must be a table of contacts and statuses.", given)
            return
        contacts = {c.name: c for c in model.contacts}
        for name, status in given.items():
            if name not in contacts:
                text = f"no such contact. {did_you_mean(name, contacts)}"
                self._add(f"{path}.{name}", text, status)
            elif status not in contacts[name].rows:
                allowed = ", ".join(contacts[name].rows)
                self._add(f"{path}.{name}", f"no such status; take one of: {allowed}.", status)

    def _inputs(self, model: Model) -> None:
        given = self.content.get("inputs", [])
        places = (
            [(f"inputs.{name}", name, value) for name, value in given.items()]
            if isinstance(given, dict)
            else [
                (f"inputs[{k}].input", signal.get("input"), signal.get("input"))
                for k, signal in enumerate(given if isinstance(given, list) else [])
                if isinstance(signal, dict)
            ]
        )
        for path, name, value in places:
            if isinstance(name, str) and name not in model.inputs:
                self._add(path, f"no such input. {did_you_mean(name, model.inputs)}", value)
        for k, signal in enumerate(given if isinstance(given, list) else []):
            self._signal(k, signal)

    def _signal(self, k: int, signal: Any) -> None:
        if not isinstance(signal, dict):
            return
        start, end = signal.get("start", 0.0), signal.get("end")
        if isinstance(start, (int, float)) and isinstance(end, (int, float)) and end < start:
            self._add(f"inputs[{k}].end", f"lies before the start at {start:g} s.", end)
        times, values = signal.get("times"), signal.get("values")
        if isinstance(times, list) and isinstance(values, list) and len(times) != len(values):
            self._add(f"inputs[{k}].values", f"{len(values)} values for {len(times)} times.")
        elif isinstance(times, list) and not _ascend(times):
            self._add(f"inputs[{k}].times", "must ascend.", times)

    def _control(self, model: Model) -> None:
        given = self.content.get("law", [])
        for k, entry in enumerate(given if isinstance(given, list) else []):
            if not isinstance(entry, dict):
                continue
            path = f"law[{k}]"
            name = entry.get("name")
            if name is None:
                self._add(f"{path}.name", f"is missing. Take one of: {', '.join(names('law'))}.")
                continue
            try:
                law = find("law", name)
            except DraisineError as error:
                self._add(f"{path}.name", str(error))
                continue
            self._law(path, law, entry, model)

    def _law(self, path: str, law: type, entry: Mapping[str, Any], model: Model) -> None:
        fields = {f.name: f for f in dataclasses.fields(law)}
        found = len(self.found)
        for key, value in entry.items():
            if key == "name":
                continue
            if key not in fields:
                self._add(f"{path}.{key}", f"is unknown. {did_you_mean(key, fields)}", value)
                continue
            try:
                law_value(fields[key], value)
            except ValueError as error:
                self._add(f"{path}.{key}", f"{error}.")
        for key, field in fields.items():
            if key not in entry and field.default is dataclasses.MISSING:
                self._add(f"{path}.{key}", "is missing.")
        if len(self.found) > found:
            return
        try:
            made = make_law(entry)
        except DraisineError as error:
            self._add(path, str(error))
            return
        joints = [j.name for j in model.joints]
        for key in ("steer", "drive"):
            joint = getattr(made, key, None)
            if isinstance(joint, str) and joint not in joints:
                self._add(f"{path}.{key}", f"no such joint. {did_you_mean(joint, joints)}", joint)

    def _methods(self) -> None:
        run = self._table("run")
        for kind in ("integrator", "formulation"):
            name = run.get(kind)
            if isinstance(name, str):
                try:
                    find(kind, name)
                except DraisineError as error:
                    self._add(f"run.{kind}", str(error))
        if run.get("formulation", "projected") == "projected":
            return
        for table in ("law", "inputs"):
            if self.content.get(table):
                self._add(table, "only the formulation 'projected' takes laws and inputs.")
        if run.get("mode"):
            self._add("run.mode", "only the formulation 'projected' takes open contacts.")

    def _map(self, model: Model) -> None:
        grid = self._table("map")
        units = state_units(model)
        joints = [j.name for j in model.joints]
        axes = [grid.get(side, {}) for side in ("x", "y")]
        for side, axis in zip(("x", "y"), axes, strict=True):
            name = axis.get("name") if isinstance(axis, dict) else None
            if not isinstance(name, str):
                continue
            if name not in units:
                self._add(f"map.{side}.name", f"is unknown. {did_you_mean(name, units)}", name)
                continue
            for end in ("low", "high"):
                try:
                    check_lean(name, number(axis.get(end), units[name]))
                except ValueError as error:
                    self._add(f"map.{side}.{end}", f"{error}.")
        sides = [axis.get("name") for axis in axes if isinstance(axis, dict)]
        if len(sides) == 2 and isinstance(sides[0], str) and sides[0] == sides[1]:
            self._add("map.y.name", "stands along x already; take another.", sides[1])
        locked = grid.get("locked")
        if isinstance(locked, str) and locked not in joints:
            self._add("map.locked", f"no such joint. {did_you_mean(locked, joints)}", locked)
        path = grid.get("path")
        if isinstance(path, str) and all(isinstance(a, dict) and "name" in a for a in axes):
            first, second = (str(a["name"]) for a in axes)
            allowed = ("straight", f"{first}, {second}", f"{second}, {first}")
            if path not in allowed:
                self._add("map.path", f"take one of: {', '.join(map(repr, allowed))}.", path)
        outputs = grid.get("outputs", [])
        for k, text in enumerate(outputs if isinstance(outputs, list) else []):
            self._asks(f"map.outputs[{k}]", parse_series, text, model)

    def _sweep(self, model: Model) -> None:
        table = self._table("sweep")
        over, outputs = table.get("over", {}), table.get("outputs", [])
        for path, values in over.items() if isinstance(over, dict) else ():
            for k, value in enumerate(values if isinstance(values, list) else []):
                where = key_path(["sweep", "over", path, k])
                try:
                    found = find_mistakes(single(self.content, {path: value}))
                except DraisineError as error:
                    self._add(where, str(error))
                    break
                for mistake in found:
                    if mistake.path.startswith(path):
                        self._add(where, mistake.text, mistake.value)
        for k, text in enumerate(outputs if isinstance(outputs, list) else []):
            self._asks(f"sweep.outputs[{k}]", parse_question, text, model)

    def _cycle(self, model: Model) -> None:
        missing = gait_obstacle(model) if self.content.get("kind") == "cycle" else ""
        if missing:
            self._add("vehicle", f"has no gait: {missing}.", self._table("vehicle")["name"])

    def _asks(self, path: str, parse: Callable[..., Any], text: Any, model: Model) -> None:
        if isinstance(text, str):
            try:
                parse(text, model)
            except DraisineError as error:
                self._add(path, str(error))


def _ascend(times: list[Any]) -> bool:
    """Return whether times come one after the other; what is no number is told elsewhere."""
    if not all(isinstance(t, (int, float)) for t in times):
        return True
    return sorted(set(times)) == times
