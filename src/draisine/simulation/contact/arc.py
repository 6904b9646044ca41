"""Arcs on a terrain as trajectories store them, and the evaluation of forces and gaps at their samples.

Event-driven arcs (`UnilateralArc`) store states and closed contacts; forces are computed from the equations
of motion afterwards. Time-stepping arcs (`SteppedArc`) store mean forces with their samples.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from draisine.algebra.lie import rotation
from draisine.algebra.scalar import Floats
from draisine.simulation.contact.query import Closed, ContactQuery, ModeInterval, shared_query
from draisine.simulation.contact.status import count_rows
from draisine.simulation.contact.tolerances import cached_machine_units
from draisine.simulation.integrators import DENSE_NODE_COUNT
from draisine.simulation.trajectory import Arc, DenseOutput, Key, TerrainMode
from draisine.simulation.validity.observed import ObservedArc
from draisine.simulation.validity.record import TimeStepped
from draisine.system.generic import Generic
from draisine.terrain import Terrain

AXES = ("normal", "along", "across")
"""Names of the axes of a contact, in the order of its constraint rows."""


SHORTEST_ARC = 1e-7
"""Shortest duration of a trajectory arc with reported forces, in units of `MachineUnits.time`. The active set
is not resolved between events that are closer in time, and forces over microseconds reach many times the
weight.
"""


@dataclass(frozen=True)
class UnilateralArc(Arc):
    """A trajectory arc with unilateral contacts in one contact mode, computed by event-driven integration."""

    machine: Generic
    t: Floats  # (times) s
    y: Floats  # (times, n) states (q, p, r, v, z)
    inputs: Floats  # actuator inputs of the system, constant on the trajectory arc
    closed: tuple[Closed, ...]  # closed contacts with status and friction coefficient
    terrain: Terrain
    mode: TerrainMode  # names and statuses of the closed contacts
    stops: dict[str, tuple[float, float]]  # lower and upper stop of joints (rad or m), by name
    grazes: tuple[tuple[float, Key], ...] = ()  # time (s) and names of grazing open contacts
    dense: DenseOutput | None = None  # dense output of the integration steps

    @classmethod
    def observe_together(cls, arcs: "Sequence[UnilateralArc]") -> dict[str, Floats]:
        """Return all output variables of the samples of several trajectory arcs of one run; time is the last
        axis. If inputs jump at the end of a trajectory arc, its last sample has the inputs before the jump.
        """
        query = arcs[0].query()
        intervals = [ModeInterval(arc.t_before, arc.y, arc.closed, arc.inputs) for arc in arcs]
        return observe_states(query, intervals)

    @classmethod
    def examine(cls, arcs: "Sequence[UnilateralArc]") -> list[ObservedArc]:
        """Return the dense output of trajectory arcs of one run, with forces and gaps of closed contacts. An
        arc of zero duration is one step of zero length.
        """
        query = arcs[0].query()
        outputs = [arc._dense_or_instant() for arc in arcs]
        intervals = [
            ModeInterval(*dense.flat, arc.closed, arc.inputs)
            for arc, dense in zip(arcs, outputs, strict=True)
        ]
        samples = query.observe_modes(intervals, forces_only=True)
        t = np.concatenate([dense.t for dense in outputs])
        arc_of_step = np.repeat(np.arange(len(arcs)), [len(dense.t) for dense in outputs])
        forces = samples.forces.reshape(t.size, -1)[:, : 3 * samples.wheels].T
        inputs = np.array([arc.inputs for arc in arcs])[arc_of_step].repeat(t.shape[1], axis=0).T
        violations = samples.violation.reshape(t.shape)[:, 0][None]
        observed = {"forces": forces, "inputs": inputs, "violations": violations}
        if "patch" in query.terrain.kinds:
            observed["convexity"] = samples.convexity.reshape(t.size, -1).T
        y = np.concatenate([interval.y for interval in intervals])
        rows = _redundant_rows(arcs, samples.jacobians)
        return [ObservedArc(arcs, t, y, observed, arc_of_step, rows)]

    def last_sample(self) -> "UnilateralArc":
        """Return a trajectory arc with only the last sample; its observations equal those of the whole
        arc.
        """
        return replace(self.take(slice(-1, None)), t=self.t_before[-1:], grazes=())

    def redundant_rows(self) -> list[str]:
        """Return the redundant constraint rows of the closed contacts at the start of the trajectory arc."""
        return list(self.examine([self])[0].redundant_rows)

    def touched_features(self, wheel: str) -> list[str]:
        """Return the names of the ground features that a wheel touches."""
        return [feature for (name, feature), _ in self.mode if name == wheel]

    def start_constraints(self) -> tuple[Floats, Floats, Floats]:
        """Return mass matrix (n, n), active constraint rows (rows, n) and speeds (n) at the first sample."""
        query = self.query()
        t = float(self.t[0])
        y = self.y[0]
        outputs = query.dynamics(t, y)
        rows = query.evaluate_rows(t, y, [contact for contact, *_ in self.closed])
        held = [
            query.jacobian(row)[: count_rows(status)]
            for row, (_, status, _) in zip(rows, self.closed, strict=True)
        ]
        n = query.n
        C = np.vstack([outputs["held"].reshape(-1, n), *held])
        return outputs["M"].reshape(n, n), C, query.speeds(y)

    def query(self) -> ContactQuery:
        """Return the `ContactQuery` of the system on its terrain."""
        return shared_query(self.machine, self.terrain, self.inputs, self.stops)

    def _dense_or_instant(self) -> DenseOutput:
        """Return the dense output. Without one, the trajectory arc has zero duration, or was cut within its
        first step: then each sample is a step of zero length.
        """
        if self.dense is not None:
            return self.dense
        t = self.t_before[:, None].repeat(DENSE_NODE_COUNT, axis=1)
        return DenseOutput(t, self.y[:, None].repeat(DENSE_NODE_COUNT, axis=1), self.inputs)

    @property
    def is_instant(self) -> bool:
        """Whether the trajectory arc is not empty, but shorter than the time resolution."""
        shortest = SHORTEST_ARC * cached_machine_units(self.machine).time
        return bool(len(self.t) and 0.0 < self.t[-1] - self.t[0] < shortest)

    @property
    def t_before(self) -> Floats:
        """The sample times (s), the last one just before the end of the trajectory arc."""
        times = self.t.copy()
        times[-1] = np.nextafter(times[-1], times[0])
        return times


def _redundant_rows(arcs: Sequence[UnilateralArc], jacobians: Floats) -> list[str]:
    """Return the names of the redundant constraint rows of the closed contacts at the starts of trajectory
    arcs.

    `jacobians` contains the constraint rows of all closed contacts, one trajectory arc after the other; they
    are overwritten.
    """
    n = arcs[0].machine.speeds
    mark = arcs[0].query().code.mark_redundant_rows
    redundant: dict[str, None] = {}
    begin = 0
    for arc in arcs:
        size = len(arc.closed)
        held = np.array([count_rows(status) for _, status, _ in arc.closed])
        marks = np.zeros(3 * size, dtype=np.int64)
        if size > 1 and mark(jacobians[3 * n * begin :], held, size, n, marks):
            for k in np.flatnonzero(marks).tolist():
                (wheel, feature), _ = arc.mode[k // 3]
                redundant[f"{wheel}:{feature}.{AXES[k % 3]}"] = None
        begin += size
    return list(redundant)


def observe_states(query: ContactQuery, intervals: Sequence[ModeInterval]) -> dict[str, Floats]:
    """Return all output variables by name at the states of intervals; time is the last array axis. The
    torques of prescribed joints are the residual of the equations of motion without them.
    """
    machine = query.machine
    n = query.n
    times = np.concatenate([interval.t for interval in intervals])
    ys = np.concatenate([interval.y for interval in intervals])
    count = len(times)
    wheels = len(machine.wheels)
    samples = query.observe_modes(intervals)
    gaps = samples.gaps.reshape(count, -1)
    points = samples.points.reshape(count, -1, 3)
    query.find_nearest(times, ys, gaps, points)
    rates = samples.ydot.reshape(count, -1)[:, machine.layout.v]
    outputs = machine.motion.outputs.split(samples.out.reshape(count, -1).T)
    residual = np.einsum("ijt,tj->ti", outputs["M"].reshape(n, n, count), rates) + outputs["F"].T
    residual -= samples.generalised.reshape(count, -1)
    forces, world = (x.reshape(count, -1, 3)[:, :wheels] for x in (samples.forces, samples.world))
    power, energy = np.moveaxis(samples.tyres.reshape(count, -1, 2)[:, query.tyred], 2, 0)
    variables = {
        "forces": forces,
        "forces_world": world,
        "forces_base": np.einsum("twj,jkt->twk", world, rotation(ys.T[machine.layout.q])),
        "tyre_powers": power,
        "tyre_energies": energy,
        "gaps": gaps,
        "points": points,
    }
    if query.stops:
        variables["stop_torques"] = samples.stops.reshape(count, -1)[:, wheels:]
    inputs = np.array([interval.inputs for interval in intervals])
    inputs = np.repeat(inputs, [len(interval.t) for interval in intervals], axis=0)
    observed = machine.observations(ys, times, inputs.T, rates)
    multipliers = query.equality_multipliers(outputs, residual.T)
    return (
        observed
        | equality_variables(machine, observed["inputs"], multipliers)
        | {name: values.reshape(count, -1).T for name, values in variables.items()}
    )


def equality_variables(machine: Generic, inputs: Floats, multipliers: Floats) -> dict[str, Floats]:
    """Return torques of prescribed joints, forces of couplings, and inputs plus torques of guided joints,
    from the Lagrange multipliers of the equality constraints; time is the last axis.
    """
    joints = machine.held
    guided = [i for i, k in enumerate(joints) if k in machine.guided]
    moved = [i for i in range(len(joints)) if i not in guided]
    inputs = inputs.copy()
    inputs[machine.guided] += multipliers[guided]
    couplings = multipliers[len(joints) :]
    return {"inputs": inputs, "motion_torques": multipliers[moved], "coupling_forces": couplings}


@dataclass(frozen=True)
class SteppedArc(Arc):
    """A trajectory arc computed by time stepping, or on compliant ground. Forces are stored with the samples,
    and no contact is a constraint.
    """

    machine: Generic
    t: Floats  # (times) s
    y: Floats  # (times, n) states
    inputs: Floats  # inputs of the system
    terrain: Terrain
    rates: Floats  # (times, speeds) mean accelerations since the previous sample
    forces: Floats  # (times, wheels, 3) N, contact forces: normal, along, across
    world: Floats  # (times, wheels, 3) N, contact forces in world axes
    torques: Floats  # (times, rows) Lagrange multipliers of prescribed joints and couplings
    stops: Floats | None = None  # (times, joints) N m, torques of the joints' stops
    tyres: Floats | None = None  # (times, wheels, 2) mean power (W) and stored energy (J) of tyres
    time_stepped: TimeStepped | None = None  # step lengths and residuals; None on compliant ground

    mode = ()
    stores_forces = True
    sampled = ("t", "y", "rates", "forces", "world", "torques", "stops", "tyres")

    @cached_property
    def observations(self) -> dict[str, Floats]:
        """All output variables of all samples by name; time is the last array axis."""
        machine = self.machine
        count = len(self.t)
        query = shared_query(machine, self.terrain, self.inputs)
        gaps = np.full((count, len(machine.wheels)), np.inf)
        points = np.full((*gaps.shape, 3), np.nan)
        query.find_nearest(self.t, self.y, gaps, points, sinks=True)
        base = np.einsum("twj,jkt->twk", self.world, rotation(self.y.T[machine.layout.q]))
        shown = machine.observations(self.y, self.t, self.inputs, self.rates)
        flat = {"forces": self.forces, "forces_world": self.world, "forces_base": base}
        flat["points"] = points
        if self.stops is not None:
            flat["stop_torques"] = self.stops
        return (
            shown
            | equality_variables(machine, shown["inputs"], self.torques.T)
            | {name: array.reshape(count, -1).T for name, array in flat.items()}
            | {"gaps": gaps.T}
            | self._tyres(query)
        )

    def examine_samples(self) -> ObservedArc:
        """Return the stored forces. Other variables would need a search of the ground, which costs as much as
        the run. Time steps correct penetrations, so no constraint can drift.
        """
        count = len(self.t)
        seen = {"forces": self.forces.reshape(count, -1).T, "violations": np.zeros((0, count))}
        return ObservedArc([self], self.t, self.y, seen, np.zeros(count, int), [])

    def _tyres(self, query: ContactQuery) -> dict[str, Floats]:
        """Return power (W) and stored energy (J) of the tyres, time last; both are zero on compliant
        ground.
        """
        tyres = self.tyres
        if tyres is None:
            tyres = np.zeros((len(self.t), len(query.machine.wheels), 2))
        powers, energies = np.moveaxis(tyres[:, query.tyred], -1, 0)
        return {"tyre_powers": powers.T, "tyre_energies": energies.T}
