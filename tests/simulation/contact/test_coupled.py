"""What holds whatever touches: couplings, loops and prescribed joints on terrain and in impacts."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from draisine import ContactOptions, Numerics, compile, place, simulate, state
from draisine.model import (
    Ball,
    Body,
    Coupling,
    Loop,
    Model,
    Prismatic,
    Revolute,
    Wheel,
    inertia,
)
from draisine.terrain import height_field, kerb, plane

UP = (0.0, 0.0, 1.0)


def test_a_car_with_its_linkage_runs_on_terrain_as_on_the_plane():
    car = compile("car")
    start = state(car, steer=0.3, forward_speed=1.0)
    # Tighter than the comparison: on terrain atol applies to scaled states, so that steps differ.
    given = {"inputs": {"steer": 0.1}, "numerics": Numerics(rtol=1e-12, atol=1e-14)}
    level = simulate(car, start, 0.5, **given).to_xarray().isel(time=-1)
    ground = simulate(car, start, 0.5, **given, terrain=plane()).to_xarray().isel(time=-1)
    for name, size in {"steer": 1.0, "position": 1.0, "coupling_force": 1.0, "energy": 1e3}.items():
        assert_allclose(ground[name], level[name], rtol=0, atol=1e-11 * size)
    assert_allclose(ground.contact_force, level.contact_force, rtol=0, atol=1e-8)


def test_what_is_symmetric_strikes_a_wall_symmetrically():
    """The rear wheels would have to pull if they stayed: the car rears up, straight, and its impulses are
    those that change its momentum.
    """
    car = compile("car")
    hit = simulate(car, state(car, forward_speed=3.0), 0.2, terrain=kerb(2.0, 0.4)).events[0]
    assert {wheel for wheel, _ in hit.impulses} == {"front_left", "front_right"}
    mirrored = np.array([1.0, 1.0, -1.0])
    for feature in ("before", "wall"):
        left, right = (hit.impulses[f"front_{side}", feature] for side in ("left", "right"))
        assert_allclose(left, mirrored * right, rtol=0, atol=1e-9)
        assert min(left[0], right[0]) >= 0.0
    V, Omega = hit.after.v[:3], hit.after.v[3:6]
    assert_allclose([V[1], Omega[0], Omega[2]], 0.0, atol=1e-12)
    assert Omega[1] > 0.1  # nose down, over its front wheels
    centres = [(body.mass, V + np.cross(Omega, body.com)) for body in car.model.bodies]
    lost = sum(mass * (3.0 - velocity[0]) for mass, velocity in centres)
    walls, grounds = (
        sum(hit.impulses[f"front_{side}", feature] for side in ("left", "right"))
        for feature in ("wall", "before")
    )
    assert walls[0] - grounds[1] == pytest.approx(lost, rel=1e-9)


def rover(*, r: float = 0.1, long: float = 0.5, wide: float = 0.4) -> Model:
    """A box on four wheels that neither steer nor have springs."""
    hubs = {
        f"{end}_{side}": (x * long / 2, y * wide / 2, r)
        for end, x in {"front": 1.0, "rear": -1.0}.items()
        for side, y in {"left": 1.0, "right": -1.0}.items()
    }
    axle = (0.0, 1.0, 0.0)
    return Model(
        bodies=[Body("box", 10.0, (0.0, 0.0, 0.2), inertia(0.2, 0.4, 0.5))]
        + [Body(name, 1.0, hub, inertia(0.003, 0.005, 0.003)) for name, hub in hubs.items()],
        joints=[Revolute(name, "box", name, axle, hub) for name, hub in hubs.items()],
        contacts=[Wheel(name, name, hub, axle, r) for name, hub in hubs.items()],
    )


@pytest.mark.parametrize("mu", [0.3, 0.8])
@pytest.mark.parametrize(("speed", "height"), [(1.0, 0.01), (2.0, 0.03), (3.0, 0.05)])
def test_what_is_symmetric_strikes_a_kerb_with_friction_symmetrically(speed, height, mu):
    """Its wheels repeat each other, so that friction may act in many ways: it takes the symmetric one."""
    machine, friction = compile(rover), ContactOptions(mu=mu, impact="moreau")
    start, ground = state(machine, Vx=speed), kerb(1.0, height)
    run = simulate(machine, start, 1.0, terrain=ground, contact=friction)
    seen = run.to_xarray()
    assert run.outcome == "completed"
    assert_allclose([seen.yaw, seen.lean, seen.position.sel(axis="y")], 0.0, atol=1e-9)
    for end in ("front", "rear"):
        left, right = (seen[f"{end}_{side}_rate"] for side in ("left", "right"))
        assert_allclose(left, right, rtol=0, atol=1e-7)


@pytest.mark.parametrize("torque", [2.5, 3.0, 6.0])
def test_a_rover_that_skids_about_its_middle_obeys_two_equations(torque):
    """Driven against each other all its wheels slip alike: K w' = 4 h F_a - 4 d F_c, J W' = T - r F_a, with
    the friction mu N against the slip (r W - h w, d w), loads of a quarter of the weight each.
    """
    machine, mu, r, h, d = compile(rover), 0.8, 0.1, 0.2, 0.25
    inputs = {f"{end}_{side}": torque * sign for end in ("front", "rear") for side, sign in SIDES}
    run = simulate(
        machine, state(machine), 0.5, terrain=plane(), inputs=inputs, contact=ContactOptions(mu=mu)
    )
    load, K, J = 14.0 * 9.81 / 4, 0.5 + 4 * (0.003 + h * h + d * d), 0.005
    ratio = brentq(lambda s: _slips(s, torque, mu * load, r, h, d, K, J), 1e-3, 1e3)

    def rate(_, y):
        along, across = r * y[1] - h * y[0], d * y[0]
        a, c = mu * load * np.array([along, across]) / np.hypot(along, across)
        return [4 * (h * a - d * c) / K, (torque - r * a) / J]

    begin = np.array([1.0, (h + d * ratio) / r]) * 1e-9
    known = solve_ivp(rate, (0, 0.5), begin, method="Radau", rtol=1e-10, atol=1e-14).y[:, -1]
    end = run.to_xarray().isel(time=-1)
    assert run.validity.sound
    assert float(end.yaw_rate) == pytest.approx(known[0], rel=2e-4)
    for name, sign in (
        ("front_left", -1),
        ("rear_left", -1),
        ("front_right", 1),
        ("rear_right", 1),
    ):
        assert float(end[f"{name}_rate"]) == pytest.approx(sign * known[1], rel=2e-4)


SIDES = (("left", -1.0), ("right", 1.0))


def _slips(ratio, torque, force, r, h, d, K, J):
    """Return by how much slips that begin in a ratio, along to across, grow in another."""
    a, c = force * np.array([ratio, 1.0]) / np.hypot(ratio, 1.0)
    turn, spin = 4 * (h * a - d * c) / K, (torque - r * a) / J
    return r * spin - h * turn - ratio * d * turn


@pytest.mark.parametrize("mu", [0.1, 0.5, 1.5])
@pytest.mark.parametrize("speed", [0.0, 1.0])
def test_wheels_do_not_strain_against_each_other_for_nothing(speed, mu):
    """A skateboard that stands or rolls straight ahead needs no friction, whatever there is."""
    board = compile("skateboard")
    start = state(board, forward_speed=speed)
    run = simulate(board, start, 0.5, terrain=plane(), contact=ContactOptions(mu=mu))
    assert (run.outcome, len(run.events)) == ("completed", 0)
    assert run.validity.friction_needed < 1e-9


def cart(*, r: float = 0.1, wide: float = 0.36) -> Model:
    """Two driven balls on one axle, and one that slides ahead of them."""
    hubs = {"left": (0.0, wide / 2, r), "right": (0.0, -wide / 2, r)}
    axle, foot = (0.0, 1.0, 0.0), (0.15, 0.0, 0.05)
    return Model(
        bodies=[Body("box", 8.0, (0.03, 0.0, 0.12), inertia(0.07, 0.12, 0.17))]
        + [Body(name, 0.8, hub, inertia(0.0021, 0.004, 0.0021)) for name, hub in hubs.items()],
        joints=[Revolute(name, "box", name, axle, hub) for name, hub in hubs.items()],
        contacts=[Wheel(name, name, hub, axle, Ball(r)) for name, hub in hubs.items()]
        + [Wheel("foot", "box", foot, axle, Ball(0.05), slides=True)],
    )


@pytest.mark.parametrize("slope", [0.0, 0.1])
@pytest.mark.parametrize(("left", "right"), [(-0.5, 0.5), (0.8, -0.1)])
def test_two_wheels_on_an_axle_slip_when_no_share_of_the_load_across_holds_them(left, right, slope):
    """Until then they roll, though the least forces are beyond friction at one of them; none is later."""
    machine, ground, mu = compile(cart), plane(slope=slope), 0.3
    start = place(machine, state(machine), ground, on="ground")
    inputs, friction = {"left": left, "right": right}, ContactOptions(mu=mu)
    run = simulate(machine, start, 3.0, terrain=ground, contact=friction, inputs=inputs)
    assert run.outcome == "completed" and run.validity.sound
    assert 1 <= len(run.events) < 40
    assert max(event.gain for event in run.events) < 1e-8
    drag = np.linalg.norm(run.to_xarray().contact_force.values[..., 1:], axis=-1)
    assert np.all(drag <= (mu + 1e-6) * run.to_xarray().contact_force.values[..., 0] + 1e-6)


@pytest.mark.parametrize("mu", [0.4, 0.8])
def test_a_first_slip_does_not_throw_a_machine_about(mu):
    """On hills the rows across of two wheels on an axle all but repeat each other: a little slip of one alone
    would take large speeds, and energy from nowhere.
    """
    x, y = np.linspace(-1, 5, 61), np.linspace(-1, 1, 21)
    hills = 0.01 * np.outer(1 - np.cos(3 * np.clip(x - 0.5, 0, None)), np.cos(2.2 * y))
    machine, friction = compile(cart), ContactOptions(mu=mu, rest_speed=0.01)
    start, ground = state(machine, Vx=0.5), height_field(x, y, hills)
    run = simulate(machine, start, 1.2, terrain=ground, contact=friction)
    assert max(event.gain for event in run.events) < 1e-9
    assert np.abs(run.to_xarray().yaw_rate).max() < 0.01


@pytest.mark.parametrize("mu", [0.3, 0.8])
def test_a_car_that_stands_in_a_corner_stays_there(mu):
    """All its wheels hold, those at the wall twice: of all forces that would do, none is beyond friction,
    and together they carry the weight.
    """
    car, friction = compile("car"), ContactOptions(mu=mu, impact="moreau")
    run = simulate(
        car, state(car, forward_speed=2.0), 1.0, terrain=kerb(2.0, 0.4), contact=friction
    )
    end, weight = run.to_xarray().isel(time=-1), 9.81 * sum(b.mass for b in car.model.bodies)
    assert run.outcome == "completed"
    assert_allclose(run.final().v, 0.0, atol=1e-9)
    assert float(end.contact_force.sel(direction="normal").sum()) == pytest.approx(weight, rel=1e-9)


def hammer(*, m: float = 2.0, M: float = 3.0, n: float = 2.0, kind: str = "gear") -> Model:
    """A hammer that falls on its nose and leads a weight: n times as far by a gear, or with it by a
    pin.
    """
    coupling = (
        Coupling("gear", ("hammer", "weight"), lambda a, b: b - n * a)
        if kind == "gear"
        else Loop("pin", "hammer", "weight", (0.0, 0.0, 0.5))
    )
    return Model(
        bodies=[Body("frame", 1.0), Body("hammer", m), Body("weight", M)],
        joints=[
            Prismatic("hammer", "frame", "hammer", UP),
            Prismatic("weight", "frame", "weight", UP),
        ],
        contacts=[Wheel("nose", "hammer", (0.0, 0.0, 0.1), (0.0, 1.0, 0.0), Ball(0.1))],
        base="fixed",
        couplings=[coupling],
    )


@pytest.mark.parametrize("kind", ["gear", "pin"])
@pytest.mark.parametrize(
    ("impact", "e"),
    [("plastic", 0.0), *((name, 0.5) for name in ("newton", "moreau", "poisson", "keller"))],
)
def test_what_is_coupled_is_struck_too(kind, impact, e):
    """The nose feels m + n^2 M and falls with (m + n M) g of it."""
    system, height = compile(hammer, kind=kind), 0.3
    n = 2.0 if kind == "gear" else 1.0
    inertia, weight = 2.0 + n * n * 3.0, (2.0 + n * 3.0) * 9.81
    start = state(system, mode={"nose": "open"}, hammer=height)
    given = {"normal": e} if e else {}
    friction = {} if impact in ("plastic", "newton") else {"mu": 0.5}
    contact = ContactOptions(impact=impact, restitution=given, **friction)
    run = simulate(system, start, 0.35, terrain=plane(), contact=contact)
    first, speed = run.events[0], math.sqrt(2 * height * weight / inertia)
    assert_allclose(first.t, speed * inertia / weight, rtol=1e-10)
    assert_allclose(first.impulses["nose", "ground"][0], (1 + e) * inertia * speed, rtol=1e-9)
    assert_allclose(first.after.v, np.array([1.0, n]) * e * speed, rtol=0, atol=1e-9)
    data = run.to_xarray()
    lead = 3.0 * (9.81 - n * weight / inertia)  # what the weight feels while all falls
    assert_allclose(data.coupling_force.isel(time=0)[-1], lead, rtol=1e-9, atol=1e-12)
    assert np.abs(data["weight"] - n * data["hammer"]).max() < 1e-12


def test_time_steps_and_soft_ground_know_couplings():
    """A geared weight stands on its nose: the ground carries (m + n M) g."""
    system = compile(hammer)
    start = state(system)
    steps = ContactOptions(mu=0.5, solver="time_stepping")
    data = simulate(system, start, 0.05, terrain=plane(), contact=steps).to_xarray().isel(time=-1)
    assert_allclose(data.contact_force[0, 0], 8.0 * 9.81, rtol=1e-9)
    assert_allclose(data.coupling_force[0], 3.0 * 9.81, rtol=1e-9)
