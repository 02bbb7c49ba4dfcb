"""Recognise code in a Word document: text in a monospaced font, or in a style for code."""

import re
from collections.abc import Iterable
from typing import Any

from clearhead.documents.docx_elements import name_of, properties_of, runs_in, tag_of

_FONTS = re.compile(
    r"(?i)(?:courier|consolas|monaco|menlo|cascadia|inconsolata|lucida console|andale mono|liberation mono|"
    r"dejavu sans mono|noto (?:sans )?mono|jetbrains mono|roboto mono|ubuntu mono|sf mono|source code|"
    r"fira (?:code|mono)|ibm plex mono|hack$|terminal$|fixedsys)|\b(?:mono|monospaced?|code|typewriter)$"
)
_STYLES = re.compile(
    r"(?i)(?:\b|_)(?:source ?code|code|verbatim|preformatted|html ?(?:code|keyboard|sample|typewriter)|listing|"
    r"source ?text|teletype)(?:\b|_|char\b)"
)


_MAX_BASES = 20  # styles that are based on each other


class CodeFinder:
    """Says which text is code, by its own font and by the styles of the document.

    A document whose text is mostly in a monospaced font is a manuscript: there, a font says nothing.
    """

    def __init__(self, styles: Any = None, paragraphs: Iterable[Any] = ()) -> None:
        self._styles, self._fonts = _code_styles(styles)
        self._has_fonts = styles is None or not any(map(_is_monospaced_default, styles))
        lengths = {True: 0, False: 0}
        for paragraph in paragraphs:
            for run in runs_in(paragraph):
                length = sum(len(text.text or "") for text in run.findall(tag_of("t")))
                lengths[self._is_monospaced(paragraph, properties_of(run))] += length
        self._has_fonts = self._has_fonts and lengths[True] <= lengths[False]

    def is_code(self, paragraph: Any, properties: Any) -> bool:
        """Return whether text with these properties in a paragraph is code."""
        if not self._styles.isdisjoint(_style_keys(paragraph, properties)):
            return True
        return self._has_fonts and self._is_monospaced(paragraph, properties)

    def _is_monospaced(self, paragraph: Any, properties: Any) -> bool:
        if _font_of(properties):
            return _FONTS.search(_font_of(properties)) is not None
        return not self._fonts.isdisjoint(_style_keys(paragraph, properties))


def _style_keys(paragraph: Any, properties: Any) -> list[str]:
    """Return the identifiers of the styles of a text: that of its paragraph, and its own."""
    styles = [paragraph.find(f"{tag_of('pPr')}/{tag_of('pStyle')}")]
    if properties is not None:
        styles.append(properties.find(tag_of("rStyle")))
    return [style.get(tag_of("val")) or "" for style in styles if style is not None]


def _font_of(properties: Any) -> str:
    fonts = None if properties is None else properties.find(tag_of("rFonts"))
    return "" if fonts is None else fonts.get(tag_of("ascii")) or ""


def _is_monospaced_default(style: Any) -> bool:
    """Return whether an element of the styles makes a monospaced font the usual one."""
    if name_of(style) == "docDefaults":
        return any(_FONTS.search(_font_of(properties)) is not None for properties in style.iter(tag_of("rPr")))
    is_default = style.get(tag_of("default")) in ("1", "true", "on") and style.get(tag_of("type")) == "paragraph"
    return is_default and _FONTS.search(_font_of(properties_of(style))) is not None


def _code_styles(styles: Any) -> tuple[set[str], set[str]]:
    """Return the identifiers of the styles that are named as code, and of those with a monospaced font."""
    entries: dict[str, tuple[bool, bool, str]] = {}
    for style in () if styles is None else styles:
        key = style.get(tag_of("styleId")) if name_of(style) == "style" else None
        if key is None:
            continue
        values = {name_of(child): child.get(tag_of("val")) or "" for child in style}
        is_named = any(_STYLES.search(name) for name in (key, values.get("name", "")))
        is_monospaced = _FONTS.search(_font_of(properties_of(style))) is not None
        entries[key] = (is_named, is_monospaced, values.get("basedOn", ""))
    names: set[str] = set()
    fonts: set[str] = set()
    for key in entries:
        base = key
        for _ in range(_MAX_BASES):
            is_named, is_monospaced, following = entries.get(base, (False, False, ""))
            names |= {key} if is_named else set()
            fonts |= {key} if is_monospaced else set()
            base = following
    return names, fonts
