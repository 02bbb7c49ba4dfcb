"""The lines of a sheet as many faultless students have them, each of whom rounds in another way.

All of them follow the rules of the sheet. They differ in what they continue with (the rounded number, the full one, or
one decimal more), in how they round a half, and in how they keep numbers that they do not write. The first students
have one habit throughout; the others choose anew in every line.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from clearhead.check.graph import FromGiven, FromRecord, Graph, Plain, Source
from clearhead.check.habits import kept
from clearhead.check.inner_numbers import BATCHED, InnerNumbers, work, work_plainly
from clearhead.quiz.course.rules import CONSTANT_DECIMALS, CourseRules
from clearhead.quiz.sheet import QuizSheet
from clearhead.worksheet.arrays import Array, Mask
from clearhead.worksheet.reference import REFERENCE

NUM_STUDENTS = 2_000
_NUM_PURE = 48  # students with one habit throughout: 3 × 2 × 8 combinations
_DIGITS, _FULL, _GUARD = range(3)
_INNER_STEPS = frozenset({"softmax", "normalise", "rms_normalise", "activate"})


def _kernel(inputs: Mapping[str, Any], euler: Array) -> tuple[Array, Array]:
    gaps = np.asarray(inputs["key_times"])[None, :] - np.asarray(inputs["query_times"])[:, None]
    powers = np.exp(-(gaps**2) / (2.0 * inputs["variance"]) * np.log(euler))
    return powers, np.full((1, 1, 1), math.sqrt(2.0 * math.pi * inputs["variance"]))


def _cosine(inputs: Mapping[str, Any], euler: Array) -> tuple[Array, Array]:
    lengths = np.asarray(inputs["lengths"])
    return np.asarray(inputs["dots"]), np.asarray(lengths * np.swapaxes(lengths, -1, -2))


_QUOTIENTS = {"kernel": _kernel, "cosine": _cosine}  # a number above a line, and one below it that is not written
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class StudentLine:
    """One line of a sheet for all students: the numbers before rounding, the digits, and what the next line uses.

    Arrays have the axis of students first, or only two axes if all students have the same numbers.
    """

    full: Array
    digits: Array
    carried: Array


class Students:
    """All lines of a sheet as faultless students have them; tokens are rows."""

    def __init__(self, sheet: QuizSheet, rules: CourseRules, number: int = NUM_STUDENTS) -> None:
        self.sheet, self.rules, self.number = sheet, rules, number
        self.graph = Graph(sheet.worksheet)
        self._is_blank = [_blank_mask(sheet, index) for index in range(len(self.graph))]
        self.lines: list[StudentLine] = []
        for index in range(len(self.graph)):
            self.lines.append(self._line(index))

    def _line(self, index: int) -> StudentLine:
        full = self._worked(index)
        if self.graph.is_move[index]:
            return StudentLine(full, full, full)
        digits = kept(full, self.rules.unit, is_cut=False)
        if self.rules.carry == "any":
            is_even = (self._choice(index, "even", 2) == 1)[:, None, None]
            digits = np.where(is_even, _round_to_even(full, self.rules.unit), digits)
        carries = self._carries(index)
        guard_unit = self.rules.unit / 10.0 if self.rules.carry == "any" else 10.0**-self.rules.inner_decimals
        guard = kept(full, guard_unit, is_cut=False)
        carried = np.where(carries == _DIGITS, digits, np.where(carries == _GUARD, guard, full))
        printed = self.sheet.worksheet.rounding.rounded(np.asarray(self.graph.records[index].value, dtype=np.float64))
        is_blank = self._is_blank[index]
        full, digits, carried = (_compact(np.where(is_blank, value, printed)) for value in (full, digits, carried))
        return StudentLine(full, digits, carried)

    def _carries(self, index: int) -> Array:
        """Return what each student continues with."""
        if self.rules.carry == "rounded":
            return np.full((1, 1, 1), _DIGITS)
        if self.rules.carry == "full":
            return (_FULL + self._choice(index, "guards", 2))[:, None, None]
        return self._choice(index, "carries", 3)[:, None, None]

    def _worked(self, index: int) -> Array:
        """Return the numbers of a line before they are rounded."""
        record = self.graph.records[index]
        step, inputs = record.step.name, self.graph.inputs(index, self._fetch)
        if step == "scale" and inputs.get("root_of") is not None:
            return np.asarray(inputs["scores"] / self._root(index, inputs["root_of"]))
        if step == "exponentiate" and inputs.get("base") is None:
            return np.asarray(np.exp(np.asarray(inputs["scores"]) * np.log(self._euler(index))))
        if step in _INNER_STEPS:
            return _compact(work(step, inputs, self._inner(index)))
        if step in _QUOTIENTS:
            above, below = _QUOTIENTS[step](inputs, self._euler(index))
            return _compact(np.asarray(above / self._inner(index).keep(below)))
        if not _has_students(inputs) or step in BATCHED:
            return np.asarray(work_plainly(step, inputs, self.number), dtype=np.float64)
        with np.errstate(all="ignore"):
            results = [REFERENCE[step](**_of_student(inputs, student)) for student in range(self.number)]
        return np.asarray(np.stack(results), dtype=np.float64)

    def _root(self, index: int, width: float) -> Array:
        root = math.sqrt(width)
        return np.where(self._choice(index, "root", 2) == 1, round(root, CONSTANT_DECIMALS), root)[:, None, None]

    def _euler(self, index: int) -> Array:
        return np.where(self._choice(index, "euler", 2) == 1, round(math.e, CONSTANT_DECIMALS), math.e)[:, None, None]

    def _inner(self, index: int) -> InnerNumbers:
        """Return how the students keep the inner numbers of a line."""

        def column(name: str, count: int) -> Array:
            return self._choice(index, name, count)[:, None, None]

        return InnerNumbers(
            is_kept=column("kept", 3) > 0,
            decimals=self.rules.inner_decimals + column("inner", 2),
            figures=np.zeros((self.number, 1, 1), dtype=np.int64),
            is_cut=column("cut", 3) == 2,
            is_shifted=column("shifted", 2) == 1,
            is_only_sum=column("sum", 3) == 2,
            has_two_powers=column("powers", 2) == 1,
            euler=self._euler(index),
            root=np.zeros((self.number, 1, 1)),
            unit=self.rules.unit,
        )

    def _choice(self, index: int, name: str, count: int) -> Array:
        """Return the choice of every student, from 0 to count - 1; the same in every line for the first students."""
        student = np.arange(self.number, dtype=np.uint64)
        salt = np.uint64(sum(ord(letter) * 31**place for place, letter in enumerate(name)) % 2**32)
        line = np.where(student < _NUM_PURE, 0, index + 1).astype(np.uint64)
        with np.errstate(over="ignore"):
            state = (student * np.uint64(1_000_003) + line) * np.uint64(8191) + salt
            state = (state ^ (state >> np.uint64(31))) * _MIX
            state = (state ^ (state >> np.uint64(29))) * _MIX
        chosen = ((state >> np.uint64(33)) % np.uint64(count)).astype(np.int64)
        if name == "carries":  # every habit is among the first students
            chosen = np.where(student < _NUM_PURE, student.astype(np.int64) % 3, chosen)
        return np.asarray(chosen)

    def _fetch(self, source: Source) -> Any:
        if isinstance(source, FromRecord):
            return self.lines[source.index].carried
        if isinstance(source, FromGiven):
            return self.graph.givens[source.name].value
        assert isinstance(source, Plain)
        return source.value


def _blank_mask(sheet: QuizSheet, index: int) -> Mask:
    """Return which cells of a step are blank, with tokens as rows."""
    step = sheet.view.steps[index]
    height, width = step.matrix.value.shape
    mask = np.array([[step.matrix.digits.is_hidden(i, j) for j in range(width)] for i in range(height)])
    return np.asarray(mask.T if sheet.worksheet.layout == "columns" else mask)


def _round_to_even(values: Array, unit: float) -> Array:
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(np.isfinite(values), np.round(np.round(values / unit, 6)) * unit, values))


def _compact(values: Array) -> Array:
    """Return an array without the axis of students if all of them have the same numbers."""
    if values.ndim > 2 and bool(np.all(values == values[:1])):
        return np.asarray(values[0])
    return values


def _has_students(inputs: Mapping[str, Any]) -> bool:
    parts = [part for value in inputs.values() for part in (value if isinstance(value, tuple) else (value,))]
    return any(isinstance(part, np.ndarray) and part.ndim > 2 for part in parts)


def _of_student(inputs: Mapping[str, Any], student: int) -> dict[str, Any]:
    def one(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(one(part) for part in value)
        return value[student] if isinstance(value, np.ndarray) and value.ndim > 2 else value

    return {name: one(value) for name, value in inputs.items()}
