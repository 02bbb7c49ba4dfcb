"""Decode the bytes of a text document, and encode its translation the same way."""

import codecs
from dataclasses import dataclass

from clearhead.documents.inline import DocumentFault

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True)
class DecodedText:
    """The text of a document, its encoding, and the byte order mark that it starts with."""

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""

    def encoded(self, text: str, errors: str = "replace") -> bytes:
        """Return another text in the same encoding."""
        return self.mark + text.encode(self.encoding, errors)


def decode(content: bytes, declared: str | None = None) -> DecodedText:
    """Return the text of a document: by its byte order mark, otherwise UTF-8, otherwise the encoding it declares."""
    mark, encoding = next(((mark, name) for mark, name in _MARKS if content.startswith(mark)), (b"", "utf-8"))
    if encoding.startswith("utf-32"):
        raise DocumentFault("it is UTF-32 text. Save it as UTF-8.")
    try:
        text = content[len(mark) :].decode(encoding)
    except UnicodeDecodeError as problem:
        if mark or declared is None:
            line = content[: problem.start].count(b"\n") + 1
            name = encoding.removesuffix("-le").removesuffix("-be").upper()
            raise DocumentFault(f"line {line} is not {name} text. Save the document as UTF-8.") from None
        text, encoding = _declared_text(content, declared), declared
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise DocumentFault(f"line {line} contains a NUL character, so this is not a text document.")
    return DecodedText(text, encoding, mark)


def _declared_text(content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding)
    except (LookupError, UnicodeDecodeError):
        raise DocumentFault(
            f"it is neither UTF-8 nor {encoding[:40]!r}, which it declares. Save the document as UTF-8."
        ) from None
