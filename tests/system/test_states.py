"""Starts: the zeros of speeds that are left open, and many states at once, each to the bit the one
that it would be alone.
"""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.errors import ConfigurationError
from draisine.model import Disc, Model, Torus
from draisine.registry import find, names
from draisine.system.state import states

CASES = {
    "whipple": (
        {"lean": (-0.3, 0.5), "steer": (-0.2, 0.2), "forward_speed": (2.0, 8.0)},
        {"c": (0.04, 0.12), "lam": (0.2, 0.45), "rF": (0.3, 0.4)},
    ),
    "steering_linkage": ({"left": (-0.4, 0.4), "left_rate": (1.0, 2.0)}, {"arm": (0.1, 0.2)}),
    "falling_cat": ({"sway": (-0.5, 0.5), "bend_rate": (-1.0, 1.0)}, {}),
}


@pytest.mark.parametrize("name", CASES)
def test_each_is_the_one_alone(name):
    system, (asked, changed) = draisine.compile(name), CASES[name]
    draw, count = np.random.default_rng(2), 9
    values = {n: draw.uniform(*ends, count) for n, ends in asked.items()}
    own = {n: draw.uniform(*ends, count) for n, ends in changed.items()}
    parameters = np.tile(system.values, (count, 1))
    for n, column in own.items():
        parameters[:, list(system.parameters).index(n)] = column
    found, wrong = states(system, values, parameters=parameters)
    assert wrong == [""] * count
    for k in range(count):
        alone = draisine.state(
            system.with_parameters(**{n: float(x[k]) for n, x in own.items()}),
            **{n: float(x[k]) for n, x in values.items()},
        )
        for part in "qprv":
            assert np.array_equal(found[part][:, k], getattr(alone, part)), (k, part)


def test_those_that_cannot_be_are_told_and_leave_the_others_as_they_are():
    system = draisine.compile("whipple")
    asked = {
        "lean": [0.1, 0.2, np.pi / 2, 0.1],
        "z": [0.0, 0.0, 0.0, 0.5],
    }
    asked["z"][:2] = (float(draisine.state(system, lean=x).p[2]) for x in (0.1, 0.2))
    found, wrong = states(system, asked)
    assert [bool(text) for text in wrong] == [False, False, True, True]
    for k, text in enumerate(wrong):
        one = {n: x[k] for n, x in asked.items()}
        if text:
            with pytest.raises(ConfigurationError) as told:
                draisine.state(system, **one)
            assert str(told.value) == text
        else:
            assert np.array_equal(found["v"][:, k], draisine.state(system, **one).v)


def test_tyres_start_without_slip_where_that_can_be():
    """Of two starts the second is asked to slip: its front wheel moves to the side."""
    system = draisine.compile("motorcycle")
    found, wrong = states(system, {"forward_speed": [10.0, 10.0], "Vy": [0.0, 0.3]})
    assert wrong == ["", ""]
    for k, aside in enumerate((0.0, 0.3)):
        alone = draisine.state(system, forward_speed=10.0, Vy=aside)
        assert np.array_equal(found["v"][:, k], alone.v)
    assert found["v"][1].tolist() == pytest.approx([0.0, 0.3])


@pytest.mark.parametrize("lean", [0.1, -0.6])
def test_a_torus_wheel_starts_with_its_spin(lean):
    """Without other turning the centre of a torus moves with spin (radius - crown + crown cos lean)."""
    radius, crown, speed = 0.5, 0.05, 3.0
    disc = draisine.compile("rolling_disc", radius=radius, crown=crown)
    start = draisine.state(disc, forward_speed=speed, lean=lean)
    spin = speed / (radius - crown + crown * np.cos(lean))
    assert_allclose(start.v[3:], [0.0, spin, 0.0], rtol=0, atol=1e-12)


def test_a_zero_that_multiplies_the_energy_gives_way():
    """A unicycle whose hub and wheel are asked for pitches its frame instead of yawing wildly."""
    unicycle = draisine.compile("unicycle", rW=0.25, crown=0.05)
    start = draisine.state(unicycle, lean=0.1, forward_speed=1.0, wheel_rate=1.7)
    rolling = 0.25 - 0.05 + 0.05 * np.cos(0.1)
    assert_allclose(start.v[3:6], [0.0, 1.0 / rolling - 1.7, 0.0], rtol=0, atol=1e-12)


def test_a_steered_bicycle_starts_with_the_speed_of_its_turn():
    """The steer rate stays zero though a swing of the bar takes less energy than the speed."""
    bicycle = draisine.compile("whipple")
    start = draisine.state(bicycle, steer=0.1, yaw_rate=0.5)
    speed = start.v[0]
    assert start.v[6] == 0.0
    assert_allclose(speed, 0.5 * 1.02 / (0.1 * np.cos(np.pi / 10)), rtol=0.02)


def knife_edged(name):
    """Return whether a vehicle has wheels without crowns."""
    return any(type(wheel.surface) is Disc for wheel in find("vehicle", name)().wheels)


def crowned(name):
    """Return a vehicle on torus tyres in place of its knife edges; its one parameter is their crown."""

    def vehicle(*, crown: float = 0.01) -> Model:
        model = find("vehicle", name)()
        contacts = [
            replace(c, surface=Torus(float(c.surface.reach), crown))
            if type(c.surface) is Disc
            else c
            for c in model.contacts
        ]
        return replace(model, contacts=contacts)

    return vehicle


ASKED = (
    {},
    {"roll_rate": 3.0, "Wz": 0.5},
    {"lean": 0.1, "forward_speed": 2.0},
    {"lean": 0.1, "forward_speed": 2.0, "lean_rate": 0.3},
    {"lean": 0.3, "pitch_rate": 1.0},
    {"lean": 0.1, "steer": 0.1, "yaw_rate": 0.2},
    {"forward_speed": 2.0, "yaw_rate": 0.4},
    {"steer": 0.2, "forward_speed": 2.0},
    {"lean": 0.1, "forward_speed": 1.0, "wheel_rate": 1.7},
)


@pytest.mark.parametrize("name", [name for name in names("vehicle") if knife_edged(name)])
def test_the_start_of_a_torus_wheel_tends_to_that_of_a_knife_edge(name):
    edge, torus = draisine.compile(name), draisine.compile(crowned(name))
    radius = min(float(w.surface.reach) for w in edge.model.wheels if type(w.surface) is Disc)
    for asked in ASKED:
        try:
            limit = draisine.state(edge, **asked)
        except draisine.errors.DraisineError:
            continue  # it has no such speed, or cannot move so
        for part in (0.1, 1e-2, 1e-3, 1e-5):
            start = draisine.state(torus.with_parameters(crown=part * radius), **asked)
            size = np.linalg.norm(limit.v)
            assert np.linalg.norm(start.v - limit.v) <= 5.0 * part * size, (asked, part)
