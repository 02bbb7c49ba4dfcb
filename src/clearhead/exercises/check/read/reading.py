"""Read the content of a working, in whatever form it is, into a Page."""

import re
from dataclasses import replace
from pathlib import Path

from clearhead.check.limits import MAX_WORKING_BYTES
from clearhead.errors import ProblemError
from clearhead.exercises.check.read.data import read_data_page
from clearhead.exercises.check.read.html import read_html
from clearhead.exercises.check.read.notebook import read_notebook
from clearhead.exercises.check.read.page import Page
from clearhead.exercises.check.read.tables import read_csv, read_workbook
from clearhead.exercises.check.read.text import read_text
from clearhead.files.reading import utf8_text

DATA, TABLES, BOOKS = (".yaml", ".yml", ".json"), (".csv", ".tsv"), (".xlsx", ".xlsm")
SUFFIXES = (*DATA, *TABLES, *BOOKS, ".html", ".htm", ".ipynb", ".md", ".markdown", ".tex", ".txt")
HTML, NOTEBOOK, TEXTS = (".html", ".htm"), (".ipynb",), (".md", ".markdown", ".tex", ".txt")
WORD = (".doc", ".docx", ".odt", ".rtf", ".pages")
_KINDS = {".yaml": "a working file", ".csv": "a table", ".xlsx": "a spreadsheet", ".md": "a document",
          ".html": "an HTML page", ".ipynb": "a notebook"}  # fmt: skip
_HAS_WRITTEN = re.compile(rb"^[\"']?written[\"']?\s*:", re.MULTILINE).search
_IS_TABLE = re.compile(
    rb"(?:\xef\xbb\xbf)?[\s,;]*\"?(?:problem|sheet|student|title|decimal|rounded)\"?[ ]*[,;\t]", re.IGNORECASE
).match
_WITH_POINT = re.compile(r"[0-9]\.[0-9]").search
_WITH_COMMA = re.compile(r"(?<![0-9,])[0-9]+,[0-9]+(?![0-9,])")
_PLACE = re.compile(r"[(\[][0-9]+,[0-9]+[)\]]")  # of a cell, S[1,2]
_IN_LIST = re.compile(r"[0-9],[0-9]+,[0-9]").search
_CELL_COMMA = re.compile(r"[0-9], +[-−]?[0-9]").search
_SAYS_COMMA = re.compile(r"(?i)\bdecimal[\"']?\s{0,9}[:,;\t]\s{0,9}[\"']?(comma|point)\b").search
_COMMA = re.compile(r"(?<=[0-9]),(?=[0-9])")
_FOUND = "Every decimal has a comma and none has a point, so the commas were read as decimal separators."
_UNCLEAR = (
    "The commas between digits were read as separators of cells. If they are decimal commas, write decimal: comma."
)


def read_page(content: bytes, name: str) -> Page:
    """Return what is on a page; the form follows the suffix of the name, or else the content."""
    if not content.strip():
        raise ProblemError("is empty. Write a problem and, under 'written:', the lines of the working.")
    if len(content) > MAX_WORKING_BYTES:
        size, limit = len(content) / 2**20, MAX_WORKING_BYTES // 2**20
        raise ProblemError(f"has {size:.0f} MiB; the limit is {limit} MiB. Give the lines of one working only.")
    suffix = Path(name).suffix.lower()
    remarks: tuple[str, ...] = ()
    if suffix in WORD or (content[:4] == b"PK\x03\x04" and b"word/document.xml" in content):
        raise ProblemError("Word files are not read. Fill in the page of the sheet, or save the working as text.")
    if suffix not in (*DATA, *TABLES, *BOOKS, *HTML, *NOTEBOOK, *TEXTS):
        suffix = _guessed_suffix(content)
        kind = _KINDS[suffix]
        remarks = (f"The file name does not show the format, so the file was read as {kind}.",)
    page = _read(content, suffix)
    return replace(page, remarks=(*remarks, *page.remarks))


def _read(content: bytes, suffix: str) -> Page:
    if suffix in DATA:
        return read_data_page(content)
    if suffix in BOOKS:
        return read_workbook(content)
    text = _decoded(content)
    if suffix in NOTEBOOK:
        return read_notebook(text)
    text, remarks = _with_points(text, has_cells=suffix in TABLES)
    if suffix in TABLES:
        page = read_csv(text, suffix)
    elif suffix in HTML:
        page = read_html(text)
    else:
        page = read_text(text)
    return replace(page, remarks=(*remarks, *page.remarks))


def _decoded(content: bytes) -> str:
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):  # spreadsheets call this Unicode text
        try:
            return content.decode("utf-16")
        except UnicodeDecodeError:
            raise ProblemError("is not UTF-16 text, although it begins like it. Save the file as UTF-8.") from None
    try:
        return utf8_text(content)
    except ValueError as wrong:
        raise ProblemError(str(wrong)) from None


def _guessed_suffix(content: bytes) -> str:
    start = content.lstrip()[:200].lower()
    if content[:4] == b"PK\x03\x04":
        return ".xlsx"
    if _IS_TABLE(content):
        return ".csv"
    if start.startswith((b"<!doctype html", b"<html")):
        return ".html"
    if start[:1] == b"{" and b'"cells"' in content and b'"cell_type"' in content:
        return ".ipynb"
    return ".yaml" if start[:1] == b"{" or _HAS_WRITTEN(content) else ".md"


def _with_points(text: str, *, has_cells: bool) -> tuple[str, tuple[str, ...]]:
    """Return the text with points for its decimal commas, and what was decided about them."""
    says = _SAYS_COMMA(text)
    if says:
        return (_COMMA.sub(".", text) if says[1].lower() == "comma" else text), ()
    commas = _WITH_COMMA.findall(_PLACE.sub("", text))
    if not commas or _WITH_POINT(text):
        return text, ()
    if has_cells and text.count(";") < len(text.splitlines()) and "\t" not in text and '"' not in text:
        return text, ()  # the commas separate the cells
    is_separated = has_cells and (text.count(";") >= len(text.splitlines()) or "\t" in text)  # not by commas
    is_clear = not _IN_LIST(text) and (is_separated or any(len(part.partition(",")[2]) > 1 for part in commas))
    if is_clear:
        return _COMMA.sub(".", text), (_FOUND,)
    return text, () if _IN_LIST(text) or _CELL_COMMA(text) else (_UNCLEAR,)
