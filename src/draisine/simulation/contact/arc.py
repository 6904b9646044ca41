"""An arc on a terrain, as trajectories keep it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from draisine.algebra.lie import rotation
from draisine.algebra.scalar import Floats
from draisine.mechanics.formulations._rank import REPEATS, independent_rows
from draisine.simulation.contact.query import Closed, ContactQuery, revisit
from draisine.simulation.trajectory import Key, TerrainMode
from draisine.system.generic import Generic
from draisine.terrain import Terrain


@dataclass(frozen=True)
class TerrainArc:
    """An arc on a terrain: times, y = (q, p, r, v, z), the closed contacts and what was pushed in;
    when which open contacts grazed.
    """

    machine: Generic
    t: Floats
    y: Floats
    inputs: Floats
    closed: tuple[Closed, ...]
    terrain: Terrain
    mode: TerrainMode
    stops: dict[str, tuple[float, float]]
    grazes: tuple[tuple[float, Key], ...] = ()

    @property
    def states(self) -> int:
        """How many of the y belong to the control law."""
        return self.machine.states

    @cached_property
    def observations(self) -> dict[str, Floats]:
        """Everything that can be seen of every sample, time last; at the arc's end inputs have not
        jumped yet.
        """
        times = self.t.copy()
        times[-1] = np.nextafter(times[-1], times[0])
        look = revisit(self.machine, self.terrain, self.inputs, self.stops)
        return observe_states(look, times, self.y, self.closed)

    def pose(self) -> tuple[Floats, Floats]:
        """Return the user's quaternions and positions, time last."""
        at = self.machine.layout
        return self.y.T[at.q], self.y.T[at.p]

    def redundant_rows(self) -> list[str]:
        """Return the rows of the closed contacts that repeat others where the arc begins."""
        if len(self.closed) < 2:
            return []
        look = revisit(self.machine, self.terrain, self.inputs, self.stops)
        seen = look.meet(self.t[0], self.y[0], [contact for contact, *_ in self.closed])
        rows = {
            f"{':'.join(key)}.{name}": row
            for (key, _), (_, held, _), C in zip(
                self.mode, self.closed, look.jacobian(seen), strict=True
            )
            for name, row in list(zip(("normal", "along", "across"), C, strict=True))[:held]
            if row.any()
        }
        C = np.array([row / np.linalg.norm(row) for row in rows.values()]).reshape(-1, look.n)
        rank = int(np.linalg.matrix_rank(C, tol=REPEATS)) if len(C) else 0
        kept = independent_rows(C, [label.endswith("normal") for label in rows], rank)
        return [label for k, label in enumerate(rows) if k not in kept]


def observe_states(
    look: ContactQuery, times: Floats, ys: Floats, closed: Sequence[Closed]
) -> dict[str, Floats]:
    """Return everything that can be seen of states with closed contacts, time last. What prescribed
    joints need is what the equations of motion lack without it.
    """
    machine, wheels, n = look.machine, len(look.machine.wheels), look.n
    count, (ydot, lam, rows, told) = len(times), look.accelerate_each(times, ys, closed)
    rates, parts = ydot[:, machine.layout.v], machine.motion.outputs.split(told.T)
    missing = np.einsum("ijt,tj->ti", parts["M"].reshape(n, n, count), rates) + parts["F"].T
    forces, world = np.zeros((2, wheels, 3, count))
    stops, powers = np.zeros((machine.joints, count)), np.zeros((wheels, count))
    for k, (contact, *_) in enumerate(closed):
        push, row = lam[:, k], rows[:, k]
        missing -= np.einsum("ti,tij->tj", push, look.jacobian(row)) + look.moments(row, push[:, 0])
        if contact.wheel < wheels:
            forces[contact.wheel] += push.T
            powers[contact.wheel] += look.camber_power(row, push[:, 0])
            world[contact.wheel] += np.einsum("ti,tij->jt", push, look.axes(row))
        else:
            stops[contact.wheel - wheels] += push[:, 0] * look.feature(contact).numbers[0]
    base = np.einsum("wjt,jkt->wkt", world, rotation(ys.T[machine.layout.q]))
    gaps, points = look.nearest(times, ys, closed)
    state = machine.layout.split(ys.T)
    x = machine.observe.inputs.pack(t=times[None], **state, w=look.inputs, a=rates.T)
    seen = machine.observe.batch(x)
    return (
        seen
        | holding_variables(machine, seen["inputs"], look.holding(parts, missing.T))
        | {
            "forces": forces.reshape(-1, count),
            "forces_world": world.reshape(-1, count),
            "forces_base": base.reshape(-1, count),
            "points": points.reshape(count, -1).T,
            "gaps": gaps.T,
            "camber_powers": powers[look.tyred],
        }
        | ({"stop_torques": stops} if look.stops else {})
    )


def holding_variables(machine: Generic, inputs: Floats, holding: Floats) -> dict[str, Floats]:
    """Return what held joints and couplings need as variables of a run: torques of prescribed joints,
    forces of couplings, and inputs to which the torques of guided joints are added; time last.
    """
    joints = machine.held
    guided = [i for i, k in enumerate(joints) if k in machine.guided]
    moved = [i for i in range(len(joints)) if i not in guided]
    inputs = inputs.copy()
    inputs[machine.guided] += holding[guided]
    couplings = holding[len(joints) :]
    return {"inputs": inputs, "motion_torques": holding[moved], "coupling_forces": couplings}


@dataclass(frozen=True)
class SteppedArc:
    """An arc on a terrain whose forces were known on the way, sample by sample: `rates` of the
    speeds, forces per wheel as (normal, along, across) and in world axes, multipliers of what holds
    joints; time first. No contact is closed as a constraint.
    """

    machine: Generic
    t: Floats
    y: Floats
    inputs: Floats
    terrain: Terrain
    rates: Floats
    forces: Floats
    world: Floats
    torques: Floats

    @property
    def states(self) -> int:
        """How many of the y belong to the control law."""
        return self.machine.states

    @property
    def mode(self) -> TerrainMode:
        """The closed contacts and their statuses: none."""
        return ()

    @cached_property
    def observations(self) -> dict[str, Floats]:
        """Everything that can be seen of every sample, time last."""
        machine, count = self.machine, len(self.t)
        look = revisit(machine, self.terrain, self.inputs)
        gaps, points = look.nearest(self.t, self.y, ())
        base = np.einsum("twj,jkt->twk", self.world, rotation(self.y.T[machine.layout.q]))
        state = machine.layout.split(self.y.T)
        x = machine.observe.inputs.pack(t=self.t[None], **state, w=self.inputs, a=self.rates.T)
        shown = machine.observe.batch(x)
        flat = {"forces": self.forces, "forces_world": self.world, "forces_base": base}
        flat["points"] = points
        return (
            shown
            | holding_variables(machine, shown["inputs"], self.torques.T)
            | {name: array.reshape(count, -1).T for name, array in flat.items()}
            | {"gaps": gaps.T, "camber_powers": np.zeros((0, count))}
        )

    def pose(self) -> tuple[Floats, Floats]:
        """Return the user's quaternions and positions, time last."""
        at = self.machine.layout
        return self.y.T[at.q], self.y.T[at.p]

    def redundant_rows(self) -> list[str]:
        """Return none: contacts are no rows here."""
        return []
