"""Validation of all tables of a scenario, and construction of its plan."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from draisine.analysis.gait.map import explain_missing_gait
from draisine.errors import DraisineError, did_you_mean
from draisine.model import Model
from draisine.model.names import observation_names, state_units
from draisine.registry import find
from draisine.results.queries import parse_query, parse_series
from draisine.scenario.overrides import is_adaptive, single_run, split_key_path
from draisine.scenario.plan import Plan, Start
from draisine.scenario.schema import (
    SCENARIO_TABLES_BY_KIND,
    ContactTable,
    CycleTable,
    GaitTable,
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
    read_law,
    read_mode,
    read_start,
    solve_steady_start,
)
from draisine.scenario.validate.terrain import (
    check_contact,
    check_start_place,
    check_without_terrain,
    read_terrain,
    start_on_plane,
)
from draisine.scenario.validate.vehicle import read_vehicle
from draisine.simulation.options import CONTACT, ContactOptions, Numerics
from draisine.system.state import describe_flat_lean
from draisine.system.system import System


def read_scenario(content: Mapping[str, Any], mistakes: Mistakes) -> Plan | None:
    """Validate the tables of a scenario; return its plan, or None after reporting mistakes."""
    kind = content.get("kind")
    if kind is None:
        mistakes.add("kind", f"is missing. Possible values: {', '.join(SCENARIO_TABLES_BY_KIND)}.")
        return None
    if not isinstance(kind, str) or kind not in SCENARIO_TABLES_BY_KIND:
        mistakes.add(
            "kind", f"no such kind. {did_you_mean(str(kind), SCENARIO_TABLES_BY_KIND)}", kind
        )
        return None
    tables = read_tables(SCENARIO_TABLES_BY_KIND[kind], content, mistakes)
    system = read_vehicle(tables["vehicle"], mistakes, content) if "vehicle" in tables else None
    if system is None:
        return None
    objects = _read_objects(kind, tables, system, mistakes)
    _check_sweep(tables.get("sweep"), content, system.model, mistakes)
    check_expected(kind, tables, system.model, mistakes)
    if mistakes:
        return None
    scenario = cast(Scenario, SCENARIO_TABLES_BY_KIND[kind].model_construct(**tables))
    return Plan(scenario, system, **objects)


def _read_objects(kind: str, tables: Tables, system: System, mistakes: Mistakes) -> dict[str, Any]:
    """Validate the tables of one kind of scenario and return the fields of its plan."""
    model = system.model
    name = tables["vehicle"].name
    start = Start()
    if tables.get("initial") is not None:
        start = read_start(tables["initial"], name, model, mistakes)
    match kind:
        case "run" | "sweep":
            start = _slide_initially(start, tables.get("run"))
            return {"start": start} | _read_motion(kind, tables, start, system, mistakes)
        case "state":
            for key, value in tables.get("inputs", {}).items():
                mistakes.check_known(f"inputs.{key}", key, model.inputs, "no such input", value)
        case "map" if "map" in tables:
            _check_map(tables["map"], model, mistakes)
        case "linear":
            speeds = tables.get("speeds")
            values = [] if speeds is None else speeds.at or []
            speed = values[0] if len(values) == 1 else None
            law = read_law(tables.get("law") or [], [], system, speed, mistakes)
            check_steady_path(law, mistakes)
            return {"start": start, "law": law}
        case "cycle" if getattr(tables.get("cycle"), "period", None) is not None:
            return {"start": start} | _read_cycle(tables, start, model, mistakes)
        case "cycle":
            missing = explain_missing_gait(model) if model.steps is None else ""
            if missing:
                text = f"has no gait: {missing}. For other machines give the `period` of the cycle."
                mistakes.add("vehicle", text, name)
            elif tables.get("cycle") is not None:
                _check_initial_guess(tables["cycle"].near, model, mistakes)
            contact = tables.get("contact")
            has_contact = contact is not None and contact.model_fields_set
            for table in ("terrain", "initial", *(["contact"] if has_contact else [])):
                if tables.get(table):
                    mistakes.add(table, "needs cycle.period.")
            _check_cycle(tables.get("cycle"), model, mistakes)
        case "gait" if "gait" in tables:
            _check_gait(tables["gait"], model, mistakes)
    if start.place is not None:
        mistakes.add("initial.place", "needs kind = 'run'.")
    if start.steady is not None:
        mistakes.add("initial.steady", "needs kind = 'run' or 'sweep'.")
    return {"start": start}


def _slide_initially(start: Start, table: Any) -> Start:
    """Return a start in which contacts that slide during the run slide initially, unless stated otherwise."""
    sliding = {n: x for n, x in (getattr(table, "mode", None) or {}).items() if x == "sliding"}
    return replace(start, mode=sliding | dict(start.mode or {})) if sliding else start


def _check_cycle(cycle: CycleTable | None, model: Model, mistakes: Mistakes) -> None:
    """Report options of the table `[cycle]` that its type of return map does not use."""
    if cycle is None:
        return
    grips = cycle.period is None and model.steps is None
    steps = cycle.period is None and model.steps is not None
    for name, used, what in (
        ("joint", grips, "a machine with a grip schedule"),
        ("longest", steps, "a walker"),
    ):
        if name in cycle.model_fields_set and not used:
            mistakes.add(f"cycle.{name}", f"needs {what}.", getattr(cycle, name))


def _check_initial_guess(initial_guess: dict[str, float], model: Model, mistakes: Mistakes) -> None:
    """Report missing and unknown components of the initial guess of a limit cycle."""
    components = ("Omega", "theta") if model.steps is None else model.steps.components
    for name in initial_guess:
        mistakes.check_known(
            f"cycle.near.{name}", name, components, "is not a component of the cycle"
        )
    missing = [name for name in components if name not in initial_guess]
    if missing:
        mistakes.add("cycle.near", f"needs {', '.join(missing)}.")


def _read_cycle(tables: Tables, start: Start, model: Model, mistakes: Mistakes) -> dict[str, Any]:
    """Validate terrain and contact options of a cycle with a prescribed period."""
    outputs = observation_names(model)
    for name in tables["cycle"].near:
        mistakes.check_known(f"cycle.near.{name}", name, outputs, "no such output")
    _check_cycle(tables["cycle"], model, mistakes)
    if start.place is not None:
        mistakes.add("initial.place", "needs kind = 'run'.")
    terrain = None
    contact = tables.get("contact")
    if tables.get("terrain") is None:
        check_without_terrain(contact, None, start, mistakes)
    else:
        terrain = read_terrain(tables["terrain"], model, mistakes)
        if contact is not None:
            check_contact(contact, None, model, mistakes)
    objects: dict[str, Any] = {"terrain": terrain}
    if not mistakes:
        with mistakes.convert_errors("contact"):
            objects["contact"] = _read_contact_options(
                None, contact, None, on_terrain=terrain is not None
            )
    return objects


def _check_gait(gait: GaitTable, model: Model, mistakes: Mistakes) -> None:
    """Report paths and shapes whose number of joints differs from that of the vehicle."""
    joints = [joint.name for joint in model.joints]
    paths = {"corners": gait.corners, "harmonics": gait.harmonics, "shapes": gait.shapes}
    for name, rows in paths.items():
        count = 0 if rows is None else len(rows) if name == "harmonics" else len(rows[0])
        if rows is not None and count != len(joints):
            text = f"has {count} joints; those of the machine are: {', '.join(joints) or 'none'}."
            mistakes.add(f"gait.{name}", text)
    for k, joint in enumerate(gait.plane or ()):
        mistakes.check_known(f"gait.plane[{k}]", joint, joints, f"no joint {joint!r}")
    if gait.shapes is not None and len(joints) < 2:
        mistakes.add("gait.shapes", "need a machine with at least two joints.")


def _read_motion(
    kind: str, tables: Tables, start: Start, system: System, mistakes: Mistakes
) -> dict[str, Any]:
    """Validate control law, initial state, terrain and options of a run or sweep; return fields of a plan."""
    model = system.model
    values = start.values if start.steady is None else start.steady.prescribed
    speed = values.get("forward_speed")
    run = tables.get("run")
    contact = tables.get("contact")
    ground = tables.get("terrain")
    laws = tables.get("law") or []
    inputs = tables.get("inputs") or []
    # Read the inputs after the steady motion has been solved, because they are added to its inputs.
    law = read_law(laws, [] if start.steady else inputs, system, speed, mistakes)
    mode = read_mode(run.mode or None, model, "run.mode", mistakes) if run is not None else None
    terrain = None
    if ground is not None:
        terrain = read_terrain(ground, model, mistakes)
        if contact is not None:
            check_contact(contact, run, model, mistakes)
        check_start_place(start, ground, terrain, model, mistakes)
    elif kind == "run" and "terrain" in tables:
        check_without_terrain(contact, run, start, mistakes)
    motion = None
    # On a level plane, solve the steady motion with ideal contacts, and place it on the plane
    # afterwards.
    is_level = isinstance(ground, PlaneGround) and ground.slope == ground.camber == 0.0
    is_uneven = terrain is not None and not is_level
    if start.steady is not None:
        if is_uneven and start.place is not None:
            mistakes.add(
                "initial.place",
                "cannot be combined with initial.steady on this terrain; prescribe x and y in that table.",
            )
        signals = read_law([], inputs, system, speed, mistakes)
        if not mistakes:
            options = (
                _read_contact_options(run, contact, None, on_terrain=True) if is_uneven else CONTACT
            )
            with mistakes.convert_errors("initial.steady"):
                motion = solve_steady_start(
                    system, start.steady, law, mode, terrain if is_uneven else None, options
                )
                law = continue_motion(motion, law, signals)
    if run is not None:
        _check_methods(run, tables, mistakes)
        if kind == "sweep" and run.expects:
            mistakes.add(
                "run.expects", "needs kind = 'run'; a sweep stores the outcome of each run."
            )
    if mistakes or run is None:
        return {}
    objects: dict[str, Any] = {
        "law": law,
        "terrain": terrain,
        "start": start
        if motion is not None and is_uneven
        else start_on_plane(start, ground, model),
        "motion": motion,
    }
    with mistakes.convert_errors("run"):
        objects["numerics"] = _read_numerics(run, on_terrain=ground is not None)
    with mistakes.convert_errors("contact"):
        objects["contact"] = _read_contact_options(
            run, contact, mode, on_terrain=ground is not None
        )
    return objects


def _read_numerics(run: RunTable, on_terrain: bool) -> Numerics:
    """Return the numerical options of a run. On a terrain, the options integrator, formulation and
    drift correction have fixed values.
    """
    tolerances = ("rtol", "atol") if on_terrain or is_adaptive(run.integrator) else ()
    methods = () if on_terrain else ("integrator", "formulation", "drift")
    return Numerics(**{name: getattr(run, name) for name in ("dt", *tolerances, *methods)})


def _read_contact_options(
    run: RunTable | None, contact: ContactTable | None, mode: Any, on_terrain: bool
) -> ContactOptions:
    """Return the contact options of a run; the table `contact` applies to terrains only."""
    ends: dict[str, Any] = {} if run is None else {"fall": run.fall}
    if not on_terrain or contact is None:
        return ContactOptions(mode=mode, **ends)
    options = {name: getattr(contact, name) for name in type(contact).model_fields}
    if isinstance(contact.solver, dict):
        from draisine.simulation.compare.compliant import read_compliant_ground

        options["solver"] = read_compliant_ground(contact.solver)
    if run is not None:
        options["events"] = run.events
    return ContactOptions(**options, **ends)


def _check_methods(run: RunTable, tables: Tables, mistakes: Mistakes) -> None:
    """Report unknown integrators and formulations, and options that they do not use."""
    for kind in ("integrator", "formulation"):
        with mistakes.convert_errors(f"run.{kind}"):
            find(kind, getattr(run, kind))
    for name in ("rtol", "atol"):
        is_unused = tables.get("sweep") is None and not is_adaptive(run.integrator)
        if is_unused and name in run.model_fields_set:
            text = f"{run.integrator} has fixed steps of run.dt and no tolerances; remove this key."
            mistakes.add(f"run.{name}", text, getattr(run, name))
    if run.formulation == "projected":
        return
    for table in ("law", "inputs"):
        if tables.get(table):
            mistakes.add(
                table, "needs the formulation 'projected', which alone takes laws and inputs."
            )
    if run.mode:
        mistakes.add(
            "run.mode", "needs the formulation 'projected', which alone takes open contacts."
        )


def _check_map(grid: Grid, model: Model, mistakes: Mistakes) -> None:
    """Report mistakes in the axes, the integration path and the outputs of a map."""
    units = state_units(model)
    joints = [joint.name for joint in model.joints]
    for side, axis in (("x", grid.x), ("y", grid.y)):
        is_known = mistakes.check_known(
            f"map.{side}.name", axis.name, units, "is unknown", axis.name
        )
        for end in ("low", "high") if is_known else ():
            if axis.name == "lean" and (flat := describe_flat_lean(getattr(axis, end))):
                mistakes.add(f"map.{side}.{end}", flat)
    first = grid.x.name
    second = grid.y.name
    if first == second:
        mistakes.add("map.y.name", "is already the axis x; use another coordinate.", second)
    if grid.locked is not None:
        mistakes.check_known("map.locked", grid.locked, joints, "no such joint", grid.locked)
    allowed = ("straight", f"{first}, {second}", f"{second}, {first}")
    if grid.path not in allowed:
        mistakes.add("map.path", f"must be one of: {', '.join(map(repr, allowed))}.", grid.path)
    for k, text in enumerate(grid.outputs):
        with mistakes.convert_errors(f"map.outputs[{k}]"):
            parse_series(text, model)


def _check_sweep(
    sweep: Sweep | None, content: Mapping[str, Any], model: Model, mistakes: Mistakes
) -> None:
    """Report mistakes in the swept values, by validating the scenario with each value inserted alone."""
    if sweep is None:
        return
    places: dict[tuple[str, str, str | int], Any] = {
        ("over", path, k): value for path, x in sweep.over.items() for k, value in enumerate(x)
    }
    for path, ends in sweep.between.items():
        places |= {("between", path, "low"): ends.low, ("between", path, "high"): ends.high}
    wrong: set[str] = set()
    for (table, path, k), value in places.items():
        if path in wrong:
            continue
        where = key_path(["sweep", table, path, k])
        inside = Mistakes()
        try:
            read_scenario(single_run(content, {path: value}), inside)
        except DraisineError as error:
            mistakes.add(where, str(error))
            wrong.add(path)
        for mistake in inside:
            if mistake.path.startswith(path):
                mistakes.add(where, mistake.text, mistake.value)
            elif _refer_to_same_table(mistake.path, path):
                mistakes.add(where, f"{mistake.path}: {mistake.text}", mistake.value)
    for k, text in enumerate(sweep.outputs):
        with mistakes.convert_errors(f"sweep.outputs[{k}]"):
            parse_query(text, model)


def _refer_to_same_table(place: str, path: str) -> bool:
    """Return whether two key paths refer to the same table; the index of a single entry may be omitted.

    >>> _refer_to_same_table("law[0].name", "law.gain"), _refer_to_same_table("law[0].name", "law[1].gain")
    (True, False)
    """
    table, *keys = split_key_path(path)
    has_no_index = not any(isinstance(key, int) for key in keys[:1])
    return place == table or (has_no_index and place.startswith(f"{table}[0]"))
