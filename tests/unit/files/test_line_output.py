"""An unfinished output file: after a kill it is resumed where it stopped, and it gets its name when it is complete."""

import json
import os
from pathlib import Path

import pytest

from clearhead.errors import RunError
from clearhead.files.line_output import LineOutput

MADE_WITH = {"beam": 3, "model": "m"}


def begun(path: Path, lines: int = 2) -> LineOutput:
    output = LineOutput.open(path, MADE_WITH)
    for number in range(lines):
        output.write(f"t{number}\n".encode(), [f"s{number}"], 1)
    return output


def test_a_file_has_its_name_only_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    with begun(path) as output:
        assert not path.exists()
        assert output.part.read_text() == "t0\nt1\n"
        output.finish()
    assert path.read_text() == "t0\nt1\n"
    assert [file.name for file in tmp_path.iterdir()] == ["out.txt"]
    assert LineOutput.is_complete(path)


def test_a_resumed_file_drops_lines_that_its_journal_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    with begun(path) as output:
        pass
    with output.part.open("ab") as file:
        file.write(b"t2 that was cut sho")
    with LineOutput.open(path, MADE_WITH, resume=True) as output:
        assert output.num_done == 2
        output.skip(["s0", "s1"])
        output.write(b"t2\n", ["s2"], 1)
        output.finish()
    assert path.read_text() == "t0\nt1\nt2\n"


def test_a_part_file_killed_before_its_first_line_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    (tmp_path / "out.txt.part").write_bytes(b"rub")
    with LineOutput.open(path, MADE_WITH, resume=True) as output:
        assert output.num_done == 0
        output.skip([])
        output.write(b"t0\n", ["s0"], 1)
        output.finish()
    assert path.read_text() == "t0\n"


def test_no_file_remains_if_no_line_was_written(tmp_path: Path) -> None:
    with LineOutput.open(tmp_path / "out.txt", MADE_WITH):
        pass
    assert list(tmp_path.iterdir()) == []


def test_an_empty_input_gives_an_empty_file(tmp_path: Path) -> None:
    with LineOutput.open(tmp_path / "out.txt", MADE_WITH) as output:
        output.finish()
    assert (tmp_path / "out.txt").read_bytes() == b""


def test_an_unfinished_file_is_not_overwritten(tmp_path: Path) -> None:
    with begun(tmp_path / "out.txt"):
        pass
    with pytest.raises(RunError, match=r"out\.txt\.part exists already.*Delete it, or resume it\.$") as error:
        LineOutput.open(tmp_path / "out.txt", MADE_WITH)
    assert error.value.options == ("resume",)


def test_other_settings_and_other_input_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    with begun(path):
        pass
    with pytest.raises(RunError, match=r"made with other settings: beam was 3 and is now 5\. Use the same"):
        LineOutput.open(path, {**MADE_WITH, "beam": 5}, resume=True)
    output = LineOutput.open(path, MADE_WITH, resume=True)
    with pytest.raises(RunError, match="the first 2 lines of the input are not those"):
        output.skip(["s0", "another"])


def test_two_processes_cannot_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    with begun(path):
        other = LineOutput.open(path, MADE_WITH, resume=True)
        with pytest.raises(RunError, match="is being written by another process"):
            other.write(b"x\n", ["s2"], 1)


@pytest.mark.parametrize("journal", ["{", "[]", '{"lines": "x"}', json.dumps({"lines": 1})])
def test_a_damaged_journal_is_named(tmp_path: Path, journal: str) -> None:
    with begun(tmp_path / "out.txt") as output:
        pass
    output.journal.write_text(journal)
    with pytest.raises(RunError, match=r"out\.txt\.part\.json cannot be read .* Delete both files and start again"):
        LineOutput.open(tmp_path / "out.txt", MADE_WITH, resume=True)


def test_a_part_that_was_shortened_is_refused(tmp_path: Path) -> None:
    with begun(tmp_path / "out.txt") as output:
        pass
    output.part.write_bytes(b"t0")
    with pytest.raises(RunError, match="shorter than its journal records"):
        LineOutput.open(tmp_path / "out.txt", MADE_WITH, resume=True)


def test_places_where_no_file_can_be_written_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="is a folder"):
        LineOutput.open(tmp_path, MADE_WITH)
    with pytest.raises(RunError, match="does not exist. Create it first"):
        LineOutput.open(tmp_path / "no" / "out.txt", MADE_WITH)


def test_lines_are_on_the_disk_before_the_journal_counts_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    sync, move = os.fsync, Path.replace

    def recorded_sync(handle: int) -> None:
        (path,) = (path for path in (tmp_path, *tmp_path.iterdir()) if path.stat().st_ino == os.fstat(handle).st_ino)
        events.append(f"sync {path.name}")
        sync(handle)

    def recorded_move(self: Path, target: Path) -> Path:
        events.append(f"move to {target.name}")
        return move(self, target)

    monkeypatch.setattr(os, "fsync", recorded_sync)
    monkeypatch.setattr(Path, "replace", recorded_move)
    with begun(tmp_path / "out.txt", 1) as output:
        output.finish()
    assert events == [
        *("sync out.txt.part", "sync out.txt.part.json.new", "move to out.txt.part.json"),
        *("move to out.txt", f"sync {tmp_path.name}"),
    ]
