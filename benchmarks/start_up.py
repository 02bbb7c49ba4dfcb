"""Start-up: seconds from starting `clearhead translate` to its answer, for each engine, in one run.

The model is a built-in one (`--model NAME`) or a folder. Texts of growing length show from where on another engine
answers sooner, which is the rule for `--engine auto` in `decoding/engines/opening.py`. Rounds are interleaved, and the
fastest and the median are reported. CTranslate2 has converted the model before, so that this is not measured.
Run: python benchmarks/start_up.py [--model en-es] [--rounds 7] [--engines numpy ctranslate2 torch]
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
import time

TEXTS = {
    "a sentence": "Let's go to school.",
    "five sentences": "I have a car. We are friends. He is at home. She likes ice cream. Where is the bank?",
    "a page": " ".join(
        f"The old man had {number} apples under the tree and gave me all of them." for number in range(20)
    ),
}


def seconds_to_answer(model: str, engine: str, text: str) -> float:
    """Run the command once and return the seconds until it has ended."""
    lines = text.replace(". ", ".\n").split("\n")
    command = [sys.executable, "-m", "clearhead", "translate", "--model", model, "--engine", engine, *lines]
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def main() -> None:
    """Print a table of seconds, and the ratio to the engine that answers soonest."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="en-es")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--engines", nargs="+", default=["numpy", "ctranslate2", "torch"])
    options = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    print(f"{platform.python_implementation()} {platform.python_version()}, {cores} cores, model {options.model}")
    print("| text | characters | engine | fastest (s) | median (s) | ratio |")
    print("|---|---|---|---|---|---|")
    for name, text in TEXTS.items():
        rounds: dict[str, list[float]] = {engine: [] for engine in options.engines}
        for engine in options.engines:  # files come into memory, and CTranslate2 converts the model
            seconds_to_answer(options.model, engine, text)
        for _ in range(options.rounds):
            for engine in options.engines:
                rounds[engine].append(seconds_to_answer(options.model, engine, text))
        soonest = min(statistics.median(times) for times in rounds.values())
        for engine, times in rounds.items():
            median = statistics.median(times)
            row = (name, len(text), engine, f"{min(times):.2f}", f"{median:.2f}", f"{median / soonest:.1f}")
            print(f"| {' | '.join(map(str, row))} |")


if __name__ == "__main__":
    main()
