"""Consistent states from what people know: values of outputs, joints and speeds by name.

What is asked for, and what the contacts demand, is satisfied; of the rest as much as possible stays
as in the drawing and at rest (joints first, then place and heading, then lean, pitch and height).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from draisine.algebra.lie import quaternion_rate, rotation
from draisine.algebra.scalar import Floats
from draisine.errors import ConfigurationError, ParameterError, did_you_mean
from draisine.mechanics import constraints
from draisine.mechanics.couplings import loops_turned_over
from draisine.mechanics.kinematics import geometry
from draisine.mechanics.tree import assemble
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

    def __repr__(self) -> str:
        joints = self.joints or [f"r[{k}]" for k in range(len(self.r))]
        speeds = self.speeds or [f"v[{k}]" for k in range(len(self.v))]
        place = dict(zip("xyz", self.p, strict=True)) | angles_of(self.q)
        first = 6 if len(self.v) == 6 + len(self.r) else len(self.v) - len(self.r)
        twist = dict(zip(speeds[:first], self.v[:first], strict=True))
        rates = dict(zip(speeds[first:], self.v[first:], strict=True))
        parts = [place, dict(zip(joints, self.r, strict=True)), twist, rates]
        lines = [", ".join(f"{n}={_short(x)}" for n, x in part.items()) for part in parts if part]
        return f"State({(',' + chr(10) + '      ').join(lines)})"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


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
    contact guides a machine with prescribed joints and no speed is asked for.

    >>> from draisine.system.system import compile
    >>> bicycle = compile("whipple")
    >>> state(bicycle, lean="10deg", steer=0.1, forward_speed=5.0)
    State(x=0, y=0, z=2.285e-07, yaw=0, lean=0.1745, pitch=-0.001244,
          steer=0.1, rear_wheel=0, front_wheel=0,
          Vx=4.975, Vy=0.0001736, Vz=-0.006219, Wx=0, Wy=0.08206, Wz=0.4654,
          steer_rate=0, rear_wheel_rate=16.58, front_wheel_rate=14.29)
    """
    numbers = {name: _number(name, value, system.model) for name, value in asked.items()}
    return consistent_state(system.machine(mode), numbers, t, at_rest)


def _number(name: str, value: Any, model: "Model") -> float:
    """Return a number that may be written as text."""
    if not isinstance(value, str):
        return cast(float, value)
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
    pose = Configuration(machine, t)
    pose.targets = {name: float(v) for name, v in asked.items() if name not in pose.fast}
    turned = [abs(v) for name, v in pose.targets.items() if name not in pose.far]
    steps = max(1, int(np.ceil(max(turned, default=0.0) / 0.1)))
    model = machine.system.model
    drawn = pose.closed_drawing() if model.loops else pose.r
    for k in range(1, min(steps, 200) + 1):
        pose.approach(k / min(steps, 200))
    for loop in loops_turned_over(assemble(model), drawn, pose.r, pose.targets):
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
    tree = assemble(machine.system.model)
    geo = geometry(tree, r)
    world = constraints.ground(tree, geo, rotation(q))
    for contact, (name, status) in zip(tree.model.contacts, machine.mode, strict=True):
        surface = contact.surface.turned(tree.axes(contact.body))
        up = world.up[tree.place[contact.body][0]]
        if status != "open" and surface.slope(up) < 4e-5:
            return name
    return None


class Configuration:
    """A configuration of a machine (inner pose q, p and shape r), on its way to what is asked of it."""

    def __init__(self, machine: "ClosedForm", t: float = 0.0) -> None:
        self.machine, self.t = machine, t
        model = machine.system.model
        self.names = state_names(model)
        self.columns = len(machine.columns)
        self.q, self.p = machine.inner_pose(np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3))
        self.r = np.array(
            [joint.motion(t)[0] if joint.motion else 0.0 for joint in model.joints], float
        )
        tree = assemble(model)
        spinning = {rotor.joint for link in tree.links for rotor in link.rotors}
        order = sorted(range(len(model.joints)), key=lambda k: k in spinning)
        self.joints = [model.joints[k].name for k in order]
        self.soft = [*self.joints, *PLACED]
        self.far = {"x", "y", "z", "yaw", *(model.joints[k].name for k in spinning)}
        self._turning = [
            i for i, k in enumerate(machine.columns) if k >= 3 and k - 6 not in spinning
        ]
        self.start = dict(zip(self.names, self.look()["values"], strict=True))
        moving = self.by_speed()
        self.fast = {name for name, row in zip(self.names, moving, strict=True) if np.any(row)}
        self.targets: dict[str, float] = {}

    def look(self, s: Floats | None = None) -> dict[str, Floats]:
        """Return what the program `initial` tells of the present configuration."""
        speeds = np.zeros(self.columns) if s is None else s
        anchors = np.zeros(self.machine.initial.inputs.count("anchors"))
        if len(anchors) and self.machine.system.model.ground is None:
            first = self.machine.initial(t=[self.t], q=self.q, p=self.p, r=self.r, s=speeds)
            anchors = self._pinned(first)
        return self.machine.initial(
            t=[self.t], q=self.q, p=self.p, r=self.r, s=speeds, anchors=anchors
        )

    def _pinned(self, out: dict[str, Floats]) -> Floats:
        """Return anchors where the pins are: grips hold wherever the machine is put."""
        model, mode = self.machine.system.model, self.machine.mode
        rows = constraints.holonomic_rows(mode, model)
        pins = [k for k, c in enumerate(model.contacts) if hasattr(c, "axes")]
        anchors = np.zeros(3 * len(pins))
        for value, (k, name) in zip(out["conditions"], rows, strict=False):
            if k in pins:
                anchors[3 * pins.index(k) + "xyz".index(name)] = value
        return anchors

    def by_speed(self) -> Floats:
        """Return d values / d speeds."""
        rng = np.random.default_rng(1)
        out = self.look(rng.normal(size=self.columns))
        return out["by_speed"].reshape(self.columns, -1).T

    def closed_drawing(self) -> Floats:
        """Return the shape of the drawing with its loops closed."""
        self.approach(0.0)
        return self.r.copy()

    def approach(self, part: float) -> None:
        """Bring the configuration to the given part of the way from the drawing to the targets."""
        goal = {
            name: self.start[name] + part * (v - self.start[name])
            for name, v in self.targets.items()
        }
        for _ in range(60):
            hard, soft = self._equations(goal)
            rows, residual = _independent(hard, soft, self.columns)
            step = np.zeros(self.columns)
            if len(rows):
                step = -np.linalg.lstsq(rows, residual, rcond=None)[0]
            if min(_largest(step), _largest(residual)) < 1e-15:
                break
            turn = np.abs(step[self._turning]).max(initial=0.0)
            self._move(step * min(1.0, 0.3 / max(turn, 1e-300)))
        worst = _largest(np.array([x for x, _ in self._equations(goal)[0]]))
        if not worst < 1e-11:
            wanted = ", ".join(f"{n} = {x:.6g}" for n, x in self.targets.items())
            raise ConfigurationError(
                f"no configuration has {wanted or 'closed contacts'} with the contacts "
                f"{dict(self.machine.mode)}: an error of {worst:.3g} remains. Ask for less, or open a "
                "contact."
            )

    def _equations(
        self, goal: Mapping[str, float]
    ) -> tuple[list[tuple[float, Floats]], list[tuple[float, Floats]]]:
        """Return what is left of the equations that must hold (closed contacts, the goal) and of
        those that may (all else stays as it started), each with its derivatives.
        """
        out, index = self.look(), self.names.index
        jacobian = out["by_pose"].reshape(self.columns, -1).T
        pinned = self._grips()
        conditions = zip(out["conditions"], jacobian[len(self.names) :], strict=True)
        hard = [equation for k, equation in enumerate(conditions) if k not in pinned]

        def reach(name: str, value: float) -> tuple[float, Floats]:
            k = index(name)
            return _wrap(name, out["values"][k] - value), jacobian[k]

        hard += [reach(name, x) for name, x in goal.items()]
        return hard, [reach(name, self.start[name]) for name in self.soft if name not in goal]

    def values(self) -> dict[str, float]:
        """Return all that is known of the configuration at rest, by name."""
        return dict(zip(self.names, map(float, self.look()["values"]), strict=True))

    def speeds(self, asked: Mapping[str, float], at_rest: bool = False) -> Floats:
        """Return the inner speeds (V at the base's origin, free ones only) in which all that is
        asked of speeds is so; of the rest as many as possible are zero, or the kinetic energy is
        least.
        """
        out, names, columns = self.look(), self.names, self.columns
        rows = out["by_speed"].reshape(columns, -1).T
        hard = self._demanded()
        for name, value in asked.items():
            if name in self.fast:
                k = names.index(name)
                hard.append((float(out["values"][k]) - value, rows[k]))
        soft = [(0.0, rows[names.index(n)]) for n in self._settled() if n not in asked]
        A, residual = _independent(hard, [] if at_rest else soft, columns)
        s = -_solved(A, residual) if len(A) else np.zeros(columns)
        wrong = np.abs(A[: len(hard)] @ s + residual[: len(hard)]).max(initial=0.0)
        if wrong > 1e-9 * max(1.0, float(np.abs(residual).max(initial=0.0))):
            wanted = ", ".join(f"{n} = {asked[n]:.6g}" for n in asked if n in self.fast)
            raise ConfigurationError(
                f"no speeds have {wanted or 'the prescribed rates'} with the contacts "
                f"{dict(self.machine.mode)}; they contradict each other.{self._advice()}"
            )
        return self._calmed(A, s) if at_rest else s

    def _demanded(self) -> list[tuple[float, Floats]]:
        """Return the rows `C s = b` of contacts and prescribed joints, as (-b, row)."""
        machine = self.machine
        found = machine.rows(t=[self.t], q=self.q, p=self.p, r=self.r)
        C = found["C"].reshape(-1, 6 + len(machine.system.model.joints)).copy()
        C[:, 3:6] += np.cross(found["ref"], C[:, :3])
        return [(-b, row) for b, row in zip(found["b"], C[:, machine.columns], strict=True)]

    def _settled(self) -> list[str]:
        """Return the speeds that stay zero if they can, in order."""
        model = self.machine.system.model
        links = assemble(model).links
        spinning = {model.joints[rotor.joint].name for link in links for rotor in link.rotors}
        firm = [f"{name}_rate" for name in self.joints if name not in spinning]
        loose = [f"{name}_rate" for name in self.joints if name in spinning]
        return [n for n in [*firm, *TURNED[:3], *loose, *TURNED[3:]] if n in self.names]

    def _calmed(self, A: Floats, s: Floats) -> Floats:
        """Return the speeds of least kinetic energy that differ from s by what the rows A leave
        free, eq. [rest].
        """
        machine, n = self.machine, len(s)
        q, p = machine.user_pose(self.q, self.p)
        M = machine.free(t=[self.t], q=q, p=p, r=self.r)["M"].reshape(n, n)
        T = np.column_stack([_user_speeds(machine, e) for e in np.eye(n)])
        M = T.T @ M @ T
        _, sizes, directions = np.linalg.svd(A)
        Z = directions[np.count_nonzero(sizes > 1e-9 * sizes.max(initial=0.0)) :].T
        return s - Z @ np.linalg.lstsq(Z.T @ M @ Z, Z.T @ M @ s, rcond=1e-13)[0]

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

    def _move(self, step: Floats) -> None:
        model = self.machine.system.model
        whole = np.zeros(6 + len(model.joints))
        whole[self.machine.columns] = step
        R = rotation(self.q)
        self.p = self.p + R @ whole[:3]
        q = self.q + quaternion_rate(self.q, whole[3:6])
        self.q = q / np.linalg.norm(q)
        self.r = self.r + whole[6:]


def _solved(A: Floats, b: Floats) -> Floats:
    """Return the solution of A x = b, of least squares where A is not square and regular.

    Elimination leaves what is zero by symmetry exactly zero; orthogonal transformations do not.
    """
    if A.shape[0] == A.shape[1]:
        try:
            x = np.linalg.solve(A, b)
            if np.abs(A @ x - b).max() <= 1e-12 * max(1.0, np.abs(b).max()):
                return x
        except np.linalg.LinAlgError:
            pass
    return np.linalg.lstsq(A, b, rcond=None)[0]


def _largest(x: Floats) -> float:
    """Return the largest size of some numbers; NaN where one is."""
    return float(np.abs(x).max(initial=0.0))


def _wrap(name: str, x: float) -> float:
    """Return a difference of headings without whole turns."""
    return float((x + np.pi) % (2 * np.pi) - np.pi) if name == "yaw" else float(x)


def _independent(
    hard: list[tuple[float, Floats]], soft: list[tuple[float, Floats]], columns: int
) -> tuple[Floats, Floats]:
    """Return all hard equations, and of the soft ones those that are independent of what stands
    before them.
    """
    basis: list[Floats] = []
    rows, residual = [], []
    for k, (x, row) in enumerate([*hard, *soft]):
        size = float(np.linalg.norm(row))
        left = row / size if size > 1e-12 else np.zeros_like(row)
        for _ in range(2):
            for b in basis:
                left = left - (b @ left) * b
        rest = float(np.linalg.norm(left))
        if k >= len(hard) and (rest < 1e-3 or len(basis) == columns):
            continue
        if rest > 1e-9:
            basis.append(left / rest)
        rows.append(row)
        residual.append(x)
    return np.array(rows).reshape(len(rows), columns), np.array(residual)


def _user_speeds(machine: "ClosedForm", s: Floats) -> Floats:
    """Return v for inner speeds with V at the inner base origin."""
    A, o = machine.frame
    whole = np.zeros(6 + len(machine.system.model.joints))
    whole[machine.columns] = s
    W = A @ whole[3:6]
    whole[:3] = A @ whole[:3] - np.cross(W, o)
    whole[3:6] = W
    return whole[machine.columns]
