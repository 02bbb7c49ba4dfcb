"""A worksheet as LaTeX: a document that pdfLaTeX and XeLaTeX compile, or a fragment for your own document."""

from collections.abc import Sequence

from rich.cells import cell_len

from clearhead.worksheet.render.latex_maths import equation, expression_tex, number_tex, symbol
from clearhead.worksheet.render.latex_text import escape, font_commands
from clearhead.worksheet.render.text import ELLIPSIS, label, omission_note, shown_sections, table
from clearhead.worksheet.rounding import BLANK
from clearhead.worksheet.view import MAX_COLUMNS, MAX_ROWS, MatrixView, SheetView, StepView
from clearhead.worksheet.worksheet import Detail, Worksheet

_PREAMBLE = r"""\documentclass[10pt,a4paper]{article}
\usepackage{iftex}
\ifPDFTeX
  \usepackage[utf8]{inputenc}
  \usepackage[T1]{fontenc}
  \IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
\else
  \usepackage{fontspec}
\fi
\usepackage{amsmath,graphicx}
\usepackage[margin=22mm]{geometry}
\pagestyle{plain}"""

_NEEDS = r"""% A worksheet to \input into your own document. It needs, before \begin{document}:
%   \usepackage{iftex,amsmath,graphicx}
% and \usepackage[utf8]{inputenc}\usepackage[T1]{fontenc} for pdfLaTeX, or \usepackage{fontspec} for XeLaTeX."""

# A box that is scaled down to the width of the line; a small name; the corner of a bracket; a sum with an indent.
_COMMANDS = r"""\providecommand{\clearheadfit}[1]{{\sbox2{#1}%
  \ifdim\wd2>\linewidth\resizebox{\linewidth}{!}{\usebox2}\else\usebox2\fi}}
\providecommand{\clearheadname}[1]{\text{\footnotesize #1}}
\providecommand{\clearheadcorner}{\hspace*{2.5pt}}
\providecommand{\clearheadsum}[1]{\par\noindent\hangindent=2.5em\hangafter=1 $#1$\par\vspace{1.5pt plus 1pt}}"""

_WIDEST = 620  # points: a line has about 470, and a matrix that is only a little wider is scaled down


def to_latex(
    sheet: Worksheet, detail: Detail = "matrices", blanks: Sequence[str] = (), *, fragment: bool = False
) -> str:
    """Return the worksheet as a LaTeX document, or as a fragment for \\input.

    A word in a script that pdfLaTeX cannot typeset is spelled in italics there; XeLaTeX typesets it in a Noto font.
    """
    body = "\n".join(_body(SheetView(sheet, blanks), detail))
    fonts = font_commands(body)
    note = [r"\ifPDFTeX\par\noindent{\footnotesize Words in italics are transliterated; "
            r"XeLaTeX shows the original script.}\par\fi"] if fonts else []  # fmt: skip
    inside = [
        r"\begingroup\raggedright\setlength{\parindent}{0pt}\lineskip=4pt\lineskiplimit=3pt",
        *note,
        body,
        r"\par\endgroup",
    ]
    if fragment:
        lines = [_NEEDS, _COMMANDS, *fonts, *inside]
    else:
        lines = [_PREAMBLE, _COMMANDS, *fonts, r"\begin{document}", *inside, r"\end{document}"]
    return "\n".join(lines) + "\n"


def _body(view: SheetView, detail: Detail) -> list[str]:
    sheet = view.sheet
    lines = [
        rf"{{\Large\bfseries {escape(sheet.title or sheet.kind)}\par}}\smallskip",
        rf"{{\small {escape(sheet.rounding.describe())}\par}}",
    ]
    lines += [rf"{{\small Exercise: \texttt{{{escape(sheet.id)}}}\par}}"] if sheet.id else []
    lines += [rf"{{\small \textbf{{Note:}} {escape(warning)}\par}}" for warning in view.notes]
    explained: set[str] = set()  # steps whose sentence was already shown
    for heading, steps in shown_sections(view, detail):
        lines += ["", rf"\subsection*{{{escape(heading)}}}"] if heading else []
        if detail != "results":
            lines += _givens([matrix for step in steps for matrix in step.givens])
        for step in steps:
            lines += _step(step, detail, is_new=step.step.name not in explained)
            explained.add(step.step.name)
    return lines


def _givens(matrices: list[MatrixView]) -> list[str]:
    """Return given matrices side by side, as many as fit on a line."""
    if not matrices:
        return []
    lines = ["", r"\medskip Given:\par\nopagebreak\smallskip"]
    for matrix in matrices:
        lines += [rf"\clearheadfit{{${block}$}}\hspace{{1.5em}}" for block in _blocks(matrix)]
    return [*lines, r"\par"] + [_note(matrix) for matrix in matrices if omission_note(matrix)]


def _step(step: StepView, detail: Detail, *, is_new: bool) -> list[str]:
    lines = ["", rf"\bigskip {equation(f'{step.matrix.symbol} = {step.equation}')}\par\nopagebreak"]
    if step.is_omitted:
        return [*lines, rf"{{\small\itshape {escape(step.note)}\par}}"]
    lines += [rf"{{\small\itshape {escape(step.step.sentence)}\par}}\nopagebreak"] if is_new else []
    lines += [rf"\smallskip\clearheadfit{{\hspace*{{1.5em}}${block}$}}\par" for block in _blocks(step.matrix)]
    lines += [_note(step.matrix)] if omission_note(step.matrix) else []
    return lines + (_sums(step) if detail == "products" else [])


def _note(matrix: MatrixView) -> str:
    return rf"{{\footnotesize ${symbol(matrix.symbol)}$: {escape(omission_note(matrix))}\par}}"


def _sums(step: StepView) -> list[str]:
    """Return a line for every shown cell: its name, its sum and the result."""
    matrix, lines = step.matrix, [r"\medskip"]
    rows, columns = matrix.shown()
    for i in rows:
        for j in columns:
            working = step.cell_working(i, j)
            if working is None:
                continue
            expression, sign = working
            names = (label(name) for name in (matrix.row_name(i), matrix.column_name(j)))
            place = r",\allowbreak\,".join(rf"\text{{{escape(name)}}}" for name in names)
            total = number_tex(matrix.digits.text(i, j))
            relation = "=" if sign == "=" else r"\approx"
            sum_of = expression_tex(expression)
            lines.append(rf"\clearheadsum{{{symbol(matrix.symbol)}[{place}] = {sum_of} {relation} {total}}}")
    return lines if len(lines) > 1 else []


def _blocks(matrix: MatrixView) -> list[str]:
    """Return `A = […]`; a matrix that is much too wide is split into blocks of columns, one below the other."""
    lines = table(matrix, MAX_COLUMNS)
    if not matrix.columns:
        lines[0] = [""] * len(lines[0])
    widths = [_width(column, has_name=number > 0) for number, column in enumerate(zip(*lines, strict=True))]
    count = max(1, -(-sum(widths) // _WIDEST))
    if count == 1:
        return [f"{symbol(matrix.symbol)} = {_array(lines)}"]
    numbers = [str(j + 1) for j in matrix.shown()[1]]
    if len(numbers) < matrix.value.shape[1]:
        numbers.insert(-1, ELLIPSIS)
    block_width = -(-len(numbers) // count)
    blocks = []
    for start in range(0, len(numbers), block_width):
        here = [n for n in numbers[start : start + block_width] if n != ELLIPSIS]
        if not here:
            continue
        span = f"columns {here[0]} to {here[-1]}" if len(here) > 1 else f"column {here[0]}"
        part = [[line[0], *line[1 + start : 1 + start + block_width]] for line in lines]
        blocks.append(rf"{symbol(matrix.symbol)}\text{{ ({span})}} = {_array(part)}")
    return blocks


def _width(column: Sequence[str], *, has_name: bool) -> int:
    """Return the approximate width of a column in points: 5 for a digit, 4.5 for a letter, plus the space between."""
    digits = max(map(len, column[1:])) * 5 if has_name else 0
    return round(max(digits, 4.5 * max(map(cell_len, column if not has_name else column[:1]))) + 10)


def _array(lines: list[list[str]]) -> str:
    """Return a matrix in square brackets, with small names to the left of its rows and above its columns.

    The brackets are rules of the array, so that the names are outside the brackets but aligned with the cells.
    """
    head, *body = lines
    count = len(head) - 1
    has_blanks = any(BLANK in cells for cells in body)  # space to write in
    tex = [r"\renewcommand{\arraystretch}{1.7}" * has_blanks]
    tex += [rf"\begin{{array}}{{r@{{\hspace{{4pt}}}}|@{{}}c@{{\,}}{'r' * count}@{{\,}}c@{{}}|}}"]
    if any(head):
        names = [rf"\multicolumn{{1}}{{r}}{{{_name(text)}}}" for text in head[1:]]
        names[-1] = names[-1].replace("{r}", r"{r@{\,}}", 1)
        opening, closing = r"\multicolumn{1}{@{}c@{\,}}{}", r"\multicolumn{1}{@{}c@{}}{}"
        tex.append(" & ".join([r"\multicolumn{1}{r@{\hspace{4pt}}}{}", opening, *names, closing]) + r"\\[1pt]")
    corners = rf"\cline{{2-2}}\cline{{{count + 3}-{count + 3}}}"
    tex.append(corners)
    for name, *cells in body:
        is_gap = all(text == ELLIPSIS for text in cells) and len(body) > MAX_ROWS
        numbers = [r"\vdots" if is_gap else number_tex(text) for text in cells]
        row = [r"\vdots" if is_gap else _name(name), r"\clearheadcorner", *numbers, r"\clearheadcorner"]
        tex.append(" & ".join(row) + r"\\")
    return "\n".join([*tex, corners, r"\end{array}"])


def _name(text: str) -> str:
    if not text:
        return "{}"
    return r"\cdots" if text == ELLIPSIS else rf"\clearheadname{{{escape(text)}}}"
