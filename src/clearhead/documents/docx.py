"""Word documents: paragraphs, tables, headers, footers and notes are translated; formatting returns by alignment.

A paragraph with a field, a tracked change or a content control in it stays as it is, and is counted in a note.
"""

import re
from collections.abc import Iterator
from typing import Any

from lxml import etree

from clearhead.documents.docx_elements import (
    MARKS,
    has_letters,
    is_break,
    is_no_proof,
    name_of,
    split_runs,
    style_of,
    tag_of,
)
from clearhead.documents.docx_package import read_package
from clearhead.documents.docx_segment import DocxSegment
from clearhead.documents.inline import DocumentFault
from clearhead.documents.inline_translator import InlineTranslator

_TRANSLATED = re.compile(r"word/(?:document|header\d*|footer\d*|footnotes|endnotes)\.xml")
_STYLES = "word/styles.xml"
_FIELDS = ("fldChar", "instrText")  # in runs
_NO_DTD = (
    "a part of it has a document type declaration, which Word never writes. Save it again with Word or LibreOffice."
)


def translate_docx(content: bytes, translator: InlineTranslator) -> bytes:
    """Translate a Word document; the parts without text keep their bytes."""
    package = read_package(content)
    trees = {name: _parse(part) for name, part in package.contents.items() if _TRANSLATED.fullmatch(name)}
    if trees["word/document.xml"].tag != tag_of("document"):
        raise DocumentFault("it is a Strict Open XML document. Save it as an ordinary Word document (.docx).")
    unproofed = _unproofed(package.contents.get(_STYLES))
    segments: dict[str, list[DocxSegment]] = {name: [] for name in trees}
    num_left = 0
    for name, tree in trees.items():
        for paragraph in list(tree.iter(tag_of("p"))):
            if _is_simple(paragraph):
                segments[name] += paragraph_segments(paragraph, unproofed)
            else:
                num_left += has_letters(paragraph)
    if num_left:
        translator.notes.append(
            "paragraphs with a field, a tracked change or a content control, which were not translated: "
            f"{num_left}. Accept the changes, or replace the fields by their text, and translate the document again."
        )
    every = [segment for own in segments.values() for segment in own]
    for segment, pieces in zip(every, translator.translate([segment.block.inline for segment in every]), strict=True):
        segment.replace(pieces)
    return package.with_parts({name: _serialised(trees[name]) for name, own in segments.items() if own})


def _parse(part: bytes) -> Any:
    """Parse a part of a document: no entities, no network, no DTD, and libxml2's limits on depth and size."""
    if b"<!DOCTYPE" in part.replace(b"\0", b""):  # also in UTF-16
        raise DocumentFault(_NO_DTD)
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        tree = etree.fromstring(part, parser)
    except (etree.XMLSyntaxError, ValueError):
        raise DocumentFault("a part of it is not valid XML. Save it again with Word or LibreOffice.") from None
    if tree.getroottree().docinfo.internalDTD is not None:
        raise DocumentFault(_NO_DTD)
    return tree


def _unproofed(styles: bytes | None) -> frozenset[str]:
    """Return the identifiers of the styles whose text is marked as no-proof."""
    entries = () if styles is None else _parse(styles).iter(tag_of("style"))
    return frozenset(style.get(tag_of("styleId")) for style in entries if is_no_proof(style))


def _serialised(tree: Any) -> bytes:
    content: bytes = etree.tostring(tree, xml_declaration=True, encoding="UTF-8", standalone=True)
    return content


def _is_simple(paragraph: Any) -> bool:
    """Return whether there are only runs, links and marks in a paragraph, whose order can change."""
    links = [child for child in paragraph if name_of(child) == "hyperlink"]
    children = [child for parent in (paragraph, *links) for child in parent if child not in links]
    if any(name_of(child) not in ("pPr", "r", *MARKS) for child in children):
        return False
    return not any(name_of(part) in _FIELDS for child in children for part in child)


def paragraph_segments(paragraph: Any, unproofed: frozenset[str] = frozenset()) -> list[DocxSegment]:
    """Return the texts of a paragraph between its tabs and line breaks.

    Text that is marked as no-proof stays, also by its style, if that is one of `unproofed`.
    """
    if style_of(paragraph, "pPr", "pStyle") in unproofed:
        return []
    split_runs(paragraph)
    segments = (DocxSegment(group, unproofed) for group in _groups(paragraph))
    return [segment for segment in segments if segment.has_letters]


def _groups(parent: Any) -> Iterator[list[Any]]:
    """Yield the children of a paragraph or a link that are one text: a sentence ends at a tab and at a line break."""
    group: list[Any] = []
    for child in parent:
        has_break = any(map(is_break, child))
        if has_break or is_break(child) or name_of(child) == "pPr":
            yield group
            group = []
            if has_break:  # in a link
                yield from _groups(child)
        else:
            group.append(child)
    yield group
