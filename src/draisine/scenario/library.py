"""Lookup of scenarios: shipped ones by name, TOML files of users, and scenarios stored in results."""

import json
import os
import re
import tomllib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draisine.errors import DataError, UnknownNameError, check_file, did_you_mean
from draisine.registry import (
    ALIASES,
    check_trust,
    find,
    find_by_description,
    is_file,
    is_parameter_file,
    is_robot,
    names,
)
from draisine.scenario.overrides import is_measured, override, short_names, unused_tolerances

if TYPE_CHECKING:
    from draisine.scenario.plan import Plan
    from draisine.scenario.schema import Scenario
    from draisine.system.system import System

FILE_KEYS = ("file", "name", "path", "parameter_set", "impact", "integrator", "formulation")
"""Keys of a scenario whose value may be a file path, relative to the folder of the scenario file."""


DEFAULT_SCENARIO = "mauny2018/passive-stabilisation"
"""Scenario that `draisine run` runs if no name is given."""

MOTION_KINDS = ("run", "cycle")
"""Kinds of scenarios whose result is a motion over time."""


@dataclass(frozen=True)
class Loaded:
    """A validated scenario with its name, file, tables and objects."""

    name: str
    file: str  # path for error messages; for a shipped scenario, its name with .toml
    content: dict[str, Any]  # tables of the scenario as plain TOML values
    plan: "Plan"  # objects that the tables describe

    @property
    def scenario(self) -> "Scenario":
        """The tables of the scenario as validated records."""
        return self.plan.scenario

    @property
    def text(self) -> str:
        """Name and tables of the scenario as one line of JSON, from which it can be loaded again."""
        return json.dumps({"name": self.name, "content": self.content})


def scenarios() -> tuple[str, ...]:
    """Return the names of all shipped scenarios.

    Returns
    -------
    tuple of str
        Names like "mauny2018/ramp-jump", sorted.

    Examples
    --------
    >>> "mauny2018/passive-stabilisation" in scenarios()
    True
    """
    return tuple(sorted(_find_shipped_files()))


def expand_folder(folder_name: str) -> tuple[str, ...]:
    """Return the names of all shipped scenarios in a folder ("" means all), or of a single scenario.

    >>> expand_folder("meijaard2007"), expand_folder("ramp-jump")
    (('meijaard2007/eigenvalues', 'meijaard2007/matrices'), ('mauny2018/ramp-jump',))
    """
    folder = folder_name.rstrip("/") + "/" if folder_name else ""
    inside = tuple(name for name in scenarios() if name.startswith(folder))
    matches = tuple(n for n in scenarios() if n.rpartition("/")[2] == folder_name.replace("_", "-"))
    return inside or (matches if len(matches) == 1 else (folder_name,))


def scenario_titles() -> dict[str, tuple[str, str]]:
    """Return (kind, title) of every shipped scenario by name."""
    kinds_and_titles = {}
    for name, file in sorted(_find_shipped_files().items()):
        head = re.split(r"^\[", file.read_text(encoding="utf-8"), maxsplit=1, flags=re.MULTILINE)[0]
        content = tomllib.loads(head)
        kinds_and_titles[name] = (str(content.get("kind")), str(content.get("title")))
    return kinds_and_titles


MAX_LISTED = 3
"""Largest number of changes or names in one line of text; the others are only counted."""


def load(
    source: str,
    changes: Mapping[str, Any] | None = None,
    trust: bool = False,
) -> Loaded:
    """Load and validate a scenario from its name, a file, a stored result or a vehicle.

    Parameters
    ----------
    source
        Name of a shipped scenario (the last part suffices if it is unique: "ramp-jump"), a file (.toml), a
        stored result (.nc, .zarr) of a scenario, or a vehicle, which selects one of its scenarios or a
        default run.
    changes
        Values that replace those of the scenario, by key path ("run.until", "vehicle.parameters.mB").
        With changes, published expected values are left out, measured values are compared without
        bounds, and the title lists the changes.
    trust
        Whether Python code that a stored result refers to may be executed.

    Returns
    -------
    Loaded
        The validated scenario: name, file, tables and the objects that they describe.

    Raises
    ------
    UnknownNameError
        If no scenario has this name; the message suggests similar names.
    DataError
        If a file cannot be read or the scenario is invalid; the message lists all mistakes.
    """
    name, file, content = _read_content(source, trust, changes or {})
    if changes:
        if "terrain.shape" in changes:
            from draisine.scenario.terrain import change_shape

            content = change_shape(content, changes)
        for tolerance, value in unused_tolerances(content, changes).items():
            warnings.warn(
                f"run.{tolerance} = {value:g} of the scenario is not used: {changes['run.integrator']} takes "
                "equal steps.",
                stacklevel=2,
            )
        content = override(content, _mark_title_changed(name, changes) | dict(changes))
    return validate_scenario(name, file, content)


def _mark_title_changed(name: str, changes: Mapping[str, Any]) -> dict[str, str]:
    """Return a new title for a changed scenario, because the published title may no longer describe it.

    Changes of the numerics (step, tolerances) are not mentioned.

    >>> _mark_title_changed("mauny2018/ramp-jump", {"terrain.slope": "12deg", "run.dt": 0.1})
    {'title': 'ramp-jump with slope = 12deg'}
    """
    texts = [
        _describe_change(short, changes[path])
        for path, short in short_names(changes).items()
        if not path.startswith("run.") or path.startswith("run.mode.")
    ]
    return {"title": f"{name.rpartition('/')[2]} with {join_first(texts)}"} if texts else {}


def join_first(texts: Sequence[str]) -> str:
    """Join the first `MAX_LISTED` texts by commas and append the number of the remaining ones.

    >>> join_first(["a = 1", "b = 2"]), join_first(["a = 1", "b = 2", "c = 3", "d = 4", "e = 5"])
    ('a = 1, b = 2', 'a = 1, b = 2, c = 3 and 2 more')
    """
    more = len(texts) - MAX_LISTED
    return ", ".join(texts[:MAX_LISTED]) + (f" and {more} more" if more > 0 else "")


def _describe_change(name: str, value: Any) -> str:
    """Return a changed value as short text; tables and files are reduced to their names.

    >>> _describe_change("mB", 90.0), _describe_change("parameter_set", "bicycles/mine.txt")
    ('mB = 90', 'mine.txt')
    >>> _describe_change("law", [])
    'law'
    """
    if isinstance(value, list | dict):
        return name
    if isinstance(value, str) and is_parameter_file(value):
        return Path(value).name
    return f"{name} = {value:g}" if isinstance(value, float) else f"{name} = {value}"


def validate_scenario(name: str, file: str, content: dict[str, Any]) -> Loaded:
    """Validate the tables of a scenario and build its objects; raise `DataError` with all mistakes."""
    from draisine.scenario.validate.mistakes import Mistakes
    from draisine.scenario.validate.scenario import read_scenario

    mistakes = Mistakes()
    plan = read_scenario(content, mistakes)
    mistakes.raise_all(file)
    assert plan is not None
    return Loaded(name, file, _insert_parameters(content, plan), plan)


def _insert_parameters(content: dict[str, Any], plan: "Plan") -> dict[str, Any]:
    """Return the tables of a scenario with parameter values in place of the parameter file.

    A stored result can then be reproduced without that file.
    """
    parameter_set = plan.scenario.vehicle.parameter_set
    if not isinstance(parameter_set, str) or not is_parameter_file(parameter_set):
        return content
    from draisine.vehicles.bicycle import BENCHMARK

    values = {n: x for n, x in plan.system.parameters.items() if n in BENCHMARK}
    return content | {"vehicle": content["vehicle"] | {"parameter_set": values}}


def _read_content(
    source: str, trust: bool, changes: Mapping[str, Any]
) -> tuple[str, str, dict[str, Any]]:
    """Return name, file and tables of the scenario that a name, file, result or vehicle denotes."""
    path = Path(source)
    if path.suffix in (".nc", ".zarr"):
        return _read_stored_content(path, trust)
    if path.suffix == ".toml":
        return (
            path.stem,
            source,
            _make_paths_absolute(_parse_toml(source, _read_text(path)), path.parent),
        )
    if _denotes_vehicle(source):
        return _read_vehicle_content(source, changes)
    name, text = _find_shipped(source)
    return name, f"{name}.toml", _parse_toml(name, text)


def _denotes_vehicle(source: str) -> bool:
    """Return whether a name denotes a vehicle rather than a scenario whose result is a motion.

    >>> _denotes_vehicle("car"), _denotes_vehicle("unicycle"), _denotes_vehicle("segway")
    (True, True, False)
    """
    if is_file(source):
        return True
    if ALIASES.get(("vehicle", source), source) not in names("vehicle"):
        return False
    matches = [n for n in scenarios() if n.rpartition("/")[2] == source.replace("_", "-")]
    return all(_read_shipped(name)["kind"] not in MOTION_KINDS for name in matches)


def _read_vehicle_content(
    vehicle_name: str, changes: Mapping[str, Any]
) -> tuple[str, str, dict[str, Any]]:
    """Return name, file and tables of a shipped scenario of a vehicle, or of a default run if none exists.

    A warning reports the selected scenario and its initial values that `changes` does not replace.
    """
    vehicle = ALIASES.get(("vehicle", vehicle_name), vehicle_name)
    motions = list_motions(vehicle)
    if motions:
        name = DEFAULT_SCENARIO if DEFAULT_SCENARIO in motions else motions[0]
        content = _read_shipped(name)
        others = [each.rpartition("/")[2] for each in motions if each != name]
        more = f" (others: {join_first(others)})" if others else ""
        origin = f"this run uses its scenario {name}{more}"
    else:
        from draisine.scenario.first_run import make_first_run

        name = Path(vehicle).stem if vehicle.endswith(".py") else vehicle.rpartition(":")[2]
        content = make_first_run(vehicle, name)
        origin = "this is a default run of the vehicle"
    unchanged = _mention_unchanged_start(content, changes)
    warnings.warn(
        f"{vehicle_name} is a vehicle; {origin}. {unchanged}To write a run of your own: "
        f"`draisine new scenario mine --vehicle {vehicle_name}`.",
        stacklevel=4,
    )
    return name, f"{name}.toml" if motions else vehicle_name, content


def _mention_unchanged_start(content: Mapping[str, Any], changes: Mapping[str, Any]) -> str:
    """Return a sentence that lists the initial values of a scenario that remain unchanged, or "".

    >>> _mention_unchanged_start({"initial": {"lean_rate": 0.5, "lean": 0.0}}, {"initial.lean": 0.1})
    'Unchanged initial values: lean_rate = 0.5. '
    """
    changed = {path.removeprefix("initial.") for path in changes if path.startswith("initial.")}
    values = content.get("initial", {})
    texts = [
        f"{n} = {x}" for n, x in values.items() if n not in changed and not isinstance(x, dict)
    ]
    return f"Unchanged initial values: {join_first(texts)}. " if changed and texts else ""


def list_motions(vehicle: str) -> list[str]:
    """Return the names of the shipped scenarios of a vehicle whose results are motions: runs, then cycles."""
    contents = {name: _read_shipped(name) for name in scenarios()}
    matches = [name for name, content in contents.items() if content["vehicle"]["name"] == vehicle]
    return [name for kind in MOTION_KINDS for name in matches if contents[name]["kind"] == kind]


def find_shipped_start(system: "System") -> dict[str, float]:
    """Return the initial values of the first shipped run of a single-body vehicle; an empty dict otherwise.

    Straight rolling of a single disc, ball or stone is trivial, so a default run uses these values.
    """
    for name in () if system.model.joints else list_motions(system.vehicle.__name__):
        loaded = load(name)
        is_level_run = loaded.scenario.kind == "run" and loaded.plan.terrain is None
        if is_level_run and loaded.plan.system.parameters == system.parameters:
            return dict(loaded.plan.start.values)
    return {}


def read_template(source: str) -> str:
    """Return the TOML text of a scenario, given by name or file, as a template for a new scenario.

    Published expected values are left out, because they apply to the unchanged scenario only; measured
    values are kept.

    >>> text = read_template("ramp-jump")
    >>> 'shape = "ramp"' in text, "expected" in text
    (True, False)
    >>> read_template("kooijman2008/weave").count('origin = "measured"')
    4
    """
    text = _read_text(Path(source)) if source.endswith(".toml") else _find_shipped(source)[1]
    tables = []
    is_kept = False
    for table in re.split(r"^(?=\[+[a-z])", text, flags=re.MULTILINE):
        if table.startswith("[[expected]]"):
            is_kept = is_measured(_parse_toml(source, table)["expected"][0])
        if is_kept or not table.lstrip("[").startswith("expected"):
            tables.append(table)
    return "".join(tables).rstrip() + "\n"


def _find_shipped(where: str) -> tuple[str, str]:
    """Return (name, TOML text) of a shipped scenario; raise `UnknownNameError` with suggestions."""
    shipped = _find_shipped_files()
    dashed = where.replace("_", "-")
    matches = [name for name in shipped if name == where] or [
        name for name in shipped if dashed in (name, name.rpartition("/")[2])
    ]
    if len(matches) == 1:
        return matches[0], shipped[matches[0]].read_text(encoding="utf-8")
    if is_robot(where):
        find("vehicle", where)  # raises an error that explains how to use a robot file
    if os.path.exists(f"{where}.toml"):
        raise UnknownNameError(
            f"Unknown scenario {where!r}. The file {where}.toml exists: to run it, add the ending "
            ".toml."
        )
    if os.path.exists(where):
        raise DataError(f"{where}: scenarios are .toml files, results .nc or .zarr files.")
    if matches:
        raise UnknownNameError(
            f"Several scenarios have the name {where!r}: "
            f"{' or '.join(sorted(matches))}? Use the full name."
        )
    raise UnknownNameError(
        f"Unknown scenario {where!r}. {_suggest_scenario(where)} See `draisine list scenarios`; a file "
        "of your own ends with .toml."
    )


def _suggest_scenario(name: str) -> str:
    """Return a sentence that suggests a similar scenario, or vehicles whose description contains a word."""
    hint = did_you_mean(name, _find_shipped_files())
    vehicles = find_by_description("vehicle", name)
    if hint.startswith("Did you mean") or not vehicles:
        return hint
    return (
        f"These vehicles have {name!r} in their descriptions: {', '.join(vehicles)}. `draisine run "
        f"{vehicles[0]}` runs the first."
    )


def mention_motions(vehicle: str) -> str:
    """Return a sentence that lists the shipped scenarios of a vehicle's motions, or "".

    >>> mention_motions("chaplygin_sleigh"), mention_motions("mine.py")
    (' Its motions: chaplygin-sleigh, chaplygin-sleigh-back.', '')
    """
    motions = [name.rpartition("/")[2] for name in list_motions(vehicle)]
    return f" Its motions: {join_first(motions)}." if motions else ""


def _read_shipped(name: str) -> dict[str, Any]:
    """Return the parsed tables of a shipped scenario."""
    return _parse_toml(name, _find_shipped_files()[name].read_text(encoding="utf-8"))


def _read_text(path: Path) -> str:
    """Return the text of a scenario file; raise `DataError` with the reason if it cannot be read."""
    check_file(path)
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DataError(f"{path}: the file does not exist.") from None
    except IsADirectoryError:
        raise DataError(f"{path} is a folder, not a scenario file.") from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is not a text file in UTF-8.") from None
    except (OSError, ValueError) as error:  # a null byte in the name raises ValueError
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{path}: cannot be read: {reason}.") from None


def _parse_toml(file: str, text: str) -> dict[str, Any]:
    """Parse the TOML text of a scenario; raise `DataError` with file and position of a syntax error."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{file} is not valid TOML: {error}.") from None


def _make_paths_absolute(content: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the tables of a scenario with absolute file paths instead of paths relative to its folder.

    Paths of terrain files, of plug-in files and of swept files are replaced.
    """

    def make_absolute(key: str, value: Any) -> Any:
        """Return a value, or its absolute path if the key and value denote a file."""
        is_path = isinstance(value, str) and (
            key == "file" or is_file(value) or is_parameter_file(value)
        )
        return str((folder / value).resolve()) if key in FILE_KEYS and is_path else value

    tables = [content.get(name) for name in ("terrain", "vehicle", "contact", "run")]
    laws = content.get("law")
    sweep = content.get("sweep")
    for table in [*tables, *(laws if isinstance(laws, list) else [])]:
        if isinstance(table, dict):
            table |= {key: make_absolute(key, value) for key, value in table.items()}
    over = sweep.get("over") if isinstance(sweep, dict) else None
    for path, values in over.items() if isinstance(over, dict) else ():
        if isinstance(values, list):
            values[:] = [make_absolute(path.rpartition(".")[2], value) for value in values]
    return content


def _read_stored_content(path: Path, trust: bool) -> tuple[str, str, dict[str, Any]]:
    """Return name, file and tables of the scenario that a stored result contains."""
    from draisine.results.attributes import read_table_attribute
    from draisine.results.store import code_files, load

    data = load(path, trust)
    stored = read_table_attribute(data, "scenario")
    if not stored:
        raise DataError(
            f"{path} contains no scenario. Only results that `draisine run` wrote contain one."
        )
    for file in code_files(data):
        check_trust(file, str(path))
    content = stored.get("content")
    if not isinstance(content, dict):
        raise DataError(f"{path}: the stored scenario is damaged: its tables are missing.")
    return str(stored.get("name")), str(path), content


@cache
def _find_shipped_files() -> dict[str, Traversable]:
    """Return the TOML files of all shipped scenarios by name."""
    return dict(_walk_toml_files(files("draisine").joinpath("scenarios"), ""))


def _walk_toml_files(folder: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    """Yield (name, file) of all TOML files in a folder and its subfolders."""
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _walk_toml_files(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".toml"):
            yield prefix + entry.name.removesuffix(".toml"), entry
