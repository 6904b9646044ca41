"""Riders who steer into the fall after a delay, and who follow a path that they see ahead."""

import cmath
from collections import deque
from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose

import draisine
from draisine.analysis.bicycle.followed import TwoWheeler
from draisine.analysis.equilibrium import steady
from draisine.analysis.linear import linearise
from draisine.analysis.rider.preview import follow_path
from draisine.control import smooth_transition
from draisine.control.steer_into_lean import SteerIntoLean
from draisine.errors import ConfigurationError, ParameterError

SPEED = 5.0
TYRES = {"name": "load_tyre", "parameter_set": "city_bicycle"}
FINE = draisine.Numerics(rtol=1e-12, atol=1e-13)


def lane(x):
    """A change of lane by 2 m to the left between 15 and 30 m."""
    return 2.0 * smooth_transition(x, 15.0, 30.0)


@pytest.fixture(scope="module")
def bicycle():
    return draisine.compile("whipple")


@pytest.fixture(scope="module")
def on_tyres():
    return draisine.compile("whipple", rear_tyre=TYRES, front_tyre=TYRES)


def ride(bicycle, law, speed=SPEED):
    start = draisine.state(bicycle, forward_speed=speed)
    return draisine.simulate(bicycle, start, 60.0 / speed, law=law)


def aside(run):
    """How far the bicycle is from the lane, along y."""
    data = run.to_xarray()
    s = np.clip((data.position.sel(axis="x").values - 15.0) / 15.0, 0.0, 1.0)
    return data.position.sel(axis="y").values - 2.0 * (s - np.sin(2 * np.pi * s) / (2 * np.pi))


@pytest.mark.parametrize("speed", [3.0, 4.0, 5.0, 6.0, 8.0, 10.0])
def test_a_lane_change_with_delay_on_tyres(on_tyres, speed):
    """Designed at each speed, the rider with 0.2 s of delay completes it; below 0.3 m, up to 10 m/s."""
    run = ride(on_tyres, follow_path(on_tyres, lane, speed, delay=0.2), speed)
    found = aside(run)
    assert run.outcome == "completed"
    assert np.abs(found).max() < 0.3
    assert abs(found[-1]) < 0.01


def test_preview_helps(bicycle):
    rider = follow_path(bicycle, lane, SPEED)
    blind = replace(rider, distances=(0.0,), ahead=(sum(rider.ahead),))
    seen, unseen = (np.abs(aside(ride(bicycle, law))) for law in (rider, blind))
    assert seen[-1] < 0.005
    assert seen.max() < 0.5 * unseen.max()


def test_a_delay_outside_of_the_design_makes_the_rider_fall(on_tyres):
    """The same gains with a delay that they do not know of: the closed loop is unstable."""
    ready = follow_path(on_tyres, 0.0, SPEED)
    late = replace(ready, hands=replace(ready.hands, delay=0.2), hands_gains=(0.0,) * 4)
    assert TwoWheeler(on_tyres, ready).eigenmodes([SPEED]).values.real.max() < 0.0
    assert TwoWheeler(on_tyres, late).eigenmodes([SPEED]).values.real.max() > 0.5


class StartedAt:
    """A law whose states start at given values."""

    def __init__(self, law):
        self.law = law
        self.states = law.states
        self.start = np.zeros(law.states)

    def __call__(self, readings, z):
        return self.law(readings, z)


def test_eigenvalues_are_those_of_differences_of_runs(on_tyres):
    """The map of all states over 0.05 s, by central differences of nonlinear runs, has the eigenvalues
    exp(0.05 lambda) of the closed loop on tyres with delay and muscles.
    """
    rider = follow_path(on_tyres, 0.0, SPEED, delay=0.2, order=2, muscles=30.0)
    law = StartedAt(rider)
    time = 0.05
    small = 1e-4
    closed = linearise(on_tyres, draisine.state(on_tyres, forward_speed=SPEED), law=rider)
    names = [name for name in closed.states if not name.startswith("z[")]
    memory = on_tyres.model.memory

    def run(k, step):
        x = closed.x0.copy()
        x[k] += step
        law.start = x[len(names) + memory :]
        asked = dict(zip(names, x.tolist(), strict=False))
        slips = x[len(names) : len(names) + memory]
        start = draisine.state(on_tyres, element_state=slips, **asked)
        data = draisine.simulate(on_tyres, start, time, law=law, numerics=FINE).to_xarray()
        speeds = {str(n): float(data.speeds.sel(speed=n)[-1]) for n in data.speed.values}
        own = [speeds[n] if n in speeds else float(data[n][-1]) for n in names]
        return np.array([*own, *data.element_state.values[-1], *data.control_state.values[-1]])

    columns = [(run(k, small) - run(k, -small)) / (2.0 * small) for k in range(len(closed.x0))]
    flow = np.array(columns).T
    expected = scipy.linalg.expm(closed.A * time)
    # States have units; scaling by the rows and columns of the exact map makes one bound fit all.
    size = np.abs(expected).max()
    assert_allclose(flow, expected, atol=1e-6 * size)
    found = np.sort_complex(np.linalg.eigvals(flow))
    assert_allclose(found, np.sort_complex(np.exp(time * closed.eigenvalues())), atol=1e-6)


def test_a_transport_delay_rides_like_the_approximation(on_tyres):
    """A `Stepper` applies each command exactly 0.2 s later: within 5 mm of the run with Pade."""
    rider = follow_path(on_tyres, lane, SPEED, delay=0.2)

    def know(readings, z):
        """Path coordinates and the rider's prediction, without the torque."""
        return {}, rider(readings, z)[1]

    know.states = rider.states
    know.start_at = rider.start_at
    start = draisine.state(on_tyres, forward_speed=SPEED)
    step = 0.004  # a fiftieth of the delay
    numerics = draisine.Numerics(integrator="rk4", dt=0.001)
    stepper = draisine.Stepper(on_tyres, start, law=know, numerics=numerics)
    late = deque([0.0] * round(0.2 / step))
    places = []
    while stepper.time < 12.0:
        now = stepper.values()
        places.append([stepper.time, now["x"], now["y"]])
        late.append(command(rider, now))
        stepper.step(step, {"steer": late.popleft()})
    t, x, y = np.array(places).T
    data = ride(on_tyres, rider).to_xarray()
    assert_allclose(np.interp(data.time, t, y), data.position.sel(axis="y"), atol=5e-3)
    assert y[-1] == pytest.approx(2.0, abs=0.02)
    assert x[-1] > 55.0


def command(rider, values):
    """Return the rider's command from the readings of a stepper."""
    memory = [name for name in values if name.startswith("element_state[")]
    own = dict(zip(rider.state_names, law_states(values), strict=True))
    read = {f"z[{k}]": values[name] for k, name in enumerate(memory)} | own
    known = [read[name] if name in read else values[name] for name in rider.states_read]
    hands = [own[name] for name in rider.hands.state_names]
    s = own["parameter"]
    stretch = rider.path.arc_length_rate(own["parameter"])
    seen = [rider.path.curvature(s + d / stretch) for d in rider.distances]
    return float(
        np.dot(rider.ahead, seen) - np.dot(rider.gains, known) - np.dot(rider.hands_gains, hands)
    )


def law_states(values):
    return [value for name, value in values.items() if name.startswith("control_state[")]


@pytest.mark.parametrize("curvature", [0.05, -0.05])
def test_a_circle_is_a_steady_motion(on_tyres, curvature):
    """The rider has a steady motion on a circle: the yaw rate is speed times curvature."""
    rider = follow_path(on_tyres, curvature, SPEED, delay=0.2)
    turn = steady(on_tyres, law=rider, free=["rear_wheel"], forward_speed=SPEED)
    states = dict(zip(rider.state_names, turn.y[turn.machine.layout.z][4:], strict=True))
    radius = 1.0 / curvature - states["offset"]
    speed = np.hypot(turn.values["Vx"] * np.cos(turn.values["pitch"]), turn.values["Vy"])
    assert_allclose(turn.values["yaw_rate"] * radius, speed, rtol=1e-3)
    assert abs(states["offset"]) < 0.03
    assert turn.linear().eigenvalues().real.max() < 1e-6
    balance = -np.sign(curvature) * np.arctan(SPEED * abs(turn.values["yaw_rate"]) / 9.81)
    assert turn.values["lean"] == pytest.approx(balance, rel=0.05)


def test_a_constant_curvature_is_followed_without_offset_to_first_order(bicycle):
    """The steady offset falls with the cube of the curvature: the turn is mirror-symmetric."""
    offsets = []
    for curvature in (0.01, 0.02):
        rider = follow_path(bicycle, curvature, SPEED)
        turn = steady(bicycle, law=rider, forward_speed=SPEED)
        offsets.append(float(turn.y[turn.machine.layout.z][0]))
    assert offsets[1] / offsets[0] == pytest.approx(8.0, rel=0.1)


def test_the_gains_are_those_of_least_cost(bicycle):
    """Any other gain costs more: the cost of the closed loop by Lyapunov's equation has its least value."""
    cost = 0.02
    rider = follow_path(bicycle, 0.0, SPEED, cost=cost)
    plant = linearise(bicycle, draisine.state(bicycle, forward_speed=SPEED), cyclic=True)
    names = [{"offset": "y", "heading_error": "yaw"}.get(n, n) for n in rider.states_read]
    at = [plant.states.index(name) for name in names]
    A = plant.A[np.ix_(at, at)]
    B = plant.part(["steer"]).B[at]
    Q = np.diag([1.0 if name in ("y", "yaw") else 0.0 for name in names])

    def price(K):
        closed = A - B @ K
        whole = scipy.linalg.solve_continuous_lyapunov(closed.T, -(Q + cost * K.T @ K))
        return np.trace(whole)

    best = np.array([rider.gains])
    for k in range(len(names)):
        for factor in (0.99, 1.01):
            other = best.copy()
            other[0, k] *= factor
            assert price(other) > price(best)


def test_impossible_designs_are_refused(bicycle):
    with pytest.raises(ConfigurationError, match="'x' is not a state that steering moves"):
        follow_path(bicycle, 0.0, SPEED, {"x": 1.0})
    with pytest.raises(ParameterError, match="weight of the offset"):
        follow_path(bicycle, 0.0, SPEED, {"lean": 1.0})
    with pytest.raises(ParameterError, match="weight of lean = -1"):
        follow_path(bicycle, 0.0, SPEED, {"offset": 1.0, "lean": -1.0})
    for wrong in ({"cost": 0.0}, {"horizon": -1.0}, {"count": 0}, {"delay": -1.0}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            follow_path(bicycle, 0.0, SPEED, **wrong)
    with pytest.raises(ParameterError, match="must be positive"):
        follow_path(bicycle, 0.0, 0.0)


class TestSteerIntoLean:
    def test_it_steadies_a_slow_bicycle(self, bicycle):
        law = SteerIntoLean(lean_gain=0.0, rate_gain=12.0)
        slow = np.array([3.0])
        assert TwoWheeler(bicycle).eigenmodes(slow).values.real.max() > 0
        assert TwoWheeler(bicycle, law).eigenmodes(slow).values.real.max() < 0

    def test_a_delay_is_that_of_its_exact_function(self, bicycle):
        """Roots of the loop with the Pade delay are nearly roots of the loop with exp(-s T): det(s - A)
        of the bicycle plus what the torque adds vanishes, checked at the weave."""
        T = 0.05
        law = SteerIntoLean(lean_gain=10.0, rate_gain=6.0, delay=T)
        found = TwoWheeler(bicycle, law).eigenmodes([4.0])
        s = complex(found.mode("weave")[0])
        plain = linearise(bicycle, draisine.state(bicycle, forward_speed=4.0))
        push = plain.part(["steer"]).B[:, 0]
        row = np.zeros(len(plain.states), complex)
        row[plain.states.index("lean")] = -10.0
        row[plain.states.index("lean_rate")] = -6.0
        answer = row @ np.linalg.solve(s * np.eye(len(row)) - plain.A, push)
        assert (
            abs(1.0 - cmath.exp(-s * T) * answer) < 2.0 * abs(s * T) ** 5 / 720
        )  # what Pade leaves

    def test_too_long_a_delay_makes_it_fall(self, bicycle):
        law = SteerIntoLean(lean_gain=0.0, rate_gain=12.0, delay=0.4)
        assert TwoWheeler(bicycle, law).eigenmodes([3.0]).values.real.max() > 0
