"""Sensors against closed forms, and the invariances of their readings."""

import math
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ellipj, ellipk
from scipy.stats import kstest

import draisine
from draisine import ContactOptions, Model, Numerics, Stepper, simulate, state
from draisine.algebra.lie import rotation
from draisine.errors import ModelError, ParameterError
from draisine.mechanics.sensors import ContactSwitch, Encoder, Imu, JointSensor, PoseSensor
from draisine.model import Body, Motor, Revolute, inertia
from draisine.model.sensor import build_sensor, sensor_table
from draisine.simulation.sensing import noise_key, normal_numbers, run_readings
from draisine.terrain import plane

GRAVITY = 9.81


def pendulum(*, length: float = 0.7, place: float = 0.7) -> Model:
    """Point mass on a rod that hangs from a hinge, with an IMU at a distance from the hinge."""
    return Model(
        bodies=[Body("wall", 1.0), Body("bob", 2.0, (0.0, 0.0, -length))],
        joints=[Revolute("hinge", "wall", "bob", (0.0, -1.0, 0.0), motor=Motor(torque=5.0))],
        base="fixed",
        sensors=[
            Imu("imu", "bob", (0.0, 0.0, -place)),
            Encoder("turns", "hinge", counts=500, rate=50.0),
            JointSensor("drive", "hinge"),
        ],
    )


def turntable(*, radius: float = 0.4, speed: float = 3.0, gain: float = 0.8) -> Model:
    """Body that turns about a vertical axis by speed * t + gain * t^2 / 2, with an IMU off the axis."""

    def turn(t):
        return speed * t + gain * t * t / 2, speed + gain * t, gain

    moment = inertia(0.2, 0.2, 0.3)
    return Model(
        bodies=[Body("floor", 1.0), Body("table", 1.0, (0.0, 0.0, 0.0), moment)],
        joints=[Revolute("axle", "floor", "table", (0.0, 0.0, 1.0), motion=turn)],
        base="fixed",
        sensors=[Imu("imu", "table", (radius, 0.0, 0.2)), JointSensor("axle_sensor", "axle")],
    )


def signal(data, sensor: str, group: str):
    """Return the three components of a group of channels, (times, 3)."""
    return np.stack([data[f"{sensor}_{group}_{axis}"].values for axis in "xyz"], axis=1)


class TestInertialMeasurement:
    """The specific force is the acceleration minus gravity, in the axes of the sensor."""

    def test_pendulum(self):
        length, place, angle = 0.7, 0.5, 1.2
        system = draisine.compile(pendulum, length=length, place=place)
        data = simulate(system, state(system, hinge=angle), 3.0).to_xarray()
        # Swing from rest by Jacobi's elliptic functions: sin(theta / 2) = k cd(w t | k^2).
        w = math.sqrt(GRAVITY / length)
        k = math.sin(angle / 2)
        sn, _, _, _ = ellipj(ellipk(k * k) - w * data.time.values, k * k)
        theta = 2.0 * np.arcsin(k * sn)
        rate = np.sqrt(2.0 * GRAVITY / length * np.maximum(np.cos(theta) - math.cos(angle), 0.0))
        assert_allclose(data.hinge, theta, atol=1e-8)
        force = signal(data, "imu", "specific_force")
        # The swing is towards +x for positive angles. Tangential: place * theta'' + g sin(theta).
        tangential = GRAVITY * np.sin(theta) * (1.0 - place / length)
        assert_allclose(force[:, 0], tangential, atol=1e-7)
        assert_allclose(force[:, 1], 0.0, atol=1e-12)
        assert_allclose(force[:, 2], place * rate**2 + GRAVITY * np.cos(theta), atol=1e-7)
        turning = signal(data, "imu", "angular_velocity")
        assert_allclose(np.abs(turning[:, 1]), rate, atol=1e-6)
        assert_allclose(turning[:, 1], -data.hinge_rate, atol=1e-12)

    def test_accelerometer_at_the_point_mass_feels_only_the_rod(self):
        system = draisine.compile(pendulum)
        data = simulate(system, state(system, hinge=1.0), 1.0).to_xarray()
        assert_allclose(signal(data, "imu", "specific_force")[:, :2], 0.0, atol=1e-12)

    def test_rest_reads_gravity_upwards_in_sensor_axes(self):
        axes = rotation(np.array([0.5, 0.5, -0.5, 0.5]))
        ball = draisine.compile("ball").with_sensors(
            Imu("imu", "ball", (0.05, 0.0, 0.1)), Imu("tilted", "ball", axes=axes)
        )
        start = state(ball, yaw=0.3, lean=0.4, pitch=-0.2)
        data = simulate(ball, start, 0.1).to_xarray()
        up = rotation(start.q).T @ [0.0, 0.0, GRAVITY]
        assert_allclose(signal(data, "imu", "specific_force"), up[None].repeat(11, 0), atol=1e-12)
        tilted = signal(data, "tilted", "specific_force")
        assert_allclose(tilted, (axes.T @ up)[None].repeat(11, 0), atol=1e-12)
        assert_allclose(signal(data, "imu", "angular_velocity"), 0.0, atol=1e-12)

    def test_free_fall_reads_the_centripetal_part_only(self):
        lever = np.array([0.03, -0.02, 0.04])
        centre = np.array([0.0, 0.0, 0.1])
        ball = draisine.compile("ball").with_sensors(
            Imu("centre", "ball", centre), Imu("rim", "ball", centre + lever)
        )
        start = state(ball, mode={"ground": "open"}, z=2.0, Wx=1.0, Wy=-2.0, Wz=3.0)
        run = simulate(ball, start, 0.3, contact=ContactOptions(mode={"ground": "open"}))
        data = run.to_xarray()
        assert_allclose(signal(data, "centre", "specific_force"), 0.0, atol=1e-11)
        W = np.array([1.0, -2.0, 3.0])  # constant: a homogeneous ball
        expected = np.cross(W, np.cross(W, lever))
        count = len(data.time)
        assert_allclose(
            signal(data, "rim", "specific_force"), expected[None].repeat(count, 0), atol=1e-11
        )
        assert_allclose(
            signal(data, "rim", "angular_velocity"), W[None].repeat(count, 0), atol=1e-11
        )

    def test_lever_arm_on_a_turntable(self):
        radius, speed, gain = 0.4, 3.0, 0.8
        system = draisine.compile(turntable, radius=radius, speed=speed, gain=gain)
        data = simulate(system, state(system, axle_rate=speed), 2.0).to_xarray()
        rate = speed + gain * data.time.values
        force = signal(data, "imu", "specific_force")
        assert_allclose(force[:, 0], -(rate**2) * radius, rtol=1e-9)
        assert_allclose(force[:, 1], gain * radius, rtol=1e-9)
        assert_allclose(force[:, 2], GRAVITY, rtol=1e-12)
        assert_allclose(signal(data, "imu", "angular_velocity")[:, 2], rate, rtol=1e-9)
        # The drive of a prescribed joint supplies moment of inertia times acceleration.
        assert_allclose(data.axle_sensor_effort, 0.3 * gain, rtol=1e-9)

    def test_bicycle_against_differences_of_velocities(self):
        bicycle = draisine.compile("whipple")
        base = bicycle.model.bodies[0].name
        point = np.array([0.3, 0.1, 0.9])
        bicycle = bicycle.with_sensors(Imu("imu", base, point), PoseSensor("mocap", base, point))
        start = state(bicycle, forward_speed=4.6, lean_rate=0.5, steer=0.05)
        h = 1.0 / 1024
        data = simulate(bicycle, start, 0.5, numerics=Numerics(dt=h)).to_xarray()
        place = np.stack([data[f"mocap_position_{a}"].values for a in "xyz"], axis=1)
        # Five-point second differences, whose error is of fourth order.
        weights = np.array([-1.0, 16.0, -30.0, 16.0, -1.0]) / (12.0 * h * h)
        differences = sum(w * place[k : len(place) - 4 + k] for k, w in enumerate(weights))
        R = np.moveaxis(rotation(data.orientation.values.T), 2, 0)[2:-2]
        world = np.einsum("tij,tj->ti", R, signal(data, "imu", "specific_force")[2:-2])
        assert_allclose(world - [0.0, 0.0, GRAVITY], differences, atol=2e-5)
        assert_allclose(data.mocap_yaw, data.yaw, atol=1e-12)

    def test_terrain_and_ideal_contacts_agree(self):
        disc = draisine.compile("rolling_disc").with_sensors(
            Imu("imu", "disc", (0.1, 0.0, 0.2), rate=100.0),
            ContactSwitch("touch", "ground", rate=100.0),
        )
        start = state(disc, forward_speed=2.0, lean=0.1)
        ideal = simulate(disc, start, 0.5).to_xarray()
        real = simulate(disc, start, 0.5, terrain=plane()).to_xarray()
        for name in ("specific_force", "angular_velocity"):
            assert_allclose(signal(real, "imu", name), signal(ideal, "imu", name), atol=1e-6)
        assert (real.touch == 1.0).all() and (ideal.touch == 1.0).all()


class TestContactSwitch:
    """A switch with travel is on near each impact of a bouncing ball."""

    def test_bouncing_ball(self):
        restitution, height, travel, rate = 0.7, 0.5, 2e-3, 1000.0
        ball = draisine.compile("ball").with_sensors(
            ContactSwitch("touch", "ground", travel=travel, rate=rate),
            ContactSwitch("load", "ground", rate=rate),
        )
        start = state(ball, mode={"ground": "open"}, z=height)
        options = ContactOptions(impact="newton", restitution={"normal": restitution})
        readings = run_readings(simulate(ball, start, 2.5, terrain=plane(), contact=options))
        t, (touch,) = readings["touch"]
        assert len(t) == 2501
        # Impacts at the times of a parabola with speeds that decrease by the restitution. Falling from rest,
        # the ball is below the travel for the last part of the fall.
        speed = math.sqrt(2.0 * GRAVITY * height)
        impact = speed / GRAVITY
        begins = math.sqrt(2.0 * (height - travel) / GRAVITY)
        expected = np.zeros(len(t), bool)
        distance = np.full(len(t), np.inf)  # of a reading from the next switching, s
        while True:
            speed *= restitution
            # It leaves the travel after the root of v s - g s^2 / 2 = travel.
            discriminant = speed**2 - 2.0 * GRAVITY * travel
            leaves = math.inf
            if discriminant > 0.0:
                leaves = (speed - math.sqrt(discriminant)) / GRAVITY
            expected |= (t >= begins) & (t < impact + leaves)
            distance = np.minimum(distance, np.abs(t - begins))
            if discriminant <= 0.0:
                break
            distance = np.minimum(distance, np.abs(t - impact - leaves))
            flight = 2.0 * speed / GRAVITY
            begins = impact + flight - leaves
            impact += flight
        is_clear = distance > 1e-6
        assert is_clear.sum() > 2490
        assert (touch[is_clear] == expected[is_clear]).all()
        # Without travel the switch is on only at rest, after t = (1 + e) / (1 - e) sqrt(2 h / g).
        rest = (1.0 + restitution) / (1.0 - restitution) * math.sqrt(2.0 * height / GRAVITY)
        _, (load,) = readings["load"]
        assert not load[t < rest - 1e-3].any()
        assert load[t > rest + 1e-3].all()

    def test_threshold(self):
        disc = draisine.compile("rolling_disc")
        weight = GRAVITY * sum(float(b.mass) for b in disc.model.bodies)
        disc = disc.with_sensors(
            ContactSwitch("below", "ground", force=0.99 * weight),
            ContactSwitch("above", "ground", force=1.01 * weight),
        )
        values = Stepper(disc, state(disc)).values()
        assert (values["below"], values["above"]) == (1.0, 0.0)


class TestErrors:
    """Quantisation, bias and noise of readings."""

    def test_encoder_counts(self):
        system = draisine.compile(pendulum)
        data = simulate(system, state(system, hinge=1.0), 2.0).to_xarray()
        quantum = 2.0 * math.pi / 500
        counts = data.turns.values / quantum
        assert_allclose(counts, np.rint(counts), atol=1e-9)
        held = data.hinge.values[::2].repeat(2)[: len(counts)]  # 50 Hz, samples every 0.01 s
        assert np.abs(data.turns.values - held).max() <= quantum / 2 + 1e-12
        assert np.abs(data.turns.values - held).max() > 0.4 * quantum

    def test_quantisation_error_is_uniform(self):
        system = draisine.compile(pendulum)
        numerics = Numerics(dt=1e-3)
        fine = Encoder("fine", "hinge", counts=4096, rate=1000.0)
        data = simulate(
            system.with_sensors(fine), state(system, hinge=1.0), 4.0, numerics=numerics
        ).to_xarray()
        quantum = 2.0 * math.pi / 4096
        error = (data.fine.values - data.hinge.values) / quantum
        # Variance q^2 / 12 of a uniform distribution; 4001 samples have a spread of 1.5 %.
        assert_allclose(error.var(), 1.0 / 12.0, rtol=0.06)

    def test_noise_statistics(self):
        ball = draisine.compile("ball").with_sensors(
            Imu(
                "imu",
                "ball",
                rate=2000.0,
                bias={"specific_force": 0.2, "angular_velocity_z": -0.01},
                noise={"specific_force": 0.05, "angular_velocity": 0.002},
                seed=7,
            )
        )
        run = simulate(ball, state(ball), 4.0, numerics=Numerics(dt=5e-4))
        data = run.to_xarray()
        force = signal(data, "imu", "specific_force")[:, :2] - 0.2
        turning = signal(data, "imu", "angular_velocity") - [0.0, 0.0, -0.01]
        for noise, deviation in ((force, 0.05), (turning, 0.002)):
            count = len(noise)
            # Four standard errors of mean, deviation and correlations.
            assert np.abs(noise.mean(axis=0)).max() < 4.0 * deviation / math.sqrt(count)
            assert np.abs(noise.std(axis=0) / deviation - 1.0).max() < 4.0 / math.sqrt(2.0 * count)
            scaled = noise / deviation
            lagged = np.abs((scaled[1:] * scaled[:-1]).mean(axis=0))
            assert lagged.max() < 4.0 / math.sqrt(count)
            assert np.abs((scaled[:, 0] * scaled[:, 1]).mean()) < 4.0 / math.sqrt(count)
        assert kstest(turning[:, 0] / 0.002, "norm").pvalue > 1e-4

    def test_generator_is_normal_and_uncorrelated(self):
        ticks = np.arange(100_000)
        numbers = normal_numbers(12345, ticks, 3)
        assert kstest(numbers.ravel(), "norm").pvalue > 1e-3
        correlations = np.corrcoef(numbers) - np.eye(3)
        assert np.abs(correlations).max() < 4.0 / math.sqrt(len(ticks))

    def test_generator_is_splitmix64(self):
        # Numbers of SplitMix64 with seed 1234567, from its reference implementation
        # (prng.di.unimi.it/splitmix64.c).
        from draisine.simulation.sensing import _uniform

        reference = [6457827717110365317, 3203168211198807973, 9817491932198370423]
        places = np.arange(3, dtype=np.uint64)
        assert_allclose(
            _uniform(1234567, places), [(z >> 11) * 2.0**-53 for z in reference], rtol=0, atol=0
        )

    def test_seeds_and_sensors_have_different_noise(self):
        keys = {
            noise_key(Encoder(name, "hinge", seed=seed), run)
            for name in ("a", "b")
            for seed in (0, 1)
            for run in (0, 1)
        }
        assert len(keys) == 8


def noisy_cart():
    """Return a cart with a pole, and sensors of several rates."""
    cart = draisine.compile("cart_pole").with_sensors(
        Imu("imu", "pole", (0.0, 0.0, 0.3), rate=128.0, noise=0.1, bias=0.3, quantum=0.01),
        Encoder("pole_encoder", "pole", counts=1000, rate=64.0, noise=0.01),
        JointSensor("slow", "pole", rate=7.0, noise=0.01, seed=3),
        PoseSensor("mocap", "pole"),
    )
    return cart, state(cart, pole=0.2)


def sensor_signals(data, system):
    """Return the signals of all sensors of a dataset, (signals, times)."""
    from draisine.simulation.sensing import signal_names

    return np.array([data[name].values for name in signal_names(system.model)])


class TestInvariance:
    """Readings depend neither on the spacing of samples nor on the division of time into calls."""

    def test_spacing_of_samples(self):
        cart, start = noisy_cart()
        coarse = simulate(cart, start, 1.0, numerics=Numerics(dt=0.05)).to_xarray()
        fine = simulate(cart, start, 1.0, numerics=Numerics(dt=0.01)).to_xarray()
        assert_allclose(sensor_signals(fine, cart)[:, ::5], sensor_signals(coarse, cart), atol=1e-9)

    def test_spacing_of_samples_on_a_terrain(self):
        ball = draisine.compile("ball").with_sensors(
            Imu("imu", "ball", (0.05, 0.0, 0.1), rate=300.0, noise=0.1)
        )
        start = state(ball, mode={"ground": "open"}, z=0.05, Vx=1.0, Wy=3.0)
        options = ContactOptions(mu=0.3, restitution={"normal": 0.5})
        signals = []
        for dt in (0.01, 0.04):
            numerics = Numerics(dt=dt)
            run = simulate(
                ball, start, 0.8, terrain=plane(), contact=options, numerics=numerics
            ).to_xarray()
            grid = np.arange(1, 20) * 0.04
            last = np.searchsorted(run.time.values, grid + 1e-9, side="right") - 1
            assert_allclose(run.time.values[last], grid, atol=1e-9)
            signals.append(sensor_signals(run, ball)[:, last])
        assert_allclose(signals[0], signals[1], atol=1e-6)

    @pytest.mark.parametrize("pieces", [1, 3, 7, 64, 1000])
    def test_division_into_calls(self, pieces):
        cart, start = noisy_cart()
        reference = Stepper(cart, start)
        reference.step(1.0)
        ride = Stepper(cart, start)
        for _ in range(pieces):
            ride.step(1.0 / pieces)
        assert ride.values() == reference.values()

    def test_stepper_equals_run_at_common_times(self):
        cart, start = noisy_cart()
        numerics = Numerics(integrator="rk4", dt=1.0 / 1024)
        data = simulate(cart, start, 1.0, numerics=numerics).to_xarray()
        ride = Stepper(cart, start)
        for time in (0.0, 0.25, 0.5, 1.0):
            ride.step(time - ride.time)
            values = ride.values()
            for name in ("imu_specific_force_x", "pole_encoder", "slow_rate", "mocap_pitch"):
                assert_allclose(values[name], float(data[name].sel(time=time)), atol=1e-12)

    def test_sensors_do_not_change_the_motion(self):
        cart, start = noisy_cart()
        plain = draisine.compile("cart_pole")
        with_sensors = simulate(cart, start, 1.0).to_xarray()
        without = simulate(plain, start, 1.0).to_xarray()
        assert (with_sensors["shape"].values == without["shape"].values).all()
        rides = [Stepper(system, start) for system in (cart, plain)]
        for ride in rides:
            ride.step(0.7)
        assert (rides[0].state.r == rides[1].state.r).all()

    def test_reset_repeats_the_readings_and_a_seed_changes_them(self):
        cart, start = noisy_cart()
        ride = Stepper(cart, start)
        first = []
        for seed in (None, None, 5, 5):
            ride.reset(noise_seed=seed)
            ride.step(0.5)
            first.append(ride.values()["imu_specific_force_y"])
        assert first[0] == first[1] != first[2] == first[3]

    def test_storing_and_loading(self, tmp_path: Path):
        cart, start = noisy_cart()
        run = simulate(cart, start, 0.3)
        draisine.save(run, tmp_path / "run.nc")
        loaded = draisine.load(tmp_path / "run.nc")
        assert (sensor_signals(loaded, cart) == sensor_signals(run.to_xarray(), cart)).all()
        assert loaded["imu_specific_force_x"].attrs["units"] == "m/s2"
        from draisine.results.bodies import restore_system

        names = [sensor.name for sensor in restore_system(loaded).model.sensors]
        assert names == ["imu", "pole_encoder", "slow", "mocap"]

    def test_recipe_contains_the_sensors(self):
        cart, start = noisy_cart()
        run = simulate(cart, start, 0.1).to_xarray()
        names: dict = {}
        exec(run.attrs["recipe"], names)
        again = names["run"].to_xarray()
        assert (sensor_signals(again, cart) == sensor_signals(run, cart)).all()

    def test_position_of_a_sensor_may_be_a_parameter(self):
        system = draisine.compile(turntable)
        moved = system.with_parameters(radius=0.8)
        start = state(moved, axle_rate=3.0)
        data = simulate(moved, start, 0.1).to_xarray()
        assert_allclose(float(data.imu_specific_force_x[0]), -9.0 * 0.8, rtol=1e-9)


class TestJointSensor:
    """The effort is that of the drive."""

    def test_effort_within_the_limits_of_the_motor(self):
        system = draisine.compile(pendulum)
        ride = Stepper(system, state(system), inputs={"hinge": 20.0})
        assert ride.values()["drive_effort"] == 5.0


class TestTables:
    """Sensors in scenario files, and mistakes."""

    def test_tables_describe_sensors(self):
        for sensor in noisy_cart()[0].model.sensors:
            table = sensor_table(sensor)
            again = build_sensor(table)
            assert type(again) is type(sensor)
            assert sensor_table(again) == table

    def test_scenario(self, tmp_path: Path):
        from draisine.scenario.library import load as load_scenario

        path = tmp_path / "cart.toml"
        path.write_text(
            """
            kind = "run"
            title = "A pole with a sensor"
            run = { until = 0.2 }
            initial = { pole = 0.1 }
            [vehicle]
            name = "cart_pole"
            [[vehicle.sensors]]
            kind = "imu"
            name = "imu"
            body = "pole"
            point = [0.0, 0.0, 0.5]
            rate = 100
            noise = { angular_velocity = 0.01 }
            """
        )
        data = draisine.run(str(path)).data
        assert data["imu_angular_velocity_y"].dims == ("time",)
        path.write_text(path.read_text().replace("rate = 100", "pace = 100"))
        with pytest.raises(draisine.errors.DraisineError, match=r"sensors\[0\].*pace"):
            load_scenario(str(path)).plan()

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: Encoder("e", "pole", rate=-1.0), "rate"),
            (lambda: Encoder("e", "pole", noise=0.1), "has no sampling rate"),
            (lambda: Encoder("e", "pole", counts=0), "counts"),
            (lambda: Encoder("e", "pole", quantum=-1.0), "negative"),
            (lambda: Encoder("e", "pole", bias=math.nan), "finite"),
            (lambda: Encoder("e", "pole", seed=1.5), "seed"),
            (lambda: Imu("i", "pole", axes=2.0 * np.eye(3)), "unit vectors"),
            (lambda: Imu("i", "pole", axes=np.diag([1.0, 1.0, -1.0])), "right-handed"),
            (lambda: ContactSwitch("c", "rear", rate=10.0, noise=1.0), "on or off"),
        ],
    )
    def test_wrong_values(self, make, message):
        with pytest.raises(ModelError, match=message):
            make()

    @pytest.mark.parametrize(
        ("sensor", "message"),
        [
            (Encoder("e", "poel"), "pole"),
            (Imu("i", "poel"), "pole"),
            (ContactSwitch("c", "ground"), "no contact"),
            (Encoder("pole", "pole"), "name of another result"),
            (Imu("i", "pole", bias={"force": 1.0}), "unknown channel 'force'"),
            (PoseSensor("a/b", "pole"), "invalid name"),
        ],
    )
    def test_wrong_references(self, sensor, message):
        with pytest.raises(ModelError, match=message):
            draisine.compile("cart_pole").with_sensors(sensor)

    def test_objects_that_are_no_sensors(self):
        with pytest.raises(ParameterError, match="not a sensor"):
            draisine.compile("cart_pole").with_sensors("imu")

    def test_equal_names(self):
        sensor = Encoder("e", "pole")
        with pytest.raises(ModelError, match="used twice"):
            draisine.compile("cart_pole").with_sensors(sensor, sensor)
