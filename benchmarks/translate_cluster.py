"""One machine against a Ray cluster on it: the same sentences through `clearhead translate` with and without `--ray`.

Both runs translate the same file with the same model, engine and windows, one after the other. The table has the time
of the complete command and, from the journal, the rate of the lines alone; the largest memory of the command itself,
which on a cluster is the driver; and the number of lines that differ (near ties). All cores translate in both cases:
one machine has a CTranslate2 thread for each core, so that the ratio is the cost of the cluster.
Run: python benchmarks/translate_cluster.py [--lines 20000] [--workers 2] [--input FILE]
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib import metadata
from itertools import islice, product
from pathlib import Path

PAUSE = 0.05  # seconds between two looks at the process
PACKAGES = ("ray", "pyarrow", "ctranslate2", "numpy")


@dataclass(frozen=True)
class Run:
    """A run of the command: seconds in total and from the first lines to the end, and the peak memory in MB."""

    name: str
    seconds: float
    line_rate: float
    megabytes: float


def sentences(number: int) -> list[str]:
    """Return distinct sentences of several lengths."""
    people = ("My sister", "The old teacher", "Our neighbour", "Nobody", "A small boy", "The woman in the red coat")
    verbs = ("bought", "found", "has lost", "is looking for", "painted", "would like to see")
    things = ("books", "red apples", "dogs", "chairs", "letters", "very good photographs of the sea")
    places = ("in the garden", "at school", "near the old house", "", "before the train left the station")
    numbers = range(2, 2 + number)
    lines = (
        " ".join(f"{person} {verb} {count} {thing} {place}".split()) + "."
        for count, person, verb, thing, place in product(numbers, people, verbs, things, places)
    )
    return list(islice(lines, number))


def measure(name: str, command: list[str], journal: Path) -> Run:
    """Run a command; look at its memory and at its journal until it ends."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    first: tuple[float, int] | None = None
    last = (0.0, 0)
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, memory(process.pid))
        num_lines = lines_done(journal)
        if num_lines > last[1]:
            last = (time.perf_counter() - started, num_lines)
            first = first or last
        time.sleep(PAUSE)
    seconds = time.perf_counter() - started
    assert process.stderr is not None
    if process.returncode:
        raise SystemExit(process.stderr.read().decode())
    assert first is not None
    assert last[1] > first[1], "too few lines to measure a rate"
    return Run(name, seconds, (last[1] - first[1]) / (last[0] - first[0]), peak)


def memory(process: int) -> float:
    """Return the largest resident memory of a process so far, in MB."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0.0
    peak = next((line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")), "0")
    return int(peak) / 1024


def lines_done(journal: Path) -> int:
    """Return the number of lines in a journal."""
    try:
        return int(json.loads(journal.read_bytes())["lines"])
    except (OSError, ValueError):
        return 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--window", type=int, default=256)
    parser.add_argument("--input", type=Path, help="sentences, one per line, instead of generated ones")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        lines = sentences(options.lines)
        if options.input is not None:
            with options.input.open(encoding="utf-8") as file:
                lines = [line.rstrip("\n") for line in islice(file, options.lines)]
        (folder / "in.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        runs = []
        for name, more in (("one machine", []), ("cluster", ["--ray", "auto", "--workers", str(options.workers)])):
            output = folder / name
            command = [sys.executable, "-m", "clearhead.cli.main", "translate", "--engine", "ctranslate2", "--quiet"]
            command += ["--window", str(options.window), "-i", str(folder / "in.txt"), "-o", str(output), *more]
            runs.append(measure(name, command, output.with_name(output.name + ".part.json")))
        here, there = ((folder / run.name).read_text(encoding="utf-8").splitlines() for run in runs)
        num_different = sum(one != other for one, other in zip(here, there, strict=True))
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in PACKAGES)
    print(f"{platform.machine()}, {os.cpu_count()} cores; Python {platform.python_version()}; {versions}; ", end="")
    print(f"commit {commit.stdout.strip()}; {len(lines):,} lines, windows of {options.window}, ", end="")
    print(f"{options.workers} workers\n")
    print("| | seconds | lines/s after the first window | peak memory of the command (MB) |\n|---|---:|---:|---:|")
    for run in runs:
        print(f"| {run.name} | {run.seconds:.1f} | {run.line_rate:,.0f} | {run.megabytes:,.0f} |")
    one, many = runs
    print(f"| ratio | {many.seconds / one.seconds:.2f} | {many.line_rate / one.line_rate:.2f} | ", end="")
    print(f"{many.megabytes / one.megabytes:.2f} |\n\n{num_different} of {len(lines):,} lines differ.")


if __name__ == "__main__":
    main()
