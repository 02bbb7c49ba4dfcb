"""Turn a page into the lines of a working: the second half of reading, which knows the sheet of the exercise.

The way of a block: its name is read, the part of the model comes from its headings, its last side is the result, the
sides before are copies of the lines that it is calculated from. A block without a name is placed by its labels or by
the words above it. Every number becomes a line or a note that says why not.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from clearhead.check.graph import Graph
from clearhead.check.grid import name_without_percent
from clearhead.check.line_words import LAST_WORDS, SUBSCRIPTS, WORDS, symbol_key, word_key
from clearhead.check.names import find_records, matches_place
from clearhead.check.working import Cells, Note, WrittenLine
from clearhead.exercises.check.read.copies import copies_in, has_copies
from clearhead.exercises.check.read.names import Name, is_index, read_name
from clearhead.exercises.check.read.number import is_blank, read_cell
from clearhead.exercises.check.read.operands import RowPlace, SoftmaxRows, powers_of, scores_id, softmax_of
from clearhead.exercises.check.read.page import HOLE, Block, Page, Side
from clearhead.exercises.check.read.places import Places
from clearhead.exercises.check.read.prose import has_row
from clearhead.exercises.check.read.side_calculations import holds, is_calculation, is_setting
from clearhead.exercises.sheet.build import sheet_of
from clearhead.exercises.sheet.sheet import Line
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.view import SheetView
from clearhead.worksheet.worksheet import Worksheet

_MAX_SAME = 8  # writings of a line with the same numbers: more heads than anybody writes out
_NEAR_ONE = 0.05  # between 1 and the sum of rounded weights
_MAX_ALIKE = 50  # writings of a line with other numbers
_LABELS = frozenset(("token", "tokens", "key", "keys", "pair", "row", "word", "query"))
_SUMS = frozenset(
    word_key(word) for word in ("sum", "row sum", "total", "denominator", "Σ", "Σ exp", "sum of exponentials")
)


@dataclass(frozen=True)
class PageLines:
    """The lines of a working that a page has, and notes on what was not read."""

    lines: tuple[WrittenLine, ...]
    notes: tuple[Note, ...]


def lines_of(page: Page, worksheet: Worksheet | None) -> PageLines:
    """Return the lines of a page; without an exercise that can be solved as it stands, names stay as they are."""
    reader = _Reader(page, worksheet)
    lines = tuple(reader.few_alike(reader.with_operands(reader.blocks())))
    unread = [_unread(f"{entry.text[:100]} ({entry.reason})", entry.line) for entry in page.unread]
    notes = [Note("read", remark) for remark in page.remarks]
    return PageLines(lines, (*notes, *unread, *reader.notes))


def _unread(text: str, line: int) -> Note:
    return Note("unplaced", f"not marked: {text}", f"line {line}" if line else "", line=line)


@dataclass(frozen=True)
class _Statement:
    """A line, and the numbers in its name that say where it belongs."""

    line: WrittenLine
    exponents: tuple[str, ...] = ()
    softmax: tuple[str, ...] = ()


class _Reader:
    """Reads the blocks of one page in order."""

    def __init__(self, page: Page, worksheet: Worksheet | None) -> None:
        self.page = page
        self.sheet = sheet = None if worksheet is None else sheet_of(SheetView(worksheet))
        self.graph = None if worksheet is None else Graph(worksheet)
        self.notes: list[Note] = []
        self.places = None if sheet is None else Places(sheet)
        lines = () if sheet is None else sheet.lines
        self.labels = frozenset(
            label.strip("<>").casefold() for line in lines for label in (*line.rows, *line.columns) if label
        )
        self.symbols = frozenset(symbol_key(line.symbol) for line in lines)
        self.last_name = ""  # the matrix that rows without a name continue
        self.written_rows: list[Cells] = []
        self.used: set[str] = set()  # ids of the lines that whole blocks were placed on

    # ---- blocks ----

    def blocks(self) -> Iterator[_Statement]:
        """Yield the statements of all blocks."""
        for block in self.page.blocks:
            columns = list(self._named_columns(block))
            if columns:
                yield from columns
            else:
                yield from self._block(block)

    def _block(self, block: Block) -> Iterator[_Statement]:
        block = _with_whole_name(_with_part_as_heading(block))
        result = _result_of(block)
        name = block.name.strip()
        if result is None or not any(map(any, result)):
            self._note_lost_sides(block)
            return
        if block.copied_into:  # of a working file, which says everything itself
            yield _Statement(self._line(block, Name(name), result))
            return
        exponents, softmax = powers_of(name), softmax_of(name)
        if exponents or softmax:
            self._note_sums(block)
            yield _Statement(self._line(block, Name(name), result), tuple(exponents), tuple(softmax))
            return
        if _is_only(result) and is_setting(name, result[0][0]) and symbol_key(name) not in self.symbols:
            return
        if _is_only(result) and is_calculation(name):
            self._side_calculation(name, result[0][0], block)
            return
        parsed = self._name(name, block)
        if parsed is None:
            self._nameless(block, result)
            return
        line = self._sheet_line(block, parsed, result)
        if not self._means_row(name):
            self.last_name = parsed.base
        if self._is_given(line, parsed, result):
            return
        if line is not None and symbol_key(line.symbol) == symbol_key(parsed.base):
            parsed = replace(parsed, base=line.symbol)
        if block.rows and self._has_labels(block.rows):
            yield from self._labelled_rows(block, parsed, result, line)
            return
        yield from self._copies(block, parsed, line)
        yield _Statement(self._line(block, parsed, self._full_rows(result, parsed, line, block), line))

    def _full_rows(self, result: Cells, name: Name, line: Line | None, block: Block) -> Cells:
        """Leave rows blank that have too few or too many numbers for their line, and note them."""
        widths = {len(row) for row in result}
        if len(widths) < 2 or line is None or line.shape[1] not in widths:
            return result
        rows = []
        for number, row in enumerate(result, 1):
            is_full = len(row) == line.shape[1]
            rows.append(row if is_full else ("",) * line.shape[1])
            if not is_full:
                shown = f"row {number} of {name.base}, {' '.join(row)[:80]}"
                reason = f"it has {len(row)} numbers where {line.shape[1]} are expected"
                self.notes.append(_unread(f"{shown} ({reason})", block.line))
        return tuple(rows)

    def _nameless(self, block: Block, result: Cells) -> None:
        """Note numbers that no name says anything about, unless they repeat a given."""
        if self._repeats_given(result):
            return
        shown = " ".join(cell for row in result for cell in row)[:100]
        self.notes.append(_unread(f"{shown} (no line is named here)", block.line))

    def _note_lost_sides(self, block: Block) -> None:
        """Note numbers of a block whose last side is a formula."""
        for side in block.sides:
            has_grid = bool(side.grids) and self.last_name != block.name
            if has_grid or has_row(side.text):
                cells = [cell for grid in side.grids for row in grid for cell in row]
                shown = " ".join(cells or [side.text])[:100]
                self.notes.append(_unread(f"{shown} (the statement has no result)", block.line))
                return

    def _side_calculation(self, calculation: str, result: str, block: Block) -> None:
        is_right = holds(calculation, result)
        end = "right, and it has no marks" if is_right else "not right, and it was not marked"
        sentence = f"this side calculation is {end}: {calculation} = {result}"
        self.notes.append(Note("read" if is_right else "unplaced", sentence, f"line {block.line}", line=block.line))

    # ---- names and places ----

    def _name(self, text: str, block: Block) -> Name | None:
        """Return the name of a block: its own, or that in the words and headings above it."""
        if text and not self._is_label(text) and not self._means_row(text):
            return self._own_name(text)
        above = self._name_above(block)
        if above is None:
            return None
        if self._means_row(text):  # `sun: 0.4 0.6` below the name of a matrix
            self.last_name = above
            return Name(above, self._index(text))
        return self._own_name(above)

    def _is_label(self, text: str) -> bool:
        """Return whether the corner of a table only says what its labels are."""
        return word_key(text) in _LABELS

    def _own_name(self, text: str) -> Name:
        """Read a name; one that is a symbol of the sheet, such as h₂, has no index."""
        if symbol_key(name_without_percent(text)) in self.symbols:
            return Name(text)
        name = read_name(text, self.labels)
        is_word = name.row.isdecimal() and word_key(text) in WORDS  # sigma_2
        return Name(text) if is_word and not self._has_rows(name) else name

    def _has_rows(self, name: Name) -> bool:
        """Return whether some line with a name has the row that the name selects."""
        if self.graph is None or self.sheet is None:
            return True
        nodes = find_records(self.graph, name.base, "").nodes
        return any(max(self.sheet.steps[node].shape) >= int(name.row) for node in nodes)

    def _means_row(self, text: str) -> bool:
        """Return whether a name is only that of a row: a token of the exercise, or `row 2`."""
        index = self._index(text)
        is_row = index != text.strip() and index.isdecimal()
        return is_row or (index.casefold() in self.labels and symbol_key(text) not in self.symbols)

    def _name_above(self, block: Block) -> str | None:
        """Return the name of a line in the words directly above a block, in its headings, or of the rows before it."""
        if block.above:
            return self._name_in(block.above)
        for heading in reversed(block.headings):
            name = self._name_in(heading)
            if name is not None:
                return name
        return self.last_name or None

    def _name_in(self, text: str) -> str | None:
        """Return the name of a line in a heading: all of it, what follows a colon, or else its longest known words."""
        for part in (text.partition("=")[0], text.rpartition(":")[2]):
            name = read_name(part, self.labels).base
            if name and self._is_known(name):
                return name
        if re.search(r"(?i)\bdivid|\bscal(?:e|ing)\b", text):
            return "scaled scores"
        words = re.findall(r"[\w'′ᵀ²^-]+", text)
        runs = [words[start : start + count] for count in (3, 2, 1) for start in range(len(words) - count + 1)]
        known = (" ".join(run) for run in runs if len(run[0]) > 1 or len(run) == 1)
        return next((run for run in known if len(run) > 2 and self._is_known(run)), None)

    def _is_known(self, name: str) -> bool:
        key = word_key(name)
        return symbol_key(name) in self.symbols or key in WORDS or key in LAST_WORDS

    def _line(self, block: Block, name: Name, cells: Cells, line: Line | None = None) -> WrittenLine:
        """Return a line in the part of the model of its line on the sheet, or else that the headings name."""
        place = block.place or (f"line {block.line}" if block.line else "")
        is_only = bool(name.column) and not block.headings and line is not None and self._num_named(line.symbol) == 1
        where = self._hint(block, name, cells) if line is None or self.page.is_working_file else line.where
        where = "" if is_only else where
        if not block.copied_into and self._percent(block) and "%" not in name.base:
            name = replace(name, base=f"{name.base} (%)")
        return WrittenLine(str(name), cells, where, place, block.copied_into)

    def _num_named(self, symbol: str) -> int:
        key = symbol_key(symbol)
        return 0 if self.sheet is None else sum(symbol_key(line.symbol) == key for line in self.sheet.lines)

    def _percent(self, block: Block) -> bool:
        return "%" in block.name

    def _hint(self, block: Block, name: Name, cells: Cells = ()) -> str:
        """Return the headings that name a part of the model with such a line; a working file means all of them.

        The output after the heads is below the heading of the last head, but has another shape than a line of it.
        """
        if self.places is None or self.graph is None or self.page.is_working_file:
            return ".".join(block.headings)
        hint = self.places.hint(block.headings)
        if not hint:
            return ""
        nodes = find_records(self.graph, name_without_percent(name.base), hint).nodes
        is_whole = len(cells) > 1 and not name.row
        is_right = any(self._node_has_shape(cells, node) for node in nodes) if is_whole else bool(nodes)
        others = find_records(self.graph, name_without_percent(name.base), "").nodes if nodes and not is_right else ()
        return "" if not nodes or any(self._node_has_shape(cells, node) for node in others) else hint

    def _node_has_shape(self, cells: Cells, node: int) -> bool:
        return self.sheet is not None and _has_shape(cells, self.sheet.steps[node])

    def _sheet_line(self, block: Block, name: Name, result: Cells) -> Line | None:
        """Return the line of the sheet that a block means, if its symbol and headings leave no doubt.

        Of several lines with one symbol in a section, such as a given P and a P that is looked up, the first that no
        block was placed on.
        """
        if self.sheet is None or self.places is None:
            return None
        key = symbol_key(name_without_percent(name.base))
        below = self.places.lines_below(block.headings)
        hint = "" if below else self.places.hint(block.headings)
        lines = below or [line for line in self.sheet.lines if matches_place(hint, line.where)]
        own = [line for line in lines if symbol_key(line.symbol) == key]
        if below and not own:  # lines without a section have no heading of their own
            own = [line for line in self.sheet.lines if symbol_key(line.symbol) == key and not line.section]
        if not name.row:
            own = [line for line in own if _has_shape(result, line)] or own
        if len(own) > 1 and below:
            free = [line for line in own if line.id not in self.used]
            own = (free or own)[:1]
        if len(own) != 1:
            return None
        if not name.row:
            self.used.add(own[0].id)
        return own[0]

    def _index(self, text: str) -> str:
        return _index_in(text, self.labels)

    # ---- givens ----

    def _is_given(self, line: Line | None, name: Name, result: Cells) -> bool:
        """Return whether a block restates a given; one that has its name and other numbers is compared with it.

        Numbers of a whole given are that given under any name, unless they are also right for the line so named.
        """
        if self.sheet is None or self.graph is None or self.page.is_working_file:
            return False
        if line is not None and line.step is None:
            return self._repeats_given(result)
        nodes = find_records(self.graph, name_without_percent(name.base), "").nodes if line is None else ()
        steps = [self.sheet.steps[node] for node in nodes] if line is None else [line]
        if not steps or name.base.endswith(" of"):  # softmax of 2.1, 0.4 is a question
            return self._repeats_given(result)
        is_whole = len(result) > 1 and not name.row and self._repeats_given(result)
        return is_whole and not any(_is_close(result, np.asarray(step.values)) for step in steps)

    def _repeats_given(self, result: Cells) -> bool:
        """Return whether numbers are those of a given, or of one of its rows or columns."""
        values = _values_of(result)
        if self.sheet is None or values is None or values.size < 2:
            return False
        for line in self.sheet.givens:
            given = np.asarray(line.values)
            if given.dtype.kind not in "biuf":
                continue
            if any(_is_same(values, matrix) for matrix in (given, given.T)):
                return True
            if values.shape[0] == 1 and any(_is_same(values, row[None]) for row in (*given, *given.T)):
                return True
        return False

    # ---- tables ----

    def _has_labels(self, labels: Sequence[str]) -> bool:
        return all(is_index(self._index(label), self.labels) for label in labels if label)

    def _labelled_rows(self, block: Block, name: Name, result: Cells, line: Line | None) -> Iterator[_Statement]:
        """Yield a table with names of its rows and columns; in another order, row by row."""
        if line is not None and _fits(block, line, result):
            yield _Statement(self._line(block, name, result, line))
            return
        columns = [self._index(label) for label in block.columns]
        has_columns = bool(columns) and self._has_labels(columns) and not self._is_in_order(columns)
        for label, row in zip(block.rows, result, strict=False):
            if has_columns:
                for column, cell in zip(columns, row, strict=False):
                    cell_name = replace(name, row=self._index(label), column=column)
                    yield _Statement(self._line(block, cell_name, ((cell,),), line))
            else:
                yield _Statement(self._line(block, replace(name, row=self._index(label)), (row,), line))

    def _is_in_order(self, columns: Sequence[str]) -> bool:
        lines = () if self.sheet is None else self.sheet.steps
        orders = {tuple(label.casefold() for label in labels) for line in lines for labels in (line.rows, line.columns)}
        own = tuple(column.casefold() for column in columns)
        return own in orders or own == tuple(str(number + 1) for number in range(len(own)))

    def _named_columns(self, block: Block) -> Iterator[_Statement]:
        """Yield the columns of a table that are lines (`score | exp | weight`), for one row of their matrices."""
        if len(block.columns) < 2 or not block.sides or not block.sides[-1].grids:
            return
        names = [column.strip() for column in block.columns]
        known = [bool(name) and not self._means_row(name) and self._is_known(name) for name in names]
        if sum(known) < 1 or any(
            not flag and name and not self._is_label(name) for flag, name in zip(known, names, strict=True)
        ):
            return
        yield from self._columns(block, names, known)

    def _columns(self, block: Block, names: Sequence[str], known: Sequence[bool]) -> Iterator[_Statement]:
        grid = block.sides[-1].grids[-1]
        labels = list(block.rows) or [row[0] if read_cell(row[0]).problem else "" for row in grid]
        row = self._row_above(block)
        for place, name in enumerate(names):
            if not known[place]:
                continue
            cells: list[str] = []
            for label, numbers in zip(labels, grid, strict=False):
                cell = numbers[place] if place < len(numbers) else ""
                pair = read_name(label, self.labels)
                if pair.row and pair.column and not is_blank(cell):  # q1·k2 | score | weight
                    yield _Statement(self._line(block, replace(pair, base=name), ((cell,),)))
                elif word_key(label) in _SUMS:  # the last row of a table of exponentials
                    if word_key(name) in ("exp", "exponential", "exponentials") and not is_blank(cell):
                        yield _Statement(self._line(block, Name("sum", row), ((cell,),)))
                    elif abs(read_cell(cell).value - 1.0) > _NEAR_ONE:  # weights add up to one
                        yield _Statement(self._line(block, Name(f"total of the column {name}"), ((cell,),)))
                elif cell or label:
                    cells.append(cell)
            if cells:
                yield _Statement(self._line(block, Name(name, row), (tuple(cells),)))

    def _row_above(self, block: Block) -> str:
        return self._index(block.above) if self._means_row(block.above.rstrip(":")) else ""

    # ---- copies and operands ----

    def _copies(self, block: Block, name: Name, line: Line | None) -> Iterator[_Statement]:
        """Yield what the sides before the result copy from the lines above."""
        self._note_sums(block)
        if not any(map(has_copies, block.sides)):
            return
        if line is None and self.graph is not None and self.sheet is not None:
            found = find_records(self.graph, name.base, self._hint(block, name))
            line = self.sheet.steps[found.nodes[0]] if found.nodes else None
            name = name if name.row or not found.row else replace(name, row=found.row)
        if self.sheet is None or line is None or line.step is None:
            return
        user = f"{line.symbol}[{name.row}]" if name.row and not name.column else line.symbol
        for copy in copies_in(block, line, name, self.sheet):
            place = f"line {block.line}" if block.line else ""
            is_first = copy.is_line and copy.cells[0] not in [row for cells in self._page_rows for row in cells]
            yield _Statement(WrittenLine(copy.name, copy.cells, copy.where, place, "" if is_first else user))

    @cached_property
    def _page_rows(self) -> list[Cells]:
        """The results of all blocks of the page."""
        return [result for block in self.page.blocks if (result := _result_of(block)) is not None]

    def _note_sums(self, block: Block) -> None:
        """Note sums of numbers that do not give the result below them: only the result is marked."""
        sides = list(filter(None, map(_numbers_of, block.sides)))
        for numbers in sides[:-1]:
            if len(numbers) != len(sides[-1]) or all(map(holds, numbers, sides[-1])):
                continue
            sentence = f'only the result of "{block.name}" was marked, not {" ".join(numbers)}'
            self.notes.append(Note("read", sentence, f"line {block.line}", line=block.line))

    def with_operands(self, statements: Iterator[_Statement]) -> Iterator[WrittenLine]:
        """Yield the lines; those with operands in their names are placed by the scores that are written or right."""
        every = list(statements)
        self.written_rows = [entry.line.cells for entry in every]
        if self.sheet is None or not any(entry.exponents or entry.softmax for entry in every):
            yield from (entry.line for entry in every)
            return
        rows = SoftmaxRows(self.sheet, self._written(every))
        row: RowPlace | None = None  # of the last exponentials
        index = 0
        while index < len(every):
            entry = every[index]
            index += 1
            if entry.softmax:
                yield from self._softmax_row(entry, rows)
            elif len(entry.exponents) == 1:
                group = [entry]
                while index < len(every) and len(every[index].exponents) == 1:
                    group.append(every[index])
                    index += 1
                cells = rows.cells_of([member.exponents[0] for member in group])
                yield from self._exponentials(group, cells)
                found = {(cell.softmax, cell.row) for cell in cells if cell is not None}
                row = next((cell for cell in cells if cell is not None), None) if len(found) == 1 else None
            elif entry.exponents:
                sum_row = rows.row_of(entry.exponents)
                yield from self._in_row("sum", entry.line, sum_row)
            elif row is not None and word_key(entry.line.name) in _SUMS and _is_only(entry.line.cells):
                yield from self._in_row("sum", entry.line, row)
            else:
                yield entry.line

    def _written(self, statements: Sequence[_Statement]) -> dict[str, Array]:
        """Return the numbers of whole lines on the page by the ids of the sheet."""
        assert self.sheet is not None
        written: dict[str, Array] = {}
        for entry in statements:
            for line in self.sheet.steps:
                values = _values_of(entry.line.cells)
                is_own = symbol_key(line.symbol) == symbol_key(entry.line.name)
                if is_own and values is not None and values.shape == line.shape and not entry.line.copied_into:
                    written.setdefault(line.id, values)
        return written

    def _softmax_row(self, entry: _Statement, rows: SoftmaxRows) -> Iterator[WrittenLine]:
        """Yield the weights of `softmax(2, 7) = …` in their row, and its scores as a copy."""
        place = rows.row_of(entry.softmax)
        if place is None or self.sheet is None:
            self.notes.append(_unread(f"{_shown(entry.line)} (no row has these scores)", _line_number(entry.line)))
            return
        weights = self.sheet.steps[place.softmax]
        scores = self.sheet.by_id[scores_id(self.sheet, weights)]
        name = f"{weights.symbol}[{place.row + 1}]"
        if scores.step is not None:
            is_copy = any(entry.softmax == row for line in self.written_rows for row in line)
            own = f"{scores.symbol}[{place.row + 1}]"
            yield WrittenLine(own, (entry.softmax,), scores.where, entry.line.place, name if is_copy else "")
        yield replace(entry.line, name=name, where=weights.where)

    def _exponentials(self, group: Sequence[_Statement], cells: Sequence[RowPlace | None]) -> Iterator[WrittenLine]:
        """Yield exponentials as cells of their line: a complete row as one line, others by themselves."""
        assert self.sheet is not None
        for entry, cell in zip(group, cells, strict=True):
            if cell is None:
                self._side_calculation(f"e^({entry.exponents[0]})", entry.line.cells[-1][-1], _block_of(entry.line))
                continue
            i, j = (cell.column, cell.row) if self.sheet.layout == "columns" else (cell.row, cell.column)
            where = self.sheet.steps[cell.softmax].where
            yield replace(entry.line, name=f"exponentials[{i + 1}, {j + 1}]", where=where)

    def _in_row(self, name: str, line: WrittenLine, place: RowPlace | None) -> Iterator[WrittenLine]:
        if place is None or self.sheet is None:
            self.notes.append(_unread(f"{_shown(line)} (no row has these scores)", _line_number(line)))
            return
        yield replace(line, name=f"{name}[{place.row + 1}]", where=self.sheet.steps[place.softmax].where)

    def few_alike(self, lines: Iterator[WrittenLine]) -> Iterator[WrittenLine]:
        """Yield the lines without those that repeat a line again and again: each is compared several times."""
        same: Counter[tuple[Any, ...]] = Counter()
        alike: Counter[tuple[str, str, str]] = Counter()
        noted: set[str] = set()
        for line in lines:
            name = (line.name, line.where, line.copied_into)
            same[(*name, line.cells)] += 1
            alike[name] += 1
            is_same = same[(*name, line.cells)] > _MAX_SAME
            if not is_same and alike[name] <= _MAX_ALIKE:
                yield line
                continue
            most = f"{_MAX_SAME} times, with the same numbers" if is_same else f"{_MAX_ALIKE} times"
            sentence = f'"{line.name}" is written more than {most}. The others are not marked.'
            if sentence not in noted:
                noted.add(sentence)
                self.notes.append(Note("read" if is_same else "unplaced", sentence, line.place))


def _with_part_as_heading(block: Block) -> Block:
    """Return `cross: Q` as Q below the heading cross."""
    part, colon, name = block.name.rpartition(":")
    if not (colon and part.strip() and name.strip()):
        return block
    return replace(block, name=name.strip(), headings=(*block.headings, part.strip()))


def _with_whole_name(block: Block) -> Block:
    """Return `softmax(2, 7) = …` with the numbers of its left side in its name, where they say which row it is."""
    if block.name or len(block.sides) < 2 or block.sides[0].text.strip() == HOLE:
        return block
    name = block.sides[0].text
    for grid in block.sides[0].grids:
        name = name.replace(HOLE, f"({', '.join(cell for row in grid for cell in row)})", 1)
    return replace(block, name=name, sides=block.sides[1:])


def _result_of(block: Block) -> Cells | None:
    """Return the last matrix or number of a block; None if it is only a formula."""
    for side in reversed(block.sides):
        if len(side.grids) == 1 and side.text.strip() == HOLE:
            return side.grids[0]
        if not side.grids and side.text.strip() and not read_cell(side.text.strip()).problem:
            return ((side.text.strip(),),)
    return None


def _numbers_of(side: Side) -> list[str]:
    """Return the numbers of a side that has nothing else: one, or those of a matrix."""
    is_grid = len(side.grids) == 1 and side.text.strip() == HOLE
    numbers = [cell for row in side.grids[0] for cell in row] if is_grid else [side.text]
    return [] if any(read_cell(number).problem for number in numbers) else numbers


def _index_in(text: str, labels: Collection[str]) -> str:
    """Return the number or token of `row 2`, `token sun` and `2`; a label of the sheet, such as `word 1`, as it is."""
    words = text.strip().rstrip(":").translate(SUBSCRIPTS).split()
    is_row = len(words) == 2 and words[0].casefold() in ("row", "token", "word", "query", "position", "column")
    is_label = text.strip().casefold() in labels
    return words[1] if is_row and not is_label else " ".join(words)


def _has_shape(result: Cells, line: Line) -> bool:
    """Return whether a block has the shape of a line; a single row or column can be written either way."""
    shape = (len(result), max(map(len, result), default=0))
    is_vector = 1 in shape and 1 in line.shape
    return shape == line.shape or (is_vector and max(shape) == max(line.shape))


def _is_only(cells: Cells) -> bool:
    return len(cells) == 1 and len(cells[0]) == 1


def _values_of(cells: Cells) -> Array | None:
    """Return the numbers of a grid, nan where there is none; None if its rows differ in length."""
    if len({len(row) for row in cells}) != 1:
        return None
    return np.array([[read_cell(cell).value for cell in row] for row in cells], dtype=float)


def _is_same(values: Array, matrix: Any) -> bool:
    matrix = np.asarray(matrix)
    return values.shape == matrix.shape and bool(np.allclose(values, matrix, rtol=0.0, atol=1e-9))


def _is_close(result: Cells, truth: Array) -> bool:
    """Return whether most numbers are near those of a line, so that a block with its name is that line."""
    values = _values_of(result)
    if values is None or values.shape not in (truth.shape, truth.T.shape):
        return False
    right = truth if values.shape == truth.shape else truth.T
    with np.errstate(invalid="ignore"):
        return bool(np.mean(np.abs(values - right) <= 0.02 * np.maximum(1.0, np.abs(right))) > 0.5)


def _fits(block: Block, line: Line, result: Cells) -> bool:
    """Return whether a table has the rows and columns of a line in their order."""
    labels = {label.casefold() for label in (*line.rows, *line.columns)}
    if (len(result), max(map(len, result), default=0)) != line.shape:
        return False
    rows = [_index_in(label, labels).casefold() for label in block.rows]
    own = [label.casefold() for label in line.rows]
    numbers = [str(number + 1) for number in range(len(rows))]
    columns = [_index_in(label, labels).casefold() for label in block.columns]
    own_columns = [label.casefold() for label in line.columns]
    is_meant = any(column in labels or column.isdecimal() for column in columns)  # not words of the line above
    are_columns = not is_meant or columns in (own_columns, [str(number + 1) for number in range(len(columns))])
    return (not any(rows) or rows in (own, numbers)) and are_columns


def _shown(line: WrittenLine) -> str:
    return f"{line.name} = {' '.join(cell for row in line.cells for cell in row)}"[:100]


def _line_number(line: WrittenLine) -> int:
    number = line.place.removeprefix("line ")
    return int(number) if number.isdecimal() else 0


def _block_of(line: WrittenLine) -> Block:
    return Block(line.name, (), line=_line_number(line))
