"""A translation as text, as columns and as JSON."""

from dataclasses import replace

import pytest

from clearhead.decoding.output import OutputColumns, to_lines, to_record
from clearhead.decoding.pipeline import TranslationOptions
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translation import TranslatedPart, Translation
from clearhead.decoding.translator import Translator
from clearhead.decoding.word_alignment import WordAlignment

SHORT = SearchSettings(max_length=13)
# One part with two translations, log P -0.5 - 1 = -1.5 and -2; their scores are divided by their two tokens.
DOG = TranslatedPart(
    "a dog",
    "",
    (5, 7),
    texts=("ein Hund", "Hund"),
    hypotheses=(Hypothesis((11, 2), (-0.5, -1.0), -0.75, True), Hypothesis((13, 2), (-1.5, -0.5), -1.0, True)),
    alignment=WordAlignment(("a", "dog"), ("ein", "Hund"), ((1, 1), (0, 0))),
)
TRANSLATION = Translation(3, "a dog", (DOG,))
EMPTY = Translation(4, "", (TranslatedPart("", "", ()),))


def test_scores_and_n_best_are_columns(translator: Translator) -> None:
    first, empty = translator.translate(["a dog", ""], SearchSettings(beam=3, n_best=2, max_length=7))
    lines = to_lines(first, OutputColumns(n_best=True))
    assert [line.split("\t")[0] for line in lines] == ["1", "1"]
    scores = [float(line.split("\t")[1]) for line in lines]
    assert scores == sorted(scores, reverse=True)
    assert to_lines(empty, OutputColumns(n_best=True)) == ["2\t0.0000\t"]
    text, score, own = to_lines(first, OutputColumns(scores=True))[0].split("\t")
    assert (text, float(score)) == (first.text, pytest.approx(first.score_of(0), abs=1e-4))
    assert sum(map(float, own.split())) == pytest.approx(first.log_prob_of(0), abs=1e-3)
    assert to_lines(Translation(3, "", ()), OutputColumns(scores=True, alignment=True)) == ["\t0.0000\t\t"]


def test_line_breaks_in_a_translation_become_spaces(translator: Translator) -> None:
    result = translator.translate(["a dog"], SHORT)[0]
    part = result.parts[0]
    changed = Translation(1, "a dog", (type(part)("a dog", "", part.ids, texts=("a\nb\tc\rd",)),))
    assert to_lines(changed, OutputColumns()) == ["a b c d"]


def test_a_paragraph_is_recorded_with_its_parts(translator: Translator) -> None:
    joined = translator.translate(["the cat.  A dog?"], SHORT, TranslationOptions(is_paragraphs=True))[0]
    alone = [translation.text for translation in translator.translate(["the cat.", "A dog?"], SHORT)]
    assert to_record(joined, OutputColumns())["parts"] == [
        {"source": "the cat.", "translation": alone[0]},
        {"source": "A dog?", "translation": alone[1]},
    ]


@pytest.mark.parametrize(
    ("columns", "lines", "lines_of_empty"),
    [
        (OutputColumns(), ["ein Hund"], [""]),
        (OutputColumns(scores=True), ["ein Hund\t-0.7500\t-0.5000 -1.0000"], ["\t0.0000\t"]),
        (OutputColumns(alignment=True), ["ein Hund\t0-0 1-1"], ["\t"]),
        (
            OutputColumns(scores=True, alignment=True),
            ["ein Hund\t-0.7500\t-0.5000 -1.0000\t0-0 1-1"],
            ["\t0.0000\t\t"],
        ),
        (OutputColumns(n_best=True), ["3\t-0.7500\tein Hund", "3\t-1.0000\tHund"], ["4\t0.0000\t"]),
    ],
    ids=["plain", "scores", "alignment", "scores and alignment", "n-best"],
)
def test_lines_are_those_worked_by_hand(columns: OutputColumns, lines: list[str], lines_of_empty: list[str]) -> None:
    assert to_lines(TRANSLATION, columns) == lines
    assert to_lines(EMPTY, columns) == lines_of_empty


def test_headings_name_the_columns_of_a_line() -> None:
    assert OutputColumns().headings == ["translation"]
    assert OutputColumns(scores=True).headings == ["translation", "score", "log_probs"]
    assert OutputColumns(scores=True, alignment=True).headings == ["translation", "score", "log_probs", "alignment"]
    for columns in (OutputColumns(scores=True), OutputColumns(alignment=True), OutputColumns()):
        assert len(to_lines(TRANSLATION, columns)[0].split("\t")) == len(columns.headings)


def test_a_record_is_that_worked_by_hand() -> None:
    plain = {
        "line": 3,
        "source": "a dog",
        "translation": "ein Hund",
        "score": -0.75,
        "log_prob": -1.5,
        "has_ended": True,
        "notes": [],
    }
    assert to_record(TRANSLATION, OutputColumns()) == plain
    every = OutputColumns(n_best=True, scores=True, alignment=True)
    assert to_record(TRANSLATION, every, ("▁ein", "</s>")) == {
        **plain,
        "n_best": [
            {"translation": "ein Hund", "score": -0.75, "log_prob": -1.5},
            {"translation": "Hund", "score": -1.0, "log_prob": -2.0},
        ],
        "tokens": [{"piece": "▁ein", "log_prob": -0.5}, {"piece": "</s>", "log_prob": -1.0}],
        "alignment": "0-0 1-1",
        "source_words": ["a", "dog"],
        "target_words": ["ein", "Hund"],
    }
    noted = replace(TRANSLATION, notes=("Split: it is long.",))
    assert to_record(noted, OutputColumns())["notes"] == ["Split: it is long."]
    empty = to_record(EMPTY, every)
    assert (empty["tokens"], empty["alignment"], empty["source_words"]) == ([], "", [])
    assert (empty["score"], empty["log_prob"], empty["has_ended"]) == (0.0, 0.0, True)
