"""Plain text: lines, blank lines and line ends stay; a sentence that continues on the next line is translated whole."""

import re

from clearhead.documents.blocks import Part, plain_block, translate_parts
from clearhead.documents.encoding import decode
from clearhead.documents.inline_translator import InlineTranslator

_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
_WRAPPED = 40  # characters of a line that was probably broken because it was full
_ENDS = tuple('.!?:;…。！？।॥"”»)')


def translate_plain_text(content: bytes, translator: InlineTranslator) -> bytes:
    """Translate a plain text."""
    decoded = decode(content)
    return decoded.encoded(translate_parts(plain_parts(decoded.text), translator))


def plain_parts(text: str) -> list[Part]:
    """Return the paragraphs of a text as blocks, and what is between them."""
    parts: list[Part] = []
    lines: list[str] = []  # of the paragraph so far, with their ends
    before = ending = ""
    for line, end in [*_LINE.findall(text), ("", "")]:
        if lines and not is_continued(before, line):
            paragraph = "".join(lines).removesuffix(ending)
            parts += [plain_block(paragraph), ending] if paragraph.strip() else [paragraph + ending]
            lines = []
        lines.append(line + end)
        before, ending = line, end
    return parts


def is_continued(line: str, following: str) -> bool:
    """Return whether a line goes over to the next one: it is full and has no end, and the next has a small letter."""
    line = line.rstrip()
    return len(line) >= _WRAPPED and not line.endswith(_ENDS) and following[:1].islower()
