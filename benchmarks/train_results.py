"""The results of a config: train each seed from raw text, score the test sets, and print the mean and spread of seeds.

The time of a seed is that of its entire process: start, vocabulary, data, compiling, updates and validations. Nothing
is chosen on a test set. With `--set validation.enough=N` a run ends when validation reaches this score: a speedrun.

    python benchmarks/train_results.py configs/multi30k-en-de.yaml --test 2016=data/multi30k/test_2016_flickr \\
        --languages en de --seeds 1 2 3 --output made

The BLEU that papers quote for Multi30k is of lower-cased text, tokenised by Moses: it is reported if sacremoses is
installed. The same with sacreBLEU's own tokeniser is next to it, with its signature.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from clearhead.evaluation.scores import Score, bleu, chrf, corpus_score
from clearhead.files.lines import read_lines
from clearhead.training.environment import describe_environment


@dataclass(frozen=True)
class TestSet:
    """A test set: its name, and its two files."""

    name: str
    source: Path
    reference: Path


@dataclass(frozen=True)
class SeedResult:
    """The results of one seed."""

    seed: int
    seconds: float  # of the entire process
    outcome: Mapping[str, Any]
    scores: Mapping[str, Mapping[str, Score]]  # by test set, then by metric


def find(stem: str, language: str) -> Path:
    """Return the file of one side, compressed or not."""
    for ending in ("", ".gz", ".xz"):
        path = Path(f"{stem}.{language}{ending}")
        if path.is_file():
            return path
    sys.exit(f"There is no {stem}.{language}, also not as .gz or .xz. Give --test NAME=STEM, without the language.")


def lines_of(path: Path) -> list[str]:
    """Return the lines of a file, compressed or not."""
    return [str(line) for line in read_lines(str(path))]


def clearhead(*arguments: object) -> None:
    """Run a verb in a separate process; its output goes to the terminal."""
    subprocess.run([sys.executable, "-m", "clearhead.cli.main", *map(str, arguments)], check=True)


def train(options: argparse.Namespace, seed: int) -> float:
    """Train one seed, and return how long its process took."""
    changes = [part for change in options.set for part in ("--set", change)]
    start = time.perf_counter()
    clearhead("train", options.config, "--run", run_of(options, seed), "--set", f"training.seed={seed}", *changes)
    return time.perf_counter() - start


def run_of(options: argparse.Namespace, seed: int) -> Path:
    """Return the folder of a seed's run."""
    return Path(options.output) / f"seed-{seed}"


def moses(lines: Sequence[str], language: str) -> list[str]:
    """Return text as papers tokenise it: in lower case, by the Moses tokeniser."""
    from sacremoses import MosesTokenizer

    cut = MosesTokenizer(language)
    return [cut.tokenize(line.lower(), return_str=True, escape=False) for line in lines]


def test(options: argparse.Namespace, seed: int, tests: Sequence[TestSet]) -> dict[str, dict[str, Score]]:
    """Translate the test sets with one model, and score them."""
    scores = {}
    for test_set in tests:
        output = run_of(options, seed) / f"{test_set.name}.txt"
        run = run_of(options, seed)
        clearhead("translate", "-m", run, "-i", test_set.source, "-o", output, "--beam", options.beam)
        outputs, references = lines_of(output), lines_of(test_set.reference)
        is_lower = outputs == [text.lower() for text in outputs]  # then capitals of the reference have no meaning
        lower = [[text.lower() for text in side] for side in (outputs, references)]
        scores[test_set.name] = {
            "lower-cased BLEU": corpus_score("tokenised-bleu", outputs, references),
            **({} if is_lower else {"BLEU": bleu(outputs, references)}),
            "lower-cased chrF": chrf(*lower),
        }
        if find_spec("sacremoses"):
            cut = [moses(side, options.languages[1]) for side in (outputs, references)]
            scores[test_set.name] = {
                "Moses, lower-cased BLEU": corpus_score("tokenised-bleu", *cut, tokenisation="none"),
                **scores[test_set.name],
            }
    return scores


def spread(values: Sequence[float]) -> str:
    """Return mean and standard deviation."""
    deviation = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.2f}{deviation}"


def tell(results: Sequence[SeedResult], options: argparse.Namespace) -> None:
    """Print the table and the signatures, and save everything as JSON."""
    where = describe_environment(options.seeds[0])
    machine = ", ".join(where["gpus"]) or f"{where['processor']}, {where['threads']} threads"
    print(f"\n{machine}; Python {where['python']}, torch {where['packages']['torch']}; commit {where['commit']}")
    print(f"{options.config} {' '.join(options.set)}; beam {options.beam}; seeds {' '.join(map(str, options.seeds))}, "
          f"{options.at_once} at once\n")  # fmt: skip
    valid = [{name: score["value"] for name, score in result.outcome["scores"].items()} for result in results]
    rows = [("seconds in total", [result.seconds for result in results])]
    rows += [("updates", [float(result.outcome["steps"]) for result in results])]
    rows += [
        (f"valid {name}, greedy", [outcome[name] for outcome in valid]) for name in ("bleu", "chrf") if name in valid[0]
    ]
    signatures = {name: score["signature"] for name, score in results[0].outcome["scores"].items()}
    for name, scores in results[0].scores.items():
        for metric, score in scores.items():
            rows.append((f"{name} {metric}", [result.scores[name][metric].value for result in results]))
            signatures[metric] = score.signature
    print(f"| | mean ± deviation | {' | '.join(f'seed {result.seed}' for result in results)} |")
    print(f"|---|{'---:|' * (1 + len(results))}")
    for title, values in rows:
        print(f"| {title} | {spread(values)} | {' | '.join(f'{value:,.2f}' for value in values)} |")
    print()
    for name, signature in signatures.items():
        print(f"- {name}: {signature}")
    summary = {"environment": where, "rows": dict(rows), "signatures": signatures, "changes": options.set}
    Path(options.output, "results.json").write_text(json.dumps(summary, indent=1, ensure_ascii=False), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path)
    parser.add_argument("--test", action="append", default=[], metavar="NAME=STEM", help="a test set; may be repeated")
    parser.add_argument("--languages", nargs=2, default=["en", "de"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--at-once", type=int, default=1, help="number of seeds trained in parallel: each takes longer")
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help="as of clearhead train")
    parser.add_argument("--output", type=Path, required=True, help="a new folder for the runs")
    options = parser.parse_args()
    if options.output.exists():
        sys.exit(f"{options.output} exists. Name a new folder.")
    tests = []
    for option in options.test:
        name, _, stem = option.partition("=")
        tests.append(TestSet(name, *(find(stem, language) for language in options.languages)))
    options.output.mkdir(parents=True)
    with ThreadPoolExecutor(options.at_once) as workers:
        seconds = list(workers.map(lambda seed: train(options, seed), options.seeds))
    with ThreadPoolExecutor(len(options.seeds)) as workers:  # this is not timed
        scores = list(workers.map(lambda seed: test(options, seed, tests), options.seeds))
    outcomes = [json.loads((run_of(options, seed) / "outcome.json").read_text("utf-8")) for seed in options.seeds]
    tell(list(map(SeedResult, options.seeds, seconds, outcomes, scores)), options)


if __name__ == "__main__":
    main()
