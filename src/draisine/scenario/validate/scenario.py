"""A scenario read once: what checks a part builds it, or tells what is wrong."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from draisine.analysis.gait.map import gait_obstacle
from draisine.errors import DraisineError, did_you_mean
from draisine.model import Model
from draisine.model.names import observation_names, state_units
from draisine.registry import find
from draisine.results.queries import parse_query, parse_series
from draisine.scenario.overrides import is_adaptive, key_parts, single_run
from draisine.scenario.plan import Plan, Start
from draisine.scenario.schema import (
    KINDS,
    ContactTable,
    CyclePart,
    GaitPart,
    Grid,
    RunTable,
    Scenario,
)
from draisine.scenario.sweep import Sweep
from draisine.scenario.terrain import PlaneGround
from draisine.scenario.validate.expectations import Tables, check_expected
from draisine.scenario.validate.mistakes import Mistakes, key_path, read_tables
from draisine.scenario.validate.motion import (
    check_steady_path,
    continue_motion,
    find_motion,
    read_law,
    read_mode,
    read_start,
)
from draisine.scenario.validate.terrain import (
    check_contact,
    check_place,
    check_without_terrain,
    on_plane,
    read_terrain,
)
from draisine.scenario.validate.vehicle import read_vehicle
from draisine.simulation.options import ContactOptions, Numerics
from draisine.system.state import flat_lean
from draisine.system.system import System


def read_scenario(content: Mapping[str, Any], mistakes: Mistakes) -> Plan | None:
    """Return what the content of a scenario file means, everything built; nothing where there are
    mistakes.
    """
    kind = content.get("kind")
    if kind is None:
        mistakes.add("kind", f"is missing. Take one of: {', '.join(KINDS)}.")
        return None
    if not isinstance(kind, str) or kind not in KINDS:
        mistakes.add("kind", f"no such kind. {did_you_mean(str(kind), KINDS)}", kind)
        return None
    tables = read_tables(KINDS[kind], content, mistakes)
    system = read_vehicle(tables["vehicle"], mistakes, content) if "vehicle" in tables else None
    if system is None:
        return None
    found = _read_parts(kind, tables, system, mistakes)
    _check_sweep(tables.get("sweep"), content, system.model, mistakes)
    check_expected(kind, tables, system.model, mistakes)
    if mistakes:
        return None
    scenario = cast(Scenario, KINDS[kind].model_construct(**tables))
    return Plan(scenario, system, **found)


def _read_parts(kind: str, tables: Tables, system: System, mistakes: Mistakes) -> dict[str, Any]:
    """Return the parts of a plan beside its scenario and its machine."""
    model, name = system.model, tables["vehicle"].name
    start = Start()
    if tables.get("initial") is not None:
        start = read_start(tables["initial"], name, model, mistakes)
    match kind:
        case "run" | "sweep":
            start = _sliding_start(start, tables.get("run"))
            return {"start": start} | _read_motion(kind, tables, start, system, mistakes)
        case "state":
            for key, value in tables.get("inputs", {}).items():
                mistakes.check_known(f"inputs.{key}", key, model.inputs, "no such input", value)
        case "map" if "map" in tables:
            _check_map(tables["map"], model, mistakes)
        case "linear":
            given = tables.get("speeds")
            speed = given.at[0] if given is not None and given.at and len(given.at) == 1 else None
            law = read_law(tables.get("law") or [], [], system, speed, mistakes)
            check_steady_path(law, mistakes)
            return {"start": start, "law": law}
        case "cycle" if getattr(tables.get("cycle"), "period", None) is not None:
            return {"start": start} | _read_cycle(tables, start, model, mistakes)
        case "cycle":
            missing = gait_obstacle(model) if model.steps is None else ""
            if missing:
                text = f"has no gait: {missing}. Tell the cycle's `period` for other machines."
                mistakes.add("vehicle", text, name)
            elif tables.get("cycle") is not None:
                _check_near(tables["cycle"].near, model, mistakes)
            given = tables.get("contact")
            contact = given is not None and given.model_fields_set
            for table in ("terrain", "initial", *(["contact"] if contact else [])):
                if tables.get(table):
                    mistakes.add(table, "goes with cycle.period.")
            _check_cycle(tables.get("cycle"), model, mistakes)
        case "gait" if "gait" in tables:
            _check_gait(tables["gait"], model, mistakes)
    if start.place is not None:
        mistakes.add("initial.place", "goes with kind = 'run'.")
    if start.steady is not None:
        mistakes.add("initial.steady", "goes with kind = 'run' or 'sweep'.")
    return {"start": start}


def _sliding_start(start: Start, table: Any) -> Start:
    """Return how a machine starts whose contacts may slide: they do so from the first instant on, unless
    the start says otherwise.
    """
    sliding = {n: x for n, x in (getattr(table, "mode", None) or {}).items() if x == "sliding"}
    return replace(start, mode=sliding | dict(start.mode or {})) if sliding else start


def _check_cycle(cycle: CyclePart | None, model: Model, mistakes: Mistakes) -> None:
    """Tell which options of a cycle its kind does not use: grips, a walker's steps, or a period."""
    if cycle is None:
        return
    grips = cycle.period is None and model.steps is None
    steps = cycle.period is None and model.steps is not None
    for name, used, what in (
        ("joint", grips, "a machine whose grips take turns"),
        ("longest", steps, "the steps of a walker"),
    ):
        if name in cycle.model_fields_set and not used:
            mistakes.add(f"cycle.{name}", f"goes with {what}.", getattr(cycle, name))


def _check_near(near: dict[str, float], model: Model, mistakes: Mistakes) -> None:
    """Tell what is missing of a point that tells how a cycle begins, and what is not part of it."""
    known = ("Omega", "theta") if model.steps is None else model.steps.components
    for name in near:
        mistakes.check_known(f"cycle.near.{name}", name, known, "no part of it")
    missing = [name for name in known if name not in near]
    if missing:
        mistakes.add("cycle.near", f"needs {', '.join(missing)}.")


def _read_cycle(tables: Tables, start: Start, model: Model, mistakes: Mistakes) -> dict[str, Any]:
    """Return what a cycle of a given period is looked for with: terrain and contact options."""
    known = observation_names(model)
    for name in tables["cycle"].near:
        mistakes.check_known(f"cycle.near.{name}", name, known, "no output")
    _check_cycle(tables["cycle"], model, mistakes)
    if start.place is not None:
        mistakes.add("initial.place", "goes with kind = 'run'.")
    terrain, contact = None, tables.get("contact")
    if tables.get("terrain") is None:
        check_without_terrain(contact, None, start, mistakes)
    else:
        terrain = read_terrain(tables["terrain"], model, mistakes)
        if contact is not None:
            check_contact(contact, None, model, mistakes)
    found: dict[str, Any] = {"terrain": terrain}
    if not mistakes:
        with mistakes.at("contact"):
            found["contact"] = _contact(None, contact, None, on_terrain=terrain is not None)
    return found


def _check_gait(gait: GaitPart, model: Model, mistakes: Mistakes) -> None:
    """Tell where a path or a shape is not one of all joints."""
    known = [joint.name for joint in model.joints]
    parts = {"corners": gait.corners, "harmonics": gait.harmonics, "shapes": gait.shapes}
    for name, rows in parts.items():
        given = 0 if rows is None else len(rows) if name == "harmonics" else len(rows[0])
        if rows is not None and given != len(known):
            joints = ", ".join(known) or "none"
            mistakes.add(f"gait.{name}", f"tells of {given} joints; the machine has {joints}.")
    for k, joint in enumerate(gait.plane or ()):
        mistakes.check_known(f"gait.plane[{k}]", joint, known, f"no joint {joint!r}")
    if gait.shapes is not None and len(known) < 2:
        mistakes.add("gait.shapes", "have a curvature where there are two joints or more.")


def _read_motion(
    kind: str, tables: Tables, start: Start, system: System, mistakes: Mistakes
) -> dict[str, Any]:
    """Return what a run is made with: law, terrain, and options."""
    model = system.model
    asked = start.values if start.steady is None else start.steady.asked
    speed = asked.get("forward_speed")
    run, contact, ground = tables.get("run"), tables.get("contact"), tables.get("terrain")
    laws, inputs = tables.get("law") or [], tables.get("inputs") or []
    law = read_law(laws, [] if start.steady else inputs, system, speed, mistakes)
    mode = read_mode(run.mode or None, model, "run.mode", mistakes) if run is not None else None
    motion = None
    if start.steady is not None:
        level = isinstance(ground, PlaneGround) and ground.slope == 0.0
        if ground is not None and not level:
            text = (
                "needs level ground. Give a slope as vehicle.parameters.slope, without a terrain."
            )
            mistakes.add("initial.steady", text)
        signals = read_law([], inputs, system, speed, mistakes)
        if not mistakes:
            with mistakes.at("initial.steady"):
                motion = find_motion(system, start.steady, law, mode)
                law = continue_motion(motion, law, signals)
    terrain = None
    if ground is not None:
        terrain = read_terrain(ground, model, mistakes)
        if contact is not None:
            check_contact(contact, run, model, mistakes)
        check_place(start, ground, terrain, model, mistakes)
    elif kind == "run" and "terrain" in tables:
        check_without_terrain(contact, run, start, mistakes)
    if run is not None:
        _check_methods(run, tables, mistakes)
        if kind == "sweep" and run.expects:
            mistakes.add("run.expects", "goes with kind = 'run'; a sweep tells how each run ended.")
    if mistakes or run is None:
        return {}
    found: dict[str, Any] = {
        "law": law,
        "terrain": terrain,
        "start": on_plane(start, ground, model),
        "motion": motion,
    }
    with mistakes.at("run"):
        found["numerics"] = _numerics(run, on_terrain=ground is not None)
    with mistakes.at("contact"):
        found["contact"] = _contact(run, contact, mode, on_terrain=ground is not None)
    return found


def _numerics(run: RunTable, on_terrain: bool) -> Numerics:
    tolerances = ("rtol", "atol") if on_terrain or is_adaptive(run.integrator) else ()
    own = () if on_terrain else ("integrator", "formulation", "drift")
    return Numerics(**{name: getattr(run, name) for name in ("dt", *tolerances, *own)})


def _contact(
    run: RunTable | None, contact: ContactTable | None, mode: Any, on_terrain: bool
) -> ContactOptions:
    ends: dict[str, Any] = {} if run is None else {"fall": run.fall}
    if not on_terrain or contact is None:
        return ContactOptions(mode=mode, **ends)
    own = {name: getattr(contact, name) for name in type(contact).model_fields}
    if isinstance(contact.solver, dict):
        from draisine.simulation.compare.compliant import compliant_of

        own["solver"] = compliant_of(contact.solver)
    if run is not None:
        own["events"] = run.events
    return ContactOptions(**own, **ends)


def _check_methods(run: RunTable, tables: Tables, mistakes: Mistakes) -> None:
    for kind in ("integrator", "formulation"):
        with mistakes.at(f"run.{kind}"):
            find(kind, getattr(run, kind))
    for name in ("rtol", "atol"):
        fixed = tables.get("sweep") is None and not is_adaptive(run.integrator)
        if fixed and name in run.model_fields_set:
            text = f"{run.integrator} takes equal steps of run.dt; leave it out."
            mistakes.add(f"run.{name}", text, getattr(run, name))
    if run.formulation == "projected":
        return
    for table in ("law", "inputs"):
        if tables.get(table):
            mistakes.add(table, "only the formulation 'projected' takes laws and inputs.")
    if run.mode:
        mistakes.add("run.mode", "only the formulation 'projected' takes open contacts.")


def _check_map(grid: Grid, model: Model, mistakes: Mistakes) -> None:
    units, joints = state_units(model), [j.name for j in model.joints]
    for side, axis in (("x", grid.x), ("y", grid.y)):
        known = mistakes.check_known(f"map.{side}.name", axis.name, units, "is unknown", axis.name)
        for end in ("low", "high") if known else ():
            if axis.name == "lean" and (flat := flat_lean(getattr(axis, end))):
                mistakes.add(f"map.{side}.{end}", flat)
    first, second = grid.x.name, grid.y.name
    if first == second:
        mistakes.add("map.y.name", "stands along x already; take another.", second)
    if grid.locked is not None:
        mistakes.check_known("map.locked", grid.locked, joints, "no such joint", grid.locked)
    allowed = ("straight", f"{first}, {second}", f"{second}, {first}")
    if grid.path not in allowed:
        mistakes.add("map.path", f"take one of: {', '.join(map(repr, allowed))}.", grid.path)
    for k, text in enumerate(grid.outputs):
        with mistakes.at(f"map.outputs[{k}]"):
            parse_series(text, model)


def _check_sweep(
    sweep: Sweep | None, content: Mapping[str, Any], model: Model, mistakes: Mistakes
) -> None:
    """Tell what is wrong with the runs of a sweep: each of its values, put into the scenario."""
    if sweep is None:
        return
    places: dict[tuple[str, str, str | int], Any] = {
        ("over", path, k): value for path, x in sweep.over.items() for k, value in enumerate(x)
    }
    for path, side in sweep.between.items():
        places |= {("between", path, "low"): side.low, ("between", path, "high"): side.high}
    wrong: set[str] = set()
    for (table, path, k), value in places.items():
        where, inside = key_path(["sweep", table, path, k]), Mistakes()
        if path in wrong:
            continue
        try:
            read_scenario(single_run(content, {path: value}), inside)
        except DraisineError as error:
            mistakes.add(where, str(error))
            wrong.add(path)
        for mistake in inside:
            if mistake.path.startswith(path):
                mistakes.add(where, mistake.text, mistake.value)
            elif _is_around(mistake.path, path):
                mistakes.add(where, f"{mistake.path}: {mistake.text}", mistake.value)
    for k, text in enumerate(sweep.outputs):
        with mistakes.at(f"sweep.outputs[{k}]"):
            parse_query(text, model)


def _is_around(place: str, path: str) -> bool:
    """Return whether a mistake is in the table of a key path, or in the one entry of a list that the path
    reaches without a number.

    >>> _is_around("law[0].name", "law.gain"), _is_around("law[0].name", "law[1].gain")
    (True, False)
    """
    table, *inside = key_parts(path)
    alone = not any(isinstance(part, int) for part in inside[:1])
    return place == table or (alone and place.startswith(f"{table}[0]"))
