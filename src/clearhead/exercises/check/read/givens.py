"""The exercise of a page that names none: the givens matrices on it, if they are those of one kind of exercise."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clearhead.check.line_words import symbol_key
from clearhead.check.working import Cells
from clearhead.errors import ProblemError
from clearhead.exercises.check.read.number import read_cell
from clearhead.exercises.check.read.page import HOLE, PageBlock

_GIVENS = {
    **{"X": "X", "x": "X", "Y": "Y", "y": "Y", "h": "h", "s": "s", "st": "s", "St": "s", "W": "W"},
    **{f"W{letter}": f"W_{letter.upper()}" for letter in "QKVOqkvo"},
}
_ROWS = re.compile(r"([xXyh])[_\[({]{0,2}(\d{1,2})[\])}]{0,2}")
_RESULTS = ("Q", "K", "V")
_MASKED = re.compile(r"(?i)(?<!no )(?<!not )(?<!un)(?<!without )(?<!without a )\b(?:masked|masking|causal|mask)\b")
_SCALES = (
    ("sqrt(d_k)", re.compile(r"√\s?\(?\{?d_?\{?(?:k|q|head)")),
    ("sqrt(d_model)", re.compile(r"√\s?\(?\{?d_?\{?model")),
    ("none", re.compile(r"(?i)\bunscaled\b|\b(?:without|no) scal")),
)
_MINUS = str.maketrans("−–", "--")


@dataclass
class PageExercise:
    """The blocks of one exercise of a page, and the givens that they state."""

    blocks: list[PageBlock] = field(default_factory=list)
    givens: dict[str, Cells] = field(default_factory=dict)
    heads: dict[str, dict[str, Cells]] = field(default_factory=dict)
    results: dict[str, Cells] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The outermost heading of the first block."""
        headings = next((block.headings for block in self.blocks if block.headings), ())
        return headings[0][:120] if headings else ""

    @property
    def words(self) -> str:
        """The headings and the formulas of the exercise."""
        headings = dict.fromkeys(heading for block in self.blocks for heading in block.headings)
        formulas = [" = ".join([block.name, *(side.text for side in block.sides)]) for block in self.blocks]
        return " ".join([*headings, *(block.above for block in self.blocks), *formulas])


def exercises_of(blocks: Sequence[PageBlock]) -> list[PageExercise]:
    """Split a page where a givens is stated again with other numbers, at the heading above it."""
    exercises = [PageExercise()]
    for block in blocks:
        current = exercises[-1]
        stated = list(_stated(block))
        is_new = any(key in current.givens and not _are_same(current.givens[key], cells) for key, cells in stated)
        if is_new and "output" in current.results:
            above = [own for own in current.blocks if own.headings != block.headings]
            exercises.append(PageExercise())
            for moved in current.blocks[len(above) :]:
                _add(exercises[-1], moved)
            del current.blocks[len(above) :]
        _add(exercises[-1], block)
    return [exercise for exercise in exercises if exercise.blocks]


def problem_of(exercise: PageExercise, earlier: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the problem that the givens of an exercise make up, or an empty one.

    What an exercise of the same page does not give is taken from the nearest before it.
    """
    givens = {key: _plain(cells) for key, cells in exercise.givens.items()}
    if "h" in givens or "s" in givens:
        return _usable(_seq2seq(givens, earlier))
    return _usable(_attention(exercise, givens, earlier))


def _usable(problem: dict[str, Any]) -> dict[str, Any]:
    from clearhead.worksheet.reading import parse_problem

    if not problem:
        return {}
    try:
        parse_problem(problem)
    except ProblemError:
        return {}
    return problem


def _seq2seq(givens: Mapping[str, Any], earlier: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    problem: dict[str, Any] = {"kind": "seq2seq-attention"}
    if "W" in givens:
        problem |= {"score": "multiplicative", "W": givens["W"]}
    for key in ("h", "s"):
        value = givens.get(key) or _earlier(earlier, key)
        if value is None:
            return {}
        is_row = key == "s" and isinstance(value[0], list)
        problem[key] = value[0] if is_row else value
    return problem


def _attention(
    exercise: PageExercise, givens: Mapping[str, Any], earlier: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    words = exercise.words
    is_cross = "Y" in givens or re.search(r"(?i)\bcross\b", words) is not None
    is_masked = _MASKED.search(words) is not None or any("∞" in cell for row in _all_rows(exercise) for cell in row)
    kind = "cross-attention" if is_cross else "masked-self-attention" if is_masked else "self-attention"
    problem: dict[str, Any] = {"kind": kind, **{key: givens[key] for key in ("Y", "X", "W_O") if key in givens}}
    if len(exercise.heads) > 1:
        problem["heads"] = [
            {key: _plain(cells) for key, cells in own.items()} for _, own in sorted(exercise.heads.items())
        ]
    else:
        _add_projections(problem, exercise, givens, earlier, is_cross=is_cross)
    if re.search(r"W[_^]?\{?[QKVqkv]\}?\s?[×·]?\s?[Xx]\b", words) and not re.search(r"[Xx]\s?[×·]?\s?W", words):
        problem["layout"] = "columns"
    scale = next((name for name, pattern in _SCALES if pattern.search(words)), "")
    tokens = next((block.rows for block in exercise.blocks if symbol_key(block.name) == "X" and any(block.rows)), ())
    named = {"tokens": list(tokens)} if tokens and len(set(tokens)) == len(problem.get("X", ())) else {}
    return {**problem, **({"scale": scale} if scale else {}), **named}


def _add_projections(
    problem: dict[str, Any],
    exercise: PageExercise,
    givens: Mapping[str, Any],
    earlier: Sequence[Mapping[str, Any]],
    *,
    is_cross: bool,
) -> None:
    """Add the weights, or Q, K and V themselves where no weights are givens."""
    inherits = any(key in givens for key in ("X", "Y", "W_Q", "W_K", "W_V"))
    for key in ["X", *(["Y"] if is_cross else []), "W_Q", "W_K", "W_V"]:
        own = givens.get(key) or (_earlier(earlier, key) if inherits else None)
        letter = key[-1]
        if own is not None:
            problem[key] = own
        elif key.startswith("W_") and exercise.results.keys() >= {"Q", "K", "V"}:
            problem[letter] = _plain(exercise.results[letter])


def _earlier(earlier: Sequence[Mapping[str, Any]], key: str) -> Any:
    return next((problem[key] for problem in reversed(earlier) if key in problem), None)


def _add(exercise: PageExercise, block: PageBlock) -> None:
    exercise.blocks.append(block)
    head = next((heading for heading in block.headings if re.fullmatch(r"(?i)head\s*\d+.*", heading)), "")
    for key, cells in _stated(block):
        if head and key.startswith("W_"):
            exercise.heads.setdefault(head, {}).setdefault(key, cells)
        exercise.givens.setdefault(key, cells)
    row = _ROWS.fullmatch(block.name.strip())
    value = _value(block)
    if row and value and int(row[2]) == len(exercise.givens.get(_GIVENS[row[1]], ())) + 1:
        flat = tuple(cell for cells in value for cell in cells)
        exercise.givens[_GIVENS[row[1]]] = (*exercise.givens.get(_GIVENS[row[1]], ()), flat)
    key = symbol_key(block.name)
    if value and key in _RESULTS:
        exercise.results.setdefault(key, value)
    elif value and key not in _GIVENS:
        exercise.results.setdefault("output" if key.casefold() in ("z", "output", "o", "a", "y") else key, value)


def _stated(block: PageBlock) -> Iterator[tuple[str, Cells]]:
    """Yield the givens that a block states: by its name, or as the factors of `Q = X W_Q = [ … ] [ … ]`."""
    key = _GIVENS.get(symbol_key(block.name.partition("(")[0]))
    value = _value(block)
    if key is not None and value is not None and not block.copied_into:
        yield key, value
    if symbol_key(block.name) in _RESULTS:
        for side in block.sides:
            if len(side.grids) == 2 and "+" not in side.text:
                yield "X", side.grids[0]
                yield f"W_{symbol_key(block.name)}", side.grids[1]


def _value(block: PageBlock) -> Cells | None:
    """Return the matrix that a block ends with, if it has only numbers."""
    side = block.sides[-1] if block.sides else None
    if side is None or len(side.grids) != 1 or side.text.strip() != HOLE:
        return None
    grid = side.grids[0]
    return grid if all(not read_cell(cell).problem for row in grid for cell in row) else None


def _all_rows(exercise: PageExercise) -> Iterator[Sequence[str]]:
    for block in exercise.blocks:
        for side in block.sides:
            for grid in side.grids:
                yield from grid


def _are_same(one: Cells, other: Cells) -> bool:
    return [len(row) for row in one] == [len(row) for row in other] and all(
        read_cell(a).value == read_cell(b).value
        for row, row_other in zip(one, other, strict=True)
        for a, b in zip(row, row_other, strict=True)
    )


def _plain(cells: Cells) -> list[list[str]]:
    """Return the numbers in the notation of a problem file."""
    return [[_plain_cell(cell) for cell in row] for row in cells]


def _plain_cell(text: str) -> str:
    power = re.fullmatch(
        r"([-+]?[\d.]{1,40})\s?[×·*]\s?10\s?\^\s?\{?\(?\s?([-+]?\d{1,4})\s?\)?\}?", text.translate(_MINUS)
    )
    return f"{power[1]}e{power[2]}" if power else text.translate(_MINUS).replace(" ", "")
