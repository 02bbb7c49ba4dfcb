"""Infer the problem of an exercise from its page: the kind, the given matrices and the scale.

Only data on the page is used, which includes data that an earlier exercise of the same page gives.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clearhead.check.read.chain import Entry, ExerciseContext
from clearhead.check.read.latex import Grid
from clearhead.check.read.mending import share_of_same
from clearhead.check.working import Note, line_note
from clearhead.errors import ProblemError

Earlier = Sequence[tuple[Mapping[str, Any], Sequence[Entry]]]
_NAMES = {"X": "the input X", "Y": "the second sentence Y", "h": "the encoder states h", "s": "the decoder state s"}


@dataclass(frozen=True)
class InferredProblem:
    """The data of a problem ({} if unknown), the entries (by number) that it was built from, and notes."""

    data: dict[str, Any]
    used: tuple[int, ...]
    notes: tuple[Note, ...]


def infer_problem(
    entries: Sequence[Entry], words: str, title: str, context: ExerciseContext, earlier: Earlier
) -> InferredProblem:
    """Return the problem that the entries of an exercise belong to."""
    if not entries:
        return InferredProblem({}, (), ())
    attempt = _Seq2Seq(entries, words, earlier) if context.is_seq2seq else _Attention(entries, words, context, earlier)
    data = attempt.infer()
    if not data:
        return InferredProblem({}, (), (*attempt.notes, *_missing(attempt.missing)))
    wrong = _mistake({**data, "title": title} if title else data)
    if wrong:
        note = Note(
            "warning", f"the problem could not be determined from this page: {wrong} Give the problem separately"
        )
        return InferredProblem({}, (), (*attempt.notes, note))
    repeats = find_repeats(entries, data, attempt.used)
    if title:
        data = {"kind": data["kind"], "title": title, **data}
    return InferredProblem(data, (*sorted(attempt.used), *repeats.used), (*attempt.notes, *repeats.notes))


def find_repeats(entries: Sequence[Entry], data: Mapping[str, Any], used: Collection[int] = ()) -> InferredProblem:
    """Return the entries that only repeat a given of the problem with the same numbers."""
    repeats: list[int] = []
    notes: list[Note] = []
    for number, entry in enumerate(entries):
        matrix = data.get(entry.part or "")
        if number in used or entry.copied_into or not isinstance(matrix, list | tuple) or not matrix:
            continue
        rows = matrix if isinstance(matrix[0], list | tuple) else [matrix]
        rows = rows[entry.row - 1 : entry.row] if entry.row else rows
        grid = Grid(tuple(tuple(str(cell) for cell in row) for row in rows if isinstance(row, list | tuple)))
        if grid.cells and share_of_same(grid, entry.grid) == 1.0:
            repeats.append(number)
            notes.append(line_note("read", f"{entry.name} repeats the numbers that the problem gives", entry.line))
    return InferredProblem(dict(data), tuple(repeats), tuple(notes))


def _missing(names: Sequence[str]) -> list[Note]:
    if not names:
        return [
            Note(
                "warning",
                "the problem could not be determined from this page: no given matrices were found. "
                "Give the problem separately",
            )
        ]
    listed = ", ".join(_NAMES.get(name, name) for name in names)
    return [
        Note(
            "warning",
            f"the problem could not be determined from this page: {listed} not found. Give the problem separately",
        )
    ]


def _mistake(data: Mapping[str, Any]) -> str:
    """Return the first error in a problem, or an empty text."""
    from clearhead.worksheet.reading import parse_problem

    try:
        parse_problem(data)
    except ProblemError as wrong:
        return wrong.mistakes[0]
    return ""


class _Attempt:
    """The shared part of both problem families: givens by part, and data from earlier exercises."""

    def __init__(self, entries: Sequence[Entry], words: str, earlier: Earlier) -> None:
        self.entries, self.words, self.earlier = entries, words, earlier
        self.used: set[int] = set()
        self.notes: list[Note] = []
        self.missing: list[str] = []

    def infer(self) -> dict[str, Any]:
        """Return the data of the problem, or {}."""
        raise NotImplementedError

    def take(self, part: str, *, into: str = "") -> list[list[str]] | None:
        """Return a given matrix: as stated, from its rows, or as a factor (of `into`, if given)."""
        stated = [n for n, e in enumerate(self.entries) if e.part == part and not e.row and not e.copied_into]
        if stated:
            self.used.add(stated[0])
            return _plain(self.entries[stated[0]].grid)
        rows: dict[int, int] = {}
        for number, entry in enumerate(self.entries):
            if entry.part == part and entry.row and not entry.copied_into:
                rows.setdefault(entry.row, number)
        if rows and sorted(rows) == list(range(1, len(rows) + 1)):
            self.used.update(rows.values())
            return [_plain(self.entries[rows[row]].grid.as_row())[0] for row in sorted(rows)]
        factors = [n for n, e in enumerate(self.entries) if e.part == part and not e.row and e.copied_into]
        factors = [n for n in factors if not into or self.entries[n].copied_into == into] or factors
        if factors:
            best = min(factors, key=lambda n: any(not cell for cell in self.entries[n].grid.numbers))
            self.used.add(best)
            return _plain(self.entries[best].grid)
        return None

    def inherit(self, key: str) -> Any:
        """Return a given of the nearest earlier exercise that has it, and add a note."""
        for data, _ in reversed(self.earlier):
            if key in data:
                self.notes.append(
                    Note("read", f"{key} is taken from an earlier exercise ({data.get('title') or data['kind']})")
                )
                return data[key]
        return None


class _Seq2Seq(_Attempt):
    """Attention over the states of a recurrent encoder."""

    def infer(self) -> dict[str, Any]:
        data: dict[str, Any] = {"kind": "seq2seq-attention"}
        weights = self.take("W")
        if weights:
            data["score"] = "multiplicative"
        for key in ("h", "s"):
            value: Any = self.take(key)
            value = value if value is not None else self.inherit(key)
            if value is None:
                self.missing.append(key)
                continue
            is_row = key == "s" and isinstance(value[0], list)
            data[key] = [cell for row in value for cell in row] if is_row else value
        if weights:
            data["W"] = weights
        return {} if self.missing else data


class _Attention(_Attempt):
    """Self-attention, masked self-attention and cross-attention."""

    def __init__(self, entries: Sequence[Entry], words: str, context: ExerciseContext, earlier: Earlier) -> None:
        super().__init__(entries, words, earlier)
        self.context = context

    def infer(self) -> dict[str, Any]:
        data: dict[str, Any] = {"kind": self._kind()}
        is_cross = data["kind"] == "cross-attention"
        if is_cross:
            self._put(data, "Y", self.take("Y"))
        self._put(data, "X", self.take("X", into="K" if is_cross else ""))
        self._put(data, "W_O", self.take("W_O"))
        heads = sorted(
            {e.where for e in self.entries if e.part in ("W_Q", "W_K", "W_V") and e.where.startswith("head")}
        )
        if len(heads) > 1:
            return self._with_heads(data, heads)
        for letter in "QKV":
            self._put(data, f"W_{letter}", self.take(f"W_{letter}"))
        needed = ["X", *(["Y"] if is_cross else []), "W_Q", "W_K", "W_V"]
        missing = [key for key in needed if key not in data]
        if missing:
            self._complete(data, missing)
        missing = [key for key in needed if key not in data and not self._is_made(data, key)]
        if missing:
            self.missing = missing
            return {}
        self._options(data)
        return data

    def _with_heads(self, data: dict[str, Any], heads: Sequence[str]) -> dict[str, Any]:
        """Give each head its own weights; all of them must be on the page."""
        data["heads"] = []
        for head in sorted(heads, key=lambda where: int(where.split()[1])):
            own: dict[str, Any] = {}
            for key in ("W_Q", "W_K", "W_V"):
                numbers = [n for n, e in enumerate(self.entries) if e.part == key and e.where == head]
                if numbers:
                    self.used.add(numbers[0])
                    own[key] = _plain(self.entries[numbers[0]].grid)
                else:
                    self.missing.append(f"{key} of {head}")
            data["heads"].append(own)
        self.missing += [key for key in ("X",) if key not in data]
        if self.missing:
            return {}
        self._options(data)
        return data

    def _put(self, data: dict[str, Any], key: str, value: Any) -> None:
        if value is not None:
            data[key] = value

    def _is_made(self, data: Mapping[str, Any], key: str) -> bool:
        if key.startswith("W_"):
            return key[2] in data
        products = {"X": ("K", "V"), "Y": ("Q",)}[key]
        return all(
            letter in data
            for letter in (products if key == "Y" or data["kind"] == "cross-attention" else ("Q", "K", "V"))
        )

    def _complete(self, data: dict[str, Any], missing: Sequence[str]) -> None:
        """Take missing data from an earlier exercise, or else take Q, K and V as given."""
        shared = [key for key in missing if any(key in data_before for data_before, _ in self.earlier)]
        states_anything = any(key in data for key in ("X", "Y", "W_Q", "W_K", "W_V"))
        if shared and (states_anything or self._repeats()):
            for key in shared:
                self._put(data, key, self.inherit(key))
            return
        for letter in "QKV":
            if f"W_{letter}" not in data:
                first = next((n for n, e in enumerate(self.entries) if e.name == letter and not e.copied_into), None)
                rows = self.take(letter) if first is not None else None
                self._put(data, letter, rows)

    def _repeats(self) -> bool:
        """Return whether K or V is the same as in an earlier exercise."""
        mine = [e.grid for e in self.entries if e.part in ("K", "V") and not e.copied_into]
        theirs = [e.grid for _, entries in self.earlier for e in entries if e.part in ("K", "V") and not e.copied_into]
        return any(share_of_same(one, other) > 0.8 for one in mine for other in theirs[-24:])

    def _kind(self) -> str:
        if self.context.is_cross:
            return "cross-attention"
        mention = re.search(
            r"(?i)(?<!no )(?<!not )(?<!un)(?<!without )(?<!without a )\b(?:masked|causal|look-ahead mask|mask)\b",
            self.words,
        )
        hidden = any(
            re.search(r"∞|infty|inf\b", cell)
            for e in self.entries
            if e.part in ("scores", "scaled")
            for cell in e.grid.numbers
        )
        return "masked-self-attention" if mention or hidden else "self-attention"

    def _options(self, data: dict[str, Any]) -> None:
        if self.context.is_columns:
            data["layout"] = "columns"
        if re.search(r"√\s?\(?\{?d_?(?:k|q|head)", self.words):
            data["scale"] = "sqrt(d_k)"
        elif re.search(r"√\s?\(?\{?d_?model", self.words):
            data["scale"] = "sqrt(d_model)"
        elif re.search(r"(?i)\bunscaled\b|\b(?:without|no) scal", self.words):
            data["scale"] = "none"
        labels = next((e.labels for e in self.entries if e.part == "X" and not e.row and not e.copied_into), ())
        if labels and all(labels) and len(set(labels)) == len(labels) == len(data.get("X", ())):
            data["tokens"] = list(labels)


def _plain(grid: Grid) -> list[list[str]]:
    """Return the cells in the notation of a problem file, without typographic minus signs or LaTeX fractions."""
    return [[_plain_cell(cell) for cell in row] for row in grid.cells]


def _plain_cell(cell: str) -> str:
    cell = re.sub(r"\\[dt]?frac\s?\{\s?([-\d.]{1,40})\s?\}\s?\{\s?([-\d.]{1,40})\s?\}", r"\1/\2", cell)
    power = re.fullmatch(
        r"([-+]?[\d.]{1,40})\s?(?:\\times|×)\s?10\^\{?\s?([-+−]?\d{1,4})\s?\}?", cell.replace("−", "-")
    )
    if power:
        return f"{power[1]}e{power[2]}"
    return re.sub(r"[−–]", "-", cell).replace(" ", "")
