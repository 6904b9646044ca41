"""What a run leaves: arcs of motion, and the whole as labelled data."""

from dataclasses import dataclass, field
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


Key = tuple[str, str]
"""A contact by the names of its wheel and its feature."""

TerrainMode = tuple[tuple[Key, str], ...]
"""The closed contacts, (wheel, feature) with their status: rolling, gliding or sliding."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Event:
    """What happened at an instant.

    `kind` is "collision", "lift-off" (a force or the ground under a wheel ends), "hand-over" (a
    wheel goes on to the next feature), "stick", "slip", "input" (an input may jump), "time-stepping" and
    "event-location" (the solver changes). `soft` events
    have no jump: of speeds at a collision, of the contact's own force at a lift-off (3.7).
    `impulses` are (normal, along, across) per contact; energies in J; `trials` are the contact sets
    that were tried at impulse level, the first being the prediction that all contacts stay closed.
    """

    t: float
    kind: str
    contacts: tuple[Key, ...]
    soft: bool
    before: State
    after: State
    mode_before: TerrainMode
    mode_after: TerrainMode
    energy_before: float
    energy_after: float
    impulses: dict[Key, Floats] = field(default_factory=dict)
    trials: "tuple[Trial, ...]" = ()

    @property
    def gain(self) -> float:
        """The energy that the event created; negative where it dissipated."""
        return self.energy_after - self.energy_before

    def __str__(self) -> str:
        where = ", ".join(":".join(key) for key in self.contacts)
        return f"{self.t:.9f} s {self.kind} {where}".rstrip()

    def __repr__(self) -> str:
        return f"Event({self})"


@dataclass(frozen=True, eq=False)
class DenseOutput:
    """The dense output of an arc at the Chebyshev nodes of its steps, which do not depend on where
    samples are taken: times (steps, nodes), states (steps, nodes, n), and the inputs at all of them,
    one column each.
    """

    t: Floats
    y: Floats
    inputs: Floats

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
    """What a trajectory needs of a stretch of motion in one mode."""

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
    def states(self) -> int:
        """How many of the states belong to the control law."""

    @property
    def mode(self) -> Any:
        """The contacts and their statuses."""

    @property
    def observations(self) -> dict[str, Floats]:
        """Everything that can be seen of every sample, time last."""

    @property
    def dense(self) -> DenseOutput | None:
        """The dense output, if the method has one."""

    def pose(self) -> tuple[Floats, Floats]:
        """Return the user's quaternions and positions, time last."""

    def redundant_rows(self) -> list[str]:
        """Return the rows of closed contacts that repeat others."""


@dataclass(frozen=True)
class SmoothArc:
    """A stretch of motion in one mode: times, y = (q, p, r, u, z) per time, the inputs per time,
    time last, the anchors of pins, and the dense output of an adaptive method.
    """

    machine: ClosedForm
    t: Floats
    y: Floats
    inputs: Floats
    anchors: Floats | None = None
    dense: DenseOutput | None = None

    @property
    def states(self) -> int:
        """How many of the y belong to the control law."""
        return self.machine.states

    @property
    def mode(self) -> dict[str, str]:
        """The contacts and their statuses."""
        return dict(self.machine.mode)

    @cached_property
    def observations(self) -> dict[str, Floats]:
        """Everything that `observe` knows of every sample, time last."""
        return self.machine.observations(self.y, self.t, self.inputs, self.anchors)

    def observe_dense(self) -> dict[str, Floats]:
        """Return everything that `observe` knows of every node of the dense output, time last."""
        assert self.dense is not None
        t, y = self.dense.flat
        return self.machine.observations(y, t, self.dense.inputs, self.anchors)

    def pose(self) -> tuple[Floats, Floats]:
        """Return the user's quaternions and positions, time last."""
        at = self.machine.layout
        return self.machine.user_pose(self.y.T[at.q], self.y.T[at.p])

    def redundant_rows(self) -> list[str]:
        """Return the rows of the mode that repeat others."""
        return [row.label for row in self.machine.system.survey(self.mode).spare]


@dataclass(frozen=True, repr=False)
class Trajectory:
    """A whole run: its arcs in order, how it ended, how it was made, and the events between its
    arcs; `unsampled` are arcs so short that no sample lies in them. `task` is what was asked of
    `simulate`.
    """

    arcs: tuple[Arc, ...]
    outcome: str
    settings: dict[str, Any] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    contact: ContactOptions | None = None
    unsampled: tuple[Arc, ...] = ()
    task: Task | None = None

    @cached_property
    def validity(self) -> "Validity":
        """Whether the run can be believed, and from when on not."""
        from draisine.simulation.validity.assess import assess

        return assess(self)

    @cached_property
    def t(self) -> Floats:
        """All times."""
        return np.concatenate([arc.t for arc in self.arcs])

    @cached_property
    def observations(self) -> dict[str, Floats]:
        """Everything that can be seen of every sample of all arcs, time last."""
        seen: list[dict[str, Floats]] = []
        for together, some in groupby(
            self.arcs, key=lambda arc: getattr(arc, "observe_together", None)
        ):
            arcs = list(some)
            # Arcs of one kind are cheaper together than one by one.
            seen += [arc.observations for arc in arcs] if together is None else [together(arcs)]
        if len(seen) == 1:
            return seen[0]
        return {key: np.concatenate([one[key] for one in seen], axis=1) for key in seen[0]}

    def final(self) -> State:
        """Return the last state."""
        arc = self.arcs[-1]
        q, p = arc.pose()
        r, model = arc.y[-1, arc.machine.layout.r], arc.machine.system.model
        names = (tuple(joint.name for joint in model.joints), tuple(model.speeds))
        z = arc.y[-1, arc.machine.layout.z][: model.memory]
        return State(q[:, -1], p[:, -1], r, arc.observations["v"][:, -1], *names, z)

    def to_xarray(self, axes: Axes = "draisine") -> "xarray.Dataset":
        """Return the run as a dataset: time first, with units and long names; what it was made with
        is in its attributes. With `axes="benchmark"` signs are those of Meijaard et al. 2007 (x forward, y
        to the right, z down); see `model.names`.
        """
        from draisine.simulation.dataset import dataset

        return dataset(self, axes)

    def to_pandas(self, axes: Axes = "draisine") -> "pandas.DataFrame":
        """Return the run as a table: one line per time, one column per number, with names like
        `lean` and `contact_force[rear, normal]`; `axes` as in `to_xarray`.
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
        """The ground that it ran on, if that was not the level plane."""
        return getattr(self.arcs[0], "terrain", None)

    def __repr__(self) -> str:
        t, kinds = self.t, [event.kind for event in self.events]
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
