"""Return maps of climbing gaits: planar climbers that hang by one grip at a time.

Grips change at fixed times, and all joints follow periodic motions. So the reduced state consists of the
turning rate and the angle of the base, x = (Omega, theta); the equations do not depend on the position. A
*hold* is the interval between two changes of grips. During a hold the motion is integrated with its
derivative, eq. [tangent-flow]; a change of grips is an impact.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.return_map import Cycle, fixed_point, fixed_points, wrap_angles
from draisine.codegen.derivative import with_tangents
from draisine.errors import ConfigurationError, ParameterError, SimulationError
from draisine.mechanics.base import is_planar
from draisine.model import Model
from draisine.simulation.integrators import REACHED_END, Problem, Span, dop853
from draisine.simulation.options import JointAtImpact
from draisine.simulation.regrip import Regrip, regrip
from draisine.system.closed_form import ClosedForm
from draisine.system.compiled import Compiled
from draisine.system.layout import Layout
from draisine.system.state import State
from draisine.system.system import System

ANGLE_COMPONENTS = (1,)
"""Indices of the angles in the reduced state x = (Omega, theta)."""

CYCLE_RTOL = 1e-12
CYCLE_ATOL = 1e-13
"""Relative and absolute tolerance of the integration; they are tight because the Floquet multipliers of
cycles are two to three digits less accurate."""

MAX_SEARCHED_RATE = 40.0
"""Largest turning rate (rad/s) at which cycles are searched."""

MAX_TURNING_RATE = 1e4
"""Largest turning rate (rad/s) that is integrated; faster motions would take hours."""

SYMMETRY_TOLERANCE = 1e-7
"""Largest relative difference between one period and two mirrored half periods of a symmetric gait;
integration errors are below 1e-10."""


@dataclass(frozen=True, eq=False)
class Hold:
    """Motion of a climber while one grip is closed: maps initial x to final x, with derivatives.

    The reduced state is x = (Omega, theta). `machine` and `flow` may have been compiled for other
    parameter values; those of `system` are used.
    """

    system: System
    machine: ClosedForm
    flow: Compiled  # program of the rates of y and of two tangent vectors
    mode: dict[str, str]  # contact statuses of the grips by name
    start: float  # time at which the grip closes, s
    end: float  # time at which the grip opens, s

    @cached_property
    def _frame_angle(self) -> float:
        """Angle (rad) of the base frame used in the equations, in the zero configuration."""
        R = self.machine.frame[0]
        return float(np.arctan2(R[1, 0], R[0, 0]))

    @property
    def layout(self) -> Layout:
        """Layout of the state vector y: pose, joint coordinates and the turning rate u."""
        return self.machine.layout

    @cached_property
    def observe(self) -> Compiled:
        """Program that computes all observations of a state."""
        return self.machine.observe.rebind(self.system.values)

    @cached_property
    def _tangent_problem(self) -> Problem:
        """Initial value problem of y and two tangent vectors."""
        flow = self.flow.rebind(self.system.values)
        tail = np.zeros(flow.inputs.count("w", "anchors"))
        floors = self.machine.floors_for(self.system.values[:, None])[:, 0]
        return Problem(flow.address, flow.table, flow.outputs.size, tail, floors, keep=flow)

    def joint_motion(self, time: float) -> tuple[Floats, Floats]:
        """Return the prescribed joint coordinates (rad) and their rates (rad/s) at a time (s)."""
        motions = [
            joint.motion(time) for joint in self.system.model.joints if joint.motion is not None
        ]
        return np.array([float(r) for r, *_ in motions]), np.array(
            [float(x) for _, x, _ in motions]
        )

    def initial_state(self, reduced_state: Floats, place: Floats | None = None) -> Floats:
        """Return y when the grip closes, followed by dy/dOmega and dy/dtheta.

        The origin of the base is at `place` (m).
        """
        c = np.cos((reduced_state[1] + self._frame_angle) / 2)
        s = np.sin((reduced_state[1] + self._frame_angle) / 2)
        p = np.zeros(3) if place is None else place
        y = self.layout.pack(q=[c, 0.0, 0.0, s], p=p, r=self._initial_shape, u=reduced_state[:1])
        by_rate = self.layout.pack(u=[1.0])
        by_angle = self.layout.pack(q=[-s / 2, 0.0, 0.0, c / 2])
        return np.concatenate([y, by_rate, by_angle])

    @cached_property
    def _initial_shape(self) -> Floats:
        """Joint coordinates (rad) when the grip closes."""
        return self.joint_motion(self.start)[0]

    def integrate(self, state_and_tangents: Floats, times: Floats) -> Floats:
        """Integrate a state and its tangent vectors from the beginning of the hold to given times (s)."""
        span = Span(self.start, float(times[-1]), 1.0, times, CYCLE_RTOL, CYCLE_ATOL)
        _, samples, status = dop853.advance(self._tangent_problem, state_and_tangents, span)
        if status != REACHED_END:
            raise SimulationError(
                f"The integration of a gait fails between {self.start:g} s and {times[-1]:g} s."
            )
        return samples

    def reduced_state(self, state: Floats) -> Floats:
        """Return the reduced state (Omega, theta) of a state, theta in (-pi, pi]."""
        (u,) = state[self.layout.u]
        q = state[self.layout.q]
        return np.array([u, 2 * np.arctan2(q[3], q[0]) - self._frame_angle])

    def __call__(self, x: Floats) -> tuple[Floats, Floats]:
        """Return x at the end of the hold and its derivative by x at the beginning, eq.
        [tangent-flow].
        """
        if not abs(x[0]) <= MAX_TURNING_RATE:
            raise ConfigurationError(
                f"A turning rate of {x[0]:.3g} rad/s takes too long to integrate. Stay below "
                f"{MAX_TURNING_RATE:g} rad/s."
            )
        end = self.integrate(self.initial_state(x), np.array([self.end]))[-1]
        y, *seeds = end.reshape(3, self.layout.size)
        c, _, _, s = y[self.layout.q]
        dq = np.array([seed[self.layout.q] for seed in seeds])
        turn = 2 * (c * dq[:, 3] - s * dq[:, 0]) / (c**2 + s**2)
        return self.reduced_state(y), np.array([[seed[self.layout.u][0] for seed in seeds], turn])

    def free_dynamics(self, time: float) -> dict[str, Floats]:
        """Return the outputs of the program `free` (equations without grips) at a time (s), in base axes."""
        code = self.machine.free.rebind(self.system.values)
        return code(t=[time], q=[1.0, 0.0, 0.0, 0.0], r=self.joint_motion(time)[0])

    @cached_property
    def _free_dynamics_at_end(self) -> dict[str, Floats]:
        """Outputs of the program `free` when the grip opens."""
        return self.free_dynamics(self.end)

    def all_speeds(self, free_outputs: dict[str, Floats], Omega: float, time: float) -> Floats:
        """Return all speeds v for the turning rate Omega (rad/s) at a time (s), with the grip closed."""
        gripped = next(k for k, (_, status) in enumerate(self.machine.mode) if status != "open")
        rates = self.joint_motion(time)[1]
        rows = free_outputs["C"].reshape(-1, 3 + len(rates))[3 * gripped : 3 * gripped + 2]
        v = np.concatenate([np.zeros(2), [Omega], rates])
        v[:2] = np.linalg.solve(rows[:, :2], -rows[:, 2:] @ v[2:])
        return v

    def grip_impact(self, Omega: float, next_mode: dict[str, str], joint: JointAtImpact) -> Regrip:
        """Return the impact at which the grip of another contact mode closes.

        Omega (rad/s) is the turning rate before the impact.
        """
        free = self._free_dynamics_at_end
        v = self.all_speeds(free, Omega, self.end)
        return regrip(self.system.model, free, v, next_mode, joint=joint)

    def public_state(self, reduced_state: Floats) -> State:
        """Return the public `State` at the beginning of the hold for a reduced state; the base is at
        the world's origin.
        """
        q = np.array([np.cos(reduced_state[1] / 2), 0.0, 0.0, np.sin(reduced_state[1] / 2)])
        v = self.all_speeds(self.free_dynamics(self.start), float(reduced_state[0]), self.start)
        return State(q, np.zeros(3), self._initial_shape, v)


@dataclass(frozen=True, eq=False)
class Gait:
    """Return map of a climber with alternating grips: the holds of one period, in order.

    Called with x just after the first grip has closed, it returns x one period later and the
    derivative, eq. [return-map]. A `mirrored` gait integrates the first hold only and reflects the
    result, eq. [half-map]: its fixed points are the cycles whose second half is the mirror image of
    the first, which lead straight up or down.
    """

    system: System
    holds: tuple[Hold, ...]
    joint: JointAtImpact
    mirrored: bool

    @property
    def period(self) -> float:
        """Duration of one cycle (s)."""
        return self.holds[-1].end

    @property
    def power(self) -> int:
        """Number of return maps in one cycle."""
        return len(self.holds) if self.mirrored else 1

    def next(self, hold_index: int) -> Hold:
        """Return the hold that follows the hold with this index."""
        return self.holds[(hold_index + 1) % len(self.holds)]

    @cached_property
    def jumps(self) -> tuple[tuple[float, float], ...]:
        """Coefficients (gain, kick) of the impact `Omega+ = gain Omega- + kick` after each hold.

        The impact is linear in the speeds, and in the axes of the base it does not depend on theta.
        """
        gains_and_kicks = []
        for k, hold in enumerate(self.holds[:1] if self.mirrored else self.holds):
            still, turning = (
                hold.grip_impact(Omega, self.next(k).mode, self.joint).v[2] for Omega in (0.0, 1.0)
            )
            gains_and_kicks.append((float(turning - still), float(still)))
        return tuple(gains_and_kicks)

    def __call__(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the image of x = (Omega, theta) under the return map, and the derivative (2, 2)."""
        x = np.asarray(x, float)
        total = np.eye(2)
        for hold, (gain, kick) in zip(self.holds, self.jumps, strict=False):
            x, J = hold(x)
            x[0] = gain * x[0] + kick
            total = np.diag([gain, 1.0]) @ J @ total
        return (np.array([-x[0], np.pi - x[1]]), -total) if self.mirrored else (x, total)

    def cycle(self, guess: Sequence[float] | Floats) -> Cycle:
        """Return the limit cycle near (Omega, theta), in rad/s and rad, by Newton's method."""
        return fixed_point(self, guess, angles=ANGLE_COMPONENTS, power=self.power)

    def cycles(
        self, max_rate: float = MAX_SEARCHED_RATE, count: Sequence[int] = (8, 8)
    ) -> list[Cycle]:
        """Return the limit cycles with `|Omega| <= fastest` (rad/s) just after the first grip has
        closed.

        Newton's method starts at a grid of `count` rates times `count` angles.
        """
        box = [(-max_rate, max_rate), (0.0, 2 * np.pi)]
        return fixed_points(self, box, count=count, angles=ANGLE_COMPONENTS, power=self.power)

    def at(self, **parameters: float) -> "Gait":
        """Return the gait of the climber with other parameter values, without compiling again."""
        system = self.system.with_parameters(**parameters)
        modes, pause = find_grip_sequence(system)
        holds = tuple(
            Hold(system, old.machine, old.flow, mode, k * pause, (k + 1) * pause)
            for k, (old, mode) in enumerate(zip(self.holds, modes, strict=True))
        )
        return Gait(system, holds, self.joint, self.mirrored)


def gait(system: System, *, joint: JointAtImpact = "free", mirrored: bool = True) -> Gait:
    """Return the gait (return map) of a climber whose pins grip one after the other.

    The pins grip in the order of the model. The period is 1 / `frequency` (s); the frequency (Hz) is a
    parameter of the system.

    Parameters
    ----------
    system
        The compiled planar climber, with pins and prescribed joint motions.
    joint
        Behaviour of the joints at a change of grips, see `draisine.simulation.regrip.regrip`.
    mirrored
        Whether only the first half of the period is integrated, see `Gait`.

    Returns
    -------
    Gait
        The return map over one period.

    Raises
    ------
    ParameterError
        If the system cannot have a gait, or if `mirrored` is true and the gait is not symmetric.

    Examples
    --------
    >>> from draisine.system.system import compile
    >>> climb = gait(compile("rocr", phase=1.5 * np.pi))
    >>> for cycle in climb.cycles():
    ...     Omega, theta = cycle.x
    ...     word = "stable" if cycle.stable else "unstable"
    ...     print(f"{Omega:.6f} rad/s, {theta / np.pi:.6f} pi, {word}")
    6.825064 rad/s, 0.996523 pi, stable
    14.824595 rad/s, 1.720704 pi, unstable
    """
    modes, pause = find_grip_sequence(system)
    holds = []
    for k, mode in enumerate(modes):
        machine = system.machine(mode)
        if machine.choice.names != ["Wz"]:
            free = ", ".join(machine.choice.names) or "nothing"
            raise ParameterError(
                f"{system.vehicle.__name__} has no gait: in the mode {mode} its only degree of freedom must "
                f"be the rotation of the base (Wz), but the independent speeds are {free}."
            )
        program = with_tangents(machine.programs["rate"], ("q", "p", "r", "u", "z"), "rate", 2)
        flow = system.artifacts.bind(program, system.values)
        holds.append(Hold(system, machine, flow, mode, k * pause, (k + 1) * pause))
    cycle_map = Gait(system, tuple(holds), joint, mirrored)
    if mirrored and not _is_symmetric(cycle_map):
        raise ParameterError(
            f"{system.vehicle.__name__}: the second half of the period is not the mirror image of the "
            "first. Use mirrored=False."
        )
    return cycle_map


def find_grip_sequence(system: System) -> tuple[list[dict[str, str]], float]:
    """Return the contact modes of one period in order, and the duration of each (s)."""
    missing = explain_missing_gait(system.model)
    if not missing and not system.parameters.get("frequency", 0.0) > 0.0:
        missing = "it needs a parameter `frequency` greater than zero"
    if missing:
        raise ParameterError(f"{system.vehicle.__name__} has no gait: {missing}.")
    pins = [contact.name for contact in system.model.contacts]
    modes = [{pin: "gripped" if pin == held else "open" for pin in pins} for held in pins]
    return modes, 1.0 / (len(pins) * system.parameters["frequency"])


def explain_missing_gait(model: Model) -> str:
    """Return the reason why a model cannot have a gait; an empty string if it can."""
    pins = model.pins
    if not is_planar(model) or len(pins) < 2 or len(pins) < len(model.contacts):
        return "it must be planar, and its contacts must be two or more grips (pins)"
    for joint in model.joints:
        if joint.motion is None:
            return f"its joint {joint.name!r} has no prescribed motion"
    return ""


def _is_symmetric(gait: Gait) -> bool:
    """Return whether a gait has two holds and the second is the mirror image of the first."""
    if len(gait.holds) != 2:
        return False
    full = Gait(gait.system, gait.holds, gait.joint, False)
    # Compare two mirrored half periods with one full period, at two states without symmetry.
    for x in (np.array([1.0, 0.3]), np.array([-2.0, 2.1])):
        twice, _ = gait(gait(x)[0])
        difference = np.abs(wrap_angles(twice - full(x)[0], ANGLE_COMPONENTS)).max()
        if difference > SYMMETRY_TOLERANCE * (1.0 + np.abs(twice).max()):
            return False
    return True
