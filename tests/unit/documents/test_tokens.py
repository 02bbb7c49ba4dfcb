"""Tokens of the source and of a translation: words, punctuation, protected parts, and the links between them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.documents.inline import InlineText, Markup
from clearhead.documents.protected import FORMULA, protected_ranges
from clearhead.documents.sentence_runs import NUM_ATTEMPTS, has_letters, runs_of
from clearhead.documents.source_tokens import split_punctuation, tokenise
from clearhead.documents.target_tokens import copied_tokens, translated_tokens
from clearhead.text.aligned import AlignedTranslation


def test_words_are_cut_at_punctuation_tags_and_sentences() -> None:
    source = tokenise(InlineText('One "two", unreal. Three!', (Markup(11, 13),)), "en")
    assert [source.string(index) for index in range(len(source.tokens))] == [
        *("One", '"', "two", '",', "un", "real", ".", "Three", "!"),
    ]
    assert source.sentences == ((0, 7), (7, 9))
    assert [token.is_core for token in source.tokens] == [True, False, True, False, True, True, False, True, False]


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("¿Dónde?", ("¿", "Dónde", "?")),
        ("है।", ("", "है", "।")),
        ("—", ("", "—", "")),
        ("don't", ("", "don't", "")),
        ("U.S.", ("", "U.S", ".")),
    ],
)
def test_vowel_signs_are_letters_and_a_sign_alone_is_a_word(word: str, parts: tuple[str, str, str]) -> None:
    assert split_punctuation(word) == parts


@pytest.mark.parametrize(
    ("text", "protected"),
    [
        ("see https://x.org/a?b=c. Now", ["https://x.org/a?b=c"]),
        ("mail me@x.org, or www.x.org!", ["me@x.org", "www.x.org"]),
        ("%s %(name)s %1$d %-5.2f %% {0} {name} ${x} %{y} {{z}} %PATH%", ["%s", "%(name)s", "%1$d", "%-5.2f", "%%", "{0}", "{name}", "${x}", "%{y}", "{{z}}", "%PATH%"]),
        ("100% sure, 5 % off, { a b }, a@b", []),
    ],
)  # fmt: skip
def test_addresses_and_placeholders_are_protected(text: str, protected: list[str]) -> None:
    assert [text[slice(*span)] for span in protected_ranges(text)] == protected


def test_formulas_are_protected_and_prices_are_not() -> None:
    text = "Let $x^2$ cost $5 and $6."
    assert [text[slice(*span)] for span in protected_ranges(text, (), (FORMULA,))] == ["$x^2$"]


@given(st.text(st.sampled_from("a{}%s@.:/ht p$"), max_size=40), st.lists(st.integers(0, 40), max_size=4))
def test_protected_ranges_are_sorted_and_do_not_overlap(text: str, places: list[int]) -> None:
    edges = sorted({place for place in places if place <= len(text)})
    given_ranges = list(zip(edges[::2], edges[1::2], strict=False))
    ranges = protected_ranges(text, given_ranges)
    assert all(one[1] <= other[0] for one, other in pairwise(ranges))
    assert set(given_ranges) <= set(ranges)


def test_protected_parts_are_sent_as_words_that_the_sentence_does_not_contain_and_at_last_not_at_all() -> None:
    text = "Use {a} with X1, not {b}."
    source = tokenise(InlineText(text, (), protected_ranges(text)), "en")
    texts = [[run.text for run in runs_of(source, source.sentences[0], attempt)] for attempt in range(NUM_ATTEMPTS)]
    assert texts == [
        ["Use X2 with X1, not X3."],
        ["Use @1 with X1, not @2."],
        ["Use", None, "with X1, not", None, None],
    ]
    run = runs_of(source, source.sentences[0], 0)[0]
    assert run.has_stand_ins("X2 y X3.")
    assert run.has_stand_ins("X2কে X3")
    for lost in ("X2", "X2 X2 X3", "X2 X30", "AX2 X3"):
        assert not run.has_stand_ins(lost)
    assert not has_letters(tokenise(InlineText("12 %"), "en"), 0, 2)


def test_target_words_have_the_source_tokens_they_are_linked_to() -> None:
    source = tokenise(InlineText("red car, 7"), "en")
    run = runs_of(source, source.sentences[0], 0)[0]
    tokens = translated_tokens(source, run, AlignedTranslation("coche rojo, 7", ((0, 1), (1, 0), (0, 2), (9, 9))))
    assert [(token.text, set(token.sources)) for token in tokens] == [
        ("coche", {1}),
        ("rojo", {0}),
        (",", set()),
        ("7", {3}),
    ]
    assert tokens[-1].copied == (9, 10)
    assert "".join(token.gap + token.text for token in copied_tokens(source, run)) == "red car, 7"


def test_wide_spaces_stay_between_words_that_still_follow_each_other() -> None:
    source = tokenise(InlineText("ten\u00a0kilometres\t of road"), "en")
    run = runs_of(source, source.sentences[0], 0)[0]
    tokens = translated_tokens(source, run, AlignedTranslation("diez kilómetros carretera", ((0, 0), (1, 1), (3, 2))))
    assert "".join(token.gap + token.text for token in tokens) == "diez\u00a0kilómetros carretera"
