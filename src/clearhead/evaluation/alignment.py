"""Alignment error rate: how far links are from those that a person drew, sure ones and possible ones."""

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass

from clearhead.errors import DataError, printable
from clearhead.evaluation.scores import Score

Link = tuple[int, int]
_GOLD = re.compile(r"([0-9]+)([-p?])([0-9]+)")


@dataclass(frozen=True)
class Gold:
    """The links that a person drew: sure ones, and ones that are right too but not asked for."""

    sure: frozenset[Link]
    possible: frozenset[Link]


def read_links(line: str) -> frozenset[Link]:
    """Read links in Pharaoh format: `0-0 1-2`, source before target, both counted from 0."""
    found = set()
    for word in line.split():
        source, _, target = word.partition("-")
        if not (source.isdecimal() and target.isdecimal()):
            raise DataError(f"'{printable(word)}' is not a link. Write source-target, both counted from 0: 0-0 1-2.")
        found.add((int(source), int(target)))
    return frozenset(found)


def read_gold_links(line: str) -> Gold:
    """Read gold links: `0-0` is sure, `1p2` (or `1?2`) is possible."""
    sure, possible = set[Link](), set[Link]()
    for word in line.split():
        found = _GOLD.fullmatch(word)
        if found is None:
            raise DataError(
                f"'{printable(word)}' is not a gold link. Write sure ones 0-0, possible ones 1p2, counted from 0."
            )
        (sure if found[2] == "-" else possible).add((int(found[1]), int(found[3])))
    return Gold(frozenset(sure), frozenset(possible))


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
