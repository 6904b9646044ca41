"""From a model to the programs of one mode: mechanics on the one side, code on the other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from draisine.codegen.program import Program, trace_program
from draisine.errors import DraisineError, ModelError, did_you_mean
from draisine.lie import cross, quaternion, quaternion_product, quaternion_rate, rotation
from draisine.mechanics import constraints, energy
from draisine.mechanics.constraints import Mode
from draisine.mechanics.forces import generalised
from draisine.mechanics.formulations import multiplier, projected
from draisine.mechanics.kernel import Pivot, eliminate, solve_symmetric
from draisine.mechanics.kinematics import velocities
from draisine.mechanics.newton_euler import mass_matrix
from draisine.mechanics.tree import assemble
from draisine.mechanics.view import View
from draisine.model import Model, Pin
from draisine.scalar import Array, Scalar, array, is_zero, norm
from draisine.trace import Expr, Graph, evaluate, tangent

Law = Callable[[View, Array], tuple[dict[str, Scalar], Sequence[Scalar]]]
"""A control law: from what it sees and its own states z to inputs by name and the rates of z."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What is chosen at the nominal configuration: independent speeds, pivots, the sizes of the
    pivots that the state decides, and the names of the independent speeds.
    """

    independent: list[int]
    pivots: list[Pivot]
    sizes: list[float]
    names: list[str]


class UntraceableLawError(DraisineError, TypeError):
    """A control law that does something only numbers can do."""


def base_rotation(model: Model, q: Array) -> Array:
    """Return the base's rotation, with the zeros that its group implies."""
    if model.base == "SE(2)":
        c, s = 1.0 - 2 * q[3] * q[3], 2 * q[0] * q[3]
        return array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    if model.base in ("translations", "fixed"):
        return np.eye(3)
    return rotation(q)


def output_names(model: Model) -> list[str]:
    """Return the names of all outputs: the base's angles, then the model's own."""
    return ["yaw", "lean", "pitch"] + [o.name for o in model.outputs]


def state_names(model: Model) -> list[str]:
    """Return the names of all that an initial state can be asked for, in the order of the program
    `initial`.
    """
    own = [o.name for o in model.outputs]
    placed = ["yaw", "lean", "pitch", "x", "y", "z", *(j.name for j in model.joints), *own]
    rates = [f"{name}_rate" for name in ["yaw", "lean", "pitch", *own]]
    return [*placed, *rates, *model.speeds]


def seen_names(model: Model) -> list[str]:
    """Return the names of what the program `variation` sees of a state, in its order."""
    placed, joints = ["yaw", "lean", "pitch", "x", "y", "z"], [j.name for j in model.joints]
    own = [o.name for o in model.outputs]
    return [*placed, *joints, *own, *(f"{name}_rate" for name in placed), *model.speeds]


def paced_names(model: Model) -> list[str]:
    """Return the names of the speeds whose rates the program `variation` gives, in its order."""
    return ["yaw_rate", "lean_rate", "pitch_rate", *model.speeds]


def angle_rates(N: Array, left: Array, W: Array, Wdot: Array) -> tuple[list[Scalar], list[Scalar]]:
    """Return first and second rates of yaw, lean and pitch, from the vertical N, the base's axis to
    the left, and the angular velocity, all in the base's axes, eq. [angle-rates].

    `W = yaw_rate N + lean_rate ahead + pitch_rate left`; N and left make an angle whose sine is
    that of the lean.
    """
    s, across = N @ left, cross(left, N)
    c = norm(across)
    ahead = across / c

    def split(up: Scalar, aside: Scalar) -> tuple[Scalar, Scalar]:
        return (up - s * aside) / (c * c), (aside - s * up) / (c * c)

    lean = W @ ahead
    yaw, pitch = split(W @ N, W @ left)
    yaw2, pitch2 = split(Wdot @ N - c * (pitch * lean), Wdot @ left - c * (yaw * lean))
    return [yaw, lean, pitch], [yaw2, Wdot @ ahead + c * (yaw * pitch), pitch2]


class Derivation:
    """One mode of one model, traced as far as its programs need.

    `rate`: right-hand side of y = (q, p, r, u, z), the pose being that of the inner base frame.
    `observe`: everything a user may ask of a state. `project`: the nearest configuration that keeps
    the contacts closed. `rows`: constraint rows and gaps. `enter`: y for a user's state, and what it
    breaks. `initial`: what can be asked of a state, with derivatives. `frame`: the inner base frame
    in the drawing. `free`: the saddle-point system of any mode. `variation`: the balance of forces,
    with derivatives along a seed.
    """

    def __init__(
        self,
        graph: Graph,
        model: Model,
        parameters: dict[str, Expr],
        nominal: dict[str, float],
        mode: Mode,
        law: Law | None = None,
        states: int = 0,
        configuration: dict[str, float] | None = None,
        correction: float | None = None,
    ) -> None:
        self.graph, self.model, self.mode = graph, model, mode
        self.parameters, self.law, self.correction = parameters, law, correction
        pins = sum(isinstance(c, Pin) for c in model.contacts)
        sizes = {"t": 1, "q": 4, "p": 3, "r": len(model.joints), "u": 0, "z": states}
        sizes |= {"w": len(model.inputs), "anchors": 3 * pins}
        self.symbols = {
            name: array([graph.symbol(f"{name}[{k}]") for k in range(size)]) if size else array([])
            for name, size in sizes.items()
        }
        self.point = dict(nominal) | {f"q[{k}]": float(k == 0) for k in range(4)}
        self.point |= {f"{name}[{k}]": 0.0 for name in ("t", "p", "r") for k in range(sizes[name])}
        self.tree = assemble(model, aligned=model.base == "SE(3)", evaluate=self.evaluate)
        drawn = quaternion(self.evaluate(list(self.tree.links[0].R.ravel())).reshape(3, 3))
        self.point |= {f"q[{k}]": float(x) for k, x in enumerate(drawn)}  # the drawing's pose
        self.point |= configuration or {}

    def evaluate(self, values: Sequence[Scalar]) -> Any:
        """Return traced values as floats at the nominal configuration and parameters."""
        return evaluate(values, self.point)

    def program(self, name: str) -> Program:
        """Return the program of that name."""
        return {
            "rate": self._rate,
            "observe": self._observe,
            "project": self._project,
            "initial": self._initial,
            "rows": self._rows,
            "enter": self._enter,
            "frame": self._frame,
            "free": self._free,
            "variation": self._variation,
        }[name]()

    @cached_property
    def R(self) -> Array:
        """The base's rotation."""
        return base_rotation(self.model, self.symbols["q"])

    @cached_property
    def found(self) -> projected.Rows:
        """Geometry, contacts and constraint rows."""
        return projected.rows(self.tree, self.mode, self.R, self.symbols["r"], self.symbols["p"])

    @cached_property
    def choice(self) -> Choice:
        """Independent speeds and pivots, chosen by rank at the nominal configuration."""
        columns = projected.free_columns(self.tree)
        found = self.found
        C = constraints.matrix(self.tree, found.geo, found.world, found.active, named=True)
        values = self.evaluate(list(C[:, columns].ravel())).reshape(len(C), len(columns))
        labels = constraints.labels(self.model, self.mode)
        order = self._preference(columns)
        independent = projected.choose_speeds(len(columns), values, labels, order)
        pivots = projected.plan_pivots(self.found, independent, self.evaluate)
        solver = eliminate(projected.system_matrix(self.found, independent), pivots)
        moved = [x for x in solver.pivot if isinstance(x, Expr) and not x.fixed]
        sizes = [float(abs(x)) for x in self.evaluate(moved)]
        return Choice(independent, pivots, sizes, [self.model.speeds[k] for k in independent])

    @cached_property
    def moving(self) -> projected.Motion:
        """All velocities, from the independent speeds."""
        u, t = self._inputs_of_programs["u"], self.symbols["t"][0]
        return projected.motion(self.found, u, t, self.choice.independent, self.choice.pivots)

    @cached_property
    def _inputs_of_programs(self) -> dict[str, Any]:
        """The input arrays of every program of this mode, in order: u is as long as chosen."""
        u = [self.graph.symbol(f"u[{k}]") for k in range(len(self.choice.independent))]
        self.symbols["u"] = array(u)
        return {"parameters": list(self.parameters.values())} | self.symbols

    @cached_property
    def driven(self) -> tuple[Array, Array]:
        """All inputs (given ones plus those of the law) and the rates of the law's states."""
        return self._inputs(self._view())

    @cached_property
    def reduced(self) -> projected.Reduced:
        """The reduced dynamics."""
        found = self.found
        force = generalised(self.tree, found.geo, found.world, self.driven[0], found.ref)
        return projected.dynamics(self.moving, force, self.symbols["t"][0], self.model.gravity)

    def _preference(self, columns: list[int]) -> list[int]:
        """Return the order in which speeds are tried as independent: joints, then angular, then
        linear velocity.
        """
        n = len(self.model.twist)
        turning = [k for k in range(n) if columns[k] >= 3]
        return [*range(n, len(columns)), *turning, *[k for k in range(n) if columns[k] < 3]]

    def _program(self, name: str, outputs: dict[str, Any]) -> Program:
        flat = {key: list(np.asarray(x, dtype=object).ravel()) for key, x in outputs.items()}
        return trace_program(name, self._inputs_of_programs, flat)

    def _view(self) -> View:
        found, moving = self.found, self.moving
        return View(
            self.tree,
            found.geo,
            found.world,
            self.symbols["p"],
            moving.vel,
            moving.speeds,
            found.ref,
            self.symbols["t"][0],
        )

    def _inputs(self, view: View) -> tuple[Array, Array]:
        """Return all inputs (given ones plus those of the law) and the rates of the law's states."""
        total = self.symbols["w"]
        if self.law is None:
            return total, array([0.0] * len(self.symbols["z"]))
        names = list(self.model.inputs)
        try:
            given, rates = self.law(view, self.symbols["z"])
        except (TypeError, AttributeError, ValueError) as error:
            raise UntraceableLawError(str(error)) from error
        extra: list[Scalar] = [0.0] * len(names)
        for name, value in given.items():
            if name not in names:
                raise ModelError(f"law: no input {name!r}. {did_you_mean(name, names)}")
            extra[names.index(name)] = value
        if len(list(rates)) != len(self.symbols["z"]):
            raise ModelError(
                f"law: it returns {len(list(rates))} rates for {len(self.symbols['z'])} states; say "
                "how many it has by an attribute `states`."
            )
        return total + array(extra), array(list(rates))

    def _rate(self) -> Program:
        moving, reduced = self.moving, self.reduced
        speeds = moving.speeds
        if self.correction is not None:
            speeds = speeds + self._stiff(self.correction)
        qdot, pdot = self._reconstruct(self.R, self.symbols["q"], speeds, self.found.ref)
        pivots = [x for x in moving.solver.pivot if isinstance(x, Expr) and not x.fixed]
        rate = [*qdot, *pdot, *speeds[6:], *reduced.udot, *self.driven[1]]
        return self._program("rate", {"rate": rate, "pivots": pivots})

    def _reconstruct(self, R: Array, q: Array, speeds: Array, ref: Array) -> tuple[Array, Array]:
        """Return qdot and pdot, eq. [reconstruction]."""
        V, W = speeds[:3], speeds[3:6]
        qdot = quaternion_rate(q, W)
        if self.model.base == "SE(2)":
            half = W[2] / 2
            qdot = array([-(q[3] * half), 0.0, 0.0, q[0] * half])
        elif self.model.base in ("translations", "fixed"):
            qdot = array([0.0] * 4)
        return qdot, R @ (V - cross(W, ref))

    def _gap_rows(self, found: projected.Rows) -> tuple[list[Scalar], list[Array]]:
        """Return the conditions on the configuration that must stay zero, and their rows.

        A pin in moving ground has none: it holds by its speed alone.
        """
        p, t = found.p, self.symbols["t"][0]
        heights = constraints.gaps(self.tree, found.world, p, found.found)
        values: list[Scalar] = []
        rows: list[Array] = []
        pins = [c for c in self.model.contacts if isinstance(c, Pin)]
        active = {a.contact.name: a for a in found.active}
        for k, name in constraints.holonomic_rows(self.mode, self.model):
            contact = self.model.contacts[k]
            if isinstance(contact, Pin) and self.model.ground is not None:
                continue
            a = active[contact.name]
            axes = constraints.contact_axes(self.tree, found.geo, found.world, contact, a.at)
            rows.append(axes[name] @ a.P)
            if isinstance(contact, Pin):
                axis = "xyz".index(name)
                anchor = self.symbols["anchors"][3 * pins.index(contact) + axis]
                values.append(p[axis] + found.world.R[axis, :] @ a.at.c - anchor)
            else:
                values.append(heights[k])
        for k, joint in enumerate(self.model.joints):
            if joint.law is not None:
                rows.append(np.eye(6 + len(self.model.joints))[6 + k])
                values.append(self.symbols["r"][k] - joint.law(t)[0])
        return values, rows

    def _project(self) -> Program:
        """Return one Newton step of least norm towards closed contacts, and towards a unit
        quaternion, eq. [projection]; the residual tells how far it began from both.
        """
        q, p, r = self._unit(self.symbols["q"]), self.symbols["p"], self.symbols["r"]
        R = base_rotation(self.model, q)
        found = projected.rows(self.tree, self.mode, R, r, p)
        values, rows = self._gap_rows(found)
        if rows:
            columns = projected.free_columns(self.tree)
            J = array([list(row[columns]) for row in rows])
            x = -(J.T @ solve_symmetric(J @ J.T, array(values)))
            step = projected.spread(self.tree, x)
            dq, dp = self._reconstruct(R, q, step, found.ref)
            q, p, r = self._unit(q + dq), p + dp, r + step[6:]
        wheels = [a for a in found.active if a.touch is not None and not is_zero(a.touch.ring)]
        headings = [self._heading(found, a) for a in wheels]  # a ball has none
        length = [self._length(self.symbols["q"]) - 1.0]
        settled = {"q": q, "p": p, "r": r, "residual": values + length, "headings": headings}
        return self._program("project", settled)

    def _heading(self, found: projected.Rows, a: constraints.Active) -> Array:
        """Return where a wheel heads in the ground, before projection; of any length."""
        assert a.touch is not None
        axle = found.geo.R0[a.at.link] @ a.touch.axle
        return (found.world.R @ cross(axle, found.world.up[0]))[:2]

    def _unit(self, q: Array) -> Array:
        """Return q by one Newton step nearer to unit length: near it, the error is squared."""
        return q * (1.5 - 0.5 * self._length(q))

    def _length(self, q: Array) -> Scalar:
        """Return the square of q's length, as far as the base can turn at all."""
        if self.model.base == "SE(2)":
            return q[0] * q[0] + q[3] * q[3]
        return 1.0 if self.model.base in ("translations", "fixed") else q @ q

    def _stiff(self, epsilon: float) -> Array:
        """Return what (2.41) adds to the speeds: contacts after the first are pulled to its height
        ten times as hard.
        """
        values, rows = self._gap_rows(self.found)
        total = array([0.0] * (6 + len(self.model.joints)))
        for k, (value, row) in enumerate(zip(values, rows, strict=True)):
            if k:
                value, row = value - values[0], row - rows[0]
            total = total - row * ((10.0 if k else 1.0) / epsilon * value)
        return total

    def _frame(self) -> Program:
        base = self.tree.links[0]
        return self._program("frame", {"R": base.R, "o": base.o})

    def _rows(self) -> Program:
        found = self.found
        values, _ = self._gap_rows(found)
        b = constraints.velocity_targets(
            self.tree, found.geo, found.world, found.active, found.p, self.symbols["t"][0]
        )
        heights = constraints.gaps(self.tree, found.world, self.symbols["p"], found.found)
        outputs = {"C": found.C, "b": b, "ref": found.ref, "conditions": values, "gaps": heights}
        return self._program("rows", outputs)

    def _enter(self) -> Program:
        """Return y for the user's pose, shape and speeds, all inner speeds, and what they leave of
        the rows `C v = b` and of the conditions on the configuration.

        `turn` is the quaternion of the inner base frame in the drawing.
        """
        tree, base, t, r = self.tree, self.tree.links[0], self.symbols["t"], self.symbols["r"]
        columns = projected.free_columns(tree)
        sizes = {"q": 4, "p": 3, "v": len(columns), "turn": 4}
        user = {
            name: array([self.graph.symbol(f"user {name}[{k}]") for k in range(size)])
            for name, size in sizes.items()
        }
        q = quaternion_product(user["q"], user["turn"])
        R = base_rotation(self.model, q)
        p = user["p"] + R @ (base.R.T @ base.o)
        found = projected.rows(tree, self.mode, R, r, p)
        whole = projected.spread(tree, user["v"])
        W = base.R.T @ whole[3:6]
        V = base.R.T @ (whole[:3] + cross(whole[3:6], base.o)) + cross(W, found.ref)
        speeds = np.concatenate([V, W, whole[6:]])
        b = constraints.velocity_targets(tree, found.geo, found.world, found.active, p, t[0])
        inputs: dict[str, Any] = {"parameters": list(self.parameters.values()), "t": t}
        inputs |= {"q": user["q"], "p": user["p"], "r": r, "v": user["v"], "turn": user["turn"]}
        inputs |= {"anchors": self.symbols["anchors"]}
        outputs: dict[str, Any] = {
            "y": [*q, *p, *r, *speeds[columns][self.choice.independent]],
            "speeds": speeds,
            "broken": found.C @ speeds - b,
            "conditions": self._gap_rows(found)[0],
        }
        return trace_program("enter", inputs, {key: list(x) for key, x in outputs.items()})

    def _initial(self) -> Program:
        """Return all that can be asked of a state, with its derivatives by configuration and by
        speeds.

        The speeds here are all that the base's group leaves free (inner frame, V at the base's
        origin), constrained or not.
        """
        tree, found, R = self.tree, self.found, self.R
        columns = projected.free_columns(tree)
        s = array([self.graph.symbol(f"s[{k}]") for k in range(len(columns))])
        speeds = projected.spread(tree, s)
        zero = np.zeros(3)
        vel = velocities(tree, found.geo, speeds[:3], speeds[3:6], speeds[6:], zero)
        t, p = self.symbols["t"][0], self.symbols["p"]
        view = View(tree, found.geo, found.world, p, vel, speeds, zero, t)
        base = tree.links[0]
        angles = [view.yaw, view.lean, view.pitch]
        places = [*(p - found.world.R @ (base.R.T @ base.o)), *self.symbols["r"]]
        v = projected.user_map(tree, zero) @ speeds
        own = [o.value(view) for o in self.model.outputs]
        values = [*angles, *places, *own]
        along = self._directions(R, speeds)
        rates = tangent([*angles, *own], along)
        values += [*rates, *v[columns]]
        conditions, _ = self._gap_rows(found)
        asked = [*values, *conditions]
        by_pose = [
            tangent(asked, self._directions(R, projected.spread(tree, e))) for e in np.eye(len(s))
        ]
        by_speed = [tangent(values, {f"s[{k}]": 1.0}) for k in range(len(s))]
        inputs: dict[str, Any] = {"parameters": list(self.parameters.values())}
        inputs |= {name: self.symbols[name] for name in ("t", "q", "p", "r", "anchors")} | {"s": s}
        outputs = {"values": values, "conditions": conditions}
        outputs |= {"by_pose": [x for row in by_pose for x in row]}
        outputs |= {"by_speed": [x for row in by_speed for x in row]}
        return trace_program("initial", inputs, outputs)

    def _directions(self, R: Array, speeds: Array) -> dict[str, Any]:
        """Return the rates of the configuration's symbols for speeds (V at the base's origin, W,
        rdot).
        """
        qdot, pdot = self._reconstruct(R, self.symbols["q"], speeds, np.zeros(3))
        rates = {"q": qdot, "p": pdot, "r": speeds[6:]}
        return {f"{name}[{k}]": x for name, xs in rates.items() for k, x in enumerate(xs)}

    def _observe(self) -> Program:
        found, moving, reduced = self.found, self.moving, self.reduced
        tree, world, p = self.tree, found.world, self.symbols["p"]
        base = tree.links[0]
        T = projected.user_map(tree, found.ref)
        moved = projected.map_rate(tree, moving.vel.W[0], moving.refdot)
        v, vdot = T @ moving.speeds, T @ reduced.vdot + moved
        columns = projected.free_columns(tree)
        forces, pushes, torques = self._contact_forces(found, reduced.multipliers)
        linear, angular = energy.momenta(tree, found.geo, moving.vel, world, p)
        view = self._view()
        outputs = [view.yaw, view.lean, view.pitch]
        outputs += [o.value(view) for o in self.model.outputs]
        seed = self._seed()
        return self._program(
            "observe",
            {
                "position": p - world.R @ (base.R.T @ base.o),
                "v": v[columns],
                "vdot": vdot[columns],
                "forces": forces,
                "forces_world": [world.R @ push for push in pushes],
                "forces_base": [base.R @ push for push in pushes],
                "law_torques": torques,
                "points": [p + world.R @ at.c for at, _ in found.found],
                "gaps": constraints.gaps(tree, world, p, found.found),
                "kinetic": [energy.kinetic(tree, moving.vel)],
                "potential": [energy.potential(tree, found.geo, world, p, self.model.gravity)],
                "momentum": linear,
                "angular_momentum": angular,
                "outputs": outputs,
                "output_rates": tangent(outputs, seed),
                "inputs": self.driven[0],
            },
        )

    def _variation(self) -> Program:
        """Return `M udot = f`, all that is seen of a state and how its speeds change, each with its
        derivative along a seed, eq. [variation].

        The seed is a displacement dx of the configuration (like speeds: V at the base's origin, W,
        rdot, in the inner frame), and dt, du, dz, dw.
        """
        tree, s, found, moving = self.tree, self.symbols, self.found, self.moving
        H, columns = moving.H, projected.free_columns(tree)
        M = mass_matrix(tree, found.geo, found.ref)
        mass = H.T @ M[np.ix_(columns, columns)] @ H
        V, W = moving.speeds[:3], moving.speeds[3:6]
        speeds = np.concatenate([V - cross(W, found.ref), moving.speeds[3:]])
        view, base = self._view(), tree.links[0]
        angles = [view.yaw, view.lean, view.pitch]
        placed = [*angles, *(s["p"] - found.world.R @ (base.R.T @ base.o))]
        own = [o.value(view) for o in self.model.outputs]
        turns, turned = angle_rates(found.world.up[0], base.R[1], W, self.reduced.vdot[3:6])
        rates = [*turns, *tangent(placed[3:], self._directions(self.R, speeds))]
        T = projected.user_map(tree, found.ref)
        moved = projected.map_rate(tree, W, moving.refdot)
        v, vdot = T @ moving.speeds, T @ self.reduced.vdot + moved
        values: dict[str, list[Scalar]] = {
            "force": list(mass @ self.reduced.udot),  # numbered as what udot was solved from
            "zdot": list(self.driven[1]),
            "conditions": self._gap_rows(found)[0],
            "seen": [*placed, *s["r"], *own, *rates, *v[columns]],
            "paced": [*turned, *vdot[columns]],
        }
        sizes = {"dt": 1, "dx": len(columns)} | {f"d{name}": len(s[name]) for name in "uzw"}
        seeds = {
            name: array([self.graph.symbol(f"{name}[{k}]") for k in range(size)])
            for name, size in sizes.items()
        }
        seed = self._directions(self.R, projected.spread(tree, seeds["dx"]))
        seed |= {f"{n[1]}[{k}]": x for n in sizes if n != "dx" for k, x in enumerate(seeds[n])}
        changes = iter(tangent([x for xs in values.values() for x in xs], seed))
        outputs = {"mass": list(mass.ravel())} | values
        outputs |= {f"d{name}": [next(changes) for _ in xs] for name, xs in values.items()}
        inputs: dict[str, Any] = {"parameters": list(self.parameters.values())} | dict(s) | seeds
        return trace_program("variation", inputs, outputs)

    def _seed(self) -> dict[str, Any]:
        """Return the rate of every state symbol, for derivatives along the motion."""
        moving, reduced = self.moving, self.reduced
        qdot, pdot = self._reconstruct(self.R, self.symbols["q"], moving.speeds, self.found.ref)
        rates: dict[str, Any] = {"q": qdot, "p": pdot, "r": moving.speeds[6:]}
        rates |= {"u": reduced.udot, "t": [1.0]}
        return {f"{name}[{k}]": x for name, xs in rates.items() for k, x in enumerate(xs)}

    def _contact_forces(
        self, found: projected.Rows, lam: Array
    ) -> tuple[Array, list[Array], Array]:
        """Return the ground's force on each contact in its own axes and in the inner base's, and
        the torques of laws.
        """
        forces: list[list[Scalar]] = []
        pushes: list[Array] = []
        active = {a.contact.name: a for a in found.active}
        at = 0
        for contact in self.model.contacts:
            a = active.get(contact.name)
            if a is None:
                forces.append([0.0] * 3)
                pushes.append(np.zeros(3))
                continue
            part = lam[at : at + len(a.names)]
            at += len(a.names)
            axes = constraints.contact_axes(self.tree, found.geo, found.world, contact, a.at)
            push = array([*part, *[0.0] * (3 - len(part))])
            if not a.holds_all:
                push = sum((x * axes[n] for x, n in zip(part, a.names, strict=True)), np.zeros(3))
            forces.append([axis @ push for axis in axes.values()])
            pushes.append(push)
        return array(forces), pushes, lam[at:]

    def _free(self) -> Program:
        """Return the saddle-point system of every mode, in the user's own speeds."""
        model, s = self.model, dict(self.symbols)
        for name in ("q", "p"):  # the user's pose, not the inner frame's
            s[name] = array([self.graph.symbol(f"user {name}[{k}]") for k in range(len(s[name]))])
        tree = assemble(model, aligned=False, evaluate=self.evaluate)
        columns = projected.free_columns(tree)
        v = array([self.graph.symbol(f"v[{k}]") for k in range(len(columns))])
        speeds = projected.spread(tree, v)
        R = base_rotation(model, s["q"])
        found = multiplier.free(tree, R, s["p"], s["r"], speeds, s["w"], s["t"][0])
        driven = constraints.prescribed(model)
        laws = [law(s["t"][0]) for j in model.joints if (law := j.law) is not None]
        eye = np.eye(6 + len(model.joints))
        C = np.vstack([found.C, *[eye[6 + k : 7 + k] for k in driven]])[:, columns]
        c = [*found.c, *[law[2] for law in laws]]
        inputs: dict[str, Any] = {"parameters": list(self.parameters.values())}
        inputs |= {name: s[name] for name in ("t", "q", "p", "r")} | {"v": v, "w": s["w"]}
        outputs = {"M": found.M[np.ix_(columns, columns)], "F": found.F[columns], "C": C, "c": c}
        outputs |= {"b": [0.0] * len(found.c) + [law[1] for law in laws], "gaps": found.gaps}
        flat = {key: list(np.asarray(x, dtype=object).ravel()) for key, x in outputs.items()}
        return trace_program("free", inputs, flat)
