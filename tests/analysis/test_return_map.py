"""Limit cycles: fixed points of return maps, and the gaits of the climbing robot held against
independent numbers and equations written by hand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from analysis.rocr_reference import (
    CYCLES,
    STABLE,
    STILL,
    UPRIGHT,
    T,
    impact,
    swing,
    torque_and_force,
)
from draisine import compile
from draisine.analysis.gait.map import ANGLE_COMPONENTS, gait
from draisine.analysis.gait.stride import Stride
from draisine.analysis.return_map import (
    Cycle,
    families,
    fixed_point,
    fixed_points,
    follow_family,
    wrap_angles,
)
from draisine.errors import ConfigurationError, ParameterError
from draisine.model import Body, Model, Pin, Revolute, inertia
from draisine.model.motion import sine


@pytest.fixture(scope="module")
def gaits():
    robot = compile("rocr")
    return {joint: gait(robot, joint=joint) for joint in ("free", "held")}


def found(gaits, name):
    """Return a gait, its cycle near the reference, and the reference."""
    wanted = CYCLES[name]
    walk = gaits[wanted["joint"]].at(phase=wanted["phase"])
    return walk, walk.cycle([wanted["Omega0"] + 0.02, wanted["theta0"] - 0.01]), wanted


# --- return maps of any kind


def henon(x, a=1.4, b=0.3):
    return np.array([1 - a * x[0] ** 2 + x[1], b * x[0]]), np.array(
        [[-2 * a * x[0], 1.0], [b, 0.0]]
    )


def test_the_fixed_points_of_henon_and_their_multipliers():
    """x = (b - 1 +- sqrt((1 - b)^2 + 4 a)) / 2a; multipliers are the roots of m^2 + 2 a x m - b."""
    a = 1.4
    b = 0.3
    cycles = fixed_points(henon, [(-2.0, 2.0), (-2.0, 2.0)])
    xs = (b - 1 + np.array([-1.0, 1.0]) * np.sqrt((1 - b) ** 2 + 4 * a)) / (2 * a)
    assert_allclose([c.x[0] for c in cycles], xs, rtol=1e-13)
    for cycle, x in zip(cycles, xs, strict=True):
        assert_allclose(
            np.sort(cycle.multipliers.real), np.sort(np.roots([1, 2 * a * x, -b])), rtol=1e-12
        )
        assert not cycle.stable
    assert sum(cycle.index for cycle in cycles) == 0  # the map folds: born as a pair


def test_angles_close_up_to_whole_turns():
    """theta -> theta + 2 pi + 0.3 sin(theta) has fixed points at 0 and pi."""
    cycles = fixed_points(
        lambda x: (x + 2 * np.pi + 0.3 * np.sin(x), np.diag(1 + 0.3 * np.cos(x))),
        [(0.0, 2 * np.pi)],
        angles=(0,),
    )
    places = sorted(abs(wrap_angles(c.x, (0,))[0]) for c in cycles)
    assert_allclose(places, [0.0, np.pi], atol=1e-9)
    assert [c.stable for c in sorted(cycles, key=lambda c: abs(wrap_angles(c.x, (0,))[0]))] == [
        False,
        True,
    ]


def test_a_map_without_cycles_raises_an_error():
    with pytest.raises(ConfigurationError, match="No cycle found"):
        fixed_point(lambda x: (x + 1.0, np.eye(1)), [0.0])


def logistic(a):
    return lambda x: (a * x * (1 - x), np.diag(a * (1 - 2 * x)))


def test_a_family_and_where_it_loses_stability():
    """x = 1 - 1/a, with the multiplier 2 - a: stable from a = 1 to 3."""
    start = fixed_point(logistic(2.0), [0.4])
    values = np.linspace(2.0, 3.5, 7)
    for a, cycle in zip(values, follow_family(logistic, values, start), strict=True):
        assert_allclose(cycle.x, 1 - 1 / a, rtol=1e-12)
    made = families(logistic, values, lambda G: [fixed_point(G, [0.5])])
    ((value, cycle),) = made[0].crossings(lambda _, c: c.growth - 1)
    assert value == pytest.approx(3.0, abs=1e-10)
    assert_allclose(cycle.multipliers, -1.0, rtol=1e-9)


def test_families_end_where_cycles_do():
    """x -> x^2 + a has cycles for a below 1/4 only."""
    made = families(
        lambda a: lambda x: (x**2 + a, np.diag(2 * x)),
        np.linspace(-0.5, 0.5, 20),
        lambda G: fixed_points(G, [(-2.0, 2.0)]),
    )
    assert len(made) == 2
    assert all(f.values[-1] <= 0.25 for f in made)
    assert sum(f.cycles[0].index for f in made) == 0


# --- the climbing robot


@pytest.mark.parametrize("name", CYCLES)
def test_fixed_points_of_the_climbing_robot(gaits, name):
    _, cycle, wanted = found(gaits, name)
    assert_allclose(cycle.x, [wanted["Omega0"], wanted["theta0"]], rtol=1e-11)
    assert cycle.residual < 1e-12
    assert cycle.stable == (name not in ("X2", "held inverted"))
    assert cycle.index == 1
    scale = abs(wanted["multipliers"][0])
    assert_allclose(cycle.multipliers, wanted["multipliers"], rtol=0, atol=1e-8 * scale)


@pytest.mark.parametrize("name", CYCLES)
def test_the_derivative_of_the_map_is_exact(gaits, name):
    """Against differences of eighth order of the same map, on a step that leaves 1e-10."""
    walk, cycle, _ = found(gaits, name)
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    h = 0.01
    for k in range(2):
        e = np.eye(2)[k] * h
        total = sum(
            c * wrap_angles(walk(cycle.x + i * e)[0] - walk(cycle.x - i * e)[0], ANGLE_COMPONENTS)
            for i, c in weights.items()
        )
        assert_allclose(cycle.J[:, k], total / h, atol=1e-9 * np.abs(cycle.J).max())


@pytest.mark.parametrize("name", CYCLES)
def test_displacement_torques_and_forces_of_a_cycle(gaits, name):
    walk, cycle, wanted = found(gaits, name)
    stride = Stride(walk, cycle)
    assert_allclose(stride.displacement, [0.0, wanted["rise"]], atol=1e-12)
    assert_allclose(
        stride.speed, -2 * 0.1 * np.cos(cycle.x[1]) / T, rtol=1e-11, atol=1e-13
    )  # (1.25)
    first = stride.impacts[0]
    assert first.grip == "grip_2"
    assert_allclose([first.Omega_before, first.Omega_after], wanted["Omega"], rtol=1e-11)
    assert_allclose(first.rates_struck, wanted["struck"], rtol=1e-11)
    assert_allclose(stride.impacts[1].Omega_after, cycle.x[0], rtol=1e-11)
    extremes = [stride.swing, stride.fastest, stride.torques[0], stride.force / stride.weight]
    extremes += [*stride.force_range(1), stride.force_range(0)[1], -stride.force_range(0)[0]]
    sampled = [wanted[key] for key in ("swing", "fastest", "torque", "weights")]
    sampled += [*wanted["Fn"], wanted["Fs"], wanted["Fs"]]
    assert_allclose(extremes, sampled, rtol=3e-6)
    farther = np.array(extremes) - sampled
    farther[4] *= -1  # a least value
    assert (farther > -1e-11 * np.abs(sampled)).all()  # samples do not reach an extreme


@pytest.mark.parametrize("name", CYCLES)
def test_against_the_equations_written_by_hand(gaits, name):
    """Motion, torque, force and impact by Newton and Euler, extremes by minimisation."""
    walk, cycle, wanted = found(gaits, name)
    stride = Stride(walk, cycle)
    phase = wanted["phase"]
    motion = swing(cycle.x, phase)
    first = stride.holds[0]
    y = motion.sol(first.t)
    assert_allclose(first.x, y, rtol=1e-9, atol=1e-9)  # SciPy's dense output has order seven
    assert_allclose(first.x[:, -1], motion.y[:, -1], rtol=1e-12)
    for k, t in enumerate(first.t):
        torque, force = torque_and_force(t, *first.x[:, k], phase, 1)
        assert_allclose(first.torques[0, k], torque, rtol=1e-11, atol=1e-12)
        assert_allclose(first.force[:2, k], force, rtol=1e-11, atol=1e-11)
    after, struck = impact(first.x[0, -1], T / 2, phase, wanted["joint"])
    assert_allclose(
        [stride.impacts[0].Omega_after, *stride.impacts[0].rates_struck],
        [after, struck],
        rtol=1e-12,
    )

    for sign, ours in zip((1, -1), stride.force_range(1), strict=True):

        def upwards(t, sign=sign):
            return sign * torque_and_force(t, *motion.sol(t), phase, 1)[1][1]

        coarse = np.linspace(0.0, T / 2, 201)
        best = coarse[np.argmin([upwards(t) for t in coarse])]
        near = (max(best - 0.002, 0.0), min(best + 0.002, T / 2))
        refined = minimize_scalar(upwards, bounds=near, method="bounded", options={"xatol": 1e-9})
        ends = [upwards(t) for t in (0.0, T / 2)]
        assert_allclose(sign * ours, min(refined.fun, *ends), rtol=1e-8)


@pytest.mark.parametrize("joint", ["free", "held"])
def test_exactly_two_vertical_cycles_at_every_phase(gaits, joint):
    """The indices add up to 2, as topology demands where fast turning is slowed down."""
    for phase in np.linspace(0.05, 6.2, 14):
        walk = gaits[joint].at(phase=phase)
        cycles = walk.cycles()
        assert len(cycles) == 2
        assert sum(cycle.index for cycle in cycles) == 2
        for Omega in (-200.0, 200.0):
            for theta in (0.0, 2.0, 4.0):
                assert abs(walk(np.array([Omega, theta]))[0][0]) < 200.0


def test_families_over_the_phase(gaits):
    walk = gaits["free"]
    made = families(
        lambda phase: walk.at(phase=phase),
        np.linspace(0.2, 6.28, 25),
        lambda G: G.cycles(),
        angles=ANGLE_COMPONENTS,
    )
    assert [len(f) for f in made] == [25, 25]
    straight, inverted = sorted(made, key=lambda f: -f.stable.sum())
    for family, ends in ((straight, STABLE["straight"]), (inverted, STABLE["inverted"])):
        at = sorted(value for value, _ in family.crossings(lambda _, c: c.growth - 1))
        assert_allclose(at, ends, atol=1e-8)
    still = [v for v, _ in straight.crossings(lambda v, c: Stride(walk.at(phase=v), c).speed)]
    assert min(abs(v - STILL) for v in still) < 1e-9
    up = [v for v, _ in straight.crossings(lambda _, c: np.sin(c.x[1])) if 4.0 < v < 4.9]
    assert_allclose(up, [UPRIGHT], atol=1e-9)


def test_with_a_locked_joint_no_stable_gait_climbs_faster_than_021(gaits):
    walk = gaits["held"]
    speeds = [
        Stride(at, cycle).speed
        for at in (walk.at(phase=phase) for phase in np.linspace(0.0, 6.2, 32))
        for cycle in at.cycles(count=(5, 5))
        if cycle.stable
    ]
    assert 0.2 < max(speeds) < 0.215


def test_the_map_over_the_full_period_has_the_same_cycles(gaits):
    """P = G o G: same fixed point, same multipliers, and no mirror is used."""
    walk, cycle, _ = found(gaits, "a")
    whole = gait(walk.system, joint="free", mirrored=False)
    same = whole.cycle(cycle.x + [0.01, 0.01])
    assert_allclose(same.x, cycle.x, rtol=1e-12)
    assert_allclose(same.multipliers, cycle.multipliers, rtol=1e-10)
    assert cycle.power == 2
    assert same.power == 1


def lopsided(*, frequency: float = 1.0, phase: float = 0.0, offset: float = 0.0) -> Model:
    """A climber whose body may be heavier on one side of the line of its tail."""
    up = (0.0, 0.0, 1.0)
    drag = np.diag([0.0] * 5 + [0.05])
    return Model(
        bodies=[
            Body("body", 0.2, (0.01, offset, 0.0), inertia(1e-4, 1e-4, 2e-4), drag=drag),
            Body("tail", 0.1, (0.2, 0.0, 0.0), inertia(0.0, 1e-4, 1e-4)),
        ],
        joints=[Revolute("tail", "body", "tail", up, motion=sine(0.8, frequency, phase))],
        contacts=[
            Pin("left", "body", (0.0, -0.05, 0.0), axes="xy"),
            Pin("right", "body", (0.0, 0.05, 0.0), axes="xy", grips=False),
        ],
        gravity=(0.0, -9.81, 0.0),
        base="SE(2)",
    )  # fmt: skip


def test_other_climbers_have_gaits_too():
    even = gait(compile(lopsided), joint="held")
    for cycle in even.cycles(count=(5, 5)):
        assert_allclose(Stride(even, cycle).displacement[0], 0.0, atol=1e-9)
    odd = compile(lopsided, offset=0.01)
    with pytest.raises(ParameterError, match=r"not the mirror image.*mirrored=False"):
        gait(odd, joint="held")
    walk = gait(odd, joint="held", mirrored=False)
    cycles = walk.cycles(count=(5, 5))
    assert any(cycle.stable for cycle in cycles)
    stable = next(cycle for cycle in cycles if cycle.stable)
    assert abs(Stride(walk, stable).displacement[0]) > 1e-4  # it drifts to one side
    x = stable.x + [0.1, 0.1]
    for _ in range(200):
        x = walk(x)[0]
    assert_allclose(wrap_angles(x - stable.x, ANGLE_COMPONENTS), 0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("vehicle", "options", "message"),
    [
        ("whipple", {}, "must be planar"),
        ("rocr", {"drive": "free"}, "'tail' has no prescribed motion"),
        ("rocr", {"frequency": 0.0}, "`frequency` greater than zero"),
    ],
)
def test_machines_without_a_gait(vehicle, options, message):
    with pytest.raises(ParameterError, match=message):
        gait(compile(vehicle, **options))


def test_multipliers_are_sorted_by_size():
    cycle = Cycle(np.zeros(3), np.diag([0.1, -0.9, 0.5]), 0.0, power=2)
    assert_allclose(cycle.multipliers, [0.81, 0.25, 0.01])
    assert cycle.growth == pytest.approx(0.81)


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("a", (6.5, np.pi, 0.3)),
        ("X2", (15.0, 1.75 * np.pi, None)),
        ("b", (None, 1.5 * np.pi, 0.0)),
        ("straight down", (None, 2 * np.pi, -0.3)),
    ],
)
def test_cycles_equal_those_of_the_thesis(gaits, name, printed):
    """Section 1.7.8: read off figure 1.18 to half a unit, angles to a tenth, speeds to 0.01 m/s."""
    walk, cycle, _ = found(gaits, name)
    ours = (*cycle.x, Stride(walk, cycle).speed)
    for value, wanted, allowed in zip(ours, printed, (0.5, 0.1, 0.01), strict=True):
        assert wanted is None or abs(value - wanted) < allowed


def test_a_turning_rate_beyond_all_measure_is_refused_at_once(gaits):
    with pytest.raises(ConfigurationError, match="takes too long to integrate"):
        gaits["free"].cycle([1e9, 0.0])
