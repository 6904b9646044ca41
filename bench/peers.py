"""The bicycle beside its peers, on the same work, in turns in one process: `python bench/peers.py
[--write] [--only NAME ...] [--repeat N]`.

Every file of `bench/beside` is a peer; one whose package is not installed is skipped, by name. Each is
prepared (its set-up, timed once), then all do each job in turns; the shortest processor time counts,
and the error of the steer angle after 5 s against DOP853 at 1e-13. `--write` puts table and plot on the
comparison page; nothing there is typed by hand. Ratios count, absolute times are those of the machine
at hand.
"""

import argparse
import importlib
import importlib.metadata
import importlib.util
import os
import platform
import sys
import tempfile
import time
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from beside._work import Work

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
"""What is measured, in which unit."""
TURN, PATIENCE = 0.02, 2.0
"""So long, in seconds, is a turn at least, and so much a peer may take for one kind of job after three
turns."""


distributions = cache(importlib.metadata.packages_distributions)


@dataclass
class Peer:
    """One peer: what it is called, its jobs, and what came out."""

    module: object
    setup: float = 0.0
    jobs: dict = field(default_factory=dict)
    times: dict = field(default_factory=dict)
    errors: dict = field(default_factory=dict)

    @cached_property
    def name(self):
        """Its name with its version."""
        found = distributions().get(self.module.MODULE, [getattr(self.module, "DISTRIBUTION", "")])
        version = importlib.metadata.version(found[0]) if found[0] else ""
        head, comma, rest = self.module.NAME.partition(",")
        return f"{head} {version}".strip() + comma + rest


def gather(only, work):
    """Return the peers that are installed, prepared; say which are not."""
    out = []
    for path in sorted((HERE / "beside").glob("[!_]*.py")):
        if only and path.stem not in only:
            continue
        needed = path.read_text().split("MODULE, NAME = ", 1)[1].split('"')[1]
        if importlib.util.find_spec(needed) is None:
            print(f"skipped: {path.stem} ({needed} is not installed)", flush=True)
            continue
        begun = time.perf_counter()
        try:
            peer = Peer(importlib.import_module(f"beside.{path.stem}"))
        except ModuleNotFoundError as error:
            print(f"skipped: {path.stem} ({error.name} is not installed)", flush=True)
            continue
        peer.jobs = peer.module.prepare(work)
        peer.setup = time.perf_counter() - begun
        out.append(peer)
        print(f"prepared in {peer.setup:.2f} s: {peer.name}", flush=True)
    return sorted(out, key=lambda peer: peer.module.MODULE != "draisine")


def clock(job):
    """Return the processor time of one call, in seconds, and what came back: short jobs are called some
    times in a row, so that none has to warm the caches for the others. The mean of a turn counts, not
    its shortest call: what threads spend is told late, and single calls seem shorter than they are.
    """
    count, begun = 0, time.process_time()
    while not count or time.process_time() - begun < TURN:
        result = job()
        count += 1
    return (time.process_time() - begun) / count, result


def take_turns(peers, work, repeat):
    """Fill in the shortest times of all jobs, and the error of the steer angle."""
    counts = {"rate": work.repeat, "flight": work.repeat, "lanes": work.many}
    for kind in KINDS:
        chosen = [peer for peer in peers if kind in peer.jobs]
        total = dict.fromkeys(map(id, chosen), 0.0)
        for turn in range(repeat):
            for peer in chosen:
                if turn > 2 and total[id(peer)] > PATIENCE:
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
    lines = ["| program | set-up, s | " + " | ".join(heads) + " | error of steer, rad |"]
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
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DRAISINE_CACHE"] = folder  # nothing is kept from before
        work = Work(Path(folder))
        print(f"steer angle after 5 s: {work.reference:.12g} rad", flush=True)
        peers = gather(options.only, work)
        take_turns(peers, work, options.repeat)
    found = table(peers)
    print(found)
    if options.write:
        told = f"Measured by `bench/peers.py` on {platform.machine()}, Python {platform.python_version()}."
        picture = "```{image} figures/peers.svg\n:alt: time against error for 5 s of motion\n```"
        PAGE.write_text(f"{told}\n\n{found}\n\n{picture}\n")
        plot(peers, PLOT)


if __name__ == "__main__":
    sys.exit(main())
