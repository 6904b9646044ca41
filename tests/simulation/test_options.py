"""Options check themselves, all of them, before anything runs; what a run cannot heed is refused."""

import math
from dataclasses import replace

import pytest

import draisine
from draisine import ContactOptions, GripSchedule, Numerics
from draisine.algebra.scalar import cos, sin
from draisine.errors import ConfigurationError, ModelError, ParameterError, UnknownNameError
from draisine.simulation.compare.compliant import Compliant, Hertz
from draisine.simulation.compare.kinematic import SpeedLaw
from draisine.terrain import plane

NAN = math.nan


@pytest.mark.parametrize(
    "bad",
    [
        {"rtol": -1.0},
        {"rtol": 0.0, "atol": 0.0},
        {"rtol": NAN},
        {"atol": math.inf},
        {"breakpoints": [NAN]},
        {"start": NAN},
        {"dt": -1.0},
        {"dt": 0.0},
        {"dt": NAN},
        {"dt": math.inf},
        {"dt": "1"},
        {"drift": True},
        {"drift": "sometimes"},
        {"drift": -0.01},
        {"drift": b"x"},
        {"threads": math.inf},
        {"threads": "two"},
        {"breakpoints": "123"},
        {"breakpoints": 3.0},
        {"integrator": 3},
        {"formulation": print},
    ],
)
def test_impossible_numerics_are_refused(bad):
    (name, *_) = bad
    with pytest.raises(ParameterError, match=name):
        Numerics(**bad)


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        ({"mu": -0.1}, "mu is -0.1"),
        ({"mu": NAN}, "mu is nan"),
        ({"mu": {"rear": -1.0}}, "mu of 'rear'"),
        ({"mu": "ice"}, "not a number"),
        ({"resolution": "reducd"}, "Did you mean 'reduced'"),
        ({"solver": "event"}, "Did you mean 'events'"),
        ({"restitution": {"normal": 0.5}}, "'plastic' knows no 'normal'"),
        ({"impact": "newton", "restitution": {"norml": 0.5}}, "Did you mean 'normal'"),
        ({"rest_speed": -1.0}, "rest_speed"),
        ({"rest_speed": NAN}, "rest_speed"),
        ({"fall": NAN}, "fall"),
        ({"margin": 0.0}, "margin"),
        ({"margin": math.inf}, "margin"),
        ({"events": -1}, "events"),
        ({"stops": {"steer": (1.0, -1.0)}}, "stops of 'steer'"),
        ({"stops": {"steer": (NAN, 1.0)}}, "stops of 'steer'"),
        ({"mode": "open"}, "by contact"),
        ({"solver": 3}, "solver 3"),
        ({"impact": 0.5}, "impact = 0.5 is none"),
        ({"restitution": 0.5}, 'as {"normal": 0.5}'),
        ({"impact": "newton", "restitution": {"normal": 1.5}}, r"take it from \[0, 1\]"),
        ({"impact": "moreau", "restitution": {"normal": NAN}}, r"normal = nan; take it from"),
        ({"impact": "newton", "restitution": {"tangential": -2.0}}, r"from \[-1, 1\]"),
        ({"stops": [("steer", 1.0)]}, "stops = .*give a table"),
        ({"stops": {"steer": "ab"}}, "stops of 'steer': 'ab'"),
    ],
)
def test_impossible_contacts_are_refused(bad, complaint):
    with pytest.raises(ParameterError, match=complaint):
        ContactOptions(**bad)


def test_unknown_names_are_named():
    with pytest.raises(UnknownNameError, match="Did you mean 'rk4'"):
        Numerics(integrator="rk5")
    with pytest.raises(UnknownNameError, match="Did you mean 'multiplier'"):
        Numerics(formulation="multiplyer")
    with pytest.raises(UnknownNameError, match="Did you mean 'moreau'"):
        ContactOptions(impact="moraeu")


@pytest.mark.parametrize("bad", [(0.0, "held"), (NAN, "held"), (1.0, "loose")])
def test_impossible_schedules_are_refused(bad):
    with pytest.raises(ParameterError):
        GripSchedule([{}], *bad)
    with pytest.raises(ParameterError, match="at least one"):
        GripSchedule([], 1.0, "held")


@pytest.mark.parametrize("terrain", [None, plane()])
@pytest.mark.parametrize("until", [-1.0, 0.0, NAN, math.inf, "1", True])
def test_impossible_ends_are_refused(bicycle, thrown, terrain, until):
    with pytest.raises(ParameterError, match="until"):
        draisine.simulate(bicycle, thrown, until, terrain=terrain)


@pytest.mark.parametrize("terrain", [None, plane()])
def test_more_samples_than_memory_are_refused(bicycle, thrown, terrain):
    with pytest.raises(ParameterError, match="samples"):
        draisine.simulate(bicycle, thrown, 1.0, terrain=terrain, numerics=Numerics(dt=1e-12))


@pytest.mark.parametrize(
    "unheeded",
    [
        {"terrain": plane(), "numerics": Numerics(integrator="rk4")},
        {"terrain": plane(), "numerics": Numerics(formulation="planar")},
        {"terrain": plane(), "contact": ContactOptions(mode={"front": "open"})},
        {"contact": ContactOptions(stops={"steer": (-1.0, 1.0)})},
        {"contact": ContactOptions(solver="time_stepping")},
        {"numerics": Numerics(formulation="planar", drift="none")},
        {"numerics": Numerics(formulation="planar"), "law": lambda readings, z: ({}, ())},
        {"law": SpeedLaw(lambda seen: {}), "numerics": Numerics(formulation="planar")},
    ],
)
def test_what_a_run_cannot_heed_is_refused(bicycle, thrown, unheeded):
    with pytest.raises(ParameterError, match="leave it out"):
        draisine.simulate(bicycle, thrown, 0.1, **unheeded)


@pytest.mark.parametrize(("rate", "growth"), [(0.5, 0.0), (1.0, 0.3)])
def test_motions_whose_rates_are_not_their_derivatives_are_refused(rate, growth):
    def lifted(t):
        return (t, rate, growth)

    guided = draisine.compile("whipple", steering=lifted)
    with pytest.raises(ModelError, match=r"joint 'steer': .* derivatives are 1 and 0"):
        draisine.simulate(guided, draisine.state(guided, forward_speed=5.0, t=0.0), 0.1)


def test_rates_are_checked_exactly():
    """A rate that is off by a millionth is seen."""

    def turned(t):
        return 0.1 * sin(t), 0.1 * cos(t) * (1.0 + 1e-6), -0.1 * sin(t)

    guided = draisine.compile("whipple", steering=turned)
    with pytest.raises(ModelError, match=r"joint 'steer': .*the derivatives are"):
        draisine.simulate(guided, draisine.state(guided, forward_speed=5.0, t=0.0), 0.1)


@pytest.mark.parametrize(
    "motion",
    [
        lambda t: (math.sin(t), math.cos(t), -math.sin(t)),
        lambda t: (t, 1.0),
        lambda t: t,
        lambda: (0.0, 0.0, 0.0),
    ],
)
def test_motions_that_cannot_be_traced_are_told(motion):
    with pytest.raises(ModelError, match=r"'steer': its motion cannot be traced.* of draisine.alg"):
        draisine.compile("whipple", steering=motion)


def test_ground_that_gives_way_needs_friction(bicycle, thrown):
    soft = ContactOptions(solver=Compliant(Hertz(1e6)))
    with pytest.raises(ParameterError, match="finite mu"):
        draisine.simulate(bicycle, thrown, 0.1, terrain=plane(), contact=soft)


@pytest.mark.parametrize("terrain", [None, plane()])
def test_a_state_that_is_none_is_told_on_the_plane_and_on_terrain(bicycle, thrown, terrain):
    """A terrain used to make a unit quaternion of any, and to fail on other sizes without a type."""
    long = draisine.State(2.0 * thrown.q, thrown.p, thrown.r, thrown.v)
    with pytest.raises(ConfigurationError, match="is no unit quaternion"):
        draisine.simulate(bicycle, long, 0.1, terrain=terrain)
    for part in ("p", "r", "v"):
        torn = replace(thrown, **{part: getattr(thrown, part)[:-1]})
        with pytest.raises(
            ConfigurationError, match=rf"does not fit whipple: {part} has the shape"
        ):
            draisine.simulate(bicycle, torn, 0.1, terrain=terrain)
        none = replace(thrown, **{part: math.nan * getattr(thrown, part)})
        with pytest.raises(ConfigurationError, match=r"nan|not a number"):
            draisine.simulate(bicycle, none, 0.1, terrain=terrain)


@pytest.mark.parametrize("terrain", [None, plane()])
def test_friction_of_no_wheel_is_told(bicycle, thrown, terrain):
    contact = ContactOptions(mu={"reer": 0.1}, impact="moreau")
    with pytest.raises(ParameterError, match=r"no wheel 'reer'\. Did you mean 'rear'"):
        draisine.simulate(bicycle, thrown, 0.1, terrain=terrain, contact=contact)


def test_hardly_any_friction_is_none(bicycle, thrown):
    """Forces of 1e-198 N were rounded, and the run went round in circles where it began."""
    ends = [
        draisine.simulate(
            bicycle,
            thrown,
            0.02,
            terrain=plane(),
            contact=ContactOptions(mu=mu, impact="moreau"),
        ).final()
        for mu in (0.0, 1e-200)
    ]
    assert ends[0].v.tolist() == ends[1].v.tolist()


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"terrain": "kerb"}, "terrain: 'kerb' is no Terrain; draisine.terrain.plane"),
        ({"contact": {"mu": 0.8}}, "contact: .* is no ContactOptions"),
        ({"numerics": "rk4"}, "numerics: 'rk4' is no Numerics"),
        ({"inputs": ["steer"]}, "is no table of numbers by name"),
        ({"inputs": {"steer": "1"}}, "input steer: '1' is not a number"),
    ],
)
def test_arguments_of_another_kind_are_told_the_way_out(bicycle, thrown, wrong, told):
    with pytest.raises(ParameterError, match=told):
        draisine.simulate(bicycle, thrown, 0.1, **wrong)
