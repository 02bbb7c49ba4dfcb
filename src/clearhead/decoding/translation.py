"""The translation of one line: its parts, their hypotheses, and the joined text."""

import math
import re
from dataclasses import dataclass
from typing import Any

from clearhead.decoding.search.constraints import NO_CONSTRAINTS, Constraints
from clearhead.decoding.search.hypothesis import Hypothesis, normalised
from clearhead.decoding.word_alignment import WordAlignment
from clearhead.text.sentences import join_parts

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")  # they would break the line, or control a terminal


def one_line(text: str) -> str:
    """Return a text of the model with a space for each control character, which a vocabulary can contain."""
    return text if text.isprintable() else _CONTROLS.sub(" ", text)


@dataclass(frozen=True)
class TranslatedPart:
    """A part of a line (most lines have one) with its translations, best first."""

    source: str
    space: str  # between this part and the next
    ids: tuple[int, ...]  # without eos; empty for an empty part
    constraints: Constraints = NO_CONSTRAINTS
    texts: tuple[str, ...] = ("",)
    hypotheses: tuple[Hypothesis, ...] = ()
    alignment: WordAlignment | None = None
    explanation: dict[str, Any] | None = None


@dataclass(frozen=True)
class Translation:
    """A line and its translations, best first; an empty line has one empty translation.

    `notes` are messages about this line, for example that it was split or that a constraint could not be met.
    """

    number: int  # counted from 1
    source: str
    parts: tuple[TranslatedPart, ...]
    length_penalty: float = 1.0
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The best translation."""
        return self.text_of(0)

    @property
    def texts(self) -> tuple[str, ...]:
        """All translations, best first."""
        return tuple(self.text_of(rank) for rank in range(self.num_texts))

    @property
    def score(self) -> float:
        """The score of the best translation; NaN if scores were not requested."""
        return self.score_of(0)

    @property
    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """All hypotheses of a line with one part, best first; for a line with several parts, the best of each part."""
        if len(self.parts) == 1:
            return self.parts[0].hypotheses
        return tuple(self.hypotheses_of(0))

    @property
    def num_texts(self) -> int:
        """The number of translations."""
        return max((len(part.texts) for part in self.parts), default=1)

    @property
    def has_ended(self) -> bool:
        """Whether every part of the best translation ended with eos, rather than at the length limit."""
        return all(not part.hypotheses or part.hypotheses[0].has_ended for part in self.parts)

    def text_of(self, rank: int) -> str:
        """Return the translation of a rank as a single line, joined from the translations of that rank of each part."""
        texts = [part.texts[min(rank, len(part.texts) - 1)] for part in self.parts]
        joined = join_parts(texts, [part.space for part in self.parts])
        return one_line(joined)

    def hypotheses_of(self, rank: int) -> list[Hypothesis]:
        """Return the hypotheses, one for each part, that make up the translation of a rank."""
        return [part.hypotheses[min(rank, len(part.hypotheses) - 1)] for part in self.parts if part.hypotheses]

    def log_prob_of(self, rank: int) -> float:
        """log P of the translation of a rank, in nats; 0 for an empty line."""
        return math.fsum(hypothesis.log_prob for hypothesis in self.hypotheses_of(rank))

    @property
    def mean_log_prob(self) -> float:
        """log P of the best translation for each of its tokens; NaN for an empty line, or without scores."""
        num_tokens = sum(len(hypothesis.tokens) for hypothesis in self.hypotheses_of(0))
        return self.log_prob_of(0) / num_tokens if num_tokens else math.nan

    def score_of(self, rank: int) -> float:
        """Return the score of the translation of a rank, over the tokens of all its parts."""
        hypotheses = self.hypotheses_of(rank)
        if len(hypotheses) < 2:
            return hypotheses[0].score if hypotheses else 0.0
        num_tokens = sum(len(hypothesis.tokens) for hypothesis in hypotheses)
        return normalised(self.log_prob_of(rank), num_tokens, self.length_penalty)

    @property
    def token_log_probs(self) -> list[float]:
        """log P of every token of the best translation, including eos."""
        return [log_prob for hypothesis in self.hypotheses_of(0) for log_prob in hypothesis.log_probs]

    @property
    def alignment(self) -> WordAlignment | None:
        """The words of the line and the links between them, or None if no alignment was requested."""
        alignments = [part.alignment for part in self.parts if part.alignment is not None]
        if not alignments:
            return None
        source: list[str] = []
        target: list[str] = []
        links: list[tuple[int, int]] = []
        for alignment in alignments:
            links += [(one + len(source), other + len(target)) for one, other in alignment.links]
            source += alignment.source
            target += alignment.target
        return WordAlignment(tuple(source), tuple(target), tuple(links))
