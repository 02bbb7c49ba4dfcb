"""The full form of the study of word senses: benchmarks/word_senses.py and the sentences that it reads."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.studies.test_sense_measures import equal_vectors

ROOT = Path(__file__).parents[3]
FEW = "".join(
    f"watch\t{sense}\t{sentence}\n"
    for sense, sentences in {
        "clock": ("My watch is slow.", "He lost his watch.", "This watch is old.", "She sold her gold watch."),
        "look at": ("We watch the game.", "They watch a movie.", "I watch the birds.", "Please watch the children."),
    }.items()
    for sentence in sentences
)


@pytest.fixture
def full_form(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import word_senses

    return word_senses


@pytest.fixture
def sentences(full_form: Any) -> Any:
    import sense_sentences

    return sense_sentences


def test_the_translation_decides_the_sense_if_it_has_words_of_exactly_one(sentences: Any, tmp_path: Path) -> None:
    pairs = [
        ("The capital is large.", "Die Hauptstadt ist groß."),
        ("They need venture capital.", "Sie brauchen Risikokapital."),
        ("The capital has capital.", "Die Hauptstadt hat Kapital."),  # the word occurs twice
        ("The capital needs money.", "Die Hauptstadt braucht Kapital."),  # words of both senses
        ("The capital is here.", "Sie ist hier."),  # of neither
        ("Capital is scarce.", "Kapital ist knapp."),  # another first piece
        ("It is capital-intensive.", "Es braucht Kapital."),  # a part of another word
    ]
    for side, name in enumerate(("en", "de")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    read = list(sentences.read_parallel(tmp_path / "en", tmp_path / "de"))
    assert [(one.word, one.sense, one.text) for one in read] == [
        ("capital", "city", "The capital is large."),
        ("capital", "money", "They need venture capital."),
    ]
    assert sentences.translates_sense("capital", "in vielen Hauptstädten") == "city"
    assert sentences.translates_sense("capital", "Die Hauptstadt braucht Kapital.") is None


def test_every_word_of_the_table_has_senses_with_valid_patterns(sentences: Any) -> None:
    assert all(len(senses) > 1 for senses in sentences.SENSES.values())
    for word in sentences.SENSES:
        assert sentences.translates_sense(word, "") is None  # the patterns compile, and none of them is empty


def test_the_sentences_that_come_with_the_benchmark_are_balanced(sentences: Any) -> None:
    read = list(sentences.read_sentences(ROOT / "benchmarks" / "word_senses.tsv"))
    counts = Counter((one.word, one.sense) for one in read)
    assert len(counts) == 16
    assert set(counts.values()) == {8}
    assert len({one.text for one in read}) == 128


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("watch\tMy watch is slow.", r"few\.tsv:2 has 2 columns, not three: word, sense and sentence, with tabs\."),
        ("watch\tclock\tIt is slow.", r"few\.tsv:2: the word 'watch' must occur once in its sentence, in lower case"),
    ],
)
def test_a_wrong_line_is_named(sentences: Any, tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "few.tsv").write_text(f"# a comment\n{line}\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=message):
        list(sentences.read_sentences(tmp_path / "few.tsv"))


def test_the_built_in_model_is_measured_beside_one_of_random_weights(
    full_form: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "few.tsv").write_text(FEW, encoding="utf-8")
    arguments = ["en-es", "--sentences", str(tmp_path / "few.tsv"), "--untrained", "--device", "cpu"]
    arguments += ["--json", str(tmp_path / "few.json"), "--picture", str(tmp_path / "few.svg")]
    monkeypatch.setattr("sys.argv", ["word_senses.py", *arguments])
    full_form.main()
    output = capsys.readouterr().out
    assert "*watch* (clock / look at) 4" in output
    assert output.count("| en-es | 50.0 | ") == output.count("| en-es, untrained | 50.0 | ") == 2
    assert "| en-es | 1.000 / 1.000 | " in output
    assert "Greedy translations" not in output
    (model,) = json.loads((tmp_path / "few.json").read_text(encoding="utf-8"))["models"]
    (word,) = model["results"]["en-es"]
    static, *_, last = word["layers"]
    assert len(word["layers"]) == model["layers"] + 1
    assert (static["centroid"], static["linear"]) == (0.5, 0.5)
    assert last["within"] > last["between"]
    assert "random weights" in (tmp_path / "few.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give --text ENGLISH GERMAN, --sentences TSV, or both"),
        (["--sentences", "few.tsv", "--translate"], "--translate needs the German patterns of a parallel text"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    full_form: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.setattr("sys.argv", ["word_senses.py", "en-es", *arguments])
    with pytest.raises(SystemExit) as stopped:
        full_form.main()
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("num_senses", [2, 3])
def test_equal_vectors_give_exactly_the_share_of_a_guess(full_form: Any, num_senses: int) -> None:
    senses = [sense for sense in range(num_senses) for _ in range(13)]
    vectors = equal_vectors(len(senses))
    assert full_form.read_by_others(vectors, senses) == pytest.approx(1 / num_senses, abs=1e-15)
    assert full_form.read_linearly_by_others(vectors, senses) == pytest.approx(1 / num_senses, abs=1e-15)


def test_one_vector_of_each_sense_is_left_out_at_a_time(full_form: Any) -> None:
    vectors = np.array([[0.0], [1.0], [5.0], [3.0], [4.0], [4.5]])
    # Without 0 and 3, the centroids are 3 and 4.25; without 1 and 4, 2.5 and 3.75; without 5 and 4.5, 0.5 and 3.5.
    # All are nearer to their own one, except 3 and 5.
    assert full_form.read_by_others(vectors, [0, 0, 0, 1, 1, 1]) == pytest.approx(4 / 6)


def test_vectors_without_information_give_a_guess_and_not_less(full_form: Any) -> None:
    random = np.random.default_rng(11)
    senses = [0] * 8 + [1] * 8
    shares = [full_form.read_by_others(random.normal(size=(16, 31)), senses) for _ in range(300)]
    assert np.mean(shares) == pytest.approx(0.5, abs=0.02)


def test_a_linear_map_ignores_a_direction_that_hides_the_sense_from_centroids(full_form: Any) -> None:
    random = np.random.default_rng(2)
    senses = [0, 1] * 60
    vectors = np.stack([np.array(senses) * 1.0, 40.0 * random.normal(size=120)], axis=1)
    vectors[:, 0] += 0.05 * random.normal(size=120)
    vectors[:, 1] *= 0.1
    assert full_form.read_linearly_by_others(vectors, senses) > 0.95 > full_form.read_by_others(vectors, senses) + 0.05


def test_senses_of_different_numbers_are_refused(full_form: Any) -> None:
    for read in (full_form.read_by_others, full_form.read_linearly_by_others):
        with pytest.raises(AssertionError, match="every sense needs the same number of vectors"):
            read(np.zeros((3, 2)), [0, 0, 1])
