"""What is looked at after a translation: links of words, alternatives, the search; and how they are drawn."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from clearhead.decoding.alignment import AlignmentRule, Head
from clearhead.decoding.alignment_text import render_alignment, width
from clearhead.decoding.annotation import Annotator, read_head
from clearhead.decoding.engines.engine import Request
from clearhead.decoding.output import OutputColumns, to_lines, to_record
from clearhead.decoding.phrase_constraints import PhraseConstraints
from clearhead.decoding.pipeline import TranslationOptions
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translation import Translation
from clearhead.decoding.translator import Translator
from clearhead.decoding.word_alignment import WordAlignment, word_links, words_of
from clearhead.errors import ConfigError, DataError
from tests.small_run import make_run

BEAM = SearchSettings(beam=3, max_length=11)
GERMAN = TranslationOptions(language="de")


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return Translator.load(make_run(tmp_path_factory.mktemp("run"), ("de", "bn")), engine="torch")


def translated(
    translator: Translator, *lines: str, options: TranslationOptions = GERMAN, search: SearchSettings = BEAM
) -> list[Translation]:
    return translator.translate(lines, search, options)


def test_pieces_are_grouped_into_the_words_that_they_spell(translator: Translator) -> None:
    tokeniser = translator.vocabularies.source
    ids = tokeniser.encode([">>de<< the zebra sees 17"])[0]
    words = words_of(tokeniser, [*ids, tokeniser.eos])
    assert words.words == ("the", "zebra", "sees", "17")
    assert words.word_of[0] is None
    assert words.word_of[-1] is None
    places = [place for place in words.word_of if place is not None]
    assert places == sorted(places)
    assert words.word_of[words.first_piece(1)] == 1
    assert words.word_of[words.first_piece(1) - 1] == 0


def test_words_are_linked_where_any_of_their_pieces_are(translator: Translator) -> None:
    tokeniser = translator.vocabularies.source
    source = words_of(tokeniser, tokeniser.encode([">>de<< the zebra"])[0])
    first, second, last = source.first_piece(0), source.first_piece(1), len(source.word_of) - 1
    assert second < last
    links = ((0, first), (first, first), (last, first), (second, first))
    assert word_links(links, source, source) == ((0, 0), (1, 0))


def test_a_word_with_an_unknown_letter_is_shown_as_it_was_written(translator: Translator) -> None:
    tokeniser = translator.vocabularies.source
    text = "the  世界 cat"
    ids = tokeniser.encode([text])[0]
    assert tokeniser.unk in ids
    assert words_of(tokeniser, ids, text).words == ("the", "世界", "cat")
    assert words_of(tokeniser, ids).words[1] != "世界"


def test_alignments_are_of_words_and_parts_are_counted_on(translator: Translator) -> None:
    options = TranslationOptions(language="de", is_paragraphs=True)
    one, two, empty = translated(translator, "the cat.", "the cat. The cat.", "", options=options)
    annotator = Annotator(translator, BEAM)
    alone, both = annotator.aligned(one).alignment, annotator.aligned(two).alignment
    assert alone is not None
    assert both is not None
    assert both.source == ("the", "cat.", "The", "cat.")
    assert both.links[: len(alone.links)] == alone.links
    assert all(source < 4 and target < len(both.target) for source, target in both.links)
    assert annotator.aligned(empty).alignment is None
    assert to_lines(annotator.aligned(empty), OutputColumns(alignment=True)) == ["\t"]
    assert to_record(annotator.aligned(empty), OutputColumns(alignment=True))["alignment"] == ""


def test_the_row_that_writes_a_token_can_be_read_too(translator: Translator) -> None:
    options = TranslationOptions(PhraseConstraints(prefix="die rote Katze sieht ein kleines Buch."), language="de")
    result = translated(translator, "the red cat sees a small book.", options=options)[0]
    reads, writes = (
        Annotator(translator, BEAM, AlignmentRule(Head(0), is_shifted)).aligned(result).alignment
        for is_shifted in (True, False)
    )
    assert reads is not None
    assert writes is not None
    assert reads.links != writes.links


def test_heads_are_read_and_checked(translator: Translator) -> None:
    assert read_head("1") == Head(1)
    assert read_head("1.0") == Head(1, 0)
    for wrong in ("", "a", "1.2.3", "-1"):
        with pytest.raises(ConfigError, match="is not a head. Write block.head"):
            read_head(wrong)
    with pytest.raises(ConfigError, match=r"blocks 0 to 1 with heads 0 to 1, and 1\.7 is asked for"):
        Annotator(translator, BEAM, AlignmentRule(Head(1, 7)))


def test_alternatives_at_a_word_keep_what_stands_before_it(translator: Translator) -> None:
    options = TranslationOptions(PhraseConstraints(prefix="die rote Katze"), language="de")
    result = translated(translator, "the cat", options=options)[0]
    annotator = Annotator(translator, BEAM)
    choices = annotator.with_alternatives(result, 3, 5).parts[0].alternatives
    assert len(choices) == 5
    assert all(choice.text.startswith("die rote") for choice in choices)
    own = [choice.log_prob for choice in choices]
    assert own == sorted(own, reverse=True)
    with pytest.raises(DataError, match=r"line 1: the translation has \d+ words, .* and alternatives for word 99"):
        annotator.with_alternatives(result, 99, 5)
    empty = translated(translator, "")[0]
    assert to_lines(annotator.with_alternatives(empty, 1, 5), OutputColumns(alternatives=True)) == ["1\t\t\t"]


def test_an_alignment_is_drawn_in_columns_of_a_terminal() -> None:
    drawn = render_alignment(WordAlignment(("the", "घर"), ("das", "世界"), ((0, 0), (1, 1))))
    assert drawn == "     1  the\n     2  घर\n      1 2\ndas   ● ·\n世界  · ●\n"
    assert [width(text) for text in ("abc", "世界", "é", "हि")] == [3, 4, 1, 2]
    assert "\x1b" not in render_alignment(WordAlignment(("\x1b[31m",), ("a",), ()))


def test_only_the_model_itself_can_be_looked_into(translator: Translator, tmp_path: Path) -> None:
    class Fused:
        name = described = "fused"
        info = translator.engine.info

        def translate(self, requests: Sequence[Request], settings: SearchSettings) -> list[list[Hypothesis]]:
            raise AssertionError

    with pytest.raises(ConfigError, match="this needs the model itself, and fused has it fused away"):
        Annotator(Translator(translator.vocabularies, Fused()), BEAM)
