"""Join statements into chains (a name and everything after its equals signs), and split chains into entries.

An entry is one matrix in one role: given, calculated, or copied as a factor into the line being calculated.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from clearhead.check.read.latex import Grid, is_plain_number
from clearhead.check.read.page_item import Equation, EquationSide, Item, PageHeading, Prose
from clearhead.check.read.symbol import Part, Symbol

_OPEN_PRODUCT = re.compile(r"▢\s*\)?\s*(?:×|X|x|\*|·)\s*$")
_MAX_SIDES = 400  # sides of one chain


@dataclass
class Chain:
    """A name and all of its sides; numbers without a name have no symbol. `caption` is the text above them."""

    symbol: Symbol | None
    line: int
    sides: list["Link"] = field(default_factory=list)
    labels: tuple[str, ...] = ()
    caption: str = ""
    where: str = ""
    raw_name: str = ""

    @property
    def has_grids(self) -> bool:
        """Whether the chain contains any matrix."""
        return any(link.side.grids for link in self.sides)

    @property
    def formula(self) -> str:
        """All words of its sides."""
        return " = ".join(link.side.text for link in self.sides)


@dataclass(frozen=True)
class Link:
    """One side of a chain, its line, and whether a new calculation starts there (after ⇒)."""

    side: EquationSide
    line: int
    is_anew: bool = False


@dataclass(frozen=True)
class Entry:
    """One matrix in its role; `row` counts from 1 (0: the entire matrix), `copied_into` names the line that uses it."""

    name: str
    part: Part | None
    grid: Grid
    line: int
    row: int = 0
    copied_into: str = ""
    where: str = ""
    labels: tuple[str, ...] = ()

    @property
    def is_given(self) -> bool:
        """Whether such numbers are given rather than calculated."""
        return Symbol(self.name, self.part).is_given


def join_chains(items: Iterable[Item]) -> list[PageHeading | Prose | Chain]:
    """Return headings and prose unchanged, and statements joined to the chain that they continue."""
    joined: list[PageHeading | Prose | Chain] = []
    last: Chain | None = None
    caption, where, is_apart = "", "", False
    for item in items:
        if not isinstance(item, Equation):
            is_strong = isinstance(item, PageHeading) and item.is_strong
            last = None if is_strong else last
            head = re.search(r"(?i)\bhead\s?(\d{1,2})\b", item.text)
            where = f"head {head[1]}" if head else ("" if is_strong else where)
            caption, is_apart = item.text, isinstance(item, PageHeading)
            joined.append(item)
            continue
        links = [Link(side, item.line, item.is_anew and number == 0) for number, side in enumerate(item.sides)]
        if last is None or item.symbol is not None or not _carries_on(item, last, is_apart=is_apart):
            last = Chain(item.symbol, item.line, [], item.labels, caption, where, item.raw_name)
            joined.append(last)
            is_apart = False
        _append(last, links)
    return joined


def _append(chain: Chain, links: list[Link]) -> None:
    for link in links:
        before = chain.sides[-1] if chain.sides else None
        if before and before.side.grids and _OPEN_PRODUCT.search(before.side.text) and link.side.grids:
            # A product that is split by a page break or a second display.
            text = f"{before.side.text} {link.side.text}"
            side = EquationSide(text, before.side.grids + link.side.grids, link.side.tail)
            chain.sides[-1] = replace(before, side=side)
        elif len(chain.sides) < _MAX_SIDES:
            chain.sides.append(link)


def _carries_on(item: Equation, last: Chain, *, is_apart: bool) -> bool:
    if item.raw_name == "=":
        return True
    if item.raw_name:  # [1, 2] + [3, 4] = … does not continue a chain
        return False
    tail = last.sides[-1].side if last.sides else None
    if tail and tail.grids and _OPEN_PRODUCT.search(tail.text):
        return True
    if is_apart:
        return False
    if last.symbol is not None and last.symbol.part is not None and not last.has_grids:
        return True
    return item.is_anew and last.symbol is not None and last.symbol.part == "weights"


_FACTORS: dict[str, tuple[str, str]] = {
    **{"Q": ("X", "W_Q"), "K": ("X", "W_K"), "V": ("X", "W_V")},
    **{"scores": ("Q", "K"), "scaled": ("Q", "K"), "output": ("A", "V")},
}
_OF_A_HEAD = ("Q", "K", "V", "scores", "scaled", "weights", "output")
_PART_OF: dict[str, Part] = {
    **{"X": "X", "Y": "Y", "W_Q": "W_Q", "W_K": "W_K", "W_V": "W_V", "Q": "Q", "K": "K", "V": "V", "A": "weights"},
    **{"s": "s", "h": "h"},
}


@dataclass
class ExerciseContext:
    """What is known about an exercise while its chains are split."""

    is_seq2seq: bool = False
    is_columns: bool = False
    is_cross: bool = False
    weights_name: str = "A"
    scores_name: str = "QKᵀ"
    num_rows: int = 0
    rows_seen: dict[str, int] = field(default_factory=dict)
    skipped: list[tuple[str, int]] = field(default_factory=list)  # (sentence, line) of numbers that were not matched
    renamed: list[tuple[str, int]] = field(default_factory=list)
    last_sum: Grid | None = None

    def skip(self, sentence: str, line: int) -> None:
        """Report numbers that were found but not matched."""
        self.skipped.append((sentence, line))


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
    if len(cells) > 1:
        shown = " ".join(cells[:8])[:80] + (" …" if len(cells) > 8 else "")
        context.skip(f"these numbers have no name: {shown}", chain.line)
    return []


class _ChainSplitter:
    """Split one named chain."""

    def __init__(self, chain: Chain, symbol: Symbol, context: ExerciseContext) -> None:
        self.chain, self.symbol, self.context = chain, symbol, context
        self.found: list[Entry] = []
        self.values: list[tuple[Grid, Link]] = []
        self.has_softmax = "softmax" in chain.formula.lower() and symbol.part == "output"
        self.weights_written = False
        self.has_product = False

    def entries(self) -> list[Entry]:
        for link in self.chain.sides:
            if link.is_anew:
                self._settle()
            self._side(link)
        self._settle()
        return self.found

    def _side(self, link: Link) -> None:
        side, text = link.side, link.side.text.lower()
        if not side.grids:
            return
        if side.value is not None:
            self.values.append((side.value, link))
        elif "+" in side.text and len(side.grids) > 1:
            self._terms(link)
        elif len(side.grids) == 2:
            self._product(link)
        elif len(side.grids) == 1 and "softmax" in text:
            part: Part = "scaled" if "√" in self.chain.formula else "scores"
            name = "QKᵀ/√d_k" if part == "scaled" else self.context.scores_name
            self._add(name, part, side.grids[0], link)
            self.weights_written = False
        elif len(side.grids) == 1 and self.symbol.name.startswith("W h") and "W" in side.text:
            self._copy(f"h[{self.symbol.row}]", "h", side.grids[0].as_row(), link, self.symbol.row)
        else:
            cells = side.grids[0].numbers
            shown = " ".join(cells[:8])[:80]
            self.context.skip(
                f"only the result of {self.symbol.name} is marked, not these intermediate numbers: {shown}", link.line
            )

    def _terms(self, link: Link) -> None:
        """Read a sum of vectors: copied states if each has a factor before it, otherwise unmarked products."""
        if re.search(r"\d\s*▢", link.side.text) and self.context.is_seq2seq:
            for number, grid in enumerate(link.side.grids, 1):
                self._copy(f"h[{number}]", "h", grid.as_row(), link, number)
        else:
            self.context.skip(f"only the sum of {self.symbol.name} is marked, not its terms", link.line)

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
            self.context.skip(f"only the result of {self.symbol.name} is marked, not its factors", link.line)
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
        if (
            not row
            and grid.height == 1
            and self.context.num_rows > 1
            and symbol.part in ("scores", "scaled", "weights", "output")
        ):
            row = self._row(link)
            name = f"{name}[{row}]"
        if row and grid.height > 1 and grid.width > 1 and symbol.part in _OF_A_HEAD and not self.context.is_seq2seq:
            # Q_2 with several rows is not a row of Q but the Q of head 2.
            where = self.chain.where or f"head {row}"
            self.found.append(Entry(name.partition("[")[0], symbol.part, grid, link.line, 0, "", where))
            return
        if symbol.part in ("scores", "scaled") and any("∞" in cell or "inf" in cell for cell in grid.numbers):
            name = (
                f"masked {name}"
                if name.startswith("E")
                else name.replace(symbol.name.partition("[")[0], "masked scores")
            )
        self._add(name, symbol.part, grid, link, row)

    def _row(self, link: Link) -> int:
        row_label = re.search(r"(\d{1,3})", link.side.tail)
        if row_label:
            row = int(row_label[1])
        else:
            # An unlabelled result before it is the previous row, unless this is the same sum with other digits.
            starts = sum(side.is_anew for side in self.chain.sides[: self.chain.sides.index(link) + 1])
            row = starts + (0 if self.chain.sides[0].is_anew else 1)
        return max(1, min(row, 999))
