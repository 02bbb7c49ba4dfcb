"""Files of alignments against gold links, with the line of what is wrong."""

from pathlib import Path

import pytest

from clearhead.errors import ConfigError, DataError
from clearhead.evaluation.link_files import rate_link_files, read_gold_links


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
