"""Scores of parts of a test set: of short and long sentences, of frequent and rare words.

One number hides where a system fails; these say it.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from clearhead.evaluation.counts import Counts

LENGTHS = (5, 10, 15, 20, 30, 40, 60)  # the longest of each bucket, in words
FREQUENCIES = (0, 1, 4, 9, 99, 999, 9999)  # the same, in times that a word was seen
_cut_words: Callable[[str], str] = Tokenizer13a()  # type: ignore[no-untyped-call]


@dataclass(frozen=True)
class Bucket:
    """A part of the test set: what it holds, how much of it, and the scores of each system on it by metric."""

    name: str
    num_sentences: int
    scores: Mapping[str, Mapping[str, float]]  # system -> metric -> value

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {"name": self.name, "sentences": self.num_sentences, "scores": self.scores}


@dataclass(frozen=True)
class WordBucket:
    """Words that were seen about equally often in training: how many the reference has, and how many were found."""

    name: str
    num_reference: int
    num_output: int
    num_matched: int

    @property
    def recall(self) -> float | None:
        """The share of the reference's words that the output has too, in per cent; None where there are none."""
        return 100.0 * self.num_matched / self.num_reference if self.num_reference else None

    @property
    def precision(self) -> float | None:
        """The share of the output's words that the reference has too, in per cent; None where there are none."""
        return 100.0 * self.num_matched / self.num_output if self.num_output else None

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "name": self.name,
            "reference_words": self.num_reference,
            "output_words": self.num_output,
            "matched_words": self.num_matched,
            "recall": self.recall,
            "precision": self.precision,
        }


def by_length(systems: Mapping[str, Mapping[str, Counts]], lengths: Sequence[str]) -> tuple[Bucket, ...]:
    """Return the scores of sentences by the number of words of `lengths` (sources or references), empty parts left out.

    `systems` holds the counts of each system by metric.
    """
    places: list[list[int]] = [[] for _ in range(len(LENGTHS) + 1)]
    for place, sentence in enumerate(lengths):
        places[_bucket(len(sentence.split()), LENGTHS)].append(place)
    return tuple(
        part(systems, f"{name} words", chosen)
        for name, chosen in zip(_names(1, LENGTHS), places, strict=True)
        if chosen
    )


def part(systems: Mapping[str, Mapping[str, Counts]], name: str, places: Sequence[int]) -> Bucket:
    """Return the scores of the sentences at `places`."""
    scores = {
        system: {metric: counts.value(places) for metric, counts in metrics.items()}
        for system, metrics in systems.items()
    }
    return Bucket(name, len(places), scores)


def words_of(sentence: str) -> list[str]:
    """Cut a sentence into words and punctuation, as BLEU does by default (13a)."""
    return _cut_words(sentence).split()


def by_frequency(
    outputs: Sequence[str], references: Sequence[str], frequencies: Mapping[str, int]
) -> tuple[WordBucket, ...]:
    """Return how many words were found again, by how often each was seen in training.

    A word is matched as often as both sides of its sentence have it, wherever it stands.
    """
    wanted, made, matched = [[0] * (len(FREQUENCIES) + 1) for _ in range(3)]
    for output, reference in zip(outputs, references, strict=True):
        ours, theirs = Counter(words_of(output)), Counter(words_of(reference))
        for tally, words in ((wanted, theirs), (made, ours), (matched, ours & theirs)):
            for word, number in words.items():
                tally[_bucket(frequencies.get(word, 0), FREQUENCIES)] += number
    rows = zip(_names(0, FREQUENCIES), wanted, made, matched, strict=True)
    return tuple(WordBucket(f"{name} times", right, ours, both) for name, right, ours, both in rows if right or ours)


def _bucket(number: int, tops: Sequence[int]) -> int:
    return sum(number > top for top in tops)


def _names(first: int, tops: Sequence[int]) -> list[str]:
    """Return '0', '1', '2–4' … and 'over 9,999' for the last."""
    starts = [first, *(top + 1 for top in tops[:-1])]
    named = [f"{top:,}" if start == top else f"{start:,}–{top:,}" for start, top in zip(starts, tops, strict=True)]
    return [*named, f"over {tops[-1]:,}"]
