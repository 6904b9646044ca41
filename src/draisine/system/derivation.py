"""Derivation of the equations of motion of one contact mode over symbols.

The stages are: geometry, constraint rows, choice of the independent speeds, velocities, loads of force
elements, and reduced dynamics. `Derivation` evaluates each stage at its first use; `system.mode_programs`
makes programs of the results.
"""

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
from draisine.mechanics.applied import ElementForces, generalised_input_force
from draisine.mechanics.base import base_rates, base_rotation, free_columns, is_free
from draisine.mechanics.constraints import Mode
from draisine.mechanics.formulations import projected
from draisine.mechanics.kernel import Pivot
from draisine.mechanics.loads import LoadSolution, solve_loads
from draisine.mechanics.readings import Readings
from draisine.mechanics.tree import assemble
from draisine.system.layout import state_sizes
from draisine.system.tracing import Commanded, Tracing, make_readings, rates_by_symbol


@dataclass(frozen=True, slots=True)
class Pivoting:
    """Choice of the independent speeds, and of the pivots that eliminate the dependent ones."""

    independent: list[int]  # indices of the independent speeds
    pivots: list[Pivot]  # pivots in the order of elimination
    sizes: list[float]  # magnitudes of the state-dependent pivots where they were chosen
    names: list[str]  # names of the independent speeds
    spare: list[str]  # labels of the redundant constraint rows, which are omitted
    along_tree: bool = False  # whether rows are eliminated joint by joint along the tree


class Derivation:
    """The stages of the derivation of one contact mode, each evaluated at its first use."""

    def __init__(
        self,
        tracing: Tracing,
        mode: Mode,
        configuration: Mapping[str, float] | None = None,
        correction: float | None = None,
        spare: Sequence[str] = (),
        choice: Pivoting | None = None,
    ) -> None:
        self.tracing = tracing
        self.model = tracing.model
        self.mode = mode
        self.correction = correction
        self.spare = spare
        self._choice = choice
        model = self.model
        pins = len(model.pins)
        sizes = {"t": 1, **state_sizes(model, u=0, z=tracing.memory)}
        sizes |= {"w": len(model.inputs), "anchors": 3 * pins}
        self.symbols = tracing.symbols(sizes)
        self.point = dict(tracing.nominal) | {f"q[{k}]": float(k == 0) for k in range(4)}
        self.point |= {f"{name}[{k}]": 0.0 for name in ("t", "p", "r") for k in range(sizes[name])}
        self.tree = assemble(model, aligned=is_free(model), evaluate=self.evaluate)
        # Nominal values: the zero configuration, expressed in the inner base frame.
        drawn = quaternion(self.evaluate(list(self.tree.links[0].R.ravel())).reshape(3, 3))
        self.point |= {f"q[{k}]": float(x) for k, x in enumerate(drawn)}
        # Programs for the user's state contain symbols of the user's base frame. They need nominal
        # values too.
        self.point |= {f"user turn[{k}]": float(x) for k, x in enumerate(drawn)}
        self.point |= {f"user q[{k}]": float(k == 0) for k in range(4)}
        self.point |= {f"user p[{k}]": 0.0 for k in range(3)}
        self.point |= configuration or {}

    def evaluate(self, values: Sequence[Scalar]) -> Any:
        """Return the values of expressions at the nominal configuration and parameters."""
        return evaluate(values, self.point)

    @cached_property
    def R(self) -> Array:
        """The rotation matrix (3, 3) of the inner base frame, from its axes to the world's."""
        return base_rotation(self.model, self.symbols["q"])

    @cached_property
    def constraint_rows(self) -> projected.Rows:
        """The geometry, the contacts and the constraint rows of the contact mode."""
        return self.assemble_rows(self.R, self.symbols["r"], self.symbols["p"])

    def assemble_rows(self, R: Array, r: Array, p: Array) -> projected.Rows:
        """Return geometry, contacts and constraint rows for a base with rotation R and position p (m) and
        joint coordinates r.
        """
        return projected.constraint_rows(self.tree, self.mode, R, r, p, self.spare)

    @cached_property
    def choice(self) -> Pivoting:
        """The independent speeds and pivots: those given to the constructor, or chosen by rank at the
        nominal configuration.
        """
        if self._choice is not None:
            return self._choice
        # Elimination joint by joint along the tree keeps the expressions of long chains short.
        planned = projected.plan_joint_elimination(self.constraint_rows, self.evaluate)
        along_tree = planned is not None
        independent, pivots = planned or self._plan_pivots()
        solver = projected.factorise(self.constraint_rows, independent, pivots, along_tree)
        variable = [x for x in solver.pivot if isinstance(x, Expr) and not x.fixed]
        sizes = [float(abs(x)) for x in self.evaluate(variable)]
        names = [self.model.speeds[k] for k in independent]
        return Pivoting(independent, pivots, sizes, names, list(self.spare), along_tree)

    def _plan_pivots(self) -> tuple[list[int], list[Pivot]]:
        """Return independent speeds and pivots for the elimination of all constraint rows at once."""
        columns = free_columns(self.model)
        rows = self.constraint_rows
        C = constraints.constraint_matrix(self.tree, rows.geo, rows.world, rows.active, named=True)
        values = self.evaluate(list(C[:, columns].ravel())).reshape(len(C), len(columns))
        labels = [constraints.row_labels(self.model, self.mode)[k] for k in rows.keep]
        # Prefer joint rates as independent speeds, then the angular velocity of the base.
        order = projected.speed_order(self.model, columns)
        independent = projected.choose_speeds(len(columns), values[rows.keep], labels, order)
        return independent, projected.plan_pivots(rows, independent, self.evaluate)

    @cached_property
    def moving(self) -> projected.Reconstruction:
        """The velocities of all bodies as functions of the independent speeds."""
        u = self.inputs["u"]
        t = self.symbols["t"][0]
        choice = self.choice
        return projected.reconstruct_velocities(
            self.constraint_rows, u, t, choice.independent, choice.pivots, choice.along_tree
        )

    @cached_property
    def inputs(self) -> dict[str, Any]:
        """The input arrays of all programs of this contact mode, in order; u contains the independent
        speeds.
        """
        self.symbols |= self.tracing.symbols({"u": len(self.choice.independent)})
        return self.symbols

    @cached_property
    def driven(self) -> Commanded:
        """The inputs, the guided joints and the state rates of the control law at this state."""
        return self.tracing.apply_law_and_inputs(
            self.readings, self.symbols["z"], self.symbols["w"]
        )

    @cached_property
    def loaded(self) -> LoadSolution:
        """The forces of the force elements at this state, and the reduced dynamics under all forces.

        Both are computed together, because tyre forces depend on the normal loads, and the loads on all
        forces.
        """
        rows = self.constraint_rows
        t = self.symbols["t"][0]
        force = generalised_input_force(
            self.tree, rows.geo, rows.world, self.driven.inputs, rows.ref
        )

        def evaluate_elements(loads: Mapping[str, Scalar]) -> ElementForces:
            """Return the forces of the force elements for normal loads (N) of contacts by name."""
            reading = replace(self.readings, loads=loads)
            return self.tracing.element_forces(reading, self.mode, self.symbols["z"])

        def solve_dynamics(Q: Array) -> projected.Reduced:
            """Return the reduced dynamics under a generalised force Q."""
            return projected.solve_reduced_dynamics(
                self.moving, force + Q, t, self.model.gravity, self.driven.guides
            )

        def find_imbalance(Q: Array) -> Array:
            """Return the applied force Q minus the force that admissible accelerations require."""
            return projected.force_imbalance(self.moving, force + Q, t, self.model.gravity)

        solved = solve_loads(
            evaluate_elements, solve_dynamics, find_imbalance, self.moving, self.tracing.graph
        )
        if solved.loads and self.driven.guides:
            raise ModelError(
                "A force element that reads loads (a tyre) cannot be combined with a law that guides joints."
            )
        return solved

    @property
    def loaded_readings(self) -> Readings:
        """The quantities that force elements can read, with the solved normal loads."""
        return replace(self.readings, loads=self.loaded.loads)

    @property
    def acting(self) -> ElementForces:
        """The forces of the force elements at this state, and the rates of their states."""
        return self.loaded.acting

    @property
    def reduced(self) -> projected.Reduced:
        """The reduced dynamics in the independent speeds."""
        return self.loaded.reduced

    @property
    def memory_rates(self) -> list[Scalar]:
        """The time derivatives of all states z of force elements and control law."""
        return [*self.acting.rates, *self.driven.rates]

    @cached_property
    def readings(self) -> Readings:
        """The quantities that control laws and outputs can read."""
        return make_readings(self.moving, self.symbols["t"][0])

    def base_pose_rates(self, R: Array, q: Array, speeds: Array, ref: Array) -> tuple[Array, Array]:
        """Return the time derivatives qdot (4) and pdot (3) of the base pose, eq. [reconstruction]."""
        return base_rates(self.model, R, q, speeds, ref)[:2]

    def position_constraints(
        self, constraint_rows: projected.Rows, with_redundant: bool = True
    ) -> tuple[list[Scalar], list[Array]]:
        """Return the position constraints, which must stay zero, and their gradients; without the redundant
        constraints if `with_redundant` is False.
        """
        r = self.symbols["r"]
        t = self.symbols["t"][0]
        anchors = self.symbols["anchors"]
        values, gradients, indices = projected.holonomic_residuals(constraint_rows, r, t, anchors)
        used = [i for i, k in enumerate(indices) if with_redundant or k in constraint_rows.keep]
        return [values[i] for i in used], [gradients[i] for i in used]

    def configuration_rates(self, R: Array, speeds: Array) -> dict[str, Any]:
        """Return the time derivatives of the configuration's symbols for given speeds (V at the origin of
        the base, Omega, rdot).
        """
        qdot, pdot, rdot = base_rates(self.model, R, self.symbols["q"], speeds, np.zeros(3))
        return rates_by_symbol(q=qdot, p=pdot, r=rdot)
