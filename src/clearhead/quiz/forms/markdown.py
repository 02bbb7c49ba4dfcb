"""A sheet as Markdown: the worksheet with its blanks, under the instructions."""

from clearhead.quiz.forms import introduction
from clearhead.quiz.forms.decimals import with_decimal_sign
from clearhead.quiz.sheet import QuizSheet
from clearhead.worksheet.render.markdown import escape


def write(sheet: QuizSheet, is_key: bool, decimal: str) -> bytes:
    """Return the sheet, or its key with the calculation of every cell."""
    return sheet_markdown(sheet, is_key, decimal).encode("utf-8")


def sheet_markdown(sheet: QuizSheet, is_key: bool, decimal: str = "point") -> str:
    """Return the sheet as text."""
    worked = sheet.worksheet.to_markdown("products" if is_key else "matrices", () if is_key else sheet.blanks)
    title, _, rest = worked.partition("\n")
    body = rest.replace(sheet.worksheet.rounding.describe(), "", 1).strip()
    head = [title + (" (solution)" if is_key else ""), "", f"Sheet: {sheet.number}", ""]
    head += [] if is_key else ["Name: \\_\\_\\_\\_\\_\\_\\_\\_\\_\\_\\_\\_", ""]
    head += [f"- {escape(sentence)}" for sentence in introduction(sheet, is_key)]
    return with_decimal_sign("\n".join([*head, "", body]) + "\n", decimal)
