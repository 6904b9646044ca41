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
def kept(tmp_path_factory):
    """A place where derived things are kept, so that fresh systems are quick."""
    return Store(tmp_path_factory.mktemp("kept"))


def small(system, scale=0.02):
    """Return a toy of the same shape: its pivots are as much smaller as its lengths."""
    return system.with_parameters(**{n: scale * system.parameters[n] for n in LENGTHS})


def turned_round(system, steer=1.2):
    """Return a run whose pivots vanish on the way: the handlebar is turned right round."""
    start = draisine.state(system, forward_speed=0.5, steer=steer, lean=0.1)
    run = draisine.simulate(system, start, 1.2, inputs={"steer": 3.0})
    assert len(run.arcs) > 1
    return np.concatenate([run.final().q, run.final().p, run.final().r, run.final().v])


def ride(system, simulate=draisine.simulate):
    start = draisine.state(system, forward_speed=1.0, lean_rate=0.2)
    end = simulate(system, start, 0.3, numerics=RK4).final()
    return np.concatenate([end.q, end.p, end.r, end.v])


class Damper:
    def __init__(self, gain):
        self.gain = gain

    def __call__(self, readings, z):
        return {"steer": -self.gain * readings.rate("steer")}, []


MASS = 1.0


def pendulum(*, length: float = 1.0):
    """A drawing that reads a global."""
    from draisine.model import Body, Model, Revolute, inertia

    bob = Body("bob", MASS, (length, 0.0, 0.0), inertia(0.1, 0.1, 0.1))
    post = Body("post", 1.0, (0.0, 0.0, 0.0), inertia(1.0, 1.0, 1.0))
    hinge = Revolute("hinge", "post", "bob", (0.0, 1.0, 0.0), (0.0, 0.0, 0.0))
    return Model([post, bob], [hinge], base="fixed")


def test_a_drawing_that_changed_is_derived_anew(monkeypatch, kept):
    """I rddot = m g l and I = 0.1 + m l^2: of the mass that counts when the vehicle is compiled."""

    def pull():
        system = draisine.compile(pendulum, store=kept)
        return system.accelerate(draisine.state(system))[0][0]

    for mass in (1.0, 3.0, 1.0):
        monkeypatch.setitem(globals(), "MASS", mass)
        assert_allclose(pull(), 9.81 * mass / (0.1 + mass), rtol=1e-12)
    assert draisine.compile(pendulum, store=kept).artifacts is (
        draisine.compile(pendulum, store=kept).artifacts
    )


def test_a_run_does_not_know_of_runs_before_it(kept):
    """Neither of other sizes of the machine, nor of other pivots chosen on the way."""
    alone = turned_round(draisine.compile("whipple", store=kept))
    toy = ride(small(draisine.compile("whipple", store=kept)))
    system = draisine.compile("whipple", store=kept)
    assert_array_equal(ride(small(system)), toy)
    turned_round(system, steer=1.4)
    assert_array_equal(turned_round(system), alone)
    assert_array_equal(ride(small(system)), toy)


def test_floors_of_pivots_are_those_of_the_run(kept):
    """A pivot that is a length shrinks with the machine, wherever the machine was derived."""
    system = draisine.compile("whipple", store=kept)
    system.machine().floors  # noqa: B018 - derived for the large one first
    toy = small(system)
    fresh = draisine.compile("whipple", store=kept, **toy.parameters)
    assert_allclose(toy.machine().floors, fresh.machine().floors, rtol=1e-12)
    assert_allclose(
        system.machine().floors,
        MIN_PIVOT_RATIO * np.array(system.machine().choice.sizes),
        rtol=1e-12,
    )
    assert not np.allclose(toy.machine().floors, system.machine().floors, rtol=0.1)
    both = system.machine().floors_for(np.array([system.values, toy.values]).T)
    assert_array_equal(both.T, [system.machine().floors, toy.machine().floors])


def test_threads_give_the_same_bits(kept):
    alone = ride(draisine.compile("whipple", store=kept))
    system = draisine.compile("whipple", store=kept)
    with ThreadPoolExecutor(4) as pool:
        for end in pool.map(ride, [system] * 8):
            assert_array_equal(end, alone)


def test_runs_on_terrain_survive_a_pickle(kept):
    """Whole: states, forces and events are those of the run to the bit."""
    system = draisine.compile("rolling_disc", store=kept)
    start = draisine.state(system, forward_speed=2.0, lean=0.1)
    run = draisine.simulate(system, start, 0.2, terrain=plane())
    again = pickle.loads(pickle.dumps(run))
    assert_array_equal(again.arcs[0].y, run.arcs[0].y)
    for name, values in run.to_xarray().data_vars.items():
        assert_array_equal(again.to_xarray()[name], values)


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_processes_and_pickles_give_the_same_bits(kept, start):
    if start not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {start} here")
    system = small(draisine.compile("whipple", store=kept), 0.5)
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
"""Twenty children of a process in which three threads simulate one machine after the other."""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_children_of_a_process_with_threads_simulate_too():
    """A fork copies locks but not the threads that hold them."""
    command = [sys.executable, "-W", "ignore", "-c", FORKS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    assert json.loads(done.stdout) == [0] * 20


def test_what_is_kept_on_disk_gives_the_same_bits(kept, tmp_path):
    cold, warm = (draisine.compile("whipple", store=Store(tmp_path)) for _ in range(2))
    assert_array_equal(ride(cold), ride(warm))
    assert_array_equal(ride(cold), ride(draisine.compile("whipple", store=kept)))


def test_pivots_chosen_elsewhere_share_their_programs(kept):
    """Programs belong to the pivots, not to the place where these were chosen."""
    system = draisine.compile("whipple", store=kept)
    drawn = system.machine()
    q, r = drawn.inner_pose(np.array([1.0, 0, 0, 0]), np.zeros(3))[0], np.array([0.01, 0.0, 0.0])
    beside = system.machine(configuration=(q, r))
    assert beside is not drawn
    assert beside.choice.pivots == drawn.choice.pivots
    assert beside.programs is drawn.programs
    assert not np.array_equal(beside.floors, drawn.floors)


def test_memory_keeps_the_most_recent_things_only():
    kept, made = RecentCache(3), []

    def ask(key):
        return kept.get(key, lambda: made.append(key) or key)

    for key in (1, 2, 3, 1, 4, 1):
        assert ask(key) == key
    assert made == [1, 2, 3, 4]
    ask(2)
    assert made == [1, 2, 3, 4, 2]
    assert ask(None) is None and ask(None) is None
    assert made[-2:] == [None, None]


def test_laws_do_not_fill_the_memory(kept):
    system = draisine.compile("rolling_disc", store=kept)
    laws = [Damper(float(k)) for k in range(MAX_ARTIFACTS_IN_MEMORY + 5)]
    for law in laws:
        system.machine(law=law)
    assert len(system._machines._objects) == MAX_ARTIFACTS_IN_MEMORY
    assert fingerprint(laws[0]) != fingerprint(laws[1])


def test_a_vehicle_compiled_again_is_ready(kept):
    first, again = (draisine.compile("rolling_disc", store=kept) for _ in range(2))
    assert first.artifacts is again.artifacts
    assert draisine.compile("rolling_disc", store=kept, radius=0.4).artifacts is not first.artifacts
