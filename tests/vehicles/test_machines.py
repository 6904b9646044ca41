"""The vehicles of draisine, and clear errors for every mistake in a model."""

import inspect
import math
from typing import get_type_hints

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine import compile, simulate, state
from draisine.analysis.bicycle.straight import canonical_matrices
from draisine.errors import (
    ConfigurationError,
    ModelError,
    ParameterError,
    RedundancyError,
    SingularityError,
    UnknownNameError,
)
from draisine.mechanics.formulations import multiplier
from draisine.model import (
    Blade,
    Body,
    Force,
    Model,
    Pin,
    Prismatic,
    Revolute,
    Torus,
    Wheel,
    inertia,
)
from draisine.registry import find, names
from draisine.system.state import State
from draisine.vehicles import meanings

VEHICLES = {
    "acrobot": {"bar": 0.5},
    "ball": {"x_speed": 0.5},
    "cart_pole": {"pole": 0.2},
    "chain": {"hinge1": 0.2},
    "chaplygin_sleigh": {"forward_speed": 1.0, "Wz": 0.5},
    "falling_cat": {"bend": 0.3, "sway_rate": 1.0},
    "penny": {"roll_rate": 6.0, "Wz": 1.5},
    "rocr": {"yaw": -1.2, "Wz": 0.5},
    "roller_racer": {"forward_speed": 1.0, "arm": 0.2},
    "rolling_disc": {"forward_speed": 2.0, "lean": 0.1},
    "snakeboard": {"forward_speed": 1.0, "front_truck": 0.2},
    "car": {"forward_speed": 2.0, "steer": 0.2},
    "car_with_trailers": {"forward_speed": 1.0, "hitch1": 0.3},
    "differential_platform": {"forward_speed": 0.5, "Wz": 0.3},
    "euler_disc": {"lean": 1.2, "spin": 1.0},
    "fish": {"forward_speed": 0.5, "front": 0.2},
    "purcell_swimmer": {"forward_speed": 0.5, "front": 0.2},
    "satellite": {"Wx": 0.3, "rotor2_rate": 5.0},
    "road_train": {"forward_speed": 1.0, "hitch1": 0.3},
    "segway": {"forward_speed": 0.5, "pitch": 0.05},
    "skateboard": {"forward_speed": 2.0, "lean": 0.1},
    "skater": {"forward_speed": 2.0},
    "snake": {"forward_speed": 0.3, "joint1": 0.2},
    "steering_linkage": {"left": 0.3, "left_rate": 0.5},
    "tricycle": {"forward_speed": 2.0, "steer": 0.1},
    "trikke": {"forward_speed": 0.3},
    "unicycle": {"forward_speed": 2.0},
    "whipple": {"forward_speed": 5.0},
}
REST = np.array([1.0, 0.0, 0.0, 0.0])


def saddle(machine, state):
    """Return M and F of the saddle-point system in the user's speeds."""
    n = len(state.v)
    out = machine.free(q=state.q, p=state.p, r=state.r, v=state.v)
    return out["M"].reshape(n, n), out["F"]


@pytest.mark.parametrize("name", VEHICLES)
def test_every_vehicle_is_found_explained_and_runs(name):
    assert name in names("vehicle")
    vehicle = find("vehicle", name)
    assert vehicle.__doc__
    hints = get_type_hints(vehicle)
    arguments = set(inspect.signature(vehicle).parameters)
    numbers = {p for p in arguments if float in (hints[p], *_in(hints[p]))}
    assert numbers <= set(meanings(vehicle)) <= arguments
    system = compile(name)
    for output in system.model.outputs:
        assert output.unit
        assert output.meaning
    start = state(system, **VEHICLES[name])
    run = draisine.simulate(system, start, 0.3, numerics=draisine.Numerics(dt=0.05)).to_xarray()
    for key, values in run.data_vars.items():
        assert key == "friction_needed" or np.all(np.isfinite(values.values)), key
    for asked, value in VEHICLES[name].items():
        if asked in run:
            assert_allclose(run[asked].values[0], value, atol=1e-12)


def _in(hint):
    return getattr(hint, "__args__", ())


def test_helper_functions_are_not_vehicles():
    assert not {"laws", "tape_measure", "whipple_forms"} & set(names("vehicle"))


def test_wrong_structure_is_refused():
    with pytest.raises(ParameterError, match=r"drive = 'sin'.*'sine'"):
        compile("snakeboard", drive="sin")
    with pytest.raises(ParameterError, match=r"no parameter 'lenght'.*'length'"):
        compile("chain", lenght=1.0)
    with pytest.raises(UnknownNameError, match=r"'snakebord'.*'snakeboard'"):
        compile("snakebord")


@pytest.mark.parametrize("links", [1, 2, 5])
def test_a_chain_has_the_requested_number_of_joints(links):
    for base, more in (("SE(3)", 6), ("fixed", 0)):
        system = compile("chain", links=links, base=base)
        assert len(system.model.joints) == links
        assert len(system.model.speeds) == links + more


def test_a_chain_of_parallel_hinges_is_a_chain_of_pendulums():
    """Two uniform rods as thin as they come: the textbook's double pendulum at small angles."""
    length = 0.3
    rod = {"offset": 0.0, "skew": 0.0, "slender": 0.0, "gyration": 1 / math.sqrt(12)}
    system = compile("chain", links=2, base="fixed", oblique=False, length=length, **rod)
    hanging = state(system, hinge1=math.pi / 2)  # drawn along x, it turns down about y
    M, _ = saddle(system.machine(), hanging)
    assert_allclose(
        M, length**2 * np.array([[1 / 3 + 4 / 3 + 1, 1 / 3 + 1 / 2], [5 / 6, 1 / 3]]), rtol=1e-13
    )


def test_the_cart_and_pole_of_the_textbook():
    """`(mC + mP) xdd + mP l (thdd cos th - thd^2 sin th) = F`, `(I + mP l^2) thdd + mP l xdd cos th
    - mP g l sin th = tau`."""
    system = compile("cart_pole", mC=1.3, mP=0.4, l=0.6, I=0.02, spring=2.0, damper=0.5)
    rng = np.random.default_rng(1)
    for _ in range(5):
        x, th, xd, thd, push, torque = rng.normal(size=6)
        start = State(REST, np.zeros(3), np.array([x, th]), np.array([xd, thd]))
        vdot, _ = system.accelerate(start, {"cart": push, "pole": torque})
        c, s = math.cos(th), math.sin(th)
        M = np.array([[1.7, 0.24 * c], [0.24 * c, 0.02 + 0.4 * 0.36]])
        f = [push + 0.24 * thd**2 * s - 2.0 * x - 0.5 * xd, torque + 0.24 * 9.81 * s]
        assert_allclose(vdot, np.linalg.solve(M, f), rtol=1e-12)


def test_the_acrobot_of_the_paper():
    """Spong (1995), equations (1)-(9), with q1 from the horizontal: q1 = bar - pi / 2 turned about."""
    system = compile("acrobot")
    of = system.parameters
    m1, m2, l1, lc1, lc2, I1, I2, g = (
        of[k] for k in ("m1", "m2", "l1", "lc1", "lc2", "I1", "I2", "g")
    )
    rng = np.random.default_rng(2)
    for _ in range(5):
        bar, q2, d1, d2, torque = rng.normal(size=5)
        start = State(REST, np.zeros(3), np.array([bar, q2]), np.array([d1, d2]))
        vdot, _ = system.accelerate(start, {"hip": torque})
        c2 = math.cos(q2)
        s2 = math.sin(q2)
        q1 = bar - math.pi / 2
        d11 = m1 * lc1**2 + m2 * (l1**2 + lc2**2 + 2 * l1 * lc2 * c2) + I1 + I2
        d12 = m2 * (lc2**2 + l1 * lc2 * c2) + I2
        d22 = m2 * lc2**2 + I2
        h1 = -m2 * l1 * lc2 * s2 * (d2**2 + 2 * d2 * d1)
        h2 = m2 * l1 * lc2 * s2 * d1**2
        p2 = m2 * lc2 * g * math.cos(q1 + q2)
        p1 = (m1 * lc1 + m2 * l1) * g * math.cos(q1) + p2
        wanted = np.linalg.solve([[d11, d12], [d12, d22]], [-h1 - p1, torque - h2 - p2])
        assert_allclose(vdot, wanted, rtol=1e-12)


def test_the_wheel_of_a_unicycle_carries_its_weight():
    system = compile("unicycle", xT=0.0)
    start = state(system, forward_speed=1.5)
    vdot, lam = system.accelerate(start)
    assert_allclose(vdot, 0.0, atol=1e-12)
    assert_allclose(lam, [18.0 * 9.81, 0.0, 0.0], atol=1e-10)
    falling, _ = system.accelerate(state(system, lean=0.01, pitch=0.02))
    assert falling[3] > 0
    assert falling[4] > 0


def test_parameters_need_no_new_derivation():
    disc = compile("rolling_disc", crown=0.1)
    assert "crown" in disc.parameters
    assert "crown" not in compile("rolling_disc").parameters
    hoop = disc.with_parameters(axial=1.0, diametral=0.5)
    fresh = compile("rolling_disc", crown=0.1, axial=1.0, diametral=0.5)
    asked = {"lean": 0.2, "spin": 4.0, "yaw_rate": -0.5}
    one = hoop.accelerate(state(hoop, **asked))
    two = fresh.accelerate(state(fresh, **asked))
    assert_allclose(one[0], two[0], rtol=0, atol=1e-12)


def test_a_torus_that_is_a_ball_by_its_numbers_rolls_on_over_its_axle():
    """A ball rolls straight on at constant speed, and no configuration is singular."""
    ball = compile("rolling_disc", radius=0.3, crown=0.3, axial=0.4, diametral=0.4)
    data = simulate(ball, state(ball, forward_speed=0.03, lean_rate=5.0), 2.0).to_xarray()
    assert data.lean.max() > 1.5
    kinetic = (
        0.5 * 1.4 * (0.03**2 + 1.5**2)
    )  # mass 1 kg; the lean's rate moves the centre at 1.5 m/s
    assert_allclose(data.kinetic_energy, kinetic, rtol=1e-9)


# What a drawing must be.

BOX = inertia(0.1, 0.1, 0.1)
UP = (0.0, 0.0, 1.0)


def tree(bodies=("a", "b", "c"), joints=(("j1", "a", "b"), ("j2", "b", "c")), **rest):
    """Return a model of boxes with vertical hinges."""
    return Model(
        bodies=[Body(name, 1.0, inertia=BOX) for name in bodies],
        joints=[Revolute(name, parent, child, UP) for name, parent, child in joints],
        **rest,
    )


NAN = float("nan")

MISTAKES = {
    "a cycle": (
        lambda: tree("abcd", [("j1", "a", "b"), ("j2", "d", "c"), ("j3", "c", "d")]),
        r"cycle through the bodies 'c', 'd'",
    ),
    "a cycle through the base": (
        lambda: tree("ab", [("j1", "a", "b"), ("j2", "b", "a")]),
        r"Joint 'j2': its child 'a' is the base",
    ),
    "two parents": (
        lambda: tree("abc", [("j1", "a", "b"), ("j2", "a", "c"), ("j3", "b", "c")]),
        r"Body 'c' has two parents: joints 'j2' and 'j3'",
    ),
    "a body on no joint": (
        lambda: tree("abc", [("j1", "a", "b")]),
        r"Body 'c' is not the child of any joint",
    ),
    "an unknown child": (
        lambda: tree(("frame", "fork"), [("steer", "frame", "frok")]),
        r"joint 'steer': no body 'frok'. Did you mean 'fork'\?",
    ),
    "an unknown parent": (
        lambda: tree(("frame", "fork"), [("steer", "frmae", "fork")]),
        r"joint 'steer': no body 'frmae'. Did you mean 'frame'\?",
    ),
    "a contact on an unknown body": (
        lambda: tree(contacts=[Blade("skate", "z", (0, 0, 0), (1, 0, 0))]),
        r"contact 'skate': no body 'z'. Available: a, b, c",
    ),
    "a force on an unknown body": (
        lambda: tree(forces=[Force("wind", "z")]),
        r"force 'wind': no body 'z'",
    ),
    "a negative mass": (lambda: Body("wheel", -2.0), r"body 'wheel': mass -2.0 kg is negative"),
    "a mass that is no number": (lambda: Body("wheel", NAN), r"body 'wheel': mass nan kg"),
    "a mass centre that is no number": (
        lambda: Body("wheel", 1.0, (0.0, NAN, 0.0)),
        r"body 'wheel', com: has entries that are not numbers",
    ),
    "a mass centre in the plane": (
        lambda: Body("wheel", 1.0, (0.0, 1.0)),
        r"body 'wheel', com: expected three components",
    ),
    "an inertia that is no number": (
        lambda: Body("wheel", 1.0, inertia=inertia(1.0, NAN, 1.0)),
        r"body 'wheel': inertia has entries that are not numbers",
    ),
    "an inertia of the wrong shape": (
        lambda: Body("wheel", 1.0, inertia=np.ones(3)),
        r"body 'wheel', inertia: expected shape \(3, 3\), got \(3,\); inertia\(xx, yy, zz\) makes it",
    ),
    "an inertia that is not symmetric": (
        lambda: Body("wheel", 1.0, inertia=[[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]),
        r"body 'wheel': inertia is not symmetric",
    ),
    "an inertia that is not positive": (
        lambda: Body("wheel", 1.0, inertia=inertia(1.0, 1.0, 1.0, xy=1.5)),
        r"body 'wheel': inertia is not positive semidefinite: smallest eigenvalue -0.5",
    ),
    "an added mass that is not positive": (
        lambda: Body("fin", 1.0, added=np.diag([1.0, -1.0, 0, 0, 0, 0])),
        r"body 'fin': added mass is not positive semidefinite",
    ),
    "a zero axis": (
        lambda: Revolute("steer", "a", "b", (0.0, 0.0, 0.0)),
        r"joint 'steer': the axis must not be zero",
    ),
    "a zero slide": (
        lambda: Prismatic("slide", "a", "b", (0.0, 0.0, 0.0)),
        r"joint 'slide': the axis must not be zero",
    ),
    "an axis that is no number": (
        lambda: Revolute("steer", "a", "b", (NAN, 0.0, 1.0)),
        r"joint 'steer', axis: has entries that are not numbers",
    ),
    "a hinge that is nowhere": (
        lambda: Revolute("steer", "a", "b", UP, (math.inf, 0.0, 1.0)),
        r"joint 'steer', through: has entries that are not numbers",
    ),
    "a spring that is no number": (
        lambda: Revolute("steer", "a", "b", UP, spring=NAN),
        r"joint 'steer': spring nan is not a number",
    ),
    "a zero axle": (
        lambda: Wheel("rear", "a", (0, 0, 0), (0, 0, 0), 0.3),
        r"wheel 'rear': the axle must not be zero",
    ),
    "a wheel without radius": (
        lambda: Wheel("rear", "a", (0, 0, 0), (0, 1, 0), 0.0),
        r"wheel 'rear': the radius must not be zero",
    ),
    "a radius that is no number": (
        lambda: Wheel("rear", "a", (0, 0, 0), (0, 1, 0), NAN),
        r"wheel 'rear': radius nan m is not a length",
    ),
    "a tyre thicker than its wheel": (
        lambda: Wheel("rear", "a", (0, 0, 0), (0, 1, 0), Torus(0.3, 0.4)),
        r"wheel 'rear': crown 0.4 m exceeds radius 0.3 m",
    ),
    "a skate without heading": (
        lambda: Blade("skate", "a", (0, 0, 0), (0, 0, 0)),
        r"blade 'skate': the heading must not be zero",
    ),
    "a grip along nothing": (
        lambda: Pin("hand", "a", (0, 0, 0), axes="xw"),
        r"pin 'hand': invalid axes 'xw'",
    ),
    "a force in no frame": (
        lambda: Force("wind", "a", frame="wrold"),
        r"force 'wind': unknown frame 'wrold'",
    ),
    "the same body twice": (
        lambda: tree(("a", "b", "b"), [("j1", "a", "b")]),
        r"body name 'b' is used twice",
    ),
    "the same joint twice": (
        lambda: tree("abc", [("j", "a", "b"), ("j", "b", "c")]),
        r"joint name 'j' is used twice",
    ),
    "the same contact twice": (
        lambda: tree(contacts=[Pin("hand", "a", (0, 0, 0)), Pin("hand", "b", (0, 0, 0))]),
        r"contact name 'hand' is used twice",
    ),
    "gravity that is no number": (
        lambda: tree(gravity=(0.0, 0.0, NAN)),
        r"gravity: has entries that are not numbers",
    ),
    "an unknown group": (lambda: tree(base="SE(4)"), r"base group 'SE\(4\)'. Did you mean 'SE"),
    "no body": (lambda: Model(bodies=[]), r"at least one body"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_every_mistake_is_one_clear_error(mistake):
    draw, message = MISTAKES[mistake]
    with pytest.raises(ModelError, match=message):
        draw()


def test_round_off_is_no_mistake():
    Body("plate", 1.0, inertia=inertia(1.0, 1.0, 2.0 * (1 + 1e-12)))
    Body("rod", 1.0, inertia=inertia(-1e-17, 1.0, 1.0))
    Body("turned", 1.0, inertia=inertia(1.0, 1.0, 1.0, xy=1e-17))


@pytest.mark.filterwarnings("ignore:body 'rear_wheel'")
def test_measured_moments_may_break_the_triangle_inequality():
    """A rear wheel that is flatter than flat by 5 percent is used, with a warning: the mass matrix of
    straight running stays positive definite and changes as its formula says (Meijaard and others 2007,
    equations A3 to A20, doi:10.1098/rspa.2007.1857), energy is kept.
    """
    flat = compile("whipple", IRxx=0.06, IRyy=0.12)
    with pytest.warns(UserWarning, match=r"'rear_wheel': .* break the triangle inequality"):
        measured = compile("whipple", IRxx=0.057, IRyy=0.12)
    p = flat.parameters
    mu = p["c"] / p["w"] * math.cos(p["lam"])
    change = canonical_matrices(measured).M - canonical_matrices(flat).M
    assert_allclose(change, np.diag([-0.003, -0.003 * mu**2]), rtol=0, atol=1e-12)
    assert np.linalg.eigvalsh(canonical_matrices(measured).M).min() > 0.0
    run = simulate(measured, state(measured, forward_speed=4.6, lean_rate=0.5), 1.0).to_xarray()
    assert_allclose(run.energy, run.energy[0], rtol=1e-10)


def test_parameters_are_checked_like_drawings():
    with pytest.raises(ModelError, match=r"body 'disc': mass -1.0 kg is negative"):
        compile("rolling_disc", mass=-1.0)
    disc = compile("rolling_disc")
    with pytest.warns(UserWarning, match="triangle inequality"):
        disc.with_parameters(axial=0.6)
    with pytest.raises(ParameterError, match=r"no parameter 'radios'.*'radius'"):
        disc.with_parameters(radios=0.6)
    with pytest.raises(ParameterError, match="radius: nan is not finite"):
        disc.with_parameters(radius=NAN)
    with pytest.raises(ParameterError, match=r"radius: 1e\+160 is larger than 1e\+100"):
        disc.with_parameters(radius=1e160)


def test_modes_are_checked():
    disc = compile("rolling_disc")
    with pytest.raises(ModelError, match=r"no contact 'grund'. Did you mean 'ground'\?"):
        disc.machine({"grund": "open"})
    with pytest.raises(ModelError, match=r"'ground' cannot be 'slide'. Did you mean 'sliding'\?"):
        disc.machine({"ground": "slide"})


# Freedoms without inertia, constraints that repeat each other.


def test_massless_bodies_are_allowed():
    """A massless wheel rolls along; off the ground nothing determines its spin."""
    system = compile("unicycle", mW=0.0, IWxx=0.0, IWyy=0.0)
    start = state(system, forward_speed=2.0, lean=0.1, turntable_rate=1.0)
    vdot, lam = system.accelerate(start)
    closed, forces = system.accelerate(start, formulation="projected")
    assert_allclose(closed, vdot, rtol=0, atol=1e-11 * np.linalg.norm(vdot))
    assert_allclose(forces, lam, rtol=0, atol=1e-11 * np.linalg.norm(lam))
    run = draisine.simulate(
        system, start, 0.5, numerics=draisine.Numerics(rtol=1e-13, atol=1e-14)
    ).to_xarray()
    assert np.ptp(run.energy.values) < 1e-12 * run.energy.values[0]
    for fly in (
        system.accelerate,
        lambda s, _, mode: draisine.simulate(
            system, s, 0.1, contact=draisine.ContactOptions(mode=mode)
        ),
    ):
        with pytest.raises(SingularityError, match="'wheel_rate'"):
            fly(start, None, {"ground": "open"})


def idler(*, m: float = 1.0, tail: float = 0.0) -> Model:
    """Return a body with a massless flag on a hinge."""
    return Model(
        bodies=[Body("frame", m, inertia=BOX), Body("flag", tail, (0.1, 0.0, 0.0), tail * BOX)],
        joints=[Revolute("mast", "frame", "flag", UP)],
    )


def test_a_degree_of_freedom_without_inertia_is_named():
    system = compile(idler)
    start = State(REST, np.zeros(3), np.zeros(1), np.zeros(7))
    with pytest.raises(SingularityError, match="no inertia resists 'mast_rate'"):
        system.accelerate(start)
    with pytest.raises(SingularityError, match="no inertia resists 'mast_rate'"):
        simulate(system, start, 1.0)
    heavier = system.with_parameters(tail=0.5)
    assert simulate(heavier, start, 0.1).outcome == "completed"
    with pytest.raises(SingularityError, match="'mast_rate'"):
        simulate(heavier.with_parameters(tail=0.0), start, 1.0)


def test_a_point_mass_does_not_resist_turning():
    def point(*, m: float = 1.0) -> Model:
        return Model(bodies=[Body("mass", m)])

    system = compile(point)
    start = State(REST, np.zeros(3), np.zeros(0), np.zeros(6))
    with pytest.raises(SingularityError, match=r"'W[xyz]'"):
        simulate(system, start, 1.0)


def twin(*, m: float = 1.0, right: float = 0.0) -> Model:
    """Return a sleigh with two runners on one lateral line."""
    return Model(
        bodies=[Body("sleigh", m, (0.1, 0.0, 0.0), BOX)],
        contacts=[
            Blade("left", "sleigh", (0.0, 0.2, 0.0), (1.0, 0.0, 0.0)),
            Blade("right", "sleigh", (right, -0.2, 0.0), (1.0, 0.0, 0.0)),
        ],
        gravity=(0.0, 0.0, 0.0),
        base="SE(2)",
    )


def test_redundant_runners_share_their_lateral_force():
    """The runners' lateral forces are statically indeterminate; they have minimum norm."""
    system = compile(twin)
    (spare,) = system.survey().redundant
    assert (spare.label, spare.repeats, spare.parameters) == (
        "right.across",
        ("left.across",),
        ("right",),
    )
    start = state(system, Vx=1.0, Wz=0.5)
    _, lam = system.accelerate(start)
    _, closed = system.accelerate(start, formulation="projected")
    assert_allclose(lam[0], lam[1], rtol=1e-12)
    assert_allclose(closed, lam, rtol=1e-12)
    single = {"right": "open"}
    alone = draisine.simulate(
        system,
        state(system, mode=single, Vx=1.0, Wz=0.5),
        1.0,
        contact=draisine.ContactOptions(mode=single),
    )
    assert_allclose(simulate(system, start, 1.0).to_xarray().yaw, alone.to_xarray().yaw, atol=1e-11)
    apart = system.with_parameters(right=0.3)
    assert not apart.survey().redundant
    assert np.linalg.matrix_rank(_rows(apart, start)) == 2
    with pytest.raises(ConfigurationError, match="contradict"):
        state(apart, Vx=1.0, Wz=0.5)
    again = apart.with_parameters(right=0.0)
    assert_allclose(again.accelerate(start)[1], lam, rtol=1e-12)


def _rows(system, start):
    out = system.machine({"left": "open", "right": "open"}).free(q=start.q, p=start.p, v=start.v)
    rows = multiplier.active_row_indices(system.model, system.mode())
    return out["C"].reshape(-1, len(start.v))[rows]


def test_a_snakeboard_with_both_trucks_across_is_named():
    system = compile("snakeboard")
    r = np.array([0.0, math.pi / 2, math.pi / 2])
    start = State(REST, np.zeros(3), r, np.zeros(6))
    with pytest.raises(RedundancyError, match=r"rear\.across, front\.across"):
        system.accelerate(start)


def cart(*, m: float = 1.0, wheels: int = 4, mast: bool = False) -> Model:
    """Return a rigid cart on two or four wheels, with or without a mast, which is listed first."""
    places = [("fl", 0.5, 0.3), ("fr", 0.5, -0.3), ("rl", -0.5, 0.3), ("rr", -0.5, -0.3)][:wheels]
    flag = [Body("mast", 0.1, (0.1, 0.0, 1.0), 0.1 * BOX)] if mast else []
    hinge = [Revolute("mast", "cart", "mast", UP)] if mast else []
    wheel = inertia(0.01, 0.02, 0.01)
    return Model(
        bodies=[
            Body("cart", m, (0.0, 0.0, 0.5), BOX),
            *flag,
            *[Body(name, 0.1, (x, y, 0.1), wheel) for name, x, y in places],
        ],
        joints=[
            *hinge,
            *[Revolute(name, "cart", name, (0.0, 1.0, 0.0), (x, y, 0.1)) for name, x, y in places],
        ],
        contacts=[Wheel(name, name, (x, y, 0.1), (0.0, 1.0, 0.0), 0.1) for name, x, y in places],
    )


@pytest.mark.parametrize("mast", [False, True])
def test_wheels_of_a_rigid_cart_share_their_forces(mast):
    """Two wheels on one axle both prevent lateral slip; the load of the fourth wheel is statically
    indeterminate.
    """
    axle = compile(cart, wheels=2, mast=mast)
    assert [row.label for row in axle.survey().redundant] == ["fr.across"]
    whole = compile(cart, wheels=4, mast=mast)
    start = state(whole, fl_rate=3.0)
    assert_allclose(start.v[:6], [0.3, 0, 0, 0, 0, 0], atol=1e-14)
    smooth = {"fr": "sliding", "rl": "sliding", "rr": "sliding"}
    (spare,) = whole.survey(smooth).redundant
    assert (spare.label, spare.parameters) == ("rr.normal", ())
    assert spare.repeats == ("fl.normal", "fr.normal", "rl.normal")
    assert [row.label for row in whole.survey().redundant] == [
        "fr.across",
        "rr.normal",
        "rr.across",
    ]
    # Minimum-norm loads are linear in the position: L/4 each, shifted by the moments of the
    # weights.
    for formulation in ("multiplier", "projected"):
        _, lam = whole.accelerate(start, mode=smooth, formulation=formulation)
        loads = lam[[0, 3, 4, 5]]
        assert_allclose(loads.sum(), -_weight(whole), rtol=1e-12)
        assert_allclose(loads[0] - loads[1] - loads[2] + loads[3], 0.0, atol=1e-11)
        ahead = 0.5 * (loads[0] + loads[1] - loads[2] - loads[3])
        assert_allclose(ahead, 0.1 * 0.1 * 9.81 * mast, atol=1e-11)
    tripod = smooth | {"rr": "open"}
    _, lam = whole.accelerate(start, mode=tripod)
    assert_allclose(lam[0] + lam[3] + lam[4], -_weight(whole), rtol=1e-12)
    run = simulate(whole, start, 1.0)
    assert_allclose(run.to_xarray().position.values[-1], [0.3, 0, 0], atol=1e-12)


def _weight(system):
    return system.model.gravity[2] * sum(body.mass for body in system.model.bodies)
