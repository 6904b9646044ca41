"""Conservation laws that every motion must satisfy, and motions that are known in closed form."""

import math
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import simpson, solve_ivp
from scipy.special import ellipj, ellipk

import draisine
from draisine import ContactOptions, Numerics, compile, simulate, state
from draisine.algebra.lie import rotation
from draisine.errors import ModelError, SimulationError
from draisine.model import Body, Model, Pin, Prismatic, Revolute, inertia
from draisine.system.state import State

TIGHT = {"rtol": 1e-14, "atol": 1e-15}


@cache
def machine_of(vehicle, **arguments):
    """Return the compiled vehicle from a cache."""
    return compile(vehicle, **arguments)


def ride(system, start, until=10.0, dt=0.1, integrator="dop853", mode=None):
    """Return the dataset of a run with tight tolerances."""
    # Methods with constant steps have no tolerances
    tight = TIGHT if integrator == "dop853" else {}
    numerics = Numerics(dt=dt, integrator=integrator, **tight)
    contact = ContactOptions(mode=mode)
    return simulate(system, start, until, contact=contact, numerics=numerics).to_xarray()


def energy_defect(run):
    """Return the change of energy relative to the kinetic energy plus the change of potential
    energy.
    """
    potential = run.potential_energy.values
    scale = run.kinetic_energy.values.max() + np.abs(potential - potential[0]).max()
    return np.abs(run.energy.values - run.energy.values[0]).max() / scale


PASSIVE = {
    "bicycle": ("whipple", {}, {"forward_speed": 4.6, "lean_rate": 0.5}),
    "bicycle on tyres": ("whipple", {"crown": 0.02}, {"forward_speed": 4.6, "lean_rate": 0.5}),
    "turning disc": ("rolling_disc", {}, {"lean": 0.3, "yaw_rate": -1.5, "spin": 6.0}),
    "wobbling disc": ("rolling_disc", {}, {"lean": 0.3, "spin": 3.0}),
    "wobbling torus": ("rolling_disc", {"crown": 0.15}, {"lean": 0.3, "spin": 3.0}),
    "ball": ("ball", {}, {"Wx": 3.0, "Wy": 2.0, "Wz": 1.0}),
    "Chaplygin's ball": (
        "ball",
        {"xx": 0.3, "yy": 0.4, "zz": 0.5},
        {"Wx": 3.0, "Wy": 20.0, "Wz": 1.0},
    ),
    "tumbler": (
        "ball",
        {"xx": 0.3, "yy": 0.4, "zz": 0.5, "offset": 0.03},
        {"Wx": 3.0, "Wy": 2.0, "Wz": 1.0},
    ),
    "unicycle": ("unicycle", {}, {"lean": 0.05, "forward_speed": 2.0, "turntable_rate": 3.0}),
    "snakeboard": (
        "snakeboard",
        {},
        {"front_truck": 0.3, "front_truck_rate": 0.4, "forward_speed": 1.0, "rotor_rate": 2.0},
    ),
    "sleigh": ("chaplygin_sleigh", {}, {"forward_speed": -1.0, "Wz": 0.1}),
    "roller racer": ("roller_racer", {}, {"arm": 0.3, "forward_speed": 1.0}),
    "cat": ("falling_cat", {}, {"bend_rate": 1.0, "sway_rate": 0.5, "Wx": 2.0, "Wy": 1.0}),
    "held cat": ("falling_cat", {"base": "SO(3)"}, {"bend_rate": 1.0, "Wx": 2.0, "Wy": 1.0}),
    "fish": ("fish", {}, {"front_rate": 1.0, "Vx": 0.3, "Vy": 0.2, "Wz": 0.5}),
    "falling chain": ("chain", {}, {"hinge1": 0.3, "hinge2_rate": 2.0}),
    "hanging chain": ("chain", {"base": "fixed", "links": 3}, {"hinge1": 0.3, "hinge2": 1.0}),
    "cart and pole": ("cart_pole", {"spring": 3.0}, {"pole": 0.3, "cart_rate": 0.3}),
    "acrobot": ("acrobot", {}, {"bar": 1.0, "hip": 0.3}),
}


@pytest.mark.parametrize("name", PASSIVE)
def test_energy_is_conserved(name):
    vehicle, arguments, asked = PASSIVE[name]
    system = machine_of(vehicle, **arguments)
    run = ride(system, state(system, **asked))
    assert energy_defect(run) < 1e-12
    if "gap" in run and system.model.base == "SE(3)":
        assert np.abs(run.gap.values).max() < 1e-14


def momentum_start(system, **asked):
    """Return a state with the given joint rates and zero momentum."""
    machine = system.machine()
    start = state(system, **asked)
    base, n = len(system.model.twist), len(start.v)
    out = machine.free(q=start.q, p=start.p, r=start.r, v=start.v)
    M = out["M"].reshape(n, n)
    v = start.v.copy()
    v[:base] = -np.linalg.solve(M[:base, :base], M[:base, base:] @ v[base:])
    return State(start.q, start.p, start.r, v)


@pytest.mark.parametrize(
    ("vehicle", "arguments", "asked"),
    [
        ("falling_cat", {}, {"bend_rate": 1.0, "Wx": 2.0, "Wy": 1.0, "Vx": 0.3, "Vz": 0.1}),
        ("falling_cat", {"drive": "sine"}, {"Wx": 1.0, "Wz": 0.5, "Vy": 0.2}),
        ("chain", {"g": 0.0}, {"hinge1": 0.5, "hinge2_rate": 3.0, "Wx": 1.0, "Vy": 0.5}),
        ("fish", {}, {"front_rate": 1.0, "Vx": 0.3, "Vy": 0.2, "Wz": 0.5}),
        ("fish", {"drive": "sine"}, {"Vx": 0.1, "Wz": 0.5}),
    ],
)
def test_momenta_of_floating_machines_are_conserved(vehicle, arguments, asked):
    """Linear and angular momentum; for a fish, those of body and fluid in its plane."""
    system = machine_of(vehicle, **arguments)
    run = ride(system, state(system, **asked))
    linear, angular = run.momentum.values, run.angular_momentum.values
    if system.model.base == "SE(2)":
        linear, angular = linear[:, :2], angular[:, 2:]
    assert np.linalg.norm(linear[0]) > 0.05
    assert np.linalg.norm(angular[0]) > 0.005
    size = np.linalg.norm(linear[0]) * np.abs(run.position.values).max()
    assert np.abs(linear - linear[0]).max() < 1e-12 * max(np.linalg.norm(linear[0]), 1.0)
    assert np.abs(angular - angular[0]).max() < 1e-12 * max(np.linalg.norm(angular[0]), size, 1.0)


@pytest.mark.parametrize("drive", ["free", "sine"])
def test_a_cat_held_at_its_waist_conserves_angular_momentum(drive):
    system = machine_of("falling_cat", base="SO(3)", drive=drive)
    asked = {"bend_rate": 1.0} if drive == "free" else {}
    run = ride(system, state(system, Wx=2.0, Wy=1.0, Wz=0.3, **asked))
    angular = run.angular_momentum.values
    assert np.abs(angular - angular[0]).max() < 1e-12 * np.linalg.norm(angular[0])


def test_a_bicycle_in_flight_falls_like_a_stone():
    system = machine_of("whipple")
    flight = {"rear": "open", "front": "open"}
    start = state(system, mode=flight, z=3.0, forward_speed=3.0, steer_rate=1.0, Wx=0.5, Wy=-0.4)
    run = ride(system, start, until=1.0, mode=flight)
    mass = sum(body.mass for body in system.model.bodies)
    fall = run.momentum.values - run.momentum.values[0]
    assert_allclose(fall[:, :2], 0.0, atol=1e-12 * 94 * 9.81)
    assert_allclose(fall[:, 2], -mass * 9.81 * run.time.values, rtol=0, atol=1e-12 * mass * 9.81)
    assert energy_defect(run) < 1e-12


def test_a_cat_turns_over_without_angular_momentum():
    system = machine_of("falling_cat", drive="sine")
    run = ride(system, momentum_start(system), until=1.0, dt=0.05)
    assert np.abs(run.momentum.values).max() < 1e-12
    assert np.abs(run.angular_momentum.values).max() < 1e-12
    turned = 2 * np.arccos(np.abs(run.orientation.values[-1] @ run.orientation.values[0]))
    assert_allclose(run["shape"].values[-1], run["shape"].values[0], atol=1e-12)
    assert turned > 0.3


def test_a_swimmer_in_a_perfect_fluid_moves_without_momentum():
    system = machine_of("fish", drive="sine")
    run = ride(system, momentum_start(system), until=1.0, dt=0.05)
    assert np.abs(run.momentum.values[:, :2]).max() < 1e-12
    assert np.abs(run.angular_momentum.values[:, 2]).max() < 1e-12
    assert np.linalg.norm(run.position.values[-1] - run.position.values[0]) > 1e-3


# The rolling disc.


def steady_spin(radius, crown, axial, diametral, lean, turning, g=9.81):
    """Return the spin n about the axle in steady motion, per unit mass.

    Balance of moments about the centre in the frame that leans and yaws with the disc, x along the
    heading, y the axle, z up the disc: the contact is at -b z - c up (b = radius - crown), the
    angular velocity is (0, n, W cos L), the centre moves with `v = b n + c cos L (n - W sin L)`
    along x and turns with W about the vertical, so that
    `b (W v cos L + g sin L) + c W v = W cos L (A W sin L - C n)`.
    """
    b, c = radius - crown, crown
    C, A = axial * radius**2, diametral * radius**2
    s, k = math.sin(lean), math.cos(lean)
    return (A * turning**2 * s * k - b * g * s + turning**2 * (b * k + c) * c * k * s) / (
        turning * ((b * k + c) * (b + c * k) + C * k)
    )


@pytest.mark.parametrize("crown", [0.0, 0.12])
@pytest.mark.parametrize(("axial", "diametral"), [(0.5, 0.25), (1.0, 0.5)])
def test_steady_motions_of_the_disc_stay_steady(crown, axial, diametral):
    """In steady motion, the angular velocity rotates in the axes of the disc as the lean frame
    does.
    """
    radius = 0.5
    shape = {"crown": crown} if crown else {}
    system = machine_of("rolling_disc", axial=axial, diametral=diametral, **shape)
    for lean in (-0.9, -0.2, 0.1, 0.5, 1.1):
        for turning in (-4.0, -1.0, 0.7, 3.0):
            n = steady_spin(radius, crown, axial, diametral, lean, turning)
            start = state(system, lean=lean, yaw_rate=turning, spin=n, lean_rate=0.0)
            vdot, lam = system.accelerate(start)
            relative = n - turning * math.sin(lean)
            speed = (radius - crown) * n + crown * math.cos(lean) * relative
            rise = -relative * turning * math.cos(lean)
            assert_allclose(
                vdot[3:], [rise, 0.0, 0.0], rtol=0, atol=1e-12 * (abs(rise) + n * n + 1)
            )
            assert_allclose(
                lam, [9.81, 0.0, turning * speed], rtol=0, atol=1e-12 * (10 + abs(turning * speed))
            )


@pytest.mark.parametrize("crown", [0.0, 0.12])
@pytest.mark.parametrize(("lean", "turning"), [(0.3, -1.0), (-0.4, 1.5)])
def test_the_centre_of_a_steadily_rolling_disc_draws_a_circle(crown, lean, turning):
    shape = {"crown": crown} if crown else {}
    system = machine_of("rolling_disc", **shape)
    n = steady_spin(0.5, crown, 0.5, 0.25, lean, turning)
    run = ride(system, state(system, lean=lean, yaw_rate=turning, spin=n, lean_rate=0.0))
    speed = (0.5 - crown) * n + crown * math.cos(lean) * (n - turning * math.sin(lean))
    t = run.time.values
    assert_allclose(run.lean.values, lean, rtol=0, atol=1e-11)
    assert_allclose(run.spin.values, n, rtol=1e-11)
    assert_allclose(run.forward_speed.values, speed, rtol=1e-11)
    assert_allclose(np.unwrap(run.yaw.values), turning * t, rtol=0, atol=1e-10)
    path = run.contact_point.values[:, 0, :2]
    path = path - path[0]
    # the contact stays beside the centre, so it draws a circle about the same middle
    beside = -(0.5 - crown) * math.sin(lean)
    ring = (speed / turning + beside) * np.stack(
        [np.sin(turning * t), 1 - np.cos(turning * t)], axis=1
    )
    assert_allclose(path, ring, rtol=0, atol=1e-9)


def test_small_oscillations_of_a_disc_that_rolls_straight():
    """The lean oscillates with `w^2 = (C (C + m R^2) n^2 / A - m g R) / (A + m R^2)`."""
    system = machine_of("rolling_disc")
    C, A, R, n, g, tiny = 0.5 * 0.25, 0.25 * 0.25, 0.5, 8.0, 9.81, 1e-4
    frequency = math.sqrt((C * (C + R * R) * n * n / A - g * R) / (A + R * R))
    run = ride(system, state(system, lean_rate=tiny, spin=n), until=5.0, dt=0.05)
    wanted = tiny / frequency * np.sin(frequency * run.time.values)
    assert_allclose(run.lean.values, wanted, rtol=0, atol=1e-9 * tiny)


def test_below_the_critical_speed_a_disc_falls():
    """A homogeneous disc is stable upright only above v^2 = g R / 3."""
    system = machine_of("rolling_disc")
    critical = math.sqrt(9.81 * 0.5 / 3) / 0.5
    for part, stays in ((0.97, False), (1.03, True)):
        start = state(system, lean_rate=1e-5, spin=part * critical)
        lean = np.abs(ride(system, start, until=8.0).lean.values).max()
        assert (lean < 1e-4) == stays


def test_a_torus_tends_to_the_disc_as_its_crown_vanishes():
    """Accelerations differ by a multiple of the crown; with none they are the disc's."""
    asked = {"lean": 0.4, "yaw_rate": -1.0, "spin": 5.0, "lean_rate": 0.3}
    disc = machine_of("rolling_disc")
    wanted, forces = disc.accelerate(state(disc, **asked))
    torus = machine_of("rolling_disc", crown=0.1)
    errors = []
    for crown in (1e-2, 1e-4, 1e-6, 0.0):
        system = torus.with_parameters(crown=crown)
        start = state(system, **asked)
        vdot, lam = system.accelerate(start)
        errors.append(max(np.linalg.norm(vdot[3:] - wanted[3:]), np.linalg.norm(lam - forces)))
    assert errors[3] < 1e-12
    assert_allclose(errors[1] / errors[2], 100.0, rtol=0.01)
    assert_allclose(errors[0] / errors[1], 100.0, rtol=0.1)


def test_a_torus_without_ring_is_a_ball():
    ball = machine_of("ball", radius=0.5)
    torus = machine_of("rolling_disc", axial=0.4, diametral=0.4, crown=0.5)
    asked = {"lean": 0.3, "Wx": 1.0, "Wy": -2.0, "Wz": 0.7}
    first = ride(ball, state(ball, **asked), until=3.0)
    second = ride(torus, state(torus, **asked), until=3.0)
    for name in ("position", "orientation", "speeds", "momentum"):
        assert_allclose(second[name].values, first[name].values, rtol=0, atol=1e-11)


def test_a_homogeneous_ball_rolls_straight_with_any_spin():
    system = machine_of("ball")
    run = ride(system, state(system, Wx=3.0, Wy=2.0, Wz=5.0))
    t, speed = run.time.values, 0.1 * np.array([2.0, -3.0])
    assert_allclose(run.x_speed.values, speed[0], rtol=1e-12)
    assert_allclose(run.y_speed.values, speed[1], rtol=1e-12)
    path = run.contact_point.values[:, 0, :2]
    assert_allclose(path, path[0] + np.outer(t, speed), rtol=0, atol=1e-12)
    world = np.array(
        [
            rotation(q) @ v[3:]
            for q, v in zip(run.orientation.values, run.speeds.values, strict=True)
        ]
    )
    assert_allclose(world, np.broadcast_to([3.0, 2.0, 5.0], world.shape), rtol=0, atol=1e-11)


def test_chaplygins_ball_conserves_angular_momentum_about_the_contact():
    system = machine_of("ball", xx=0.3, yy=0.4, zz=0.5)
    run = ride(system, state(system, Wx=3.0, Wy=20.0, Wz=1.0))
    contact, p = run.contact_point.values[:, 0], run.momentum.values
    angular = run.angular_momentum.values - np.cross(contact, p)
    size = np.linalg.norm(angular[0])
    assert np.abs(angular - angular[0]).max() < 1e-11 * size
    assert np.ptp(run.x_speed.values) > 0.01  # it does not roll straight


# Pendulums and springs.


def pendulum(*, m: float = 1.3, reach: float = 0.7, moment: float = 0.05, g: float = 9.81) -> Model:
    """Return a physical pendulum about the y axis."""
    return Model(
        bodies=[Body("rack"), Body("bob", m, (0.0, 0.0, -reach), inertia(moment, moment, moment))],
        joints=[Revolute("swing", "rack", "bob", (0.0, 1.0, 0.0))],
        gravity=(0.0, 0.0, -g),
        base="fixed",
    )


@pytest.mark.parametrize("start", [0.1, 1.0, 2.5, 3.0])
def test_the_pendulum_follows_elliptic_functions(start):
    """`sin(r / 2) = k cd(w t, k)` and the period 4 K(k) / w."""
    system = machine_of(pendulum)
    moment = 0.05 + 1.3 * 0.7**2
    w = math.sqrt(1.3 * 9.81 * 0.7 / moment)
    k = math.sin(start / 2)
    period = 4 * ellipk(k * k) / w
    run = ride(system, state(system, swing=start), until=period, dt=period / 40)
    _, cn, dn, _ = ellipj(w * run.time.values, k * k)
    found = run["shape"].values[:, 0]
    assert_allclose(found, 2 * np.arcsin(np.clip(k * cn / dn, -1, 1)), rtol=0, atol=2e-11)
    assert_allclose(found[-1], start, rtol=0, atol=1e-11)
    assert_allclose(run.speeds.values[-1], 0.0, rtol=0, atol=2e-10)


def geared(*, armature: float = 0.2, g: float = 9.81) -> Model:
    """Return a pendulum with a motor at its hinge and a motor-driven flywheel."""
    return Model(
        bodies=[
            Body("rack"),
            Body("bob", 1.3, (0.0, 0.0, -0.7), inertia(0.05, 0.05, 0.05)),
            Body("rotor", 0.0, (0.0, 0.0, -0.7), inertia(0.01, 0.02, 0.01)),
        ],
        joints=[
            Revolute("swing", "rack", "bob", (0.0, 1.0, 0.0), armature=armature),
            Revolute("spin", "bob", "rotor", (0.0, 1.0, 0.0), (0.0, 0.0, -0.7), armature=armature),
        ],
        gravity=(0.0, 0.0, -g),
        base="fixed",
    )


def test_an_armature_adds_its_inertia_to_a_joint():
    """Closed form: (J + A) r" + I (r" + s") = -m g l sin r, and (I + A) s" + I r" = 0."""
    system, A, spin = machine_of(geared), 0.2, 0.02
    for formulation in ("projected", "multiplier", "absolute"):
        at = state(system, swing=0.3, swing_rate=0.5, spin_rate=-2.0)
        (swing, spun), _ = system.accelerate(at, formulation=formulation)
        moment = 0.05 + 1.3 * 0.7**2 + A + spin * A / (spin + A)
        assert swing == pytest.approx(-1.3 * 9.81 * 0.7 * math.sin(0.3) / moment, rel=1e-12)
        assert spun == pytest.approx(-swing * spin / (spin + A), rel=1e-12)
    run = ride(system, state(system, swing=1.0), until=5.0)
    assert energy_defect(run) < 1e-11
    with pytest.raises(ModelError, match=r"'swing': armature -0.1 must not be negative"):
        geared(armature=-0.1)


def pinned(*, m: float = 1.3, reach: float = 0.7, moment: float = 0.05, g: float = 9.81) -> Model:
    """Return the same pendulum as a free body that is pinned at a point."""
    return Model(
        bodies=[Body("bob", m, (0.0, 0.0, -reach), inertia(moment, moment, moment))],
        contacts=[Pin("grip", "bob", (0.0, 0.0, 0.0))],
        gravity=(0.0, 0.0, -g),
    )


def test_a_body_pinned_at_a_point_is_a_pendulum():
    hinged, held = machine_of(pendulum), machine_of(pinned)
    first = ride(hinged, state(hinged, swing=1.0), until=5.0)
    second = ride(held, state(held, pitch=1.0), until=5.0)
    assert_allclose(second.pitch.values, first["shape"].values[:, 0], rtol=0, atol=1e-11)
    assert np.abs(second.contact_point.values).max() < 1e-14
    assert energy_defect(second) < 1e-12


def slider(
    *, m: float = 2.0, stiffness: float = 50.0, damping: float = 0.0, tilt: float = 0.3
) -> Model:
    """Return a mass on a spring along an inclined slide."""
    return Model(
        bodies=[Body("rack"), Body("mass", m)],
        joints=[
            Prismatic(
                "slide",
                "rack",
                "mass",
                (math.cos(0.3), 0.0, math.sin(0.3)),
                spring=stiffness,
                damper=damping,
                rest=0.1,
            )
        ],
        base="fixed",
    )


@pytest.mark.parametrize("damping", [0.0, 1.5, 40.0])
def test_a_mass_on_a_spring_follows_the_closed_form(damping):
    """`m rddot + d rdot + k (r - rest) = -m g sin(tilt)`, below and above critical damping."""
    m, k = 2.0, 50.0
    system = machine_of(slider, damping=damping)
    middle = 0.1 - m * 9.81 * math.sin(0.3) / k
    run = ride(system, state(system, slide=0.4, slide_rate=-1.0), until=5.0)
    a = np.roots([m, damping, k]).astype(complex)
    weights = np.linalg.solve(np.array([[1.0, 1.0], a]), [0.4 - middle, -1.0])
    t = run.time.values
    wanted = middle + np.real(weights @ np.exp(np.outer(a, t)))
    rates = np.real((weights * a) @ np.exp(np.outer(a, t)))
    assert_allclose(run["shape"].values[:, 0], wanted, rtol=0, atol=1e-12)
    assert_allclose(run.speeds.values[:, 0], rates, rtol=0, atol=1e-11)


def test_a_damped_hinge_follows_the_closed_form():
    """A flywheel on a torsion spring with a damper decays as the closed form."""

    def flywheel(*, moment: float = 0.2) -> Model:
        return Model(
            bodies=[Body("rack"), Body("wheel", 1.0, inertia=inertia(0.15, 0.15, moment))],
            joints=[
                Revolute(
                    "shaft", "rack", "wheel", (0.0, 0.0, 1.0), spring=8.0, damper=0.3, rest=0.5
                )
            ],
            base="fixed",
        )

    system = compile(flywheel)
    run = ride(system, state(system, shaft=1.5), until=5.0)
    decay, w = 0.3 / 0.4, math.sqrt(8.0 / 0.2 - (0.3 / 0.4) ** 2)
    t = run.time.values
    wanted = 0.5 + np.exp(-decay * t) * (np.cos(w * t) + decay / w * np.sin(w * t))
    assert_allclose(run["shape"].values[:, 0], wanted, rtol=0, atol=1e-11)


# Planar machines.


@pytest.mark.parametrize("turning", [0.1, -2.0])
def test_chaplygins_sleigh_follows_the_closed_form(turning):
    """Speed c tanh(k t), yaw rate c sqrt(m / (I + m a^2)) / cosh(k t), shifted to the start."""
    m, moment, a, speed = 2.0, 0.3, 0.4, -1.0
    system = machine_of("chaplygin_sleigh", m=m, I=moment, a=a)
    run = ride(system, state(system, forward_speed=speed, Wz=turning))
    about = moment + m * a * a
    c = math.sqrt(speed**2 + about / m * turning**2)
    k = a * c * m / about
    t = run.time.values + math.atanh(speed / c) / k
    assert_allclose(run.forward_speed.values, c * np.tanh(k * t), rtol=0, atol=1e-11)
    rate = math.copysign(c * math.sqrt(m / about), turning) / np.cosh(k * t)
    assert_allclose(run.speeds.values[:, 2], rate, rtol=0, atol=1e-11)
    # The lateral force of the runner is the rate of the lateral momentum: m (v w + a wdot).
    wdot = -k * np.tanh(k * t) * rate
    push = m * (c * np.tanh(k * t) * rate + a * wdot)
    assert_allclose(run.contact_force.values[:, 0, 2], push, rtol=0, atol=1e-10)


def test_the_momentum_equation_of_the_snakeboard():
    """With both trucks turned by +-f, the board has one degree of freedom: V ahead, V tan(f) / l about.

    The momentum along it, `p = m V + tan(f) / l (J V tan(f) / l + Jr psidot)`, obeys
    `pdot = (J V tan(f) / l + Jr psidot) fdot / (l cos(f)^2)`, with m and J of the whole machine.
    """
    system = machine_of("snakeboard", drive="sine")
    of = system.parameters
    l, Jr = of["l"], of["Jr"]  # noqa: E741 - the paper's name
    m = of["m"] + 2 * of["mw"]
    J = of["J"] + Jr + 2 * of["Jw"] + 2 * of["mw"] * l * l
    rotor, truck = of["rotor_amplitude"], of["truck_amplitude"]

    def speed(t, p):
        f = truck * np.sin(2 * np.pi * t)
        psidot = 2 * np.pi * rotor * np.cos(2 * np.pi * t)
        slope = np.tan(f) / l
        return (p - slope * Jr * psidot) / (m + J * slope**2), slope, psidot, f

    def rate(t, p):
        V, slope, psidot, f = speed(t, p)
        fdot = 2 * np.pi * truck * np.cos(2 * np.pi * t)
        return (J * V * slope + Jr * psidot) * fdot / (l * np.cos(f) ** 2)

    start = state(system, forward_speed=0.2)
    run = ride(system, start)
    t = run.time.values
    wanted = solve_ivp(rate, (0, 10), [m * 0.2], "DOP853", t, rtol=1e-13, atol=1e-14)
    V, slope, _, _ = speed(t, wanted.y[0])
    assert_allclose(run.forward_speed.values, V, rtol=0, atol=1e-10 * np.abs(V).max())
    assert_allclose(run.speeds.values[:, 2], V * slope, rtol=0, atol=1e-10 * np.abs(V).max())
    assert V[-1] > 5.0  # it accelerates although no external force drives it


@pytest.mark.parametrize("vehicle", ["snakeboard", "roller_racer", "falling_cat", "fish"])
def test_work_of_laws_equals_the_change_of_energy(vehicle):
    """The work of the torques of prescribed motions is the change of energy."""
    system = machine_of(vehicle, drive="sine")
    run = ride(system, state(system), until=1.0, dt=1.0 / 2000)
    driven = [f"{name}_rate" for name in run.prescribed.values]
    power = (run.motion_torque.values * run.speeds.sel(speed=driven).values).sum(axis=1)
    work = simpson(power, x=run.time.values)
    change = float(run.energy[-1] - run.energy[0])
    assert_allclose(work, change, rtol=0, atol=1e-9 * np.abs(run.energy.values).max())
    assert np.abs(run.energy.values - run.energy.values[0]).max() > 1e-3


def test_prescribed_joints_follow_their_motions():
    system = machine_of("snakeboard", drive="sine")
    run = ride(system, state(system))
    t = run.time.values
    for k, joint in enumerate(system.model.joints):
        wanted = np.array([joint.motion(x) for x in t])
        assert_allclose(run["shape"].values[:, k], wanted[:, 0], rtol=0, atol=1e-14)
        assert_allclose(run.speeds.values[:, 3 + k], wanted[:, 1], rtol=0, atol=1e-12)
        assert_allclose(run.accelerations.values[:, 3 + k], wanted[:, 2], rtol=0, atol=1e-11)


def test_drag_slows_a_straight_swimmer_down():
    """`V = V0 exp(-drag length t / mass)` for the swimmer and for each link."""
    system = machine_of("purcell_swimmer", length=0.2, drag=2.0, ratio=5.0, mass=0.55)
    run = ride(system, state(system, forward_speed=0.5), until=3.0)
    wanted = 0.5 * np.exp(-0.4 / 0.55 * run.time.values)
    assert_allclose(run.forward_speed.values, wanted, rtol=0, atol=1e-12)
    sideways = ride(system, state(system, Vy=0.5), until=1.0)
    assert np.all(np.diff(sideways.energy.values) < 0)


# Contacts that stay closed.


GAPS = {
    "bicycle": ("whipple", {}, {"forward_speed": 4.6, "lean_rate": 0.5}, {}),
    "disc": ("rolling_disc", {}, {"lean": 0.3, "spin": 3.0}, {}),
    "torus": ("rolling_disc", {"crown": 0.1}, {"lean": 0.3, "spin": 3.0}, {}),
    "sliding disc": (
        "rolling_disc",
        {},
        {"lean": 0.3, "spin": 12.0, "Vy": 0.5},
        {"ground": "sliding"},
    ),
    "bicycle on ice": (
        "whipple",
        {},
        {"forward_speed": 4.6, "lean_rate": 0.2, "Wz": 0.3},
        {"rear": "sliding", "front": "sliding"},
    ),
    "unicycle": ("unicycle", {}, {"lean": 0.05, "forward_speed": 2.0, "turntable_rate": 3.0}, {}),
}


@pytest.mark.parametrize("dt", [1e-3, 5e-3, 1e-2, 2e-2])
@pytest.mark.parametrize("name", GAPS)
def test_projection_keeps_contacts_closed_at_any_step(name, dt):
    vehicle, arguments, asked, mode = GAPS[name]
    system = machine_of(vehicle, **arguments)
    start = state(system, mode=mode, **asked)
    run = ride(system, start, until=0.8, dt=dt, integrator="rk4", mode=mode)
    closed = [k for k, c in enumerate(system.model.contacts) if mode.get(c.name) != "open"]
    assert np.abs(run.gap.values[:, closed]).max() < 1e-14


# The drift of the passive bicycle without projection, and under the correction (2.41) with epsilon
# 0.01 s, over 5 s from 4.6 m/s and a lean rate of 0.5 rad/s: net vertical speed of the front
# contact in um/s. Independent computation, quadruple precision; other coordinates, so other errors
# of the same size.
DRIFT = {
    "rk4": {0.01: 3.0190072e-05, 0.005: 2.0228383e-06},
    "ab4": {0.01: 0.036556891, 0.005: 0.0024433484},
    "abm4": {0.01: -0.0027152964, 0.005: -0.00018427371},
    "abm5": {0.01: 8.7068201e-05, 0.005: 1.7978278e-06},
}


@cache
def passive_bicycle(integrator, dt, drift):
    """Return the passive bicycle's run."""
    system = machine_of("whipple")
    start = state(system, forward_speed=4.6, lean_rate=0.5)
    return draisine.simulate(
        system, start, 5.0, numerics=draisine.Numerics(dt=dt, integrator=integrator, drift=drift)
    ).to_xarray()


@pytest.mark.parametrize("integrator", DRIFT)
def test_without_projection_contacts_drift_with_the_order_of_the_method(integrator):
    found = {
        dt: abs(float(passive_bicycle(integrator, dt, "none").gap[-1, 1])) / 5 * 1e6
        for dt in DRIFT[integrator]
    }
    for dt, wanted in DRIFT[integrator].items():
        assert abs(wanted) / 3 < found[dt] < abs(wanted) * 3
    order = math.log2(found[0.01] / found[0.005])
    assert order > 3.7


def test_the_stiff_correction_at_one_millisecond():
    """Gaps stay below 1e-11 m (1.02e-11 in the independent computation), and the slow motion is
    unchanged.
    """
    run = passive_bicycle("abm4", 1e-3, 0.01)
    assert np.abs(run.gap.values).max() < 1e-11
    assert np.abs(run.gap.values[-1]).max() < 2e-15
    plain = passive_bicycle("abm4", 1e-3, "none")
    for name in ("lean_rate", "forward_speed"):
        assert_allclose(run[name].values, plain[name].values, rtol=0, atol=1e-10)
    steer = run.speeds.sel(speed="steer_rate").values
    assert_allclose(steer, plain.speeds.sel(speed="steer_rate").values, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("integrator", "dt", "stable"),
    [("abm4", 1.25e-3, False), ("rk4", 2.5e-3, True), ("rk4", 5e-3, False)],
)
def test_the_stiff_correction_has_a_limit_of_stability(integrator, dt, stable):
    """As in the independent computation."""
    if stable:
        assert np.abs(passive_bicycle(integrator, dt, 0.01).gap.values).max() < 1e-5
        return
    try:
        worst = np.abs(passive_bicycle(integrator, dt, 0.01).gap.values).max()
    except SimulationError as stopped:
        worst = np.abs(stopped.partial.to_xarray().gap.values).max()
    assert not worst < 1e-4
