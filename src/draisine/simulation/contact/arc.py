"""An arc on a terrain, as trajectories keep it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from draisine.algebra.lie import rotation
from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers
from draisine.mechanics.formulations._rank import REPEATS, independent_rows
from draisine.simulation.contact.query import Closed, ContactQuery, revisit
from draisine.simulation.trajectory import DenseOutput, Key, TerrainMode
from draisine.system.generic import Generic
from draisine.terrain import Terrain


class _FreeArc:
    """What arcs of a machine on a terrain share."""

    machine: Generic
    y: Floats

    @property
    def states(self) -> int:
        """How many of the y belong to the control law."""
        return self.machine.states

    def pose(self) -> tuple[Floats, Floats]:
        """Return the user's quaternions and positions, time last."""
        at = self.machine.layout
        return self.y.T[at.q], self.y.T[at.p]


@dataclass(frozen=True)
class TerrainArc(_FreeArc):
    """An arc on a terrain: times, y = (q, p, r, v, z), the closed contacts and what was pushed in;
    when which open contacts grazed; the dense output of its steps.
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
    dense: DenseOutput | None = None

    @cached_property
    def observations(self) -> dict[str, Floats]:
        """Everything that can be seen of every sample, time last."""
        return self.observe_together([self])

    @staticmethod
    def observe_together(arcs: "Sequence[TerrainArc]") -> dict[str, Floats]:
        """Return everything that can be seen of arcs of one run, time last; at their ends inputs have
        not jumped yet.
        """
        first = arcs[0]
        look = revisit(first.machine, first.terrain, first.inputs, first.stops)
        return observe_states(look, [(arc.t_before, arc.y, arc.closed) for arc in arcs])

    @staticmethod
    def observe_dense_together(
        arcs: "Sequence[TerrainArc]",
    ) -> "list[tuple[TerrainArc, Floats, Floats, dict[str, Floats]]]":
        """Return arcs of one run with the times (steps, nodes) of their dense output, the states there,
        and the forces on their contacts and the gaps of their closed contacts, time last; an arc of one
        instant with its samples.
        """
        first = arcs[0]
        look = revisit(first.machine, first.terrain, first.inputs, first.stops)
        found = []
        for arc in arcs:
            t, y = (arc.t_before, arc.y) if arc.dense is None else arc.dense.flat
            found.append((arc, t, y, _observe_forces(look, arc, t, y)))
        return [
            (arc, t if arc.dense is None else arc.dense.t, y, seen) for arc, t, y, seen in found
        ]

    @property
    def t_before(self) -> Floats:
        """The times, the last one just before the arc's end."""
        times = self.t.copy()
        times[-1] = np.nextafter(times[-1], times[0])
        return times

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
        if rank == len(C):
            return []
        kept = independent_rows(C, [label.endswith("normal") for label in rows], rank)
        return [label for k, label in enumerate(rows) if k not in kept]


def _observe_forces(look: ContactQuery, arc: TerrainArc, t: Floats, y: Floats) -> dict[str, Floats]:
    """Return forces, inputs and gaps of the closed contacts of an arc at some states, time last."""
    look.inputs = arc.inputs
    _, push, row, _ = look.accelerate_each(t, y, arc.closed)
    flat = push.reshape(-1, 3), row.reshape(-1, row.shape[2])
    _, sums = _sum_contacts(look, [arc.closed], np.zeros(len(t), int), *flat)
    held = [k for k, (_, rows, _) in enumerate(arc.closed) if rows > 0]
    gaps = row[:, held, look.row.gap.start].T
    steps = 1 if arc.dense is None else arc.dense.t.shape[1]
    inputs = np.repeat(arc.inputs[:, None], len(t), axis=1)
    forces = sums["forces"].reshape(len(t), -1).T
    return {"forces": forces, "inputs": inputs, "violations": gaps[:, ::steps]}


ClosedStretch = tuple[Floats, Floats, Sequence[Closed]]
"""Times and states, one row per time, with the same closed contacts."""


def observe_states(look: ContactQuery, stretches: Sequence[ClosedStretch]) -> dict[str, Floats]:
    """Return everything that can be seen of states, time last. What prescribed joints need is what the
    equations of motion lack without it.
    """
    machine, n, modes = look.machine, look.n, [closed for *_, closed in stretches]
    times, ys = (np.concatenate([one[k] for one in stretches]) for k in (0, 1))
    count, mode = len(times), np.repeat(np.arange(len(modes)), [len(t) for t, *_ in stretches])
    found = [look.accelerate_each(*stretch) for stretch in stretches]
    ydot, told = (np.concatenate([one[k] for one in found]) for k in (0, 3))
    push, row = (
        np.concatenate([one[k].reshape(-1, one[k].shape[2]) for one in found]) for k in (1, 2)
    )
    rates, parts = ydot[:, machine.layout.v], machine.motion.outputs.split(told.T)
    held, sums = _sum_contacts(look, modes, mode, push, row)
    missing = np.einsum("ijt,tj->ti", parts["M"].reshape(n, n, count), rates) + parts["F"].T - held
    R = rotation(ys.T[machine.layout.q])
    sums["forces_base"] = np.einsum("twj,jkt->twk", sums["forces_world"], R)
    near = dict(zip(("gaps", "points"), look.nearest(times, ys, modes, mode), strict=True))
    seen = machine.observations(ys, times, look.inputs, rates)
    return (
        seen
        | holding_variables(machine, seen["inputs"], look.holding(parts, missing.T))
        | {name: values.reshape(count, -1).T for name, values in (sums | near).items()}
    )


def _sum_contacts(
    look: ContactQuery, modes: Sequence[Sequence[Closed]], mode: Integers, push: Floats, row: Floats
) -> tuple[Floats, dict[str, Floats]]:
    """Return the generalised force of the closed contacts at each state, in its mode, and what pushes
    each wheel and each stop, time first; the contacts' forces and what they look like stand one below
    the other.
    """
    wheels, joints, count = len(look.machine.wheels), look.machine.joints, len(mode)
    state = np.repeat(np.arange(count), [len(modes[k]) for k in mode])
    owners = [[contact.wheel for contact, *_ in closed] for closed in modes]
    own = np.array([one for k in mode for one in owners[k]], int)
    held, load = np.zeros((count, look.n)), push[:, 0]
    generalised = np.einsum("ti,tij->tj", push, look.jacobian(row)) + look.moments(row, load)
    np.add.at(held, state, generalised)
    forces, world = np.zeros((2, count, wheels + joints, 3))
    stops, closed_at = np.zeros((2, count, wheels + joints))
    powers = np.zeros((count, wheels + joints, 2))
    np.add.at(forces, (state, own), push)
    np.add.at(world, (state, own), np.einsum("ti,tij->tj", push, look.axes(row)))
    np.add.at(powers, (state, own), look.tyre_powers(row, load))
    np.add.at(closed_at, (state, own), 1.0)
    sums = {"forces": forces[:, :wheels], "forces_world": world[:, :wheels]}
    sums["tyre_powers"] = powers[:, look.tyred, 0]
    # A wheel on several features has one deflection, whose rates they add up to.
    sums["tyre_energies"] = (powers[..., 1] / np.maximum(closed_at, 1.0))[:, look.tyred]
    if look.stops:
        towards = [[look.feature(c).numbers[0] for c, *_ in closed] for closed in modes]
        np.add.at(stops, (state, own), load * np.array([one for k in mode for one in towards[k]]))
        sums["stop_torques"] = stops[:, wheels:]
    return held, sums


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
class SteppedArc(_FreeArc):
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
    stops: Floats | None = None
    tyres: Floats | None = None  # (time, wheels, 2) mean power (W) and stored energy (J)
    made: Any = None  # how the steps were made: a `validity.record.TimeStepped`

    @property
    def mode(self) -> TerrainMode:
        """The closed contacts and their statuses: none."""
        return ()

    @property
    def dense(self) -> DenseOutput | None:
        """No dense output: its steps are its samples."""
        return None

    @cached_property
    def observations(self) -> dict[str, Floats]:
        """Everything that can be seen of every sample, time last."""
        machine, count = self.machine, len(self.t)
        look = revisit(machine, self.terrain, self.inputs)
        gaps, points = look.nearest(self.t, self.y, [()], np.zeros(count, int), sinks=True)
        base = np.einsum("twj,jkt->twk", self.world, rotation(self.y.T[machine.layout.q]))
        shown = machine.observations(self.y, self.t, self.inputs, self.rates)
        flat = {"forces": self.forces, "forces_world": self.world, "forces_base": base}
        flat["points"] = points
        if self.stops is not None:
            flat["stop_torques"] = self.stops
        return (
            shown
            | holding_variables(machine, shown["inputs"], self.torques.T)
            | {name: array.reshape(count, -1).T for name, array in flat.items()}
            | {"gaps": gaps.T}
            | self._tyres(look)
        )

    def _tyres(self, look: ContactQuery) -> dict[str, Floats]:
        """Return power and stored energy of the tyres, time last; compliant ground has none."""
        known = np.zeros((len(self.t), len(look.machine.wheels), 2))
        if self.tyres is not None:
            known = self.tyres
        powers, energies = np.moveaxis(known[:, look.tyred], -1, 0)
        return {"tyre_powers": powers.T, "tyre_energies": energies.T}

    def redundant_rows(self) -> list[str]:
        """Return none: contacts are no rows here."""
        return []
