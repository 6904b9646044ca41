"""Sweeps over all kinds of values: terrains, laws, inputs, impact models; jumps and walkers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.experiment.sweep.chunks import Runner
from draisine.experiment.sweep.driver import make_tasks
from draisine.scenario.library import load, validate_scenario
from draisine.scenario.overrides import override


def sweep_of(name, over, outputs, **changes):
    """Return a sweep of a scenario over values by key path."""
    content = dict(load(name, changes or None).content)
    content.pop("expected", None)
    content |= {"kind": "sweep", "sweep": {"over": over, "outputs": outputs}}
    return validate_scenario("mine", "mine.toml", content)


def test_jumps_with_varied_terrain_and_mass_run_together():
    """The wheels leave the lip at the times of an independent computation, for any drop behind it; from
    there they fall freely: the time to the ground grows with its depth.
    """
    asked = ["lift-off 1 of front time", "lift-off 1 of rear time", "collision 1 of rear time"]
    mass = load("mauny2018/ramp-jump").plan.system.parameters["mB"]
    over = {"terrain.drop": [0.5, 0.8], "vehicle.parameters.mB": [mass, 0.7 * mass]}
    loaded = sweep_of("mauny2018/ramp-jump", over, asked, **{"run.until": 1.3})
    runner = Runner(loaded)
    assert make_tasks(runner, [0]) == [(0, 4)]
    data = draisine.sweep(loaded).data
    assert_allclose(data[asked[0]][:, 0], 0.41454808344365957, atol=1e-9)
    assert_allclose(data[asked[1]][:, 0], 0.5294645653259824, atol=1e-9)
    assert float(data[asked[2]][0, 0]) == pytest.approx(1.049678058823841, abs=1e-9)
    assert (data[asked[2]][1] > data[asked[2]][0] + 0.05).all()
    assert set(data["outcome"].values.ravel()) == {"completed"}


def test_walkers_on_varied_slopes_run_one_by_one():
    """On a slope of three degrees, the first heel strike is at the time of an independent computation."""
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


def test_constants_of_laws_can_be_varied():
    """Each run equals the single run with its constant in the scenario."""
    gains = [0.0, 10.0, 40.0]
    over = {"law[0].rate_gain": gains}
    data = draisine.sweep(
        validate_scenario("a", "a.toml", LAWS | {"sweep": LAWS["sweep"] | {"over": over}})
    ).data
    plain = {name: LAWS[name] for name in LAWS if name != "sweep"} | {"kind": "run"}
    for gain, lean in zip(gains, data["final lean"].values, strict=True):
        law = [{"name": "steer_into_lean", "lean_gain": 0.0, "rate_gain": gain}]
        single = draisine.run(validate_scenario("a", "a.toml", plain | {"law": law}))
        assert lean == pytest.approx(float(single.data["lean"][-1]), rel=1e-12)
    assert len(np.unique(data["final lean"])) == 3


@pytest.mark.parametrize(
    ("over", "side_by_side"),
    [
        ({"law[0].rate_gain": [2.0, 10.0, 40.0]}, True),
        ({"law[0].rate_gain": [2.0, 40.0], "inputs[0].value": [0.1, -0.1]}, True),
        ({"inputs[1].amplitude": [0.5, 1.0], "initial.lean_rate": [0.1, 0.2]}, True),
        ({"law[0].delay": [0.05, 0.1]}, False),  # how it is written depends on it
        ({"inputs[0].start": [0.1, 0.2]}, False),  # when it jumps does
    ],
)
def test_constants_of_laws_and_inputs_share_lanes(over, side_by_side):
    """The constants become states with zero rates; each run equals a single run."""
    signals = [
        {"shape": "step", "input": "steer", "value": 0.1, "start": 0.1},
        {"shape": "sine", "input": "rear_wheel", "amplitude": 1.0, "frequency": 2.0},
    ]
    content = LAWS | {"inputs": signals, "sweep": LAWS["sweep"] | {"over": over}}
    loaded = validate_scenario("a", "a.toml", content)
    runner = Runner(loaded)
    assert (
        set(runner.free_constants) == {path for path in over if path[0] in "li" and "[" in path}
    ) == (side_by_side)
    flat = draisine.sweep(loaded, workers=1).data.stack(run=[...])
    for k in (0, flat.sizes["run"] - 1):
        columns = runner.design.columns(k, k + 1)
        changes = {path: float(x[0]) for path, x in columns.items()}
        plain = {name: content[name] for name in content if name != "sweep"} | {"kind": "run"}
        single = draisine.run(validate_scenario("a", "a.toml", override(plain, changes))).data
        for name in ("lean", "steer"):
            assert float(flat[f"final {name}"][k]) == pytest.approx(
                float(single[name][-1]), rel=1e-11
            )
    assert len(np.unique(flat["final lean"])) == flat.sizes["run"]


def test_lqr_is_designed_for_each_run():
    """LQR is designed about the speed of each run, not about that of the scenario."""
    law = [{"name": "lqr", "weights": {"lean": 1.0}, "costs": {"steer": 0.1}}]
    over = {"initial.forward_speed": [2.0, 5.0]}
    content = LAWS | {"law": law, "sweep": LAWS["sweep"] | {"over": over}}
    data = draisine.sweep(validate_scenario("a", "a.toml", content)).data
    plain = {name: content[name] for name in content if name != "sweep"} | {"kind": "run"}
    for speed, lean in zip(over["initial.forward_speed"], data["final lean"].values, strict=True):
        start = plain["initial"] | {"forward_speed": speed}
        single = draisine.run(validate_scenario("a", "a.toml", plain | {"initial": start}))
        assert lean == pytest.approx(float(single.data["lean"][-1]), rel=1e-12)
