"""Small deviations from straight running: coordinates q, independent speeds u and states z of force
elements satisfy

    M udot + C u + K q + E z = f,    qdot = G u + H q,    zdot = R u + S q + T z,

eq. [straight-running].

The matrices are exact derivatives of the reduced dynamics, of the rates of the coordinates and of
those of the states, in the straight motion. Steps: choose coordinates whose changes keep the
contacts closed (`_chart`), differentiate (`whole`), leave out cyclic coordinates (`essential`) and
separate what depends on lean from the rest (`lateral`, `in_plane`). Signs are this package's: lean
to the right, steer to the left.
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
from draisine.reading.linear.straight import SCOPE, TWIST, StraightMotion
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
"""The matrices by letter: whose equations they stand in, and what they multiply."""


@dataclass(frozen=True, eq=False)
class CoupledDeviations:
    """Deviations that depend on each other: their mass matrix, the other matrices by their letters, and
    the names of q, u and z.
    """

    mass: Array
    matrices: Mapping[str, PolynomialMatrix]
    coordinates: tuple[str, ...]
    speeds: tuple[str, ...]
    states: tuple[str, ...]

    def entries(self) -> Iterator[Scalar]:
        """Give the entries of all matrices."""
        yield from self.mass.ravel()
        for matrix in self.matrices.values():
            for part in matrix.terms.values():
                yield from part.ravel()

    @property
    def direct(self) -> bool:
        """Whether u begins with the rates of q, in order."""
        G, H = self.matrices["G"].entries, self.matrices["H"].entries
        return all(is_zero(x) for x in [*(G - np.eye(*G.shape)).ravel(), *H.ravel()])

    @property
    def second_order(self) -> bool:
        """Whether u = qdot, and no states of force elements are involved."""
        return self.direct and len(self.speeds) == len(self.coordinates) and not self.states


@dataclass(frozen=True, eq=False)
class StraightRunning:
    """The deviations of a machine from straight running."""

    subject: Subject

    @cached_property
    def motion(self) -> StraightMotion:
        """The straight motion, checked."""
        found = StraightMotion(self.subject)
        found.check()
        return found

    @cached_property
    def _words(self) -> dict[str, str]:
        """The coordinates in words, by their symbols."""
        model = self.subject.model
        out = {f"turn {name}": name for name in self.subject.angles}
        out |= {f"p[{k}]": word for k, word in enumerate(("x", "y", "height"))}
        return out | {f"r[{k}]": joint.name for k, joint in enumerate(model.joints)}

    @cached_property
    def _preferred(self) -> list[str]:
        """The symbols of the coordinates in the order of preference: lean and joints that are no
        wheels; what contacts decide; what is cyclic for most machines.
        """
        joints = [joint.name for joint in self.subject.model.joints]
        wheels = [name for name in joints if f"{name}_rate" in self.motion.rolling]
        others = [name for name in joints if name not in wheels]
        order = ["lean", *others, "pitch", "height", "yaw", *wheels, "x", "y"]
        return sorted(self.motion.rates, key=lambda symbol: order.index(self._words[symbol]))

    @cached_property
    def _chart(self) -> tuple[list[str], Array]:
        """Independent coordinates by their symbols, and the displacements (of all coordinates, in
        columns) that change one of them each and keep the contacts closed.
        """
        symbols, point = self._preferred, self.motion.point
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
    def whole(self) -> dict[str, Array]:
        """The matrices over all independent coordinates by their letters, with the mass matrix M."""
        motion, (chosen, X) = self.motion, self._chart
        machine, independent = motion.machine, motion.independent
        values = {
            "u": motion.forces,
            "q": [motion.rates[symbol] for symbol in chosen],
            "z": machine.acting.rates,
        }
        symbols = {
            "u": [f"v[{k}]" for k in independent],
            "q": self._preferred,
            "z": [f"z[{k}]" for k in range(len(machine.z))],
        }
        out: dict[str, Array] = {}
        for letter, (equation, variable) in BLOCKS.items():
            found = motion.differentiate(values[equation], symbols[variable])
            out[letter] = found @ X if variable == "q" else found
        order = [machine.independent.index(k) for k in independent]
        mass = machine.M_r[np.ix_(order, order)]
        return out | {"M": array(motion.at(mass.ravel())).reshape(mass.shape)}

    @cached_property
    def essential(self) -> list[int]:
        """The independent coordinates, by number, that are not cyclic: others depend on them."""
        H, KS = _nonzero(self.whole["H"]), _nonzero(np.vstack([self.whole["K"], self.whole["S"]]))
        every = range(len(H))
        hidden = list(every)
        while needed := [k for k in hidden if KS[:, k].any() or np.delete(H[:, k], hidden).any()]:
            hidden = [k for k in hidden if k not in needed]
        return [k for k in every if k not in hidden]

    @property
    def coordinates(self) -> list[str]:
        """The essential coordinates in words."""
        return [self._words[self._chart[0][k]] for k in self.essential]

    @cached_property
    def states(self) -> list[str]:
        """The states of force elements: the name of the element, numbered if it has several."""
        out = []
        for element in self.subject.model.elements:
            several = element.states > 1
            out += [
                f"{element.name} {k + 1}" if several else element.name
                for k in range(element.states)
            ]
        return out

    @cached_property
    def _lateral(self) -> dict[str, list[int]]:
        """Which of q (essential coordinates), u and z depend on lean, or lean on them."""
        if "lean" not in self.coordinates:
            raise ParameterError(f"{SCOPE}; the contacts of this one do not let it lean.")
        A = {letter: _nonzero(part) for letter, part in self.whole.items()}
        own = self.essential
        none = np.zeros((len(own), A["E"].shape[1]), bool)
        links = np.vstack(
            [
                np.hstack([A["H"][np.ix_(own, own)], A["G"][own], none]),
                np.hstack([A["K"][:, own], A["C"] | A["M"], A["E"]]),
                np.hstack([A["S"][:, own], A["R"], A["T"]]),
            ]
        )
        reached = np.arange(len(links)) == self.coordinates.index("lean")
        for _ in range(len(links)):
            reached = reached | (links | links.T) @ reached
        ends = np.cumsum([len(own), len(self.motion.independent)])
        parts = np.split(reached, ends)
        return {name: list(np.flatnonzero(part)) for name, part in zip("quz", parts, strict=True)}

    @cached_property
    def lateral(self) -> CoupledDeviations:
        """The deviations that depend on lean."""
        return self._select(self._lateral)

    @cached_property
    def in_plane(self) -> CoupledDeviations | None:
        """The deviations that do not depend on lean, if they are more than another constant speed. Those
        of a symmetric machine are in its plane of symmetry.
        """
        counts = {
            "q": len(self.essential),
            "u": len(self.motion.independent),
            "z": len(self.states),
        }
        rest = {x: [k for k in range(n) if k not in self._lateral[x]] for x, n in counts.items()}
        return self._select(rest) if rest["q"] or rest["z"] else None

    def _select(self, which: Mapping[str, list[int]]) -> CoupledDeviations:
        """Return the equations of some of q, u and z alone."""
        motion, q = self.motion, [self.essential[k] for k in which["q"]]
        numbers = {"q": q, "u": which["u"], "z": which["z"]}
        graph, v, g = motion.machine.graph, motion.v, motion.g
        matrices = {}
        for letter, (equation, variable) in BLOCKS.items():
            part = self.whole[letter][np.ix_(numbers[equation], numbers[variable])]
            matrices[letter] = PolynomialMatrix(letter, part, graph, v, g, motion.point)
        return CoupledDeviations(
            self.whole["M"][np.ix_(which["u"], which["u"])],
            matrices,
            tuple(self.coordinates[k] for k in which["q"]),
            tuple(TWIST.get(motion.speeds[k], motion.speeds[k]) for k in which["u"]),
            tuple(self.states[k] for k in which["z"]),
        )


def _nonzero(part: Array) -> Floats:
    """Return which entries are not identically zero."""
    return np.array([not is_zero(x) for x in part.ravel()], bool).reshape(part.shape)
