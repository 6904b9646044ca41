"""Second-order forward differentiation for any scalar type: values with first and second directional
derivatives.
"""

from collections.abc import Callable, Sequence
from typing import Any

from draisine.algebra import scalar
from draisine.algebra.scalar import Scalar, is_zero


class Jet:
    """Truncated Taylor series x + x1 e + x2 e^2 / 2 in a parameter e."""

    __slots__ = ("x", "x1", "x2")

    def __init__(self, x: Scalar, x1: Scalar = 0.0, x2: Scalar = 0.0) -> None:
        self.x = x
        self.x1 = x1
        self.x2 = x2

    def __add__(self, other: Any) -> "Jet":
        o = _as_jet(other)
        return Jet(self.x + o.x, self.x1 + o.x1, self.x2 + o.x2)

    __radd__ = __add__

    def __neg__(self) -> "Jet":
        return Jet(-self.x, -self.x1, -self.x2)

    def __sub__(self, other: Any) -> "Jet":
        return self + -_as_jet(other)

    def __rsub__(self, other: Any) -> "Jet":
        return -self + other

    def __mul__(self, other: Any) -> "Jet":
        o = _as_jet(other)
        x1 = _multiply_structurally(self.x1, o.x) + _multiply_structurally(self.x, o.x1)
        x2 = (
            _multiply_structurally(self.x2, o.x)
            + 2.0 * _multiply_structurally(self.x1, o.x1)
            + _multiply_structurally(self.x, o.x2)
        )
        return Jet(self.x * o.x, x1, x2)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> "Jet":
        return self * _as_jet(other).inverse()

    def __rtruediv__(self, other: Any) -> "Jet":
        return self.inverse() * other

    def __pow__(self, power: int) -> "Jet":
        if power < 0:
            return self.inverse() ** -power
        out = self if power > 0 else Jet(1.0)
        for _ in range(power - 1):
            out = out * self
        return out

    def __lt__(self, other: Any) -> Any:
        return self.x < _as_jet(other).x

    def __gt__(self, other: Any) -> Any:
        return self.x > _as_jet(other).x

    def inverse(self) -> "Jet":
        """Return the reciprocal 1 / x as a jet."""
        y = 1.0 / self.x
        return self.apply_chain_rule(y, -(y * y), 2.0 * y * y * y)

    def apply_chain_rule(self, f: Scalar, f1: Scalar, f2: Scalar) -> "Jet":
        """Return the jet of f(x) by the chain rule, from the value f and the derivatives f1 and f2 of the
        function at x.
        """
        return Jet(
            f,
            _multiply_structurally(f1, self.x1),
            _multiply_structurally(f1, self.x2) + _multiply_structurally(f2, self.x1 * self.x1),
        )

    @staticmethod
    def apply(function: str, *xs: Any) -> "Jet":
        """Return the result of a function of `draisine.algebra.scalar`, given by its name, for jets as
        arguments.
        """
        return _JET_FUNCTIONS[function](*(_as_jet(x) for x in xs))

    @staticmethod
    def choose_jet(condition: Scalar, yes: Any, no: Any) -> "Jet":
        """Return `yes` if the condition is true, otherwise `no`, each with its derivatives."""
        pairs = ((getattr(_as_jet(yes), k), getattr(_as_jet(no), k)) for k in Jet.__slots__)
        return Jet(*(scalar.where(condition, a, b) for a, b in pairs))


def _as_jet(x: Any) -> Jet:
    """Return a jet unchanged, and any other scalar as a jet with zero derivatives."""
    return x if isinstance(x, Jet) else Jet(x)


def _multiply_structurally(a: Scalar, b: Scalar) -> Scalar:
    """Return the product a b; it is zero if a factor is structurally zero, even if the other one is
    infinite.
    """
    return 0.0 if is_zero(a) or is_zero(b) else a * b


def _sin(x: Jet) -> Jet:
    """Return the sine of a jet by the chain rule."""
    s = scalar.sin(x.x)
    c = scalar.cos(x.x)
    return x.apply_chain_rule(s, c, -s)


def _cos(x: Jet) -> Jet:
    """Return the cosine of a jet by the chain rule."""
    s = scalar.sin(x.x)
    c = scalar.cos(x.x)
    return x.apply_chain_rule(c, -s, -c)


def _sqrt(x: Jet) -> Jet:
    """Return the square root of a jet by the chain rule."""
    y = scalar.sqrt(x.x)
    return x.apply_chain_rule(y, 0.5 / y, -0.25 / (y * x.x))


def _exp(x: Jet) -> Jet:
    """Return the exponential of a jet by the chain rule."""
    y = scalar.exp(x.x)
    return x.apply_chain_rule(y, y, y)


def _atan2(y: Jet, x: Jet) -> Jet:
    """Return the angle of (x, y); its first derivative is (x y1 - y x1) / (x^2 + y^2), and the second
    derivative follows by the quotient rule.
    """
    square = x * x + y * y
    turn = _multiply_structurally(x.x, y.x1) - _multiply_structurally(y.x, x.x1)
    turned = _multiply_structurally(x.x, y.x2) - _multiply_structurally(y.x, x.x2)
    return Jet(
        scalar.atan2(y.x, x.x),
        turn / square.x,
        turned / square.x - _multiply_structurally(turn, square.x1) / (square.x * square.x),
    )


_JET_FUNCTIONS: dict[str, Callable[..., Jet]] = {
    "sin": _sin,
    "cos": _cos,
    "sqrt": _sqrt,
    "exp": _exp,
    "atan2": _atan2,
}


def jet_gradient(value: Callable[..., Scalar], x: Sequence[Scalar]) -> list[Scalar]:
    """Return the partial derivatives of the function `value` at x, one per argument.

    >>> jet_gradient(lambda a, b: a * a * b, [3.0, 2.0])
    [12.0, 9.0]
    """
    return [
        _as_jet(value(*(Jet(y, float(i == k)) for i, y in enumerate(x)))).x1 for k in range(len(x))
    ]


def second_rate(
    value: Callable[..., Scalar], x: Sequence[Scalar], xdot: Sequence[Scalar]
) -> Scalar:
    """Return the second time derivative of the function `value` at x if its arguments change at constant
    rates xdot.

    >>> second_rate(lambda a, b: a * a * b, [3.0, 2.0], [1.0, 1.0])
    16.0
    """
    return _as_jet(value(*(Jet(y, rate) for y, rate in zip(x, xdot, strict=True)))).x2
