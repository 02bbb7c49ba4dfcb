"""What was made of one line: its parts, their hypotheses, and the whole as text, columns or JSON."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clearhead.decoding.search.constraints import NO_CONSTRAINTS, Constraints
from clearhead.decoding.search.hypothesis import Hypothesis, normalised
from clearhead.text.sentences import join_parts


@dataclass(frozen=True)
class LinkedWords:
    """An alignment of words, and the words that it is of."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Choice:
    """What else could stand at a place: a word or a part of one, its log P there, and the whole translation."""

    piece: str
    log_prob: float
    text: str


@dataclass(frozen=True)
class PartResult:
    """A part of a line (most lines have one), with what was found for it, best first."""

    source: str
    space: str  # between this part and the next
    ids: tuple[int, ...]  # without eos; none for a part with nothing in it
    constraints: Constraints = NO_CONSTRAINTS
    texts: tuple[str, ...] = ("",)
    hypotheses: tuple[Hypothesis, ...] = ()
    alignment: LinkedWords | None = None
    choices: tuple[Choice, ...] = ()
    explanation: dict[str, Any] | None = None


@dataclass(frozen=True)
class LineResult:
    """A line and its translations, best first."""

    number: int  # from 1
    source: str
    parts: tuple[PartResult, ...]
    length_penalty: float = 1.0

    @property
    def text(self) -> str:
        """The best translation."""
        return self.text_of(0)

    @property
    def num_texts(self) -> int:
        """How many translations there are."""
        return max((len(part.texts) for part in self.parts), default=1)

    @property
    def has_ended(self) -> bool:
        """Whether the best translation came to its end everywhere, and was not stopped by the limit of its length."""
        return all(not part.hypotheses or part.hypotheses[0].has_ended for part in self.parts)

    def text_of(self, rank: int) -> str:
        """Return a translation on one line; a line in several parts has in each of them the one of that rank."""
        chosen = [part.texts[min(rank, len(part.texts) - 1)] for part in self.parts]
        whole = join_parts(chosen, [part.space for part in self.parts])
        return whole.replace("\r", " ").replace("\n", " ").replace("\t", " ")

    def hypotheses_of(self, rank: int) -> list[Hypothesis]:
        """Return the hypotheses that a translation is joined from."""
        return [part.hypotheses[min(rank, len(part.hypotheses) - 1)] for part in self.parts if part.hypotheses]

    def log_prob_of(self, rank: int) -> float:
        """log P of a whole translation, in nats; 0 for an empty line."""
        return math.fsum(each.log_prob for each in self.hypotheses_of(rank))

    def score_of(self, rank: int) -> float:
        """Return the score of a translation; of several parts, of all their tokens together."""
        chosen = self.hypotheses_of(rank)
        if len(chosen) < 2:
            return chosen[0].score if chosen else 0.0
        return normalised(self.log_prob_of(rank), sum(len(each.tokens) for each in chosen), self.length_penalty)

    @property
    def token_log_probs(self) -> list[float]:
        """log P of every token of the best translation, ends included."""
        return [own for each in self.hypotheses_of(0) for own in each.log_probs]

    @property
    def alignment(self) -> LinkedWords | None:
        """The words of the whole line and their links, if they were asked for."""
        found = [part.alignment for part in self.parts if part.alignment is not None]
        if not found:
            return None
        source: list[str] = []
        target: list[str] = []
        links: list[tuple[int, int]] = []
        for each in found:
            links += [(one + len(source), other + len(target)) for one, other in each.links]
            source += each.source
            target += each.target
        return LinkedWords(tuple(source), tuple(target), tuple(links))


@dataclass(frozen=True)
class Shown:
    """What is shown of every line beside its translation."""

    n_best: bool = False
    scores: bool = False
    alignment: bool = False
    choices: bool = False


def to_lines(result: LineResult, shown: Shown) -> list[str]:
    """Return a line as text: its translation, then columns; with n_best or choices a line for each."""
    if shown.choices:
        choices = [choice for part in result.parts for choice in part.choices]
        rows = [[str(result.number), f"{each.log_prob:.4f}", each.piece, each.text] for each in choices]
        return ["\t".join(row) for row in rows] or [f"{result.number}\t\t\t"]
    if shown.n_best:
        ranks = range(result.num_texts)
        return [f"{result.number}\t{result.score_of(rank):.4f}\t{result.text_of(rank)}" for rank in ranks]
    cells = [result.text]
    if shown.scores:
        cells.append(f"{result.score_of(0):.4f}")
        cells.append(" ".join(f"{own:.4f}" for own in result.token_log_probs))
    if shown.alignment:
        found = result.alignment
        cells.append(pharaoh(found.links if found is not None else ()))
    return ["\t".join(cells)]


def pharaoh(pairs: Sequence[tuple[int, int]]) -> str:
    """Write links as `source-target` places, sorted."""
    return " ".join(f"{source}-{target}" for source, target in sorted(pairs))


def to_record(result: LineResult, shown: Shown, pieces: Sequence[str] = ()) -> dict[str, Any]:
    """Return a line for JSON; `pieces` are those of the best translation."""
    record: dict[str, Any] = {
        "line": result.number,
        "source": result.source,
        "translation": result.text,
        "score": result.score_of(0),
        "log_prob": result.log_prob_of(0),
        "has_ended": result.has_ended,
    }
    if len(result.parts) > 1:
        record["parts"] = [{"source": part.source, "translation": part.texts[0]} for part in result.parts]
    if shown.n_best:
        record["n_best"] = [
            {"translation": result.text_of(rank), "score": result.score_of(rank), "log_prob": result.log_prob_of(rank)}
            for rank in range(result.num_texts)
        ]
    if shown.scores:
        record["tokens"] = [
            {"piece": piece, "log_prob": own} for piece, own in zip(pieces, result.token_log_probs, strict=True)
        ]
    found = result.alignment
    if shown.alignment:
        record["alignment"] = pharaoh(found.links if found is not None else ())
        record["source_words"] = list(found.source) if found is not None else []
        record["target_words"] = list(found.target) if found is not None else []
    if shown.choices:
        record["alternatives"] = [
            {"piece": choice.piece, "log_prob": choice.log_prob, "translation": choice.text}
            for part in result.parts
            for choice in part.choices
        ]
    return record
