"""Straight and upright running at the forward speed v, as values of a machine's symbols.

The base moves forward without turning, wheels roll, joints that are no wheels rest as drawn, and
the states of force elements (the slips of tyres) are zero. On a slope a torque at one wheel keeps
the speed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from draisine.algebra.scalar import Array, Scalar, array, substitute
from draisine.algebra.trace import Expr, evaluate, tangent
from draisine.errors import ParameterError
from draisine.mechanics.formulations import projected
from draisine.reading.solution import angle_rates, place_rates
from draisine.reading.subject import Subject

NOMINAL_SPEED = 5.0
"""Speed in m/s at which numbers stand for formulas; any speed but zero serves."""

STEADY_ERROR = 1e-9
"""Largest force, rate or gap of a steady motion in SI units, relative to the largest of the terms that
cancel. Round-off is some 1e-13; a machine that is out of balance exceeds it by far.
"""

TWIST = {
    "Vx": "forward velocity",
    "Vy": "velocity to the left",
    "Vz": "velocity upwards",
    "Wx": "lean rate",
    "Wy": "pitch rate",
    "Wz": "yaw rate",
}
"""The components of the base's twist in words."""

SCOPE = (
    "Linear equations to read are those of a bicycle, or of another machine that runs straight and upright "
    "on its wheels"
)
"""The beginning of refusals."""

IN_NUMBERS = (
    "`linearise(system, motion).equations()` has the equations about a steady motion in numbers."
)
"""The alternative for machines that are refused."""


@dataclass(frozen=True, eq=False)
class StraightMotion:
    """The straight motion of a machine."""

    subject: Subject

    def __post_init__(self) -> None:
        subject = self.subject
        if subject.form.rotation is not None or subject.form.frame is not None:
            raise ParameterError(
                "Linear equations to read have no other form: they use the vehicle's own frame and angles. "
                "Leave out `form`."
            )
        reasons = {
            "this one cannot lean": "lean" not in subject.angles,
            "this one has no wheels": not subject.model.wheels,
            "this one has no parameter `g`, which sorts the terms by gravity": "g"
            not in subject.parameters,
            "here a prescribed motion depends on time": subject.moved,
        }
        for reason, holds in reasons.items():
            if holds:
                raise ParameterError(f"{SCOPE}; {reason}. {IN_NUMBERS}")

    @cached_property
    def v(self) -> Expr:
        """The forward speed."""
        return self.subject.graph.symbol("forward speed")

    @property
    def g(self) -> Expr:
        """Gravity."""
        return self.subject.parameters["g"]

    @cached_property
    def point(self) -> dict[str, float]:
        """Nominal values of the symbols that the straight motion leaves."""
        return dict(self.subject.nominal) | {"forward speed": NOMINAL_SPEED}

    @cached_property
    def rolling(self) -> dict[str, Scalar]:
        """The rates of wheels at the speed v, by the names of these rates."""
        model, out = self.subject.model, dict[str, Scalar]()
        for joint in model.joints:
            for wheel in model.wheels:
                if wheel.body == joint.child:
                    to_left = float(np.sign(self.subject.evaluate([joint.axis[1]])[0]))
                    out[f"{joint.name}_rate"] = to_left * self.v / wheel.surface.radius
        return out

    @cached_property
    def machine(self) -> Subject:
        """The machine on the kernel of its constraints. Preferred as independent speeds are the rates of
        lean and of joints that are no wheels, then those that slipping tyres leave free, wheels last.
        """
        names = self.subject.model.speeds
        joints = [name for name in names if name not in TWIST and name not in self.rolling]
        order = ["Wx", *joints, "Wz", "Vy", "Wy", "Vz", *self.rolling, "Vx"]
        form = replace(self.subject.form, independent=tuple(order))
        return replace(self.subject, form=form, on_kernel=True)

    @cached_property
    def independent(self) -> list[int]:
        """The independent speeds by number, in the order of preference."""
        names = self.machine.model.speeds
        order = [names.index(name) for name in self.machine.form.independent]
        return sorted(self.machine.independent, key=order.index)

    @property
    def speeds(self) -> list[str]:
        """The names of the independent speeds."""
        return [self.machine.model.speeds[k] for k in self.independent]

    @cached_property
    def _unloaded(self) -> dict[str, Scalar]:
        """The values of all symbols that are neither parameters nor loads."""
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
        """The values of all symbols that are no parameters. Nothing accelerates, so that the loads are
        the normal components of lam with `C' lam = F - Q`.
        """
        machine = self.machine
        multipliers = machine.solver.solve_transposed(list(machine.F - machine.Q))
        found = substitute(machine.graph, list(multipliers), self._unloaded)
        rows = [machine.labels[k] for k in machine.kept]
        loads = {
            f"load[{k}]": found[rows.index(f"{name}.normal")]
            for k, name in enumerate(machine.loads)
            if f"{name}.normal" in rows
        }
        return self._unloaded | loads

    def at(self, xs: Iterable[Scalar]) -> list[Scalar]:
        """Return expressions in the straight motion."""
        return substitute(self.machine.graph, list(xs), self.values)

    @cached_property
    def forces(self) -> list[Scalar]:
        """The generalised forces that constant independent speeds need, F_r - H' Q, at any state."""
        machine = self.machine
        found = machine.F_r - machine.H.T @ machine.Q
        return [found[machine.independent.index(k)] for k in self.independent]

    @cached_property
    def rates(self) -> dict[str, Scalar]:
        """The rates of all coordinates by their symbols, at any state: angles and place of the base,
        joints.
        """
        machine = self.machine
        joints = {f"r[{k}]": machine.speeds[6 + k] for k in range(len(machine.r))}
        return angle_rates(machine) | place_rates(machine) | joints

    @cached_property
    def conditions(self) -> list[Scalar]:
        """What vanishes while contacts are closed and loops are, at any state."""
        machine = self.machine
        anchors = np.zeros(3 * len(machine.model.pins))
        return projected.conditions(machine.rows, machine.r, machine.t, anchors)[0]

    def differentiate(self, xs: Sequence[Scalar], symbols: Sequence[str]) -> Array:
        """Return the derivatives of expressions in the straight motion, one column for each symbol."""
        columns = [self.at(tangent(xs, {symbol: 1.0})) for symbol in symbols]
        return array(columns).T if columns else np.zeros((len(xs), 0))

    @cached_property
    def drive(self) -> str | None:
        """The wheel whose torque keeps the speed on a slope, None if the machine keeps it by itself.

        The rate of that wheel is an independent speed, so that a constant torque there has no part in
        the linear equations.
        """
        scale = np.abs(evaluate(self.at(self.machine.M_r.ravel()), self.point)).max()
        sizes = np.abs(evaluate(self.at(self.forces), self.point))
        limit = STEADY_ERROR * scale * NOMINAL_SPEED**2
        unbalanced = [n for n, size in zip(self.speeds, sizes, strict=True) if size > limit]
        if not unbalanced:
            return None
        if unbalanced[1:] or unbalanced[0] not in self.rolling or "Vx" in self.speeds:
            raise ParameterError(
                f"{SCOPE}; this one, as drawn, does not keep {', '.join(unbalanced)}. {IN_NUMBERS}"
            )
        return unbalanced[0].removesuffix("_rate")

    def check(self) -> None:
        """Raise if the motion is not straight, not steady, or if it needs the changes of loads."""
        machine = self.machine
        moving = ("Vx", *self.rolling)
        others = [
            x for n, x in zip(machine.model.speeds, machine.v, strict=True) if n not in moving
        ]
        forward = machine.v[machine.model.speeds.index("Vx")]
        must_vanish = [*others, forward - self.v, *self.conditions, *machine.acting.rates]
        values = evaluate(self.at(must_vanish), self.point)
        if np.abs(values).max(initial=0.0) > STEADY_ERROR * NOMINAL_SPEED:
            raise ParameterError(f"{SCOPE}; this one, as drawn, does not. {IN_NUMBERS}")
        loads = [f"load[{k}]" for k in range(len(machine.loads))]
        by_load = self.differentiate([*self.forces, *machine.acting.rates], loads)
        if np.abs(evaluate(list(by_load.ravel()), self.point)).max(initial=0.0) > STEADY_ERROR:
            raise ParameterError(
                f"{SCOPE}; the forces of this one depend on the loads of its contacts even then, as rolling "
                f"resistance does. {IN_NUMBERS}"
            )
