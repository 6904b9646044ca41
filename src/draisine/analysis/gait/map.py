"""Gaits: machines in the plane that hang by one grip at a time, change it by the clock, and move
their joints by periodic motions.

All joints are prescribed, so a motion is told by the turning rate of the base and its angle: x =
(Omega, theta). Translations change nothing, so where the machine hangs is left out of x.
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
from draisine.simulation.integrators import DONE, Problem, Span, dop853
from draisine.simulation.options import JointAtImpact
from draisine.simulation.regrip import Regrip, regrip
from draisine.system.closed_form import ClosedForm
from draisine.system.compiled import Compiled
from draisine.system.layout import Layout
from draisine.system.state import State
from draisine.system.system import System

ANGLES = (1,)
"""Which component of x is an angle."""

RTOL, ATOL = 1e-12, 1e-13
"""How exactly the motion between two changes is integrated."""

FASTEST = 40.0
"""A search looks for turning rates up to this, in rad/s."""

LIMIT = 1e4
"""No motion is followed from a turning rate above this, in rad/s: it would take hours."""


@dataclass(frozen=True, eq=False)
class Hold:
    """The motion while one grip holds: x at its end from x at its beginning, with derivatives.

    `machine` and `flow` were made for the parameters of some system; `system` has those that count
    here. Their code is the same, only its tables differ.
    """

    system: System
    machine: ClosedForm
    flow: Compiled
    mode: dict[str, str]
    start: float
    end: float

    @cached_property
    def _turned(self) -> float:
        """The angle of the inner base frame in the drawing."""
        R = self.machine.frame[0]
        return float(np.arctan2(R[1, 0], R[0, 0]))

    @property
    def at(self) -> Layout:
        """Where pose, joints and the turning rate u stand in y."""
        return self.machine.layout

    @cached_property
    def observe(self) -> Compiled:
        """What tells everything of a state."""
        return self.machine.observe.rebind(self.system.values)

    @cached_property
    def _problem(self) -> Problem:
        """What the integrator advances: y and two seeds."""
        flow = self.flow.rebind(self.system.values)
        tail = np.zeros(flow.inputs.count("w", "anchors"))
        floors = self.machine.floors_for(self.system.values[:, None])[:, 0]
        return Problem(flow.address, flow.table, flow.outputs.size, tail, floors, keep=flow)

    def joints(self, t: float) -> tuple[Floats, Floats]:
        """Return the joints and their rates by their motions."""
        motions = [
            joint.motion(t) for joint in self.system.model.joints if joint.motion is not None
        ]
        return np.array([float(r) for r, *_ in motions]), np.array(
            [float(x) for _, x, _ in motions]
        )

    def begin(self, x: Floats, place: Floats | None = None) -> Floats:
        """Return y at the beginning, the base's origin at `place`, and dy/dOmega, dy/dtheta."""
        c, s = np.cos((x[1] + self._turned) / 2), np.sin((x[1] + self._turned) / 2)
        p = np.zeros(3) if place is None else place
        y = self.at.pack(q=[c, 0.0, 0.0, s], p=p, r=self._shape, u=x[:1])
        by_rate, by_angle = self.at.pack(u=[1.0]), self.at.pack(q=[-s / 2, 0.0, 0.0, c / 2])
        return np.concatenate([y, by_rate, by_angle])

    @cached_property
    def _shape(self) -> Floats:
        """The joints at the beginning."""
        return self.joints(self.start)[0]

    def advance(self, y: Floats, times: Floats) -> Floats:
        """Return y and its seeds at times of the hold, y being those at its beginning."""
        span = Span(self.start, float(times[-1]), 1.0, times, RTOL, ATOL)
        _, samples, status = dop853.advance(self._problem, y, span)
        if status != DONE:
            raise SimulationError(
                f"the motion cannot be followed from {self.start:g} s to {times[-1]:g} s."
            )
        return samples

    def x_of(self, y: Floats) -> Floats:
        """Return x for y, its angle within a turn."""
        (u,), q = y[self.at.u], y[self.at.q]
        return np.array([u, 2 * np.arctan2(q[3], q[0]) - self._turned])

    def __call__(self, x: Floats) -> tuple[Floats, Floats]:
        """Return x at the end and its derivative by x at the beginning, eq. [tangent-flow]."""
        if not abs(x[0]) <= LIMIT:
            raise ConfigurationError(
                f"a turning rate of {x[0]:.3g} rad/s cannot be followed; stay below {LIMIT:g} rad/s."
            )
        end = self.advance(self.begin(x), np.array([self.end]))[-1]
        y, *seeds = end.reshape(3, self.at.size)
        (c, _, _, s), dq = y[self.at.q], np.array([seed[self.at.q] for seed in seeds])
        turn = 2 * (c * dq[:, 3] - s * dq[:, 0]) / (c**2 + s**2)
        return self.x_of(y), np.array([[seed[self.at.u][0] for seed in seeds], turn])

    def free(self, t: float) -> dict[str, Floats]:
        """Return what the program `free` tells at a time, in the base's own axes."""
        code = self.machine.free.rebind(self.system.values)
        return code(t=[t], q=[1.0, 0.0, 0.0, 0.0], r=self.joints(t)[0])

    @cached_property
    def _free_at_end(self) -> dict[str, Floats]:
        """What it tells at the end."""
        return self.free(self.end)

    def speeds(self, free: dict[str, Floats], Omega: float, t: float) -> Floats:
        """Return v while the base turns at a rate and the grip holds."""
        held = next(k for k, (_, status) in enumerate(self.machine.mode) if status != "open")
        rates = self.joints(t)[1]
        rows = free["C"].reshape(-1, 3 + len(rates))[3 * held : 3 * held + 2]
        v = np.concatenate([np.zeros(2), [Omega], rates])
        v[:2] = np.linalg.solve(rows[:, :2], -rows[:, 2:] @ v[2:])
        return v

    def change(self, Omega: float, mode: dict[str, str], joint: JointAtImpact) -> Regrip:
        """Return the change to the grip of another mode at the end, if the base turns at a rate."""
        free = self._free_at_end
        v = self.speeds(free, Omega, self.end)
        return regrip(self.system.model, free, v, mode, joint=joint)

    def state(self, x: Floats) -> State:
        """Return the state at the beginning that x tells, the base's origin at the world's."""
        q = np.array([np.cos(x[1] / 2), 0.0, 0.0, np.sin(x[1] / 2)])
        v = self.speeds(self.free(self.start), float(x[0]), self.start)
        return State(q, np.zeros(3), self._shape, v)


@dataclass(frozen=True, eq=False)
class Gait:
    """A machine whose grips take turns: the holds of one period, in order.

    A gait is a return map: called with x just after the first grip took hold, it returns x one
    period later and the derivative, eq. [return-map]. A `mirrored` one goes through the first hold
    only and then looks into a mirror, eq. [half-map]: its fixed points are the cycles whose second
    half is the mirror image of the first, which lead straight up or down.
    """

    system: System
    holds: tuple[Hold, ...]
    joint: JointAtImpact
    mirrored: bool

    @property
    def period(self) -> float:
        """The time of one cycle, in s."""
        return self.holds[-1].end

    @property
    def power(self) -> int:
        """How often the map is carried out in one cycle."""
        return len(self.holds) if self.mirrored else 1

    def next(self, k: int) -> Hold:
        """Return the hold that follows the k-th."""
        return self.holds[(k + 1) % len(self.holds)]

    @cached_property
    def jumps(self) -> tuple[tuple[float, float], ...]:
        """The numbers (gain, kick) of `Omega+ = gain Omega- + kick` at the end of each hold: an
        impact is linear in the speeds, and in the base's own axes it does not depend on theta.
        """
        found = []
        for k, hold in enumerate(self.holds[:1] if self.mirrored else self.holds):
            still, turning = (
                hold.change(Omega, self.next(k).mode, self.joint).v[2] for Omega in (0.0, 1.0)
            )
            found.append((float(turning - still), float(still)))
        return tuple(found)

    def __call__(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the image of x and the derivative there."""
        x, total = np.asarray(x, float), np.eye(2)
        for hold, (gain, kick) in zip(self.holds, self.jumps, strict=False):
            x, J = hold(x)
            x[0] = gain * x[0] + kick
            total = np.diag([gain, 1.0]) @ J @ total
        return (np.array([-x[0], np.pi - x[1]]), -total) if self.mirrored else (x, total)

    def cycle(self, near: Sequence[float] | Floats) -> Cycle:
        """Return the cycle next to (Omega, theta)."""
        return fixed_point(self, near, angles=ANGLES, power=self.power)

    def cycles(self, fastest: float = FASTEST, count: Sequence[int] = (8, 8)) -> list[Cycle]:
        """Return all cycles that turn no faster than `fastest` just after the first grip took hold."""
        box = [(-fastest, fastest), (0.0, 2 * np.pi)]
        return fixed_points(self, box, count=count, angles=ANGLES, power=self.power)

    def at(self, **parameters: float) -> "Gait":
        """Return the same gait of a machine with other parameters, by the same code."""
        system = self.system.with_parameters(**parameters)
        modes, pause = turns_of(system)
        holds = tuple(
            Hold(system, old.machine, old.flow, mode, k * pause, (k + 1) * pause)
            for k, (old, mode) in enumerate(zip(self.holds, modes, strict=True))
        )
        return Gait(system, holds, self.joint, self.mirrored)


def gait(system: System, *, joint: JointAtImpact = "free", mirrored: bool = True) -> Gait:
    """Return the gait of a machine: its pins take turns in the order in which they are drawn, once
    around in a period of 1 / `frequency`, a parameter of the machine.

    `joint` tells what the joints do at a change, see `draisine.simulation.regrip.regrip`.

    >>> from draisine.system.system import compile
    >>> climb = gait(compile("rocr", phase=1.5 * np.pi))
    >>> for cycle in climb.cycles():
    ...     Omega, theta = cycle.x
    ...     word = "stable" if cycle.stable else "unstable"
    ...     print(f"{Omega:.6f} rad/s, {theta / np.pi:.6f} pi, {word}")
    6.825064 rad/s, 0.996523 pi, stable
    14.824595 rad/s, 1.720704 pi, unstable
    """
    modes, pause = turns_of(system)
    holds = []
    for k, mode in enumerate(modes):
        machine = system.machine(mode)
        if machine.choice.names != ["Wz"]:
            free = ", ".join(machine.choice.names) or "nothing"
            raise ParameterError(
                f"{system.vehicle.__name__} has no gait: while {mode} the base must be free to turn "
                f"and nothing else; free is {free}."
            )
        program = with_tangents(machine.programs["rate"], ("q", "p", "r", "u", "z"), "rate", 2)
        flow = system.artifacts.bind(program, system.values)
        holds.append(Hold(system, machine, flow, mode, k * pause, (k + 1) * pause))
    found = Gait(system, tuple(holds), joint, mirrored)
    if mirrored and not _symmetric(found):
        raise ParameterError(
            f"{system.vehicle.__name__}: the second half of its period is no mirror image of the "
            "first; look for its cycles with mirrored=False."
        )
    return found


def turns_of(system: System) -> tuple[list[dict[str, str]], float]:
    """Return the modes in which a machine's pins hold, one after the other, and for how long each
    does.
    """
    missing = gait_obstacle(system.model)
    if not missing and not system.parameters.get("frequency", 0.0) > 0.0:
        missing = "it needs a parameter `frequency` greater than zero"
    if missing:
        raise ParameterError(f"{system.vehicle.__name__} has no gait: {missing}.")
    pins = [contact.name for contact in system.model.contacts]
    modes = [{pin: "gripped" if pin == held else "open" for pin in pins} for held in pins]
    return modes, 1.0 / (len(pins) * system.parameters["frequency"])


def gait_obstacle(model: Model) -> str:
    """Return what a machine lacks to have a gait; nothing where it can have one."""
    pins = model.pins
    if not is_planar(model) or len(pins) < 2 or len(pins) < len(model.contacts):
        return "it is no machine in the plane whose contacts are two grips (pins) or more"
    for joint in model.joints:
        if joint.motion is None:
            return f"its joint {joint.name!r} follows no motion"
    return ""


def _symmetric(gait: Gait) -> bool:
    """Return whether there are two holds, and the second, seen in a mirror, is the first."""
    if len(gait.holds) != 2:
        return False
    once, whole = gait, Gait(gait.system, gait.holds, gait.joint, False)
    for x in (np.array([1.0, 0.3]), np.array([-2.0, 2.1])):
        twice, _ = once(once(x)[0])
        if np.abs(wrap_angles(twice - whole(x)[0], ANGLES)).max() > 1e-7 * (
            1.0 + np.abs(twice).max()
        ):
            return False
    return True
