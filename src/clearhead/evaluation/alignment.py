"""Alignment error rate: compare word alignments with sure and possible links drawn by a person, also in files."""

import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import TypeVar

from clearhead.errors import ConfigError, DataError, printable
from clearhead.evaluation.scores import Score
from clearhead.files.line_input import whole_input

T = TypeVar("T")
Link = tuple[int, int]
_GOLD_LINK = re.compile(r"([0-9]+)([-p?])([0-9]+)")


@dataclass(frozen=True)
class GoldLinks:
    """Gold links: sure ones, which are required, and possible ones, which are also correct."""

    sure: frozenset[Link]
    possible: frozenset[Link]


def parse_links(line: str) -> frozenset[Link]:
    """Read links in Pharaoh format: `0-0 1-2`, source before target, both counted from 0."""
    links = set()
    for word in line.split():
        source, _, target = word.partition("-")
        if not (source.isdecimal() and target.isdecimal()):
            raise DataError(f"'{printable(word)}' is not a link. Write source-target, both counted from 0: 0-0 1-2.")
        links.add((int(source), int(target)))
    return frozenset(links)


def parse_gold_links(line: str) -> GoldLinks:
    """Read gold links: `0-0` is sure, `1p2` (or `1?2`) is possible."""
    sure, possible = set[Link](), set[Link]()
    for word in line.split():
        match = _GOLD_LINK.fullmatch(word)
        if match is None:
            raise DataError(
                f"'{printable(word)}' is not a gold link. Write sure ones 0-0, possible ones 1p2, counted from 0."
            )
        (sure if match[2] == "-" else possible).add((int(match[1]), int(match[3])))
    return GoldLinks(frozenset(sure), frozenset(possible))


def alignment_error_rate(
    predicted: Sequence[Set[Link]], sure: Sequence[Set[Link]], possible: Sequence[Set[Link]] | None = None
) -> Score:
    """AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|), over all sentences, in per cent; sure links are also possible."""
    possible = sure if possible is None else possible
    if not len(predicted) == len(sure) == len(possible):
        raise DataError(
            f"there are links of {len(predicted)} sentences, sure links of {len(sure)} and possible links of "
            f"{len(possible)}. The numbers must be equal."
        )
    hits = sum(
        len(links & sure_links) + len(links & (sure_links | possible_links))
        for links, sure_links, possible_links in zip(predicted, sure, possible, strict=True)
    )
    num_links = sum(len(links) for links in predicted) + sum(len(sure_links) for sure_links in sure)
    if num_links == 0:
        raise DataError("there are no links to score. Give at least one.")
    return Score("AER", 100.0 * (1 - hits / num_links), f"nrefs:1|sentences:{len(predicted)}", is_higher_better=False)


def read_gold_links(name: str) -> list[GoldLinks]:
    """Read a file of gold links."""
    return _parsed_lines(name, parse_gold_links)


def rate_link_files(files: Sequence[tuple[str, str]], gold: str | None) -> list[tuple[str, Score]]:
    """Return the alignment error rate of every file of links; `files` are names and paths."""
    if not files and gold is None:
        return []
    if not files or gold is None:
        raise ConfigError("to score alignments, give both links and gold links.", options=("links", "gold_links"))
    gold_links = read_gold_links(gold)
    sure, possible = [line.sure for line in gold_links], [line.possible for line in gold_links]
    scores = []
    for name, file in files:
        try:
            score = alignment_error_rate(_parsed_lines(file, parse_links), sure, possible)
        except DataError as wrong:
            raise DataError(f"{printable(file)}: {wrong}") from None
        scores.append((name, score))
    return scores


def _parsed_lines(name: str, parse: Callable[[str], T]) -> list[T]:
    values = []
    for number, line in enumerate(whole_input(name), 1):
        try:
            values.append(parse(line))
        except DataError as wrong:
            raise DataError(f"{printable(name)}:{number}: {wrong}") from None
    return values
