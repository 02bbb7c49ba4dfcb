"""Input that is unlike the training text is named once, with the number of lines and an example."""

import math
from dataclasses import replace

import pytest

from clearhead.decoding.pipeline import TranslationOptions
from clearhead.decoding.search.constraints import Constraints
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translation import TranslatedPart
from clearhead.decoding.translator import Translator
from clearhead.decoding.unfamiliar import UnfamiliarText
from clearhead.text.config import TextConfig
from clearhead.text.statistics import TextStatistics, measure_text
from clearhead.text.tokeniser import Tokeniser
from clearhead.text.train import train_vocabularies
from tests.unit.text.sentences import ENGLISH, PAIRS


@pytest.fixture(scope="module")
def tokeniser() -> Tokeniser:
    return train_vocabularies(PAIRS, TextConfig(vocabulary=331, byte_fallback=True)).source


@pytest.fixture
def unfamiliar(tokeniser: Tokeniser) -> UnfamiliarText:
    statistics = measure_text(ENGLISH, tokeniser, "en")
    return UnfamiliarText(statistics.model_copy(update={"log_probs": {"1": -2.0, "50": -0.5}}), tokeniser)


def _part(tokeniser: Tokeniser, text: str, log_prob: float = -0.5) -> TranslatedPart:
    hypothesis = Hypothesis((5, 6, 2), (), log_prob, True, 3 * log_prob)
    return TranslatedPart(text, "", tuple(tokeniser.encode([text])[0]), texts=("algo",), hypotheses=(hypothesis,))


def test_usual_text_has_no_findings(unfamiliar: UnfamiliarText, tokeniser: Tokeniser) -> None:
    for number, text in enumerate([*ENGLISH, ""], 1):
        assert unfamiliar.notes(number, [_part(tokeniser, text)]) == ()
    assert unfamiliar.notes(99, [_part(tokeniser, "the cat", math.nan)]) == ()
    assert unfamiliar.summary() == []


def test_a_word_in_many_pieces_is_named(unfamiliar: UnfamiliarText, tokeniser: Tokeniser) -> None:
    notes = unfamiliar.notes(1, [_part(tokeniser, "the xyzzyvas sees the dog.")])
    pieces = len(tokeniser.encode(["xyzzyvas"])[0])
    assert notes == (f"A word that the model has hardly seen: 'xyzzyvas' ({pieces} pieces).",)
    assert unfamiliar.summary() == list(notes)


def test_long_sentences_and_unlikely_translations_are_counted(unfamiliar: UnfamiliarText, tokeniser: Tokeniser) -> None:
    unfamiliar.notes(1, [_part(tokeniser, "the cat")])
    unfamiliar.notes(2, [_part(tokeniser, "the cat sees " * 11)])
    unfamiliar.notes(3, [_part(tokeniser, "the cat", -2.5), _part(tokeniser, "the dog", -3.5)])
    unfamiliar.notes(4, [_part(tokeniser, "a dog", -2.25)])
    long, unlikely = unfamiliar.summary()
    assert long.startswith(
        "1 of 4 lines: sentences far longer than those of training, for example in line 2: 33 tokens"
    )
    assert unlikely == (
        "2 of 4 lines: translations that are probably wrong, because the model itself finds them unlikely, for example in "
        "line 3: its mean log-probability for each token is -2.50, below the -2.00 that 99 % of the validation sentences "
        "reached."
    )
    (note,) = unfamiliar.notes(5, [_part(tokeniser, "a dog", -2.0004)])
    assert note == (
        "A translation that is probably wrong, because the model itself finds it unlikely: its mean log-probability for "
        "each token is -2.0004, below the -2.0000 that 99 % of the validation sentences reached."
    )


@pytest.mark.parametrize(
    ("source", "translation", "lost"),
    [
        ("It costs $25.99.", "Cuesta $25.9.", "25.99"),
        ("There are 5577 people.", "Hay 557 personas.", "5577"),
        ("I have 37 cats.", "मेरे पास ३७ बिल्लियाँ हैं।", None),
        ("1,000,000 dollars", "1.000.000 dólares", None),
        ("I have 3 cats.", "Tengo tres gatos.", None),
        ("In 2024", "", None),
    ],
)
def test_a_number_that_is_lost_is_named(
    unfamiliar: UnfamiliarText, tokeniser: Tokeniser, source: str, translation: str, lost: str | None
) -> None:
    part = TranslatedPart(source, "", (5,), texts=(translation,))
    expected = () if lost is None else (f"A number that is not in the translation: '{lost}'.",)
    assert unfamiliar.notes(1, [part]) == expected


@pytest.mark.parametrize(
    ("source", "translation", "lost"),
    [
        ("See https://example.org/a?b=1.", "Vea https://example.org.", "https://example.org/a?b=1"),
        ("Go to www.example.org/x/ now", "Ve a www.example.org/x/", None),
        ("Write to me.too@mail.example.org.", "Escribe a me@mail.", "me.too@mail.example.org"),
        ("A <b>red</b> car", "Un <b>coche rojo", "</b>"),
        ("a < b and c > d", "a menos que b", None),
    ],
)
def test_an_address_or_a_tag_that_is_lost_is_named(
    tokeniser: Tokeniser, source: str, translation: str, lost: str | None
) -> None:
    part = TranslatedPart(source, "", (5,), texts=(translation,))
    kind = "A web address, e-mail address or HTML tag that is not in the translation"
    notes = UnfamiliarText(TextStatistics(), tokeniser).notes(1, [part])
    assert notes == (() if lost is None else (f"{kind}: '{lost}'.",))


def test_an_empty_translation_is_named(tokeniser: Tokeniser) -> None:
    unfamiliar = UnfamiliarText(TextStatistics(), tokeniser)
    part = replace(_part(tokeniser, "the cat"), texts=(" ",))
    assert unfamiliar.notes(1, [part]) == ("A sentence whose translation is empty: 'the cat'.",)
    assert unfamiliar.notes(2, [replace(part, source="…")]) == ()
    assert unfamiliar.notes(3, [TranslatedPart("", "", ())]) == ()


def test_a_line_in_capital_letters_is_translated_from_lower_case_with_a_note(translator: Translator) -> None:
    search = SearchSettings(max_length=5)
    (loud,) = translator.translate(["THE CAT SEES THE DOG."], search)
    (quiet,) = translator.translate(["The cat sees the dog."], search)
    assert (loud.text, loud.parts[0].ids) == (quiet.text, quiet.parts[0].ids)
    assert loud.source == "THE CAT SEES THE DOG."
    assert loud.notes[0] == (
        "A sentence in capital letters, which was translated from lower case: 'THE CAT SEES THE DOG.'."
    )
    assert not any("capital" in note for note in quiet.notes)


def test_translations_with_constraints_or_drawn_at_random_may_be_unlikely(
    unfamiliar: UnfamiliarText, tokeniser: Tokeniser, translator: Translator
) -> None:
    part = replace(_part(tokeniser, "the cat", -9.0), constraints=Constraints(prefix=(5,)))
    assert unfamiliar.notes(1, [part]) == ()
    other = Translator(translator.vocabularies, translator.engine, statistics=TextStatistics(log_probs={"1": -1e-9}))
    for temperature, num_notes in ((None, 1), (1.0, 0)):
        search = SearchSettings(max_length=5, temperature=temperature)
        assert len(other.translate(["the cat"], search)[0].notes) == num_notes


def test_characters_outside_a_vocabulary_without_bytes_are_named_for_any_model() -> None:
    tokeniser = train_vocabularies(PAIRS, TextConfig(vocabulary=61)).source
    unfamiliar = UnfamiliarText(TextStatistics(), tokeniser)
    notes = unfamiliar.notes(1, [replace(_part(tokeniser, "the 37 cats 7"), texts=("37 7",))])
    assert notes == ("Characters that the vocabulary of the model does not have: '37'.",)


def test_notes_are_on_the_translation_and_models_without_statistics_have_none(translator: Translator) -> None:
    search, text = SearchSettings(max_length=5), "the cat " * 9
    assert translator.translate([text], search)[0].notes == ()
    statistics = TextStatistics(source_tokens={"99": 5.0}, word_pieces={"99.9": 400.0})
    other = Translator(translator.vocabularies, translator.engine, statistics=statistics)
    assert other.translate([text], search)[0].notes[0].startswith("A sentence far longer than those of training: ")


@pytest.mark.parametrize(("share", "num_parts"), [(None, 2), (0.1, 2), (0.9, 1)])
def test_the_statistics_decide_whether_lines_are_split_and_options_override(
    translator: Translator, share: float | None, num_parts: int
) -> None:
    search, lines = SearchSettings(max_length=5), ["the cat.  A dog?"]
    statistics = TextStatistics(several_sentences=share)
    other = Translator(translator.vocabularies, translator.engine, statistics=statistics)
    assert len(other.translate(lines, search)[0].parts) == num_parts
    for is_paragraphs in (True, False):
        options = replace(TranslationOptions(), is_paragraphs=is_paragraphs)
        assert len(other.translate(lines, search, options)[0].parts) == 1 + is_paragraphs
