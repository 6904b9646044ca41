"""Straight and upright running at the forward speed v, as values of the symbols of a machine.

The base moves forward without rotation, wheels roll, other joints stay in the zero configuration,
and the states of force elements (the slips of tyres) are zero. On a slope a torque at one wheel
keeps the speed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from draisine.algebra.scalar import Array, Scalar, array, substitute
from draisine.algebra.trace import Expr, evaluate, tangent
from draisine.errors import ParameterError
from draisine.mechanics.formulations import projected
from draisine.reading.solution import base_angle_rates, place_rates
from draisine.reading.subject import Subject

NOMINAL_SPEED = 5.0
"""Speed (m/s) at which formulas are checked numerically; any nonzero speed is suitable."""

STEADY_ERROR = 1e-9
"""Largest force, rate or gap of a steady motion, relative to the largest of the terms that cancel.

Rounding errors are about 1e-13; an unbalanced machine exceeds the bound by far.
"""

TWIST_WORDS = {
    "Vx": "forward velocity",
    "Vy": "velocity to the left",
    "Vz": "velocity upwards",
    "Wx": "lean rate",
    "Wy": "pitch rate",
    "Wz": "yaw rate",
}
"""Descriptions of the components of the base's twist."""

REFUSAL = "Linear equations to read exist for machines that run straight and upright on wheels"
"""First part of the error messages for machines without straight running."""

NUMERIC_ALTERNATIVE = "For equations in numbers use `linearise(system, motion).equations()`."
"""Advice for machines that have no linear equations in symbols."""


@dataclass(frozen=True, eq=False)
class StraightMotion:
    """Straight running of a machine, in symbols."""

    subject: Subject

    def __post_init__(self) -> None:
        subject = self.subject
        if subject.form.rotation is not None or subject.form.frame is not None:
            raise ParameterError(
                "Linear equations to read always use the vehicle's own frame and angles. Leave out `form`."
            )
        reasons = {
            "this machine cannot lean": "lean" not in subject.angles,
            "this machine has no wheels": not subject.model.wheels,
            "this machine has no parameter `g` (gravity)": "g" not in subject.parameters,
            "this machine has a joint or ground that moves with time": subject.has_prescribed_motion,
        }
        for reason, holds in reasons.items():
            if holds:
                raise ParameterError(f"{REFUSAL}; {reason}. {NUMERIC_ALTERNATIVE}")

    @cached_property
    def v(self) -> Expr:
        """Symbol of the forward speed."""
        return self.subject.graph.symbol("forward speed")

    @property
    def g(self) -> Expr:
        """Symbol or value of gravity."""
        return self.subject.parameters["g"]

    @cached_property
    def point(self) -> dict[str, float]:
        """Nominal values of the parameters and of the forward speed."""
        return dict(self.subject.nominal) | {"forward speed": NOMINAL_SPEED}

    @cached_property
    def rolling(self) -> dict[str, Scalar]:
        """Rates of the wheels at the speed v, by the names of these rates."""
        model = self.subject.model
        out: dict[str, Scalar] = {}
        for joint in model.joints:
            for wheel in model.wheels:
                if wheel.body == joint.child:
                    # A wheel that rolls forward turns about an axis to the left, in the positive
                    # sense.
                    sign = float(np.sign(self.subject.evaluate_nominal([joint.axis[1]])[0]))
                    out[f"{joint.name}_rate"] = sign * self.v / wheel.surface.radius
        return out

    @cached_property
    def machine(self) -> Subject:
        """Traced equations with v = H u, whose independent speeds are chosen for the linear
        equations.
        """
        # Prefer lean rate and joint rates, then the speeds that slipping tyres leave free, and
        # wheels last.
        names = self.subject.model.speeds
        joints = [name for name in names if name not in TWIST_WORDS and name not in self.rolling]
        order = ["Wx", *joints, "Wz", "Vy", "Wy", "Vz", *self.rolling, "Vx"]
        form = replace(self.subject.form, independent=tuple(order))
        return replace(self.subject, form=form, on_kernel=True)

    @cached_property
    def independent(self) -> list[int]:
        """Indices of the independent speeds in the order of preference."""
        names = self.machine.model.speeds
        order = [names.index(name) for name in self.machine.form.independent]
        return sorted(self.machine.independent, key=order.index)

    @property
    def speeds(self) -> list[str]:
        """Names of the independent speeds."""
        return [self.machine.model.speeds[k] for k in self.independent]

    @cached_property
    def _values_without_loads(self) -> dict[str, Scalar]:
        """Values of all symbols that are neither parameters nor loads, in straight running."""
        machine = self.machine
        shape = machine.shape or (0.0,) * len(machine.r)
        moving = {"Vx": self.v} | self.rolling
        values: dict[str, Scalar] = {f"turn {name}": x for name, x in machine.angles.items()}
        for letter, xs in (
            ("p", machine.frame.p),
            ("r", shape),
            ("v", [moving.get(name, 0.0) for name in machine.model.speeds]),
            ("z", [0.0] * len(machine.z)),
            ("w", [0.0] * len(machine.w)),
        ):
            values |= {f"{letter}[{k}]": x for k, x in enumerate(xs)}
        return values | {"t[0]": 0.0}

    @cached_property
    def values(self) -> dict[str, Scalar]:
        """Values of all symbols except parameters, in straight running."""
        machine = self.machine
        # Without accelerations, the loads are the normal components of the multipliers lam in C'
        # lam = F - Q.
        multipliers = machine.solver.solve_transposed(list(machine.F - machine.Q))
        steady_multipliers = substitute(
            machine.graph, list(multipliers), self._values_without_loads
        )
        rows = [machine.labels[k] for k in machine.kept]
        loads = {
            f"load[{k}]": steady_multipliers[rows.index(f"{name}.normal")]
            for k, name in enumerate(machine.loads)
            if f"{name}.normal" in rows
        }
        return self._values_without_loads | loads

    def evaluate_straight(self, expressions: Iterable[Scalar]) -> list[Scalar]:
        """Return expressions with the values of straight running substituted."""
        return substitute(self.machine.graph, list(expressions), self.values)

    @cached_property
    def forces(self) -> list[Scalar]:
        """Generalised forces required for constant independent speeds, F_r - H' Q, at any state."""
        machine = self.machine
        forces = machine.F_r - machine.H.T @ machine.Q
        return [forces[machine.independent.index(k)] for k in self.independent]

    @cached_property
    def rates(self) -> dict[str, Scalar]:
        """Rates of all coordinates by symbol, at any state: angles and position of the base,
        joints.
        """
        machine = self.machine
        joints = {f"r[{k}]": machine.speeds[6 + k] for k in range(len(machine.r))}
        return base_angle_rates(machine) | place_rates(machine) | joints

    @cached_property
    def conditions(self) -> list[Scalar]:
        """Residuals of closed contacts and loops, at any state."""
        machine = self.machine
        anchors = np.zeros(3 * len(machine.model.pins))
        return projected.holonomic_residuals(machine.rows, machine.r, machine.t, anchors)[0]

    def differentiate(self, expressions: Sequence[Scalar], symbols: Sequence[str]) -> Array:
        """Return the derivatives of expressions in straight running, one column per symbol."""
        columns = [
            self.evaluate_straight(tangent(expressions, {symbol: 1.0})) for symbol in symbols
        ]
        return array(columns).T if columns else np.zeros((len(expressions), 0))

    @cached_property
    def drive(self) -> str | None:
        """Name of the wheel whose torque keeps the speed on a slope; None if no torque is required.

        The rate of that wheel is an independent speed, so that its constant torque drops out of the
        linear equations.
        """
        scale = np.abs(evaluate(self.evaluate_straight(self.machine.M_r.ravel()), self.point)).max()
        forces = np.abs(evaluate(self.evaluate_straight(self.forces), self.point))
        limit = STEADY_ERROR * scale * NOMINAL_SPEED**2
        unbalanced = [n for n, force in zip(self.speeds, forces, strict=True) if force > limit]
        if not unbalanced:
            return None
        if unbalanced[1:] or unbalanced[0] not in self.rolling or "Vx" in self.speeds:
            raise ParameterError(
                f"{REFUSAL}; this machine, as drawn, does not keep {', '.join(unbalanced)} constant. "
                f"{NUMERIC_ALTERNATIVE}"
            )
        return unbalanced[0].removesuffix("_rate")

    def check_steadiness(self) -> None:
        """Raise `ParameterError` if the motion is not straight and steady, or if forces depend to first order
        on the contact loads, which the linear equations assume to be constant.
        """
        machine = self.machine
        moving = ("Vx", *self.rolling)
        others = [
            x for n, x in zip(machine.model.speeds, machine.v, strict=True) if n not in moving
        ]
        forward = machine.v[machine.model.speeds.index("Vx")]
        must_vanish = [*others, forward - self.v, *self.conditions, *machine.acting.rates]
        values = evaluate(self.evaluate_straight(must_vanish), self.point)
        if np.abs(values).max(initial=0.0) > STEADY_ERROR * NOMINAL_SPEED:
            raise ParameterError(
                f"{REFUSAL}; this machine does not in its zero configuration. {NUMERIC_ALTERNATIVE}"
            )
        loads = [f"load[{k}]" for k in range(len(machine.loads))]
        by_load = self.differentiate([*self.forces, *machine.acting.rates], loads)
        if np.abs(evaluate(list(by_load.ravel()), self.point)).max(initial=0.0) > STEADY_ERROR:
            raise ParameterError(
                f"{REFUSAL}; the forces of this machine depend to first order on its contact loads, as "
                f"rolling resistance does. {NUMERIC_ALTERNATIVE}"
            )
