"""Gradients through time steps, compared with closed forms and with differences of complete runs."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine import ContactOptions, gradient
from draisine.control.servo import Servo
from draisine.mechanics.forces.linear_tyre import LinearTyre
from draisine.mechanics.forces.magic_formula import MagicFormula
from draisine.model import Body, Disc, Model, Wheel
from draisine.model.motion import sine
from draisine.simulation.compare.compliant import Compliant
from draisine.terrain import height_field, kerb, move_ground, plane
from draisine.terrain.motions import Shake
from simulation.contact.stepping.test_motors import spinner
from simulation.contact.stepping.test_steps import Servos, machine

G = 9.81
OPEN = {"mode": {"ground": "open"}}


def steps(h, **options):
    return ContactOptions(solver="time_stepping", step=h, **options)


def hills(begin, height=0.01, cell=0.1):
    """Return a terrain of random heights that is level before `begin` (m)."""
    x = np.arange(-2.0, 4.0, cell)
    y = np.arange(-1.5, 1.55, cell)
    z = np.random.default_rng(0).uniform(0.0, height, (len(x), len(y)))
    z[x < begin] = 0.0
    return height_field(x, y, z)


def shift(system, start, options, name, d):
    """Return system, start and options with one unknown increased by d."""
    if name in system.parameters:
        system = system.with_parameters(**{name: system.parameters[name] + d})
    elif name in start:
        start = start | {name: start[name] + d}
    else:
        own = name.removeprefix("inputs.")
        inputs = options["inputs"] | {own: options["inputs"][own] + d}
        options = options | {"inputs": inputs}
    return system, start, options


def statuses(changes):
    """Return changes by the step in which they happen."""
    return [(round(one.time / 1e-3), one.contact, one.before, one.after) for one in changes]


def differences(system, start, times, outputs, unknowns, one_sided, **options):
    """Return differences of fourth order of complete runs, which must all have the same statuses."""
    columns = []
    for name, h in unknowns.items():
        terms = []
        for d, weight in ((h, 8.0), (-h, -8.0), (2 * h, -1.0), (-2 * h, 1.0)):
            moved, begin, given = shift(system, start, options, name, d)
            found = gradient(moved, begin, times, outputs, [], **given)
            assert statuses(found.one_sided) == statuses(one_sided)
            terms.append(weight * found.values)
        columns.append(sum(terms) / (12.0 * h))
    return np.stack(columns, axis=2)


def sled(*, mass: float = 40.0, relaxation: float = 0.15):
    """Return a block on a locked wheel whose side force is not proportional to its load."""
    tyre = MagicFormula((1.5, -300.0, 1000.0, 200.0, 1.0, *[0.0] * 9), relaxation)
    wheel = Wheel("ground", "block", (0, 0, 0.3), (0, 1, 0), Disc(0.3), tyre=tyre)
    return Model([Body("block", mass)], contacts=[wheel], base="translations")


TYRE = LinearTyre(9000.0, 0.0, 0.15)
RIDE = {"forward_speed": 6.0, "lean_rate": 0.05}
BICYCLE = ["lean", "steer", "pitch", "x", "Wz"]
# Vehicle, structure, start, end (s), outputs, unknowns with the step of their differences, options.
CASES = {
    "cart on hills": (
        "tricycle", {}, {"forward_speed": 1.5, "yaw": 0.1}, 0.3, ["x", "y", "yaw", "Wz"],
        {"forward_speed": 1e-4, "yaw": 1e-5, "m": 1e-1},
        {"terrain": hills(1.4), "contact": steps(2e-3, mu=0.8)},
    ),
    "robot with servos on hills": (
        machine, {}, {"x": 0.05, "yaw": 0.1}, 0.3, ["x", "y", "yaw", "left_rate", "Wz"],
        {"x": 1e-5, "yaw": 1e-5},
        {"terrain": hills(0.15), "law": Servos(10.0, 0.05), "contact": steps(1e-3, mu=0.8)},
    ),
    "bicycle over a kerb": (
        "whipple", {}, RIDE | {"forward_speed": 5.0}, 0.4, BICYCLE,
        {"forward_speed": 1e-4, "mB": 2e-2},
        {"terrain": kerb(at=1.8, rise=0.02), "contact": steps(2e-3, mu=0.8)},
    ),
    "ideal bicycle over a kerb": (
        "whipple", {}, RIDE | {"forward_speed": 5.0}, 0.4, BICYCLE,
        {"forward_speed": 1e-4, "mB": 3e-2},
        {"terrain": kerb(at=1.8, rise=0.02), "contact": steps(2e-3)},
    ),
    "torus over a kerb": (
        "whipple", {"crown": 0.02}, {"forward_speed": 3.0, "lean_rate": 0.05}, 0.3, BICYCLE,
        {"forward_speed": 1e-4, "mB": 1e-2},
        {"terrain": kerb(at=1.4, rise=-0.03), "contact": steps(2e-3, mu=0.8)},
    ),
    "motor at its limits": (
        spinner, {"limit": "line"}, {"wheel_spin_rate": 3.0}, 0.081, ["wheel_spin_rate", "yaw"],
        {"wheel_spin_rate": 1e-4},
        {
            "terrain": plane(),
            "law": Servo(["wheel_spin"], [20.0], damping=5.0, kind="speed"),
            "contact": steps(1e-3, mu=0.8),
        },
    ),
    "input": (
        "whipple", {}, RIDE, 0.2, BICYCLE, {"inputs.steer": 1e-3, "c": 1e-4},
        {"terrain": plane(), "inputs": {"steer": 0.3}, "contact": steps(2e-3, mu=0.8)},
    ),
    "joint stop": (
        "whipple", {}, {"forward_speed": 5.0, "lean_rate": 0.6}, 0.2, BICYCLE,
        {"forward_speed": 1e-4, "lean_rate": 1e-4},
        {"terrain": plane(), "contact": steps(2e-3, stops={"steer": (-0.05, 0.05)})},
    ),
    "prescribed joint": (
        "whipple", {"steering": sine(math.radians(3.0), 0.5)}, {"forward_speed": 5.0}, 0.2,
        ["lean", "pitch", "x", "Wz"], {"forward_speed": 1e-4, "mB": 1e-2},
        {"terrain": plane(), "contact": steps(2e-3, mu=0.8)},
    ),
    "ball with friction": (
        "ball", {}, OPEN | {"z": 0.02, "Vx": 1.0}, 0.2, ["x", "z", "pitch", "Wy"],
        {"Vx": 1e-4, "g": 1e-4, "z": 1e-7},
        {"terrain": plane(), "contact": steps(2e-3, mu=0.2)},
    ),
    "bouncing ball": (
        "ball", {}, OPEN | {"z": 0.02, "Vx": 1.0}, 0.2, ["x", "z", "pitch", "Wy"],
        {"Vx": 1e-4, "g": 1e-5},
        {
            "terrain": plane(),
            "contact": steps(2e-3, mu=0.2, impact="moreau", restitution={"normal": 0.5}),
        },
    ),
    "shaking ground": (
        "ball", {}, OPEN | {"z": 0.02, "Vx": 0.5}, 0.2, ["x", "z", "pitch", "Wy"],
        {"Vx": 1e-3, "g": 1e-3},
        {
            "terrain": move_ground(plane(), Shake((0.0, 0.0, 0.01), 30.0)),
            "contact": steps(2e-3, mu=0.2),
        },
    ),
    "wheels on tyres": (
        "whipple", {"rear_tyre": TYRE, "front_tyre": TYRE}, {"forward_speed": 5.0, "lean_rate": 0.3},
        0.15, BICYCLE, {"forward_speed": 1e-4, "mB": 1e-2, "front_tyre_relaxation": 1e-5},
        {"terrain": kerb(1.3, -0.03), "contact": steps(2e-3)},
    ),
    "tyre whose force is not proportional to its load": (
        sled, {}, OPEN | {"z": 0.1, "Vx": 3.0, "Vy": 0.5}, 0.4, ["x", "y"],
        {"mass": 1e-3, "relaxation": 1e-5, "Vy": 1e-4},
        {"terrain": plane(0.1), "contact": steps(2e-3)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_gradients_are_those_of_differences(case):
    vehicle, structure, start, end, outputs, unknowns, options = CASES[case]
    system = machine() if vehicle is machine else draisine.compile(vehicle, **structure)
    times = [0.37 * end, end]  # the first time lies within a step
    found = gradient(system, start, times, outputs, list(unknowns), **options)
    same = {"one_sided": found.one_sided}
    expected = differences(system, start, times, outputs, unknowns, **same, **options)
    scale = np.abs(expected).max(axis=(0, 1))
    assert_allclose(found.derivatives / scale, expected / scale, rtol=0, atol=3e-6)


def test_the_gradient_of_a_sliding_ball_converges_to_its_closed_form():
    """The centre moves by x = v T - mu g T^2 / 2, the spin rises by 5 mu g T / 2 R; errors are at
    least of first order in the step.
    """
    mu = 0.2
    T = 0.1
    R = 0.1
    start = OPEN | {"z": 0.0, "Vx": 2.0}
    outputs = ["x", "pitch", "Wy"]
    errors = []
    for h in (2e-3, 1e-3, 5e-4):
        options = {"terrain": plane(), "contact": steps(h, mu=mu)}
        found = gradient(draisine.compile("ball"), start, [T], outputs, ["Vx", "g"], **options)
        assert found.one_sided == ()
        x, pitch, spin = found.derivatives[0]
        # x is the position of the base's origin, which is the lowest point at the start and rotates
        # with the ball.
        middle = x + R * np.cos(found.values[0, 1]) * pitch
        errors.append(np.abs([middle - [T, -mu * T**2 / 2], spin - [0.0, 2.5 * mu * T / R]]))
    assert (errors[1] < 0.55 * errors[0]).all()
    assert (errors[2] < 0.55 * errors[1]).all()


def block(*, mass: float = 2.0):
    """Return a block on a locked wheel."""
    wheel = Wheel("ground", "block", (0, 0, 0.3), (0, 1, 0), Disc(0.3))
    return Model([Body("block", mass, (0, 0, 0.3))], contacts=[wheel], base="translations")


@pytest.mark.parametrize("speed", [2.0, 2.03, 2.3])
def test_steps_count_as_fixed_because_the_change_of_their_length_is_an_error(speed):
    """A block that slides stops after v^2 / (2 mu g). Its speed determines the length of the steps.
    With these fixed, the derivative v / (mu g) is the time of the stop on their grid; differences of whole
    runs, whose steps vary, contain the change of the discretisation error and are further off.
    """
    system = draisine.compile(block)
    mu = 0.8
    d = 1e-5
    options = {"terrain": plane(), "contact": ContactOptions(solver="time_stepping", mu=mu)}

    def run(v):
        return draisine.simulate(system, draisine.state(system, **OPEN, Vx=v), 0.35, **options)

    h = run(speed).validity.time_stepped[0].step
    assert (
        run(speed + d).validity.time_stepped[0].first_step
        < run(speed).validity.time_stepped[0].first_step
    )
    found = gradient(system, OPEN | {"Vx": speed}, [0.35], ["x"], ["Vx"], **options)
    off = abs(found.derivatives[0, 0, 0] - speed / (mu * G))
    varied = (run(speed + d).final().p[0] - run(speed - d).final().p[0]) / (2 * d)
    assert off < h
    assert abs(varied - speed / (mu * G)) > off


def test_a_resting_ball_does_not_depend_on_the_height_from_which_it_fell():
    """Contacts that can close within a step end on the ground."""
    options = {"terrain": plane(), "contact": steps(2e-3, mu=0.5)}
    found = gradient(draisine.compile("ball"), OPEN | {"z": 0.01}, [0.1], ["z"], ["z"], **options)
    assert_allclose(found.derivatives, 0.0, atol=1e-7)
    (change,) = found.one_sided
    assert change.contact == ("ground", "ground")
    assert (change.before, change.after) == ("open", "sticking")
    assert change.time == pytest.approx(np.sqrt(2 * 0.01 / G), abs=4e-3)


def test_gradients_through_a_change_to_time_steps_and_back():
    """An ideal bicycle descends a kerb: at the edge no contact set is admissible. The guard of the event
    that stops event location decides when the time steps begin.
    """
    bicycle = draisine.compile("whipple")
    unknowns = {"forward_speed": 1e-5, "c": 1e-5}
    options = {"terrain": kerb(1.3, -0.1), "contact": ContactOptions(step=2e-3)}
    start = {"forward_speed": 0.6}
    outputs = ["x", "front_wheel"]
    times = [1.9, 2.5]
    found = gradient(bicycle, start, times, outputs, list(unknowns), **options)
    changes = [one for one in found.events if one.event.kind in ("time-stepping", "event-location")]
    entry, leaving = changes[:2]
    assert (entry.event.kind, leaving.event.kind) == ("time-stepping", "event-location")
    assert entry.event.guard.contact == ("rear", "edge")
    assert_allclose(leaving.time, entry.time)
    same = {"one_sided": found.one_sided}
    expected = differences(bicycle, start, times, outputs, unknowns, **same, **options)
    assert_allclose(found.derivatives, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_compliant_contacts_have_no_gradient():
    options = {"terrain": plane(), "contact": ContactOptions(solver=Compliant(1e-6))}
    with pytest.raises(draisine.errors.ParameterError, match="Compliant contacts have no gradient"):
        gradient(draisine.compile("ball"), {}, [0.1], ["x"], [], **options)
