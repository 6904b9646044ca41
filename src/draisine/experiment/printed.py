"""Comparison of the numbers that the four founding documents print with computed ones.

`printed.toml` lists the numbers from the beginning to the end of each document: place, printed text, unit
and how to compute the quantity. Nothing computed is stored there. Three verdicts exist:

1. A number *agrees* if the computed one, rounded to the printed digits, equals it, or if it satisfies a
   printed bound.
2. It *agrees within rounding* if both differ by at most one unit of the last printed digit: the document
   truncates, or it says "about".
3. Otherwise it is *disputed*, and the list must state the reason.

A number without a verdict of this kind is an error of the list or of the package: a deviation without a
reason ("unexplained"), or a dispute about a number that agrees ("unfounded").
"""

import math
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from draisine.experiment.run import Result, run
from draisine.model import Model, Wheel
from draisine.results import cycle
from draisine.results.events import read_events
from draisine.results.queries import evaluate_series, parse_query
from draisine.results.straight import straight_quantity
from draisine.scenario.library import load
from draisine.scenario.schema import CycleScenario, LinearScenario, SweepScenario
from draisine.vehicles import parameter_set
from draisine.vehicles.bicycle import to_thesis

# Verdicts of the comparison of a printed number with the computed one, see the docstring of this
# file
AGREES = "agrees"
ROUNDING = "agrees within rounding"
DISPUTED = "disputed"
UNEXPLAINED = "unexplained"
UNFOUNDED = "unfounded"

VERDICT_ERRORS = (UNEXPLAINED, UNFOUNDED)
"""Verdicts that are errors of the list or of the package."""

UNITS = {
    "deg": math.pi / 180.0,
    "pi rad": math.pi,
    "um/s": 1e-6,
    "cm": 1e-2,
    "h": 3600.0,
    "d": 86400.0,
    # Mean month and year of the Julian calendar (365.25 d), as usual in astronomy.
    "months": 365.25 / 12.0 * 86400.0,
    "years": 365.25 * 86400.0,
}
"""SI values of the printed units that are not SI units."""

ROUNDING_MARGIN = 1e-9
"""Relative margin of the comparison of a deviation with half a printed digit, above floating-point
rounding.
"""


@dataclass(frozen=True)
class PrintedNumber:
    """A number that a document prints, and how to compute it."""

    document: str
    """Key of the document: mauny2017, mauny2018, schwab2003, escalona2012."""
    place: str
    """Section, table, equation or figure."""
    quantity: str
    """Description of the quantity."""
    printed: str
    """The printed text: a number ("4.622"), a bound ("> 1500"), a range ("1 to 2") or words."""
    unit: str = ""
    """Printed unit."""
    step: float | None = None
    """Resolution of the printed number in its unit; by default one unit of its last digit."""
    reason: str = ""
    """Why the number is disputed; empty if it is not. `{also}` is replaced by the value of `also`."""
    scenario: str = ""
    """Scenario whose result contains the quantity."""
    query: str = ""
    """Query of that result."""
    at: Mapping[str, Any] = field(default_factory=dict)
    """Grid point of a sweep, or the speed of an eigenvalue."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Changes of the scenario by key path."""
    analysis: str = ""
    """Name of a function of `ANALYSES`, instead of a scenario and a query."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of that function."""
    also: Mapping[str, Any] = field(default_factory=dict)
    """Fields that differ for a second computed value, for the reason."""


@dataclass(frozen=True)
class Judgement:
    """A printed number, its computed value in the printed unit and the verdict."""

    document: str  # key of the document
    place: str  # section, table, equation or figure
    quantity: str  # description of the quantity
    printed: str  # printed text
    unit: str  # printed unit
    computed: float | str  # computed value in that unit, or words
    verdict: str  # "agrees", "agrees within rounding", "disputed", "unexplained" or "unfounded"
    reason: str = ""  # why the number is disputed

    def as_dict(self) -> dict[str, Any]:
        """Return the judgement as a dictionary for JSON."""
        return asdict(self)


def printed_documents() -> dict[str, str]:
    """Return the documents whose numbers are listed.

    Returns
    -------
    dict
        Key of each document -> author, year and title.

    Examples
    --------
    >>> from draisine.experiment.printed import printed_documents
    >>> list(printed_documents())
    ['mauny2017', 'mauny2018', 'schwab2003', 'escalona2012']
    """
    return {document: content["title"] for document, content in _read_number_list().items()}


@cache
def _read_number_list() -> dict[str, Any]:
    """Return the content of `printed.toml`."""
    return tomllib.loads(files("draisine.experiment").joinpath("printed.toml").read_text("utf-8"))


def printed_numbers() -> Iterator[PrintedNumber]:
    """Yield the printed numbers of all documents in the order of `printed.toml`.

    Yields
    ------
    PrintedNumber
        A printed number and how to compute it.

    Examples
    --------
    >>> from draisine.experiment.printed import printed_numbers
    >>> next(printed_numbers()).document
    'mauny2017'
    """
    for document, content in _read_number_list().items():
        for entry in content["number"]:
            if "inputs" in entry:
                yield from _printed_inputs(document, entry)
                continue
            if "table" not in entry:
                yield PrintedNumber(document, **entry)
                continue
            disputed = entry.get("disputed", {})
            for name, printed in entry["table"].items():
                yield PrintedNumber(
                    document,
                    entry["place"],
                    f"parameter {name}",
                    printed,
                    reason=disputed.get(name, ""),
                    analysis="benchmark_parameter",
                    arguments={"name": name},
                )


def _printed_inputs(document: str, entry: Mapping[str, Any]) -> Iterator[PrintedNumber]:
    """Yield the inputs of a scenario that a document prints; the fields are key paths in the scenario, or
    parameters of its vehicle, with the printed text and unit.
    """
    for path, text in entry["inputs"].items():
        printed, _, unit = text.partition(" ")
        yield PrintedNumber(
            document,
            entry["place"],
            f"input {path}",
            printed,
            unit,
            analysis="scenario_input",
            arguments={"scenario": entry["scenario"], "path": path},
        )


def judge_numbers(
    progress: Callable[[float], None] | None = None, document: str = ""
) -> list[Judgement]:
    """Compute all printed numbers and return one judgement each.

    Parameters
    ----------
    progress
        Called with the completed fraction (0 to 1).
    document
        Key of one document; by default all documents.

    Returns
    -------
    list of Judgement
        Judgements in the order of the documents.

    Examples
    --------
    >>> from draisine.experiment.printed import judge_numbers
    >>> {judgement.verdict for judgement in judge_numbers(document="schwab2003")}
    {'agrees'}
    """
    numbers = [n for n in printed_numbers() if document in ("", n.document)]
    judgements = []
    try:
        for k, number in enumerate(numbers):
            judgements.append(judge_number(number))
            if progress is not None:
                progress((k + 1) / len(numbers))
    finally:
        # Free the results of some two dozen scenarios, which would otherwise stay in memory.
        _run_scenario.cache_clear()
    return judgements


def judge_number(number: PrintedNumber) -> Judgement:
    """Compute one printed number and compare it with the printed text."""
    computed = _compute_number(number)
    is_close, is_near = _compare_digits(number, computed)
    if number.reason:
        # A disputed number must differ from the printed one: otherwise there is nothing to dispute.
        verdict = UNFOUNDED if is_close else DISPUTED
    elif is_close:
        verdict = AGREES
    else:
        verdict = ROUNDING if is_near else UNEXPLAINED
    reason = number.reason
    if number.also:
        fields = {name: getattr(number, name) for name in number.__dataclass_fields__}
        second = _compute_number(PrintedNumber(**(fields | dict(number.also))))
        reason = reason.format(also=f"{second:.4g}" if isinstance(second, float) else second)
    return Judgement(
        number.document,
        number.place,
        number.quantity,
        number.printed,
        number.unit,
        computed,
        verdict,
        " ".join(reason.split()),
    )


def _compare_digits(number: PrintedNumber, computed: float | str) -> tuple[bool, bool]:
    """Return whether a computed value rounds to the printed number, and whether it differs by one
    printed digit at most.

    >>> _compare_digits(PrintedNumber("", "", "", "4.2"), 4.292)
    (False, True)
    >>> _compare_digits(PrintedNumber("", "", "", "> 2"), 3.7)
    (True, True)
    """
    if isinstance(computed, str):
        return computed == number.printed, False
    if not math.isfinite(computed):
        return False, False
    words = number.printed.split()
    if words[0] in ("<", ">"):
        holds = computed < float(words[1]) if words[0] == "<" else computed > float(words[1])
        return holds, holds
    if "to" in words:
        holds = float(words[0]) <= computed <= float(words[2])
        return holds, holds
    value = float(number.printed)
    step = number.step or _unit_of_last_digit(number.printed)
    deviation = abs(computed - value) / step
    return deviation <= 0.5 + ROUNDING_MARGIN, deviation <= 1.0 + ROUNDING_MARGIN


def _unit_of_last_digit(printed_number: str) -> float:
    """Return one unit of the last digit of a printed number.

    >>> _unit_of_last_digit("4.622"), _unit_of_last_digit("1870"), _unit_of_last_digit("1e-12")
    (0.001, 1.0, 1e-12)
    """
    mantissa, _, exponent = printed_number.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return float(f"1e{int(exponent or 0) - decimals}")


def _compute_number(number: PrintedNumber) -> float | str:
    """Return the computed value of a printed number in its unit, or as words."""
    if number.analysis:
        value = ANALYSES[number.analysis](**number.arguments)
    else:
        value = _evaluate_query(
            _find_result(number.scenario, number.changes), number.query, number.at
        )
    return value if isinstance(value, str) else float(value) / UNITS.get(number.unit, 1.0)


def _find_result(scenario: str, changes: Mapping[str, Any] | None = None) -> Result:
    """Return the result of a scenario with changes; each one runs once per list."""
    return _run_scenario(scenario, tuple(sorted((changes or {}).items())))


@cache
def _run_scenario(scenario: str, changes: tuple[tuple[str, Any], ...]) -> Result:
    """Run a scenario with changes by key path."""
    return run(scenario, changes=dict(changes))


def _evaluate_query(result: Result, query: str, selection: Mapping[str, Any]) -> float:
    """Return one number of a result: of a run, a sweep, a cycle or eigenvalues."""
    scenario = result.loaded.scenario
    match scenario:
        case SweepScenario():
            return float(result.data[query].sel(selection).item())
        case LinearScenario():
            speeds = [selection["speed"]] if selection else None
            return float(straight_quantity(query, result.system.model, result.data, speeds)[0])
        case CycleScenario():
            labels = cycle.cycle_labels(result.system.model, scenario.cycle.components)
            return float(cycle.cycle_quantity(query, labels, result.data)[0])
        case _:
            return parse_query(query, result.system.model).evaluate(result.bodies)


def _benchmark_parameter(name: str) -> float:
    """Return a parameter of the benchmark bicycle (Meijaard et al. 2007), in the thesis's form if it has
    that name there.
    """
    benchmark = parameter_set("whipple", "benchmark")
    values = {**benchmark, **to_thesis(benchmark)}
    counts = _count_coordinates()
    # Mauny's thesis (2018) calls the number of constraints m and the number of joints n.
    return {"m": counts["contact rows"], "n": counts["joints"]}.get(name) or values[name]


def _count_coordinates() -> dict[str, float]:
    """Return the numbers of bodies, coordinates, constraints and degrees of freedom of the bicycle."""
    model: Model = _find_result("mauny2018/configuration-c").system.model
    bodies = len(model.bodies)
    joints = len(model.joints)
    wheels = sum(isinstance(contact, Wheel) for contact in model.contacts)
    # A hinge leaves one of six relative coordinates. A rolling wheel determines the height of its
    # contact point, and two velocities along the ground.
    hinge_constraints = 5 * joints
    heights = wheels
    rolling = 2 * wheels
    coordinates = 6 * bodies
    return {
        "bodies": bodies,
        "joints": joints,
        "coordinates": coordinates,
        "hinge constraints": hinge_constraints,
        "constraints on coordinates": hinge_constraints + heights,
        "constraints on velocities": rolling,
        "constraints": hinge_constraints + heights + rolling,
        "contact rows": heights + rolling,
        "independent coordinates": coordinates - hinge_constraints - heights,
        "degrees of freedom": coordinates - hinge_constraints - heights - rolling,
        "degrees of freedom at a given speed": coordinates
        - hinge_constraints
        - heights
        - rolling
        - 1,
        "parameters": len(to_thesis(parameter_set("whipple", "benchmark"))),
    }


def _compute_tail_length() -> float:
    """Return the distance (m) of ROCR's tail mass from its joint, MS1 / m1."""
    values = _find_result("mauny2018/rocr-gait-a").system.parameters
    return float(values["MS1"] / values["m1"])


def _find_phase_of_zero_speed() -> float:
    """Return the phase (rad) at which ROCR's straight gaits do not climb, by the secant method."""

    def mean_climbing_speed(phase: float) -> float:
        """Return the mean climbing speed (m/s) of the straight gait at a phase (rad)."""
        changes = {"vehicle.parameters.phase": phase}
        return _evaluate_query(_find_result("mauny2018/rocr-gait-b", changes), "mean_speed", {})

    a, b = 3.74, 3.76
    speed_a, speed_b = mean_climbing_speed(a), mean_climbing_speed(b)
    # The mean speed is a smooth and monotonic function of the phase: three steps of the secant
    # method reach 1e-9 rad.
    for _ in range(3):
        a, b, speed_a = b, b - speed_b * (b - a) / (speed_b - speed_a), speed_b
        speed_b = mean_climbing_speed(b)
    return b


def _compute_turn_radius() -> float:
    """Return the radius (m) of the path of the rear hub at the end of the thesis's turn."""
    result = _find_result("mauny2018/controlled-turn")
    return 1.0 / _evaluate_query(result, "final path_curvature[rear]", {})


def _compute_drift_time(drift: float) -> float:
    """Return the time (s) in which a contact point drifts by 1 mm at a printed speed (m/s)."""
    return 1e-3 / drift


def _compute_correction_difference(series: str) -> float:
    """Return the largest difference of a time series between runs with and without the drift
    correction, eq. (2.41) of Mauny's thesis (2018).
    """
    corrected = _find_result("mauny2018/drift-corrected")
    plain = _find_result("mauny2018/drift-corrected", {"run.drift": "none"})
    difference = evaluate_series(series, corrected.bodies) - evaluate_series(series, plain.bodies)
    return float(np.abs(difference).max())


def _measure_processor_time() -> float:
    """Return the processor time (s) of 5 s of the passive run at 5 ms per step, without compilation."""
    changes = {"run.dt": 0.005, "run.drift": "none"}
    _find_result("mauny2018/drift-corrected", changes)  # compiles the program
    start = time.process_time()
    run("mauny2018/drift-corrected", changes=changes)
    return time.process_time() - start


def _find_bounce_order() -> str:
    """Return the wheels of the first five collisions of the elastic test in the order of time."""
    events = read_events(_find_result("mauny2018/elastic-bounces").data)
    wheels = [str(e["contact"][0]).partition(":")[0] for e in events if e["kind"] == "collision"]
    return ", ".join(wheels[:5])


def _compute_pitch_time() -> float:
    """Return the time (s) from the start of the pitch control in flight to the landing."""
    result = _find_result("mauny2018/ramp-jump-pitched")
    return _evaluate_query(result, "collision 1 time", {}) - _find_start_of_law(result)


def _compute_wheelie_time() -> float:
    """Return the time (s) from the start of the wheelie to the pitch of 30 degrees."""
    result = _find_result("mauny2018/wheelie-held")
    return _evaluate_query(result, "time when pitch = -30deg", {}) - _find_start_of_law(result)


def _compute_torque_ratio() -> float:
    """Return the peak torque of the wheelie relative to 50 N m, the torque of the motor in Mauny's
    thesis (2018).
    """
    peak = _evaluate_query(_find_result("mauny2018/wheelie-held"), "peak inputs[rear_wheel]", {})
    return peak / 50.0


def _find_start_of_law(result: Result) -> float:
    """Return the time (s) at which the wheelie law of a scenario begins to lift the front wheel."""
    law = result.loaded.plan.law
    laws = getattr(law, "laws", (law,))
    return float(next(each.lift_at for each in laws if hasattr(each, "lift_at")))


def _find_rear_impulse() -> float:
    """Return the normal impulse (N s) of the rear wheel at the first impact: 0 if the wheel is not in the
    accepted contact set.
    """
    event = read_events(_find_result("mauny2018/impact-lift-off").data)[0]
    return float(event["impulse"].get("rear:ground", [0.0])[0])


def _read_scenario_input(scenario: str, path: str) -> float:
    """Return an input of a scenario in SI units by its key path, or a parameter of its vehicle."""
    loaded = load(scenario)
    value: Any = loaded.content
    if path in loaded.plan.system.parameters:
        return float(loaded.plan.system.parameters[path])
    for key in path.split("."):
        value = value[int(key)] if isinstance(value, list) else value[key]
    if isinstance(value, str) and value.endswith("deg"):
        return math.radians(float(value.removesuffix("deg")))
    return float(value)


ANALYSES: dict[str, Callable[..., float | str]] = {
    "benchmark_parameter": _benchmark_parameter,
    "count": lambda name: _count_coordinates()[name],
    "scenario_input": _read_scenario_input,
    "radians": lambda degrees: math.radians(degrees),
    "tail_length": _compute_tail_length,
    "phase_of_zero_speed": _find_phase_of_zero_speed,
    "turn_radius": _compute_turn_radius,
    "time_per_millimetre": _compute_drift_time,
    "correction_difference": _compute_correction_difference,
    "processor_time": _measure_processor_time,
    "bounce_order": _find_bounce_order,
    "pitch_time": _compute_pitch_time,
    "wheelie_time": _compute_wheelie_time,
    "torque_ratio": _compute_torque_ratio,
    "absent_impulse": _find_rear_impulse,
}
"""Computations that are more than one query of a scenario: name -> function."""
