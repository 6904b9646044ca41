"""Whole simulators as source code, in files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from draisine.codegen.files import write_text
from draisine.errors import ParameterError
from draisine.model.quantity import number
from draisine.scenario.validate.mistakes import Mistakes
from draisine.scenario.validate.motion import read_law, read_start
from draisine.simulation.source import write_simulator
from draisine.system.state import State, state
from draisine.system.system import System


def write_simulator_files(
    system: System,
    language: str,
    folder: Path | None,
    start: Mapping[str, Any] | None = None,
    mode: Mapping[str, str] | None = None,
    laws: Sequence[Mapping[str, Any]] = (),
) -> list[Path]:
    """Write a whole simulator of one mode into a folder, beginning with values of the outputs as they
    are written on a command line, under control laws as a scenario has them; return its files.
    """
    if folder is None:
        raise ParameterError("a simulator is several files: name a folder, --out FOLDER.")
    begin, law = parse_start(system, start, mode), parse_law(system, laws, start)
    files = write_simulator(system, language, begin, mode=mode, law=law)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        write_text(text, folder / name)
    return [folder / name for name in files]


def parse_start(
    system: System, start: Mapping[str, Any] | None, mode: Mapping[str, str] | None
) -> State:
    """Return the state with values of the outputs as they are written on a command line."""
    mistakes = Mistakes()
    found = read_start(start or {}, system.vehicle.__name__, system.model, mistakes)
    mistakes.check("--initial")
    return state(system, mode=mode, at_rest=None, **dict[str, Any](found.values))


def parse_law(
    system: System, laws: Sequence[Mapping[str, Any]], start: Mapping[str, Any] | None
) -> Any:
    """Return control laws as they are written on a command line as one; None where there are none."""
    mistakes = Mistakes()
    speed = (start or {}).get("forward_speed")
    found = read_law(laws, (), system, None if speed is None else number(speed, "m/s"), mistakes)
    mistakes.check("--law")
    return found
