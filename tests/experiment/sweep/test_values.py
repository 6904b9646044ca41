"""Sweeps over whatever a scenario says: terrains, laws, inputs, impacts; jumps and walkers one by one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.experiment.sweep.chunks import Runner
from draisine.experiment.sweep.driver import tasks_of
from draisine.scenario.library import accept, load


def sweep_of(name, over, outputs, **changes):
    """Return a sweep of a scenario over values by key path."""
    content = dict(load(name, changes or None).content)
    content.pop("expected", None)
    content |= {"kind": "sweep", "sweep": {"over": over, "outputs": outputs}}
    return accept("mine", "mine.toml", content)


def test_jumps_go_one_by_one_over_a_terrain_and_a_mass():
    """The wheels leave the lip when they did (independent computation), however deep it is behind; from
    there they fall freely: the time to the ground grows with its depth.
    """
    asked = ["lift-off 1 of front time", "lift-off 1 of rear time", "collision 1 of rear time"]
    mass = load("mauny2018/ramp-jump").plan.system.parameters["mB"]
    over = {"terrain.drop": [0.5, 0.8], "vehicle.parameters.mB": [mass, 0.7 * mass]}
    loaded = sweep_of("mauny2018/ramp-jump", over, asked, **{"run.until": 1.3})
    runner = Runner(loaded)
    assert not runner.lanes
    assert tasks_of(runner, [0]) == [(0, 1), (1, 2), (2, 3), (3, 4)]
    data = draisine.sweep(loaded).data
    assert_allclose(data[asked[0]][:, 0], 0.41454808344365957, atol=1e-9)
    assert_allclose(data[asked[1]][:, 0], 0.5294645653259824, atol=1e-9)
    assert float(data[asked[2]][0, 0]) == pytest.approx(1.049678058823841, abs=1e-9)
    assert (data[asked[2]][1] > data[asked[2]][0] + 0.05).all()
    assert set(data["outcome"].values.ravel()) == {"completed"}


def test_walkers_go_one_by_one_over_a_slope():
    """Down three degrees the first foot strikes when it did (independent computation)."""
    asked = ["collision 1 of right time"]
    over = {"vehicle.parameters.slope": ["2deg", "3deg"]}
    data = draisine.sweep(sweep_of("walkers/compass-walks", over, asked, **{"run.until": 0.9})).data
    assert float(data[asked[0]][1]) == pytest.approx(0.7343463911587196, abs=1e-9)
    assert float(data[asked[0]][0]) > float(data[asked[0]][1])


LAWS = {
    "kind": "sweep",
    "title": "laws",
    "vehicle": {"name": "whipple"},
    "initial": {"forward_speed": 3.0, "lean_rate": 0.1},
    "run": {"until": 0.5, "dt": 0.02, "integrator": "rk4"},
    "law": [{"name": "steer_into_lean", "lean_gain": 0.0, "rate_gain": 10.0}],
    "sweep": {"over": {}, "outputs": ["final lean", "final steer"]},
}


def test_constants_of_laws_differ():
    """Each run is the one that its constant alone gives; the gains stand in the file."""
    gains = [0.0, 10.0, 40.0]
    over = {"law[0].rate_gain": gains}
    data = draisine.sweep(
        accept("a", "a.toml", LAWS | {"sweep": LAWS["sweep"] | {"over": over}})
    ).data
    plain = {name: LAWS[name] for name in LAWS if name != "sweep"} | {"kind": "run"}
    for gain, lean in zip(gains, data["final lean"].values, strict=True):
        law = [{"name": "steer_into_lean", "lean_gain": 0.0, "rate_gain": gain}]
        one = draisine.run(accept("a", "a.toml", plain | {"law": law}))
        assert lean == pytest.approx(float(one.data["lean"][-1]), rel=1e-12)
    assert len(np.unique(data["final lean"])) == 3
