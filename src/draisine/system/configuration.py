"""Configurations and speeds that satisfy what is asked of them and what the contacts demand.

Poses by Newton's method, then speeds by linear equations, of many machines side by side. Of what is
left free as much as possible stays as in the drawing and at rest (joints first, then place and
heading, then lean, pitch and height).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from draisine.algebra.scalar import Floats
from draisine.errors import ConfigurationError, expect_known
from draisine.mechanics import constraints
from draisine.mechanics.energy import rest_speeds
from draisine.mechanics.tree import Tree, assemble, wheel_joints
from draisine.model.names import state_names

if TYPE_CHECKING:
    from draisine.system.closed_form import ClosedForm
    from draisine.system.compiled import Compiled

PLACED = ("x", "y", "yaw", "lean", "pitch", "z")


TURNED = ("Wx", "Wy", "Wz", "Vx", "Vy", "Vz")


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
    """

    def __init__(
        self,
        machine: "ClosedForm",
        count: int = 1,
        t: float = 0.0,
        parameters: Floats | None = None,
    ) -> None:
        self.machine, self.t, self._parameters = machine, t, parameters
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
        self.start = self.look()["values"].T
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

    def look(self, s: Floats | None = None, here: Floats | None = None) -> dict[str, Floats]:
        """Return what the program `initial` tells of the configurations (or some of them), one per
        column.
        """
        y = self.y if here is None else self.y[here]
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
        self.approach({name: self.start[:, self.names.index(name)] for name in asked})
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
        begin = {name: self.start[:, self.names.index(name)] for name in targets}
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
        out, index, pinned = self.look(here=here), self.names.index, self._grips()
        values, conditions = out["values"].T, out["conditions"].T
        J = out["by_pose"].reshape(self.columns, -1, len(here)).transpose(2, 1, 0)
        kept = [k for k in range(conditions.shape[1]) if k not in pinned]
        soft = [name for name in self.soft if name not in goal]
        left = [values[:, index(name)] - x[here] for name, x in goal.items()]
        left += [values[:, index(name)] - self.start[here, index(name)] for name in soft]
        rest = np.column_stack([conditions[:, kept], *left])
        asked = [index(name) for name in (*goal, *soft)]
        rows = J[:, [*(len(self.names) + k for k in kept), *asked]]
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
        out, index, count = self.look(), self.names.index, len(self.y)
        rows = out["by_speed"].reshape(self.columns, -1, count).transpose(2, 1, 0)
        b, C = self._demanded()
        fast = {name: x for name, x in asked.items() if name in self.fast}
        soft = [] if at_rest else [index(n) for n in self._settled() if n not in asked]
        wanted = [index(name) for name in fast]
        b = np.column_stack([b, *(x - out["values"][index(n)] for n, x in fast.items())])
        C = np.concatenate([C, rows[:, wanted]], axis=1)
        A = np.concatenate([C, rows[:, soft]], axis=1)
        hard, chosen = b.shape[1], np.ones(A.shape[:2], dtype=bool)
        chosen[:, hard:] = independent(C, rows[:, soft])
        s = _solve(A, np.column_stack([b, np.zeros((count, len(soft)))]), chosen)
        missed = np.abs((C @ s[:, :, None])[:, :, 0] - b).max(axis=1, initial=0.0)
        wrong = missed > 1e-9 * np.maximum(1.0, np.abs(b).max(axis=1, initial=0.0))
        told = {k: self._contradiction(fast, k) for k in np.flatnonzero(wrong).tolist()}
        if at_rest:
            s = np.array([self._calmed(k, A[k, chosen[k]], s[k]) for k in range(count)])
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

    def _settled(self) -> list[str]:
        """Return the speeds that stay zero if they can, in order."""
        model = self.machine.system.model
        spinning = {model.joints[k].name for k in self._spinning}
        firm = [f"{name}_rate" for name in self.joints if name not in spinning]
        loose = [f"{name}_rate" for name in self.joints if name in spinning]
        return [n for n in [*firm, *TURNED[:3], *loose, *TURNED[3:]] if n in self.names]

    def _calmed(self, k: int, A: Floats, s: Floats) -> Floats:
        """Return the inner speeds of a start from rest that keep what the rows A demand of s."""
        machine, n, at = self.machine, len(s), self.machine.layout
        frames = None if self.frames is None else (self.frames[0][:, [k]], self.frames[1][:, [k]])
        q, p = machine.user_pose(self.y[[k], at.q].T, self.y[[k], at.p].T, frames)
        table, program = self.table(machine.free), machine.free
        given = program.inputs.pack(t=[self.t], q=q, p=p, r=self.y[[k], at.r].T)
        M = program.batch(given, None if table is None else table[:, [k]])["M"].reshape(n, n)
        T = machine.user_speeds(np.eye(n), frames)
        return rest_speeds(T.T @ M @ T, A, s)

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
    basis, taken = np.zeros((0, n, cases)), np.zeros((cases, hard.shape[1] + count), dtype=bool)
    for k in range(hard.shape[1] + count):
        wanted = k < hard.shape[1]
        if not wanted and (np.count_nonzero(taken, axis=1) == n).all():
            break
        row = (hard[:, k] if wanted else rows[:, k - hard.shape[1]]).T
        size = np.sqrt((row * row).sum(axis=0))
        left = row / np.where(size > 1e-12, size, np.inf)
        for _ in range(2 if wanted else 1):  # of a hard row a billionth may be left
            left = left - ((basis * left).sum(axis=1)[:, None] * basis).sum(axis=0)
        size = np.sqrt((left * left).sum(axis=0))
        fresh = size > (1e-9 if wanted else 1e-3)
        taken[:, k] = fresh.all() if alike else fresh
        if taken[:, k].any():
            new = np.where(taken[:, k], left / np.where(fresh, size, 1.0), 0.0)
            basis = np.concatenate([basis, new[None]])
    return taken[:, hard.shape[1] :]
