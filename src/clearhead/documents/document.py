"""Translate a document by the extension of its name; every fault becomes one sentence with that name."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import PurePosixPath

from clearhead.documents.html_text import translate_html_text
from clearhead.documents.inline import DocumentFault
from clearhead.documents.inline_translator import InlineTranslator
from clearhead.errors import DataError, did_you_mean, not_installed, printable
from clearhead.retired import removed
from clearhead.text.aligned import TranslateSentences
from clearhead.text.sentences import DEFAULT_LANGUAGE

MAX_BYTES = 32 * 2**20  # of a document

SUPPORTED_FORMATS: dict[str, str] = {
    ".txt": "plain text",
    ".md": "Markdown",
    ".markdown": "Markdown",
    ".html": "HTML",
    ".htm": "HTML",
    ".srt": "SubRip subtitles",
    ".vtt": "WebVTT subtitles",
    ".docx": "Word document",
}
_TRANSLATORS = {
    "plain text": "plain_text.translate_plain_text",
    "Markdown": "markdown.translate_markdown",
    "HTML": "html_text.translate_html",
    "SubRip subtitles": "subtitles.translate_srt",
    "WebVTT subtitles": "subtitles.translate_vtt",
    "Word document": "docx.translate_docx",
}

# formats that people try to translate but that are not supported, by the extension or the first bytes
_BY_EXTENSION = {
    ".pdf": "PDF",
    ".doc": "the format of Word 97-2003",
    ".odt": "OpenDocument text",
    ".ods": "the OpenDocument spreadsheet",
    ".odp": "the OpenDocument presentation",
    ".rtf": "RTF",
    ".pages": "the format of Pages",
    ".epub": "EPUB",
    ".mobi": "the format of Kindle",
    ".xls": "the format of Excel 97-2003",
    ".xlsx": "the format of Excel",
    ".ppt": "the format of PowerPoint 97-2003",
    ".pptx": "the format of PowerPoint",
    ".zip": "ZIP",
    ".png": "PNG",
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".gif": "GIF",
    ".webp": "WebP",
    ".mp3": "MP3",
    ".mp4": "MP4",
}
_BY_START = {
    b"%PDF-": "PDF",
    b"{\\rtf": "RTF",
    b"PK\x03\x04": "ZIP",
    b"\xd0\xcf\x11\xe0": "the format of Word 97-2003",
    b"\x89PNG": "PNG",
    b"\xff\xd8\xff": "JPEG",
    b"GIF8": "GIF",
}


@dataclass(frozen=True)
class DocumentOptions:
    """The languages, if they are known, as two-letter codes."""

    source_language: str | None = None
    target_language: str | None = None


def is_document(name: str) -> bool:
    """Return whether the extension of a name is one of a supported format."""
    return _extension(name) in SUPPORTED_FORMATS


def refuse_other_format(name: str, content: bytes = b"") -> None:
    """Raise DataError if a document is of a known format that is not supported, by its extension or its first bytes."""
    extension = _extension(name)
    if (sentence := removed(extension)) is not None:
        raise DataError(f"{_shown(name)}: {sentence}")
    kind = _BY_EXTENSION.get(extension)
    if kind is None and extension != ".docx":  # a Word document is a ZIP file, and its reader says more
        kind = next((name for start, name in _BY_START.items() if content.startswith(start)), None)
    if kind is not None:
        raise DataError(
            f"{_shown(name)}: {kind} is not supported. Formats: {', '.join(SUPPORTED_FORMATS)}. Convert the document "
            "to one of them."
        )


def translate_document(
    content: bytes,
    name: str,
    translate: TranslateSentences,
    progress: Callable[[int, int], None] = lambda num_done, total: None,
    options: DocumentOptions = DocumentOptions(),
    note: Callable[[str], None] = lambda sentence: None,
) -> bytes:
    """Return a document with its sentences translated; the extension of its name states its format.

    `translate` gets batches of sentences without markup. `progress` is called with the number of sentences that are
    translated and the number of all of them, `note` with what a reader of the translation should know, such as what
    was not translated. Raise DataError if the document is unknown, damaged or too large.
    """
    shown = _shown(name)
    extension = _extension(name)
    refuse_other_format(name, content)
    if extension not in SUPPORTED_FORMATS:
        raise DataError(
            f"{shown}: '{printable(extension)}' is not a format that is translated as a document."
            f"{did_you_mean(extension, SUPPORTED_FORMATS)} Formats: {', '.join(SUPPORTED_FORMATS)}."
        )
    if len(content) > MAX_BYTES:
        raise DataError(
            f"{shown} has {len(content) / 2**20:.0f} MiB; the limit is {MAX_BYTES // 2**20} MiB. Split the document."
        )
    if not content:
        raise DataError(f"{shown} is empty. Give a document with text.")
    language = options.source_language or DEFAULT_LANGUAGE
    module, _, function = _TRANSLATORS[SUPPORTED_FORMATS[extension]].partition(".")
    try:
        translator = InlineTranslator(translate, progress, language, options.target_language)
        translate_format = getattr(import_module(f"clearhead.documents.{module}"), function)
        translated: bytes = translate_format(content, translator)
    except DocumentFault as fault:
        raise DataError(f"{shown}: {fault}") from None
    except ModuleNotFoundError as missing:
        raise _missing(missing, SUPPORTED_FORMATS[extension]) from None
    for sentence in translator.notes:
        note(sentence)
    return translated


def translate_html_fragment(
    text: str,
    translate: TranslateSentences,
    progress: Callable[[int, int], None] = lambda num_done, total: None,
    options: DocumentOptions = DocumentOptions(),
) -> str:
    """Translate a piece of HTML such as `Hello <b>world</b>`; the tags are kept, and none is added."""
    if len(text) > MAX_BYTES:
        raise DataError(f"the text has {len(text):,} characters; the limit is {MAX_BYTES:,}. Split it.")
    try:
        language = options.source_language or DEFAULT_LANGUAGE
        return translate_html_text(text, InlineTranslator(translate, progress, language, options.target_language))
    except DocumentFault as fault:
        raise DataError(f"the text: {fault}") from None


def _shown(name: str) -> str:
    return printable(PurePosixPath(name.replace("\\", "/")).name[-100:]) or "the document"


def _extension(name: str) -> str:
    return PurePosixPath(name.replace("\\", "/")).suffix.lower()


def _missing(missing: ModuleNotFoundError, kind: str) -> Exception:
    """Return the error for a library that is not installed; another missing module is a fault of clearhead."""
    package = {"markdown_it": "markdown-it-py"}.get(missing.name or "", missing.name or "")
    if package not in ("markdown-it-py", "lxml"):
        return missing
    return DataError(not_installed(f"translating a {kind}", package, "documents"))
