"""A worksheet as Markdown."""

from io import StringIO
from typing import Any

from rich.console import Console

from clearhead import Worksheet, solve
from clearhead.worksheet.render.markdown import escape


def terminal(sheet: Worksheet, detail: Any = "matrices", width: int = 80) -> str:
    text = StringIO()
    sheet.show(detail, Console(file=text, width=width, highlight=False))
    return text.getvalue()


def test_markdown_escapes_its_own_signs() -> None:
    assert escape("a|b*c_d<e>&f") == r"a\|b\*c\_d&lt;e&gt;&amp;f"


def test_wide_matrices_without_names_have_no_stray_ellipsis() -> None:
    shown = terminal(solve({"kind": "add-and-norm", "X": [list(range(30)), list(range(30))]}))
    assert not any(line.strip() == "…" for line in shown.splitlines())


def test_columns_of_a_matrix_that_is_shown_in_part_are_numbered_in_markdown() -> None:
    wide = {"kind": "feed-forward", "X": [[0.5] * 40], "W_1": [[1.0] * 3] * 40, "W_2": [[1.0] * 2] * 3}
    head = next(line for line in solve(wide).to_markdown().splitlines() if "…" in line)
    assert head == "| X | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | … | 40 |"
