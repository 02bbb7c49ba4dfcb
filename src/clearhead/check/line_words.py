"""The words for the lines of a sheet, line_words.yaml: which records each word, letter or symbol can mean."""

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from clearhead.files.yaml_file import YamlLimits, load_yaml
from clearhead.steps import Record
from clearhead.steps.symbols import SUBSCRIPT_DIGITS

SUBSCRIPTS = str.maketrans(SUBSCRIPT_DIGITS, "0123456789")
_SUPERSCRIPTS = str.maketrans("ᵀᵗ", "Tt")
_PRIMED_INDEX = re.compile(r"(\d+)([′″²]+)$")  # S_1' is S′₁
_SQUARED = re.compile(r"\^\s?\{?2\}?(?!\d)")
_DROPPED = re.compile(r"</?su[bp]>|[\s_^{}$\\*()]|\b(?:text|mathrm|mathbf)\b")


@lru_cache(maxsize=4096)
def symbol_key(name: str) -> str:
    """Normalise a symbol: W^Q, W_{Q} and W_Q are the same, S' is S′, σ^2 is σ²; letters keep their case."""
    text = _SQUARED.sub("²", unicodedata.normalize("NFC", name)).translate(SUBSCRIPTS).translate(_SUPERSCRIPTS)
    text = text.replace("∣", "|").replace("'", "′").replace("′′", "″").replace("−", "-")
    return _PRIMED_INDEX.sub(r"\2\1", _DROPPED.sub("", text))


@lru_cache(maxsize=4096)
def word_key(name: str) -> str:
    """Normalise a word: Scaled-Scores, scaled_scores and `scaled scores` are the same.

    A single letter keeps its case: A means weights and a the output, P positions and p probabilities.
    """
    key = re.sub(r"[-.:·×/√]", "", symbol_key(name))
    return key if len(key.rstrip("′″")) == 1 else key.casefold()


Test = Callable[[Record], bool]


@dataclass(frozen=True)
class RecordPattern:
    """Which records a word can mean; what is not stated does not matter."""

    steps: tuple[str, ...] = ()
    part: str = ""  # of the model, anywhere in the path
    parts: tuple[str, ...] = ()  # one of them
    last_part: str = ""  # the end of the path
    symbol: str = ""  # without its index
    symbol_start: str = ""
    not_symbols: tuple[str, ...] = ()
    is_bare: bool = False  # of an exercise that is only a softmax, which has no part of a model

    def matches(self, record: Record) -> bool:
        """Return whether a record can be meant."""
        path = record.where.split(".")
        return (
            (not self.steps or record.step.name in self.steps)
            and (not self.part or self.part in path)
            and (not self.parts or not set(self.parts).isdisjoint(path))
            and record.where.endswith(self.last_part)
            and (not self.symbol or record.symbol.rstrip(SUBSCRIPT_DIGITS) == self.symbol)
            and record.symbol.startswith(self.symbol_start)
            and record.symbol not in self.not_symbols
            and (not self.is_bare or path[:-1] in ([], ["part"]))
        )


@dataclass(frozen=True)
class Meaning:
    """A line of a sheet: what it is called in a report, the words for it, and its records, the most likely first."""

    title: str
    words: str
    tests: tuple[Test, ...]


def _load() -> Any:
    text = files("clearhead.check").joinpath("line_words.yaml").read_text(encoding="utf-8")
    return load_yaml(text, YamlLimits(10, 10_000, is_fast=True))


_TABLES = _load()
OPEN_STEPS = frozenset(
    {"score", "softmax", "mix"}
)  # steps with symbols and words that are used for several lines: S, E, A, Z
MEANINGS = tuple(
    Meaning(entry["title"], entry["words"], tuple(RecordPattern(**pattern).matches for pattern in entry["records"]))
    for entry in _TABLES["meanings"]
)
# Symbols that mean something else on most sheets, but may also be the exponentials or the shifted scores.
EXPONENTIAL_SYMBOLS = frozenset(word_key(word) for word in ("E", "e", "P", "numerators", "numerator", "D"))
LAST_LINE: str = _TABLES["last"]
# Names that people use for other lines too: the titles of those lines, the most likely first.
OTHER_MEANINGS: Mapping[str, tuple[str, ...]] = {name: tuple(titles) for name, titles in _TABLES["others"].items()}


def _words_of(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word_key(word) for word in text.split(", ")))


def _tests_by_word() -> dict[str, tuple[Test, ...]]:
    """Return the tests of each word; a word with several meanings has the tests of all of them."""
    tests: dict[str, tuple[Test, ...]] = {}
    for meaning in MEANINGS:
        for word in _words_of(meaning.words):
            tests[word] = (*tests.get(word, ()), *meaning.tests)
    return tests


WORDS: Mapping[str, tuple[Test, ...]] = _tests_by_word()
TESTS_BY_TITLE = {meaning.title: meaning.tests for meaning in MEANINGS}
_OTHER_TITLES = {word_key(name): titles for name, titles in OTHER_MEANINGS.items()}
LAST_WORDS = frozenset(_words_of(LAST_LINE))
FINAL_WORDS = LAST_WORDS - WORDS.keys()  # words that name nothing but the last line


def other_titles(name: str) -> tuple[str, ...]:
    """Return the titles of the other lines that people use a name for."""
    return _OTHER_TITLES.get(word_key(name), ())
