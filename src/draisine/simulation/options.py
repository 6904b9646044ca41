"""What a run is asked to do, and how: small frozen records that check themselves."""

import inspect
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, fields
from functools import lru_cache
from types import FunctionType
from typing import Any, Literal

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.algebra.trace import Graph, evaluate, tangent
from draisine.errors import (
    ConfigurationError,
    ModelError,
    ParameterError,
    did_you_mean,
    expect,
    expect_known,
)
from draisine.mechanics.readings import law_start
from draisine.model.contact import Contact
from draisine.registry import find, own_plugs
from draisine.system.state import State, angles_of, misfit, misshapen
from draisine.system.system import System
from draisine.terrain import Terrain

JointAtImpact = Literal["free", "held"]
"""What a prescribed joint does while a machine changes its grip; see `regrip`."""

Grips = Mapping[str, str]
"""The statuses of contacts by name, of those that differ from what they are by default."""

Stops = Mapping[str, tuple[float, float]]
"""The ends of joints, (lower, upper), by name."""

RESOLUTIONS = ("complete", "reduced")
"""Ways to the speeds after an impact."""

COEFFICIENTS = {"normal": (0.0, 1.0), "tangential": (-1.0, 1.0)}
"""Between which numbers coefficients of restitution lie."""

NO_FRICTION = 1e-100
"""Friction that is none: forces below it are lost in rounding."""

SOLVERS = ("auto", "events", "time_stepping")
"""Solvers of contacts by name."""


Progress = bool | Callable[[float], None] | None
"""Whether work tells how far it is: to a function, as a fraction of the whole, or (True) by a bar."""


def report_progress(
    progress: Progress, text: str, count: int | None = None
) -> AbstractContextManager[Callable[[float], None] | None]:
    """Give what work tells its progress to: nothing, a function, or a bar on stderr that appears
    after a second where that is a terminal or a notebook, with the time left and, of a `count` of
    runs, how many are done in a second.
    """
    return _bar(text, count) if progress is True else nullcontext(progress or None)


@contextmanager
def _bar(text: str, count: int | None) -> Iterator[Callable[[float], None]]:
    from threading import Timer

    from rich.console import Console
    from rich.progress import Progress as ProgressBar
    from rich.progress import TextColumn

    console = Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):
        yield lambda fraction: None
        return
    columns = ProgressBar.get_default_columns()
    rate = (TextColumn("{task.fields[rate]}"),) if count is not None else ()
    bar = ProgressBar(*columns, *rate, console=console, transient=True)
    task, begun = bar.add_task(text, total=None, rate=""), time.perf_counter()

    def tell(fraction: float) -> None:
        pace = fraction * (count or 0) / max(time.perf_counter() - begun, 1e-9)
        bar.update(task, total=1.0, completed=fraction, rate=f"{pace:,.0f} runs/s")

    late = Timer(1.0, bar.start)
    late.start()
    try:
        yield tell
    finally:
        late.cancel()
        late.join()
        bar.stop()


def _check_number(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise ParameterError(f"{name} = {value!r} is not a number.")


NEEDS = {"integrator": "advance", "formulation": "FORMULATION", "impact": "__call__"}
"""What plugs that are given as things must have."""


def _check_plug(kind: str, which: Any) -> None:
    if isinstance(which, str) and which in own_plugs(kind):
        return
    if not hasattr(find(kind, which), NEEDS[kind]):
        raise ParameterError(
            f"{kind} = {which!r:.80} is none; `draisine list {kind}s` tells names."
        )


def _check_table(name: str, value: Any, example: str) -> None:
    if not isinstance(value, Mapping):
        raise ParameterError(f"{name} = {value!r:.80}: give a table, as {example}.")


@dataclass(frozen=True)
class GripSchedule:
    """Contacts that follow the modes of `turns` one after the other, over and over, each for `pause`
    seconds; `joint` tells what prescribed joints do at a change.
    """

    turns: Sequence[Grips]
    pause: float
    joint: JointAtImpact

    def __post_init__(self) -> None:
        _check_number("pause", self.pause)
        if not (math.isfinite(self.pause) and self.pause > 0):
            raise ParameterError(f"pause = {self.pause} s is not a positive time.")
        if not self.turns:
            raise ParameterError("turns: a schedule of grips needs at least one mode.")
        check_joint(self.joint)


def check_joint(joint: str) -> None:
    """Raise unless a word says what a prescribed joint does at an impact."""
    if joint not in ("free", "held"):
        raise ParameterError(f"joint = {joint!r}: at an impact it is 'free' or 'held'.")


def default_impact(mu: float | Mapping[str, float]) -> str:
    """Return the impact model where none is named: the plastic one, with friction Moreau's."""
    numbers = mu.values() if isinstance(mu, Mapping) else [mu]
    return "moreau" if any(0.0 < x < math.inf for x in numbers) else "plastic"


@dataclass(frozen=True)
class ContactOptions:
    """What contacts do.

    Without terrain, `mode` says which contacts are open, slide or hold ("open", "slides", ...; all
    hold by default), or is a `GripSchedule`. On a terrain wheels touch and leave by themselves:
    `mu` is the friction (infinite: ideal rolling) for all wheels, by wheel, or by pair as in
    `{"rear": 0.8, "rear/ice": 0.05}`; casters slide without, where they are not named. `impact` names
    the impact model ("plastic" by default, with friction "moreau"), `restitution` gives its
    coefficients, `resolution` is "complete" or "reduced"; `stops` are the ends of joints, (lower,
    upper) by name, which the impact model holds for too. Bounces slower than `rest_speed` (m/s) are
    plastic. A lean beyond `fall` ends the run, and so does a frame that turns over; infinite,
    nothing does. By default it is 80 degrees; a wheel alone goes on until it lies flat, and what is round
    for ever. Features nearer than `margin` (m) are watched, half as far beside wheels' ways and
    further ahead (on fine meshes less is taken). After more than `events` events within a second a run
    continues in time steps, or stops if `solver` is "events".

    `solver` selects how contacts are solved: "events" locates and resolves each event, "time_stepping"
    takes steps of first order with impulses (Moreau and Jean), "auto" (default) locates events as long
    as that makes progress and takes time steps otherwise, and a `Compliant` ground has springs. `step`
    is the length of time steps (s), by default chosen by wheel size, gravity and speed.

    >>> ContactOptions(mu=0.8, restitution={"normal": 0.3}).impact_name
    'moreau'
    """

    mode: Mapping[str, str] | GripSchedule | None = None
    mu: float | Mapping[str, float] = math.inf
    impact: Any = None
    restitution: Mapping[str, float] = field(default_factory=dict)
    resolution: str = "complete"
    solver: Any = "auto"
    step: float | None = None
    stops: Stops = field(default_factory=dict)
    rest_speed: float = 0.0
    fall: float | None = None
    events: int = 1000
    margin: float = 0.5

    def __post_init__(self) -> None:
        if self.mode is not None and not isinstance(self.mode, Mapping | GripSchedule):
            raise ParameterError(f"mode = {self.mode!r}: give statuses by contact.")
        for name, mu in (self.mu if isinstance(self.mu, Mapping) else {"": self.mu}).items():
            told = f"mu of {name!r}" if name else "mu"
            _check_number(told, mu)
            if not mu >= 0:
                raise ParameterError(f"{told} is {mu}; friction is not negative.")
        expect_known("resolution", self.resolution, RESOLUTIONS)
        named = isinstance(self.solver, str) and self.solver in SOLVERS
        if not named and not hasattr(self.solver, "compliance"):
            told = did_you_mean(str(self.solver), SOLVERS)
            raise ParameterError(f"unknown solver {self.solver!r:.80}. {told}")
        if self.step is not None:
            _check_number("step", self.step)
            if not (math.isfinite(self.step) and self.step > 0):
                raise ParameterError(f"step = {self.step} s is not a positive time.")
            if self.solver == "events":
                raise ParameterError(
                    f"step = {self.step} s is the length of time steps, which the solver 'events' "
                    "does not take; leave it out."
                )
        _check_plug("impact", self.impact_name)
        self._check_friction()
        self._check_resolution()
        _check_table("restitution", self.restitution, '{"normal": 0.5}')
        if self.restitution:
            self._check_restitution()
        _check_table("stops", self.stops, '{"steer": (-1.2, 1.2)}')
        for name, least in {"rest_speed": 0.0, "fall": 0.0, "margin": 1e-6, "events": 0}.items():
            value = getattr(self, name)
            if value is None:
                continue
            _check_number(name, value)
            if not value >= least or (name != "fall" and not math.isfinite(value)):
                raise ParameterError(f"{name} = {value}: take a number not below {least:g}.")
        for name, ends in self.stops.items():
            pair = np.shape(ends) == (2,) and np.asarray(ends).dtype.kind in "iuf"
            if not pair or not ends[0] < ends[1]:
                raise ParameterError(f"stops of {name!r}: {ends!r:.80} is no (lower, upper).")

    def _check_friction(self) -> None:
        """Raise where the impact model lets contacts roll at once, and friction has a limit."""
        if self.impact_name in ("newton", "plastic") and default_impact(self.mu) == "moreau":
            raise ParameterError(
                f"impact = {self.impact_name!r} knows no friction with a limit, as mu = {self.mu} is one: "
                "take impact = 'moreau' (or none: it is that by default then), or leave mu out."
            )

    def _check_resolution(self) -> None:
        """Raise if the impact model has one resolution only."""
        own = isinstance(self.impact_name, str) and self.impact_name in own_plugs("impact")
        if self.resolution != "complete" and own and self.impact_name not in ("newton", "plastic"):
            raise ParameterError(
                f"resolution = {self.resolution!r} goes with the impact models 'newton' and 'plastic', "
                f"not with {self.impact_name!r}; leave it out."
            )

    def _check_restitution(self) -> None:
        """Raise where the impact model knows no coefficient of that name."""
        known = inspect.signature(self.model).parameters.values()
        own = {p.name for p in known if p.kind is p.KEYWORD_ONLY}
        for name, value in self.restitution.items():
            expect_known(f"restitution: {self.impact_name!r} knows no", name, own)
            _check_number(f"restitution: {name}", value)
            low, high = COEFFICIENTS.get(name, (-math.inf, math.inf))
            if not low <= value <= high:
                raise ParameterError(
                    f"restitution: {name} = {value}; take it from [{low:g}, {high:g}]."
                )

    @property
    def model(self) -> Callable[..., Any]:
        """The impact model."""
        return find("impact", self.impact_name)

    @property
    def impact_name(self) -> Any:
        """The impact model, as it was given or by default."""
        return default_impact(self.mu) if self.impact is None else self.impact

    def friction(self, wheel: Contact, feature: str) -> float:
        """Return mu of a wheel on a feature: that of the pair, or the wheel's; none of what slides, where
        it is not named.
        """
        named, mu = (self.mu, math.inf) if isinstance(self.mu, Mapping) else ({}, self.mu)
        mu = 0.0 if wheel.slides else mu
        mu = named.get(f"{wheel.name}/{feature}", named.get(wheel.name, mu))
        return float(mu) if mu > NO_FRICTION else 0.0


@dataclass(frozen=True)
class Numerics:
    """How the equations are solved.

    `dt` (s) is the step of fixed-step integrators and the spacing of samples of adaptive ones;
    `rtol` and `atol` are the tolerances of these. The integrator stops and starts afresh at
    `breakpoints`, where laws may jump (they are taken as continuous from the right). `drift` says
    what keeps the contacts closed: "project" (one Newton step per step), "none", or the epsilon of
    the thesis's correction (2.41), in seconds: stiff, so that explicit methods need steps below
    about epsilon / 8. `formulation` other than "projected" runs in plain Python, slowly, to hold
    independent derivations against each other. The run begins at the time `start`. `simulate_many`
    shares its work out over `threads`, by default all there are, and can compute in "single"
    `precision`.

    >>> Numerics(integrator="rk4", dt=0.005).drift
    'project'
    """

    integrator: Any = "dop853"
    formulation: str = "projected"
    dt: float = 0.01
    rtol: float = 1e-10
    atol: float = 1e-12
    drift: str | float = "project"
    breakpoints: tuple[float, ...] = ()
    start: float = 0.0
    threads: int | None = None
    precision: Literal["double", "single"] = "double"

    def __post_init__(self) -> None:
        _check_plug("integrator", self.integrator)
        _check_plug("formulation", self.formulation)
        for name in ("dt", "rtol", "atol", "start"):
            _check_number(name, getattr(self, name))
        if not (self.threads is None or (isinstance(self.threads, int) and self.threads >= 1)):
            raise ParameterError(f"threads = {self.threads}: take a whole number from 1 on.")
        if self.precision not in ("double", "single"):
            raise ParameterError(f"precision = {self.precision!r}: take 'double' or 'single'.")
        if not math.isfinite(self.start):
            raise ParameterError(f"start = {self.start} s is not a finite time.")
        if not (math.isfinite(self.dt) and self.dt > 0):
            raise ParameterError(f"dt = {self.dt} s is not a positive time.")
        if not (self.rtol >= 0 and self.atol >= 0 and 0 < self.rtol + self.atol < math.inf):
            raise ParameterError(
                f"rtol = {self.rtol} and atol = {self.atol}: tolerances are positive."
            )
        try:
            stops = tuple(map(float, () if isinstance(self.breakpoints, str) else self.breakpoints))
        except (OverflowError, TypeError, ValueError):
            stops = (math.nan,)
        if isinstance(self.breakpoints, str) or not all(map(math.isfinite, stops)):
            raise ParameterError(f"breakpoints {self.breakpoints!r:.80} must be finite times.")
        object.__setattr__(self, "breakpoints", stops)
        if isinstance(self.drift, str):
            if self.drift not in ("project", "none"):
                raise ParameterError(
                    f"drift = {self.drift!r}: take 'project', 'none', or an epsilon in s."
                )
            return
        _check_number("drift", self.drift)
        if not (math.isfinite(self.drift) and self.drift > 0):
            raise ParameterError(f"drift = {self.drift}: epsilon must be a positive time.")

    @property
    def method(self) -> Any:
        """The integrator."""
        return find("integrator", self.integrator)


@lru_cache(maxsize=64)
def _check_motion(name: str, motion: Callable[[Any], Any], start: float, end: float) -> None:
    """Raise where the rates that a joint's motion tells are not its derivatives, at most of some
    times: at single ones it may jump.
    """
    told, wrong = list(motion(Graph().symbol("t"))), []
    exact = [*told, *tangent(told[:2], {"t": 1.0})]
    for part in (0.03, 0.21, 0.43, 0.68, 0.91):
        t = start + part * (end - start)
        found = np.array(evaluate(exact, {"t": t}), dtype=float)
        if not np.all(np.abs(found[3:] - found[1:3]) <= 1e-9 * (1.0 + np.abs(found).max())):
            wrong.append((t, found[3:], found[1:3]))
    if len(wrong) > 2:
        t, rates, given = wrong[0]
        raise ModelError(
            f"joint {name!r}: at {t:.4g} s its motion tells the rates {given[0]:.9g} and "
            f"{given[1]:.9g}, the derivatives are {rates[0]:.9g} and {rates[1]:.9g}; a motion returns "
            "(r, rdot, rddot)."
        )


def check_turn(state: State) -> None:
    """Raise where a state turns by no unit quaternion."""
    q = state.q
    if q.shape == (4,) and not abs(float(q.dot(q)) - 1.0) < 1e-6:
        raise ConfigurationError(
            f"the state's q = {q.tolist()} is no unit quaternion; draisine.state() builds a state."
        )


CONTACT, NUMERICS = ContactOptions(), Numerics()
"""The options by default."""


@dataclass(frozen=True)
class Task:
    """All that decides a run."""

    system: System
    state: State
    until: float
    terrain: Terrain | None
    law: Any
    inputs: Mapping[str, float] | None
    contact: ContactOptions
    numerics: Numerics
    progress: Callable[[float], None] | None

    def __post_init__(self) -> None:
        _check_number("until", self.until)
        expect("contact", self.contact, ContactOptions, "ContactOptions(mu=0.8) makes one")
        expect("numerics", self.numerics, Numerics, 'Numerics(integrator="rk4") makes one')
        if self.terrain is not None:
            expect("terrain", self.terrain, Terrain, "draisine.terrain.plane() makes one")
        check_turn(self.state)
        self._check_friction()
        start, dt = self.numerics.start, self.numerics.dt
        if not (math.isfinite(self.until) and self.until > start):
            raise ParameterError(
                f"until = {self.until} s does not lie after the start at {start} s."
            )
        if (self.until - start) / dt > 1e8:
            raise ParameterError(f"dt = {dt} s makes more than 1e8 samples; take a larger one.")
        for wheel in self.system.model.wheels if self.terrain is None else ():
            if wheel.flats:
                raise ModelError(
                    f"wheel {wheel.name!r} may touch {wheel.flats[0].body!r}, and leave it: that needs "
                    "a run on a terrain, terrain=plane() for level ground."
                )
        for joint in self.system.model.joints:
            if joint.motion is not None:
                same = isinstance(joint.motion, FunctionType)  # an object may change
                check = _check_motion if same else _check_motion.__wrapped__
                check(joint.name, joint.motion, start, min(self.until, start + 10.0))

    def _check_friction(self) -> None:
        """Raise where friction is that of no wheel."""
        mu = self.contact.mu
        if isinstance(mu, Mapping):
            wheels = [wheel.name for wheel in self.system.model.wheels]
            for name in mu:
                if name.partition("/")[0] not in wheels:
                    raise ParameterError(f"mu: no wheel {name!r}. {did_you_mean(name, wheels)}")

    @property
    def mode(self) -> Mapping[str, str] | None:
        """The statuses of the contacts, where they stay the same."""
        assert not isinstance(self.contact.mode, GripSchedule)
        return self.contact.mode

    @property
    def jumps(self) -> tuple[float, ...]:
        """The times at which inputs may jump."""
        return (*self.numerics.breakpoints, *getattr(self.law, "breakpoints", ()))

    @property
    def edges(self) -> list[float]:
        """Where smooth stretches begin and end: the start, the jumps between, and the end."""
        start, until = self.numerics.start, self.until
        apart = 1e-12 * max(1.0, abs(start), abs(until))
        edges = [start]
        for stop in sorted({float(b) for b in self.jumps if b < until - apart}):
            if stop > edges[-1] + apart:
                edges.append(stop)
        return [*edges, until]

    def law_start(self, states: int) -> Floats:
        """Return the states z at the start."""
        return memory_start(self.system, self.state, self.law, states)


def memory_start(system: System, state: State, law: Any, states: int) -> Floats:
    """Return the states z at the start: those of the force elements, then those of the law."""
    if np.size(state.element_state) and misshapen(system, state):
        raise misfit(system, state)
    elements = state.elements(system.model.memory)
    if law is None and not states:
        return elements
    x, y = map(float, state.p[:2])
    z = law_start(law, x, y, angles_of(state.q)["yaw"])
    if z.shape != (states,):
        raise ParameterError(f"law: its start has shape {z.shape}, its states are {states}.")
    return np.concatenate([elements, z])


def misplaced_option(verb: str, given: Mapping[str, Any]) -> ParameterError:
    """Return the error that tells where a keyword goes that a verb has not itself.

    >>> misplaced_option("simulate", {"mu": 0.8})
    ParameterError("simulate has no argument 'mu'; write contact=draisine.ContactOptions(mu=0.8).")
    """
    name, value = next(iter(given.items()))
    for argument, kind in {"contact": ContactOptions, "numerics": Numerics}.items():
        if name in {field.name for field in fields(kind)}:
            way = f"write {argument}=draisine.{kind.__name__}({name}={value!r:.40})."
            return ParameterError(f"{verb} has no argument {name!r}; {way}")
    known = ["terrain", "law", "inputs", "contact", "numerics", "strict", "progress"]
    return ParameterError(f"{verb} has no argument {name!r}. {did_you_mean(name, known)}")
