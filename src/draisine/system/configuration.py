"""Configurations and speeds that satisfy what is asked of them and what the contacts demand.

Poses by Newton's method, then speeds by linear equations, of many machines side by side. Of what is
left free as much as possible stays as in the drawing and at rest (joints first, then place and
heading, then lean, pitch and height).

Speeds that are left open are zero as far as possible, one after the other: rates of joints, turning
of the base, spins of rolling wheels, translation. So a wheel rolls before anything else moves. Near a
singularity a zero can still be paid for by large speeds elsewhere: a torus wheel that leans could have
its forward speed without any spin, by a yaw rate of hundreds of rad/s. A zero that multiplies the
kinetic energy of the start therefore gives way to the other zeros.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from draisine.algebra.lie import quaternion_product, rotation
from draisine.algebra.scalar import Floats
from draisine.errors import ConfigurationError, expect_known
from draisine.mechanics import constraints
from draisine.mechanics.energy import rest_speeds
from draisine.mechanics.tree import Tree, assemble, wheel_joints
from draisine.model.names import BASE_POSITION, state_names

if TYPE_CHECKING:
    from draisine.system.closed_form import ClosedForm
    from draisine.system.compiled import Compiled

PLACED = ("x", "y", "yaw", "lean", "pitch", "z")


TURNS, TRANSLATIONS = ("Wx", "Wy", "Wz"), ("Vx", "Vy", "Vz")
"""The base's angular and linear velocity, in its own axes."""

WEAK, DEAR = 0.3, 10.0
"""A zero gives way to others if less than the first is left of its row (1: perpendicular to all rows
before) and if it multiplies the least kinetic energy by more than the second: about three times the
speeds. Either one alone is common: a zero may well set a heavy part in motion with a light one.
"""

WEIGHTLESS = 1e-9
"""The least eigenvalue of the mass matrix, scaled to a unit diagonal, so that massless parts have a
metric of the kinetic energy, too: its root is far above the round-off of 1e-16.
"""


def configurations(
    machine: "ClosedForm", asked: Mapping[str, Floats], parameters: Floats | None = None
) -> Floats:
    """Return configurations at rest as y (N, entries), each as near to the drawing as closed contacts
    and the N values asked of each name allow; `parameters` (N, parameters) gives each its own.
    """
    pose = Configuration(machine, len(next(iter(asked.values()))), parameters=parameters)
    expect_known("no coordinate", asked, [x for x in pose.names if x not in pose.fast])
    pose.reach(asked)
    return pose.y


def displace(machine: "ClosedForm", y: Floats, dx: Floats) -> Floats:
    """Return states (N, entries) after finite steps dx (N, n) of their configurations."""
    at = machine.layout
    whole = np.zeros((len(y), 6 + at.count("r")))
    whole[:, machine.columns] = dx
    V, W, q = whole[:, :3], whole[:, 3:6], y[:, at.q]
    scalar, vector = q[:, :1], q[:, 1:]
    turned = q.copy()
    turned[:, 0] -= np.sum(vector * W, axis=1) / 2
    turned[:, 1:] += (scalar * W + np.cross(vector, W)) / 2
    moved = y.copy()
    moved[:, at.q] = turned / np.linalg.norm(turned, axis=1, keepdims=True)
    moved[:, at.p] += V + 2 * np.cross(vector, scalar * V + np.cross(vector, V))
    moved[:, at.r] += whole[:, 6:]
    return moved


class Configuration:
    """N configurations of a machine, as y (N, entries) at rest, on their way from the drawing to what
    is asked of them, each by itself; q, p and r are those of the first.

    The contacts are closed on level ground. What is asked for holds after the whole is turned by the
    quaternion `tilt`, onto a slope; places (x, y, z) are those on the level.
    """

    def __init__(
        self,
        machine: "ClosedForm",
        count: int = 1,
        t: float = 0.0,
        parameters: Floats | None = None,
        tilt: Floats | None = None,
    ) -> None:
        self.machine, self.t, self._parameters, self._tilt = machine, t, parameters, tilt
        self._initial, model = self.table(machine.initial), machine.system.model
        self.names, self.columns = state_names(model), len(machine.columns)
        self.frames = None if parameters is None else machine.frames_for(parameters.T)
        upright = np.repeat(np.eye(4)[:, :1], count, axis=1)
        q, p = machine.inner_pose(upright, np.zeros((3, count)), self.frames)
        r = [joint.motion(t)[0] if joint.motion else 0.0 for joint in model.joints]
        self.y = np.ascontiguousarray(machine.layout.pack(q=q, p=p, r=r).T)
        self._spinning = wheel_joints(model)
        order = sorted(range(len(model.joints)), key=lambda k: k in self._spinning)
        self.joints = [model.joints[k].name for k in order]
        self.soft = [*self.joints, *PLACED]
        level, seen = self._look_where_asked(np.arange(count))
        self.start, self._drawn = level["values"].T, seen["values"].T
        moving = self.by_speed()
        self.fast = {name for name, row in zip(self.names, moving, strict=True) if np.any(row)}

    @property
    def q(self) -> Floats:
        """The first one's quaternion of the inner base frame."""
        return self.y[0, self.machine.layout.q]

    @property
    def p(self) -> Floats:
        """The first one's position of the inner base frame."""
        return self.y[0, self.machine.layout.p]

    @property
    def r(self) -> Floats:
        """The first one's shape."""
        return self.y[0, self.machine.layout.r]

    def table(self, program: "Compiled") -> Floats | None:
        """Return the table of a program with one column for each; None where all are alike."""
        return None if self._parameters is None else program.tables(self._parameters.T)

    def tree(self, k: int) -> Tree:
        """Return one of the machines as a tree."""
        system = self.machine.system
        if self._parameters is None:
            return system.tree
        own = dict(zip(system.parameters, self._parameters[k].tolist(), strict=True))
        return assemble(system.artifacts.draw(own))

    def look(
        self, s: Floats | None = None, here: Floats | None = None, tilted: bool = False
    ) -> dict[str, Floats]:
        """Return what the program `initial` tells of the configurations (or some of them), one per
        column; as they are on the level, or `tilted`.
        """
        y = self.y if here is None else self.y[here]
        if tilted:
            y = self._turn(y)
        table = self._initial if here is None or self._initial is None else self._initial[:, here]
        parts, count = self.machine.layout.split(y.T), len(y)
        given = {name: parts[name] for name in "qpr"} | {"t": np.full((1, count), self.t)}
        if s is not None:
            given["s"] = np.repeat(s[:, None], count, axis=1)
        program = self.machine.initial
        if program.inputs.count("anchors") and self.machine.system.model.ground is None:
            found = program.batch(program.inputs.pack(**given), table)
            given["anchors"] = self._pinned(found["conditions"])
        return program.batch(program.inputs.pack(**given), table)

    def _turn(self, y: Floats) -> Floats:
        """Return configurations turned by the tilt about the world's origin."""
        if self._tilt is None:
            return y
        at, turned = self.machine.layout, y.copy()
        tilt = np.repeat(self._tilt[:, None], len(y), axis=1)
        turned[:, at.q] = quaternion_product(tilt, y[:, at.q].T).T
        turned[:, at.p] = y[:, at.p] @ rotation(self._tilt).T
        return turned

    def _look_where_asked(self, here: Floats) -> tuple[dict[str, Floats], dict[str, Floats]]:
        """Return what the program `initial` tells of some configurations on the level, and what
        requests are compared with: the same on the slope, but for the places.
        """
        level = self.look(here=here)
        if self._tilt is None:
            return level, level
        tilted = self.look(here=here, tilted=True)
        places = [self.names.index(name) for name in BASE_POSITION]
        tilted["values"][places] = level["values"][places]
        for name in ("by_pose", "by_speed"):
            own, other = (x[name].reshape(self.columns, -1, len(here)) for x in (tilted, level))
            own[:, places] = other[:, places]
            tilted[name] = own
        return level, tilted

    def _pinned(self, conditions: Floats) -> Floats:
        """Return anchors where the pins are: grips hold wherever the machine is put."""
        model, mode = self.machine.system.model, self.machine.mode
        rows = constraints.holonomic_rows(mode, model)
        pins = [k for k, c in enumerate(model.contacts) if hasattr(c, "axes")]
        anchors = np.zeros((3 * len(pins), conditions.shape[1]))
        for value, (k, name) in zip(conditions, rows, strict=False):
            if k in pins:
                anchors[3 * pins.index(k) + "xyz".index(name)] = value
        return anchors

    def by_speed(self) -> Floats:
        """Return d values / d speeds of the first."""
        rng = np.random.default_rng(1)
        out = self.look(rng.normal(size=self.columns), np.array([0]))
        return out["by_speed"][:, 0].reshape(self.columns, -1).T

    def closed_drawing(self, asked: Iterable[str]) -> Floats:
        """Return the shapes (N, joints) of the drawing with its loops closed, the coordinates that
        something is asked of as they are drawn.
        """
        self.approach({name: self._drawn[:, self.names.index(name)] for name in asked})
        return self.y[:, self.machine.layout.r].copy()

    def reach(self, targets: Mapping[str, Floats]) -> None:
        """Bring the configurations from the drawing to the targets, or say which cannot be."""
        for text in self.approach(targets).values():
            raise ConfigurationError(text)

    def approach(self, targets: Mapping[str, Floats]) -> dict[int, str]:
        """Bring the configurations from the drawing to the targets, angles that are far in steps; return
        what is wrong with those that cannot be, as texts.
        """
        model = self.machine.system.model
        far = {"x", "y", "z", "yaw", *(model.joints[k].name for k in self._spinning)}
        turned = np.zeros(len(self.y))
        for name in targets.keys() - far:
            turned = np.maximum(turned, np.abs(targets[name]))
        steps = np.clip(np.ceil(turned / 0.1), 1, 200)
        begin = {name: self._drawn[:, self.names.index(name)] for name in targets}
        left = np.zeros(len(self.y))
        for k in range(1, int(steps.max(initial=0)) + 1):
            here = np.flatnonzero(k <= steps)
            goal = {n: x0 + k / steps * (targets[n] - x0) for n, x0 in begin.items()}
            left[here] = self._settle(goal, here, np.where(k == steps, 1e-15, 1e-3))
        lost = np.flatnonzero(~(left < 1e-11)).tolist()
        return {k: self._unreached(targets, float(left[k]), k) for k in lost}

    def _unreached(self, targets: Mapping[str, Floats], left: float, k: int) -> str:
        """Return why a configuration cannot be."""
        wanted = ", ".join(f"{name} = {x[k]:.6g}" for name, x in targets.items())
        if guided := self._guided(targets, k):
            return guided
        return (
            f"no configuration has {wanted or 'closed contacts'} with the contacts "
            f"{dict(self.machine.mode)}: an error of {left:.3g} remains. Ask for less, or open a "
            "contact."
        )

    def _guided(self, asked: Mapping[str, Floats], k: int) -> str:
        """Return which of the coordinates or rates asked for a motion prescribes otherwise, if one does."""
        for joint in self.machine.system.model.joints:
            if joint.motion is None:
                continue
            r, rdot, _ = joint.motion(self.t)
            for name, own in ((joint.name, r), (f"{joint.name}_rate", rdot)):
                if name in asked and abs(asked[name][k] - float(own)) > 1e-9:
                    return (
                        f"{name} = {asked[name][k]:.6g} cannot be: the joint {joint.name!r} follows a "
                        f"motion that is given, with {name} = {float(own):.6g} at {self.t:g} s. Leave "
                        "it out, or change that motion."
                    )
        return ""

    def _settle(self, goal: Mapping[str, Floats], some: Floats, precision: Floats) -> Floats:
        """Bring some of the configurations to a goal by Newton's method; return the largest error that
        is left of what must hold, of each.
        """
        turning = [
            i for i, k in enumerate(self.machine.columns) if k >= 3 and k - 6 not in self._spinning
        ]
        error, size, here = np.full((2, len(self.y)), np.inf), np.full(len(self.y), np.inf), some
        for _ in range(60):
            rest, rows, hard, chosen = self._equations(goal, here)
            error[0, here] = np.abs(rest[:, :hard]).max(axis=1, initial=0.0)
            error[1, here] = np.abs(np.where(chosen, rest, 0.0)).max(axis=1, initial=0.0)
            sound = np.isfinite(rest).all(axis=1)
            here, rest, rows, chosen = here[sound], rest[sound], rows[sound], chosen[sound]
            step = -_solve(rows, rest, chosen)
            last = size[here]
            size[here] = np.abs(step).max(axis=1, initial=0.0)
            small = np.minimum(size[here], error[1, here]) < precision[here]
            on = ~(small | ((size[here] < 1e-11) & (size[here] >= 0.5 * last)))
            here, step = here[on], step[on]
            if not len(here):
                break
            turn = np.abs(step[:, turning]).max(axis=1, initial=0.3)
            self.y[here] = displace(self.machine, self.y[here], step * (0.3 / turn)[:, None])
        return error[0, some]

    def _equations(
        self, goal: Mapping[str, Floats], here: Floats
    ) -> tuple[Floats, Floats, int, Floats]:
        """Return what is left (N, equations) of those that must hold (closed contacts, the goal) and
        of all that may hold beside them (all else stays as it started), their derivatives (N,
        equations, n), how many must, and which do (N, equations).
        """
        (level, seen), index, pinned = self._look_where_asked(here), self.names.index, self._grips()
        values, conditions = level["values"].T, level["conditions"].T
        J, K = (
            out["by_pose"].reshape(self.columns, -1, len(here)).transpose(2, 1, 0)
            for out in (level, seen)
        )
        kept = [k for k in range(conditions.shape[1]) if k not in pinned]
        soft = [name for name in self.soft if name not in goal]
        left = [seen["values"][index(name)] - x[here] for name, x in goal.items()]
        left += [values[:, index(name)] - self.start[here, index(name)] for name in soft]
        rest = np.column_stack([conditions[:, kept], *left])
        wanted, free = [index(name) for name in goal], [index(name) for name in soft]
        held = [len(self.names) + k for k in kept]
        rows = np.concatenate([J[:, held], K[:, wanted], J[:, free]], axis=1)
        if "yaw" in (*goal, *soft):
            at = len(kept) + (*goal, *soft).index("yaw")
            rest[:, at] = (rest[:, at] + np.pi) % (2 * np.pi) - np.pi
        hard = len(kept) + len(goal)
        chosen = np.ones(rest.shape, dtype=bool)
        chosen[:, hard:] = independent(rows[:, :hard], rows[:, hard:])
        return rest, rows, hard, chosen

    def directions(self, names: Sequence[str]) -> Floats:
        """Return displacements (names, n) of the first configuration that keep the contacts closed and
        change one of some coordinates each by one, all else as little as can be.
        """
        at = self.look(here=np.array([0]))["values"]
        goal = {name: at[self.names.index(name)] for name in names}
        _, rows, hard, chosen = self._equations(goal, np.array([0]))
        units = np.zeros((len(names), rows.shape[1]))
        units[:, hard - len(names) : hard] = np.eye(len(names))
        rows, chosen = (np.repeat(x, len(names), axis=0) for x in (rows, chosen))
        return _solve(rows, units, chosen)

    def values(self) -> dict[str, float]:
        """Return all that is known of the first configuration at rest, by name."""
        return dict(zip(self.names, map(float, self.look()["values"][:, 0]), strict=True))

    def speeds(
        self, asked: Mapping[str, Floats], at_rest: bool = False
    ) -> tuple[Floats, dict[int, str]]:
        """Return the inner speeds (N, n) (V at the base's origin, free ones only) in which all that is
        asked of speeds is so; of the rest as many as possible are zero, or the kinetic energy is
        least. Also what is wrong with those that contradict each other, as texts.
        """
        index, count = self.names.index, len(self.y)
        _, out = self._look_where_asked(np.arange(count))
        rows = out["by_speed"].reshape(self.columns, -1, count).transpose(2, 1, 0)
        b, C = self._demanded()
        fast = {name: x for name, x in asked.items() if name in self.fast}
        first, last = ([], []) if at_rest else self._zeros(asked)
        soft, wanted = [*map(index, first), *map(index, last)], [index(name) for name in fast]
        b = np.column_stack([b, *(x - out["values"][index(n)] for n, x in fast.items())])
        C = np.concatenate([C, rows[:, wanted]], axis=1)
        A = np.concatenate([C, rows[:, soft]], axis=1)
        hard, chosen = b.shape[1], np.ones(A.shape[:2], dtype=bool)
        chosen[:, hard:] = _choose_zeros(C, b, rows[:, soft], len(first), self._masses)
        s = _solve(A, np.column_stack([b, np.zeros((count, len(soft)))]), chosen)
        missed = np.abs((C @ s[:, :, None])[:, :, 0] - b).max(axis=1, initial=0.0)
        wrong = missed > 1e-9 * np.maximum(1.0, np.abs(b).max(axis=1, initial=0.0))
        told = {k: self._contradiction(fast, k) for k in np.flatnonzero(wrong).tolist()}
        if at_rest:
            M = self._masses()
            s = np.array([rest_speeds(M[k], A[k, chosen[k]], s[k]) for k in range(count)])
        return s, told

    def _contradiction(self, fast: Mapping[str, Floats], k: int) -> str:
        """Return why no speeds can be what they are asked to be."""
        wanted = ", ".join(f"{n} = {x[k]:.6g}" for n, x in fast.items())
        if guided := self._guided(fast, k):
            return guided
        return (
            f"no speeds have {wanted or 'the prescribed rates'} with the contacts "
            f"{dict(self.machine.mode)}; they contradict each other.{self._advice()}"
        )

    def _demanded(self) -> tuple[Floats, Floats]:
        """Return b (N, rows) and C (N, rows, n) of the rows `C s = b` of contacts and prescribed
        joints.
        """
        machine, count, program = self.machine, len(self.y), self.machine.rows
        parts = machine.layout.split(self.y.T)
        given = {name: parts[name] for name in "qpr"} | {"t": np.full((1, count), self.t)}
        found = program.batch(program.inputs.pack(**given), self.table(program))
        whole = 6 + len(machine.system.model.joints)
        C = found["C"].reshape(-1, whole, count).transpose(2, 0, 1).copy()
        C[:, :, 3:6] += np.cross(found["ref"].T[:, None, :], C[:, :, :3])
        return found["b"].T, C[:, :, machine.columns]

    def _zeros(self, asked: Collection[str]) -> tuple[list[str], list[str]]:
        """Return the names of the speeds that are zero if they can be, in order: those that are zero
        while the machine rolls, then spins and translation.
        """
        model = self.machine.system.model
        spins = [f"{model.joints[k].name}_rate" for k in sorted(self._spinning)]
        spins += [TURNS[k] for k in self._rolling_axes()]
        still = [*(f"{name}_rate" for name in self.joints), *TURNS]
        first = [name for name in still if name not in spins]
        free = [name for name in self.names if name not in asked]
        return [n for n in first if n in free], [n for n in [*spins, *TRANSLATIONS] if n in free]

    def _rolling_axes(self) -> set[int]:
        """Return the axes of the base along which the axles of its own rolling wheels lie, or nearly."""
        model = self.machine.system.model
        statuses = dict(self.machine.mode)
        return {
            int(np.argmax(np.abs(np.asarray(wheel.guide, float))))
            for wheel in model.wheels
            if wheel.body == model.bodies[0].name and "along" in wheel.rows[statuses[wheel.name]]
        }

    def _masses(self) -> Floats:
        """Return the mass matrices (N, n, n) of the inner speeds."""
        machine, at, count = self.machine, self.machine.layout, len(self.y)
        q, p = machine.user_pose(self.y[:, at.q].T, self.y[:, at.p].T, self.frames)
        program, n = machine.masses, self.columns
        given = program.inputs.pack(t=np.full((1, count), self.t), q=q, p=p, r=self.y[:, at.r].T)
        M = program.batch(given, self.table(program))["M"].reshape(n, n, count)
        units = np.repeat(np.eye(n)[:, :, None], 1 if self.frames is None else count, axis=2)
        T = np.array([machine.user_speeds(unit, self.frames) for unit in units]).transpose(2, 0, 1)
        return T @ M.transpose(2, 0, 1) @ T.transpose(0, 2, 1)

    def _advice(self) -> str:
        """Return what may be missing where the drawing is a singular shape."""
        lost = self.machine.system.survey(self.machine.mode).singular
        if not lost:
            return ""
        return (
            f" The rows {', '.join(lost)} agree in the drawing alone, not beside it: where wheels steer "
            "by several joints, a coupling of these is missing."
        )

    def _grips(self) -> list[int]:
        model = self.machine.system.model
        if model.ground is not None:
            return []
        rows = constraints.holonomic_rows(self.machine.mode, model)
        return [i for i, (_, name) in enumerate(rows) if name in "xyz"]


def _solve(A: Floats, b: Floats, chosen: Floats) -> Floats:
    """Return the solutions x (N, n) of the equations `A x = b` that are chosen (N, equations), of least
    squares where A is not square and regular.

    Elimination leaves what is zero by symmetry exactly zero; orthogonal transformations do not.
    """
    x, left = np.zeros((len(A), A.shape[2])), np.arange(len(A))
    while len(left):
        rows = chosen[left[0]]
        alike = (chosen[left] == rows).all(axis=1)
        here, left = left[alike], left[~alike]
        x[here] = _solve_alike(A[here][:, rows], b[here][:, rows])
    return x


def _solve_alike(A: Floats, b: Floats) -> Floats:
    """Return the solutions of as many equations for each."""
    if A.shape[1] == A.shape[2]:
        try:
            x = np.linalg.solve(A, b[:, :, None])[:, :, 0]
        except np.linalg.LinAlgError:
            if len(A) > 1:
                return np.array(
                    [_solve_alike(A[k : k + 1], b[k : k + 1])[0] for k in range(len(A))]
                )
            x = np.full(b.shape, np.nan)
        wrong = np.abs((A @ x[:, :, None])[:, :, 0] - b).max(axis=1, initial=0.0)
        lost = ~(wrong <= 1e-12 * np.maximum(1.0, np.abs(b).max(axis=1, initial=0.0)))
    else:
        x, lost = np.zeros((len(A), A.shape[2])), np.ones(len(A), dtype=bool)
    for k in np.flatnonzero(lost):
        sound = np.isfinite(A[k]).all() and np.isfinite(b[k]).all()
        x[k] = np.linalg.lstsq(A[k], b[k], rcond=None)[0] if sound else np.nan
    return x


def independent(hard: Floats, rows: Floats, alike: bool = False) -> NDArray[np.bool_]:
    """Return which rows (N, rows, n) are independent of the hard ones and of those taken before, in
    each of N cases; or, where all shall be `alike`, in all of them.
    """
    cases, count, n = rows.shape
    span, taken = _Span(cases, n), np.zeros((cases, count), dtype=bool)
    for k in range(hard.shape[1]):
        span.add_hard(hard[:, k])
    for k in range(count):
        if span.full:
            break
        left, fresh = span.residual(rows[:, k])
        taken[:, k] = fresh.all() if alike else fresh
        span.add(left, taken[:, k])
    return taken


class _Span:
    """Orthonormal bases of the rows taken so far, in N cases."""

    def __init__(self, cases: int, n: int) -> None:
        self.basis = np.zeros((0, n, cases))
        self.rank = np.zeros(cases, dtype=int)

    @property
    def full(self) -> bool:
        """Whether no further row can be independent, in any case."""
        return bool((self.rank == self.basis.shape[1]).all())

    def residual(
        self, rows: Floats, least: float = 1e-3, passes: int = 1
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the unit rows (N, n) without their components in the span, as columns, and which of
        them are independent: more than `least` remains.
        """
        size = np.sqrt((rows * rows).sum(axis=1))
        left = (rows / np.where(size > 1e-12, size, np.inf)[:, None]).T
        for _ in range(passes):
            left = left - ((self.basis * left).sum(axis=1)[:, None] * self.basis).sum(axis=0)
        return left, np.sqrt((left * left).sum(axis=0)) > least

    def add(self, left: Floats, taken: NDArray[np.bool_]) -> None:
        """Add residuals to the bases of the cases in which they are taken."""
        if taken.any():
            size = np.sqrt((left * left).sum(axis=0))
            new = np.where(taken, left / np.where(taken, size, 1.0), 0.0)
            self.basis = np.concatenate([self.basis, new[None]])
            self.rank += taken

    def add_hard(self, rows: Floats) -> NDArray[np.bool_]:
        """Add rows that must hold; return where they are independent: of these a billionth may be
        left.
        """
        left, fresh = self.residual(rows, 1e-9, passes=2)
        self.add(left, fresh)
        return fresh


def _choose_zeros(
    C: Floats, b: Floats, rows: Floats, first: int, masses: Callable[[], Floats]
) -> NDArray[np.bool_]:
    """Return which rows are zero (N, rows) in starts with `C s = b`: one after the other, as far as
    they are independent of those before. `masses` returns the mass matrices.

    Some of the `first` rows are all but determined by what was taken before, and their zeros
    multiply the kinetic energy. They are postponed until the clearly independent ones are taken.
    """
    cases, count, n = rows.shape
    span, energy = _Span(cases, n), _LeastEnergy(masses)
    taken = np.zeros((cases, count), dtype=bool)
    for k in range(b.shape[1]):
        energy.add(C[:, k], b[:, k], span.add_hard(C[:, k]))
    postponed = np.zeros(cases, dtype=bool)
    for k in range(first):
        left, fresh = span.residual(rows[:, k])
        weak = fresh & (np.sqrt((left * left).sum(axis=0)) < WEAK)
        if weak.any():
            postponed |= weak & (energy.factor(rows[:, k]) > DEAR)
        taken[:, k] = fresh & ~(weak & postponed)  # nor does a weak row replace a postponed one
        span.add(left, taken[:, k])
        energy.add(rows[:, k], np.zeros(cases), taken[:, k])
    for k in range(count):
        if span.full:
            break
        left, fresh = span.residual(rows[:, k])
        taken[:, k] |= fresh
        span.add(left, fresh)
    return taken


class _LeastEnergy:
    """The speeds of least kinetic energy that satisfy the rows taken so far, in N cases, in
    coordinates x in which that energy is half of `x . x`. Few starts need it: nothing is computed
    before the first query.
    """

    def __init__(self, masses: Callable[[], Floats]) -> None:
        self._masses = masses
        self._waiting: list[tuple[Floats, Floats, NDArray[np.bool_]]] = []
        self._taken: tuple[_Span, Floats] | None = None

    def add(self, rows: Floats, values: Floats, taken: NDArray[np.bool_]) -> None:
        """Let rows (N, n) have values (N) in the cases in which they are taken."""
        self._waiting.append((rows, values, taken))

    def factor(self, rows: Floats) -> Floats:
        """Return by which factor (N) the least energy grows when rows (N, n) become zero, eq.
        [dear-zero].
        """
        span, x = self._solve()
        missing, left = self._split(span, x, rows)
        energy = (x * x).sum(axis=0)
        rise = missing**2 / np.maximum((left * left).sum(axis=0), np.finfo(float).tiny)
        return 1.0 + np.divide(rise, energy, out=np.zeros(len(rise)), where=energy > 0.0)

    def _solve(self) -> tuple[_Span, Floats]:
        """Return the span of all rows taken, and x (n, N)."""
        cases, n, _ = self._map.shape
        span, x = self._taken or (_Span(cases, n), np.zeros((n, cases)))
        for rows, values, taken in self._waiting:
            missing, left = self._split(span, x, rows, values)
            square = np.where(taken, (left * left).sum(axis=0), 1.0)
            x = x + np.where(taken, left * (missing / square), 0.0)
            span.add(left, taken)
        self._waiting, self._taken = [], (span, x)
        return span, x

    def _split(
        self, span: _Span, x: Floats, rows: Floats, values: Floats | float = 0.0
    ) -> tuple[Floats, Floats]:
        """Return what x lacks of the values of rows that are scaled to unit length, and the residuals
        of these, as columns.
        """
        mapped = np.einsum("tij,tj->ti", self._map, rows)
        size = np.maximum(np.linalg.norm(mapped, axis=1), np.finfo(float).tiny)
        left, _ = span.residual(mapped, passes=2)
        return (values - (mapped.T * x).sum(axis=0)) / size, left

    @cached_property
    def _map(self) -> Floats:
        """What takes rows over the speeds to rows over x, (N, n, n)."""
        M = self._masses()
        known = np.isfinite(M).all(axis=(1, 2), keepdims=True)
        M = np.where(known, M, np.eye(M.shape[1]))  # not known where no configuration was found
        inertia = np.diagonal(M, axis1=1, axis2=2)
        mean = np.abs(inertia).mean(axis=1, keepdims=True)
        inertia = np.where(inertia > 0.0, inertia, np.where(mean > 0.0, mean, 1.0))
        scale = 1.0 / np.sqrt(inertia)
        sizes, axes = np.linalg.eigh(scale[:, :, None] * M * scale[:, None, :])
        scaled = axes / np.sqrt(np.maximum(sizes, WEIGHTLESS))[:, None, :]
        return np.asarray(scaled.transpose(0, 2, 1) * scale[:, None, :])
