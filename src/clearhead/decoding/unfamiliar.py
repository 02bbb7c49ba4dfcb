"""Recognise input that is unlike what a model was trained on, and translations that are visibly wrong.

Words, lengths and probabilities are compared with statistics that are stored with the model; a model without statistics
has only the other kinds of findings.
"""

import re
import unicodedata
from collections.abc import Sequence

from clearhead.decoding.search.constraints import NO_CONSTRAINTS
from clearhead.decoding.translation import TranslatedPart
from clearhead.errors import printable
from clearhead.text.statistics import TextStatistics
from clearhead.text.tokeniser import Tokeniser

# Each kind of finding, of several lines and of a single one.
_KINDS = {
    "capitals": (
        "sentences in capital letters, which were translated from lower case",
        "a sentence in capital letters, which was translated from lower case",
    ),
    "characters": ("characters that the vocabulary of the model does not have",) * 2,
    "words": ("words that the model has hardly seen", "a word that the model has hardly seen"),
    "length": (
        "sentences far longer than those of training",
        "a sentence far longer than those of training",
    ),
    "likelihood": (
        "translations that are probably wrong, because the model itself finds them unlikely",
        "a translation that is probably wrong, because the model itself finds it unlikely",
    ),
    "empty": ("sentences whose translation is empty", "a sentence whose translation is empty"),
    "numbers": ("numbers that are not in the translation", "a number that is not in the translation"),
    "addresses": (
        "web addresses, e-mail addresses or HTML tags that are not in the translation",
        "a web address, e-mail address or HTML tag that is not in the translation",
    ),
}
_MIN_PIECES = 4  # fewer pieces are usual in any vocabulary
_FAR_LONGER = 1.5  # times the 99th percentile
_MAX_WORD = 40  # characters in a message
_NUMBER = re.compile(r"\d(?:[\d.,]*\d)?")
_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>]*[\w/]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|</?[A-Za-z][^<>]*>")
_MIN_DIGITS = 2  # a single digit is often written as a word


class UnfamiliarText:
    """Checks the parts of lines, and counts the lines with findings of each kind."""

    def __init__(self, statistics: TextStatistics, source: Tokeniser) -> None:
        self.statistics, self.source = statistics, source
        self._num_lines = 0
        self._counts: dict[str, int] = {}  # lines by kind
        self._examples: dict[str, tuple[int, str]] = {}  # by kind: the number of the first line, and what it has

    @property
    def needs_scores(self) -> bool:
        """Whether the log-probabilities of translations are compared."""
        return self.statistics.log_probs is not None

    def notes(self, number: int, parts: Sequence[TranslatedPart], capitals: str = "") -> tuple[str, ...]:
        """Count a line, and return a note for each kind of finding in its parts.

        `capitals` is a sentence of the line that was in capital letters, if there is one.
        """
        examples = {"capitals": _quoted(capitals)} if capitals else {}
        checks = {
            "characters": self._characters,
            "words": self._words,
            "length": self._length,
            "likelihood": self._likelihood,
            "empty": self._empty,
            "numbers": self._numbers,
            "addresses": self._addresses,
        }
        for part in parts:
            for kind, check in checks.items():
                example = check(part)
                if example is not None:
                    examples.setdefault(kind, example)
        self._num_lines += 1
        for kind, example in examples.items():
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._examples.setdefault(kind, (number, example))
        return tuple(_note(kind, example) for kind, example in examples.items())

    def summary(self) -> list[str]:
        """Return one sentence about all lines for each kind of finding."""
        if self._num_lines == 1:
            return [_note(kind, example) for kind, (_, example) in self._examples.items()]
        return [
            f"{self._counts[kind]:,} of {self._num_lines:,} lines: {_KINDS[kind][0]}, for example in line {number}: "
            f"{example}."
            for kind, (number, example) in self._examples.items()
        ]

    def _characters(self, part: TranslatedPart) -> str | None:
        if self.source.unk not in part.ids or self.source.config.kind == "word":
            return None
        text = self.source.normalised(part.source)
        unknown = dict.fromkeys(letter for letter in text if letter != " " and not self.source.has_piece(letter))
        return _quoted("".join(unknown))

    def _words(self, part: TranslatedPart) -> str | None:
        usual = self.statistics.word_pieces
        if usual is None or not part.ids:
            return None
        start, end = max(self.source.word_spans(part.ids), key=lambda span: span[1] - span[0], default=(0, 0))
        if end - start <= max(_MIN_PIECES, usual["99.9"]):
            return None
        return f"{_quoted(self.source.decode([part.ids[start:end]])[0])} ({end - start} pieces)"

    def _length(self, part: TranslatedPart) -> str | None:
        usual = self.statistics.source_tokens
        if usual is None or len(part.ids) <= _FAR_LONGER * usual["99"]:
            return None
        return f"{len(part.ids):,} tokens, where 99 % had at most {usual['99']:.0f}"

    def _likelihood(self, part: TranslatedPart) -> str | None:
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
        return (
            f"its mean log-probability for each token is {mean:.{digits}f}, below the {usual['1']:.{digits}f} that "
            "99 % of the validation sentences reached"
        )

    def _empty(self, part: TranslatedPart) -> str | None:
        if not part.hypotheses or part.texts[0].strip() or not any(map(str.isalnum, part.source)):
            return None
        return _quoted(part.source.strip())

    def _addresses(self, part: TranslatedPart) -> str | None:
        lost = [address for address in _ADDRESS.findall(part.source) if address not in part.texts[0]]
        return _quoted(lost[0]) if lost and part.texts[0] else None

    def _numbers(self, part: TranslatedPart) -> str | None:
        """Compare the digits of numbers, without the signs between them: 1,000 and 1.000 are the same."""
        if not part.texts[0]:
            return None
        translated = set(map(_digits, _NUMBER.findall(part.texts[0])))
        numbers = _NUMBER.findall(part.source)
        lost = [
            number for number in numbers if len(_digits(number)) >= _MIN_DIGITS and _digits(number) not in translated
        ]
        return _quoted(lost[0]) if lost else None


def _digits(number: str) -> str:
    """Return the digits of a number in any script as ASCII digits."""
    return "".join(str(unicodedata.digit(sign)) for sign in number if sign.isdigit())


def _note(kind: str, example: str) -> str:
    """Return a finding of a single line as a sentence."""
    name = _KINDS[kind][1]
    return f"{name[:1].upper()}{name[1:]}: {example}."


def _quoted(text: str) -> str:
    shown = text if len(text) <= _MAX_WORD else f"{text[:_MAX_WORD]}…"
    return f"'{printable(shown)}'"
