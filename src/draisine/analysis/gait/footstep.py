"""Quantities of one step of a walker's limit cycle: duration, length, speed, energy loss."""

from dataclasses import dataclass
from functools import cached_property

from draisine.algebra.scalar import Floats
from draisine.analysis.gait.walk import Strike, Walk
from draisine.analysis.return_map import Cycle
from draisine.simulation.options import ContactOptions, Numerics
from draisine.simulation.simulate import compute_run
from draisine.simulation.trajectory import Event, Trajectory
from draisine.system.state import State


@dataclass(frozen=True, eq=False)
class Footstep:
    """A cycle of a walker and the quantities of its step."""

    walk: Walk
    cycle: Cycle

    @cached_property
    def strike(self) -> Strike:
        """The impact at the end of the step."""
        return self.walk.step(self.cycle.x)[2]

    @cached_property
    def feet(self) -> Floats:
        """Positions of the two feet at the end of the step (m), (2, 3)."""
        return self.walk.feet(self.strike.r)

    @property
    def length(self) -> float:
        """Distance of the second foot ahead of the first one then (m)."""
        return float(self.feet[1, 0] - self.feet[0, 0])

    @property
    def speed(self) -> float:
        """Mean speed (m/s)."""
        return self.length / self.strike.time

    @property
    def lost(self) -> float:
        """Kinetic energy that the impact dissipates (J)."""
        M = self.walk.masses(self.strike.r)
        before = self.strike.before
        after = self.strike.after
        return float(before @ M @ before - after @ M @ after) / 2

    def run(self, samples: int = 200) -> Trajectory:
        """Return the motion of the step with its impact as an event.

        Parameters
        ----------
        samples
            Number of samples.
        """
        system = self.walk.system
        strike = self.strike
        start = self.walk.state(self.cycle.x)
        numerics = Numerics(dt=strike.time / samples, rtol=1e-12, atol=1e-13)
        contact = ContactOptions(mode=dict(self.walk.machine.mode))
        run = compute_run(system, start, strike.time, contact=contact, numerics=numerics)
        before, after = (
            State(start.q, start.p, strike.r, v, start.joints, start.speeds)
            for v in (strike.before, strike.after)
        )
        first, second = ((foot, "ground") for foot in self.walk.steps.feet)
        energy = float(run.to_xarray()["energy"].values[-1])
        event = Event(
            strike.time,
            "collision",
            (second,),
            False,
            before,
            after,
            ((first, "rolling"),),
            ((second, "rolling"),),
            energy,
            energy - self.lost,
            {second: strike.impulse},
        )
        return Trajectory(run.arcs, run.outcome, run.settings, (event,))
