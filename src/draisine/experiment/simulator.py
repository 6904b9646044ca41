"""Export of complete simulators of a vehicle as source code, written to a folder.

The initial state and the control law are given in the notation of the command line, or by a scenario.

"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from draisine.codegen.files import write_text
from draisine.errors import ParameterError
from draisine.model.quantity import parse_number
from draisine.scenario.library import load
from draisine.scenario.plan import Plan
from draisine.scenario.schema import RunScenario
from draisine.scenario.validate.mistakes import Mistakes
from draisine.scenario.validate.motion import read_law, read_start
from draisine.simulation.contact.standalone.source import write_terrain_simulator
from draisine.simulation.options import GripSchedule
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
    """Write the source code of a simulator for one contact mode into a folder; return the file paths.

    `start` contains initial values in the notation of the command line, `laws` contains control laws as
    tables of a scenario.
    """
    folder = _check_folder(folder)
    initial = parse_start(system, start, mode)
    law = parse_law(system, laws, start)
    return _write_files(write_simulator(system, language, initial, mode=mode, law=law), folder)


def write_scenario_simulator(scenario: str, language: str, folder: Path | None) -> list[Path]:
    """Write a simulator of the run of a scenario into a folder and return the paths of its files.

    On terrain, the simulator opens and closes contacts. Without terrain, it keeps the contact mode of the
    initial state.
    """
    folder = _check_folder(folder)
    plan = load_run(scenario)
    assert isinstance(plan.scenario, RunScenario)
    if plan.terrain is None:
        if isinstance(plan.contact.mode, GripSchedule):
            raise ParameterError(
                f"{scenario}: a simulator cannot contain a schedule of grips. Choose a scenario "
                "without one."
            )
        files = write_simulator(
            plan.system, language, plan.copy_state(), mode=plan.contact.mode, law=plan.law
        )
        return _write_files(files, folder)
    files = write_terrain_simulator(
        plan.system,
        language,
        plan.copy_state(),
        plan.scenario.run.until,
        terrain=plan.terrain,
        law=plan.law,
        contact=plan.contact,
        numerics=plan.numerics,
    )
    return _write_files(files, folder)


def load_run(scenario: str) -> Plan:
    """Load a scenario of the kind `run` and return its plan; raise `ParameterError` for other kinds."""
    plan = load(scenario).plan
    if not isinstance(plan.scenario, RunScenario):
        raise ParameterError(
            f"{scenario}: its kind is {plan.scenario.kind!r}; a simulator needs a scenario of the kind 'run'."
        )
    return plan


def load_terrain_run(scenario: str) -> tuple[System, State, dict[str, Any]]:
    """Return compiled vehicle, initial state and further arguments of the run of a scenario on terrain.

    Raises
    ------
    ParameterError
        If the scenario is not a run, or has no terrain.
    """
    plan = load_run(scenario)
    assert isinstance(plan.scenario, RunScenario)
    if plan.terrain is None:
        raise ParameterError(
            f"{scenario} has no terrain. Export its vehicle: draisine export "
            f"{plan.system.vehicle.__name__} --initial NAME=VALUE."
        )
    options = {
        "terrain": plan.terrain,
        "law": plan.law,
        "contact": plan.contact,
        "numerics": plan.numerics,
        "until": plan.scenario.run.until,
    }
    return plan.system, plan.copy_state(), options


def _check_folder(folder: Path | None) -> Path:
    """Return the output folder of a simulator; raise an error if it is None."""
    if folder is None:
        raise ParameterError(
            "A simulator consists of several files. Choose a folder with --out FOLDER."
        )
    return folder


def _write_files(files: Mapping[str, str], folder: Path) -> list[Path]:
    """Write files (name -> text) to a folder, which is created if necessary; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        write_text(text, folder / name)
    return [folder / name for name in files]


def parse_start(
    system: System, start: Mapping[str, Any] | None, mode: Mapping[str, str] | None
) -> State:
    """Return the initial state with the output values of `--initial` on the command line."""
    mistakes = Mistakes()
    initial = read_start(start or {}, system.vehicle.__name__, system.model, mistakes)
    mistakes.raise_all("--initial")
    return state(system, mode=mode, at_rest=None, **dict[str, Any](initial.values))


def parse_law(
    system: System, laws: Sequence[Mapping[str, Any]], start: Mapping[str, Any] | None
) -> Any:
    """Combine the control laws of `--law` on the command line into one law; None if there are none.

    Designs such as LQR use the initial forward speed, if `start` has one.
    """
    mistakes = Mistakes()
    text = (start or {}).get("forward_speed")
    speed = None if text is None else parse_number(text, "m/s")
    law = read_law(laws, (), system, speed, mistakes)
    mistakes.raise_all("--law")
    return law
