"""Word documents: paragraphs, tables, headers, footers and notes are translated; formatting returns by alignment."""

import re
from typing import Any

from lxml import etree

from clearhead.documents.docx_elements import is_no_proof, properties_of, tag_of
from clearhead.documents.docx_package import read_package
from clearhead.documents.docx_paragraph import DocxSegment, paragraph_segments
from clearhead.documents.inline import DocumentFault
from clearhead.documents.inline_translator import InlineTranslator

_TRANSLATED = re.compile(r"word/(?:document|header\d*|footer\d*|footnotes|endnotes)\.xml")
_STYLES = "word/styles.xml"
_NO_DTD = (
    "a part of it has a document type declaration, which Word never writes. Save it again with Word or LibreOffice."
)


def translate_docx(content: bytes, translator: InlineTranslator) -> bytes:
    """Translate a Word document; the parts without text keep their bytes."""
    package = read_package(content)
    trees = {name: _parse(part) for name, part in package.contents.items() if _TRANSLATED.fullmatch(name)}
    if trees["word/document.xml"].tag != tag_of("document"):
        raise DocumentFault("it is a Strict Open XML document. Save it as an ordinary Word document (.docx).")
    styles = _parse(package.contents[_STYLES]) if _STYLES in package.contents else None
    unproofed = _unproofed(styles)
    segments: dict[str, list[DocxSegment]] = {}
    for name, tree in trees.items():
        paragraphs = list(tree.iter(tag_of("p")))
        segments[name] = [segment for paragraph in paragraphs for segment in paragraph_segments(paragraph, unproofed)]
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


def _unproofed(styles: Any) -> frozenset[str]:
    """Return the identifiers of the styles whose text is marked as no-proof."""
    entries = () if styles is None else styles.iter(tag_of("style"))
    return frozenset(style.get(tag_of("styleId")) for style in entries if is_no_proof(properties_of(style)))


def _serialised(tree: Any) -> bytes:
    content: bytes = etree.tostring(tree, xml_declaration=True, encoding="UTF-8", standalone=True)
    return content
