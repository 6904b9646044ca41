"""How long commands take from their start, against importing what every plot needs: `python bench/start.py
[--repeat N]`.

Processor time of whole processes, the shortest of several in turns, as ratios to `import numpy, xarray,
matplotlib.pyplot`. "First" has nothing kept, neither programs nor machine code; bytecode is kept always.
Last, what later runs read of the user's store, and how long one read of the same bytes would take.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

COMMAND = str(Path(sys.executable).with_name("draisine"))
PLANE, TERRAIN = "mauny2018/passive-stabilisation", "mauny2018/ramp-jump"
SIMULATE = """
import draisine
bicycle = draisine.compile("whipple")
draisine.simulate(bicycle, draisine.state(bicycle, forward_speed=4.6, lean_rate=0.5), 5.0)
"""
READS = """
import sys, time
from draisine.cli import main
from draisine.codegen.cache import Store
read, found, spent = Store.get, {}, 0.0
def get(store, key):
    global spent
    begun = time.process_time()
    found[key] = read(store, key) or b""
    spent += time.process_time() - begun
    return found[key] or None
Store.get = get
main(["run", sys.argv[1], "--json"])
whole, store = b"".join(found.values()), Store()
store.put("together", whole)
begun = time.process_time()
read(store, "together")
once = time.process_time() - begun
print(len(found), len(whole), spent, once, file=sys.stderr)
"""
BASE = [sys.executable, "-c", "import numpy, xarray, matplotlib.pyplot"]
JOBS = {
    "imports": (BASE, True, None),
    "draisine --help": ([COMMAND, "--help"], True, None),
    "draisine list": ([COMMAND, "list"], True, None),
    "first run with figure": ([COMMAND, "run", PLANE, "--plot", "a.png"], False, 3.5),
    "later run with figure": ([COMMAND, "run", PLANE, "--plot", "a.png"], True, 2.2),
    "first run on a terrain": ([COMMAND, "run", TERRAIN], False, 5.0),
    "later run on a terrain": ([COMMAND, "run", TERRAIN], True, None),
    "first compile, state, simulate": ([sys.executable, "-c", SIMULATE], False, None),
    "later compile, state, simulate": ([sys.executable, "-c", SIMULATE], True, None),
}
"""What is carried out, whether with what was kept, and how long it may take."""


def start(command, store):
    """Carry out a command in an empty folder; return what it left."""
    own = {k: x for k, x in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    own |= {"DRAISINE_CACHE": store, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(command, cwd=folder, env=own, check=True, capture_output=True)


def spend(command, store):
    """Return the processor's seconds of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start(command, store)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def reads(scenario, store, repeat):
    """Return how many entries and bytes a later run reads, and the least seconds for them, one by one and
    together.
    """
    command = [sys.executable, "-c", READS, scenario]
    told = [start(command, store).stderr.split() for _ in range(repeat)]
    entries, size, *_ = told[0]
    return int(entries), int(size), *(min(float(t[k]) for t in told) for k in (2, 3))


def main():
    """Print the table; return 1 where a ratio is beyond its bound."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--repeat", type=int, default=5, help="turns")
    repeat = parser.parse_args().repeat
    best, slow = dict.fromkeys(JOBS, float("inf")), 0
    with tempfile.TemporaryDirectory() as kept:
        for command, warm, _ in JOBS.values():
            if warm:
                spend(command, kept)
        for _ in range(repeat):
            for name, (command, warm, _) in JOBS.items():
                with tempfile.TemporaryDirectory() as empty:
                    best[name] = min(best[name], spend(command, kept if warm else empty))
        stored = {name: reads(name, kept, repeat) for name in (PLANE, TERRAIN)}
    for name, (_, _, bound) in JOBS.items():
        ratio = best[name] / best["imports"]
        slow += bound is not None and ratio > bound
        told = "" if bound is None else f"  (at most {bound})"
        print(f"{name:32s} {best[name]:6.2f} s {ratio:6.2f}{told}")
    for name, (entries, size, apart, once) in stored.items():
        told = f"{1e3 * apart:.1f} ms one by one, {1e3 * once:.1f} ms together"
        print(f"{name}: {entries} entries of the store, {size / 1e3:.0f} kB: {told}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
