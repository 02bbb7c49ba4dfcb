"""HTML: tags return around the words they marked, and everything that is not text stays as it is."""

import re
from collections import Counter
from html import unescape
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.documents import translate_document, translate_html_fragment
from clearhead.documents.html_scanner import scan
from clearhead.documents.html_text import html_parts
from clearhead.errors import DataError
from tests.unit.documents.translators import ALL, by_table, identity, nothing, reversal, unlinked, uppercase

APPLES = by_table(
    {
        "I like red apples.": ("Me gustan las manzanas rojas.", "0-0 1-1 3-2 3-3 2-4"),
        "Where is it?": ("¿Dónde está?", "0-0 1-1 2-1"),
        "Run X1 now.": ("Ejecuta X1 ahora.", "0-0 1-1 2-2"),
        "a red apple": ("una manzana roja", "0-0 2-1 1-2"),
    }
)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("I like <b>red apples</b>.", "Me gustan <b>las manzanas rojas</b>."),
        ("I like <b>red</b> apples.", "Me gustan las manzanas <b>rojas</b>."),
        ("<i>I <b>like</b></i> red apples.", "<i>Me <b>gustan</b></i> las manzanas rojas."),
        ("I like <b>red</b> <i>apples</i>.", "Me gustan <i>las manzanas</i> <b>rojas</b>."),
        ("<em>Where is it?</em>", "<em>¿Dónde está?</em>"),
        ("<p>Where is it?</p>\n<p>I like red apples.</p>", "<p>¿Dónde está?</p>\n<p>Me gustan las manzanas rojas.</p>"),
        ("Run <code>make  all</code> now.", "Ejecuta <code>make  all</code> ahora."),
        ('<img src="a.png" alt="a red apple">', '<img src="a.png" alt="una manzana roja">'),
        ("<img src=a.png alt=\"a red apple\"> <b translate='no'>a &amp; b</b>", None),
        ("<input placeholder='a red apple' value='a red apple'>", "<input placeholder='una manzana roja' value='a red apple'>"),
    ],
)  # fmt: skip
def test_tags_return_around_the_words_they_marked(source: str, expected: str | None) -> None:
    expected = source.replace("a red apple", "una manzana roja") if expected is None else expected
    assert translate_html_fragment(source, APPLES) == expected


@pytest.mark.parametrize(
    "source",
    [
        "<script>if (a < b) { say('hello') }</script>",
        "<style>p { color: red }</style><pre>some code  here</pre>",
        "<p class='x notranslate'>some <b>text</b> here</p>",
        "<div translate=no><p>one</p><p>two</p></div>",
        "<textarea>my text</textarea><svg><text>label</text></svg>",
        "<!-- a comment --><!DOCTYPE html><?php echo 'x' ?>",
        "<p>12.5 %</p><p>{name}</p><p>https://example.org/a-page</p>",
    ],
)
def test_untouched_parts_stay(source: str) -> None:
    assert translate_html_fragment(source, uppercase) == source


def test_an_element_without_its_end_does_not_spread() -> None:
    source = "<p>one <b>two</p><ul><li>three<li translate=no>four<li>five</ul>"
    expected = "<p>ONE <b>TWO</p><ul><li>THREE<li translate=no>four<li>FIVE</ul>"
    assert translate_html_fragment(source, uppercase) == expected


def test_a_tag_whose_words_are_lost_is_put_around_the_nearest_word() -> None:
    lost = by_table({"the red car": ("coche rojo", "2-0 1-1")})
    assert translate_html_fragment("<b>the</b> red car", lost) == "<b>coche</b> rojo"
    assert translate_html_fragment("one <b>two</b>", nothing) == "<b></b>"


def test_without_links_a_tag_goes_to_the_same_part_of_the_translation() -> None:
    table = by_table({"one two three four": ("uno dos tres cuatro cinco seis siete ocho", "")})
    assert (
        translate_html_fragment("one <b>two</b> three four", table)
        == "uno dos <b>tres cuatro</b> cinco seis siete ocho"
    )


def test_special_characters_of_a_translation_are_escaped() -> None:
    table = by_table({"one": ('1 < 2 & "3"', ""), "two": ('it\'s "<b>"', "")})
    assert translate_html_fragment("<p title='two'>one</p>", table) == (
        '<p title=\'it&#39;s "&lt;b&gt;"\'>1 &lt; 2 &amp; "3"</p>'
    )


SIGNS = st.lists(
    st.sampled_from(
        ["one", "two.", "&amp;", "&", "&lt;now&gt;", "&copy;", "AT&amp;T", "{{ a b }}", "1 &lt; 2", "<b>x</b>"]
    ),
    min_size=1,
    max_size=8,
).map(" ".join)


@given(SIGNS, st.sampled_from(ALL))
def test_no_translation_loses_a_sign_that_is_written_as_a_reference(source: str, translate: object) -> None:
    translated = translate_html_fragment(source, translate)  # type: ignore[arg-type]
    for sign in "&<>©":
        assert unescape(translated).count(sign) >= unescape(source).count(sign)
    assert translate_html_fragment(source, identity) == source


def test_a_sign_that_a_model_loses_is_protected() -> None:
    table = by_table(
        {
            "I am tired & hungry <now>.": ("Estoy cansado.", ""),
            "I am tired": ("Estoy cansado.", ""),
            "hungry": ("Hambriento", ""),
            "now": ("¡Ahora!", ""),
            "& I am here.": ("Estoy aquí.", ""),
            "I am here.": ("Estoy aquí.", ""),
            "Tom & Mary": ("Tom & Mary", ""),
        }
    )
    source = "<p>I am tired &amp; hungry &lt;now&gt;.</p><p>&amp; I am here.</p><p>Tom &amp; Mary</p>"
    expected = "<p>Estoy cansado &amp; hambriento &lt;ahora&gt;.</p><p>&amp; Estoy aquí.</p><p>Tom &amp; Mary</p>"
    assert translate_html_fragment(source, table) == expected


def test_a_document_keeps_its_declared_encoding() -> None:
    source = "<html><meta charset=iso-8859-1><p>café noir</p></html>"
    table = by_table({"café noir": ("café ☕", "0-0 1-1")})
    assert translate_document(source.encode("latin-1"), "a.html", table) == (
        "<html><meta charset=iso-8859-1><p>café &#9749;</p></html>".encode("latin-1")
    )
    with pytest.raises(
        DataError, match="a.html: it is neither UTF-8 nor 'utf-7x', which it declares. Save the document as"
    ):
        translate_document(b"<meta charset=utf-7x>\xff", "a.html", identity)


def test_deep_nesting_of_inline_tags_is_refused_and_of_blocks_is_not() -> None:
    with pytest.raises(DataError, match="the text: tags are nested more than 100 levels deep. Simplify the document."):
        translate_html_fragment("<b>" * 101 + "x" + "</b>" * 101, identity)
    deep = "<div>" * 20_000 + "one two" + "</div>" * 20_000
    assert translate_html_fragment(deep, uppercase) == deep.replace("one two", "ONE TWO")


@pytest.mark.parametrize(
    "start", ["<!--", "<a", '<a href="', "<a b='", "</", "<!", "<?", "<script>", "&", "&#", "<b>", "<p>"]
)
def test_broken_html_is_read_in_linear_steps_and_stays(start: str) -> None:
    source = start * 20_000  # with a quadratic scanner this takes minutes
    assert translate_html_fragment(source, identity) == source


@given(st.text(st.sampled_from("<>/ab i='\"!-&;=\n"), max_size=60))
def test_tokens_cover_any_text_without_gaps(text: str) -> None:
    tokens = scan(text)
    assert "".join(text[token.start : token.end] for token in tokens) == text
    assert translate_html_fragment(text, identity) == text


WORDS = st.sampled_from(
    ["one", "two", "three.", "Four", "five,", "é", "&amp;", "&nbsp;", "un&shy;do", "{0}", "me@x.org", "7", "(six)"]
)
SPACES = st.sampled_from(["", " ", "  ", "\n  "])
INLINE = st.sampled_from(["b", "i", "a href='u'", "span class=c", "x-y"])


@st.composite
def fragments(draw: st.DrawFn, depth: int = 0) -> str:
    pieces = []
    for _ in range(draw(st.integers(0, 4))):
        kind = draw(st.integers(0, 5 if depth < 3 else 2))
        if kind < 3:
            pieces.append(draw(WORDS))
        elif kind == 3:
            pieces.append(draw(st.sampled_from(["<br>", "<img src=1>", "<code>a b</code>", "<!-- c -->", "</p><p>"])))
        else:
            name = draw(INLINE)
            pieces.append(f"<{name}>{draw(fragments(depth + 1))}</{name.split()[0]}>")
        pieces.append(draw(SPACES))
    return "".join(pieces)


class Structure(HTMLParser):
    """Collects the tags with their attributes, and checks that they are nested as far as the source's are."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.open: list[str] = []
        self.faults = 0
        self.feed(text)
        self.close()
        self.faults += len(self.open)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[f"{tag} {attrs}"] += 1
        if tag not in ("br", "img", "p"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self.tags[f"/{tag}"] += 1
        if tag != "p" and (not self.open or self.open.pop() != tag):
            self.faults += 1


@given(fragments())
def test_the_identity_gives_back_every_fragment_byte_for_byte(source: str) -> None:
    assert translate_html_fragment(source, identity) == source


@given(fragments(), st.sampled_from(ALL))
def test_no_translation_loses_a_tag_or_code_or_breaks_the_nesting(source: str, translate: object) -> None:
    translated = translate_html_fragment(source, translate)  # type: ignore[arg-type]
    assert Structure(translated).tags == Structure(source).tags
    assert Structure(translated).faults <= Structure(source).faults
    for kept in ("<code>a b</code>", "<!-- c -->", "{0}"):
        assert translated.count(kept) == source.count(kept)
    assert translated.count("me@x.org") >= len(re.findall(r"(?<![\w.@])me@x\.org(?![\w.@])", source))


def test_sentences_are_sent_without_tags_one_by_one_and_once() -> None:
    sent: list[str] = []

    def record(sentences: list[str]) -> object:
        sent.extend(sentences)
        return identity(sentences)

    source = "<p>One <b>two</b>  three. Four\nfive!</p><p>Four five!</p><p>7</p>"
    assert translate_html_fragment(source, record) == source  # type: ignore[arg-type]
    assert sent == ["One two three.", "Four five!"]


def test_parts_without_letters_are_raw_text() -> None:
    assert all(isinstance(part, str) for part in html_parts("<p>12</p> <br>"))


def test_tags_without_any_text_stay_where_they_are() -> None:
    source = "<p>\n<a href=1><img alt='one two'></a>\n <a href=2><img></a>\n</p>"
    assert translate_html_fragment(source, reversal) == source.replace("one two", "two one")


def test_a_tag_over_two_sentences_stays_around_both() -> None:
    assert translate_html_fragment("<b>One. Two three.</b> Four.", reversal) == "<b>One. three. Two</b> Four."
    assert re.fullmatch(r"<b>palabra.*</b>.*", translate_html_fragment("<b>One. Two.</b> Four.", unlinked))


def test_the_number_of_a_footnote_follows_its_word_and_is_not_sent() -> None:
    note = '<sup><a href="#n1">1</a></sup>'
    table = by_table({"She was kind.": ("Ella era amable.", "0-0 1-1 2-2"), "ten m": ("diez m", "")})
    assert translate_html_fragment(f"She was kind.{note}", table) == f"Ella era amable.{note}"
    assert translate_html_fragment(f"She was{note} kind.", table) == f"Ella era{note} amable."


def test_the_links_of_a_menu_are_separate_texts() -> None:
    table = by_table({"Home": ("Inicio", ""), "About us": ("Sobre nosotros", "")})
    menu = "<a href=1>Home</a> | <a href=2>About us</a> · <a href=1>Home</a>"
    assert (
        translate_html_fragment(menu, table)
        == "<a href=1>Inicio</a> | <a href=2>Sobre nosotros</a> · <a href=1>Inicio</a>"
    )


def test_a_tag_without_a_free_word_takes_one_from_its_neighbour() -> None:
    table = by_table({"one two": ("uno dos", "1-0 1-1")})
    assert translate_html_fragment("<a>one</a> <b>two</b>", table) == "<a>uno</a> <b>dos</b>"
    assert (
        translate_html_fragment("<b>two</b> <a>one</a>", by_table({"two one": ("uno dos", "0-0 0-1")}))
        == "<b>uno</b> <a>dos</a>"
    )


def test_protected_parts_with_only_signs_between_them_are_sent_as_one_word() -> None:
    table = by_table({"Press X1 now, or X2.": ("Pulsa X1 ahora, o X2.", "0-0 1-1 2-2 3-3 4-4")})
    source = "Press <kbd>Ctrl</kbd>+<kbd>C</kbd> now, or {a}/{b}."
    assert translate_html_fragment(source, table) == "Pulsa <kbd>Ctrl</kbd>+<kbd>C</kbd> ahora, o {a}/{b}."
