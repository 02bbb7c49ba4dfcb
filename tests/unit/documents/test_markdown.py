"""Markdown: its form stays, whatever the translation, and the text outside translated parts stays byte for byte."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clearhead.documents import translate_document
from clearhead.documents.inline_translator import InlineTranslator
from clearhead.documents.markdown import MAX_PARAGRAPH, translate_markdown_text
from clearhead.documents.markdown_inline import inline_tokens, parser
from clearhead.errors import DataError
from tests.unit.documents.translators import ALL, by_table, identity, nothing, reversal, unlinked, uppercase

ROOT = Path(__file__).parents[3]


def translated(text: str, translate: Any) -> str:
    return translate_document(text.encode(), "page.md", translate).decode()


def structure(text: str) -> list[Any]:
    """The block tokens of a document, and the markup, addresses, code and HTML of each inline token, sorted."""
    environment: dict[str, Any] = {}
    entries: list[Any] = []
    for token in parser().parse(text, environment):
        entries.append(
            (token.type, token.tag, token.markup, token.content if token.type in ("fence", "code_block") else "")
        )
        if token.type == "inline":
            kinds = [
                (
                    child.type,
                    child.markup,
                    str(child.attrs),
                    child.content if child.type in ("code_inline", "html_inline") else "",
                )
                for child in inline_tokens(token.content, environment)
                if child.type not in ("text", "text_special", "softbreak")
            ]
            entries.append(sorted((*kind[:2], kind[2] if kind[0] != "image" else "", kind[3]) for kind in kinds))
    return entries


PAGE = """---
title: stays
---

# One *two* three #

> Four `five six` seven
> **eight *nine* ten** end.

- [ ] one [two](http://x.y "t") three
- one ![two three](a.png) four
  1. one \\* two &amp; three\x20\x20
     four five

| One two | three \\| four |
|---------|-------|
| five six | `a b` **c** |

Six seven
=========

<div align="center">
  <b>One two</b> three
</div>

One [ref] two [three four][ref], <https://auto.link>, <b>five</b> six<br>seven __eight__. $x^2$ is {name}.

[ref]: http://example.org "Title"

```python
print("hello world")
```

    indented code

<!-- a comment -->

One[^1] *two* three.

[^1]: four five six seven.
"""


@pytest.mark.parametrize("translate", ALL)
def test_every_kind_of_markup_stays(translate: Any) -> None:
    result = translated(PAGE, translate)
    assert structure(result) == structure(PAGE)
    for kept in ("title: stays", "`five six`", "(http://x.y \"t\")", "(a.png)", "print(\"hello world\")", "    indented code",
                 "<!-- a comment -->", '[ref]: http://example.org "Title"', "{name}", "$x^2$", "- [ ] ", "[^1]: ", "<https://auto.link>"):  # fmt: skip
        assert result.count(kept) == PAGE.count(kept), kept


def test_everything_else_is_translated() -> None:
    result = translated(PAGE, uppercase)
    expected = [
        "# ONE *TWO* THREE #",
        "> FOUR `five six` SEVEN\n> **EIGHT *NINE* TEN** END.",
        '- [ ] ONE [TWO](http://x.y "t") THREE',
    ]
    expected += ["![TWO THREE](a.png)", "1. ONE \\* TWO &amp; THREE  \n     FOUR FIVE", "| ONE TWO | THREE \\| FOUR |"]
    expected += [
        "| FIVE SIX | `a b` **C** |",
        "SIX SEVEN\n=====",
        "  <b>ONE TWO</b> THREE\n</div>",
        "[THREE FOUR][ref]",
        "<b>FIVE</b>",
    ]
    for piece in [*expected, "[^1]: FOUR FIVE SIX SEVEN."]:
        assert piece in result
    assert translated("One *two* three.", reversal) == "three. *two* One"


def test_text_that_would_be_markup_is_escaped() -> None:
    table = by_table(
        {"One": ("*a* _b_ [c](d) <e> `f`", ""), "Two": ("- two", ""), "Three": ("1. three", ""), "Four": ("a | b", "")}
    )
    assert (
        translated("One\n\nTwo\n\nThree\n", table)
        == "\\*a\\* \\_b\\_ \\[c\\](d) \\<e> \\`f\\`\n\n\\- two\n\n1\\. three\n"
    )
    assert "| a \\| b |" in translated("| Four |\n|---|\n| Four |\n", table)


def test_emphasis_that_a_translation_would_break_stays_in_place() -> None:
    table = by_table({"un_do_ it": ("x", ""), "An_other_": ("y", ""), "a word": ("una", "0-0")})
    assert translated("*a* word", table) == "*una*"
    assert structure(translated("**a** *b* `c` [d](e)", nothing)) == structure("**a** *b* `c` [d](e)")
    assert structure(translated("**a** *b* `c` [d](e)", unlinked)) == structure("**a** *b* `c` [d](e)")


@given(st.text(st.sampled_from("abé *_`[]()<>#-+\n\r\t!\\&;|~=>1.:'\""), min_size=1, max_size=60))
@example("- a\n  b\n\n> c\r\n> d")
@example("a  \nb\\\nc")
@example("***a** b*")
def test_the_identity_gives_back_every_text_byte_for_byte(text: str) -> None:
    assert translated(text, identity) == text


WORDS = st.sampled_from(["one", "two.", "*three*", "**four five**", "`six  seven`", "[eight](/u)", "~~nine~~", "<b>ten</b>", "\\*", "&amp;",
                         "![alt text](i.png)", "<https://a.b>", "_a **b** c_", "{x}", "A\nb", "c  \nd", "[a *b*][r]", "1.", "-", "__x__."])  # fmt: skip
LINES = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)
BLOCKS = st.one_of(
    LINES.map(lambda text: text.replace("\n", "\n")),
    LINES.map(lambda text: "# " + text.replace("\n", " ")),
    LINES.map(lambda text: "- " + text.replace("\n", "\n  ")),
    LINES.map(lambda text: "> " + text.replace("\n", "\n> ")),
    LINES.map(
        lambda text: "| a | " + text.replace("\n", " ") + " |\n|---|---|\n| " + text.replace("\n", " ") + " | b |"
    ),
    st.sampled_from(["```\ncode here\n```", "<!-- c -->", "---", "<div>\ntext here\n</div>"]),
)
PAGES = st.lists(BLOCKS, min_size=1, max_size=4).map(lambda blocks: "\n\n".join([*blocks, "[r]: /ref", ""]))


@given(PAGES, st.sampled_from(ALL))
def test_no_translation_changes_the_structure(text: str, translate: Any) -> None:
    assert structure(translated(text, translate)) == structure(text)
    assert translated(text, identity) == text


@pytest.mark.parametrize(
    "name", ["README.md", "CONTRIBUTING.md", "docs/guide/solve.md", "docs/guide/translate.md", "docs/security.md"]
)
def test_our_own_pages_keep_their_structure(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert translated(text, identity) == text
    assert structure(translated(text, reversal)) == structure(text)


def test_a_paragraph_that_is_too_long_is_refused() -> None:
    with pytest.raises(
        DataError, match=r"page.md: the paragraph at line 3 has 20,003 characters; the limit is 20,000. Divide it"
    ):
        translated("one\n\n" + "a *b " * (MAX_PARAGRAPH // 5) + "end", identity)


@pytest.mark.parametrize("translate", ALL)
@pytest.mark.parametrize(
    "text",
    [r"Use \*stars\* here.", "So 3 * 4 * 5 is sixty.", "Set snake_case_name now.", "&copy; 2024 us", "It is E = mc^2^ or H~2~O."],
)  # fmt: skip
def test_escapes_names_references_and_expressions_stay(text: str, translate: Any) -> None:
    result = translated(text, translate)
    for kept in (r"\*", "3 * 4 * 5", "snake_case_name", "&copy;", "E = mc^2^", "H~2~O"):
        assert result.count(kept) == text.count(kept)


def test_sentences_are_sent_without_markup() -> None:
    sent: list[str] = []

    def record(sentences: Any) -> Any:
        sent.extend(sentences)
        return identity(sentences)

    translate_markdown_text("# A *title*\n\nOne **two**\nthree. See `x` [here](u)!\n", InlineTranslator(record))
    assert sent == ["A title", "One two three.", "See X1 here!"]
