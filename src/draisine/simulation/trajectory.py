"""The result of a run: arcs of continuous motion, events between them, and conversion to labelled data."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property
from html import escape
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

import draisine
from draisine.algebra.scalar import Floats
from draisine.mechanics.formulations import multiplier
from draisine.model.names import Axes
from draisine.simulation.options import ContactOptions, Task
from draisine.simulation.validity.observed import ObservedArc
from draisine.system.closed_form import ClosedForm
from draisine.system.state import State

if TYPE_CHECKING:
    import pandas
    import xarray

    from draisine.simulation.contact.complementarity.active_set import Trial
    from draisine.simulation.validity import Validity
    from draisine.simulation.validity.record import TimeStepped
    from draisine.terrain import Terrain


FORCE_VARIABLES = {"forces", "forces_world", "forces_base", "stop_torques", "tyre_powers"}
"""Names of variables that depend on contact forces; NaN on arcs shorter than the time resolution."""

Key = tuple[str, str]
"""Identifier of a contact: name of the wheel, and name of the ground feature."""

TerrainMode = tuple[tuple[Key, str], ...]
"""Contact mode on a terrain: pairs of a closed contact (wheel, ground feature) and its status, which is
"rolling", "gliding" or "sliding".
"""


class GuardKind(IntEnum):
    """Kind of a guard function. An event occurs when the value of a guard becomes negative."""

    LEAN = 0  # fall: sine of the lean limit minus sine of the lean angle
    OVERTURN = 1  # fall: vertical component of the upright axis of the base
    GAP = 2  # m, gap of an open contact
    NORMAL_FORCE = 3  # N, normal force of a closed contact
    DEFLECTION = 4  # m, deflection of a compliant tyre, which has no constraint rows
    FRICTION_CONE = 5  # N, mu times normal force minus friction force of a rolling contact
    SLIP = 6  # (m/s)^2, squared slip minus the squared speed at which a sliding contact sticks
    BORDER = 7  # distance of a closed contact from a feature border, as a fraction of system size
    FOLD = 8  # distance from the fold between one and two torus contacts, same scale as BORDER


@dataclass(frozen=True, slots=True)
class Guard:
    """Identifier of the guard function whose zero is an event."""

    kind: GuardKind  # kind of the guard
    contact: Key  # names of wheel and ground feature
    border: int = -1  # for BORDER: index of the border of the ground feature; otherwise -1


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Event:
    """An event of a run: an instantaneous change of speeds, contact mode, inputs or solver.

    `kind` is one of

    * "collision": a contact closes or an impact happens;
    * "lift-off": a normal force becomes zero, or a wheel leaves its ground feature without reaching another;
    * "hand-over": a wheel rolls from one ground feature to the next;
    * "stick" and "slip": a contact stops or begins to slide;
    * "input": an input may jump;
    * "time-stepping" and "event-location": the run changes its solver.
    """

    t: float  # s, time of the event
    kind: str
    contacts: tuple[Key, ...]  # contacts whose guards fired, or that take part in the impact
    # whether the speeds (collision) or the contact force (lift-off) are continuous, (3.7)
    soft: bool
    before: State  # state before the event
    after: State  # state after the event
    mode_before: TerrainMode  # closed contacts before the event
    mode_after: TerrainMode  # closed contacts after the event
    energy_before: float  # J, mechanical energy before the event
    energy_after: float  # J, mechanical energy after the event
    # N s, impulse of each contact: normal, along, across
    impulses: dict[Key, Floats] = field(default_factory=dict)
    # contact sets tried at impulse level; in the first one all contacts stay closed
    trials: "Sequence[Trial]" = ()
    # guard that fired; None for input changes and for the return to event location
    guard: Guard | None = None

    @property
    def gain(self) -> float:
        """The increase of the mechanical energy by the event (J); negative if energy is dissipated."""
        return self.energy_after - self.energy_before

    def __str__(self) -> str:
        where = ", ".join(":".join(key) for key in self.contacts)
        return f"{self.t:.9f} s {self.kind} {where}".rstrip()

    def __repr__(self) -> str:
        return f"Event({self})"


@dataclass(frozen=True, eq=False)
class DenseOutput:
    """Dense output of an arc: times, states and inputs at the Chebyshev nodes of each integration step.

    It does not depend on the sample times.
    """

    t: Floats  # (steps, nodes) s, times of the nodes
    y: Floats  # (steps, nodes, n) states at the nodes
    inputs: Floats  # (inputs, steps * nodes) inputs at the nodes

    def until(self, t: float) -> "DenseOutput":
        """Return the dense output of the steps that end before time t (s)."""
        count = int(np.count_nonzero(self.t[:, -1] <= t))
        inputs = self.inputs
        if inputs.ndim == 2:
            inputs = inputs[:, : count * self.t.shape[1]]
        return DenseOutput(self.t[:count], self.y[:count], inputs)

    @property
    def flat(self) -> tuple[Floats, Floats]:
        """Times (steps * nodes) in s and states (steps * nodes, n) of all nodes."""
        return self.t.ravel(), self.y.reshape(-1, self.y.shape[2])


class Arc:
    """A smooth interval of a run in one contact mode.

    Three types of arcs differ in the method of integration. Evaluations of a run use only this interface:

    * `BilateralArc`: ideal contacts, in minimal coordinates;
    * `contact.arc.UnilateralArc`: unilateral contacts between two events, in all speeds;
    * `contact.arc.SteppedArc`: time steps, or compliant ground.

    A type defines `observations` or `observe_together`; the default of each calls the other one.
    """

    machine: Any  # compiled model, to whose equations of motion the states belong
    t: Floats  # (times) sample times, s
    y: Floats  # (times, n) states at the samples, see `machine.layout`
    terrain: "Terrain | None"  # ground of unilateral contacts; None for bilateral contacts
    mode: Any  # contacts and their statuses
    dense: DenseOutput | None = None  # dense output of an adaptive integrator
    stores_forces = (
        False  # whether the arc stores forces with its samples; no contact is then a constraint
    )
    time_stepped: "TimeStepped | None" = None  # step lengths and residuals of time steps
    grazes: tuple[tuple[float, Key], ...] = ()  # time (s) and names of grazing open contacts

    sampled: ClassVar[tuple[str, ...]] = ("t", "y")
    """Names of the arrays with one row per sample."""

    @property
    def is_instant(self) -> bool:
        """Whether the arc has samples, but is shorter than the time resolution: its forces are unknown."""
        return False

    @property
    def t_before(self) -> Floats:
        """The times (s) at which the samples are evaluated; the last one may be just before an event."""
        return self.t

    @cached_property
    def observations(self) -> dict[str, Floats]:
        """All variables of every sample by name; time is the last axis."""
        return self.observe_together([self])

    @classmethod
    def observe_together(cls, arcs: "Sequence[Any]") -> dict[str, Floats]:
        """Return all variables of the samples of several arcs of this type by name; time is the last axis."""
        groups = [arc.observations for arc in arcs]
        if len(groups) == 1:
            return dict(groups[0])
        return {
            name: np.concatenate([group[name] for group in groups], axis=1) for name in groups[0]
        }

    @classmethod
    def examine(cls, arcs: "Sequence[Any]") -> list[ObservedArc]:
        """Return the variables from which validity is assessed, for several arcs of this type."""
        return [arc.examine_samples() for arc in arcs]

    def examine_samples(self) -> ObservedArc:
        """Return the variables at the samples from which the validity of the run is assessed."""
        numbers = np.zeros(len(self.t), int)
        return ObservedArc(
            [self], self.t, self.y, dict(self.observations), numbers, self.redundant_rows()
        )

    def pose(self) -> tuple[Floats, Floats]:
        """Return orientation quaternions (4, times) and positions (3, times), m, of the user's base frame."""
        layout = self.machine.layout
        return self.y.T[layout.q], self.y.T[layout.p]

    def touched_features(self, wheel: str) -> list[str]:
        """Return the names of the ground features that a wheel touches."""
        return []

    def redundant_rows(self) -> list[str]:
        """Return the names of the redundant constraint rows of closed contacts."""
        return []

    def start_constraints(self) -> tuple[Floats, Floats, Floats] | None:
        """Return mass matrix (n, n), active constraint rows (rows, n) and speeds (n) at the first sample;
        None if no contact is a constraint.
        """
        return None

    def take(self, samples: slice, dense: DenseOutput | None = None) -> Self:
        """Return the arc with a slice of the samples, and with the given dense output."""
        arrays = {name: getattr(self, name) for name in self.sampled}
        fields: dict[str, Any] = {
            name: x[samples].copy() for name, x in arrays.items() if x is not None
        }
        arc: Any = self  # mypy does not know that all subclasses are dataclasses
        # A type without dense output has no such field.
        fields |= {} if self.dense is dense else {"dense": dense}
        taken: Self = replace(arc, **fields)
        return taken

    def last_sample(self) -> Self:
        """Return an arc with only the last sample; its observations equal those of the whole arc."""
        return self.take(slice(-1, None))

    def cut(self, count: int, t: float) -> Self:
        """Return the first `count` samples of the arc, and its dense output before time t (s)."""
        dense = None if self.dense is None else self.dense.until(t)
        return self.take(slice(count), dense if dense is not None and len(dense.t) else None)


@dataclass(frozen=True)
class BilateralArc(Arc):
    """A trajectory arc with ideal (bilateral) contacts, in one contact mode."""

    machine: ClosedForm
    t: Floats  # (times) sample times, s
    y: Floats  # (times, n) states (q, p, r, u, z)
    inputs: Floats  # (times, inputs) inputs at the sample times
    anchors: Floats | None = None  # anchor points of pins, m
    dense: DenseOutput | None = None  # dense output of an adaptive integrator

    sampled = ("t", "y", "inputs")
    terrain = None

    @property
    def mode(self) -> dict[str, str]:
        """The contacts and their statuses."""
        return dict(self.machine.mode)

    @cached_property
    def observations(self) -> dict[str, Floats]:
        """All outputs of the program `observe` at every sample by name; time is the last axis."""
        return self.machine.observations(self.y, self.t, self.inputs.T, self.anchors)

    def examine_samples(self) -> ObservedArc:
        """Return all variables from which the validity is assessed, with the violations of constraints.

        They are evaluated at the nodes of the dense output, or at the samples if there is no dense output.
        """
        observed = super().examine_samples() if self.dense is None else self._examine_dense()
        observed.seen["violations"] = self._violations(*observed.settled)
        return observed

    def _examine_dense(self) -> ObservedArc:
        """Return all outputs of the program `observe` at every node of the dense output."""
        assert self.dense is not None
        t, y = self.dense.flat
        seen = self.machine.observations(y, t, self.dense.inputs, self.anchors)
        numbers = np.zeros(len(self.dense.t), int)
        return ObservedArc([self], self.dense.t, y, seen, numbers, self.redundant_rows())

    def _violations(self, t: Floats, y: Floats) -> Floats:
        """Return the violations (constraints, times) of the constraints on the configuration.

        They are gaps of closed contacts (m), distances of pins from their anchors (m), and residuals of
        couplings and loops, at times t (s) and states y (times, n).
        """
        project = self.machine.project
        pinned = {} if self.anchors is None else {"anchors": self.anchors}
        x = project.inputs.pack(t=t[None], **self.machine.layout.split(y.T), **pinned)
        return np.asarray(project.batch(x)["residual"][:-1])  # last residual: quaternion length

    def pose(self) -> tuple[Floats, Floats]:
        """Return orientation quaternions (4, times) and positions (3, times), m, of the user's base frame."""
        return self.machine.user_pose(*super().pose())

    def redundant_rows(self) -> list[str]:
        """Return the names of the redundant constraint rows of the contact mode."""
        return [row.label for row in self.machine.system.survey(self.mode).redundant]

    def start_constraints(self) -> tuple[Floats, Floats, Floats]:
        """Return mass matrix (n, n), active constraint rows (rows, n) and speeds (n) at the first sample."""
        machine = self.machine
        model = machine.system.model
        state = machine.leave(self.y[0], float(self.t[0]))
        out = machine.masses(t=self.t[:1], q=state.q, p=state.p, r=state.r, v=state.v)
        n = len(model.speeds)
        rows = multiplier.active_row_indices(model, machine.mode)
        rows += multiplier.coupled_row_indices(model)
        return out["M"].reshape(n, n), out["C"].reshape(-1, n)[rows], state.v


@dataclass(frozen=True, repr=False)
class Trajectory:
    """Result of a run: arcs of continuous motion and the events between them."""

    arcs: tuple[Arc, ...]
    outcome: str  # "completed", or the reason why the run ended early
    settings: dict[str, Any] = field(default_factory=dict)  # settings of the solver by name
    events: tuple[Event, ...] = ()
    contact: ContactOptions | None = None  # contact options of the run
    unsampled: tuple[Arc, ...] = ()  # arcs without a sample
    task: Task | None = None  # the arguments of `simulate`
    # Simulates changed arguments; sensors repeat the run to sample it at the times of their readings.
    simulate: Callable[[Task], "Trajectory"] | None = None

    @cached_property
    def validity(self) -> "Validity":
        """Whether the run is physically valid, and the times (s) from which it is not."""
        from draisine.simulation.validity.assess import assess_validity

        return assess_validity(self)

    @cached_property
    def t(self) -> Floats:
        """The times (s) of all samples."""
        return np.concatenate([arc.t for arc in self.arcs])

    @cached_property
    def observations(self) -> dict[str, Floats]:
        """All variables of every sample of all arcs by name; time is the last axis."""
        # Arcs of the same type are evaluated together, which is cheaper than one by one.
        groups = [
            kind.observe_together(list(arcs))
            for kind, arcs in groupby(self.arcs, key=lambda arc: arc.__class__)
        ]
        observations = groups[0]
        if len(groups) > 1:
            observations = {
                key: np.concatenate([values[key] for values in groups], axis=1)
                for key in observations
            }
        # Between two events at nearly the same time the active set is not resolved: forces are undefined.
        unresolved = [arc.is_instant for arc in self.arcs]
        for k, arc in enumerate(self.arcs[1:-1], start=1):
            unresolved[k] = unresolved[k] or bool(arc.t[0] == arc.t[-1])
        short = np.repeat(unresolved, [len(arc.t) for arc in self.arcs])
        if short.any():
            for key in observations.keys() & FORCE_VARIABLES:
                observations[key] = np.where(short, np.nan, observations[key])
        return observations

    def final(self) -> State:
        """Return the last state."""
        arc = self.arcs[-1]
        model = arc.machine.system.model
        names = tuple(joint.name for joint in model.joints)
        state: State = arc.machine.leave(arc.y[-1], float(arc.t[-1]))
        return replace(state, joints=names, speeds=tuple(model.speeds))

    def to_xarray(self, axes: Axes = "draisine") -> "xarray.Dataset":
        """Return the run as a dataset with units and long names; time is the first dimension.

        The attributes contain the settings of the run. With `axes="benchmark"` the axes are those of Meijaard
        et al. 2007: x forward, y to the right, z down; see `model.names`.
        """
        from draisine.simulation.dataset import make_dataset

        return make_dataset(self, axes)

    def to_pandas(self, axes: Axes = "draisine") -> "pandas.DataFrame":
        """Return the run as a table with one row per time and one column per scalar.

        Columns have names such as `lean` and `contact_force[rear, normal]`. `axes` is that of `to_xarray`.
        """
        from draisine.simulation.dataset import make_table

        return make_table(self, axes)

    def plot(
        self, figure: str | None = None, path: "str | Path | None" = None, **options: Any
    ) -> Any:
        """Draw the run and return the axes, see `draisine.plot`."""
        return draisine.plot(self, figure, path, **options)

    def animate(self, path: "str | Path | None" = None, **options: Any) -> Any:
        """Write a film or a replay page of the run, or return the page, see `draisine.animate`."""
        return draisine.animate(self, path, **({"terrain": self.terrain} | options))

    def save(self, path: "str | Path") -> None:
        """Write the run into a file (.nc, .zarr, .csv), see `draisine.save`."""
        draisine.save(self, path)

    @property
    def terrain(self) -> "Terrain | None":
        """The ground of unilateral contacts; None for bilateral contacts on the level plane."""
        return self.arcs[0].terrain

    @property
    def is_unilateral(self) -> bool:
        """Whether contacts are unilateral: wheels lift off, slide and collide."""
        return self.terrain is not None

    def __repr__(self) -> str:
        t = self.t
        kinds = [event.kind for event in self.events]
        how = ", ".join(f"{name} {value}" for name, value in self.settings.items())
        counted = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
        vehicle = self.arcs[0].machine.system.vehicle.__name__
        return "\n".join(
            [
                f"Trajectory of {vehicle}: {self.outcome}, {t[0]:g} to {t[-1]:g} s",
                f"  {len(t)} samples, {len(self.arcs)} arc{'s' * (len(self.arcs) > 1)}",
                f"  {how or 'no numerics'}",
                f"  events: {counted or 'none'}",
                f"  {self.validity}",
            ]
        )

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"
