"""Find test sentences in the training text, where a score measures memorisation instead of generalisation."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SIGNATURE = "unit:sentence|case:mixed|space:collapsed"


@dataclass(frozen=True)
class TrainingPair:
    """A line of the training text; a side that was not given is None."""

    source: str | None = None
    target: str | None = None


@dataclass(frozen=True)
class Leaks:
    """The test sentences that are in the training text; None for a side that was not given."""

    num_sentences: int
    num_training: int
    sources: frozenset[int] | None
    references: frozenset[int] | None
    pairs: frozenset[int] | None

    @property
    def leaked(self) -> frozenset[int]:
        """The test sentences in the training text: as pairs if both sides were given, otherwise on either side."""
        if self.pairs is not None:
            return self.pairs
        return (self.sources or frozenset()) | (self.references or frozenset())

    @property
    def is_leaking(self) -> bool:
        """Whether any test sentence is in the training text."""
        return bool(self.sources or self.references or self.pairs)

    @property
    def sides(self) -> dict[str, frozenset[int]]:
        """The test sentences that were found, for each side that was searched."""
        matches = {"sources": self.sources, "references": self.references, "pairs": self.pairs}
        return {name: indices for name, indices in matches.items() if indices is not None}

    def share(self, indices: frozenset[int]) -> float:
        """Return the share of the test set, in per cent."""
        return 100.0 * len(indices) / self.num_sentences

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        sides = {
            name: {"sentences": len(indices), "per_cent": self.share(indices)} for name, indices in self.sides.items()
        }
        return {
            "is_leaking": self.is_leaking,
            "training_lines": self.num_training,
            **sides,
            "signature": SIGNATURE,
        }


def find_leaks(
    training: Iterable[TrainingPair], sources: Sequence[str] | None, references: Sequence[Sequence[str]]
) -> Leaks:
    """Search the training text, of any size, for test sentences; only data about the test set is in memory."""
    test_sources = _indices_by_sentence([] if sources is None else [sources])
    test_targets = _indices_by_sentence(references)
    leaked_sources, leaked_targets, leaked_pairs = set[int](), set[int](), set[int]()
    has_sources = has_targets = has_pairs = False
    num_training = 0
    for pair in training:
        num_training += 1
        has_sources |= pair.source is not None
        has_targets |= pair.target is not None
        has_pairs |= pair.source is not None and pair.target is not None
        source_matches = test_sources.get(_collapse_spaces(pair.source or ""), frozenset())
        target_matches = test_targets.get(_collapse_spaces(pair.target or ""), frozenset())
        leaked_sources |= source_matches
        leaked_targets |= target_matches
        leaked_pairs |= source_matches & target_matches
    has_test_sources = sources is not None
    return Leaks(
        len(references[0]),
        num_training,
        frozenset(leaked_sources) if has_sources and has_test_sources else None,
        frozenset(leaked_targets) if has_targets else None,
        frozenset(leaked_pairs) if has_pairs and has_test_sources else None,
    )


def _collapse_spaces(sentence: str) -> str:
    return " ".join(sentence.split())


def _indices_by_sentence(texts: Iterable[Sequence[str]]) -> Mapping[str, frozenset[int]]:
    """Return the indices of each sentence in the test set, without empty sentences."""
    indices: dict[str, set[int]] = {}
    for lines in texts:
        for index, line in enumerate(lines):
            if sentence := _collapse_spaces(line):
                indices.setdefault(sentence, set()).add(index)
    return {sentence: frozenset(positions) for sentence, positions in indices.items()}
