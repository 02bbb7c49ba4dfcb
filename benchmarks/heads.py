"""The time of `clearhead heads` on a model and a test set, part by part.

Run: python benchmarks/heads.py MODEL SOURCE TARGET [--lines 1000] [--bleu] [--beam 4] [--device cuda]
"""

import argparse
import os
import platform
import subprocess
import time
from importlib import metadata

import torch

from clearhead.decoding.search.settings import SearchSettings
from clearhead.explain.head_measurement import HeadRequest, report_heads
from clearhead.explain.head_report import HeadReport
from clearhead.formats.model_folder import find_model, load_config


class Stopwatch:
    """Notes when each measurement starts; what comes before the first is loading and counting links."""

    def __init__(self) -> None:
        self.starts = {"loading, links": time.perf_counter()}

    def __call__(self, measurement: str, num_done: int, total: int) -> None:
        """Note the first call of a measurement."""
        self.starts.setdefault(measurement, time.perf_counter())

    def seconds(self) -> dict[str, float]:
        """Return the time of each measurement; the tests of significance count for the one before them."""
        names, times = list(self.starts), [*self.starts.values(), time.perf_counter()]
        return {name: times[number + 1] - times[number] for number, name in enumerate(names)}


def print_machine(options: argparse.Namespace, report: HeadReport) -> None:
    """Print the machine, the versions, the model and the test set."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    is_gpu = options.device == "cuda" or (options.device == "auto" and torch.cuda.is_available())
    threads = f"{torch.get_num_threads()} threads of {os.cpu_count()} cores"
    machine = torch.cuda.get_device_name() if is_gpu else f"{platform.machine()}, {threads}"
    versions = (
        f"Python {platform.python_version()}, torch {torch.__version__}, sacrebleu {metadata.version('sacrebleu')}"
    )
    config = load_config(find_model(options.model))
    print(f"{machine}; {versions}; commit {commit.strip()}")
    print(
        f"{config.encoder_blocks}+{config.decoder_blocks} layers of {config.num_heads} heads, width {config.d_model}, "
        f"vocabulary {config.target_size:,}; {len(report.rows)} heads; {report.loss.signature}\n"
    )


def main() -> None:
    """Time one report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("files", nargs=2)
    parser.add_argument("--lines", type=int)
    parser.add_argument("--bleu", action="store_true")
    parser.add_argument("--beam", type=int, default=1)
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
    options = parser.parse_args()
    request = HeadRequest(num_lines=options.lines, has_bleu=options.bleu, search=SearchSettings(beam=options.beam))
    stopwatch = Stopwatch()
    report = report_heads(options.model, options.files, request, device=options.device, progress=stopwatch)
    seconds = stopwatch.seconds()
    print_machine(options, report)
    print("| part | seconds |\n|---|---:|")
    for name, value in {**seconds, "total": sum(seconds.values())}.items():
        print(f"| {name} | {value:.1f} |")


if __name__ == "__main__":
    main()
