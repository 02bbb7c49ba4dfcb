"""Scores are those of sacreBLEU, both library and command, and each has its signature."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
import sacrebleu

from clearhead.errors import ConfigError, DataError
from clearhead.evaluation.scores import (
    COUNTED_METRICS,
    Score,
    accuracy,
    bleu,
    chrf,
    compute_counts,
    corpus_score,
    exact_match,
    perplexity,
)

OUTPUTS = ["The cat sat on the mat today.", "Let's go!", "A piece of cake, they said.", "नमस्ते दुनिया आज है ।", ""]
RIGHT = ["The cat sat on a mat today.", "Let's go!", "It was a piece of cake, she said.", "नमस्ते दुनिया कल है ।", "No."]
OTHER = ["A cat was on the mat today.", "Go!", "A piece of cake, they say.", "दुनिया आज है ।", "It is not."]


def by_command(tmp_path: Path, *options: str) -> dict[str, object]:
    """Return what the `sacrebleu` command itself prints."""
    for name, lines in (("outputs", OUTPUTS), ("right", RIGHT)):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    line = [sys.executable, "-m", "sacrebleu", str(tmp_path / "right"), "-i", str(tmp_path / "outputs"), *options]
    command_output = subprocess.run([*line, "--width", "10"], capture_output=True, check=True, encoding="utf-8").stdout
    score_fields: dict[str, object] = json.loads(command_output)
    return score_fields


@pytest.mark.parametrize(
    ("metric", "options"),
    [
        ("bleu", ("-m", "bleu")),
        ("chrf", ("-m", "chrf")),
        ("chrf++", ("-m", "chrf", "--chrf-word-order", "2")),
        ("ter", ("-m", "ter")),
        ("tokenised-bleu", ("-m", "bleu", "-lc", "-s", "none", "--force")),
    ],
)
def test_a_score_is_that_of_the_command(metric: str, options: tuple[str, ...], tmp_path: Path) -> None:
    ours = corpus_score(metric, OUTPUTS, RIGHT)
    theirs = by_command(tmp_path, *options)
    assert round(ours.value, 10) == theirs["score"]
    assert ours.signature == theirs["signature"]
    assert 0 < ours.value < 100


def test_a_score_is_that_of_the_library_with_several_references() -> None:
    assert bleu(OUTPUTS, RIGHT, OTHER).value == sacrebleu.corpus_bleu(OUTPUTS, [RIGHT, OTHER]).score
    assert bleu(OUTPUTS, RIGHT, OTHER).signature.startswith("nrefs:2|")
    assert chrf(OUTPUTS, RIGHT, OTHER).value == sacrebleu.corpus_chrf(OUTPUTS, [RIGHT, OTHER]).score
    assert corpus_score("ter", OUTPUTS, RIGHT, OTHER).value == sacrebleu.corpus_ter(OUTPUTS, [RIGHT, OTHER]).score
    plus = corpus_score("chrf++", OUTPUTS, RIGHT)
    assert (plus.name, plus.value) == ("chrF++", sacrebleu.corpus_chrf(OUTPUTS, [RIGHT], word_order=2).score)


def test_the_bleu_of_papers_has_its_own_signature_and_another_value() -> None:
    papers_bleu = corpus_score("tokenised-bleu", OUTPUTS, [line.upper() for line in RIGHT])
    assert papers_bleu.name == "tokenised lower-cased BLEU"
    assert papers_bleu.note == "As papers quote it; not comparable with BLEU"
    assert "case:lc" in papers_bleu.signature
    assert "tok:13a" in papers_bleu.signature
    assert papers_bleu.value > bleu(OUTPUTS, [line.upper() for line in RIGHT]).value
    assert str(papers_bleu).endswith("not comparable with BLEU")
    assert "tok:none" in corpus_score("tokenised-bleu", ["a b ."], ["a b ."], tokenisation="none").signature


def test_exact_match_counts_sentences_that_equal_any_reference() -> None:
    assert exact_match(OUTPUTS, RIGHT).value == 20.0
    assert exact_match([" Let's go! ", "a", "B"], ["Let's go!", "b", "b"]).value == pytest.approx(100 / 3)
    two_references = exact_match(["a", "b", "c"], ["a", "x", "y"], ["z", "b", "z"])
    assert two_references.value == pytest.approx(200 / 3)
    assert two_references.signature == "nrefs:2|case:mixed|space:stripped|unit:sentence"


def test_accuracy_counts_labels() -> None:
    share = accuracy(["yes", "no", "no", "yes", "yes"], ["yes", "yes", "no", "yes", "no"])
    assert (share.value, share.signature) == (60.0, "unit:label|average:micro")


def test_perplexity_is_of_one_token() -> None:
    per_token = perplexity(-3 * math.log(7), 3, "0123abcd")
    assert per_token.value == pytest.approx(7)
    assert per_token.signature == "unit:token|eos:yes|vocabulary:0123abcd"
    assert not per_token.is_higher_better
    assert perplexity(-1e9, 1, "v").value == math.inf
    with pytest.raises(DataError, match="needs at least one token, but 0 were given"):
        perplexity(0.0, 0, "v")


@pytest.mark.parametrize("metric", COUNTED_METRICS)
def test_every_metric_is_found_by_its_name_and_has_a_signature(metric: str) -> None:
    score = corpus_score(metric, OUTPUTS, RIGHT)
    assert isinstance(score, Score)
    assert score.signature
    assert score.to_dict()["signature"] == score.signature
    best = corpus_score(metric, RIGHT, RIGHT)
    assert best.value == pytest.approx(100.0 if best.is_higher_better else 0.0)


def test_an_unknown_metric_is_reported_with_the_closest_name() -> None:
    with pytest.raises(
        ConfigError, match="'blue' is not a metric. Did you mean 'bleu'\\? Metrics: bleu, tokenised-bleu"
    ):
        corpus_score("blue", OUTPUTS, RIGHT)


def test_outputs_and_references_of_different_numbers_are_refused() -> None:
    with pytest.raises(DataError, match=r"5 outputs and 4 references \(set 2\). Line i of one belongs to line i"):
        bleu(OUTPUTS, RIGHT, OTHER[:4])
    with pytest.raises(DataError, match="no outputs to score"):
        exact_match([], [])


def test_ter_of_a_line_that_would_take_hours_is_refused() -> None:
    long = "word " * 400_000
    for compute in (
        lambda: corpus_score("ter", ["a", long], ["a", "b"]),
        lambda: compute_counts("ter", ["a", "b"], [["a", "b"], ["a", long]]),
    ):
        with pytest.raises(DataError) as error:
            compute()
        assert str(error.value) == (
            "line 2 has 400,000 words, but TER is computed only for lines of at most 1,000 words. "
            "Split the line into sentences, or use other metrics."
        )
    assert corpus_score("ter", ["a b " * 500], ["a b " * 500]).value == 0
