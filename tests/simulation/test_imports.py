"""A run on the plane needs NumPy and LLVM, and nothing else that takes long to import."""

import subprocess
import sys

CODE = """
import sys
import draisine
disc = draisine.compile("rolling_disc")
start = draisine.state(disc, forward_speed=2.0, yaw_rate=0.5)
assert draisine.simulate(disc, start, 0.1).outcome == "completed"
heavy = {"scipy", "xarray", "pandas", "matplotlib", "mpmath", "zarr", "netCDF4", "pydantic"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""


def test_the_plane_needs_nothing_heavy():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
