"""Measure which lines of the contact engine its tests execute.

    python bench/interpreted_coverage.py [--limit 300] [--jobs 1] [--missing] [TESTS ...]

Compiled routines are invisible to a coverage tool, so every routine runs as plain Python here
(`DRAISINE_INTERPRET=1`). Each test file runs in a process of its own and stops after `--limit` seconds of
wall time; its lines count up to then, and the table says which files were stopped. Interpreted runs are
some hundred times slower than compiled ones. Needs the package `coverage`.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MEASURED = "src/draisine/simulation/contact,src/draisine/simulation/impacts"
TESTS = ("tests/simulation/contact", "tests/simulation/impacts", "tests/simulation/test_stepper.py")
INTERRUPT = 2  # signal number; coverage stores its data when Python exits after it


def find_files(tests: list[str]) -> list[Path]:
    """Return the test files in the given files and folders."""
    files: list[Path] = []
    for name in tests:
        path = ROOT / name
        files += sorted(path.rglob("test_*.py")) if path.is_dir() else [path]
    return files


def run_file(file: Path, folder: Path, limit: float) -> str:
    """Run one test file interpreted, with coverage; return how it ended."""
    data = folder / f".coverage.{file.stem}.{abs(hash(file))}"
    command = [
        *(sys.executable, "-m", "coverage", "run", f"--source={MEASURED}", f"--data-file={data}"),
        # A simulation turns the interrupt into an error of its own: with -x that ends the file, too.
        *("-m", "pytest", str(file), "-q", "-x", "-p", "no:cacheprovider"),
    ]
    environment = os.environ | {"DRAISINE_INTERPRET": "1"}
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.send_signal(INTERRUPT)
        try:
            process.communicate(timeout=60.0)
        except subprocess.TimeoutExpired:
            process.kill()
            return "killed, its lines are lost"
        return f"stopped after {limit:g} s"
    lines = output.strip().splitlines()
    return lines[-1] if lines else f"exit code {process.returncode}"


def main() -> int:
    """Run the tests and print the table of covered lines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tests", nargs="*", default=list(TESTS))
    parser.add_argument("--limit", type=float, default=300.0, help="seconds per test file")
    parser.add_argument("--jobs", type=int, default=1, help="test files at the same time")
    parser.add_argument("--missing", action="store_true", help="list the lines that did not run")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = find_files(asked.tests)
        with ThreadPoolExecutor(asked.jobs) as pool:
            ends = pool.map(lambda file: run_file(file, folder, asked.limit), files)
            for file, end in zip(files, ends, strict=True):
                print(f"{file.relative_to(ROOT)}: {end}", flush=True)
        data = f"--data-file={folder / '.coverage'}"
        coverage = [sys.executable, "-m", "coverage"]
        subprocess.run([*coverage, "combine", "-q", data, name], cwd=ROOT, check=True)
        missing = ["--show-missing"] if asked.missing else []
        return subprocess.run([*coverage, "report", data, *missing], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
