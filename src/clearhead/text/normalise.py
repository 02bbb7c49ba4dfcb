"""One spelling for text that looks the same: Unicode form, white space, stray controls, letter case.

SentencePiece is trained and run without a normaliser of its own, so that what happens here is all that happens.
"""

import re
import unicodedata
from typing import Literal

_FORMS: dict[str, Literal["NFC", "NFKC"]] = {"nfc": "NFC", "nfkc": "NFKC"}
SPACE_MARK = "\u2581"  # how SentencePiece writes a space: in text it would come back as one
# Controls that are not white space, the byte order mark, and half a surrogate pair, which UTF-8 cannot hold.
_STRAY = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufeff\ud800-\udfff]")


def normalise(text: str, form: str = "nfc", is_lower: bool = False) -> str:
    """Return the text as a tokeniser reads it; doing it twice changes nothing more.

    Every run of white space becomes one space, at the ends none. Joiners stay: Hindi, Bengali and emoji need them.
    """
    is_clean = text.isprintable()  # then a space is its only white space, and nothing in it is stray
    if not is_clean:
        text = _STRAY.sub("", text)
    if not text.isascii():
        text = text.replace(SPACE_MARK, " ")
        if form != "none":
            text = unicodedata.normalize(_FORMS[form], text)
    if is_lower:
        text = _lower(text, form)
    # most text has single spaces already, and is not taken apart
    return text.strip(" ") if is_clean and "  " not in text else " ".join(text.split())


def _lower(text: str, form: str) -> str:
    text = text.lower()
    # a capital with an accent of its own may fall apart into letter and accent
    return unicodedata.normalize(_FORMS[form], text) if form != "none" and not text.isascii() else text
