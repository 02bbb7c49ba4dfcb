"""Read pages that calculate attention token by token: Q, K and V are the weights, QL = Lets × Q is the query of "Lets".

Each such section becomes a separate self-attention or cross-attention, with the vectors of the page so far.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from clearhead.check.read.latex import Grid
from clearhead.check.read.page_item import Equation, Item, PageHeading, Prose
from clearhead.check.working import Cells, Note, Working, WrittenLine, line_note
from clearhead.errors import ProblemError

Row = tuple[str, ...]
_ROLE = re.compile(r"\b([QKV])([A-Za-z]{1,12})\s?=\s?(?:<)?([^\W\d_]{1,20}?)(?:>)?\s?[X×x*]\s?([QKV])(?![\w])")
_SCORE = re.compile(r"Q([A-Za-z]{1,12}?)\s?[xX×*·]\s?K([A-Za-z]{1,12})")
_SUM = re.compile(r"V([A-Za-z]{1,12}?)\s?[xX×*]\s?[\d.]")
_LONE_SCORE = re.compile(r"^([-−]?[\d.]{1,20})\s{1,3}softmax", re.IGNORECASE)


@dataclass(frozen=True)
class _Vector:
    letter: str  # Q, K or V
    suffix: str  # the letters of its token
    grid: Grid
    line: int


@dataclass(frozen=True)
class _Score:
    query: str
    key: str
    cell: str
    line: int


@dataclass(frozen=True)
class _WorkedRow:
    """A row of scores, weights or outputs; `query` is the letters of its token, or a number if there are none."""

    symbol: str  # E, A or Output
    query: str
    cells: Cells
    line: int
    copied_into: str = ""  # the symbol of the line in which it is a factor


@dataclass
class _Section:
    title: str
    line: int
    weights: dict[str, Grid] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)  # the letters after Q, K, V, and the word they mean
    queries: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    vectors: list["_Vector"] = field(default_factory=list)
    scores: list["_Score"] = field(default_factory=list)
    rows: list[_WorkedRow] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    inputs: dict[str, Row] = field(default_factory=dict)
    query_input: Row | None = None
    awaits: str = ""
    weight_rows: int = 0
    output_rows: int = 0

    @property
    def is_cross(self) -> bool:
        """Whether queries and keys come from different tokens."""
        is_apart = bool(self.queries) and bool(self.keys) and not set(self.queries) & set(self.keys)
        return is_apart and ("cross" in self.title.lower() or "attention" not in self.title.lower())

    def query_at(self, row: int) -> str:
        """Return the letters of the query of a row (from 0), or the row's number if there are fewer queries."""
        return self.queries[row] if row < len(self.queries) else str(row + 1)


@dataclass(frozen=True)
class TokenPages:
    """The workings of such sections, and the remaining items."""

    workings: tuple[Working, ...]
    rest: list[Item]


def read_token_pages(items: Sequence[Item]) -> TokenPages:
    """Extract the sections that calculate token by token from a document."""
    if sum(len(_ROLE.findall(_spelled(item))) for item in items if isinstance(item, Equation)) < 3:
        return TokenPages((), list(items))
    spelled = [_spelled(item) for item in items if isinstance(item, Equation)]
    reader = _Reader({word.lower() for text in spelled for _, _, word, _ in _ROLE.findall(text)})
    rest = [item for item in items if not reader.read(item)]
    return TokenPages(tuple(_working(section) for section in reader.sections if section.weights), rest)


def _spelled(item: Equation) -> str:
    return " = ".join([item.raw_name, *(side.text for side in item.sides)])[:2000]


class _Reader:
    """Read the items section by section, with each token's latest vector."""

    def __init__(self, words: set[str]) -> None:
        self.words = words  # the tokens that occur in a formula
        self.sections: list[_Section] = []
        self.entered: dict[str, Row] = {}  # the vectors that go into self-attention
        self.latest: dict[str, Row] = {}
        self.pending: list[Note] = []
        self.header: list[str] = []
        self.header_rows: list[tuple[bool, list[Row]]] = []
        self.title, self.line = "", 1

    def read(self, item: Item) -> bool:
        """Read one item; return whether it belongs to a section."""
        if isinstance(item, PageHeading):
            self.title, self.line = item.text, item.line
            if self.sections:
                self.sections[-1].awaits = ""
            return bool(self.sections)
        if isinstance(item, Prose):
            return self._prose(item)
        return self._statement(item)

    def _prose(self, item: Prose) -> bool:
        words = item.text.split("\t")
        if len(words) > 1 and self.words & {word.lower() for word in words}:
            self.header, self.header_rows = words, []
            return True
        if self.sections and _SUM.search(item.text):
            self.sections[-1].awaits = "output"
        return bool(self.sections)

    def _statement(self, item: Equation) -> bool:
        symbol, value = item.symbol, item.sides[-1].value if item.sides else None
        if symbol and symbol.name in ("Q", "K", "V") and value is not None:
            if not self.sections or symbol.name in self.sections[-1].weights:
                self.sections.append(self._section())
            self.sections[-1].weights[symbol.name] = value
            return True
        roles = _ROLE.findall(_spelled(item))
        if roles and self.sections:
            self._roles(roles)
            return True
        if not self.sections:
            return self._header_vectors(item)
        return self._worked(item, self.sections[-1])

    def _section(self) -> _Section:
        is_cross = "cross" in self.title.lower()
        section = _Section(self.title, self.line, inputs=dict(self.latest if is_cross else self.entered))
        section.notes += self.pending
        self.pending = []
        return section

    def _roles(self, roles: list[tuple[str, str, str, str]]) -> None:
        section = self.sections[-1]
        for letter, suffix, word, weights in roles:
            if letter == weights:
                section.tokens[suffix] = word
                ordered = section.queries if letter == "Q" else section.keys
                if suffix not in ordered:
                    ordered.append(suffix)

    def _header_vectors(self, item: Equation) -> bool:
        """Read vectors under a header of words: the embeddings, the vectors added to them, and the sums."""
        grids = [side.value or (side.grids[0] if len(side.grids) == 1 else None) for side in item.sides]
        if not self.header or len(item.sides) != 1 or grids[0] is None:
            return False
        is_added = item.sides[0].text.lstrip().startswith("+")
        if not self.header_rows or len(self.header_rows[-1][1]) == len(self.header):
            self.header_rows.append((is_added, []))
        self.header_rows[-1][1].append(grids[0].cells[0])
        if len(self.header_rows[-1][1]) == len(self.header) and not is_added:
            self.entered |= {word.lower(): row for word, row in zip(self.header, self.header_rows[-1][1], strict=True)}
            self.latest |= self.entered
        return True

    def _worked(self, item: Equation, section: _Section) -> bool:
        symbol, sides = item.symbol, item.sides
        value = sides[-1].value if sides else None
        spelled = _spelled(item)
        score = _SCORE.fullmatch(symbol.name) if symbol else None
        is_vector = symbol is not None and not score and re.fullmatch(r"[QKV][A-Za-z]{1,12}", symbol.name) is not None
        if symbol and is_vector and value is not None and len(sides) == 1:
            section.vectors.append(_Vector(symbol.name[0], symbol.name[1:], value, item.line))
            return True
        if score and sides:
            lone = _LONE_SCORE.match(sides[0].text)
            cell = lone[1] if lone else (value.numbers[0] if value is not None and len(value.numbers) == 1 else "")
            if cell:
                section.scores.append(_Score(score[1], score[2], cell, item.line))
            if lone and value is not None:
                self._weights(section, value, item.line)
            return True
        if "softmax" in spelled.lower() and any(side.grids for side in sides):
            self._softmax(item, section)
            return True
        if value is not None and symbol is None and len(sides) == 1:
            return self._alone(value, section, item.line)
        if len(sides) == 1 and _SUM.search(spelled) and len(sides[0].grids) == 1:
            self._output(section, sides[0].grids[0], item.line)
            return True
        return self._sum(item, section)

    def _softmax(self, item: Equation, section: _Section) -> None:
        grids = [grid for side in item.sides for grid in side.grids]
        if re.search(r"(?i)softmax\s?\(?\s?▢", _spelled(item)) and len(grids[0].numbers) > 1:
            query = section.query_at(section.weight_rows)
            section.rows.append(_WorkedRow("E", query, grids[0].cells, item.line, copied_into="A"))
        if len(grids) > 1 or not re.search(r"(?i)softmax\s?▢", _spelled(item)):
            self._weights(section, grids[-1], item.line)
        else:
            section.awaits = "weights"

    def _weights(self, section: _Section, grid: Grid, line: int) -> None:
        section.rows.append(_WorkedRow("A", section.query_at(section.weight_rows), grid.cells, line))
        section.weight_rows += 1
        section.awaits = ""

    def _output(self, section: _Section, grid: Grid, line: int) -> None:
        section.rows.append(_WorkedRow("Output", section.query_at(section.output_rows), grid.cells, line))
        section.output_rows += 1
        section.awaits = ""

    def _alone(self, value: Grid, section: _Section, line: int) -> bool:
        if section.awaits == "weights":
            self._weights(section, value, line)
        elif section.awaits == "output":
            self._output(section, value, line)
        else:
            sentence = f"these numbers have no name: {' '.join(value.numbers)[:80]}"
            section.notes.append(line_note("unplaced", sentence, line))
        return True

    def _sum(self, item: Equation, section: _Section) -> bool:
        """Read an added residual or position: it updates a token's vector and is not part of the attention."""
        grids = [grid for side in item.sides for grid in side.grids]
        rows = [grid.cells[0] for grid in grids]
        text = item.sides[0].text if item.sides else ""
        word = re.search(r"([^\W\d_]{2,20})\s?▢", text)
        if "position" in text.lower() and word and len(rows) == 3:
            self.latest[word[1].lower()] = self.entered[word[1].lower()] = rows[-1]
            sentence = f"{word[1]} with its position is {' '.join(rows[-1])[:80]}; this sum is not marked"
            self.pending.append(line_note("read", sentence, item.line))
            return True
        if len(item.sides) == 2 and len(rows) >= 2:
            token = section.tokens.get(section.queries[0], "") if section.queries else ""
            section.query_input = rows[0]
            self.latest[token.lower()] = rows[-1]
        elif (
            len(item.sides) == 1
            and len(rows) == len(section.queries) > 1
            and "+" not in text
            and "from" not in text.lower()
        ):
            words = [section.tokens[suffix].lower() for suffix in section.queries]
            self.latest |= dict(zip(words, rows, strict=True))
        if rows:
            shown = " ".join(cell for row in rows for cell in row)[:80]
            sentence = f"this sum with the token's own vector is not part of the attention and is not marked: {shown}"
            section.notes.append(line_note("unplaced", sentence, item.line))
        return bool(rows)


def _working(section: _Section) -> Working:
    notes = list(section.notes)
    data = _problem(section, notes)
    query_rows = {suffix: number for number, suffix in enumerate(_order(section, "Q"), 1)}
    key_rows = {suffix: number for number, suffix in enumerate(_order(section, "K"), 1)}
    entries: list[tuple[int, WrittenLine]] = []  # each with its line in the document
    width = len(data["W_Q"][0]) if data else 0
    for vector in section.vectors:
        row = (query_rows if vector.letter == "Q" else key_rows).get(vector.suffix)
        spelled = f"{vector.letter}{vector.suffix}"
        cells = _repaired(spelled, vector.grid, width, notes, vector.line)
        name = f"{vector.letter}[{row}]" if row else spelled
        entries.append((vector.line, WrittenLine(name, cells, place=f"line {vector.line}")))
    entries += _scores(section, query_rows, key_rows)
    for worked in section.rows:
        number = query_rows.get(worked.query, worked.query)
        into = f"{worked.copied_into}[{number}]" if worked.copied_into else ""
        line = WrittenLine(f"{worked.symbol}[{number}]", worked.cells, place=f"line {worked.line}", copied_into=into)
        entries.append((worked.line, line))
    lines = tuple(line for _, line in sorted(entries, key=lambda entry: entry[0]))
    rounded = ("W_Q", "W_K", "W_V") if data and _are_shortened(data) else ()
    if rounded:
        sentence = "the weights have one decimal and the vectors have more, so the weights are treated as rounded"
        notes.append(Note("convention", sentence))
    notes.sort(key=lambda note: note.line)
    return Working(data, lines, section.title, rounded=rounded, notes=tuple(notes))


def _are_shortened(data: dict[str, Any]) -> bool:
    weights = [cell for letter in "QKV" for row in data[f"W_{letter}"] for cell in row]
    vectors = [cell for row in data["X"] for cell in row]
    return all(len(cell.partition(".")[2]) == 1 for cell in weights) and any(
        len(cell.partition(".")[2]) > 1 for cell in vectors
    )


def _scores(section: _Section, query_rows: dict[str, int], key_rows: dict[str, int]) -> list[tuple[int, WrittenLine]]:
    """Return the single scores as one matrix, blank where none was written; a repeated score is a separate line.

    Each line comes with its line number in the document.
    """
    cells = [["" for _ in key_rows] for _ in query_rows]
    others: list[tuple[int, WrittenLine]] = []
    for score in section.scores:
        row, column = query_rows.get(score.query, 0), key_rows.get(score.key, 0)
        if row and column and not cells[row - 1][column - 1]:
            cells[row - 1][column - 1] = score.cell
        else:
            name = f"E[{row or score.query}, {column or score.key}]"
            others.append((score.line, WrittenLine(name, ((score.cell,),), place=f"line {score.line}")))
    if not any(cell for row in cells for cell in row):
        return others
    first = section.scores[0].line
    return [(first, WrittenLine("E", tuple(map(tuple, cells)), place=f"line {first}")), *others]


def _order(section: _Section, letter: str) -> list[str]:
    """Return the tokens of the queries or the keys; in self-attention both have the same order."""
    if section.is_cross:
        return section.queries if letter == "Q" else section.keys
    return section.keys + [suffix for suffix in section.queries if suffix not in section.keys]


def _repaired(name: str, grid: Grid, width: int, notes: list[Note], line: int) -> tuple[Row, ...]:
    """Read 1, 2, 1, 0 as 1.2, 1.0 if two numbers are expected and there are four integers."""
    row = grid.cells[0]
    if (
        width
        and grid.height == 1
        and len(row) == 2 * width
        and all(re.fullmatch(r"[-−]?\d{1,6}", cell) for cell in row)
    ):
        mended = tuple(f"{integer}.{decimals}" for integer, decimals in zip(row[::2], row[1::2], strict=True))
        sentence = f"{', '.join(row)} in {name} was read as {', '.join(mended)}, because it has {width} numbers"
        notes.append(line_note("read", sentence, line))
        return (mended,)
    return grid.cells


def _problem(section: _Section, notes: list[Note]) -> dict[str, Any]:
    data: dict[str, Any] = {"kind": "cross-attention" if section.is_cross else "self-attention"}
    if section.title:
        data["title"] = section.title
    queries = [section.tokens[suffix] for suffix in _order(section, "Q")]
    keys = [section.tokens[suffix] for suffix in _order(section, "K")]
    own = {word.lower(): row for word, row in section.inputs.items()}
    if section.is_cross and section.query_input and len(queries) == 1:
        own[queries[0].lower()] = section.query_input
    missing = [word for word in dict.fromkeys([*queries, *keys]) if word.lower() not in own]
    if missing or set(section.weights) != set("QKV"):
        lost = ", ".join(
            [
                *(f"the vector of {word}" for word in missing),
                *(f"W_{letter}" for letter in "QKV" if letter not in section.weights),
            ]
        )
        notes.append(
            Note(
                "warning",
                f"the problem could not be determined from this page: {lost} not found. Give the problem separately",
            )
        )
        return {}
    if section.is_cross:
        data |= {"Y": [list(own[word.lower()]) for word in queries], "tokens": queries, "source_tokens": keys}
    else:
        data["tokens"] = keys
    data["X"] = [list(own[word.lower()]) for word in keys]
    width = len(data["X"][0])
    for letter in "QKV":
        data[f"W_{letter}"] = _weights(letter, section.weights[letter], width, notes, section.line)
    if _has_bare_softmax(section):
        data["scale"] = "none"
        notes.append(Note("read", "the softmax is applied to the products directly, so the scores are not scaled"))
    return data if _is_sound(data, notes) else {}


def _has_bare_softmax(section: _Section) -> bool:
    """Return whether the page applies the softmax to unscaled scores, apart from a sign or a digit."""
    scores = {score.cell.lstrip("-−") for score in section.scores}
    exponents = [cell.lstrip("-−") for row in section.rows if row.symbol == "E" for cell in row.cells[0]]
    return len(exponents) > 1 and sum(cell in scores for cell in exponents) * 2 > len(exponents)


def _weights(letter: str, grid: Grid, width: int, notes: list[Note], line: int) -> list[list[str]]:
    """Return the weights; numbers in one row are split into one row for each dimension of the vectors."""
    row = grid.cells[0]
    if grid.height == 1 and width > 1 and len(row) > width and len(row) % width == 0:
        columns = len(row) // width
        sentence = f"the {len(row)} numbers of W_{letter} were read as {width} rows of {columns}"
        notes.append(line_note("read", sentence, line))
        return [list(row[start : start + columns]) for start in range(0, len(row), columns)]
    return [list(cells) for cells in grid.cells]


def _is_sound(data: dict[str, Any], notes: list[Note]) -> bool:
    from clearhead.worksheet.reading import parse_problem

    try:
        parse_problem(data)
    except ProblemError as wrong:
        notes.append(
            Note(
                "warning",
                f"the problem could not be determined from this page: {wrong.mistakes[0]} Give the problem separately",
            )
        )
        return False
    return True
