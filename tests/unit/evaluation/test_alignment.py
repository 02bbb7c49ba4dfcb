"""The alignment error rate, worked by hand, and files of alignments, with the line of what is wrong."""

from pathlib import Path

import pytest

from clearhead.errors import ConfigError, DataError
from clearhead.evaluation.alignment import (
    alignment_error_rate,
    parse_gold_links,
    parse_links,
    rate_link_files,
    read_gold_links,
)


def test_the_error_rate_is_the_one_worked_by_hand() -> None:
    predicted = [parse_links("0-0 1-1 2-1"), parse_links("0-1")]
    sure = [parse_links("0-0 1-1"), parse_links("0-0")]
    possible = [parse_links("2-1"), parse_links("")]
    # A ∩ S = 2 + 0, A ∩ P = 3 + 0 with sure links possible, |A| + |S| = 4 + 3: 1 - 5/7
    score = alignment_error_rate(predicted, sure, possible)
    assert score.value == pytest.approx(100 * 2 / 7)
    assert score.signature == "nrefs:1|sentences:2"
    assert not score.is_higher_better
    assert alignment_error_rate(predicted, sure).value == pytest.approx(100 * (1 - 4 / 7))
    assert alignment_error_rate(sure, sure).value == 0.0


@pytest.mark.parametrize("line", ["0-", "a-1", "0-1-2", "1", "0--1"])
def test_an_invalid_link_is_reported(line: str) -> None:
    with pytest.raises(DataError, match=f"'{line}' is not a link. Write source-target"):
        parse_links(line)


def test_links_of_different_numbers_of_sentences_are_refused() -> None:
    with pytest.raises(DataError, match="links of 1 sentences, sure links of 2 and possible links of 2"):
        alignment_error_rate([frozenset()], [frozenset(), frozenset()])
    with pytest.raises(DataError, match="no links to score"):
        alignment_error_rate([frozenset()], [frozenset()])


def test_gold_links_are_sure_or_possible() -> None:
    gold = parse_gold_links("0-0 1p2 3?4")
    assert (gold.sure, gold.possible) == ({(0, 0)}, {(1, 2), (3, 4)})
    with pytest.raises(DataError, match="'1x2' is not a gold link. Write sure ones 0-0, possible ones 1p2"):
        parse_gold_links("0-0 1x2")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (
        ("gold", "0-0 1p1\n0-1\n"),
        ("right", "0-0\n0-1\n"),
        ("wrong", "1-0\n0-1\n"),
        ("short", "0-0\n"),
        ("odd", "0-0\nx-1\n"),
    ):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_every_file_is_rated_by_its_name(folder: Path) -> None:
    files = [("first", str(folder / "right")), ("second", str(folder / "wrong"))]
    scores = dict(rate_link_files(files, str(folder / "gold")))
    assert scores["first"].value == 0
    # two links drawn and two sure ones, of which one is drawn: AER = 1 - (1 + 1) / (2 + 2)
    assert scores["second"].value == pytest.approx(50)
    assert rate_link_files([], None) == []
    assert [len(line.sure) for line in read_gold_links(str(folder / "gold"))] == [1, 1]


def test_links_need_gold_links_and_lines_that_can_be_read(folder: Path) -> None:
    with pytest.raises(ConfigError, match="to score alignments, give both") as problem:
        rate_link_files([("one", str(folder / "right"))], None)
    assert problem.value.options == ("links", "gold_links")
    with pytest.raises(DataError, match="odd:2: 'x-1' is not a link"):
        rate_link_files([("one", str(folder / "odd"))], str(folder / "gold"))
    with pytest.raises(DataError, match=f"^{folder / 'short'}: "):
        rate_link_files([("one", str(folder / "short"))], str(folder / "gold"))
