"""Cuts drawn at random, word by word, from random numbers of our own: a seed gives the same cuts in every process.

SentencePiece draws cuts too, but mixes a number of the process into its seed, so that a run could not be resumed.
Pieces do not cross spaces, so the probability of a sentence's cut is the product of its words'.
"""

from bisect import bisect
from collections.abc import Callable, Sequence
from itertools import accumulate
from math import exp
from random import Random

from sentencepiece import SentencePieceProcessor

from clearhead.text.normalise import SPACE_MARK

_MAX_CUTS = 32  # of a word that are weighed; the rest are far less likely
_MAX_WORDS = 1_000_000  # remembered


class UnigramSampler:
    """P(cut)^α over the likeliest cuts of each word."""

    def __init__(self, processor: SentencePieceProcessor, number_of: Callable[[str], int], sharpness: float) -> None:
        self._processor, self._number_of, self._sharpness = processor, number_of, sharpness
        self._words: dict[str, tuple[list[list[int]], list[float]]] = {}

    def cut(self, text: str, random: Random) -> list[int]:
        """Return the ids of a text, cut at random."""
        found: list[int] = []
        for word in text.split(" "):
            known = self._words.get(word)
            if known is None:
                known = self._learn(word)
            cuts, shares = known
            found += cuts[0] if len(cuts) == 1 else cuts[min(bisect(shares, random.random()), len(cuts) - 1)]
        return found

    def _learn(self, word: str) -> tuple[list[list[int]], list[float]]:
        if len(self._words) >= _MAX_WORDS:
            self._words.clear()
        made: list[list[str]] = self._processor.nbest_encode(word, nbest_size=_MAX_CUTS, out_type=str) if word else []
        cuts = [[self._number_of(piece) for piece in pieces] for pieces in made]
        scores = [sum(map(self._score, pieces)) for pieces in made]
        best = max(scores, default=0.0)
        weights = [exp(self._sharpness * (score - best)) for score in scores]
        total = sum(weights)
        known = (cuts or [[]], [weight / total for weight in accumulate(weights)])
        self._words[word] = known
        return known

    def _score(self, piece: str) -> float:
        """Return the log-probability of a piece."""
        score: float = self._processor.get_score(self._processor.piece_to_id(piece))
        return score


class MergeSampler:
    """BPE whose merges are each left out with probability p, whenever they could be made (BPE-dropout)."""

    def __init__(self, processor: SentencePieceProcessor, spell: Callable[[str], list[int]], dropped: float) -> None:
        self._processor, self._spell, self._dropped = processor, spell, dropped
        self._rank: dict[str, float | None] = {}

    def cut(self, text: str, random: Random) -> list[int]:
        """Return the ids of a text, its merges dropped at random."""
        found: list[int] = []
        for word in text.split(" "):
            for symbol in self._merged(list(SPACE_MARK + word), random):
                found += self._spell(symbol)
        return found

    def _merged(self, symbols: list[str], random: Random) -> Sequence[str]:
        while len(symbols) > 1:
            best, place = None, -1
            for at in range(len(symbols) - 1):
                rank = self._rank_of(symbols[at] + symbols[at + 1])
                if rank is not None and (best is None or rank > best) and random.random() >= self._dropped:
                    best, place = rank, at
            if best is None:
                break
            symbols[place : place + 2] = [symbols[place] + symbols[place + 1]]
        return symbols

    def _rank_of(self, piece: str) -> float | None:
        """Return how early a merge is made; None if there is no such piece."""
        if piece not in self._rank:
            if len(self._rank) >= _MAX_WORDS:
                self._rank.clear()
            number = self._processor.piece_to_id(piece)
            is_piece = number != self._processor.unk_id() and not self._processor.is_control(number)
            self._rank[piece] = self._processor.get_score(number) if is_piece else None
        return self._rank[piece]
