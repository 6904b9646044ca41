"""Things that people do, each with a defined answer."""

import functools
import pickle
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.errors import (
    ConfigurationError,
    DraisineError,
    ModelError,
    ParameterError,
    SimulationError,
    SingularityError,
)
from draisine.model import Body, Model, Output, Revolute, Wheel, inertia
from draisine.terrain import plane


def gain(readings, z, *, K):
    return {"steer": -K * readings.lean}, ()


def drawn(model):
    def vehicle() -> Model:
        return model

    return vehicle


def run(parts):
    """Draw, compile, start and run a machine."""
    system = draisine.compile(drawn(Model(**parts)))
    return draisine.simulate(system, draisine.state(system), 0.1)


def test_a_partial_law_is_told_by_its_arguments(bicycle, thrown):
    ends = [
        draisine.simulate(bicycle, thrown, 0.5, law=law).final().v
        for law in (
            functools.partial(gain, K=1.0),
            functools.partial(gain, K=50.0),
            lambda readings, z: gain(readings, z, K=50.0),
        )
    ]
    assert not np.allclose(ends[0], ends[1])
    assert np.array_equal(ends[1], ends[2])


def test_a_start_in_the_air_is_refused(bicycle, thrown):
    lifted = draisine.State(thrown.q, thrown.p + [0.0, 0.0, 0.1], thrown.r, thrown.v)
    with pytest.raises(ConfigurationError, match=r"0\.1 m off its closed contacts"):
        draisine.simulate(bicycle, lifted, 0.1)


def test_a_law_says_how_many_states_it_has(bicycle, thrown):
    with pytest.raises(ModelError, match="1 rates for 0 states"):
        draisine.simulate(bicycle, thrown, 0.1, law=lambda readings, z: ({}, (1.0,)))


def test_breakpoints_that_differ_by_round_off_are_one(bicycle, thrown):
    run = draisine.simulate(
        bicycle, thrown, 1.0, numerics=draisine.Numerics(breakpoints=[0.3, 0.1 + 0.2])
    )
    assert run.outcome == "completed"


def test_the_saddle_point_is_regular_where_the_disc_is_drawn():
    """No value of parameters alone may be computed by way of the pose."""
    disc = draisine.compile("rolling_disc")
    by_rows = disc.accelerate(draisine.state(disc, forward_speed=2.0))
    closed = disc.accelerate(draisine.state(disc, forward_speed=2.0), formulation="projected")
    for a, b in zip(by_rows, closed, strict=True):
        assert_allclose(a, b, atol=1e-11)


@pytest.mark.parametrize(("name", "value"), [("x", 1e4), ("rear_wheel", 1e4)])
def test_far_places_and_many_turns_are_states(bicycle, name, value):
    state = draisine.state(bicycle, **{name: value})
    found = state.p[0] if name == "x" else state.r[1]
    assert found == pytest.approx(value, rel=1e-14)


def test_runs_survive_pickling(bicycle, thrown):
    run = draisine.simulate(bicycle, thrown, 0.1)
    again = pickle.loads(pickle.dumps(run))
    assert again.to_xarray().equals(run.to_xarray())


@pytest.mark.parametrize(
    ("parts", "error", "complaint"),
    [
        (
            {
                "bodies": [Body("b"), Body("l", 1.0, (0.3, 0, 0), inertia(0.1, 0.1, 0.1))],
                "joints": [Revolute("j", "b", "l", (0, 1, 0))],
            },
            SingularityError,
            "no inertia",
        ),
        (
            {
                "bodies": [Body("w", 1.0, (0, 0, 0.3), inertia(0.1, 0.1, 0.15))],
                "contacts": [Wheel("w", "w", (0, 0, 0.3), (0, 0, 1), 0.3)],
            },
            SingularityError,
            "lies flat",
        ),
        (
            {"bodies": [Body("b", 1.0)], "base": "fixed"},
            ModelError,
            "cannot move: its base is fixed",
        ),
        (
            {
                "bodies": [Body("b", 1.0)],
                "outputs": [Output("contact_force", lambda readings: 1.0)],
            },
            ModelError,
            "is reserved for results",
        ),
        (
            {
                "bodies": [Body("b", 1.0), Body("l", 1.0)],
                "joints": [Revolute("lean", "b", "l", (0, 1, 0))],
            },
            ModelError,
            "is reserved for results",
        ),
    ],
)
def test_odd_drawings_are_named(parts, error, complaint):
    with pytest.raises(error, match=complaint):
        run(parts)


@pytest.mark.parametrize(
    ("law", "told"),
    [
        (3.0, "law: 3.0 is not callable"),
        (lambda readings, z: ({"steer": "x"}, ()), "law: 'steer' is 'x', which is not a finite"),
        (lambda readings, z: ({"steer": 10**400}, ()), "which is not a finite number"),
        (lambda readings, z: ({"steer": float("nan")}, ()), "'steer' is nan"),
        (lambda readings, z: ({"steer": 1.0}, None), r"it returns .+ a law is called as law\(read"),
        (lambda readings, z: ([], ()), r"it returns .+returns \(inputs, rates of z\)"),
        (
            lambda readings, z: {"steer": readings.lean},
            r"it returns .+returns \(inputs, rates of z\)",
        ),
        (
            lambda readings: ({}, ()),
            r"law '<lambda>': too many .+; a law is called as law\(readings, z",
        ),
        (lambda readings, z: ({"steer": readings.laen}, ()), "no 'laen'. Did you mean 'lean'"),
        (lambda r, z: ({"steer": r.forward_speed}, ()), r"the model's outputs by \.output\(name\)"),
        (lambda readings, z: ({"steer": gian}, ()), "law: name 'gian' is not defined"),  # noqa: F821
        ("lqr", r"pass the law itself: draisine.analysis.lqr.balance\(system, forward_speed=3.0\)"),
        ("turn_p", r"pass the law itself: draisine.control.turn_p.\w+\(...\)"),
    ],
)
def test_what_is_no_law_is_told(bicycle, thrown, law, told):
    with pytest.raises(ModelError, match=told):
        draisine.simulate(bicycle, thrown, 0.1, law=law)


@pytest.mark.parametrize("states", ["x", -1, 1.5, 10**9])
def test_the_number_of_a_laws_states_is_checked(bicycle, thrown, states):
    def law(readings, z):
        return {}, ()

    law.states = states
    with pytest.raises(ModelError, match="its attribute `states` is"):
        draisine.simulate(bicycle, thrown, 0.1, law=law)


def test_a_law_that_fails_while_it_is_traced_says_how(bicycle, thrown):
    def law(readings, z):
        return {"steer": 1 / 0}, ()

    with (
        pytest.warns(UserWarning, match="cannot be compiled .ZeroDivisionError"),
        pytest.raises(SimulationError, match="the control law failed, ZeroDivisionError"),
    ):
        draisine.simulate(bicycle, thrown, 0.1, law=law)


def test_a_law_that_cannot_be_traced_is_refused_in_words_if_nothing_runs_python(bicycle, thrown):
    def law(readings, z):
        return {"steer": -float(readings.lean)}, ()

    for refuse in (
        lambda: draisine.simulate_many(bicycle, [thrown], 0.1, law=law),
        lambda: draisine.linearise(bicycle, draisine.state(bicycle, forward_speed=5.0), law=law),
        lambda: draisine.simulate(bicycle, thrown, 0.1, law=law, terrain=plane()),
    ):
        with pytest.raises(DraisineError, match="control laws must be traceable") as told:
            refuse()
        copy = pickle.loads(pickle.dumps(told.value))  # sweeps send errors between processes
        assert str(copy) == str(told.value)


@pytest.mark.parametrize("value", [10**400, None, [1.0, 2.0], "x", {}])
def test_values_that_are_no_numbers_are_told(bicycle, value):
    with pytest.raises(ParameterError, match=r"parameter mB: .+ is not a number"):
        bicycle.with_parameters(mB=value)
    with pytest.raises(ParameterError, match="initial state: lean = "):
        draisine.state(bicycle, lean=value)


def unnamed(*, mass):
    return draisine.Model([draisine.Body("body", mass, (0.0, 0.0, 0.0), np.eye(3))])


def unreturned(*, mass=1.0):
    unnamed(mass=mass)


@pytest.mark.parametrize(
    ("wrong", "answer"),
    [
        (lambda: draisine.compile(unnamed), "unnamed: the argument mass has no value"),
        (lambda: draisine.compile(unreturned), "unreturned returns a NoneType"),
        (lambda: draisine.compile(unnamed(mass=1.0)), "returns a Model; this is a Model"),
    ],
)
def test_what_is_given_in_place_of_something_else_is_told(wrong, answer):
    with pytest.raises(DraisineError, match=re.escape(answer)):
        wrong()


def test_a_float_without_annotation_is_a_parameter():
    def lump(*, mass=2.0):
        return unnamed(mass=mass)

    assert draisine.compile(lump).parameters == {"mass": 2.0}


def test_a_mode_that_only_the_state_was_told_is_asked_for(bicycle):
    start = draisine.state(
        bicycle, steer=0.3, forward_speed=3.0, yaw_rate=0.0, mode={"front": "sliding"}
    )
    with pytest.raises(
        ConfigurationError, match=r"pass the same `mode` to state\(\) and to Contact"
    ):
        draisine.simulate(bicycle, start, 0.1)
