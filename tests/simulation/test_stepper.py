"""Stepping from outside: any slicing of time gives the bits of one run."""

import math
import tracemalloc
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine import ContactOptions, Numerics, Stepper
from draisine.errors import ParameterError, SimulationError, ValidityWarning
from draisine.simulation.contact.run import TerrainRun
from draisine.simulation.stepper_runs import MAX_SHORT_STEPS
from draisine.terrain import kerb, plane

H = 2.0**-10
EQUAL = Numerics(integrator="rk4", dt=H)


def same(a, b):
    return all(np.array_equal(getattr(a, n), getattr(b, n)) for n in ("q", "p", "r", "v"))


@dataclass(frozen=True)
class Helped:
    """A steer torque against the lean rate, scaled by a command."""

    states = 2
    commands = ("gain",)

    @property
    def start(self):
        return np.array([0.0, 1.0])

    def __call__(self, readings, z):
        return {"steer": -5.0 * z[1] * readings.lean_rate + 0.1 * z[0]}, (readings.lean, 0.0)


@pytest.mark.parametrize("ground", [None, plane()])
def test_forces_are_told_by_name(bicycle, ground):
    """Wheels of a bicycle that stands carry its weight."""
    ride = Stepper(bicycle, draisine.state(bicycle, forward_speed=5.0), terrain=ground)
    ride.step(0.01)
    seen = ride.values()
    weight = 9.81 * sum(float(body.mass) for body in bicycle.model.bodies)
    carried = seen["contact_force[rear, normal]"] + seen["contact_force[front, normal]"]
    assert carried == pytest.approx(weight, rel=1e-9)
    assert seen["contact_force[rear, across]"] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("slices", [[1.0], [0.25] * 4, [H] * 1024, [0.3, 1e-5, 0.29999, 0.4]])
def test_any_slicing_gives_the_bits_of_simulate(bicycle, thrown, slices):
    held = {"steer": 0.2}
    whole = draisine.simulate(bicycle, thrown, 1.0, inputs=held, numerics=EQUAL).final()
    ride = Stepper(bicycle, thrown, inputs=held)
    for dt in slices:
        ride.step(dt)
    assert ride.time == 1.0
    assert same(ride.state, whole)


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_any_step_may_be_sliced(bicycle, thrown, method):
    """With a step that is no power of two the bits are still the same from slicing to slicing."""
    ends = []
    for dt in (0.01, 0.05, 0.6):
        ride = Stepper(bicycle, thrown, law=Helped(), numerics=Numerics(integrator=method, dt=0.01))
        while ride.count < 60:
            ride.step(dt)
        ends.append(ride.state)
    assert same(ends[0], ends[1])
    assert same(ends[0], ends[2])


def test_inputs_are_held_from_call_to_call(bicycle, thrown):
    ride, state = Stepper(bicycle, thrown), thrown
    for k, torque in enumerate((0.5, -0.5, 0.0)):
        ride.step(0.125, {"steer": torque})
        ride.step(0.125)
        numerics = Numerics(integrator="rk4", dt=H, start=0.25 * k)
        held = {"steer": torque}
        state = draisine.simulate(
            bicycle, state, 0.25 * (k + 1), inputs=held, numerics=numerics
        ).final()
    assert_allclose(ride.state.v, state.v, atol=1e-12)  # entering a state rounds
    assert ride.observe()["inputs"].tolist() == [0.0, 0.0, 0.0]


def test_commands_of_a_law_are_written(bicycle, thrown):
    """Without its gain the law is a spring on the integral of lean, which starts at zero."""
    idle = Stepper(bicycle, thrown, law=Helped(), inputs={"gain": 0.0})
    told = Stepper(bicycle, thrown, law=Helped())
    told.hold({"gain": 0.0})
    idle.step(0.5)
    told.step(0.5)
    assert same(idle.state, told.state)
    assert idle.law_state[1] == 0.0
    told.step(0.5, {"gain": 1.0})
    idle.step(0.5)
    assert not same(idle.state, told.state)


def test_inputs_that_were_held_are_forgotten(bicycle, thrown):
    """A run knows nothing of what a stepper held before it."""
    first = draisine.simulate(bicycle, thrown, 0.5, numerics=EQUAL).final()
    ride = Stepper(bicycle, thrown, numerics=EQUAL)
    ride.step(0.1, {"steer": 0.7})
    del ride
    assert same(draisine.simulate(bicycle, thrown, 0.5, numerics=EQUAL).final(), first)


def test_other_pivots_are_taken_on_the_way():
    """A disc that tumbles needs other pivots; energy is kept all the same."""
    disc = draisine.compile("rolling_disc")
    start = draisine.state(disc, lean=0.3, forward_speed=3.0, yaw_rate=2.0)
    ride = Stepper(disc, start, numerics=Numerics(integrator="rk4", dt=2.0**-11))
    energies = []
    for _ in range(64):
        ride.step(1 / 16)
        seen = ride.observe()
        energies.append(float(seen["kinetic"][0] + seen["potential"][0]))
    assert np.ptp(energies) < 1e-6 * energies[0]
    whole = draisine.simulate(disc, start, 4.0, numerics=Numerics(integrator="rk4", dt=2.0**-11))
    assert_allclose(ride.state.v, whole.final().v, atol=1e-9)


def test_a_run_that_cannot_go_on_says_so_and_keeps_its_last_state():
    disc = draisine.compile("rolling_disc")
    endless = draisine.ContactOptions(fall=math.inf)
    ride = Stepper(disc, draisine.state(disc, lean=1.0), contact=endless)
    with pytest.raises(SimulationError, match="stopped"):
        ride.step(5.0)
    assert np.isfinite(ride.state.v).all()
    with pytest.raises(SimulationError, match="stopped"):
        ride.step(1 / 64)
    ride.reset()
    ride.step(1 / 64)
    assert ride.time == 1 / 64


def test_parameters_change_on_the_way(bicycle, thrown):
    ride = Stepper(bicycle, thrown, inputs={"steer": 0.1})
    ride.step(0.5)
    keep = ("x", "y", "yaw", "lean", "steer", "forward_speed", "lean_rate", "steer_rate")
    other = ride.with_parameters(keep, rR=0.35, lam=0.4)
    assert other.time == ride.time and other.inputs["steer"] == 0.1
    before, after = ride.values(), other.values()
    for name in keep:
        assert after[name] == pytest.approx(before[name], abs=1e-9)
    other.step(0.1)
    again = ride.with_parameters(mB=90.0)
    assert again.values()["steer"] == pytest.approx(before["steer"], abs=1e-12)


def test_a_method_that_remembers_is_refused(bicycle, thrown):
    with pytest.raises(ParameterError, match="rk4"):
        Stepper(bicycle, thrown, numerics=Numerics(integrator="abm4"))


def test_odd_inputs_and_times_are_refused(bicycle, thrown):
    ride = Stepper(bicycle, thrown)
    with pytest.raises(ParameterError, match="Did you mean 'steer'"):
        ride.step(0.1, {"ster": 1.0})
    with pytest.raises(ParameterError, match="finite"):
        ride.step(0.1, {"steer": np.nan})
    with pytest.raises(ParameterError, match="non-negative time"):
        ride.step(-0.1)


# --- on a terrain


def test_any_slicing_on_a_terrain_gives_the_bits_of_the_samples_of_simulate(bicycle):
    """Down a kerb: both wheels leave and land. The whole run ends so late that its last step, which is
    cut, lies after the samples that are compared.
    """
    ground, start = kerb(1.5, -0.05), draisine.state(bicycle, forward_speed=4.0)
    whole = draisine.simulate(bicycle, start, 5.0, terrain=ground, numerics=Numerics(dt=2.0**-10))
    early = [event for event in whole.events if event.t < 0.75]
    assert len(early) >= 4
    last = whole.arcs[-1]
    sample = last.y[np.flatnonzero(last.t == 0.75)[0]]
    for dt in (0.75, 1 / 16, 1 / 128):
        ride = Stepper(bicycle, start, terrain=ground)
        while ride.time < 0.75:
            ride.step(dt)
        assert [str(event) for event in ride.events] == [str(event) for event in early]
        assert same(ride.state, last.machine.leave(sample))


def test_any_slicing_of_time_steps_gives_the_same_bits(bicycle):
    """States between two time steps are interpolated, whatever the slices."""
    ground, start = kerb(1.5, -0.05), draisine.state(bicycle, forward_speed=4.0)
    stepped = ContactOptions(solver="time_stepping", mu=0.8)
    ends = []
    for dt in (0.75, 1 / 16, 1 / 128):
        ride = Stepper(bicycle, start, terrain=ground, contact=stepped)
        while ride.time < 0.75:
            ride.step(dt)
        ends.append(ride)
    assert all(same(ride.state, ends[0].state) for ride in ends)
    loads = [ride.values()["contact_force[rear, normal]"] for ride in ends]
    assert loads[0] > 0.0
    assert loads == [loads[0]] * 3


def test_a_long_ride_on_a_terrain_keeps_no_past(bicycle):
    """What a stepper stores does not grow with the time that it has simulated."""
    for solver in ("auto", "time_stepping"):
        contact = ContactOptions(mu=0.8, solver=solver)
        start = draisine.state(bicycle, forward_speed=4.6)
        ride = Stepper(bicycle, start, terrain=plane(), contact=contact)
        sizes = []
        for _ in range(4):  # 2048 samples each
            for _ in range(128):
                ride.step(1 / 64)
            run = ride._run.run
            samples = sum(len(times) for times, _ in run.samples)
            stepped = 0 if run.steps is None else len(run.steps.arc().t)
            sizes.append(samples + stepped + len(run.arcs) + len(run.events))
        assert max(sizes) <= 2100  # an integration step has at most 2048 samples


def test_inputs_that_change_on_a_terrain_are_those_of_breakpoints(bicycle):
    """The same as one run under a law that jumps there."""

    def law(readings, z):
        from draisine.algebra.scalar import where

        return {"rear_wheel": where(readings.t < 0.25, 20.0, -30.0)}, ()

    start = draisine.state(bicycle, forward_speed=4.0)
    soft = ContactOptions(mu=0.8, impact="moreau")
    whole = draisine.simulate(
        bicycle, start, 0.5, terrain=plane(), law=law, contact=soft,
        numerics=Numerics(breakpoints=(0.25,)),
    )  # fmt: skip
    ride = Stepper(bicycle, start, terrain=plane(), contact=soft, inputs={"rear_wheel": 20.0})
    for k in range(8):
        ride.step(1 / 16, {"rear_wheel": 20.0 if k < 4 else -30.0})
    assert_allclose(ride.state.v, whole.final().v, atol=1e-12)
    assert [event.kind for event in ride.events] == ["input"]


@pytest.mark.parametrize("solver", ["events", "auto"])
def test_a_controller_may_act_every_millisecond(bicycle, solver):
    """More than a thousand jumps of an input per second are no sign of accumulating events: the run stays
    event-driven, and equals that with ideal contacts by another integrator.
    """
    start = draisine.state(bicycle, forward_speed=5.0)
    steps = {"dt": 2.0**-11}
    rides = [
        Stepper(bicycle, start, numerics=Numerics(integrator="rk4", **steps)),
        Stepper(
            bicycle,
            start,
            terrain=plane(),
            contact=ContactOptions(solver=solver),
            numerics=Numerics(**steps),
        ),
    ]
    for k in range(2100):
        for ride in rides:
            ride.step(2.0**-11, {"steer": 0.05 * np.sin(0.01 * k)})
    ideal, unilateral = rides
    assert {event.kind for event in unilateral.events} == {"input"}
    assert_allclose(unilateral.state.v, ideal.state.v, atol=1e-9)


def ride_at_a_kilohertz(system, start, contact, ground, amplitudes, steps, slices=1):
    """Return a stepper after inputs have changed every two steps, each of them in so many calls."""
    ride = Stepper(system, start, terrain=ground, contact=contact, numerics=Numerics(dt=2.0**-10))
    for k in range(steps):
        wave = np.sin(0.05 * (k // 2))
        for _ in range(slices):
            ride.step(2.0**-10 / slices, {name: wave * size for name, size in amplitudes.items()})
    return ride


@pytest.mark.parametrize(
    ("ground", "contact", "amplitudes", "expected"),
    [
        (plane(), ContactOptions(mu=0.3), {"rear_wheel": 90.0}, {"slip", "stick"}),
        (kerb(0.3, -0.02), ContactOptions(mu=0.9), {"steer": 0.05}, {"collision", "lift-off"}),
    ],
    ids=["slip", "kerb"],
)
def test_short_steps_miss_no_event(bicycle, monkeypatch, ground, contact, amplitudes, expected):
    """Steps that locate events find the same ones, and the same motion."""
    start = draisine.state(bicycle, forward_speed=3.0, x=-1.0)
    rides = []
    for most in (MAX_SHORT_STEPS, 0):
        monkeypatch.setattr("draisine.simulation.stepper_runs.MAX_SHORT_STEPS", most)
        rides.append(ride_at_a_kilohertz(bicycle, start, contact, ground, amplitudes, 500))
    events = [[(event.kind, event.t) for event in ride.events] for ride in rides]
    kinds, times = zip(*events[0], strict=True)
    kinds_of_other, times_of_other = zip(*events[1], strict=True)
    assert expected <= set(kinds)
    assert kinds == kinds_of_other
    assert_allclose(times, times_of_other, atol=1e-9)
    assert_allclose(rides[0].state.v, rides[1].state.v, atol=1e-8)


def test_an_input_that_changes_no_contact_needs_no_event(bicycle, monkeypatch):
    """The run resolves the first two changes as events; from then on it expects more and stays in its mode.
    All of them are reported, with the energy of the state.
    """
    restarts = []
    restart = TerrainRun.restart

    def counted(run, *arguments):
        restarts.append(run.now.t)
        restart(run, *arguments)

    monkeypatch.setattr(TerrainRun, "restart", counted)
    start = draisine.state(bicycle, forward_speed=5.0)
    ride = ride_at_a_kilohertz(bicycle, start, ContactOptions(), plane(), {"steer": 0.05}, 200)
    assert len(restarts) == 1
    assert [event.kind for event in ride.events] == ["input"] * 99
    assert_allclose([event.t for event in ride.events], np.arange(2, 200, 2) / 1024, rtol=1e-15)
    assert all(event.gain == 0.0 for event in ride.events)


def test_short_steps_do_not_depend_on_slices(bicycle):
    start = draisine.state(bicycle, forward_speed=5.0)
    options = (ContactOptions(mu=0.9), plane(), {"steer": 0.05}, 100)
    whole, sliced = (
        ride_at_a_kilohertz(bicycle, start, *options, slices=slices) for slices in (1, 3)
    )
    assert same(whole.state, sliced.state)
    long = Stepper(bicycle, start, terrain=plane(), contact=options[0])
    for k in range(50):
        long.step(2.0**-9, {"steer": 0.05 * np.sin(0.05 * k)})
    assert same(whole.state, long.state)


def test_events_are_returned_once(bicycle):
    """Also after more of them than a run keeps to judge its progress."""
    contact = ContactOptions(mu=0.8, events=5)
    ride = Stepper(
        bicycle, draisine.state(bicycle, forward_speed=5.0), terrain=plane(), contact=contact
    )
    for k in range(40):
        ride.step(1 / 4, {"steer": 1e-3 * (k % 2)})
    changes = len(ride.events)
    assert changes == 39
    times = [event.t for event in ride.events]
    assert times == sorted(set(times))
    for _ in range(8):
        ride.step(1 / 4)
    assert len(ride.events) == changes


def test_inputs_after_a_fall_do_nothing(bicycle):
    for solver in ("auto", "time_stepping"):
        contact = ContactOptions(mu=0.8, impact="moreau", solver=solver)
        start = draisine.state(bicycle, forward_speed=0.5, lean=0.3)
        ride = Stepper(bicycle, start, terrain=plane(), contact=contact)
        while not ride.outcome:
            ride.step(1 / 32)
        end = ride.state
        with pytest.warns(ValidityWarning, match="ended"):
            ride.step(0.1, {"steer": 1.0})
        assert same(ride.state, end)


def test_a_run_does_not_depend_on_the_one_before():
    """Tyres keep their deflections over short flights only. When wheels lifted off in an earlier run on
    the same ground does not count.
    """
    machine = draisine.compile("motorcycle")
    ground = kerb(2.5, -0.1)
    rolling = draisine.state(machine, forward_speed=6.0)
    lifted = draisine.State(rolling.q, rolling.p + [0.0, 0.0, 0.002], rolling.r, rolling.v)
    falling = replace(lifted, element_state=np.full(machine.model.memory, 1e-3))
    first = draisine.simulate(machine, falling, 0.1, terrain=ground)
    assert any(event.kind == "collision" for event in first.events)
    jump = draisine.simulate(machine, rolling, 0.5, terrain=ground)
    assert any(event.kind == "lift-off" for event in jump.events)
    again = draisine.simulate(machine, falling, 0.1, terrain=ground)
    assert np.array_equal(first.arcs[-1].y, again.arcs[-1].y)


def test_a_fall_ends_the_ride(bicycle):
    ride = Stepper(bicycle, draisine.state(bicycle, forward_speed=0.5, lean=0.3), terrain=plane(),
                   contact=ContactOptions(mu=0.8, impact="moreau"))  # fmt: skip
    for _ in range(200):
        ride.step(1 / 32)
        if ride.outcome:
            break
    assert ride.outcome.startswith("fell")
    end = ride.time
    ride.step(1.0)
    assert ride.time == end


def test_inputs_that_are_none_leave_what_is_held(bicycle):
    """Of several of which one is wrong, none is held."""
    ride = Stepper(bicycle, draisine.state(bicycle, forward_speed=5.0), inputs={"steer": 0.5})
    for wrong in ({"steer": 1.0, "ster": 1.0}, {"steer": 1.0, "rear_wheel": "x"}):
        with pytest.raises(ParameterError, match="input"):
            ride.hold(wrong)
        assert ride.inputs["steer"] == 0.5


@pytest.mark.parametrize("dt", [-1.0, np.nan, np.inf, 1e300, "x", None])
def test_times_that_are_none_are_told(bicycle, dt):
    """1e300 s would have been as many steps as no number holds."""
    ride = Stepper(bicycle, draisine.state(bicycle, forward_speed=5.0))
    with pytest.raises(ParameterError, match="must be a non-negative time"):
        ride.step(dt)


def test_what_is_no_machine_or_state_is_told(bicycle):
    with pytest.raises(ParameterError, match=r"Stepper: .*draisine\.compile"):
        Stepper("whipple", draisine.state(bicycle))
    with pytest.raises(ParameterError, match=r"Stepper: .*draisine\.state"):
        Stepper(bicycle, {"forward_speed": 5.0})


def test_an_impact_model_that_refuses_stops_a_ride_where_it_was():
    def refuse(given):
        raise ParameterError("refuse: wheels with a finite mu need the impact model 'moreau'.")

    disc = draisine.compile("rolling_disc")
    options = {"terrain": kerb(0.7, 0.05), "contact": ContactOptions(mu=0.8, impact=refuse)}
    ride = Stepper(disc, draisine.state(disc, forward_speed=2.0), **options)
    ride.step(0.2)
    for _ in range(2):
        with pytest.raises(SimulationError, match="need the impact model 'moreau'"):
            ride.step(0.1)
        assert ride.time == pytest.approx(0.2, abs=1e-3)
        assert np.isfinite(ride.state.v).all()


def test_memory_does_not_grow_with_constant_inputs():
    """A bicycle rolls on a plane terrain for 12 s without a change of the inputs. Its states need 0.5 MB
    in the last third. The samples of a single integration step need up to 0.1 MB.
    """
    bicycle = draisine.compile("whipple")
    start = draisine.state(bicycle, forward_speed=6.0, lean_rate=0.05)
    ride = Stepper(
        bicycle, start, terrain=plane(), contact=ContactOptions(mu=0.8), numerics=Numerics(dt=1e-3)
    )
    sizes = []
    tracemalloc.start()
    for _ in range(3):
        for _ in range(4000):
            ride.step(1e-3)
        sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert sizes[2] - sizes[1] < 200_000
