"""Read files of alignments, and score them against gold links."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from clearhead.errors import ConfigError, DataError, printable
from clearhead.evaluation.alignment import GoldLinks, alignment_error_rate, parse_gold_links, parse_links
from clearhead.evaluation.scores import Score
from clearhead.files.line_input import whole_input

T = TypeVar("T")


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
