"""Consistent states from what people know: values of outputs, joints and speeds by name.

What is asked for, and what the contacts demand, is satisfied; of the rest as much as possible stays
as in the drawing and at rest (joints first, then place and heading, then lean, pitch and height).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.lie import rotation
from draisine.algebra.scalar import Floats
from draisine.errors import ConfigurationError, ParameterError, did_you_mean
from draisine.mechanics import constraints
from draisine.mechanics.couplings import loops_turned_over
from draisine.mechanics.energy import rest_speeds
from draisine.mechanics.kinematics import geometry
from draisine.model.names import state_names, variables

if TYPE_CHECKING:
    from draisine.model import Model
    from draisine.system.closed_form import ClosedForm
    from draisine.system.system import System

PLACED = ("x", "y", "yaw", "lean", "pitch", "z")
TURNED = ("Wx", "Wy", "Wz", "Vx", "Vy", "Vz")


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Where a machine is and how it moves: pose (unit quaternion q, position p of the drawing's
    origin), shape r, speeds v.
    """

    q: Floats
    p: Floats
    r: Floats
    v: Floats
    joints: tuple[str, ...] = ()
    speeds: tuple[str, ...] = ()

    def _named(self) -> dict[str, dict[str, float]]:
        """Return all numbers by name: pose, shape, twist, rates of the joints."""
        joints = self.joints or [f"r[{k}]" for k in range(len(self.r))]
        speeds = self.speeds or [f"v[{k}]" for k in range(len(self.v))]
        first = 6 if len(self.v) == 6 + len(self.r) else len(self.v) - len(self.r)
        return {
            "pose": dict(zip("xyz", self.p, strict=True)) | angles_of(self.q),
            "shape": dict(zip(joints, self.r, strict=True)),
            "twist": dict(zip(speeds[:first], self.v[:first], strict=True)),
            "rates": dict(zip(speeds[first:], self.v[first:], strict=True)),
        }

    def __repr__(self) -> str:
        parts = [part for part in self._named().values() if part]
        lines = [", ".join(f"{n}={_short(x)}" for n, x in part.items()) for part in parts]
        return f"State({(',' + chr(10) + '      ').join(lines)})"

    def _repr_html_(self) -> str:
        rows = [
            f"<tr><th>{title}</th>"
            + "".join(f"<td>{escape(n)}<br>{_short(x)}</td>" for n, x in part.items())
            + "</tr>"
            for title, part in self._named().items()
            if part
        ]
        return f"<table>{''.join(rows)}</table>"


def angles_of(q: Floats) -> dict[str, float]:
    """Return yaw, lean and pitch of a unit quaternion, R = Rz(yaw) Rx(lean) Ry(pitch).

    >>> angles_of(np.array([1.0, 0.0, 0.0, 0.0]))
    {'yaw': 0.0, 'lean': 0.0, 'pitch': 0.0}
    """
    R = np.asarray(rotation(q), float)
    return {
        "yaw": float(np.arctan2(-R[0, 1], R[1, 1])) + 0.0,
        "lean": float(np.arcsin(np.clip(R[2, 1], -1.0, 1.0))) + 0.0,
        "pitch": float(np.arctan2(-R[2, 0], R[2, 2])) + 0.0,
    }


def _short(x: float) -> str:
    return f"{x + 0.0 if abs(x) > 1e-12 else 0.0:.4g}"


def state(
    system: "System",
    *,
    mode: Mapping[str, str] | None = None,
    t: float = 0.0,
    at_rest: bool | None = None,
    **asked: float | str,
) -> State:
    """Return the state in which everything asked for is so: outputs, joints, speeds by name, in SI
    units and radians, or angles as "10deg".

    `at_rest` takes, of all speeds that keep the contacts and the rates that are asked for or
    prescribed, those of least kinetic energy: the machine has no momentum along what the contacts
    leave free, as if its joints had just begun to move, eq. [rest]. It is the default where no
    contact guides a machine with prescribed joints and no speed is asked for. A machine on tyres starts
    without slip where what is asked for allows that, and where no `mode` is given.

    >>> from draisine.system.system import compile
    >>> bicycle = compile("whipple")
    >>> state(bicycle, lean="10deg", steer=0.1, forward_speed=5.0)
    State(x=0, y=0, z=2.285e-07, yaw=0, lean=0.1745, pitch=-0.001244,
          steer=0.1, rear_wheel=0, front_wheel=0,
          Vx=4.975, Vy=0.0001736, Vz=-0.006219, Wx=0, Wy=0.08206, Wz=0.4654,
          steer_rate=0, rear_wheel_rate=16.58, front_wheel_rate=14.29)
    """
    numbers = {name: _number(name, value, system.model) for name, value in asked.items()}
    tyred = {wheel.name: "rolling" for wheel in system.model.wheels if wheel.tyre is not None}
    if tyred and mode is None:
        try:
            return consistent_state(system.machine(tyred), numbers, t, at_rest)
        except ConfigurationError:
            pass  # it is asked to slip
    return consistent_state(system.machine(mode), numbers, t, at_rest)


def _number(name: str, value: Any, model: "Model") -> float:
    """Return a number that may be written as text."""
    if not isinstance(value, str):
        try:
            return float(value)
        except (OverflowError, TypeError, ValueError):
            text = f"initial state: {name:.80} = {value!r:.80} is not a number."
            raise ParameterError(text) from None
    from draisine.model.quantity import number

    known = variables(model)
    try:
        return number(value, known[name].unit if name in known else None)
    except ValueError as error:
        raise ParameterError(f"initial state: {name} = {error}.") from None


def consistent_state(
    machine: "ClosedForm", asked: Mapping[str, float], t: float = 0.0, at_rest: bool | None = None
) -> State:
    """Return the state in which everything asked for is so, by Newton's method for the pose, then
    linearly for the speeds.

    Angles far from the drawing are approached in steps. What cannot be is a `ConfigurationError`.
    """
    names = state_names(machine.system.model)
    for name, value in asked.items():
        if name not in names:
            raise ParameterError(
                f"initial state: nothing is called {name!r}. {did_you_mean(name, names)}"
            )
        if not np.isfinite(value):
            raise ParameterError(f"initial state: {name} = {value} is not a finite number.")
    pose, model = Configuration(machine, 1, t), machine.system.model
    targets = {name: np.array([float(v)]) for name, v in asked.items() if name not in pose.fast}
    drawn = pose.closed_drawing(targets) if model.loops else pose.r
    pose.reach(targets)
    for loop in loops_turned_over(machine.system.tree, drawn, pose.r, targets):
        raise ConfigurationError(
            f"loop {loop!r} would close on the other branch: a dead point lies between the drawing and "
            "what is asked for. Ask for less, or draw the machine on that branch."
        )
    if at_rest is None:
        at_rest = _swims(machine) and not any(name in pose.fast for name in asked)
    s = pose.speeds(asked, at_rest)
    q, p = machine.user_pose(pose.q, pose.p)
    flat = _flat_wheel(machine, q, pose.r)
    if flat is not None:
        raise ConfigurationError(f"the wheel {flat!r} would lie flat. Ask for less lean.")
    labels = (tuple(joint.name for joint in model.joints), tuple(model.speeds))
    return State(q if q[0] >= 0 else -q, p, pose.r, _user_speeds(machine, s), *labels)


def _swims(machine: "ClosedForm") -> bool:
    """Return whether prescribed joints alone move a machine that no contact guides."""
    model = machine.system.model
    touching = any(
        c.rows[status] for c, (_, status) in zip(model.contacts, machine.mode, strict=True)
    )
    return not touching and bool(constraints.prescribed_joints(model))


def _flat_wheel(machine: "ClosedForm", q: Floats, r: Floats) -> str | None:
    """Return a closed wheel whose axle is along the ground's normal, if there is one."""
    tree = machine.system.tree
    geo = geometry(tree, r)
    world = constraints.ground(tree, geo, rotation(q))
    for contact, (name, status) in zip(tree.model.contacts, machine.mode, strict=True):
        surface = contact.surface.turned(tree.axes(contact.body))
        up = world.up[tree.place[contact.body][0]]
        if status != "open" and surface.slope(up) < 4e-5:
            return name
    return None


def configurations(
    machine: "ClosedForm", asked: Mapping[str, Floats], parameters: Floats | None = None
) -> Floats:
    """Return configurations at rest as y (N, entries), each as near to the drawing as closed contacts
    and the N values asked of each name allow; `parameters` (N, parameters) gives each its own.
    """
    pose = Configuration(machine, len(next(iter(asked.values()))), parameters=parameters)
    for name in asked:
        if name not in pose.names or name in pose.fast:
            known = [known for known in pose.names if known not in pose.fast]
            raise ParameterError(f"no coordinate {name!r}. {did_you_mean(name, known)}")
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
    is asked of them; q, p, r and speeds are those of the first.
    """

    def __init__(
        self,
        machine: "ClosedForm",
        count: int = 1,
        t: float = 0.0,
        parameters: Floats | None = None,
    ) -> None:
        self.machine, self.t = machine, t
        self._table = None if parameters is None else machine.initial.tables(parameters.T)
        model = machine.system.model
        self.names, self.columns = state_names(model), len(machine.columns)
        q, p = machine.inner_pose(np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3))
        r = [joint.motion(t)[0] if joint.motion else 0.0 for joint in model.joints]
        self.y = np.tile(machine.layout.pack(q=q, p=p, r=r), (count, 1))
        links = machine.system.tree.links
        self._spinning = {rotor.joint for link in links for rotor in link.rotors}
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

    def look(self, s: Floats | None = None) -> dict[str, Floats]:
        """Return what the program `initial` tells of the configurations, one per column."""
        parts, count = self.machine.layout.split(self.y.T), len(self.y)
        given = {name: parts[name] for name in "qpr"} | {"t": np.full((1, count), self.t)}
        if s is not None:
            given["s"] = np.repeat(s[:, None], count, axis=1)
        program = self.machine.initial
        if program.inputs.count("anchors") and self.machine.system.model.ground is None:
            found = program.batch(program.inputs.pack(**given), self._table)
            given["anchors"] = self._pinned(found["conditions"])
        return program.batch(program.inputs.pack(**given), self._table)

    def _pinned(self, conditions: Floats) -> Floats:
        """Return anchors where the pins are: grips hold wherever the machine is put."""
        model, mode = self.machine.system.model, self.machine.mode
        rows = constraints.holonomic_rows(mode, model)
        pins = [k for k, c in enumerate(model.contacts) if hasattr(c, "axes")]
        anchors = np.zeros((3 * len(pins), len(self.y)))
        for value, (k, name) in zip(conditions, rows, strict=False):
            if k in pins:
                anchors[3 * pins.index(k) + "xyz".index(name)] = value
        return anchors

    def by_speed(self) -> Floats:
        """Return d values / d speeds of the first."""
        rng = np.random.default_rng(1)
        out = self.look(rng.normal(size=self.columns))
        return out["by_speed"][:, 0].reshape(self.columns, -1).T

    def closed_drawing(self, asked: Iterable[str]) -> Floats:
        """Return the shape of the drawing with its loops closed, the coordinates that something is
        asked of as they are drawn.
        """
        self.reach({name: self.start[:, self.names.index(name)] for name in asked})
        return self.r.copy()

    def reach(self, targets: Mapping[str, Floats]) -> None:
        """Bring the configurations from the drawing to the targets; angles that are far are
        approached in steps.
        """
        model = self.machine.system.model
        far = {"x", "y", "z", "yaw", *(model.joints[k].name for k in self._spinning)}
        turned = [np.abs(x).max() for name, x in targets.items() if name not in far]
        steps = min(200, max(1, int(np.ceil(max(turned, default=0.0) / 0.1))))
        begin = {name: self.start[:, self.names.index(name)] for name in targets}
        for k in range(1, steps + 1):
            goal = {name: x0 + k / steps * (targets[name] - x0) for name, x0 in begin.items()}
            worst = self._settle(goal, 1e-15 if k == steps else 1e-3)
        if not worst < 1e-11:
            wanted = ", ".join(f"{n} = {_span(x)}" for n, x in targets.items())
            raise ConfigurationError(
                f"no configuration has {wanted or 'closed contacts'} with the contacts "
                f"{dict(self.machine.mode)}: an error of {worst:.3g} remains. Ask for less, or open a "
                "contact."
            )

    def _settle(self, goal: Mapping[str, Floats], precision: float) -> float:
        """Bring the configurations to a goal by Newton's method; return the largest error that is
        left of what must hold.
        """
        turning = [
            i for i, k in enumerate(self.machine.columns) if k >= 3 and k - 6 not in self._spinning
        ]
        size = np.inf
        for _ in range(60):
            rest, rows, hard = self._equations(goal)
            error = float(np.abs(rest[:, :hard]).max(initial=0.0))
            if not np.isfinite(rest).all():
                break
            step = -_solve(rows, rest)
            last, size = size, float(np.abs(step).max(initial=0.0))
            if min(size, float(np.abs(rest).max(initial=0.0))) < precision:
                break
            if size < 1e-11 and size >= 0.5 * last:
                break
            turn = np.abs(step[:, turning]).max(axis=1, initial=0.3)
            self.y = displace(self.machine, self.y, step * (0.3 / turn)[:, None])
        return error

    def _equations(self, goal: Mapping[str, Floats]) -> tuple[Floats, Floats, int]:
        """Return what is left (N, equations) of those that must hold (closed contacts, the goal) and
        of as many as can hold beside them (all else stays as it started), their derivatives (N,
        equations, n), and how many must.
        """
        out, index, pinned = self.look(), self.names.index, self._grips()
        values, conditions = out["values"].T, out["conditions"].T
        J = out["by_pose"].reshape(self.columns, -1, len(self.y)).transpose(2, 1, 0)
        kept = [k for k in range(conditions.shape[1]) if k not in pinned]
        soft = [name for name in self.soft if name not in goal]
        left = [values[:, index(name)] - x for name, x in goal.items()]
        left += [values[:, index(name)] - self.start[:, index(name)] for name in soft]
        rest = np.column_stack([conditions[:, kept], *left])
        asked = [index(name) for name in (*goal, *soft)]
        rows = J[:, [*(len(self.names) + k for k in kept), *asked]]
        if "yaw" in (*goal, *soft):
            at = len(kept) + (*goal, *soft).index("yaw")
            rest[:, at] = (rest[:, at] + np.pi) % (2 * np.pi) - np.pi
        hard = len(kept) + len(goal)
        chosen = [*range(hard), *(hard + k for k in independent(rows[:, :hard], rows[:, hard:]))]
        return rest[:, chosen], rows[:, chosen], hard

    def directions(self, names: Sequence[str]) -> Floats:
        """Return displacements (names, n) of the first configuration that keep the contacts closed and
        change one of some coordinates each by one, all else as little as can be.
        """
        here = self.look()["values"]
        _, rows, hard = self._equations({name: here[self.names.index(name)] for name in names})
        units = np.zeros((len(names), rows.shape[1]))
        units[:, hard - len(names) : hard] = np.eye(len(names))
        return _solve(np.repeat(rows[:1], len(names), axis=0), units)

    def values(self) -> dict[str, float]:
        """Return all that is known of the first configuration at rest, by name."""
        return dict(zip(self.names, map(float, self.look()["values"][:, 0]), strict=True))

    def speeds(self, asked: Mapping[str, float], at_rest: bool = False) -> Floats:
        """Return the inner speeds (V at the base's origin, free ones only) in which all that is
        asked of speeds is so; of the rest as many as possible are zero, or the kinetic energy is
        least.
        """
        out, index = self.look(), self.names.index
        rows = out["by_speed"][:, 0].reshape(self.columns, -1).T
        b, C = self._demanded()
        fast = {name: value for name, value in asked.items() if name in self.fast}
        b = np.array([*b, *(value - out["values"][index(n), 0] for n, value in fast.items())])
        C = np.vstack([C, *(rows[index(name)] for name in fast)])
        soft = [] if at_rest else [index(n) for n in self._settled() if n not in asked]
        kept = independent(C[None], rows[None, soft]) if soft else []
        A = np.vstack([C, rows[[soft[k] for k in kept]]])
        residual = np.concatenate([b, np.zeros(len(kept))])
        s = _solve(A[None], residual[None])[0] if len(A) else np.zeros(self.columns)
        wrong = np.abs(C @ s - b).max(initial=0.0)
        if wrong > 1e-9 * max(1.0, float(np.abs(residual).max(initial=0.0))):
            wanted = ", ".join(f"{n} = {asked[n]:.6g}" for n in asked if n in self.fast)
            raise ConfigurationError(
                f"no speeds have {wanted or 'the prescribed rates'} with the contacts "
                f"{dict(self.machine.mode)}; they contradict each other.{self._advice()}"
            )
        return self._calmed(A, s) if at_rest else s

    def _demanded(self) -> tuple[Floats, Floats]:
        """Return b and C of the rows `C s = b` of contacts and prescribed joints."""
        machine = self.machine
        found = machine.rows(t=[self.t], q=self.q, p=self.p, r=self.r)
        C = found["C"].reshape(-1, 6 + len(machine.system.model.joints)).copy()
        C[:, 3:6] += np.cross(found["ref"], C[:, :3])
        return found["b"], C[:, machine.columns]

    def _settled(self) -> list[str]:
        """Return the speeds that stay zero if they can, in order."""
        model = self.machine.system.model
        spinning = {model.joints[k].name for k in self._spinning}
        firm = [f"{name}_rate" for name in self.joints if name not in spinning]
        loose = [f"{name}_rate" for name in self.joints if name in spinning]
        return [n for n in [*firm, *TURNED[:3], *loose, *TURNED[3:]] if n in self.names]

    def _calmed(self, A: Floats, s: Floats) -> Floats:
        """Return the inner speeds of a start from rest that keep what the rows A demand of s."""
        machine, n = self.machine, len(s)
        q, p = machine.user_pose(self.q, self.p)
        M = machine.free(t=[self.t], q=q, p=p, r=self.r)["M"].reshape(n, n)
        T = np.column_stack([_user_speeds(machine, e) for e in np.eye(n)])
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


def _solve(A: Floats, b: Floats) -> Floats:
    """Return the solutions x (N, n) of `A x = b`, of least squares where A is not square and regular.

    Elimination leaves what is zero by symmetry exactly zero; orthogonal transformations do not.
    """
    if A.shape[1] == A.shape[2]:
        try:
            x = np.linalg.solve(A, b[:, :, None])[:, :, 0]
            wrong = np.abs(np.einsum("nij,nj->ni", A, x) - b).max(initial=0.0)
            if wrong <= 1e-12 * max(1.0, np.abs(b).max(initial=0.0)):
                return x
        except np.linalg.LinAlgError:
            pass
    return np.array([np.linalg.lstsq(A1, b1, rcond=None)[0] for A1, b1 in zip(A, b, strict=True)])


def _span(x: Floats) -> str:
    """Return some numbers as the text of their least and largest."""
    low, high = float(np.min(x)), float(np.max(x))
    return f"{low:.6g}" if low == high else f"{low:.6g} to {high:.6g}"


def independent(hard: Floats, rows: Floats) -> list[int]:
    """Return which rows (N, rows, n) are, in all of N cases, independent of the hard ones and of those
    kept before.
    """
    cases, _, n = rows.shape
    basis, kept = np.zeros((cases, 0, n)), []
    for k in range(hard.shape[1] + rows.shape[1]):
        wanted = k < hard.shape[1]
        if basis.shape[1] == n and not wanted:
            break
        row = hard[:, k] if wanted else rows[:, k - hard.shape[1]]
        size = np.linalg.norm(row, axis=1, keepdims=True)
        left = row / np.where(size > 1e-12, size, np.inf)
        for _ in range(2):
            left = left - ((basis @ left[:, :, None]).transpose(0, 2, 1) @ basis)[:, 0]
        size = np.linalg.norm(left, axis=1, keepdims=True)
        if size.min() > (1e-9 if wanted else 1e-3):
            basis = np.concatenate([basis, (left / size)[:, None]], axis=1)
            if not wanted:
                kept.append(k - hard.shape[1])
    return kept


def _user_speeds(machine: "ClosedForm", s: Floats) -> Floats:
    """Return v for inner speeds with V at the inner base origin."""
    A, o = machine.frame
    whole = np.zeros(6 + len(machine.system.model.joints))
    whole[machine.columns] = s
    W = A @ whole[3:6]
    whole[:3] = A @ whole[:3] - np.cross(W, o)
    whole[3:6] = W
    return whole[machine.columns]
