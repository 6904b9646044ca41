"""Gradients of motions, compared with closed forms, differences in fifty digits and independent
methods.
"""

from decimal import Decimal, localcontext
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf
from numpy.testing import assert_allclose

import draisine
from draisine import ContactOptions, Numerics, gradient
from draisine.analysis.gradient import GradientRun
from draisine.analysis.gradient.saltation import _edge_fold_distance
from draisine.analysis.gradient.tangents import integrate_with_derivatives
from draisine.analysis.return_map import fixed_point, return_map
from draisine.control._signals.time_inputs import Step, TimeInputs
from draisine.control.steer_into_lean import SteerIntoLean
from draisine.errors import GrazingError, ModelError, ParameterError, SimulationError
from draisine.mechanics.contact.features import FEATURE
from draisine.mechanics.forces.linear_tyre import LinearTyre
from draisine.mechanics.forces.magic_formula import MagicFormula
from draisine.model import Body, Disc, Model, Wheel
from draisine.simulation.contact.kernels import fold_excess
from draisine.simulation.integrators._dop853_tableau import A
from draisine.terrain import Terrain, face, kerb, move_ground, plane, ramp
from draisine.terrain.motions import Shake

G = 9.81
TINY = mpf("1e-20")
OPEN = {"mode": {"ground": "open"}}


@pytest.fixture(scope="module")
def ball():
    return draisine.compile("ball")


@pytest.fixture(scope="module")
def bicycle():
    return draisine.compile("whipple")


def digits(f, at, k):
    """Return the derivative of f by its k-th argument, by differences in fifty digits."""
    with mp.workdps(50):
        ends = []
        for sign in (1, -1):
            x = [mpf(value) for value in at]
            x[k] += sign * TINY
            ends.append(f(*x))
        return [float((a - b) / (2 * TINY)) for a, b in zip(*ends, strict=True)]


# --- through impacts


def bounces(z, v, g, e, T=mpf(1)):
    """Return height (m) and speed (m/s) of a dropped, bouncing ball at time T (s), in closed form."""
    t = mpf(0)
    while True:
        s = (v + mpmath.sqrt(v * v + 2 * g * z)) / g  # time of the first impact, s
        if t + s > T:
            s = T - t
            return z + v * s - g * s * s / 2, v - g * s
        t = t + s
        z = mpf(0)
        v = -e * (v - g * s)


def test_the_gradient_of_a_bouncing_ball(ball):
    """Three bounces, differentiated by height, speed, gravity and restitution in closed form.

    The derivative is wrong if a method neglects that neighbouring motions hit the ground at other
    times.
    """
    start = OPEN | {"z": 0.4, "Vz": 0.5}
    bounce = ContactOptions(impact="newton", restitution={"normal": 0.8})
    unknowns = ["z", "Vz", "g", "restitution.normal"]
    found = gradient(ball, start, [1.0], ["z", "Vz"], unknowns, terrain=plane(), contact=bounce)
    assert [one.event.kind for one in found.events] == ["collision"] * 2
    at = (0.4, 0.5, G, 0.8)
    assert_allclose(found.values[0], [float(x) for x in bounces(*map(mpf, at))], rtol=1e-11)
    first = found.events[0]  # the ball hits the ground with the speed sqrt(v^2 + 2 g z)
    strikes = np.sqrt(0.5**2 + 2 * G * 0.4)
    assert_allclose(first.values, [0.0, -strikes], atol=1e-11)
    assert_allclose(first.derivatives[1, :2], [-G / strikes, -0.5 / strikes], rtol=1e-10)
    exact = np.array([digits(bounces, at, k) for k in range(4)]).T
    assert_allclose(found.derivatives[0], exact, rtol=1e-10, atol=1e-10)


def lands_and_rolls(z, v, spin, g, slope, T=mpf(1)):
    """Return distance and speed along a slope of a ball that falls onto it and then rolls, in
    closed form.

    The angular momentum about the contact point is conserved at landing; the radius is 0.1 m, the
    moment of inertia 2/5 m R^2.
    """
    R = mpf("0.1")
    s = mpmath.sin(slope)
    c = mpmath.cos(slope)
    v += R * spin  # velocity of the centre; Vx is that of the lowest point
    # Perpendicular to the slope the ball falls with g cos, along it with g sin; z is the height of
    # its lowest point.
    height = (z + R) * c - R
    up = -v * s
    ahead = v * c
    x = (z + R) * s
    t = (up + mpmath.sqrt(up * up + 2 * g * c * height)) / (g * c)
    x = x + ahead * t - g * s * t * t / 2
    ahead = ahead - g * s * t
    ahead = (ahead + mpf(2) / 5 * R * spin) / (mpf(7) / 5)
    rest = T - t
    pull = mpf(5) / 7 * g * s
    return x + ahead * rest - pull * rest * rest / 2, ahead - pull * rest


def middle(found):
    """Return the derivatives of the position (x, z) of the centre of a ball.

    The coordinates x and z are those of the base's origin, the lowest point in the zero
    configuration, which rotates with the ball.
    """
    (_, _, pitch, _) = found.values[0]
    (x, z, turn, _) = found.derivatives[0]
    return x + 0.1 * np.cos(pitch) * turn, z - 0.1 * np.sin(pitch) * turn


def test_the_gradient_through_a_landing_in_fifty_digits(ball):
    slope = 0.1
    start = OPEN | {"z": 0.5, "Vx": 1.0, "Wy": 3.0}
    unknowns = ["z", "Vx", "Wy", "g"]
    outputs = ["x", "z", "pitch", "Wy"]
    found = gradient(ball, start, [1.0], outputs, unknowns, terrain=plane(slope))
    at = (0.5, 1.0, 3.0, G, slope)
    way, speed = (np.array([digits(lands_and_rolls, at, k)[i] for k in range(4)]) for i in range(2))
    x, z = middle(found)
    assert_allclose(x * np.cos(slope) + z * np.sin(slope), way, rtol=0, atol=1e-10)
    assert_allclose(0.1 * found.derivatives[0, 3], speed, rtol=0, atol=1e-10)


def test_a_ball_that_slides_and_then_rolls(ball):
    """The ball slides until 2 v / 7 mu g, decelerated by mu g; then it rolls at 5/7 of its speed.
    Sliding ends at a slip of 1e-6 m/s, not at zero.
    """
    v = 2.0
    mu = 0.2
    T = 1.0
    found = gradient(
        ball,
        OPEN | {"z": 0.0, "Vx": v},
        [T],
        ["x", "z", "pitch", "Wy"],
        ["Vx", "g"],
        terrain=plane(),
        contact=ContactOptions(mu=mu, impact="moreau"),
    )
    (event,) = found.events
    assert event.event.kind == "stick"
    assert_allclose(event.time[0], 2 / (7 * mu * G), rtol=1e-6)
    # x = v t - mu g t^2 / 2 + 5/7 v (T - t) with t = 2 v / 7 mu g
    by_v = 5 / 7 * T + 4 * v / (49 * mu * G)
    by_g = -2 * v**2 / (49 * mu * G**2)
    assert_allclose(middle(found)[0], [by_v, by_g], rtol=1e-6)
    assert_allclose(found.derivatives[0, 3], [5 / 7 / 0.1, 0.0], atol=1e-6)


def test_a_walker_on_a_terrain_has_the_multipliers_of_its_cycle():
    """Over the duration of one step, starting in the first quarter of a swing, with the legs
    exchanged: the multipliers of the published cycle (independent computation), and one for a
    shift in time.
    """
    compass = draisine.compile("compass_walker", slope=np.radians(3.0))
    names = ["left", "right", "left_rate", "right_rate"]
    T = 0.7343463911587196
    x = [-0.2710286804988208, 0.2710286804988208, 1.0923835898836016, 0.37737394890719334]
    begin = dict(zip(names, x, strict=True))
    early = gradient(compass, begin, [T / 4], names, []).values[0]
    start = dict(zip(names, early, strict=True))
    found = gradient(compass, start, [T], names, names, terrain=plane())
    assert_allclose(found.values[0], early[[1, 0, 3, 2]], atol=1e-8)
    values = np.linalg.eigvals(found.derivatives[0][[1, 0, 3, 2]])
    pair = -0.19972612683003454 + 0.5444760620947265j
    exact = [1.0, 0.13157262407717676, pair, pair.conjugate()]
    for value in exact:
        assert np.abs(values - value).min() < 1e-8


def test_the_multipliers_of_a_ball_that_bounces_on_a_shaking_table(ball):
    """One bounce per period of the table: fixed point in closed form, multipliers by an independent
    computation (their product is the squared restitution).
    """
    size = 0.01
    w = 30.0
    e = 0.8
    T = 2 * np.pi / w
    table = move_ground(plane(), Shake((0.0, 0.0, size), w))
    bounce = ContactOptions(impact="newton", restitution={"normal": e})
    strobe = return_map(ball, ["z", "Vz"], T, terrain=table, contact=bounce, **OPEN)
    phase = np.arccos(G * T * (1 - e) / (2 * (1 + e) * size * w))
    t = phase / w
    up = G * T / 2  # time of the impact, and speed after it
    fall = T - t
    exact = [size * np.sin(phase) + up * fall - G * fall**2 / 2, up - G * fall]
    cycle = fixed_point(strobe, np.array(exact) + [1e-4, 1e-3])
    assert up == pytest.approx(1.0273007977238624, rel=1e-12)
    assert_allclose(cycle.x, exact, rtol=0, atol=1e-10)
    pair = -0.5544561803613329 + 0.5766960586471186j
    assert_allclose(cycle.multipliers, [pair, pair.conjugate()], rtol=0, atol=1e-8)


# --- along smooth motions


def circular(f, x):
    """Return a sine or cosine to fifty digits."""
    return Decimal(str(f(mpf(str(x)))))


LONG = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "neg": lambda a: -a,
    "inv": lambda a: 1 / a,
    "sqrt": lambda a: a.sqrt(),
    "sin": lambda a: circular(mpmath.sin, a),
    "cos": lambda a: circular(mpmath.cos, a),
}
"""Operations of traced programs over numbers of fifty digits."""


def evaluated(program, inputs, wanted, kept):
    """Return the values of the wanted steps of a program, including those that are kept."""
    found = dict(kept)
    for i, (op, *rest) in enumerate(program.steps):
        if i in kept or not wanted[i]:
            continue
        if op == "const":
            found[i] = Decimal(rest[0])
        elif op == "input":
            found[i] = inputs[rest[0]][rest[1]]
        else:
            found[i] = LONG[op](*(found[k] for k in rest))
    return found


def long_flow(program, parameters, y, until, steps):
    """Return y after a motion, by equal steps of the Dormand-Prince method in fifty digits."""
    first = [
        step[0] == "const" or fixed
        for step, fixed in zip(program.steps, program.fixed, strict=True)
    ]
    kept = evaluated(program, {"parameters": parameters}, first, {})
    rest = [not x for x in first]
    h = Decimal(until) / steps

    def rate(y):
        inputs = {"t": [Decimal(0)], "w": [Decimal(0)] * program.inputs["w"]}
        at = 0
        for name in ("q", "p", "r", "u", "z"):
            inputs[name] = y[at : at + program.inputs[name]]
            at += program.inputs[name]
        out = evaluated(program, inputs, rest, kept)
        return [out[k] for k in program.outputs["rate"]]

    def moved(y, row, ks):
        terms = [(h * Decimal(a), k) for a, k in zip(row, ks, strict=False) if a]
        return [x + sum(a * k[i] for a, k in terms) for i, x in enumerate(y)]

    for _ in range(steps):
        ks = []
        for row in A[:12]:
            ks.append(rate(moved(y, row, ks)))
        y = moved(y, A[12], ks)
    return y


def test_the_gradient_of_a_smooth_ride_in_fifty_digits(bicycle):
    """One second of the bicycle, differentiated by its lean rate and by the mass of its frame.

    The reference integrates the same equations in fifty digits and uses differences of 1e-20.
    """
    start = {"forward_speed": 5.0, "lean_rate": 0.2}
    unknowns = ["lean_rate", "mB"]
    fine = Numerics(rtol=1e-13, atol=1e-14)
    outputs = ["steer", "rear_wheel", "front_wheel"]
    found = gradient(bicycle, start, [1.0], outputs, unknowns, numerics=fine).derivatives[0]
    machine = bicycle.machine()
    ys = [machine.enter(draisine.state(bicycle, **start | {"lean_rate": x})) for x in (0.2, 1.2)]
    along = ys[1] - ys[0]  # the speeds are linear in the prescribed values
    mass = list(bicycle.parameters).index("mB")
    program = machine.programs["rate"]
    exact = []
    with mp.workdps(50), localcontext(prec=50):
        for k in range(2):
            ends = []
            for step in (Decimal("1e-20"), Decimal("-1e-20")):
                y = [
                    Decimal(a) + (1 - k) * step * Decimal(b)
                    for a, b in zip(ys[0], along, strict=True)
                ]
                p = [Decimal(float(x)) for x in bicycle.values]
                p[mass] += k * step
                ends.append(long_flow(program, p, y, 1, 36)[7:10])
            exact.append([float((a - b) / Decimal("2e-20")) for a, b in zip(*ends, strict=True)])
    assert_allclose(found, np.array(exact).T, rtol=0, atol=1e-12)


# --- compared with differences


def differences(system, start, T, outputs, unknowns, h=1e-5, **options):
    """Return central differences of the outputs that `gradient` returns."""
    fine = options.pop("numerics", Numerics(rtol=1e-12, atol=1e-13))
    columns = []
    for name in unknowns:
        ends = []
        for d in (h, -h):
            moved = system
            asked = dict(start)
            given = dict(options)
            if name in system.parameters:
                moved = system.with_parameters(**{name: system.parameters[name] + d})
            elif name in start:
                asked[name] += d
            else:
                own = name.removeprefix("inputs.")
                given["inputs"] = options["inputs"] | {own: options["inputs"][own] + d}
            ends.append(gradient(moved, asked, [T], outputs, [], numerics=fine, **given).values[0])
        columns.append((ends[0] - ends[1]) / (2 * h))
    return np.array(columns).T


SLIPPERY = ContactOptions(mu=0.5, impact="moreau")
RIDES = {
    "smooth": (1.0, {"inputs": {"steer": 0.3}}),
    "kerb": (0.4, {"terrain": kerb(at=1.8, rise=0.02)}),
    "ramp": (0.8, {"terrain": ramp(0.2, 0.3)}),
    "brake": (0.2, {"terrain": plane(), "inputs": {"rear_wheel": -150.0}, "contact": SLIPPERY}),
    "stop": (0.2, {"terrain": plane(), "contact": ContactOptions(stops={"steer": (-0.05, 0.05)})}),
    "jerk": (
        0.3,
        {
            "terrain": plane(),
            "law": TimeInputs((Step("rear_wheel", -700.0, 0.05, 0.1),)),
            "contact": ContactOptions(mu=0.4, impact="moreau"),
        },
    ),
    "law": (0.3, {"terrain": plane(), "law": SteerIntoLean(20.0, 5.0, delay=0.1)}),
}


@pytest.mark.parametrize("ride", RIDES)
def test_gradients_are_those_of_differences(bicycle, ride):
    T, options = RIDES[ride]
    start = {"forward_speed": 6.0, "lean_rate": 0.05, "x": -2.0 if ride == "ramp" else 0.0}
    if ride == "stop":
        start |= {"forward_speed": 5.0, "lean_rate": 0.6}
    unknowns = ["lean_rate", "c"] if ride == "ramp" else ["forward_speed", "mB"]
    unknowns += [f"inputs.{name}" for name in options.get("inputs", ())]
    outputs = ["lean", "steer", "pitch", "x", "Wz"]
    found = gradient(bicycle, start, [T], outputs, unknowns, **options)
    expected = differences(bicycle, start, T, outputs, unknowns, **options)
    scale = max(1.0, np.abs(expected).max())
    assert_allclose(found.derivatives[0], expected, rtol=0, atol=1e-7 * scale)
    assert len(found.events) >= {"kerb": 3, "ramp": 4, "stop": 1, "jerk": 3}.get(ride, 0)


def test_gradients_by_a_moment_at_the_limit_of_the_triangle_inequality(bicycle):
    """The benchmark's rear wheel is almost flat: a smaller moment breaks the triangle inequality.
    One-sided differences towards larger moments agree to second order.
    """
    start = {"forward_speed": 5.0, "lean_rate": 0.2}
    own = bicycle.parameters["IRxx"]
    h = 1e-4
    with pytest.warns(UserWarning, match="triangle inequality"):
        bicycle.with_parameters(IRxx=0.8 * own)
    found = gradient(bicycle, start, [1.0], ["lean", "steer"], ["IRxx"]).derivatives[0, :, 0]
    ends = [bicycle.with_parameters(IRxx=own + k * h) for k in range(3)]
    f = [gradient(one, start, [1.0], ["lean", "steer"], []).values[0] for one in ends]
    assert_allclose(found, (4.0 * f[1] - 3.0 * f[0] - f[2]) / (2.0 * h), rtol=1e-5, atol=1e-8)


def test_gradients_through_landings_on_tyres():
    """Descent of a kerb: tyres lift off, touch down, and start without deflection."""
    tyre = LinearTyre(9000.0, 0.0, 0.15)
    bicycle = draisine.compile("whipple", rear_tyre=tyre, front_tyre=tyre)
    start = {"forward_speed": 5.0, "lean_rate": 0.05}
    outputs = ["lean", "steer", "pitch", "x"]
    unknowns = ["front_tyre_cornering"]
    options = {"terrain": kerb(1.3, -0.03)}
    found = gradient(bicycle, start, [0.15], outputs, unknowns, **options)
    assert [one.event.kind for one in found.events] == ["lift-off", "collision"]
    expected = differences(bicycle, start, 0.15, outputs, unknowns, h=10.0, **options)
    assert_allclose(found.derivatives[0], expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def sled(*, mass: float = 40.0, relaxation: float = 0.15):
    """Return a block on a locked wheel whose side force is not proportional to its load."""
    tyre = MagicFormula((1.5, -300.0, 1000.0, 200.0, 1.0, *[0.0] * 9), relaxation)
    wheel = Wheel("ground", "block", (0, 0, 0.3), (0, 1, 0), Disc(0.3), tyre=tyre)
    return Model([Body("block", mass)], contacts=[wheel], base="translations")


def test_gradients_through_loads_that_newton_finds():
    system = draisine.compile(sled)
    terrain = {"terrain": plane(0.1)}
    start = {"mode": {"ground": "open"}, "z": 0.1, "Vx": 3.0, "Vy": 0.5}
    outputs = ["x", "y"]
    unknowns = ["mass", "relaxation", "Vy"]
    found = gradient(system, start, [0.4], outputs, unknowns, **terrain)
    assert [one.event.kind for one in found.events] == ["collision"]
    expected = differences(system, start, 0.4, outputs, unknowns, h=1e-4, **terrain)
    assert np.abs(expected).min(axis=0)[0] > 1e-6  # the force is not proportional to the load
    assert_allclose(found.derivatives[0], expected, rtol=0, atol=1e-7 * np.abs(expected).max())


def test_the_fold_of_a_torus_on_an_edge_in_fifty_digits():
    """The distance (a^(2/3) + b^(2/3))^(3/2) - c as the engine computes it, and its gradient."""

    def fold(a, b, c):
        return [(mpmath.cbrt(a * a) + mpmath.cbrt(b * b)) ** mpf(1.5) - c]

    at = (0.02, -0.05, 0.1)
    found = _edge_fold_distance({"fold": np.vstack([at, np.eye(3)])})
    motion = SimpleNamespace(fold=0, length=1.0)
    contacts = SimpleNamespace(features=np.ones(FEATURE), patches=np.zeros(1, int))
    assert found[0] == pytest.approx(fold_excess(motion, contacts, 0, np.array(at)), rel=1e-12)
    assert_allclose(found[1:], [digits(fold, at, k)[0] for k in range(3)], rtol=1e-12)


# --- motions without a gradient


@pytest.mark.parametrize("higher", [1e-11, 1e-13])
def test_a_motion_that_only_grazes_has_no_gradient(ball, higher):
    """A ball is thrown up against a ceiling that it reaches with 14 um/s, or barely reaches."""
    ceiling = Terrain([face("ceiling", (0.0, 0.0, -1.0), -1.0)])
    height = 0.8 + higher  # height of the lowest point at the apex of the flight
    start = OPEN | {"z": 0.0, "Vz": float(np.sqrt(2 * G * height))}
    bounce = ContactOptions(impact="newton", restitution={"normal": 0.5})
    with pytest.raises(GrazingError, match="graz"):
        gradient(ball, start, [0.6], ["z"], ["Vz"], terrain=ceiling, contact=bounce)


def test_simultaneous_impacts_have_no_gradient(bicycle):
    """A bicycle is dropped level: the wheel that touches first depends on its pitch."""
    start = {"mode": {"rear": "open", "front": "open"}, "z": 0.1, "pitch": 0.0}
    with pytest.raises(GrazingError, match="several contacts close at once"):
        gradient(bicycle, start, [0.3], ["pitch"], ["pitch", "z"], terrain=plane())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"outputs": ["leen"]}, "no output 'leen'"),
        ({"unknowns": ["trail"]}, "no parameter, initial value, input or coefficient 'trail'"),
        ({"times": [0.5, 0.2]}, "must be finite and increase"),
    ],
)
def test_invalid_arguments_are_refused(bicycle, changes, message):
    arguments = {"outputs": ["lean"], "unknowns": ["c"], "times": [0.1]} | changes
    with pytest.raises(ParameterError, match=message):
        gradient(bicycle, {"forward_speed": 5.0}, **arguments)


def test_a_machine_that_hangs_by_pins_is_refused():
    with pytest.raises(ModelError, match="hangs by pins"):
        gradient(draisine.compile("rocr"), {}, [0.1], ["yaw"], ["phase"])


def test_a_ride_that_falls_has_no_gradient_at_its_end(bicycle):
    with pytest.raises(SimulationError, match="ended early, fell"):
        gradient(bicycle, {"lean": 0.3}, [3.0], ["lean"], [], terrain=plane(), contact=SLIPPERY)


@pytest.mark.parametrize("times", [[], [0.0, np.nan], [np.inf], 0.5, [0.2, 0.1], [[0.1, 0.2]]])
def test_times_are_finite_and_rise(times):
    bicycle = draisine.compile("whipple")
    with pytest.raises(ParameterError, match="must be finite and increase"):
        draisine.gradient(bicycle, {"forward_speed": 5.0}, times, ["lean"], ["c"])


def test_a_motion_that_needs_too_many_evaluations_is_reported():
    """A search may try parameters that make a machine very stiff, and must not wait for them."""
    run = GradientRun(["lean"], ["c"], max_evaluations=20)
    with pytest.raises(SimulationError, match="Their rates were evaluated 20 times"):
        run(draisine.compile("whipple"), {"forward_speed": 5.0}, np.array([0.0, 1.0]))


def test_an_interruption_ends_the_integration_of_derivatives():
    """An interruption of a Python function within machine code is raised at once after it."""
    calls = []

    def rates(t, jets):
        calls.append(t)
        if len(calls) == 50:
            raise KeyboardInterrupt
        return -1e4 * jets

    with pytest.raises(KeyboardInterrupt):
        integrate_with_derivatives(rates, np.ones((1, 1)), 0.0, np.array([10.0]), Numerics())
    assert len(calls) == 50
