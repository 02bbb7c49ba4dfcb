"""An unfinished output file: after a kill it is resumed where it stopped, and it gets its name when it is complete."""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clearhead.errors import RunError
from clearhead.files.line_output import LineOutput

MADE_WITH: dict[str, object] = {"beam": 3, "model": "m"}


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


def test_a_part_without_a_journal_is_not_ours_and_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "out.txt.part").write_bytes(b"of another program")
    with pytest.raises(RunError, match=r"out\.txt\.part exists, but there is no out\.txt\.part\.json, so it cannot"):
        LineOutput.open(tmp_path / "out.txt", MADE_WITH, resume=True)
    assert (tmp_path / "out.txt.part").read_bytes() == b"of another program"


def test_a_part_file_killed_before_its_first_line_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    with begun(path, lines=0) as output:
        output.write(b"", [], 0)
        journal = output.journal.read_bytes()
    (tmp_path / "out.txt.part").write_bytes(b"rub")
    (tmp_path / "out.txt.part.json").write_bytes(journal)
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
        if target.parent == tmp_path:  # the record in the user's cache may be lost in a power cut
            events.append(f"move to {target.name}")
        return move(self, target)

    monkeypatch.setattr(os, "fsync", recorded_sync)
    monkeypatch.setattr(Path, "replace", recorded_move)
    with begun(tmp_path / "out.txt", 1) as output:
        output.finish()
    assert events == [
        *("sync out.txt.part.json.new", "move to out.txt.part.json"),  # it counts no lines yet
        *("sync out.txt.part", "sync out.txt.part.json.new", "move to out.txt.part.json"),
        *("move to out.txt", f"sync {tmp_path.name}"),
    ]


# Kills between two steps


def test_a_kill_before_the_first_journal_does_not_block_resuming(tmp_path: Path) -> None:
    made_with = {"phrases": ("a", "b"), "rule": {"head": (0, 1)}}  # a journal has lists where settings have tuples
    (tmp_path / "out.txt.part").touch()
    with LineOutput.open(tmp_path / "out.txt", made_with, resume=True) as output:
        assert output.num_done == 0
        output.write(b"t0\n", ["s0"], 1)
    with LineOutput.open(tmp_path / "out.txt", made_with, resume=True) as output:
        assert output.num_done == 1


@pytest.mark.parametrize("is_started", [False, True])
def test_the_journal_of_a_finished_file_does_not_affect_a_later_run(tmp_path: Path, is_started: bool) -> None:
    path = tmp_path / "out.txt"
    with begun(path, 7) as output:
        journal = output.journal.read_bytes()
        output.finish()
    output.journal.write_bytes(journal)  # killed before it was removed
    other = {**MADE_WITH, "beam": 5}
    if is_started:  # and a later process was killed when it had created its part file
        output.part.write_bytes(b"")
    with LineOutput.open(path, other, resume=is_started) as output:
        assert output.num_done == 0
        output.skip([])
        output.write(b"u0\n", ["s0"], 1)
        assert json.loads(output.journal.read_bytes())["lines"] == 1
        output.finish()
    assert path.read_text() == "u0\n"
    assert [file.name for file in tmp_path.iterdir()] == ["out.txt"]


def test_a_part_that_was_changed_is_refused(tmp_path: Path) -> None:
    with begun(tmp_path / "out.txt") as output:
        pass
    output.part.write_bytes(b"t0\nx1\n")
    with pytest.raises(RunError, match=r"out\.txt\.part was changed after it was written\. Delete it and its journal"):
        LineOutput.open(tmp_path / "out.txt", MADE_WITH, resume=True)


@pytest.mark.parametrize("kind", ["folder", "pipe", "link"])
def test_a_part_that_is_not_a_file_is_not_written(tmp_path: Path, kind: str) -> None:
    part = tmp_path / "out.txt.part"
    {"folder": part.mkdir, "pipe": lambda: os.mkfifo(part), "link": lambda: part.symlink_to("none")}[kind]()
    with pytest.raises(RunError, match=r"is not a file|cannot be written: Too many levels"):
        LineOutput.open(tmp_path / "out.txt", MADE_WITH, resume=True).write(b"t0\n", ["s0"], 1)
    assert not (tmp_path / "none").exists()


def test_a_file_that_was_finished_meanwhile_is_not_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.txt"
    late = LineOutput.open(path, MADE_WITH)
    with begun(path) as output:

        def finish_first(handle: int) -> bool:
            output.finish()
            return True

        monkeypatch.setattr("clearhead.files.line_output.lock_file", finish_first)
        with pytest.raises(RunError, match="is being written by another process"):
            late.write(b"u0\n", ["s0"], 1)
    assert path.read_text() == "t0\nt1\n"


def test_an_output_that_another_process_resumed_and_finished_is_not_written_again(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    with begun(path) as first:
        late = LineOutput.open(path, MADE_WITH, resume=True)
        late.skip(["s0", "s1"])
        first.write(b"t2\n", ["s2"], 1)
        first.finish()
    with late, pytest.raises(RunError, match=r"out\.txt\.part is gone: another process has finished or removed it"):
        late.write(b"t2\n", ["s2"], 1)
    assert path.read_text() == "t0\nt1\nt2\n"
    assert [file.name for file in tmp_path.iterdir()] == ["out.txt"]


def test_a_part_that_another_process_started_again_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    with begun(path):
        late = LineOutput.open(path, MADE_WITH, resume=True)
    late.skip(["s0", "s1"])
    late.part.unlink()
    with LineOutput.open(path, MADE_WITH) as other:
        other.write(b"a longer line of another input\n", ["u0"], 1)
    with late, pytest.raises(RunError, match=r"out\.txt\.part was changed by another process\. Resume it again\."):
        late.write(b"t2\n", ["s2"], 1)
    assert other.part.read_text() == "a longer line of another input\n"


class Killed(BaseException):
    """The process is gone: no cleanup runs after it."""


def kill_at(patch: pytest.MonkeyPatch, number: int) -> None:
    """Let the call with this number to the file system, and all later ones, raise Killed; a killed write wrote one byte."""
    num_calls = 0

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal num_calls
            num_calls += 1
            if num_calls >= number:
                if name == "write" and num_calls == number:
                    function(arguments[0], arguments[1][:1])
                raise Killed
            return function(*arguments, **options)

        return call

    for name in ("open", "write", "fsync", "ftruncate"):
        patch.setattr(os, name, counted(name, getattr(os, name)))
    for name in ("open", "replace", "unlink", "chmod"):
        patch.setattr(Path, name, counted(name, getattr(Path, name)))


@pytest.mark.parametrize("is_second", [False, True], ids=["first run", "over an old output"])
def test_a_kill_at_any_call_to_the_file_system_can_be_resumed(tmp_path: Path, is_second: bool) -> None:
    lines, complete = ["s0", "s1"], "(5, 7) s0\n(5, 7) s1\n"

    def run(made_with: dict[str, object], *, resume: bool) -> None:
        with LineOutput.open(path, made_with, resume=resume) as output:
            if output.is_finished:
                output.check_finished(lines)
                return
            output.skip(lines[: output.num_done])
            for line in lines[output.num_done :]:
                output.write(f"{made_with['beam']} {line}\n".encode(), [line], 1)
            output.finish()

    for number in range(1, 100):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        path = folder / "out.txt"
        if is_second:
            run(MADE_WITH, resume=False)
        with pytest.MonkeyPatch.context() as patch:
            kill_at(patch, number)
            try:
                run({"beam": (5, 7)}, resume=False)
                break
            except Killed:
                pass
        before = path.read_text() if path.exists() else ""
        assert before in ("", "3 s0\n3 s1\n", complete)
        is_resumed = not before.startswith("3") or (folder / "out.txt.part").exists()
        run({"beam": (5, 7)}, resume=is_resumed)
        assert path.read_text() == complete
        assert [file.name for file in folder.iterdir()] == ["out.txt"]
    assert number > 20, "the calls are counted"


def test_lines_that_the_journal_cannot_count_are_not_called_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill_the_disk(path: Path, target: Path) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device")

    with begun(tmp_path / "out.txt") as output:
        monkeypatch.setattr(Path, "replace", fill_the_disk)
        with pytest.raises(RunError, match=r"No space left on device\. 2 lines are done and saved\. Free some space"):
            output.write(b"t2\n", ["s2"], 1)
        monkeypatch.undo()
    monkeypatch.setattr(Path, "replace", fill_the_disk)
    with begun(tmp_path / "other.txt", 0) as output, pytest.raises(RunError, match="Choose another place"):
        output.write(b"t0\n", ["s0"], 1)
    assert not output.part.exists(), "nothing was done"


# Links and permissions


def test_a_link_in_place_of_a_new_journal_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("other")
    (tmp_path / "out.txt.part.json.new").symlink_to("other")
    with begun(tmp_path / "out.txt"):
        assert (tmp_path / "other").read_text() == "other"


def test_a_link_stays_a_link_and_its_target_keeps_its_permissions(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "target.txt", tmp_path / "link.txt"
    link.symlink_to("folder/target.txt")
    for mode in (0o600, 0o640):
        with begun(link) as output:
            assert output.part == tmp_path / "folder" / "target.txt.part"
            output.finish()
        assert link.is_symlink()
        assert target.read_text() == "t0\nt1\n"
        assert mode == 0o600 or target.stat().st_mode & 0o777 == 0o600
        target.chmod(0o600)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["folder", "link.txt", "target.txt"]


# Finished files


def finished(path: Path) -> None:
    with begun(path) as output:
        output.finish()


def check_again(path: Path, lines: list[str], made_with: dict[str, object] = MADE_WITH) -> None:
    output = LineOutput.open(path, made_with, resume=True)
    assert output.is_finished
    output.check_finished(lines)


def test_a_finished_file_is_complete_if_settings_input_and_output_are_the_same(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    finished(path)
    check_again(path, ["s0", "s1"])
    assert not LineOutput.open(path, MADE_WITH).is_finished, "without resuming, it is replaced"
    facts = {
        "is complete, but it was made with other settings: beam was 3 and is now 5": (
            ["s0", "s1"],
            {**MADE_WITH, "beam": 5},
        ),
        "is complete, but it was made with other settings: model was": (["s0", "s1"], {**MADE_WITH, "model": "n"}),
        "is complete, but it was made from another input: it has 1 lines, and had 2": (["s0"], MADE_WITH),
        "is complete, but it was made from another input: its 2 lines are not the same": (["s0", "x1"], MADE_WITH),
    }
    for fact, (lines, made_with) in facts.items():
        with pytest.raises(RunError, match=rf"out\.txt {fact}.* Run without resuming to replace it\.$") as error:
            check_again(path, lines, made_with)
        assert error.value.options == (), "a flag would read like the opposite"
    path.write_text("t0\nx1\n")
    with pytest.raises(RunError, match=r"out\.txt was changed after it was written\. Run without resuming"):
        check_again(path, ["s0", "s1"])


def test_a_finished_file_without_a_record_is_not_called_complete(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("t0\nt1\n")
    with pytest.raises(RunError, match=r"out\.txt exists, and nothing records how it was made\. Run without resuming"):
        check_again(tmp_path / "out.txt", ["s0", "s1"])


def test_the_last_journal_records_a_file_whose_process_was_killed_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.txt"
    with begun(path) as output:
        journal = output.journal.read_bytes()
        monkeypatch.setattr("clearhead.files.line_output.save_finished", lambda path, record: None)
        output.finish()
        monkeypatch.undo()
    output.journal.write_bytes(journal)
    check_again(path, ["s0", "s1"])
    assert not output.journal.exists()
    check_again(path, ["s0", "s1"])
