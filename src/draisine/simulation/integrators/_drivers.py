"""What all integrators share: what they solve, and the steps around a step, as routines.

Several states stand side by side, one per lane: entry k of lane j is at `k * count + j`. One state
is one lane; all lanes give the same bits as one. A lane in trouble keeps the state before it.
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

DONE, NOT_FINITE, DEGENERATE, TOO_SMALL, FLAT, INTERRUPTED, ENDLESS, FELL = range(8)
"""How a stretch ended: whole; a value that is no number; a pivot near zero; no step is small
enough; a wheel fell flat; from the keyboard; steps so short that there is no end of them; the
machine fell.
"""

CLOSED = 1e-8
"""A gap whose square cannot be seen: one Newton step closes it."""

CHUNK = 10_000
"""After so many steps machine code comes up for air: there a run can be interrupted, or given up."""

CHUNKS = 10_000
"""A run that would need so many times as many steps as it has just made goes on for ever."""

SINE, OFFSET, LEFT, UP, WATCH = 0, 1, 2, 5, 8
"""Where the numbers of a `Problem.watch` are stored: the sine of the lean that is a fall, an offset
that is positive if a frame that turns over is not watched, the base's axes to the left and up in the
coordinates of the inner base frame; how many they are.
"""

STEEP = 0.95
"""Sine of a lean (72 degrees) beyond which a wheel that turns over within one step falls flat; a wheel
that turns over from less was moved by a step that is too long.
"""

NO_END, SMOOTHER = (
    "steps have become so short that there is no end of them",
    "A law that switches to and fro does that: make it smooth, let it act at a rate of its own "
    "(Numerics(integrator='rk4', dt=0.001), or a Stepper), or ask for less (rtol, atol).",
)
"""What is said of such a run, and what may help."""


class Workspace(NamedTuple):
    """Where a run is, as routines see it: programs and their tables, sizes, and shared arrays.

    x = (t, y, tail) is what programs read; y holds the state at the beginning of a step, k its rates,
    `row` apart; `wrong` says per lane how it ended, `ended` after how many steps it fell, `method` are
    the coefficients of the method. `watch` has `watched` numbers per lane, those of the fall.
    """

    rate: Address
    rate_table: Floats
    project: Address
    project_table: Floats
    floors: Floats
    n: int
    lanes: int
    row: int
    pose: int
    gaps: int
    wheels: int
    pivots: int
    keep: int
    x: Floats
    y: Floats
    k: Floats
    settled: Floats
    headings: Floats
    gap: Floats
    wrong: Floats
    method: Floats
    watched: int
    watch: Floats
    ended: Floats


ALONE = ((Workspace, "lanes", 1),)
"""What the code of one state knows: no loop over lanes is left in it."""


def march_code(march: Routine, count: int) -> NativeRoutine:
    """Return a march as machine code, for one state or for states side by side."""
    if count == 1:
        return routine_code(march, known=ALONE)[0]
    return routine_code(march, width=lanes())[0]


@dataclass(frozen=True, eq=False)
class Problem:
    """What an integrator solves: a right-hand side by address, what follows y in its input, the
    least sizes of its pivots, and a projection of the first `pose` entries of y, if there is one.

    `watch` are the numbers of the fall that ends it, `WATCH` of them, see `fall_margins`; without them
    no fall is watched. `count` states are advanced side by side; tables, tail, floors and watch may
    have a column for each. `keep` holds what the addresses belong to; machine code comes up for air
    after a `chunk` of steps.
    """

    rate: int
    rate_table: Floats
    rate_size: int
    tail: Floats
    floors: Floats = field(default_factory=lambda: np.zeros(0))
    project: Compiled | None = None
    project_table: Floats | None = None
    pose: int = 0
    count: int = 1
    chunk: int = CHUNK
    keep: Any = field(default=None, repr=False)
    watch: Floats = field(default_factory=lambda: np.zeros(0))
    _spare: dict[Any, list[Packed]] = field(default_factory=dict, init=False, repr=False)

    def workspace(self, n: int, stages: int, method: Floats, keep: bool = True) -> Packed:
        """Return the workspace of a method with so many rates, for states of n entries: one that was
        given back, where there is one.
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
        """Take back a workspace that nobody uses any more: to make one takes longer than short runs."""
        w = spare.record
        self._spare.setdefault((w.n, len(w.k), id(w.method), w.keep == 1), []).append(spare)

    def _new_workspace(self, n: int, stages: int, method: Floats, keep: bool) -> Packed:
        c, project = self.count, self.project
        x, wheels, gaps = np.zeros((1 + n + len(self.tail), c)), 0, 0
        x[1 + n :] = self.tail if self.tail.ndim == 2 else self.tail[:, None]
        floors, watch = (
            np.repeat(one[:, None], c, 1) if one.ndim == 1 and c > 1 else one
            for one in (self.floors, self.watch)
        )
        where, table, size = 0, np.zeros(1), 1
        if project is not None:
            where = project.address if c == 1 else project.wide_address
            table = project.table if self.project_table is None else self.project_table
            size = project.outputs.size
            wheels = project.outputs.count("headings") // 2
            gaps = size - self.pose - 2 * wheels
        rates, headings = np.zeros(stages * self.rate_size * c), np.empty(2 * wheels * c)
        headings.fill(np.nan)
        return Packed(
            Workspace(
                Address(self.rate), _flat(self.rate_table), Address(where), _flat(table),
                _flat(floors), n, c, self.rate_size * c, self.pose, gaps, wheels,
                len(self.floors), int(keep), x.ravel(), np.zeros(n * c), rates,
                np.zeros(size * c), headings, np.zeros(c), np.zeros(c), method, len(self.watch),
                _flat(watch), np.zeros(c),
            )
        )  # fmt: skip

    @cached_property
    def side_by_side(self) -> "Problem":
        """The same problem for as many states as there are SIMD lanes, to project samples."""
        assert self.project is not None
        c = lanes()
        table = np.repeat(self.project.table[:, None], c, axis=1)
        return replace(self, project_table=table, count=c)


def _flat(array: Floats) -> Floats:
    return np.ascontiguousarray(array, dtype=float).ravel()


@dataclass(frozen=True, eq=False)
class Span:
    """A smooth stretch of time: from `start` to `end`, in equal steps no longer than dt, or in steps
    that keep the tolerances, with samples at the times of `grid`, from `start` to `end`.

    An adaptive method appends the dense output of its steps to the list `dense`, if there is one:
    times (steps, NODES) and states (steps, NODES, n) at the Chebyshev nodes `PLACES` of each step.
    """

    start: float
    end: float
    dt: float
    grid: Floats
    rtol: float = 1e-10
    atol: float = 1e-12
    dense: list[tuple[Floats, Floats]] | None = None

    @property
    def last(self) -> float:
        """The last time before the end: what jumps there is taken from the left."""
        return math.nextafter(self.end, self.start)


NODES = 5
PLACES = 0.5 * (1.0 - np.cos(np.pi * np.arange(NODES) / (NODES - 1)))
"""Chebyshev nodes of a step, its ends among them, at which its dense output is kept."""

March = tuple[Floats, Floats, int]
"""Times, samples and how it ended."""

Tick = Callable[[float], None]
"""What is told from time to time how far a run has come, as a time."""


@routine
def evaluate(p: Workspace, t: float, out: Floats) -> None:
    """Write the rates of the states in x at a time."""
    p.x[: p.lanes] = t
    call(p.rate, p.x, p.rate_table, out, p.lanes)


@routine
def check(p: Workspace, rates: Floats) -> int:
    """Mark lanes whose rates are no numbers or whose pivots are too small; return how many lanes
    have ended.
    """
    c, n = p.lanes, p.n
    for j in each(c):
        total = 0.0
        for k in range(n):
            total += rates[k * c + j] * 0.0
        status = NOT_FINITE if total != 0.0 else 0.0
        for k in range(p.pivots):
            size = abs(rates[(n + k) * c + j])
            status = DEGENERATE if size < p.floors[k * c + j] and status == 0.0 else status
        p.wrong[j] = p.wrong[j] if p.wrong[j] != 0.0 else status
    return count_ended(p)


@routine
def count_ended(p: Workspace) -> int:
    """Return how many lanes have ended."""
    found = 0
    for j in range(p.lanes):
        found += 1 if p.wrong[j] != 0.0 else 0
    return found


@routine
def settle(p: Workspace, t: float) -> int:
    """Replace pose and shape of the states in x at a time by their projection; return how many lanes
    have ended. A wheel that turns over from a steep lean has fallen.
    """
    p.x[: p.lanes] = t
    ended = project(p)
    if p.watched > 0 and ended > 0:
        lean_sines(p, p.y, p.gap)
        for j in range(p.lanes):
            p.wrong[j] = FELL if p.wrong[j] == FLAT and p.gap[j] > STEEP else p.wrong[j]
    return ended


@routine
def project(p: Workspace) -> int:
    """Replace pose and shape in x by their projection: one Newton step, and more (four at most)
    where it began with a gap whose square could be seen. Mark lanes where a wheel's heading turned
    round: it fell flat on the way. Return how many lanes have ended.
    """
    if p.project == 0:
        return count_ended(p)
    c, x, out = p.lanes, p.x, p.settled
    call(p.project, x, p.project_table, out, c)
    x[c : c + p.pose * c] = out[: p.pose * c]
    p.gap[:c] = 2.0 * CLOSED
    for _ in range(3):
        if not widest_gap(p) > CLOSED:
            break
        call(p.project, x, p.project_table, out, c)
        for k in range(p.pose):
            for j in each(c):
                x[(1 + k) * c + j] = out[k * c + j] if p.gap[j] > CLOSED else x[(1 + k) * c + j]
    first = (p.pose + p.gaps) * c
    for k in range(p.wheels):
        at = 2 * k * c
        for j in each(c):
            ahead = p.headings[at + j] * out[first + at + j]
            ahead += p.headings[at + c + j] * out[first + at + c + j]
            p.wrong[j] = FLAT if ahead < 0.0 and p.wrong[j] == 0.0 else p.wrong[j]
    p.headings[: 2 * p.wheels * c] = out[first:][: 2 * p.wheels * c]
    return count_ended(p)


@routine
def widest_gap(p: Workspace) -> float:
    """Return the widest gap that the projection found; `gap` keeps those of lanes that are closed."""
    c = p.lanes
    for j in each(c):
        size = 0.0
        for k in range(p.gaps):
            size = max(size, abs(p.settled[(p.pose + k) * c + j]))
        p.gap[j] = size if p.gap[j] > CLOSED else p.gap[j]
    widest = 0.0
    for j in range(c):
        widest = max(widest, p.gap[j])
    return widest


@routine
def keep_ended(p: Workspace) -> None:
    """Give lanes that have ended their states back."""
    c = p.lanes
    for k in range(p.n):
        for j in each(c):
            p.x[(1 + k) * c + j] = p.y[k * c + j] if p.wrong[j] != 0.0 else p.x[(1 + k) * c + j]


@routine
def lean_sines(p: Workspace, states: Floats, out: Floats) -> None:
    """Write the size of the sine of each lane's lean: of the upward component of the axis to the left."""
    c, w = p.lanes, p.watch
    for j in each(c):
        a, b, d, e = states[j], states[c + j], states[2 * c + j], states[3 * c + j]
        x, y, z = 2.0 * (b * e - a * d), 2.0 * (d * e + a * b), a * a - b * b - d * d + e * e
        lean = w[LEFT * c + j] * x + w[(LEFT + 1) * c + j] * y + w[(LEFT + 2) * c + j] * z
        out[j] = abs(lean) / (a * a + b * b + d * d + e * e)


@routine
def fall_margins(p: Workspace, states: Floats, out: Floats) -> None:
    """Write how far each lane is from a fall: by how much the sine of its lean is below its limit or,
    if that is less, the upward component of the axis of a frame that may turn over.

    (x, y, z) is the world's vertical in the coordinates of the inner base frame, whose quaternion
    (a, b, d, e) begins the state; it needs no unit length.
    """
    c, w = p.lanes, p.watch
    lean_sines(p, states, out)
    for j in each(c):
        a, b, d, e = states[j], states[c + j], states[2 * c + j], states[3 * c + j]
        x, y, z = 2.0 * (b * e - a * d), 2.0 * (d * e + a * b), a * a - b * b - d * d + e * e
        tilt = w[UP * c + j] * x + w[(UP + 1) * c + j] * y + w[(UP + 2) * c + j] * z
        over = w[OFFSET * c + j] + tilt / (a * a + b * b + d * d + e * e)
        out[j] = min(w[SINE * c + j] - out[j], over)


@routine
def mark_fallen(p: Workspace, step: int) -> int:
    """Mark lanes that fell in the step with this number, from y to x: they are beyond the limit, and
    further than before (a machine that starts beyond it may rise). Return how many lanes have ended.
    """
    c = p.lanes
    fall_margins(p, p.x[c:], p.gap)
    fall_margins(p, p.y, p.settled)
    for j in range(c):
        if p.wrong[j] == 0.0 and p.gap[j] < 0.0 and p.gap[j] < p.settled[j]:
            p.wrong[j], p.ended[j] = FELL, float(step)
    return count_ended(p)
