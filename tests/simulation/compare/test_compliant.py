"""Continuous laws of contact force (thesis 3.3.1): closed forms, and the limit of rigid contact."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import trapezoid

import draisine
from draisine.errors import DataError, ParameterError
from draisine.scenario.library import load
from draisine.simulation.compare.compliant import (
    Compliant,
    Hertz,
    HuntCrossley,
    KelvinVoigt,
    LankaraniNikravesh,
    hertz_stiffness,
    simulate_collision,
    simulate_plastic_collision,
)
from draisine.terrain import Terrain, edge, height_field, plane
from simulation.contact.test_disc import G, disc, dropped
from simulation.contact.test_friction import thrown

STEEL = hertz_stiffness(0.01, 0.01, 210e9, 0.28)
BALL = 7800.0 * 4 / 3 * math.pi * 0.01**3


def test_hertz_reaches_the_depth_and_lasts_as_long_as_known():
    """d_m = (5 m v^2 / (4 K))^(2/5); it lasts 2.9432 d_m / v."""
    m, v = BALL / 2, 0.1
    made = simulate_collision(Hertz(STEEL), m, v)
    deepest = (1.25 * m * v * v / STEEL) ** 0.4
    assert made.depth.max() == pytest.approx(deepest, rel=1e-4)
    assert made.t[-1] == pytest.approx(2.9432 * deepest / v, rel=1e-4)
    assert made.rate[-1] == pytest.approx(-v, rel=1e-8)


@pytest.mark.parametrize("law", [HuntCrossley, LankaraniNikravesh])
def test_loss_is_what_the_coefficient_says_near_one(law):
    m, v = BALL / 2, 0.1
    for e in (0.9, 0.95, 1.0):
        made = simulate_collision(law(STEEL, e, v), m, v)
        assert -made.rate[-1] / v == pytest.approx(e, abs=1.5 * (1 - e) ** 2 + 1e-6)
        assert made.force[0] == 0.0 and abs(made.force[-1]) < 1e-3 * made.force.max()


def test_work_of_the_force_is_the_energy_lost():
    m, v = BALL / 2, 0.1
    for law in (Hertz(STEEL), HuntCrossley(STEEL, 0.5, v), LankaraniNikravesh(STEEL, 0.5, v)):
        made = simulate_collision(law, m, v, samples=4000)
        lost = m * (v * v - made.rate[-1] ** 2) / 2
        assert trapezoid(made.force, made.depth) == pytest.approx(lost, abs=1e-4 * m * v * v / 2)


def test_lasting_dent_returns_the_square_of_restitution():
    m, v = BALL / 2, 0.1
    for e in (0.3, 0.8, 1.0):
        made = simulate_plastic_collision(STEEL, e, m, v)
        assert -made.rate[-1] / v == pytest.approx(e, abs=1e-6)
        assert made.depth[-1] == pytest.approx(made.depth.max() * (1 - e * e), abs=1e-9)


def test_damper_of_kelvin_and_voigt_jumps_at_first_touch():
    law = KelvinVoigt(1e5, 100.0)
    made = simulate_collision(law, 1.0, 1.0)
    assert law.force(1e-12, 1.0) == pytest.approx(100.0)
    assert -made.rate[-1] < 1.0
    assert KelvinVoigt(1e5, 100.0, pulls=True).force(1e-9, -1.0) < 0 == law.force(1e-9, -1.0)


def test_disc_bounces_back_to_its_height_on_hertz_ground():
    made = draisine.simulate(
        disc(),
        dropped(0.1),
        0.6,
        terrain=plane(),
        contact=draisine.ContactOptions(solver=Compliant(Hertz(2e6)), mu=0.8),
        numerics=draisine.Numerics(dt=0.001, rtol=1e-8, atol=1e-10),
    )
    height = made.arcs[0].y[:, 6]
    assert height[made.t > 0.2].max() == pytest.approx(0.1, abs=1e-4)
    lowest = (2.5 * G * 0.1 / 2e6) ** 0.4
    assert height.min() == pytest.approx(-lowest, rel=0.02)


def test_disc_comes_to_rest_where_the_ground_carries_it():
    made = draisine.simulate(
        disc(),
        dropped(0.001),
        1.0,
        terrain=plane(),
        contact=draisine.ContactOptions(solver=Compliant(KelvinVoigt(1e4, 200.0)), mu=0.8),
        numerics=draisine.Numerics(dt=0.01, rtol=1e-8, atol=1e-10),
    )
    assert_allclose(made.arcs[0].y[-1, 6], -G / 1e4, rtol=1e-5)
    assert made.arcs[0].forces[-1, 0, 0] == pytest.approx(G, rel=1e-5)


def test_a_tyre_sinks_into_a_soft_rail_as_into_soft_ground():
    rail = edge("rail", (0, 0, 0), (1, 0, 0), (0, -1, 0.1), (0, 1, 0.1))
    wheel = draisine.compile("rolling_disc", crown=0.05)
    made = draisine.simulate(
        wheel,
        dropped(0.001),
        1.0,
        terrain=Terrain([rail]),
        contact=draisine.ContactOptions(solver=Compliant(KelvinVoigt(1e4, 200.0)), mu=0.8),
        numerics=draisine.Numerics(dt=0.01, rtol=1e-8, atol=1e-10),
    )
    assert_allclose(made.arcs[0].y[-1, 6], -G / 1e4, rtol=1e-5)
    assert made.arcs[0].forces[-1, 0, 0] == pytest.approx(G, rel=1e-5)


def test_a_disc_exactly_over_a_concave_grid_line_is_carried_by_both_faces():
    """Its lowest point is beyond the borders of both faces. At rest 2 k d cos^2 = G, for an angle of the
    faces with the tangent s.
    """
    k, s = 1e4, 0.05
    x, y = np.array([-1.0, 1.0]), np.array([-1.0, 0.0, 1.0])
    valley = height_field(x, y, s * np.abs(np.array([y, y])))
    depth = G * (1.0 + s * s) / (2.0 * k)
    made = draisine.simulate(
        disc(),
        dropped(-depth),
        0.02,
        terrain=valley,
        contact=draisine.ContactOptions(solver=Compliant(KelvinVoigt(k, 200.0)), mu=0.8),
        numerics=draisine.Numerics(dt=0.01, rtol=1e-8, atol=1e-10),
    )
    assert_allclose(made.arcs[0].y[:, 6], -depth, rtol=1e-6)
    assert_allclose(made.arcs[0].forces[:, 0, 0], G * np.sqrt(1.0 + s * s), rtol=1e-6)


def test_thrown_disc_begins_to_roll_on_soft_ground_too():
    """It ends at two thirds of its speed, whatever carries it."""
    state = thrown(1.5, height=-G / 1e4)
    made = draisine.simulate(
        disc(),
        state,
        0.6,
        terrain=plane(),
        contact=draisine.ContactOptions(solver=Compliant(KelvinVoigt(1e4, 200.0)), mu=0.4),
        numerics=draisine.Numerics(dt=0.01, rtol=1e-8, atol=1e-10),
    )
    assert made.arcs[0].y[-1, 11] * 0.5 == pytest.approx(1.0, abs=1e-3)


def test_wrong_collisions_say_so():
    with pytest.raises(ParameterError, match="positive"):
        simulate_collision(Hertz(1.0), 0.0, 1.0)
    assert np.isfinite(STEEL)


SOFT = """
kind = "run"
title = "a ball on soft ground"
[vehicle]
name = "ball"
[terrain]
shape = "plane"
[contact]
mu = 0.8
impact = "moreau"
solver = { name = "kelvin_voigt", stiffness = 1e4, damping = 200.0 }
[initial]
z = 0.02
[run]
until = 0.2
dt = 0.05
"""


def test_a_scenario_names_the_law_of_its_ground(tmp_path):
    path = tmp_path / "soft.toml"
    path.write_text(SOFT)
    data = load(str(path)).plan.contact
    assert data.solver == Compliant(KelvinVoigt(1e4, 200.0))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("kelvin_voigt", "kelvin", "contact.solver: Unknown law 'kelvin'"),
        ("damping", "damper", "kelvin_voigt has no 'damper'"),
        (", damping = 200.0", "", "kelvin_voigt needs 'damping'"),
    ],
)
def test_grounds_that_are_none_are_told_with_their_place(tmp_path, old, new, said):
    path = tmp_path / "soft.toml"
    path.write_text(SOFT.replace(old, new))
    with pytest.raises(DataError, match=said):
        load(str(path))
