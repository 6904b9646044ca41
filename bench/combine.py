"""Campaigns over combinations of machines and options: `python bench/combine.py [--count 10000]
[--structures 300] [--seed 0] [--log FILE] [--only LAW] [--share 1/2]`.

Each combination is drawn by its number, so that a campaign is the same on every machine. A law of
`tests/combine/invariants.py` is drawn with it, and must hold, or the package must refuse the
combination with an error of its own. With a log (one line of JSON per combination) a campaign
continues where it was stopped. With a share, such as 1/2 and 2/2, a process runs every second
structure; the concatenated logs are the log of the whole campaign. A violation is reduced to the
smallest combination that still has it; `--reproduce "LAW: COMBINATION"` repeats one. The exit code is
1 if there are violations.

`--engine [NAME ...]` runs the known errors of the contact engine instead: each prints what is
expected, what is seen, and whether both agree.
"""

import argparse
import json
import math
import random
import resource
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

BENCH = Path(__file__).parent
TESTS = BENCH.parent / "tests"
# without bench, where this file has the name of the package
sys.path[:] = [str(TESTS), *(path for path in sys.path if Path(path) != BENCH)]

import draisine
from combine.invariants import INVARIANTS, Verdict, judge
from combine.machines import (
    Combination,
    Machine,
    draw_combination,
    draw_machine,
    read_combination,
)
from combine.records import Units, deviation, record, same_sign
from draisine import ContactOptions, Numerics
from draisine.errors import DraisineError
from draisine.model import Body, Model, Revolute, Wheel, forward_speed, inertia
from draisine.terrain import corner, kerb, plane

BAD = ("violated", "failed")
"""Verdicts that are findings."""

# --- campaigns


@dataclass(frozen=True)
class Draw:
    """A law and a combination, by their number in a campaign."""

    number: int
    law: str
    combination: Combination

    def __str__(self) -> str:
        return f"{self.law}: {self.combination}"


ROUNDS = 10
"""A campaign that is stopped early has seen all structures; compiled code is stored between rounds."""


def draw_structures(seed: int, count: int) -> list[Machine]:
    """Return so many different machines."""
    rng, found = random.Random(f"structures {seed}"), dict[Machine, None]()
    while len(found) < count:
        found[draw_machine(rng)] = None
    return list(found)


def draws(
    seed: int, count: int, structures: int, only: str | None, share: tuple[int, int]
) -> Iterator[Draw]:
    """Yield the combinations of a campaign in `ROUNDS` rounds over all structures.

    With the share (k, n) only every n-th structure is drawn, the k-th one first.
    """
    machines = draw_structures(seed, structures)
    laws = list(INVARIANTS) if only is None else [only]
    for number in sorted(range(count), key=lambda k: k % ROUNDS):
        structure = number * structures // count
        if structure % share[1] != share[0] - 1:
            continue
        machine = machines[structure]
        rng = random.Random(f"combination {seed} {number}")
        yield Draw(number, rng.choice(laws), draw_combination(rng, machine))


def read_share(text: str) -> tuple[int, int]:
    """Return the share that a text such as "1/2" describes."""
    first, _, count = text.partition("/")
    return int(first), int(count)


def reduce_finding(law: str, c: Combination) -> Combination:
    """Return the smallest combination that still violates a law: options are taken back to their first
    choices one by one as long as the finding stays.
    """
    smaller = True
    while smaller:
        smaller = False
        for candidate in _simpler(c):
            if judge(law, candidate).kind in BAD:
                c, smaller = candidate, True
                break
    return c


def _simpler(c: Combination) -> Iterator[Combination]:
    """Yield combinations with one option less."""
    for axis, _ in c.machine.choices:
        yield replace(c, machine=c.machine.without(axis))
    plain = {"law": "none", "integrator": "rk4", "drift": "project", "driven": False, "seed": 0}
    for name, value in plain.items():
        if getattr(c, name) != value:
            yield replace(c, **{name: value})


def campaign(asked: argparse.Namespace) -> int:
    """Run a campaign; return how many findings there are."""
    old = asked.log.read_text().splitlines() if asked.log and asked.log.exists() else []
    known = {one["number"]: one for one in map(json.loads, old)}
    counts: Counter[str] = Counter()
    by_law: dict[str, Counter[str]] = {name: Counter() for name in INVARIANTS}
    structures = set()
    for draw in draws(asked.seed, asked.count, asked.structures, asked.only, asked.share):
        one = known.get(draw.number)
        if one is None or one["what"] != str(draw):
            one = _try(draw)
            if asked.log:
                with asked.log.open("a") as file:
                    file.write(json.dumps(one) + "\n")
        counts[one["kind"]] += 1
        by_law[draw.law][one["kind"]] += 1
        structures.add(draw.combination.machine)
    print(f"{sum(counts.values())} combinations of {len(structures)} structures")
    for law, own in by_law.items():
        if own:
            print(f"  {law:20} " + ", ".join(f"{kind} {n}" for kind, n in own.most_common()))
    print("  " + ", ".join(f"{kind} {n}" for kind, n in counts.most_common()))
    return sum(counts[kind] for kind in BAD)


def _try(draw: Draw) -> dict[str, Any]:
    """Return the verdict on a combination; a finding is reduced and printed."""
    begun = time.process_time()
    found = judge(draw.law, draw.combination)
    one = {
        "number": draw.number,
        "what": str(draw),
        "kind": found.kind,
        "text": found.text[-600:],
        "seconds": round(time.process_time() - begun, 2),
    }
    if found.kind in BAD:
        least = reduce_finding(draw.law, draw.combination)
        one["least"] = f"{draw.law}: {least}"
        print(f"{draw.number} {draw}: {found.kind}, {found.text}")
        print(f'  python bench/combine.py --reproduce "{one["least"]}"', flush=True)
    return one


def reproduce(text: str) -> Verdict:
    """Return the verdict on a law and a combination as they are printed."""
    law, _, rest = text.partition(":")
    return judge(law.strip(), read_combination(rest.strip()))


# --- the contact engine: known errors, with what is expected instead


@dataclass(frozen=True)
class Finding:
    """What a case of the engine expects, what it sees, and whether they agree."""

    expected: str
    seen: str
    agrees: bool


def ball_on_bar() -> Finding:
    """A ball that rolls off a bar lands on the ground."""
    system = draisine.compile("ball_on_bar")
    start = draisine.state(system, ball_x=0.3, ball_x_rate=1.0, ball_turn_rate=20.0)
    radius = system.parameters["radius"]
    centre = next(body.com[2] for body in system.model.bodies if body.name == "ball")
    run = _run(system, start, 1.5, plane())
    lowest = float(run.to_xarray().ball_z.min() + centre)
    return Finding(
        f"its centre stays {radius:g} m above the ground",
        f"its centre comes down to {lowest:.3g} m",
        lowest > 0.99 * radius,
    )


def car_slides() -> Finding:
    """A car that slides on four wheels slows down and stops."""
    try:
        run = _throw_car({"Vx": 3.0, "Vy": 3.0}, 0.7, 1.5)
    except DraisineError as error:
        return Finding("it slides until it rolls", _short(error), False)
    return Finding("it slides until it rolls", run.outcome, run.outcome == "completed")


THROWS = (10, 30, 33, 35, *range(8))
"""Seeds of throws of a car; runs of the first two complete with negative loads."""


def car_loads() -> Finding:
    """Loads of a car that slides are never negative, however short an arc is."""
    lowest, ends = 0.0, Counter[str]()
    for k in THROWS:
        rng = np.random.default_rng(k)
        speeds = {"Vx": rng.uniform(1.0, 5.0), "Vy": rng.uniform(-4.0, 4.0)}
        friction = rng.uniform(0.4, 1.0)
        try:
            run = _throw_car(speeds, friction, 1.0)
        except DraisineError as error:
            ends[type(error).__name__] += 1
            continue
        loads = run.observations["forces"].reshape(4, 3, -1)[:, 0]
        ends["completed" if loads.min() > -1e-3 else "completed with negative loads"] += 1
        lowest = min(lowest, float(loads.min()))
    seen = ", ".join(f"{n} {kind}" for kind, n in ends.most_common())
    good = ends["completed"] == len(THROWS)
    expected = f"{len(THROWS)} throws complete with positive loads"
    return Finding(expected, f"{seen}; least load {lowest:.3g} N", good)


def slip_onset() -> Finding:
    """A wheel that a torque makes slide slips from zero on, and the event is recorded as slip."""
    system = draisine.compile("unicycle")
    start = draisine.state(system, forward_speed=1.0)
    ride = draisine.Stepper(system, start, terrain=plane(), contact=ContactOptions(mu=0.5))
    ride.step(0.05)
    ride.step(2.0**-10, {"wheel": 400.0})
    kinds = [event.kind for event in ride.events]
    jump = max(float(np.abs(event.after.v - event.before.v).max()) for event in ride.events)
    gain = max(event.gain for event in ride.events)
    return Finding(
        "an event 'slip', speeds jump by less than 1e-7, energy gained below 1e-12 J",
        f"events {', '.join(kinds)}; speeds jump by {jump:.3g}, energy gained {gain:.3g} J",
        "slip" in kinds and jump < 1e-7 and gain < 1e-12,
    )


def mass_units() -> Finding:
    """The unit of mass changes nothing on a terrain."""
    return _compare_units([Units(mass=10.0**power) for power in range(-6, 7)])


def all_units() -> Finding:
    """Units of mass (1e-6 to 1e6), length (1e-3 to 1e3) and time (1e-2 to 1e2) change nothing."""
    return _compare_units(
        [Units(10.0**k, 10.0 ** ((5 * k) % 7 - 3), 10.0 ** ((3 * k) % 5 - 2)) for k in range(-6, 7)]
    )


def _compare_units(systems: list[Units]) -> Finding:
    """Compare runs of a bicycle in several systems of units."""
    wrong, errors, count = 0, 0, 0
    for name in SCALED:
        reference = record(_run_scaled(name, Units()))
        for units in systems:
            count += 1
            try:
                found = record(_run_scaled(name, units))
            except DraisineError:
                errors += 1
                continue
            wanted = units.record(reference)
            away, _ = deviation(wanted, same_sign(wanted, found))
            wrong += not away <= 1e-6
    return Finding(
        f"{count} of {count} scaled bicycles move alike",
        f"{wrong} move differently, {errors} stop with errors",
        not wrong and not errors,
    )


SCALED = ("level", "drop", "kerb", "slip", "bounce")
"""Runs in scaled units."""


def _run_scaled(name: str, units: Units) -> Any:
    """Return a run of a bicycle in other units."""
    length, speed = units.length, units.length / units.time
    falls = {"mode": {"rear": "open", "front": "open"}, "z": 0.1 * length, "Vx": 3.0 * speed}
    usual = ContactOptions(margin=ContactOptions().margin * length)
    newton = replace(usual, impact="newton", restitution={"normal": 0.5})
    rolls = {"forward_speed": 4.6 * speed}
    start, ground, contact, until = {
        "level": (rolls | {"lean_rate": 0.3 / units.time}, plane(), usual, 0.4),
        "drop": (falls, plane(), usual, 0.4),
        "kerb": ({"forward_speed": 3.0 * speed}, kerb(1.5 * length, -0.05 * length), usual, 0.4),
        "slip": (rolls | {"lean": 0.1}, plane(), replace(usual, mu=0.05), 0.3),
        "bounce": (falls, plane(), newton, 0.3),
    }[name]
    bicycle = draisine.compile("whipple")
    scaled = bicycle.with_parameters(
        **{n: units.factor(bicycle.meanings[n][0]) * x for n, x in bicycle.parameters.items()}
    )
    end = until * units.time
    return draisine.simulate(
        scaled,
        draisine.state(scaled, **start),
        end,
        terrain=ground,
        contact=contact,
        numerics=Numerics(dt=end / 8),
    )


def starts_inside() -> Finding:
    """A start inside the ground is refused, any other one runs."""
    bicycle = draisine.compile("whipple", crown=0.02)
    count, believed, refused = 0, 0, 0
    for ground, lift, depth in _grounds_to_start_in():
        if depth < 1e-6:
            continue
        count += 1
        state = draisine.state(bicycle, forward_speed=2.0)
        state = draisine.State(state.q, state.p + [0.0, 0.0, lift], state.r, state.v)
        try:
            run = _run(bicycle, state, 0.1, ground)
        except DraisineError as error:
            refused += "start" in str(error)
            continue
        believed += run.validity.sound
    return Finding(
        f"{count} of {count} starts inside the ground are refused",
        f"{refused} are refused, {believed} run as valid",
        refused == count,
    )


HUBS = ((0.0, 0.3), (1.02, 0.35))
"""Places x and heights of the benchmark's hubs; the heights are the radii."""


def _grounds_to_start_in() -> Iterator[tuple[Any, float, float]]:
    """Yield grounds, by how much the bicycle is lifted, and how deep it is inside the ground, in m."""
    for rise in (0.02, 0.05, 0.1, 0.2, 0.35, 0.7, 1.5):
        for at in (0.4, 0.6, 0.75, 0.9, 1.02, 1.1, 1.2, 1.3, 1.36):
            depths = [r - math.hypot(max(at - x, 0.0), max(r - rise, 0.0)) for x, r in HUBS]
            yield kerb(at, rise), 0.0, max(depths)
    for depth in (1e-6, 1e-4, 0.01, 0.1, 0.3, 0.6, 0.71, 1.5):
        yield plane(), -depth, depth
    for angle in (0.2, 0.6, 1.2, 1.5):
        for at in (0.7, 0.9, 1.05, 1.2):
            depths = [r - ((at - x) * math.sin(angle) + r * math.cos(angle)) for x, r in HUBS]
            yield corner(angle, at), 0.0, max(depths)


def train(
    *, mass: float = 50.0, moment: float = 4.0, radius: float = 0.1, wheels: int = 14
) -> Model:
    """A stiff wagon on many wheels."""
    hubs = {f"wheel{k}": (0.3 * (k // 2), 0.3 * (-1) ** k, radius) for k in range(wheels)}
    axle = (0.0, 1.0, 0.0)
    rim = inertia(0.003, 0.005, 0.003)
    middle = 0.15 * (wheels // 2 - 1)
    return Model(
        bodies=[
            Body("wagon", mass, (middle, 0.0, 2 * radius), inertia(moment, moment, moment)),
            *(Body(name, 1.0, hub, rim) for name, hub in hubs.items()),
        ],
        joints=[Revolute(name, "wagon", name, axle, hub) for name, hub in hubs.items()],
        contacts=[Wheel(name, name, hub, axle, radius) for name, hub in hubs.items()],
        outputs=[forward_speed("wagon", (0.0, 0.0, radius), "velocity of the rear axle")],
    )


MEMORY = 4 << 30
"""Bytes that a run on many wheels may take."""


def many_wheels() -> Finding:
    """Fourteen wheels roll on a terrain, in a process that may take 4 GiB."""
    command = [sys.executable, str(Path(__file__)), "--train"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    )
    seen = (done.stdout + done.stderr).strip().splitlines()
    last = seen[-1] if seen else f"exit code {done.returncode}"
    return Finding("14 wheels roll: completed", last[:160], last == "completed")


def _run_train() -> None:
    """Run the wagon on fourteen wheels."""
    system = draisine.compile(train)
    start = draisine.state(system, forward_speed=1.0)
    contact = ContactOptions(mu=0.8)
    print(draisine.simulate(system, start, 0.05, terrain=plane(), contact=contact).outcome)


def stepper_pace() -> Finding:
    """A stepper on a terrain takes as long for its thousandth step as for its first ones."""
    bicycle = draisine.compile("whipple")
    start = draisine.state(bicycle, forward_speed=5.0)
    ride = draisine.Stepper(bicycle, start, terrain=plane(), numerics=Numerics(dt=1e-3))
    ride.step(1e-3)
    paces = []
    for _ in range(10):
        begun = time.process_time()
        for _ in range(500):
            ride.step(1e-3)
        paces.append((time.process_time() - begun) / 500)
    ratio = paces[-1] / paces[0]
    return Finding(
        "the 5,000th step takes at most 1.3 times as long as the first ones",
        f"{paces[0] * 1e6:.0f} us, then {paces[-1] * 1e6:.0f} us: {ratio:.2f} times as long",
        ratio < 1.3,
    )


def _run(system: Any, state: Any, until: float, ground: Any) -> Any:
    return draisine.simulate(system, state, until, terrain=ground, numerics=Numerics(dt=0.01))


def _throw_car(speeds: dict[str, float], friction: float, until: float) -> Any:
    car = draisine.compile("car")
    sliding = {wheel.name: "sliding" for wheel in car.model.wheels}
    contact = ContactOptions(mu=friction, events=100)
    return draisine.simulate(
        car,
        draisine.state(car, mode=sliding, **speeds),
        until,
        terrain=plane(),
        contact=contact,
        numerics=Numerics(dt=0.01),
    )


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:200]


ENGINE: dict[str, tuple[str, Callable[[], Finding]]] = {
    "ball_on_bar": ("A3", ball_on_bar),
    "car_slides": ("A6", car_slides),
    "car_loads": ("A6", car_loads),
    "slip_onset": ("A6", slip_onset),
    "mass_units": ("A7", mass_units),
    "all_units": ("A7", all_units),
    "starts_inside": ("A10", starts_inside),
    "many_wheels": ("A15", many_wheels),
    "stepper_pace": ("A15", stepper_pace),
}
"""The known errors of the contact engine, by name, with the item that lists them."""


def engine(names: list[str]) -> int:
    """Print what each known error of the engine expects and shows; return how many are left."""
    left = 0
    for name in names or list(ENGINE):
        item, case = ENGINE[name]
        found = case()
        left += not found.agrees
        print(f"{name} ({item}): {'agrees' if found.agrees else 'DIFFERS'}")
        print(f"  expected: {found.expected}\n  seen:     {found.seen}", flush=True)
    print(f"{left} of {len(names or ENGINE)} cases differ")
    return left


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--structures", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=list(INVARIANTS))
    parser.add_argument("--log", type=Path)
    parser.add_argument("--share", type=read_share, default=(1, 1), metavar="K/N")
    parser.add_argument("--reproduce", metavar="LAW: COMBINATION")
    parser.add_argument("--engine", nargs="*", choices=list(ENGINE), metavar="NAME")
    parser.add_argument("--train", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args(given)
    warnings.simplefilter("ignore")  # unusual machines warn
    if asked.train:
        _run_train()
        return 0
    if asked.engine is not None:
        return int(engine(asked.engine) > 0)
    if asked.reproduce:
        found = reproduce(asked.reproduce)
        print(f"{found.kind}: {found.text}")
        return int(found.kind in BAD)
    return int(campaign(asked) > 0)


if __name__ == "__main__":
    sys.exit(main())
