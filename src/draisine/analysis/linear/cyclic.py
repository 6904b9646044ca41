"""Coordinates that a linear system can omit: cyclic ones, and those along symmetries of the ground."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.linear.matrices import find_state_tangents, system_matrices
from draisine.analysis.variation import Chart, Variation, chart_of, heading_derivatives, vary
from draisine.system.closed_form import ClosedForm
from draisine.system.configuration import choose_independent_rows, displace_states

CYCLIC_ENTRY = 1e-9
"""Rounding error of an entry of A at a random state, as a fraction of the largest entry in its row; smaller
entries mean that the rate of a state does not depend on a coordinate."""

GROUND_COORDINATES = ("x", "y", "yaw", "z")
"""Coordinates of the base that symmetries of the ground can change; a linear system omits as many of them as
there are symmetries, the first ones first."""

OBLIQUE_SYMMETRY = 1e-9
"""Rounding error of the change of a coordinate per unit displacement along a symmetry of the ground."""


@dataclass(frozen=True, eq=False)
class CyclicStates:
    """Coordinates that a linear system omits because displacements along symmetries have no effect."""

    names: tuple[str, ...]  # names of the omitted coordinates
    directions: Floats  # changes of all coordinates along each symmetry, (N, coordinates, names)
    error: float = 0.0  # error of the symmetries of the ground, see `Symmetry.error`

    def is_oblique(self, coordinates: Sequence[str]) -> bool:
        """Return whether a symmetry, such as a rotation, also changes coordinates that are not omitted."""
        kept = [k for k, name in enumerate(coordinates) if name not in self.names]
        return bool(np.abs(self.directions[:, kept]).max(initial=0.0) > OBLIQUE_SYMMETRY)

    def restrict_to_single(self, coordinates: Sequence[str]) -> "CyclicStates":
        """Return only those symmetries that change a single coordinate, which is then omitted."""
        changes = np.abs(self.directions).max(axis=0, initial=0.0) > OBLIQUE_SYMMETRY
        columns = []
        names = []
        for k in range(changes.shape[1]):
            changed = [coordinates[i] for i in np.flatnonzero(changes[:, k]).tolist()]
            if len(changed) == 1 and changed[0] in self.names:
                columns.append(k)
                names.append(changed[0])
        return CyclicStates(tuple(names), self.directions[:, :, columns])

    def remove_symmetric_rates(self, coordinates: Sequence[str], rates: Floats) -> Floats:
        """Return the rates (N, states, ...) of all states, without their component along the symmetries.

        A displacement along the symmetries K brings the deviation x_E of the omitted coordinates E to zero.
        It changes the deviation x of the other states to `x - K_x K_E^-1 x_E`.
        """
        if not self.is_oblique(coordinates):
            return rates
        omitted = [coordinates.index(name) for name in self.names]
        out = np.array(rates)
        moved = np.linalg.solve(self.directions[:, omitted], rates[:, omitted])
        out[:, : len(coordinates)] -= self.directions @ moved
        return out


def find_symmetric_states(
    machine: Any, variation: Variation, frame: Chart, states: Floats, inputs: Floats
) -> CyclicStates:
    """Return the cyclic coordinates that a linear system about N states (N, entries) can omit."""
    coordinates = frame.coordinates
    if isinstance(machine, ClosedForm):
        names = cyclic_coordinates(machine, frame, states[0], inputs[0])
        units = np.eye(len(coordinates))[:, [coordinates.index(name) for name in names]]
        return CyclicStates(names, np.repeat(units[None], len(states), axis=0))
    both = [machine.symmetric_directions(state) for state in states]
    ground, own = (np.array([pair[k] for pair in both]) for k in range(2))
    rows = heading_derivatives(variation, coordinates)
    # Omit as many coordinates of position and heading as the ground has symmetries. Choose
    # coordinates that change independently along the symmetries.
    candidates = [name for name in GROUND_COORDINATES if name in coordinates]
    changes = (rows @ ground)[:, [coordinates.index(name) for name in candidates]]
    no_rows = np.zeros((len(states), 0, changes.shape[2]))
    chosen = choose_independent_rows(no_rows, changes, in_all_cases=True)[0]
    names = tuple(name for name, is_chosen in zip(candidates, chosen, strict=True) if is_chosen)
    return CyclicStates(
        (*names, *machine.cyclic_joints),
        rows @ np.concatenate([ground, own], axis=2),
        machine.symmetry.error,
    )


def cyclic_coordinates(machine: ClosedForm, frame: Chart, y: Floats, w: Floats) -> tuple[str, ...]:
    """Return the names of the cyclic coordinates: the rates of all other states do not depend on them.

    The dependence is tested at random states about y, because at y alone a coordinate may happen to have
    no influence.
    """
    rng = np.random.default_rng(1)
    moving = machine.layout.span("u", "z")
    samples = displace_states(
        machine, np.tile(y, (4, 1)), 0.1 * rng.normal(size=(4, len(machine.columns)))
    )
    samples[:, moving] = rng.normal(size=(4, moving.stop - moving.start))
    variation = vary(machine, samples, np.tile(w, (4, 1)))
    near = chart_of(variation, frame.coordinates, frame.speeds)
    A = np.abs(system_matrices(variation, near, find_state_tangents(variation, near)))
    # A row of A with small entries only may consist of rounding errors. Therefore compare it with
    # the largest entry of the whole matrix, too.
    threshold = CYCLIC_ENTRY * np.maximum(A.max(axis=2, keepdims=True), 1e-6 * A.max())
    depends = (threshold < A).any(axis=0)
    # Remove coordinates on which the rate of a remaining state depends, until no more can be
    # removed.
    hidden = list(range(len(frame.coordinates)))
    while needed := [i for i in hidden if np.delete(depends[:, i], hidden).any()]:
        hidden = [i for i in hidden if i not in needed]
    return tuple(frame.coordinates[i] for i in hidden)
