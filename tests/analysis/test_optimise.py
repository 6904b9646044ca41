"""Designs by exact gradients, compared with known optima."""

import numpy as np
import pytest

import draisine
from draisine import ContactOptions, gradient, optimise
from draisine.analysis.bicycle.sensitivity import stable_range
from draisine.errors import ConfigurationError, ParameterError
from draisine.terrain import plane


def test_optimised_restitution_yields_the_prescribed_height():
    """The ball falls for one metre and is at a given height after 0.7 s: z = e v s - g s^2 / 2 in closed
    form determines the restitution e.
    """
    ball = draisine.compile("ball")
    g = 9.81
    wanted = 0.4
    start = {"mode": {"ground": "open"}, "z": 1.0}

    def miss(at):
        bounce = ContactOptions(impact="newton", restitution={"normal": at["e"]})
        found = gradient(
            ball, start, [0.7], ["z"], ["restitution.normal"], terrain=plane(), contact=bounce
        )
        left = found.values[0, 0] - wanted
        return left**2, {"e": 2 * left * found.derivatives[0, 0, 0]}

    found = optimise(miss, {"e": 0.9}, {"e": (0.3, 0.95)}, target=1e-16)
    s = 0.7 - np.sqrt(2 / g)
    assert found.values["e"] == pytest.approx(
        (wanted + g * s**2 / 2) / (s * np.sqrt(2 * g)), abs=1e-7
    )
    assert found.cost <= 1e-16


def test_the_stable_range_has_the_derivatives_of_differences():
    bicycle = draisine.compile("whipple")
    h = 1e-5
    width, slopes = stable_range(bicycle)
    assert width == pytest.approx(
        6.024262015388 - 4.292382536341, abs=1e-10
    )  # Meijaard et al. 2007
    for name in ("c", "xB"):
        ends = [
            stable_range(bicycle.with_parameters(**{name: bicycle.parameters[name] + d}))[0]
            for d in (h, -h)
        ]
        assert slopes[name] == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-6)


def test_the_search_continues_after_infeasible_parameters():
    """A cost that exists on one side alone; its least value is at the edge of it."""

    def cost(at):
        if at["x"] > 0.7:
            raise ConfigurationError("no such machine.")
        return (at["x"] - 0.6) ** 2, {"x": 2 * (at["x"] - 0.6)}

    assert optimise(cost, {"x": 0.1}, {"x": (0.0, 5.0)}).values["x"] == pytest.approx(0.6, abs=1e-6)
    with pytest.raises(ConfigurationError, match="no such machine"):
        optimise(cost, {"x": 2.0}, {"x": (0.0, 5.0)})


@pytest.mark.parametrize(
    ("start", "bounds", "message"),
    [
        ({}, {"x": (0.0, 1.0)}, "'x' has bounds, but no initial value"),
        ({"x": 2.0}, {"x": (0.0, 1.0)}, "start of 'x', 2.0, is not between its bounds 0.0 and 1.0"),
    ],
)
def test_start_outside_its_bounds_is_refused(start, bounds, message):
    with pytest.raises(ParameterError, match=message):
        optimise(lambda at: (0.0, {"x": 0.0}), start, bounds)


@pytest.mark.parametrize("bound", [float("nan"), float("inf"), "x", None, 10**400])
def test_bounds_are_finite_numbers(bound):
    with pytest.raises(
        ParameterError, match=r"start 0.5 and the bounds .* of 'x' must be finite numbers"
    ):
        optimise(lambda at: (0.0, {"x": 0.0}), {"x": 0.5}, {"x": (0.0, bound)})


@pytest.mark.parametrize(
    "result",
    [(float("nan"), {"x": 1.0}), (1.0, {"x": float("nan")}), (1.0, {}), 1.0, ("x", {"x": 1.0})],
)
def test_invalid_cost_at_the_start_is_refused(result):
    """An infinite initial cost must not be returned as the optimum."""
    with pytest.raises(ParameterError, match=r"optimise: .*At \{'x': 0.5\}"):
        optimise(lambda at: result, {"x": 0.5}, {"x": (0.0, 1.0)})


def test_search_returns_from_values_with_infinite_cost():
    def cost(at):
        x = at["x"]
        return ((x - 0.6) ** 2 if x < 0.7 else float("nan")), {"x": 2 * (x - 0.6)}

    found = optimise(cost, {"x": 0.1}, {"x": (0.0, 5.0)})
    assert found.values["x"] == pytest.approx(0.6, abs=1e-6)
    assert found.slope < 1e-5


def test_interrupted_search_has_a_large_slope():
    """The cost decreases up to the border of feasible values, where its slope is not zero."""

    def cost(at):
        if at["x"] > 0.7:
            raise ConfigurationError("no such machine.")
        return 1.0 - at["x"], {"x": -1.0}

    assert optimise(cost, {"x": 0.1}, {"x": (0.0, 5.0)}).slope == pytest.approx(5.0 / 0.9)
    free = optimise(lambda at: (1.0 - at["x"], {"x": -1.0}), {"x": 0.1}, {"x": (0.0, 5.0)})
    assert (free.values["x"], free.slope) == (5.0, 0.0)


ORIGIN = {"x": 0.0, "y": 0.0}
SQUARE = {"x": (-2.0, 2.0), "y": (-2.0, 2.0)}


class TestConstraints:
    """The point of the disc x^2 + y^2 <= 1 that is closest to (2, 1): (2, 1) / sqrt(5)."""

    @staticmethod
    def distance(at):
        dx, dy = at["x"] - 2.0, at["y"] - 1.0
        return dx**2 + dy**2, {"x": 2.0 * dx, "y": 2.0 * dy}

    @staticmethod
    def disc(at):
        return at["x"] ** 2 + at["y"] ** 2 - 1.0, {"x": 2.0 * at["x"], "y": 2.0 * at["y"]}

    def test_an_active_constraint(self):
        found = optimise(self.distance, ORIGIN, SQUARE, constraints={"disc": self.disc})
        assert found.values["x"] == pytest.approx(2 / np.sqrt(5), abs=1e-5)
        assert found.cost == pytest.approx((np.sqrt(5) - 1) ** 2, abs=1e-5)
        assert found.active == ("disc",)
        assert found.constraints["disc"] <= 1e-6
        assert found.slope < 1e-4

    def test_an_inactive_constraint(self):
        def wide(at):
            value, slopes = self.disc(at)
            return value - 24.0, slopes

        found = optimise(self.distance, ORIGIN, SQUARE, constraints={"disc": wide})
        assert found.values["y"] == pytest.approx(1.0, abs=1e-4)
        assert found.active == ("x",)  # the minimum is at the bound x = 2

    def test_no_feasible_values(self):
        def never(at):
            return 1.0 + at["x"] ** 2, {"x": 2.0 * at["x"], "y": 0.0}

        with pytest.raises(ConfigurationError, match="no values satisfy the constraints never"):
            optimise(self.distance, ORIGIN, SQUARE, constraints={"never": never})
