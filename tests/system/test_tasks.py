"""The three tasks with the same command, on simple data: each model must learn its task."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from tests.command import run as run_command

TRAINING = {"device": "cpu", "batch_tokens": 512, "warm_up": 20, "rate": 0.004, "label_smoothing": 0.0, "log_every": 20}
MODEL = {"d_model": 32, "d_ff": 48, "num_heads": 2, "dropout": 0.0}


def run(folder: Path, config: dict[str, Any]) -> dict[str, Any]:
    """Train with the command, and return its JSON output."""
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    process = run_command("train", str(folder / "config.yaml"), "--json", "--run", str(folder / "run"))
    assert process.returncode == 0, process.stderr
    outcome: dict[str, Any] = json.loads(process.stdout)
    return outcome


def write(path: Path, pairs: list[tuple[str, str]]) -> dict[str, Any]:
    path.write_text("".join(f"{a}\t{b}\n" for a, b in pairs))
    return {"tsv": str(path), "source_field": "1", "target_field": "2"}


def test_a_translator_learns_two_languages_by_their_tags(tmp_path: Path) -> None:
    """Numbers into Spanish or German, the same sources: only the tag determines which."""
    words = {"one": ("uno", "eins"), "two": ("dos", "zwei"), "three": ("tres", "drei"), "five": ("cinco", "fünf")}
    random = np.random.default_rng(0)
    sources = [" ".join(random.choice(list(words), random.integers(1, 6))) for _ in range(600)]
    corpora = []
    for at, language in enumerate(("es", "de")):
        pairs = [(source, " ".join(words[word][at] for word in source.split())) for source in sources]
        train = write(tmp_path / f"train.{language}", pairs[:500])
        valid = write(tmp_path / f"valid.{language}", pairs[500:])
        corpora.append(({**train, "language": language}, {**valid, "language": language}))
    outcome = run(tmp_path, {
        "data": {"train": [train for train, _ in corpora], "valid": corpora[1][1], "deduplicate": True},
        "text": {"kind": "word", "vocabulary": 64},
        "model": {**MODEL, "encoder_blocks": 1, "decoder_blocks": 1},
        "training": {**TRAINING, "steps": 200}, "validation": {"every": 100, "metric": "exact"},
    })  # fmt: skip
    assert outcome["scores"]["exact"]["value"] >= 90, outcome


def test_a_classifier_learns_the_most_frequent_word(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    pairs = []
    while len(pairs) < 900:
        words = random.choice(["red", "green", "blue"], random.integers(3, 10)).tolist()
        counts = sorted(((words.count(word), word) for word in set(words)), reverse=True)
        if len(counts) == 1 or counts[0][0] > counts[1][0]:
            pairs.append((" ".join(words), counts[0][1]))
    outcome = run(tmp_path, {
        "task": "classify",
        "data": {"train": [write(tmp_path / "train", pairs[:700])], "valid": write(tmp_path / "valid", pairs[700:])},
        "text": {"kind": "word", "vocabulary": 64},
        "model": {**MODEL, "encoder_blocks": 1},
        "training": {**TRAINING, "steps": 150}, "validation": {"every": 50},
    })  # fmt: skip
    assert outcome["scores"]["accuracy"]["value"] >= 90, outcome


def test_a_language_model_learns_what_follows(tmp_path: Path) -> None:
    """Counting round a ring: after the first word, every word is determined."""
    ring = ["one", "two", "three", "five", "seven", "eleven", "thirteen"]
    random = np.random.default_rng(2)
    starts, lengths = random.integers(0, 7, 500), random.integers(4, 12, 500)
    lines = [" ".join(ring[(s + at) % 7] for at in range(n)) for s, n in zip(starts, lengths, strict=True)]
    (tmp_path / "train").write_text("\n".join(lines[:400]) + "\n")
    (tmp_path / "valid").write_text("\n".join(lines[400:]) + "\n")
    outcome = run(tmp_path, {
        "task": "language-model",
        "data": {"train": [{"source": str(tmp_path / "train")}], "valid": {"source": str(tmp_path / "valid")}},
        "text": {"kind": "word", "vocabulary": 64},
        "model": {**MODEL, "decoder_blocks": 1},
        "training": {**TRAINING, "steps": 150}, "validation": {"every": 50},
    })  # fmt: skip
    # the first word and the length cannot be predicted: (log 7 + about log 8) / 8.5 tokens is 0.47 nats; chance is log 9
    assert outcome["scores"]["loss"]["value"] < 0.7, outcome
