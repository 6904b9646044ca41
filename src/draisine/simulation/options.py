"""Options of a run, as frozen records that check their values.

`ContactOptions` describes friction, impacts and the contact solver, `Numerics` the integrator and its
tolerances, and `Task` contains all arguments of `simulate`.
"""

import inspect
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, fields, replace
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
from draisine.registry import find, shipped_plugins
from draisine.system.state import State, angles_of, find_wrong_lengths, make_state_error
from draisine.system.system import System
from draisine.terrain import Terrain
from draisine.terrain.division import PART

JointAtImpact = Literal["free", "held"]
"""Behaviour of prescribed joints at a change of grips: "held" by their motors, or "free", see `regrip`."""

Grips = Mapping[str, str]
"""Statuses of contacts by name; contacts that are not named have their default status."""

Stops = Mapping[str, tuple[float, float]]
"""Limits of joints (lower, upper), rad or m, by name."""

RESOLUTIONS = ("complete", "reduced")
"""Names of the methods that compute the speeds after an impact.

"complete": the impulses are unknowns. "reduced": projection onto the speeds that satisfy the contact
constraints.
"""

RESTITUTION_RANGES = {"normal": (0.0, 1.0), "tangential": (-1.0, 1.0)}
"""Allowed range (lowest, highest) of each coefficient of restitution, by name; others are unlimited."""

NO_FRICTION = 1e-100
"""Friction coefficient below which a contact is frictionless: such friction forces vanish by rounding."""

SOLVERS = ("auto", "events", "time_stepping")
"""Names of the contact solvers on a terrain."""


Progress = bool | Callable[[float], None] | None
"""Report of the progress: True for a progress bar, or a function of the finished fraction (0 to 1)."""


def report_progress(
    progress: Progress, text: str, count: int | None = None
) -> AbstractContextManager[Callable[[float], None] | None]:
    """Return a context that yields the function of the finished fraction (0 to 1), or None without a report.

    A progress bar with the given text appears after a second if stderr is a terminal or a notebook. It shows
    the remaining time and, if `count` runs are computed, the number of runs per second.
    """
    return _bar(text, count) if progress is True else nullcontext(progress or None)


@contextmanager
def _bar(text: str, count: int | None) -> Iterator[Callable[[float], None]]:
    """Show a progress bar with a text; yield the function that sets the finished fraction (0 to 1)."""
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
    task = bar.add_task(text, total=None, rate="")
    begin = time.perf_counter()

    def update(fraction: float) -> None:
        pace = fraction * (count or 0) / max(time.perf_counter() - begin, 1e-9)
        bar.update(task, total=1.0, completed=fraction, rate=f"{pace:,.0f} runs/s")

    # Short work needs no bar: it starts after a second.
    starter = Timer(1.0, bar.start)
    starter.start()
    try:
        yield update
    finally:
        starter.cancel()
        starter.join()
        bar.stop()


def _check_number(name: str, value: Any) -> None:
    """Raise ParameterError if the value of an option is not a number."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise ParameterError(f"{name} = {value!r} is not a number.")


PLUG_ATTRIBUTES = {"integrator": "advance", "formulation": "FORMULATION", "impact": "__call__"}
"""Required attribute of an integrator, a formulation or an impact model that is passed as an object."""


def _check_plug(kind: str, plug: Any) -> None:
    """Raise ParameterError if an option is no valid plug (integrator, formulation or impact model).

    Valid are the name of a plug, and an object with the attribute in `PLUG_ATTRIBUTES`.
    """
    if isinstance(plug, str) and plug in shipped_plugins(kind):
        return
    if not hasattr(find(kind, plug), PLUG_ATTRIBUTES[kind]):
        raise ParameterError(f"Unknown {kind} {plug!r:.80}. See `draisine list {kind}s`.")


def _check_table(name: str, value: Any, example: str) -> None:
    """Raise ParameterError if the value of the option `name` is not a mapping; the message has an example."""
    if not isinstance(value, Mapping):
        raise ParameterError(f"{name} = {value!r:.80} is not a table. Example: {example}.")


@dataclass(frozen=True)
class GripSchedule:
    """Grips that change periodically at prescribed times."""

    turns: Sequence[
        Grips
    ]  # contact modes in order of time; after the last one the first one follows
    pause: float  # s, duration of each contact mode
    joint: JointAtImpact  # behaviour of prescribed joints at a change: "free" or "held"

    def __post_init__(self) -> None:
        _check_number("pause", self.pause)
        if not (math.isfinite(self.pause) and self.pause > 0):
            raise ParameterError(f"pause = {self.pause} s is not a positive time.")
        if not self.turns:
            raise ParameterError("turns: a schedule of grips needs at least one mode.")
        check_joint(self.joint)


def check_joint(joint: str) -> None:
    """Raise ParameterError if the behaviour of prescribed joints at an impact is unknown."""
    if joint not in ("free", "held"):
        raise ParameterError(f"joint = {joint!r}: at an impact it is 'free' or 'held'.")


def default_impact(mu: float | Mapping[str, float]) -> str:
    """Return the name of the default impact model: "plastic", or "moreau" with finite friction."""
    numbers = mu.values() if isinstance(mu, Mapping) else [mu]
    return "moreau" if any(0.0 < x < math.inf for x in numbers) else "plastic"


@dataclass(frozen=True)
class ContactOptions:
    """Options of contacts.

    Parameters
    ----------
    mode
        Without a terrain: the status of contacts by name ("open", "slides", ...; all others are closed), or a
        `GripSchedule`. On a terrain contacts open and close by themselves.
    mu
        Friction coefficient: one for all wheels, or values by wheel, or by wheel and ground feature, such as
        `{"rear": 0.8, "rear/ice": 0.05}`. Infinite friction (default) is ideal rolling. Casters slide without
        friction unless the mapping names them.
    impact
        Impact model: by default "plastic", or "moreau" with finite friction.
    restitution
        Coefficients of the impact model by name.
    resolution
        Method for the speeds after an impact: "complete" (impulses as unknowns) or "reduced" (projection).
    solver
        "events" locates and resolves each event. "time_stepping" takes steps of first order with impulses
        (Moreau and Jean). "auto" (default) locates events, and takes time steps if events become too frequent
        or cannot be resolved. A `Compliant` object is ground of springs and dampers.
    step
        Length of time steps, s; by default it follows from wheel size, gravity and speed.
    stops
        Limits of joints, (lower, upper) by name; they replace `Joint.stops`. Impacts at them follow the
        impact model.
    rest_speed
        Approach velocity below which an impact is plastic, m/s.
    fall
        Lean angle beyond which the run ends, rad; the run also ends if the frame turns over. The default is
        80 degrees for a vehicle, 89.9 degrees for a single wheel (it lies flat), and no limit for a round
        body. If infinite, no fall ends the run.
    events
        Largest number of events within a second. Beyond it a run continues in time steps, or stops if
        `solver` is "events".
    margin
        Search distance of ground features around the wheels, m. The search covers half of this distance
        beside the paths of the wheels, more ahead of them, and less on fine meshes.

    Examples
    --------
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
            raise ParameterError(
                f"mode = {self.mode!r}: pass a table of statuses by contact, such as {{'front': 'open'}}."
            )
        for name, mu in (self.mu if isinstance(self.mu, Mapping) else {"": self.mu}).items():
            label = f"mu of {name!r}" if name else "mu"
            _check_number(label, mu)
            if not mu >= 0:
                raise ParameterError(f"{label} is {mu}; friction coefficients are not negative.")
        expect_known("resolution", self.resolution, RESOLUTIONS)
        is_known = isinstance(self.solver, str) and self.solver in SOLVERS
        if not is_known and not hasattr(self.solver, "compliance"):
            hint = did_you_mean(str(self.solver), SOLVERS)
            raise ParameterError(f"Unknown solver {self.solver!r:.80}. {hint}")
        if self.step is not None:
            _check_number("step", self.step)
            if not (math.isfinite(self.step) and self.step > 0):
                raise ParameterError(f"step = {self.step} s is not a positive time.")
            if self.solver == "events":
                raise ParameterError(
                    f"step = {self.step} s is the length of time steps; the solver 'events' has none. "
                    "Leave it out."
                )
        _check_plug("impact", self.impact_name)
        self._check_friction()
        self._check_resolution()
        _check_table("restitution", self.restitution, '{"normal": 0.5}')
        if self.restitution:
            self._check_restitution()
        _check_table("stops", self.stops, '{"steer": (-1.2, 1.2)}')
        minima = {"rest_speed": 0.0, "fall": 0.0, "margin": 1e-6, "events": 0}
        for name, minimum in minima.items():
            value = getattr(self, name)
            if value is None:
                continue
            _check_number(name, value)
            if not value >= minimum or (name != "fall" and not math.isfinite(value)):
                raise ParameterError(
                    f"{name} = {value} must be a finite number of at least {minimum:g}."
                )
        for name, limits in self.stops.items():
            is_pair = np.shape(limits) == (2,) and np.asarray(limits).dtype.kind in "iuf"
            if not is_pair or not limits[0] < limits[1]:
                raise ParameterError(
                    f"stops of {name!r}: {limits!r:.80} must be (lower, upper) with lower < upper."
                )

    def _check_friction(self) -> None:
        """Raise ParameterError if mu is finite and the impact model has no Coulomb friction."""
        if self.impact_name in ("newton", "plastic") and default_impact(self.mu) == "moreau":
            raise ParameterError(
                f"impact = {self.impact_name!r} does not include finite friction (mu = {self.mu}). Use "
                "impact='moreau', which is the default with friction, or leave mu out."
            )

    def _check_resolution(self) -> None:
        """Raise ParameterError if `resolution` is set for an impact model with a single resolution method."""
        model = self.impact_name
        is_shipped = isinstance(model, str) and model in shipped_plugins("impact")
        if self.resolution != "complete" and is_shipped and model not in ("newton", "plastic"):
            raise ParameterError(
                f"resolution = {self.resolution!r} applies to the impact models 'newton' and 'plastic', "
                f"not to {model!r}; leave it out."
            )

    def _check_restitution(self) -> None:
        """Raise ParameterError if a coefficient of restitution is unknown or out of range."""
        parameters = inspect.signature(self.model).parameters.values()
        coefficients = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
        for name, value in self.restitution.items():
            expect_known(f"restitution: {self.impact_name!r} has no", name, coefficients)
            _check_number(f"restitution: {name}", value)
            low, high = RESTITUTION_RANGES.get(name, (-math.inf, math.inf))
            if not low <= value <= high:
                raise ParameterError(
                    f"restitution: {name} = {value} must be in [{low:g}, {high:g}]."
                )

    @property
    def model(self) -> Callable[..., Any]:
        """The function of the impact model."""
        return find("impact", self.impact_name)

    @property
    def impact_name(self) -> Any:
        """The impact model as passed, or the name of the default model."""
        return default_impact(self.mu) if self.impact is None else self.impact

    def friction(self, wheel: Contact, feature: str) -> float:
        """Return the friction coefficient of a wheel on the ground feature with a name.

        The value of the pair (wheel, feature) precedes the value of the wheel, and this one the common value.
        Casters and other sliding contacts have zero friction unless `mu` names them. A part of a divided
        patch has the friction of the patch.
        """
        feature = feature.partition(PART)[0]
        by_name: Mapping[str, float] = self.mu if isinstance(self.mu, Mapping) else {}
        common = math.inf if isinstance(self.mu, Mapping) else self.mu
        default = 0.0 if wheel.slides else common
        mu = by_name.get(f"{wheel.name}/{feature}", by_name.get(wheel.name, default))
        return float(mu) if mu > NO_FRICTION else 0.0


@dataclass(frozen=True)
class Numerics:
    """Options of the solution method.

    Parameters
    ----------
    integrator
        Name of an integrator, or an integrator.
    formulation
        Name of the formulation of the equations of motion. "projected" is compiled. The others run in plain
        Python and are slow; they are independent derivations for comparison.
    dt
        Largest step of fixed-step integrators, or interval between samples of adaptive integrators, s.
    rtol, atol
        Tolerances of adaptive integrators.
    drift
        Correction of the constraint drift: "project" (one Newton step per integration step), "none", or the
        time constant epsilon (s) of the correction (2.41) of the thesis. This correction is stiff: explicit
        methods need steps below about epsilon / 8.
    breakpoints
        Times at which control laws may jump, s; the integrator restarts there. Control laws are continuous
        from the right.
    start
        Time at which the run begins, s.
    threads
        Number of threads of `simulate_many`; by default all cores.
    precision
        "double", or "single" for `simulate_many`.

    Examples
    --------
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
            raise ParameterError(f"threads = {self.threads} must be a positive integer.")
        if self.precision not in ("double", "single"):
            raise ParameterError(f"precision = {self.precision!r} must be 'double' or 'single'.")
        if not math.isfinite(self.start):
            raise ParameterError(f"start = {self.start} s is not a finite time.")
        if not (math.isfinite(self.dt) and self.dt > 0):
            raise ParameterError(f"dt = {self.dt} s is not a positive time.")
        if not (self.rtol >= 0 and self.atol >= 0 and 0 < self.rtol + self.atol < math.inf):
            raise ParameterError(
                f"rtol = {self.rtol} and atol = {self.atol} must be positive (one of them may be zero)."
            )
        try:
            times = tuple(map(float, () if isinstance(self.breakpoints, str) else self.breakpoints))
        except (OverflowError, TypeError, ValueError):
            times = (math.nan,)
        if isinstance(self.breakpoints, str) or not all(map(math.isfinite, times)):
            raise ParameterError(f"breakpoints {self.breakpoints!r:.80} must be finite times.")
        object.__setattr__(self, "breakpoints", times)
        if isinstance(self.drift, str):
            if self.drift not in ("project", "none"):
                raise ParameterError(
                    f"drift = {self.drift!r} must be 'project', 'none', or an epsilon in s."
                )
            return
        _check_number("drift", self.drift)
        if not (math.isfinite(self.drift) and self.drift > 0):
            raise ParameterError(f"drift = {self.drift} must be a positive time (s).")

    @property
    def method(self) -> Any:
        """The integrator as an object."""
        return find("integrator", self.integrator)


@lru_cache(maxsize=64)
def _check_motion(name: str, motion: Callable[[Any], Any], start: float, end: float) -> None:
    """Raise ModelError if the rates that a prescribed motion returns are not its derivatives.

    Rates and derivatives are compared at five times between start and end (s). A difference at one or two of
    them is accepted, because the motion may jump there.
    """
    returned = list(motion(Graph().symbol("t")))
    expressions = [*returned, *tangent(returned[:2], {"t": 1.0})]
    differences = []
    for fraction in (0.03, 0.21, 0.43, 0.68, 0.91):
        t = start + fraction * (end - start)
        values = np.array(evaluate(expressions, {"t": t}), dtype=float)
        rates = values[1:3]
        derivatives = values[3:]
        if not np.all(np.abs(derivatives - rates) <= 1e-9 * (1.0 + np.abs(values).max())):
            differences.append((t, derivatives, rates))
    if len(differences) > 2:
        t, derivatives, rates = differences[0]
        raise ModelError(
            f"joint {name!r}: at {t:.4g} s its motion returns the rates {rates[0]:.9g} and {rates[1]:.9g}, "
            f"but its derivatives are {derivatives[0]:.9g} and {derivatives[1]:.9g}. A motion returns (r, "
            "rdot, rddot)."
        )


def check_quaternion(state: State) -> None:
    """Raise ConfigurationError if the quaternion of a state does not have unit length."""
    q = state.q
    if q.shape == (4,) and not abs(float(q.dot(q)) - 1.0) < 1e-6:
        raise ConfigurationError(
            f"the state's q = {q.tolist()} is not a unit quaternion. Build the state with draisine.state()."
        )


CONTACT = ContactOptions()
NUMERICS = Numerics()
"""Default contact options (CONTACT) and default numerical options (NUMERICS)."""

MAX_RUN_SAMPLES = 1e8
"""Largest number of samples of a run; more would not fit into memory."""

CHECKED_MOTION_TIME = 10.0
"""Largest time (s) after the start at which the rates of prescribed motions are checked, in long runs."""


@dataclass(frozen=True)
class Task:
    """All arguments of a run."""

    system: System
    state: State  # initial state
    until: float  # s, time of the end
    terrain: Terrain | None  # ground; None for the level plane with ideal contacts
    law: Any  # control law, or None
    inputs: Mapping[str, float] | None  # constant inputs by name
    contact: ContactOptions
    numerics: Numerics
    # function that receives the finished fraction of the run
    progress: Callable[[float], None] | None

    def __post_init__(self) -> None:
        _check_number("until", self.until)
        expect("contact", self.contact, ContactOptions, "ContactOptions(mu=0.8) makes one")
        expect("numerics", self.numerics, Numerics, 'Numerics(integrator="rk4") makes one')
        if self.terrain is not None:
            expect("terrain", self.terrain, Terrain, "draisine.terrain.plane() makes one")
        check_quaternion(self.state)
        self._check_friction()
        start = self.numerics.start
        dt = self.numerics.dt
        if not (math.isfinite(self.until) and self.until > start):
            raise ParameterError(f"until = {self.until} s must be after the start at {start} s.")
        if (self.until - start) / dt > MAX_RUN_SAMPLES:
            raise ParameterError(
                f"dt = {dt} s makes more than {MAX_RUN_SAMPLES:.0e} samples; choose a larger one."
            )
        for joint in self.system.model.joints:
            if joint.motion is not None:
                # The result of the check is cached for plain functions; other objects may have changed.
                is_function = isinstance(joint.motion, FunctionType)
                check = _check_motion if is_function else _check_motion.__wrapped__
                end = min(self.until, start + CHECKED_MOTION_TIME)
                check(joint.name, joint.motion, start, end)

    def _check_friction(self) -> None:
        """Raise ParameterError if a friction coefficient is set for a wheel that does not exist."""
        mu = self.contact.mu
        if isinstance(mu, Mapping):
            wheels = [wheel.name for wheel in self.system.model.wheels]
            for name in mu:
                if name.partition("/")[0] not in wheels:
                    raise ParameterError(f"mu: no wheel {name!r}. {did_you_mean(name, wheels)}")

    @property
    def mode(self) -> Mapping[str, str] | None:
        """The constant statuses of bilateral contacts by name; None for the default, or on a terrain."""
        assert not isinstance(self.contact.mode, GripSchedule)
        return self.contact.mode

    @property
    def jumps(self) -> tuple[float, ...]:
        """The times (s) at which inputs may jump."""
        return (*self.numerics.breakpoints, *getattr(self.law, "breakpoints", ()))

    @property
    def edges(self) -> list[float]:
        """The end points (s) of the intervals without jumps: the start, the jumps after it, and the end."""
        start = self.numerics.start
        until = self.until
        # Times that differ by rounding only are merged.
        resolution = 1e-12 * max(1.0, abs(start), abs(until))
        edges = [start]
        for jump in sorted({float(x) for x in self.jumps if x < until - resolution}):
            if jump > edges[-1] + resolution:
                edges.append(jump)
        return [*edges, until]

    def law_start(self, states: int) -> Floats:
        """Return the initial states z: those of the force elements, then the `states` of the control law."""
        return memory_start(self.system, self.state, self.law, states)


@dataclass(frozen=True, eq=False)
class Batch:
    """Many runs of one system: the arguments of `simulate_many`, one column or entry per machine."""

    task: Task  # arguments of the first run; all others have the same options
    states: Sequence[State]
    grounds: Sequence[Terrain | None]
    inputs: Floats  # (inputs, machines)
    parameters: Floats  # (parameters, machines)
    changed: Sequence[str]  # names of the parameters that differ from those of the system
    progress: Progress
    trajectories: bool  # whether to return the whole motion of each machine

    def task_of(self, k: int) -> Task:
        """Return the arguments of the run of machine k."""
        system = self.task.system
        if self.changed:
            names = list(system.parameters)
            values = {name: float(self.parameters[names.index(name), k]) for name in self.changed}
            system = system.with_parameters(**values)
        inputs = dict(zip(system.model.inputs, self.inputs[:, k].tolist(), strict=True))
        return replace(
            self.task, system=system, state=self.states[k], terrain=self.grounds[k], inputs=inputs
        )


def memory_start(system: System, state: State, law: Any, states: int) -> Floats:
    """Return the initial states z: those of the force elements, then the `states` of the control law."""
    if np.size(state.element_state) and find_wrong_lengths(system, state):
        raise make_state_error(system, state)
    elements = state.elements(system.model.memory)
    if law is None and not states:
        return elements
    x, y = map(float, state.p[:2])
    z = law_start(law, x, y, angles_of(state.q)["yaw"])
    if z.shape != (states,):
        raise ParameterError(
            f"law: its start has the shape {z.shape}, but the law has {states} states."
        )
    return np.concatenate([elements, z])


def misplaced_option(function: str, unknown: Mapping[str, Any]) -> ParameterError:
    """Return the error for a keyword that belongs to another argument of a function.

    >>> misplaced_option("simulate", {"mu": 0.8})
    ParameterError("simulate has no argument 'mu'; write contact=draisine.ContactOptions(mu=0.8).")
    """
    name, value = next(iter(unknown.items()))
    for argument, kind in {"contact": ContactOptions, "numerics": Numerics}.items():
        if name in {field.name for field in fields(kind)}:
            hint = f"write {argument}=draisine.{kind.__name__}({name}={value!r:.40})."
            return ParameterError(f"{function} has no argument {name!r}; {hint}")
    arguments = ["terrain", "law", "inputs", "contact", "numerics", "strict", "progress"]
    return ParameterError(f"{function} has no argument {name!r}. {did_you_mean(name, arguments)}")
