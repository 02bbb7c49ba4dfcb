"""Read workings from spreadsheets: the cells as displayed, within limits. Formulas are never evaluated."""

import io
import re
import warnings
import zipfile
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from clearhead.check.limits import MAX_TABLE_CELLS, MAX_UNPACKED_BYTES
from clearhead.check.read.table import Place, WorkingTable, read_grid
from clearhead.check.working import Note
from clearhead.errors import ProblemError, printable

_MAX_FILES = 2000  # files in the archive
_MAX_ROWS = 2**16
_NO_WORDS = re.compile(r'"[^"]*"|\[[^\[\]]*\]|\\.|_.|\*.')  # colours, units and padding in a number format
_MAX_FORMAT = 255  # characters, as in Excel; a longer format shows nothing that a student wrote
_FORMAT = re.compile(r"[#,?0]*(?:\.([0#?]+))?(%|E[+-]0+)?").fullmatch


def read_xlsx(content: bytes, name: str = "") -> WorkingTable:
    """Return the lines of a spreadsheet, all its sheets together; `name` is only for messages."""
    del name  # the caller adds it to every sentence
    _check_archive(content)
    import openpyxl

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about unknown styles and extensions, which are not needed
            book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=False, keep_links=False)
            sheets = {sheet.title: _read_sheet(sheet) for sheet in book.worksheets}
    except ProblemError:
        raise
    except Exception as wrong:  # a broken file can raise any error in the library
        raise ProblemError(
            f"is not a readable spreadsheet ({type(wrong).__name__}). Save it again as .xlsx, or as CSV."
        ) from None
    filled = {title: sheet for title, sheet in sheets.items() if sheet.cells}
    return _joined({f"sheet {printable(title)}" if len(filled) > 1 else "": sheet for title, sheet in filled.items()})


def _check_archive(content: bytes) -> None:
    """Raise an error for a file that is not a spreadsheet or unpacks to too much data, before unpacking it."""
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
            for part in parts:
                if part.filename.endswith((".xml", ".rels")) and b"<!DOCTYPE" in archive.read(part):
                    raise ProblemError(
                        "declares XML entities, which spreadsheets do not contain. Save it again as .xlsx."
                    )
    except ProblemError:
        raise
    except Exception:  # a broken archive can raise any error in zipfile, zlib and struct
        raise _no_spreadsheet(content) from None


def _no_spreadsheet(content: bytes) -> ProblemError:
    if content[:4] == b"\xd0\xcf\x11\xe0":
        return ProblemError(
            "is an old or a password-protected Excel file. Save it as .xlsx without a password, or as CSV."
        )
    return ProblemError("is not an .xlsx file, despite its name. Save it from the spreadsheet as .xlsx or CSV.")


class _Sheet:
    """The cells of one sheet, as displayed."""

    def __init__(self) -> None:
        self.cells: dict[Place, str] = {}
        self.formulas: list[str] = []
        self.dates: list[str] = []


def _read_sheet(source: Any) -> _Sheet:
    sheet = _Sheet()
    source.reset_dimensions()  # the size that the file declares may be wrong
    num_cells = 0
    for number, row in enumerate(source.iter_rows(max_row=_MAX_ROWS + 1)):
        num_cells += len(row) + 1
        if num_cells > 4 * MAX_TABLE_CELLS or number >= _MAX_ROWS:
            raise ProblemError(f"sheet '{printable(source.title)}' is too large. Give the lines of one working only.")
        for cell in row:
            if cell.value is None:
                continue
            if cell.data_type == "f":
                sheet.formulas.append(cell.coordinate)
            elif cell.data_type == "d":
                sheet.dates.append(cell.coordinate)
            sheet.cells[cell.row - 1, cell.column - 1] = shown_text(cell.value, cell.number_format)
    if sheet.formulas:
        named = ", ".join(sheet.formulas[:5]) + (" …" if len(sheet.formulas) > 5 else "")
        raise ProblemError(
            f"cell {named} of sheet '{printable(source.title)}' contains a formula, and formulas are not evaluated. "
            "Copy the cells, paste them as values, and save."
        )
    return sheet


def _joined(sheets: Mapping[str, _Sheet]) -> WorkingTable:
    tables = {title: read_grid(sheet.cells, title) for title, sheet in sheets.items()}
    entries: dict[str, str] = {}
    notes: list[Note] = []
    for title, sheet in sheets.items():
        entries = {**tables[title].entries, **entries}
        notes += tables[title].notes
        notes += [
            Note(
                "warning",
                f"Cell {cell} contains a date. The spreadsheet may have converted a fraction such as 2/3.",
                title,
            )
            for cell in sheet.dates[:5]
        ]
    return WorkingTable(
        tuple(line for table in tables.values() for line in table.lines),
        entries,
        any(table.has_decimal_comma for table in tables.values()),
        tuple(notes),
    )


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
