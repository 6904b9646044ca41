# ruff: noqa: E501 - sentences of a page
"""How far sweeps go: chunk times measured here, a billion runs on a thousand workers simulated from
them, and what a lane would cost on a GPU. Writes bench/scale.md.

    python bench/scale.py [--runs 16384] [--million STORE.zarr]

The model of the cluster: one driver serves workers one after the other (a chunk received, written,
marked, the next given away); a worker computes for a time drawn from those measured; workers die at
random and are replaced. Nothing on the page is typed by hand.
"""

import argparse
import heapq
import json
import resource
import runpy
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import draisine
from draisine.codegen.derivative import with_tangents
from draisine.codegen.program import Program, step_arguments
from draisine.experiment.sweep.chunks import Runner
from draisine.experiment.sweep.store import open_store
from draisine.experiment.sweep.table import make_sweep_table

DOCS = Path(__file__).parents[1] / "docs"
PAGE = Path(__file__).with_name("scale.md")
PICTURE = DOCS / "figures" / "basin-million.png"
scenario = runpy.run_path(str(DOCS / "gallery" / "million.py"))["scenario"]
RUNS, WORKERS = 10**9, 1000
LIFE, AGAIN = 3600.0, 60.0  # assumed: a worker lives an hour on average, a new one takes 1 min
PRICE = 0.04  # assumed: what an hour of a core costs, in dollars
GPU = {"name": "A100", "flops": 9.7e12, "bytes": 1.555e12}  # double precision; NVIDIA's data sheet


def chunk_times(runs: int, chunk: int) -> list[float]:
    """Return the CPU seconds of each chunk, on one thread."""
    runner = Runner(scenario(runs, chunk), threads=1)
    runner.simulate_range(0, 256)  # compiles
    times = []
    for first in range(0, runs, chunk):
        begun = time.process_time()
        runner.simulate_range(first, first + chunk)
        times.append(time.process_time() - begun)
    return times


def write_cost(chunk: int) -> tuple[float, float]:
    """Return the CPU seconds that the driver spends on a chunk, and its bytes."""
    loaded = scenario(8 * chunk, chunk)
    runner = Runner(loaded, threads=1)
    rows = runner.simulate_range(0, 64)
    many = {text: np.resize(x, chunk) for text, x in rows.outputs.items()}
    rows = type(rows)(many, np.resize(rows.outcome, chunk))

    def table(first: int) -> object:
        columns = runner.design.columns(first, first + chunk)
        numbers = np.arange(first, first + chunk)
        return make_sweep_table(loaded.scenario, loaded.plan.system.model, columns, rows, numbers)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.zarr")
        with open_store(table(0), 8 * chunk, path, chunk, False) as store:
            begun = time.process_time()
            for k in range(8):
                store.write_chunk(k, table(k * chunk))
            spent = (time.process_time() - begun) / 8
        size = sum(f.stat().st_size for f in path.rglob("*") if f.is_file() and f.name[0] != ".")
    return spent, size / 8


def simulate_cluster(
    chunks: int, workers: int, times: np.ndarray, serve: float, life: float
) -> dict[str, float]:
    """Return the seconds until all chunks are marked, what part of them workers compute and the driver
    is busy, and how many workers died.
    """
    draw, served, died = np.random.default_rng(1), 0.0, 0
    ends = list[tuple[float, bool]]()  # when a worker ends a chunk, or dies

    def give(at: float) -> None:
        took = float(times[draw.integers(len(times))])
        dies = bool(draw.random() < -np.expm1(-took / life))
        heapq.heappush(ends, (at + (draw.random() if dies else 1.0) * took, dies))

    waiting = chunks - min(workers, chunks)
    for _ in range(chunks - waiting):
        give(0.0)
    while ends:
        t, dies = heapq.heappop(ends)
        if dies:
            died += 1
            give(t + AGAIN)
            continue
        served = max(served, t) + serve
        if waiting:
            waiting -= 1
            give(served)
    busy = chunks * float(np.mean(times)) / served / workers
    return {"wall": served, "busy": busy, "driver": chunks * serve / served, "died": died}


def live_values(program: Program) -> int:
    """Return how many values of a program are needed at once, at most, in its order."""
    last = {k: i for i, step in enumerate(program.steps) for k in step_arguments(step)}
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
    found = draisine.sweep(scenario(2**20, 8192), path, workers=2)
    ends = found.data["outcome"].values
    now, own = (resource.getrusage(who) for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF))
    spent = now.ru_utime + now.ru_stime - begun.ru_utime - begun.ru_stime
    return {"wall": time.perf_counter() - wall, "cpu": spent, "worker": now.ru_maxrss / 1024,
            "driver": own.ru_maxrss / 1024, "upright": float(np.mean(ends == "completed"))}  # fmt: skip


def skip_cost(runs: int) -> dict[str, float]:
    """Return the CPU seconds that it takes to draw 1024 points after so many others, by design."""
    found = {}
    for name in ("sobol", "latin-hypercube"):
        loaded = scenario(runs, 1024)
        sweep = loaded.scenario.sweep.model_copy(update={"design": name})
        design = replace(Runner(loaded).design, sweep=sweep)
        design.columns(0, 2)
        begun = time.process_time()
        design.columns(runs - 1024, runs)
        found[name] = time.process_time() - begun
    return found


BACK = {"add": 2, "sub": 2, "mul": 4, "neg": 1, "inv": 3, "sqrt": 3, "sin": 2, "cos": 2, "exp": 2}
"""What a step costs on the way back: each argument's adjoint gains the result's, times a derivative."""


def forward_or_adjoint() -> dict[str, object]:
    """Return operations of the rate, of one direction's derivatives and of an adjoint's way back (by
    state and parameters), and the CPU seconds of gradients over one second by so many parameters.
    """
    bicycle = draisine.compile("whipple")
    machine, names = bicycle.machine(), list(bicycle.parameters)
    rate = machine.programs["rate"]
    along = with_tangents(
        replace(rate, outputs={"told": rate.outputs["rate"]}),
        ("t", "q", "p", "r", "u", "w", "parameters"), "told", 1,
    )  # fmt: skip
    back = sum(BACK.get(step[0], 2) for step in rate.steps if step[0] not in ("const", "input"))
    start, times = {"forward_speed": 5.0, "lean_rate": 0.2}, {}
    for count in (1, 8, 16, 24):
        asked = (bicycle, start, [1.0], ["lean"], names[:count])
        draisine.gradient(*asked)
        spent = []
        for _ in range(7):
            begun = time.process_time()
            draisine.gradient(*asked)
            spent.append(time.process_time() - begun)
        times[count] = min(spent)
    return {"rate": rate.operations, "along": along.operations, "back": back, "times": times,
            "parameters": len(names), "lanes": machine.rate.lanes}  # fmt: skip


def main() -> None:
    """Measure, simulate, write the page."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--runs", type=int, default=16384)
    options.add_argument("--million", help="a store for a million runs")
    given = options.parse_args()
    flat, times = flatness(given.runs), chunk_times(given.runs, 1024)
    whole = million(given.million) if given.million else None
    if given.million:
        draisine.plot(given.million, "basin", PICTURE)
    cost, one = flat[-1][1], lane_cost()
    rows = []
    for chunk in (1024, 8192, 65536, 262144):
        serve, size = write_cost(chunk)
        scaled = np.array(times) * chunk / 1024
        for workers in (100, WORKERS, 10 * WORKERS):
            at = simulate_cluster(-(-RUNS // chunk), workers, scaled, serve, LIFE)
            rows.append((chunk, workers, serve, size, at))
    drawn, ways = skip_cost(2**24), forward_or_adjoint()
    text = "\n".join(
        [one_computer(flat, whole), cluster(rows, cost, drawn), gpu(one, cost), adjoint(ways)]
    )
    PAGE.write_text(text, encoding="utf-8")
    print(json.dumps({"us per run": 1e6 * cost, "operations": one, "million": whole, "ways": ways}))


def one_computer(flat: list, whole: dict | None) -> str:
    """Return what was measured here."""
    lines = ["# Scale: an estimate for a billion runs", "",
        f"`python bench/scale.py` measures and writes this page (draisine {draisine.__version__}, one core of a "
        "shared computer, CPU time). Each run is 5 s of the benchmark bicycle in 250 steps of RK4, with four "
        "metrics; speed, lean rate, trail and head angle vary. See [sweeps](../docs/howto/sweep.md).", "",
        "## One computer", "",
        "| runs | CPU time per run | peak memory |", "| ---: | ---: | ---: |"]  # fmt: skip
    lines += [f"| {n:,} | {1e6 * s:.0f} us | {m:.0f} MB |" for n, s, m in flat]
    if whole:
        lines += [f"| {2**20:,} | {1e6 * whole['cpu'] / 2**20:.0f} us | {whole['worker']:.0f} MB |", "",
            f"The last line is one sweep of 2^20 runs by two workers into a store: {whole['cpu']:.0f} s of CPU "
            f"time, {whole['cpu'] / 2:.0f} s on each core ({whole['wall']:.0f} s wall time on a shared "
            "computer). The memory depends on the chunk, not on the number of runs: at most "
            f"{whole['worker']:.0f} MB per worker and {whole['driver']:.0f} MB in the driver, including the "
            f"outcomes of all runs. {whole['upright']:.0%} of the bicycles were upright after 5 s:", "",
            "![share of a million runs that recover](../docs/figures/basin-million.png)"]  # fmt: skip
    return "\n".join([*lines, ""])


def cluster(rows: list, cost: float, drawn: dict[str, float]) -> str:
    """Return a billion runs on many workers."""
    _, _, serve, size, best = next(r for r in rows if r[:2] == (65536, WORKERS))
    hours, far = RUNS * cost / 3600, RUNS / 2**24
    lines = ["## A thousand workers", "",
        f"A billion runs are {hours:.0f} core hours ({PRICE * hours:.2f} dollars at {PRICE} an hour). The store "
        f"has one file per variable and chunk: with chunks of 65,536 runs {-(-RUNS // 65536):,} chunks of "
        f"{size / 1e6:.1f} MB, {RUNS / 65536 * size / 1e9:.0f} GB in all. Only the driver writes, "
        f"{1e3 * serve:.0f} ms per chunk. The table is a simulation of the scheduler: computing times are drawn "
        "from the measured ones, the driver serves one worker at a time, and each worker dies after "
        f"{LIFE / 3600:.0f} h on average (assumed) and loses its chunk and {AGAIN:.0f} s:", "",
        "| runs per chunk | workers | wall time | workers compute | driver busy | workers lost |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |"]  # fmt: skip
    lines += [
        f"| {chunk:,} | {workers:,} | {at['wall'] / 60:.1f} min | {at['busy']:.0%} | {at['driver']:.0%} | "
        f"{at['died']:.0f} |"
        for chunk, workers, _, _, at in rows
    ]
    lines += ["", "If the driver is always busy, it limits the sweep, and workers wait. Larger chunks help, as long as "
        "there are enough of them; a lost worker costs one chunk. With 65,536 runs per chunk a thousand workers "
        f"compute for {best['busy']:.0%} of the {best['wall'] / 60:.1f} minutes. To go further, workers would have "
        "to write their own chunks, which the store allows: each chunk is a separate set of files with a "
        "completion mark. The scheduler is not a limit: Dask needs about a millisecond per task "
        f"([its documentation](https://docs.dask.org/en/stable/best-practices.html)), {RUNS / 65536e3:.0f} s for all "
        "tasks.", "",
        f"Skipping 2^24 points of a Sobol sequence takes {1e3 * drawn['sobol']:.0f} ms, so the last chunks of a "
        f"billion runs need {far * drawn['sobol']:.1f} s each; a Latin hypercube needs "
        f"{1e3 * drawn['latin-hypercube']:.1f} ms per chunk.", ""]  # fmt: skip
    return "\n".join(lines)


def gpu(one: dict, cost: float) -> str:
    """Return what a GPU would change."""
    ideal, moved = (RUNS * one["flops"] / GPU["flops"], RUNS * 500 * one["bytes"] / GPU["bytes"])
    lines = ["## A GPU", "",
        f"One evaluation of the right-hand side takes {one['rate']:.0f} operations, one projection "
        f"{one['project']:.0f}; a run {one['flops'] / 1e6:.2f} million. A lane needs {one['bytes'] / 1e3:.1f} kB "
        f"(tables of its parameters, state, stages), and at most {one['live']} live values; the 255 "
        f"registers of a CUDA thread hold 127 doubles, so {'all fit' if one['live'] < 120 else 'some spill'}. "
        "Lanes map to threads, and llvmlite contains LLVM's NVPTX target. The programs are straight-line code "
        "with their own sine and cosine, so only the loop over lanes would change.", "",
        f"At the peak of an NVIDIA {GPU['name']} in double precision ({GPU['flops'] / 1e12:.1f} Tflop/s, "
        f"{GPU['bytes'] / 1e12:.2f} TB/s, data sheet) a billion runs would take {ideal / 60:.1f} min; if each "
        f"step read and wrote a lane's memory once, {moved / 60:.0f} min by bandwidth. At a tenth of the peak, "
        f"usual for such code, it would take {ideal / 6:.0f} min and replace {RUNS * cost / (10 * ideal):.0f} of "
        "the measured cores. This is an estimate; it was not run on a GPU.", ""]  # fmt: skip
    return "\n".join(lines)


def adjoint(ways: dict) -> str:
    """Return whether the way back would pay."""
    c, rate, along, back = ways["lanes"], ways["rate"], ways["along"], ways["back"]
    wide = -(-ways["parameters"] // c)
    measured = ", ".join(f"{1e3 * s:.0f} ms by {n}" for n, s in ways["times"].items())
    lines = ["## Gradients: forward or adjoint", "",
        f"[Gradients](../docs/howto/gradients.md) use the forward mode, with {c} directions in a register. The rate takes "
        f"{rate} operations, {along} with one direction. For one output, an adjoint would need {back} operations "
        f"in addition to the {rate}, and the stored states of all steps. So the forward mode for all "
        f"{ways['parameters']} parameters of the bicycle costs {wide} times {along} = {wide * along} register "
        f"operations, an adjoint {rate + back} scalar operations per output: "
        f"{'fewer' if rate + back < wide * along else 'not fewer'}, by a factor of "
        f"{wide * along / (rate + back):.1f} for one output and {wide * along / (rate + back) / 4:.1f} for four. "
        f"Measured for one second of motion, in CPU time: {measured} parameters; {c} more derivatives cost "
        f"{1e3 * (ways['times'][24] - ways['times'][8]) / 2:.1f} ms. An adjoint would therefore save little, and "
        "less for several outputs; it would also need every step and every event in reverse. It is not "
        "included. If hundreds of unknowns act on one cost, such as the samples of an input, use the reverse "
        "mode of [CasADi](../docs/neighbours/casadi.md) or [JAX](../docs/neighbours/jax.md) with our equations.", ""]  # fmt: skip
    return "\n".join(lines)


if __name__ == "__main__":
    main()
