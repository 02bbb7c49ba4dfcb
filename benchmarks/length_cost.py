"""The study length-cost in full: time and memory of three architectures from 64 to 8,192 tokens, on a GPU.

Run: python benchmarks/length_cost.py [--json FILE] [--picture FILE] [--device cpu]
"""

import argparse
import platform
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import torch

from clearhead.studies import length_cost, run_study
from clearhead.studies.length_cost import LengthCostSizes
from clearhead.studies.picture import save_picture
from readers_report import to_markdown

FULL = LengthCostSizes(
    lengths=(64, 128, 256, 512, 1024, 2048, 4096, 8192),
    num_tokens=16_384,
    width=512,
    blocks=6,
    vocabulary=8000,
    device="cuda",
)


def show(part: str, num_done: int, total: int) -> None:
    """Print a line when a part is done."""
    if num_done == total:
        print(part, file=sys.stderr, flush=True)


def main() -> None:
    """Measure, print the tables as Markdown, and draw the plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--longest", type=int, default=FULL.lengths[-1], help="tokens")
    parser.add_argument("--json", type=Path, help="write all numbers to this file")
    parser.add_argument("--picture", type=Path, help="an SVG or PNG file; needs Matplotlib")
    options = parser.parse_args()
    lengths = tuple(length for length in FULL.lengths if length <= options.longest)
    sizes = replace(FULL, lengths=lengths, device=options.device)
    result = run_study("length-cost", sizes=sizes, show=show)
    if options.json is not None:
        options.json.write_text(result.to_json(), encoding="utf-8")
    if options.picture is not None:
        save_picture(result, options.picture, length_cost)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    machine = torch.cuda.get_device_name() if options.device == "cuda" else platform.machine()
    print(f"{machine}; torch {torch.__version__}; commit {commit.strip()}\n\n{to_markdown(result)}")


if __name__ == "__main__":
    main()
