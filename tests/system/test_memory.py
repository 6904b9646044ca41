"""The memory of a process does not grow: a part of `bench/memory.py` in its own process."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_simulations_free_their_memory():
    script = Path(__file__).parents[2] / "bench" / "memory.py"
    command = [sys.executable, str(script), "--simulations", "400", "--laws", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "400 simulations" in done.stdout
