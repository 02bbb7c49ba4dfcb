"""A norm whose input is unknown: only what holds for every norm can be checked.

The exercise says `X: unknown`. Its sheet has the shape of the written lines and no numbers.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from clearhead.check.line_words import WORDS, word_key
from clearhead.check.names import split_pick
from clearhead.check.working import Note, Working, WrittenLine
from clearhead.worksheet.worksheet import Worksheet

UNKNOWN = "unknown"
_STATISTICS = frozenset(word_key(word) for word in ("mean", "variance", "σ", "RMS"))


def has_unknown_input(problem: Mapping[str, Any]) -> bool:
    """Return whether the exercise is a norm with an unknown input."""
    return problem.get("kind") == "add-and-norm" and problem.get("X") == UNKNOWN


def with_stated_norm(working: Working) -> Working:
    """Return the working with the default norm stated: without numbers, nothing can show another one."""
    if not has_unknown_input(working.problem):
        return working
    note = Note("read", "X is unknown, so only what holds for every norm was checked.")
    return replace(working, problem={"norm": "layer", **working.problem}, notes=(*working.notes, note))


def with_placeholder(problem: Mapping[str, Any], working: Working) -> dict[str, Any]:
    """Return the exercise with any numbers for X, in the shape of the written lines."""
    tables = [line for line in working.lines if not _is_statistic(line)]
    height = max((_last_row(line) for line in tables or working.lines), default=1)
    width = max((len(row) for line in tables for row in line.cells), default=2)
    num_tokens = len(problem.get("tokens") or ())
    if num_tokens and problem.get("layout", "rows") == "rows":
        height = num_tokens
    elif num_tokens:
        width = num_tokens
    return {**problem, "X": np.random.default_rng(1).normal(size=(height, width)).tolist()}


def _is_statistic(line: WrittenLine) -> bool:
    tests = WORDS.get(word_key(split_pick(line.name).name), ())
    return any(test in WORDS[word] for word in _STATISTICS for test in tests)


def _last_row(line: WrittenLine) -> int:
    row = split_pick(line.name).row
    count = max(len(line.cells), len(line.cells[0]) if _is_statistic(line) and line.cells else 0)
    return max(count, int(row) if row.isdecimal() else 0)


def without_numbers(sheet: Worksheet) -> Worksheet:
    """Return the sheet with NaN for every number of the input and of the lines."""
    for value in (sheet.trace.givens["X"].value, *(record.value for record in sheet.trace)):
        value.flags.writeable = True
        value[...] = np.nan
    return sheet
