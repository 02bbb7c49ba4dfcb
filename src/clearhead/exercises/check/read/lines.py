"""Turn a page into the lines of a working: the second half of reading, which knows the sheet of the exercise.

The way of a block: its name is read, the part of the model comes from its headings, its last side is the result, the
sides before are copies of the lines that it is calculated from. A block without a name is placed by its labels or by
the words above it. Every number becomes a line or a note that says why not.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from clearhead.check.line_words import symbol_key
from clearhead.check.working import Cells, Note, WrittenLine
from clearhead.exercises.check.read.cells import (
    is_only,
    numbers_of,
    result_of,
    with_part_as_heading,
    with_whole_name,
)
from clearhead.exercises.check.read.copies import copies_in, has_copies
from clearhead.exercises.check.read.label_tables import is_label, labelled_rows, named_columns
from clearhead.exercises.check.read.names import Name
from clearhead.exercises.check.read.number import is_blank
from clearhead.exercises.check.read.operand_lines import OperandLines, PageStatement, unread
from clearhead.exercises.check.read.operands import powers_of, quotient_of, softmax_of
from clearhead.exercises.check.read.page import Page, PageBlock
from clearhead.exercises.check.read.prose import has_row
from clearhead.exercises.check.read.sheet_names import SheetNames
from clearhead.exercises.check.read.side_calculations import holds, is_calculation, is_setting, side_calculation
from clearhead.exercises.sheet.sheet import SheetLine
from clearhead.worksheet.worksheet import Worksheet

_MAX_SAME = 8  # writings of a line with the same numbers: more heads than anybody writes out
_MAX_ALIKE = 50  # writings of a line with other numbers


@dataclass(frozen=True)
class PageLines:
    """The lines of a working that a page has, and notes on what was not read."""

    lines: tuple[WrittenLine, ...]
    notes: tuple[Note, ...]


def lines_of(page: Page, worksheet: Worksheet | None) -> PageLines:
    """Return the lines of a page; without an exercise that can be solved as it stands, names stay as they are."""
    reader = _PageReader(page, SheetNames(worksheet))
    lines = tuple(reader.lines())
    unread_numbers = [unread(f"{entry.text[:100]} ({entry.reason})", entry.line) for entry in page.unread]
    remarks = [Note("read", remark) for remark in page.remarks]
    return PageLines(lines, (*remarks, *unread_numbers, *reader.notes))


class _PageReader:
    """Reads the blocks of one page in order."""

    def __init__(self, page: Page, names: SheetNames) -> None:
        self._page, self._names = page, names
        self.notes: list[Note] = []
        self._last_name = ""  # the matrix that rows without a name continue

    def lines(self) -> Iterator[WrittenLine]:
        """Yield the lines of the page."""
        statements = [statement for block in self._page.blocks for statement in self._statements(block)]
        has_operands = any(statement.has_operands for statement in statements)
        if self._names.sheet is None or not has_operands:
            return self._few_alike(statement.line for statement in statements)
        return self._few_alike(OperandLines(self._names.sheet, statements, self.notes).lines())

    def _statements(self, block: PageBlock) -> Iterator[PageStatement]:
        columns = list(named_columns(block, self._names))
        if columns:
            yield from (PageStatement(self._line(block, column.name, column.cells)) for column in columns)
        else:
            yield from self._block(with_whole_name(with_part_as_heading(block)))

    def _block(self, block: PageBlock) -> Iterator[PageStatement]:
        result, text = result_of(block), block.name.strip()
        if result is not None and all(is_blank(cell) for row in result for cell in row):
            return  # a line that was left open
        if result is None:
            name = self._name(text, block) if text else None
            copies = [] if name is None else list(self._copies(block, name, None))
            self._last_name = text if name is not None else ""
            yield from copies  # E = [ … ] [ … ], and the result in a statement of its own
            if not copies:
                self._note_lost_sides(block)
            return
        if block.copied_into:  # of a working file, which says everything itself
            yield PageStatement(self._line(block, Name(text), result))
            return
        exponents, softmax = powers_of(text), softmax_of(text)
        quotient = quotient_of(text)
        if quotient is not None:
            yield PageStatement(self._line(block, Name(text), result), quotient=quotient)
            return
        if exponents or softmax:
            self._note_sums(block)
            yield PageStatement(self._line(block, Name(text), result), tuple(exponents), tuple(softmax))
            return
        if is_only(result) and is_setting(text, result[0][0]) and symbol_key(text) not in self._names.symbols:
            return
        if is_only(result) and is_calculation(text):
            self.notes.append(side_calculation(text, result[0][0], block.line))
            return
        name = self._name(text, block)
        if name is None:
            self._nameless(block, result)
        else:
            yield from self._named(block, name, result)

    def _named(self, block: PageBlock, name: Name, result: Cells) -> Iterator[PageStatement]:
        """Yield a block with a name, and the copies in the sides before its result."""
        line = self._names.sheet_line(block.headings, name, result)
        if not self._names.means_row(block.name.strip()):
            self._last_name = ""
        if not self._page.is_working_file and self._names.is_given(line, name, result):
            return
        if any(block.rows) and self._names.are_indices(block.rows):
            for named in labelled_rows(block, name, result, line, self._names):
                yield PageStatement(self._line(block, named.name, named.cells, line))
            return
        yield from self._copies(block, name, line)
        yield PageStatement(self._line(block, name, self._full_rows(result, name, line, block), line))

    def _full_rows(self, result: Cells, name: Name, line: SheetLine | None, block: PageBlock) -> Cells:
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
                self.notes.append(unread(f"{shown} ({reason})", block.line))
        return tuple(rows)

    def _nameless(self, block: PageBlock, result: Cells) -> None:
        """Note numbers that no name says anything about, unless they repeat a given."""
        if self._names.repeats_given(result):
            return
        shown = " ".join(cell for row in result for cell in row)[:100]
        self.notes.append(unread(f"{shown} (no line is named here)", block.line))

    def _note_lost_sides(self, block: PageBlock) -> None:
        """Note numbers of a block whose last side is a formula."""
        for side in block.sides:
            if (side.grids and self._last_name != block.name) or has_row(side.text):
                cells = [cell for grid in side.grids for row in grid for cell in row]
                shown = " ".join(cells or [side.text])[:100]
                self.notes.append(unread(f"{shown} (the statement has no result)", block.line))
                return

    # ---- names ----

    def _name(self, text: str, block: PageBlock) -> Name | None:
        """Return the name of a block: its own, or that in the words and headings above it."""
        means_row = self._names.means_row(text)
        is_corner = any(block.rows) and is_label(text)
        if text and not is_corner and not means_row:
            return self._names.own_name(text)
        above = self._name_above(block)
        if above is None:
            return None
        if means_row:  # `sun: 0.4 0.6` below the name of a matrix
            self._last_name = above
            return Name(above, self._names.index(text))
        return self._names.own_name(above)

    def _name_above(self, block: PageBlock) -> str | None:
        """Return the name of a line in the words directly above a block, in its headings, or of the rows before it."""
        if block.above:
            return self._names.name_in(block.above)
        for heading in reversed(block.headings):
            name = self._names.name_in(heading)
            if name is not None:
                return name
        return self._last_name or None

    def _line(self, block: PageBlock, name: Name, cells: Cells, line: SheetLine | None = None) -> WrittenLine:
        """Return a line in the part of the model of its line on the sheet, or else that the headings name."""
        place = block.place or (f"line {block.line}" if block.line else "")
        if self._page.is_working_file:
            where = ".".join(block.headings)
        else:
            where = self._names.hint(block.headings, name, cells) if line is None else line.where
            # a cell of the scores can be one of the scaled scores: the numbers of all cells decide that
            is_open = bool(name.column) and not block.headings and line is not None and self._names.is_only(line)
            where = "" if is_open else where
        if "%" in block.name and "%" not in name.base:
            name = replace(name, base=f"{name.base} (%)")
        return WrittenLine(str(name), cells, where, place, block.copied_into)

    # ---- copies ----

    def _copies(self, block: PageBlock, name: Name, line: SheetLine | None) -> Iterator[PageStatement]:
        """Yield what the sides before the result copy from the lines above."""
        self._note_sums(block)
        if not any(map(has_copies, block.sides)):
            return
        if line is None:
            hint = self._names.hint(block.headings, name)
            line = next(iter(self._names.lines_named(name, hint)), None)
            name = name if name.row else replace(name, row=self._names.row_in(name, hint))
        if self._names.sheet is None or line is None or line.step is None:
            return
        user = f"{line.symbol}[{name.row}]" if name.row and not name.column else line.symbol
        for copy in copies_in(block, line, name, self._names.sheet):
            if self._names.is_ambiguous_given(copy.name):
                continue
            place = f"line {block.line}" if block.line else ""
            is_first = copy.is_line and copy.cells[0] not in self._page_rows
            yield PageStatement(WrittenLine(copy.name, copy.cells, copy.where, place, "" if is_first else user))

    @cached_property
    def _page_rows(self) -> frozenset[tuple[str, ...]]:
        """The rows of the results of all blocks of the page."""
        return frozenset(row for block in self._page.blocks for row in result_of(block) or ())

    def _note_sums(self, block: PageBlock) -> None:
        """Note sums of numbers that do not give the result below them: only the result is marked."""
        sides = list(filter(None, map(numbers_of, block.sides)))
        for numbers in sides[:-1]:
            if len(numbers) == len(sides[-1]) and not all(map(holds, numbers, sides[-1])):
                sentence = f'only the result of "{block.name}" was marked, not {" ".join(numbers)}'
                self.notes.append(Note("read", sentence, f"line {block.line}", line=block.line))

    def _few_alike(self, lines: Iterable[WrittenLine]) -> Iterator[WrittenLine]:
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
