"""What a reader sees of a worksheet: blanks, and nothing that gives them away."""

from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from clearhead import Worksheet, solve
from clearhead.errors import ProblemError
from clearhead.worksheet.view import SheetView, place_name
from tests.conftest import ROOT


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
        ("K_new", "'K_new' is not a step of this sheet. Steps: X, X′, Q"),
        ("A[3, 1]", "'A[3, 1]' is not a cell of A, which is 2 × 2. Rows and columns count from 1."),
        ("decoder*:A", "'decoder*:A' is not a step of this sheet. Did you mean 'A'?"),
    ],
)
def test_a_blank_that_matches_nothing_is_an_error(blank: str, sentence: str) -> None:
    with pytest.raises(ProblemError) as wrong:
        solve("lets-go-encoder").to_markdown("matrices", [blank])
    assert sentence in str(wrong.value)


@pytest.mark.parametrize(
    ("name", "blank", "giveaway"),
    [
        ("lets-go", "ŷ", "generated: Vamos"),
        ("examples/transformer.yaml", "p", "0.2956 = "),
        ("examples/feed-forward.yaml", "F₁", "7.00"),
        ("examples/lstm.yaml", "new₁", "0.4188 = "),
        ("examples/masked-self-attention.yaml", "V", "1.0000 = 1.0000×"),
    ],
)
def test_no_later_line_gives_a_blank_away(name: str, blank: str, giveaway: str) -> None:
    sheet = solve(str(ROOT / name) if name.startswith("examples") else name)
    forms = [
        sheet.to_markdown("products", [blank]),
        sheet.to_html("products", [blank]),
        sheet.to_latex("products", [blank]),
    ]
    assert all(giveaway not in form for form in forms)
    view = SheetView(sheet, [blank])
    symbol = blank.rpartition(":")[2]
    hidden = {
        float(value)
        for step in view.steps
        if step.matrix.symbol == symbol and step.matrix.digits.is_hidden(0, 0)
        for value in np.asarray(step.matrix.value).ravel()
        if value not in (0.0, 1.0)
    }
    hidden -= {float(value) for entry in sheet.trace.givens.values() for value in entry.value.ravel()}
    if symbol != "ŷ":
        assert hidden
        assert not any(f'data-value="{value!r}"' in forms[1] for value in hidden)


def test_the_word_to_be_filled_in_is_not_the_name_of_its_row() -> None:
    choice = next(step for step in SheetView(solve("lets-go"), ["generate.0*:ŷ"]).steps if step.step.name == "choose")
    assert choice.matrix.row_name(0) == "____"


def test_a_blank_takes_a_name_before_a_number() -> None:
    sheet = solve({"kind": "context", "tokens": ["2", "1"], "X": [[1, 5], [3, 4]]})
    step = next(step for step in SheetView(sheet, ["A[1, *]"]).steps if step.matrix.symbol == "A")
    assert step.matrix.digits.is_hidden(1, 0)
    assert not step.matrix.digits.is_hidden(0, 0)


@pytest.mark.parametrize("typed", ["A₂", "A2", "A_2"])
def test_a_matrix_is_found_without_typing_subscripts(typed: str) -> None:
    view = SheetView(solve(str(ROOT / "examples" / "multi-head-attention.yaml")))
    assert view.matrix(typed).symbol == "A₂"


@pytest.mark.parametrize(
    ("example", "blank", "symbol", "hidden"),
    [
        ("multi-head-attention.yaml", "A_2[2, *]", "A₂", (1, 0)),
        ("multi-head-attention.yaml", "A2", "A₂", (0, 0)),
        ("self-attention.yaml", "S'", "S′", (0, 0)),
        ("self-attention.yaml", "*:S'[1, 1]", "S′", (0, 0)),
        ("masked-self-attention.yaml", "S''", "S″", (0, 0)),
    ],
)
def test_a_blank_is_found_without_typing_subscripts_and_primes(
    example: str, blank: str, symbol: str, hidden: tuple[int, int]
) -> None:
    steps = SheetView(solve(str(ROOT / "examples" / example)), [blank]).steps
    assert [step.matrix.digits.is_hidden(*hidden) for step in steps if step.matrix.symbol == symbol] == [True]


def test_a_symbol_without_its_number_is_found_where_it_is_the_only_one() -> None:
    sheet = Worksheet.from_json((ROOT / "docs/inside/sentence-1-head.json").read_text(encoding="utf-8"))
    assert SheetView(sheet).matrix("A").symbol == "A₄"
    with pytest.raises(ProblemError, match="'A' is not a matrix of this sheet"):
        SheetView(solve(str(ROOT / "examples" / "multi-head-attention.yaml"))).matrix("A")


@pytest.mark.parametrize(
    ("where", "name"),
    [
        ("encoder.0.self_attention.head.2.query", "Encoder layer 1 · Self-attention · Head 3"),
        ("decoder.5.cross_attention.output", "Decoder layer 6 · Cross-attention · Output projection"),
        ("encoder.norm", "Encoder · Final norm"),
        ("output", "Output layer"),
        ("part.1.self_attention", "Part 2: b · Self-attention"),
        ("", ""),
    ],
)
def test_a_heading_counts_layers_and_heads_from_1(where: str, name: str) -> None:
    assert place_name(where, ("a", "b")) == name


@pytest.mark.parametrize(
    ("problem", "headings"),
    [
        ("lets-go-encoder", ["Encoder layer 1 · Residual"]),
        ("examples/decoder-block.yaml", [f"Decoder layer 1 · Residual and norm {n}" for n in (1, 2)]),
        (
            "examples/encoder-block-pre-norm.yaml",
            [f"Encoder layer 1 · {name}" for name in ("Norm 1", "Residual 1", "Norm 2", "Residual 2")],
        ),
        ("norms", None),
    ],
)
def test_a_residual_is_called_a_norm_only_where_it_has_one(problem: str, headings: list[str] | None) -> None:
    path = ROOT / problem
    steps = SheetView(solve(str(path) if path.exists() else problem)).steps
    sections = dict.fromkeys(step.section for step in steps if "add_and_norm" in step.record.where)
    if headings is not None:
        assert list(sections) == headings
    else:
        assert all(section.endswith(" · Norm") for section in sections)
