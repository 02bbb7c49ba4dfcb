"""The progress file: what it remembers, when a kind comes again, and files that cannot be used."""

import json
import os
import sys
from pathlib import Path

import pytest

from clearhead.errors import QuizError
from clearhead.quiz.practice.progress import (
    OpenSheet,
    PracticeProgress,
    default_progress_file,
    forget_progress,
    load_progress,
    locked_progress,
    save_progress,
)

KEYS = ["softmax 1", "positions 1", "context 1"]


def test_an_error_brings_a_kind_again_after_one_other_exercise() -> None:
    progress = PracticeProgress()
    assert progress.next_key(KEYS) == "softmax 1"
    progress = progress.with_finished("softmax 1", is_right=False, slips=["base 2"])
    assert progress.next_key(KEYS) == "positions 1"
    progress = progress.with_finished("positions 1", is_right=True)
    assert progress.next_key(KEYS) == "softmax 1"
    assert progress.kinds["softmax 1"].slips == {"base 2": 1}


def test_a_kind_without_errors_comes_again_later_and_later() -> None:
    progress = PracticeProgress()
    gaps = []
    for _ in range(7):
        progress = progress.with_finished("softmax 1", is_right=True)
        gaps.append(progress.kinds["softmax 1"].due - progress.num_finished)
    assert gaps == [2, 4, 8, 16, 32, 32, 32]
    progress = progress.with_finished("softmax 1", is_right=False)
    assert progress.kinds["softmax 1"].due - progress.num_finished == 1
    assert (progress.kinds["softmax 1"].num_right, progress.kinds["softmax 1"].num_wrong) == (7, 1)


def test_an_unfinished_sheet_comes_first_and_then_what_is_due_and_then_what_is_new() -> None:
    progress = PracticeProgress().with_finished("softmax 1", is_right=False)
    progress = progress.with_open("context 1", OpenSheet("a number"))
    assert progress.next_key(KEYS) == "context 1"
    progress = progress.with_finished("context 1", is_right=True)
    assert progress.open_sheets == {}
    assert progress.next_key(KEYS) == "softmax 1"
    assert progress.next_key(["positions 1", "context 1"]) == "positions 1"
    assert progress.next_key(["context 1"]) == "context 1"


def test_what_is_saved_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "practice.json"
    assert load_progress(path) == PracticeProgress()
    state = OpenSheet(
        "softmax-1-0-01-v1-K", {"A": (("0.5", "0.5"),), "B": ()}, ("A",), ("base 2",), True, {"1": ("3", "5")}
    )
    progress = PracticeProgress().with_drawn("softmax 1", 7, 3).with_finished("softmax 1", is_right=False, slips=["x"])
    progress = progress.with_open("softmax 1", state)
    save_progress(path, progress)
    assert load_progress(path) == progress
    assert json.loads(path.read_text())["clearhead_practice"] == 1
    assert [entry.name for entry in path.parent.iterdir()] == ["practice.json"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            "{",
            r"practice\.json is not JSON: .*\. The file was not changed\. Name another file, or move this one away\.",
        ),
        ("[]", r"practice\.json contains a list, but an object \{…\} is required\. The file was not changed\."),
        ('{"a": 1}', r"practice\.json is not a file of clearhead practise\. The file was not changed\."),
        ('{"clearhead_practice": 1}', r"practice\.json is damaged: its entries are not those of a progress file\."),
        (
            '{"clearhead_practice": 1, "finished": -1, "latest": "", "kinds": {}, "open": {}}',
            r"practice\.json is damaged: its entries are not those of a progress file\.",
        ),
        (
            '{"clearhead_practice": 2}',
            r"practice\.json has version 2 of the progress file, and this version of clearhead reads version 1\. The "
            r"file was not changed\. Update clearhead, or name another file\.",
        ),
        ("\xff\x00", r"practice\.json"),
    ],
)
def test_a_damaged_file_is_one_sentence_and_stays_as_it_is(tmp_path: Path, content: str, sentence: str) -> None:
    path = tmp_path / "practice.json"
    path.write_bytes(content.encode("latin-1"))
    for use in (load_progress, forget_progress):
        with pytest.raises(QuizError, match=sentence) as wrong:
            use(path)
        assert "\n" not in str(wrong.value)
        assert path.read_bytes() == content.encode("latin-1")


def test_progress_is_forgotten_only_if_it_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "practice.json"
    assert forget_progress(path) == f"There is no progress in {path}."
    save_progress(path, PracticeProgress())
    assert forget_progress(path) == f"Deleted {path}."
    assert not path.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such lock")
def test_two_sessions_cannot_use_one_file(tmp_path: Path) -> None:
    path = tmp_path / "practice.json"
    sentence = r"another session is using .*practice\.json\. End it first, or name"
    with locked_progress(path), pytest.raises(QuizError, match=sentence), locked_progress(path):
        pass
    with locked_progress(path):
        pass


def test_a_folder_that_cannot_be_created_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(QuizError, match=r"file cannot be created: .*\. Name another file\."):
        save_progress(tmp_path / "file" / "practice.json", PracticeProgress())
    sentence = r"practice\.json cannot be written: "
    with pytest.raises(QuizError, match=sentence), locked_progress(tmp_path / "file" / "practice.json"):
        pass


def test_the_default_file_is_in_the_users_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_progress_file() == tmp_path / "clearhead" / "practice.json"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_progress_file() == tmp_path / ".local/share/clearhead/practice.json"
    assert os.environ["HOME"] == str(tmp_path)
