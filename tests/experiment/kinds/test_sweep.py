"""Sweeps: all combinations of values, each equal to a single run."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine.errors import DataError
from draisine.experiment.check import check, compare_expected
from draisine.experiment.report import describe_result, summarise_result, tabulate_result
from draisine.experiment.run import run
from draisine.results import store
from draisine.results.attributes import without_stamp
from draisine.results.queries import parse_query
from draisine.scenario.library import load
from draisine.scenario.overrides import short_names

PUSHES = """
kind = "sweep"
title = "pushes"

[vehicle]
name = "whipple"
parameter_set = "benchmark"

[initial]
forward_speed = 4.6

[run]
until = 0.5
dt = 0.05

[sweep]
outputs = ["maximum lean", "mean rate of steer", "time of maximum lean"]
[sweep.over]
"initial.lean_rate" = [0.1, "10deg"]
"vehicle.parameters.mB" = [80, 85, 90]
"run.integrator" = ["rk4"]
"""


@pytest.fixture
def write_sweep(tmp_path):
    """Return a function that writes a sweep file with replaced texts and additional text at its end."""

    def write(more="", **changes):
        path = tmp_path / "mine.toml"
        text = PUSHES
        for old, new in changes.values():
            assert old in text
            text = text.replace(old, new)
        path.write_text(text + more)
        return str(path)

    return write


def test_runs_of_a_sweep_equal_single_runs(write_sweep):
    data = run(load(write_sweep())).data
    assert dict(data.sizes) == {"lean_rate": 2, "mB": 3, "integrator": 1}
    assert_allclose(data["lean_rate"], [0.1, math.radians(10.0)])
    assert data["lean_rate"].attrs["units"] == "rad/s"
    assert data["mB"].attrs["units"] == "kg"
    assert [data[n].attrs["units"] for n in data.data_vars if n != "outcome"] == [
        "rad", "rad/s", "s",
    ]  # fmt: skip
    loaded = load(
        "mauny2018/passive-stabilisation",
        {
            "initial.lean_rate": "10deg",
            "vehicle.parameters.mB": 90,
            "run": {"until": 0.5, "dt": 0.05, "integrator": "rk4"},
        },
    )
    alone = run(loaded)
    for text in ("maximum lean", "mean rate of steer", "time of maximum lean"):
        ours = float(data[text].isel(lean_rate=1, mB=2, integrator=0))
        assert ours == parse_query(text, alone.system.model).evaluate(alone.bodies)


def test_the_mean_rate_is_the_change_over_the_time(write_sweep):
    result = run(load("mauny2018/passive-stabilisation", {"run.until": 0.5}))
    steer = result.data["shape"].sel(joint="steer").values
    rate = parse_query("mean rate of steer", result.system.model).evaluate(result.bodies)
    assert rate == pytest.approx((steer[-1] - steer[0]) / 0.5, rel=1e-14)


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_stored_sweeps_repeat_bit_for_bit(write_sweep, tmp_path, suffix):
    data = run(load(write_sweep())).data
    path = tmp_path / f"pushes{suffix}"
    store.save(data, path)
    assert without_stamp(store.load(path)).identical(data)
    assert run(load(str(path))).data.identical(data)


def test_sweeps_for_spreadsheets_and_programs(write_sweep, tmp_path):
    result = run(load(write_sweep()))
    store.save(result.data, tmp_path / "pushes.csv")
    lines = (tmp_path / "pushes.csv").read_text().splitlines()
    assert lines[0].split(",")[:4] == ["lean_rate", "mB", "integrator", "maximum lean"]
    assert lines[1].startswith("0.10000000000000001,80,rk4,")
    assert len(lines) == 7
    runs = summarise_result(result)["runs"]
    assert [row["mB"] for row in runs] == [80, 85, 90, 80, 85, 90]
    assert runs[-1]["maximum lean"] == float(result.data["maximum lean"][1, 2, 0])
    assert describe_result(result)[0].startswith("6 runs")
    assert tabulate_result(result) == []


def test_a_run_that_stops_early_keeps_its_outputs(write_sweep):
    """Steps that are too long for the stiff correction throw the bicycle over."""
    stiff = {"a": ('"run.integrator" = ["rk4"]', '"run.drift" = ["project", 0.01]')}
    text = write_sweep(
        **stiff,
        b=("dt = 0.05", 'dt = 0.05\nintegrator = "rk4"'),
        c=('"maximum', '"final time", "maximum'),
    )
    result = run(load(text))
    outcome = result.data["outcome"]
    end = result.data["final time"]
    assert set(outcome.sel(drift="project").values.ravel()) == {"completed"}
    assert set(outcome.sel(drift="0.01").values.ravel()) == {"fell"}
    assert np.all(end.sel(drift="project") == 0.5)
    assert np.all(end.sel(drift="0.01") < 0.3)
    assert np.isfinite(result.data["maximum lean"]).all()
    assert describe_result(result)[-1].startswith("12 runs")


EXPECTED = """
[[expected]]
title = "what it is"
origin = "law"
{how}
at.lean_rate = [0.1, 0.1]
at.mB = [80, 90]
at.integrator = ["rk4", "rk4"]
[expected.values]
"maximum lean" = {values}
"""


def test_numbers_are_compared_within_a_factor_and_with_their_sign(write_sweep):
    ours = (
        run(load(write_sweep()))
        .data["maximum lean"]
        .sel(lean_rate=0.1, integrator="rk4")
        .values[[0, 2]]
    )

    def agrees(factor, values):
        text = EXPECTED.format(how=f"factor = {factor}", values=[float(x) for x in values])
        (finding,) = check(load(write_sweep(text)))[1]
        assert finding.compared == 2
        return finding.agrees

    assert agrees(1.0, ours)
    assert not agrees(1.5, ours * [1.0, 1.6])
    assert not agrees(1.5, ours / [1.6, 1.0])
    assert agrees(1.5, ours * [1.45, 1 / 1.45])
    assert not agrees(9.0, ours * [1.0, -1.0])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"initial.lean_rate"', '"initial.laen_rate"', "Did you mean 'lean_rate'"),
        ("[80, 85, 90]", '[80, "heavy"]', r"mB'\[1\]: 'heavy' is not a number"),
        ('["rk4"]', '["rk5"]', "Did you mean 'rk4'"),
        ('["rk4"]', "[]", "at least 1 item"),
        ('"maximum lean"', '"maximum laen"', "Did you mean 'lean'"),
        (
            '"run.integrator"',
            '"title.integrator"',
            "'title' has the value 'pushes', which is not a table",
        ),
        ("[sweep.over]", "[sweep.ower]", "Did you mean 'over'"),
    ],
)
def test_error_messages_name_the_key(write_sweep, old, new, said):
    with pytest.raises(DataError, match=said):
        load(write_sweep(a=(old, new)))


def test_expected_numbers_must_be_outputs_on_the_grid(write_sweep):
    text = EXPECTED.format(how="atol = 1.0", values=[0.0, 0.0])
    with pytest.raises(DataError, match=r"not in sweep\.outputs"):
        load(write_sweep(text.replace('"maximum lean"', '"final lean"')))
    for old, new in (
        ("[80, 90]", "[80, 91]"),
        ('"rk4", "rk4"', '"rk4", "ab4"'),
        ("at.mB", "at.mC"),
    ):
        with pytest.raises(DataError, match=r"not on the grid|not an axis of the grid"):
            check(load(write_sweep(text.replace(old, new))))


def test_table_2_2_has_order_four_and_the_corrector_drifts_less():
    """Mauny 2018, table 2.2; order four, and 10 to 24 times less drift with the corrector.

    Each of the five printed numbers is disputed by itself.
    """
    result = run(load("mauny2018/drift"))
    data = result.data
    disputed = [f for f in compare_expected(result) if f.origin == "disputed"]
    assert [f.where.partition("dt = ")[2] for f in disputed] == [
        f"{dt:g}" for dt in data["dt"].values
    ]
    assert all(f.agrees and f.compared == 1 for f in disputed)
    rate = np.abs(data["mean rate of gap[front]"])
    orders = np.log(rate.isel(dt=0) / rate.isel(dt=-1)) / np.log(20.0)
    assert_allclose(orders, 4.0, atol=0.1)
    ratio = rate.sel(integrator="ab4") / rate.sel(integrator="abm4")
    assert float(ratio.min()) > 10
    assert float(ratio.max()) < 24


def test_varied_values_with_equal_last_keys_have_their_whole_paths_as_names():
    over = {"initial.torso": [], "vehicle.motions.torso": [], "run.dt": []}
    assert list(short_names(over).values()) == ["initial.torso", "vehicle.motions.torso", "dt"]
