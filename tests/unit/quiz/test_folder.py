"""A set of sheets in a folder."""

import json
from pathlib import Path

import pytest

from clearhead.check.scheme_file import load_scheme
from clearhead.errors import QuizError
from clearhead.quiz import QuizRequest, draw_sheets
from clearhead.quiz.folder import sheet_files, write_sheets


def test_a_folder_has_every_sheet_key_and_scheme_and_an_index(tmp_path: Path) -> None:
    sheets = draw_sheets(QuizRequest("cross-attention", 2, seed=13), 3)
    files = sheet_files(sheets, "markdown", "comma")
    write_sheets(tmp_path / "class", files)
    names = {path.name for path in (tmp_path / "class").iterdir()}
    own = {f"{sheet.number}{end}" for sheet in sheets for end in (".md", ".key.md", ".key.json", ".scheme.json")}
    assert names == own | {"index.md", "scheme.json"}
    index = (tmp_path / "class" / "index.md").read_text(encoding="utf-8")
    assert all(sheet.number in index for sheet in sheets)
    scheme = load_scheme(tmp_path / "class" / f"{sheets[0].number}.scheme.json")
    assert list(scheme.lines) == [
        f"cross_attention{name}" for name in (".query:Q", ".key:K", ".value:V", ":S", ":S′", ":A", ":Z")
    ]
    assert load_scheme(tmp_path / "class" / "scheme.json").problem is None


def test_sheets_that_ask_for_different_lines_have_no_common_scheme() -> None:
    sheets = draw_sheets(QuizRequest("self-attention", 1, seed=7), 7)
    asked = {
        tuple(json.loads(files)["lines"]) for name, files in sheet_files(sheets, "json").items() if "scheme" in name
    }
    assert len(asked) > 1
    assert "scheme.json" not in sheet_files(sheets, "json")


def test_a_folder_that_cannot_be_written_gets_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(QuizError, match="is a file. Give the name of a folder"):
        write_sheets(tmp_path / "file", {"index.md": b""})
    with pytest.raises(QuizError, match="does not exist. Create it first"):
        write_sheets(tmp_path / "none" / "folder", {"index.md": b""})


def test_a_folder_with_sheets_is_left_alone(tmp_path: Path) -> None:
    first = sheet_files(draw_sheets(QuizRequest("softmax", 2, seed=7), 2), "json")
    write_sheets(tmp_path / "test", first)
    with pytest.raises(QuizError, match=r"test has practice sheets already. Give another folder, or remove it."):
        write_sheets(tmp_path / "test", sheet_files(draw_sheets(QuizRequest("softmax", 2, seed=11), 1), "json"))
    assert {path.name: path.read_bytes() for path in (tmp_path / "test").iterdir()} == first
