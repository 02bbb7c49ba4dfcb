"""Align words statistically, from the sentence pairs alone, without gold links.

Two words are linked if each is the other's most likely partner under a model of its direction: IBM Model 1 with a
preference for the diagonal, as in fast_align. The result misses many links, but its links are mostly correct.
"""

import unicodedata
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from clearhead.evaluation.alignment import Link

_NUM_ITERATIONS = 5
_DIAGONAL_TENSION = 4.0  # how fast the probability decreases with the distance from the diagonal
_NULL_WORD_SHARE = 0.08  # the share of words that are aligned to no word

WordSequence = Sequence[str]


def ibm_model1_links(sources: Sequence[str], targets: Sequence[str]) -> list[frozenset[Link]]:
    """Return links between the words of sentences and their translations; words are separated by spaces."""
    source_words = [_normalised_words(text) for text in sources]
    target_words = [_normalised_words(text) for text in targets]
    forward = _most_likely_sources(source_words, target_words)
    backward = _most_likely_sources(target_words, source_words)
    return [
        frozenset(
            (source, target)
            for target, source in enumerate(source_of)
            if source is not None and target_of[source] == target
        )
        for source_of, target_of in zip(forward, backward, strict=True)
    ]


def _normalised_words(text: str) -> list[str]:
    """Return words in lower case, without surrounding punctuation unless that is all there is."""
    return [_strip_punctuation(word) or word for word in text.casefold().split()]


def _strip_punctuation(word: str) -> str:
    positions = [position for position, letter in enumerate(word) if unicodedata.category(letter)[0] not in "PS"]
    return word[positions[0] : positions[-1] + 1] if positions else ""


def _most_likely_sources(sources: Sequence[WordSequence], targets: Sequence[WordSequence]) -> list[list[int | None]]:
    """Return for each target word the index of its most likely source word, or None for no word.

    t(target | source) is estimated by expectation maximisation: each target word is distributed over the source words
    of its sentence in proportion to their probabilities.
    """
    table = _WordPairTable(sources, targets)
    if not len(table.pair):
        return [[None] * len(words) for words in targets]
    translation_probability = np.ones(int(table.pair.max()) + 1)
    for _ in range(_NUM_ITERATIONS):
        weight = translation_probability[table.pair] * table.prior
        posterior = weight / np.bincount(table.token, weight)[table.token]
        counts = np.bincount(table.pair, posterior)
        translation_probability = counts / np.bincount(table.source_of_pair, counts)[table.source_of_pair]
    weight = translation_probability[table.pair] * table.prior
    best = np.lexsort((-weight, table.token))  # the first of each token is its most likely partner
    first = best[np.searchsorted(table.token[best], np.arange(int(table.token.max()) + 1))]
    positions = iter(table.position[first].tolist())
    return [[None if (position := next(positions)) < 0 else position for _ in words] for words in targets]


class _WordPairTable:
    """Every target word with every source word of its sentence, and with no word: one row for each combination."""

    def __init__(self, sources: Sequence[WordSequence], targets: Sequence[WordSequence]) -> None:
        word_ids: dict[str, int] = {"": 0}  # no word
        pairs: dict[tuple[int, str], int] = {}
        token, pair, position, prior = list[int](), list[int](), list[int](), list[float]()
        num_tokens = 0
        for source, target in zip(sources, targets, strict=True):
            source_ids = [0, *(word_ids.setdefault(word, len(word_ids)) for word in source)]
            for row, word in enumerate(target):
                token += [num_tokens] * len(source_ids)
                pair += [pairs.setdefault((source_id, word), len(pairs)) for source_id in source_ids]
                position += range(-1, len(source))
                prior += _prior(row, len(source), len(target))
                num_tokens += 1
        self.token: npt.NDArray[np.int64] = np.array(token, dtype=np.int64)
        self.pair: npt.NDArray[np.int64] = np.array(pair, dtype=np.int64)
        self.position: npt.NDArray[np.int64] = np.array(position, dtype=np.int64)
        self.prior: npt.NDArray[np.float64] = np.array(prior)
        self.source_of_pair: npt.NDArray[np.int64] = np.array([source for source, _ in pairs], dtype=np.int64)


def _prior(row: int, num_source: int, num_target: int) -> list[float]:
    """Return the prior probability of each source position for a target position; no word comes first."""
    closeness = [
        np.exp(-_DIAGONAL_TENSION * abs((row + 0.5) / num_target - (position + 0.5) / num_source))
        for position in range(num_source)
    ]
    return [_NULL_WORD_SHARE, *((1 - _NULL_WORD_SHARE) * float(weight) / float(sum(closeness)) for weight in closeness)]
