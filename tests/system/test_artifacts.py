"""Results depend on nothing but their arguments: not on what ran before, where, or how often."""

import json
import multiprocessing
import os
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import draisine
from draisine.codegen.cache import Store
from draisine.codegen.fingerprint import fingerprint
from draisine.system.artifacts import MAX_ARTIFACTS_IN_MEMORY, RecentCache
from draisine.system.closed_form import MIN_PIVOT_RATIO
from draisine.terrain import plane

LENGTHS = ("w", "c", "rR", "xB", "zB", "xH", "zH", "rF")
RK4 = draisine.Numerics(integrator="rk4", dt=0.01)


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory):
    """A store that all tests of this file share, so that each vehicle is derived once."""
    return Store(tmp_path_factory.mktemp("kept"))


def small(system, scale=0.02):
    """Return the bicycle with scaled lengths; its pivots are lengths and scale with them."""
    return system.with_parameters(**{n: scale * system.parameters[n] for n in LENGTHS})


def run_through_vanishing_pivots(system, steer=1.2):
    """Return the final state of a run in which pivots vanish, because the steer angle becomes large."""
    start = draisine.state(system, forward_speed=0.5, steer=steer, lean=0.1)
    run = draisine.simulate(system, start, 1.2, inputs={"steer": 3.0})
    assert len(run.arcs) > 1
    return np.concatenate([run.final().q, run.final().p, run.final().r, run.final().v])


def ride(system, simulate=draisine.simulate):
    start = draisine.state(system, forward_speed=1.0, lean_rate=0.2)
    end = simulate(system, start, 0.3, numerics=RK4).final()
    return np.concatenate([end.q, end.p, end.r, end.v])


class SteerDamper:
    def __init__(self, gain):
        self.gain = gain

    def __call__(self, readings, z):
        return {"steer": -self.gain * readings.rate("steer")}, []


MASS = 1.0


def pendulum(*, length: float = 1.0):
    """Return a model that depends on a global variable."""
    from draisine.model import Body, Model, Revolute, inertia

    bob = Body("bob", MASS, (length, 0.0, 0.0), inertia(0.1, 0.1, 0.1))
    post = Body("post", 1.0, (0.0, 0.0, 0.0), inertia(1.0, 1.0, 1.0))
    hinge = Revolute("hinge", "post", "bob", (0.0, 1.0, 0.0), (0.0, 0.0, 0.0))
    return Model([post, bob], [hinge], base="fixed")


def test_a_model_with_a_changed_global_is_derived_again(monkeypatch, shared_store):
    """I rddot = m g l with I = 0.1 + m l^2, for the value of the global mass at compilation."""

    def initial_acceleration():
        system = draisine.compile(pendulum, store=shared_store)
        return system.accelerate(draisine.state(system))[0][0]

    for mass in (1.0, 3.0, 1.0):
        monkeypatch.setitem(globals(), "MASS", mass)
        assert_allclose(initial_acceleration(), 9.81 * mass / (0.1 + mass), rtol=1e-12)
    assert draisine.compile(pendulum, store=shared_store).artifacts is (
        draisine.compile(pendulum, store=shared_store).artifacts
    )


def test_runs_do_not_depend_on_earlier_runs(shared_store):
    """Neither runs with other parameters nor other choices of pivots influence a run."""
    alone = run_through_vanishing_pivots(draisine.compile("whipple", store=shared_store))
    toy = ride(small(draisine.compile("whipple", store=shared_store)))
    system = draisine.compile("whipple", store=shared_store)
    assert_array_equal(ride(small(system)), toy)
    run_through_vanishing_pivots(system, steer=1.4)
    assert_array_equal(run_through_vanishing_pivots(system), alone)
    assert_array_equal(ride(small(system)), toy)


def test_pivot_bounds_scale_with_the_parameters(shared_store):
    """The bound of a pivot follows the parameters of the run, not those of the derivation."""
    system = draisine.compile("whipple", store=shared_store)
    system.machine().floors  # noqa: B018 - derived for the large one first
    toy = small(system)
    fresh = draisine.compile("whipple", store=shared_store, **toy.parameters)
    assert_allclose(toy.machine().floors, fresh.machine().floors, rtol=1e-12)
    assert_allclose(
        system.machine().floors,
        MIN_PIVOT_RATIO * np.array(system.machine().choice.sizes),
        rtol=1e-12,
    )
    assert not np.allclose(toy.machine().floors, system.machine().floors, rtol=0.1)
    both = system.machine().floors_for(np.array([system.values, toy.values]).T)
    assert_array_equal(both.T, [system.machine().floors, toy.machine().floors])


def test_runs_in_threads_are_identical(shared_store):
    alone = ride(draisine.compile("whipple", store=shared_store))
    system = draisine.compile("whipple", store=shared_store)
    with ThreadPoolExecutor(4) as pool:
        for end in pool.map(ride, [system] * 8):
            assert_array_equal(end, alone)


def test_a_pickled_run_on_terrain_is_identical(shared_store):
    """States, forces and events equal those of the run bit by bit."""
    system = draisine.compile("rolling_disc", store=shared_store)
    start = draisine.state(system, forward_speed=2.0, lean=0.1)
    run = draisine.simulate(system, start, 0.2, terrain=plane())
    again = pickle.loads(pickle.dumps(run))
    assert_array_equal(again.arcs[0].y, run.arcs[0].y)
    for name, values in run.to_xarray().data_vars.items():
        assert_array_equal(again.to_xarray()[name], values)


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_runs_in_processes_and_of_pickles_are_identical(shared_store, start):
    if start not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {start} here")
    system = small(draisine.compile("whipple", store=shared_store), 0.5)
    alone = ride(system)
    assert_array_equal(ride(pickle.loads(pickle.dumps(system))), alone)
    machine = pickle.loads(pickle.dumps(system.machine()))
    assert_array_equal(machine.floors, system.machine().floors)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(start)) as pool:

        def simulate(*arguments, **options):
            return pool.submit(draisine.simulate, *arguments, **options).result()

        assert_array_equal(ride(system, simulate), alone)


FORKS = """
import os, signal, threading
import draisine

bicycle = draisine.compile("whipple")

def ride(trail):
    other = bicycle.with_parameters(c=trail)
    start = draisine.state(other, forward_speed=4.6, lean_rate=0.5)
    return draisine.simulate(other, start, 0.02)

def ride_on(trail):
    while True:
        trail += 1e-6
        ride(trail)

ride(0.08)
for trail in (0.05, 0.06, 0.07):
    threading.Thread(target=ride_on, args=(trail,), daemon=True).start()
children = []
for k in range(20):
    ride(0.09 + 1e-4 * k)
    child = os.fork()
    if child == 0:
        signal.alarm(120)  # ends a child that waits for a lock
        ride(0.1)
        os._exit(0)
    children.append(child)
print([os.waitpid(child, 0)[1] for child in children])
os._exit(0)
"""
"""Script that forks twenty children from a process in which three threads simulate without pause."""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_forks_of_a_process_with_threads_do_not_deadlock():
    """A fork copies locks, but not the threads that would release them."""
    command = [sys.executable, "-W", "ignore", "-c", FORKS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    assert json.loads(done.stdout) == [0] * 20


def test_stored_programs_give_identical_runs(shared_store, tmp_path):
    cold, warm = (draisine.compile("whipple", store=Store(tmp_path)) for _ in range(2))
    assert_array_equal(ride(cold), ride(warm))
    assert_array_equal(ride(cold), ride(draisine.compile("whipple", store=shared_store)))


def test_equal_pivots_of_other_configurations_share_programs(shared_store):
    """Programs depend on the pivots, not on the configuration at which the pivots were chosen."""
    system = draisine.compile("whipple", store=shared_store)
    drawn = system.machine()
    q, r = drawn.inner_pose(np.array([1.0, 0, 0, 0]), np.zeros(3))[0], np.array([0.01, 0.0, 0.0])
    beside = system.machine(configuration=(q, r))
    assert beside is not drawn
    assert beside.choice.pivots == drawn.choice.pivots
    assert beside.programs is drawn.programs
    assert not np.array_equal(beside.floors, drawn.floors)


def test_the_cache_in_memory_drops_the_least_recently_used():
    cache, made = RecentCache(3), []

    def request(key):
        return cache.get(key, lambda: made.append(key) or key)

    for key in (1, 2, 3, 1, 4, 1):
        assert request(key) == key
    assert made == [1, 2, 3, 4]
    request(2)
    assert made == [1, 2, 3, 4, 2]
    assert request(None) is None and request(None) is None
    assert made[-2:] == [None, None]


def test_the_number_of_cached_closed_forms_is_bounded(shared_store):
    system = draisine.compile("rolling_disc", store=shared_store)
    laws = [SteerDamper(float(k)) for k in range(MAX_ARTIFACTS_IN_MEMORY + 5)]
    for law in laws:
        system.machine(law=law)
    assert len(system._machines._objects) == MAX_ARTIFACTS_IN_MEMORY
    assert fingerprint(laws[0]) != fingerprint(laws[1])


def test_compiling_a_vehicle_again_reuses_its_artifacts(shared_store):
    first, again = (draisine.compile("rolling_disc", store=shared_store) for _ in range(2))
    assert first.artifacts is again.artifacts
    assert (
        draisine.compile("rolling_disc", store=shared_store, radius=0.4).artifacts
        is not first.artifacts
    )
