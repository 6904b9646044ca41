"""Return maps of walkers, which step from one foot to the next.

The reduced state x consists of the angles of the stepping joints and their rates just after a foot has
touched down. The other foot touches down with an impact when its gap closes; the old foot lifts off
without an impulse. Then the symmetry of the steps (`Model.steps`) exchanges the feet, so that a periodic
gait is a fixed point of the map.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.differentiate import multiply_jets, solve_jets, split_stack, transpose
from draisine.analysis.gait.map import CYCLE_ATOL, CYCLE_RTOL
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

GAP_SAMPLES = 400
"""Number of samples of the foot's gap in the longest allowed step; a contact shorter than one sampling
interval is missed."""

MAX_REFINEMENTS = 40
"""Largest number of Newton or bisection steps for the time of touch-down; pure bisection would need 52."""


@dataclass(frozen=True, eq=False)
class StepImpact:
    """Touch-down impact at the end of a walker's step."""

    time: float  # time since the beginning of the step, s
    r: Floats  # joint angles at the impact, rad
    before: Floats  # all speeds before the impact, m/s or rad/s
    after: Floats  # all speeds after the impact, m/s or rad/s
    impulse: Floats  # impulse of the ground on the foot that touches down, N s


@dataclass(frozen=True, eq=False)
class Walk:
    """Return map of a walker.

    Called with the reduced state x just after a touch-down, it returns x just after the next
    touch-down and the derivative, eq. [step-map].
    """

    system: System
    machine: ClosedForm  # equations of motion in the contact mode with the first foot on the ground
    flow: Compiled  # program of the rates of y and of its tangent vectors
    # Program of mass matrix, gaps and constraint rows of the feet, with derivatives by the joint
    # coordinates
    sight: Compiled
    longest: float  # longest allowed duration of a step, s

    @property
    def steps(self) -> Steps:
        """Feet, joints and symmetry of the walker's steps."""
        steps = self.system.model.steps
        assert steps is not None
        return steps

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the stepping joints; x contains their angles, then their rates."""
        return self.steps.joints

    @cached_property
    def _stepping_columns(self) -> list[int]:
        """Indices of the stepping joints among all joints."""
        names = [joint.name for joint in self.system.model.joints]
        return [names.index(name) for name in self.joints]

    @cached_property
    def _foot_indices(self) -> tuple[int, int]:
        """Indices of the two feet among the contacts."""
        names = [contact.name for contact in self.system.model.contacts]
        first, second = (names.index(name) for name in self.steps.feet)
        return first, second

    @cached_property
    def _tangent_problem(self) -> Problem:
        """Initial value problem of y and its tangent vectors."""
        tail = np.zeros(self.flow.inputs.count("w", "anchors"))
        code = (self.flow.address, self.flow.table, self.flow.outputs.size)
        return Problem(*code, tail, self.machine.floors, keep=self.flow)

    def __call__(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the image of the reduced state x under the return map, and the derivative."""
        return self.take_step(x)[:2]

    def take_step(self, reduced_state: Floats) -> tuple[Floats, Floats, StepImpact]:
        """Return the image of the reduced state, the derivative, and the touch-down impact.

        A neighbouring motion with the gap g + dg touches down later by `dt = -dg / g'`, eq.
        [saltation].
        """
        time, jets = self._integrate_to_touchdown(
            self.initial_state(np.asarray(reduced_state, float))
        )
        rate = self._state_rate(time, jets[0])
        gap = self._evaluate_sight(np.vstack([jets, rate]))["gaps"][:, self._foot_indices[1]]
        jets[1:] -= np.outer(gap[1:-1] / gap[-1], rate)
        image, before, after = self.foot_impact(jets)
        evaluated = self._evaluate_sight(jets[:1])
        rows = evaluated["C"][0, 3 * self._foot_indices[1] : 3 * self._foot_indices[1] + 3]
        impulse = np.linalg.lstsq(rows.T, evaluated["M"][0] @ (after - before), rcond=None)[0]
        r = jets[0, self.machine.layout.r]
        return image[0], image[1:].T, StepImpact(time, r, before, after, impulse)

    def initial_state(self, reduced_state: Floats) -> Floats:
        """Return y just after the first foot has touched down, then dy/dx, (1 + components, entries)."""
        k = len(self.joints)
        layout = self.machine.layout
        pose = Configuration(self.machine)
        pose.move_to({name: reduced_state[i : i + 1] for i, name in enumerate(self.joints)})
        jets = np.zeros((1 + 2 * k, layout.size))
        jets[0] = pose.y[0]
        jets[1 : 1 + k, layout.r] = pose.constrained_directions(self.joints)
        return self.set_independent_speeds(
            jets, np.vstack([reduced_state[k:], np.zeros((k, k)), np.eye(k)])
        )

    def set_independent_speeds(self, state_with_derivatives: Floats, joint_rates: Floats) -> Floats:
        """Return y with the independent speeds u set to match the joint rates (rad/s).

        y has the shape (..., 1 + derivatives, entries). The first foot stays on the ground.
        """
        H = self._foot_kernel(
            self._evaluate_sight(state_with_derivatives)["C"], self._foot_indices[0]
        )
        out = state_with_derivatives.copy()
        out[..., self.machine.layout.u] = multiply_jets(H, joint_rates)[
            ..., self._independent_indices
        ]
        return out

    def public_state(self, reduced_state: Sequence[float] | Floats) -> State:
        """Return the public `State` for a reduced state, with other coordinates as close as possible to
        zero.
        """
        y = self.initial_state(np.asarray(reduced_state, float))[0]
        layout = self.machine.layout
        q, p = self.machine.user_pose(y[layout.q], y[layout.p])
        return State(q, p, y[layout.r], self.machine.observation(y)["v"])

    def mass_matrix(self, joint_angles: Floats) -> Floats:
        """Return the mass matrix of all speeds at joint angles (rad)."""
        return self._evaluate_sight(self.machine.layout.pack(r=joint_angles)[None])["M"][0]

    def foot_positions(self, joint_angles: Floats) -> Floats:
        """Return the positions (2, 3) of the two feet (m) at joint angles (rad)."""
        y = self.machine.layout.pack(q=[1.0, 0.0, 0.0, 0.0], r=joint_angles)
        return self.machine.observation(y)["points"].reshape(-1, 3)[list(self._foot_indices)]

    def second_foot_gap(self, joint_angles: Floats) -> tuple[Floats, Floats]:
        """Return gap (m) and arming condition of the second foot, (N,) each, at joint angles (N, joints).

        The foot can touch the ground only if the arming condition is positive, so that a swinging foot
        does not scuff.
        """
        code = self.machine.free
        q = np.tile([[1.0], [0.0], [0.0], [0.0]], len(joint_angles))
        outputs = code.batch(code.inputs.pack(q=q, r=joint_angles.T))
        return outputs["gaps"][self._foot_indices[1]], outputs["armed"][self._foot_indices[1]]

    def next_reduced_state(self, joint_angles: Floats, joint_rates: Floats) -> Floats:
        """Return the reduced state x (..., components) of the next step.

        r (rad) and w (rad/s) are the joint angles and rates after the impact.
        """
        order = [self.joints.index(self.steps.exchange.get(name, name)) for name in self.joints]
        turned = [float(self.steps.turn.get(name, 0.0)) for name in self.joints]
        shape = joint_angles[..., [self._stepping_columns[k] for k in order]]
        shape[..., 0, :] += turned
        return np.concatenate([shape, joint_rates[..., order]], axis=-1)

    @property
    def _independent_indices(self) -> list[int]:
        """Indices of the independent speeds u."""
        return self.machine.choice.independent

    def _foot_rows(self, foot: int) -> list[int]:
        """Return the indices of the constraint rows while a foot is on the ground."""
        return [
            3 * foot,
            3 * foot + 1,
            3 * foot + 2,
            *multiplier.coupled_row_indices(self.system.model),
        ]

    def _state_rate(self, time: float, state: Floats) -> Floats:
        """Return the time derivative of the state vector at a time (s)."""
        return self.machine.rate(t=[time], **self.machine.layout.split(state))["rate"]

    def _evaluate_sight(self, state_with_derivatives: Floats) -> dict[str, Floats]:
        """Return mass matrix, and constraint rows, gaps and arming conditions of the feet, with derivatives.

        States `state_with_derivatives` are (..., 1 + derivatives, entries): the state first, then its
        derivatives.
        """
        code = self.sight
        shape = state_with_derivatives[..., self.machine.layout.r]
        seeds = shape.reshape(-1, shape.shape[-1]).T
        r = np.broadcast_to(shape[..., :1, :], shape.shape).reshape(seeds.T.shape).T
        q = np.tile([[1.0], [0.0], [0.0], [0.0]], seeds.shape[1])
        outputs = code.batch(code.inputs.pack(q=q, r=r, seeds=seeds))["sight"].T
        values, changes = np.split(outputs.reshape(*shape.shape[:-1], -1), 2, axis=-1)
        stacked = np.concatenate([values[..., :1, :], changes[..., 1:, :]], axis=-2)
        n = len(self.system.model.speeds)
        feet = len(self.system.model.contacts)
        M, gaps, armed, C = np.split(stacked, np.cumsum([n * n, feet, feet]), axis=-1)
        sizes = {"M": M.reshape(*M.shape[:-1], n, n), "C": C.reshape(*C.shape[:-1], -1, n)}
        return sizes | {"gaps": gaps, "armed": armed}

    def _foot_kernel(self, constraint_rows: Floats, foot: int) -> Floats:
        """Return the matrix H of `v = H w` while a foot is on the ground.

        v are all speeds, w the rates of the stepping joints; C are the constraint rows of the feet.
        """
        rows = constraint_rows[..., self._foot_rows(foot), :]
        driven = self._stepping_columns
        others = [k for k in range(constraint_rows.shape[-1]) if k not in driven]
        H = np.zeros((*constraint_rows.shape[:-2], constraint_rows.shape[-1], len(driven)))
        H[..., 0, driven, :] = np.eye(len(driven))
        H[..., others, :] = -solve_jets(
            split_stack(rows[..., others]), split_stack(rows[..., driven]), np.inf
        ).stack
        return H

    def _integrate_to_touchdown(self, state_with_derivatives: Floats) -> tuple[float, Floats]:
        """Return the time of the next touch-down (s), and y with its derivatives at that time."""
        times = self.longest * np.arange(GAP_SAMPLES + 1) / GAP_SAMPLES
        span = Span(0.0, self.longest, self.longest / GAP_SAMPLES, times, CYCLE_RTOL, CYCLE_ATOL)
        times, samples, _ = dop853.advance(
            self._tangent_problem, state_with_derivatives.ravel(), span
        )
        gap, armed = self.second_foot_gap(samples[:, self.machine.layout.r])
        for i in np.flatnonzero((gap[:-1] > 0) & (gap[1:] <= 0) & (armed[1:] > 0)):
            return self._refine_touchdown(
                times[i], samples[i].reshape(state_with_derivatives.shape), times[i + 1]
            )
        raise ConfigurationError(
            f"The foot {self.steps.feet[1]!r} does not touch down within {self.longest:g} s: the walker "
            "falls, or moves backwards. Start closer to a cycle."
        )

    def _refine_touchdown(
        self, earliest: float, state_with_derivatives: Floats, latest: float
    ) -> tuple[float, Floats]:
        """Return the time (s) between `earliest` and `latest` at which the gap closes, and y with
        derivatives.

        Newton's method starts at the lower end; a step out of the bracket is replaced by bisection.
        """
        start = earliest
        time = earliest
        reached = state_with_derivatives
        for _ in range(MAX_REFINEMENTS):
            gap = self._evaluate_sight(
                np.vstack([reached[:1], self._state_rate(time, reached[0])])
            )["gaps"]
            earliest, latest = (
                (time, latest) if gap[0, self._foot_indices[1]] > 0 else (earliest, time)
            )
            aim = time - gap[0, self._foot_indices[1]] / gap[1, self._foot_indices[1]]
            aim = aim if earliest <= aim <= latest else (earliest + latest) / 2
            if abs(aim - time) <= 2e-16 * abs(aim):
                break
            span = Span(start, aim, 1.0, np.array([aim]), CYCLE_RTOL, CYCLE_ATOL)
            samples = dop853.advance(self._tangent_problem, state_with_derivatives.ravel(), span)[1]
            time = aim
            reached = samples[-1].reshape(state_with_derivatives.shape)
        return time, reached

    def foot_impact(self, state_with_derivatives: Floats) -> tuple[Floats, Floats, Floats]:
        """Return x after the impact of the second foot with derivatives, and the speeds before and after.

        States are (..., 1 + derivatives, entries). The speeds after the impact keep the new foot on the
        ground and conserve the momentum along the motions that it allows, eq. [step-impact].
        """
        layout = self.machine.layout
        evaluated = self._evaluate_sight(state_with_derivatives)
        old, new = (
            split_stack(self._foot_kernel(evaluated["C"], foot)) for foot in self._foot_indices
        )
        M = split_stack(evaluated["M"])
        u = split_stack(state_with_derivatives[..., layout.u, None])
        v = old @ solve_jets(old[..., self._independent_indices, :], u, np.inf)
        projection = transpose(new)
        w = solve_jets(projection @ M @ new, projection @ (M @ v), np.inf)
        image = self.next_reduced_state(state_with_derivatives[..., layout.r], w.stack[..., 0])
        before, after = (speeds.value[..., 0, :, 0] for speeds in (v, new @ w))
        return image, before, after

    def cycle(self, guess: Sequence[float] | Floats) -> Cycle:
        """Return the limit cycle near the reduced state x, by Newton's method."""
        return fixed_point(self, guess)

    def cycles(self, box: Sequence[tuple[float, float]], count: int = 5) -> list[Cycle]:
        """Return the limit cycles in a box of x, searched from a grid of `count` starts per side."""
        return fixed_points(self, box, count=count)

    def at(self, **parameters: float) -> "Walk":
        """Return the return map of the walker with other parameter values, without compiling again."""
        system = self.system.with_parameters(**parameters)
        machine = system.machine({self.steps.feet[0]: "rolling", self.steps.feet[1]: "open"})
        flow, sight = (code.rebind(system.values) for code in (self.flow, self.sight))
        return Walk(system, machine, flow, sight, self.longest)


def walk(system: System, longest: float = 5.0) -> Walk:
    """Return the return map of a walker.

    Parameters
    ----------
    system
        The compiled walker with fixed base, whose model defines `steps`.
    longest
        Longest allowed duration of a step (s).

    Raises
    ------
    ParameterError
        If the model has no `steps`, or other degrees of freedom than its stepping joints.

    Examples
    --------
    >>> from draisine.system.system import compile
    >>> down = walk(compile("rimless_wheel"))
    >>> rolling = down.cycle([-0.39, 1.0])
    >>> print(f"{rolling.x[1]:.6f} rad/s, multiplier {rolling.multipliers[0].real:.6f}")
    1.095463 rad/s, multiplier 0.500000
    """
    model = system.model
    if model.steps is None or model.twist:
        lack = "its base is not fixed" if model.steps else "its model has no `steps`"
        raise ParameterError(f"{system.vehicle.__name__} cannot walk: {lack}.")
    first, second = model.steps.feet
    machine = system.machine({first: "rolling", second: "open"})
    joints = model.steps.joints
    if len(machine.choice.independent) != len(joints):
        raise ParameterError(
            f"{system.vehicle.__name__} cannot walk: on one foot it has {len(machine.choice.independent)} "
            f"degrees of freedom, but {len(joints)} stepping joints. Add or remove joints of `steps`."
        )
    state = ("q", "p", "r", "u", "z")
    flow = with_tangents(machine.programs["rate"], state, "rate", 2 * len(joints))
    free = machine.programs["free"]
    entries = [k for name in ("M", "gaps", "armed", "C") for k in free.outputs[name]]
    sight = with_tangents(replace(free, outputs={"sight": entries}), ("r",), "sight", 1)
    bind = system.artifacts.bind
    return Walk(system, machine, bind(flow, system.values), bind(sight, system.values), longest)
