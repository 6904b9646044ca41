"""Many runs on terrain: each equals the run alone, bit by bit, and no failure loses the others."""

import warnings

import numpy as np
import pytest

import draisine
from draisine import ContactOptions, Numerics, simulate, simulate_many, state
from draisine.errors import ConfigurationError, ParameterError, SimulationError, ValidityWarning
from draisine.model import Model
from draisine.simulation.contact import query as contact_query
from draisine.simulation.contact.run import TerrainRun
from draisine.terrain import height_field, plane, rough
from draisine.vehicles.bicycle.whipple import whipple
from simulation.contact.stepping import test_steps as robots


def hills(height, seed):
    """Return a height field of random heights beyond x = 1.4 m, in cells of 0.2 m."""
    x = np.arange(-1.0, 4.01, 0.2)
    y = np.arange(-1.0, 1.01, 0.2)
    z = np.random.default_rng(seed).uniform(0.0, height, (len(x), len(y)))
    z[x < 1.5] = 0.0
    return height_field(x, y, z)


def assert_ends_alike(end, k, run):
    """Assert that column k equals the last sample of a run to the last bit, outcome and time included."""
    assert (end["outcome"][k], end["time"][k]) == (run.outcome, run.t[-1])
    assert end["events"][k] == len(run.events)
    final = run.final()
    for name in "qprv":
        assert np.array_equal(end[name][:, k], getattr(final, name))
    for name, values in run.observations.items():
        assert np.array_equal(end[name][:, k], values[:, -1], equal_nan=True), name


IN_THE_AIR = {"mode": {"rear": "open", "front": "open"}, "forward_speed": 5.0}
BUMPS = rough(0.01, at=2.0, length=3.0, width=1.0)

CASES = {
    # Vehicle, starts, ground, end (s), options of contacts.
    "bicycle, bounces": (
        "whipple",
        [IN_THE_AIR | {"z": z} for z in (0.05, 0.1, 0.2)],
        plane(),
        0.6,
        {"impact": "newton", "restitution": {"normal": 0.3}},
    ),
    "bicycle, rough ground": (
        "whipple",
        [{"forward_speed": speed} for speed in (4.0, 4.6, 5.0)],
        BUMPS,
        0.6,
        {"mu": 0.8},
    ),
    "bicycle, time steps": (
        "whipple",
        [{"forward_speed": speed} for speed in (4.0, 4.6)],
        BUMPS,
        0.5,
        {"mu": 0.8, "solver": "time_stepping"},
    ),
    # Wheels of one axle change to time steps on uneven ground.
    "tricycle, hills": (
        "tricycle",
        [{"forward_speed": speed} for speed in (1.5, 2.0)],
        hills(0.005, 1),
        1.2,
        {"mu": 0.8},
    ),
    "disc, events": (
        "rolling_disc",
        [{"lean": lean} for lean in (0.2, 0.4, 1.0)],
        plane(),
        0.4,
        {"mu": 0.3, "solver": "events"},
    ),
}


def many(case):
    """Return machine, starts, and the arguments that `simulate` has in common with `simulate_many`."""
    vehicle, values, ground, until, options = CASES[case]
    machine = draisine.compile(vehicle)
    starts = [state(machine, **value) for value in values]
    return machine, starts, until, {"terrain": ground, "contact": ContactOptions(**options)}


@pytest.mark.filterwarnings("ignore::draisine.errors.ValidityWarning")
@pytest.mark.parametrize("case", CASES)
def test_each_ends_bit_by_bit_as_alone(case):
    """Whatever the number of threads, and whatever ran before."""
    machine, starts, until, options = many(case)
    alone = [simulate(machine, start, until, **options) for start in starts]
    for threads in (1, 3):
        numerics = Numerics(threads=threads)
        end = simulate_many(
            machine, starts[::-1], until, numerics=numerics, trajectories=True, **options
        )
        for k, run in enumerate(alone[::-1]):
            assert_ends_alike(end, k, run)
            assert np.array_equal(end["trajectories"][k].t, run.t)
        assert not any(end["errors"])


def test_the_cases_cover_events_time_steps_and_falls():
    """Otherwise the comparison would say little."""
    ends = {}
    for case in CASES:
        machine, starts, until, options = many(case)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ValidityWarning)
            ends[case] = simulate_many(machine, starts, until, trajectories=True, **options)
    assert ends["bicycle, rough ground"]["events"].min() > 10
    assert ends["bicycle, bounces"]["events"].min() > 2
    switched = [run.validity.time_stepped for run in ends["tricycle, hills"]["trajectories"]]
    assert any(switched)
    assert any(text.startswith("fell") for text in ends["disc, events"]["outcome"])


def test_machines_grounds_and_inputs_may_differ():
    bicycle = draisine.compile("whipple")
    grounds = [rough(0.01, at=2.0, length=2.0, width=1.0, seed=seed) for seed in range(4)]
    masses = [80.0, 85.0, 90.0, 95.0]
    torques = [0.0, 0.1, 0.2, 0.3]
    machines = [bicycle.with_parameters(mB=mass) for mass in masses]
    starts = [state(machine, forward_speed=4.6) for machine in machines]
    end = simulate_many(
        bicycle,
        starts,
        0.4,
        terrain=grounds,
        parameters={"mB": masses},
        inputs={"steer": torques},
        contact=ContactOptions(mu=0.8),
    )
    for k, (machine, start) in enumerate(zip(machines, starts, strict=True)):
        run = simulate(
            machine,
            start,
            0.4,
            terrain=grounds[k],
            inputs={"steer": torques[k]},
            contact=ContactOptions(mu=0.8),
        )
        assert_ends_alike(end, k, run)


def test_a_failure_keeps_the_other_runs():
    """One machine starts inside the ground, another one stops on its way; the others are not touched."""
    tricycle = draisine.compile("tricycle")
    upright = state(tricycle, forward_speed=2.0)
    buried = draisine.State(upright.q, upright.p - [0.0, 0.0, 0.1], upright.r, upright.v)
    # Wheels of one axle over-constrain the machine on uneven ground: stick and slip do not end.
    grounds = [plane(), plane(), hills(0.005, 1), plane()]
    contact = ContactOptions(mu=0.8, solver="events")
    starts = [upright, buried, upright, upright]
    with pytest.warns(ValidityWarning, match=r"2 of 4 runs .* 2 stopped by an error .* machine 1"):
        end = simulate_many(tricycle, starts, 1.0, terrain=grounds, contact=contact)
    alone = simulate(tricycle, upright, 1.0, terrain=plane(), contact=contact)
    for k in (0, 3):
        assert_ends_alike(end, k, alone)
    assert isinstance(end["errors"][1], ConfigurationError)
    assert "below" in end["outcome"][1]
    assert np.isnan(end["time"][1])
    stopped = end["errors"][2]
    assert isinstance(stopped, SimulationError)
    assert 0.0 < stopped.partial.t[-1] == end["time"][2] < 1.0
    assert stopped.partial.outcome == end["outcome"][2]
    assert np.isnan(end["v"][:, [1, 2]]).all()


def test_mistakes_that_concern_all_runs_are_refused(bicycle):
    start = state(bicycle, forward_speed=4.6)
    both = [start, start]
    with pytest.raises(ParameterError, match="terrain: 1 grounds for 2 machines"):
        simulate_many(bicycle, both, 0.1, terrain=[plane()])
    with pytest.raises(ParameterError, match="terrain: None is not of type Terrain"):
        simulate_many(bicycle, both, 0.1, terrain=[plane(), None])
    for wrong in ("rr", 5):
        with pytest.raises(ParameterError, match=f"terrain: {wrong!r} is not of type Terrain"):
            simulate_many(bicycle, both, 0.1, terrain=wrong)
    with pytest.raises(ParameterError, match="parameter mB: 3 values for 2 machines"):
        simulate_many(bicycle, both, 0.1, terrain=plane(), parameters={"mB": [80.0, 81.0, 82.0]})
    with pytest.raises(ParameterError, match=r"machine 1: .*mass -1\.0 kg is negative"):
        simulate_many(bicycle, both, 0.1, terrain=plane(), parameters={"mB": [80.0, -1.0]})
    single = Numerics(precision="single")
    with pytest.raises(ParameterError, match=r"does not use precision .* without a terrain"):
        simulate_many(bicycle, both, 0.1, terrain=plane(), numerics=single)
    with pytest.raises(ParameterError, match="no wheel 'middle'"):
        simulate_many(bicycle, both, 0.1, terrain=plane(), contact=ContactOptions(mu={"middle": 1}))
    with pytest.raises(ParameterError, match="progress and trajectories need a terrain"):
        simulate_many(bicycle, both, 0.1, trajectories=True)


@pytest.mark.parametrize("threads", [1, 2])
def test_progress_counts_the_runs(bicycle, threads):
    start = state(bicycle, forward_speed=4.6)
    fractions = []
    simulate_many(
        bicycle,
        [start] * 4,
        0.05,
        terrain=plane(),
        numerics=Numerics(threads=threads),
        progress=fractions.append,
    )
    assert fractions == [0.25, 0.5, 0.75, 1.0]


def test_an_interruption_keeps_the_finished_runs(bicycle):
    """The user presses Ctrl-C after the second run."""
    start = state(bicycle, forward_speed=4.6)

    def interrupt(fraction):
        if fraction == 0.5:
            raise KeyboardInterrupt

    with pytest.raises(SimulationError, match="interrupted after 2 of 4 runs") as caught:
        simulate_many(
            bicycle,
            [start] * 4,
            0.05,
            terrain=plane(),
            numerics=Numerics(threads=1),
            progress=interrupt,
        )
    partial = caught.value.partial
    assert partial["outcome"].tolist() == ["completed", "completed", "not run", "not run"]
    assert np.isfinite(partial["v"][:, :2]).all()
    assert np.isnan(partial["v"][:, 2:]).all()


@pytest.mark.parametrize("solver", ["auto", "time_stepping"])
def test_reused_records_do_not_change_a_run(bicycle, solver):
    """Each ground in a fresh query, and all of them one after the other in the same records."""
    grounds = [
        rough(0.01, at=2.0, length=2.0, width=1.0, seed=1),
        plane(),
        hills(0.01, 2),
        rough(0.02, cell=0.1, at=2.0, length=2.0, width=1.0, seed=3),
        rough(0.01, at=2.0, length=2.0, width=1.0, seed=4),
    ]
    start = state(bicycle, forward_speed=4.6)
    options = {"contact": ContactOptions(mu=0.8, solver=solver)}
    fresh = []
    for ground in grounds:
        contact_query._last.query = None
        fresh.append(simulate(bicycle, start, 0.5, terrain=ground, **options))
    numerics = Numerics(threads=1)
    end = simulate_many(
        bicycle, [start] * 5, 0.5, terrain=grounds, numerics=numerics, trajectories=True, **options
    )
    for k, run in enumerate(fresh):
        contact_query._last.query = None
        assert_ends_alike(end, k, run)
        for ours, theirs in zip(end["trajectories"][k].arcs, run.arcs, strict=True):
            assert np.array_equal(ours.y, theirs.y)


def test_records_of_smooth_ground_serve_larger_meshes(bicycle):
    """A mesh that needs more contacts than the smooth ground before it enlarges its records."""
    start = state(bicycle, forward_speed=4.6)
    contact = ContactOptions(mu=0.8)
    size = {"at": 1.5, "length": 4.0, "width": 3.0}
    smooth = rough(0.005, 0.5, smooth=True, **size)
    mesh = rough(0.01, 0.05, **size)
    contact_query._last.query = None
    alone = simulate(bicycle, start, 0.5, terrain=mesh, contact=contact)
    contact_query._last.query = None
    simulate(bicycle, start, 0.5, terrain=smooth, contact=contact)
    query = contact_query._last.query
    record = query.driver.near.record
    cells, capacity = len(record.contacts.cells), record.capacity
    after = simulate(bicycle, start, 0.5, terrain=mesh, contact=contact)
    assert contact_query._last.query is query
    # Otherwise this test would not cover what it is for.
    assert cells > 1 and query.driver.near.record.capacity > capacity
    assert arrays(after) == arrays(alone)


def test_a_thread_reuses_its_query(bicycle, monkeypatch):
    """A thread makes one query of the machine, however many runs and grounds there are."""
    contact_query._last.query = None
    made = []
    original = contact_query.ContactQuery.__init__

    def count(self, *arguments):
        made.append(self)
        original(self, *arguments)

    monkeypatch.setattr(contact_query.ContactQuery, "__init__", count)
    starts = [state(bicycle, forward_speed=4.0 + 0.1 * k) for k in range(8)]
    numerics = Numerics(threads=1)
    simulate_many(bicycle, starts, 0.05, terrain=plane(), numerics=numerics)
    simulate_many(bicycle, starts, 0.05, terrain=[plane() for _ in starts], numerics=numerics)
    assert len(made) == 1


def arrays(run):
    """Return times and states of all arcs as bytes, for comparisons to the last bit."""
    return [(arc.t.tobytes(), arc.y.tobytes()) for arc in run.arcs]


LINEAR_TYRE = {"name": "linear_tyre", "cornering": 2000.0, "camber": 200.0, "relaxation": 0.1}

OTHER_PARAMETERS = {
    # Vehicle, its arguments, changed parameters of the successive runs, initial values, options of contacts.
    "bicycle": (
        "whipple",
        {},
        [{"mB": 90.0}, {"rF": 0.33, "c": 0.07}, {"g": 9.0}, {"IByy": 12.0}, {}],
        {"forward_speed": 4.6},
        {"mu": 0.8},
    ),
    "bicycle with crowned wheels and stops": (
        "whipple",
        {"crown": 0.02},
        [{"crown": 0.03}, {"mF": 4.0}, {"crown": 0.01, "g": 8.0}],
        {"forward_speed": 4.6},
        {"mu": 0.8, "stops": {"steer": (-0.05, 0.05)}},
    ),
    "bicycle, time steps": (
        "whipple",
        {},
        [{"mB": 90.0}, {"rF": 0.33}],
        {"forward_speed": 4.6},
        {"mu": 0.8, "solver": "time_stepping"},
    ),
    "bicycle, bounces": (
        "whipple",
        {},
        [{"mB": 90.0}, {"g": 5.0}],
        {"forward_speed": 4.6},
        {"impact": "newton", "restitution": {"normal": 0.3}},
    ),
    "bicycle with tyres": (
        "whipple",
        {"rear_tyre": LINEAR_TYRE, "front_tyre": LINEAR_TYRE},
        [{"mB": 90.0}, {"rear_tyre_cornering": 1500.0, "rR": 0.31}],
        {"forward_speed": 4.6},
        {},
    ),
}


@pytest.mark.parametrize("case", OTHER_PARAMETERS)
def test_reused_records_do_not_change_a_run_with_other_parameters(case):
    """Each vehicle in a fresh query, and all of them one after the other in the same records."""
    vehicle, arguments, changes, initial, options = OTHER_PARAMETERS[case]
    nominal = draisine.compile(vehicle, **arguments)
    contact = ContactOptions(**options)

    def ride(change, seed):
        """Return a ride of a new vehicle over new rough ground."""
        system = nominal.with_parameters(**change)
        ground = rough(0.01, at=2.0, length=2.0, width=1.0, seed=seed)
        return simulate(system, state(system, **initial), 0.6, terrain=ground, contact=contact)

    # The second ride of each pair has new parameters on an old ground, the other ones both.
    rides = [(change, k // 2) for k, change in enumerate(changes)]
    fresh = []
    for ride_data in rides:
        contact_query._last.query = None
        fresh.append(ride(*ride_data))
    ride({}, 9)
    query = contact_query._last.query
    for ride_data, alone in zip(rides, fresh, strict=True):
        run = ride(*ride_data)
        assert contact_query._last.query is query  # its records were reused
        assert arrays(run) == arrays(alone)
        assert [event.t for event in run.events] == [event.t for event in alone.events]
        assert run.validity == alone.validity
        for name, values in alone.observations.items():
            assert np.array_equal(run.observations[name], values, equal_nan=True), name


def test_an_observation_of_another_vehicle_between_two_runs_changes_nothing(bicycle):
    """The tolerances of a run depend on the vehicle and on rtol, its records on both."""
    heavier = bicycle.with_parameters(mB=95.0)
    ground = rough(0.02, at=2.0, length=2.0, width=1.0, seed=5)
    options = {"contact": ContactOptions(mu=0.05), "numerics": Numerics(rtol=1e-7, atol=1e-8)}

    def ride(system):
        """Return a ride that slips."""
        start = state(system, forward_speed=4.6, lean_rate=0.3)
        return simulate(system, start, 0.6, terrain=ground, **options)

    contact_query._last.query = None
    first = ride(bicycle)
    other = ride(heavier)
    second = ride(bicycle)
    assert other.observations["gaps"].shape[0] == 2
    third = ride(bicycle)
    assert any(event.kind == "slip" for event in first.events)
    assert arrays(first) == arrays(second) == arrays(third)


def test_the_first_run_of_a_system_equals_the_second(monkeypatch):
    """The first one compiles contact modes in the middle of its arcs. Its calls of the compiled loop end at
    the same times: each call chooses pivots anew, which changes rounding errors.
    """

    def fresh(*, crown: float = 0.02) -> Model:
        return whipple(crown=crown)

    ends = []
    traverse = TerrainRun._traverse

    def record_end(run, driver, steps, events):
        status = traverse(run, driver, steps, events)
        ends.append(driver.arc.clock.time)
        return status

    monkeypatch.setattr(TerrainRun, "_traverse", record_end)
    system = draisine.compile(fresh)
    ground = rough(0.014, 0.2, at=1.5, length=3.0, width=2.0, seed=248, smooth=True)
    start = state(system, forward_speed=3.6)
    contact = ContactOptions(mu=0.1, solver="events")
    runs = []
    times = []
    for _ in range(2):
        runs.append(simulate(system, start, 0.63, terrain=ground, contact=contact))
        times.append(ends.copy())
        ends.clear()
    assert len(times[0]) > 3
    assert times[0] == times[1]
    assert arrays(runs[0]) == arrays(runs[1])


def test_a_robot_on_level_ground_locates_events_also_after_other_runs():
    """On one plane the wheels of an axle have exactly redundant rows, also when the contacts near the wheels
    have been searched anew.
    """
    system = robots.machine()
    law = robots.Servos(10.0, 0.05)
    ground = rough(0.015, 0.2, at=1.5, length=3.0, width=2.0, seed=985)
    contact = ContactOptions(mu=0.8)
    runs = []
    for height in (0.0, 0.02, 0.0):
        start = state(system)
        high = draisine.State(start.q, start.p + [0.0, 0.0, height], start.r, start.v)
        runs.append(simulate(system, high, 0.68, terrain=ground, law=law, contact=contact))
        assert not runs[-1].validity.time_stepped
    assert arrays(runs[0]) == arrays(runs[2])
