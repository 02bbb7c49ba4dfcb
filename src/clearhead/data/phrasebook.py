"""An English–Spanish phrasebook, read from the file phrasebook.tsv.xz beside this module.

Its columns: split, English, Spanish, and `set` for set phrases, which are learnt by heart and begin the training split.
Every English sentence has exactly one translation: "you" is tú, "they" is ellos, and subject pronouns are dropped. The
English is British, and the Spanish is that of Spain. The sentences were drawn from a bilingual grammar, which the
history of this repository has as the folder src/clearhead/data/phrasebook. docs/guide/data.md describes the splits.
"""

import lzma
from collections.abc import Iterator
from importlib.resources import files
from typing import Literal, get_args

from clearhead.errors import DataError, did_you_mean, printable

Split = Literal["train", "valid", "test"]


def pairs(split: Split) -> Iterator[tuple[str, str]]:
    """Return the English and Spanish sentences of one split. No English sentence occurs twice."""
    choices = get_args(Split)
    if split not in choices:
        raise DataError(
            f"The phrasebook has no part '{printable(str(split))}'.{did_you_mean(str(split), choices)} "
            f"Choices: {', '.join(choices)}."
        )
    return ((english, spanish) for part, english, spanish, _ in _rows() if part == split)


def set_phrases(split: Split = "train") -> Iterator[tuple[str, str]]:
    """Return only the idioms and set phrases, as a corpus that training can read more often than the rest."""
    if split != "train":
        raise DataError(
            f"The set phrases have no part '{printable(str(split))}': they are learnt by heart, so that all of them "
            "are for training. Hold out a part of the phrasebook: built_in: phrasebook."
        )
    return ((english, spanish) for _, english, spanish, mark in _rows() if mark == "set")


def _rows() -> Iterator[list[str]]:
    packed = files("clearhead.data").joinpath("phrasebook.tsv.xz").read_bytes()
    return (line.split("\t") for line in lzma.decompress(packed).decode("utf-8").splitlines())
