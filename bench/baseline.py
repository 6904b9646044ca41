"""Compare the results of two commits: 300 fixed runs of all vehicles, contact modes, impact models, terrains,
tyres and laws.

    python bench/baseline.py OLD [NEW] [--only TEXT] [--tolerance 1e-10] [--results FOLDER]
    python bench/baseline.py --list

OLD and NEW are commits (any name that git knows); without NEW the working tree is compared, uncommitted
changes included. Every commit runs in a git worktree in a temporary folder, with its own sources and its own
machine code. The results stay in FOLDER (by default a folder `draisine-baseline` for temporary files), so
that a stopped comparison goes on where it was and a commit runs only once. Nothing is written to the
repository.

Each run leaves its outcome (or the type of its error), its events and all variables of its dataset.
Two runs agree if their outcomes and events are the same and, for every variable, the largest difference is
at most the tolerance times the largest value of that variable (or times 1e-3 in SI units, if all values are
smaller). All other runs are listed with their first difference; the exit code is then 1.

A full comparison takes about two minutes per commit on an idle core.
"""

import argparse
import hashlib
import json
import math
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path(tempfile.gettempdir()) / "draisine-baseline"
PATIENCE = 240.0
"""Seconds without a finished run after which a process counts as hanging; the longest run takes 10 s."""

SMALL = 1e-3
"""Variables whose largest value is smaller (SI units) are compared with this value: below it, differences at
the tolerance of 1e-10 are rounding errors of the terms that cancel.
"""

LONGEST = 2.0
"""Shipped scenarios are cut to this time (s), but for those of the thesis, whose events come later."""

# --- the runs

SHIPPED = [
    "escalona2012/steering",
    "escalona2012/steering-guided",
    "escalona2012/steering-leaning",
    "iftomm/uncontrolled-m1",
    "iftomm/uncontrolled-m2",
    "iftomm/uncontrolled-m3",
    "kane1982/rattleback",
    "kooijman2008/run-52",
    "locomotion/ball-on-bar",
    "locomotion/ball-on-slope",
    "locomotion/car-four-arcs",
    "locomotion/car-parking",
    "locomotion/car-wriggle",
    "locomotion/chaplygin-sleigh",
    "locomotion/chaplygin-sleigh-back",
    "locomotion/differential-platform",
    "locomotion/euler-disc-circles",
    "locomotion/falling-cat",
    "locomotion/falling-cat-held",
    "locomotion/fish",
    "locomotion/penny",
    "locomotion/penny-driven",
    "locomotion/purcell-swimmer",
    "locomotion/roller-racer",
    "locomotion/roller-racer-ahead",
    "locomotion/roller-racer-rest",
    "locomotion/roller-racer-sprung",
    "locomotion/roller-racer-torque",
    "locomotion/rolling-disc",
    "locomotion/satellite",
    "locomotion/satellite-circle",
    "locomotion/satellite-turn",
    "locomotion/segway",
    "locomotion/skateboard-carve",
    "locomotion/skater-jump",
    "locomotion/snake-3",
    "locomotion/snake-6",
    "locomotion/snakeboard-drive",
    "locomotion/snakeboard-parking",
    "locomotion/snakeboard-rotate",
    "locomotion/trailer-straight",
    "locomotion/trailers-1-off-axle",
    "locomotion/trailers-1-on-axle",
    "locomotion/trailers-2-off-axle",
    "locomotion/trailers-2-on-axle",
    "locomotion/trailers-off-axle",
    "locomotion/trailers-on-axle",
    "locomotion/trikke-fixed",
    "locomotion/trikke-steered",
    "locomotion/unicycle-balanced",
    "mauny2017/controlled-turn",
    "mauny2018/controlled-turn",
    "mauny2018/drift-corrected",
    "mauny2018/elastic-bounces",
    "mauny2018/impact-lift-off",
    "mauny2018/incline",
    "mauny2018/incline-fall",
    "mauny2018/kinematic-reconstruction",
    "mauny2018/lift-offs",
    "mauny2018/passive-stabilisation",
    "mauny2018/ramp-jump",
    "mauny2018/ramp-jump-pitched",
    "mauny2018/wheelie-disturbed",
    "mauny2018/wheelie-gyroscope",
    "mauny2018/wheelie-held",
    "mauny2018/wheelie-held-hard",
    "schwab2003/absolute",
    "schwab2003/passive",
    "walkers/bouncing-ball-1",
    "walkers/bouncing-ball-2",
    "walkers/compass-walks",
]

CYCLES = [
    "walkers/rimless-10",
    "walkers/simplest-long-004",
    "mauny2018/rocr-gait-a",
    "mauny2018/rocr-gait-b",
    "mauny2018/rocr-gait-c",
]

FIRST_RUNS = [
    "acrobot",
    "cart_pole",
    "chain",
    "motorcycle",
    "steering_linkage",
    "trailing_wheel",
    "tricycle",
]

IMPACTS = ("brach", "keller", "moreau", "newton", "plastic", "poisson", "stronge")
FORMULATIONS = ("absolute", "multiplier", "partitioned", "planar")
INTEGRATORS = ("ab4", "abm4", "abm5", "rk4")
STATUSES = ("open", "sliding", "rolling")
TYRES = ("brush", "linear", "load", "magic", "passive", "sprung")


@cache
def machine(vehicle: str, **structure: Any) -> Any:
    """Return a compiled vehicle."""
    import draisine

    tyre = structure.pop("tyre", None)
    if tyre is not None:
        structure |= {"rear_tyre": tyres()[tyre], "front_tyre": tyres()[tyre]}
    return draisine.compile(vehicle, **structure)


def tyres() -> dict[str, Any]:
    """Return a tyre of every law."""
    from draisine.mechanics.forces.brush_tyre import BrushTyre
    from draisine.mechanics.forces.linear_tyre import LinearTyre
    from draisine.mechanics.forces.load_tyre import LoadTyre
    from draisine.mechanics.forces.magic_formula import MagicFormula
    from draisine.mechanics.forces.passive_tyre import PassiveTyre

    coefficients = (1.5, 0.0, 1000.0, 200.0, 1.0, *[0.1] * 9)
    return {
        "brush": BrushTyre(12.0, 0.9, 0.1, 0.03),
        "linear": LinearTyre(9000.0, 900.0, 0.2),
        "load": LoadTyre(12.0, 1.0, 0.2),
        "magic": MagicFormula(coefficients, 0.1),
        "passive": PassiveTyre(9000.0, 0.05, 0.2),
        "sprung": MagicFormula(coefficients, 0.1, 1e5, 500.0, 400.0),
    }


def grounds() -> dict[str, Callable[[], Any]]:
    """Return all terrains by name; the machine starts before x = 0 on level ground, if there is some."""
    from draisine.terrain import corner, height_field, kerb, move_ground, plane, rough, stairs
    from draisine.terrain.motions import Shake, Slide

    x, y = np.linspace(-4.0, 8.0, 41), np.linspace(-2.0, 2.0, 9)
    hills = 0.02 * (1.0 - np.cos(2.0 * x))[:, None] * (1.0 + 0.2 * np.sin(3.0 * y))
    return {
        "plane": plane,
        "slope": lambda: plane(-math.radians(8)),
        "kerb up": lambda: kerb(1.6, 0.03),
        "kerb down": lambda: kerb(1.6, -0.08),
        "stairs": lambda: stairs(1.6, -0.04, 0.4, 3),
        "rough": lambda: rough(0.03, at=1.6, seed=1),
        "fine": lambda: rough(0.01, cell=0.1, at=1.6, length=2.0, width=1.0, seed=2),
        "corner": lambda: corner(math.radians(12), 1.6),
        "hills": lambda: height_field(x, y, np.where(x[:, None] < 1.5, 0.0, hills)),
        "shaking": lambda: move_ground(plane(), Shake((0.0, 0.0, 0.01), 15.0)),
        "belt": lambda: move_ground(plane(), Slide((-1.0, 0.3, 0.0))),
    }


CONTACTS: dict[str, dict[str, Any]] = {
    "ideal": {},
    "bouncing": {"impact": "newton", "restitution": {"normal": 0.4}, "rest_speed": 0.2},
    "grip": {"mu": 0.9},
    "ice": {"mu": 0.15, "restitution": {"normal": 0.3}},
}
"""What contacts do, as options of `ContactOptions`."""


def run_scenario(name: str, until: float | None) -> Any:
    """Run a scenario that ships, or the first run of a vehicle."""
    import draisine

    return draisine.run(name, changes=None if until is None else {"run.until": until})


def ride(
    vehicle: str,
    structure: dict[str, Any],
    start: dict[str, float],
    until: float,
    ground: str | None = None,
    contact: dict[str, Any] | None = None,
    lift: float = 0.0,
    ahead: float = 0.0,
    law: Callable[[Any], Any] | None = None,
    inputs: dict[str, float] | None = None,
    **numerics: Any,
) -> Any:
    """Simulate a vehicle on a terrain or without one, from a state raised and moved ahead by some metres."""
    from dataclasses import replace

    import draisine

    system = machine(vehicle, **structure)
    state = draisine.state(system, **start)
    if ground == "slope":
        state = draisine.place(system, state, grounds()[ground](), on="ground")
    state = replace(state, p=np.asarray(state.p, float) + np.array([ahead, 0.0, lift]))
    given = {} if law is None else {"law": law(system)}
    return draisine.simulate(
        system,
        state,
        until,
        terrain=None if ground is None else grounds()[ground](),
        contact=draisine.ContactOptions(**(contact or {})),
        inputs=inputs,
        numerics=draisine.Numerics(**({"dt": 0.02} | numerics)),
        **given,
    )


def make_law(name: str, system: Any) -> Any:
    """Return a law of a kind that no shipped run has, for a bicycle at 5 m/s."""
    from draisine.analysis.rider.preview import follow_path
    from draisine.control.balance_assist import BalanceAssist
    from draisine.control.loop_rider import LoopRider
    from draisine.control.steer_into_lean import SteerIntoLean

    def in_python(readings: Any, z: Any) -> Any:
        lean = float(readings.lean)  # a number: this cannot be traced
        return {"steer": 20.0 * lean + 5.0 * readings.lean_rate}, ()

    made: dict[str, Callable[[], Any]] = {
        "balance_assist": BalanceAssist,
        "loop_rider": lambda: LoopRider(46.5457, -0.0522, 12.6611, 0.1849),
        "path_following": lambda: follow_path(system, lambda s: 0.01 * s, 5.0, {"y": 1.0}),
        "steer_into_lean": lambda: SteerIntoLean(20.0, 5.0, delay=0.1),
        "python": lambda: in_python,
    }
    return made[name]()


LAWS = ("balance_assist", "loop_rider", "path_following", "steer_into_lean")


def step_from_outside(ground: str | None, slices: int) -> dict[str, Any]:
    """Advance a `Stepper` under inputs that change."""
    import draisine

    system = machine("whipple")
    start = draisine.state(system, forward_speed=5.0, lean_rate=0.2)
    terrain = None if ground is None else grounds()[ground]()
    stepper = draisine.Stepper(system, start, terrain=terrain)
    states = []
    for k in range(slices):
        stepper.step(0.4 / slices, {"steer": 0.5 * (-1) ** k})
        one = stepper.state
        states.append(np.concatenate([one.q, one.p, one.r, one.v]))
    return {"states": np.array(states), "outcome": stepper.outcome}


def many(count: int, **options: Any) -> dict[str, Any]:
    """Run several bicycles side by side."""
    import draisine

    system = machine("whipple")
    speeds = np.linspace(3.0, 7.0, count)
    starts = [draisine.state(system, forward_speed=v, lean_rate=0.1) for v in speeds]
    masses = np.linspace(70.0, 90.0, count)
    law = options.pop("law", None)
    if law is not None:
        options["law"] = make_law(law, system)
    found = draisine.simulate_many(system, starts, 0.5, parameters={"mB": masses}, **options)
    return {key: value for key, value in found.items() if np.asarray(value).dtype.kind == "f"}


def compliant(law: str, ground: str, lift: float) -> Any:
    """Simulate a disc on ground that gives way."""
    from draisine.simulation.compare import compliant as module

    kinds = {"hertz": lambda: module.Hertz(2e6), "voigt": lambda: module.KelvinVoigt(1e4, 200.0)}
    solver = module.Compliant(kinds[law]())
    start = {"forward_speed": 1.0, "lean": 0.1}
    contact = {"solver": solver, "mu": 0.8}
    return ride("rolling_disc", {}, start, 0.3, ground, contact, lift, rtol=1e-8, atol=1e-10)


Case = tuple[str, Callable[[], Any]]


def shipped_cases() -> Iterator[Case]:
    """Yield the shipped scenarios, the published cycles and first runs of the other vehicles."""
    for name in SHIPPED:
        until = None if name.startswith(("mauny2018", "schwab2003")) else LONGEST
        yield f"shipped {name}", partial(run_shipped, name, until)
    for name in CYCLES:
        yield f"cycle {name}", partial(run_scenario, name, None)
    for name in FIRST_RUNS:
        yield f"first {name}", partial(run_scenario, name, 0.5)


def run_shipped(name: str, until: float | None) -> Any:
    """Run a shipped scenario, no longer than its own time."""
    from draisine.scenario.library import load

    own = float(load(name).scenario.run.until)
    return run_scenario(name, own if until is None else min(own, until))


def plane_cases() -> Iterator[Case]:
    """Yield bicycles without a terrain: modes, integrators, formulations, tyres."""
    start = {"forward_speed": 4.6, "lean_rate": 0.5}
    for rear, front in product(STATUSES, STATUSES):
        mode = {"mode": {"rear": rear, "front": front}}
        yield f"mode {rear} {front}", partial(ride, "whipple", {}, start, 0.3, contact=mode)
    for name in INTEGRATORS:
        yield (
            f"integrator {name}",
            partial(ride, "whipple", {}, start, 1.0, integrator=name, dt=0.005),
        )
    for name in FORMULATIONS:
        yield f"formulation {name}", partial(ride, "whipple", {}, start, 0.5, formulation=name)
    for tyre in TYRES[:5]:
        structure = {"tyre": tyre, "crown": 0.02}
        yield f"tyre {tyre}", partial(ride, "whipple", structure, start, 0.5, inputs={"steer": 0.3})


def terrain_cases() -> Iterator[Case]:
    """Yield bicycles on all terrains, with discs and tori, ideal contacts and friction."""
    names = ("plane", "slope", "kerb up", "kerb down", "stairs", "rough", "fine", "corner", "hills")
    names += ("shaking", "belt")
    start = {"forward_speed": 4.0, "lean": 0.02, "steer": 0.01}
    for ground, crown, contact in product(names, (0.0, 0.02), ("ideal", "grip", "ice")):
        structure = {"crown": crown} if crown else {}
        yield (
            f"terrain {ground} {'torus' if crown else 'disc'} {contact}",
            partial(ride, "whipple", structure, start, 0.6, ground, CONTACTS[contact]),
        )
    for ground, tyre in product(("plane", "rough", "kerb down"), TYRES):
        structure = {"tyre": tyre, "crown": 0.02}
        yield f"tyre {tyre} on {ground}", partial(ride, "whipple", structure, start, 0.5, ground)
    for ground in ("plane", "kerb down", "slope"):
        yield (
            f"bouncing on {ground}",
            partial(ride, "whipple", {}, start, 0.6, ground, CONTACTS["bouncing"], lift=0.05),
        )


def impact_cases() -> Iterator[Case]:
    """Yield impacts of discs, balls and bicycles by all models."""
    machines = {
        "rolling_disc": {"lean": 0.3, "forward_speed": 1.0, "yaw_rate": 0.5},
        "ball": {"x_speed": 1.0},
        "whipple": {"forward_speed": 2.0, "lean": 0.1},
    }
    for model, (vehicle, start), e in product(IMPACTS, machines.items(), (0.0, 0.5)):
        friction = {} if model in ("newton", "plastic") else {"mu": 0.5}
        if model == "plastic" and e > 0.0:
            continue
        back = {"restitution": {"normal": e}} if e > 0.0 else {}
        contact = {"impact": model, "rest_speed": 0.05} | friction | back
        yield (
            f"impact {model} {vehicle} e {e}",
            partial(ride, vehicle, {}, start, 0.5, "plane", contact, lift=0.1),
        )


def machine_cases() -> Iterator[Case]:
    """Yield other machines on terrains."""
    machines: dict[str, tuple[float, dict[str, float]]] = {
        "rolling_disc": (1.3, {"forward_speed": 2.0, "lean": 0.2}),
        "ball": (1.3, {"x_speed": 1.5}),
        "euler_disc": (1.5, {"lean": 1.2, "yaw_rate": 8.0}),
        "rattleback": (1.3, {"yaw_rate": -5.0, "pitch": 0.02}),
        "unicycle": (1.4, {"forward_speed": 1.0, "lean": 0.02}),
        "segway": (1.4, {"forward_speed": 0.8}),
        "tricycle": (0.0, {"forward_speed": 2.0}),
        "car": (0.0, {"forward_speed": 3.0}),
        "skateboard": (1.2, {"forward_speed": 2.0}),
    }
    for vehicle, contact in product(machines, ("ideal", "grip")):
        for ground in ("plane", "kerb down"):
            ahead, start = machines[vehicle]
            yield (
                f"{vehicle} on {ground} {contact}",
                partial(ride, vehicle, {}, start, 0.4, ground, CONTACTS[contact], ahead=ahead),
            )


def other_cases() -> Iterator[Case]:
    """Yield laws, other solvers, steppers and many runs."""
    start = {"forward_speed": 5.0, "lean": 0.05}
    for name, ground in product(LAWS, (None, "plane", "kerb down")):
        law = partial(make_law, name)
        yield f"law {name} on {ground}", partial(ride, "whipple", {}, start, 0.5, ground, law=law)
    law = partial(make_law, "python")
    yield "law python on None", partial(ride, "whipple", {}, start, 0.2, law=law)
    for ground, crown in product(("plane", "kerb down", "rough"), (0.0, 0.02)):
        contact = {"solver": "time_stepping", "mu": 0.8}
        yield (
            f"time stepping {ground} {crown}",
            partial(
                ride,
                "whipple",
                {"crown": crown} if crown else {},
                start,
                0.2,
                ground,
                contact,
                dt=0.002,
            ),
        )
    for law, ground in product(("hertz", "voigt"), ("plane", "kerb down")):
        yield f"compliant {law} {ground}", partial(compliant, law, ground, 0.02)
    for ground, slices in product((None, "plane", "rough"), (4, 20)):
        yield f"stepper {ground} {slices}", partial(step_from_outside, ground, slices)
    yield "many 3", partial(many, 3)
    yield "many 17", partial(many, 17)
    yield "many 5 with a law", partial(many, 5, law="steer_into_lean")
    yield "many 6 on one wheel", partial(many_on_one_wheel, 6)


def many_on_one_wheel(count: int) -> dict[str, Any]:
    """Run several bicycles whose front wheels are open."""
    import draisine

    return many(count, contact=draisine.ContactOptions(mode={"front": "open"}))


def cases() -> dict[str, Callable[[], Any]]:
    """Return all runs by name."""
    groups = (shipped_cases, plane_cases, terrain_cases, impact_cases, machine_cases, other_cases)
    return dict(case for group in groups for case in group())


# --- one run


def execute(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a run leaves: words to compare exactly, and arrays to compare within the tolerance."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = cases()[name]()
        except Exception as error:
            found = getattr(error, "partial", None)
            if found is None:
                return {"outcome": type(error).__name__}, {}
            words, arrays = extract(found)
            return words | {"outcome": type(error).__name__}, arrays
        return extract(found)


def extract(found: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return words and arrays of a trajectory, of the result of a scenario, or of plain arrays."""
    if isinstance(found, dict):
        words = {"outcome": found.pop("outcome", "completed"), "events": []}
        return words, {key: np.asarray(value, float) for key, value in found.items()}
    data = found.data if hasattr(found, "data") else found.to_xarray()
    events = [[event.kind, sorted(map(list, event.contacts))] for event in found.events]
    arrays = {
        str(key): np.asarray(variable.values, float)
        for key, variable in data.variables.items()
        if variable.dtype.kind in "fiub"
    }
    arrays["event times"] = np.array([event.t for event in found.events])
    arrays["event energies"] = np.array(
        [[event.energy_before, event.energy_after] for event in found.events]
    )
    impulses = [np.ravel(x) for event in found.events for _, x in sorted(event.impulses.items())]
    arrays["impulses"] = np.concatenate(impulses) if impulses else np.zeros(0)
    return {"outcome": found.outcome, "events": events}, arrays


def work(folder: Path) -> None:
    """Execute the runs whose names come from standard input, and keep what they leave."""
    for line in sys.stdin:
        name = line.strip()
        begun = time.perf_counter()
        words, arrays = execute(name)
        words["seconds"] = round(time.perf_counter() - begun, 3)
        keep(folder, name, words, arrays)
        print(name, flush=True)


def file_of(folder: Path, name: str) -> Path:
    """Return the file of a run."""
    return folder / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.npz"


def keep(folder: Path, name: str, words: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write what a run leaves, whole or not at all."""
    path = file_of(folder, name)
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        np.savez_compressed(
            file, words=json.dumps(words), **{f"a {k}": x for k, x in arrays.items()}
        )
    part.replace(path)


def read(folder: Path, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a run left."""
    with np.load(file_of(folder, name)) as stored:
        arrays = {key[2:]: stored[key] for key in stored.files if key != "words"}
        return json.loads(str(stored["words"])), arrays


# --- one commit


def git(*command: str) -> str:
    """Return what git prints."""
    found = subprocess.run(["git", *command], cwd=ROOT, check=True, capture_output=True, text=True)
    return found.stdout.strip()


def digest_of_tree() -> str:
    """Return a digest of the sources in the working tree."""
    found = hashlib.sha256()
    for path in sorted((ROOT / "src").rglob("*")):
        if path.is_file() and path.suffix in (".py", ".toml", ".c", ".h", ".js", ".txt", ".csv"):
            found.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return found.hexdigest()[:16]


def execute_commit(commit: str | None, names: list[str], results: Path) -> Path:
    """Execute runs with the sources of a commit, or of the working tree; return the folder of results."""
    label = (
        f"tree-{digest_of_tree()}" if commit is None else git("rev-parse", f"{commit}^{{commit}}")
    )
    # The results belong to this version of the runs, too.
    runs, _, _ = Path(__file__).read_text().partition("# --- one commit")
    version = hashlib.sha256(runs.encode()).hexdigest()[:8]
    folder = results / version / label
    folder.mkdir(parents=True, exist_ok=True)
    left = [name for name in names if not file_of(folder, name).exists()]
    print(f"{label[:12]}: {len(names) - len(left)} runs are there, {len(left)} to go", flush=True)
    if not left:
        return folder
    if commit is None:
        execute_all(ROOT / "src", left, folder)
        return folder
    with tempfile.TemporaryDirectory(prefix="draisine-baseline-") as place:
        tree = Path(place) / "tree"
        git("worktree", "add", "--detach", str(tree), label)
        try:
            execute_all(tree / "src", left, folder)
        finally:
            git("worktree", "remove", "--force", str(tree))
    return folder


def execute_all(sources: Path, names: list[str], folder: Path) -> None:
    """Execute runs one after the other; a process that crashes or hangs is replaced."""
    left, begun = list(names), time.perf_counter()
    while left:
        process, lines = start(sources, folder, left)
        try:
            while left:
                done = lines.get(timeout=PATIENCE)
                if done != left[0]:
                    break
                left.pop(0)
                show_progress(len(names) - len(left), len(names), begun, done)
        except queue.Empty:
            done = None
        finally:
            process.kill()
            process.wait()
        if left:
            how = "hangs" if done is None else "crashes"
            keep(folder, left.pop(0), {"outcome": how, "events": [], "seconds": PATIENCE}, {})


def start(
    sources: Path, folder: Path, names: list[str]
) -> tuple["subprocess.Popen[str]", "queue.Queue[str]"]:
    """Return a process that executes runs, and the queue of the names of those that are done."""
    variables = {**os.environ, "PYTHONPATH": str(sources), "DRAISINE_CACHE": str(folder / "cache")}
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).resolve()), "--work", str(folder)],
        env=variables,
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("\n".join(names) + "\n")
    process.stdin.close()
    lines: queue.Queue[str] = queue.Queue()
    stream = process.stdout

    def pass_on() -> None:
        for line in stream:
            lines.put(line.rstrip("\n"))
        lines.put("")

    threading.Thread(target=pass_on, daemon=True).start()
    return process, lines


def show_progress(done: int, count: int, begun: float, name: str) -> None:
    """Print how far the runs are, on one line of a terminal or every 25 runs of a file."""
    passed = time.perf_counter() - begun
    text = f"{done}/{count}, {passed:.0f} s, {passed / done * (count - done):.0f} s left: {name}"
    if sys.stdout.isatty():
        print(f"\r{text[:100]:<100}", end="\n" if done == count else "", flush=True)
    elif done % 25 == 0 or done == count:
        print(text, flush=True)


# --- two commits


Left = tuple[dict[str, Any], dict[str, Any]]
"""What a run leaves: words and arrays."""


def difference(old: Left, new: Left, tolerance: float) -> str:
    """Return the most important difference between two runs, or an empty text."""
    (words, arrays), (others, found) = old, new
    if words["outcome"] != others["outcome"]:
        return f"outcome {words['outcome']!r} and now {others['outcome']!r}"
    if words.get("events") != others.get("events"):
        return tell_events(words.get("events", []), others.get("events", []))
    worst, name = 0.0, ""
    for key, array in arrays.items():
        if key not in found:
            return f"variable {key!r} is missing now"
        if array.shape != found[key].shape:
            return f"variable {key!r} has the shape {array.shape} and now {found[key].shape}"
        size = relative_difference(array, found[key])
        if not size <= worst:
            worst, name = size, key
    return f"{worst:.2g} in {name!r}" if not worst <= tolerance else ""


def tell_events(old: list[Any], new: list[Any]) -> str:
    """Return the first difference between the events of two runs."""
    for k, (one, other) in enumerate(zip(old, new, strict=False)):
        if one != other:
            return f"event {k + 1} is {one} and now {other}"
    return f"{len(old)} events and now {len(new)}"


def relative_difference(a: Any, b: Any) -> float:
    """Return the largest difference between two arrays, relative to the largest value; NaN equals NaN."""
    if a.size == 0:
        return 0.0
    if not np.array_equal(np.isnan(a), np.isnan(b)):
        return math.inf
    finite = np.isfinite(a) & np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return math.inf
    if not finite.any():
        return 0.0
    scale = max(float(np.abs(a[finite]).max()), SMALL)
    return float(np.abs(a[finite] - b[finite]).max()) / scale


def compare(names: list[str], folders: list[Path], tolerance: float) -> int:
    """Print all differences between two commits; return how many runs differ."""
    found: dict[str, str] = {}
    same_bits, seconds = 0, [0.0, 0.0]
    for name in names:
        both = old, new = read(folders[0], name), read(folders[1], name)
        text = difference(old, new, tolerance)
        same_bits += difference(old, new, 0.0) == ""
        seconds = [s + float(words["seconds"]) for s, (words, _) in zip(seconds, both, strict=True)]
        if text:
            found[name] = text
    for name, text in found.items():
        print(f"  {name}: {text}")
    outcomes = [read(folders[0], name)[0]["outcome"] for name in names]
    print(
        f"{len(names)} runs ({outcomes.count('completed')} completed), {same_bits} equal bit by bit, "
        f"{len(found)} differ by more than {tolerance:g}; {seconds[0]:.0f} s and {seconds[1]:.0f} s"
    )
    return len(found)


def main() -> None:
    """Read the command line, execute and compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", nargs="?", help="the commit of reference")
    parser.add_argument("new", nargs="?", help="the other commit (default: the working tree)")
    parser.add_argument("--only", default="", help="only runs with this text in their names")
    parser.add_argument("--tolerance", type=float, default=1e-10)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--list", action="store_true", help="print the names of all runs")
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.work is not None:
        work(asked.work)
        return
    names = [name for name in cases() if asked.only in name]
    if asked.list or not names:
        print("\n".join(names) or f"no run has {asked.only!r} in its name")
        return
    if asked.old is None:
        parser.error("name the commit of reference, or --list")
    folders = [execute_commit(one, names, asked.results) for one in (asked.old, asked.new)]
    sys.exit(1 if compare(names, folders, asked.tolerance) else 0)


if __name__ == "__main__":
    main()
