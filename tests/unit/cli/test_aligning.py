"""Alignments in `clearhead evaluate`: files of links against gold links, and what does not fit."""

from pathlib import Path

import pytest

from clearhead.cli.aligning import choose, judge
from clearhead.errors import ConfigError, DataError


@pytest.fixture
def links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gold").write_text("0-0 1-1 2p1\n0-0\n")
    Path("ours").write_text("0-0 1-1 2-1\n0-1\n")
    Path("short").write_text("0-0\n")
    Path("broken").write_text("0-0\nzero\n")
    Path("a=b").write_text("0-0 1-1\n0-0\n")


@pytest.mark.usefixtures("links")
def test_each_file_is_judged_under_its_name() -> None:
    (first, second, third) = judge(["ours", "mine=ours", "a=b"], "gold")
    assert [name for name, _ in (first, second)] == ["ours", "mine"]
    # 3 links sure in the gold, 4 drawn, 2 of them sure and 3 sure or possible: 1 - (2 + 3) / (4 + 3)
    assert first[1].value == second[1].value == pytest.approx(200 / 7)
    assert third[1].value == 0.0, "a file whose own name holds = is found"
    assert judge([], None) == []


@pytest.mark.usefixtures("links")
@pytest.mark.parametrize(
    ("files", "gold", "sentence"),
    [
        (["ours"], None, "alignments are judged with both"),
        ([], "gold", "alignments are judged with both"),
        (["short"], "gold", "^short: "),
        (["broken"], "gold", "^broken:2: "),
    ],
)
def test_what_does_not_fit_is_told_with_its_file(files: list[str], gold: str | None, sentence: str) -> None:
    with pytest.raises((ConfigError, DataError), match=sentence):
        judge(files, gold)


@pytest.mark.usefixtures("links")
def test_a_head_is_chosen_by_sentences_and_their_translations() -> None:
    with pytest.raises(ConfigError, match="needs sentences and their translations"):
        choose("run", None, ["ours"], None)
    with pytest.raises(ConfigError, match="are the same"):
        choose("run", "ours", ["ours"], None)
    with pytest.raises(DataError, match="short has 1 lines, but ours has 2"):
        choose("run", "short", ["ours"], None)
