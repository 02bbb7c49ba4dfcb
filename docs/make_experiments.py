"""Renew the plots and the printed output on docs/guide/experiments.md with the command `clearhead experiment`.

Usage: python docs/make_experiments.py [NAME ...]. Without names, all experiments are run except `cost`, which measures
the time on this machine: name it to renew it.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from clearhead.experiments import EXPERIMENTS

DOCS = Path(__file__).parent
PAGE = DOCS / "guide" / "experiments.md"
PICTURES = DOCS / "pictures" / "experiments"


def run_experiment(name: str) -> str:
    """Run an experiment, write its plot to the folder of pictures and return what the command prints."""
    command = [sys.executable, "-m", "clearhead", "experiment", name, "--picture", f"{name}.svg"]
    done = subprocess.run(
        command,
        cwd=PICTURES,
        env={**os.environ, "COLUMNS": "80", "PYTHONPATH": str(DOCS.parent / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=True,
    )
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def with_output(page: str, name: str, output: str) -> str:
    """Return the page with the output below the command of an experiment."""
    command = f"$ clearhead experiment {name} --picture {name}.svg\n"
    renewed, count = re.subn(
        rf"(?<=^```console\n){re.escape(command)}.*?(?=^```$)", lambda _: command + output, page, flags=re.M | re.S
    )
    assert count == 1, f"{PAGE.name} needs one console block with: {command}"
    return renewed


def main() -> None:
    """Renew the experiments that the command line names."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    page = PAGE.read_text(encoding="utf-8")
    for name in sys.argv[1:] or [name for name in EXPERIMENTS if name != "cost"]:
        page = with_output(page, name, run_experiment(name))
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
