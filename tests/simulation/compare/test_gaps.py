"""The gap of a wheel belongs to what carries it, also where wheels sink into the ground: by time
stepping and on compliant ground, over edges, on other faces and on flats of other bodies.
"""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine import ContactOptions, Numerics
from draisine.experiment.report import describe_result
from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.simulation.compare.compliant import Compliant, Hertz
from draisine.terrain import kerb, plane, ramp

STIFFNESS = 1e5  # N/m^1.5
SOLVERS = {"compliant": Compliant(Hertz(STIFFNESS)), "time_stepping": "time_stepping"}
GROUNDS = {"ramp": (ramp(0.15, drop=0.1), "ramp"), "kerb": (kerb(0.0, 0.02), "before")}


@cache
def ride(solver, ground):
    """Return loads and gaps of a disc that rolls over the lip of a ramp or up a kerb."""
    disc = draisine.compile("rolling_disc", radius=0.3)
    terrain, face = GROUNDS[ground]
    tolerances = {"rtol": 1e-6, "atol": 1e-8} if solver == "compliant" else {}
    level = draisine.state(disc, forward_speed=2.0)
    start = draisine.place(disc, level, terrain, centre=(-0.3, 0.0), on=face)
    data = draisine.simulate(
        disc,
        start,
        0.45,
        terrain=terrain,
        contact=ContactOptions(solver=SOLVERS[solver], mu=0.8),
        numerics=Numerics(dt=0.01, **tolerances),
    ).to_xarray()
    return data["contact_force"].sel(direction="normal").values, data["gap"].values


@pytest.mark.parametrize(("ground", "most"), [("ramp", 1), ("kerb", 2)])
def test_the_gap_on_compliant_ground_explains_the_load(ground, most):
    """Hertz's law N = K depth^(3/2) holds at the deepest contact; a kerb pushes by two features."""
    load, gap = ride("compliant", ground)
    deepest = STIFFNESS * np.maximum(-gap, 0.0) ** 1.5
    assert load.max() > 10.0 and (load == 0.0).any()
    assert (load >= deepest * (1 - 1e-9) - 1e-12).all()
    assert (load <= most * deepest * (1 + 1e-9) + 1e-12).all()


@pytest.mark.parametrize("ground", GROUNDS)
def test_the_gap_of_time_stepping_is_that_of_the_loaded_contact(ground):
    """A wheel that carries over two steps is no further out of the ground than a step leads."""
    load, gap = ride("time_stepping", ground)
    carries = (load[:-1] > 0.0) & (load[1:] > 0.0)
    assert carries.any() and np.isfinite(gap).all()
    assert gap[:-1][carries].max() < 1e-3


def test_a_wheel_that_stands_after_its_jump_is_not_in_the_air():
    changes = {"contact.solver": "time_stepping", "contact.mu": 0.8, "run.dt": 0.005}
    result = run(load("ramp-jump", changes))
    assert result.data["contact_force"].sel(direction="normal").values[-1].min() > 100.0
    assert not [line for line in describe_result(result) if "in the air" in line]


@pytest.mark.parametrize("solver", ["events", "time_stepping"])
def test_the_gap_of_a_ball_on_a_bar_is_that_to_the_bar(solver):
    system = draisine.compile("ball_on_bar")
    made = draisine.simulate(
        system,
        draisine.state(system, ball_x=0.1),
        0.05,
        terrain=plane(),
        contact=ContactOptions(solver=solver, mu=0.3),
        numerics=Numerics(dt=0.005),
    )
    ball = made.to_xarray().sel(contact="ball")
    assert_allclose(ball["contact_force"].sel(direction="normal").values[-1], 3.0 * 9.81, rtol=0.01)
    assert_allclose(ball["gap"].values, 0.0, atol=1e-3 if solver == "time_stepping" else 1e-9)
    assert_allclose(ball["contact_point"].sel(axis="z").values, 0.08, atol=1e-3)
    assert made.validity.constraint_drift < 1e-9
