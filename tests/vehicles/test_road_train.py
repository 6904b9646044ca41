"""Trailers in space: the planar train, the closed form of off-tracking, slopes, kerbs and hills."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.errors import ParameterError
from draisine.mechanics.forces.brush_tyre import BrushTyre
from draisine.results.bodies import Bodies
from draisine.terrain import corner, kerb, plane, rough
from draisine.vehicles.car import car
from draisine.vehicles.car_with_trailers import car_with_trailers
from draisine.vehicles.road_train import Trailer, add_trailers, road_train

LENGTHS = (1.0, 0.9)
HITCHES = (0.3, 0.2)
GRIP = draisine.ContactOptions(mu=0.8)


@pytest.fixture(scope="module")
def train():
    return draisine.compile("road_train")


def hold_angle(angle):
    """Return the motion of a joint that stays at an angle (rad)."""
    return lambda t: (angle + 0.0 * t, 0.0 * t, 0.0 * t)


def planar_equivalent():
    """Return arguments of both trains with the same kinetic energy on level ground.

    Wheels that roll move along their heading, so that their spin adds Ia / r^2 to the mass at the contact. At
    the axles of the planar train, which do not move sideways, such a mass is a rotational inertia of the rear
    wheel or a mass of the trailer; on a track w it also adds (w / 2)^2 to the moment of inertia.
    """
    L, w, r = 1.2, 0.7, 0.3
    m, Izz, mF, IF, mT, ITzz, mW, Ia, Id = 80.0, 3.0, 3.0, 0.1, 30.0, 4.0, 2.0, 0.15, 0.08
    rolling = mW + Ia / r**2
    pair = 2.0 * Id + 2.0 * (w / 2.0) ** 2 * rolling
    space = {"wheelbase": L, "track": w, "radius": r, "trail": 0.0, "m": m, "x": L / 2, "Izz": Izz}
    space |= {"mF": mF, "IF": IF, "mT": mT, "xT": 0.0, "ITzz": ITzz, "mW": mW, "Ia": Ia, "Id": Id}
    spin = 2.0 * r**2 * rolling + Ia
    # The planar rear wheel is a thin disc: half of its inertia acts about the vertical.
    plane = {"wheelbase": L, "radius": r, "m": m, "I": Izz + pair + Ia * L**2 / r**2 - spin / 2.0}
    plane |= {"mF": mF + mW, "IF": IF + Id, "Ia": spin}
    plane |= {"mT": mT + 2.0 * rolling, "IT": ITzz + pair}
    trailers = {"lengths": LENGTHS, "hitches": HITCHES}
    return space | trailers, plane | trailers


@pytest.mark.parametrize("on_terrain", [False, True])
def test_level_ground_agrees_with_the_planar_train(on_terrain):
    """A steer torque and the initial speed cause the same motion, with and without event location."""
    space, flat = planar_equivalent()
    start = {"forward_speed": 1.5, "steer": 0.2, "hitch1": -0.1, "hitch2": 0.15, "steer_rate": 0.1}
    ends = []
    for vehicle, arguments in ((road_train, space), (car_with_trailers, flat)):
        system = draisine.compile(vehicle, **arguments)
        options = {"terrain": plane()} if on_terrain and vehicle is road_train else {}
        run = draisine.simulate(
            system, draisine.state(system, **start), 3.0, inputs={"steer": -0.05}, **options
        )
        assert run.outcome == "completed"
        data = run.to_xarray().isel(time=-1)
        names = ("yaw", "steer", "hitch1", "hitch2", "forward_speed", "yaw_rate", "hitch2_rate")
        values = [float(data[name]) for name in names]
        ends.append([*values, *data.position.sel(axis=["x", "y"]).values])
    assert_allclose(ends[0], ends[1], rtol=1e-9, atol=1e-9)
    assert abs(ends[0][2]) > 0.05


@pytest.mark.parametrize("offsets", [(0.0, 0.0, 0.0), HITCHES + (0.4,)])
def test_off_tracking_of_a_steady_circle(offsets):
    """R_n^2 = R_{n-1}^2 + b^2 - a^2, with drawbars of length a hitched b behind the axles."""
    steer, lengths = 0.25, (*LENGTHS, 1.1)
    radii = [1.2 / math.tan(steer)]
    angles = {}
    for k, (a, b) in enumerate(zip(lengths, offsets, strict=True), start=1):
        radii.append(math.sqrt(radii[-1] ** 2 + b**2 - a**2))
        angles[f"hitch{k}"] = -math.atan(b / radii[-2]) - math.atan(a / radii[-1])
    train = draisine.compile(
        "road_train", lengths=lengths, hitches=offsets, trail=0.0, steering=hold_angle(steer)
    )
    start = draisine.state(train, forward_speed=1.0, **angles)
    data = draisine.simulate(train, start, 4.0).to_xarray()
    motions = Bodies(data, train.model).motions
    axles = {"frame": 0.0}
    x = 0.0
    for k, (a, b) in enumerate(zip(lengths, offsets, strict=True), start=1):
        x -= a + b
        axles[f"trailer{k}"] = x
    centre = np.array([0.0, radii[0], 0.0])
    for (body, place), radius in zip(axles.items(), radii, strict=True):
        path = motions[body].position(np.array([place, 0.0, 0.0])) - centre
        assert_allclose(np.linalg.norm(path[:, :2], axis=1), radius, rtol=1e-9)


def test_balls_carry_a_train_on_any_ground(train):
    """With balls no normal force is redundant; only the lateral forces of an axle are."""
    labels = {row.label for row in train.survey().redundant}
    assert labels == {"right.across", "trailer1_right.across"}
    stiff = draisine.compile("road_train", hitch="yaw_pitch")
    labels = {row.label for row in stiff.survey().redundant}
    assert "trailer1_right.normal" in labels


def test_a_train_at_rest_has_the_nose_load_of_statics(train):
    """The hitch carries the moment of the trailer's weight about its axle, m g x / a; wheels add none."""
    g, mT, xT, a = 9.81, 30.0, 0.1, 1.0
    run = draisine.simulate(train, draisine.state(train), 0.1).to_xarray().isel(time=0)
    normal = {
        str(c): float(run.contact_force.sel(contact=c, direction="normal"))
        for c in run.contact.values
    }
    nose = mT * g * xT / a
    assert normal["trailer1_left"] == pytest.approx((mT * g - nose + 2 * 2.0 * g) / 2, rel=1e-9)
    # The nose load acts above the rear axle of the tricycle.
    front = (80.0 * 0.4 + 3.0 * 1.2 + 2.0 * 1.2) * g / 1.2
    assert normal["front"] == pytest.approx(front, rel=1e-9)
    assert normal["left"] == pytest.approx((85.0 * g + 4.0 * g - front + nose) / 2, rel=1e-9)


def test_a_train_drives_onto_a_slope(train):
    """The trailer tilts at its hitch while it is on the other face; then the train is straight again."""
    slope = 0.1
    start = draisine.state(train, forward_speed=3.0)
    ground = corner(slope, at=2.0)
    run = draisine.simulate(train, start, 2.0, terrain=ground, contact=GRIP)
    data = run.to_xarray()
    assert run.outcome == "completed"
    assert float(data.hitch1_pitch.max()) == pytest.approx(slope, rel=0.3)
    end = data.isel(time=-1)
    assert float(end.pitch) == pytest.approx(-slope, abs=1e-9)
    assert float(end.hitch1_pitch) == pytest.approx(0.0, abs=1e-9)
    assert float(end.hitch1_lean) == pytest.approx(0.0, abs=1e-9)
    # Coasting uphill loses kinetic energy to the height, and a little at the corner.
    energy = data.energy.values
    assert (np.diff(energy) < 1e-9 * energy[0]).all()
    assert energy[-1] > 0.9 * energy[0]


def test_a_kerb_lifts_axle_by_axle(train):
    rise = 0.02
    start = draisine.state(train, forward_speed=2.0)
    run = draisine.simulate(train, start, 3.5, terrain=kerb(2.0, rise), contact=GRIP)
    end = run.to_xarray().isel(time=-1)
    motions = Bodies(run.to_xarray(), train.model).motions
    for wheel in train.model.wheels:
        height = motions[wheel.body].position(np.asarray(wheel.centre))[-1, 2]
        assert height == pytest.approx(0.3 + rise, abs=1e-9), wheel.name
    assert float(end.hitch1) == pytest.approx(0.0, abs=1e-6)
    names = {
        name
        for event in run.events
        if event.kind == "collision"
        for name in map(str, event.contacts)
    }
    assert any("trailer1" in name for name in names)


@pytest.mark.parametrize("hitch", ["ball", "yaw_pitch"])
def test_hills_turn_the_hitch_in_space(hitch):
    tyre = BrushTyre(stiffness=10.0, friction=0.8, relaxation=0.1)
    train = draisine.compile("road_train", hitch=hitch, tyre=tyre)
    ground = rough(0.06, cell=0.8, at=2.0, length=6.0, seed=2, smooth=True)
    start = draisine.state(train, forward_speed=2.0)
    run = draisine.simulate(train, start, 2.5, terrain=ground)
    data = run.to_xarray()
    assert run.outcome == "completed"
    assert float(np.abs(data.hitch1_pitch).max()) > 0.01
    assert (float(np.abs(data.get("hitch1_lean", data.lean)).max())) > 0.01
    assert float(data.gap.min()) > -1e-6
    energy = data.energy.values
    assert (np.diff(energy) < 1e-6 * energy[0]).all()


def test_another_machine_tows_trailers():
    """A trailer behind a car, and an error for a machine in the plane."""
    trailer = Trailer(
        length=1.5, offset=0.4, height=0.3, track=0.8, radius=0.3, mass=60.0, z=0.4,
        Ixx=5.0, Iyy=8.0, Izz=9.0, wheel_mass=6.0, Ia=0.3, Id=0.2,
    )  # fmt: skip

    def car_with_caravan(*, track=0.8):
        return add_trailers(car(track=track), "chassis", (0.0, 0.0), [trailer])

    system = draisine.compile(car_with_caravan)
    radius = 1.2 / math.tan(0.2)
    rear = math.sqrt(radius**2 + 0.4**2 - 1.5**2)
    angle = -math.atan(0.4 / radius) - math.atan(1.5 / rear)
    start = draisine.state(system, forward_speed=1.0, steer=0.2, hitch1=angle)
    rates = dict(zip(system.model.speeds, start.v, strict=True))
    assert rates["hitch1_rate"] == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(ParameterError, match=r"use the vehicle car_with_trailers"):
        add_trailers(car_with_trailers(), "car", (0.0, 0.0), [trailer])
    with pytest.raises(ParameterError, match="1 lengths and 2 hitches"):
        road_train(hitches=(0.1, 0.2))
