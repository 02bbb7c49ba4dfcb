"""Translate documents and keep their form; what translates is a function from sentences to translations with links."""

from clearhead.documents.document import (
    MAX_BYTES,
    SUPPORTED_FORMATS,
    DocumentOptions,
    is_document,
    refuse_other_format,
    translate_document,
    translate_html_fragment,
)
from clearhead.text.aligned import AlignedTranslation, TranslateSentences

__all__ = [
    "MAX_BYTES",
    "SUPPORTED_FORMATS",
    "AlignedTranslation",
    "DocumentOptions",
    "TranslateSentences",
    "is_document",
    "refuse_other_format",
    "translate_document",
    "translate_html_fragment",
]
