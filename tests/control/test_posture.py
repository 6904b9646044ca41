"""A rider who stands on the pedals: laws of flight, wheelie, bunny hop and landing on terrain."""

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.control import CombinedLaws
from draisine.control.posture import Posture
from draisine.control.wheelie import Wheelie
from draisine.errors import ParameterError
from draisine.results.queries import evaluate_series
from draisine.scenario.library import load
from draisine.terrain import plane
from draisine.vehicles import parameter_set
from draisine.vehicles.bicycle import Stance, from_tape_measure

TAPE = {
    "wheelbase": 1.08,
    "trail": 0.07,
    "head_angle": math.radians(69.0),
    "rear_radius": 0.33,
    "front_radius": 0.33,
    "bicycle_mass": 12.0,
    "rider_mass": 70.0,
    "rider_height": 1.75,
    "saddle": (0.20, 0.85),
    "cranks": (0.43, 0.33),
    "grips": (0.80, 1.02),
}
"""Measurements of the bicycle and rider of the scenarios."""

RADIUS = 0.33


@pytest.fixture(scope="module")
def runs():
    """The runs of the scenarios by name."""
    names = ("bunny-hop", "wheelie-by-weight", "landing", "landing-corrected")
    return {name: draisine.run(f"riders/{name}") for name in names}


@pytest.fixture(scope="module")
def trail_bicycle():
    values, _ = from_tape_measure(**TAPE, stance=True)
    return draisine.compile("whipple", **(values | {"stance": Stance(**values["stance"])}))


def series(run, name, start, end):
    """Return the samples of a quantity strictly between two times (s)."""
    t = run.bodies.data.time.values
    inside = (t > start + 1e-9) & (t < end - 1e-9)
    return evaluate_series(name, run.bodies)[inside]


def events(run):
    """Return time (s), kind and contacts of each event of a run."""
    found = json.loads(run.data.attrs["events"])
    return [(e["time"], e["kind"], [c.split(":") for c in e["contact"]], e["after"]) for e in found]


def flight(run):
    """Return the longest interval (s) between events without any contact."""
    spans = [(a[0], b[0]) for a, b in pairwise(events(run)) if not a[3]]
    start, end = min(spans)[0], max(spans)[1]
    return start, end


class TestMachine:
    def test_the_parameter_set_is_that_of_the_tape_measure(self):
        values, _ = from_tape_measure(**TAPE, stance=True)
        stored = parameter_set("whipple", "trail_bicycle")
        assert_allclose([stored[k] for k in stored], [values[k] for k in stored], atol=6e-7)
        table = load("riders/bunny-hop").scenario.vehicle.parameters["stance"]
        assert_allclose([table[k] for k in table], [values["stance"][k] for k in table], atol=6e-7)

    def test_a_motionless_rider_changes_nothing(self, trail_bicycle):
        """A held posture moves as the rigid rider of the same 26 parameters."""
        values, _ = from_tape_measure(**TAPE, stance=True)
        del values["stance"]
        rigid = draisine.compile("whipple", **values)
        start = {"forward_speed": 5.0, "lean_rate": 0.2}
        runs = [
            draisine.simulate(system, draisine.state(system, **start), 1.0, law=law).to_xarray()
            for system, law in ((trail_bicycle, Posture()), (rigid, None))
        ]
        for name in ("lean", "steer", "yaw", "forward_speed"):
            assert_allclose(runs[0][name], runs[1][name], atol=1e-8)

    def test_it_excludes_other_riders(self):
        values, _ = from_tape_measure(**TAPE, stance=True)
        table = values | {"stance": Stance(**values["stance"])}
        with pytest.raises(ParameterError, match=r"`stance` is a complete rider .* with mU"):
            draisine.compile("whipple", **table, mU=30.0)
        with pytest.raises(ParameterError, match="excludes leaning, arms and legs"):
            from_tape_measure(**TAPE, stance=True, legs=True)

    def test_limbs_need_a_length(self):
        values, _ = from_tape_measure(**TAPE, stance=True)
        table = values["stance"] | {"hip_x": 0.43, "hip_z": 0.33}
        with pytest.raises(ParameterError, match="the legs of the stance have no length"):
            draisine.compile("whipple", **(values | {"stance": Stance(**table)}))


class TestFlight:
    @pytest.mark.parametrize("name", ["bunny-hop", "landing", "landing-corrected"])
    def test_angular_momentum_about_the_mass_centre_is_conserved(self, runs, name):
        start, end = flight(runs[name])
        assert end - start > 0.2
        momentum = series(runs[name], "angular_momentum[y]", start, end)
        assert_allclose(momentum, momentum[0], atol=1e-8)

    @pytest.mark.parametrize("name", ["bunny-hop", "landing", "landing-corrected"])
    def test_the_mass_centre_follows_a_parabola(self, runs, name):
        start, end = flight(runs[name])
        times = runs[name].bodies.data.time.values
        t = times[(times > start + 1e-9) & (times < end - 1e-9)]
        x, z = (series(runs[name], f"mass_centre[{axis}]", start, end) for axis in "xz")
        u, w = (series(runs[name], f"mass_centre_velocity[{axis}]", start, end) for axis in "xz")
        s = t - t[0]
        assert_allclose(x, x[0] + u[0] * s, atol=1e-8)
        assert_allclose(z, z[0] + w[0] * s - 9.81 * s**2 / 2, atol=1e-8)

    def test_the_energy_changes_by_the_work_of_the_joints(self, runs):
        """In flight only legs, hips and arms do work; Simpson's rule integrates their powers."""
        run = runs["bunny-hop"]
        data = run.bodies.data
        # An interval between two way points within the flight, samples 10 ms apart
        inside = (data.time >= 0.58 - 1e-9) & (data.time <= 0.78 + 1e-9)
        part = data.isel(time=np.flatnonzero(inside)).drop_duplicates("time", keep="first")
        part = part.isel(time=np.flatnonzero(np.abs(part.time * 100 % 1 - 0.5) > 0.49))
        power = sum(
            part.inputs.sel(input=name).values * part[f"{name}_rate"].values
            for name in ("legs", "hips", "arms")
        )
        weights = np.ones(len(power))
        weights[1:-1:2] = 4.0
        weights[2:-1:2] = 2.0
        assert len(power) % 2 == 1
        work = 0.01 / 3.0 * float(weights @ power)
        energy = (part.kinetic_energy + part.potential_energy).values
        assert energy[-1] - energy[0] == pytest.approx(work, abs=0.02 * np.abs(power).max() * 0.01)


class TestBunnyHop:
    def test_both_wheels_clear_the_kerb(self, runs):
        run = runs["bunny-hop"]
        data = run.bodies.data
        for wheel in ("rear", "front"):
            hub = evaluate_series(f"wheel_centre[{wheel}, x]", run.bodies)
            height = evaluate_series(f"wheel_centre[{wheel}, z]", run.bodies)
            # Distance of the rim from the edge of the kerb while the hub is in front of it
            before = hub <= 4.45
            away = np.hypot(4.45 - hub[before], height[before] - 0.12) - RADIUS
            assert away.min() > 0.02
            assert np.all(height[~before] >= 0.12 + RADIUS - 1e-9)
        touched = {feature for _, _, contacts, _ in events(run) for _, feature in contacts}
        assert touched == {"before", "after"}
        assert float(data.position[-1, 0]) > 4.45

    def test_the_front_wheel_lifts_off_first(self, runs):
        lifted = [c[0][0] for _, kind, c, _ in events(runs["bunny-hop"]) if kind == "lift-off"]
        assert lifted[:2] == ["front", "rear"]

    def test_the_powers_are_those_of_an_athlete(self, runs):
        """Peak power of a squat jump: 4 to 5 kW for 70 kg (Samozino et al. 2008,
        doi:10.1016/j.jbiomech.2008.07.028, report such powers).
        """
        data = runs["bunny-hop"].bodies.data
        powers = {
            name: float(np.abs(data.inputs.sel(input=name) * data[f"{name}_rate"]).max())
            for name in ("legs", "hips", "arms")
        }
        assert powers["legs"] < 4200.0
        assert powers["hips"] < 1500.0
        assert powers["arms"] < 1500.0


class TestWheelie:
    def test_the_weight_lifts_the_front_wheel(self, runs):
        found = [(kind, c[0][0]) for _, kind, c, _ in events(runs["wheelie-by-weight"]) if c]
        assert ("lift-off", "front") in found
        assert all(kind != "collision" for kind, _ in found)
        data = runs["wheelie-by-weight"].data
        assert float(abs(data.inputs.sel(input="rear_wheel")).max()) <= 60.0

    def test_the_drive_alone_does_not(self, trail_bicycle):
        """The balance of moments about the rear contact: the drive lifts the front wheel with 107 N m."""
        values, _ = from_tape_measure(**TAPE, stance=True)
        parts = [(values[f"m{b}"], values.get(f"x{b}"), values.get(f"z{b}")) for b in "BH"]
        parts += [(values["mR"], 0.0, -RADIUS), (values["mF"], 1.08, -RADIUS)]
        moment = sum(m * x for m, x, _ in parts)
        height = sum(-m * z for m, _, z in parts)
        spin = (values["IRyy"] + values["IFyy"]) / RADIUS  # wheels gain spin with the speed
        mass = sum(m for m, _, _ in parts)
        acceleration = 9.81 * moment / (height + spin)
        front = values["IFyy"] / RADIUS**2
        threshold = acceleration * (mass + front + values["IRyy"] / RADIUS**2) * RADIUS
        assert threshold == pytest.approx(98.27, abs=0.01)
        start = draisine.state(trail_bicycle, forward_speed=3.0)
        for torque, lifts in ((0.99 * threshold, False), (1.01 * threshold, True)):
            law = CombinedLaws((Posture(), Wheelie(drive_limit=torque, held=False, lift_at=0.01)))
            run = draisine.simulate(trail_bicycle, start, 0.3, terrain=plane(), law=law)
            assert any(e.kind == "lift-off" for e in run.events) == lifts


def test_the_correction_reduces_pitch_and_pitch_rate_at_touchdown(runs):
    found = {}
    for name in ("landing", "landing-corrected"):
        t, wheel = next((e[0], e[2][0][0]) for e in events(runs[name]) if e[1] == "collision")
        assert wheel == "front"
        times = runs[name].bodies.data.time.values
        before = np.flatnonzero(times <= t)[-2]  # the last sample in flight
        found[name] = [
            float(evaluate_series(q, runs[name].bodies)[before]) for q in ("pitch", "pitch_rate")
        ]
    assert found["landing-corrected"][0] < 0.8 * found["landing"][0]
    assert found["landing-corrected"][1] < 0.9 * found["landing"][1]
    # Both jumps are the same until the rider reacts
    momenta = [series(runs[name], "angular_momentum[y]", 0.26, 0.5) for name in found]
    assert_allclose(momenta[0][0], momenta[1][0], rtol=1e-8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"times": (0.0, 1.0), "legs": (0.0,)}, "legs has 1 way points for 2 times"),
        ({"times": (0.0, 1.0, 0.5), "arms": (0.0, 0.1, 0.0)}, "must rise"),
        ({"frequency": 0.0}, "frequency = 0.0 rad/s must be positive"),
        ({"reach": -0.1}, "reach = -0.1 must be positive"),
    ],
)
def test_mistakes_in_a_posture(options, message):
    with pytest.raises(ParameterError, match=message):
        Posture(**options)
