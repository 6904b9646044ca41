"""Summaries of the result of a scenario: text lines and tables for printing, plain data for JSON."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from draisine.experiment.kinds import cycle
from draisine.experiment.run import Result
from draisine.mechanics.base import base_angles
from draisine.model.names import output_names
from draisine.model.quantity import readable
from draisine.results.attributes import read_list_attribute
from draisine.results.cycle import summarise_cycle
from draisine.results.events import event_records
from draisine.results.queries import evaluate_series, known_series, series_unit
from draisine.results.straight import CANONICAL_MATRICES
from draisine.simulation.contact.many import NOT_RUN

OPEN_GAP = 1e-6
"""Smallest gap (m) of an open contact; smaller gaps are drift or round-off of closed contacts."""

UNSTABLE_GROWTH = 1e-6
"""Largest real part (1/s) of the eigenvalues of a motion that is not reported as unstable.

Smaller positive values are round-off of neutral eigenmodes (heading, position).

"""

RUNS_PER_BLOCK = 65536
"""Number of runs of a sweep that are loaded at a time, to bound the memory for millions of runs."""

MAX_LISTED_ITEMS = 12
"""Largest number of events, or of runs that stopped early, in a printed list (half a screen)."""

RELATIVE_ROUND_OFF = 1e-9
"""Smallest printed impulse or energy, as a fraction of the largest one; smaller values are round-off."""


def summarise_result(result: Result) -> dict[str, Any]:
    """Return the result of a scenario as plain data in SI units for JSON."""
    return {
        "scenario": result.loaded.name,
        "vehicle": result.loaded.scenario.vehicle.name,
        "parameters": dict(result.system.parameters),
        **_summarise_by_kind(result),
        "outcome": result.outcome,
        "seconds": result.seconds,
    }


def _summarise_by_kind(result: Result) -> dict[str, Any]:
    """Return the part of a result's summary that depends on the kind of scenario."""
    data = result.data
    match result.loaded.scenario.kind:
        case "sweep" | "gait":
            return {"runs": list_runs(result)}
        case "map":
            ends = {str(n): (float(v.min()), float(v.max())) for n, v in data.data_vars.items()}
            return {"ranges": {n: [_finite_or_none(x) for x in both] for n, both in ends.items()}}
        case "linear":
            return _summarise_linear(data)
        case "cycle":
            return {"cycle": summarise_cycle(data), "events": _collect_events(result)}
    return _summarise_motion(result)


def _summarise_linear(data: Any) -> dict[str, Any]:
    """Return critical speeds, eigenvalues, gains and matrices of a linear scenario."""
    modes = [str(name) for name in data["eigenmode"].values]
    return {
        "critical": {
            str(n): _finite_or_none(float(v)) for n, v in data.data_vars.items() if not v.dims
        },
        "speed": data["speed"].values.tolist(),
        "eigenvalues": {
            part: dict(zip(modes, data[f"eigenvalue_{part}"].values.T.tolist(), strict=True))
            for part in ("real", "imaginary")
        },
        "gains": _collect_gains(data),
        "matrices": {n: data[n].values.tolist() for n in CANONICAL_MATRICES if n in data},
    }


def _collect_gains(data: Any) -> dict[str, dict[str, float]]:
    """Return the gains of state feedback as input -> state -> gain; empty without feedback."""
    if "gain" not in data:
        return {}
    names = data["fed_state"].values.tolist()
    rows = zip(data["fed_input"].values.tolist(), data["gain"].values.tolist(), strict=True)
    return {name: dict(zip(names, row, strict=True)) for name, row in rows}


def _summarise_motion(result: Result) -> dict[str, Any]:
    """Return final values, energies, gaps, events and validity of a run, or of one state."""
    E, T, U = (result.data[n].values for n in ("energy", "kinetic_energy", "potential_energy"))
    # The zero of potential energy is arbitrary. Therefore divide the drift by the changes of
    # energy.
    scale = float(np.abs(T).max() + np.abs(U - U[0]).max()) or 1.0
    gaps = np.abs(result.data["gap"].values) if "gap" in result.data else np.zeros(0)
    gap = float(gaps[np.isfinite(gaps)].max()) if np.isfinite(gaps).any() else None
    change = float(np.abs(E - E[0]).max())
    energy = {
        "start": float(E[0]),
        "end": float(E[-1]),
        "maximum_change": change,
        "maximum_relative_drift": change / scale,
    }
    return {
        "final": final_values(result),
        "energy": energy,
        "maximum_gap": gap,
        "events": _collect_events(result),
        "validity": None if result.validity is None else json.loads(result.validity.dumps()),
    }


def _collect_events(result: Result) -> list[dict[str, Any]]:
    """Return the events of a run as plain data: time, kind, contacts, impulses and energies."""
    names = ("time", "kind", "contact", "impulse", "energy", "gain")
    return [{name: event[name] for name in names} for event in event_records(result.events)]


def list_runs(result: Result) -> list[dict[str, Any]]:
    """Return the runs of a sweep as dictionaries with varied values, outputs and outcome."""
    outcomes = result.data["outcome"]
    columns = {
        str(n): x.broadcast_like(outcomes).transpose(*outcomes.dims).values.ravel().tolist()
        for n, x in (result.data.coords | result.data.data_vars).items()
    }
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return [
        {n: _finite_or_none(x) if isinstance(x, float) else x for n, x in row.items()}
        for row in rows
    ]


def describe_runs(result: Result) -> list[str]:
    """Return text lines about a sweep: each run that stopped early, and the number of runs."""
    outcomes = result.data["outcome"]
    lines: list[str] = []
    stopped = 0
    completed = 0
    dim = outcomes.dims[0]
    # A store may contain millions of runs: load one block at a time.
    for k in range(0, outcomes.sizes[dim], RUNS_PER_BLOCK):
        block = outcomes.isel({dim: slice(k, k + RUNS_PER_BLOCK)}).load()
        early = np.argwhere(~np.isin(block.values, ["completed", NOT_RUN]))
        for index in early[: max(0, MAX_LISTED_ITEMS - stopped)]:
            entry = block[tuple(index)]
            place = ", ".join(f"{side} = {entry[side].item()}" for side in outcomes.dims)
            lines.append(f"{place}: {entry.item()}")
        stopped += len(early)
        completed += int((block.values != NOT_RUN).sum())
    if stopped > MAX_LISTED_ITEMS:
        lines.append(f"... and {stopped - MAX_LISTED_ITEMS} more runs that stopped early")
    total = "" if completed == outcomes.size else f" of {outcomes.size}"
    return [*lines, f"{completed}{total} runs"]


def final_values(result: Result) -> dict[str, float | None]:
    """Return time, outputs, joint coordinates and rates at the final time of a run, SI units."""
    model = result.system.model
    bodies = result.bodies
    outputs = output_names(model)
    names = [
        *outputs,
        *(f"{n}_rate" for n in outputs),
        *(j.name for j in model.joints),
        *model.speeds,
    ]
    values: dict[str, float | None] = {"time": float(result.data["time"].values[-1])}
    for name in dict.fromkeys(names):
        values[name] = _finite_or_none(float(evaluate_series(name, bodies)[-1]))
    return values


def _finite_or_none(number: float) -> float | None:
    """Return a finite number unchanged, and None otherwise, because JSON has no NaN."""
    return number if math.isfinite(number) else None


def tabulate_result(result: Result, full: bool = False) -> list[tuple[str, str, list[float]]]:
    """Return the rows of the printed table: name, unit and [start, end, minimum, maximum]; angles in degrees.

    The rows are the angles of the base, the joints, the first output and all nonzero initial values;
    with `full`, all outputs and the rates of joints as well.
    """
    if result.loaded.scenario.kind in ("map", "linear", "sweep", "gait"):
        return []
    model = result.system.model
    bodies = result.bodies
    # Leave out the rotation angles of wheels: they grow with the distance and are not informative.
    wheel_bodies = {c.body for c in model.wheels}
    joints = [j.name for j in model.joints if j.child not in wheel_bodies]
    angles = base_angles(model)
    outputs = [o.name for o in model.outputs]
    names = [*angles, *joints, *outputs[: None if full else 1]]
    names += [f"{n}_rate" for n in (*angles[:1], *joints) if full]
    initial = result.loaded.plan.start.values
    available = known_series(model)
    names += [name for name, value in initial.items() if value != 0.0 and name in available]
    rows = []
    for name in dict.fromkeys(names):
        x, unit = readable(evaluate_series(name, bodies), series_unit(name, model))
        values = (x[0], x[-1], x.min(), x.max())
        rows.append((name, unit, [_round_for_print(y, unit) for y in values]))
    return rows


def tabulate_state(result: Result) -> list[tuple[str, str, list[float]]]:
    """Return the rows of the printed table of one state: name, unit and [value, rate, acceleration].

    The rows are the angles of the base and the joints; angles are in degrees.
    """
    model = result.system.model
    bodies = result.bodies
    rows = []
    for name in (*base_angles(model), *(joint.name for joint in model.joints)):
        x = [evaluate_series(f"{name}{of}", bodies)[0] for of in ("", "_rate", "_acceleration")]
        x, unit = readable(x, series_unit(name, model))
        rows.append((name, unit, [_round_for_print(y, unit) for y in x]))
    return rows


def _round_for_print(number: float, unit: str) -> float:
    """Round a number for printing; accumulated round-off becomes zero.

    The bound is 1e-8 in SI units. It is larger for degrees, because 1e-7 rad is 6e-6 deg.

    >>> _round_for_print(-7.4e-6, "deg"), _round_for_print(-7.4e-6, "m")
    (0.0, -7.4e-06)
    """
    return 0.0 if abs(number) < (1e-5 if unit.startswith("deg") else 1e-8) else float(number)


def describe_result(result: Result) -> list[str]:
    """Return the text lines that are printed below the table of a result."""
    seconds = f"computed in {result.seconds:.3g} s"
    if result.loaded.scenario.kind in ("sweep", "gait"):
        *lines, count = describe_runs(result)
        return [*lines, f"{count}, {seconds}"]
    content = summarise_result(result)
    if "cycle" in content:
        return [*cycle.describe_cycle(result.data), seconds]
    if "critical" in content:
        critical = describe_critical_speeds(content["critical"])
        lines = describe_stability_changes(result.data) or critical or describe_growth(result)
        return [*lines, seconds]
    if "energy" not in content:
        points = int(np.prod(list(result.data.sizes.values())))
        ranges = [
            f"{name}: {_format_in_degrees(result, name, low)} to {_format_in_degrees(result, name, high)}"
            for name, (low, high) in content["ranges"].items()
        ]
        return [*ranges, f"{points} configurations, {seconds}"]
    return [*_describe_motion(result, content), _describe_outcome(result, seconds)]


def _describe_outcome(result: Result, seconds: str) -> str:
    """Return the last text line of a run: outcome, final time, samples and computing time."""
    time = result.data["time"].values
    if len(time) == 1:
        return seconds
    return f"{result.outcome}: {time[-1]:g} s, {len(time)} samples, {seconds}"


def _describe_motion(result: Result, content: Mapping[str, Any]) -> list[str]:
    """Return text lines about energy, gaps, events and validity of a run."""
    energy = content["energy"]
    time = result.data["time"].values
    lines = [f"energy: {energy['start']:.9g} J"]
    if len(time) > 1:
        lines[0] += (
            f" to {energy['end']:.9g} J, largest change {energy['maximum_change']:.2g} J, "
            f"{energy['maximum_relative_drift']:.1e} of the energy in motion"
        )
    if content["maximum_gap"] is not None:
        opened = "; contacts were open" if content["maximum_gap"] > OPEN_GAP else ""
        lines.append(f"maximum gap of a contact: {content['maximum_gap']:.1e} m{opened}")
    lines += format_events(content["events"])
    if result.validity is not None:
        lines.append(str(result.validity))
    if (wheels := _list_airborne_wheels(result)) is not None:
        lines.append(f"still in the air at the end{wheels}: --until {2.0 * time[-1]:.3g}")
    return lines


def _list_airborne_wheels(result: Result) -> str | None:
    """Return the names of the wheels in the air at the end of a jump as text; None after the landing.

    The text is empty if all wheels are in the air. A run is a jump only if all wheels were in the air at
    the same time.
    """
    if getattr(result.loaded.scenario, "terrain", None) is None or result.outcome != "completed":
        return None
    gaps = result.data["gap"].values
    above = np.isfinite(gaps) & (gaps > OPEN_GAP)
    if not (above.all(axis=1).any() and above[-1].any()):
        return None
    names = result.data["contact"].values[above[-1]]
    return "" if above[-1].all() else f", {' and '.join(map(str, names))}"


def format_events(events: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return one text line per event: time, kind, contacts and normal impulses."""
    lines = []
    for event in events[:MAX_LISTED_ITEMS]:
        normal = {name: impulse[0] for name, impulse in event["impulse"].items()}
        smallest = RELATIVE_ROUND_OFF * max(map(abs, normal.values()), default=0.0)
        impulses = [f"{name} {x:.6g} N s" for name, x in normal.items() if abs(x) > smallest]
        gain = ""
        # Report energy that an impact model creates, but not round-off.
        if impulses and event["gain"] > RELATIVE_ROUND_OFF * max(1.0, abs(event["energy"])):
            gain = f"; it creates {event['gain']:.3g} J"
        contacts = ", ".join(impulses or event["contact"])
        lines.append(f"{event['time']:.9f} s  {event['kind']:9s}  {contacts}{gain}".rstrip())
    if len(events) > MAX_LISTED_ITEMS:
        lines.append(f"... and {len(events) - MAX_LISTED_ITEMS} more events")
    return lines


def describe_critical_speeds(critical: Mapping[str, float | None]) -> list[str]:
    """Return text lines about the critical speeds (m/s) of a bicycle."""
    labels = {
        "weave_speed": "weave speed",
        "capsize_speed": "capsize speed",
        "double_root_speed": "double root at",
    }
    if "stable_from" not in critical:
        return []
    lines = [
        f"{label}: {critical[name]:.12g} m/s" if critical[name] is not None else f"{label}: none"
        for name, label in labels.items()
    ]
    lines[0] += _format_frequency(0.0) if critical["weave_frequency"] == 0.0 else ""
    low = critical["stable_from"]
    high = critical["stable_to"]
    if low is None:
        return [*lines, "stable at no speed"]
    return [*lines, f"stable from {low:.6g} m/s" + (f" to {high:.6g} m/s" if high else " on")]


def describe_stability_changes(data: Any) -> list[str]:
    """Return text lines about the speeds (m/s) at which an eigenmode changes its stability.

    They apply to two-wheelers on tyres or under a control law, within the searched range of
    speeds.
    """
    if "crossings" not in data.attrs:
        return []
    lines = [
        f"{crossing['name']} speed: {crossing['speed']:.9g} m/s"
        f"{_format_frequency(crossing['frequency'])}, "
        f"{'damped' if crossing['damped_above'] else 'unstable'} above it"
        for crossing in read_list_attribute(data, "crossings")
    ]
    low = data.attrs["searched_from"]
    high = data.attrs["searched_to"]
    if not low < high:
        return ["critical speeds are searched within a range of speeds, for example 1:10:91"]
    no = "no other" if lines else "no"
    return [*lines, f"{no} mode changes its stability from {low:g} to {high:g} m/s"]


def _format_frequency(frequency: float) -> str:
    """Format the frequency (rad/s) of an eigenmode at its stability limit; zero means a real eigenvalue.

    >>> _format_frequency(31.4), _format_frequency(0.0)
    (' at 31.4 rad/s (5.00 Hz)', ' (a real eigenvalue)')
    """
    return (
        f" at {frequency:.3g} rad/s ({frequency / (2 * math.pi):.2f} Hz)"
        if frequency > 1e-6
        else " (a real eigenvalue)"
    )


def describe_growth(result: Result) -> list[str]:
    """Return text lines about the first steady motion of a vehicle and its fastest growing eigenmode."""
    data = result.data
    steady = dict(zip(data["state"].values, data["steady_motion"].values[0], strict=True))
    motion = ", ".join(_format_state(result, str(n), x) for n, x in steady.items() if abs(x) > 1e-9)
    inputs = dict(zip(data["input"].values, data["steady_input"].values[0], strict=True))
    units = {joint.name: joint.effort for joint in result.system.model.joints}
    drive = ", ".join(f"{n} {x:.6g} {units.get(n, '')}" for n, x in inputs.items() if abs(x) > 1e-9)
    motion += f"; required input: {drive}" if drive else ""
    speeds = data["speed"].values
    growth = data["eigenvalue_real"].max("eigenmode").values
    fastest = int(np.argmax(growth))
    unstable = int((growth > UNSTABLE_GROWTH).sum())
    stability = "no disturbance grows exponentially"
    if unstable:
        share = "" if len(speeds) == 1 else f", at {unstable} of {len(speeds)} speeds"
        speed = "" if len(speeds) == 1 else f", at {speeds[fastest]:g} m/s"
        stability = f"unstable{share}: the fastest grows with exp({growth[fastest]:.6g} t){speed}"
    first = f"steady motion at {speeds[0]:g} m/s: {motion or 'at rest in the zero configuration'}"
    return [first, *_describe_gains(data), stability]


def _describe_gains(data: Any) -> list[str]:
    """Return one text line per controlled input: its feedback law as a sum of gain times state deviation."""
    if "gain" not in data:
        return []
    names = data["fed_state"].values
    lines = []
    for name, row in zip(data["fed_input"].values, data["gain"].values, strict=True):
        nonzero = np.abs(row) > RELATIVE_ROUND_OFF * np.abs(row).max()
        terms = [
            f"{-k:+.5g} {state}" for state, k in zip(names[nonzero], row[nonzero], strict=True)
        ]
        lines.append(f"feedback of deviations: {name} = {' '.join(terms) or 0}")
    return lines


def _format_state(result: Result, name: str, value: float) -> str:
    """Format a state with name, value and unit; angles in degrees."""
    unit = "" if name.startswith("z[") else series_unit(name, result.system.model)
    value, unit = readable(value, unit)
    return f"{name} {value:.6g} {unit}".rstrip()


def _format_in_degrees(result: Result, name: str, value: float | None) -> str:
    """Format a value of a map with its unit; angles in degrees."""
    unit = str(result.data[name].attrs.get("units", ""))
    if value is None:
        return "undefined"
    if unit == "rad":
        return f"{math.degrees(value):.4g} deg"
    return f"{value:.6g} {unit}".strip()
