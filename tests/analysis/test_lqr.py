"""State feedback of least cost."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine import compile, eigenvalues, simulate, state
from draisine.analysis.equilibrium import steady
from draisine.analysis.linear import Linear, linearise
from draisine.analysis.lqr import balance, lqr
from draisine.errors import ConfigurationError, ModelError, ParameterError, UnknownNameError
from draisine.mechanics.forces.passive_tyre import PassiveTyre
from draisine.model import Body, Model, Prismatic


def integrators(B):
    """Return a double integrator whose input acts by B."""
    A = np.array([[0.0, 1.0], [0.0, 0.0]])
    none = np.zeros((0, 2)), np.zeros((0, 1))
    about = np.zeros(2), np.zeros(1), np.zeros(0)
    return Linear(A, np.array(B)[:, None], *none, ("x", "v"), ("push",), (), *about)


def test_the_double_integrator_of_the_textbook():
    """Q = 1, R = 1: K = (1, sqrt 3)."""
    law = lqr(integrators([0.0, 1.0]), {"x": 1.0, "v": 1.0}, {"push": 1.0})
    assert_allclose(law.K, [[1.0, math.sqrt(3.0)]], rtol=1e-12)


def test_unstabilisable_or_unknown_states_are_refused():
    with pytest.raises(ConfigurationError, match="the inputs push cannot stabilise"):
        lqr(integrators([0.0, 0.0]), {"x": 1.0, "v": 1.0}, {"push": 1.0})
    with pytest.raises(UnknownNameError, match="no state 'w'"):
        lqr(integrators([0.0, 1.0]), {"w": 1.0}, {"push": 1.0})
    with pytest.raises(UnknownNameError, match="no input 'pull'"):
        lqr(integrators([0.0, 1.0]), {"x": 1.0}, {"pull": 1.0})


def test_a_pendulum_is_held_about_the_pitch_at_which_it_balances():
    """Its mass centre is ahead of the axle: it leans back by atan(hx / hz)."""
    system = compile("segway")
    pitch = -math.atan2(0.02, 0.8)
    found = linearise(system, state(system, pitch=pitch))
    weights = {"pitch": 100.0, "left_rate": 1.0, "right_rate": 1.0}
    costs = {"left": 0.1, "right": 0.1}
    law = lqr(found, weights, costs)
    found_itself = balance(system, weights | {"pitch_rate": 0.0}, costs, forward_speed=0.0)
    assert_allclose(found_itself.K, law.K, rtol=1e-9, atol=1e-9)
    assert_allclose(found_itself.about, law.about, atol=1e-9)
    assert np.linalg.eigvals(found.A - found.part(["left", "right"]).B @ law.K).real.max() < 0
    run = simulate(system, state(system, pitch=0.1, Wz=0.3), 15.0, law=law).to_xarray()
    assert_allclose(run.pitch.values[-1], pitch, atol=1e-5)
    assert_allclose(run.speeds.values[-1], 0.0, atol=1e-4)


def test_a_law_of_a_linear_system_keeps_its_motion():
    """At 3 m/s the bicycle is unstable; the law rights it and keeps its speed."""
    bicycle = compile("whipple")
    found = linearise(bicycle, state(bicycle, forward_speed=3.0))
    wheel = 3.0 / bicycle.parameters["rR"]
    assert_allclose(found.x0, [0.0, 0.0, 0.0, 0.0, wheel], atol=1e-12)
    law = lqr(found, {"lean": 100.0, "rear_wheel_rate": 1.0}, {"steer": 1.0, "rear_wheel": 1.0})
    run = simulate(bicycle, state(bicycle, forward_speed=3.0, lean=0.1), 20.0, law=law).to_xarray()
    assert_allclose(run.forward_speed.values[-1], 3.0, rtol=1e-3)
    assert_allclose(run.lean.values[-1], 0.0, atol=1e-6)


def test_a_linear_system_knows_the_inputs_of_its_motion():
    """A weight on a slide is held by m g; so does the law."""

    def lift(*, m: float = 2.0) -> Model:
        up = Prismatic("up", "frame", "load", (0.0, 0.0, 1.0))
        return Model([Body("frame"), Body("load", m)], [up], base="fixed", gravity=(0, 0, -9.81))

    system = compile(lift)
    found = linearise(system, state(system), inputs={"up": 2.0 * 9.81}, cyclic=True)
    assert_allclose(found.part(["up"], ["up"]).w0, [2.0 * 9.81])
    law = lqr(found, {"up": 1.0, "up_rate": 1.0}, {"up": 1.0})
    assert law.feedforward == {"up": 2.0 * 9.81}
    run = simulate(system, state(system, up=0.1), 30.0, law=law).to_xarray()
    assert_allclose(run.up.values[-1], 0.0, atol=1e-6)


def test_weights_need_names_and_a_speed_is_required():
    bicycle = compile("whipple")
    found = linearise(bicycle, state(bicycle, forward_speed=3.0))
    with pytest.raises(ParameterError, match=r"by name, .'lean': 1.0., not a ndarray"):
        lqr(found, np.eye(5), np.eye(3))
    with pytest.raises(ParameterError, match=r"weights of inputs must be a mapping.*control.lqr"):
        lqr(found, {"lean": 1.0}, np.eye(3))
    with pytest.raises(ParameterError, match=r"depends on the speed.* forward_speed=3.0"):
        balance(bicycle, {"lean": 100.0}, {"steer": 1.0})


def test_a_motion_that_dampers_brake_is_kept_up_by_the_torques_it_needs():
    """Wheels of a rate w with dampers c need c w each; the pitch is that of rest, for no torque is left
    over at the body.
    """
    segway = compile("segway").model
    c = 0.4

    def braked(*, damper: float = c) -> Model:
        joints = [replace(joint, damper=damper) for joint in segway.joints]
        return replace(segway, joints=joints)

    system = compile(braked)
    law = balance(system, {"pitch": 100.0}, forward_speed=2.0)
    turn = 2.0 / 0.25
    assert law.feedforward == pytest.approx({"left": c * turn, "right": c * turn}, rel=1e-9)
    assert law.about[0] == pytest.approx(-math.atan2(0.02, 0.8), abs=1e-9)
    run = simulate(system, state(system, forward_speed=1.0), 20.0, law=law).to_xarray()
    assert float(run.forward_speed[-1]) == pytest.approx(2.0, abs=1e-3)


def test_slips_of_tyres_are_fed_back_too():
    """The closed loop, linearised with the law in it, is A - B K."""
    tyre = {"name": "load_tyre", "parameter_set": "city_bicycle"}
    system = compile("whipple", rear_tyre=tyre, front_tyre=tyre)
    law = balance(system, {"lean": 10.0}, {"steer": 1.0}, forward_speed=5.0)
    straight = state(system, forward_speed=5.0)
    found = linearise(system, straight)
    assert law.states_read[-4:] == ("z[0]", "z[1]", "z[2]", "z[3]")
    assert np.abs(law.K[:, -4:]).max() > 0.1
    closed = found.A - found.part(["steer"]).B @ law.K
    assert_allclose(
        linearise(system, straight, law=law).A, closed, atol=1e-9 * np.abs(closed).max()
    )


def test_unknown_tyre_states_are_refused():
    bicycle = compile("whipple")

    def law(readings, z):
        return {"steer": readings.value("z[0]")}, ()

    with pytest.raises(
        ModelError, match="State 0 of the force elements does not exist: there are 0"
    ):
        simulate(bicycle, state(bicycle, forward_speed=5.0), 0.1, law=law)


def test_eigenvalues_under_the_law_are_those_of_the_closed_loop():
    bicycle = compile("whipple")
    law = balance(bicycle, {"lean": 100.0}, {"steer": 1.0, "rear_wheel": 1.0}, forward_speed=3.0)
    found = linearise(bicycle, state(bicycle, forward_speed=3.0))
    closed = np.linalg.eigvals(found.A - found.part(["steer", "rear_wheel"]).B @ law.K)
    modes = eigenvalues(bicycle, 3.0, law=law)
    assert_allclose(np.sort_complex(modes.values[0]), np.sort_complex(closed), rtol=1e-7)
    with pytest.raises(ParameterError, match="at one speed"):
        eigenvalues(bicycle, [3.0, 4.0], law=law)


def _turned(yaw):
    """Return a two-wheeled pendulum's way back to its place, seen along and across the heading that it
    keeps, which is turned by yaw.
    """
    system = compile("segway")
    pitch = -math.atan2(0.02, 0.8)
    about = linearise(system, state(system, pitch=pitch, yaw=yaw), cyclic=True)
    law = lqr(about, {"x": 1.0, "pitch": 100.0, "yaw": 1.0}, {"left": 1.0, "right": 1.0})
    c = math.cos(yaw)
    s = math.sin(yaw)
    axes = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
    start = state(system, pitch=pitch + 0.05, yaw=yaw + 0.1)
    start = replace(start, p=start.p + axes.T @ [0.3, 0.1, 0.0])
    run = simulate(system, start, 20.0, law=law).to_xarray()
    off = np.angle(np.exp(1j * (run.yaw.values - yaw)))
    return np.column_stack([run.position.values @ axes.T, off, run.pitch.values])


@pytest.mark.parametrize("yaw", [math.pi / 2, math.pi, -2.0])
def test_a_law_of_the_place_does_not_know_where_north_is(yaw):
    """Turned with its start, a machine goes the same way back, turned; also across the cut of the
    angle at 180 degrees.
    """
    straight = _turned(0.0)
    assert_allclose(straight[[0, -1], 0], [0.3, 0.0], atol=0.05)
    assert_allclose(_turned(yaw), straight, atol=1e-8)


def test_states_that_change_in_the_steady_motion_have_no_weight():
    """At a speed x grows; the line, y and the heading, can be kept."""
    bicycle = compile("whipple")
    found = linearise(bicycle, state(bicycle, forward_speed=5.0, yaw=1.0), cyclic=True)
    with pytest.raises(ConfigurationError, match="lqr: x changes in the steady motion itself"):
        lqr(found, {"x": 1.0, "lean": 1.0}, {"steer": 1.0})
    law = lqr(found, {"y": 1.0, "yaw": 1.0, "lean": 10.0}, {"steer": 1.0})
    start = state(bicycle, forward_speed=5.0, yaw=1.0)
    aside = np.array([-math.sin(1.0), math.cos(1.0), 0.0])
    run = simulate(bicycle, replace(start, p=start.p + 0.2 * aside), 20.0, law=law).to_xarray()
    across = run.position.values @ aside
    assert_allclose(across[[0, -1]], [0.2, 0.0], atol=1e-2)
    assert np.ptp(run.position.values[:, 0]) > 40.0


def test_constant_uncontrollable_states_are_ignored():
    """Two masses pushed against each other: their momentum stays, their distance is kept."""
    A = np.zeros((4, 4))
    A[0, 2] = A[1, 3] = 1.0
    A[2:, :2] = 4.0 * np.array([[1.0, -1.0], [-1.0, 1.0]])  # they repel
    none = np.zeros((0, 4)), np.zeros((0, 1))
    B = np.array([[0.0], [0.0], [1.0], [-1.0]])
    pair = ("a", "b", "a_rate", "b_rate")
    free = Linear(A, B, *none, pair, ("push",), (), np.zeros(4), np.zeros(1), np.zeros(0))
    with pytest.raises(ConfigurationError, match="cannot stabilise"):  # their middle drifts
        lqr(free, dict.fromkeys(pair, 1.0), {"push": 1.0})
    held = replace(
        free, A=A - 0.5 * np.diag([0, 0, 1.0, 1.0]) @ np.kron([[0, 0], [1, 0]], np.ones((2, 2)))
    )
    law = lqr(held, dict.fromkeys(pair, 1.0), {"push": 1.0})  # now a spring holds it
    grows = np.linalg.eigvals(held.A - B @ law.K).real.max()
    assert np.linalg.eigvals(held.A).real.max() > 1.0 and abs(grows) < 1e-9


def test_a_unicycle_is_balanced_by_its_wheel_and_its_turntable():
    """Its momentum about the vertical cannot be changed: one eigenvalue stays zero."""
    system = compile("unicycle")
    law = balance(system, forward_speed=1.0)
    found = linearise(system, state(system, forward_speed=1.0, pitch=law.about[1]))
    closed = found.A - found.part(["wheel", "turntable"]).B @ law.K
    values = np.sort(np.linalg.eigvals(closed).real)
    assert values[-2] < -0.1 and abs(values[-1]) < 1e-6
    # the mass centre stands over the hub: hF, hT above it, xT before it
    aside = math.atan2(4.0 * 0.02, 12.0 * 0.5 + 4.0 * 0.8)
    assert_allclose(law.about[1], -aside, atol=1e-9)


def test_a_steady_turn_has_one_linear_system_for_lqr():
    """Its matrices have no axis of motions, as those of `linearise` about one state."""
    bicycle = compile("whipple")
    turn = steady(bicycle, free=["steer"], lean=-0.2, forward_speed=5.0)
    linear = turn.linear()
    assert_allclose(linear.A, linearise(bicycle, turn.state, inputs=turn.inputs).A, atol=1e-9)
    law = lqr(linear, {"lean": 10.0, "steer": 1.0}, {"steer": 0.1, "rear_wheel": 1.0})
    closed = linear.A - linear.part(["steer", "rear_wheel"]).B @ law.K
    assert np.linalg.eigvals(closed).real.max() < 0.0
    assert law.feedforward["steer"] == pytest.approx(turn.inputs["steer"])


def test_a_turn_on_slipping_tyres_is_kept_with_its_slips():
    tyre = PassiveTyre(cornering=9000.0, arm=0.02, relaxation=0.1)
    bicycle = compile("whipple", rear_tyre=tyre, front_tyre=tyre)
    law = balance(bicycle, costs={"steer": 0.1, "rear_wheel": 1.0}, lean=-0.2, forward_speed=5.0)
    slips = dict(zip(law.states_read, law.about, strict=True))
    assert slips["z[0]"] != 0.0 and slips["z[1]"] != 0.0


def test_many_linear_systems_at_once_are_refused_with_the_way_out():
    bicycle = compile("whipple")
    many = linearise(bicycle, [state(bicycle, forward_speed=v) for v in (4.0, 5.0)])
    with pytest.raises(ConfigurationError, match=r"lqr needs one linear system.*linear\[0\]"):
        lqr(many, {"lean": 1.0}, {"steer": 1.0})
    assert lqr(many[0], {"lean": 1.0}, {"steer": 1.0}).K.shape == (1, 5)
    with pytest.raises(ConfigurationError, match="one linear system"):
        many[0][0]
