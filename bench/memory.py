"""Does memory grow? `python bench/memory.py [--simulations 10000] [--laws 500]`.

Simulations of all kinds by turns (smooth, many at once, on terrain), then runs under laws that are all
different, each traced and compiled. The process's resident memory is read after a fifth of each, when
everything is loaded and all that is kept is full, and at the end. It exits with 1 where it has grown
by more than 5 %.
"""

import argparse
import gc
import resource
import sys
import tempfile
from pathlib import Path

import draisine
from draisine.codegen.cache import Store
from draisine.simulation.many import simulate_many
from draisine.terrain import kerb

BOUND = 0.05


def resident():
    """Return the megabytes of this process that are in memory."""
    gc.collect()
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize() / 1e6
    except OSError:  # no /proc: the most that there ever was
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def simulations():
    """Return a function that makes the k-th simulation."""
    bicycle, disc = draisine.compile("whipple"), draisine.compile("rolling_disc")
    starts = [draisine.state(bicycle, forward_speed=4.0 + 0.1 * k, lean_rate=0.2) for k in range(8)]
    rolling = draisine.state(disc, forward_speed=2.0)

    def simulate(k):
        if k % 50 == 0:
            draisine.simulate(disc, rolling, 0.5, terrain=kerb(0.9, -0.05))
        elif k % 10 == 0:
            simulate_many(bicycle, starts, 0.05)
        elif k % 10 == 5:
            machine = bicycle.with_parameters(mB=80.0 + k % 100)
            draisine.simulate(machine, starts[k % 8], 0.05).to_xarray()
        else:
            draisine.simulate(bicycle, starts[k % 8], 0.2)

    return simulate


def laws(folder):
    """Return a function that runs a bicycle under the k-th law; what is kept on disk helps none."""
    bicycle = draisine.compile("whipple", store=Store(folder))
    start = draisine.state(bicycle, forward_speed=4.0, lean_rate=0.2)

    def simulate(k):
        def law(readings, z, gain=1.0 + k):
            return {"steer": -gain * readings.lean_rate}, ()

        draisine.simulate(bicycle, start, 0.05, law=law)

    return simulate


def growth(title, repeat, count):
    """Repeat something and return by which part memory has grown since a fifth of it."""
    fifth = max(1, count // 5)
    for k in range(fifth):
        repeat(k)
    before = resident()
    for k in range(fifth, count):
        repeat(k)
    after = resident()
    print(f"{count} {title}: {before:.1f} MB after {fifth}, {after:.1f} MB at the end", flush=True)
    return after / before - 1.0


def main(given=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("?")[0])
    parser.add_argument("--simulations", type=int, default=10_000)
    parser.add_argument("--laws", type=int, default=500)
    asked = parser.parse_args(given)
    with tempfile.TemporaryDirectory() as folder:
        found = [
            growth("simulations", simulations(), asked.simulations),
            growth("laws", laws(Path(folder)), asked.laws),
        ]
    print(f"grown by {found[0]:+.1%} and {found[1]:+.1%}, bound {BOUND:.0%}")
    return int(max(found) > BOUND)


if __name__ == "__main__":
    sys.exit(main())
