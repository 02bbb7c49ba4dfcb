"""Alignment error rate: how far links are from those that a person drew, sure ones and possible ones."""

from collections.abc import Sequence, Set

from clearhead.errors import DataError, printable
from clearhead.evaluation.scores import Score

Link = tuple[int, int]


def read_links(line: str) -> frozenset[Link]:
    """Read links in Pharaoh format: `0-0 1-2`, source before target, both counted from 0."""
    found = set()
    for word in line.split():
        source, _, target = word.partition("-")
        if not (source.isdecimal() and target.isdecimal()):
            raise DataError(f"'{printable(word)}' is not a link. Write source-target, both counted from 0: 0-0 1-2.")
        found.add((int(source), int(target)))
    return frozenset(found)


def alignment_error_rate(
    found: Sequence[Set[Link]], sure: Sequence[Set[Link]], possible: Sequence[Set[Link]] | None = None
) -> Score:
    """AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|), over all sentences, in per cent; every sure link is possible"""
    possible = sure if possible is None else possible
    if not len(found) == len(sure) == len(possible):
        raise DataError(
            f"there are links of {len(found)} sentences, sure ones of {len(sure)} and possible ones of "
            f"{len(possible)}. Give as many of each."
        )
    hits = sum(
        len(mine & right) + len(mine & (right | maybe))
        for mine, right, maybe in zip(found, sure, possible, strict=True)
    )
    number = sum(len(mine) for mine in found) + sum(len(right) for right in sure)
    if number == 0:
        raise DataError("there is no link to score. Give at least one.")
    return Score("AER", 100.0 * (1 - hits / number), f"nrefs:1|sentences:{len(found)}", is_higher_better=False)
