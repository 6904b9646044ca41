"""Many states at once: each is the one that it would be alone, to the bit."""

import numpy as np
import pytest

import draisine
from draisine.errors import ConfigurationError
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
