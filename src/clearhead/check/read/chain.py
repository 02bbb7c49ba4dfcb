"""Join statements into chains: a name and everything after its equals signs."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from clearhead.check.read.latex import Grid
from clearhead.check.read.page_item import Equation, EquationSide, Item, PageHeading, Prose
from clearhead.check.read.symbol import Part, Symbol

_OPEN_PRODUCT = re.compile(r"▢\s*\)?\s*(?:×|X|x|\*|·)\s*$")
_JOINED_HEADS = re.compile(r"(?i)(?:concat|join|multi.?head)")
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
    columns: tuple[str, ...] = ()

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
        if _JOINED_HEADS.match(item.raw_name) or (item.symbol and _JOINED_HEADS.match(item.symbol.name)):
            where = ""  # the line after the heads, and those that follow it
        links = [Link(side, item.line, item.is_anew and number == 0) for number, side in enumerate(item.sides)]
        if last is None or item.symbol is not None or not _carries_on(item, last, is_apart=is_apart):
            last = Chain(item.symbol, item.line, [], item.labels, caption, where, item.raw_name, item.columns)
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


@dataclass
class ExerciseContext:
    """What is known about an exercise while its chains are split."""

    is_seq2seq: bool = False
    is_columns: bool = False
    is_cross: bool = False
    is_recurrent: bool = False  # with one pre-activation z in each time step
    is_gru: bool = False  # whose update gate is z
    weights_name: str = "A"
    scores_name: str = "QKᵀ"
    num_rows: int = 0
    num_values: int = 0  # rows of V, if V is given or written as a matrix
    rows_seen: dict[str, int] = field(default_factory=dict)
    skipped: list[tuple[str, int]] = field(default_factory=list)  # (sentence, line) of numbers that were not matched
    renamed: list[tuple[str, int]] = field(default_factory=list)
    last_sum: Grid | None = None
    has_problem: bool = False  # whether the problem is given separately
    givens: frozenset[tuple[float, ...]] = frozenset()  # its rows of numbers
    tokens: tuple[tuple[str, ...], ...] = ()  # the lists of tokens of a given problem
    token_rows: dict[str, int] = field(default_factory=dict)  # tokens in names such as q_sun, by first appearance

    def skip(self, sentence: str, line: int) -> None:
        """Report numbers that were found but not matched."""
        self.skipped.append((sentence, line))

    def token_row(self, name: str) -> int:
        """Return the number of the row that a name such as `Q[sun]` selects, in the order of first appearance."""
        token = name.partition("[")[2].partition(",")[0].strip("] ").casefold()
        return self.token_rows.setdefault(token, len(self.token_rows) + 1)

    def leave(self, sentence: str, line: int) -> None:
        """Report numbers that were understood and earn no marks of their own."""
        self.renamed.append((sentence, line))
