"""C programs of exports under the address and undefined-behaviour sanitizers; `bench/exports.py examine` runs
all kinds of programs, also under valgrind.
"""

import subprocess

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.interop.cosimulation import write_terrain_unit, write_unit
from draisine.simulation.contact.standalone.source import write_terrain_simulator
from draisine.simulation.source import write_simulator
from draisine.terrain import Joined, SmoothGround, kerb, plane
from interop.compiled import TOOL_FLAGS, compile_program, compile_simulator, compile_unit, run_under

FLAGS = TOOL_FLAGS["sanitizers"]


@pytest.fixture(scope="module", autouse=True)
def _sanitizers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("empty")
    try:
        compile_program(folder, {"main.c": "int main(void) { return 0; }\n"}, ["main.c"], FLAGS)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no C compiler (cc) with sanitizers")


def test_the_sanitizers_find_errors(tmp_path):
    wrong = "int main(int n, char **v) { int a[2] = {0, 0}; (void)v; return a[n + 1]; }\n"
    program = compile_program(tmp_path, {"main.c": wrong}, ["main.c"], FLAGS)
    assert run_under("sanitizers", program).returncode != 0


def test_a_disc_over_a_kerb_onto_smooth_ground(tmp_path):
    """Search, faces, edges, patches, an impact, friction: the events are those of a run."""
    disc = draisine.compile("rolling_disc", crown=0.05)
    x = np.linspace(1.0, 2.0, 11)
    across = np.array([-1.0, 0.0, 1.0])
    waves = 0.03 * np.sin(6.0 * x[:, None]) + 0.01 * across**2
    smooth = SmoothGround(x, across, waves, quiet=True)
    ground = Joined(kerb(0.4, 0.02), smooth)
    start = draisine.state(disc, forward_speed=3.0, lean=0.02)
    options = {"terrain": ground, "contact": draisine.ContactOptions(mu=0.5)}
    files = write_terrain_simulator(disc, "c", start, 0.5, **options)
    done = run_under("sanitizers", compile_simulator(tmp_path, files, FLAGS), "events")
    assert done.returncode == 0, done.stderr
    run = draisine.simulate(disc, start, 0.5, **options)
    times = [float(line.split(",")[0]) for line in done.stdout.splitlines()[1:]]
    assert len(times) > 3
    assert_allclose(times, [event.t for event in run.events], atol=1e-9)


def test_a_simulator_in_one_contact_mode(tmp_path):
    bicycle = draisine.compile("whipple")
    start = draisine.state(bicycle, forward_speed=4.6, lean_rate=0.3)
    files = write_simulator(bicycle, "c", start)
    done = run_under("sanitizers", compile_simulator(tmp_path, files, FLAGS))
    assert done.returncode == 0, done.stderr


def test_a_unit_of_fmi_3_with_events(tmp_path):
    """A ball bounces and rolls on. After a touchdown and in event mode it moves as a run does."""
    ball = draisine.compile("ball")
    start = draisine.state(ball, x_speed=1.0)
    high = draisine.State(start.q, start.p + [0.0, 0.0, 0.2], start.r, start.v)
    contact = draisine.ContactOptions(mu=0.5, impact="moreau", restitution={"normal": 0.5})
    options = {"terrain": plane(), "contact": contact}
    unit = write_terrain_unit(ball, high, "fmi3", until=0.4, **options)
    done = run_under("sanitizers", compile_unit(tmp_path, unit, 0.4, 0.05, FLAGS))
    assert done.returncode == 0, done.stderr
    _, *values = map(float, done.stdout.split())
    names = [port.name for _, port in unit.ports_of("output")]
    position = draisine.simulate(ball, high, 0.4, **options).to_xarray().position.values[-1]
    assert_allclose([values[names.index(axis)] for axis in "xyz"], position, atol=1e-9)


def test_a_unit_of_fmi_3_in_one_contact_mode_with_events(tmp_path):
    """A mass on a leg falls from the vertical; after 0.47 s the ground would have to pull: an event."""
    wheel = draisine.compile("rimless_wheel", slope=0.0)
    unit = write_unit(wheel, draisine.state(wheel, wheel_rate=1.2), "fmi3")
    done = run_under("sanitizers", compile_unit(tmp_path, unit, 0.5, 0.05, FLAGS))
    assert done.returncode == 0, done.stderr
    events, *_ = done.stdout.split()
    assert int(events) == 1
