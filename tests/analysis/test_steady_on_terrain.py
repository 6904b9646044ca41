"""Steady motions and linear systems on terrains: closed forms, turned worlds, differences of runs."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import expm

import draisine
from analysis.published import EXACT
from draisine.algebra.lie import quaternion, rotation
from draisine.analysis.equilibrium import Steady, steady
from draisine.analysis.linear import ContactSetup, Linear, set_on_ground
from draisine.analysis.symmetry import find_symmetry
from draisine.errors import ConfigurationError, ParameterError
from draisine.terrain import SmoothGround, kerb, plane

SLOPE = 0.07
CAMBER = 0.1
CURVATURE = 0.1  # 1/m, half of the second derivative of a parabolic bowl

ACROSS = np.linspace(-15.0, 15.0, 61)
CROWN = SmoothGround([-60.0, 0.0, 60.0], ACROSS, np.tile(-0.02 * ACROSS**2, (3, 1)))
"""A crowned road along x: its height depends on y alone."""

GRID = np.linspace(-8.0, 8.0, 65)
BOWL = SmoothGround(GRID, GRID, CURVATURE * (GRID[:, None] ** 2 + GRID**2))
"""A paraboloid. Splines interpolate it exactly, up to the influence of the border."""


@pytest.fixture(scope="module")
def bicycle() -> Any:
    return draisine.compile("whipple")


def response(linear: Linear, name: str, until: float) -> Any:
    """Return the deviations of the states after a constant unit deviation of an input, N m."""
    n = len(linear.states)
    b = linear.B[:, [linear.inputs.index(name)]]
    pencil = np.block([[linear.A, b], [np.zeros((1, n + 1))]])
    return expm(until * pencil)[:n, n]


def assert_runs_deviate(motion: Steady, shown: list[str], until: float = 0.4) -> None:
    """Assert that runs under a small steer torque deviate as the linear system about a motion says."""
    linear = motion.linear()
    size = 1e-4
    ends = []
    for change in (size, -size):
        torque = {"steer": motion.inputs["steer"] + change}
        run = motion.simulate(until, change=torque).to_xarray()
        ends.append(np.array([run[name].values[-1] for name in shown]))
    wanted = response(linear, "steer", until)[[linear.states.index(name) for name in shown]]
    assert_allclose((ends[0] - ends[1]) / (2.0 * size), wanted, rtol=1e-5)


class TestPlanes:
    @pytest.mark.parametrize(("name", "speed"), [("whipple", 5.0), ("motorcycle", 20.0)])
    def test_a_level_plane_is_the_ideal_ground(self, name: str, speed: float) -> None:
        machine = draisine.compile(name)
        start = draisine.state(machine, forward_speed=speed)
        ideal = draisine.linearise(machine, start)
        real = draisine.linearise(machine, start, terrain=plane())
        assert real.states == ideal.states
        assert real.outputs == ideal.outputs
        for matrix in "ABCD":
            size = 1.0 + np.abs(getattr(ideal, matrix)).max(initial=0.0)
            assert_allclose(getattr(real, matrix), getattr(ideal, matrix), atol=1e-12 * size)

    def test_an_inclined_plane_is_the_turned_world(self) -> None:
        inclined = draisine.compile("motorcycle", slope=SLOPE, camber=CAMBER)
        motion = steady(inclined, free=["steer", "rear_wheel"], forward_speed=20.0, yaw=0.0)
        rise = [[np.cos(SLOPE), 0, -np.sin(SLOPE)], [0, 1, 0], [np.sin(SLOPE), 0, np.cos(SLOPE)]]
        roll = [
            [1, 0, 0],
            [0, np.cos(CAMBER), -np.sin(CAMBER)],
            [0, np.sin(CAMBER), np.cos(CAMBER)],
        ]
        R = np.array(rise) @ np.array(roll)
        state = motion.state
        turned = replace(state, q=np.asarray(quaternion(R @ rotation(state.q))), p=R @ state.p)
        ground = plane(SLOPE, camber=CAMBER)
        machine = draisine.compile("motorcycle")
        about = draisine.linearise(machine, turned, terrain=ground, inputs=motion.inputs)
        both = [np.sort_complex(linear.eigenvalues()) for linear in (about, motion.linear())]
        assert_allclose(*both, atol=1e-8)

    def test_a_steady_motion_on_a_slope_lasts(self, bicycle: Any) -> None:
        ground = plane(SLOPE, camber=CAMBER)
        motion = steady(
            bicycle, free=["steer", "rear_wheel"], forward_speed=5.0, yaw=0.0, terrain=ground
        )
        # Knife-edged wheels: the plane of the bicycle contains the vertical.
        assert_allclose(motion.values["lean"], 0.0, atol=1e-10)
        run = motion.simulate(1.0)
        assert not run.events
        assert_allclose(run.to_xarray().lean, 0.0, atol=1e-9)

    def test_friction_on_a_camber_carries_the_weight(self) -> None:
        car = draisine.compile("car")
        motion = steady(car, forward_speed=5.0, yaw=0.0, terrain=plane(camber=CAMBER))
        total = sum(motion.contact_forces.values())
        weight = 9.81 * sum(body.mass for body in car.model.bodies)
        wanted = weight * np.array([np.cos(CAMBER), 0.0, np.sin(CAMBER)])
        assert_allclose(total, wanted, atol=1e-8 * weight)
        assert_allclose(motion.values["lean"], CAMBER, atol=1e-10)


class TestRoads:
    def test_a_bicycle_beside_the_crown_is_upright(self, bicycle: Any) -> None:
        """It runs as on level ground: to first order its height has no influence on lean and steer."""
        motion = steady(
            bicycle, free=["steer", "rear_wheel"], forward_speed=5.0, y=2.0, yaw=0.0, terrain=CROWN
        )
        assert_allclose(motion.values["lean"], 0.0, atol=1e-9)
        assert_allclose(motion.inputs["steer"], 0.0, atol=1e-9)
        linear = motion.linear()
        assert "x" not in linear.states
        assert "y" in linear.states
        real, imaginary, capsize, castering = EXACT[5]
        for wanted in (real + 1j * imaginary, capsize, castering):
            assert np.abs(linear.eigenvalues() - wanted).min() < 1e-8

    def test_tyres_crab_along_a_crowned_road(self) -> None:
        motorcycle = draisine.compile("motorcycle")
        # Not at a corner of patches, where runs begin with events whose projections are noise.
        place = {"x": 5.0, "y": 2.1}
        motion = steady(
            motorcycle, free=["steer", "rear_wheel"], forward_speed=20.0, terrain=CROWN, **place
        )
        # The side forces of the tyres need slip: the machine does not point along the road.
        assert abs(motion.values["yaw"]) > 1e-4
        assert_allclose(motion.values["y_rate"], 0.0, atol=1e-10)
        assert_runs_deviate(motion, ["lean", "steer", "yaw"])


class TestBowls:
    def test_a_ball_rolls_along_a_horizontal_circle(self) -> None:
        """Balance of forces and moments of a ball without slip, by hand.

        With the slope b at the contact, the radius R of the path of the centre and the turning rate O:
        the friction F = m g sin b - m R O^2 cos b changes the angular momentum,
        F a = I O (w sin b + R O cos b / a), with the spin w about the normal.
        """
        ball = draisine.compile("ball")
        a = 0.1
        motion = steady(ball, x=0.0, y=-2.0, x_speed=2.0, terrain=BOWL)
        values = motion.values
        position = np.array([values["x"], values["y"]])
        R = float(np.linalg.norm(position))
        turning = values["yaw_rate"]
        # The contact is outside the centre by a sin b, where the slope is tan b = 2 k r.
        outside = R
        for _ in range(50):
            slope = np.arctan(2.0 * CURVATURE * outside)
            outside = R + a * np.sin(slope)
        outwards = np.append(position / R, 0.0)
        normal = np.cos(slope) * np.array([0.0, 0.0, 1.0]) - np.sin(slope) * outwards
        state = motion.state
        spin = normal @ (rotation(state.q) @ state.v[3:6])
        F = 9.81 * np.sin(slope) - R * turning**2 * np.cos(slope)
        moment = 0.4 * a**2 * turning * (spin * np.sin(slope) + R * turning * np.cos(slope) / a)
        assert_allclose(F * a, moment, rtol=1e-9)
        assert_allclose(R * turning, 2.0, rtol=1e-9)

    def test_a_disc_upright_on_a_banked_curve(self) -> None:
        """The turning rate at which a disc is perpendicular to the road, from its angular momentum.

        m g tan b = m R O^2 + O^2 / a (C (r / a - sin b) + A sin b), with the moments of inertia C about
        the axle and A across it, the radius r of the contact's path and R = r - a sin b of the centre's.
        """
        disc = draisine.compile("rolling_disc")
        body = disc.model.bodies[0]
        a = float(disc.model.contacts[0].centre[2])
        across, about = np.diag(body.inertia)[:2]
        r = 3.0
        slope = np.arctan(2.0 * CURVATURE * r)
        R = r - a * np.sin(slope)
        inertia = (about * (r / a - np.sin(slope)) + across * np.sin(slope)) / a
        turning = np.sqrt(body.mass * 9.81 * np.tan(slope) / (body.mass * R + inertia))
        guess = draisine.state(disc, y=-R, lean=-slope, forward_speed=R * turning * 1.1)
        start = set_on_ground(ContactSetup(disc, BOWL), guess)
        motion = steady(disc, start=start, lean=-slope, y=-R, terrain=BOWL)
        assert_allclose(motion.values["yaw_rate"], turning, rtol=1e-8)

    def test_a_bicycle_circles_in_a_bowl(self, bicycle: Any) -> None:
        motion = steady(
            bicycle, free=["steer", "rear_wheel"], forward_speed=5.0, radius=5.0, terrain=BOWL
        )
        # Nothing dissipates energy: the circle needs no drive.
        assert_allclose(motion.inputs["rear_wheel"], 0.0, atol=1e-9)
        speed = motion.values["rear_wheel_speed"]
        assert_allclose(speed / motion.values["yaw_rate"], 5.0, rtol=1e-10)
        # One coordinate is omitted; the circles form a family, which has the eigenvalue zero.
        linear = motion.linear()
        assert "x" not in linear.states
        assert np.abs(linear.eigenvalues()).min() < 1e-9
        assert_runs_deviate(motion, ["lean", "steer"])
        # At an instant position and heading are states; the angles of the wheels are cyclic.
        frozen = motion.linear(form="frozen")
        assert frozen.states[:5] == ("lean", "steer", "yaw", "x", "y")
        assert "rear_wheel" not in frozen.states
        for value in linear.eigenvalues():
            assert np.abs(frozen.eigenvalues() - value).min() < 1e-5


class TestOtherGrounds:
    def test_a_hill_has_no_steady_motion(self, bicycle: Any) -> None:
        hill = SmoothGround(GRID, GRID, 0.2 * np.sin(GRID[:, None]) * np.cos(0.7 * GRID))
        with pytest.raises(ConfigurationError, match="no symmetry, so that only rest is steady"):
            steady(bicycle, forward_speed=5.0, terrain=hill)

    def test_a_run_over_waves_deviates_as_its_linear_system(self, bicycle: Any) -> None:
        """A steer torque beside the run, by the linear system along it."""
        x = np.linspace(-6.0, 10.0, 65)
        waves = SmoothGround(x, None, 0.03 * np.sin(1.3 * x) ** 3 * (x > 0))
        level = draisine.state(bicycle, forward_speed=5.0, x=-3.0)
        start = set_on_ground(ContactSetup(bicycle, waves), level)
        numerics = draisine.Numerics(dt=0.005)
        size = 1e-4
        until = 0.8
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the ground's overshoot is of no interest here
            runs = [
                draisine.simulate(
                    bicycle, start, until, terrain=waves, numerics=numerics, inputs={"steer": T}
                )
                for T in (0.0, size, -size)
            ]
        linear = draisine.linearise(runs[0])
        assert linear.A.shape[0] == len(runs[0].t)
        t, first = np.unique(linear.times, return_index=True)
        A = linear.A[first]
        b = linear.B[first][:, :, linear.inputs.index("steer")]
        dx = np.zeros(A.shape[1])
        # Steps of the trapezoidal rule, of second order in the spacing of samples.
        for k, h in enumerate(np.diff(t)):
            left = np.eye(len(dx)) - 0.5 * h * A[k + 1]
            dx = np.linalg.solve(left, dx + 0.5 * h * (A[k] @ dx + b[k] + b[k + 1]))
        ends = [
            np.array([run.to_xarray()[name].values[-1] for name in ("lean", "steer")])
            for run in runs[1:]
        ]
        measured = (ends[0] - ends[1]) / (2.0 * size)
        wanted = dx[[linear.states.index(name) for name in ("lean", "steer")]]
        assert_allclose(measured, wanted, rtol=2e-3)

    def test_across_a_profile_no_motion_is_steady(self, bicycle: Any) -> None:
        x = np.linspace(-10.0, 10.0, 81)
        waves = SmoothGround(x, None, 0.05 * np.sin(x))
        with pytest.raises(
            ConfigurationError, match=r"constant along \(x, y\) = \(-?0, -?1\) only"
        ):
            steady(bicycle, forward_speed=5.0, yaw=0.0, terrain=waves)
        # Along its ridges it runs straight, and the drive only overcomes nothing.
        free = ["steer", "rear_wheel"]
        along = steady(bicycle, free=free, forward_speed=5.0, yaw=np.pi / 2, terrain=waves)
        assert_allclose(along.values["lean"], 0.0, atol=1e-9)
        assert_allclose(along.inputs["rear_wheel"], 0.0, atol=1e-9)

    def test_friction_that_does_not_suffice_is_reported(self, bicycle: Any) -> None:
        contact = draisine.ContactOptions(mu=0.05)
        ground = plane(camber=CAMBER)
        free = ["steer", "rear_wheel"]
        with pytest.raises(ConfigurationError, match=r"needs friction of 0\.1003 on 'ground'"):
            steady(bicycle, free=free, forward_speed=5.0, yaw=0.0, terrain=ground, contact=contact)

    def test_a_run_with_impacts_has_no_linear_system(self, bicycle: Any) -> None:
        start = draisine.state(bicycle, forward_speed=5.0)
        run = draisine.simulate(bicycle, start, 0.5, terrain=kerb(1.5, 0.01))
        with pytest.raises(ConfigurationError, match=r"contacts of the run change|time steps"):
            draisine.linearise(run)

    def test_options_that_contradict_a_terrain_are_refused(self, bicycle: Any) -> None:
        start = draisine.state(bicycle, forward_speed=5.0)
        mode = {"front": "open"}
        with pytest.raises(ParameterError, match="Leave `mode` or `terrain` out"):
            draisine.linearise(bicycle, start, terrain=plane(), mode=mode)
        with pytest.raises(ParameterError, match="Leave `mode` or `terrain` out"):
            steady(bicycle, forward_speed=5.0, terrain=plane(), mode=mode)
        wrong = "terrain: 'road' is not of type Terrain"
        with pytest.raises(ParameterError, match=wrong):
            draisine.linearise(bicycle, start, terrain="road")
        with pytest.raises(ParameterError, match=wrong):
            steady(bicycle, forward_speed=5.0, terrain="road")


class TestSymmetries:
    @pytest.mark.parametrize(
        ("normal", "count"),
        [
            (lambda p: (0.0, 0.0, 1.0), 3),
            (lambda p: (-0.1, 0.2, 1.0), 2),
            (lambda p: (0.0, p[1], 1.0), 1),
            (lambda p: (-(p[0] - 3.0), -(p[1] + 1.0), 1.0), 1),
            (lambda p: (-p[0], p[1] * p[0], 1.0), 0),
        ],
        ids=["level", "inclined", "road", "bowl", "hill"],
    )
    def test_of_typical_grounds(self, normal: Any, count: int) -> None:
        rng = np.random.default_rng(1)
        points = rng.uniform(-1.0, 1.0, (40, 3))
        normals = np.array([normal(p) for p in points])
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        found = find_symmetry(points, normals, np.array([5.0, 0.0, 0.0]), np.array([0, 0, -9.81]))
        assert found.count == count
        if found.rotation_axis() is not None:
            assert_allclose(found.rotation_axis(), [3.0, -1.0], atol=1e-9)
