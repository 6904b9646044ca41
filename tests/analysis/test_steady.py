"""Steady motions against closed forms and families."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine import compile
from draisine.analysis.continuation import family, steady_turns
from draisine.analysis.equilibrium import Steady, steady
from draisine.analysis.equilibrium.balance import Balance
from draisine.errors import ConfigurationError, ParameterError

BICYCLE = compile("whipple")
MOTORCYCLE = compile("motorcycle")
DRIVEN = ("steer", "rear_wheel")
P = BICYCLE.parameters
MASS = P["mR"] + P["mB"] + P["mH"] + P["mF"]


def quantities(point: Steady, names: tuple[str, ...]) -> dict[str, float]:
    balance = Balance(point.machine, point.y, point.w, [])
    values, _ = balance.quantities(balance.evaluate(point.y, point.w), point.y, point.w, names)
    return dict(zip(names, map(float, values), strict=True))


def residual(point: Steady) -> float:
    """Return the largest residual of the steady motion's equations, by a chart chosen there."""
    balance = Balance(point.machine, point.y, point.w, [])
    asked = {"forward_acceleration": point.acceleration}
    return float(np.abs(balance.equations(point.y, point.w, asked)[0]).max())


@pytest.mark.parametrize("slope", [-0.3, 0.05, 0.08, 0.15, 0.3])
@pytest.mark.parametrize("free", [("rear_wheel",), DRIVEN])
def test_straight_uphill(slope: float, free: tuple[str, ...]) -> None:
    """The power of the drive torque lifts the weight, and the ground carries the rest of it."""
    found = steady(compile("whipple", slope=slope), free=free, forward_speed=5.0)
    assert_allclose(
        found.inputs["rear_wheel"], MASS * P["g"] * math.sin(slope) * P["rR"], rtol=1e-10
    )
    assert_allclose([found.values[n] for n in ("lean", "steer", "yaw")], 0.0, atol=1e-12)
    normal = sum(force[0] for force in found.contact_forces.values())
    assert_allclose(normal, MASS * P["g"] * math.cos(slope), rtol=1e-12)


@pytest.mark.parametrize("a", [-3.0, 2.0])
def test_straight_braking_and_accelerating(a: float) -> None:
    """Newton's law with spinning wheels, and the load that moves from wheel to wheel."""
    found = steady(
        BICYCLE, free=["rear_wheel"], forward_speed=5.0, lean=0.0, forward_acceleration=a
    )
    spin = P["IRyy"] / P["rR"] ** 2 + P["IFyy"] / P["rF"] ** 2
    assert_allclose(found.inputs["rear_wheel"], (MASS + spin) * a * P["rR"], rtol=1e-12)
    level = steady(BICYCLE, forward_speed=5.0)
    moved = found.contact_forces["front"][0] - level.contact_forces["front"][0]
    heights = P["mR"] * P["rR"] - P["mB"] * P["zB"] - P["mH"] * P["zH"] + P["mF"] * P["rF"]
    couple = heights + P["IRyy"] / P["rR"] + P["IFyy"] / P["rF"]
    assert_allclose(moved, -a * couple / P["w"], rtol=1e-10)


def test_quasi_steady_turns_brake_as_runs_do() -> None:
    """At the start of a run all speeds change in proportion, as prescribed."""
    found = steady(MOTORCYCLE, free=DRIVEN, forward_speed=15.0, lean=0.3, forward_acceleration=-3.0)
    run = found.simulate(2e-3).to_xarray()
    rates = run["accelerations"].isel(time=0)
    assert_allclose(rates, run["speeds"].isel(time=0) * (-3.0 / 15.0), atol=1e-8)
    slope = (run.forward_speed[-1] - run.forward_speed[0]) / float(run.time[-1])
    assert_allclose(slope, -3.0, rtol=1e-3)


@pytest.fixture(scope="module")
def turns() -> Any:
    """Return the turns of Sharp's motorcycle at 20 m/s to 50 deg."""
    upright = steady(MOTORCYCLE, free=DRIVEN, forward_speed=20.0, lean=0.0)
    return family(
        upright,
        {"lean": 1.0},
        free=DRIVEN,
        keep=["forward_speed"],
        until={"lean": math.radians(50.0)},
        step=0.1,
    )


def test_a_motorcycle_leans_to_50_degrees(turns: Any) -> None:
    """The family at 20 m/s has no fold before, and each of its motions is found without a start."""
    assert_allclose(turns["lean"][-1], math.radians(50.0), rtol=1e-12)
    assert_allclose(turns["forward_speed"], 20.0, rtol=1e-10)
    assert turns.folds("lean") == []
    for point in turns.points[2::3]:
        found = steady(MOTORCYCLE, free=DRIVEN, forward_speed=20.0, lean=point.values["lean"])
        assert_allclose(found.values["steer"], point.values["steer"], rtol=0, atol=1e-9)
        assert_allclose(found.w, point.w, rtol=0, atol=1e-6)


def test_a_run_starts_in_a_turn_on_tyres(turns: Any) -> None:
    point = min(turns.points, key=lambda point: abs(point.values["lean"] - 0.4))
    run = point.simulate(1.0).to_xarray()
    for name in ("lean", "steer", "forward_speed"):
        assert_allclose(run[name], point.values[name], rtol=0, atol=1e-8)


def test_a_run_starts_in_the_states_of_its_law() -> None:
    """A law with integral action climbs a slope with the integral that its steady motion has."""

    class Cruise:
        states = 1

        def __call__(self, readings: Any, z: Any) -> Any:
            return {"rear_wheel": 10.0 * z[0]}, [5.0 - readings.value("forward_speed")]

    uphill = compile("whipple", slope=0.1)
    found = steady(uphill, law=Cruise(), lean=0.0, steer=0.0)
    torque = MASS * P["g"] * math.sin(0.1) * P["rR"]
    assert_allclose(found.hidden["law"], torque / 10.0, rtol=1e-9)
    assert_allclose(found.values["forward_speed"], 5.0, rtol=1e-12)
    run = found.simulate(0.5).to_xarray()
    assert_allclose(run.forward_speed, 5.0, rtol=0, atol=1e-9)
    again = steady(uphill, start=found, law=Cruise(), lean=0.0, steer=0.0)
    assert_allclose(again.y, found.y, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("free", "asked"),
    [
        (["steer"], {"forward_speed": 5.0, "radius": 20.0}),
        (["steer"], {"lean": -0.3, "radius": 20.0}),
        (["steer"], {"steer_torque": -0.1, "radius": 20.0}),
        (["steer"], {"lean": 0.2, "steer": -0.1}),
        (["steer"], {"yaw_rate": 0.4, "lean": -0.2}),
        (DRIVEN, {"forward_speed": 6.0, "yaw_rate": -0.3, "forward_acceleration": 1.0}),
        ([], {"lean": 0.3}),
        ([], {"steer": -2.5}),
        ([], {"lean": 1.2}),
    ],
)
def test_any_quantities_can_be_prescribed(free: Any, asked: dict[str, float]) -> None:
    found = steady(BICYCLE, free=free, **asked)
    assert residual(found) < 1e-9
    wanted = dict(asked)
    if radius := wanted.pop("radius", None):
        wanted["curvature"] = 1.0 / radius
    assert found.acceleration == wanted.pop("forward_acceleration", 0.0)
    own = quantities(found, tuple(wanted))
    assert_allclose(list(own.values()), list(wanted.values()), rtol=0, atol=1e-9)


def test_tyre_deflections_can_be_prescribed(turns: Any) -> None:
    point = turns.points[4]
    slip = point.hidden["rear_tyre_slip"]
    found = steady(MOTORCYCLE, free=DRIVEN, forward_speed=20.0, rear_tyre_slip=slip)
    assert_allclose(found.values["lean"], point.values["lean"], rtol=0, atol=1e-8)


def test_motions_of_families_are_found_without_them(turns: Any) -> None:
    """A small fixed sample; `bench/steady_requests.py` draws 200 from more families."""
    rng = np.random.default_rng(3)
    missed = []
    for kind in ("forward", "reversed", "pivoting"):
        points = steady_turns(BICYCLE, kind=kind, step=0.1).points[1:-1]
        for k in rng.integers(len(points), size=3):
            name = ("lean", "steer", "yaw_rate")[rng.integers(3)]
            asked = quantities(points[k], (name,))
            try:
                found = steady(BICYCLE, **asked)
            except ConfigurationError:
                missed.append((kind, asked))
                continue
            assert residual(found) < 1e-8
            assert_allclose(quantities(found, (name,))[name], asked[name], rtol=0, atol=1e-8)
    for k in rng.integers(1, len(turns), size=4):
        names = tuple(rng.choice(["lean", "yaw_rate", "curvature", "steer_torque"], 2, False))
        asked = quantities(turns.points[k], names)
        found = steady(MOTORCYCLE, free=DRIVEN, **asked)
        assert residual(found) < 1e-8
    assert missed == []


def test_the_end_of_a_family_is_reported() -> None:
    """With the rim at 3 m/s the turns fold; turns with a larger lean do not exist."""
    upright = steady(BICYCLE, free=["steer"], rear_wheel_speed=3.0, lean=0.0)
    found = family(
        upright, {"lean": 1.0}, free=["steer"], keep=["rear_wheel_speed"], step=0.2, max_motions=80
    )
    deepest = found["lean"][found.folds("lean")[0]]
    below = steady(BICYCLE, free=["steer"], rear_wheel_speed=3.0, lean=deepest - 2e-3)
    assert residual(below) < 1e-9
    with pytest.raises(ConfigurationError, match=r"ends at lean = (\d\.\d+)") as caught:
        steady(BICYCLE, free=["steer"], rear_wheel_speed=3.0, lean=deepest + 0.1)
    reported = float(str(caught.value).rpartition("lean = ")[2].rstrip("."))
    assert_allclose(reported, deepest, rtol=0.02)


def test_three_families_of_hands_free_circles() -> None:
    """Basu-Mandal et al. 2007, doi:10.1098/rspa.2007.1849, abstract: the third family joins a flat
    spinning motion with handlebar forward to a handlebar-reversed limit, the frame near upright and the
    front wheel almost perpendicular; between, the rear wheel does not rotate and the bicycle is
    virtually upright.
    """
    found = steady_turns(BICYCLE, kind="pivoting", step=0.1)
    speed, lean, steer = (found[name] for name in ("rear_wheel_speed", "lean", "steer"))
    assert_allclose(lean[0], 1.4, rtol=1e-12)
    assert abs(steer[0]) < 0.1
    pivot = int(np.argmin(np.abs(speed)))
    assert abs(speed[pivot]) < 1e-9
    assert abs(lean[pivot]) < 0.02
    assert abs(found["yaw_rate"][pivot]) > 1.0
    assert abs(lean[-1]) < 0.15
    assert abs(steer[-1] + math.pi / 2) < 0.15
    assert found.stable_backwards.any()


def test_hands_free_circles_on_tyres() -> None:
    """They branch off at a zero real eigenvalue of straight running; a drive keeps the speed."""
    system = compile("motorcycle", tyres="sharp_tyre")
    found = steady_turns(system, until={"lean": 0.3}, step=0.1)
    assert_allclose([point.inputs["steer"] for point in found.points], 0.0, atol=1e-15)
    assert found.points[-1].inputs["rear_wheel"] > 0.0
    assert_allclose(np.abs(found.points[0].linear().eigenvalues()).min(), 0.0, atol=1e-6)
    assert residual(found.points[-1]) < 1e-9


def test_error_messages_name_the_reason() -> None:
    with pytest.raises(ParameterError, match="at rest"):
        steady(BICYCLE, free=["rear_wheel"], forward_speed=0.0, forward_acceleration=1.0)
    with pytest.raises(ParameterError, match="radius must not be zero"):
        steady(BICYCLE, radius=0.0)
    with pytest.raises(ParameterError, match="finite"):
        steady(BICYCLE, lean=math.nan)
    with pytest.raises(ParameterError, match="lean is constant"):
        steady(BICYCLE, lean_rate=0.1)
    with pytest.raises(ConfigurationError, match="equations more than unknowns"):
        steady(BICYCLE, lean=0.2, steer=0.0, forward_speed=3.0)
    with pytest.raises(ParameterError, match="Available: forward, reversed, pivoting"):
        steady_turns(BICYCLE, kind="sideways")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="ideal bicycle"):
        steady_turns(MOTORCYCLE, kind="pivoting")
    with pytest.raises(ParameterError, match="not of type State"):
        steady(BICYCLE, start=3.0)  # type: ignore[arg-type]
    turn = steady(BICYCLE, free=["steer"], lean=0.1, forward_speed=5.0)
    assert "lean = 0.1" in repr(turn)
