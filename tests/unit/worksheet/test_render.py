"""The forms of a worksheet: terminal, Markdown, JSON; all from the same Records."""

from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyte
import pytest
from rich.cells import cell_len
from rich.console import Console

from clearhead import Rounding, Worksheet, solve
from clearhead.errors import ClearheadError, ProblemError, TraceError, printable
from clearhead.worksheet.render.markdown import escape
from clearhead.worksheet.render.text import label, room
from clearhead.worksheet.view import SheetView
from tests.conftest import ROOT, SHIPPED

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
def test_rows_are_aligned_whatever_the_script(tokens: list[str]) -> None:
    lines = [line for line in terminal(named(tokens)).splitlines() if any(bracket in line for bracket in "⎡⎢⎣")]
    starts = {cell_len(line[: min(line.index(b) for b in "⎡⎢⎣" if b in line)]) for line in lines}
    widest = max(room(token) for token in tokens)
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


def test_markdown_escapes_its_own_signs() -> None:
    assert escape("a|b*c_d<e>&f") == r"a\|b\*c\_d&lt;e&gt;&amp;f"


def test_control_characters_are_made_visible() -> None:
    assert printable("a\x1b[31m\u202eb\u2028\n") == r"a\x1b[31m\u202eb\u2028\n"
    assert printable("क्‍ष 👩‍🚀 é") == "क्‍ष 👩‍🚀 é"


def test_wide_matrices_without_names_have_no_stray_ellipsis() -> None:
    shown = terminal(solve({"kind": "add-and-norm", "X": [list(range(30)), list(range(30))]}))
    assert not any(line.strip() == "…" for line in shown.splitlines())


def test_long_names_are_cut() -> None:
    assert cell_len(label("x" * 100)) == 18
    assert label("आइसक्रीम") == "आइसक्रीम"


def test_a_large_matrix_is_elided_and_says_so() -> None:
    sheet = solve({"kind": "positions", "positions": 30, "d_model": 16})
    shown, markdown = terminal(sheet, width=200), sheet.to_markdown()
    for text in (shown, markdown):
        assert "24 × 12 of 30 × 16 cells are shown; --json has them all." in text
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
        assert "may see no key at all" in text
        assert "Every line is rounded to 2 decimals" in text


def test_parts_have_their_titles() -> None:
    shown = terminal(solve("leak"))
    assert "Part 2: the same weights masked and renormalised" in shown


def test_json_holds_full_precision_and_minus_infinity() -> None:
    sheet = solve("numerical-masked-self-attention")
    data = orjson.loads(sheet.to_json())
    masked = next(record for record in data["records"] if record["step"] == "mask")
    assert masked["value"][0][1] == "-inf"
    weights = next(record for record in data["records"] if record["step"] == "softmax")
    assert weights["value"] == sheet.value("A").tolist()
    assert masked["inputs"]["scores"] == {"record": data["records"].index(masked) - 1}
    assert {given["name"] for given in data["given"]} >= {"input.X", "self_attention.W_Q"}


def test_a_worksheet_is_saved_whole(tmp_path: Path) -> None:
    sheet = solve("leak")
    sheet.save(tmp_path / "sheet.json")
    assert Worksheet.from_json((tmp_path / "sheet.json").read_bytes()) == sheet
    with pytest.raises(ClearheadError, match="cannot be written: Is a directory"):
        sheet.save(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["sheet.json"]


@pytest.mark.parametrize("text", [b"", b"{}", b"[1]", b'{"clearhead": 99}', b'{"clearhead": 1}', b"not json"])
def test_json_that_is_no_worksheet_is_refused(text: bytes) -> None:
    with pytest.raises(TraceError, match="this is not a worksheet"):
        Worksheet.from_json(text)


def test_a_value_is_found_by_symbol_and_place() -> None:
    sheet = solve("lets-go-decoder-eos")
    assert sheet.value("Q", where="*cross_attention*").shape == (1, 2)
    with pytest.raises(TraceError, match="'Q' names 2 steps of this worksheet"):
        sheet.value("Q")
    with pytest.raises(TraceError, match="'nothing' names 0 steps"):
        sheet.value("nothing")
    assert np.array_equal(sheet.value("memory"), [[4.37, -1.01], [0.82, -1.43]])


def test_blanks_hide_a_cell_and_every_sum_that_would_give_it_away() -> None:
    sheet = solve("lets-go-encoder")
    text = StringIO()
    sheet.show(
        "products", Console(file=text, width=100, highlight=False), ["Q[Let's, 1]", "A", "*self_attention:Z[2, *]"]
    )
    shown = text.getvalue()
    assert "-0.995" not in shown
    assert "____×(-4.814) + 3.738×1.916" in shown
    assert "≈ ____" not in shown
    assert sheet.to_markdown("matrices", ["Q"]).count("____".replace("_", "\\_")) == 4
    columns = solve(
        {
            "kind": "self-attention",
            "layout": "columns",
            "tokens": ["a", "b"],
            "Q": [[1, 2]],
            "K": [[3, 4]],
            "V": [[5, 6]],
        }
    )
    lines = columns.to_markdown("matrices", ["W[b, a]"]).splitlines()
    assert sum(line.startswith("| b | \\_\\_\\_\\_ |") for line in lines) == 1


@pytest.mark.parametrize(
    ("blank", "sentence"),
    [
        ("K_new", "'K_new' names no step of this sheet. Steps: X, X′, Q"),
        ("A[3, 1]", "'A[3, 1]' names no cell of A, which is 2 × 2. Count from 1."),
        ("decoder*:A", "'decoder*:A' names no step of this sheet. Did you mean 'A'?"),
    ],
)
def test_a_blank_that_is_nowhere_is_refused(blank: str, sentence: str) -> None:
    with pytest.raises(ProblemError) as wrong:
        solve("lets-go-encoder").to_markdown("matrices", [blank])
    assert sentence in str(wrong.value)


@pytest.mark.parametrize(
    ("name", "blank", "told"),
    [
        ("lets-go", "ŷ", "generated: Vamos"),
        ("examples/transformer.yaml", "p", "0.2956 = "),
        ("examples/feed-forward.yaml", "F₁", "7.00"),
        ("examples/lstm.yaml", "new₁", "0.4188 = "),
        ("examples/masked-self-attention.yaml", "V", "1.0000 = 1.0000×"),
    ],
)
def test_no_later_line_gives_a_blank_away(name: str, blank: str, told: str) -> None:
    sheet = solve(str(ROOT / name) if name.startswith("examples") else name)
    forms = [
        sheet.to_markdown("products", [blank]),
        sheet.to_html("products", [blank]),
        sheet.to_latex("products", [blank]),
    ]
    assert all(told not in form for form in forms)
    view = SheetView(sheet, [blank])
    symbol = blank.rpartition(":")[2]
    hidden = {
        float(value)
        for step in view.steps
        if step.matrix.symbol == symbol and step.matrix.digits.is_hidden(0, 0)
        for value in np.asarray(step.matrix.value).ravel()
        if value not in (0.0, 1.0)
    }
    hidden -= {float(value) for given in sheet.trace.givens.values() for value in given.value.ravel()}
    if symbol != "ŷ":
        assert hidden
        assert not any(f'data-value="{value!r}"' in forms[1] for value in hidden)


def test_the_word_that_is_left_open_is_not_the_name_of_its_row() -> None:
    choice = next(step for step in SheetView(solve("lets-go"), ["generate.0*:ŷ"]).steps if step.step.name == "choose")
    assert choice.matrix.row_name(0) == "____"


def test_a_blank_takes_a_name_before_a_number() -> None:
    sheet = solve({"kind": "context", "tokens": ["2", "1"], "X": [[1, 5], [3, 4]]})
    step = next(step for step in SheetView(sheet, ["A[1, *]"]).steps if step.matrix.symbol == "A")
    assert step.matrix.digits.is_hidden(1, 0)
    assert not step.matrix.digits.is_hidden(0, 0)


def test_columns_of_a_matrix_that_is_shown_in_part_are_numbered_in_markdown() -> None:
    wide = {"kind": "feed-forward", "X": [[0.5] * 40], "W_1": [[1.0] * 3] * 40, "W_2": [[1.0] * 2] * 3}
    head = next(line for line in solve(wide).to_markdown().splitlines() if "…" in line)
    assert head == "|  | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | … | 40 |"
