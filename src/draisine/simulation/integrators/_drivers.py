"""The parts that all integrators share: the problem, the workspace, and routines for the checks after a step
(finite rates, pivots, projection onto closed contacts, falls).

Several states are integrated side by side, one per SIMD lane: entry k of lane j is at `k * count + j`. The
result of a lane does not depend on the number of lanes. A lane that fails keeps its last valid state.
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

DONE = 0  # the end is reached
NOT_FINITE = 1  # a value is not finite
DEGENERATE = 2  # a pivot is near zero
TOO_SMALL = 3  # no step is small enough for the tolerances
FLAT = 4  # a wheel fell flat
INTERRUPTED = 5  # from the keyboard
ENDLESS = 6  # steps are so short that the run would not end
FELL = 7  # the machine fell
"""Reasons why an integration ended. They are stored as floats in `Workspace.wrong`, one per lane."""

SINGLE_STEP_GAP = 1e-8
"""Gap (m) that one Newton step closes to rounding: its square is below 1e-16."""

CHUNK = 10_000
"""Number of steps in one call of machine code; between calls a run can be interrupted."""

CHUNKS = 10_000
"""Largest number of further calls at the pace of the last one; a run that needs more counts as endless."""

FALL_SINE = 0
FALL_OFFSET = 1
FALL_LEFT = 2
FALL_UP = 5
WATCH = 8
"""Indices of the numbers of `Problem.watch`: sine of the lean that is a fall; an offset that is positive if
a frame may turn over; axes of the base to the left (3) and up (3) in coordinates of the inner base frame.
WATCH is their number.
"""

STEEP_LEAN = 0.95
"""Sine of a lean (72 degrees) above which a wheel that turns over within one step has fallen; from a smaller
lean the step was too long.
"""

NO_END = "the steps have become so short that the run would not end"
SMOOTHER = (
    "A law that switches to and fro causes this: make it smooth, let it act at a fixed rate "
    "(Numerics(integrator='rk4', dt=0.001), or a Stepper), or increase rtol and atol."
)
"""Message for an endless run, and its remedy."""


class Workspace(NamedTuple):
    """The state of an integration, as routines see it."""

    rate: Address  # program of the rates
    rate_table: Floats
    project: Address  # program of the projection, or 0
    project_table: Floats
    floors: Floats  # magnitudes of the pivots below which they are degenerate
    n: int  # entries of y
    lanes: int
    row: int  # distance of the rates of two stages in k
    pose: int  # number of the first entries of y that are projected
    gaps: int
    wheels: int  # wheels with a heading
    pivots: int
    keep: int  # 1: samples are stored
    x: Floats  # inputs of the programs: t, y, tail
    y: Floats  # state at the beginning of a step
    k: Floats  # rates of the stages
    settled: Floats  # outputs of the projection
    headings: Floats  # of the wheels after the last step
    gap: Floats  # largest gap of each lane; scratch of the falls
    wrong: Floats  # reason why each lane ended; 0 while it continues
    method: Floats  # coefficients of the method
    watched: int  # numbers per lane of `watch`; 0: falls are not watched
    watch: Floats
    ended: Floats  # number of steps after which each lane fell


ALONE = ((Workspace, "lanes", 1),)
"""Constants of the code for one state: the compiler removes its loops over lanes."""


def step_loop_code(loop: Routine, count: int) -> NativeRoutine:
    """Return the loop over the steps as machine code, for one state or for states side by side."""
    if count == 1:
        return routine_code(loop, known=ALONE)[0]
    return routine_code(loop, width=lanes())[0]


@dataclass(frozen=True, eq=False)
class Problem:
    """An initial value problem. Tables, tail, floors and watch may have one column for each state."""

    rate: int  # address of the right-hand side
    rate_table: Floats
    rate_size: int  # number of its outputs
    tail: Floats  # inputs that follow y: inputs of the machine, anchors of pins
    # Magnitudes of the pivots below which the configuration is degenerate.
    floors: Floats = field(default_factory=lambda: np.zeros(0))
    project: Compiled | None = None  # projection of pose and shape onto closed contacts
    project_table: Floats | None = None
    pose: int = 0  # number of the first entries of y that are projected
    count: int = 1  # number of states side by side
    chunk: int = CHUNK  # steps in one call of machine code
    keep: Any = field(default=None, repr=False)  # owners of the addresses
    # `WATCH` numbers that describe the fall which ends the run; empty: no fall is watched.
    watch: Floats = field(default_factory=lambda: np.zeros(0))
    _spare: dict[Any, list[Packed]] = field(default_factory=dict, init=False, repr=False)

    def workspace(self, n: int, stages: int, method: Floats, keep: bool = True) -> Packed:
        """Return a workspace for states of n entries and a number of stages, a used one if available."""
        try:
            spare = self._spare[n, stages * self.rate_size * self.count, id(method), keep].pop()
        except (KeyError, IndexError):
            return self._new_workspace(n, stages, method, keep)
        spare.record.headings.fill(np.nan)
        spare.record.wrong.fill(0.0)
        spare.record.ended.fill(0.0)
        return spare

    def give_back(self, spare: Packed) -> None:
        """Take back a workspace for the next run: making one takes longer than a short run."""
        w = spare.record
        self._spare.setdefault((w.n, len(w.k), id(w.method), w.keep == 1), []).append(spare)

    def _new_workspace(self, n: int, stages: int, method: Floats, keep: bool) -> Packed:
        """Return a new workspace."""
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
        """The same problem for one state per SIMD lane, to project samples."""
        assert self.project is not None
        c = lanes()
        table = np.repeat(self.project.table[:, None], c, axis=1)
        return replace(self, project_table=table, count=c)


def _flat(array: Floats) -> Floats:
    return np.ascontiguousarray(array, dtype=float).ravel()


@dataclass(frozen=True, eq=False)
class Span:
    """An interval of time without jumps."""

    start: float  # s
    end: float  # s
    dt: float  # s, longest step of methods of equal steps
    grid: Floats  # s, times of the samples of adaptive methods
    rtol: float = 1e-10
    atol: float = 1e-12
    # Adaptive methods append the dense output of each call: times (steps, NODES) and states (steps, NODES, n)
    # at the Chebyshev nodes `PLACES` of each step.
    dense: list[tuple[Floats, Floats]] | None = None

    @property
    def last(self) -> float:
        """The last time before the end: a jump at the end is evaluated from the left."""
        return math.nextafter(self.end, self.start)


NODES = 5
PLACES = 0.5 * (1.0 - np.cos(np.pi * np.arange(NODES) / (NODES - 1)))
"""Chebyshev nodes of a step (both ends included) at which its dense output is stored, and their number."""

IntegrationResult = tuple[Floats, Floats, int]
"""Times, samples and status."""

Tick = Callable[[float], None]
"""A function that receives the time reached (s) after each call of machine code."""


@routine
def evaluate_rates(p: Workspace, t: float, out: Floats) -> None:
    """Write the rates of the states in x at a time."""
    p.x[: p.lanes] = t
    call(p.rate, p.x, p.rate_table, out, p.lanes)


@routine
def check_rates(p: Workspace, rates: Floats) -> int:
    """Mark lanes whose rates are not finite or whose pivots are too small; return the number of lanes that
    have ended.
    """
    c = p.lanes
    n = p.n
    for j in each(c):
        total = 0.0
        for k in range(n):
            total += rates[k * c + j] * 0.0  # NaN if the rate is not finite
        status = NOT_FINITE if total != 0.0 else 0.0
        for k in range(p.pivots):
            size = abs(rates[(n + k) * c + j])
            status = DEGENERATE if size < p.floors[k * c + j] and status == 0.0 else status
        p.wrong[j] = p.wrong[j] if p.wrong[j] != 0.0 else status
    return count_ended(p)


@routine
def count_ended(p: Workspace) -> int:
    """Return the number of lanes that have ended."""
    count = 0
    for j in range(p.lanes):
        count += 1 if p.wrong[j] != 0.0 else 0
    return count


@routine
def settle(p: Workspace, t: float) -> int:
    """Project pose and shape of the states in x at a time onto closed contacts; return the number of lanes
    that have ended. A wheel that turns over from a steep lean has fallen.
    """
    p.x[: p.lanes] = t
    ended = project(p)
    if p.watched > 0 and ended > 0:
        lean_sines(p, p.y, p.gap)
        for j in range(p.lanes):
            p.wrong[j] = FELL if p.wrong[j] == FLAT and p.gap[j] > STEEP_LEAN else p.wrong[j]
    return ended


@routine
def project(p: Workspace) -> int:
    """Project pose and shape in x onto closed contacts; return the number of lanes that have ended.

    One Newton step suffices for small gaps; larger ones take up to four. Lanes in which the heading of a
    wheel reverses are marked: the wheel fell flat within the step.
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
                # Lanes that are closed keep their state, whatever the others need.
                is_open = p.gap[j] > SINGLE_STEP_GAP
                x[(1 + k) * c + j] = out[k * c + j] if is_open else x[(1 + k) * c + j]
    first = (p.pose + p.gaps) * c
    for k in range(p.wheels):
        offset = 2 * k * c
        for j in each(c):
            cosine = p.headings[offset + j] * out[first + offset + j]
            cosine += p.headings[offset + c + j] * out[first + offset + c + j]
            p.wrong[j] = FLAT if cosine < 0.0 and p.wrong[j] == 0.0 else p.wrong[j]
    p.headings[: 2 * p.wheels * c] = out[first:][: 2 * p.wheels * c]
    return count_ended(p)


@routine
def widest_gap(p: Workspace) -> float:
    """Return the largest gap before the projection; `gap` keeps the values of lanes that are closed."""
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
    """Restore the states before the step in lanes that have ended."""
    c = p.lanes
    for k in range(p.n):
        for j in each(c):
            p.x[(1 + k) * c + j] = p.y[k * c + j] if p.wrong[j] != 0.0 else p.x[(1 + k) * c + j]


@routine
def lean_sines(p: Workspace, states: Floats, out: Floats) -> None:
    """Write the magnitude of the sine of each lane's lean: the vertical component of the axis to the left.

    (x, y, z) is the vertical of the world in coordinates of the inner base frame, whose quaternion
    (a, b, d, e) begins the state; it need not have unit length.
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
    """Write the margin of each lane to a fall: the sine of the largest lean minus that of the lean, or the
    vertical component of the upright axis of the frame (plus the offset), whichever is smaller.

    The symbols are those of `lean_sines`.
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
    """Mark lanes that fell in a step from y to x; return the number of lanes that have ended.

    A lane falls if it is beyond the limit and further than before: a machine that starts beyond may rise.
    """
    c = p.lanes
    fall_margins(p, p.x[c:], p.gap)
    fall_margins(p, p.y, p.settled)
    for j in range(c):
        if p.wrong[j] == 0.0 and p.gap[j] < 0.0 and p.gap[j] < p.settled[j]:
            p.wrong[j] = FELL
            p.ended[j] = float(step)
    return count_ended(p)
