"""The result of a run: arcs of continuous motion, the events between them, and their conversion to labelled
data.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from html import escape
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

import draisine
from draisine.algebra.scalar import Floats
from draisine.model.names import Axes
from draisine.simulation.options import ContactOptions, Task
from draisine.system.closed_form import ClosedForm
from draisine.system.state import State

if TYPE_CHECKING:
    import pandas
    import xarray

    from draisine.simulation.contact.complementarity.active_set import Trial
    from draisine.simulation.validity import Validity


FORCE_VARIABLES = {"forces", "forces_world", "forces_base", "stop_torques", "tyre_powers"}
"""Names of observed variables that are undefined (NaN) on arcs shorter than the time resolution."""

Key = tuple[str, str]
"""Identifier of a contact: name of the wheel, and name of the ground feature."""

TerrainMode = tuple[tuple[Key, str], ...]
"""Contact mode on a terrain: pairs of a closed contact (wheel, ground feature) and its status, which is
"rolling", "gliding" or "sliding".
"""


class GuardKind(IntEnum):
    """Kind of a guard function. An event occurs when the value of a guard becomes negative."""

    LEAN = 0  # sine of the lean limit minus sine of the lean angle
    OVERTURN = 1  # vertical component of the base's upright axis
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
    """Times, states and inputs of an arc at the Chebyshev nodes of its integration steps, from the dense
    output of the integrator; they do not depend on the sample times.
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


class Arc(Protocol):
    """Interface of a smooth trajectory arc: an interval of continuous motion in one contact mode."""

    @property
    def machine(self) -> Any:
        """The compiled model."""

    @property
    def t(self) -> Floats:
        """The sample times (s)."""

    @property
    def y(self) -> Floats:
        """The states (times, n) at the samples."""

    @property
    def is_instant(self) -> bool:
        """Whether the arc is not empty, but shorter than the time resolution, so that its forces are
        unknown.
        """

    @property
    def states(self) -> int:
        """The number of states that belong to the control law."""

    @property
    def mode(self) -> Any:
        """The contacts and their statuses."""

    @property
    def observations(self) -> dict[str, Floats]:
        """All variables of every sample by name; time is the last axis."""

    @property
    def dense(self) -> DenseOutput | None:
        """The dense output, or None if the method has none."""

    def pose(self) -> tuple[Floats, Floats]:
        """Return orientation quaternions (4, times) and positions (3, times) of the user's reference
        frame.
        """

    def redundant_rows(self) -> list[str]:
        """Return the names of the redundant constraint rows of closed contacts."""


@dataclass(frozen=True)
class BilateralArc:
    """A trajectory arc with ideal (bilateral) contacts, in one contact mode."""

    machine: ClosedForm
    t: Floats  # (times) sample times, s
    y: Floats  # (times, n) states (q, p, r, u, z)
    inputs: Floats  # (inputs, times) inputs at the sample times
    anchors: Floats | None = None  # anchor points of pins, m
    dense: DenseOutput | None = None  # dense output of an adaptive integrator

    @property
    def is_instant(self) -> bool:
        """Whether the arc is too short for its forces to be known. It never is, because it has no events."""
        return False

    @property
    def states(self) -> int:
        """The number of states that belong to the control law."""
        return self.machine.states

    @property
    def mode(self) -> dict[str, str]:
        """The contacts and their statuses."""
        return dict(self.machine.mode)

    @cached_property
    def observations(self) -> dict[str, Floats]:
        """All outputs of the program `observe` at every sample by name; time is the last axis."""
        return self.machine.observations(self.y, self.t, self.inputs, self.anchors)

    def observe_dense(self) -> dict[str, Floats]:
        """Return all outputs of the program `observe` at every node of the dense output; time is the last
        axis.
        """
        assert self.dense is not None
        t, y = self.dense.flat
        return self.machine.observations(y, t, self.dense.inputs, self.anchors)

    def pose(self) -> tuple[Floats, Floats]:
        """Return orientation quaternions (4, times) and positions (3, times) of the user's reference
        frame.
        """
        layout = self.machine.layout
        return self.machine.user_pose(self.y.T[layout.q], self.y.T[layout.p])

    def redundant_rows(self) -> list[str]:
        """Return the names of the redundant constraint rows of the contact mode."""
        return [row.label for row in self.machine.system.survey(self.mode).redundant]


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
        groups: list[dict[str, Floats]] = []
        for together, group in groupby(
            self.arcs, key=lambda arc: getattr(arc, "observe_together", None)
        ):
            arcs = list(group)
            # Arcs of the same type are evaluated together, which is cheaper than one by one.
            groups += [arc.observations for arc in arcs] if together is None else [together(arcs)]
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
        q, p = arc.pose()
        model = arc.machine.system.model
        r = arc.y[-1, arc.machine.layout.r]
        names = (tuple(joint.name for joint in model.joints), tuple(model.speeds))
        z = arc.y[-1, arc.machine.layout.z][: model.memory]
        return State(q[:, -1], p[:, -1], r, arc.observations["v"][:, -1], *names, z)

    def to_xarray(self, axes: Axes = "draisine") -> "xarray.Dataset":
        """Return the run as a dataset: time first, with units and long names. Its attributes contain the
        settings of the run. With `axes="benchmark"` signs are those of Meijaard et al. 2007 (x forward, y
        to the right, z down); see `model.names`.
        """
        from draisine.simulation.dataset import make_dataset

        return make_dataset(self, axes)

    def to_pandas(self, axes: Axes = "draisine") -> "pandas.DataFrame":
        """Return the run as a table: one row per time, one column per quantity, with names like `lean` and
        `contact_force[rear, normal]`; `axes` as in `to_xarray`.
        """
        from draisine.simulation.dataset import make_table

        return make_table(self, axes)

    def plot(
        self, figure: str | None = None, path: "str | Path | None" = None, **options: Any
    ) -> Any:
        """Draw the run and return the axes, see `draisine.plot`."""
        return draisine.plot(self, figure, path, **options)

    def animate(self, path: "str | Path | None" = None, **options: Any) -> Any:
        """Write the run as a film or as a page that replays it, or return the page for a notebook, see
        `draisine.animate`.
        """
        return draisine.animate(self, path, **({"terrain": self.terrain} | options))

    def save(self, path: "str | Path") -> None:
        """Write the run into a file (.nc, .zarr, .csv), see `draisine.save`."""
        draisine.save(self, path)

    @property
    def terrain(self) -> Any:
        """The terrain of the run; None on the level plane."""
        return getattr(self.arcs[0], "terrain", None)

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
