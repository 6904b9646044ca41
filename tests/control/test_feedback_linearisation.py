"""Input-output linearisation of the lean: the closed loop obeys the chosen equation, and its zero dynamics
those of the canonical matrices.
"""

import math
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.algebra.scalar import sin
from draisine.analysis.bicycle.straight import canonical_matrices
from draisine.analysis.lqr import balance
from draisine.control import saturate
from draisine.control.feedback_linearisation import FeedbackLinearisation
from draisine.errors import DraisineError, ModelError, ParameterError, ValidityWarning
from draisine.model import Guide
from draisine.terrain import plane

FINE = {"numerics": draisine.Numerics(rtol=1e-13, atol=1e-14)}
TORQUE_LIMIT = 15.0  # N m


@pytest.fixture(scope="module")
def bicycle():
    return draisine.compile("whipple")


def oscillate(t, frequency, damping, lean, rate, target=0.0):
    """Return the lean of an underdamped oscillator about its target, in closed form."""
    decay = damping * frequency
    turn = frequency * math.sqrt(1.0 - damping**2)
    away = lean - target
    wave = away * np.cos(turn * t) + (rate + decay * away) / turn * np.sin(turn * t)
    return target + np.exp(-decay * t) * wave


@pytest.mark.parametrize(
    ("speed", "lean", "rate", "target"),
    [(5.0, 0.4, 0.3, 0.0), (3.0, -0.3, 0.2, 0.1), (8.0, 0.5, -1.0, -0.3)],
)
def test_the_lean_obeys_the_chosen_equation_in_the_nonlinear_run(
    bicycle, speed, lean, rate, target
):
    law = FeedbackLinearisation(frequency=3.0, damping=0.7, lean_target=target)
    start = draisine.state(bicycle, forward_speed=speed, lean=lean, lean_rate=rate)
    run = draisine.simulate(bicycle, start, 3.0, law=law, **FINE).to_xarray()
    expected = oscillate(run.time.values, 3.0, 0.7, lean, rate, target)
    assert_allclose(run.lean, expected, atol=1e-10)
    # The motion is truly nonlinear: the bicycle turns and loses or gains speed
    assert abs(run.steer).max() > 0.05
    assert np.ptp(run.forward_speed.values) > 0.01


@pytest.mark.parametrize("speed", [0.7, 2.0, 5.0, 9.0])
def test_the_other_eigenvalues_are_the_zeros_of_the_canonical_matrices(bicycle, speed):
    law = FeedbackLinearisation(frequency=3.0, damping=0.7)
    found = draisine.eigenvalues(bicycle, speed, law=law).values[0]
    matrices = canonical_matrices(bicycle)
    zeros = np.roots(
        [matrices.M[0, 1], matrices.damping(speed)[0, 1], matrices.stiffness(speed)[0, 1]]
    )
    chosen = -2.1 + 3.0j * math.sqrt(1.0 - 0.49)
    expected = np.array([chosen, chosen.conjugate(), *zeros])
    assert_allclose(np.sort_complex(found), np.sort_complex(expected), atol=1e-7)


def test_zero_dynamics_are_unstable_below_the_speed_of_the_closed_form(bicycle):
    matrices = canonical_matrices(bicycle)
    critical = math.sqrt(-9.81 * matrices.K0[0, 1] / matrices.K2[0, 1])
    # Meijaard et al. 2007, section 5a: K0 = -2.59951685249872, K2 = 76.59734589573222
    assert critical == pytest.approx(math.sqrt(9.81 * 2.59951685249872 / 76.59734589573222), 1e-9)
    law = FeedbackLinearisation(damping=0.7)
    below, above = (draisine.eigenvalues(bicycle, f * critical, law=law) for f in (0.99, 1.01))
    assert above.stable.all()
    assert not below.stable.any()


def recovers(bicycle, law, lean, speed):
    """Return whether a bicycle released at rest in lean is upright after six seconds, with wheels that a
    road can hold.
    """
    start = draisine.state(bicycle, forward_speed=speed, lean=lean)
    try:
        with warnings.catch_warnings(action="ignore", category=ValidityWarning):
            run = draisine.simulate(bicycle, start, 6.0, law=law)
    except DraisineError:
        return False
    valid = not run.validity.times and not run.validity.warnings
    return valid and abs(float(run.to_xarray().lean[-1])) < 0.02


@pytest.mark.parametrize(
    ("speed", "lqr", "linearised"), [(3.0, 0.5, 0.4), (5.0, 0.65, 0.65), (7.0, 0.75, 0.8)]
)
def test_the_largest_lean_that_each_law_recovers(bicycle, speed, lqr, linearised):
    """The table of the tutorial: both laws steer with at most 15 N m, on a grid of 0.05 rad."""
    optimal = balance(bicycle, {"lean": 100.0}, {"steer": 1.0}, forward_speed=speed)

    def limited(readings, z):
        inputs, _ = optimal(readings, z)
        return {"steer": saturate(inputs["steer"], TORQUE_LIMIT)}, ()

    exact = FeedbackLinearisation(frequency=2.0, torque_limit=TORQUE_LIMIT)
    for law, largest in ((limited, lqr), (exact, linearised)):
        assert recovers(bicycle, law, largest, speed)
        assert not recovers(bicycle, law, largest + 0.05, speed)


def test_the_torque_stays_within_its_limit(bicycle):
    law = FeedbackLinearisation(frequency=4.0, torque_limit=TORQUE_LIMIT)
    start = draisine.state(bicycle, forward_speed=5.0, lean=0.3)
    run = draisine.simulate(bicycle, start, 2.0, law=law).to_xarray()
    torque = run.inputs.sel(input="steer").values
    assert np.abs(torque).max() == pytest.approx(TORQUE_LIMIT, abs=1e-12)
    assert abs(float(run.lean[-1])) < 0.01


def test_a_cart_guides_its_pole():
    """Partial feedback linearisation: the force on the cart makes the pole obey a linear equation."""
    cart = draisine.compile("cart_pole")

    def swing(readings, z):
        error = math.pi - readings.joint("pole")
        return {"cart": Guide(9.0 * error - 6.0 * readings.rate("pole"), of="pole")}, ()

    start = draisine.state(cart, pole=math.pi - 0.5)
    run = draisine.simulate(cart, start, 2.0, law=swing, **FINE).to_xarray()
    t = run.time.values
    assert_allclose(run.pole, math.pi - 0.5 * (1.0 + 3.0 * t) * np.exp(-3.0 * t), atol=1e-10)


def test_a_guided_coordinate_beside_a_guided_joint():
    """The torso sways as prescribed while the steer torque guides the lean."""
    leaning = draisine.compile("whipple", mU=30.0)

    def law(readings, z):
        lean = -9.0 * readings.lean - 6.0 * readings.lean_rate
        sway = -0.2 * 4.0 * sin(2.0 * readings.t)
        return {"steer": Guide(lean, of="lean"), "torso": Guide(sway)}, ()

    start = draisine.state(leaning, forward_speed=5.0, lean=0.2, torso_rate=0.4)
    run = draisine.simulate(leaning, start, 2.0, law=law, **FINE).to_xarray()
    t = run.time.values
    assert_allclose(run.lean, 0.2 * (1.0 + 3.0 * t) * np.exp(-3.0 * t), atol=1e-10)
    assert_allclose(run.torso, 0.2 * np.sin(2.0 * t), atol=1e-10)


class TestMistakes:
    def test_of_a_terrain(self, bicycle):
        start = draisine.state(bicycle, forward_speed=5.0)
        with pytest.raises(ModelError, match="on a terrain a Guide is a row of its own joint"):
            draisine.simulate(bicycle, start, 1.0, terrain=plane(), law=FeedbackLinearisation())

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"frequency": 0.0}, "frequency = 0.0 must be positive"),
            ({"damping": math.inf}, "damping = inf must be positive and finite"),
            ({"torque_limit": -1.0}, "torque_limit = -1.0 must be positive"),
        ],
    )
    def test_of_options(self, options, message):
        with pytest.raises(ParameterError, match=message):
            FeedbackLinearisation(**options)

    def test_of_the_coordinate(self, bicycle):
        def law(readings, z):
            return {"steer": Guide(0.0, of="leen")}, ()

        start = draisine.state(bicycle, forward_speed=5.0)
        with pytest.raises(ModelError, match=r"cannot accelerate 'leen'.*a joint or the lean"):
            draisine.simulate(bicycle, start, 1.0, law=law)

    def test_of_two_coordinates(self, bicycle):
        def law(readings, z):
            return {"steer": Guide(0.0, of="lean"), "rear_wheel": Guide(0.0, of="steer")}, ()

        start = draisine.state(bicycle, forward_speed=5.0)
        with pytest.raises(ModelError, match="more than one Guide accelerates another coordinate"):
            draisine.simulate(bicycle, start, 1.0, law=law)
