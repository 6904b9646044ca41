"""Code that all integrators share: initial value problem, workspace, and the checks after each step.

After each step the rates must be finite and the pivots above their lower limits, the state is projected onto
the constraints of the closed contacts, and falls are detected. Several states are integrated side by side in
SIMD lanes: entry k of lane j has index `k * count + j`. The result of a lane does not depend on the number of
lanes. A lane that fails keeps its last valid state.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Address, Routine, call, each, routine
from draisine.codegen.targets.native import NativeRoutine, Packed, lanes, routine_code
from draisine.system.compiled import Compiled

REACHED_END = 0  # the end of the interval is reached
VALUE_NOT_FINITE = 1  # a rate is not finite
DEGENERATE_PIVOT = 2  # a pivot of the constraint elimination is near zero
STEP_BELOW_LIMIT = 3  # no step length satisfies the integration tolerances
FELL_FLAT = 4  # a wheel fell flat within one step
INTERRUPTED = 5  # the user interrupted the run from the keyboard
ENDLESS = 6  # steps are so short that the run would practically not end
MACHINE_FELL = 7  # the fall conditions of the run are met (`FallRule`)
"""Reasons why an integration ended. They are stored as floats in `Workspace.wrong`, one per lane."""

SINGLE_STEP_GAP = 1e-8
"""Largest gap (m) that one Newton step of the projection closes up to rounding.

Newton's method converges quadratically: the remaining gap is about 1e-16 m.
"""

STEPS_PER_NATIVE_CALL = 10_000
"""Number of integration steps in one native call; the user can interrupt a run only between calls."""

MAX_REMAINING_CALLS = 10_000
"""A run that needs more native calls than this at its present progress per call is stopped as endless."""

FALL_SINE = 0
FALL_OFFSET = 1
FALL_LEFT = 2
FALL_UP = 5
FALL_WATCH_SIZE = 8
"""Offsets of the entries of `Problem.watch`, the fall conditions, and the number of entries.

FALL_SINE: sine of the lean limit. FALL_OFFSET: offset of the tilt condition, positive if the frame may turn
over. FALL_LEFT and FALL_UP: unit vectors (3,) of the base to the left and up, in coordinates of the internal
base frame.
"""

STEEP_LEAN = 0.95
"""Sine of a lean angle of 72 degrees, to classify a wheel that turns over within one step.

Above this angle at the start of the step the wheel has fallen; below it the step was too long.
"""

ENDLESS_REASON = "the steps have become so short that the run would not end"
ENDLESS_REMEDY = (
    "A law that switches to and fro causes this: make it smooth, let it act at a fixed rate "
    "(Numerics(integrator='rk4', dt=0.001), or a Stepper), or increase rtol and atol."
)
"""Reason and remedy in the message for a run that is stopped as endless (`MAX_REMAINING_CALLS`)."""


class Workspace(NamedTuple):
    """State, coefficients and scratch arrays of an integration, for the compiled routines."""

    rate: Address  # address of the program that computes the rates (time derivatives of y)
    rate_table: Floats  # constants of the program `rate`
    project: Address  # address of the program that projects y onto closed contacts, or 0
    project_table: Floats  # constants of the program `project`
    floors: Floats  # (pivots) magnitudes of the pivots below which they are degenerate
    n: int  # number of entries of y
    lanes: int  # number of SIMD lanes (states)
    row: int  # offset between the rates of two stages in k
    pose: int  # number of the first entries of y that are projected
    gaps: int  # number of gaps in the output of the projection
    wheels: int  # number of wheels with a heading
    pivots: int  # number of pivots
    keep: int  # 1 if samples are stored, else 0
    x: Floats  # inputs of the programs: t, y, further inputs
    y: Floats  # state at the beginning of a step
    k: Floats  # rates at the stages of a step
    settled: Floats  # outputs of the program `project`: projected state, gaps, headings
    headings: Floats  # headings of the wheels after the last step
    gap: Floats  # largest gap of each lane, m; also scratch of the fall check
    wrong: Floats  # code of the reason why each lane ended; 0 while it continues
    method: Floats  # coefficients of the method
    watched: int  # number of entries of `watch` per lane; 0 if falls are not watched
    watch: Floats  # fall conditions of each lane, see FALL_WATCH_SIZE
    ended: Floats  # number of steps after which each lane fell


SINGLE_LANE = ((Workspace, "lanes", 1),)
"""Fields of `Workspace` that are compile-time constants in the code for one state.

If `lanes` is the constant 1, the compiler removes the loops over lanes.
"""


def step_loop_code(loop: Routine, count: int) -> NativeRoutine:
    """Return the machine code of the loop over steps, for one state or for several states in SIMD lanes."""
    if count == 1:
        return routine_code(loop, known=SINGLE_LANE)[0]
    return routine_code(loop, width=lanes())[0]


@dataclass(frozen=True, eq=False)
class Problem:
    """An initial value problem, for one state or for several states in SIMD lanes.

    Tables, `tail`, `floors` and `watch` may have one column per lane.
    """

    rate: int  # address of the right-hand side
    rate_table: Floats  # constants of the right-hand side
    rate_size: int  # number of outputs of the right-hand side
    tail: Floats  # program inputs that follow y: inputs of the system, anchor points of pins
    # Magnitudes of the pivots below which the configuration is degenerate.
    floors: Floats = field(default_factory=lambda: np.zeros(0))
    project: Compiled | None = None  # projection of pose and shape onto closed contacts
    project_table: Floats | None = None  # constants of the projection
    pose: int = 0  # number of the first entries of y that are projected
    count: int = 1  # number of states in SIMD lanes
    chunk: int = STEPS_PER_NATIVE_CALL  # number of steps in one native call
    keep: Any = field(default=None, repr=False)  # Python objects that own the addresses
    # Conditions of the fall that ends the run (`FALL_WATCH_SIZE` numbers); empty if no fall ends it.
    watch: Floats = field(default_factory=lambda: np.zeros(0))
    _spare: dict[Any, list[Packed]] = field(default_factory=dict, init=False, repr=False)

    def workspace(self, n: int, stages: int, method: Floats, keep: bool = True) -> Packed:
        """Return a workspace for states of n entries and a method with `stages` stages.

        A released workspace is reused. `method` are the coefficients of the method; `keep` is whether samples
        are stored.
        """
        try:
            spare = self._spare[n, stages * self.rate_size * self.count, id(method), keep].pop()
        except (KeyError, IndexError):
            return self._new_workspace(n, stages, method, keep)
        spare.record.headings.fill(np.nan)
        spare.record.wrong.fill(0.0)
        spare.record.ended.fill(0.0)
        return spare

    def give_back(self, spare: Packed) -> None:
        """Release a workspace for reuse; the construction of a workspace takes longer than a short run."""
        w = spare.record
        self._spare.setdefault((w.n, len(w.k), id(w.method), w.keep == 1), []).append(spare)

    def _new_workspace(self, n: int, stages: int, method: Floats, keep: bool) -> Packed:
        """Return a new workspace; the arguments are those of `workspace`."""
        c = self.count
        project = self.project
        x = np.zeros((1 + n + len(self.tail), c))
        x[1 + n :] = self.tail if self.tail.ndim == 2 else self.tail[:, None]
        floors, watch = (
            np.repeat(numbers[:, None], c, 1) if numbers.ndim == 1 and c > 1 else numbers
            for numbers in (self.floors, self.watch)
        )
        wheels = 0
        gaps = 0
        address = 0
        table = np.zeros(1)
        size = 1
        if project is not None:
            address = project.address if c == 1 else project.wide_address
            table = project.table if self.project_table is None else self.project_table
            size = project.outputs.size
            wheels = project.outputs.count("headings") // 2
            gaps = size - self.pose - 2 * wheels
        rates = np.zeros(stages * self.rate_size * c)
        headings = np.full(2 * wheels * c, np.nan)
        return Packed(
            Workspace(
                Address(self.rate), _flat(self.rate_table), Address(address), _flat(table),
                _flat(floors), n, c, self.rate_size * c, self.pose, gaps, wheels,
                len(self.floors), int(keep), x.ravel(), np.zeros(n * c), rates,
                np.zeros(size * c), headings, np.zeros(c), np.zeros(c), method, len(self.watch),
                _flat(watch), np.zeros(c),
            )
        )  # fmt: skip

    @cached_property
    def side_by_side(self) -> "Problem":
        """The same problem with one state per SIMD lane, used to project samples."""
        assert self.project is not None
        c = lanes()
        table = np.repeat(self.project.table[:, None], c, axis=1)
        return replace(self, project_table=table, count=c)


def _flat(array: Floats) -> Floats:
    """Return an array as a contiguous one-dimensional array of doubles."""
    return np.ascontiguousarray(array, dtype=float).ravel()


@dataclass(frozen=True, eq=False)
class Span:
    """An interval of time without jumps of the inputs."""

    start: float  # s, start of the interval
    end: float  # s, end of the interval
    dt: float  # s, longest step of methods with equal steps
    grid: Floats  # s, sample times of adaptive methods
    rtol: float = 1e-10  # relative tolerance of adaptive methods
    atol: float = 1e-12  # absolute tolerance of adaptive methods
    # List to which adaptive methods append the dense output of each call: times (steps, nodes), in s, and
    # states (steps, nodes, n), at the Chebyshev nodes `DENSE_NODE_POSITIONS` of each step.
    dense: list[tuple[Floats, Floats]] | None = None

    @property
    def last(self) -> float:
        """The last floating-point number before the end of the interval (s).

        Inputs that jump at the end still have their old values at this time.
        """
        return math.nextafter(self.end, self.start)


DENSE_NODE_COUNT = 5
DENSE_NODE_POSITIONS = 0.5 * (
    1.0 - np.cos(np.pi * np.arange(DENSE_NODE_COUNT) / (DENSE_NODE_COUNT - 1))
)
"""Number and positions (0 to 1, both ends included) of the Chebyshev nodes of the dense output in a step."""

IntegrationResult = tuple[Floats, Floats, int]
"""Times (s), samples and status of an integration."""

Tick = Callable[[float], None]
"""Type of a function that is called with the present time (s) after each native call."""


@routine
def evaluate_rates(p: Workspace, t: float, out: Floats) -> None:
    """Write the rates (time derivatives) of the states in x at time t (s) to `out`."""
    p.x[: p.lanes] = t
    call(p.rate, p.x, p.rate_table, out, p.lanes)


@routine
def check_rates(p: Workspace, rates: Floats) -> int:
    """Mark lanes whose rates are not finite or whose pivots are too small; return the number of ended lanes.

    `rates` contains the rates of all lanes, followed by the pivots of the constraint elimination.
    """
    c = p.lanes
    n = p.n
    for j in each(c):
        total = 0.0
        for k in range(n):
            total += rates[k * c + j] * 0.0  # NaN if the rate is not finite
        status = VALUE_NOT_FINITE if total != 0.0 else 0.0
        for k in range(p.pivots):
            size = abs(rates[(n + k) * c + j])
            status = DEGENERATE_PIVOT if size < p.floors[k * c + j] and status == 0.0 else status
        p.wrong[j] = p.wrong[j] if p.wrong[j] != 0.0 else status
    return count_ended(p)


@routine
def count_ended(p: Workspace) -> int:
    """Return the number of lanes that have ended, for whatever reason."""
    count = 0
    for j in range(p.lanes):
        count += 1 if p.wrong[j] != 0.0 else 0
    return count


@routine
def project_and_mark_fallen(p: Workspace, t: float) -> int:
    """Project the states in x at time t (s) onto closed contacts; return the number of ended lanes.

    A lane in which a wheel turns over within the step has fallen if the lean was steep before the step.
    """
    p.x[: p.lanes] = t
    ended = project_lanes(p)
    if p.watched > 0 and ended > 0:
        lean_sines(p, p.y, p.gap)
        for j in range(p.lanes):
            p.wrong[j] = (
                MACHINE_FELL if p.wrong[j] == FELL_FLAT and p.gap[j] > STEEP_LEAN else p.wrong[j]
            )
    return ended


@routine
def project_lanes(p: Workspace) -> int:
    """Project pose and shape in x onto closed contacts by Newton steps; return the number of ended lanes.

    One Newton step suffices for small gaps; larger ones need up to four. Lanes in which the heading of a
    wheel reverses are marked, because the wheel fell flat within the step.
    """
    if p.project == 0:
        return count_ended(p)
    c = p.lanes
    x = p.x
    out = p.settled
    call(p.project, x, p.project_table, out, c)
    x[c : c + p.pose * c] = out[: p.pose * c]
    p.gap[:c] = 2.0 * SINGLE_STEP_GAP
    for _ in range(3):
        if not widest_gap(p) > SINGLE_STEP_GAP:
            break
        call(p.project, x, p.project_table, out, c)
        for k in range(p.pose):
            for j in each(c):
                # Lanes whose gaps are closed keep their states while other lanes need more Newton steps.
                is_open = p.gap[j] > SINGLE_STEP_GAP
                x[(1 + k) * c + j] = out[k * c + j] if is_open else x[(1 + k) * c + j]
    first = (p.pose + p.gaps) * c
    for k in range(p.wheels):
        offset = 2 * k * c
        for j in each(c):
            cosine = p.headings[offset + j] * out[first + offset + j]
            cosine += p.headings[offset + c + j] * out[first + offset + c + j]
            p.wrong[j] = FELL_FLAT if cosine < 0.0 and p.wrong[j] == 0.0 else p.wrong[j]
    p.headings[: 2 * p.wheels * c] = out[first:][: 2 * p.wheels * c]
    return count_ended(p)


@routine
def widest_gap(p: Workspace) -> float:
    """Return the largest gap (m) before the projection; write the largest gap of each lane to `gap`."""
    c = p.lanes
    for j in each(c):
        size = 0.0
        for k in range(p.gaps):
            size = max(size, abs(p.settled[(p.pose + k) * c + j]))
        p.gap[j] = size if p.gap[j] > SINGLE_STEP_GAP else p.gap[j]
    widest = 0.0
    for j in range(c):
        widest = max(widest, p.gap[j])
    return widest


@routine
def keep_ended(p: Workspace) -> None:
    """Restore the state before the step in each lane that has ended."""
    c = p.lanes
    for k in range(p.n):
        for j in each(c):
            p.x[(1 + k) * c + j] = p.y[k * c + j] if p.wrong[j] != 0.0 else p.x[(1 + k) * c + j]


@routine
def lean_sines(p: Workspace, states: Floats, out: Floats) -> None:
    """Write the absolute sine of the lean angle of each lane to `out`: the height of the axis to the left.

    The first four entries (a, b, d, e) of a state are the quaternion of the internal base frame, not
    necessarily of unit length. (x, y, z) is the vertical of the world in coordinates of this frame.
    """
    c = p.lanes
    w = p.watch
    for j in each(c):
        a = states[j]
        b = states[c + j]
        d = states[2 * c + j]
        e = states[3 * c + j]
        x = 2.0 * (b * e - a * d)
        y = 2.0 * (d * e + a * b)
        z = a * a - b * b - d * d + e * e
        lean = w[FALL_LEFT * c + j] * x
        lean += w[(FALL_LEFT + 1) * c + j] * y
        lean += w[(FALL_LEFT + 2) * c + j] * z
        out[j] = abs(lean) / (a * a + b * b + d * d + e * e)


@routine
def fall_margins(p: Workspace, states: Floats, out: Floats) -> None:
    """Write the margin of each lane to a fall to `out`; it is negative after a fall.

    The margin is the smaller of two numbers: sine of the lean limit minus sine of the lean angle, and
    vertical component of the upright axis of the frame plus FALL_OFFSET. The symbols are those of
    `lean_sines`.
    """
    c = p.lanes
    w = p.watch
    lean_sines(p, states, out)
    for j in each(c):
        a = states[j]
        b = states[c + j]
        d = states[2 * c + j]
        e = states[3 * c + j]
        x = 2.0 * (b * e - a * d)
        y = 2.0 * (d * e + a * b)
        z = a * a - b * b - d * d + e * e
        tilt = w[FALL_UP * c + j] * x
        tilt += w[(FALL_UP + 1) * c + j] * y
        tilt += w[(FALL_UP + 2) * c + j] * z
        upright = w[FALL_OFFSET * c + j] + tilt / (a * a + b * b + d * d + e * e)
        out[j] = min(w[FALL_SINE * c + j] - out[j], upright)


@routine
def mark_fallen(p: Workspace, step: int) -> int:
    """Mark lanes that fell in the step number `step` from y to x; return the number of ended lanes.

    A lane falls if its margin is negative and smaller than before the step. A system that starts beyond the
    limit may therefore rise.
    """
    c = p.lanes
    fall_margins(p, p.x[c:], p.gap)
    fall_margins(p, p.y, p.settled)
    for j in range(c):
        if p.wrong[j] == 0.0 and p.gap[j] < 0.0 and p.gap[j] < p.settled[j]:
            p.wrong[j] = MACHINE_FELL
            p.ended[j] = float(step)
    return count_ended(p)
