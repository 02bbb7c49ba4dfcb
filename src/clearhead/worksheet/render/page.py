"""Shared by all self-contained pages: escaping, style sheets, and a frame whose policy blocks outside content."""

import base64
import hashlib
import re
from collections.abc import Iterable
from html import escape as escape_html
from importlib.resources import files

from clearhead.errors import printable
from clearhead.worksheet.render.roles import Role

_PAPER = "@page { size: A4; margin: 14mm 12mm; }"  # not in the style sheet: it would apply to the entire notebook
_PRINT_SIZES = {160: " widest", 110: " wider", 70: " wide"}  # a row with more characters is printed smaller


def escape(text: str) -> str:
    """Make a name or title safe as HTML text and inside quotes."""
    return escape_html(printable(text), quote=True)


def package_file(name: str, package: str = "clearhead.worksheet.render") -> str:
    """Return the text of a file of the package."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


def minified(style: str) -> str:
    """Return a style sheet without comments and line breaks."""
    return re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL)).strip()


def document(title: str, style: str, script: str, attributes: str, lines: Iterable[str]) -> str:
    """Return a complete page: `attributes` are those of the body, as HTML; `title` is escaped here.

    `script` comes after the code that all pages share (`keys.js`), in one element, so that the policy needs one hash.
    """
    policy = content_policy(style, script)
    style += _PAPER
    script = package_file("keys.js") + script
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            '<head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{escape(title)}</title>",
            f"<style>{style}</style></head>",
            f"<body {attributes}>",
            *lines,
            # hidden from screen readers, because the label of a cell has the same text
            '<div id="status" aria-hidden="true" hidden></div>',
            f"<script>{script}</script>",
            "</body></html>\n",
        ]
    )


def content_policy(style: str, script: str) -> str:
    """Return the Content-Security-Policy of a page with this style and script, which blocks all others."""
    fingerprints = _fingerprint(style + _PAPER), _fingerprint(package_file("keys.js") + script)
    return "default-src 'none'; style-src {}; script-src {}".format(*fingerprints)


def _fingerprint(text: str) -> str:
    """Return the hash of a style or script for the policy of the page, which blocks all others."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def tag(role: Role) -> str:
    """Return the letter and the name of a role, in its colour."""
    return f'<span class="tag"><b>{role.tag}</b> {role.name}</span>'


def print_size(characters: int) -> str:
    """Return the class that makes a wide matrix fit on paper, by the length of its widest row."""
    return next((name for most, name in _PRINT_SIZES.items() if characters > most), "")
