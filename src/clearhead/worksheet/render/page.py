"""What every self-contained page shares: safe text, the stylesheet, and a frame whose policy lets in nothing else."""

import base64
import hashlib
import re
from collections.abc import Iterable
from html import escape as escape_html
from importlib.resources import files

from clearhead.errors import printable
from clearhead.worksheet.render.roles import Role

_PAPER = "@page { size: A4; margin: 14mm 12mm; }"  # not in the stylesheet: in a notebook it would rule the whole page
_PRINT_SIZES = {160: " widest", 110: " wider", 70: " wide"}  # characters beyond which a row is printed smaller


def escape(text: str) -> str:
    """Make a name or title safe as HTML text and inside quotes."""
    return escape_html(printable(text), quote=True)


def package_file(name: str, package: str = "clearhead.worksheet.render") -> str:
    """Return the text of a file that lies beside the code."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


def minified(style: str) -> str:
    """Return a stylesheet without comments and line breaks."""
    return re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL)).strip()


def document(title: str, style: str, script: str, attributes: str, lines: Iterable[str]) -> str:
    """Return a whole page: `attributes` are the body's, as HTML; `title` is made safe here.

    `script` follows what all pages share (`keys.js`), in one element, so that the policy names one hash.
    """
    style += _PAPER
    script = package_file("keys.js") + script
    policy = f"default-src 'none'; style-src {_fingerprint(style)}; script-src {_fingerprint(script)}"
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
            '<div id="status" aria-hidden="true" hidden></div>',  # for the eye: a cell's own label says the same
            f"<script>{script}</script>",
            "</body></html>\n",
        ]
    )


def _fingerprint(text: str) -> str:
    """Name a style or script by its hash, so that the page's own policy lets no other one run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def tag(role: Role) -> str:
    """Return the letter and the name of a role, in its colour."""
    return f'<span class="tag"><b>{role.tag}</b> {role.name}</span>'


def print_size(characters: int) -> str:
    """Return the class of a matrix that must be printed smaller to fit on paper, by the length of its widest row."""
    return next((name for most, name in _PRINT_SIZES.items() if characters > most), "")
