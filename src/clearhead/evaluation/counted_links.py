"""Links between words that were never marked by anyone: counted from the sentences themselves.

Two words are linked where each is the other's likeliest partner under a word model of its direction (IBM's Model 1 with
a preference for the diagonal, as in fast_align). They miss many links, but those that they have are mostly right.
"""

import unicodedata
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from clearhead.evaluation.alignment import Link

_ROUNDS = 5
_DIAGONAL = 4.0  # how fast a partner far from the diagonal gets less likely
_NOBODY = 0.08  # the share of words that come from no word at all

Words = Sequence[str]


def counted_links(sources: Sequence[str], targets: Sequence[str]) -> list[frozenset[Link]]:
    """Return links between the words of sentences and of their translations; words are what spaces stand between."""
    first = [_words(text) for text in sources]
    second = [_words(text) for text in targets]
    forth = _partners(first, second)
    back = _partners(second, first)
    return [
        frozenset(
            (source, target) for target, source in enumerate(one) if source is not None and other[source] == target
        )
        for one, other in zip(forth, back, strict=True)
    ]


def _words(text: str) -> list[str]:
    """Return words in small letters, without the punctuation around them, unless there is nothing else."""
    return [_stripped(word) or word for word in text.casefold().split()]


def _stripped(word: str) -> str:
    places = [place for place, letter in enumerate(word) if unicodedata.category(letter)[0] not in "PS"]
    return word[places[0] : places[-1] + 1] if places else ""


def _partners(sources: Sequence[Words], targets: Sequence[Words]) -> list[list[int | None]]:
    """Return for each target word the place of the source word that it most likely comes from; None is no word.

    t(target | source) is found by expectation maximisation: each target word counts for the source words of its
    sentence, by how likely each of them is to have brought it.
    """
    table = _Table(sources, targets)
    if not len(table.pair):
        return [[None] * len(words) for words in targets]
    chance = np.ones(int(table.pair.max()) + 1)
    for _ in range(_ROUNDS):
        weight = chance[table.pair] * table.prior
        share = weight / np.bincount(table.token, weight)[table.token]
        counts = np.bincount(table.pair, share)
        chance = counts / np.bincount(table.source_of_pair, counts)[table.source_of_pair]
    weight = chance[table.pair] * table.prior
    best = np.lexsort((-weight, table.token))  # the first of each token is its likeliest partner
    first = best[np.searchsorted(table.token[best], np.arange(int(table.token.max()) + 1))]
    places = iter(table.place[first].tolist())
    return [[None if (place := next(places)) < 0 else place for _ in words] for words in targets]


class _Table:
    """Every target word beside every source word of its sentence, and beside no word: one row for each."""

    def __init__(self, sources: Sequence[Words], targets: Sequence[Words]) -> None:
        numbers: dict[str, int] = {"": 0}  # no word
        pairs: dict[tuple[int, str], int] = {}
        token, pair, place, prior = list[int](), list[int](), list[int](), list[float]()
        number = 0
        for source, target in zip(sources, targets, strict=True):
            known = [0, *(numbers.setdefault(word, len(numbers)) for word in source)]
            for row, word in enumerate(target):
                token += [number] * len(known)
                pair += [pairs.setdefault((each, word), len(pairs)) for each in known]
                place += range(-1, len(source))
                prior += _prior(row, len(source), len(target))
                number += 1
        self.token: npt.NDArray[np.int64] = np.array(token, dtype=np.int64)
        self.pair: npt.NDArray[np.int64] = np.array(pair, dtype=np.int64)
        self.place: npt.NDArray[np.int64] = np.array(place, dtype=np.int64)
        self.prior: npt.NDArray[np.float64] = np.array(prior)
        self.source_of_pair: npt.NDArray[np.int64] = np.array([source for source, _ in pairs], dtype=np.int64)


def _prior(row: int, num_source: int, num_target: int) -> list[float]:
    """Return how likely each source place is for a target place, before the words are looked at; no word first."""
    near = [
        np.exp(-_DIAGONAL * abs((row + 0.5) / num_target - (place + 0.5) / num_source)) for place in range(num_source)
    ]
    return [_NOBODY, *((1 - _NOBODY) * float(each) / float(sum(near)) for each in near)]
