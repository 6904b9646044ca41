"""Linear equations of a bicycle that runs straight and upright, as formulas in its parameters:

    M qdd + v C1 qd + (g K0 + v^2 K2) q = f        q = (lean, joints that are no wheels)

They are the tangent of the reduced dynamics along lean, joints and their rates, at the straight
motion; signs are this package's: lean to the right, steer to the left.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from draisine.algebra.scalar import Array, Floats, Scalar, array, is_zero, substitute
from draisine.algebra.trace import Expr, tangent
from draisine.codegen.formula import (
    Assignment,
    Block,
    Expression,
    Heading,
    MatrixFormula,
    Name,
    Number,
    Page,
    Paragraph,
    Power,
    Product,
    Quotient,
    Relation,
    Sum,
    Symbol,
    name_of,
)
from draisine.errors import ParameterError
from draisine.reading.document import Equations, name_given
from draisine.reading.names import INERTIA, SPEED, symbol_of
from draisine.reading.sheet import Sheet
from draisine.reading.subject import Subject

SIGNS = (
    "Lean is positive to the right, steer to the left. The benchmark of Meijaard et al. (2007) counts both "
    "to the right: there the entries 12 and 21 of all matrices have the opposite sign."
)
"""How the equations of a bicycle compare with those that are published."""


@dataclass(frozen=True, eq=False)
class StraightRunning:
    """A subject near its straight upright motion at the forward speed v."""

    subject: Subject

    @cached_property
    def v(self) -> Expr:
        """The forward speed."""
        return self.subject.graph.symbol("forward speed")

    @cached_property
    def wheels(self) -> dict[int, Scalar]:
        """The independent speeds that are wheel rates, with the wheels' radii."""
        subject = self.subject
        radii = {
            subject.model.speeds.index(f"{joint.name}_rate"): wheel.surface.radius
            for joint in subject.model.joints
            for wheel in subject.model.wheels
            if wheel.body == joint.child
        }
        return {k: radii[k] for k in subject.independent if k in radii}

    @cached_property
    def moving(self) -> list[int]:
        """The independent speeds that are rates of lean and of joints that are no wheels."""
        subject = self.subject
        found = [k for k in subject.independent if k not in self.wheels]
        names = [subject.model.speeds[k] for k in found]
        usual = "lean" in subject.angles and "g" in subject.parameters
        if not usual or names[:1] != ["Wx"] or {"Wy", "Wz"} & {*names}:
            raise ParameterError(
                "linear equations to read are those of a bicycle: its lean and its joints must be "
                f"free, its other motions given by rolling; here {', '.join(names) or 'nothing'} is."
            )
        return found

    @cached_property
    def names(self) -> list[str]:
        """The coordinates: lean, joints."""
        speeds = [self.subject.model.speeds[k] for k in self.moving]
        return ["lean" if name == "Wx" else name.removesuffix("_rate") for name in speeds]

    def at(self, xs: Sequence[Scalar], v: Scalar, g: Scalar) -> list[Scalar]:
        """Return expressions at the straight upright motion of speed v under gravity g."""
        subject = self.subject
        values: dict[str, Scalar] = {f"turn {name}": 0.0 for name in subject.angles}
        values |= {"t[0]": 0.0, "g": g}
        values |= {f"r[{k}]": 0.0 for k in range(len(subject.r))}
        for k in range(len(subject.columns)):
            radius = self.wheels.get(k)
            values[f"v[{k}]"] = 0.0 if radius is None else v / radius
        return substitute(subject.graph, xs, values)

    def _derivatives(self, seeds: Sequence[str], v: Scalar, g: Scalar) -> Array:
        """Return the derivatives of the reduced forces, a column for each seed."""
        rows = [self.subject.independent.index(k) for k in self.moving]
        forces = [self.subject.reduced.F_r[k] for k in rows]
        columns = [self.at(tangent(forces, {seed: 1.0}), v, g) for seed in seeds]
        return array(columns).T

    @cached_property
    def M(self) -> Array:
        """The mass matrix."""
        rows = [self.subject.independent.index(k) for k in self.moving]
        block = self.subject.M_r[np.ix_(rows, rows)]
        return array(self.at(list(block.ravel()), 0.0, 1.0)).reshape(block.shape)

    @cached_property
    def C1(self) -> Array:
        """The damping per unit of speed."""
        return self._derivatives([f"v[{k}]" for k in self.moving], 1.0, 1.0)

    @cached_property
    def places(self) -> list[str]:
        """The symbols of the coordinates."""
        joints = {j.name: f"r[{k}]" for k, j in enumerate(self.subject.model.joints)}
        return [joints.get(name, f"turn {name}") for name in self.names]

    @cached_property
    def K0(self) -> Array:
        """The stiffness by weight, per unit of gravity."""
        return self._derivatives(self.places, 0.0, 1.0)

    @cached_property
    def K2(self) -> Array:
        """The stiffness per unit of squared speed."""
        return self._derivatives(self.places, 1.0, 0.0)


def write_linear(subject: Subject, title: str) -> Equations:
    """Return the linear equations of straight running and, with two coordinates, the coefficients
    of their characteristic polynomial and their transfer functions.
    """
    straight = StraightRunning(subject)
    sheet = Sheet(subject.graph, swell=1000)
    name_given(sheet, subject, tell_speeds=False)  # v is the forward speed here
    sheet.cut.name(straight.v, Symbol("v"), SPEED)
    q, v, g = sheet.quantity("q"), name_of("v"), symbol_of("g", subject.form.symbols)
    stiffness = (
        Product((Name(g), sheet.quantity("K_0"))),
        Product((Power(v, 2), sheet.quantity("K_2"))),
    )
    sheet.heading("Straight running")
    sheet.relate(
        Sum(
            (
                Product((sheet.quantity("M"), sheet.quantity(r"\ddot{q}"))),
                Product((v, sheet.quantity("C_1"), sheet.quantity(r"\dot{q}"))),
                Product((Sum(stiffness), q)),
            )
        ),
        sheet.quantity("f"),
    )
    names = ", ".join(name.replace("_", " ") for name in straight.names)
    sheet.say("Here ", q, f" = ({names}), and ", v, " is the forward speed.")
    if straight.names == ["lean", "steer"]:
        sheet.say(SIGNS)
    n = range(1, len(straight.names) + 1)
    for symbol, letter, entries in (
        ("M", "M", straight.M),
        ("C_1", "C", straight.C1),
        ("K_0", "K", straight.K0),
        ("K_2", "K", straight.K2),
    ):
        prefix = f"{symbol[2:]}," if "_" in symbol else ""
        symbols = [[Symbol(letter, (f"{prefix}{i}{j}",)) for j in n] for i in n]
        sheet.matrix(symbol, entries, symbols, kind=INERTIA)
    if len(n) == 2:
        _characteristic(sheet, straight)
    return Equations(sheet.page(title), subject)


def _characteristic(sheet: Sheet, straight: StraightRunning) -> None:
    """Add the determinant of M s^2 + v C1 s + g K0 + v^2 K2, and what leads from the torque of the
    second coordinate to both.
    """
    v, g = straight.v, straight.subject.parameters["g"]
    parts = [straight.M, straight.C1 * v, straight.K0 * g + straight.K2 * (v * v)]
    (a, b), (c, d) = ([[part[i, j] for part in parts] for j in range(2)] for i in range(2))
    determinant = [x - y for x, y in zip(_product(a, d), _product(b, c), strict=True)]
    sheet.heading("Characteristic polynomial and transfer functions")
    sheet.relate(sheet.quantity(r"\Delta"), _polynomial("a", determinant))
    for k, letter, above in ((1, "b", [-x for x in b]), (2, "d", a)):
        sheet.relate(
            Name(Symbol("G", (str(k),))),
            Quotient(_polynomial(letter, above), sheet.quantity(r"\Delta")),
        )
    sheet.say("From the torque of the second coordinate to the first and to the second.")
    for letter, above in (("a", determinant), ("b", [-x for x in b]), ("d", a)):
        row = [Symbol(letter, (str(len(above) - 1 - k),)) for k in range(len(above))]
        for x, symbol in zip(above, row, strict=True):
            if not is_zero(x):
                sheet.cut.define(x, symbol)
        sheet.keep(row)
    sheet.flush()


def _polynomial(letter: str, coefficients: Sequence[Scalar]) -> Expression:
    """Return a polynomial in s by the names of its coefficients, the highest first."""
    s, terms = name_of("s"), list[Expression]()
    for k, x in zip(reversed(range(len(coefficients))), coefficients, strict=True):
        name = Name(Symbol(letter, (str(k),)))
        power: list[Expression] = [] if k == 0 else [s] if k == 1 else [Power(s, k)]
        if not is_zero(x):
            terms.append(Product((name, *power)) if power else name)
    return Sum(tuple(terms))


def _product(a: Sequence[Scalar], b: Sequence[Scalar]) -> list[Scalar]:
    """Return the coefficients of the product of two polynomials in s."""
    out: list[Scalar] = [0.0] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            if not (is_zero(x) or is_zero(y)):
                out[i + j] = out[i + j] + x * y
    return out


def write_numbers(
    matrices: Mapping[str, Floats],
    states: Sequence[str],
    inputs: Sequence[str],
    title: str,
    digits: int = 6,
) -> Equations:
    """Return a linear system in numbers, `xdot = A x + B w`, with so many digits."""
    x, w = name_of("x"), name_of("w")
    blocks: list[Block] = [
        Heading("Linear system"),
        Relation(
            name_of(r"\dot{x}"), Sum((Product((name_of("A"), x)), Product((name_of("B"), w)))), 1
        ),
        Paragraph(
            (f"States: {', '.join(states)}. Inputs: {', '.join(inputs)}.".replace("_", " "),)
        ),
    ]
    for k, (name, matrix) in enumerate(matrices.items(), start=2):
        rows = [tuple(Number(Fraction(f"{y:.{digits}g}")) for y in row) for row in matrix]
        blocks.append(Assignment(name_of(name), MatrixFormula(tuple(rows)), k))
    return Equations(Page(title, tuple(blocks)))
