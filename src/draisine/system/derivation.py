"""One mode of a model, traced: geometry, constraints, motion and reduced dynamics."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from draisine.algebra.lie import cross, quaternion, quaternion_rate, rotation
from draisine.algebra.scalar import Array, Scalar, array
from draisine.algebra.trace import Expr, Graph, evaluate
from draisine.errors import DraisineError, ModelError, did_you_mean
from draisine.mechanics import constraints
from draisine.mechanics.applied import generalised
from draisine.mechanics.constraints import Mode
from draisine.mechanics.formulations import projected
from draisine.mechanics.kernel import Pivot, eliminate
from draisine.mechanics.readings import Readings
from draisine.mechanics.tree import assemble
from draisine.model import Guide, Model, Pin
from draisine.system.layout import state_sizes

Law = Callable[[Readings, Array], tuple[dict[str, Scalar | Guide], Sequence[Scalar]]]
"""A control law: from what it sees and its own states z to inputs by name (torques, forces, or the
accelerations of guided joints) and the rates of z.
"""


@dataclass(frozen=True, slots=True)
class Pivoting:
    """What is chosen at the nominal configuration: independent speeds, pivots, the sizes of the
    pivots that the state decides, the names of the independent speeds, and the rows left out.
    """

    independent: list[int]
    pivots: list[Pivot]
    sizes: list[float]
    names: list[str]
    spare: list[str]


class UntraceableLawError(DraisineError, TypeError):
    """A control law that does something only numbers can do."""


@dataclass(frozen=True, slots=True, eq=False)
class Commanded:
    """What drives a machine at one state: all inputs, the joints that a law guides, and the rates of
    the law's states.
    """

    inputs: Array
    guides: dict[int, Guide]
    rates: Array


def command(law: Law | None, readings: Readings, z: Array, given: Array) -> Commanded:
    """Return what a law with the states z adds to the given inputs."""
    if law is None:
        return Commanded(given, {}, array([0.0] * len(z)))
    model = readings.tree.model
    names, joints = list(model.inputs), len(model.joints)
    try:
        wanted, rates = law(readings, z)
    except (TypeError, AttributeError, ValueError) as error:
        raise UntraceableLawError(str(error)) from error
    extra: list[Scalar] = [0.0] * len(names)
    guides: dict[int, Guide] = {}
    for name, value in wanted.items():
        if name not in names:
            raise ModelError(f"law: no input {name!r}. {did_you_mean(name, names)}")
        k = names.index(name)
        if isinstance(value, Guide):
            if k >= joints:
                raise ModelError(f"law: {name!r} is a force; only joints can be guided.")
            guides[k], value = value, value.torque
        extra[k] = value
    if len(list(rates)) != len(z):
        raise ModelError(
            f"law: it returns {len(list(rates))} rates for {len(z)} states; say "
            "how many it has by an attribute `states`."
        )
    return Commanded(given + array(extra), guides, array(list(rates)))


def base_rotation(model: Model, q: Array) -> Array:
    """Return the base's rotation, with the zeros that its group implies."""
    if model.base == "SE(2)":
        c, s = 1.0 - 2 * q[3] * q[3], 2 * q[0] * q[3]
        return array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    if model.base in ("translations", "fixed"):
        return np.eye(3)
    return rotation(q)


class Derivation:
    """One mode of one model, traced as far as its programs need."""

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
        spare: Sequence[str] = (),
    ) -> None:
        self.graph, self.model, self.mode = graph, model, mode
        self.parameters, self.law, self.correction = parameters, law, correction
        self.spare = spare
        pins = sum(isinstance(c, Pin) for c in model.contacts)
        sizes = {"t": 1, **state_sizes(model, u=0, z=states)}
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

    @cached_property
    def R(self) -> Array:
        """The base's rotation."""
        return base_rotation(self.model, self.symbols["q"])

    @cached_property
    def found(self) -> projected.Rows:
        """Geometry, contacts and constraint rows."""
        return self.rows(self.R, self.symbols["r"], self.symbols["p"])

    def rows(self, R: Array, r: Array, p: Array) -> projected.Rows:
        """Return geometry, contacts and constraint rows of a configuration."""
        return projected.rows(self.tree, self.mode, R, r, p, self.spare)

    @cached_property
    def choice(self) -> Pivoting:
        """Independent speeds and pivots, chosen by rank at the nominal configuration."""
        columns = projected.free_columns(self.tree)
        found = self.found
        C = constraints.matrix(self.tree, found.geo, found.world, found.active, named=True)
        values = self.evaluate(list(C[:, columns].ravel())).reshape(len(C), len(columns))
        labels = [constraints.labels(self.model, self.mode)[k] for k in found.keep]
        order = self._preference(columns)
        independent = projected.choose_speeds(len(columns), values[found.keep], labels, order)
        pivots = projected.plan_pivots(self.found, independent, self.evaluate)
        solver = eliminate(projected.system_matrix(self.found, independent), pivots)
        moved = [x for x in solver.pivot if isinstance(x, Expr) and not x.fixed]
        sizes = [float(abs(x)) for x in self.evaluate(moved)]
        names = [self.model.speeds[k] for k in independent]
        return Pivoting(independent, pivots, sizes, names, list(self.spare))

    @cached_property
    def moving(self) -> projected.Reconstruction:
        """All velocities, from the independent speeds."""
        u, t = self.inputs["u"], self.symbols["t"][0]
        return projected.motion(self.found, u, t, self.choice.independent, self.choice.pivots)

    @cached_property
    def inputs(self) -> dict[str, Any]:
        """The input arrays of every program of this mode, in order: u is as long as chosen."""
        u = [self.graph.symbol(f"u[{k}]") for k in range(len(self.choice.independent))]
        self.symbols["u"] = array(u)
        return {"parameters": list(self.parameters.values())} | self.symbols

    @cached_property
    def driven(self) -> Commanded:
        """What the given inputs and the law do at this state."""
        return command(self.law, self.readings(), self.symbols["z"], self.symbols["w"])

    @cached_property
    def reduced(self) -> projected.Reduced:
        """The reduced dynamics."""
        found = self.found
        force = generalised(self.tree, found.geo, found.world, self.driven.inputs, found.ref)
        t, gravity = self.symbols["t"][0], self.model.gravity
        return projected.dynamics(self.moving, force, t, gravity, self.driven.guides)

    def _preference(self, columns: list[int]) -> list[int]:
        """Return the order in which speeds are tried as independent: joints, then angular, then
        linear velocity.
        """
        n = len(self.model.twist)
        turning = [k for k in range(n) if columns[k] >= 3]
        return [*range(n, len(columns)), *turning, *[k for k in range(n) if columns[k] < 3]]

    def readings(self) -> Readings:
        """Return what laws and outputs can read."""
        found, moving = self.found, self.moving
        return Readings(
            self.tree,
            found.geo,
            found.world,
            self.symbols["p"],
            moving.vel,
            moving.speeds,
            found.ref,
            self.symbols["t"][0],
        )

    def reconstruct(self, R: Array, q: Array, speeds: Array, ref: Array) -> tuple[Array, Array]:
        """Return qdot and pdot, eq. [reconstruction]."""
        V, W = speeds[:3], speeds[3:6]
        qdot = quaternion_rate(q, W)
        if self.model.base == "SE(2)":
            half = W[2] / 2
            qdot = array([-(q[3] * half), 0.0, 0.0, q[0] * half])
        elif self.model.base in ("translations", "fixed"):
            qdot = array([0.0] * 4)
        return qdot, R @ (V - cross(W, ref))

    def conditions(
        self, found: projected.Rows, every: bool = True
    ) -> tuple[list[Scalar], list[Array]]:
        """Return the conditions on the configuration that must stay zero, and their rows: every one,
        or those that do not repeat others.
        """
        r, t, anchors = self.symbols["r"], self.symbols["t"][0], self.symbols["anchors"]
        values, rows, where = projected.conditions(found, r, t, anchors)
        taken = [i for i, k in enumerate(where) if every or k in found.keep]
        return [values[i] for i in taken], [rows[i] for i in taken]

    def directions(self, R: Array, speeds: Array) -> dict[str, Any]:
        """Return the rates of the configuration's symbols for speeds (V at the base's origin, W,
        rdot).
        """
        qdot, pdot = self.reconstruct(R, self.symbols["q"], speeds, np.zeros(3))
        rates = {"q": qdot, "p": pdot, "r": speeds[6:]}
        return {f"{name}[{k}]": x for name, xs in rates.items() for k, x in enumerate(xs)}
