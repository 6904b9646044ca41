"""Options check themselves, all of them, before anything runs; what a run cannot heed is refused."""

import math
from dataclasses import fields, replace

import pytest

import draisine
from draisine import ContactOptions, GripSchedule, Numerics
from draisine.algebra.scalar import cos, sin
from draisine.analysis.equilibrium import steady
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
        ({"restitution": {"normal": 0.5}}, "'plastic' has no 'normal'"),
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
        ({"impact": 0.5}, "Unknown impact 0.5"),
        ({"restitution": 0.5}, 'Example: {"normal": 0.5}'),
        ({"impact": "newton", "restitution": {"normal": 1.5}}, r"must be in \[0, 1\]"),
        ({"impact": "moreau", "restitution": {"normal": NAN}}, r"normal = nan must be in"),
        ({"impact": "newton", "restitution": {"tangential": -2.0}}, r"in \[-1, 1\]"),
        ({"stops": [("steer", 1.0)]}, "stops = .*is not a table"),
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


OTHER_CONTACT = {
    "mode": {"front": "open"},
    "mu": 0.5,
    "impact": "poisson",
    "restitution": {"normal": 0.5},
    "resolution": "reduced",
    "solver": "time_stepping",
    "step": 1e-3,
    "stops": {"steer": (-1.0, 1.0)},
    "rest_speed": 0.1,
    "fall": 0.5,
    "events": 5,
    "margin": 0.1,
}
OTHER_NUMERICS = {
    "integrator": "ab4",
    "formulation": "planar",
    "dt": 0.02,
    "rtol": 1e-6,
    "atol": 1e-6,
    "drift": "none",
    "breakpoints": (0.05,),
    "start": 0.01,
    "threads": 1,
    "precision": "single",
}
"""A value of every option that is not its default."""

LED = SpeedLaw(lambda seen: {})
SOFT = Compliant(Hertz(1e6))
KINDS = {
    "plane": ({}, {}, {}),
    "equal steps": ({}, {}, {"integrator": "rk4"}),
    "formulation": ({}, {}, {"formulation": "planar"}),
    "led": ({"law": LED}, {}, {}),
    "terrain": ({"terrain": plane()}, {}, {}),
    "time stepping": ({"terrain": plane()}, {"solver": "time_stepping", "mu": 0.8}, {}),
    "compliant": ({"terrain": plane()}, {"solver": SOFT, "mu": 0.8}, {}),
}
"""What makes a kind of run: arguments of `simulate`, options of contacts and of numerics."""

USED = {
    "plane": "mode mu fall integrator formulation dt rtol atol drift breakpoints start",
    "equal steps": "mode mu fall integrator formulation dt drift breakpoints start",
    "formulation": "mu fall integrator formulation dt rtol atol",
    "led": "mode fall dt start",
    "terrain": "mu impact restitution resolution solver step stops rest_speed fall events margin "
    "dt rtol atol breakpoints start",
    "time stepping": "mu restitution solver step stops rest_speed fall margin dt start",
    "compliant": "mu solver fall dt rtol atol start",
}
"""The options that change something, by kind of run."""


def test_every_option_has_another_value():
    names = [field.name for kind in (ContactOptions, Numerics) for field in fields(kind)]
    assert [*OTHER_CONTACT, *OTHER_NUMERICS] == names


@pytest.mark.parametrize("name", [*OTHER_CONTACT, *OTHER_NUMERICS])
@pytest.mark.parametrize("kind", KINDS)
def test_an_option_is_used_or_refused(bicycle, thrown, monkeypatch, kind, name):
    """Whether a run begins at all: what carries it out is not called."""

    class BegunError(Exception):
        pass

    def begin(task):
        raise BegunError

    drivers = ("bilateral", "by_formulation", "kinematic", "on_terrain", "compliant")
    for driver in drivers:
        monkeypatch.setattr(f"draisine.simulation.engines.run_{driver}", begin)
    arguments, contact, numerics = KINDS[kind]
    contact = {n: x for n, x in OTHER_CONTACT.items() if n == name} | contact
    numerics = {n: x for n, x in OTHER_NUMERICS.items() if n == name} | numerics
    if name == "restitution":
        contact |= {"mu": 0.5}  # the impact model has it then
    if name == "resolution":
        contact.pop("mu", None)  # the impact model has two then
    options = {"contact": ContactOptions(**contact), "numerics": Numerics(**numerics)}
    taken = name in USED[kind].split()
    with pytest.raises(BegunError if taken else ParameterError) as caught:
        draisine.simulate(bicycle, thrown, 0.1, **arguments, **options)
    if not taken:
        assert "leave it out" in str(caught.value)


@pytest.mark.parametrize("name", [*OTHER_CONTACT, *OTHER_NUMERICS])
@pytest.mark.parametrize("front", ["many", "stepper", "stepper on terrain"])
def test_other_front_ends_use_an_option_or_refuse_it(bicycle, thrown, front, name):
    used = {
        "many": "mode fall integrator dt breakpoints start threads precision",
        "stepper": "mode fall integrator dt drift start",
        "stepper on terrain": "mu impact restitution resolution solver step stops rest_speed "
        "fall events margin dt rtol atol breakpoints start",
    }
    contact = {name: OTHER_CONTACT[name]} if name in OTHER_CONTACT else {}
    if name == "restitution":
        contact |= {"impact": "newton"}
    usual = {} if front == "stepper on terrain" else {"integrator": "rk4"}
    numerics = usual | ({name: OTHER_NUMERICS[name]} if name in OTHER_NUMERICS else {})
    if name == "integrator" and front == "stepper":
        numerics = {"integrator": "dop853"}
    options = {"contact": ContactOptions(**contact), "numerics": Numerics(**numerics)}
    terrain = plane() if front == "stepper on terrain" else None

    def begin():
        if front == "many":
            state = draisine.state(bicycle, forward_speed=4.6, mode=contact.get("mode"))
            return draisine.simulate_many(bicycle, [state], 0.1, **options)
        state = draisine.state(bicycle, forward_speed=4.6, mode=contact.get("mode"))
        return draisine.Stepper(bicycle, state, terrain=terrain, **options)

    if name in used[front].split():
        begin()
        return
    with pytest.raises(ParameterError, match="leave it out"):
        begin()


def test_friction_of_a_feature_needs_a_terrain(bicycle, thrown):
    icy = ContactOptions(mu={"rear": 0.8, "rear/ice": 0.1})
    with pytest.raises(
        ParameterError, match=r"no feature 'ice'; name the wheel alone, mu = {'rear'"
    ):
        draisine.simulate(bicycle, thrown, 0.1, contact=icy)
    sleigh = draisine.compile("chaplygin_sleigh")
    with pytest.raises(ParameterError, match="has no wheel that the ground carries"):
        draisine.simulate(sleigh, draisine.state(sleigh), 0.1, contact=ContactOptions(mu=0.5))


def test_a_resolution_goes_with_models_that_have_two():
    with pytest.raises(ParameterError, match="applies to the impact models 'newton' and 'plastic'"):
        ContactOptions(mu=0.5, resolution="reduced")


def test_inputs_and_schedules_that_a_run_does_not_use_are_refused(bicycle, thrown):
    with pytest.raises(ParameterError, match="does not use inputs"):
        draisine.simulate(bicycle, thrown, 0.1, law=LED, inputs={"steer": 1.0})
    planar = Numerics(formulation="planar")
    with pytest.raises(ParameterError, match="does not use a law"):
        draisine.simulate(bicycle, thrown, 0.1, numerics=planar, law=lambda r, z: ({}, ()))
    with pytest.raises(ParameterError, match="leave the terrain out"):
        draisine.simulate(bicycle, thrown, 0.1, law=LED, terrain=plane())
    grips = ContactOptions(mode=GripSchedule([{}], 1.0, "held"))
    with pytest.raises(ParameterError, match="does not use a GripSchedule"):
        draisine.Stepper(bicycle, thrown, contact=grips)
    with pytest.raises(ParameterError, match="does not use a GripSchedule"):
        draisine.simulate_many(bicycle, [thrown], 0.1, contact=grips)


def test_a_value_that_is_asked_twice_is_refused(bicycle):
    """Of speed and forward_speed, which mean the same, one was ignored."""
    with pytest.raises(ParameterError, match="means forward_speed, which is requested as well"):
        draisine.state(bicycle, forward_speed=3.0, speed=5.0)


def test_a_steady_motion_is_not_asked_for_what_it_cannot_have(bicycle):
    """A rate of lean was set to zero, and a given input that is free was found anew."""
    with pytest.raises(ParameterError, match="is constant in a steady motion"):
        steady(bicycle, lean_rate=0.5, forward_speed=5.0)
    with pytest.raises(ParameterError, match="input steer is free and has a value"):
        steady(bicycle, free=["steer"], inputs={"steer": 1.0}, lean=0.1, forward_speed=5.0)
    upright = steady(bicycle, lean_rate=0.0, forward_speed=5.0)
    assert upright.values["lean_rate"] == pytest.approx(0.0, abs=1e-15)


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
    with pytest.raises(ModelError, match=r"joint 'steer': .*its derivatives are"):
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
    with pytest.raises(ConfigurationError, match="is not a unit quaternion"):
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
        ({"terrain": "kerb"}, "terrain: 'kerb' is not of type Terrain; draisine.terrain.plane"),
        ({"contact": {"mu": 0.8}}, "contact: .* is not of type ContactOptions"),
        ({"numerics": "rk4"}, "numerics: 'rk4' is not of type Numerics"),
        ({"inputs": ["steer"]}, "is not a table of numbers by name"),
        ({"inputs": {"steer": "1"}}, "input steer: '1' is not a number"),
    ],
)
def test_arguments_of_another_kind_are_told_the_way_out(bicycle, thrown, wrong, told):
    with pytest.raises(ParameterError, match=told):
        draisine.simulate(bicycle, thrown, 0.1, **wrong)
