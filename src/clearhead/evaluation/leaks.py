"""What of a test set was in the training text: then a score says what was remembered, not what was learned."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clearhead.evaluation.buckets import words_of


@dataclass(frozen=True)
class TrainingPair:
    """A line of the training text; a side that was not given is None."""

    source: str | None = None
    target: str | None = None


@dataclass(frozen=True)
class Leaks:
    """Which test sentences the training text holds; None for what could not be looked up."""

    num_sentences: int
    num_training: int
    sources: frozenset[int] | None
    references: frozenset[int] | None
    pairs: frozenset[int] | None

    @property
    def seen(self) -> frozenset[int]:
        """The test sentences that were seen: as a pair where pairs could be looked up, else on either side."""
        if self.pairs is not None:
            return self.pairs
        return (self.sources or frozenset()) | (self.references or frozenset())

    @property
    def is_leaking(self) -> bool:
        """Whether anything of the test set was in the training text."""
        return bool(self.sources or self.references or self.pairs)

    def share(self, places: frozenset[int]) -> float:
        """Return the share of the test set, in per cent."""
        return 100.0 * len(places) / self.num_sentences

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        told: dict[str, Any] = {"is_leaking": self.is_leaking, "training_lines": self.num_training}
        for name, places in (("sources", self.sources), ("references", self.references), ("pairs", self.pairs)):
            if places is not None:
                told[name] = {"sentences": len(places), "per_cent": self.share(places)}
        return {**told, "signature": SIGNATURE}


SIGNATURE = "unit:sentence|case:mixed|space:collapsed"


@dataclass(frozen=True)
class Training:
    """What one look through the training text found."""

    leaks: Leaks
    frequencies: Mapping[str, int] | None  # of the words asked for; None where there was no target text


def look_through(
    training: Iterable[TrainingPair],
    sources: Sequence[str] | None,
    references: Sequence[Sequence[str]],
    outputs: Iterable[Sequence[str]] = (),
) -> Training:
    """Look for the test set in the training text, and count the words that references and outputs have.

    The training text may be of any size: only what the test set asks for is kept in memory.
    """
    test_sources = _places([sources] if sources is not None else [])
    test_targets = _places(references)
    asked = {word for texts in (references[0], *outputs) for line in texts for word in words_of(line)}
    in_sources, in_targets, in_pairs = set[int](), set[int](), set[int]()
    counted: Counter[str] = Counter()
    has_sources = has_targets = has_pairs = False
    num_training = 0
    for pair in training:
        num_training += 1
        here = there = frozenset[int]()
        if pair.source is not None:
            has_sources = True
            here = test_sources.get(_spelled(pair.source), here)
            in_sources |= here
        if pair.target is not None:
            has_targets = True
            there = test_targets.get(_spelled(pair.target), there)
            in_targets |= there
            counted.update(word for word in words_of(pair.target) if word in asked)
        has_pairs |= pair.source is not None and pair.target is not None
        in_pairs |= here & there
    can_ask = sources is not None
    leaks = Leaks(
        len(references[0]),
        num_training,
        frozenset(in_sources) if has_sources and can_ask else None,
        frozenset(in_targets) if has_targets else None,
        frozenset(in_pairs) if has_pairs and can_ask else None,
    )
    return Training(leaks, dict(counted) if has_targets else None)


def _spelled(sentence: str) -> str:
    return " ".join(sentence.split())


def _places(texts: Iterable[Sequence[str]]) -> Mapping[str, frozenset[int]]:
    """Return where in the test set each sentence stands; an empty one tells nothing."""
    found: dict[str, set[int]] = {}
    for lines in texts:
        for place, line in enumerate(lines):
            if spelled := _spelled(line):
                found.setdefault(spelled, set()).add(place)
    return {sentence: frozenset(places) for sentence, places in found.items()}
