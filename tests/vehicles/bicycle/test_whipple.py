"""The Whipple bicycle: limits of its geometry, statics, slope, tyres, a leaning rider,
counter-steering.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.algebra.scalar import where
from draisine.errors import ConfigurationError, ModelError, ParameterError
from draisine.model.motion import sine

# Lean and steer in degrees (thesis signs: lean left, steer left) and contact angles alpha0, alpha1 and
# beta in degrees; independent computation for the benchmark bicycle, figures 2.5 and 2.7 of the thesis.
CONTACTS = [
    (0, 30, 179.84188795005764, 195.57575371066335, -1.7017572496258744),
    (0, -30, 179.84188795005764, 195.57575371066335, 1.7017572496258744),
    (30, 0, 180.0, 198.0, 0.0),
    (-30, 45, 182.26319768299055, 214.84685032092534, -8.00228585752948),
    (-45, -60, 184.71165247762465, 143.88745286773468, -13.651080480876708),
]


@pytest.fixture(scope="module")
def bicycle():
    return draisine.compile("whipple")


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"w": -1.0}, "w = -1 m must be positive"),
        ({"rR": 0.0}, "rR = 0 m must be positive"),
        ({"rF": -0.3}, "rF = -0.3 m must be positive"),
        ({"lam": 2.0}, "must be below 90 degrees"),
        ({"slope": 1.7}, "slope must be below 90 degrees"),
        ({"crown": 0.4}, "crown 0.4 m exceeds radius 0.3 m"),
        ({"crown": -0.01}, "is not a length"),
        ({"zU": -1.0}, "state the mass mU"),
    ],
)
def test_impossible_designs_are_refused(changes, complaint):
    with pytest.raises((ParameterError, ModelError), match=complaint):
        draisine.compile("whipple", **changes)


@pytest.mark.parametrize(("left", "steer", "alpha0", "alpha1", "beta"), CONTACTS)
def test_contact_angles_on_the_maps_of_the_thesis(bicycle, left, steer, alpha0, alpha1, beta):
    state = draisine.state(bicycle, lean=-np.radians(left), steer=np.radians(steer))
    machine = bicycle.machine()
    seen = machine.observation(machine.enter(state))
    out = dict(zip(bicycle.outputs, np.degrees(seen["outputs"]), strict=True))
    assert np.abs(seen["gaps"]).max() < 1e-15
    assert_allclose(out["rear_contact_angle"], alpha0 - 180, atol=1e-12)
    assert_allclose(out["front_contact_angle"], alpha1 - 198, atol=1e-12)
    assert_allclose(out["beta"], beta, atol=1e-12)
    assert_allclose(out["pitch"], 180 - alpha0, atol=1e-12)


@pytest.mark.parametrize("lean", [0, 20, 40, 60, 80])
@pytest.mark.parametrize("steer", [-180, -45, 0, 30, 180])
def test_the_loop_closes_to_machine_precision(bicycle, lean, steer):
    state = draisine.state(bicycle, lean=np.radians(lean), steer=np.radians(steer), yaw=0.4, x=2.0)
    machine = bicycle.machine()
    seen = machine.observation(machine.enter(state))
    assert np.abs(seen["gaps"]).max() < 2e-15
    out = dict(zip(bicycle.outputs, seen["outputs"], strict=True))
    assert_allclose([out["lean"], out["yaw"]], [np.radians(lean), 0.4], atol=1e-12)


def test_an_impossible_pair_is_a_clear_error(bicycle):
    with pytest.raises(ConfigurationError, match=r"lean = 1\.39626, steer = 1\.5708"):
        draisine.state(bicycle, lean=np.radians(80), steer=np.radians(90))


def test_static_contact_forces(bicycle):
    """N_F = g (mB xB + mH xH + mF w) / w, and the remaining weight on the rear wheel."""
    p = bicycle.parameters
    front = p["g"] * (p["mB"] * p["xB"] + p["mH"] * p["xH"] + p["mF"] * p["w"]) / p["w"]
    rear = p["g"] * (p["mR"] + p["mB"] + p["mH"] + p["mF"]) - front
    _, forces = bicycle.accelerate(draisine.state(bicycle))
    assert_allclose(forces, [rear, 0, 0, front, 0, 0], atol=1e-11)


def test_it_rolls_up_a_slope_with_constant_deceleration():
    """a = m g sin(slope) / (m + IRyy / rR^2 + IFyy / rF^2), and the time of reversal."""
    slope = np.radians(10)
    system = draisine.compile("whipple", slope=slope)
    p = system.parameters
    mass = p["mR"] + p["mB"] + p["mH"] + p["mF"]
    rolling = mass + p["IRyy"] / p["rR"] ** 2 + p["IFyy"] / p["rF"] ** 2
    a = mass * p["g"] * np.sin(slope) / rolling
    run = draisine.simulate(system, draisine.state(system, forward_speed=4.6), 4.0).to_xarray()
    assert_allclose(run.forward_speed, 4.6 - a * run.time, atol=1e-11)
    assert_allclose(4.6 / a, 2.804305391911592, rtol=1e-12)  # independent computation


def test_thin_tyres_tend_to_discs(bicycle):
    asked = {"forward_speed": 5.0, "lean": 0.3, "steer": 0.1, "lean_rate": 0.2}
    sharp, _ = bicycle.accelerate(draisine.state(bicycle, **asked))
    errors = []
    for crown in (1e-3, 1e-4):
        tyres = draisine.compile("whipple", crown=crown)
        round_, _ = tyres.accelerate(draisine.state(tyres, **asked))
        errors.append(np.abs(round_ - sharp).max())
    assert errors[1] < 1e-2
    assert errors[0] / errors[1] == pytest.approx(10, rel=0.05)


def test_tyres_conserve_energy():
    tyres = draisine.compile("whipple", crown=0.03)
    start = draisine.state(tyres, forward_speed=5.0, lean_rate=0.4)
    energy = (
        draisine.simulate(tyres, start, 3.0, numerics=draisine.Numerics(rtol=1e-13, atol=1e-14))
        .to_xarray()
        .energy
    )
    assert np.ptp(energy.values) < 1e-12 * float(energy[0])


class TestRider:
    def test_an_upright_upper_body_does_not_change_the_motion(self, bicycle):
        rider = draisine.compile("whipple", mU=30.0, torso=sine(0.0, 1.0))
        asked = {"forward_speed": 4.6, "lean_rate": 0.5, "steer": 0.1, "lean": 0.05}
        one = bicycle.accelerate(draisine.state(bicycle, **asked))
        two = rider.accelerate(draisine.state(rider, **asked))
        assert_allclose(two[0][:9], one[0], atol=1e-11)
        assert_allclose(two[1][:6], one[1], atol=1e-9)

    def test_a_guided_upper_body_follows_its_law_and_steers_the_bicycle(self):
        lean = sine(0.1, 0.4)
        rider = draisine.compile("whipple", mU=30.0, torso=lean)
        start = draisine.state(rider, forward_speed=5.0)
        run = draisine.simulate(rider, start, 2.0).to_xarray()
        expected = [lean(float(t))[0] for t in run.time]
        assert_allclose(run["shape"].sel(joint="torso"), expected, atol=1e-12)
        assert float(np.abs(run["shape"].sel(joint="steer")).max()) > 0.01
        power = run.motion_torque.sel(prescribed="torso") * run.speeds.sel(speed="torso_rate")
        work = float(power.integrate("time"))
        assert float(run.energy[-1] - run.energy[0]) == pytest.approx(work, abs=1e-3)

    def test_a_prescribed_joint_removes_a_degree_of_freedom(self, bicycle):
        """Lean, steer and speed are free; each prescribed joint removes one degree of freedom, each
        free joint adds one.
        """
        assert len(bicycle.machine().choice.independent) == 3
        free = draisine.compile("whipple", mU=30.0)
        assert len(free.machine().choice.independent) == 4
        held = draisine.compile("whipple", mU=30.0, torso=sine(0.0, 1.0))
        assert len(held.machine().choice.independent) == 3
        guided = draisine.compile("whipple", steering=sine(0.05, 0.5))
        assert len(guided.machine().choice.independent) == 2
        run = draisine.simulate(guided, draisine.state(guided, forward_speed=5.0), 1.0).to_xarray()
        expected = 0.05 * np.sin(np.pi * run.time)
        assert_allclose(run["shape"].sel(joint="steer"), expected, atol=1e-12)
        assert float(np.abs(run.motion_torque).max()) > 0.1


def test_a_short_torque_to_the_right_ends_in_a_turn_to_the_left(bicycle):
    """Counter-steering between weave (4.29 m/s) and capsize speed (6.02 m/s)."""

    def push(readings, z):
        return {"steer": where(readings.t < 0.3, -1.0, 0.0)}, []

    start = draisine.state(bicycle, forward_speed=5.0)
    run = draisine.simulate(
        bicycle, start, 6.0, law=push, numerics=draisine.Numerics(breakpoints=[0.3])
    ).to_xarray()
    first = run.sel(time=0.3, method="nearest")
    assert float(first.yaw) < 0
    assert float(first["shape"].sel(joint="steer")) < 0
    assert float(run.lean.min()) < -0.1
    assert float(run.yaw[-1]) > 0.5
