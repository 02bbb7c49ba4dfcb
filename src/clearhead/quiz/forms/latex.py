"""A sheet as a LaTeX document that pdfLaTeX compiles."""

import re

from clearhead.quiz.forms import introduction
from clearhead.quiz.forms.decimals import with_decimal_sign
from clearhead.quiz.sheet import QuizSheet
from clearhead.worksheet.render.latex_text import escape

_PLAIN = str.maketrans({"′": "'", "″": "''", "\u0303": "~"})
_LENGTH = re.compile(r"(\d+\.\d+(?:em|pt|mm))")
_NUMBERED = (r"\clearheadsum", r"{\small")  # starts of lines with numbers in them


def write(sheet: QuizSheet, is_key: bool, decimal: str) -> bytes:
    """Return the sheet, or its key with the calculation of every cell."""
    worked = sheet.worksheet.to_latex("products" if is_key else "matrices", () if is_key else sheet.blanks)
    lines = worked.split("\n")
    rounding = next(place for place, line in enumerate(lines) if escape(sheet.worksheet.rounding.describe()) in line)
    head = [rf"{{\small Sheet: \texttt{{{escape(sheet.number)}}}{'' if is_key else _name_line()}\par}}"]
    head += [rf"{{\small {_text(sentence)}\par}}" for sentence in introduction(sheet, is_key)]
    lines[rounding : rounding + 1] = head
    return "\n".join(_with_decimal_sign(line, decimal) for line in lines).encode("utf-8")


def _text(sentence: str) -> str:
    """Return a sentence for LaTeX; primes and combining marks of symbols are written with plain characters."""
    return escape(sentence.translate(_PLAIN))


def _name_line() -> str:
    return r"\hfill Name: \rule{60mm}{0.4pt}"


def _with_decimal_sign(line: str, decimal: str) -> str:
    """Change the numbers of a line; lengths such as 2.5em keep their point."""
    if decimal == "point" or not (line.startswith(_NUMBERED) or r"\clearheadcorner &" in line):
        return line
    return "".join(
        part if _LENGTH.fullmatch(part) else with_decimal_sign(part, decimal, "{,}") for part in _LENGTH.split(line)
    )
