"""Names and sentences as LaTeX text: nothing in them is a command."""

import re

import pytest

from clearhead.worksheet.render.latex_text import escape

HOSTILE = ["<script>", "a&b", "100%", "\\input{/etc/passwd}", "$x$", "#1", "a_b", "{", "}", "~", "^", "\\", '"q"', "`'",
           "--", "[x]", "*", "\\end{document}", "^^5cinput", "two\nlines", "\x1b[31m", "%", "x" * 18]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_in_a_name_is_a_command(name: str) -> None:
    tex = escape(name)
    allowed = (r"\\text(backslash|asciitilde|asciicircum|asciigrave|less|greater|bar)\{\}|\\symbol\{34\}|\\[{}$&#%_]|"
               r"\\hspace\{0pt\}|\{\}")  # fmt: skip
    assert not set(re.sub(allowed, "", tex)) & set("\\{}$&#%_^~"), tex


def test_letters_beyond_latin_have_a_substitute_in_ascii() -> None:
    assert escape("हैं") == r"\clearheadDevanagari{हैं}{hain}"
    assert escape("দোকান") == r"\clearheadBengali{দোকান}{dokaana}"
    assert escape("Привет") == r"\clearheadCyrillic{Привет}{Privet}"
    assert escape("茶") == r"\clearheadEast{茶}{[U+8336]}"
    assert escape("🙂") == r"\textit{[slightly smiling face]}"
    assert escape("Łódź") == r"\L{}ód\'{z}"
