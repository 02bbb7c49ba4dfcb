"""Sentiment of film reviews (SST): attention, recurrent and convolutional readers, and TF-IDF with a linear model.

All read the same sentences. The three readers have the same vocabulary, settings and training, and nearly the same
number of parameters (configs/sentiment.yaml). There are three classes (negative, neutral, positive) or two (without the
neutral sentences). Only whole sentences are used: published models were trained on their labelled phrases too.

    python benchmarks/sentiment.py --data sst --work runs/sentiment                 # three seeds
    python benchmarks/sentiment.py --data sst --work runs/sentiment --seeds 1 --epochs 4    # on two cores

--data has train.tsv, valid.tsv and test.tsv, plain or .xz: label, grade, text. TF-IDF needs scikit-learn
(pip install '.[benchmarks]').
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from clearhead.decoding.classification import open_classifier
from clearhead.evaluation.label_report import LabelReport, report_labels
from clearhead.evaluation.significance import Resampling
from halves import base_config, print_machine, print_table, read_text, train, with_architecture

# Nearly the same number of parameters, without the 1,024 learned positions of the convolutional reader; those of
# the Transformer are in configs/sentiment.yaml.
READERS: Mapping[str, Mapping[str, Any]] = {
    "transformer": {},
    "recurrent": {"architecture": "recurrent", "encoder_blocks": 2, "d_model": 136},
    "convolutional": {"architecture": "convolutional", "encoder_blocks": 3, "d_model": 128},
}
SYSTEMS = (*READERS, "tf-idf")
STRENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)  # C of logistic regression, chosen on the validation text
Texts = dict[str, tuple[list[str], list[str]]]  # part → texts and labels


@dataclass(frozen=True)
class Outcome:
    """The reports of a system, one for each seed, with its size and its mean training time."""

    system: str
    reports: Sequence[LabelReport]
    seconds: float
    num_parameters: int


def read_parts(folder: Path, num_classes: int) -> Texts:
    """Return the texts and labels of each part; with two classes, without neutral sentences."""
    parts: Texts = {}
    for part in ("train", "valid", "test"):
        rows = [line.split("\t") for line in read_text(folder, f"{part}.tsv").splitlines()]
        kept = [row for row in rows if num_classes == 3 or row[0] != "neutral"]
        parts[part] = [row[2] for row in kept], [row[0] for row in kept]
    return parts


def run_reader(name: str, parts: Texts, work: Path, options: argparse.Namespace) -> Outcome:
    """Train a reader with each seed, and classify the test text."""
    for part, (texts, labels) in parts.items():
        (work / f"{part}.txt").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        (work / f"{part}.labels").write_text("".join(f"{label}\n" for label in labels), encoding="utf-8")
    config = base_config("sentiment")
    config["data"]["train"] = [{"source": str(work / "train.txt"), "target": str(work / "train.labels")}]
    config["data"]["valid"] = {"source": str(work / "valid.txt"), "target": str(work / "valid.labels")}
    config["training"] |= {"device": options.device, "epochs": options.epochs or config["training"]["epochs"]}
    if READERS[name]:
        config = with_architecture(config, READERS[name])
    reports, seconds, size = [], [], 0
    for seed in options.seeds:
        config["training"]["seed"] = seed
        run = train(config, work / f"{name}-{seed}")
        classifier = open_classifier(run.folder, device=options.device, precision="float32")
        predictions = [outcome.label for outcome in classifier.classify(parts["test"][0]) if outcome is not None]
        reports.append(report_labels(predictions, parts["test"][1], classifier.labels, Resampling()))
        seconds.append(run.seconds)
        size = run.num_parameters
    return Outcome(name, reports, fmean(seconds), size)


def run_tf_idf(parts: Texts) -> Outcome:
    """Fit logistic regression on TF-IDF of words and pairs of words, with the strength that is best on valid."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    start = time.perf_counter()
    vectoriser = TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"\S+", sublinear_tf=True)
    train_vectors = vectoriser.fit_transform(parts["train"][0])
    valid_vectors, test_vectors = (vectoriser.transform(parts[part][0]) for part in ("valid", "test"))
    models = [
        LogisticRegression(C=strength, max_iter=1000).fit(train_vectors, parts["train"][1]) for strength in STRENGTHS
    ]
    best = max(models, key=lambda model: model.score(valid_vectors, parts["valid"][1]))
    seconds = time.perf_counter() - start
    predictions = [str(label) for label in best.predict(test_vectors)]
    report = report_labels(predictions, parts["test"][1], [str(label) for label in best.classes_], Resampling())
    return Outcome("tf-idf", [report], seconds, int(best.coef_.size + best.intercept_.size))


def row_of(outcome: Outcome) -> list[str]:
    """Return the row of a system: means over the seeds, and the interval of the first."""
    cells = [outcome.system, f"{outcome.num_parameters:,}", f"{len(outcome.reports)}"]
    for place in range(2):
        values = [report.scores[place].score.value for report in outcome.reports]
        spread = f" ± {stdev(values):.1f}" if len(values) > 1 else ""
        cells.append(f"{fmean(values):.1f}{spread}")
        interval = outcome.reports[0].scores[place].interval
        assert interval is not None
        cells.append(f"{interval.low:.1f} … {interval.high:.1f}")
    return [*cells, f"{outcome.seconds:.0f}"]


def main() -> None:
    """Train and score every system for each number of classes, and print a table of each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--classes", type=int, nargs="+", choices=(2, 3), default=(3, 2))
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=SYSTEMS)
    parser.add_argument("--seeds", type=int, nargs="+", default=(1, 2, 3))
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    options = parser.parse_args()
    if "tf-idf" in options.systems and find_spec("sklearn") is None:
        parser.error("tf-idf needs scikit-learn: pip install '.[benchmarks]', or choose other --systems")
    print_machine(options.device)
    heading = ("reader", "parameters", "seeds", "accuracy", "95 % (first seed)", "macro-F1", "95 % (first seed)", "s")
    for num_classes in options.classes:
        work = options.work / f"classes-{num_classes}"
        work.mkdir(parents=True, exist_ok=True)
        parts = read_parts(options.data, num_classes)
        majority = max(parts["test"][1].count(label) for label in set(parts["test"][1])) / len(parts["test"][1])
        print(
            f"{num_classes} classes, {', '.join(f'{len(texts):,} {part}' for part, (texts, _) in parts.items())}; ",
            end="",
        )
        print(f"the most frequent label: {100 * majority:.1f} %\n")
        outcomes = [
            run_tf_idf(parts) if name == "tf-idf" else run_reader(name, parts, work, options)
            for name in options.systems
        ]
        print_table(heading, [row_of(outcome) for outcome in outcomes])


if __name__ == "__main__":
    main()
