"""Compare the bicycle of draisine with other programs: `python bench/peers.py [--write] [--only NAME
...] [--repeat N]`.

Each file of `bench/beside` is a peer; peers whose package is not installed are skipped and named. The
set-up time of a peer is the CPU time of a new process with an empty cache: imports, model, code
generation, compilation, and the first result. Then all peers do each job in turns in one process; the
shortest CPU time counts. The error is that of the steer angle after 5 s, compared with DOP853 at 1e-13.
`--write` puts table and plot on the comparison page. Ratios are comparable, absolute times depend on the
computer.
"""

import argparse
import importlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from beside._work import Work, describe_bicycle

HERE = Path(__file__).parent
PAGE, PLOT = HERE.parent / "docs" / "peers.md", HERE.parent / "docs" / "figures" / "peers.svg"
ABSENT = {
    "Jiminy": "version 1.8.13 needs NumPy below 2.3, which excludes the others; it reads robots from "
    "URDF files"
}
"""Peers without a file, and why."""
KINDS = {
    "rate": ("right-hand side on two wheels, compiled", 1e6, "us"),
    "flight": ("right-hand side in flight, called from Python", 1e6, "us"),
    "run": ("5 s of motion", 1e3, "ms"),
    "lanes": ("5 s of motion, per bicycle of many", 1e3, "ms"),
    "jump": ("ramp jump, 1.5 s", 1e3, "ms"),
    "eigenvalues": ("eigenvalues at 400 speeds", 1e3, "ms"),
}
"""Title, factor and unit of each kind of job."""
MIN_TURN_TIME = 0.02
"""CPU time (s) of a turn; short jobs are repeated until it has passed."""
MAX_JOB_TIME = 2.0
"""CPU time (s) of all turns of a peer for one kind of job, after its first three turns."""


distributions = cache(importlib.metadata.packages_distributions)


@dataclass
class Peer:
    """One program: its module, its jobs and their results."""

    module: object
    setup: float = 0.0  # CPU time (s) from the start of a process to the first result
    jobs: dict = field(default_factory=dict)
    times: dict = field(default_factory=dict)
    errors: dict = field(default_factory=dict)

    @cached_property
    def name(self):
        """Name with version."""
        found = distributions().get(self.module.MODULE, [getattr(self.module, "DISTRIBUTION", "")])
        version = importlib.metadata.version(found[0]) if found[0] else ""
        head, comma, rest = self.module.NAME.partition(",")
        return f"{head} {version}".strip() + comma + rest


def measure_setup(stem, description):
    """Return the set-up time (s) of a peer in a new process with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.run(
            [sys.executable, __file__, "--setup", stem],
            input=json.dumps(description),
            env=os.environ | {"DRAISINE_CACHE": folder},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    return float(process.stdout.split()[-1])


def print_setup(stem):
    """Prepare one peer, compute its first result and print the CPU time (s) of this process."""
    description = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as folder:
        work = Work(Path(folder), description)
        work.repeat = 1
        jobs = importlib.import_module(f"beside.{stem}").prepare(work)
        jobs.get("run", next(iter(jobs.values())))()
        # Compilers that a peer starts are child processes
        usage = [
            resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        ]
        print(sum(each.ru_utime + each.ru_stime for each in usage))


def gather(only, work):
    """Return the installed peers, ready to run; print the others."""
    out = []
    for path in sorted((HERE / "beside").glob("[!_]*.py")):
        if only and path.stem not in only:
            continue
        needed = path.read_text().split("MODULE, NAME = ", 1)[1].split('"')[1]
        if importlib.util.find_spec(needed) is None:
            print(f"skipped: {path.stem} ({needed} is not installed)", flush=True)
            continue
        try:
            peer = Peer(importlib.import_module(f"beside.{path.stem}"))
        except ModuleNotFoundError as error:
            print(f"skipped: {path.stem} ({error.name} is not installed)", flush=True)
            continue
        peer.setup = measure_setup(path.stem, work.description)
        peer.jobs = peer.module.prepare(work)
        out.append(peer)
        print(f"set up in {peer.setup:.2f} s: {peer.name}", flush=True)
    return sorted(out, key=lambda peer: peer.module.MODULE != "draisine")


def clock(job):
    """Return the CPU time (s) of one call and its result.

    Short jobs are repeated, so that all find warm processor caches. The mean of a turn counts, because
    the CPU time of threads is recorded late and single calls would seem shorter than they are.
    """
    count = 0
    begun = time.process_time()
    while not count or time.process_time() - begun < MIN_TURN_TIME:
        result = job()
        count += 1
    return (time.process_time() - begun) / count, result


def take_turns(peers, work, repeat):
    """Store the shortest CPU time of each job, and the error of the steer angle."""
    counts = {"rate": work.repeat, "flight": work.repeat, "lanes": work.many}
    for kind in KINDS:
        chosen = [peer for peer in peers if kind in peer.jobs]
        total = dict.fromkeys(map(id, chosen), 0.0)
        for turn in range(repeat):
            for peer in chosen:
                if turn > 2 and total[id(peer)] > MAX_JOB_TIME:
                    continue
                begun = time.process_time()
                spent, result = clock(peer.jobs[kind])
                total[id(peer)] += time.process_time() - begun
                best = peer.times.get(kind, np.inf)
                peer.times[kind] = min(best, spent / counts.get(kind, 1))
                if kind in ("run", "lanes"):
                    peer.errors[kind] = float(np.max(np.abs(result - work.reference)))
        for peer in chosen:
            print(f"{kind:7s} {peer.times[kind] * 1e6:12.3f} us  {peer.name}", flush=True)


def table(peers):
    """Return the table as Markdown."""
    heads = [f"{title}, {unit}" for title, _, unit in KINDS.values()]
    lines = ["| program | set-up, CPU s | " + " | ".join(heads) + " | error of steer, rad |"]
    lines.append("|---" * (len(KINDS) + 3) + "|")
    for peer in peers:
        cells = [
            f"{peer.times[kind] * scale:.3g}" if kind in peer.times else ""
            for kind, (_, scale, _) in KINDS.items()
        ]
        error = f"{peer.errors['run']:.0e}" if "run" in peer.errors else ""
        lines.append(f"| {peer.name} | {peer.setup:.2g} | " + " | ".join(cells) + f" | {error} |")
    notes = [f"* {peer.name}: {peer.module.NOTE}." for peer in peers]
    notes += [f"* Without a number: {name}; {why}." for name, why in ABSENT.items()]
    return "\n".join([*lines, "", *notes])


def plot(peers, path):
    """Draw the times of 5 s of motion, with their errors."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    words = {"run": "", "lanes": ", of many"}
    bars = [
        (peer.times[kind] * 1e3, peer.name + words[kind], peer.errors[kind], peer.module.MODULE)
        for kind in words
        for peer in peers
        if kind in peer.times
    ]
    bars.sort(key=lambda bar: -bar[0])
    figure, axes = plt.subplots(figsize=(8.0, 0.36 * len(bars) + 0.9), layout="constrained")
    colours = ["C0" if bar[3] == "draisine" else "0.7" for bar in bars]
    drawn = axes.barh([bar[1] for bar in bars], [bar[0] for bar in bars], color=colours)
    axes.bar_label(drawn, [f"{bar[0]:.2g} ms, error {bar[2]:.0e}" for bar in bars], padding=3)
    axes.set(xscale="log", xlabel="processor time of 5 s of motion, ms")
    axes.margins(x=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})


def main():
    """Run the peers."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--write", action="store_true", help="write table and plot of the page")
    parser.add_argument("--only", nargs="*", default=[], help="files of bench/beside")
    parser.add_argument("--repeat", type=int, default=50, help="turns at most")
    parser.add_argument("--setup", help="print the set-up time of one peer; reads JSON from stdin")
    options = parser.parse_args()
    if options.setup:
        print_setup(options.setup)
        return
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DRAISINE_CACHE"] = folder  # an empty cache
        work = Work(Path(folder), describe_bicycle())
        print(f"steer angle after 5 s: {work.reference:.12g} rad", flush=True)
        peers = gather(options.only, work)
        take_turns(peers, work, options.repeat)
    found = table(peers)
    print(found)
    if options.write:
        heading = f"Measured by `bench/peers.py` on {platform.machine()}, Python {platform.python_version()}."
        picture = "```{image} figures/peers.svg\n:alt: time against error for 5 s of motion\n```"
        PAGE.write_text(f"{heading}\n\n{found}\n\n{picture}\n")
        plot(peers, PLOT)


if __name__ == "__main__":
    sys.exit(main())
