"""Recognise input that is unlike what a model was trained on, mostly from statistics that are stored with the model.

There are four kinds of findings: characters that are not in the vocabulary, words in unusually many pieces, sentences
that are unusually long, and translations that the model itself finds unlikely. A model without statistics has only
the first.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from clearhead.decoding.search.constraints import NO_CONSTRAINTS
from clearhead.decoding.translation import TranslatedPart
from clearhead.errors import printable
from clearhead.text.statistics import TextStatistics
from clearhead.text.tokeniser import Tokeniser

CHARACTERS = "characters that the vocabulary of the model does not have"
WORDS = "words that the model has hardly seen"
LENGTH = "sentences far longer than those of training"
LIKELIHOOD = "translations that the model itself finds unlikely"
_MIN_PIECES = 4  # fewer pieces are usual in any vocabulary
_FAR_LONGER = 1.5  # times the 99th percentile
_MAX_WORD = 40  # characters in a message


@dataclass(frozen=True)
class UnusualText:
    """Something unusual about a line: its kind, and an example."""

    kind: str
    example: str

    def __str__(self) -> str:
        """Return it as a sentence."""
        return f"{self.kind[:1].upper()}{self.kind[1:]}: {self.example}."


@dataclass
class UnfamiliarText:
    """Checks the parts of lines, and counts the lines with findings of each kind."""

    statistics: TextStatistics
    source: Tokeniser
    num_lines: int = 0
    _counts: dict[str, int] = field(default_factory=dict)
    _first: dict[str, tuple[int, UnusualText]] = field(default_factory=dict)  # the first line of each kind

    @property
    def needs_scores(self) -> bool:
        """Whether the log-probabilities of translations are compared."""
        return self.statistics.log_probs is not None

    def notes(self, number: int, parts: Sequence[TranslatedPart]) -> tuple[str, ...]:
        """Count a line, and return a note for each kind of finding in its parts."""
        self.num_lines += 1
        findings: dict[str, UnusualText] = {}
        for part in parts:
            for finding in (self._characters(part), self._words(part), self._length(part), self._likelihood(part)):
                if finding is not None:
                    findings.setdefault(finding.kind, finding)
        for kind, finding in findings.items():
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._first.setdefault(kind, (number, finding))
        return tuple(map(str, findings.values()))

    def summary(self) -> list[str]:
        """Return one sentence about all lines for each kind of finding."""
        if self.num_lines == 1:
            return [str(finding) for _, finding in self._first.values()]
        return [
            f"{self._counts[kind]:,} of {self.num_lines:,} lines: {kind}, for example in line {number}: "
            f"{finding.example}."
            for kind, (number, finding) in self._first.items()
        ]

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
        return UnusualText(
            LIKELIHOOD,
            f"a mean log-probability of {mean:.2f} for each token, where 99 % of the validation sentences had more "
            f"than {usual['1']:.2f}",
        )


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_WORD else f"{text[:_MAX_WORD]}…"
