"""Catalogues of gettext: untranslated messages get a translation that is marked as fuzzy, with all placeholders."""

import re
from typing import TYPE_CHECKING

import polib

from clearhead.documents.blocks import blocks_in, render_parts, translate_blocks
from clearhead.documents.encoding import decode
from clearhead.documents.faults import DocumentFault
from clearhead.documents.inline_translator import InlineTranslator
from clearhead.documents.plain_text import plain_parts
from clearhead.documents.tagged_text import tagged_parts

if TYPE_CHECKING:
    from clearhead.documents.document import DocumentOptions

_CHARSET = re.compile(rb"charset=([\w-]{1,40})")
_NUM_FORMS = re.compile(r"nplurals\s*=\s*(\d{1,2})")
_QT = re.compile(r"%L?\d{1,2}(?!\w)|%n(?!\w)")
_NAMED = re.compile(r"(?<![\w:/]):[A-Za-z_]\w{0,60}:?(?![\w:])")  # :name
_LINE = re.compile(r"\s*(?:#.*|(?:(msgctxt|msgid|msgid_plural|msgstr(?:\[\d{1,2}\])?)\s+)?\"(?:[^\"\\]|\\.)*\"\s*)?")
_FUZZY = "fuzzy"
_USUAL_WIDTH, _NO_WRAPPING = 78, 10**6


def translate_po(content: bytes, translator: InlineTranslator, options: "DocumentOptions") -> bytes:
    """Translate the messages of a catalogue that have no translation yet, or all of them."""
    charset = _CHARSET.search(content[:4096])
    decoded = decode(content, None if charset is None else charset[1].decode("ascii"))
    catalogue = _read(decoded.text)
    entries = [
        entry for entry in catalogue if not entry.obsolete and _needs_translation(entry, options.is_every_message)
    ]
    parts = {
        text: plain_parts(text, lambda paragraph: tagged_parts(paragraph, patterns=(_QT, _NAMED)))
        for entry in entries
        for text in (entry.msgid, entry.msgid_plural)
        if text
    }
    translations = translate_blocks(blocks_in(part for own in parts.values() for part in own), translator)
    texts = {text: render_parts(own, translations) for text, own in parts.items()}
    num_forms = _num_forms(catalogue)
    for entry in entries:
        _fill(entry, texts, num_forms, is_every_message=options.is_every_message)
    if options.target_language is not None and not catalogue.metadata.get("Language"):
        catalogue.metadata["Language"] = options.target_language
    text = str(catalogue)
    if not decoded.text.lstrip().startswith("#"):
        text = text.removeprefix("#\n")  # polib writes a comment in any case
    try:
        return decoded.mark + (text.rstrip("\n") + "\n").encode(decoded.encoding)
    except UnicodeEncodeError:
        raise DocumentFault(
            f"{decoded.encoding} cannot represent the translation. Convert the catalogue to UTF-8, for example with "
            "msgconv."
        ) from None


def _read(text: str) -> polib.POFile:
    if re.search(r"(?m)^\s*msgid\s", text) is None:
        raise DocumentFault("it has no msgid, so this is not a catalogue of gettext. Give a PO file.")
    width = _USUAL_WIDTH if max(map(len, text.splitlines())) <= _USUAL_WIDTH + 2 else _NO_WRAPPING
    _check_lines(text)
    try:
        # polib opens a file if its argument is the name of one; a name with a line end at the start is none
        catalogue = polib.pofile("\n" + text, wrapwidth=width)
    except (OSError, ValueError, IndexError, KeyError) as problem:
        reason = re.search(r"line (\d+)", str(problem))
        raise _invalid(None if reason is None else max(1, int(reason[1]) - 1)) from None
    if any(not entry.msgid and not entry.msgctxt and not entry.obsolete for entry in catalogue):
        raise DocumentFault('it has two headers (msgid ""). Remove one of them.')
    return catalogue


def _check_lines(text: str) -> None:
    """Raise a fault at the first line that polib would drop: a text without its end, or a message without msgstr."""
    is_open = False  # a msgid without its msgstr so far
    last = 1
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        match = _LINE.fullmatch(line)
        if match is None:
            raise _invalid(number)
        keyword = match[1] or ""
        if keyword == "msgid" and is_open:
            raise _invalid(number)
        is_open = keyword == "msgid" or (is_open and not keyword.startswith("msgstr"))
        last = number if keyword else last
    if is_open:
        raise _invalid(last)


def _invalid(line: int | None) -> DocumentFault:
    place = "" if line is None else f" at line {line}"
    return DocumentFault(f"it is not a valid PO file{place}. Check it with msgfmt.")


def _needs_translation(entry: polib.POEntry, is_every_message: bool) -> bool:
    if entry.msgid_plural:
        return is_every_message or not all(entry.msgstr_plural.values()) or not entry.msgstr_plural
    return is_every_message or not entry.msgstr


def _num_forms(catalogue: polib.POFile) -> int | None:
    match = _NUM_FORMS.search(catalogue.metadata.get("Plural-Forms", ""))
    return None if match is None else max(1, int(match[1]))


def _fill(entry: polib.POEntry, texts: dict[str, str], num_forms: int | None, *, is_every_message: bool) -> None:
    """Write the translation of a message, and mark it as fuzzy: a person should look at it."""
    if entry.msgid_plural:
        count = num_forms or len(entry.msgstr_plural) or 2
        for number in range(count):
            if is_every_message or not entry.msgstr_plural.get(number):
                is_singular = number == 0 and count > 1
                entry.msgstr_plural[number] = texts[entry.msgid if is_singular else entry.msgid_plural]
    else:
        entry.msgstr = texts[entry.msgid]
    if _FUZZY not in entry.flags:
        entry.flags.append(_FUZZY)
