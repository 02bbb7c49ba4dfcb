"""Test sentences that are in the training text; worked by hand."""

from clearhead.evaluation.leaks import TrainingPair, find_leaks

SOURCES = ["I go", "You go", "We go", ""]
RIGHT = ["Voy", "Vas", "Vamos", ""]


def test_sentences_of_the_training_text_are_found_on_each_side_and_as_pairs() -> None:
    training = [
        TrainingPair("I  go ", "Voy"),  # spaces make no difference
        TrainingPair("You go", "Va"),
        TrainingPair("I leave", "Vamos"),
        TrainingPair("", ""),  # an empty line is no leak
    ]
    leaks = find_leaks(training, SOURCES, [RIGHT])
    assert (leaks.sources, leaks.references, leaks.pairs) == ({0, 1}, {0, 2}, {0})
    assert (leaks.num_training, leaks.num_sentences, leaks.is_leaking) == (4, 4, True)
    assert leaks.leaked == {0}
    assert leaks.to_dict()["sources"] == {"sentences": 2, "per_cent": 50.0}


def test_a_pair_counts_only_where_both_sides_are_of_one_test_sentence() -> None:
    leaks = find_leaks([TrainingPair("I go", "Vas")], SOURCES, [RIGHT])
    assert (leaks.sources, leaks.references, leaks.pairs) == ({0}, {1}, set())


def test_a_side_without_training_text_is_not_reported_as_clean() -> None:
    leaks = find_leaks([TrainingPair(target="Voy Voy")], SOURCES, [RIGHT])
    assert (leaks.sources, leaks.pairs, leaks.is_leaking) == (None, None, False)
    assert "sources" not in leaks.to_dict()
    source_leaks = find_leaks([TrainingPair(source="You go")], SOURCES, [RIGHT])
    assert (source_leaks.references, source_leaks.leaked) == (None, {1})
    assert find_leaks([TrainingPair("You go", "x")], None, [RIGHT]).sources is None


def test_any_reference_counts_as_seen() -> None:
    leaks = find_leaks([TrainingPair("I go", "Me voy")], SOURCES, [RIGHT, ["Me voy", "", "", ""]])
    assert (leaks.references, leaks.pairs) == ({0}, {0})
