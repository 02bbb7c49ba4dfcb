"""Intervals and p-values are those that the `sacrebleu` command itself prints; those of many changes are worked by hand."""

import json
import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from clearhead.errors import ConfigError, DataError
from clearhead.evaluation import significance
from clearhead.evaluation.scores import SentenceCounts, average_counts, compute_counts
from clearhead.evaluation.significance import (
    Resampling,
    SignificanceTest,
    compare,
    confidence_interval,
    holm,
    randomised_sums,
)
from tests.unit.evaluation.corpus import references, spoiled

RIGHT = references()
FIRST, SECOND = spoiled(RIGHT, 0.41, 5), spoiled(RIGHT, 0.39, 7)


def by_command(folder: Path, systems: list[list[str]], *options: str) -> str:
    """Return what `sacrebleu` prints."""
    paths = []
    for number, lines in enumerate([RIGHT, *systems]):
        paths.append(folder / f"text{number}")
        paths[-1].write_text("\n".join(lines) + "\n", encoding="utf-8")
    line = [sys.executable, "-m", "sacrebleu", str(paths[0]), "-i", *map(str, paths[1:]), *options]
    return subprocess.run(line, capture_output=True, check=True, encoding="utf-8").stdout


def test_an_interval_is_that_of_the_command(tmp_path: Path) -> None:
    command_output = json.loads(by_command(tmp_path, [FIRST], "-m", "bleu", "chrf", "ter", "--confidence", "-w", "9"))
    for metric, theirs in zip(("bleu", "chrf", "ter"), command_output, strict=True):
        ours = confidence_interval(compute_counts(metric, FIRST, [RIGHT]))
        assert ours.mean == pytest.approx(theirs["confidence_mean"], abs=1e-5)  # theirs are of float32
        assert (ours.high - ours.low) / 2 == pytest.approx(theirs["confidence_var"], abs=1e-5)
        assert ours.signature == theirs["signature"]
        assert ours.low < theirs["score"] < ours.high


@pytest.mark.parametrize(("test", "option"), [("bootstrap", "--paired-bs"), ("randomisation", "--paired-ar")])
def test_a_p_value_is_that_of_the_command_except_for_ties(
    test: SignificanceTest, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command_output = by_command(tmp_path, [FIRST, SECOND], "-m", "bleu", "chrf", "ter", option, "-f", "text")
    theirs = [
        float(digits) for digits in re.findall(r"p = ([0-9.]+)", command_output)
    ]  # as JSON they cannot be had in 2.6.0
    for metric, p_value in zip(("bleu", "chrf", "ter"), theirs, strict=True):
        baseline, system = compute_counts(metric, FIRST, [RIGHT]), compute_counts(metric, SECOND, [RIGHT])
        comparison = compare(("first", "second"), baseline, system, test)
        assert round(comparison.p_value, 4) >= p_value
        with monkeypatch.context() as patch:
            patch.setattr(significance, "_TIE", -1e-9)  # ignore ties, as the command does
            assert round(compare(("first", "second"), baseline, system, test).p_value, 4) == p_value
        assert 0.001 < p_value < 0.9
        assert comparison.difference == system.corpus_score.value - baseline.corpus_score.value
        assert (comparison.baseline, comparison.system, comparison.test) == ("first", "second", test)


def test_no_environment_variable_changes_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    before = confidence_interval(compute_counts("bleu", FIRST, [RIGHT]), Resampling(101))
    monkeypatch.setenv("SACREBLEU_SEED", "7")
    assert confidence_interval(compute_counts("bleu", FIRST, [RIGHT]), Resampling(101)) == before
    assert confidence_interval(compute_counts("bleu", FIRST, [RIGHT]), Resampling(101, seed=7)).mean != before.mean


def test_samples_do_not_depend_on_the_size_of_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    baseline, system = (
        compute_counts("exact", FIRST[:37], [RIGHT[:37]]),
        compute_counts("exact", SECOND[:37], [RIGHT[:37]]),
    )
    resampling = Resampling(103, 107)

    def all_at_once() -> list[object]:
        tests: tuple[SignificanceTest, SignificanceTest] = ("bootstrap", "randomisation")
        return [
            confidence_interval(system, resampling),
            *(compare(("a", "b"), baseline, system, test, resampling) for test in tests),
        ]

    before = all_at_once()
    monkeypatch.setattr(significance, "_CHUNK", 1024)
    assert all_at_once() == before


def test_a_system_against_itself_is_not_significant_and_a_large_difference_is() -> None:
    bad = compute_counts("chrf", spoiled(RIGHT, 0.9, 11), [RIGHT])
    good = compute_counts("chrf", FIRST, [RIGHT])
    for test in ("bootstrap", "randomisation"):
        large = compare(("bad", "good"), bad, good, test, Resampling(101, 103))  # type: ignore[arg-type]
        assert large.difference > 20
        assert large.p_value == pytest.approx(1 / (102 if test == "bootstrap" else 104))
        same = compare(("a", "b"), good, good, test, Resampling(101, 103))  # type: ignore[arg-type]
        assert (same.difference, same.p_value) == (0.0, 1.0)


def test_three_sentences_that_differ_prove_nothing() -> None:
    right = [f"w{number}" for number in range(101)]
    baseline = compute_counts("exact", ["x", "x", "x", *right[3:]], [right])
    comparison = compare(("a", "b"), baseline, compute_counts("exact", right, [right]), "randomisation")
    # all three swapped or none, of eight ways: 2/8
    assert comparison.p_value == pytest.approx(0.25, abs=0.02)


def test_hits_are_resampled_as_worked_by_hand() -> None:
    # one hit of two: of the four test sets of two sentences one has both hits, two have one, one has none
    rows = np.array([[1.0, 1.0], [0.0, 1.0]])
    hits = SentenceCounts(
        rows,
        lambda total: float(100 * total[0] / total[1]),
        compute_counts("exact", ["a", "b"], [["a", "c"]]).corpus_score,
    )
    interval = confidence_interval(hits, Resampling(4000))
    assert (interval.low, interval.high) == (0.0, 100.0)
    assert interval.mean == pytest.approx(50, abs=3)


def test_impossible_tests_are_reported() -> None:
    with pytest.raises(DataError, match="'a' has 211 sentences and 'b' 7: a paired test needs both"):
        compare(
            ("a", "b"),
            compute_counts("bleu", FIRST, [RIGHT]),
            compute_counts("bleu", FIRST[:7], [RIGHT[:7]]),
            "bootstrap",
        )
    with pytest.raises(ConfigError, match="39 samples are too few for a 95 % interval. Draw at least 40"):
        Resampling(39)


def test_outputs_of_one_system_are_pooled_sentence_by_sentence() -> None:
    one, other = (
        compute_counts("exact", ["a", "b", "x"], [["a", "b", "c"]]),
        compute_counts("exact", ["a", "y", "z"], [["a", "b", "c"]]),
    )
    both = average_counts([one, other])
    assert both.rows[:, 0].tolist() == [1.0, 0.5, 0.0]
    assert both.corpus_score.value == pytest.approx(50.0)
    assert both.corpus_score.signature.endswith("|outputs:2")
    assert average_counts([one]) is one
    with pytest.raises(DataError, match="outputs of one system must have the same number of sentences"):
        average_counts([one, compute_counts("exact", ["a"], [["a"]])])


@pytest.mark.parametrize("metric", ["bleu", "tokenised-bleu", "chrf", "chrf++", "ter", "exact"])
def test_the_score_of_all_sentences_is_that_of_the_corpus(metric: str) -> None:
    counts = compute_counts(metric, FIRST, [RIGHT, SECOND])
    assert counts.value(range(211)) == pytest.approx(counts.corpus_score.value)
    assert counts.corpus_score.signature.startswith("nrefs:2|")
    half = compute_counts(metric, FIRST[:101], [RIGHT[:101], SECOND[:101]])
    assert counts.value(range(101)) == pytest.approx(half.corpus_score.value)


def test_holm_by_hand() -> None:
    """Sorted: 0.005 x 4, 0.01 x 3, 0.03 x 2 = 0.06, then 0.04 x 1 = 0.04, which is raised to 0.06."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_no_corrected_p_value_exceeds_one() -> None:
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


def test_p_values_are_those_of_all_exchanges() -> None:
    differences = np.array([[0.3, 0.1, 0.7, 0.2, 0.5, -0.1, 0.4], [0.3, -0.2, 0.1, -0.4, 0.2, -0.1, 0.05]])
    p_values = randomised_sums(differences, Resampling(num_trials=20_000))
    signs = np.array(list(product((1, -1), repeat=7))).T
    exact = (np.abs(differences @ signs) >= np.abs(differences.sum(axis=1))[:, None] - 1e-12).mean(axis=1)
    assert p_values == pytest.approx(exact.tolist(), abs=0.01)
    assert exact[0] < 0.05 < exact[1]


def test_a_change_that_changes_nothing_has_p_value_one() -> None:
    assert randomised_sums(np.zeros((1, 5)), Resampling(num_trials=40)) == [1.0]


def test_more_trials_extend_the_same_sequence_of_chunks() -> None:
    differences = np.random.default_rng(0).normal(size=(2, 11))
    assert randomised_sums(differences) == randomised_sums(differences)
    assert randomised_sums(differences) != randomised_sums(differences, Resampling(seed=1))
