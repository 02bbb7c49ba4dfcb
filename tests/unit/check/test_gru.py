"""Workings of a GRU, right and wrong: each wrong one is worked here in plain Python by the rule that it is named after."""

import math
from pathlib import Path
from typing import Any

import pytest
import yaml

from clearhead.check import check
from clearhead.check.misconceptions import MISCONCEPTIONS
from clearhead.check.recurrent_misconceptions import complement_rules
from clearhead.check.report import Report
from tests.conftest import ROOT

Row = list[float]
PROBLEM: dict[str, Any] = yaml.safe_load((ROOT / "examples" / "gru.yaml").read_text(encoding="utf-8"))
BEFORE = PROBLEM | {"reset": "before"}
REPLACE = PROBLEM | {"update": "replace"}
OPEN = {key: value for key, value in PROBLEM.items() if key not in ("reset", "update")}


def product(matrix: list[Row], vector: Row, bias: Row | None = None) -> Row:
    sums = [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]
    return sums if bias is None else [a + b for a, b in zip(sums, bias, strict=True)]


def sigmoid(vector: Row) -> Row:
    return [1 / (1 + math.exp(-number)) for number in vector]


def times(a: Row, b: Row) -> Row:
    return [x * y for x, y in zip(a, b, strict=True)]


def plus(a: Row, b: Row) -> Row:
    return [x + y for x, y in zip(a, b, strict=True)]


def gate(name: str, x: Row, h: Row, *, has_bias: bool = True) -> Row:
    weights = PROBLEM["gru"][name]
    return sigmoid(plus(product(weights["W"], x, weights.get("b") if has_bias else None), product(weights["U"], h)))


def state_part(rule: str, r: Row, z: Row, h: Row) -> Row:
    """Return what the candidate takes from the state, by the right rule or by a wrong one."""
    u, c = PROBLEM["gru"]["candidate"]["U"], PROBLEM["gru"]["candidate"]["c"]
    return {
        "reset gate applied before the product with U": product(u, times(r, h), c),
        "reset gate forgotten": product(u, h, c),
        "update gate used for the reset gate": times(z, product(u, h, c)),
        "bias c added outside the product with the reset gate": plus(times(r, product(u, h)), c),
        "bias forgotten in U h": times(r, product(u, h)),
    }.get(rule, times(r, product(u, h, c)))


def mixed(rule: str, r: Row, z: Row, h: Row, n: Row) -> Row:
    """Return the new state by the right rule or by a wrong one."""
    rest = [1 - number for number in z]
    old, new = {
        "z taken as the weight of the candidate": (rest, z),
        "reset gate used for the update gate": (r, [1 - number for number in r]),
        "z used for 1 - z": (z, z),
        "1 - z used for z": (rest, rest),
    }.get(rule, (z, rest))
    return plus(times(old, h), times(new, n))


def working(rule: str = "", decimals: int = 4, names: str = "rznh") -> dict[str, str]:
    """Return both steps of the example, worked by a rule; a student carries the full numbers."""
    h, lines = PROBLEM["h0"], {}
    for time, x in enumerate(PROBLEM["X"], 1):
        r = gate("update" if rule == "weights of the update gate used for the reset gate" else "reset", x, h)
        z = gate("update", x, h, has_bias=rule != "bias forgotten")
        candidate = PROBLEM["gru"]["candidate"]
        n = [math.tanh(v) for v in plus(product(candidate["W"], x, candidate["b"]), state_part(rule, r, z, h))]
        h = mixed(rule, r, z, h, n)
        for name, row in zip("rznh", (r, z, n, h), strict=True):
            lines |= {f"{name}_{time}": " ".join(f"{number:.{decimals}f}" for number in row)} if name in names else {}
    return lines


def marked(lines: dict[str, str], problem: dict[str, Any] = PROBLEM) -> Report:
    (report,) = check({"problem": problem, "written": lines})
    return report


@pytest.mark.parametrize("decimals", [2, 3, 4])
@pytest.mark.parametrize("names", ["rznh", "rzh", "h"])
def test_a_right_working_has_no_error(decimals: int, names: str) -> None:
    report = marked(working(decimals=decimals, names=names))
    assert not report.has_error, report.findings
    assert len(report.lines) == 2 * len(names)


@pytest.mark.parametrize(
    ("rule", "remedy"),
    [
        ("z taken as the weight of the candidate", "Here z is the weight of the old state: h = (1 - z) ⊙ n + z ⊙ h."),
        ("reset gate applied before the product with U", "Here the reset gate multiplies U h"),
        ("reset gate forgotten", "Include it: "),
        ("update gate used for the reset gate", "The candidate uses the reset gate r"),
        ("reset gate used for the update gate", "The update gate z mixes the states"),
        ("bias c added outside the product with the reset gate", "Add c to U h first"),
        ("weights of the update gate used for the reset gate", "Every gate has its own weights"),
        ("bias forgotten", "Add the bias to every row."),
        ("bias forgotten in U h", "Add the bias to every row."),
        ("z used for 1 - z", "z and 1 - z are the weights of the old state and of the candidate"),
        ("1 - z used for z", "z and 1 - z are the weights of the old state and of the candidate"),
    ],
)
def test_a_wrong_rule_is_named_in_both_steps_and_nothing_else_is_blamed(rule: str, remedy: str) -> None:
    report = marked(working(rule))
    assert [finding.name for finding in report.findings] == [rule.removesuffix(" in U h")] * 2
    assert all(finding.remedy.startswith(remedy) for finding in report.findings), report.findings[0].remedy
    assert {finding.verdict.value for finding in report.findings} == {"misconception"}
    assert report.earned == report.out_of - 2, "the second one is a repeat, so that it costs no marks"


def test_the_other_rules_are_right_where_the_question_states_them() -> None:
    exchanged, before = (
        working("z taken as the weight of the candidate"),
        working("reset gate applied before the product with U"),
    )
    assert not marked(exchanged, REPLACE).has_error
    assert not marked(before, BEFORE).has_error
    wrong = marked(working(), REPLACE)
    assert {finding.name for finding in wrong.findings} == {"z taken as the weight of the old state"}
    assert wrong.findings[0].remedy == "Here z is the weight of the candidate: h = (1 - z) ⊙ h + z ⊙ n."
    late = marked(working(), BEFORE)
    assert {finding.name for finding in late.findings} == {"reset gate applied after the product with U"}


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("z taken as the weight of the candidate", "z as the weight of the candidate"),
        ("reset gate applied before the product with U", "a reset gate that is applied before the product with U"),
    ],
)
def test_a_rule_that_the_question_leaves_open_is_read_from_the_working(rule: str, words: str) -> None:
    report = marked(working(rule), OPEN)
    assert not report.has_error
    assert report.earned == report.out_of
    notes = [note.sentence for note in report.notes if note.kind == "convention"]
    assert notes == [
        f"The exercise does not state the convention. Your lines use {words}, so they were marked with that convention."
    ]


def test_the_parts_of_the_new_state_are_marked() -> None:
    lines = {
        "z_1": "0.70 0.49",
        "n_1": "0.84 0.62",
        "1 - z_1": "0.30 0.51",
        "kept_1": "0.35 -0.24",
        "new_1": "0.25 0.32",
    }
    assert not marked(lines).has_error
    wrong = marked(lines | {"1 - z_1": "-0.30 -0.51", "new_1": "-0.25 -0.32"})
    assert [finding.name for finding in wrong.findings] == ["z - 1 instead of 1 - z"]
    kept = marked(lines | {"kept_1": "0.15 -0.26"})  # 0.30×0.5 and 0.51×(-0.5)
    assert [finding.name for finding in kept.findings] == ["1 - z used for z"]


@pytest.mark.parametrize(
    ("lines", "num_errors", "earned"),
    [
        ({"r_1": "0.61 0.66", "z_1": "0.70 0.49", "n_1": "0.84 0.62", "h_1": "0.69 0.08"}, 1, 7.0),
        ({"z_1": "0.70 0.49", "n_1": "0.84 0.62", "h_1": "0.75 0.08"}, 1, 5.0),
        ({"z_1": "0.70 0.49", "h_1": "0.70 0.08"}, 1, 3.0),
        ({"h_1": "0.70 0.08", "h_2": "0.31 0.33"}, 2, 1.0),
        ({"n_1": "0.84 0.62", "h_1": "0.74 -0.01"}, 2, 2.0),
    ],
)
def test_a_wrong_state_without_its_parts_is_an_error_and_not_a_lack_of_working(
    lines: dict[str, str], num_errors: int, earned: float
) -> None:
    """The 0.08 in a line does not mean one significant figure: the 0.69 beside it has two."""
    report = marked(lines)
    errors = [cell for line in report.lines for cell in line.marked if cell.verdict.is_error]
    assert (len(errors), report.earned) == (num_errors, earned), report.counts
    assert "0.602" in report.findings[0].what


@pytest.mark.parametrize("decimals", [2, 3])
def test_gates_without_their_sums_are_marked_from_the_given_numbers(decimals: int) -> None:
    assert not marked(working(decimals=decimals, names="rz")).has_error
    wrong = marked({"r_1": "0.61 0.66", "z_1": "0.77 0.49"})
    assert [finding.line for finding in wrong.findings] == [1]
    assert wrong.earned == 3.0


def test_an_earlier_state_is_named_where_the_reset_gate_comes_first() -> None:
    """In step 2, r ⊙ h of step 1 is not a state, and the state without r is a forgotten reset gate."""
    lines = working("reset gate applied before the product with U")
    h = [float(number) for number in lines["h_1"].split()]
    u, c, w, b = (PROBLEM["gru"]["candidate"][letter] for letter in ("U", "c", "W", "b"))
    n = [math.tanh(v) for v in plus(product(w, PROBLEM["X"][1], b), product(u, h, c))]
    report = marked(lines | {"n_2": " ".join(f"{number:.4f}" for number in n), "h_2": "_ _"}, BEFORE)
    assert [finding.name for finding in report.findings] == ["reset gate forgotten"]


@pytest.mark.parametrize("candidate", ["h̃1", "h~_1", "n1", "candidate 1"])
def test_a_page_is_read_with_the_symbols_of_textbooks(tmp_path: Path, candidate: str) -> None:
    page = (
        f"r1 = σ(0.45, 0.65) = (0.61, 0.66)\nz1 = (0.70, 0.49)\n{candidate} = (0.84, 0.62)\n"
        "1 - z1 = (0.30, 0.51)\nh1 = (0.60, 0.08)\n"
    )
    path = tmp_path / "page.md"
    path.write_text(page, encoding="utf-8")
    (report,) = check(path, problem=PROBLEM)
    assert [line.symbol for line in report.lines] == ["a_r", "r₁", "z₁", "n₁", "(1 - z₁)", "h₁"]
    assert report.earned == report.out_of == 12


def test_the_tilde_of_latex_is_the_candidate(tmp_path: Path) -> None:
    path = tmp_path / "page.tex"
    path.write_text(r"$\tilde{h}_1 = (0.84, 0.62)$" + "\n\n" + r"$h_{1} = (0.60, 0.08)$" + "\n", encoding="utf-8")
    (report,) = check(path, problem=PROBLEM)
    assert [line.symbol for line in report.lines] == ["n₁", "h₁"]
    assert not report.has_error


def test_weights_of_another_gate_of_an_lstm_are_named() -> None:
    """f₁ = σ(W_i x + U_i h) = σ(0.2, -0.5) = 0.5498, 0.3775, which is the input gate."""
    (report,) = check({"problem": str(ROOT / "examples" / "lstm.yaml"), "written": {"f_1": "0.5498 0.3775"}})
    assert [finding.name for finding in report.findings] == ["weights of the input gate used for the forget gate"]


def test_the_step_has_its_own_misconceptions() -> None:
    assert MISCONCEPTIONS["complement"] is complement_rules
