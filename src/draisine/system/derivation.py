"""One mode of a model, traced: geometry, constraints, motion and reduced dynamics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from draisine.algebra.lie import quaternion
from draisine.algebra.scalar import Array, Scalar
from draisine.algebra.trace import Expr, evaluate
from draisine.errors import ModelError
from draisine.mechanics import constraints
from draisine.mechanics.applied import ElementForces, generalised
from draisine.mechanics.base import base_rates, base_rotation, free_columns, is_free
from draisine.mechanics.constraints import Mode
from draisine.mechanics.formulations import projected
from draisine.mechanics.kernel import Pivot
from draisine.mechanics.loads import LoadSolution, solve_loads
from draisine.mechanics.readings import Readings
from draisine.mechanics.tree import assemble
from draisine.system.layout import state_sizes
from draisine.system.tracing import Commanded, Tracing, rates_by_symbol, read


@dataclass(frozen=True, slots=True)
class Pivoting:
    """What is chosen at the nominal configuration: independent speeds, pivots, the sizes of the
    pivots that the state decides, the names of the independent speeds, the rows left out, and
    whether pivots are those of an elimination along the tree.
    """

    independent: list[int]
    pivots: list[Pivot]
    sizes: list[float]
    names: list[str]
    spare: list[str]
    along_tree: bool = False


class Derivation:
    """One mode of one model, traced as far as its programs need."""

    def __init__(
        self,
        tracing: Tracing,
        mode: Mode,
        configuration: Mapping[str, float] | None = None,
        correction: float | None = None,
        spare: Sequence[str] = (),
        choice: Pivoting | None = None,
    ) -> None:
        self.tracing, self.model, self.mode = tracing, tracing.model, mode
        self.correction, self.spare = correction, spare
        self._choice = choice
        model = self.model
        pins = len(model.pins)
        sizes = {"t": 1, **state_sizes(model, u=0, z=tracing.memory)}
        sizes |= {"w": len(model.inputs), "anchors": 3 * pins}
        self.symbols = tracing.symbols(sizes)
        self.point = dict(tracing.nominal) | {f"q[{k}]": float(k == 0) for k in range(4)}
        self.point |= {f"{name}[{k}]": 0.0 for name in ("t", "p", "r") for k in range(sizes[name])}
        self.tree = assemble(model, aligned=is_free(model), evaluate=self.evaluate)
        drawn = quaternion(self.evaluate(list(self.tree.links[0].R.ravel())).reshape(3, 3))
        self.point |= {f"q[{k}]": float(x) for k, x in enumerate(drawn)}  # the drawing's pose
        # expressions that do not depend on the pose may be known by the user's symbols
        self.point |= {f"user turn[{k}]": float(x) for k, x in enumerate(drawn)}
        self.point |= {f"user q[{k}]": float(k == 0) for k in range(4)}
        self.point |= {f"user p[{k}]": 0.0 for k in range(3)}
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
        """Independent speeds and pivots: as given, or chosen by rank at the nominal configuration."""
        if self._choice is not None:
            return self._choice
        planned = projected.plan_joints(self.found, self.evaluate)
        along_tree = planned is not None
        independent, pivots = planned or self._plan()
        solver = projected.factorise(self.found, independent, pivots, along_tree)
        moved = [x for x in solver.pivot if isinstance(x, Expr) and not x.fixed]
        sizes = [float(abs(x)) for x in self.evaluate(moved)]
        names = [self.model.speeds[k] for k in independent]
        return Pivoting(independent, pivots, sizes, names, list(self.spare), along_tree)

    def _plan(self) -> tuple[list[int], list[Pivot]]:
        """Return independent speeds and pivots for all rows at once."""
        columns, found = free_columns(self.model), self.found
        C = constraints.matrix(self.tree, found.geo, found.world, found.active, named=True)
        values = self.evaluate(list(C[:, columns].ravel())).reshape(len(C), len(columns))
        labels = [constraints.labels(self.model, self.mode)[k] for k in found.keep]
        order = projected.speed_order(self.model, columns)
        independent = projected.choose_speeds(len(columns), values[found.keep], labels, order)
        return independent, projected.plan_pivots(found, independent, self.evaluate)

    @cached_property
    def moving(self) -> projected.Reconstruction:
        """All velocities, from the independent speeds."""
        u, t = self.inputs["u"], self.symbols["t"][0]
        choice = self.choice
        return projected.motion(
            self.found, u, t, choice.independent, choice.pivots, choice.along_tree
        )

    @cached_property
    def inputs(self) -> dict[str, Any]:
        """The input arrays of every program of this mode, in order: u is as long as chosen."""
        self.symbols |= self.tracing.symbols({"u": len(self.choice.independent)})
        return self.symbols

    @cached_property
    def driven(self) -> Commanded:
        """What the given inputs and the law do at this state."""
        return self.tracing.command(self.readings, self.symbols["z"], self.symbols["w"])

    @cached_property
    def loaded(self) -> LoadSolution:
        """What the force elements do at this state, and the reduced dynamics under all forces."""
        found, t = self.found, self.symbols["t"][0]
        force = generalised(self.tree, found.geo, found.world, self.driven.inputs, found.ref)

        def act(loads: Mapping[str, Scalar]) -> ElementForces:
            reading = replace(self.readings, loads=loads)
            return self.tracing.act(reading, self.mode, self.symbols["z"])

        def move(Q: Array) -> projected.Reduced:
            return projected.dynamics(
                self.moving, force + Q, t, self.model.gravity, self.driven.guides
            )

        def lack(Q: Array) -> Array:
            return projected.imbalance(self.moving, force + Q, t, self.model.gravity)

        solved = solve_loads(act, move, lack, self.moving, self.tracing.graph)
        if solved.loads and self.driven.guides:
            raise ModelError("elements that read loads do not go with a law that guides joints.")
        return solved

    @property
    def loaded_readings(self) -> Readings:
        """What elements read under the loads that were found."""
        return replace(self.readings, loads=self.loaded.loads)

    @property
    def acting(self) -> ElementForces:
        """What the force elements do at this state."""
        return self.loaded.acting

    @property
    def reduced(self) -> projected.Reduced:
        """The reduced dynamics."""
        return self.loaded.reduced

    @property
    def memory_rates(self) -> list[Scalar]:
        """The rates of all states z."""
        return [*self.acting.rates, *self.driven.rates]

    @cached_property
    def readings(self) -> Readings:
        """What laws and outputs read."""
        return read(self.moving, self.symbols["t"][0])

    def pose_rates(self, R: Array, q: Array, speeds: Array, ref: Array) -> tuple[Array, Array]:
        """Return qdot and pdot, eq. [reconstruction]."""
        return base_rates(self.model, R, q, speeds, ref)[:2]

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
        qdot, pdot, rdot = base_rates(self.model, R, self.symbols["q"], speeds, np.zeros(3))
        return rates_by_symbol(q=qdot, p=pdot, r=rdot)
