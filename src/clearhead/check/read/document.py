"""Read a document of notes or homework (Markdown, LaTeX, plain text or a scan) into headings and statements.

Nothing is calculated here: a statement is a name and the text after each of its equals signs.
"""

import re
from collections.abc import Mapping
from typing import Any

from clearhead.check.limits import MAX_DOCUMENT, MAX_DOCUMENT_LINE
from clearhead.check.read.cell_name import read_name, token_lists
from clearhead.check.read.display import displays
from clearhead.check.read.exponential import power_name
from clearhead.check.read.labelled_row import LabelledRow, captioned, labelled_rows, named_row
from clearhead.check.read.latex import (
    CLOSE_MARK,
    LINE_MARK,
    MARK,
    NUMBER,
    SPACE,
    Folder,
    Grid,
    TooDeepError,
    as_grid,
    is_number,
    split_numbers,
)
from clearhead.check.read.named_columns import named_columns
from clearhead.check.read.page_item import (
    DIMENSIONS,
    EQUALS,
    Document,
    Equation,
    EquationSide,
    Item,
    PageHeading,
    Prose,
    fold_bare_lists,
    part_inline,
    part_statements,
    read_side,
)
from clearhead.check.read.page_table import HEADING, NumberLines, as_table, joined_lines, table_cells
from clearhead.check.read.prose_number import given_rows, looks_like_calculation, restated_numbers
from clearhead.check.read.student_name import student_on_page
from clearhead.check.read.symbol import Symbol, plain, read_symbol
from clearhead.check.read.table_cells import cells_by_pair
from clearhead.check.working import Working
from clearhead.errors import ProblemError

_MAX_COLUMNS = 1000  # of a table
_MAX_BACK = 3  # items above a table in which its name is searched
_MAX_ATTEMPTS = 20  # lines of a block with pipes at which a table can start
_MAX_SIDES = 400  # sides of one statement
_RULER = re.compile(r"^\s{0,3}(?:X\s?[—–-]{1,30}\s?){1,4}X\s{0,3}$|^\s{0,3}(?:[-*_]\s{0,2}){3,80}$|^\s{0,3}={5,80}$")
_SCORE = re.compile(r"e\d{1,2}").fullmatch  # e1, a score, and not a power of e
_STRUCK = re.compile(r"~~([^~\n]{0,400})~~|\\(?:[xb]?cancel|sout|st)\s?\{((?:[^{}\n]|\{[^{}\n]{0,100}\}){0,400})\}")
_ASIDE = re.compile(
    r"(?:\\checkmark|✓|✔|∎|\bAns\b\.?|\\square|\\blacksquare|\\hfill|\\tag\{[^{}]{0,9}\}|\\label\{[^{}]{0,40}\}|\(\d\)$|\.{3,40}\s?(?:\(\d\))?)"
)
_PARTING = re.compile(r"\n|\\qquad|\\quad|\t|(\\Rightarrow(?![a-zA-Z])|⇒|\\implies(?![a-zA-Z]))")
_NAME_AFTER_VALUE = re.compile(
    rf"^(.*(?:{CLOSE_MARK}|(?:^|[\s=,(])[-−+]?[\d.]{{1,30}}))\s{{1,9}}([^\W\d]\w{{0,11}})\s{{0,3}}$", re.DOTALL
)
_SOFT_BREAK = re.compile(r"\n(?!\s{0,20}(?:&?\s?=|\\?[^\W\d][^=\n&]{0,30}&?=))")
_BEFORE_ROWS = re.compile(r"[=:]\s{0,9}(?:[-+−.\d][\d\s.,eE+\-−]{0,400})?$")  # Q =, or Q = 1 2
_MAX_COMMENT = 20_000  # characters; a longer one was never closed
_MEANS_NOTHING = re.compile(r"[\s\W_]{0,4000}")  # a line of dashes, dots or brackets
_SOFTMAX_OF = re.compile(r"(?i)(?:the )?softmax of ([-−+.\d][-−+.\d,;\s]{1,200}\d)")
_SOFTMAX_ROW = Symbol("softmax", "weights")
_TITLE_WORDS = re.compile(r"(?i)attention|encoder|decoder|seq2seq|transformer|positional")


def read_document(text: str, problem: Mapping[str, Any] | None = None, *, name: str = "") -> list[Working]:
    """Return a working for each exercise in a document, in order; with `problem`, one working for that problem."""
    from clearhead.check.read.exercise import read_exercises

    try:
        words = frozenset(word for tokens in token_lists(problem) for word in tokens)
        return read_exercises(scan_document(text, words, given_rows(problem)), problem, name)
    except ProblemError as wrong:
        raise (wrong.located(name) if name else wrong) from None


def scan_document(
    text: str, tokens: frozenset[str] = frozenset(), givens: frozenset[tuple[float, ...]] = frozenset()
) -> Document:
    """Return the headings, the prose and the statements of a document.

    `tokens` and `givens` are the words and the rows of numbers of the exercise, if they are known.
    """
    if len(text) > MAX_DOCUMENT:
        raise ProblemError(
            f"this document has {len(text):,} characters; the limit is {MAX_DOCUMENT:,}. "
            "Give only the pages with the exercises."
        )
    text = re.sub(r"\r\n?", "\n", text).replace("\ufeff", "")
    text = re.sub(r"[\ue000-\ue00f]", "�", text)
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > MAX_DOCUMENT_LINE:
            raise ProblemError(
                f"line {number} has {len(line):,} characters; the limit is {MAX_DOCUMENT_LINE:,}. "
                "Write a matrix on several lines."
            )
    text = _without_comments(text)
    reader = _Reader(tokens, givens)
    reader.document.student = student_on_page(text)
    for block in displays(text):
        if block.is_maths:
            reader.read_maths(block.text, block.line)
        else:
            reader.read_lines(block.text, block.line)
    return reader.document


def _without_comments(text: str) -> str:
    """Return the text without its comments, but with their line breaks."""
    # A regular expression would search for the end of a comment again after each beginning that has none.
    pieces, done = [], 0
    start, end = text.find("<!--"), 0
    while start >= 0 and (end := text.find("-->", start + 4)) >= 0:
        if end - start - 4 > _MAX_COMMENT:
            start = text.find("<!--", end - 4 - _MAX_COMMENT)
            continue
        pieces += [text[done:start], "\n" * text.count("\n", start, end)]
        done = end + 3
        start = text.find("<!--", done)
    return "".join([*pieces, text[done:]])


class _Reader:
    """Read blocks in order into a document."""

    def __init__(self, tokens: frozenset[str], givens: frozenset[tuple[float, ...]]) -> None:
        self.document = Document()
        self._tokens, self._givens = tokens, givens
        self._no_table_before = 0  # the lines before this one were read as a table without success,
        self._num_attempts = 0  # starting at this number of them

    def read_maths(self, text: str, line: int) -> None:
        """Read one display."""
        if not text.strip():
            return
        line += text[: len(text) - len(text.lstrip())].count("\n")
        # In maths a line break is a space, but some people start the next equation on a new line without \\.
        text = _SOFT_BREAK.sub(f" {LINE_MARK}", text.strip()).replace("\n", f"\n{LINE_MARK}")
        self._equations(text, line, is_maths=True)

    def read_lines(self, text: str, line: int) -> None:
        """Read the lines between displays."""
        lines = text.split("\n")
        numbers = NumberLines(lines)
        at = 0
        while at < len(lines):
            at += self._read_at(lines, at, line + at, numbers)

    def _read_at(self, lines: list[str], at: int, line: int, numbers: NumberLines) -> int:
        """Read the item that starts at a line, and return its number of lines."""
        raw = lines[at]
        if not raw.strip() or raw.lstrip().startswith("```"):
            return 1
        if _RULER.match(raw):
            self.document.add(PageHeading("", line, is_strong=True))
            return 1
        if _MEANS_NOTHING.fullmatch(raw):
            return 1
        if raw.count("|") >= 2 or "\t" in raw:
            num_lines = self._table(lines, at, line)
            if num_lines:
                return num_lines
        statement = named_row(raw, self._tokens)
        is_alone = statement and self._above() is None  # then the lines after it are not searched for more rows
        labelled = [] if is_alone else labelled_rows(lines, at, self._tokens)
        if labelled:
            self._labelled(labelled, line)
            return len(labelled)
        if statement:
            self._equations(statement, line, is_maths=False)
            return 1
        if HEADING.match(raw) and not NUMBER.fullmatch(raw.strip()) and len(split_numbers(raw)) < 2:
            self._heading(raw, line)
            if "=" not in raw:
                return 1
        text, num_lines = joined_lines(lines, at)
        if _BEFORE_ROWS.search(text[-500:]):
            rows = numbers.rows(at + num_lines)
            if rows and self._rows_after(text, rows, line):
                return num_lines + len(rows)
        own = numbers.rows(at)
        if len(own) > 1 or (own and self._is_name_above()):
            self._bare_grid(own, line)
            return len(own)
        self._equations(text, line, is_maths=False)
        return num_lines

    def _heading(self, raw: str, line: int) -> None:
        title = re.sub(r"^\s{0,3}#{1,6}\s{0,9}|\\(?:sub){0,2}(?:section|chapter|paragraph|title)\*?", "", raw)
        self.document.add(PageHeading(plain(title).strip(" {}*#"), line, is_strong=True))

    def _rows_after(self, text: str, rows: list[list[str]], line: int) -> bool:
        """Read `Q =` followed by lines that contain its rows."""
        head, _, first = text.replace("$", " ").rpartition("=" if "=" in text else ":")
        head = head.partition("=")[0] if read_name(head.partition("=")[0], self._tokens) else head  # R = X + Y =
        last = self.document.items[-1] if self.document.items else None
        is_continued = not head.strip() and isinstance(last, Equation) and last.symbol is not None  # H = XW, = 1 2
        symbol = read_name(head, self._tokens)
        if symbol is None or not symbol.is_line:
            symbol = captioned(head, self._tokens) or symbol
        if symbol is None and not is_continued:
            return False
        own = split_numbers(first) if first.strip() else []
        grid = as_grid([own, *rows] if own else rows)
        if grid is None:
            return False
        self.document.add(Equation(symbol, (EquationSide("▢", (grid,)),), line, head.strip() or "="))
        return True

    def _bare_grid(self, rows: list[list[str]], line: int) -> None:
        grid = as_grid(rows)
        if grid is None:
            shown = " ".join(cell for row in rows for cell in row)[:80]
            self.document.note("unreadable", f"these rows are not a matrix: {shown}", line)
            return
        self.document.add(Equation(self._caption(), (EquationSide("▢", (grid,)),), line))

    def _labelled(self, rows: list[LabelledRow], line: int) -> None:
        """Read rows with labels; the matrix that they belong to is named above them."""
        symbol, labels = self._caption(), tuple(row.label for row in rows)
        grid = Grid(tuple(row.cells for row in rows))
        raw_name = "" if symbol else f"{labels[0]}:"
        self.document.add(Equation(symbol, (EquationSide("▢", (grid,)),), line, raw_name, labels=labels))

    def _caption(self) -> Symbol | None:
        """Return the name that the lines above give to a table, and remove a line that is only a name."""
        above = self._above()
        if above is None:
            return None
        symbol, item = above
        is_name = isinstance(item, Prose) or (isinstance(item, Equation) and all(not side.text for side in item.sides))
        if is_name and item is self.document.items[-1]:
            self.document.items.pop()
        if isinstance(item, Prose | PageHeading) and symbol.name.casefold() not in item.text.casefold():
            shown = " ".join(item.text.split())[:60]
            self.document.note("read", f'the numbers under "{shown}" were read as the {symbol.name}', item.line)
        return symbol

    def _above(self) -> tuple[Symbol, Item] | None:
        """Return the name that one of the last items gives to the numbers below it, and that item."""
        items = self.document.items
        for back in range(1, min(_MAX_BACK, len(items)) + 1):
            last = items[-back]
            if isinstance(last, Equation):
                symbol = _statement_above(last, is_next=back == 1)
                return (symbol, last) if symbol is not None else None
            symbol = captioned(last.text, self._tokens) or _only_symbol(last.text)
            is_name = back == 1 and symbol is None and re.fullmatch(r"[A-Z]\w?['′]?\s?[:=]?", last.text.strip())
            symbol = read_symbol(last.text) if is_name else symbol
            if symbol is not None and (symbol.is_line or is_name):
                return symbol, last
            if isinstance(last, PageHeading):
                break
        return None

    def _is_name_above(self) -> bool:
        """Return whether the last item is nothing but the name of a line, or describes one."""
        last = self.document.items[-1] if self.document.items else None
        if not isinstance(last, Prose) or len(last.text.split()) > 3:
            return False
        return captioned(last.text, self._tokens) is not None

    def _table(self, lines: list[str], at: int, line: int) -> int:
        """Read a table with pipes or tabs, and return its number of lines (0 if it is not a table)."""
        parting = "\t" if "\t" in lines[at] else "|"
        is_hopeless = line < self._no_table_before and self._num_attempts >= _MAX_ATTEMPTS
        if parting == "|" and (is_hopeless or lines[at].count("|") > _MAX_COLUMNS):
            return 0
        end = at
        while end < len(lines) and lines[end].count(parting) >= (1 if parting == "\t" else 2) and end - at < 2000:
            end += 1
        rows = [table_cells(text_line, parting) for text_line in lines[at:end]]
        if self._cells(rows, line) or self._columns(rows, line):
            return end - at
        table = as_table(rows)
        if table is None:
            if parting == "|":
                is_same = line < self._no_table_before
                self._num_attempts = self._num_attempts + 1 if is_same else 1
                self._no_table_before = line + end - at
                return 0
            self._worded_table(rows, line)
            return end - at
        has_meaning = table.symbol is not None and table.symbol.part is not None
        symbol = table.symbol if has_meaning else self._caption() or table.symbol
        side = EquationSide("▢", (table.grid,))
        self.document.add(Equation(symbol, (side,), line, labels=table.labels, columns=table.columns))
        name = symbol.name if symbol else "the table"
        for stray in table.strays:
            fault = f"row {stray.row} of {name} has one number more than the other rows"
            self.document.note("unreadable", f"{fault}: {stray.text} at its end was ignored", line)
        return end - at

    def _cells(self, rows: list[list[str]], line: int) -> bool:
        """Read a table with one cell a row: q1·k2, its score and its weight."""
        rows = [row for row in rows if any(cell.strip(" :-") for cell in row)]
        cells = cells_by_pair(rows, self._tokens) if rows else []
        for cell in cells:
            side = EquationSide("▢", (Grid(((cell.text,),)),))
            self.document.add(Equation(cell.symbol, (side,), line + cell.row, cell.symbol.name))
        return bool(cells)

    def _columns(self, rows: list[list[str]], line: int) -> bool:
        """Read a table whose columns are lines: score, exp, weight."""
        above = self.document.items[-1] if self.document.items else None
        columns = named_columns(rows, self._tokens, above.text if isinstance(above, Prose | PageHeading) else "")
        for column in columns:
            side = EquationSide("▢", (Grid((column.cells,), is_list=True),))
            self.document.add(Equation(column.symbol, (side,), line, column.symbol.name))
        return bool(columns)

    def _worded_table(self, rows: list[list[str]], line: int) -> None:
        """Read a table of equations or words, each cell separately."""
        for offset, row in enumerate(rows):
            cells = [cell for cell in row if cell]
            if cells and all(re.fullmatch(r"[^\W\d][\w']{0,20}", cell) for cell in cells):
                self.document.add(Prose("\t".join(cells), line + offset))
                continue
            for cell in cells:
                self._equations(cell, line + offset, is_maths=False)

    def _equations(self, text: str, line: int, *, is_maths: bool) -> None:
        folder = Folder()
        try:
            text = self._without_struck(text, line)
            folded = folder.fold(text if is_maths or "\\begin" in text else text.replace("&", " and "))
        except TooDeepError:
            self.document.note("unreadable", "the brackets here are nested too deeply to be read", line)
            return
        if not is_maths:
            folded = part_inline(folded)
        folded = re.sub(r"\\sum\s{0,2}(?:[_^]\s{0,2}(?:\{[^{}]{0,40}\}|\w)){1,2}", r"\\sum ", folded)
        folded = fold_bare_lists(folded, folder)
        is_anew, start, offset = False, 0, 0
        for match in [*_PARTING.finditer(folded), None]:
            segment = folded[start : match.start() if match else len(folded)]
            if LINE_MARK in segment:
                bare = segment.lstrip(f" {LINE_MARK}")
                offset += segment.count(LINE_MARK, 0, len(segment) - len(bare))
                later, segment = bare.count(LINE_MARK), bare.replace(LINE_MARK, " ")
            else:
                later = 0
            for piece in part_statements(segment, is_maths=is_maths) if segment.strip() else ():
                is_anew = not self._piece(piece, folder, line + offset, is_maths=is_maths, is_anew=is_anew) and is_anew
            offset += later
            if match:
                start = match.end()
                is_anew = is_anew or match[1] is not None
                offset += match[0] == "\n" and not is_maths

    def _without_struck(self, text: str, line: int) -> str:
        struck = [next(filter(None, groups), "") for groups in _STRUCK.findall(text)]
        numbers = [plain(passage) for passage in struck if any(letter.isdigit() for letter in passage)]
        if numbers:
            shown = ", ".join(numbers[:4])[:80]
            self.document.note("read", f"struck out, so ignored: {shown}", line)
        return _STRUCK.sub(" ", text) if struck else text

    def _piece(self, piece: str, folder: Folder, line: int, *, is_maths: bool, is_anew: bool) -> bool:
        """Read one equation or a line of words; return whether anything was read."""
        piece = _ASIDE.sub(" ", piece).strip()
        if not piece.strip("{} ,") or DIMENSIONS.fullmatch(SPACE.sub(" ", piece)):
            return False
        parts = EQUALS.split(piece)
        if len(parts) == 1:
            return self._nameless(piece, folder, line, is_maths=is_maths, is_anew=is_anew)
        if len(parts) > _MAX_SIDES:
            self.document.note(
                "unreadable", f"one line contains {len(parts) - 1} equals signs, too many to be read", line
            )
            return False
        sides: list[EquationSide] = []
        head = parts[0]
        for number, part in enumerate(parts[1:], 1):
            after = None if is_maths or number == len(parts) - 1 else _NAME_AFTER_VALUE.match(part)
            if after and read_side(after[1], folder).value is not None:
                sides.append(read_side(after[1], folder))
                self._state(head, sides, folder, line, is_anew=is_anew)
                head, sides = after[2], []
            else:
                sides.append(read_side(part, folder))
        self._state(head, sides, folder, line, is_anew=is_anew)
        return True

    def _state(self, head: str, sides: list[EquationSide], folder: Folder, line: int, *, is_anew: bool) -> None:
        if MARK.search(head):  # [1, 2] + [3, 4] = [4, 6] has no name, or only a word before it
            symbol = _SOFTMAX_ROW if _is_softmax(head, folder) else None
            sides = [read_side(head, folder), *sides]
        elif _SOFTMAX_OF.fullmatch(plain(head)):
            scores = _SOFTMAX_OF.sub(r"\1", plain(head))
            symbol = Symbol(f"softmax({scores})", "weights")
        elif power_name(plain(head)):  # e^2 = 7.389
            symbol = Symbol(power_name(plain(head)))
        elif is_number(plain(head)) and not _SCORE(plain(head)):  # 2/2 = 1 is a sum without a name
            symbol = None
        else:
            symbol = read_name(head, self._tokens)
            if symbol is None and head.strip() and not any(side.grids for side in sides):
                self._prose(" = ".join([plain(head), *(side.text for side in sides)]), line)
                return
            if symbol is None and head.strip():
                self.document.add(Prose(plain(head)[:300], line))
        shown = plain(MARK.sub(" ▢ ", head)) or "="
        self.document.add(Equation(symbol, tuple(sides), line, shown, is_anew))

    def _nameless(self, piece: str, folder: Folder, line: int, *, is_maths: bool, is_anew: bool) -> bool:
        side = read_side(piece, folder)
        if side.grids and not (side.value and side.value.height * side.value.width == 1 and not is_maths):
            self.document.add(Equation(None, (side,), line, "", is_anew))
            return True
        text = plain(piece)
        if not text:
            return False
        bare = text.lstrip("→-–*• ").strip()
        is_title = len(bare.split()) <= 9 and _TITLE_WORDS.search(bare) is not None and not bare.endswith((".", ","))
        if is_title and not is_maths and not looks_like_calculation(bare):
            self.document.add(PageHeading(bare, line, is_strong=False))
        else:
            self._prose(text, line)
        return True

    def _prose(self, text: str, line: int) -> None:
        """Add words, and a note if they hold numbers that look like a part of the calculation."""
        restated = restated_numbers(text, self._givens)
        self.document.add(Prose(text.replace(restated, "")[:300] if restated else text[:300], line))
        if restated:
            self.document.note("read", f"these numbers are given, so they were not marked: {text[:100]}", line)
        elif looks_like_calculation(text) or self._is_token_with_number(text):
            self.document.note("unplaced", f"not marked, because no line is named here: {text[:100]}", line)

    def _is_token_with_number(self, text: str) -> bool:
        match = re.fullmatch(r"\W{0,3}(\w{1,20})\W{1,4}[-−+]?\d{1,9}\.?", text)
        return match is not None and match[1].casefold() in self._tokens


def _is_softmax(head: str, folder: Folder) -> bool:
    """Return whether the words before an equals sign are the softmax of a row: softmax(2, 7)."""
    return re.fullmatch(r"(?i).{0,20}\bsoftmax\s{0,2}(?:of\s)?\(?▢\)?", plain(MARK.sub("▢", head))) is not None


def _statement_above(last: Equation, *, is_next: bool) -> Symbol | None:
    """Return the symbol of `Q =`, of `S = Q Kᵀ`, or of rows with labels that are continued."""
    if last.symbol is None or any(side.grids for side in last.sides):
        return last.symbol if last.labels and not last.raw_name and is_next else None
    return last.symbol if last.symbol.part is not None or is_next else None


def _only_symbol(text: str) -> Symbol | None:
    """Return the one symbol among the words of a caption: `Let X be given`."""
    words = {word.strip("().,:*") for word in text.split()}
    symbols = [read_symbol(word) for word in sorted(words) if re.fullmatch(r"[A-Z]|W[_^]?\{?[QKVqkv]\}?", word)]
    named = [symbol for symbol in symbols if symbol is not None and symbol.part is not None]
    return named[0] if len(named) == 1 else None
