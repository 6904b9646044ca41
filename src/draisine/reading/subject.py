"""Equations of one contact mode of a model, traced over readable symbols: the subject of a page.

The base's orientation is yaw, lean and pitch instead of a quaternion, its velocity is that of its frame's
origin, and all speeds v are symbols, related by `v = H u`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from draisine.algebra.lie import Pose, rot_x, rot_y, rot_z
from draisine.algebra.scalar import Array, Scalar, array, is_zero
from draisine.algebra.trace import Expr, Graph, evaluate
from draisine.errors import expect_known
from draisine.mechanics import constraints
from draisine.mechanics.applied import (
    ElementForces,
    element_forces,
    generalised_input_force,
    limit_motor_torques,
)
from draisine.mechanics.base import base_angles, expand_speeds, free_columns, is_free
from draisine.mechanics.constraints import Ground, Mode
from draisine.mechanics.formulations import projected
from draisine.mechanics.kernel import Elimination, eliminate, kernel_basis
from draisine.mechanics.kinematics import Geometry, Velocities, velocities
from draisine.mechanics.newton_euler import Wrenches, link_wrenches, mass_matrix, sum_wrenches
from draisine.mechanics.readings import Readings
from draisine.mechanics.tree import Tree, assemble
from draisine.model import Model, Wheel
from draisine.model.form import Form
from draisine.vehicles import build_model, meanings, record_meanings

FRAME_ORIGIN = np.zeros(3)
"""Reference point (m) of velocities and forces: the origin of the base's frame."""


@dataclass(frozen=True, eq=False)
class Subject:
    """One contact mode of a model whose parameters are symbols of a traced graph."""

    graph: Graph
    """The traced graph."""
    model: Model
    """Model whose parameters are the symbols."""
    parameters: Mapping[str, Expr]
    """Symbols of the parameters by name."""
    nominal: Mapping[str, float]
    """Values of the parameters by name, SI units."""
    mode: Mode
    """Status of every contact."""
    form: Form = field(default_factory=Form)
    """Notation: symbols, meanings, frame and angles."""
    spare: tuple[str, ...] = ()
    """Labels of the redundant constraint rows, which are left out."""
    shape: tuple[float, ...] = ()
    """Joint coordinates at which pivots are chosen; empty for the zero configuration."""
    on_kernel: bool = False
    """Whether the speeds v are expressed by the independent speeds, `v = H u`."""

    def _make_symbols(self, name: str, count: int) -> Array:
        """Return `count` new symbols of the graph, name[0], name[1], ..."""
        return array([self.graph.symbol(f"{name}[{k}]") for k in range(count)])

    @cached_property
    def t(self) -> Expr:
        """Symbol of time (s)."""
        return self.graph.symbol("t[0]")

    @cached_property
    def p(self) -> Array:
        """Symbols of the position of the base's frame, world axes, (3,)."""
        return self._make_symbols("p", 3)

    @cached_property
    def r(self) -> Array:
        """Symbols of the joint coordinates, (n,)."""
        return self._make_symbols("r", len(self.model.joints))

    @cached_property
    def w(self) -> Array:
        """Symbols of the inputs: joint torques, then components of external forces."""
        return self._make_symbols("w", len(self.model.inputs))

    @cached_property
    def columns(self) -> list[int]:
        """Indices of the components of (V, W, rdot) that the group of the base leaves free."""
        return free_columns(self.model)

    @cached_property
    def free_speeds(self) -> Array:
        """Symbols of the free components of (V, W, rdot), before constraints are applied."""
        return self._make_symbols("v", len(self.columns))

    @cached_property
    def v(self) -> Array:
        """Free speeds: twist of the base, then joint rates."""
        if not self.on_kernel:
            return self.free_speeds
        u = self.free_speeds[self.independent]
        return self.H @ u + self.drift if len(u) else self.drift

    @cached_property
    def speeds(self) -> Array:
        """All components of (V, W, rdot), (6 + n,)."""
        return expand_speeds(self.model, self.v)

    @cached_property
    def frame(self) -> Pose:
        """Pose of the base's frame in the zero configuration: that of the vehicle's notation if it has one,
        otherwise with its origin at the hub of the first wheel.
        """
        if self.form.frame is not None:
            return self.form.frame(self.model)
        wheel = first_wheel(self.model)
        return Pose(np.eye(3), FRAME_ORIGIN if wheel is None else wheel.centre)

    @property
    def origin_description(self) -> str:
        """Description of the location of the frame's origin."""
        wheel = first_wheel(self.model)
        return "the drawing's origin" if wheel is None else f"the hub of wheel {wheel.name}"

    @cached_property
    def angles(self) -> dict[str, float]:
        """Angles of the base by name, with their nominal values (rad)."""
        return dict(self.form.angles) or dict.fromkeys(base_angles(self.model), 0.0)

    @cached_property
    def turns(self) -> dict[str, Expr]:
        """Symbols of the angles of the base, by name."""
        return {name: self.graph.symbol(f"turn {name}") for name in self.angles}

    @cached_property
    def R(self) -> Array:
        """Rotation matrix (3, 3) of the base's frame."""
        angles = self.turns
        R = np.eye(3)
        if self.form.rotation is not None:
            R = self.form.rotation(angles)
        elif angles:
            R = rot_z(angles["yaw"])
            if "lean" in angles:
                R = R @ rot_x(angles["lean"]) @ rot_y(angles["pitch"])
        return R @ self.frame.R

    @cached_property
    def nominal_point(self) -> dict[str, float]:
        """Nominal value of every symbol: the zero configuration at rest."""
        values = dict(self.nominal) | {"t[0]": 0.0}
        values |= {f"turn {name}": x for name, x in self.angles.items()}
        for name, xs in (
            ("r", self.r),
            ("p", self.p),
            ("w", self.w),
            ("z", self.z),
            ("load", self.loads),
        ):
            values |= {f"{name}[{k}]": 0.0 for k in range(len(xs))}
        return values | {f"r[{k}]": x for k, x in enumerate(self.shape)}

    def evaluate_nominal(self, expressions: Sequence[Scalar]) -> Any:
        """Return traced values as floats at the nominal point."""
        return evaluate(expressions, self.nominal_point)

    @cached_property
    def tree(self) -> Tree:
        """Tree of links, with the base's frame of the notation."""
        point = dict(self.nominal)
        return assemble(self.model, frame=self.frame, evaluate=lambda xs: evaluate(xs, point))

    @cached_property
    def rows(self) -> projected.Rows:
        """Geometry, active contacts and constraint rows."""
        return projected.constraint_rows(
            self.tree, self.mode, self.R, self.r, self.p, self.spare, at_origin=True
        )

    @property
    def geo(self) -> Geometry:
        """Poses of the links as traced expressions of the joint coordinates."""
        return self.rows.geo

    @property
    def world(self) -> Ground:
        """Ground with its normal in the frame of every link."""
        return self.rows.world

    @property
    def active(self) -> list[constraints.Active]:
        """Active contacts with their constraint rows."""
        return self.rows.active

    @cached_property
    def C(self) -> Array:
        """Constraint matrix (A, B) over the free components of v."""
        return self.rows.C[np.ix_(self.kept, self.columns)]

    @cached_property
    def labels(self) -> list[str]:
        """Labels of all constraint rows, including redundant ones."""
        return constraints.row_labels(self.model, self.mode)

    @property
    def kept(self) -> list[int]:
        """Indices of the constraint rows that are not redundant."""
        return self.rows.keep

    @cached_property
    def b(self) -> list[Scalar]:
        """Right-hand side b of C v = b; nonzero for moving ground and prescribed joints."""
        targets = constraints.velocity_targets(
            self.tree, self.geo, self.world, self.active, self.p, self.t
        )
        return [targets[k] for k in self.kept]

    @cached_property
    def has_prescribed_motion(self) -> bool:
        """Whether the motion of a joint or of the ground is prescribed as a function of time."""
        return not all(is_zero(x) for x in self.b)

    @cached_property
    def guided(self) -> list[str]:
        """Joints with prescribed motion, by name."""
        return [self.model.joints[k].name for k in constraints.prescribed_joints(self.model)]

    @cached_property
    def reduced(self) -> "Subject":
        """The same subject with v = H u substituted."""
        return replace(self, on_kernel=True)

    @cached_property
    def vel(self) -> Velocities:
        """Velocities of the links as traced expressions."""
        V, W, rdot = np.split(self.speeds, [3, 6])
        return velocities(self.tree, self.geo, V, W, rdot, FRAME_ORIGIN)

    @cached_property
    def c(self) -> list[Scalar]:
        """Right-hand side c of the acceleration constraints C vdot = c."""
        targets = constraints.acceleration_targets(
            self.tree,
            self.geo,
            self.world,
            self.vel,
            self.active,
            FRAME_ORIGIN,
            self.p,
            self.t,
        )
        return [targets[k] for k in self.kept]

    @cached_property
    def M(self) -> Array:
        """Mass matrix of the model without constraints."""
        return mass_matrix(self.tree, self.geo, FRAME_ORIGIN)[np.ix_(self.columns, self.columns)]

    @cached_property
    def steady_wrenches(self) -> Wrenches:
        """Required force (N) and moment (N m) of each link at constant speeds v."""
        no_rates = np.zeros(len(self.speeds))
        gravity = self.world.R.T @ self.model.gravity
        return link_wrenches(
            self.tree, self.geo, self.vel, no_rates, FRAME_ORIGIN, FRAME_ORIGIN, gravity
        )

    @cached_property
    def F(self) -> Array:
        """Forces F of free motion: gyroscopic forces, gravity, springs, dampers and fluid."""
        return sum_wrenches(self.tree, self.geo, self.steady_wrenches, FRAME_ORIGIN)[self.columns]

    @cached_property
    def z(self) -> Array:
        """Symbols of the states of force elements."""
        return self._make_symbols("z", self.model.memory)

    @cached_property
    def loads(self) -> dict[str, Expr]:
        """Symbols of the normal forces (loads) that force elements read, by contact."""
        names = [a.contact.name for a in self.active if "normal" in a.names]
        return dict(zip(names, self._make_symbols("load", len(names)), strict=True))

    @cached_property
    def acting(self) -> ElementForces:
        """Generalised forces and state rates of the force elements."""
        readings = Readings(
            self.tree,
            self.geo,
            self.world,
            self.p,
            self.vel,
            self.speeds,
            FRAME_ORIGIN,
            self.t,
            self.loads,
        )
        return element_forces(readings, self.mode, self.z)

    @cached_property
    def Q(self) -> Array:
        """Generalised forces Q of the inputs and of force elements."""
        inputs = limit_motor_torques(self.model, self.w, self.vel.rdot)
        input_forces = generalised_input_force(
            self.tree, self.geo, self.world, inputs, FRAME_ORIGIN
        )
        return (input_forces + self.acting.Q)[self.columns]

    @cached_property
    def independent(self) -> list[int]:
        """Indices of the independent speeds, chosen by rank in the zero configuration; joint rates
        are preferred.
        """
        rows = constraints.constraint_matrix(
            self.tree, self.geo, self.world, self.active, named=True
        )
        C = rows[np.ix_(self.kept, self.columns)]
        values = self.evaluate_nominal(list(C.ravel())).reshape(C.shape)
        labels = [self.labels[k] for k in self.kept]
        preferred = [self.model.speeds.index(name) for name in self.form.independent]
        default = projected.speed_order(self.model, self.columns)
        order = [*preferred, *(k for k in default if k not in preferred)]
        return projected.choose_speeds(len(self.columns), values, labels, order)

    @cached_property
    def solver(self) -> Elimination:
        """Elimination of the rows [C; S] along pivots that are nonzero in the zero configuration."""
        pivots = projected.plan_pivots(self.rows, self.independent, self.evaluate_nominal)
        return eliminate(projected.system_matrix(self.rows, self.independent), pivots)

    @cached_property
    def H(self) -> Array:
        """Null-space basis H of the constraint rows: v = H u."""
        return kernel_basis(self.solver.solve, *self.C.shape)

    @cached_property
    def drift(self) -> Array:
        """Value of the speeds v at u = 0: the second term of v = H u + drift."""
        return self.solver.solve(list(self.b) + [0.0] * len(self.independent))

    @cached_property
    def kappa(self) -> Array:
        """Accelerations at udot = 0: Hdot u plus the rate of the drift."""
        return self.solver.solve(list(self.c) + [0.0] * len(self.independent))

    @cached_property
    def N(self) -> Array:
        """Product M H of mass matrix and kernel."""
        return self.M @ self.H

    @cached_property
    def M_r(self) -> Array:
        """Reduced mass matrix H' M H, with the null-space basis H."""
        return self.H.T @ self.N

    @cached_property
    def F_r(self) -> Array:
        """Reduced forces H' (F + M kappa), with kappa the accelerations at udot = 0."""
        return self.H.T @ self.F + self.N.T @ self.kappa


def first_wheel(model: Model) -> Wheel | None:
    """Return the first wheel on the base, whose hub is the origin of the base's frame; None if
    there is none.
    """
    base = model.bodies[0].name
    carried = {base} | {j.child for j in model.joints if j.parent == base}
    wheels = [wheel for wheel in model.wheels if wheel.body in carried]
    return wheels[0] if wheels and is_free(model) else None


def trace_subject(
    vehicle: Callable[..., Model],
    parameters: Mapping[str, float],
    structure: Mapping[str, Any],
    statuses: Mapping[str, str],
    form: str | None = None,
    spare: Sequence[str] = (),
    shape: Sequence[float] = (),
) -> Subject:
    """Return a contact mode of a vehicle, traced over readable symbols.

    Parameters
    ----------
    vehicle
        Function that returns the model.
    parameters
        Values of the parameters, SI units.
    structure
        Arguments that select the structure.
    statuses
        Statuses of contacts by name; the others are closed.
    form
        Name of a notation of the vehicle; None for its default notation.
    spare
        Labels of redundant constraint rows.
    shape
        Joint coordinates at which pivots are chosen.
    """
    module: dict[str, Any] = vehicle.__globals__
    forms = {"benchmark": None} | module["FORMS"] if "FORMS" in module else {}
    if form is not None:
        expect_known("no form", form, forms)
    words = dict(meanings(vehicle))
    for name, value in structure.items():
        words |= record_meanings(name, value)
    chosen = forms.get(form) or Form(module.get("SYMBOLS", {}), words)
    if chosen.vehicle is not None and chosen.convert is not None:
        vehicle = chosen.vehicle
        parameters = chosen.convert(parameters)
        structure = {}
    graph = Graph()
    symbols = {name: graph.symbol(name, parameter=True) for name in parameters}
    model = build_model(vehicle, symbols, structure)
    mode = constraints.mode_of(model, statuses)
    return Subject(graph, model, symbols, parameters, mode, chosen, tuple(spare), tuple(shape))
