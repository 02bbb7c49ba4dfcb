"""Three synthetic tasks: copy a sentence, reverse it, sort its words.

The words are invented, so that a model cannot use their meaning.
"""

from collections.abc import Iterator
from hashlib import sha256
from random import Random
from typing import Literal, get_args

from clearhead.data.phrasebook import Split
from clearhead.errors import DataError, did_you_mean, printable

Task = Literal["copy", "reverse", "sort"]

WORDS = tuple(first + vowel for first in "bdfklmnprst" for vowel in "aio")  # ba, bi, bo, da ... to: 33 words
SHORTEST, LONGEST = 3, 10
SIZES: dict[Split, int] = {"train": 20_000, "valid": 500, "test": 500}


def pairs(name: Task, split: Split, seed: int = 1) -> Iterator[tuple[str, str]]:
    """Yield the sentences and answers of one split of a task. No sentence occurs twice, or in two splits, for any seed.

    A hash of the sentence decides its split. Sorting is alphabetical and keeps repeated words.
    """
    for kind, value, choices in (("task", name, get_args(Task)), ("part", split, get_args(Split))):
        if value not in choices:
            raise DataError(
                f"There is no {kind} '{printable(str(value))}'.{did_you_mean(str(value), choices)} "
                f"Choices: {', '.join(choices)}."
            )
    return _draw(name, split, seed)


def _draw(name: Task, split: Split, seed: int) -> Iterator[tuple[str, str]]:
    draw = Random(
        f"clearhead sequences {split} {seed}"
    ).random  # the only method with the same results in every Python version
    sentences: set[str] = set()
    while len(sentences) < SIZES[split]:
        length = SHORTEST + int(draw() * (LONGEST - SHORTEST + 1))
        words = [WORDS[int(draw() * len(WORDS))] for _ in range(length)]
        sentence = " ".join(words)
        if sentence not in sentences and _split_of(sentence) == split:
            sentences.add(sentence)
            yield sentence, " ".join(_answer(name, words))


def _split_of(sentence: str) -> Split:
    number = sha256(sentence.encode()).digest()[0]
    return "valid" if number < 16 else "test" if number < 32 else "train"


def _answer(name: Task, words: list[str]) -> list[str]:
    match name:
        case "copy":
            return words
        case "reverse":
            return words[::-1]
        case "sort":
            return sorted(words)
