"""Split chains into entries: one matrix in one role, given, calculated, or copied as a factor into another line."""

import re
from collections.abc import Sequence

from clearhead.check.read.chain import Chain, Entry, ExerciseContext, Link
from clearhead.check.read.latex import Grid, is_number, is_plain_number, split_numbers
from clearhead.check.read.number import read_cell
from clearhead.check.read.prose_number import holds, is_setting, looks_like_calculation
from clearhead.check.read.row_labels import place_rows
from clearhead.check.read.symbol import Part, Symbol

_FACTORS: dict[str, tuple[str, str]] = {
    **{"Q": ("X", "W_Q"), "K": ("X", "W_K"), "V": ("X", "W_V")},
    **{"scores": ("Q", "K"), "scaled": ("Q", "K"), "output": ("A", "V")},
}
_OF_A_HEAD = ("Q", "K", "V", "scores", "scaled", "weights", "output")
_PART_OF: dict[str, Part] = {
    **{"X": "X", "Y": "Y", "W_Q": "W_Q", "W_K": "W_K", "W_V": "W_V", "Q": "Q", "K": "K", "V": "V", "A": "weights"},
    **{"s": "s", "h": "h"},
}
_FUNCTION = re.compile(r"([A-Za-z]{2,12})\s?\(\s?([-−+.\d][-−+.\d\s,;]{0,400}[.\d])\s?\)")
_WEIGHTED_SUM = re.compile(r"[\d.,]+ ?[·×*]? ?▢(?: ?\+ ?[\d.,]+ ?[·×*]? ?▢)+")


def split_chain(chain: Chain, context: ExerciseContext) -> list[Entry]:
    """Return the entries of a chain, in the order of the page."""
    symbol = chain.symbol
    if symbol is None:
        return _nameless(chain, context)
    if symbol.part == "weights" and _is_sum(chain, context):
        name = "a^t" if context.is_seq2seq else "Output"
        context.renamed.append((f"{symbol.name} is a weighted sum here, so it was read as the output", chain.line))
        symbol = Symbol(name, "output")
    if symbol.part == "weights" and symbol.row == 0:
        context.weights_name = symbol.name if len(symbol.name) <= 4 else "A"
    if symbol.part == "scores" and symbol.row == 0 and symbol.name != "QKᵀ":
        context.scores_name = symbol.name
    return _ChainSplitter(chain, symbol, context).entries()


def _is_sum(chain: Chain, context: ExerciseContext) -> bool:
    if "Σ" in chain.formula or re.search(r"\d\s*▢\s*\+", chain.formula):
        return True
    value = chain.sides[-1].side.value if chain.sides else None
    if value is None or context.last_sum is None:
        return False
    return value.as_row().cells == context.last_sum.as_row().cells


def _nameless(chain: Chain, context: ExerciseContext) -> list[Entry]:
    grids = [grid for link in chain.sides for grid in link.side.grids]
    value = chain.sides[-1].side.value if chain.sides else None
    if value is not None and (re.search(r"(?i)\bstate\b", chain.caption) or (value.is_nested and context.is_seq2seq)):
        joined = Grid((tuple(value.numbers),), is_list=True)
        return [Entry("state", None, joined, chain.line)]
    cells = [cell for grid in grids for cell in grid.numbers]
    shown = " ".join(cells[:8])[:80] + (" …" if len(cells) > 8 else "")
    if all(len(grid.numbers) == 1 for grid in grids):
        _side_calculation(chain, cells, context)
    elif tuple(read_cell(cell).value for cell in cells) in context.givens:
        context.leave(f"these numbers are given, so they were not marked: {shown}", chain.line)
    elif len(cells) > 1:
        context.skip(f"these numbers have no name: {shown}", chain.line)
    return []


def _side_calculation(chain: Chain, cells: list[str], context: ExerciseContext) -> None:
    """Report a sum without a name, such as 2/2 = 1, and whether it is right; settings such as d_k = 4 are no sums."""
    name = chain.raw_name.strip("= ")
    shown = " = ".join([*([name] if name else []), *cells])[:100]
    expressions = [*([name] if is_number(name) else []), *cells]
    is_right = holds(expressions)
    if is_right:
        context.leave(f"this side calculation is right, and it has no marks: {shown}", chain.line)
    elif is_right is False:
        context.skip(f"this side calculation is not right, and it was not marked: {shown}", chain.line)
    elif cells and not is_setting(name, cells[-1]):
        context.skip(f"these numbers have no name that is known, so they were not marked: {shown}", chain.line)


def _gives(sums: Grid, result: Grid) -> bool:
    """Return whether the sums `0.9 + 0.4` of a line give its result, number by number."""
    pairs = zip(sums.numbers, result.numbers, strict=False)
    return len(sums.numbers) == len(result.numbers) and all(holds(list(pair)) for pair in pairs)


class _ChainSplitter:
    """Split one named chain."""

    def __init__(self, chain: Chain, symbol: Symbol, context: ExerciseContext) -> None:
        self.chain, self.symbol, self.context = chain, symbol, context
        self.found: list[Entry] = []
        self.values: list[tuple[Grid, Link]] = []
        self.has_softmax = "softmax" in chain.formula.lower() and symbol.part == "output"
        self.weights_written = False
        self.has_product = False
        self.softmax_input: Grid | None = None

    def entries(self) -> list[Entry]:
        for link in self.chain.sides:
            if link.is_anew:
                self._settle()
            self._side(link)
        self._settle()
        if not self.chain.has_grids and looks_like_calculation(self.chain.formula):
            shown = f"{self.chain.raw_name} = {self.chain.formula}"[:100]
            self.context.skip(f"not marked, because it ends in no number or matrix: {shown}", self.chain.line)
        return self.found

    def _side(self, link: Link) -> None:
        side, text = link.side, link.side.text.lower()
        if not side.grids:
            return
        function = _FUNCTION.fullmatch(side.value.numbers[0]) if side.value and len(side.value.numbers) == 1 else None
        numbers = split_numbers(re.sub("[,;]", " ", function[2])) if function else []
        if function and len(numbers) > 1:
            self._function(function[1], numbers, link)
        elif side.value is not None:
            self.values.append((side.value, link))
        elif "+" in side.text and len(side.grids) > 1:
            self._terms(link)
        elif len(side.grids) == 2:
            self._product(link)
        elif len(side.grids) == 1 and "softmax" in text and self._is_row_of_softmax(side.grids[0]):
            self.softmax_input = side.grids[0]
        elif len(side.grids) == 1 and "softmax" in text:
            part: Part = "scaled" if "√" in self.chain.formula else "scores"
            name = "QKᵀ/√d_k" if part == "scaled" else self.context.scores_name
            self._add(name, part, side.grids[0], link)
            self.weights_written = False
        elif len(side.grids) == 1 and self.symbol.name.startswith("W h") and "W" in side.text:
            self._copy(f"h[{self.symbol.row}]", "h", side.grids[0].as_row(), link, self.symbol.row)
        else:
            self._leave_numbers(side.grids[0].numbers, link)

    def _function(self, name: str, numbers: Sequence[str], link: Link) -> None:
        """Read `h1 = tanh(0.6, 0.7)`: the pre-activation of a recurrent network, otherwise not marked."""
        state = re.fullmatch(r"h\[(\d{1,3})\]", self.symbol.name)
        if self.context.is_recurrent and state and name.lower() != "softmax":
            self._add(f"z[{state[1]}]", None, Grid((tuple(numbers),), is_list=True), link)
        else:
            self._leave_numbers(numbers, link)

    def _leave_numbers(self, cells: Sequence[str], link: Link) -> None:
        shown = " ".join(cells[:8])[:80]
        self.context.leave(
            f"only the result of {self.symbol.name} is marked, not these intermediate numbers: {shown}", link.line
        )

    def _is_row_of_softmax(self, grid: Grid) -> bool:
        """Return whether `softmax(2, 7)` is one row of the weights, whose place its scores show."""
        return grid.as_row().height == 1 and self.symbol.part == "weights" and not self.context.is_seq2seq

    def _terms(self, link: Link) -> None:
        """Read a sum of vectors: copied states if each has a factor before it, otherwise unmarked products."""
        if re.search(r"\d\s*▢", link.side.text) and self.context.is_seq2seq:
            for number, grid in enumerate(link.side.grids, 1):
                self._copy(f"h[{number}]", "h", grid.as_row(), link, number)
        elif self._is_weighted_sum(link):
            for number, grid in enumerate(link.side.grids, 1):
                self._copy(f"V[{number}]", "V", grid.as_row(), link, number)
        else:
            self.context.leave(f"only the sum of {self.symbol.name} is marked, not its terms", link.line)

    def _is_weighted_sum(self, link: Link) -> bool:
        """Return whether a side is `0.3·(1, 2) + 0.7·(3, 4)`, with a term for every row of V, which is known."""
        is_output = self.symbol.part == "output" and not self.context.is_columns
        has_all = len(link.side.grids) == self.context.num_values
        return is_output and has_all and _WEIGHTED_SUM.fullmatch(link.side.text.strip()) is not None

    def _product(self, link: Link) -> None:
        first, second = link.side.grids
        if self.context.is_seq2seq:
            if self.symbol.row and self.symbol.part == "scores":
                self._copy("s", "s", first.as_row(), link)
                name = "W h" if "W" in self.chain.formula else "h"
                self._copy(
                    f"{name}[{self.symbol.row}]", "h" if name == "h" else None, second.as_row(), link, self.symbol.row
                )
            return
        part = "scores" if "softmax" in link.side.text.lower() else self.symbol.part
        factors = _FACTORS.get(part or "")
        if factors is None:
            self.context.leave(f"only the result of {self.symbol.name} is marked, not its factors", link.line)
            return
        self.has_product = True
        names = tuple(reversed(factors)) if self.context.is_columns else factors
        into = self.symbol.name if part == self.symbol.part else self.context.scores_name
        if self.symbol.row and self.symbol.part in ("Q", "K", "V"):
            names = (
                (f"X[{self.symbol.row}]", names[1])
                if not self.context.is_columns
                else (names[0], f"X[{self.symbol.row}]")
            )
        for name, grid in zip(names, (first, second), strict=True):
            bare = name.partition("[")[0]
            if self.context.is_cross and bare == "X" and self.symbol.part == "Q":
                name, bare = name.replace("X", "Y"), "Y"
            row = self.symbol.row if "[" in name else 0
            turned = bare == "K" and part in ("scores", "scaled") and not self.context.is_columns
            shown = self.context.weights_name if bare == "A" else name
            self._copy(shown, _PART_OF[bare], grid.transposed() if turned else grid, link, row, into)

    def _copy(self, name: str, part: Part | None, grid: Grid, link: Link, row: int = 0, into: str = "") -> None:
        self.found.append(Entry(name, part, grid, link.line, row, into or self.symbol.name, self.chain.where))

    def _add(self, name: str, part: Part | None, grid: Grid, link: Link, row: int = 0) -> None:
        self.found.append(Entry(name, part, grid, link.line, row, "", self.chain.where, self.chain.labels))

    def _settle(self) -> None:
        """Keep the values of a finished sum: the last one, and of the earlier ones only complete matrices."""
        for number, (grid, link) in enumerate(self.values):
            is_last = number == len(self.values) - 1
            if is_last or all(is_plain_number(cell) or "\\frac" in cell for cell in grid.numbers):
                self._value(grid, link)
            elif not _gives(grid, self.values[-1][0]):
                self._leave_numbers(grid.numbers, link)
        self.values = []

    def _value(self, grid: Grid, link: Link) -> None:
        symbol = self.symbol
        if (
            self.has_softmax
            and not self.weights_written
            and any(entry.part in ("scaled", "scores") for entry in self.found)
        ):
            self.weights_written = True
            self._add(self.context.weights_name, "weights", grid, link)
            return
        if self.context.is_seq2seq and symbol.part != "W":
            grid = grid if symbol.part == "h" and not symbol.row else grid.as_row()
            if symbol.part == "output":
                self.context.last_sum = grid
        elif symbol.row and not self.context.is_columns:
            grid = grid.as_row()
        row = symbol.row
        name = symbol.name
        if self.softmax_input is not None:
            self._softmax_row(grid, link)
            return
        if self.context.has_problem and self.chain.labels and "[" not in name:
            self._labelled(grid, link)
            return
        if "[" in name and not row:  # Q[sun]
            row = self.context.token_row(name)
        if (
            not row
            and grid.height == 1
            and self.context.num_rows > 1
            and "[" not in name
            and symbol.part in ("scores", "scaled", "weights", "output")
        ):
            row = self._row(link)
            name = f"{name}[{row}]"
        if row and grid.height > 1 and grid.width > 1 and symbol.part in _OF_A_HEAD and not self.context.is_seq2seq:
            # Q_2 with several rows is not a row of Q but the Q of head 2, or of layer 2 where there are no heads.
            base, where = name.partition("[")[0], self.chain.where
            if self.context.has_problem and not where:
                self.found.append(Entry(f"{base}{row}", symbol.part, grid, link.line))
            else:
                self.found.append(Entry(base, symbol.part, grid, link.line, 0, "", where or f"head {row}"))
            return
        if symbol.part in ("scores", "scaled") and any("∞" in cell or "inf" in cell for cell in grid.numbers):
            name = (
                f"masked {name}"
                if name.startswith("E")
                else name.replace(symbol.name.partition("[")[0], "masked scores")
            )
        self._add(name, symbol.part, grid, link, row)

    def _softmax_row(self, grid: Grid, link: Link) -> None:
        """Add `softmax(2, 7) = (0.01, 0.99)`: its scores show the row, unless the name does."""
        scores = self.softmax_input.as_row() if self.softmax_input is not None else grid
        arguments = ", ".join(scores.numbers)
        place = self.symbol.name.partition("[")[1:] if "[" in self.symbol.name else ("", "")
        self._add(f"softmax({arguments}){''.join(place)}", "weights", grid.as_row(), link, self.symbol.row)

    def _labelled(self, grid: Grid, link: Link) -> None:
        """Add a table with labelled rows: the entire matrix, or each row by its label."""
        for placed in place_rows(grid.cells, self.chain.labels, self.chain.columns, self.context.tokens):
            name = f"{self.symbol.name}[{placed.row}]" if placed.row else self.symbol.name
            self._add(name, self.symbol.part, Grid(placed.cells), link, placed.number)

    def _row(self, link: Link) -> int:
        row_label = re.search(r"(\d{1,3})", link.side.tail)
        if row_label:
            row = int(row_label[1])
        else:
            # An unlabelled result before it is the previous row, unless this is the same sum with other digits.
            starts = sum(side.is_anew for side in self.chain.sides[: self.chain.sides.index(link) + 1])
            row = starts + (0 if self.chain.sides[0].is_anew else 1)
        return max(1, min(row, 999))
