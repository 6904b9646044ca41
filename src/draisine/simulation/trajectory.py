"""The result of a run: arcs of motion, the events between them, and the whole as labelled data."""

from collections.abc import Sequence
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


FORCES = {"forces", "forces_world", "forces_base", "stop_torques", "tyre_powers"}

Key = tuple[str, str]
"""A contact by the names of its wheel and its feature."""

TerrainMode = tuple[tuple[Key, str], ...]
"""The closed contacts, (wheel, feature) with their status: rolling, gliding or sliding."""


class GuardKind(IntEnum):
    """The quantity of a guard. A guard fires when its value becomes negative."""

    LEAN = 0  # sine of the lean that is a fall, minus that of the lean
    OVERTURN = 1  # vertical component of the base's upright axis
    GAP = 2  # m, gap of an open contact
    NORMAL_FORCE = 3  # N, of a closed contact
    DEFLECTION = 4  # m, of a compliant tyre, which has no rows
    FRICTION_CONE = 5  # N, mu times the normal force minus the friction force, of a rolling contact
    SLIP = 6  # (m/s)^2, squared slip above that at which a sliding contact sticks
    BORDER = 7  # distance of a closed contact from a border, over the machine's length
    FOLD = 8  # the same from where a torus begins or ceases to touch an edge twice


@dataclass(frozen=True, slots=True)
class Guard:
    """The guard whose zero is an event."""

    kind: GuardKind
    contact: Key  # wheel and feature
    border: int = -1  # of BORDER: index among the borders of the feature; otherwise -1


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Event:
    """A change at an instant.

    `kind` is one of

    * "collision": a contact closes or an impact happens;
    * "lift-off": a normal force, or the feature under a wheel, ends;
    * "hand-over": a wheel rolls on to the next feature;
    * "stick" and "slip": a contact stops or begins to slide;
    * "input": an input may jump;
    * "time-stepping" and "event-location": the run changes its solver.
    """

    t: float  # s
    kind: str
    contacts: tuple[Key, ...]
    soft: bool  # no jump: of speeds at a collision, of the contact force at a lift-off (3.7)
    before: State
    after: State
    mode_before: TerrainMode
    mode_after: TerrainMode
    energy_before: float  # J
    energy_after: float  # J
    impulses: dict[Key, Floats] = field(default_factory=dict)  # N s: normal, along, across
    trials: "Sequence[Trial]" = ()  # contact sets tried at impulse level; first: all stay closed
    guard: Guard | None = (
        None  # the guard that fired; None at inputs and at the return to event location
    )

    @property
    def gain(self) -> float:
        """Energy that the event created (J); negative if it dissipated energy."""
        return self.energy_after - self.energy_before

    def __str__(self) -> str:
        where = ", ".join(":".join(key) for key in self.contacts)
        return f"{self.t:.9f} s {self.kind} {where}".rstrip()

    def __repr__(self) -> str:
        return f"Event({self})"


@dataclass(frozen=True, eq=False)
class DenseOutput:
    """The dense output of an arc at the Chebyshev nodes of its steps; it does not depend on the samples."""

    t: Floats  # (steps, nodes) s
    y: Floats  # (steps, nodes, n)
    inputs: Floats  # of all nodes, one column each

    def until(self, t: float) -> "DenseOutput":
        """Return the steps that end before a time."""
        count = int(np.count_nonzero(self.t[:, -1] <= t))
        inputs = self.inputs
        if inputs.ndim == 2:
            inputs = inputs[:, : count * self.t.shape[1]]
        return DenseOutput(self.t[:count], self.y[:count], inputs)

    @property
    def flat(self) -> tuple[Floats, Floats]:
        """All times, and the states at them, time first."""
        return self.t.ravel(), self.y.reshape(-1, self.y.shape[2])


class Arc(Protocol):
    """An interval of motion in one mode, as trajectories use it."""

    @property
    def machine(self) -> Any:
        """The machine, with its system."""

    @property
    def t(self) -> Floats:
        """The times."""

    @property
    def y(self) -> Floats:
        """The states, time first."""

    @property
    def is_instant(self) -> bool:
        """Whether the arc is shorter than the resolution of time, but not empty: no forces are known."""

    @property
    def states(self) -> int:
        """Number of states that belong to the control law."""

    @property
    def mode(self) -> Any:
        """The contacts and their statuses."""

    @property
    def observations(self) -> dict[str, Floats]:
        """All observations of every sample, time last."""

    @property
    def dense(self) -> DenseOutput | None:
        """The dense output, if the method has one."""

    def pose(self) -> tuple[Floats, Floats]:
        """Return the user's quaternions and positions, time last."""

    def redundant_rows(self) -> list[str]:
        """Return the redundant rows of closed contacts."""


@dataclass(frozen=True)
class BilateralArc:
    """An interval of motion with ideal (bilateral) contacts in one mode."""

    machine: ClosedForm
    t: Floats  # s
    y: Floats  # (times, n) states (q, p, r, u, z)
    inputs: Floats  # (inputs, times)
    anchors: Floats | None = None  # of pins
    dense: DenseOutput | None = None  # of an adaptive method

    @property
    def is_instant(self) -> bool:
        """Whether the arc is too short for its forces to be known: never, it has no events."""
        return False

    @property
    def states(self) -> int:
        """Number of states that belong to the control law."""
        return self.machine.states

    @property
    def mode(self) -> dict[str, str]:
        """The contacts and their statuses."""
        return dict(self.machine.mode)

    @cached_property
    def observations(self) -> dict[str, Floats]:
        """All outputs of `observe` at every sample, time last."""
        return self.machine.observations(self.y, self.t, self.inputs, self.anchors)

    def observe_dense(self) -> dict[str, Floats]:
        """Return all outputs of `observe` at every node of the dense output, time last."""
        assert self.dense is not None
        t, y = self.dense.flat
        return self.machine.observations(y, t, self.dense.inputs, self.anchors)

    def pose(self) -> tuple[Floats, Floats]:
        """Return the user's quaternions and positions, time last."""
        layout = self.machine.layout
        return self.machine.user_pose(self.y.T[layout.q], self.y.T[layout.p])

    def redundant_rows(self) -> list[str]:
        """Return the redundant rows of the mode."""
        return [row.label for row in self.machine.system.survey(self.mode).redundant]


@dataclass(frozen=True, repr=False)
class Trajectory:
    """A run: arcs of motion and the events between them."""

    arcs: tuple[Arc, ...]
    outcome: str  # "completed", or why the run ended early
    settings: dict[str, Any] = field(default_factory=dict)  # of the solver
    events: tuple[Event, ...] = ()
    contact: ContactOptions | None = None
    unsampled: tuple[Arc, ...] = ()  # arcs without a sample
    task: Task | None = None  # the arguments of `simulate`

    @cached_property
    def validity(self) -> "Validity":
        """Whether the run is physically valid, and from when on it is not."""
        from draisine.simulation.validity.assess import assess

        return assess(self)

    @cached_property
    def t(self) -> Floats:
        """All times."""
        return np.concatenate([arc.t for arc in self.arcs])

    @cached_property
    def observations(self) -> dict[str, Floats]:
        """All observations of every sample of all arcs, time last."""
        groups: list[dict[str, Floats]] = []
        for together, group in groupby(
            self.arcs, key=lambda arc: getattr(arc, "observe_together", None)
        ):
            arcs = list(group)
            # Arcs of one kind are observed together, which is cheaper than one by one.
            groups += [arc.observations for arc in arcs] if together is None else [together(arcs)]
        observations = groups[0]
        if len(groups) > 1:
            observations = {
                key: np.concatenate([values[key] for values in groups], axis=1)
                for key in observations
            }
        # Between two events at nearly the same time the active set is not resolved: no forces are known.
        unresolved = [arc.is_instant for arc in self.arcs]
        for k, arc in enumerate(self.arcs[1:-1], start=1):
            unresolved[k] = unresolved[k] or bool(arc.t[0] == arc.t[-1])
        short = np.repeat(unresolved, [len(arc.t) for arc in self.arcs])
        if short.any():
            for key in observations.keys() & FORCES:
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
        from draisine.simulation.dataset import dataset

        return dataset(self, axes)

    def to_pandas(self, axes: Axes = "draisine") -> "pandas.DataFrame":
        """Return the run as a table: one row per time, one column per quantity, with names like `lean` and
        `contact_force[rear, normal]`; `axes` as in `to_xarray`.
        """
        from draisine.simulation.dataset import table

        return table(self, axes)

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
