"""Short English sentences for the benchmarks of the server: made from templates with a seed, or read from a file."""

import itertools
import random
from pathlib import Path

from clearhead.files.line_input import input_lines

_WHO = ("I", "We", "They", "My sister", "The teacher", "Tom", "The old man", "Her friends", "The children", "Nobody")
_DID = ("saw", "bought", "lost", "found", "wanted", "forgot", "sold", "liked", "painted", "needed")
_WHAT = ("a red car", "the book", "some bread", "an umbrella", "the keys", "a small house", "two tickets", "the letter")
_WHERE = ("in the city", "at school", "near the river", "on Monday", "last year", "yesterday", "at the market", "here")
_ASKED = ("Where is", "Who has", "How much is", "Did you see", "Can I have", "Why did you buy")
_SHORT = ("Thank you.", "Good morning.", "I am hungry.", "It is raining.", "Let's go.", "Be quiet!", "I don't know.")


def made_sentences(number: int, seed: int = 1) -> list[str]:
    """Return so many different sentences of 2 to 11 words."""
    told = [f"{who} {did} {what} {where}." for who, did, what, where in itertools.product(_WHO, _DID, _WHAT, _WHERE)]
    short = [f"{who} {did} {what}." for who, did, what in itertools.product(_WHO, _DID, _WHAT)]
    asked = [f"{words} {what} {where}?" for words, what, where in itertools.product(_ASKED, _WHAT, _WHERE)]
    sentences = [*_SHORT, *told, *short, *asked]
    random.Random(seed).shuffle(sentences)
    if number > len(sentences):
        raise SystemExit(f"there are {len(sentences):,} different sentences, not {number:,}. Give a file with --data.")
    return sentences[:number]


def sentences_of(data: Path | None, number: int, seed: int = 1) -> list[str]:
    """Return the first lines of a file (also .gz or .xz) that are not empty, or sentences from templates."""
    if data is None:
        return made_sentences(number, seed)
    lines = (line.strip() for line in input_lines(str(data)))
    return list(itertools.islice((line for line in lines if line), number))
