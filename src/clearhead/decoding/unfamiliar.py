"""Recognise input that is unlike what a model was trained on, and translations that are visibly wrong.

There are nine kinds of findings: characters that are not in the vocabulary, words in unusually many pieces, sentences
that are unusually long, sentences in capital letters, translations that the model itself finds unlikely or that are
empty, numbers and addresses that the translation does not have, and letters of another script. Words, lengths and
probabilities are compared with statistics that are stored with the model; a model without statistics has only the
other kinds.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from clearhead.decoding.search.constraints import NO_CONSTRAINTS
from clearhead.decoding.translation import TranslatedPart
from clearhead.errors import printable
from clearhead.text.statistics import TextStatistics
from clearhead.text.tokeniser import Tokeniser

CHARACTERS = "characters that the vocabulary of the model does not have"
WORDS = "words that the model has hardly seen"
LENGTH = "sentences far longer than those of training"
LIKELIHOOD = "translations that are probably wrong, because the model itself finds them unlikely"
CAPITALS = "sentences in capital letters, which were translated from lower case"
EMPTY = "sentences whose translation is empty"
ADDRESSES = "web addresses, e-mail addresses or HTML tags that are not in the translation"
NUMBERS = "numbers that are not in the translation"
SCRIPT = "words in the letters of another language"
# The same of a single line.
_OF_ONE = {
    WORDS: "a word that the model has hardly seen",
    LENGTH: "a sentence far longer than those of training",
    LIKELIHOOD: "a translation that is probably wrong, because the model itself finds it unlikely",
    CAPITALS: "a sentence in capital letters, which was translated from lower case",
    EMPTY: "a sentence whose translation is empty",
    ADDRESSES: "a web address, e-mail address or HTML tag that is not in the translation",
    NUMBERS: "a number that is not in the translation",
    SCRIPT: "a word in the letters of another language",
}
_MIN_PIECES = 4  # fewer pieces are usual in any vocabulary
_FAR_LONGER = 1.5  # times the 99th percentile
_MAX_WORD = 40  # characters in a message
_NUMBER = re.compile(r"\d(?:[\d.,]*\d)?")
_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>]*[\w/]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|</?[A-Za-z][^<>]*>")
_MIN_DIGITS = 2  # a single digit is often written as a word
# The script of each language, as the names of its letters begin. Latin letters are usual in all of them.
_SCRIPTS = {"hi": "DEVANAGARI", "bn": "BENGALI", "en": "LATIN", "es": "LATIN", "de": "LATIN", "fr": "LATIN"}


@dataclass(frozen=True)
class UnusualText:
    """Something unusual about a line: its kind, and an example."""

    kind: str
    example: str

    def __str__(self) -> str:
        """Return it as a sentence."""
        kind = _OF_ONE.get(self.kind, self.kind)
        return f"{kind[:1].upper()}{kind[1:]}: {self.example}."


@dataclass
class FindingCounts:
    """How many lines were checked, how many of them have findings of each kind, and the first line of each kind."""

    num_lines: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, tuple[int, str]] = field(default_factory=dict)  # the number of the line, and what it has

    def add(self, number: int, findings: Iterable[UnusualText]) -> None:
        """Count a line with its findings."""
        self.num_lines += 1
        for finding in findings:
            self.counts[finding.kind] = self.counts.get(finding.kind, 0) + 1
            self.examples.setdefault(finding.kind, (number, finding.example))

    def summary(self) -> list[str]:
        """Return one sentence about all lines for each kind of finding."""
        if self.num_lines == 1:
            return [str(UnusualText(kind, example)) for kind, (_, example) in self.examples.items()]
        return [
            f"{self.counts[kind]:,} of {self.num_lines:,} lines: {kind}, for example in line {number}: {example}."
            for kind, (number, example) in self.examples.items()
        ]


@dataclass
class UnfamiliarText:
    """Checks the parts of lines, and counts the lines with findings of each kind."""

    statistics: TextStatistics
    source: Tokeniser
    language: str | None = None  # of the translations, if it is known
    counts: FindingCounts = field(default_factory=FindingCounts)

    @property
    def needs_scores(self) -> bool:
        """Whether the log-probabilities of translations are compared."""
        return self.statistics.log_probs is not None

    def notes(self, number: int, parts: Sequence[TranslatedPart], capitals: str = "") -> tuple[str, ...]:
        """Count a line, and return a note for each kind of finding in its parts.

        `capitals` is a sentence of the line that was in capital letters, if there is one.
        """
        findings: dict[str, UnusualText] = {}
        if capitals:
            findings[CAPITALS] = UnusualText(CAPITALS, f"'{printable(_shortened(capitals))}'")
        for part in parts:
            for check in (
                self._characters,
                self._words,
                self._length,
                self._likelihood,
                self._empty,
                self._numbers,
                self._addresses,
                self._script,
            ):
                finding = check(part)
                if finding is not None:
                    findings.setdefault(finding.kind, finding)
        self.counts.add(number, findings.values())
        return tuple(map(str, findings.values()))

    def summary(self) -> list[str]:
        """Return one sentence about all lines for each kind of finding."""
        return self.counts.summary()

    def _characters(self, part: TranslatedPart) -> UnusualText | None:
        if self.source.unk not in part.ids or self.source.config.kind == "word":
            return None
        text = self.source.normalised(part.source)
        unknown = dict.fromkeys(letter for letter in text if letter != " " and not self.source.has_piece(letter))
        return UnusualText(CHARACTERS, f"'{printable(_shortened(''.join(unknown)))}'")

    def _words(self, part: TranslatedPart) -> UnusualText | None:
        usual = self.statistics.word_pieces
        if usual is None or not part.ids:
            return None
        start, end = max(self.source.word_spans(part.ids), key=lambda span: span[1] - span[0], default=(0, 0))
        if end - start <= max(_MIN_PIECES, usual["99.9"]):
            return None
        word = printable(_shortened(self.source.decode([part.ids[start:end]])[0]))
        return UnusualText(WORDS, f"'{word}' ({end - start} pieces)")

    def _length(self, part: TranslatedPart) -> UnusualText | None:
        usual = self.statistics.source_tokens
        if usual is None or len(part.ids) <= _FAR_LONGER * usual["99"]:
            return None
        return UnusualText(LENGTH, f"{len(part.ids):,} tokens, where 99 % had at most {usual['99']:.0f}")

    def _likelihood(self, part: TranslatedPart) -> UnusualText | None:
        usual = self.statistics.log_probs
        # a constraint makes a translation less likely, as its user wants
        if usual is None or not part.hypotheses or part.constraints != NO_CONSTRAINTS:
            return None
        hypothesis = part.hypotheses[0]
        mean = hypothesis.log_prob / max(1, len(hypothesis.tokens))
        if not mean < usual["1"]:  # also if it is NaN
            return None
        # as many digits as show that it is lower
        digits = next((count for count in range(2, 9) if f"{mean:.{count}f}" != f"{usual['1']:.{count}f}"), 9)
        return UnusualText(
            LIKELIHOOD,
            f"its mean log-probability for each token is {mean:.{digits}f}, below the {usual['1']:.{digits}f} that "
            "99 % of the validation sentences reached",
        )

    def _empty(self, part: TranslatedPart) -> UnusualText | None:
        if not part.hypotheses or part.texts[0].strip() or not any(map(str.isalnum, part.source)):
            return None
        return UnusualText(EMPTY, f"'{printable(_shortened(part.source.strip()))}'")

    def _addresses(self, part: TranslatedPart) -> UnusualText | None:
        lost = [address for address in _ADDRESS.findall(part.source) if address not in part.texts[0]]
        return UnusualText(ADDRESSES, f"'{printable(_shortened(lost[0]))}'") if lost and part.texts[0] else None

    def _numbers(self, part: TranslatedPart) -> UnusualText | None:
        """Compare the digits of numbers, without the signs between them: 1,000 and 1.000 are the same."""
        if not part.texts[0]:
            return None
        translated = set(map(_digits, _NUMBER.findall(part.texts[0])))
        numbers = _NUMBER.findall(part.source)
        lost = [
            number for number in numbers if len(_digits(number)) >= _MIN_DIGITS and _digits(number) not in translated
        ]
        return UnusualText(NUMBERS, f"'{printable(_shortened(lost[0]))}'") if lost else None

    def _script(self, part: TranslatedPart) -> UnusualText | None:
        own = _SCRIPTS.get(self.language or "")
        if own is None:
            return None
        for word in part.texts[0].split():
            letters = [letter for letter in word if letter.isalpha() and letter not in part.source]
            names = [unicodedata.name(letter, "").partition(" ")[0] for letter in letters]
            if any(name not in (own, "LATIN") for name in names):
                return UnusualText(SCRIPT, f"'{printable(_shortened(word))}'")
        return None


def _digits(number: str) -> str:
    """Return the digits of a number in any script as ASCII digits."""
    return "".join(str(unicodedata.digit(sign)) for sign in number if sign.isdigit())


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_WORD else f"{text[:_MAX_WORD]}…"
