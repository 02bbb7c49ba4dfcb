"""A sheet as JSON, and the key file that holds everything needed to find and mark a sheet again."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clearhead.errors import ClearheadError, QuizError
from clearhead.files.reading import UnreadableFileError, read_bounded
from clearhead.quiz.number import tidy_number
from clearhead.quiz.request import QuizRequest
from clearhead.quiz.sheet import QuizSheet, blank_cells, step_name
from clearhead.quiz.told_apart import ToldApart
from clearhead.worksheet.reading import parse_problem
from clearhead.worksheet.solver import solve

FORMAT = 1  # of the JSON; increased when an old version would misread a new file
KEY_SUFFIX = ".key.json"
MAX_KEY_BYTES = 4 * 2**20


def write(sheet: QuizSheet, is_key: bool, decimal: str) -> bytes:
    """Return the sheet as JSON; the key also has the answers. JSON always has decimal points."""
    return json.dumps(sheet_data(sheet, is_key), ensure_ascii=False, indent=1).encode("utf-8") + b"\n"


def sheet_data(sheet: QuizSheet, is_key: bool) -> dict[str, Any]:
    """Return a sheet as plain data."""
    request = sheet.request
    lines_asked = []
    for step, solved in zip(sheet.view.steps, sheet.key_view.steps, strict=True):
        cells = blank_cells(step)
        if cells:
            line: dict[str, Any] = {"line": step_name(step), "symbol": step.matrix.symbol, "where": step.record.where}
            line |= {"shape": list(step.matrix.value.shape), "cells": [[row + 1, column + 1] for row, column in cells]}
            if is_key:
                line["answers"] = [solved.matrix.digits.text(row, column) for row, column in cells]
            lines_asked.append(line)
    return {
        "clearhead_quiz": FORMAT,
        "number": sheet.number,
        "kind": request.kind,
        "difficulty": request.difficulty,
        "seed": request.seed,
        "variant": request.variant,
        "blanks": list(sheet.blanks),
        "instructions": list(sheet.instructions),
        "told_apart": [
            {"misconception": rule.misconception, "symbol": rule.symbol, "where": rule.where, "cells": rule.num_cells}
            for rule in sheet.told_apart
        ],
        "asked": lines_asked,
        "problem": dict(sheet.problem),
    }


def load_key(path: str | Path) -> QuizSheet:
    """Return the sheet of a key file."""
    try:
        return sheet_from_data(json.loads(read_bounded(Path(path), MAX_KEY_BYTES)))
    except (UnreadableFileError, OSError) as wrong:
        reason = wrong.strerror if isinstance(wrong, OSError) else str(wrong)
        raise QuizError(f"{path} cannot be read: {reason}. Give a key file (NUMBER{KEY_SUFFIX}).") from None
    except (ClearheadError, KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise QuizError(f"{path} is not a key file. Draw the sheet again with its key.") from None


def load_numbered_key(number: str, folder: Path) -> QuizSheet:
    """Return the sheet with this number from a folder of key files; the number never becomes a path."""
    wanted = f"{tidy_number(number)}{KEY_SUFFIX}"
    try:
        paths = [path for path in sorted(folder.iterdir()) if path.name.lower() == wanted]
    except OSError as wrong:
        raise QuizError(
            f"{folder} cannot be read: {wrong.strerror}. Give a folder of key files.", options=("keys",)
        ) from None
    if not paths:
        raise QuizError(
            f"{folder} has no key file of sheet {number} (NUMBER{KEY_SUFFIX}). Give its folder.", options=("keys",)
        )
    return load_key(paths[0])


def sheet_from_data(data: Mapping[str, Any]) -> QuizSheet:
    """Return the sheet of plain data; the problem is solved again."""
    if data["clearhead_quiz"] != FORMAT:
        raise ValueError(f"format {data['clearhead_quiz']}")
    request = QuizRequest(str(data["kind"]), int(data["difficulty"]), int(data["seed"]), int(data["variant"]))
    rules = tuple(
        ToldApart(str(rule["misconception"]), str(rule["symbol"]), str(rule["where"]), int(rule["cells"]))
        for rule in data["told_apart"]
    )
    problem = data["problem"]
    worksheet = solve(parse_problem(problem))
    texts = (tuple(map(str, data["blanks"])), tuple(map(str, data["instructions"])))
    sheet = QuizSheet(request, str(data["number"]), problem, worksheet, *texts, rules)
    assert sheet.view is not None  # raises an error for a blank that the problem does not have
    return sheet
