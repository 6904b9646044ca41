"""Linear equations of small deviations from straight running, in symbols.

Coordinates q, independent speeds u and states z of force elements satisfy

    M udot + C u + K q + E z = f,    qdot = G u + H q,    zdot = R u + S q + T z,

eq. [straight-running].

The matrices are exact derivatives of the reduced dynamics, of the rates of the coordinates and of those
of the states, in the straight motion. Steps: choose coordinates whose changes keep the contacts closed
(`_chart`), differentiate (`all_matrices`), leave out cyclic coordinates (`essential_indices`) and
separate the deviations coupled with lean from the others (`lateral`, `in_plane`). Lean is positive to
the right, steer to the left.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from draisine.algebra.scalar import Array, Floats, Scalar, array, is_zero
from draisine.algebra.trace import evaluate
from draisine.errors import ParameterError
from draisine.mechanics.kernel import choose_pivots, eliminate, independent_vectors
from draisine.reading.linear.powers import PolynomialMatrix
from draisine.reading.linear.straight import REFUSAL, TWIST_WORDS, StraightMotion
from draisine.reading.subject import Subject

BLOCKS = {
    "C": ("u", "u"),
    "K": ("u", "q"),
    "E": ("u", "z"),
    "G": ("q", "u"),
    "H": ("q", "q"),
    "R": ("z", "u"),
    "S": ("z", "q"),
    "T": ("z", "z"),
}
"""Place of each matrix, by its letter: (equations to which it belongs, vector that it multiplies). C, for
example, belongs to the equations of udot and multiplies u.
"""


@dataclass(frozen=True, eq=False)
class CoupledDeviations:
    """Linear equations of one set of coupled deviations."""

    mass: Array
    """Mass matrix M."""
    matrices: Mapping[str, PolynomialMatrix]
    """Matrices C, K, E, G, H, R, S, T by letter."""
    coordinates: tuple[str, ...]
    """Names of the coordinates q."""
    speeds: tuple[str, ...]
    """Names of the speeds u."""
    states: tuple[str, ...]
    """Names of the element states z."""

    def list_entries(self) -> Iterator[Scalar]:
        """Yield the entries of all matrices."""
        yield from self.mass.ravel()
        for matrix in self.matrices.values():
            for term in matrix.terms.values():
                yield from term.ravel()

    @property
    def is_direct(self) -> bool:
        """Whether the first components of u are the rates of q, in order."""
        G = self.matrices["G"].entries
        H = self.matrices["H"].entries
        return all(is_zero(x) for x in [*(G - np.eye(*G.shape)).ravel(), *H.ravel()])

    @property
    def second_order(self) -> bool:
        """Whether u = qdot, without states of force elements."""
        return self.is_direct and len(self.speeds) == len(self.coordinates) and not self.states


@dataclass(frozen=True, eq=False)
class StraightRunning:
    """Small deviations of a machine from straight running."""

    subject: Subject

    @cached_property
    def motion(self) -> StraightMotion:
        """Straight motion, after checking that it is steady."""
        motion = StraightMotion(self.subject)
        motion.check_steadiness()
        return motion

    @cached_property
    def _coordinate_descriptions(self) -> dict[str, str]:
        """Descriptions of the coordinates, by their symbols."""
        model = self.subject.model
        out = {f"turn {name}": name for name in self.subject.angles}
        out |= {f"p[{k}]": word for k, word in enumerate(("x", "y", "height"))}
        return out | {f"r[{k}]": joint.name for k, joint in enumerate(model.joints)}

    @cached_property
    def _preferred_coordinates(self) -> list[str]:
        """Symbols of the coordinates in the order of preference as independent coordinates."""
        # Prefer lean and joints other than wheels. Pitch and height follow from the contacts of
        # most machines, and the remaining coordinates are cyclic.
        joints = [joint.name for joint in self.subject.model.joints]
        wheels = [name for name in joints if f"{name}_rate" in self.motion.rolling]
        others = [name for name in joints if name not in wheels]
        order = ["lean", *others, "pitch", "height", "yaw", *wheels, "x", "y"]
        return sorted(
            self.motion.rates, key=lambda symbol: order.index(self._coordinate_descriptions[symbol])
        )

    @cached_property
    def _chart(self) -> tuple[list[str], Array]:
        """Symbols of the independent coordinates, and a matrix of displacements.

        Column j is a displacement of all coordinates that changes independent coordinate j by 1, leaves the
        other independent coordinates unchanged and keeps the contacts closed.
        """
        symbols = self._preferred_coordinates
        point = self.motion.point
        rows = self.motion.differentiate(self.motion.conditions, symbols)
        basis: list[Floats] = []
        kept = independent_vectors(evaluate(list(rows.ravel()), point).reshape(rows.shape), basis)
        chosen = independent_vectors(np.eye(len(symbols)), basis)
        square = np.vstack([rows[kept], np.eye(len(symbols))[chosen]])
        solver = eliminate(square, choose_pivots(square, lambda xs: evaluate(xs, point)))
        units = np.eye(len(square))[len(kept) :]
        return [symbols[k] for k in chosen], np.column_stack(
            [solver.solve(list(unit)) for unit in units]
        )

    @cached_property
    def all_matrices(self) -> dict[str, Array]:
        """Matrices over all independent coordinates by letter, with the mass matrix M."""
        motion = self.motion
        chosen, X = self._chart
        machine = motion.machine
        independent = motion.independent
        values = {
            "u": motion.forces,
            "q": [motion.rates[symbol] for symbol in chosen],
            "z": machine.acting.rates,
        }
        symbols = {
            "u": [f"v[{k}]" for k in independent],
            "q": self._preferred_coordinates,
            "z": [f"z[{k}]" for k in range(len(machine.z))],
        }
        out: dict[str, Array] = {}
        for letter, (equation, variable) in BLOCKS.items():
            derivatives = motion.differentiate(values[equation], symbols[variable])
            out[letter] = derivatives @ X if variable == "q" else derivatives
        order = [machine.independent.index(k) for k in independent]
        mass = machine.M_r[np.ix_(order, order)]
        return out | {"M": array(motion.evaluate_straight(mass.ravel())).reshape(mass.shape)}

    @cached_property
    def essential_indices(self) -> list[int]:
        """Indices of the independent coordinates that are not cyclic."""
        matrices = self.all_matrices
        H = _nonzero_entries(matrices["H"])
        KS = _nonzero_entries(np.vstack([matrices["K"], matrices["S"]]))
        every = range(len(H))
        # A coordinate is cyclic if neither forces nor states nor the rates of coordinates that are
        # not cyclic depend on it. Remove coordinates from the set until this holds.
        cyclic = list(every)
        while needed := [k for k in cyclic if KS[:, k].any() or np.delete(H[:, k], cyclic).any()]:
            cyclic = [k for k in cyclic if k not in needed]
        return [k for k in every if k not in cyclic]

    @property
    def coordinates(self) -> list[str]:
        """Names of the coordinates that are not cyclic."""
        return [self._coordinate_descriptions[self._chart[0][k]] for k in self.essential_indices]

    @cached_property
    def states(self) -> list[str]:
        """Names of the states of force elements: the name of the element, numbered if it has
        several states.
        """
        out = []
        for element in self.subject.model.elements:
            several = element.states > 1
            out += [
                f"{element.name} {k + 1}" if several else element.name
                for k in range(element.states)
            ]
        return out

    @cached_property
    def _lateral_indices(self) -> dict[str, list[int]]:
        """Indices of the essential coordinates q, speeds u and states z that are coupled with lean."""
        if "lean" not in self.coordinates:
            raise ParameterError(f"{REFUSAL}; the contacts of this machine do not allow lean.")
        A = {letter: _nonzero_entries(matrix) for letter, matrix in self.all_matrices.items()}
        q = self.essential_indices
        zero = np.zeros((len(q), A["E"].shape[1]), bool)
        coupling = np.vstack(
            [
                np.hstack([A["H"][np.ix_(q, q)], A["G"][q], zero]),
                np.hstack([A["K"][:, q], A["C"] | A["M"], A["E"]]),
                np.hstack([A["S"][:, q], A["R"], A["T"]]),
            ]
        )
        # Find the deviations that are coupled with lean: follow the couplings from lean. No path is
        # longer than the number of deviations.
        connected = np.arange(len(coupling)) == self.coordinates.index("lean")
        for _ in range(len(coupling)):
            connected = connected | (coupling | coupling.T) @ connected
        ends = np.cumsum([len(q), len(self.motion.independent)])
        blocks = np.split(connected, ends)
        return {
            name: list(np.flatnonzero(block)) for name, block in zip("quz", blocks, strict=True)
        }

    @cached_property
    def lateral(self) -> CoupledDeviations:
        """Equations of the deviations that are coupled with lean."""
        return self._select_equations(self._lateral_indices)

    @cached_property
    def in_plane(self) -> CoupledDeviations | None:
        """Equations of the deviations that are decoupled from lean; None if only the speed changes.

        For a symmetric machine these are motions in its plane of symmetry.
        """
        counts = {
            "q": len(self.essential_indices),
            "u": len(self.motion.independent),
            "z": len(self.states),
        }
        rest = {
            x: [k for k in range(n) if k not in self._lateral_indices[x]] for x, n in counts.items()
        }
        return self._select_equations(rest) if rest["q"] or rest["z"] else None

    def _select_equations(self, indices: Mapping[str, list[int]]) -> CoupledDeviations:
        """Return the linear equations of a subset of q, u and z."""
        motion = self.motion
        numbers = {**indices, "q": [self.essential_indices[k] for k in indices["q"]]}
        graph = motion.machine.graph
        matrices = {}
        for letter, (equation, variable) in BLOCKS.items():
            entries = self.all_matrices[letter][np.ix_(numbers[equation], numbers[variable])]
            matrices[letter] = PolynomialMatrix(
                letter, entries, graph, motion.v, motion.g, motion.point
            )
        return CoupledDeviations(
            self.all_matrices["M"][np.ix_(indices["u"], indices["u"])],
            matrices,
            tuple(self.coordinates[k] for k in indices["q"]),
            tuple(TWIST_WORDS.get(motion.speeds[k], motion.speeds[k]) for k in indices["u"]),
            tuple(self.states[k] for k in indices["z"]),
        )


def _nonzero_entries(matrix: Array) -> Floats:
    """Return a boolean matrix that is true for entries that are not identically zero."""
    return np.array([not is_zero(x) for x in matrix.ravel()], bool).reshape(matrix.shape)
