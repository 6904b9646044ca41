"""A run on the plane needs NumPy and LLVM, and nothing else that takes long to import."""

import subprocess
import sys

import pytest

CODE = """
import sys
import draisine
disc = draisine.compile("rolling_disc")
start = draisine.state(disc, forward_speed=2.0, yaw_rate=0.5)
assert draisine.simulate(disc, start, 0.1).outcome == "completed"
heavy = {"scipy", "xarray", "pandas", "matplotlib", "mpmath", "zarr", "netCDF4", "pydantic"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""

SCENARIO = """
import sys
import draisine
result = draisine.run("{name}", changes={{"run.until": 0.1}})
assert result.data.sizes["time"] > 1
{more}
heavy = {{"scipy", "dask", "mpmath", "zarr", "netCDF4", {heavy!r}}}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""


def _carry_out(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_plane_needs_nothing_heavy():
    _carry_out(CODE)


@pytest.mark.parametrize("name", ["passive-stabilisation", "ramp-jump"])
def test_a_scenario_needs_datasets_and_no_more(name):
    _carry_out(SCENARIO.format(name=name, more="", heavy="matplotlib"))


def test_a_figure_needs_matplotlib_and_no_more():
    """Where Dask is installed, xarray imports it for the first number that it selects."""
    draw = "draisine.plot(result)"
    _carry_out(SCENARIO.format(name="passive-stabilisation", more=draw, heavy="matplotlib.pyplot"))
