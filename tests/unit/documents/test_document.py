"""The public functions: formats, limits, and errors with the name of the document."""

import pytest

from clearhead import documents
from clearhead.documents import (
    SUPPORTED_FORMATS,
    AlignedTranslation,
    is_document,
    refuse_other_format,
    translate_document,
)
from clearhead.documents import document as module
from clearhead.documents import docx as docx_module
from clearhead.documents.inline import DocumentFault
from clearhead.errors import DataError
from tests.unit.documents.translators import identity


def test_every_supported_format_has_a_translator() -> None:
    for kind in SUPPORTED_FORMATS.values():
        name, _, function = module._TRANSLATORS[kind].partition(".")
        assert callable(getattr(__import__(f"clearhead.documents.{name}", fromlist=[function]), function))
    assert is_document("A.MD")
    assert not is_document("a.pdf")
    assert set(documents.__all__) >= {"translate_document", "translate_html_fragment", "TranslateSentences"}


def test_a_large_document_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 2**20)
    with pytest.raises(DataError, match=r"^a.txt has 2 MiB; the limit is 1 MiB. Split the document.$"):
        translate_document(bytes(2**21), "a.txt", identity)
    with pytest.raises(DataError, match=r"^the text has 1,048,577 characters; the limit is 1,048,576. Split it.$"):
        documents.translate_html_fragment("x" * (2**20 + 1), identity)


def test_an_error_names_the_document_without_its_folder() -> None:
    with pytest.raises(DataError, match=r"^evil.srt: it has no line with times"):
        translate_document(b"x", "..\\..\\evil.srt", identity)
    with pytest.raises(DocumentFault, match="it is damaged, or not a Word document"):
        docx_module.translate_docx(b"x", module.InlineTranslator(identity))


def test_a_function_that_loses_sentences_is_reported() -> None:
    with pytest.raises(DataError, match=r"^2 sentences gave 1 translations.$"):
        translate_document(b"One.\nTwo.", "a.txt", lambda sentences: [AlignedTranslation("x")])


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("A.PDF", b"x", "PDF"),
        ("a.md", b"%PDF-1.7\n\0", "PDF"),
        ("a.doc", b"", "the format of Word 97-2003"),
        ("a.txt", b"PK\x03\x04", "ZIP"),
        ("a.pptx", b"PK\x03\x04", "the format of PowerPoint"),
        ("a", b"\x89PNG\r\n", "PNG"),
    ],
)
def test_a_known_format_that_is_not_supported_is_named(name: str, content: bytes, kind: str) -> None:
    formats = ".txt, .md, .markdown, .html, .htm, .srt, .vtt, .docx"
    with pytest.raises(DataError) as refusal:
        translate_document(content, name, identity)
    assert (
        str(refusal.value)
        == f"{name}: {kind} is not supported. Formats: {formats}. Convert the document to one of them."
    )


def test_a_catalogue_of_gettext_is_not_translated() -> None:
    with pytest.raises(DataError) as refusal:
        translate_document(b'msgid "x"', "folder/a.PO", identity)
    assert str(refusal.value) == "a.PO: .po was removed from clearhead. Translate it in a PO editor."


def test_no_supported_format_is_called_unsupported() -> None:
    for extension in SUPPORTED_FORMATS:
        refuse_other_format(f"a{extension}", b"Hello")
