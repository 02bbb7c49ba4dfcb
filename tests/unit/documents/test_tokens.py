"""Tokens of the source and of a translation: words, punctuation, protected parts, and the links between them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.documents.inline import InlineText, Markup
from clearhead.documents.inline_translator import as_part
from clearhead.documents.protected import FORMULA, SCRIPTED, protected_ranges
from clearhead.documents.sentence_runs import has_letters, runs_of
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
        ("{{ user.name }} {% if x %} <%= y %> ${a.b} $name #{z} %@ { x }", ["{{ user.name }}", "{% if x %}", "<%= y %>", "${a.b}", "$name", "#{z}", "%@", "{ x }"]),
        ("{n, plural, one {# file} other {{a} files}} in {0, number}", ["{n, plural, one {# file} other {{a} files}}", "{0, number}"]),
        ("Set snake_case_word, MAX_SIZE and a.run() in src/main.py.", ["snake_case_word", "MAX_SIZE", "a.run()", "src/main.py"]),
        ("Open /usr/local/bin, ~/notes, ./a or C:\\temp\\x.txt. See README.md.", ["/usr/local/bin", "~/notes", "./a", "C:\\temp\\x.txt", "README.md"]),
        ("So 3 * 4 * 5 = 60, E = mc^2^ and x + y < 2.5.", ["3 * 4 * 5 = 60", "E = mc^2^", "x + y < 2.5"]),
        ("100% sure, 5 % off, { a b }, a@b, $5, and/or, 24/7, 2024-01-05, A-B, U.S. and _this_", []),
    ],
)  # fmt: skip
def test_addresses_and_placeholders_are_protected(text: str, protected: list[str]) -> None:
    assert [text[slice(*span)] for span in protected_ranges(text)] == protected


def test_formulas_are_protected_and_prices_are_not() -> None:
    text = "Let $x^2$ cost $5 and $6."
    assert [text[slice(*span)] for span in protected_ranges(text, (), (FORMULA,))] == ["$x^2$"]
    assert [match[0] for match in SCRIPTED.finditer("H~2~O, x^2^ and ~5~ or a^b")] == ["H~2~O", "x^2^"]


@given(st.text(st.sampled_from("a{}%s@.:/ht p$<>_3*=,"), max_size=40), st.lists(st.integers(0, 40), max_size=4))
def test_protected_ranges_are_sorted_and_do_not_overlap(text: str, places: list[int]) -> None:
    edges = sorted({place for place in places if place <= len(text)})
    given_ranges = list(zip(edges[::2], edges[1::2], strict=False))
    ranges = protected_ranges(text, given_ranges)
    assert all(one[1] <= other[0] for one, other in pairwise(ranges))
    assert set(given_ranges) <= set(ranges)


def test_protected_parts_are_sent_as_words_that_the_sentence_does_not_contain_or_not_at_all() -> None:
    text = "Use {a} with X1, not {b}."
    source = tokenise(InlineText(text, (), protected_ranges(text)), "en")
    assert sent(text) == ["Use X2 with X1, not X3."]
    assert sent(text, is_divided=True) == ["Use", None, "with X1, not", None, None]
    assert sent("Use {a} {b} {c} {d} {e} {f} {g}") == ["Use", *[None] * 7]
    run = runs_of(source, source.sentences[0])[0]
    assert run.has_stand_ins("X2 y X3.")
    assert run.has_stand_ins("X2কে X3")
    for lost in ("X2", "X2 X2 X3", "X2 X30", "AX2 X3"):
        assert not run.has_stand_ins(lost)
    assert not has_letters(tokenise(InlineText("12 %"), "en"), 0, 2)


def sent(text: str, *, is_divided: bool = False) -> list[str | None]:
    source = tokenise(InlineText(text, (), protected_ranges(text)), "en")
    return [run.text for run in runs_of(source, source.sentences[0], is_divided=is_divided)]


def test_signs_are_sent_at_first_and_copied_if_a_translation_loses_one() -> None:
    assert sent("Tom & Mary saw {a}") == ["Tom & Mary saw X1"]
    assert sent("Tom & Mary saw {a}", is_divided=True) == ["Tom", None, "Mary saw", None]
    assert sent("© 2024 our garden ♪", is_divided=True) == [None, "2024 our garden", None]
    assert sent("AT&T is big", is_divided=True) == [None, "is big"]
    assert sent("I am *very* tired", is_divided=True) == ["I am", None, "very", None, "tired"]
    assert sent("a<b>c & AT&T") == [None]
    run = runs_of(tokenise(InlineText("You & I & he"), "en"), (0, 5))[0]
    assert [run.has_signs(text) for text in ("a & b &", "a & b", "& &")] == [True, False, False]


def test_an_emoji_of_several_characters_is_one_sign() -> None:
    source = tokenise(InlineText("my 👩‍👩‍👧 family 👍🏽"), "en")
    assert [source.string(index) for index in range(len(source.tokens)) if source.tokens[index].is_fragile] == [
        "👩‍👩‍👧",
        "👍🏽",
    ]


@pytest.mark.parametrize(
    ("text", "translation", "language", "expected"),
    [
        ("goodbye {a}", "Adiós.", "es", "adiós"),
        ("house {a}", "Haus", "de", "Haus"),
        ("Stop! {a}", "¡Alto!", "es", "¡Alto!"),
        ("and {a}", "¿Y?", "es", "y"),
        ("ok {a}", "OK", "es", "OK"),
        ("ok {a}", "", "es", ""),
    ],
)
def test_a_fragment_gets_no_capital_and_no_signs_that_its_source_lacks(
    text: str, translation: str, language: str, expected: str
) -> None:
    source = tokenise(InlineText(text, (), protected_ranges(text)), "en")
    run = runs_of(source, source.sentences[0], is_divided=True)[0]
    assert as_part(run, AlignedTranslation(translation), language).text == expected


def test_a_whole_sentence_stays_as_the_model_gives_it() -> None:
    source = tokenise(InlineText("how are you"), "en")
    run = runs_of(source, source.sentences[0])[0]
    assert as_part(run, AlignedTranslation("¿Cómo estás?"), "es").text == "¿Cómo estás?"


def test_target_words_have_the_source_tokens_they_are_linked_to() -> None:
    source = tokenise(InlineText("red car, 7"), "en")
    run = runs_of(source, source.sentences[0])[0]
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
    run = runs_of(source, source.sentences[0])[0]
    tokens = translated_tokens(source, run, AlignedTranslation("diez kilómetros carretera", ((0, 0), (1, 1), (3, 2))))
    assert "".join(token.gap + token.text for token in tokens) == "diez\u00a0kilómetros carretera"
