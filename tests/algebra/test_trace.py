"""Traced expressions: identities are found, traps are not fallen into, derivatives are exact."""

import math
from collections.abc import Callable
from decimal import Decimal

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draisine.algebra import trace
from draisine.algebra.trace import Expr, Graph, atan2, cos, evaluate, exp, sin, sqrt, tangent, where
from draisine.codegen.program import run_program, trace_program

NAMES = "abcdxyzuvw"


@pytest.fixture
def graph() -> Graph:
    return Graph()


@pytest.fixture
def x(graph: Graph) -> Expr:
    return graph.symbol("x")


@pytest.fixture
def y(graph: Graph) -> Expr:
    return graph.symbol("y")


def same(a: object, b: object) -> bool:
    """Whether two expressions are one node."""
    return isinstance(a, Expr) and isinstance(b, Expr) and a.index == b.index


def at(expression: object, **point: float) -> float:
    return float(evaluate([expression], point)[0])


class TestIdentities:
    def test_symbols_are_one_per_name(self, graph: Graph) -> None:
        assert same(graph.symbol("x"), graph.symbol("x"))
        assert not same(graph.symbol("x"), graph.symbol("y"))

    def test_sums_and_products_commute_and_associate(self, x: Expr, y: Expr) -> None:
        z = x.graph.symbol("z")
        assert same(x + y, y + x)
        assert same((x + y) + z, x + (y + z))
        assert same((x * y) * z, z * (y * x))
        assert same(x * (y + z), x * y + z * x)

    def test_sine_and_cosine_lie_on_the_circle(self, x: Expr) -> None:
        assert cos(x) * cos(x) + sin(x) * sin(x) == 1.0
        assert same(1.0 - sin(x) ** 2, cos(x) * cos(x))
        assert same(2.0 * sin(x) * cos(x), sin(2.0 * x))

    def test_rotations_are_orthogonal(self, x: Expr, y: Expr) -> None:
        def turn(angle: Expr, i: int, j: int) -> np.ndarray:
            R = np.eye(3, dtype=object)
            R[i, i] = R[j, j] = cos(angle)
            R[i, j] = -sin(angle)
            R[j, i] = sin(angle)
            return R

        R = turn(x, 0, 1) @ turn(y, 1, 2) @ turn(x, 0, 2)
        assert (np.eye(3) == R @ R.T).all()

    def test_symmetry(self, graph: Graph) -> None:
        A = np.array([[graph.symbol(f"A{i}{j}") for j in range(3)] for i in range(3)])
        S = A @ A.T
        assert all(same(S[i, j], S[j, i]) for i in range(3) for j in range(3))

    def test_differences_that_vanish(self, x: Expr, y: Expr) -> None:
        assert x - x == 0.0
        assert (x + y) * (x - y) - (x * x - y * y) == 0.0
        assert x / y - x * (1.0 / y) == 0.0
        assert exp(x) * exp(-x) - 1.0 == 0.0
        assert sqrt(x * x + 1.0) ** 2 - x * x - 1.0 == 0.0

    def test_elimination_leaves_exact_zeros(self, graph: Graph) -> None:
        rows = [[graph.symbol(f"m{i}{j}") for j in range(3)] for i in range(2)]
        rows.append([3.0 * a - 0.1 * b for a, b in zip(*rows, strict=True)])
        for k in range(2):
            for i in range(k + 1, 3):
                factor = rows[i][k] / rows[k][k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
        assert rows[2] == [0.0, 0.0, 0.0]

    def test_opposites_become_negations(self, x: Expr, y: Expr) -> None:
        a = x * y - 1.0
        b = 1.0 - y * x
        assert x.graph.ops[b.index] == ("neg", a.index)
        assert same(-b, a)
        assert same(x - -y, x + y)
        assert same(-x - y, -(x + y))

    def test_numbers_are_numbers(self, x: Expr) -> None:
        assert x / x == 1.0
        assert (x + 0.1) - x == 0.1
        assert x * 0.0 == 0.0
        assert same(x * 1.0, x)
        assert same(x + 0.0, x)
        assert same(np.float64(2.0) * x, 2 * x)
        assert same(x * np.float64(0.0) + x, x)

    def test_normal_vectors_have_unit_length(self, x: Expr, y: Expr) -> None:
        z = x.graph.symbol("z")
        size = sqrt(x * x + y * y + z * z)
        n = [x / size, y / size, z / size]
        assert n[0] * n[0] + n[1] * n[1] + n[2] * n[2] == 1.0

    def test_choices_are_the_same_where_they_are_the_same(self, x: Expr, y: Expr) -> None:
        chosen = where(x < y, x, y)
        assert same(chosen, where(x < y, x, y))
        assert chosen - chosen == 0.0
        assert same(2.0 * chosen * 0.5, chosen)


class TestTraps:
    def test_the_root_of_a_square_is_no_identity(self, x: Expr) -> None:
        assert not same(sqrt(x * x), x)
        assert at(sqrt(x * x), x=-2.0) == 2.0
        assert at(sqrt(x * x) / x, x=-2.0) == -1.0

    @pytest.mark.parametrize("first", ["root", "plain"])
    @pytest.mark.parametrize("pair", [(a, b) for a in NAMES[:4] for b in NAMES[4:]])
    def test_roots_of_squares_whose_sign_the_points_miss(
        self, first: str, pair: tuple[str, str]
    ) -> None:
        for make in (lambda a, b: a * b, lambda a, b: a - b, lambda a, b: a + 0.1 * b):
            g = Graph()
            a, b = map(g.symbol, pair)
            if first == "root":
                root = sqrt(make(a, b) * make(a, b))
                plain = None
                plain = make(a, b) * 1.0
            else:
                plain = make(a, b) * 1.0
                root = sqrt(plain * plain)
            for values in [(1.0, 2.0), (-1.0, 2.0), (1.0, -2.0), (-2.0, -1.0), (2.0, 30.0)]:
                point = dict(zip(pair, values, strict=True))
                assert at(root, **point) == pytest.approx(abs(make(*values)), rel=1e-15)
                assert at(plain, **point) == pytest.approx(make(*values), rel=1e-15)
                if make(*values):
                    ratio = root / plain
                    difference = root - plain
                    sign = math.copysign(1.0, make(*values))
                    assert at(ratio, **point) == pytest.approx(sign, rel=1e-15)
                    gap = abs(make(*values)) - make(*values)
                    assert at(difference, **point) == pytest.approx(gap, abs=1e-14)

    def test_even_powers_have_roots_without_signs(self, x: Expr, y: Expr) -> None:
        square = x * x
        assert same(sqrt(square * square), square)
        assert same(sqrt(sqrt(y * y + 1.0) ** 2), sqrt(y * y + 1.0))

    def test_roots_that_do_not_exist_at_the_points(self, x: Expr, y: Expr) -> None:
        assert at(sqrt(x) * sqrt(x), x=2.0) == pytest.approx(2.0)
        assert not same(sqrt(x), sqrt(y))
        assert same(sqrt(x), sqrt(x))

    def test_branches_are_not_merged(self, x: Expr, y: Expr) -> None:
        small = where(x < y, x, y)
        large = where(x < y, y, x)
        assert not same(small, large)
        for a, b in [(1.0, 2.0), (2.0, 1.0), (-1.0, -2.0), (1.0, -1.0)]:
            assert at(small, x=a, y=b) == min(a, b)
            assert at(large, x=a, y=b) == max(a, b)
            assert at(large - small, x=a, y=b) == abs(a - b)

    def test_absolute_value_is_not_its_argument(self, x: Expr) -> None:
        size = where(x < 0.0, -x, x)
        assert not same(size, x)
        assert not same(size, sqrt(x * x))
        assert at(size, x=-3.0) == at(size, x=3.0) == 3.0

    def test_comparisons_are_not_numbers_yet(self, x: Expr, y: Expr) -> None:
        assert isinstance(x < y, Expr)
        assert isinstance((x < y) - (y < x), Expr)
        assert at(x > y, x=2.0, y=1.0) == 1.0
        assert at(x < y, x=1.0, y=1.0) == 0.0

    def test_angles_are_not_merged(self, x: Expr, y: Expr) -> None:
        assert not same(atan2(x, y), atan2(-x, -y))
        assert not same(atan2(sin(x), cos(x)), x)
        assert at(atan2(sin(x), cos(x)), x=4.0) == pytest.approx(4.0 - 2 * math.pi)

    def test_small_numbers_do_not_vanish(self, x: Expr) -> None:
        assert at((1.0 + 1e-20 * x) - 1.0 - 1e-20 * x + x, x=3.0) == pytest.approx(3.0)
        assert isinstance(1e-30 * x, Expr)
        assert at(1e-30 * x - 1e-30 * x * x, x=2.0) == pytest.approx(-2e-30)

    @pytest.mark.parametrize("order", [20, 30, 36, 60])
    def test_a_term_beside_a_huge_term_is_kept(self, x: Expr, y: Expr, order: int) -> None:
        """Far away from the random points, the larger term may be zero."""
        huge = 10.0**order * x
        for total, expected in [(huge + y, 3.0), (y - huge, 3.0), ((huge + y) - huge, 3.0)]:
            assert isinstance(total, Expr)
            assert at(total, x=0.0, y=3.0) == expected
        assert not same(huge + y, huge)
        assert not same(huge + y, huge + 2.0 * y)
        assert same(huge + y, y + huge)

    def test_an_iteration_that_diverges_at_the_random_points(self, x: Expr, y: Expr) -> None:
        """z = 100 z^2 + x is 1e62 there; from x = 0 it stays at zero."""
        z = x
        for _ in range(5):
            z = z * z * 1e2 + x
        assert at(z + y, x=0.0, y=3.0) == 3.0
        assert at((z + y) * y - z * y, x=0.0, y=3.0) == 9.0

    @pytest.mark.parametrize("scale", [1e8, -1e8])
    def test_narrow_bells_and_steep_walls(self, x: Expr, scale: float) -> None:
        wall = exp(scale * x)
        bell = exp(-abs(scale) * x * x)
        assert at(wall * wall, x=1e-9) == pytest.approx(math.exp(2e-9 * scale))
        assert at(bell, x=1e-4) == pytest.approx(math.exp(-1.0))
        assert not same(wall, bell)

    def test_numbers_in_their_own_right_stay_apart(self, x: Expr) -> None:
        assert isinstance(x * (0.1 * 3.0) - x * 0.3, Expr)  # 0.1 * 3.0 is not 0.3

    def test_only_parameters_are_hoisted(self, graph: Graph, x: Expr) -> None:
        p = graph.symbol("p", parameter=True)
        q = graph.symbol("q", parameter=True)
        late = (p + x) - (x + q)
        difference = q - p
        assert not late.fixed
        inputs = {"parameters": [p, q], "x": [x]}
        program = trace_program("f", inputs, {"y": [difference, difference * x, late]})
        for step, fixed in zip(program.steps, program.fixed, strict=True):
            if fixed and step[0] not in ("input", "const"):
                assert all(program.fixed[k] for k in step[1:])
        found = run_program(program, parameters=np.array([2.0, 5.0]), x=np.array([7.0]))["y"]
        assert found == pytest.approx([3.0, 21.0, -3.0])

    def test_a_symbol_that_is_no_input(self, graph: Graph, x: Expr) -> None:
        with pytest.raises(ValueError, match=r"'y' is not among the inputs"):
            trace_program("f", {"x": [x]}, {"z": [x + graph.symbol("y")]})

    def test_comparisons_are_numbers_in_programs(self, x: Expr, y: Expr) -> None:
        low = x < y
        program = trace_program("f", {"x": [x, y]}, {"z": [low, -low, low - (y < x)]})
        found = run_program(program, x=np.array([[1.0, 2.0], [2.0, 1.0]]))["z"]
        assert found.dtype == np.float64
        assert found.tolist() == [[1.0, 0.0], [-1.0, 0.0], [1.0, -1.0]]


Function = Callable[..., object]
CASES: dict[str, tuple[Function, Function]] = {
    "sum": (lambda x, y: x + 2.0 * y, lambda x, y: x + 2 * y),
    "difference": (lambda x, y: x - 3.0 * y, lambda x, y: x - 3 * y),
    "product": (lambda x, y: x * y * x, lambda x, y: x * y * x),
    "quotient": (lambda x, y: x / y, lambda x, y: x / y),
    "negation": (lambda x, y: -(x * y), lambda x, y: -(x * y)),
    "inverse": (lambda x, y: 1.0 / (x * y), lambda x, y: 1 / (x * y)),
    "sqrt": (lambda x, y: sqrt(x * x + y * y), lambda x, y: mpmath.sqrt(x * x + y * y)),
    "sin": (lambda x, y: sin(x * y), lambda x, y: mpmath.sin(x * y)),
    "cos": (lambda x, y: cos(x - y), lambda x, y: mpmath.cos(x - y)),
    "exp": (lambda x, y: exp(x * y), lambda x, y: mpmath.exp(x * y)),
    "atan2": (lambda x, y: atan2(x, y * y), lambda x, y: mpmath.atan2(x, y * y)),
    "where": (
        lambda x, y: where(x * y < 0.0, sin(x) * y, x * x),
        lambda x, y: mpmath.sin(x) * y if x * y < 0 else x * x,
    ),
    "all": (
        lambda x, y: exp(sin(x) / (1.0 + y * y)) * atan2(sqrt(2.0 + cos(x)), y),
        lambda x, y: (
            mpmath.exp(mpmath.sin(x) / (1 + y * y))
            * mpmath.atan2(mpmath.sqrt(2 + mpmath.cos(x)), y)
        ),
    ),
}
POINTS = [(0.7, 1.3), (-0.4, 0.9), (1.1, -0.6), (-1.2, -0.8)]


class TestTangent:
    @pytest.mark.parametrize("name", CASES)
    @pytest.mark.parametrize("point", POINTS)
    def test_against_differentiation_in_high_precision(
        self, name: str, point: tuple[float, float], x: Expr, y: Expr
    ) -> None:
        traced, exact = CASES[name]
        direction = (0.3, -1.7)
        (rate,) = tangent([traced(x, y)], {"x": direction[0], "y": direction[1]})
        with mpmath.workdps(40):
            start = [mpmath.mpf(p) for p in point]
            along = [mpmath.mpf(d) for d in direction]
            expected = mpmath.diff(
                lambda s: exact(*[p + s * d for p, d in zip(start, along, strict=True)]), 0
            )
        assert at(rate, x=point[0], y=point[1]) == pytest.approx(float(expected), rel=1e-13)

    def test_closed_forms(self, x: Expr, y: Expr) -> None:
        rate = lambda f: tangent([f], {"x": 1.0})[0]  # noqa: E731
        assert same(rate(sin(x)), cos(x))
        assert same(rate(cos(x)), -sin(x))
        assert same(rate(exp(x)), exp(x))
        assert same(rate(x * x * y), 2.0 * x * y)
        assert same(rate(1.0 / x), -1.0 / (x * x))
        assert same(rate(atan2(x, y)), y / (x * x + y * y))
        assert same(rate(sqrt(x * x + 1.0)), x / sqrt(x * x + 1.0))
        assert rate(y * y) == 0.0
        assert rate(x < y) == 0.0
        assert rate(2.5) == 0.0

    def test_chain_of_symbols(self, graph: Graph, x: Expr) -> None:
        v = graph.symbol("v")
        a = graph.symbol("a")
        height = cos(x)
        (first,) = tangent([height], {"x": v})
        (second,) = tangent([first], {"x": v, "v": a})
        assert same(second, -(cos(x) * v * v) - sin(x) * a)

    def test_the_branch_not_taken_does_no_harm(self, x: Expr) -> None:
        (rate,) = tangent([where(x < 0.0, 0.0, sqrt(x))], {"x": 1.0})
        program = trace_program("f", {"x": [x]}, {"y": [rate]})
        with np.errstate(all="ignore"):
            assert run_program(program, x=np.array([-4.0]))["y"].tolist() == [0.0]
            assert run_program(program, x=np.array([4.0]))["y"].tolist() == [0.25]

    def test_numbers_alone(self) -> None:
        assert tangent([1.0, 2.0], {"x": 1.0}) == [0.0, 0.0]


class TestEvaluation:
    def test_numbers_alone(self) -> None:
        assert evaluate([1.0, 2], {}).tolist() == [1.0, 2.0]

    def test_reference_and_evaluation_agree(self, x: Expr, y: Expr) -> None:
        expressions = [traced(x, y) for traced, _ in CASES.values()]
        program = trace_program("f", {"x": [x, y]}, {"z": expressions})
        for a, b in POINTS:
            found = evaluate(expressions, {"x": a, "y": b})
            assert run_program(program, x=np.array([a, b]))["z"] == pytest.approx(found, rel=1e-15)


FORMULA = st.recursive(
    st.sampled_from(["x", "y", "z", 1.0, -0.5, 3.0]),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["+", "-", "*", "/", "atan2", "where"]), inner, inner),
        st.tuples(st.sampled_from(["sin", "cos", "sqrt", "neg", "abs"]), inner),
    ),
    max_leaves=12,
)


def build(formula: object, algebra: object, leaves: dict[str, object]) -> object:
    """Return a formula in an algebra, safe from divisions by zero and roots of negatives."""
    if not isinstance(formula, tuple):
        return leaves.get(formula, formula)  # type: ignore[call-overload]
    op, *rest = formula
    args = [build(f, algebra, leaves) for f in rest]
    a = args[0]
    b = args[-1]
    match op:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "/":
            return a / (b * b + 1.5)
        case "neg":
            return -a
        case "sqrt":
            return algebra.sqrt(a * a)
        case "abs":
            return algebra.where(a < 0.0, -a, a)
        case "where":
            return algebra.where(a < b, a + 1.0, b)
        case "atan2":
            return algebra.atan2(a, b * b + 0.5)
    return getattr(algebra, op)(a)


class InMpmath:
    sin = mpmath.sin
    cos = mpmath.cos
    sqrt = mpmath.sqrt
    atan2 = mpmath.atan2

    @staticmethod
    def where(condition: bool, yes: object, no: object) -> object:
        return yes if condition else no


class InTrace:
    """The traced functions, on numbers too."""

    @staticmethod
    def where(condition: object, yes: object, no: object) -> object:
        if isinstance(condition, Expr):
            return where(condition, yes, no)
        return yes if condition else no

    @staticmethod
    def atan2(a: object, b: object) -> object:
        either = isinstance(a, Expr) or isinstance(b, Expr)
        return atan2(a, b) if either else math.atan2(a, b)  # type: ignore[arg-type]

    sin = staticmethod(lambda a: sin(a) if isinstance(a, Expr) else math.sin(a))
    cos = staticmethod(lambda a: cos(a) if isinstance(a, Expr) else math.cos(a))
    sqrt = staticmethod(lambda a: sqrt(a) if isinstance(a, Expr) else math.sqrt(a))


@settings(max_examples=150, deadline=None)
@given(FORMULA, st.tuples(*[st.floats(-2.0, 2.0).map(lambda v: round(v, 3))] * 3))
def test_any_formula_keeps_its_value(formula: object, point: tuple[float, float, float]) -> None:
    graph = trace.Graph()
    traced = build(formula, InTrace, {name: graph.symbol(name) for name in "xyz"})
    if not isinstance(traced, Expr):
        return
    found = at(traced, **dict(zip("xyz", point, strict=True)))
    with mpmath.workdps(50):
        numbers = dict(zip("xyz", map(mpmath.mpf, point), strict=True))
        expected = float(build(formula, InMpmath, numbers))
    assert found == pytest.approx(expected, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("name", ["sin", "cos", "exp"])
def test_sampled_functions_are_those_of_mpmath(name):
    """To 49 digits, from 1e-3 to 1e8 (exp: to 1e2)."""
    rng = np.random.default_rng(5)
    sizes = 10.0 ** rng.uniform(-3, 2 if name == "exp" else 8, 50)
    with mpmath.workdps(80):
        for x in sizes * rng.choice([-1.0, 1.0], 50):
            ours = mpmath.mpf(str(trace._SAMPLED[name](Decimal(float(x)))))
            theirs = getattr(mpmath, name)(mpmath.mpf(x))
            assert abs(ours - theirs) <= mpmath.mpf("1e-48") * abs(theirs)
