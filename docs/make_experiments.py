"""Renew the plots and the printed output on docs/guide/experiments.md and studies.md with `clearhead experiment`.

Usage: python docs/make_experiments.py [NAME ...]. Without names, all experiments are run except `cost`, which measures
the time on this machine, and the studies that train models for minutes: name them to renew them.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from clearhead.studies import STUDIES

DOCS = Path(__file__).parent


def page_of(name: str) -> Path:
    """Return the page of an experiment or of a study."""
    return DOCS / "guide" / ("studies.md" if STUDIES[name].trains_models else "experiments.md")


def run_experiment(name: str) -> str:
    """Run an experiment, write its plot to the folder of pictures and return what the command prints."""
    pictures = DOCS / "pictures" / page_of(name).stem
    pictures.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "clearhead", "experiment", name, "--picture", f"{name}.svg"]
    done = subprocess.run(
        command,
        cwd=pictures,
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
    assert count == 1, f"the page needs one console block with: {command}"
    return renewed


def main() -> None:
    """Renew the experiments that the command line names."""
    for name in sys.argv[1:] or [name for name, study in STUDIES.items() if name != "cost" and not study.trains_models]:
        output = run_experiment(name)
        page = page_of(name)
        page.write_text(with_output(page.read_text(encoding="utf-8"), name, output), encoding="utf-8")


if __name__ == "__main__":
    main()
