"""Read CSV files and workbooks: each name with the numbers to its right or below it, or a table with labels."""

import csv
import io
import re
import warnings
import zipfile
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from clearhead.check.limits import MAX_TABLE_CELLS, MAX_UNPACKED_BYTES
from clearhead.check.read.number import visible
from clearhead.errors import ProblemError, printable
from clearhead.exercises.check.read.grid import Grid, counts, is_label, table_grid
from clearhead.exercises.check.read.page import Block, Page, Side, Unread

_MAX_FILES, _MAX_ROWS, _MAX_FORMAT = 1_000, 20_000, 100
_KEYS = ("problem", "sheet", "student", "name", "title", "rounded", "decimal")
_SIZE = re.compile(r"\s*\([0-9]+ × [0-9]+(?:, [a-z]+)?\)$")
_FORMAT = re.compile(r"[#,?0]*(?:\.([0#?]+))?(%|E[+-]0+)?").fullmatch
_NO_WORDS = re.compile(r'"[^"]*"|\\.|_.|\*.|\[[^\]]*\]')
Row = list[str]


def read_csv(text: str, suffix: str) -> Page:
    """Return the blocks of a text table; cells are separated by commas, semicolons or tabs."""
    lines = text.splitlines()
    commas, semicolons, tabs = (sum(mark in line for line in lines) for mark in ",;\t")
    delimiter = ";" if semicolons and 2 * semicolons >= commas else ","  # 0,5;0,7 contains both
    if suffix == ".tsv" or (tabs and 2 * tabs >= max(commas, semicolons)):
        delimiter = "\t"
    if text.count(delimiter) + text.count("\n") > 4 * MAX_TABLE_CELLS:
        raise _too_many()
    try:
        rows = [list(row) for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)]
    except csv.Error as wrong:
        raise ProblemError(f"is not a readable table: {wrong}. Save it as CSV in UTF-8.") from None
    if sum(bool(cell.strip()) for row in rows for cell in row) > MAX_TABLE_CELLS:
        raise _too_many()
    return read_rows(rows, "")


def _too_many() -> ProblemError:
    return ProblemError(f"contains more than {MAX_TABLE_CELLS:,} cells. Give the lines of one working only.")


def read_rows(rows: Sequence[Row], sheet: str) -> Page:
    """Return the blocks of the cells of one sheet."""
    fields: dict[str, Any] = {}
    table = [[visible(cell).strip() for cell in row] for row in rows]
    for row in table:
        _take_fields(row, fields)
    regions: list[tuple[int, list[Row]]] = []
    for start, band in _bands(table):
        columns = [list(column) for column in zip(*_padded(band), strict=True)]
        for _, part in _bands(columns):
            regions.append((start, [list(row) for row in zip(*part, strict=True)]))
    blocks: list[Block] = []
    unread: list[Unread] = []
    title = ""
    for start, region in regions:
        words = [cell for row in region for cell in row if cell]
        if len(words) == 1 and is_label(words[0]):  # a name above its matrix, or a heading
            title = words[0]
            continue
        found = _region(region, start, title, sheet)
        blocks += found
        title = ""
        if not found:
            unread += [
                Unread(", ".join(filter(None, row)), "it has no name", start + number + 1)
                for number, row in enumerate(region)
                if any(letter.isdigit() for cell in row for letter in cell)
            ]
    return Page(tuple(blocks), tuple(unread), fields)


def _take_fields(row: Row, fields: dict[str, Any]) -> None:
    """Take `problem, value` and `Name: Ada` out of a row."""
    for place, cell in enumerate(row):
        key, colon, value = cell.partition(":")
        key = key.strip().lower()
        beside = row[place + 1 :]
        if key not in _KEYS or not (value.strip() or (any(beside) and beside[0])):
            continue
        texts = [value.strip()] if value.strip() else beside[: beside.index("") if "" in beside else None]
        row[place : place + (1 if value.strip() else 1 + len(texts))] = [""] * (1 if value.strip() else 1 + len(texts))
        fields.setdefault("student" if key == "name" else key, " ".join(texts))


def _bands(rows: Sequence[Row]) -> list[tuple[int, list[Row]]]:
    """Return the runs of rows that are not empty, each with the place of its first row."""
    bands: list[tuple[int, list[Row]]] = []
    is_new = True
    for number, row in enumerate(rows):
        if any(row) and is_new:
            bands.append((number, []))
        if any(row):
            bands[-1][1].append(row)
        is_new = not any(row)
    return bands


def _padded(rows: list[Row]) -> list[Row]:
    width = max(map(len, rows))
    if width * len(rows) > 4 * MAX_TABLE_CELLS:
        raise _too_many()
    return [row + [""] * (width - len(row)) for row in rows]


def _region(rows: list[Row], start: int, title: str, sheet: str) -> list[Block]:
    """Return the blocks of cells that stand together: names with their rows, and tables with labels."""
    blocks: list[Block] = []
    part: list[Row] = []
    name, first = title, start
    for number, row in enumerate(rows):
        filled = [cell for cell in row if cell]
        is_name = len(filled) == 1 and is_label(filled[0]) and bool(row[0])
        if is_name and part or (part and _is_header(rows[number:]) and not _is_header([part[-1], row])):
            blocks += _blocks(part, name, first, sheet)
            part, name = [], ""
        if is_name:
            name = row[0]
            continue
        first = first if part else start + number
        part.append(row)
    return blocks + _blocks(part, name, first, sheet)


def _is_header(rows: Sequence[Row]) -> bool:
    """Return whether the first row has the labels of columns: words, or 1, 2, 3 … above rows that have labels."""
    corner, *labels = rows[0]
    labels = [label for label in labels if label]
    has_corner = (not corner or is_label(corner)) and len(rows) > 1 and bool(rows[1][0])
    return len(labels) > 0 and (all(map(is_label, labels)) or (has_corner and len(labels) > 1 and counts(labels)))


def _blocks(rows: list[Row], name: str, start: int, sheet: str) -> list[Block]:
    """Return the block of a table with labels, or a block for each name in the first column."""
    if not rows:
        return []
    if _is_header(rows) or name or not any(is_label(row[0]) for row in rows):
        grid = table_grid(rows)
        return [_block(name or grid.name, grid, start, sheet)] if grid.cells else []
    blocks: list[Block] = []
    split = next((place for place in range(1, len(rows[0])) if rows[0][place] and is_label(rows[0][place])), 0)
    if split:  # Q, 1, 2, K, 3, 4: two names side by side
        left = _blocks([row[:split] for row in rows], "", start, sheet)
        return left + _blocks([row[split:] for row in rows], "", start, sheet)
    matrix: list[Row] = []
    for number, row in enumerate([*rows, ["end"]]):
        if matrix and row[0] and is_label(row[0]):
            cells = table_grid([line[1:] for line in matrix], can_count=False).cells
            blocks += [_block(matrix[0][0], Grid(cells), start + number - len(matrix), sheet)] if cells else []
            matrix = []
        matrix.append(row)
    return blocks


def _block(name: str, grid: Grid, start: int, sheet: str) -> Block:
    place = f"{sheet}, row {start + 1}" if sheet else f"row {start + 1}"
    side = Side("▢", (grid.cells,))
    name = _SIZE.sub("", name).rstrip(" :=")
    return Block(name, (side,), grid.rows, grid.columns, (sheet,) if sheet else (), place=place, line=start + 1)


def read_workbook(content: bytes) -> Page:
    """Return the blocks of all sheets of a workbook; a formula counts by its stored value."""
    _check_archive(content)
    import openpyxl

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about unknown styles and extensions, which are not needed
            book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
            formulas = openpyxl.load_workbook(io.BytesIO(content), read_only=True, keep_links=False)
            pages = [_sheet(*sheets) for sheets in zip(book.worksheets, formulas.worksheets, strict=True)]
    except ProblemError:
        raise
    except Exception as wrong:  # a broken file can raise any error in the library
        raise ProblemError(
            f"is not a readable spreadsheet ({type(wrong).__name__}). Save it again as .xlsx, or as CSV."
        ) from None
    fields = {key: value for page in reversed(pages) for key, value in page.fields.items()}
    return Page(
        tuple(block for page in pages for block in page.blocks),
        tuple(unread for page in pages for unread in page.unread),
        fields,
    )


def _sheet(values: Any, formulas: Any) -> Page:
    rows: list[Row] = []
    empty: list[Unread] = []
    name = printable(values.title)
    num_cells = 0
    for sheet in (values, formulas):
        sheet.reset_dimensions()  # the size that the file declares may be wrong
    for shown, written in zip(values.iter_rows(max_row=_MAX_ROWS + 1), formulas.iter_rows(max_row=_MAX_ROWS + 1), strict=True):
        num_cells += len(shown) + 1
        if num_cells > 4 * MAX_TABLE_CELLS or len(rows) >= _MAX_ROWS:
            raise ProblemError(f"sheet '{name}' is too large. Give the lines of one working only.")
        rows.append([shown_text(cell.value, cell.number_format) if cell.value is not None else "" for cell in shown])
        for cell, formula in zip(shown, written, strict=True):
            if formula.data_type == "f" and cell.value is None:
                reason = f"cell {formula.coordinate} has a formula without a stored value. Open and save the workbook"
                empty.append(Unread(str(formula.value), reason, formula.row))
                rows[-1][formula.column - 1] = "?"
    page = read_rows(rows, name if len(values.parent.worksheets) > 1 else "")
    return Page(page.blocks, (*page.unread, *empty), page.fields)


def _check_archive(content: bytes) -> None:
    """Raise an error for a file that is not a workbook or unpacks to too much data, before unpacking it."""
    if content[:4] == b"\xd0\xcf\x11\xe0":
        raise ProblemError("is an old or a password-protected Excel file. Save it as .xlsx without a password, or as CSV.")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = archive.infolist()
            size = sum(part.file_size for part in parts)  # an upper bound on what is unpacked
            if size > MAX_UNPACKED_BYTES or len(parts) > _MAX_FILES:
                raise ProblemError(
                    f"unpacks to {size / 2**20:.0f} MiB in {len(parts)} parts; the limit is "
                    f"{MAX_UNPACKED_BYTES // 2**20} MiB in {_MAX_FILES} parts. Give only the sheet with the working."
                )
            if any(part.flag_bits & 1 for part in parts):
                raise ProblemError("is protected by a password. Save it without one.")
            if any("<!DOCTYPE" in archive.read(part).decode("latin-1") for part in parts if part.filename.endswith((".xml", ".rels"))):
                raise ProblemError("declares XML entities, which spreadsheets do not contain. Save it again as .xlsx.")
    except ProblemError:
        raise
    except Exception:  # a broken archive can raise any error in zipfile, zlib and struct
        raise ProblemError(
            "is not an .xlsx file, despite its name. Save it from the spreadsheet as .xlsx or CSV."
        ) from None


def shown_text(value: object, number_format: str = "General") -> str:
    """Return a cell as the spreadsheet displays it: 0.5 with the format 0.00 is 0.50."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if len(number_format) > _MAX_FORMAT:
        number_format = "General"
    match = _FORMAT(_NO_WORDS.sub("", number_format.split(";")[0]).strip())
    if match is None or not number_format or number_format == "General":
        return f"{value:.15g}"  # a spreadsheet stores fifteen digits; further digits are noise
    decimals, kind = match[1] or "", match[2] or ""
    if "#" in decimals or "?" in decimals:  # optional digits
        return f"{round(value, len(decimals)):.15g}"
    exact = Decimal(repr(value))
    if kind.startswith("E"):
        return f"{Context(prec=len(decimals) + 1, rounding=ROUND_HALF_UP).plus(exact):.{len(decimals)}e}"
    if abs(exact) >= Decimal("1e15"):
        return f"{value:.15g}"
    unit = Decimal(1).scaleb(-len(decimals))
    rounded = (exact * 100 if kind == "%" else exact).quantize(unit, ROUND_HALF_UP, Context(prec=300))
    return f"{rounded:f}{kind}"
