"""Quantities of one step of a walker's limit cycle: duration, length, speed and energy loss."""

from dataclasses import dataclass
from functools import cached_property

from draisine.algebra.scalar import Floats
from draisine.analysis.gait.walk import StepImpact, Walk
from draisine.analysis.return_map import Cycle
from draisine.simulation.options import ContactOptions, Numerics
from draisine.simulation.simulate import compute_run
from draisine.simulation.trajectory import Event, Trajectory
from draisine.system.state import State


@dataclass(frozen=True, eq=False)
class Footstep:
    """Limit cycle of a walker with the quantities of one step."""

    walk: Walk
    cycle: Cycle

    @cached_property
    def impact(self) -> StepImpact:
        """Impact of the foot that touches down at the end of the step."""
        return self.walk.take_step(self.cycle.x)[2]

    @cached_property
    def feet(self) -> Floats:
        """Positions of the two feet at the end of the step (m), (2, 3)."""
        return self.walk.foot_positions(self.impact.r)

    @property
    def length(self) -> float:
        """Step length (m): distance of the second foot ahead of the first at touch-down."""
        return float(self.feet[1, 0] - self.feet[0, 0])

    @property
    def speed(self) -> float:
        """Mean walking speed (m/s)."""
        return self.length / self.impact.time

    @property
    def lost(self) -> float:
        """Kinetic energy (J) dissipated by the touch-down impact."""
        M = self.walk.mass_matrix(self.impact.r)
        before = self.impact.before
        after = self.impact.after
        return float(before @ M @ before - after @ M @ after) / 2

    def run(self, samples: int = 200) -> Trajectory:
        """Return the simulated motion of the step, with its impact as an event.

        Parameters
        ----------
        samples
            Number of equally spaced samples in time.
        """
        system = self.walk.system
        impact = self.impact
        start = self.walk.public_state(self.cycle.x)
        numerics = Numerics(dt=impact.time / samples, rtol=1e-12, atol=1e-13)
        contact = ContactOptions(mode=dict(self.walk.machine.mode))
        run = compute_run(system, start, impact.time, contact=contact, numerics=numerics)
        before, after = (
            State(start.q, start.p, impact.r, v, start.joints, start.speeds)
            for v in (impact.before, impact.after)
        )
        first, second = ((foot, "ground") for foot in self.walk.steps.feet)
        energy = float(run.to_xarray()["energy"].values[-1])
        event = Event(
            impact.time,
            "collision",
            (second,),
            False,
            before,
            after,
            ((first, "rolling"),),
            ((second, "rolling"),),
            energy,
            energy - self.lost,
            {second: impact.impulse},
        )
        return Trajectory(run.arcs, run.outcome, run.settings, (event,))
