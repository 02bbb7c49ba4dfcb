"""A worksheet in the terminal: aligned in every script, at every level of detail."""

from io import StringIO
from typing import Any

import pyte
import pytest
from rich.cells import cell_len
from rich.console import Console

from clearhead import Rounding, Worksheet, solve
from clearhead.worksheet.render.terminal import show
from clearhead.worksheet.render.text import label, reserved_width
from clearhead.worksheet.view import SheetView
from tests.conftest import SHIPPED

HOSTILE = [
    "\x1b[31mred",
    "<script>alert(1)</script>",
    "a|b",
    "[bold]x[/bold]",
    "\u202eabc",
    "two\nlines",
    "**x**",
    "$x$",
]

SCRIPTS = [["मुझे", "आइसक्रीम", "मिठाइयाँ", "है"], ["আমি", "স্কুলে", "যাই"], ["🙂", "👩‍🚀", "x"], ["咖啡", "茶"], ["a", "bc"]]


def terminal(sheet: Worksheet, detail: Any = "matrices", width: int = 80) -> str:
    text = StringIO()
    sheet.show(detail, Console(file=text, width=width, highlight=False))
    return text.getvalue()


def named(tokens: list[str]) -> Worksheet:
    x = [[float(i), 1.0] for i in range(len(tokens))]
    return solve({"kind": "context", "title": tokens[0], "X": x, "tokens": tokens})


@pytest.mark.parametrize("detail", ["results", "matrices", "products"])
@pytest.mark.parametrize("name", SHIPPED)
def test_every_sheet_is_shown_in_every_detail(name: str, detail: Any, all_sheets: dict[str, Worksheet]) -> None:
    sheet = all_sheets[name]
    shown = terminal(sheet, detail)
    last = SheetView(sheet).steps[-1].matrix
    for text in (shown, sheet.to_markdown(detail)):
        assert last.digits.text(0, 0) in text
    if detail == "matrices":
        assert all(cell_len(line) <= 80 for line in shown.splitlines() if "⎡" in line or "⎢" in line)


def test_details_differ_in_what_they_show() -> None:
    sheet = solve("lets-go-encoder")
    results, matrices, products = (terminal(sheet, detail) for detail in ("results", "matrices", "products"))
    assert "W_Q" not in results
    assert "4.3480" in results
    assert "Q = X′ W_Q" in matrices
    assert "1.87×1.1" not in matrices
    assert "-0.995 = 1.87×1.1 + 1.09×(-2.8)" in products


@pytest.mark.parametrize("tokens", SCRIPTS)
def test_rows_are_aligned_in_every_script(tokens: list[str]) -> None:
    lines = [line for line in terminal(named(tokens)).splitlines() if any(bracket in line for bracket in "⎡⎢⎣")]
    starts = {cell_len(line[: min(line.index(b) for b in "⎡⎢⎣" if b in line)]) for line in lines}
    widest = max(reserved_width(token) for token in tokens)
    assert starts == {4 + widest + 1, 2 + widest + 1}


@pytest.mark.parametrize("tokens", SCRIPTS)
def test_a_terminal_that_has_its_own_idea_of_widths_shows_straight_columns(tokens: list[str]) -> None:
    text = StringIO()
    named(tokens).show("matrices", Console(file=text, width=80, highlight=False, force_terminal=True))
    screen = pyte.Screen(80, 60)
    pyte.Stream(screen).feed(text.getvalue().replace("\n", "\r\n"))
    columns = {}
    for number, row in screen.buffer.items():
        for column, cell in row.items():
            if cell.data and cell.data in "⎡⎢⎣⎤⎥⎦":  # the second half of a wide letter is empty
                columns.setdefault(number, []).append(column)
    blocks: list[list[list[int]]] = []
    for number, places in sorted(columns.items()):
        if number - 1 not in columns:
            blocks.append([])
        blocks[-1].append(places)
    assert len(blocks) == 4
    for block in blocks:
        assert len(block) == len(tokens)
        assert all(places == block[0] for places in block)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_text(name: str) -> None:
    sheet = named([name, "b"])
    shown, markdown = terminal(sheet, "products"), sheet.to_markdown("products")
    for text in (shown, markdown):
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert "<script>" not in markdown
    assert label(name) in shown
    widths = {line.replace("\\|", "").count("|") for line in markdown.splitlines() if line.startswith("|")}
    assert widths <= {3, 4}


def test_a_large_matrix_is_elided_with_a_note() -> None:
    sheet = solve({"kind": "positions", "positions": 30, "d_model": 16})
    shown, markdown = terminal(sheet, width=200), sheet.to_markdown()
    for text in (shown, markdown):
        assert "24 × 12 of 30 × 16 cells are shown; the JSON format has them all." in text
        assert "…" in text
    narrow = terminal(sheet, width=60)
    assert "24 × 5 of 30 × 16" in narrow
    assert max(cell_len(line) for line in narrow.splitlines() if "⎢" in line) <= 60


def test_tokens_as_columns_are_shown_in_their_own_notation() -> None:
    shown = terminal(solve({"kind": "self-attention", "layout": "columns", "X": [[1, 2], [3, 4], [5, 6]],
                            "W_Q": [[1, 0, 1]], "W_K": [[0, 1, 1]], "W_V": [[1, 1, 1]], "scale": "sqrt(d_model)"}))  # fmt: skip
    for equation in ("Q = W_Q X", "KᵀQ = Kᵀ Q", "Z = KᵀQ / √3", "W = softmax of each column of Z", "Y = V W"):
        assert equation in shown


def test_warnings_and_the_policy_are_shown() -> None:
    sheet = solve(
        {"kind": "self-attention", "Q": [[1]], "K": [[1]], "V": [[1]], "mask": [[0]]},
        Rounding(lines="rounded", decimals=2),
    )
    for text in (terminal(sheet), sheet.to_markdown()):
        assert "cannot attend to any key" in text
        assert "Every step is rounded to 2 decimals" in text


def test_parts_have_their_titles() -> None:
    shown = terminal(solve("leak"))
    assert "Part 2: the same weights masked and renormalised" in shown


def test_every_line_of_a_small_sheet_is_printed() -> None:
    text = StringIO()
    sheet = solve({"kind": "positions", "title": "Places", "formula": "count", "positions": [3, 5], "d_model": 2})
    show(sheet, "results", Console(file=text, width=60, highlight=False))
    assert text.getvalue().splitlines() == [
        "Places",
        "Computed in full precision, shown to at most 4 decimals (half-up).",
        "",
        "  P = PE(pos, dim): pos in every dimension",
        "  Compute a vector for every position.",
        "            dim 0  dim 1",
        "    pos 3 ⎡     3      3 ⎤",
        "    pos 5 ⎣     5      5 ⎦",
    ]
