"""Read CSV files and workbooks: each name with the numbers to its right or below it, or a table with labels."""

import csv
import io
import re
import warnings
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from clearhead.check.limits import MAX_TABLE_CELLS, MAX_UNPACKED_BYTES
from clearhead.errors import ProblemError, printable
from clearhead.exercises.check.read.grid import Grid, Grids, is_hole, without_holes
from clearhead.exercises.check.read.layout import TextLine, table_lines
from clearhead.exercises.check.read.number import visible
from clearhead.exercises.check.read.page import Page, Unread
from clearhead.exercises.check.read.text import read_text

_MAX_FILES, _MAX_ROWS, _MAX_FORMAT = 1_000, 20_000, 100
_KEYS = ("problem", "sheet", "student", "name", "title", "rounded", "decimal")
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
    """Return the blocks of the cells of one sheet: each region of filled cells is a table of its own."""
    fields: dict[str, Any] = {}
    grids = Grids()
    table = [[without_holes(visible(cell)).strip() for cell in row] for row in rows]
    for row in table:
        _take_fields(row, fields)
    texts: list[list[str]] = [[] for _ in table]
    for top, band in _bands(table):
        width = max(map(len, band))
        if width * len(band) > 4 * MAX_TABLE_CELLS:
            raise _too_many()
        columns = list(zip(*(row + [""] * (width - len(row)) for row in band), strict=True))
        for _, part in _bands(columns):
            lines = table_lines(list(zip(*part, strict=True)), top, grids)
            is_named = len(lines) == 2 and not any(map(is_hole, lines[0].text))
            if is_named and not next(grids.inside(lines[1].text), Grid(())).name:  # a name above its matrix
                lines = [TextLine(lines[0].number, f"{lines[0].text.rstrip(' =:')} = {lines[1].text}")]
            for line in lines:
                texts[line.number].append(line.text)
    page = read_text("\n".join(map("\f".join, texts)), grids, f"{sheet}, row".lstrip(", "))
    blocks = [replace(block, headings=(sheet, *block.headings)) if sheet else block for block in page.blocks]
    return replace(page, blocks=tuple(blocks), fields=fields)


def _take_fields(row: Row, fields: dict[str, Any]) -> None:
    """Take `problem, value` and `Name: Ada` out of a row."""
    for place, cell in enumerate(row):
        key, _, value = cell.partition(":")
        key = key.strip().lower()
        if key not in _KEYS:
            continue
        beside = row[place + 1 :]
        if not (value.strip() or (any(beside) and beside[0])):
            continue
        texts = [value.strip()] if value.strip() else beside[: beside.index("") if "" in beside else None]
        row[place : place + (1 if value.strip() else 1 + len(texts))] = [""] * (1 if value.strip() else 1 + len(texts))
        fields.setdefault("student" if key == "name" else key, " ".join(texts))


def _bands(rows: Sequence[Sequence[str]]) -> list[tuple[int, list[Any]]]:
    """Return the runs of rows that are not empty, each with the place of its first row."""
    bands: list[tuple[int, list[Any]]] = []
    is_new = True
    for number, row in enumerate(rows):
        if any(row) and is_new:
            bands.append((number, []))
        if any(row):
            bands[-1][1].append(row)
        is_new = not any(row)
    return bands


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
    for shown, row_formulas in zip(
        values.iter_rows(max_row=_MAX_ROWS + 1), formulas.iter_rows(max_row=_MAX_ROWS + 1), strict=True
    ):
        num_cells += len(shown) + 1
        if num_cells > 4 * MAX_TABLE_CELLS or len(rows) >= _MAX_ROWS:
            raise ProblemError(f"sheet '{name}' is too large. Give the lines of one working only.")
        rows.append([shown_text(cell.value, cell.number_format) if cell.value is not None else "" for cell in shown])
        for cell, formula in zip(shown, row_formulas, strict=True):
            if formula.data_type == "f" and cell.value is None:
                reason = f"cell {formula.coordinate} has a formula without a stored value. Open and save the workbook"
                empty.append(Unread(str(formula.value), reason, formula.row))
                rows[-1][formula.column - 1] = "?"
    page = read_rows(rows, name if len(values.parent.worksheets) > 1 else "")
    return Page(page.blocks, (*page.unread, *empty), page.fields)


def _check_archive(content: bytes) -> None:
    """Raise an error for a file that is not a workbook or unpacks to too much data, before unpacking it."""
    if content[:4] == b"\xd0\xcf\x11\xe0":
        raise ProblemError(
            "is an old or a password-protected Excel file. Save it as .xlsx without a password, or as CSV."
        )
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
            if any(
                "<!DOCTYPE" in archive.read(part).decode("latin-1")
                for part in parts
                if part.filename.endswith((".xml", ".rels"))
            ):
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
