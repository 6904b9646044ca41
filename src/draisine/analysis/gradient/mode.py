"""A mode on a terrain with its derivatives: mass matrix, contact rows, accelerations and forces of a state
and of its neighbours, by the saddle-point system.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.differentiate import MatrixJet, jet, solve, transpose
from draisine.analysis.gradient.tangents import Directions, TangentProgram, tangent_program
from draisine.codegen.fingerprint import fingerprint
from draisine.mechanics.contact.features import FEATURE, LOAD, SIDE
from draisine.simulation.contact.query import Closed, ContactQuery
from draisine.simulation.contact.table import WheelOnFeature
from draisine.system.generic import Generic

STATE = ("q", "p", "r", "v", "z")
MOTION = ("flow", "M", "F", "zdot", "held", "held_c", "held_b")
ROW = ("C", "c", "b", "gap", "local_point", "local_normal")
ELEMENTS = ("push", "lift", "forces", "lifted", "rates")
SIGHT = ("outputs", "position", "output_rates")


@dataclass(frozen=True, eq=False)
class ModeTangents:
    """What is seen of a state in a mode, each with its derivatives, (1 + k, entries): rates of the
    state, contact forces (contacts, 3), and what each contact looks like by name.
    """

    rates: Floats
    forces: Floats
    rows: list[dict[str, Floats]]


class TerrainTangents:
    """A free machine on a terrain with its derivatives along directions."""

    def __init__(self, look: ContactQuery, along: Directions) -> None:
        self.look, self.along = look, along
        self._programs: dict[str, TangentProgram] = {}

    @property
    def machine(self) -> Generic:
        """The free machine."""
        return self.look.machine

    def _program(self, name: str, outputs: Sequence[str]) -> TangentProgram:
        if name not in self._programs:
            machine = self.machine
            key = fingerprint((name, machine.states, machine.motions, machine.law))
            made = tangent_program(machine.system, machine.programs[name], outputs, STATE, key)
            self._programs[name] = made
        return self._programs[name]

    def motion(self, t: float, whole: Floats, dt: Floats | None = None) -> dict[str, Floats]:
        """Return M, F and the rest of the free machine."""
        return self._program("motion", MOTION)(t, whole, self.along, dt, w=self.look.inputs)

    def row(
        self,
        t: float,
        whole: Floats,
        contact: WheelOnFeature,
        dt: Floats | None = None,
        load: float = 0.0,
    ) -> dict[str, Floats]:
        """Return what a contact looks like, its elements about a load."""
        feature = self.look.feature(contact)
        name = self.machine.contacts.names[contact.wheel, feature.kind, feature.motion]
        program = self._program(name, ROW + ELEMENTS)
        f = np.zeros(FEATURE)
        f[: len(feature.numbers)], f[SIDE], f[LOAD] = feature.numbers, contact.side, load
        given = {"w": self.look.inputs, "f": f, "ground": self.machine.ground}
        return program(t, whole, self.along, dt, **given)

    def seen(self, t: float, whole: Floats, dt: Floats | None = None) -> Floats:
        """Return what `observation_names` name at a state, (1 + k, names); accelerations and contacts
        make no difference to it.
        """
        at, moving = self.machine.layout, self.motion(t, whole, dt)["flow"]
        told = self._program("observe", SIGHT)(t, whole, self.along, dt, w=self.look.inputs)
        return np.hstack(
            [
                told["outputs"][:, :3],
                told["position"],
                whole[:, at.r],
                told["outputs"][:, 3:],
                told["output_rates"][:, :3],
                moving[:, at.p],
                whole[:, at.v],
            ]
        )

    def sight(
        self, t: float, whole: Floats, closed: Sequence[Closed], dt: Floats | None = None
    ) -> ModeTangents:
        """Return rates and forces in a mode, eq. [saddle-point], with derivatives."""
        at, n, many = self.machine.layout, self.look.n, len(whole)
        motion = self.motion(t, whole, dt)
        rows = [
            self.row(t, whole, contact, dt, load)
            for (contact, *_), load in zip(closed, self._loads(t, whole, closed), strict=True)
        ]
        v = jet(whole[:, at.v, None])
        ways = [
            _slip_way(row, v, n) if held == 1 and 0.0 < mu < np.inf else None
            for row, (_, held, mu) in zip(rows, closed, strict=True)
        ]
        C, G, c = [motion["held"].reshape(many, -1, n)], [], [motion["held_c"]]
        G.append(np.swapaxes(C[0], 1, 2))
        for row, (_, held, mu), way in zip(rows, closed, ways, strict=True):
            whole_rows = row["C"].reshape(many, 3, n)
            C.append(whole_rows[:, :held])
            G.append(np.swapaxes(C[-1], 1, 2))
            c.append(row["c"][:, :held])
            if way is not None:
                G[-1] = G[-1] - mu * (transpose(jet(whole_rows[:, 1:])) @ way).stack
            if held and row["lift"].size:
                G[-1] = G[-1] + np.pad(row["lift"][:, :, None], ((0, 0), (0, 0), (0, held - 1)))
        K = _saddle(motion["M"].reshape(many, n, n), np.dstack(G), np.hstack(C))
        push = sum((row["push"] for row in rows if row["push"].size), -motion["F"])
        answer = solve(jet(K), jet(np.hstack([push, *c])[:, :, None])).stack[:, :, 0]
        rates = np.hstack([motion["flow"], answer[:, :n], motion["zdot"]])
        for row in rows:
            rates[:, at.z.start : at.z.start + row["rates"].shape[1]] += row["rates"]
        lam = answer[:, n + motion["held_c"].shape[1] :]
        return ModeTangents(rates, _forces(lam, closed, ways, rows), rows)

    def _loads(self, t: float, whole: Floats, closed: Sequence[Closed]) -> list[float]:
        """Return the loads about which elements are taken: the contacts' own."""
        if not self.look.motion.record.acted:
            return [0.0] * len(closed)
        return list(self.look.accelerate(t, whole[0], closed)[1][:, 0])

    def hold(
        self, t: float, whole: Floats, closed: Sequence[Closed], dt: Floats | None = None
    ) -> Floats:
        """Return a state whose speeds keep to closed contacts and held joints, by impulses, eq.
        [saltation-hold].
        """
        at, n, many = self.machine.layout, self.look.n, len(whole)
        motion = self.motion(t, whole, dt)
        rows = [(self.row(t, whole, contact, dt), held) for contact, held, _ in closed]
        C = [row["C"].reshape(many, 3, n)[:, :held] for row, held in rows]
        J = np.concatenate([*C, motion["held"].reshape(many, -1, n)], axis=1)
        M, v = jet(motion["M"].reshape(many, n, n)), jet(whole[:, at.v, None])
        demand = np.hstack([*(row["b"][:, :held] for row, held in rows), motion["held_b"]])
        right = np.concatenate([(M @ v).stack, demand[:, :, None]], axis=1)
        K = _saddle(M.stack, np.swapaxes(J, 1, 2), J)
        out = whole.copy()
        out[:, at.v] = solve(jet(K), jet(right)).stack[:, :n, 0]
        return out


def _saddle(M: Floats, G: Floats, C: Floats) -> Floats:
    """Return the matrices of `M x - G lam = right`, `C x = c`."""
    many, n, m = len(M), M.shape[1], C.shape[1]
    K = np.zeros((many, n + m, n + m))
    K[:, :n, :n], K[:, :n, n:], K[:, n:, :n] = M, -G, C
    return K


def _forces(
    lam: Floats,
    closed: Sequence[Closed],
    ways: Sequence[MatrixJet | None],
    rows: Sequence[dict[str, Floats]],
) -> Floats:
    """Return the forces of contacts (normal, along, across) from their multipliers: what slides pushes
    against its slip, elements push as they do.
    """
    forces, first = np.zeros((len(lam), len(closed), 3)), 0
    for k, ((_, held, mu), way, row) in enumerate(zip(closed, ways, rows, strict=True)):
        forces[:, k, :held] = lam[:, first : first + held]
        load = jet(lam[:, first, None, None]) if held else None
        if way is not None and load is not None:
            forces[:, k, 1:] = -mu * (way @ load).stack[:, :, 0]
        if row["forces"].size:
            forces[:, k] += row["forces"][:, :3]
        if row["lifted"].size and load is not None:
            forces[:, k] += (jet(row["lifted"][:, :3, None]) @ load).stack[:, :, 0]
        first += held
    return forces


def _slip_way(row: dict[str, Floats], v: MatrixJet, n: int) -> MatrixJet:
    """Return the direction (along, across) in which a contact slips."""
    many = len(row["C"])
    slip = jet(row["C"].reshape(many, 3, n)[:, 1:]) @ v - jet(row["b"][:, 1:, None])
    speed = np.linalg.norm(slip.value)
    way = slip.value / speed
    return MatrixJet(way, (slip.rate - way @ (np.swapaxes(way, 1, 2) @ slip.rate)) / speed)
