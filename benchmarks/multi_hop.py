"""The study multi-hop over several seeds, with the same search of rates for every model.

    python benchmarks/multi_hop.py --work runs/multi-hop

The rate of every model is the one with the best mean on validation stories over all seeds. Trainings that are done in
--work are not repeated. Prints the validation of all rates and, for the best one, the means and ranges over the seeds.
"""

import argparse
import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from clearhead.studies.hop_task import last_mention
from clearhead.studies.multi_hop import MODELS, SMALL, TESTS, HopSizes, accuracies, answers, train
from train_peers import describe_machine

_NUM_CHOSEN_BY = 3  # tests that choose the rate: those without new names
_VALIDATION = 1000  # added to a seed: other stories than those of the tests


def main() -> None:
    """Train all models and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rates", type=float, nargs="+", default=[1e-2, 5e-3, 2.5e-3])
    parser.add_argument("--steps", type=int, default=SMALL.steps)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    rates, rows = {}, {}
    for name in MODELS:
        tried = {
            rate: [_measured(name, rate, seed, options) for seed in range(options.seeds)] for rate in options.rates
        }
        validations = {rate: [result["validation"] for result in results] for rate, results in tried.items()}
        rates[name] = max(validations, key=lambda rate: sum(_score(shares) for shares in validations[rate]))
        rows[name] = [result["test"] for result in tried[rates[name]]]
        for rate, shares in validations.items():
            print(name, f"{rate:g}", [[round(share, 3) for share in row] for row in shares], flush=True)
    print(describe_machine("cpu", 1))
    print(f"\n| model | rate | {' | '.join(TESTS)} |\n|---|---:|{'---:|' * len(TESTS)}")
    for name, shares in rows.items():
        print(f"| {name} | {rates[name]:g} | {_cells(shares)} |")
    baseline = [accuracies(last_mention, SMALL, seed) for seed in range(options.seeds)]
    print(f"| last mention | | {_cells(baseline)} |")


def _score(shares: list[float]) -> float:
    """Return what chooses the rate: the mean of the tests without new names."""
    return sum(shares[:_NUM_CHOSEN_BY]) / _NUM_CHOSEN_BY


def _cells(shares: list[list[float]]) -> str:
    """Return the mean of every test over the seeds, with the lowest and the highest."""
    columns = zip(*shares, strict=True)
    return " | ".join(f"{sum(column) / len(column):.3f} ({min(column):.3f}–{max(column):.3f})" for column in columns)


def _measured(name: str, rate: float, seed: int, options: argparse.Namespace) -> dict[str, list[float]]:
    """Train and test a model, unless that is done."""
    path = options.work / f"{name.replace(' ', '-')}_{rate:g}_{seed}.json"
    if not path.is_file():
        sizes: HopSizes = replace(SMALL, rate=rate, steps=options.steps)
        model = train(name, sizes, seed)
        torch.save(model.state_dict(), path.with_suffix(".pt"))
        result = {
            "validation": accuracies(partial(answers, model), sizes, seed + _VALIDATION),
            "test": accuracies(partial(answers, model), sizes, seed),
        }
        path.write_text(json.dumps(result), encoding="utf-8")
    loaded: dict[str, list[float]] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


if __name__ == "__main__":
    main()
