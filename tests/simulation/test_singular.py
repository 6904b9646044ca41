"""Runs through shapes in which rows lose rank: limits are passed, poles stop the run."""

import math

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

from draisine import ContactOptions, Numerics, compile, simulate, state
from draisine.errors import SimulationError
from draisine.model import Blade, Body, Model, Prismatic, Revolute, Wheel, inertia
from draisine.model.motion import sine
from draisine.terrain import plane

FINE = {"rtol": 1e-12, "atol": 1e-14}


def crawler(*, a1: float = 0.5, a2: float = 0.5) -> Model:
    """A snake of three links of 0.2 m; both joints swing, the second one 1.6 rad behind."""
    names, middles = ("head", "middle", "tail"), [(-0.2 * k, 0.0, 0.0) for k in range(3)]
    motions = (sine(a1, 0.5), sine(a2, 0.5, -1.6))
    return Model(
        bodies=[
            Body(name, 0.5, middle, inertia(1e-3, 1e-3, 1.6e-3))
            for name, middle in zip(names, middles, strict=True)
        ],
        joints=[
            Revolute(
                f"joint{k + 1}",
                names[k],
                names[k + 1],
                (0.0, 0.0, 1.0),
                (-0.1 - 0.2 * k, 0.0, 0.0),
                motion=motions[k],
            )
            for k in range(2)
        ],
        contacts=[
            Blade(name, name, middle, (1.0, 0.0, 0.0))
            for name, middle in zip(names, middles, strict=True)
        ],
        gravity=np.zeros(3),
        base="SE(2)",
    )


def crawled(until: float, steps: int) -> list[float]:
    """Return the pose of the head by hand: no link slips sideways, solved with 40 digits, where
    nothing is lost beside the singular shape; steps of RK4 do not meet it.
    """
    mp, w, l = mpmath.mpf, mpmath.pi, mpmath.mpf("0.1")  # noqa: E741

    def slope(t, pose):
        r = [mp("0.5") * mpmath.sin(w * t), mp("0.5") * mpmath.sin(w * t - mp("1.6"))]
        rate = [mp("0.5") * w * mpmath.cos(w * t), mp("0.5") * w * mpmath.cos(w * t - mp("1.6"))]
        rows, right = [[0, 1, 0]], [mp(0)]
        heading, x, y, fixed = mp(0), -l, mp(0), [mp(0), mp(0)]
        turn_rate = mp(0)
        for k in range(2):
            heading += r[k]
            turn_rate += rate[k]
            c, s = mpmath.cos(heading), mpmath.sin(heading)
            middle = (x - l * c, y - l * s)
            # velocity of the link's middle: base twist, and what the joints' rates add
            own = (fixed[0] + l * s * turn_rate, fixed[1] - l * c * turn_rate)
            rows.append([-s, c, s * middle[1] + c * middle[0]])
            right.append(s * own[0] - c * own[1])
            fixed = [fixed[0] + 2 * l * s * turn_rate, fixed[1] - 2 * l * c * turn_rate]
            x, y = x - 2 * l * c, y - 2 * l * s
        V = mpmath.lu_solve(mpmath.matrix(rows), mpmath.matrix(right))
        c, s = mpmath.cos(pose[2]), mpmath.sin(pose[2])
        return [c * V[0] - s * V[1], s * V[0] + c * V[1], V[2]]

    def ahead(pose, k, h):
        return [x + h * dx for x, dx in zip(pose, k, strict=True)]

    with mpmath.workdps(40):
        h, pose = mp(until) / steps, [mp(0)] * 3
        for i in range(steps):
            t = i * h
            k1 = slope(t, pose)
            k2 = slope(t + h / 2, ahead(pose, k1, h / 2))
            k3 = slope(t + h / 2, ahead(pose, k2, h / 2))
            k4 = slope(t + h, ahead(pose, k3, h))
            mean = [(a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(k1, k2, k3, k4, strict=True)]
            pose = ahead(pose, mean, h)
        return [float(x) for x in pose]


INSTANT = 0.5 + 0.8 / math.pi
"""When both joints are equal: sin(pi t) = sin(pi t - 1.6)."""


def test_a_shape_with_a_limit_is_passed():
    system = compile(crawler)
    run = simulate(system, state(system), 1.2, numerics=Numerics(**FINE)).to_xarray()
    pose = [*run.position.values[-1, :2], run.yaw.values[-1]]
    assert_allclose(pose, crawled(1.2, 801), atol=1e-10)
    assert_allclose(np.diff(run.time.values), 0.01, atol=1e-6)


@pytest.mark.parametrize("until", [INSTANT, 2 * INSTANT])
def test_samples_and_ends_on_the_instant(until):
    system = compile(crawler)
    numerics = Numerics(dt=INSTANT, **FINE)
    run = simulate(system, state(system), until, numerics=numerics).to_xarray()
    assert np.isfinite(run.speeds.values).all()
    pose = [*run.position.values[1, :2], run.yaw.values[1]]
    assert_allclose(pose, crawled(INSTANT, 301), atol=3e-6)  # taken a microsecond later


@pytest.mark.parametrize("a2", [0.3, 0.499])
def test_a_pole_stops_the_run_with_what_it_has(a2):
    system = compile(crawler, a2=a2)
    with pytest.raises(
        SimulationError, match=r"joint1\.motion.*linearly dependent.*at 0\.\d+ s"
    ) as e:
        simulate(system, state(system), 2.0)
    end = e.value.partial.to_xarray()
    instant = math.atan2(a2 * math.sin(1.6), a2 * math.cos(1.6) - 0.5) / math.pi
    assert 0.5 * instant < float(end.time[-1]) < instant
    assert f"{instant:.6f}"[:6] in str(e.value)


def boarded(amplitude: float, until: float) -> np.ndarray:
    """Return the pose of a snakeboard by hand: with Vx = s l cos(phi), Wz = s sin(phi) its one
    momentum equation is regular at every angle phi of the trucks,

    `(M l^2 cos^2 + J sin^2) s' + s phi' (J - M l^2) sin cos + sin(phi) Jr psi'' = 0`.
    """
    M, J, Jr, l, w = 5.0, 0.1 + 0.3 + 0.02 + 2 * 0.5 * 0.25**2, 0.3, 0.25, 2 * math.pi  # noqa: E741

    def slope(t, at):
        phi, rate = amplitude * math.sin(w * t), amplitude * w * math.cos(w * t)
        c, s = math.cos(phi), math.sin(phi)
        spin = -0.7 * w * w * math.sin(w * t)
        push = -at[3] * rate * (J - M * l * l) * s * c - s * Jr * spin
        V, W = at[3] * l * c, at[3] * s
        across = M * l * l * c * c + J * s * s
        return [V * math.cos(at[2]), V * math.sin(at[2]), W, push / across]

    return solve_ivp(slope, (0, until), np.zeros(4), rtol=1e-12, atol=1e-14).y[:3, -1]


def test_trucks_of_a_snakeboard_go_through_a_quarter_turn():
    """The kernel gains a dimension at the instant, and leaves as it came."""
    system = compile("snakeboard", drive="sine", truck_amplitude=2.0)
    run = simulate(system, state(system, Vx=0.0), 1.0, numerics=Numerics(**FINE)).to_xarray()
    pose = [*run.position.values[-1, :2], run.yaw.values[-1]]
    assert_allclose(pose, boarded(2.0, 1.0), atol=1e-10)


def trolley(*, r: float = 0.1) -> Model:
    """A deck on four wheels, each on a strut, the front ones steered: a lean spreads the wheels, which
    cannot slip.
    """
    hubs = {f"{end}_{side}": (x, y, r) for end, x in ENDS.items() for side, y in SIDES.items()}
    up, across = (0.0, 0.0, 1.0), (0.0, 1.0, 0.0)
    small, wheel = inertia(1e-3, 1e-3, 1e-3), inertia(2e-3, 4e-3, 2e-3)
    steered = {name: hub for name, hub in hubs.items() if name.startswith("front")}
    bears = {n: f"{n}_knuckle" if n in steered else f"{n}_arm" for n in hubs}
    return Model(
        bodies=[Body("deck", 10.0, (0.0, 0.0, 2 * r), inertia(0.5, 0.5, 0.5))]
        + [Body(f"{name}_arm", 0.5, hub, small) for name, hub in hubs.items()]
        + [Body(f"{name}_knuckle", 0.5, hub, small) for name, hub in steered.items()]
        + [Body(name, 1.0, hub, wheel) for name, hub in hubs.items()],
        joints=[Prismatic(f"{n}_strut", "deck", f"{n}_arm", up, hub) for n, hub in hubs.items()]
        + [Revolute(f"{n}_steer", f"{n}_arm", bears[n], up, hub) for n, hub in steered.items()]
        + [Revolute(name, bears[name], name, across, hub) for name, hub in hubs.items()],
        contacts=[Wheel(name, name, hub, across, r) for name, hub in hubs.items()],
    )


ENDS, SIDES = {"front": 0.4, "rear": -0.4}, {"left": 0.3, "right": -0.3}


def test_a_start_in_a_singular_shape_is_told_by_its_rows():
    """Not by a value that is no number: upright both wheels say the same across, leaning they do not."""
    system = compile(trolley)
    assert system.survey().singular
    with pytest.raises(
        SimulationError, match=r"after 0 s of .* depends on the rows before it"
    ) as told:
        simulate(system, state(system), 0.1)
    assert "by tyres or by the status 'sliding'" in str(told.value)
    (arc,) = told.value.partial.arcs
    assert np.isfinite(arc.y).all()
    assert told.value.partial.to_xarray().sizes["time"] == 1


def test_what_a_run_left_is_data_though_its_last_contacts_contradict_each_other():
    """A walker without mass in its feet, whose leg is pushed: the run stops at once."""
    walker = compile("simplest_walker")
    pushed = {"left": 50.0, "height": 50.0}
    strict = ContactOptions(solver="events")
    with pytest.raises(SimulationError) as stopped:
        simulate(walker, state(walker), 1.0, terrain=plane(), inputs=pushed, contact=strict)
    data = stopped.value.partial.to_xarray()
    assert data.sizes["time"] >= 1
    assert np.isfinite(data["shape"]).all()
    # Without mass in the foot accelerations have no bound.
    assert np.abs(data["accelerations"]).max() > 1e9


def test_time_steps_end_with_a_report_if_a_foot_has_no_mass_to_bound_its_speed():
    """Steps that follow such a foot would become shorter without end."""
    walker = compile("simplest_walker")
    pushed = {"left": 50.0, "height": 50.0}
    with pytest.raises(SimulationError, match=r"'left' moves at .* almost massless") as stopped:
        simulate(walker, state(walker), 1.0, terrain=plane(), inputs=pushed)
    assert 0.0 < stopped.value.partial.t[-1] < 1.0
