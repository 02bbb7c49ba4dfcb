"""What every self-contained page shares: its policy, its script and safe text."""

import base64
import hashlib
import re

import pytest

from clearhead.worksheet.render.page import document, escape, minified, package_file, print_size, tag
from clearhead.worksheet.render.roles import QUERY


def digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_a_page_allows_only_its_own_style_and_script() -> None:
    page = document("<T>", "p { color: red }", "let own = 1;", 'class="x"', ["<p>one</p>", "<p>two</p>"])
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    assert f"default-src 'none'; style-src 'sha256-{digest(style)}'; script-src 'sha256-{digest(script)}'" in page
    assert "<title>&lt;T&gt;</title>" in page
    assert '<body class="x">\n<p>one</p>\n<p>two</p>\n' in page


def test_the_shared_keys_come_before_the_script_of_the_page() -> None:
    (script,) = re.findall(r"<script>(.*?)</script>", document("", "", "let own = 1;", "", []), re.DOTALL)
    assert script == package_file("keys.js") + "let own = 1;"
    assert script.startswith('"use strict";')


@pytest.mark.parametrize(("name", "package"), [("sheet.js", "worksheet"), ("report.js", "check")])
def test_no_page_writes_the_shared_keys_again(name: str, package: str) -> None:
    script = package_file(name, f"clearhead.{package}.render")
    assert "cellByKey(cell, event)" in script
    assert "ArrowUp" not in script
    assert "beforeprint" not in script


def test_text_is_safe_in_html_and_inside_quotes() -> None:
    assert escape("<a \"b\"> & 'c'") == "&lt;a &quot;b&quot;&gt; &amp; &#x27;c&#x27;"
    assert tag(QUERY) == '<span class="tag"><b>Q</b> query</span>'


def test_a_stylesheet_loses_its_comments_and_line_breaks() -> None:
    assert minified("a {\n  b: c; /* why\n so */\n}\n") == "a { b: c; }"


@pytest.mark.parametrize(
    ("characters", "name"), [(70, ""), (71, " wide"), (110, " wide"), (111, " wider"), (161, " widest")]
)
def test_a_wide_row_is_printed_smaller(characters: int, name: str) -> None:
    assert print_size(characters) == name
