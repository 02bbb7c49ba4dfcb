"""Normalise text: Unicode form, white space, stray control characters, letter case.

SentencePiece is trained and run without its own normaliser, so this file is the only place where text is normalised.
"""

import re
import unicodedata
from typing import Literal

_FORMS: dict[str, Literal["NFC", "NFKC"]] = {"nfc": "NFC", "nfkc": "NFKC"}
SPACE_MARK = "\u2581"  # SentencePiece's sign for a space; in a text it would be decoded as a space
REPLACEMENT = "\ufffd"  # marks bytes that were lost when a text was decoded; no model should learn to write it
# Control characters except white space, the byte order mark, and unpaired surrogates, which UTF-8 cannot encode.
_STRAY = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufeff\ud800-\udfff]")


def normalise(text: str, form: str = "nfc", is_lower: bool = False) -> str:
    """Return the normalised text that a tokeniser reads. Normalising twice changes nothing more.

    Every run of white space becomes one space and is removed at both ends. Zero-width joiners stay, because Hindi,
    Bengali and emoji need them.
    """
    is_clean = text.isprintable()  # the only white space is the space, and there are no control characters
    if not is_clean:
        text = _STRAY.sub("", text)
    if not text.isascii():
        text = text.replace(SPACE_MARK, " ").replace(REPLACEMENT, "")
        if form != "none":
            text = unicodedata.normalize(_FORMS[form], text)
    if is_lower:
        text = _lower(text, form)
    # most text has only single spaces already, and needs no split
    return text.strip(" ") if is_clean and "  " not in text else " ".join(text.split())


def _lower(text: str, form: str) -> str:
    text = text.lower()
    # lower-casing can split an accented capital into a letter and a combining accent
    return unicodedata.normalize(_FORMS[form], text) if form != "none" and not text.isascii() else text
