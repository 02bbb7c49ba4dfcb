"""Hold out validation and test pairs that share neither side with the training pairs, in an order fixed by a seed.

Pairs that share a source or a target belong to one group, also over several steps. A group is never divided: a model
that has seen a sentence, or its translation, in training would otherwise be tested on what it has memorised.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from clearhead.errors import DataError

MIN_PAIRS = 100  # with fewer there is nothing to learn from, and nothing to measure with
_SHARE, _LEAST, _MOST = 0.02, 200, 2000  # of the validation part, and of the test part
_MAX_SHARE = 0.1  # of a small corpus
_PARTS = 40  # a group with more than 1/40 of a part would decide its score

TextPair = tuple[str, str]


@dataclass(frozen=True)
class Split:
    """The indices of the training, validation and test pairs, each in the order of the corpus."""

    train: tuple[int, ...]
    valid: tuple[int, ...]
    test: tuple[int, ...]


def part_size(num_pairs: int) -> int:
    """Return how many pairs the validation and the test part should have: 2 %, but at least 200 and at most 2,000."""
    return min(max(round(_SHARE * num_pairs), min(_LEAST, int(_MAX_SHARE * num_pairs))), _MOST)


def hold_out(pairs: Sequence[TextPair], seed: int = 1) -> Split:
    """Choose random groups of pairs for validation and test; all other pairs are for training."""
    if len(pairs) < MIN_PAIRS:
        raise DataError(
            f"{len(pairs):,} pairs are too few to train on: some of them must be held out to measure the result. "
            f"Give at least {MIN_PAIRS:,}; a useful translator needs thousands."
        )
    groups, wanted = group_pairs(pairs), part_size(len(pairs))
    sizes = Counter(groups)
    order = [group for group, size in sizes.items() if size <= max(2, wanted // _PARTS)]
    Random(seed).shuffle(order)
    parts: dict[int, str] = {}
    for name in ("valid", "test"):
        count = 0
        while order and count < wanted:
            group = order.pop()
            parts[group], count = name, count + sizes[group]
        if count < min(wanted, MIN_PAIRS // 10):
            raise DataError(
                f"no pairs can be held out to measure the result: {len(pairs) - len(order):,} of {len(pairs):,} pairs "
                "share a sentence with many others. Remove repeated lines from the text."
            )
    names = [parts.get(group, "train") for group in groups]
    return Split(_places(names, "train"), _places(names, "valid"), _places(names, "test"))


def _places(names: Sequence[str], name: str) -> tuple[int, ...]:
    return tuple(index for index, own in enumerate(names) if own == name)


def group_pairs(pairs: Sequence[TextPair]) -> list[int]:
    """Return the group of each pair: the index of its first member. Case and spaces make no difference."""
    parents = list(range(len(pairs)))
    first_uses: tuple[dict[str, int], dict[str, int]] = ({}, {})
    for index, pair in enumerate(pairs):
        for sentence, uses in zip(pair, first_uses, strict=True):
            first = uses.setdefault(_plain(sentence), index)
            if first != index:
                earlier, own = _root(parents, first), _root(parents, index)
                parents[max(earlier, own)] = min(earlier, own)
    return [_root(parents, index) for index in range(len(pairs))]


def _root(parents: list[int], index: int) -> int:
    """Return the first member of a group, and shorten the path to it."""
    while parents[index] != index:
        parents[index] = parents[parents[index]]
        index = parents[index]
    return index


def _plain(sentence: str) -> str:
    text = sentence.casefold()
    # most text has only single spaces already, and needs no split
    return text.strip(" ") if text.isprintable() and "  " not in text else " ".join(text.split())
