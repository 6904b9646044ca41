"""Designs of sweeps: number and values of their runs."""

import numpy as np
import pytest

from draisine.errors import DataError
from draisine.experiment.run import run
from draisine.experiment.sweep.designs import make_design
from draisine.scenario.library import load

DISC = """
kind = "sweep"
title = "discs"
vehicle.name = "rolling_disc"
initial = { forward_speed = 2.0 }
run = { until = 0.1, dt = 0.05, integrator = "rk4" }
[sweep]
outputs = ["final lean", "maximum forward_speed"]
"""

SPEEDS = "initial.forward_speed"
MASS = "vehicle.parameters.mass"


@pytest.fixture
def discs(tmp_path):
    """Return a sweep over the disc, with more text in its last table."""

    def write(more):
        path = tmp_path / "discs.toml"
        path.write_text(DISC + more)
        return load(str(path))

    return write


def columns(loaded):
    """Return the values of all runs, after a check that they do not depend on the requested interval."""
    design = make_design(loaded.scenario.sweep, loaded)
    complete = design.columns(0, design.count)
    parts = [design.columns(0, 1), design.columns(1, design.count + 7)]
    for path, values in complete.items():
        assert np.concatenate([interval[path] for interval in parts]).tolist() == values.tolist()
    return {path: values.tolist() for path, values in complete.items()}


BETWEEN = f"""
[sweep.between]
"{SPEEDS}" = {{ low = 1.0, high = 3.0 }}
"{MASS}" = {{ low = 2.0, high = 4.0 }}
"""


def test_a_grid_has_all_combinations_and_varies_the_last_value_fastest(discs):
    text = f"""
[sweep.over]
"{SPEEDS}" = [1.0, 2.0]
[sweep.between]
"{MASS}" = {{ low = 2.0, high = 4.0, count = 3 }}
"""
    assert columns(discs(text)) == {SPEEDS: [1, 1, 1, 2, 2, 2], MASS: [2, 3, 4, 2, 3, 4]}


def test_a_list_pairs_the_kth_values(discs):
    loaded = discs(
        f'design = "list"\n[sweep.over]\n"{SPEEDS}" = [1.0, 2.0]\n"{MASS}" = [3.0, 4.0]\n'
    )
    assert columns(loaded) == {SPEEDS: [1, 2], MASS: [3, 4]}
    data = run(loaded).data
    assert dict(data.sizes) == {"run": 2}
    assert data["mass"].values.tolist() == [3.0, 4.0]
    assert np.allclose(data["maximum forward_speed"], [1.0, 2.0])  # upright, a disc rolls on


def test_one_at_a_time_varies_about_the_values_of_the_scenario(discs):
    loaded = discs(
        f'design = "one-at-a-time"\n[sweep.over]\n"{SPEEDS}" = [1.0, 3.0]\n"{MASS}" = [9.0]\n'
    )
    m = loaded.plan.system.parameters["mass"]
    assert columns(loaded) == {SPEEDS: [2.0, 1.0, 3.0, 2.0], MASS: [m, m, m, 9.0]}


def test_one_at_a_time_needs_a_nominal_value(discs):
    loaded = discs('design = "one-at-a-time"\n[sweep.over]\n"initial.lean" = [0.1]\n')
    with pytest.raises(DataError, match=r"write initial\.lean into the scenario"):
        columns(loaded)


def test_a_latin_hypercube_has_one_point_in_every_layer(discs):
    values = columns(discs(f'design = "latin-hypercube"\ncount = 10{BETWEEN}'))
    for path, low in ((SPEEDS, 1.0), (MASS, 2.0)):
        layers = np.floor((np.array(values[path]) - low) / 2.0 * 10).astype(int)
        assert sorted(layers) == list(range(10))
    other = columns(discs(f'design = "latin-hypercube"\ncount = 10\nseed = 1{BETWEEN}'))
    assert other != values


def test_a_large_latin_hypercube_has_uncorrelated_axes(discs):
    """For independent permutations of n layers, the correlation coefficient is normally distributed with
    standard deviation 1 / sqrt(n), and the statistic of a 10 by 10 contingency table is chi-squared with
    81 degrees of freedom (mean 81, standard deviation 12.7).
    """
    n = 100_003
    loaded = discs(f'design = "latin-hypercube"\ncount = {n}{BETWEEN}')
    design = make_design(loaded.scenario.sweep, loaded)
    parts = [design.columns(k, k + 20_001) for k in range(0, n, 20_001)]
    x, y = (np.concatenate([interval[path] for interval in parts]) for path in (SPEEDS, MASS))
    layers = [np.floor((z - low) / 2.0 * n).astype(int) for z, low in ((x, 1.0), (y, 2.0))]
    assert all((np.sort(side) == np.arange(n)).all() for side in layers)
    assert abs(np.corrcoef(*layers)[0, 1]) < 5.0 / np.sqrt(n)
    counts = np.histogram2d(*layers, bins=10)[0]
    assert abs(((counts - n / 100) ** 2 / (n / 100)).sum() - 81.0) < 5 * 12.7
    steps = np.histogram(np.diff(layers[0]) % n, bins=10)[0]  # neighbours are unrelated, too
    assert abs(((steps - n / 10) ** 2 / (n / 10)).sum() - 9.0) < 6 * np.sqrt(18)


def test_sobol_points_fill_every_box_of_equal_volume(discs):
    """16 points of a digital (t, 4, 2)-net with t = 0: one in each elementary box of area 1/16."""
    values = columns(discs(f'design = "sobol"\ncount = 16{BETWEEN}'))
    x = (np.array([values[SPEEDS], values[MASS]]) - [[1.0], [2.0]]) / 2.0
    for across in (1, 2, 4, 8, 16):
        boxes = np.floor(x * [[across], [16 // across]]).astype(int)
        assert len(set(map(tuple, boxes.T))) == 16


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no value is varied"),
        (f'design = "sobol"\ncount = 12{BETWEEN}', "the count must be a power of two: 8 or 16"),
        (f'design = "sobol"{BETWEEN}', "needs `between` and a count"),
        (f"count = 4{BETWEEN}", "needs a count in each table"),
        (
            f'design = "list"\n[sweep.over]\n"{SPEEDS}" = [1, 2]\n"{MASS}" = [1]\n',
            "equal numbers of values",
        ),
        (BETWEEN.replace("high = 4.0", 'high = "x", count = 2'), "'x' is not a number"),
        (
            f'design = "sobol"\ncount = 4{BETWEEN.replace("3.0", "0.5")}',
            "low must be smaller than high",
        ),
        (
            f'design = "sobol"\ncount = 4{BETWEEN.replace("mass", "maas")}',
            r"sweep\.between\.'vehicle\.parameters\.maas'\.low.*no such parameter",
        ),
    ],
)
def test_invalid_scenarios_are_rejected(discs, text, said):
    with pytest.raises(DataError, match=said):
        discs(text)


def test_expected_numbers_need_a_grid(discs):
    more = """
[[expected]]
title = "x"
origin = "law"
at.forward_speed = [1.0]
at.mass = [2.0]
[expected.values]
"final lean" = [0.0]
"""
    with pytest.raises(DataError, match="needs the design 'grid'"):
        discs(f'design = "sobol"\ncount = 4{BETWEEN}{more}')
