"""Walkers: machines that step from one foot to the next, each touching the ground by an impact.

A step is told by x: the angles of the joints that make it, and their rates, just after a foot took
hold. The next foot comes down where its gap closes; the old one leaves without an impulse. What
makes the next step look like this one (`Model.steps`) is undone, so that a cycle is a fixed point.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.differentiate import MatrixJet, jet, solve, transpose
from draisine.analysis.return_map import Cycle, fixed_point, fixed_points
from draisine.codegen.derivative import with_tangents
from draisine.errors import ConfigurationError, ParameterError
from draisine.mechanics.formulations import multiplier
from draisine.model import Steps
from draisine.simulation.integrators import Problem, Span, dop853
from draisine.system.closed_form import ClosedForm
from draisine.system.compiled import Compiled
from draisine.system.configuration import Configuration
from draisine.system.state import State
from draisine.system.system import System

RTOL, ATOL = 1e-12, 1e-13
"""How exactly the motion between two strikes is integrated."""

LOOKS = 400
"""At how many times between two strikes the feet are looked at."""


@dataclass(frozen=True, eq=False)
class Strike:
    """How a step ends: when, the joints, all speeds before and after, and the impulses of the ground
    on the foot that comes down, N s.
    """

    time: float
    r: Floats
    before: Floats
    after: Floats
    impulse: Floats


@dataclass(frozen=True, eq=False)
class Walk:
    """The return map of a walker: called with x just after a foot took hold, it returns x just after
    the next one did, and the derivative, eq. [step-map]. `longest` is how long a step may take, in s.
    """

    system: System
    machine: ClosedForm
    flow: Compiled
    sight: Compiled
    longest: float

    @property
    def steps(self) -> Steps:
        """Which foot follows which."""
        steps = self.system.model.steps
        assert steps is not None
        return steps

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints that make the steps; x has their angles, then their rates."""
        return self.steps.joints

    @cached_property
    def _columns(self) -> list[int]:
        """Which joints these are."""
        known = [joint.name for joint in self.system.model.joints]
        return [known.index(name) for name in self.joints]

    @cached_property
    def _feet(self) -> tuple[int, int]:
        """The numbers of the two feet among the contacts."""
        known = [contact.name for contact in self.system.model.contacts]
        first, second = (known.index(name) for name in self.steps.feet)
        return first, second

    @cached_property
    def _problem(self) -> Problem:
        """What the integrator advances: y and its seeds."""
        tail = np.zeros(self.flow.inputs.count("w", "anchors"))
        code = (self.flow.address, self.flow.table, self.flow.outputs.size)
        return Problem(*code, tail, self.machine.floors, keep=self.flow)

    def __call__(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the image of x and the derivative there."""
        return self.step(x)[:2]

    def step(self, x: Floats) -> tuple[Floats, Floats, Strike]:
        """Return the image of x, the derivative there, and how the step ends.

        Neighbouring motions strike earlier or later: `dt = -dg / g'` for each, eq. [saltation].
        """
        time, whole = self._until_strike(self.begin(np.asarray(x, float)))
        rate = self._rate(time, whole[0])
        gap = self._look(np.vstack([whole, rate]))["gaps"][:, self._feet[1]]
        whole[1:] -= np.outer(gap[1:-1] / gap[-1], rate)
        image, before, after = self.strike(whole)
        there = self._look(whole[:1])
        rows = there["C"][0, 3 * self._feet[1] : 3 * self._feet[1] + 3]
        impulse = np.linalg.lstsq(rows.T, there["M"][0] @ (after - before), rcond=None)[0]
        r = whole[0, self.machine.layout.r]
        return image[0], image[1:].T, Strike(time, r, before, after, impulse)

    def begin(self, x: Floats) -> Floats:
        """Return y just after the first foot took hold, and its derivatives by x, one per row."""
        k, at = len(self.joints), self.machine.layout
        pose = Configuration(self.machine)
        pose.reach({name: x[i : i + 1] for i, name in enumerate(self.joints)})
        whole = np.zeros((1 + 2 * k, at.size))
        whole[0], whole[1 : 1 + k, at.r] = pose.y[0], pose.directions(self.joints)
        return self.with_speeds(whole, np.vstack([x[k:], np.zeros((k, k)), np.eye(k)]))

    def with_speeds(self, whole: Floats, w: Floats) -> Floats:
        """Return y (..., 1 + derivatives, entries) whose speeds are those of the first foot's hold,
        with the rates w of the steps' joints.
        """
        H = self._kernel(self._look(whole)["C"], self._feet[0])
        out = whole.copy()
        out[..., self.machine.layout.u] = (jet(H) @ jet(w[..., None])).stack[..., self._free, 0]
        return out

    def state(self, x: Sequence[float] | Floats) -> State:
        """Return the state that x tells, as near to the drawing as can be."""
        y, at = self.begin(np.asarray(x, float))[0], self.machine.layout
        q, p = self.machine.user_pose(y[at.q], y[at.p])
        return State(q, p, y[at.r], self.machine.observation(y)["v"])

    def masses(self, r: Floats) -> Floats:
        """Return the mass matrix of all speeds at a shape."""
        return self._look(self.machine.layout.pack(r=r)[None])["M"][0]

    def feet(self, r: Floats) -> Floats:
        """Return where the two feet are at a shape, (2, 3)."""
        y = self.machine.layout.pack(q=[1.0, 0.0, 0.0, 0.0], r=r)
        return self.machine.observation(y)["points"].reshape(-1, 3)[list(self._feet)]

    def gaps(self, r: Floats) -> tuple[Floats, Floats]:
        """Return the gap of the second foot in many shapes (N, joints), and where it is above zero the
        foot can touch.
        """
        code = self.machine.free
        q = np.tile([[1.0], [0.0], [0.0], [0.0]], len(r))
        found = code.batch(code.inputs.pack(q=q, r=r.T))
        return found["gaps"][self._feet[1]], found["armed"][self._feet[1]]

    def next_x(self, r: Floats, w: Floats) -> Floats:
        """Return x of the next steps (..., components) for shapes and rates after strikes."""
        order = [self.joints.index(self.steps.exchange.get(name, name)) for name in self.joints]
        turned = [float(self.steps.turn.get(name, 0.0)) for name in self.joints]
        shape = r[..., [self._columns[k] for k in order]]
        shape[..., 0, :] += turned
        return np.concatenate([shape, w[..., order]], axis=-1)

    @property
    def _free(self) -> list[int]:
        """Which of the speeds are u."""
        return self.machine.choice.independent

    def _rows(self, foot: int) -> list[int]:
        """Return the rows that hold while a foot does."""
        return [3 * foot, 3 * foot + 1, 3 * foot + 2, *multiplier.joint_rows(self.system.model)]

    def _rate(self, time: float, y: Floats) -> Floats:
        return self.machine.rate(t=[time], **self.machine.layout.split(y))["rate"]

    def _look(self, whole: Floats) -> dict[str, Floats]:
        """Return mass matrix, rows, gaps and conditions of the feet at states (..., 1 + derivatives,
        entries), each followed by its derivatives along the displacements below.
        """
        code, shape = self.sight, whole[..., self.machine.layout.r]
        seeds = shape.reshape(-1, shape.shape[-1]).T
        r = np.broadcast_to(shape[..., :1, :], shape.shape).reshape(seeds.T.shape).T
        q = np.tile([[1.0], [0.0], [0.0], [0.0]], seeds.shape[1])
        found = code.batch(code.inputs.pack(q=q, r=r, seeds=seeds))["sight"].T
        values, changes = np.split(found.reshape(*shape.shape[:-1], -1), 2, axis=-1)
        parts = np.concatenate([values[..., :1, :], changes[..., 1:, :]], axis=-2)
        n, feet = len(self.system.model.speeds), len(self.system.model.contacts)
        M, gaps, armed, C = np.split(parts, np.cumsum([n * n, feet, feet]), axis=-1)
        sizes = {"M": M.reshape(*M.shape[:-1], n, n), "C": C.reshape(*C.shape[:-1], -1, n)}
        return sizes | {"gaps": gaps, "armed": armed}

    def _kernel(self, C: Floats, foot: int) -> Floats:
        """Return H of `v = H w` with w the rates of the steps' joints while one foot holds."""
        own, moved = C[..., self._rows(foot), :], self._columns
        others = [k for k in range(C.shape[-1]) if k not in moved]
        H = np.zeros((*C.shape[:-2], C.shape[-1], len(moved)))
        H[..., 0, moved, :] = np.eye(len(moved))
        H[..., others, :] = -solve(jet(own[..., others]), jet(own[..., moved]), np.inf).stack
        return H

    def _until_strike(self, whole: Floats) -> tuple[float, Floats]:
        """Return when the next foot comes down, and y with its derivatives then."""
        times = self.longest * np.arange(LOOKS + 1) / LOOKS
        span = Span(0.0, self.longest, self.longest / LOOKS, times, RTOL, ATOL)
        times, samples, _ = dop853.advance(self._problem, whole.ravel(), span)
        gap, armed = self.gaps(samples[:, self.machine.layout.r])
        for i in np.flatnonzero((gap[:-1] > 0) & (gap[1:] <= 0) & (armed[1:] > 0)):
            return self._refine(times[i], samples[i].reshape(whole.shape), times[i + 1])
        raise ConfigurationError(
            f"the foot {self.steps.feet[1]!r} does not come down within {self.longest:g} s: the walker "
            "falls, or goes backwards. Start nearer to a cycle."
        )

    def _refine(self, low: float, whole: Floats, high: float) -> tuple[float, Floats]:
        """Return the instant between two times at which the gap closes, by Newton's method from the
        first, and y with its derivatives then.
        """
        start, time, reached = low, low, whole
        for _ in range(40):
            gap = self._look(np.vstack([reached[:1], self._rate(time, reached[0])]))["gaps"]
            low, high = (time, high) if gap[0, self._feet[1]] > 0 else (low, time)
            aim = time - gap[0, self._feet[1]] / gap[1, self._feet[1]]
            aim = aim if low <= aim <= high else (low + high) / 2
            if abs(aim - time) <= 2e-16 * abs(aim):
                break
            span = Span(start, aim, 1.0, np.array([aim]), RTOL, ATOL)
            samples = dop853.advance(self._problem, whole.ravel(), span)[1]
            time, reached = aim, samples[-1].reshape(whole.shape)
        return time, reached

    def strike(self, whole: Floats) -> tuple[Floats, Floats, Floats]:
        """Return x after the second foot took hold at states (..., 1 + derivatives, entries), with its
        derivatives, and all speeds before and after: of those that the new foot allows, the ones with
        the old momentum along them, eq. [step-impact].
        """
        at, there = self.machine.layout, self._look(whole)
        old, new = (jet(self._kernel(there["C"], foot)) for foot in self._feet)
        M, u = jet(there["M"]), jet(whole[..., at.u, None])
        free = MatrixJet(old.value[..., self._free, :], old.rate[..., self._free, :])
        v, to = old @ solve(free, u, np.inf), transpose(new)
        w = solve(to @ M @ new, to @ (M @ v), np.inf)
        image = self.next_x(whole[..., at.r], w.stack[..., 0])
        before, after = (speeds.value[..., 0, :, 0] for speeds in (v, new @ w))
        return image, before, after

    def cycle(self, near: Sequence[float] | Floats) -> Cycle:
        """Return the cycle next to x."""
        return fixed_point(self, near)

    def cycles(self, box: Sequence[tuple[float, float]], count: int = 5) -> list[Cycle]:
        """Return all cycles in a box that a search finds."""
        return fixed_points(self, box, count=count)

    def at(self, **parameters: float) -> "Walk":
        """Return the same walk of a machine with other parameters, by the same code."""
        system = self.system.with_parameters(**parameters)
        machine = system.machine({self.steps.feet[0]: "rolling", self.steps.feet[1]: "open"})
        flow, sight = (code.rebind(system.values) for code in (self.flow, self.sight))
        return Walk(system, machine, flow, sight, self.longest)


def walk(system: System, longest: float = 5.0) -> Walk:
    """Return the walk of a machine whose model tells how it steps; no step takes longer than
    `longest`, in s.

    >>> from draisine.system.system import compile
    >>> down = walk(compile("rimless_wheel"))
    >>> rolling = down.cycle([-0.39, 1.0])
    >>> print(f"{rolling.x[1]:.6f} rad/s, multiplier {rolling.multipliers[0].real:.6f}")
    1.095463 rad/s, multiplier 0.500000
    """
    model = system.model
    if model.steps is None or model.twist:
        lack = "its base is not fixed" if model.steps else "its model does not tell its `steps`"
        raise ParameterError(f"{system.vehicle.__name__} has no walk: {lack}.")
    first, second = model.steps.feet
    machine = system.machine({first: "rolling", second: "open"})
    known = model.steps.joints
    if len(machine.choice.independent) != len(known):
        raise ParameterError(
            f"{system.vehicle.__name__} has no walk: on one foot {len(machine.choice.independent)} "
            f"speeds are free, and {len(known)} joints make its steps."
        )
    state = ("q", "p", "r", "u", "z")
    flow = with_tangents(machine.programs["rate"], state, "rate", 2 * len(known))
    free = machine.programs["free"]
    parts = [k for part in ("M", "gaps", "armed", "C") for k in free.outputs[part]]
    sight = with_tangents(replace(free, outputs={"sight": parts}), ("r",), "sight", 1)
    bind = system.artifacts.bind
    return Walk(system, machine, bind(flow, system.values), bind(sight, system.values), longest)
