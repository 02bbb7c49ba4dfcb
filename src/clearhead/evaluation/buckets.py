"""Score parts of a test set: short and long sentences, frequent and rare words.

They show where a system fails, which a single number hides.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from clearhead.evaluation.counts import SentenceCounts

LENGTHS = (5, 10, 15, 20, 30, 40, 60)  # upper bound of each bucket, in words
FREQUENCIES = (0, 1, 4, 9, 99, 999, 9999)  # the same, in occurrences of a word in training
_tokeniser_13a: Callable[[str], str] = Tokenizer13a()  # type: ignore[no-untyped-call]


@dataclass(frozen=True)
class Bucket:
    """A part of the test set: its name, its size, and the scores of each system on it by metric."""

    name: str
    num_sentences: int
    scores: Mapping[str, Mapping[str, float]]  # system -> metric -> value

    def to_dict(self) -> dict[str, Any]:
        """Return the data for JSON."""
        return {"name": self.name, "sentences": self.num_sentences, "scores": self.scores}


@dataclass(frozen=True)
class WordBucket:
    """Words of similar frequency in training: the numbers of words in reference and output, and of matches."""

    name: str
    num_reference: int
    num_output: int
    num_matched: int

    @property
    def recall(self) -> float | None:
        """The share of the reference's words that are in the output, in per cent; None if there are none."""
        return 100.0 * self.num_matched / self.num_reference if self.num_reference else None

    @property
    def precision(self) -> float | None:
        """The share of the output's words that are in the reference, in per cent; None if there are none."""
        return 100.0 * self.num_matched / self.num_output if self.num_output else None

    def to_dict(self) -> dict[str, Any]:
        """Return the data for JSON."""
        return {
            "name": self.name,
            "reference_words": self.num_reference,
            "output_words": self.num_output,
            "matched_words": self.num_matched,
            "recall": self.recall,
            "precision": self.precision,
        }


def score_by_length(
    systems: Mapping[str, Mapping[str, SentenceCounts]], sentences: Sequence[str]
) -> tuple[Bucket, ...]:
    """Return scores by sentence length, in words of `sentences` (sources or references); empty buckets are omitted.

    `systems` has the counts of each system by metric.
    """
    members: list[list[int]] = [[] for _ in range(len(LENGTHS) + 1)]
    for index, sentence in enumerate(sentences):
        members[_bucket_index(len(sentence.split()), LENGTHS)].append(index)
    return tuple(
        score_subset(systems, f"{name} words", indices)
        for name, indices in zip(_bucket_names(1, LENGTHS), members, strict=True)
        if indices
    )


def score_subset(systems: Mapping[str, Mapping[str, SentenceCounts]], name: str, indices: Sequence[int]) -> Bucket:
    """Return the scores of the sentences at `indices`."""
    scores = {
        system: {metric: sentence_counts.value(indices) for metric, sentence_counts in metrics.items()}
        for system, metrics in systems.items()
    }
    return Bucket(name, len(indices), scores)


def tokenise_13a(sentence: str) -> list[str]:
    """Split a sentence into words and punctuation, as BLEU does by default (13a)."""
    return _tokeniser_13a(sentence).split()


def match_words_by_frequency(
    outputs: Sequence[str], references: Sequence[str], frequencies: Mapping[str, int]
) -> tuple[WordBucket, ...]:
    """Return how many words of the reference are in the output, by their frequency in training.

    Matches are counted per sentence, as the smaller of the two counts of a word, regardless of position.
    """
    reference_counts, output_counts, match_counts = [[0] * (len(FREQUENCIES) + 1) for _ in range(3)]
    for output, reference in zip(outputs, references, strict=True):
        output_words, reference_words = Counter(tokenise_13a(output)), Counter(tokenise_13a(reference))
        for counts, words in (
            (reference_counts, reference_words),
            (output_counts, output_words),
            (match_counts, output_words & reference_words),
        ):
            for word, frequency in words.items():
                counts[_bucket_index(frequencies.get(word, 0), FREQUENCIES)] += frequency
    rows = zip(_bucket_names(0, FREQUENCIES), reference_counts, output_counts, match_counts, strict=True)
    return tuple(
        WordBucket(f"{name} times", num_reference, num_output, num_matched)
        for name, num_reference, num_output, num_matched in rows
        if num_reference or num_output
    )


def _bucket_index(number: int, tops: Sequence[int]) -> int:
    return sum(number > top for top in tops)


def _bucket_names(first: int, tops: Sequence[int]) -> list[str]:
    """Return '0', '1', '2–4' … and 'over 9,999' for the last."""
    starts = [first, *(top + 1 for top in tops[:-1])]
    named = [f"{top:,}" if start == top else f"{start:,}–{top:,}" for start, top in zip(starts, tops, strict=True)]
    return [*named, f"over {tops[-1]:,}"]
