"""Initial states: values of speeds that are not requested, and many states solved at once, which equal
single states bit by bit.
"""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.analysis.equilibrium import steady
from draisine.analysis.linear import linearise
from draisine.errors import ConfigurationError, ModelError
from draisine.mechanics.forces.linear_tyre import LinearTyre
from draisine.model import Disc, Model, Torus
from draisine.registry import find, names
from draisine.system.state import states
from draisine.terrain import plane

CASES = {
    "whipple": (
        {"lean": (-0.3, 0.5), "steer": (-0.2, 0.2), "forward_speed": (2.0, 8.0)},
        {"c": (0.04, 0.12), "lam": (0.2, 0.45), "rF": (0.3, 0.4)},
    ),
    "steering_linkage": ({"left": (-0.4, 0.4), "left_rate": (1.0, 2.0)}, {"arm": (0.1, 0.2)}),
    "falling_cat": ({"sway": (-0.5, 0.5), "bend_rate": (-1.0, 1.0)}, {}),
}


@pytest.mark.parametrize("name", CASES)
def test_states_solved_together_equal_single_states(name):
    system, (asked, changed) = draisine.compile(name), CASES[name]
    draw, count = np.random.default_rng(2), 9
    values = {n: draw.uniform(*ends, count) for n, ends in asked.items()}
    own = {n: draw.uniform(*ends, count) for n, ends in changed.items()}
    parameters = np.tile(system.values, (count, 1))
    for n, column in own.items():
        parameters[:, list(system.parameters).index(n)] = column
    found, wrong = states(system, values, parameters=parameters)
    assert wrong == [""] * count
    for k in range(count):
        alone = draisine.state(
            system.with_parameters(**{n: float(x[k]) for n, x in own.items()}),
            **{n: float(x[k]) for n, x in values.items()},
        )
        for part in "qprv":
            assert np.array_equal(found[part][:, k], getattr(alone, part)), (k, part)


def test_infeasible_states_are_reported_and_do_not_affect_others():
    system = draisine.compile("whipple")
    asked = {
        "lean": [0.1, 0.2, np.pi / 2, 0.1],
        "z": [0.0, 0.0, 0.0, 0.5],
    }
    asked["z"][:2] = (float(draisine.state(system, lean=x).p[2]) for x in (0.1, 0.2))
    found, wrong = states(system, asked)
    assert [bool(text) for text in wrong] == [False, False, True, True]
    for k, text in enumerate(wrong):
        one = {n: x[k] for n, x in asked.items()}
        if text:
            with pytest.raises(ConfigurationError) as told:
                draisine.state(system, **one)
            assert str(told.value) == text
        else:
            assert np.array_equal(found["v"][:, k], draisine.state(system, **one).v)


def test_tyres_start_without_slip_unless_slip_is_requested():
    """The second of two states has a requested slip: its front wheel moves sideways."""
    system = draisine.compile("motorcycle")
    found, wrong = states(system, {"forward_speed": [10.0, 10.0], "Vy": [0.0, 0.3]})
    assert wrong == ["", ""]
    for k, aside in enumerate((0.0, 0.3)):
        alone = draisine.state(system, forward_speed=10.0, Vy=aside)
        assert np.array_equal(found["v"][:, k], alone.v)
    assert found["v"][1].tolist() == pytest.approx([0.0, 0.3])


@pytest.mark.parametrize("lean", [0.1, -0.6])
def test_a_torus_wheel_starts_with_the_spin_of_rolling(lean):
    """Without yaw, the speed of the centre is the spin times (radius - crown + crown cos(lean))."""
    radius, crown, speed = 0.5, 0.05, 3.0
    disc = draisine.compile("rolling_disc", radius=radius, crown=crown)
    start = draisine.state(disc, forward_speed=speed, lean=lean)
    spin = speed / (radius - crown + crown * np.cos(lean))
    assert_allclose(start.v[3:], [0.0, spin, 0.0], rtol=0, atol=1e-12)


def test_a_zero_speed_that_multiplies_the_energy_is_dropped():
    """A unicycle with requested hub speed and wheel rate pitches its frame instead of yawing fast."""
    unicycle = draisine.compile("unicycle", rW=0.25, crown=0.05)
    start = draisine.state(unicycle, lean=0.1, forward_speed=1.0, wheel_rate=1.7)
    rolling = 0.25 - 0.05 + 0.05 * np.cos(0.1)
    assert_allclose(start.v[3:6], [0.0, 1.0 / rolling - 1.7, 0.0], rtol=0, atol=1e-12)


def test_a_requested_yaw_rate_determines_the_speed_of_a_steered_bicycle():
    """The steer rate stays zero, although a steer rate would need less kinetic energy than the speed."""
    bicycle = draisine.compile("whipple")
    start = draisine.state(bicycle, steer=0.1, yaw_rate=0.5)
    speed = start.v[0]
    assert start.v[6] == 0.0
    assert_allclose(speed, 0.5 * 1.02 / (0.1 * np.cos(np.pi / 10)), rtol=0.02)


def has_knife_edges(name):
    """Return whether a vehicle has wheels without crowns."""
    return any(type(wheel.surface) is Disc for wheel in find("vehicle", name)().wheels)


def with_torus_tyres(name):
    """Return a vehicle with torus tyres instead of knife edges; its only parameter is their crown radius."""

    def vehicle(*, crown: float = 0.01) -> Model:
        model = find("vehicle", name)()
        contacts = [
            replace(c, surface=Torus(float(c.surface.reach), crown))
            if type(c.surface) is Disc
            else c
            for c in model.contacts
        ]
        return replace(model, contacts=contacts)

    return vehicle


REQUESTS = (
    {},
    {"roll_rate": 3.0, "Wz": 0.5},
    {"lean": 0.1, "forward_speed": 2.0},
    {"lean": 0.1, "forward_speed": 2.0, "lean_rate": 0.3},
    {"lean": 0.3, "pitch_rate": 1.0},
    {"lean": 0.1, "steer": 0.1, "yaw_rate": 0.2},
    {"forward_speed": 2.0, "yaw_rate": 0.4},
    {"steer": 0.2, "forward_speed": 2.0},
    {"lean": 0.1, "forward_speed": 1.0, "wheel_rate": 1.7},
)


@pytest.mark.parametrize("name", [name for name in names("vehicle") if has_knife_edges(name)])
def test_states_on_torus_tyres_tend_to_those_on_knife_edges(name):
    edge, torus = draisine.compile(name), draisine.compile(with_torus_tyres(name))
    radius = min(float(w.surface.reach) for w in edge.model.wheels if type(w.surface) is Disc)
    for asked in REQUESTS:
        try:
            limit = draisine.state(edge, **asked)
        except draisine.errors.DraisineError:
            continue  # it has no such speed, or cannot move so
        for part in (0.1, 1e-2, 1e-3, 1e-5):
            start = draisine.state(torus.with_parameters(crown=part * radius), **asked)
            size = np.linalg.norm(limit.v)
            assert np.linalg.norm(start.v - limit.v) <= 5.0 * part * size, (asked, part)


@pytest.fixture(scope="module")
def bicycle():
    tyre = LinearTyre(8e3, 5e2, 0.1, 0.03)
    return draisine.compile("whipple", rear_tyre=tyre, front_tyre=tyre)


@pytest.fixture(scope="module")
def turn(bicycle):
    return steady(bicycle, free=["steer", "rear_wheel"], lean=0.2, forward_speed=6.0)


class TestElementStates:
    """States of force elements, such as the deflections of tyres, are part of an initial state."""

    TIGHT = draisine.Numerics(rtol=1e-12, atol=1e-13)

    @pytest.mark.parametrize("terrain", [None, plane()])
    def test_a_run_that_starts_in_a_steady_turn_stays_steady(self, bicycle, turn, terrain):
        options = {"terrain": terrain, "inputs": turn.inputs, "numerics": self.TIGHT}
        data = draisine.simulate(bicycle, turn.state, 1.0, **options).to_xarray()
        assert np.abs(data.element_state.values[0]).min() > 1e-4
        for name in ("lean", "steer", "forward_speed", "element_state", "contact_force"):
            values = data[name].values
            assert_allclose(values, np.broadcast_to(values[0], values.shape), rtol=1e-9, atol=1e-9)
        assert np.abs(np.diff(data.yaw)).min() > 1e-3

    def test_time_stepping_stays_steady_to_first_order(self, bicycle, turn):
        stepped = draisine.ContactOptions(solver="time_stepping", step=1e-3)
        options = {"terrain": plane(), "inputs": turn.inputs, "contact": stepped}
        data = draisine.simulate(bicycle, turn.state, 0.3, **options).to_xarray()
        for name in ("lean", "steer", "element_state"):
            values = data[name].values
            assert_allclose(values, np.broadcast_to(values[0], values.shape), atol=1e-5)

    def test_steppers_and_lanes_stay_steady(self, bicycle, turn):
        stepper = draisine.Stepper(bicycle, turn.state, inputs=turn.inputs)
        stepper.step(0.5)
        assert_allclose(stepper.state.element_state, turn.state.element_state, atol=1e-9)
        straight = draisine.state(bicycle, forward_speed=6.0)
        rk4 = draisine.Numerics(integrator="rk4", dt=1e-3)
        inputs = {name: [x, 0.0] for name, x in turn.inputs.items()}
        starts = [turn.state, straight]
        many = draisine.simulate_many(bicycle, starts, 0.5, inputs=inputs, numerics=rk4)
        lean = list(bicycle.outputs).index("lean")
        assert_allclose(many["outputs"][lean], [0.2, 0.0], atol=1e-9)

    def test_linearisation_at_the_state_equals_that_of_the_steady_motion(self, bicycle, turn):
        found = linearise(bicycle, turn.state, inputs=turn.inputs)
        assert_allclose(found.A, turn.linear().A, atol=1e-9 * np.abs(found.A).max())

    def test_accelerations_in_a_steady_turn_are_zero(self, bicycle, turn):
        """In a steady turn all speeds are constant, in both formulations."""
        for formulation in ("multiplier", "projected"):
            vdot, _ = bicycle.accelerate(turn.state, turn.inputs, formulation=formulation)
            assert_allclose(vdot, 0.0, atol=1e-7)

    def test_a_run_continues_from_its_final_state(self, bicycle):
        start = draisine.state(bicycle, forward_speed=5.0, lean_rate=0.3)
        whole, half = (
            draisine.simulate(bicycle, start, t, numerics=self.TIGHT).final() for t in (0.4, 0.2)
        )
        rest = draisine.simulate(bicycle, half, 0.2, numerics=self.TIGHT).final()
        assert np.abs(whole.element_state).max() > 1e-4
        for name in ("v", "element_state"):
            assert_allclose(getattr(rest, name), getattr(whole, name), atol=1e-10)

    def test_element_states_can_be_requested_and_are_checked(self, bicycle):
        z = [0.01, 0.0, -0.01, 0.0]
        start = draisine.state(bicycle, forward_speed=5.0, element_state=z)
        assert "z[0]=0.01" in repr(start)
        data = draisine.simulate(bicycle, start, 0.01).to_xarray()
        assert_allclose(data.element_state.values[0], z)
        side = data.contact_force.sel(direction="across").values[0]
        assert_allclose(side, [80.0, -80.0], rtol=1e-9)
        with pytest.raises(ConfigurationError, match=r"element_state has the shape \(2,\) instead"):
            draisine.state(bicycle, forward_speed=5.0, element_state=[0.0, 1.0])
        ideal = draisine.compile("whipple")
        with pytest.raises(ConfigurationError, match=r"element_state has the shape \(4,\) instead"):
            draisine.simulate(ideal, start, 0.01)

    def test_other_formulations_refuse_element_states(self, bicycle):
        """They would leave the tyres undeflected, without side forces."""
        start = draisine.state(bicycle, forward_speed=5.0)
        numerics = draisine.Numerics(formulation="multiplier")
        with pytest.raises(ModelError, match="does not integrate the states of force elements"):
            draisine.simulate(bicycle, start, 0.1, numerics=numerics)
