"""Parts of a test set: by length, by frequency of words, by what was seen in training; worked by hand."""

import pytest

from clearhead.evaluation.buckets import match_words_by_frequency, score_by_length
from clearhead.evaluation.counts import compute_counts, compute_counts_by_metric
from clearhead.evaluation.leaks import TrainingPair, scan_training_text


def test_sentences_are_put_into_the_part_of_their_length() -> None:
    lines = ["a b c d e", "a b c d e f", "", " ".join("abcdefghijk"), " ".join(["x"] * 61)]
    systems = {"one": compute_counts_by_metric(["exact"], ["a b c d e", "no", "", "no", "no"], [lines])}
    buckets = score_by_length(systems, lines)
    rows = [(bucket.name, bucket.num_sentences, bucket.scores["one"]["exact"]) for bucket in buckets]
    assert rows == [("1–5 words", 2, 100.0), ("6–10 words", 1, 0.0), ("11–15 words", 1, 0.0), ("over 60 words", 1, 0.0)]


def test_a_part_is_scored_like_a_separate_test_set() -> None:
    right = ["the cat sat on the mat", "a dog ran far away from the very old red house today"]
    outputs = ["the cat sat on a mat", "a dog ran far from the very old house today"]
    short, long = score_by_length({"s": compute_counts_by_metric(["bleu"], outputs, [right])}, right)
    assert short.scores["s"]["bleu"] == pytest.approx(
        compute_counts("bleu", outputs[:1], [right[:1]]).corpus_score.value
    )
    assert long.scores["s"]["bleu"] == pytest.approx(
        compute_counts("bleu", outputs[1:], [right[1:]]).corpus_score.value
    )


def test_words_are_matched_as_often_as_both_sides_have_them() -> None:
    # the: 2 expected, 3 written, 2 matched; cat: expected and written once; mat, rug: one side only; "." on both
    buckets = match_words_by_frequency(["The the the cat rug."], ["the the cat mat."], {"the": 12, "cat": 1, ".": 3})
    counts = {bucket.name: (bucket.num_reference, bucket.num_output, bucket.num_matched) for bucket in buckets}
    assert counts == {
        "0 times": (1, 2, 0),  # mat; The and rug
        "1 times": (1, 1, 1),
        "2–4 times": (1, 1, 1),
        "10–99 times": (2, 2, 2),
    }
    assert (buckets[0].recall, buckets[0].precision) == (0.0, 0.0)
    only = match_words_by_frequency([""], ["new"], {})[0]
    assert (only.recall, only.precision) == (0.0, None)


SOURCES = ["I go", "You go", "We go", ""]
RIGHT = ["Voy", "Vas", "Vamos", ""]


def test_sentences_of_the_training_text_are_found_on_each_side_and_as_pairs() -> None:
    training = [
        TrainingPair("I  go ", "Voy"),  # spaces make no difference
        TrainingPair("You go", "Va"),
        TrainingPair("I leave", "Vamos"),
        TrainingPair("", ""),  # an empty line is no leak
    ]
    leaks = scan_training_text(training, SOURCES, [RIGHT]).leaks
    assert (leaks.sources, leaks.references, leaks.pairs) == ({0, 1}, {0, 2}, {0})
    assert (leaks.num_training, leaks.num_sentences, leaks.is_leaking) == (4, 4, True)
    assert leaks.leaked == {0}
    assert leaks.to_dict()["sources"] == {"sentences": 2, "per_cent": 50.0}


def test_a_pair_counts_only_where_both_sides_are_of_one_test_sentence() -> None:
    leaks = scan_training_text([TrainingPair("I go", "Vas")], SOURCES, [RIGHT]).leaks
    assert (leaks.sources, leaks.references, leaks.pairs) == ({0}, {1}, set())


def test_a_side_without_training_text_is_not_reported_as_clean() -> None:
    scan = scan_training_text([TrainingPair(target="Voy Voy")], SOURCES, [RIGHT], [["Voy", "Ve", "", ""]])
    assert (scan.leaks.sources, scan.leaks.pairs, scan.leaks.is_leaking) == (None, None, False)
    assert "sources" not in scan.leaks.to_dict()
    assert scan.frequencies == {"Voy": 2}
    source_scan = scan_training_text([TrainingPair(source="You go")], SOURCES, [RIGHT])
    assert (source_scan.frequencies, source_scan.leaks.references, source_scan.leaks.leaked) == (None, None, {1})
    assert scan_training_text([TrainingPair("You go", "x")], None, [RIGHT]).leaks.sources is None


def test_any_reference_counts_as_seen() -> None:
    leaks = scan_training_text([TrainingPair("I go", "Me voy")], SOURCES, [RIGHT, ["Me voy", "", "", ""]]).leaks
    assert (leaks.references, leaks.pairs) == ({0}, {0})
