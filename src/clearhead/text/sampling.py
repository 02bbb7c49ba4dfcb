"""Sample segmentations word by word with our own random numbers, so that a seed gives the same ones in every process.

SentencePiece can sample too, but its seed depends on the process, so that a run could not be resumed. Pieces do not
cross spaces, so the probability of a sentence's segmentation is the product of those of its words.
"""

from bisect import bisect
from collections.abc import Callable, Sequence
from itertools import accumulate
from math import exp
from random import Random

from sentencepiece import SentencePieceProcessor

from clearhead.text.normalise import SPACE_MARK

_MAX_SEGMENTATIONS = 32  # considered per word; the others are far less likely
_MAX_CACHED = 1_000_000  # words


class UnigramSampler:
    """Sample a segmentation of each word, among the most likely ones, in proportion to P(segmentation)^α."""

    def __init__(self, processor: SentencePieceProcessor, piece_id: Callable[[str], int], sharpness: float) -> None:
        self._processor, self._piece_id, self._sharpness = processor, piece_id, sharpness
        self._cache: dict[str, tuple[list[list[int]], list[float]]] = {}

    def sample_ids(self, text: str, random: Random) -> list[int]:
        """Return the ids of a text with a random segmentation."""
        ids: list[int] = []
        for word in text.split(" "):
            segmentations = self._cache.get(word)
            if segmentations is None:
                segmentations = self._weigh_segmentations(word)
            choices, cumulative = segmentations
            ids += (
                choices[0] if len(choices) == 1 else choices[min(bisect(cumulative, random.random()), len(choices) - 1)]
            )
        return ids

    def _weigh_segmentations(self, word: str) -> tuple[list[list[int]], list[float]]:
        if len(self._cache) >= _MAX_CACHED:
            self._cache.clear()
        segmentations: list[list[str]] = (
            self._processor.nbest_encode(word, nbest_size=_MAX_SEGMENTATIONS, out_type=str) if word else []
        )
        choices = [[self._piece_id(piece) for piece in pieces] for pieces in segmentations]
        scores = [sum(map(self._score, pieces)) for pieces in segmentations]
        best = max(scores, default=0.0)
        weights = [exp(self._sharpness * (score - best)) for score in scores]
        total = sum(weights)
        weighted = (choices or [[]], [weight / total for weight in accumulate(weights)])
        self._cache[word] = weighted
        return weighted

    def _score(self, piece: str) -> float:
        """Return the log-probability of a piece."""
        score: float = self._processor.get_score(self._processor.piece_to_id(piece))
        return score


class BpeDropoutSampler:
    """BPE-dropout: each time a merge is possible, it is skipped with probability p."""

    def __init__(
        self, processor: SentencePieceProcessor, ids_of_piece: Callable[[str], list[int]], dropout: float
    ) -> None:
        self._processor, self._ids_of_piece, self._dropout = processor, ids_of_piece, dropout
        self._rank: dict[str, float | None] = {}

    def sample_ids(self, text: str, random: Random) -> list[int]:
        """Return the ids of a text, with merges dropped at random."""
        ids: list[int] = []
        for word in text.split(" "):
            for symbol in self._apply_merges(list(SPACE_MARK + word), random):
                ids += self._ids_of_piece(symbol)
        return ids

    def _apply_merges(self, symbols: list[str], random: Random) -> Sequence[str]:
        while len(symbols) > 1:
            best, best_index = None, -1
            for index in range(len(symbols) - 1):
                rank = self._rank_of(symbols[index] + symbols[index + 1])
                if rank is not None and (best is None or rank > best) and random.random() >= self._dropout:
                    best, best_index = rank, index
            if best is None:
                break
            symbols[best_index : best_index + 2] = [symbols[best_index] + symbols[best_index + 1]]
        return symbols

    def _rank_of(self, piece: str) -> float | None:
        """Return the priority of a merge, or None if there is no such piece."""
        if piece not in self._rank:
            if len(self._rank) >= _MAX_CACHED:
                self._rank.clear()
            number = self._processor.piece_to_id(piece)
            is_piece = number != self._processor.unk_id() and not self._processor.is_control(number)
            self._rank[piece] = self._processor.get_score(number) if is_piece else None
        return self._rank[piece]
