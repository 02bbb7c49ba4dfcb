"""Is anything lost, or used although it is damaged? Kills, full disks, bit flips and mutated inputs, counted.

Each small job is killed at its file operations, or its disk is full or fails there, and then run again; single bits are
flipped in every file of a run, a model, a store and others; valid inputs are mutated. Each result is compared with the
undisturbed one. `docs/reliability.md` has the figures.
Run: python benchmarks/reliability.py [--kills 80] [--flips 6] [--mutations 200] [--seed 1] [--only train] [--show 20]
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from importlib import metadata
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # a process with one thread can be forked
os.environ.setdefault("CT2_USE_MKL", "1")
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.attacks import flips, kills, mutations  # noqa: E402
from tests.attacks.jobs import JOBS, warm_up  # noqa: E402
from tests.attacks.tally import WRONG, Case, table  # noqa: E402


def header(options: argparse.Namespace) -> str:
    """Describe the machine, versions and commit."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False, cwd=ROOT
    ).stdout.strip()
    packages = ("torch", "safetensors", "ctranslate2", "sentencepiece", "numpy")
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in packages)
    return (
        f"{platform.machine()}, {os.cpu_count()} cores; Python {platform.python_version()}; {versions}\n"
        f"commit {commit}; seed {options.seed}\n"
    )


def cases(options: argparse.Namespace) -> Iterator[Case]:
    """Yield the outcome of every case."""
    if options.kills:
        for job in JOBS:
            if options.only in job.name:
                yield from kills.attack(job, options.kills, options.seed)
    if options.flips:
        for target in flips.TARGETS:
            if options.only in target.name:
                yield from flips.attack(target, options.flips, options.seed, options.files)
    if options.mutations:
        for kind in mutations.KINDS:
            if options.only in kind.name:
                yield from mutations.attack(kind, options.mutations, options.seed)


def main() -> None:
    """Run the attacks and print the table; the exit code is 1 if something was lost, wrong or crashed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=80, help="faults of each job (all if there are fewer)")
    parser.add_argument("--flips", type=int, default=6, help="bit flips in each file")
    parser.add_argument("--files", type=int, default=1000, help="flip bits in this number of files of each folder")
    parser.add_argument("--mutations", type=int, default=200, help="mutated inputs of each kind")
    parser.add_argument("--seed", type=int, default=1, help="seed of positions and mutations")
    parser.add_argument("--only", default="", help="only attacks whose name contains this text")
    parser.add_argument("--show", type=int, default=20, help="maximum number of failures to print")
    parser.add_argument("--json", type=Path, help="write every case to this file")
    options = parser.parse_args()
    warm_up()
    start = time.perf_counter()
    print(header(options), flush=True)
    outcomes = list(cases(options))
    print(table(outcomes))
    used = sum(os.times()[:4])
    print(f"\n{len(outcomes)} cases in {time.perf_counter() - start:.0f} s, {used:.0f} s of them on a core")
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(case) for case in outcomes], indent=1), encoding="utf-8")
    wrong = [case for case in outcomes if case.verdict in WRONG]
    for case in wrong[: options.show]:
        print(f"\n{case}")
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
