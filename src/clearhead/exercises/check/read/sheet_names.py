"""The names of one sheet: which line a name, a heading or the numbers of a given mean on it."""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from clearhead.check.graph import Graph
from clearhead.check.grid import name_without_percent
from clearhead.check.line_words import LAST_WORDS, SUBSCRIPTS, WORDS, symbol_key, word_key
from clearhead.check.names import find_records, matches_place
from clearhead.check.working import Cells
from clearhead.exercises.check.read.cells import is_close, is_same, shape_of, values_of
from clearhead.exercises.check.read.names import Name, is_index, read_name
from clearhead.exercises.check.read.places import Places
from clearhead.exercises.sheet.build import sheet_of
from clearhead.exercises.sheet.sheet import SheetLine
from clearhead.worksheet.view import SheetView
from clearhead.worksheet.worksheet import Worksheet

_COUNTED_SYMBOL = re.compile(r"(.+?)[_ ]?\{?(\d{1,2})\}?")
_EXPLANATION = re.compile(r"\s*\([^()]*\)\s*$")
_OPERATOR = re.compile(r"[=+(/]")  # of a calculation, which is not the name of a line
_COUNTED = ("row", "token", "word", "query", "position", "column")


class SheetNames:
    """Reads names by the symbols and labels of a sheet; of an exercise that cannot be solved it knows only words."""

    def __init__(self, worksheet: Worksheet | None) -> None:
        self.sheet = None if worksheet is None else sheet_of(SheetView(worksheet))
        self.graph = None if worksheet is None else Graph(worksheet)
        self._places = None if self.sheet is None else Places(self.sheet)
        lines = () if self.sheet is None else self.sheet.lines
        self.labels = frozenset(
            label.strip("<>").casefold() for line in lines for label in (*line.rows, *line.columns) if label
        )
        self.symbols = frozenset(symbol_key(line.symbol) for line in lines)
        self._used: set[str] = set()  # ids of the lines that whole blocks were placed on

    def own_name(self, text: str) -> Name:
        """Read a name; one that is a symbol of the sheet, such as h₂, has no index."""
        plain = name_without_percent(text)
        name = self._plain_name(plain)
        return name if plain == text.strip() else replace(name, base=f"{name.base} (%)")

    def _plain_name(self, text: str) -> Name:
        if symbol_key(text) in self.symbols:
            return Name(text)
        name = read_name(text, self.labels)
        if name.row.isdecimal() and word_key(text) in WORDS and not self._has_row(name):
            return Name(text)  # sigma_2 is σ²
        is_selection = bool(name.row) and bool(self.lines_named(Name(name.base)))
        if is_selection or self.is_known(name.base) or name.base.endswith(" of"):  # softmax of 2.1, 0.4 is a question
            return name
        counted = _COUNTED_SYMBOL.fullmatch(text.strip())  # W h1 is row 1 of W h
        if counted and symbol_key(counted[1]) in self.symbols:
            return Name(counted[1], counted[2])
        if self.lines_named(Name(text)):  # head 2 Q
            return Name(text)
        inside = None if _OPERATOR.search(text) else self._words_in(text)
        return Name(inside) if inside else name

    def means_row(self, text: str) -> bool:
        """Return whether a name is only that of a row: a token of the exercise, or `row 2`."""
        index = self.index(text)
        is_row = index != text.strip() and index.isdecimal()
        return is_row or (index.casefold() in self.labels and symbol_key(text) not in self.symbols)

    def name_in(self, text: str) -> str | None:
        """Return the name of a line in a heading: all of it, what follows a colon, or else its longest known words."""
        for part in (text.partition("=")[0], text.rpartition(":")[2]):
            plain = name_without_percent(part.strip())
            name = _EXPLANATION.sub("", read_name(plain, self.labels).base)
            if name and self.is_known(name):
                return name if plain == part.strip() else f"{name} (%)"
        words = None if _OPERATOR.search(text) else self._words_in(text)
        is_divided = words is None and re.search(r"(?i)\bdivid|\bscal(?:e|ing)\b|\bgeteilt\b", text) is not None
        return "scaled scores" if is_divided else words

    def _words_in(self, text: str) -> str | None:
        """Return the longest words of a text that name a line, or else its last word if that is a symbol."""
        words = [word.strip(',;:.()"“”„‚‘’') for word in text.split()]
        runs = [words[start : start + count] for count in (3, 2, 1) for start in range(len(words) - count + 1)]
        name = next((run for run in (" ".join(run) for run in runs) if len(run) > 2 and self.is_known(run)), None)
        if name is None and words and symbol_key(words[-1]) in self.symbols:
            return words[-1]
        return name

    def is_known(self, name: str) -> bool:
        """Return whether a name is a symbol of the sheet or a word for a line."""
        key = word_key(name)
        return symbol_key(name) in self.symbols or key in WORDS or key in LAST_WORDS

    def lines_named(self, name: Name, where: str = "") -> tuple[SheetLine, ...]:
        """Return the calculated lines that a name can mean, the most likely first."""
        if self.graph is None or self.sheet is None:
            return ()
        nodes = find_records(self.graph, name_without_percent(name.base), where).nodes
        return tuple(self.sheet.steps[node] for node in nodes)

    def row_in(self, name: Name, where: str) -> str:
        """Return the row that is a part of a name, as in z2; an empty text if there is none."""
        return "" if self.graph is None else find_records(self.graph, name.base, where).row

    def is_given_symbol(self, name: str) -> bool:
        """Return whether a name is only that of a given."""
        key = symbol_key(read_name(name, self.labels).base)
        lines = () if self.sheet is None else self.sheet.lines
        steps = [line.step for line in lines if symbol_key(line.symbol) == key]
        return bool(steps) and not any(steps)

    def is_ambiguous_given(self, name: str) -> bool:
        """Return whether a name is that of a given that also means a calculated line, as h does."""
        base = name.partition("[")[0]
        is_given = self.sheet is not None and any(line.symbol == base for line in self.sheet.givens)
        return is_given and bool(self.lines_named(Name(base)))

    def is_only(self, line: SheetLine) -> bool:
        """Return whether no other line has the symbol of a line."""
        key = symbol_key(line.symbol)
        lines = () if self.sheet is None else self.sheet.lines
        return sum(symbol_key(other.symbol) == key for other in lines) == 1

    def _has_row(self, name: Name) -> bool:
        """Return whether some line with a name has the row that the name selects."""
        return any(max(line.shape) >= int(name.row) for line in self.lines_named(Name(name.base)))

    def hint(self, headings: Sequence[str], name: Name, cells: Cells = ()) -> str:
        """Return the headings that name a part of the model with such a line.

        The output after the heads is below the heading of the last head, but has another shape than a line of it.
        """
        if self._places is None:
            return ".".join(headings)
        hint = self._places.hint(headings)
        own = self.lines_named(name, hint) if hint else ()
        if len(cells) < 2 or name.row or any(_has_shape(cells, line) for line in own):
            return hint if own else ""
        is_elsewhere = any(_has_shape(cells, line) for line in self.lines_named(name))
        return "" if not own or is_elsewhere else hint

    def sheet_line(self, headings: Sequence[str], name: Name, result: Cells) -> SheetLine | None:
        """Return the line of the sheet that a block means, if its symbol and headings leave no doubt.

        Of several lines with one symbol in a section, such as a given P and a P that is looked up, the first that no
        block was placed on.
        """
        if self.sheet is None or self._places is None:
            return None
        key = symbol_key(name_without_percent(name.base))
        below = self._places.lines_below(headings)
        hint = "" if below else self._places.hint(headings)
        lines = below or [line for line in self.sheet.lines if matches_place(hint, line.where)]
        own = [line for line in lines if symbol_key(line.symbol) == key]
        if below and not own:  # lines without a section have no heading of their own
            own = [line for line in self.sheet.lines if symbol_key(line.symbol) == key and not line.section]
        if not name.row:
            own = [line for line in own if _has_shape(result, line)] or own
        if len(own) > 1 and below:
            free = [line for line in own if line.id not in self._used]
            own = (free or own)[:1]
        if len(own) != 1:
            return None
        if not name.row:
            self._used.add(own[0].id)
        return own[0]

    def index(self, text: str) -> str:
        """Return the number or token of `row 2`, `token sun` and `2`; a label of the sheet, as `word 1`, as it is."""
        if text.strip().casefold() in self.labels:
            return text.strip()
        words = text.strip().rstrip(":").translate(SUBSCRIPTS).split()
        return words[1] if len(words) == 2 and words[0].casefold() in _COUNTED else " ".join(words)

    def are_indices(self, texts: Collection[str]) -> bool:
        """Return whether all texts are names or numbers of rows or columns."""
        return all(is_index(self.index(text), self.labels) for text in texts if text)

    def is_given(self, line: SheetLine | None, name: Name, result: Cells) -> bool:
        """Return whether a block restates a given; one that has its name and other numbers is compared with it.

        Numbers of a whole given are that given under any name, unless they are also right for the line so named.
        """
        if line is not None and line.step is None:
            return self.repeats_given(result)
        steps = self.lines_named(name) if line is None else (line,)
        if not steps or name.base.endswith(" of"):
            return self.repeats_given(result)
        is_whole = len(result) > 1 and not name.row and self.repeats_given(result)
        return is_whole and not any(is_close(result, np.asarray(step.values)) for step in steps)

    def repeats_given(self, result: Cells) -> bool:
        """Return whether numbers are those of a matrix, or of one of its rows or columns."""
        values = values_of(result)
        if self.sheet is None or values is None or values.size < 2:
            return False
        for line in self.sheet.givens:
            matrix = np.asarray(line.values)
            if matrix.dtype.kind not in "biuf":
                continue
            if any(is_same(values, turned) for turned in (matrix, matrix.T)):
                return True
            if values.shape[0] == 1 and any(is_same(values, row[None]) for row in (*matrix, *matrix.T)):
                return True
        return False


def _has_shape(result: Cells, line: SheetLine) -> bool:
    """Return whether a block has the shape of a line; a single row or column can be written either way."""
    shape = shape_of(result)
    is_vector = 1 in shape and 1 in line.shape
    return shape == line.shape or (is_vector and max(shape) == max(line.shape))
