"""Print a worksheet in every form, and read the form back."""

from io import StringIO

from rich.console import Console

from clearhead.check.working import WrittenLine
from clearhead.exercises.check.read.lines import PageLines, lines_of
from clearhead.exercises.check.read.reading import read_page
from clearhead.exercises.sheet.build import sheet_of
from clearhead.exercises.sheet.tables import to_csv, to_xlsx
from clearhead.worksheet.view import SheetView
from clearhead.worksheet.worksheet import Detail, Worksheet

FORMS = ("txt", "md", "tex", "html", "csv", "xlsx", "ipynb")


def printed(worksheet: Worksheet, form: str, detail: Detail = "matrices") -> bytes:
    """Return the worksheet as the file that `clearhead solve -o sheet.FORM` writes."""
    if form == "txt":
        text = StringIO()
        worksheet.show(detail, Console(file=text, highlight=False, width=120))
        return text.getvalue().encode()
    if form == "md":
        return worksheet.to_markdown(detail).encode()
    if form == "tex":
        return worksheet.to_latex(detail).encode()
    if form == "html":
        return worksheet.to_html(detail).encode()
    if form == "ipynb":
        return worksheet.to_notebook(detail)
    sheet = sheet_of(SheetView(worksheet))
    return to_csv(sheet) if form == "csv" else to_xlsx(sheet)


def read_back(content: bytes, form: str, worksheet: Worksheet) -> PageLines:
    """Return the lines that a file has."""
    return lines_of(read_page(content, f"sheet.{form}"), worksheet)


def cells_of(line: WrittenLine) -> list[list[str]]:
    """Return the digits of a line, with the signs that the forms write in several ways."""
    return [[plain(cell) for cell in row] for row in line.cells]


def plain(text: str) -> str:
    return text.replace("−", "-").replace(" ", "")
