"""A result in a few words: for people as a table, for programs as plain data."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from draisine.experiment.kinds import cycle
from draisine.experiment.run import Result
from draisine.experiment.sweep.table import NOT_RUN
from draisine.mechanics.base import base_angles
from draisine.model.names import output_names
from draisine.model.quantity import readable
from draisine.results.attributes import read_list
from draisine.results.cycle import summary_of
from draisine.results.events import event_records
from draisine.results.queries import evaluate_series, known_series, unit_of
from draisine.results.straight import MATRICES


def summary(result: Result) -> dict[str, Any]:
    """Return what a scenario left as plain data in SI units, ready for JSON."""
    vehicle = result.loaded.scenario.vehicle.name
    made = {"scenario": result.loaded.name, "vehicle": vehicle}
    parameters = {"parameters": dict(result.system.parameters)}
    return (
        made | parameters | _left(result) | {"outcome": result.outcome, "seconds": result.seconds}
    )


def _left(result: Result) -> dict[str, Any]:
    """Return what a scenario of each kind tells."""
    data = result.data
    match result.loaded.scenario.kind:
        case "sweep" | "gait":
            return {"runs": runs(result)}
        case "map":
            ends = {str(n): (float(v.min()), float(v.max())) for n, v in data.data_vars.items()}
            return {"ranges": {n: [_plain(x) for x in both] for n, both in ends.items()}}
        case "linear":
            return _straight(data)
        case "cycle":
            return {"cycle": summary_of(data), "events": _events(result)}
    return _moved(result)


def _straight(data: Any) -> dict[str, Any]:
    """Return what is told of straight running."""
    modes = [str(name) for name in data["eigenmode"].values]
    return {
        "critical": {str(n): _plain(float(v)) for n, v in data.data_vars.items() if not v.dims},
        "speed": data["speed"].values.tolist(),
        "eigenvalues": {
            part: dict(zip(modes, data[f"eigenvalue_{part}"].values.T.tolist(), strict=True))
            for part in ("real", "imaginary")
        },
        "gains": _gains(data),
        "matrices": {n: data[n].values.tolist() for n in MATRICES if n in data},
    }


def _gains(data: Any) -> dict[str, dict[str, float]]:
    """Return the gains of a law of state feedback, by input and state, if there is one."""
    if "gain" not in data:
        return {}
    names = data["fed_state"].values.tolist()
    rows = zip(data["fed_input"].values.tolist(), data["gain"].values.tolist(), strict=True)
    return {name: dict(zip(names, row, strict=True)) for name, row in rows}


def _moved(result: Result) -> dict[str, Any]:
    """Return what is told of a motion, or of one state."""
    E, T, U = (result.data[n].values for n in ("energy", "kinetic_energy", "potential_energy"))
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
        "final": final(result),
        "energy": energy,
        "maximum_gap": gap,
        "events": _events(result),
        "validity": None if result.validity is None else json.loads(result.validity.dumps()),
    }


def _events(result: Result) -> list[dict[str, Any]]:
    names = ("time", "kind", "contact", "impulse", "energy", "gain")
    return [{name: event[name] for name in names} for event in event_records(result.events)]


def runs(result: Result) -> list[dict[str, Any]]:
    """Return the runs of a sweep: where each stands, how it ended, and its answers."""
    ends = result.data["outcome"]
    columns = {
        str(n): x.broadcast_like(ends).transpose(*ends.dims).values.ravel().tolist()
        for n, x in (result.data.coords | result.data.data_vars).items()
    }
    found = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return [{n: _plain(x) if isinstance(x, float) else x for n, x in one.items()} for one in found]


def run_lines(result: Result) -> list[str]:
    """Return lines about the runs that had to stop, and how many runs there are; only a part of them is
    in memory at a time.
    """
    ends, lines, stopped, done = result.data["outcome"], list[str](), 0, 0
    along = ends.dims[0]
    for k in range(0, ends.sizes[along], PART):
        part = ends.isel({along: slice(k, k + PART)}).load()
        early = np.argwhere(~np.isin(part.values, ["completed", NOT_RUN]))
        for at in early[: max(0, MANY - stopped)]:
            one = part[tuple(at)]
            place = ", ".join(f"{side} = {one[side].item()}" for side in ends.dims)
            lines.append(f"{place}: {one.item()}")
        stopped += len(early)
        done += int((part.values != NOT_RUN).sum())
    if stopped > MANY:
        lines.append(f"... and {stopped - MANY} more that had to stop")
    return [*lines, f"{done}{'' if done == ends.size else f' of {ends.size}'} runs"]


def final(result: Result) -> dict[str, float | None]:
    """Return time, outputs, joints and all rates at the end."""
    model, bodies = result.system.model, result.bodies
    own = output_names(model)
    names = [*own, *(f"{n}_rate" for n in own), *(j.name for j in model.joints), *model.speeds]
    out = {"time": float(result.data["time"].values[-1])}
    return out | {
        name: _plain(float(evaluate_series(name, bodies)[-1])) for name in dict.fromkeys(names)
    }


def _plain(x: float) -> float | None:
    return x if math.isfinite(x) else None


def table(result: Result, full: bool = False) -> list[tuple[str, str, list[float]]]:
    """Return rows of name, unit, and [start, end, minimum, maximum], angles in degrees: of the base's
    angles, the joints, the first output and what else the run is told to start with; in full of all
    outputs and of rates, too.
    """
    if result.loaded.scenario.kind in ("map", "linear", "sweep", "gait"):
        return []
    model, bodies = result.system.model, result.bodies
    carried = {c.body for c in model.wheels}
    joints = [j.name for j in model.joints if j.child not in carried]
    angles = base_angles(model)
    own = [o.name for o in model.outputs]
    names = [*angles, *joints, *own[: None if full else 1]]
    names += [f"{n}_rate" for n in (*angles[:1], *joints) if full]
    start, known = result.loaded.plan.start.values, known_series(model)
    names += [name for name, value in start.items() if value != 0.0 and name in known]
    rows = []
    for name in dict.fromkeys(names):
        x, unit = readable(evaluate_series(name, bodies), unit_of(name, model))
        rows.append((name, unit, [_settled(y, unit) for y in (x[0], x[-1], x.min(), x.max())]))
    return rows


def state_table(result: Result) -> list[tuple[str, str, list[float]]]:
    """Return rows of name, unit, and [value, rate, acceleration] of a state, angles in degrees: of the
    base's angles and of the joints.
    """
    model, bodies = result.system.model, result.bodies
    rows = []
    for name in (*base_angles(model), *(joint.name for joint in model.joints)):
        x = [evaluate_series(f"{name}{of}", bodies)[0] for of in ("", "_rate", "_acceleration")]
        x, unit = readable(x, unit_of(name, model))
        rows.append((name, unit, [_settled(y, unit) for y in x]))
    return rows


def _settled(x: float, unit: str) -> float:
    """Return a number for people: round-off that a run has gathered is zero.

    >>> _settled(-7.4e-6, "deg"), _settled(-7.4e-6, "m")
    (0.0, -7.4e-06)
    """
    return 0.0 if abs(x) < (1e-5 if unit.startswith("deg") else 1e-8) else float(x)


def remarks(result: Result) -> list[str]:
    """Return lines about energy, contacts, outcome and time."""
    seconds = f"computed in {result.seconds:.3g} s"
    if result.loaded.scenario.kind in ("sweep", "gait"):
        *lines, many = run_lines(result)
        return [*lines, f"{many}, {seconds}"]
    found = summary(result)
    if "cycle" in found:
        return [*cycle.lines(result.data), seconds]
    if "critical" in found:
        told = critical_lines(found["critical"])
        lines = crossing_lines(result.data) or told or growth_lines(result)
        return [*lines, seconds]
    if "energy" not in found:
        points = int(np.prod(list(result.data.sizes.values())))
        ranges = [
            f"{name}: {_degrees(result, name, low)} to {_degrees(result, name, high)}"
            for name, (low, high) in found["ranges"].items()
        ]
        return [*ranges, f"{points} configurations, {seconds}"]
    energy = found["energy"]
    time = result.data["time"].values
    lines = [f"energy: {energy['start']:.9g} J"]
    if len(time) > 1:
        lines[0] += (
            f" to {energy['end']:.9g} J, largest change {energy['maximum_change']:.2g} J, "
            f"{energy['maximum_relative_drift']:.1e} of the energy in motion"
        )
    if found["maximum_gap"] is not None:
        opened = "; they were open in between" if found["maximum_gap"] > OPEN else ""
        lines.append(f"maximum gap of a contact: {found['maximum_gap']:.1e} m{opened}")
    lines += event_lines(found["events"])
    if result.validity is not None:
        lines.append(str(result.validity))
    if (wheels := _flying(result)) is not None:
        lines.append(f"still in the air at the end{wheels}: --until {2.0 * time[-1]:.3g}")
    until = f"{result.outcome}: {time[-1]:g} s, {len(time)} samples, " if len(time) > 1 else ""
    return [*lines, f"{until}{seconds}"]


def _flying(result: Result) -> str | None:
    """Return which wheels of a machine that flew are still in the air where a run on a terrain ended, as
    words to add: none where all of them are; nothing where it came down.
    """
    if getattr(result.loaded.scenario, "terrain", None) is None or result.outcome != "completed":
        return None
    gaps = result.data["gap"].values
    above = np.isfinite(gaps) & (gaps > OPEN)
    if not (above.all(axis=1).any() and above[-1].any()):
        return None
    names = result.data["contact"].values[above[-1]]
    return "" if above[-1].all() else f", {' and '.join(map(str, names))}"


OPEN = 1e-6
"""A gap beyond which a contact is open, in m, and no longer closed but for round-off."""

GROWS = 1e-6
"""A real part beyond which a motion is unstable, in 1/s, and no longer neutral but for round-off."""

PART = 65536
"""So many runs of a sweep are looked at together."""

MANY = 12
"""So many events, or runs that had to stop, are told to people one by one."""


def event_lines(events: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line per event: when, what, where, and the normal impulses."""
    lines = []
    for event in events[:MANY]:
        pushed = {name: push[0] for name, push in event["impulse"].items()}
        least = 1e-9 * max(map(abs, pushed.values()), default=0.0)  # others are round-off
        pushes = [f"{name} {push:.6g} N s" for name, push in pushed.items() if abs(push) > least]
        made = ""
        if pushes and event["gain"] > 1e-9 * max(1.0, abs(event["energy"])):
            made = f"; it creates {event['gain']:.3g} J"
        what = ", ".join(pushes or event["contact"])
        lines.append(f"{event['time']:.9f} s  {event['kind']:9s}  {what}{made}".rstrip())
    if len(events) > MANY:
        lines.append(f"... and {len(events) - MANY} more events")
    return lines


def critical_lines(critical: Mapping[str, float | None]) -> list[str]:
    """Return lines about the critical speeds of a bicycle."""
    words = {
        "weave_speed": "weave speed",
        "capsize_speed": "capsize speed",
        "double_root_speed": "double root at",
    }
    if "stable_from" not in critical:
        return []
    lines = [
        f"{word}: {critical[name]:.12g} m/s" if critical[name] is not None else f"{word}: none"
        for name, word in words.items()
    ]
    lines[0] += _swinging(0.0) if critical["weave_frequency"] == 0.0 else ""
    low, high = critical["stable_from"], critical["stable_to"]
    if low is None:
        return [*lines, "stable at no speed"]
    return [*lines, f"stable from {low:.6g} m/s" + (f" to {high:.6g} m/s" if high else " on")]


def crossing_lines(data: Any) -> list[str]:
    """Return lines about all speeds at which a mode of a two-wheeler on tyres, or under a control law,
    changes its stability, among those that were looked at.
    """
    if "crossings" not in data.attrs:
        return []
    found = read_list(data, "crossings")
    lines = [
        f"{one['name']} speed: {one['speed']:.9g} m/s{_swinging(one['frequency'])}, "
        f"{'damped' if one['damped_above'] else 'unstable'} above it"
        for one in found
    ]
    low, high = data.attrs["looked_from"], data.attrs["looked_to"]
    if not low < high:
        return ["ask for a range of speeds, 1:10:91, to be told where a mode changes its stability"]
    no = "no other" if lines else "no"
    return [*lines, f"{no} mode changes its stability from {low:g} to {high:g} m/s"]


def _swinging(frequency: float) -> str:
    """Return at which frequency a mode swings where it changes its stability, rad/s, or that it does not.

    >>> _swinging(31.4), _swinging(0.0)
    (' at 31.4 rad/s (5.00 Hz)', ' (a real eigenvalue)')
    """
    return (
        f" at {frequency:.3g} rad/s ({frequency / (2 * math.pi):.2f} Hz)"
        if frequency > 1e-6
        else " (a real eigenvalue)"
    )


def growth_lines(result: Result) -> list[str]:
    """Return lines about the steady motions of a machine that is no bicycle: what they are, and how
    fast a disturbance of them grows.
    """
    data = result.data
    about = dict(zip(data["state"].values, data["steady_motion"].values[0], strict=True))
    told = ", ".join(_reading(result, str(n), x) for n, x in about.items() if abs(x) > 1e-9)
    needed = dict(zip(data["input"].values, data["steady_input"].values[0], strict=True))
    efforts = {joint.name: joint.effort for joint in result.system.model.joints}
    drive = ", ".join(
        f"{n} {x:.6g} {efforts.get(n, '')}" for n, x in needed.items() if abs(x) > 1e-9
    )
    told += f"; kept up by {drive}" if drive else ""
    growth = data["eigenvalue_real"].max("eigenmode").values
    speeds, fastest = data["speed"].values, int(np.argmax(growth))
    many = int((growth > GROWS).sum())
    where = "" if len(speeds) == 1 else f", at {many} of {len(speeds)} speeds"
    end = (
        f"unstable{where}: the fastest grows with exp({growth[fastest]:.6g} t)"
        + ("" if len(speeds) == 1 else f", at {speeds[fastest]:g} m/s")
        if many
        else "no disturbance grows exponentially"
    )
    first = f"steady motion at {speeds[0]:g} m/s: {told or 'rest as drawn'}"
    return [first, *_gain_lines(data), end]


def _gain_lines(data: Any) -> list[str]:
    """Return what a law of state feedback does about deviations, one line for each input."""
    if "gain" not in data:
        return []
    names = data["fed_state"].values
    lines = []
    for name, row in zip(data["fed_input"].values, data["gain"].values, strict=True):
        felt = np.abs(row) > 1e-9 * np.abs(row).max()  # all else is round-off
        terms = [f"{-k:+.5g} {state}" for state, k in zip(names[felt], row[felt], strict=True)]
        lines.append(f"feedback of deviations: {name} = {' '.join(terms) or 0}")
    return lines


def _reading(result: Result, name: str, value: float) -> str:
    """Return a state with its value and unit, angles in degrees."""
    unit = "" if name.startswith("z[") else unit_of(name, result.system.model)
    value, unit = readable(value, unit)
    return f"{name} {value:.6g} {unit}".rstrip()


def _degrees(result: Result, name: str, value: float | None) -> str:
    unit = str(result.data[name].attrs.get("units", ""))
    if value is None:
        return "undefined"
    if unit == "rad":
        return f"{math.degrees(value):.4g} deg"
    return f"{value:.6g} {unit}".strip()
