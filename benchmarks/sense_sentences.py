"""Sentences with ambiguous English words for benchmarks/word_senses.py, each with the sense that the word has in it.

In a parallel text, the German side decides the sense: SENSES has the words that translate each of them. Only sentences
are taken in which the English word occurs once, and whose translation has words of exactly one of its senses.
"""

import random
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from clearhead.files.lines import read_lines

# English word → sense → a pattern of the German words that say it. `\w*` at both ends lets compounds match.
SENSES: Mapping[str, Mapping[str, str]] = {
    "right": {"entitlement": r"Recht auf|das Recht|ein Recht|\w{3,}recht", "correct": r"richtig\w*"},
    "means": {"method": r"\w*[Mm]itteln?|Instrument\w*", "signifies": r"bedeutet|heißt"},
    "present": {
        "now": r"gegenwärtig\w*|derzeit\w*|heutig\w*|jetzig\w*|aktuell\w*",
        "here": r"anwesend\w*|Anwesenheit|zugegen",
        "submit": r"vor(zu)?legen|vor(zu)?stellen|präsentieren|(zu )?unterbreiten",
    },
    "state": {"country": r"Staate?s?|staatlich\w*", "condition": r"Zustand\w*|Stand|Lage"},
    "interest": {"benefit": r"\w*[Ii]nteresse\w*", "on a loan": r"\w*[Zz]ins\w*"},
    "place": {"take place": r"statt|statt\w+", "location": r"Platz|Orte?|Stelle"},
    "capital": {"city": r"\w*[Hh]auptst[aä]dt\w*", "money": r"\w*[Kk]apital\w*"},
    "power": {"influence": r"Macht|\w+macht", "energy": r"\w*[Ss]trom\w*|\w*[Ee]nergie\w*|\w*kraftwerk\w*|\w+kraft"},
    "plant": {"living": r"\w*[Pp]flanz\w*", "factory": r"\w*[Ww]erke?s?|\w*[Aa]nlagen?|Fabrik\w*"},
    "subject": {"topic": r"Thema\w*|Themen\w*|Gegenstand\w*", "subject to": r"unterl[aeioä]+g\w*|unterworfen\w*"},
    "free": {"liberty": r"frei|freie\w?", "no charge": r"kosten(los|frei)\w*|unentgeltlich\w*|gratis"},
    "poor": {"no money": r"[Aa]rme?[mnrs]?|ärmste\w*", "bad": r"schlecht\w*|mangelhaft\w*|unzureichend\w*|schwach\w*"},
    "time": {"duration": r"\w*[Zz]eit", "occasion": r"Male?|erstmal\w*|diesmal|zum \w+mal"},
    "application": {"request": r"\w*[Aa]ntr[aä]g\w*|Bewerbung\w*", "use": r"\w*[Aa]nwendung\w*|an(zu|ge)?w[ae]nd\w*"},
    "close": {"shut": r"\w*schlie(ß|ss)\w*|Schlu(ß|ss)|geschlossen\w*", "near": r"enge?\w?|nahe?|Nähe"},
    "body": {"organisation": r"\w*[Oo]rgans?|\w*[Gg]remiums?|Einrichtung|Institution", "of a person": r"Körpers?|Leib"},
    "drugs": {"narcotics": r"\w*[Dd]roge\w*|Rauschgift\w*", "medicine": r"\w*rzneimittel\w*|\w*edikament\w*"},
    "leave": {"go": r"verlassen|verlässt|verläßt", "let": r"(über)?lassen", "holiday": r"\w*[Uu]rlaubs?\w*"},
    "concerned": {"about": r"betrifft|betroffen\w*|angeht|anbelangt", "worried": r"besorgt\w*|Sorgen?|beunruhigt\w*"},
    "share": {"portion": r"\w*[Aa]nteil\w*", "have in common": r"teilen?|teilt|gemeinsam\w*|schließe|zustimmen"},
    "view": {"opinion": r"Ansicht\w*|Meinung\w*|Auffassung\w*|Erachtens", "in view of": r"Hinblick|angesichts|Ziele?"},
    "term": {
        "duration": r"\w*fristige?\w?|Sicht",
        "expression": r"Begriff\w*|Ausdrucks?|Wort\w*|Bezeichnung",
        "of office": r"Amtszeit|Wahlperiode|Legislaturperiode|Amtsperiode|Mandats?",
    },
}  # fmt: skip


@dataclass(frozen=True)
class SenseSentence:
    """A sentence with an ambiguous word, and the sense that the word has in it."""

    word: str
    sense: str
    text: str


def read_parallel(source: Path, target: Path) -> Iterator[SenseSentence]:
    """Yield the sentences of a parallel text in which a word has a sense that its translation decides."""
    senses = {
        word: {sense: re.compile(rf"\b(?:{pattern})\b") for sense, pattern in patterns.items()}
        for word, patterns in SENSES.items()
    }
    for text, translation in zip(_lines(source), _lines(target), strict=True):
        folded = text.casefold()
        for word, patterns in senses.items():
            if word in folded and _occurs_once(word, text):
                matches = [sense for sense, pattern in patterns.items() if pattern.search(translation)]
                if len(matches) == 1:
                    yield SenseSentence(word, matches[0], text)


def read_sentences(path: Path) -> Iterator[SenseSentence]:
    """Yield the sentences of a file with lines of three columns: word, sense, sentence. Lines with # are comments."""
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        columns = line.split("\t")
        if len(columns) != 3:
            sys.exit(f"{path}:{number} has {len(columns)} columns, not three: word, sense and sentence, with tabs.")
        word, sense, text = (column.strip() for column in columns)
        if not _occurs_once(word, text):
            sys.exit(f"{path}:{number}: the word '{word}' must occur once in its sentence, in lower case: '{text}'.")
        yield SenseSentence(word, sense, text)


def translates_sense(word: str, translation: str) -> str | None:
    """Return the sense of a word that a German translation has; None if it has none of them, or several."""
    patterns = SENSES[word]
    matches = [sense for sense, pattern in patterns.items() if re.search(rf"\b(?:{pattern})\b", translation)]
    return matches[0] if len(matches) == 1 else None


def by_word(sentences: Iterable[SenseSentence]) -> dict[str, dict[str, list[SenseSentence]]]:
    """Return the sentences by word and sense."""
    groups: dict[str, dict[str, list[SenseSentence]]] = {}
    for sentence in sentences:
        groups.setdefault(sentence.word, {}).setdefault(sentence.sense, []).append(sentence)
    return groups


def shuffled(sentences: Sequence[SenseSentence], seed: int) -> list[SenseSentence]:
    """Return the sentences in random order."""
    return random.Random(seed).sample(list(sentences), len(sentences))


def word_pattern(word: str) -> re.Pattern[str]:
    """Return a pattern of the word alone, neither a part of another word nor of a compound with a hyphen."""
    return re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")


def _occurs_once(word: str, text: str) -> bool:
    pattern = word_pattern(word)
    return len(pattern.findall(text.casefold())) == 1 == len(pattern.findall(text))


def _lines(path: Path) -> Iterator[str]:
    for line in read_lines(str(path)):
        yield line if isinstance(line, str) else ""
