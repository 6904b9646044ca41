"""Variables of trajectory arcs from which the validity of a run is assessed.

They are evaluated at the nodes of the dense output, or at the samples if there is no dense output.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.simulation.validity.margins import MAX_UNDERSHOOT, crossing_time, find_first_negative

if TYPE_CHECKING:
    from draisine.simulation.trajectory import Arc


@dataclass(frozen=True, eq=False)
class ObservedArc:
    """States and variables of one arc, or of several successive arcs of one type.

    They are evaluated at the nodes of the dense output, or at the samples if there is no dense output.
    """

    arcs: "Sequence[Arc]"
    t: Floats  # (steps, nodes) times of the nodes, or (samples) sample times, s
    y: Floats  # (times, n) states
    # Observed variables by name, time last: `forces`, `inputs` and, at the projected states (`settled`),
    # `violations` of the constraints on the configuration; if known, `kinetic` and `potential`
    seen: dict[str, Floats]
    arc_of_step: Any  # index of the arc of each step or sample
    redundant_rows: Sequence[str]  # names of redundant constraint rows

    @property
    def arc(self) -> "Arc":
        """The first of the combined arcs."""
        return self.arcs[0]

    @property
    def start(self) -> float:
        """The start time (s) of the first arc."""
        return float(self.t.flat[0])

    @cached_property
    def without_instants(self) -> "ObservedArc | None":
        """The same data without steps of zero length and without arcs shorter than the time resolution.

        The forces on such arcs are unknown. None if nothing remains.
        """
        if self.t.ndim == 1:
            return self if self.t[-1] > self.start and not self.arcs[0].is_instant else None
        resolved = np.array([not arc.is_instant for arc in self.arcs])
        lasting = (self.t[:, -1] > self.t[:, 0]) & resolved[self.arc_of_step]
        if lasting.all():
            return self
        if not lasting.any():
            return None
        nodes = lasting.repeat(self.t.shape[1])
        seen = self.seen | {"forces": self.seen["forces"][:, nodes]}
        return replace(
            self,
            t=self.t[lasting],
            y=self.y[nodes],
            seen=seen,
            arc_of_step=self.arc_of_step[lasting],
        )

    @cached_property
    def settled(self) -> tuple[Floats, Floats]:
        """Times (s) and states (times, n) at the starts of the steps, or at the samples.

        The integrator projects these states onto the constraints of the closed contacts.
        """
        if self.t.ndim == 1:
            return self.t, self.y
        return self.t[:, 0], self.y.reshape(*self.t.shape, -1)[:, 0]

    def find_first_negative(self, margin: Floats) -> float | None:
        """Return the first time (s) at which a margin (times,) is negative; None if it stays positive."""
        if self.t.ndim == 1:
            return crossing_time(self.t, margin)
        return find_first_negative(self.t, margin.reshape(self.t.shape))

    def doubtful(self, margins: Floats) -> Any:
        """Return the indices of the margins (margins, times) that may be negative at or between the times."""
        least = margins.min(axis=1)
        span = 0.0 if self.t.ndim == 1 else MAX_UNDERSHOOT * (margins.max(axis=1) - least)
        return np.flatnonzero(~(least > span)).tolist()

    def pushes(self, contacts: Sequence[int]) -> Floats:
        """Return the forces (3, contacts, times), N, of contacts: normal, along, across."""
        forces = self.seen["forces"]
        by_contact = forces.reshape(-1, 3, forces.shape[1])
        # All contacts in order, the usual selection, need no copy.
        if list(contacts) != list(range(len(by_contact))):
            by_contact = by_contact[list(contacts)]
        return by_contact.transpose(1, 0, 2)
