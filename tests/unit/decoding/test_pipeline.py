"""Lines in and out: one for one, in order, for any window size; nothing is dropped or cut off."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from clearhead.decoding.engines.engine import Request
from clearhead.decoding.phrase_constraints import PhraseConstraints
from clearhead.decoding.pipeline import Remark, SourceLine, TranslationOptions, windows
from clearhead.decoding.search.constraints import Constraints
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.errors import DataError

LINES = ["the red cat", "", "a dog", "   ", "where is the old house?", "a dog", "\u00a0", "😀 مرحبا घर 世", "x\u2028y"]
SHORT = SearchSettings(max_length=13)


def texts(
    translator: Translator,
    lines: list[str],
    options: TranslationOptions = TranslationOptions(),
    search: SearchSettings = SHORT,
    size: int = 1024,
) -> list[str]:
    return [translation.text for translation in translator.stream(lines, search, options, size)]


@pytest.mark.parametrize("size", [1, 2, 5, 1024])
def test_windows_of_any_size_give_the_same_lines(translator: Translator, size: int) -> None:
    lines = texts(translator, LINES, size=size)
    assert lines == texts(translator, LINES)
    assert [number for number, text in enumerate(lines) if not text] == [1, 3, 6]
    assert len(set(lines)) > 3


def test_lines_have_the_translations_that_they_get_alone(translator: Translator) -> None:
    assert texts(translator, LINES) == [translator.translate([line], SHORT)[0].text for line in LINES]


def test_windows_have_fewer_lines_if_lines_are_long() -> None:
    lines = [SourceLine(number, "a" * 200_000) for number in range(7)]
    assert [len(window) for window in windows(lines, 5)] == [3, 3, 1]
    assert [len(window) for window in windows([SourceLine(1, "a")] * 11, 5)] == [5, 5, 1]


def test_equal_lines_are_translated_once(translator: Translator) -> None:
    num_requests: list[int] = []

    class Counting:
        name = described = "counting"
        config = translator.engine.config

        def lacks(self, needs: object) -> None:
            return None

        def translate(self, requests: Sequence[Request], settings: SearchSettings) -> list[list[Hypothesis]]:
            num_requests.append(len(requests))
            return translator.engine.translate(requests, settings)

    counting = Translator(translator.vocabularies, Counting())
    assert len(set(texts(counting, ["a dog"] * 10_000, size=3000))) == 1
    assert num_requests == [1, 1, 1, 1]
    drawn = SearchSettings(temperature=1.0, max_length=7)
    assert len(set(texts(counting, ["a dog"] * 19, search=drawn))) > 1


def test_a_list_without_the_end_of_a_sentence_is_translated_in_short_pieces(translator: Translator) -> None:
    text = "the red cat, a small book, " * 40 + "the dog"
    (split,) = translator.translate([text], SHORT, TranslationOptions(is_paragraphs=False))
    assert "".join(part.source + part.space for part in split.parts) == text
    assert max(len(part.ids) for part in split.parts) < 36 / 2
    with_ends = "the red cat sees a small book. " * 40
    (sentences,) = translator.translate([with_ends], SHORT, TranslationOptions(is_paragraphs=False))
    assert max(len(part.ids) for part in sentences.parts) > 36 / 2


def test_a_long_line_is_split_or_refused_and_never_cut(translator: Translator) -> None:
    text = "the red cat sees a small book. " * 11
    whole = TranslationOptions(is_paragraphs=False)
    split = translator.translate([text], SHORT, whole)[0]
    assert len(split.parts) > 1
    assert "".join(part.source + part.space for part in split.parts) == text.strip()
    assert all(len(part.ids) <= 36 for part in split.parts)
    assert split.text == " ".join(part.texts[0] for part in split.parts)
    with pytest.raises(
        DataError, match=r"line 2 has \d+ tokens, but the model reads at most 36.*or split long lines"
    ) as no:
        texts(translator, ["a", text], replace(whole, long="refuse"))
    assert no.value.options == {"long": "split"}
    with pytest.raises(DataError, match=r"line 1 has 300,000 characters, more than the maximum of 200,000"):
        texts(translator, ["a" * 300_000])


@pytest.mark.parametrize("is_paragraphs", [True, None])
def test_paragraphs_are_split_into_sentences_and_joined(translator: Translator, is_paragraphs: bool | None) -> None:
    joined = translator.translate(["the cat.  A dog?"], SHORT, TranslationOptions(is_paragraphs=is_paragraphs))[0]
    alone = texts(translator, ["the cat.", "A dog?"])
    assert joined.text == "  ".join(alone)
    assert [(part.source, part.texts[0]) for part in joined.parts] == [("the cat.", alone[0]), ("A dog?", alone[1])]


def test_a_line_with_a_given_number_draws_the_same_in_any_window(translator: Translator) -> None:
    drawn = SearchSettings(temperature=1.0, max_length=7, seed=5)
    assert texts(translator, LINES, search=drawn, size=2) == texts(translator, LINES, search=drawn)


def test_the_language_comes_from_the_line_or_the_options(tagged_translator: Translator) -> None:
    german, bengali = (texts(tagged_translator, LINES, TranslationOptions(language=name)) for name in ("de", "bn"))
    assert german != bengali
    mixed = texts(tagged_translator, [f">>bn<<{line}" for line in LINES], TranslationOptions(language="de"))
    assert mixed == bengali
    with pytest.raises(DataError, match=r">>dee<< is not a language of this vocabulary\. Did you mean 'de'\?"):
        tagged_translator.pipeline(SHORT, TranslationOptions(language="dee"))
    with pytest.raises(DataError, match=r"line 2: >>xx<< is not a language"):
        texts(tagged_translator, ["a", ">>xx<< b"])
    silent = tagged_translator.pipeline(SHORT)
    silent.translate([SourceLine(1, "a"), SourceLine(2, "b")])
    sentence = "This model translates into several languages (de, bn). Choose one of them."
    assert silent.remarks == [Remark(sentence, ("language",))]


def test_a_translation_meets_its_constraints(translator: Translator) -> None:
    beam = SearchSettings(beam=5, max_length=19)

    def constrained(lines: list[str], constraints: PhraseConstraints) -> list[str]:
        return texts(translator, lines, TranslationOptions(constraints), beam)

    assert constrained(["a dog"], PhraseConstraints(prefix="die rote"))[0].startswith("die rote")
    held = constrained(["a dog", "the cat"], PhraseConstraints(required=("alte Haus",)))
    assert all("alte Haus" in text for text in held)
    by_glossary = constrained(["a Dog.", "the dogs"], PhraseConstraints(glossary={"dog": "Vogel"}))
    assert "Vogel" in by_glossary[0]
    assert "Vogel" not in by_glossary[1]


def test_the_tokens_of_a_forbidden_phrase_are_not_written(translator: Translator) -> None:
    sampling, target = SearchSettings(temperature=5.0, n_best=23, max_length=19), translator.vocabularies.target

    def written_tokens(options: TranslationOptions = TranslationOptions()) -> set[int]:
        (translation,) = translator.translate(["a dog"], sampling, options)
        return {token for hypothesis in translation.hypotheses for token in hypothesis.tokens}

    phrases = {token: target.decode([[token]])[0] for token in written_tokens()}
    token = next(token for token, phrase in phrases.items() if target.encode([phrase])[0] == [token])
    assert token not in written_tokens(TranslationOptions(PhraseConstraints(forbidden=(phrases[token],))))


def test_each_segment_has_its_own_constraints(translator: Translator) -> None:
    eos, search = translator.engine.config.eos, SearchSettings(beam=2)
    requests = [Request((20, 21, 22, eos), 13, Constraints(prefix=(number + 9,))) for number in range(4)]
    outcomes = translator.engine.translate(requests, search)
    assert [hypotheses[0].tokens[0] for hypotheses in outcomes] == [9, 10, 11, 12]


@pytest.mark.parametrize("word", ["de", "DE", "German"])
def test_the_target_language_of_a_model_has_several_spellings(tagged_translator: Translator, word: str) -> None:
    assert tagged_translator.pipeline(options=TranslationOptions(language=word)).options.language == "de"
