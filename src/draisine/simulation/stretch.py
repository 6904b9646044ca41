"""An arc on a terrain, as trajectories keep it."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from draisine.compiled import Floats
from draisine.lie import rotation
from draisine.simulation.free import Free
from draisine.simulation.look import Closed, Look
from draisine.simulation.mode import Mode
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
    stops: dict[str, tuple[float, float]]

    @property
    def states(self) -> int:
        """How many of the y belong to the control law."""
        return self.machine.states

    @cached_property
    def seen(self) -> dict[str, Floats]:
        """Everything that can be seen of every sample, time last; at the arc's end inputs have not
        jumped yet.
        """
        machine, wheels = self.machine, len(self.machine.wheels)
        count = len(self.t)
        forces, world, base, points = np.zeros((4, wheels, 3, count))
        gaps = np.full((wheels, count), np.inf)
        rates = np.zeros((machine.speeds, count))
        look = Look(machine, self.terrain, self.inputs, self.stops)
        times = self.t.copy()
        times[-1] = np.nextafter(times[-1], times[0])
        for i, (t, y) in enumerate(zip(times, self.y, strict=True)):
            rates[:, i], lam, rows = look.accelerate(t, y, self.closed)
            for (contact, *_), push, row in zip(self.closed, lam, rows, strict=True):
                if contact.wheel < wheels:
                    forces[contact.wheel, :, i] += push
                    world[contact.wheel, :, i] += push @ look.axes(row)
            base[:, :, i] = world[:, :, i] @ rotation(y[:4])
            for w, (gap, point) in enumerate(look.nearest(t, y, self.closed)):
                gaps[w, i], points[w, :, i] = gap, point
        given = np.repeat(self.inputs[:, None], count, axis=1)
        return machine.sight.batch(np.vstack([times[None, :], self.y.T, given, rates])) | {
            "forces": forces.reshape(-1, count),
            "forces_world": world.reshape(-1, count),
            "forces_base": base.reshape(-1, count),
            "points": points.reshape(-1, count),
            "gaps": gaps,
            "law_torques": np.zeros((len(machine.driven), count)),
        }

    def pose(self) -> tuple[Floats, Floats]:
        """Return the user's quaternions and positions, time last."""
        return self.y.T[:4], self.y.T[4:7]
