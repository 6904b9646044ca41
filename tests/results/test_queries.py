"""Series and scalar queries of a run by name."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.errors import DataError, ParameterError
from draisine.model.quantity import parse_number
from draisine.results.bodies import Bodies, restore_model
from draisine.results.quantities import DERIVED_QUANTITIES
from draisine.results.queries import (
    SeriesQuery,
    evaluate_series,
    first_crossings,
    known_series,
    parse_query,
    series_unit,
    stored_series,
)
from draisine.vehicles.bicycle.whipple import whipple

MODEL = whipple()


@pytest.fixture(scope="module")
def bodies():
    bicycle = draisine.compile("whipple")
    start = draisine.state(bicycle, lean=0.15, steer=-0.1, forward_speed=5.0, lean_rate=0.2)
    data = draisine.simulate(
        bicycle, start, until=0.5, numerics=draisine.Numerics(dt=0.001, rtol=1e-12)
    ).to_xarray()
    return Bodies(data, restore_model(data))


def test_numbers_with_units_are_parsed():
    assert parse_number("18deg") == pytest.approx(np.radians(18.0), rel=1e-15)
    assert parse_number(" -1.5e1 deg ") == pytest.approx(np.radians(-15.0), rel=1e-15)
    assert parse_number(3) == 3.0
    assert parse_number("3.5", "kg") == 3.5
    for wrong in ("18 degrees", "", "pi", True, None, [1.0], float("nan"), float("inf")):
        with pytest.raises(ValueError, match="not a"):
            parse_number(wrong)
    with pytest.raises(ValueError, match="is an angle, but this is in kg"):
        parse_number("18deg", "kg")
    assert parse_number("18deg", "rad/s") == pytest.approx(np.radians(18.0))


def test_every_stored_variable_is_a_series(bodies):
    assert {*map(str, bodies.data.data_vars), "time"} == set(stored_series(MODEL))
    for name, labels in stored_series(MODEL).items():
        text = f"{name}[{', '.join(x[-1] for x in labels)}]" if labels else name
        assert evaluate_series(text, bodies).shape == bodies.data["time"].shape


def test_every_series_is_finite_and_has_a_unit(bodies):
    for name, labels in known_series(MODEL).items():
        if name == "control_state":
            continue
        text = f"{name}[{', '.join(x[0] for x in labels)}]" if labels else name
        assert np.isfinite(evaluate_series(text, bodies)).all(), text
        series_unit(text, MODEL)
    assert series_unit("inputs[steer]", MODEL) == "N m"
    assert series_unit("steer_acceleration", MODEL) == "rad/s2"
    assert set(DERIVED_QUANTITIES) <= set(known_series(MODEL))


@pytest.mark.parametrize("wheel", ["rear", "front"])
@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_velocities_and_accelerations_are_derivatives(bodies, wheel, axis):
    t = bodies.data["time"].values
    for name, rate in (
        ("wheel_centre", "wheel_centre_velocity"),
        ("wheel_centre_velocity", "wheel_centre_acceleration"),
    ):
        slope = np.gradient(evaluate_series(f"{name}[{wheel}, {axis}]", bodies), t, edge_order=2)
        assert_allclose(slope, evaluate_series(f"{rate}[{wheel}, {axis}]", bodies), atol=1e-3)


@pytest.mark.parametrize("angle", ["yaw", "lean", "pitch", "steer", "rear_wheel"])
def test_angle_accelerations_are_derivatives_of_rates(bodies, angle):
    t = bodies.data["time"].values
    slope = np.gradient(evaluate_series(f"{angle}_rate", bodies), t, edge_order=2)
    assert_allclose(slope, evaluate_series(f"{angle}_acceleration", bodies), atol=1e-3)


@pytest.mark.parametrize("wheel", ["rear", "front"])
def test_curvatures_match_finite_differences_of_the_paths(bodies, wheel):
    t = bodies.data["time"].values
    track = bodies.data["contact_point"].sel(contact=wheel).values
    hub = np.stack([evaluate_series(f"wheel_centre[{wheel}, {a}]", bodies) for a in "xy"], axis=1)
    for path, name in ((track, "track_curvature"), (hub, "path_curvature")):
        v = np.gradient(path[:, :2], t, axis=0, edge_order=2)
        a = np.gradient(v, t, axis=0, edge_order=2)
        expected = (v[:, 0] * a[:, 1] - v[:, 1] * a[:, 0]) / np.hypot(v[:, 0], v[:, 1]) ** 3
        inside = slice(3, -3)
        assert_allclose(
            evaluate_series(f"{name}[{wheel}]", bodies)[inside], expected[inside], atol=1e-4
        )


def test_formulations_agree_along_a_run(bodies):
    assert evaluate_series("formulation_difference", bodies).max() < 1e-11


def test_queries_are_parsed():
    assert parse_query("maximum contact_force[rear, normal]", MODEL) == SeriesQuery(
        "contact_force[rear, normal]", "maximum"
    )
    assert parse_query("relative spread of energy", MODEL).reducer == "relative spread of"
    assert parse_query("time when lean = 45deg", MODEL).level == pytest.approx(np.pi / 4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("final laen", "Did you mean 'lean'?"),
        ("finale lean", "Did you mean 'final'?"),
        ("position", "write 'position\\[x\\]'"),
        ("position[w]", "no 'w'"),
        ("lean[x]", "write 'lean' alone"),
        ("contact_force[rear]", "has 2 labels"),
        ("time when lean = often", "is not a number"),
        ("wheel centre!", "is not a query"),
        ("lean-rate", "is not a quantity"),
        ("lean", "'final lean'"),
    ],
)
def test_wrong_queries_raise_with_advice(text, message):
    with pytest.raises(ParameterError, match=message):
        parse_query(text, MODEL)


def test_reducers_match_numpy(bodies):
    t = bodies.data["time"].values
    lean = bodies.data["lean"].values
    values = {
        "initial lean": lean[0],
        "final lean": lean[-1],
        "maximum lean": lean.max(),
        "minimum lean": lean.min(),
        "peak lean": np.abs(lean).max(),
        "spread of lean": np.ptp(lean),
        "relative spread of lean": np.ptp(lean) / lean[0],
        "time of maximum lean": t[np.argmax(lean)],
        "time of minimum lean": t[np.argmin(lean)],
        "mean time": 0.25,
    }
    for text, expected in values.items():
        assert_allclose(parse_query(text, MODEL).evaluate(bodies), expected, rtol=1e-12)


def test_first_crossings_match_closed_forms():
    t = np.linspace(0.0, 3.0, 61)
    assert_allclose(first_crossings(t[None], np.cos(t[None])), np.pi / 2, atol=1e-6)
    assert_allclose(first_crossings(t[None], np.exp(t[None]) - 2.0), np.log(2.0), atol=1e-6)
    assert first_crossings(t[None], t[None]) == 0.0
    assert np.isnan(first_crossings(t[None], t[None] + 1.0))
    assert_allclose(first_crossings(t[None, :3], t[None, :3] - 0.07), 0.07, atol=1e-12)


def test_a_run_without_laws_has_no_control_states(bodies):
    with pytest.raises(ParameterError, match="no 'control_state'"):
        evaluate_series("control_state[0]", bodies)


def test_a_dataset_without_a_vehicle_is_refused(bodies):
    unnamed = bodies.data.copy()
    unnamed.attrs = {}
    with pytest.raises(DataError, match="does not name its vehicle"):
        restore_model(unnamed)
    unnamed.attrs = {"vehicle": "cart", "parameters": "{}"}
    with pytest.raises(DataError, match="cannot be compiled again"):
        restore_model(unnamed)
