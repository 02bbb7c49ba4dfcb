"""Write a set of sheets to a folder: every sheet, every key, mark schemes, and an index. All files appear, or none."""

import json
from collections.abc import Sequence
from pathlib import Path

from clearhead.errors import QuizError
from clearhead.files.writing import bytes_writer, write_together
from clearhead.quiz.draw import quiz_scheme
from clearhead.quiz.forms import SUFFIXES, write_form
from clearhead.quiz.forms.key import KEY_SUFFIX
from clearhead.quiz.sheet import QuizSheet, blank_cells, step_name

INDEX = "index.md"
SCHEME = "scheme.json"


def sheet_files(sheets: Sequence[QuizSheet], form: str, decimal: str = "point") -> dict[str, bytes]:
    """Return the files of a set of sheets by name; the index is the last one."""
    suffix = SUFFIXES[form]
    files: dict[str, bytes] = {}
    for sheet in sheets:
        files[f"{sheet.number}{suffix}"] = write_form(sheet, form, decimal=decimal)
        files[f"{sheet.number}.key{suffix}"] = write_form(sheet, form, is_key=True, decimal=decimal)
        files[f"{sheet.number}{KEY_SUFFIX}"] = write_form(sheet, "json", is_key=True)
        files[f"{sheet.number}.scheme.json"] = _json(quiz_scheme(sheet))
    schemes = [quiz_scheme(sheet)["lines"] for sheet in sheets]
    if all(lines == schemes[0] for lines in schemes):  # one scheme for all, without a problem of its own
        files[SCHEME] = _json({"lines": schemes[0], "only_these": True})
    return {**files, INDEX: _index(sheets, suffix).encode("utf-8")}


def check_folder(folder: Path) -> None:
    """Raise a QuizError if sheets cannot be written to a folder, before they are drawn."""
    if folder.exists() and not folder.is_dir():
        raise QuizError(f"{folder} is a file. Give the name of a folder.", options=("output",))
    if not folder.parent.is_dir():
        raise QuizError(f"the folder of {folder} does not exist. Create it first.", options=("output",))
    if any(folder.glob(f"*{KEY_SUFFIX}")):  # their index and scheme would be replaced by those of other sheets
        raise QuizError(
            f"{folder} has practice sheets already. Give another folder, or remove it.", options=("output",)
        )


def write_sheets(folder: Path, files: dict[str, bytes]) -> None:
    """Write the files to a folder, which is created."""
    check_folder(folder)
    write_together(folder, {name: bytes_writer(content) for name, content in files.items()})


def _json(data: object) -> bytes:
    return json.dumps(data, ensure_ascii=False, indent=1).encode("utf-8") + b"\n"


def _index(sheets: Sequence[QuizSheet], suffix: str) -> str:
    lines = [
        "# Practice sheets",
        "",
        f"{len(sheets)} sheet{'s' * (len(sheets) != 1)}. The file NUMBER{suffix} is for the student, "
        f"NUMBER.key{suffix} is the solution, NUMBER.key.json has all that is needed to find the sheet again, and "
        "NUMBER.scheme.json is a mark scheme for `clearhead check`.",
        "",
        "| number | cells to fill in | lines | wrong rules told apart |",
        "|---|---:|---|---|",
    ]
    for sheet in sheets:
        names = ", ".join(step_name(step) for step in sheet.asked_steps)
        rules = "; ".join(rule.misconception for rule in sheet.told_apart)
        num_cells = sum(len(blank_cells(step)) for step in sheet.asked_steps)
        lines.append(f"| {sheet.number} | {num_cells} | {_cell(names)} | {_cell(rules)} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("_", "\\_").replace("*", "\\*")
