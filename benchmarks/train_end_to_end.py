"""Training end to end, from text to updates, compared with the model alone on synthetic full batches of the same size.

Needs parallel text: python benchmarks/train_end_to_end.py --source train.en.xz --target train.de.xz [--preset small]
[--tokens 16384] [--steps 600]. Give several files of one side one after another. Prints target tokens per second
without padding, the share of time that the device waits for data, the compile time, and the ratio of the two speeds.
"""

import argparse
import json
import platform
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import torch

from clearhead.training.config import load_run_config
from clearhead.training.launch import launch
from model_speed import VOCABULARY, Clock, ours


def model_alone(preset: str, tokens: int, length: int, device: str) -> float:
    """Return the target tokens per second of the model on one full batch."""
    shape = (tokens // length, length)
    source, target = (torch.randint(3, VOCABULARY, shape, device=device) for _ in range(2))
    step = ours(preset, source, target, device, is_graphed=device == "cuda")
    return source.numel() / Clock(device, 20 if device == "cuda" else 3).seconds(step)


def end_to_end(options: argparse.Namespace, folder: Path) -> list[dict[str, float]]:
    """Train, and return the lines of metrics."""
    corpora = [
        {"source": source, "target": target} for source, target in zip(options.source, options.target, strict=True)
    ]
    config = {
        "preset": options.preset,
        "data": {"train": corpora},
        "text": {"vocabulary": VOCABULARY, "kind": options.kind},
        "training": {
            "steps": options.steps, "batch_tokens": options.tokens, "log_every": 25, "device": options.device,
            "checkpoint_every": 10**6, "rate": 5e-4, "warm_up": 1000, "batching": options.batching,
        },
    }  # fmt: skip
    path = folder / "config.yaml"
    path.write_text(json.dumps(config))
    launch(load_run_config(path), folder / "run")
    return [json.loads(line) for line in (folder / "run" / "metrics.jsonl").read_text().splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", nargs="+", required=True)
    parser.add_argument("--target", nargs="+", required=True)
    parser.add_argument("--preset", default="small")
    parser.add_argument("--kind", default="unigram")
    parser.add_argument("--tokens", type=int, default=16384)
    parser.add_argument("--length", type=int, default=32, help="tokens in a sentence of the synthetic batch")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--batching", default="auto")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    card = torch.cuda.get_device_name() if options.device == "cuda" else platform.machine()
    print(f"{card}; Python {platform.python_version()}, torch {torch.__version__}; commit {commit.strip()}")
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        lines = end_to_end(options, Path(folder))
    lasted = time.perf_counter() - start
    # the first lines include compilation
    steady = [line for line in lines if "tokens_per_second" in line][len(lines) // 3 :]
    # every line has the same number of updates: the mean time per token is the mean of the inverse speeds
    speed = 1 / statistics.mean(1 / line["tokens_per_second"] for line in steady)
    waiting = statistics.mean(line["waiting"] for line in steady)
    alone = model_alone(options.preset, options.tokens, options.length, options.device)
    print(f"\n{options.preset}, {options.tokens:,} target tokens a batch; the run took {lasted:.0f} s")
    print("| | 1000 target tokens/s | ratio |\n|---|---:|---:|")
    print(f"| model alone, full batches of {options.length} tokens | {alone / 1000:.1f} | 1 |")
    print(f"| end to end, padding not counted | {speed / 1000:.1f} | {speed / alone:.3f} |")
    print(f"\nshare of time spent waiting for data: {100 * waiting:.2f} %")


if __name__ == "__main__":
    main()
