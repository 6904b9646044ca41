# ruff: noqa: E501 - sentences of a page
"""How far sweeps go: chunk times measured here, a billion runs on a thousand workers simulated from
them, and what a lane would cost on a GPU. Writes docs/scale.md.

    python bench/scale.py [--runs 16384] [--million STORE.zarr]

The model of the cluster: one driver serves workers one after the other (a chunk received, written,
marked, the next given away); a worker computes for a time drawn from those measured; workers die at
random and are replaced. Nothing on the page is typed by hand.
"""

import argparse
import heapq
import json
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

import draisine
from draisine.codegen.program import Program, arguments
from draisine.experiment.sweep.chunks import Runner
from draisine.experiment.sweep.store import open_store
from draisine.experiment.sweep.table import sweep_table
from draisine.scenario.library import Loaded, accept

PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
RUNS, WORKERS = 10**9, 1000
LIFE, AGAIN = 500 * 3600.0, 60.0  # assumed: a worker lives 500 h on average, a new one takes 1 min
PRICE = 0.04  # assumed: what an hour of a core costs, in dollars
GPU = {"name": "A100", "flops": 9.7e12, "bytes": 1.555e12}  # double precision; NVIDIA's data sheet


def scenario(count: int, chunk: int) -> Loaded:
    """Return self-stability over speed, push, trail and head angle: 5 s in steps of 20 ms."""
    side = {"vehicle.parameters.c": (0.02, 0.14), "vehicle.parameters.lam": (0.1, 0.5)}
    side |= {"initial.forward_speed": (2.0, 8.0), "initial.lean_rate": (0.05, 1.6)}
    content = {
        "kind": "sweep",
        "title": "self-stability",
        "vehicle": {"name": "whipple", "parameter_set": "benchmark"},
        "run": {"until": 5.0, "dt": 0.02, "integrator": "rk4", "fall": "45deg"},
        "sweep": {
            "design": "sobol",
            "count": count,
            "chunk": chunk,
            "outputs": ["decay rate of lean", "time to fall", "final lean", "peak steer"],
            "between": {path: {"low": a, "high": b} for path, (a, b) in side.items()},
        },
    }
    return accept("scale", "scale.toml", content)


def chunk_times(runs: int, chunk: int) -> list[float]:
    """Return the CPU seconds of each chunk, on one thread."""
    runner = Runner(scenario(runs, chunk), threads=1)
    runner.rows(0, 256)  # compiles
    times = []
    for first in range(0, runs, chunk):
        begun = time.process_time()
        runner.rows(first, first + chunk)
        times.append(time.process_time() - begun)
    return times


def write_cost(chunk: int) -> tuple[float, float]:
    """Return the CPU seconds that the driver spends on a chunk, and its bytes."""
    loaded = scenario(8 * chunk, chunk)
    runner = Runner(loaded, threads=1)
    rows = runner.rows(0, 64)
    many = {text: np.resize(x, chunk) for text, x in rows.answers.items()}
    rows = type(rows)(many, np.resize(rows.outcome, chunk))

    def table(first: int) -> object:
        columns = runner.design.columns(first, first + chunk)
        numbers = np.arange(first, first + chunk)
        return sweep_table(loaded.scenario, loaded.plan.system.model, columns, rows, numbers)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.zarr")
        with open_store(table(0), 8 * chunk, path, chunk, False) as store:
            begun = time.process_time()
            for k in range(8):
                store.write(k, table(k * chunk))
            spent = (time.process_time() - begun) / 8
        size = sum(f.stat().st_size for f in path.rglob("*") if f.is_file() and f.name[0] != ".")
    return spent, size / 8


def simulate_cluster(
    chunks: int, workers: int, times: np.ndarray, serve: float, life: float
) -> dict[str, float]:
    """Return the seconds until all chunks are marked, what part of them workers compute and the driver
    is busy, and how many workers died.
    """
    draw, served, died, busy = np.random.default_rng(1), 0.0, 0, 0.0
    waiting, done, total = [(0.0, k) for k in range(workers)], 0, 0
    heapq.heapify(waiting)
    while done < chunks:
        ready, worker = heapq.heappop(waiting)
        if total < chunks + died:
            total += 1
            took = float(times[draw.integers(len(times))])
            if draw.random() < -np.expm1(-took / life):
                died += 1
                heapq.heappush(waiting, (ready + draw.random() * took + AGAIN, worker))
                continue
            busy += took
            served = max(served, ready + took) + serve
            done += 1
            heapq.heappush(waiting, (served, worker))
    return {"wall": served, "busy": busy / served / workers, "driver": chunks * serve / served,
            "died": died}  # fmt: skip


def live_values(program: Program) -> int:
    """Return how many values of a program are needed at once, at most, in its order."""
    last = {k: i for i, step in enumerate(program.steps) for k in arguments(step)}
    last |= {k: len(program.steps) for entries in program.outputs.values() for k in entries}
    alive, most = 0, 0
    ends: dict[int, int] = {}
    for i, step in enumerate(program.steps):
        alive -= ends.pop(i, 0)
        if step[0] != "const" and not program.fixed[i] and i in last:
            alive += 1
            ends[last[i]] = ends.get(last[i], 0) + 1
        most = max(most, alive)
    return most


def lane_cost() -> dict[str, float]:
    """Return operations and bytes of one run of 5 s, and what they would take on a GPU."""
    machine = draisine.compile("whipple").machine()
    programs = [machine.programs[name] for name in ("rate", "project")]
    rate, project = (program.operations for program in programs)
    steps = 250
    n = machine.layout.size
    bytes_ = 8 * (sum(len(p.table) for p in programs) + 6 * n + 8)
    return {
        "rate": rate, "project": project, "flops": steps * (4 * rate + project), "bytes": bytes_,
        "live": max(map(live_values, programs)),
    }  # fmt: skip


def flatness(runs: int) -> list[tuple[int, float, float]]:
    """Return how many runs, CPU seconds for each, and the most memory so far in MB."""
    found, count = [], 1024
    while count <= runs:
        times = chunk_times(count, 1024)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        found.append((count, sum(times) / count, memory))
        count *= 4
    return found


def million(path: str) -> dict[str, float]:
    """Return what a million runs cost, by two workers into a store."""
    begun, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    draisine.sweep(scenario(2**20, 8192), path, workers=2)
    now, own = (resource.getrusage(who) for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF))
    spent = now.ru_utime + now.ru_stime - begun.ru_utime - begun.ru_stime
    return {"wall": time.perf_counter() - wall, "cpu": spent, "worker": now.ru_maxrss / 1024,
            "driver": own.ru_maxrss / 1024}  # fmt: skip


def main() -> None:
    """Measure, simulate, write the page."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--runs", type=int, default=16384)
    options.add_argument("--million", help="a store for a million runs")
    given = options.parse_args()
    flat, times = flatness(given.runs), chunk_times(given.runs, 1024)
    whole = million(given.million) if given.million else None
    cost, one = flat[-1][1], lane_cost()
    rows = []
    for chunk in (1024, 8192, 65536, 262144):
        serve, size = write_cost(chunk)
        scaled = np.array(times) * chunk / 1024
        for workers in (100, WORKERS, 10 * WORKERS):
            at = simulate_cluster(-(-RUNS // chunk), workers, scaled, serve, LIFE)
            rows.append((chunk, workers, serve, size, at))
    PAGE.write_text(page(flat, whole, rows, one, cost), encoding="utf-8")
    print(json.dumps({"us per run": 1e6 * cost, "operations": one, "million": whole}))


def page(flat: list, whole: dict | None, rows: list, one: dict, cost: float) -> str:
    """Return the page."""
    _, _, serve, size, best = next(r for r in rows if r[:2] == (65536, WORKERS))
    hours = RUNS * cost / 3600
    lines = ["# Scale: a billion rides, on paper", "",
        f"Written by `python bench/scale.py` from what it measured (draisine {draisine.__version__}, one "
        "core of a shared computer, CPU time). The work: runs of 5 s of the benchmark bicycle in 250 steps "
        "of RK4, over speed, lean rate, trail and head angle, each asked four questions; see "
        "[sweeps](howto/sweep.md).", "",
        "## One computer", "",
        "| runs | CPU time per run | peak memory |", "| ---: | ---: | ---: |"]  # fmt: skip
    lines += [f"| {n:,} | {1e6 * s:.0f} us | {m:.0f} MB |" for n, s, m in flat]
    if whole:
        lines += ["", f"A million (2^20) runs by two workers into a store: {whole['cpu']:.0f} s of CPU time "
            f"of both together, {whole['wall']:.0f} s by the clock of a loaded computer; a worker took "
            f"{whole['worker']:.0f} MB at most, the driver {whole['driver']:.0f} MB."]  # fmt: skip
    lines += ["", "## A thousand workers", "",
        f"A billion runs are {hours:.0f} core hours ({PRICE * hours:.0f} dollars at {PRICE} an hour). The store "
        f"has one file per variable and chunk: with chunks of 65,536 runs {-(-RUNS // 65536):,} chunks of "
        f"{size / 1e6:.1f} MB, {RUNS / 65536 * size / 1e9:.0f} GB in all. The driver alone writes; it spends "
        f"{1e3 * serve:.0f} ms on each such chunk. A simulated scheduler gives stretches to workers whose times "
        "are drawn from the measured ones, lets the driver serve one worker at a time, and lets each worker "
        f"die once in {LIFE / 3600:.0f} h on average (assumed), losing its chunk and {AGAIN:.0f} s:", "",
        "| runs per chunk | workers | wall time | workers compute | driver busy | workers lost |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |"]  # fmt: skip
    lines += [
        f"| {chunk:,} | {workers:,} | {at['wall'] / 60:.1f} min | {at['busy']:.0%} | {at['driver']:.0%} | "
        f"{at['died']:.0f} |"
        for chunk, workers, _, _, at in rows
    ]
    lines += ["", "Where the driver is busy all the time it is the limit: workers wait in line. Larger chunks "
        "remove it, until there are too few of them to go round and the last ones are waited for; a lost "
        f"worker costs one chunk. With 65,536 runs per chunk a thousand workers compute for {best['busy']:.0%} of "
        f"the {best['wall'] / 60:.0f} minutes. Beyond that workers would have to write their own chunks, which "
        "the store allows: each chunk is its own set of files, and its mark is the last.", "",
        "## A GPU", "",
        f"One evaluation of the right-hand side takes {one['rate']:.0f} operations, one projection "
        f"{one['project']:.0f}; a run {one['flops'] / 1e6:.2f} million. A lane needs {one['bytes'] / 1e3:.1f} kB "
        f"(tables of its parameters, state, stages), and at most {one['live']} numbers at once: more than the 127 "
        "doubles that fit the registers of a CUDA thread, so some would spill into local memory. Lanes map to "
        "threads, and LLVM's NVPTX target is part of llvmlite; the programs are straight-line code with their "
        "own sine and cosine, so nothing but the loop over lanes would change.", "",
        f"At the peak of an NVIDIA {GPU['name']} in double precision ({GPU['flops'] / 1e12:.1f} Tflop/s, "
        f"{GPU['bytes'] / 1e12:.2f} TB/s, its data sheet) a billion runs would take "
        f"{RUNS * one['flops'] / GPU['flops'] / 60:.1f} min by operations; if each step read and wrote a lane's "
        f"memory once, {RUNS * 250 * 2 * one['bytes'] / GPU['bytes'] / 60:.0f} min by bandwidth. A tenth of the "
        f"peak, usual for code that spills, is {RUNS * one['flops'] / GPU['flops'] / 6:.0f} min: as much as "
        f"{hours * 3600 / (RUNS * one['flops'] / GPU['flops'] * 10):.0f} of the cores measured here. This is an "
        "estimate; nothing of it was run.", ""]  # fmt: skip
    return "\n".join(lines)


if __name__ == "__main__":
    main()
