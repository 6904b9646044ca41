"""An arc on a terrain, as trajectories keep it."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from draisine.simulation.free import Free
from draisine.simulation.look import Closed, Look
from draisine.simulation.mode import Mode
from draisine.system import Floats
from draisine.terrain import Terrain


@dataclass(frozen=True)
class Stretch:
    """An arc on a terrain: times, y = (q, p, r, v, z), the closed contacts and what was pushed in."""

    machine: Free
    t: Floats
    y: Floats
    inputs: Floats
    closed: tuple[Closed, ...]
    terrain: Terrain
    mode: Mode

    @property
    def states(self) -> int:
        """How many of the y belong to the control law."""
        return self.machine.states

    @cached_property
    def seen(self) -> dict[str, Floats]:
        """Everything that can be seen of every sample, time last."""
        machine, wheels = self.machine, len(self.machine.wheels)
        n, count = machine.speeds, len(self.t)
        forces, points, gaps = np.zeros((3, 3 * wheels, count))
        gaps = np.full((wheels, count), np.inf)
        rates = np.zeros((n, count))
        look = Look(machine, self.terrain, self.inputs)
        for i, (t, y) in enumerate(zip(self.t, self.y, strict=True)):
            rates[:, i], lam = look.accelerate(t, y, self.closed)
            for (contact, _, _), push in zip(self.closed, lam, strict=True):
                forces[3 * contact.wheel : 3 * contact.wheel + 3, i] += push
            for w, (gap, point) in enumerate(look.nearest(t, y, self.closed)):
                gaps[w, i] = gap
                points[3 * w : 3 * w + 3, i] = point
        x = np.vstack(
            [self.t[None, :], self.y.T, np.repeat(self.inputs[:, None], count, axis=1), rates]
        )
        laws = np.zeros((len(machine.driven), count))
        return machine.sight.batch(x) | {
            "forces": forces,
            "points": points,
            "gaps": gaps,
            "law_torques": laws,
        }

    def pose(self) -> tuple[Floats, Floats]:
        """Return the user's quaternions and positions, time last."""
        return self.y.T[:4], self.y.T[4:7]
