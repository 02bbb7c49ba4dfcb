"""The example workings, marked on paper: every cell of every sheet has its verdict here, and every slip its right sum.

The verdicts were derived from the seven rules before the marker was run. A small marker of plain lists, at the end of
this file, derives them once more from the digits; it imports nothing from clearhead.
"""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

import clearhead.check
from clearhead.check import check
from clearhead.check.report import CellMark, LineMark, Report
from clearhead.check.verdict import Verdict
from tests.golden.by_hand import Matrix, softmax, transpose

FOLDER = Path(clearhead.check.__file__).parent / "workings"

# One letter per cell. "k" is used where both kinds of correct are right, because a rounded parent can mean the result of
# its own rounded working or the unrounded truth; "s" where the rules do not decide which of the two it is.
LETTERS = {
    "c": {Verdict.CORRECT},
    "r": {Verdict.ROUNDED},
    "k": {Verdict.CORRECT, Verdict.ROUNDED},
    "f": {Verdict.CARRIED},
    "t": {Verdict.TRUNCATED},
    "o": {Verdict.ROUNDING},
    "p": {Verdict.PLAUSIBLE},
    # By rule 6: it follows from the right value of a miscopied parent. This is also true of a copy of such a cell.
    "6": {Verdict.CORRECT, Verdict.CARRIED},
    "S": {Verdict.SLIP},
    "T": {Verdict.TRANSCRIPTION},
    "M": {Verdict.MISCONCEPTION},
    "s": {Verdict.SLIP, Verdict.TRANSCRIPTION},
    "i": {Verdict.SLIP, Verdict.TRANSCRIPTION, Verdict.MISCONCEPTION},
}
ROOTS = "STMsi"


@dataclass(frozen=True)
class Expected:
    """The verdicts of one written line: a word of letters for each row, the first of which is row `top` of the sheet."""

    symbol: str
    verdicts: str
    where: str = ""
    top: int = 1


# Line by line in the order of the file.
EXPECTED: dict[str, list[Expected]] = {
    "seq2seq-dot": [
        Expected("e", "ccc"),
        Expected("α", "ctc"),
        Expected("a", "rrrc"),
        Expected("s′", "kkkccccc"),
    ],
    "seq2seq-multiplicative": [
        Expected("Wh", "cccc cctS ctSS"),
        Expected("e", "cff"),
        Expected("α", "fff"),
        Expected("a", "ffff"),
        Expected("s′", "ffffcccc"),
    ],
    "exam-self-attention": [
        Expected("Q", "ccc ccc ccc"),
        Expected("K", "ccc ccc ccc"),
        Expected("V", "ccc ccc ccc"),
        Expected("S′", "tcc cco ccc"),
        Expected("A", "ccc tcc ccc"),
        Expected("Z", "ccc coc ccc"),
    ],
    "numerical-self-attention": [
        Expected("Q", "ccc ccc ccc"),
        Expected("K", "ccc ccc ccc"),
        Expected("V", "ccc ccc ccc"),
        Expected("S", "ccc ccS ccc"),
        Expected("A", "ccc sff tcc"),
        Expected("Z", "srr tff srt"),
    ],
    "numerical-masked-self-attention": [
        Expected("Q", "ccc ccc ccc ccc"),
        Expected("K", "ccc ccc ccc ccc"),
        Expected("V", "ccc ccc ccc ccc"),
        Expected("Q", "ccc Tcc ccc ccc"),
        Expected("S", "cccc cccc cccc cccc"),
        Expected("S″", "cccc cccc cccc cccc"),
        Expected("A", "cccc cccc cccc cccc"),
        Expected("A", "cccc cccc cccc cccc"),
        Expected("Z", "ccc ccc ccc ccc"),
    ],
    "numerical-cross-attention": [
        Expected("Q", "ccc ccc"),
        Expected("K", "ccc ccc ccc ccc"),
        Expected("V", "ccc ccc ccc ccc"),
        Expected("K", "ccc ccc ccT ccc"),
        Expected("S", "cccc cccc"),
        Expected("A", "cctc ttcc"),
        Expected("A", "cccc cccc"),
        Expected("Z", "ccc ccc"),
    ],
    "lets-go-encoder": [
        Expected("X′", "cc cc"),
        Expected("Q", "cc cc"),
        Expected("K", "pc cc"),
        Expected("V", "cc cc"),
        Expected("S", "rr rr"),
        Expected("A", "cc cc"),
        Expected("A", "t"),
        Expected("Z", "cc cc"),
        Expected("R₁", "rr rr"),
    ],
    "lets-go-decoder-eos": [
        Expected("X′", "cc"),
        Expected("Q", "cc", "self"),
        Expected("K", "cp", "self"),
        Expected("V", "cc", "self"),
        Expected("S", "k", "self"),
        Expected("A", "c", "self"),
        Expected("R₁", "cr"),
        Expected("Q", "rr", "cross"),
        Expected("K", "cc cc", "cross"),
        Expected("V", "cc cc", "cross"),
        Expected("S", "rk", "cross"),
        Expected("A", "cc", "cross"),
        Expected("Z", "cc", "cross"),
        Expected("R₂", "cc"),
    ],
    "lets-go-decoder-vamos": [
        Expected("X′", "ii", top=2),
        Expected("Q", "Tf", "self", top=2),
        Expected("K", "cp", "self"),
        Expected("V", "cc", "self"),
        Expected("V", "ff", "self", top=2),
        Expected("S", "6p", "self", top=2),
        Expected("S", "6T", "self", top=2),
        Expected("A", "ff", "self", top=2),
        Expected("R₁", "of", top=2),
        Expected("Q", "ff", "cross", top=2),
        Expected("K", "cc cc", "cross"),
        Expected("V", "cc cc", "cross"),
        Expected("S", "ff", "cross", top=2),
        Expected("A", "ff", "cross", top=2),
        Expected("Z", "ff", "cross", top=2),
        Expected("R₂", "ff", top=2),
    ],
    "positions-added": [
        Expected("P", "cccc"),
        Expected("P", "MMtc", top=2),
    ],
}


def test_seq2seq_dot_has_no_error() -> None:
    """No slip.

    α₂ = e^0.82 / (e^0.6 + e^0.82 + e^1.04) = 0.3280, written 0.32: truncated, not wrong.
    a₁ = 0.26×0.1 + 0.32×0.2 + 0.41×0.3 = 0.213 from the weights as written (0.2145 from the unrounded ones): rounded
    working. a₄ = 0.26×0.4 + 0.32×0.5 + 0.41×0.6 = 0.51, and 0.5145 to two decimals is 0.51 too.
    """
    agree("seq2seq-dot", roots=[])


def test_seq2seq_multiplicative_has_three_slips_in_Wh_and_everything_else_follows_from_them() -> None:
    """Three slips in W h; the page continues to add 0.1 along the row where the step grows to 0.14 and 0.18.

    W h₂, 4th: 0.4×0.2 + 0.5×0.3 + 0.6×0.4 + 0.7×0.5 = 0.82, written 0.7.
    W h₃, 3rd: 0.3×0.3 + 0.4×0.4 + 0.5×0.5 + 0.6×0.6 = 0.86, written 0.7.
    W h₃, 4th: 0.4×0.3 + 0.5×0.4 + 0.6×0.5 + 0.7×0.6 = 1.04, written 0.8.
    The page wrote one decimal, so its 0.5 for 0.54 is correctly rounded and its 0.6 for 0.68 (twice) is cut, not wrong.
    W is symmetric, so that no rule with W on the other side explains the line.
    e₂ = 0.4×0.4 + 0.5×0.5 + 0.6×0.6 + 0.7×0.7 = 1.26 and e₃ = 0.4×0.5 + 0.5×0.6 + 0.6×0.7 + 0.7×0.8 = 1.48 follow;
    softmax(1.04, 1.26, 1.48) = 0.2632, 0.3280, 0.4087; a₁ = 0.26×0.1 + 0.33×0.2 + 0.41×0.3 = 0.215.
    """
    agree("seq2seq-multiplicative", roots=["Wh 2 4", "Wh 3 3", "Wh 3 4"])


def test_the_exam_answer_has_no_error() -> None:
    """No slip, but four cells whose last digit is not the rounded one.

    S′₁₁ = (0.5×2.18 + 1.7×1.75 + 1.49×1.57) / √3 = 6.4043 / 1.7320… = 3.6975, written 3.69: truncated.
    S′₂₃ = (1×1.7 + 3.05×2 + 2.65×1.72) / √3 = 12.358 / √3 = 7.1349, written 7.14: less than a unit off, rounding only.
    A₂₁ = e^6.742 / (e^6.742 + e^11.893 + e^7.135) = 0.0057, written 0 beside 0.99, which means 0.00: truncated.
    Z₂₂ = 0×2.2 + 0.99×3.95 + 0.01×2.59 = 3.9364 (unrounded 3.9285), written 4.0: rounding only.
    """
    agree("exam-self-attention", roots=[])


def test_numerical_self_attention_has_four_independent_slips() -> None:
    """Four slips, of which the last three do not come from the first.

    S₂₃ = 2×2 + 2×3 + 2×1 = 12, written 18. From 4, 16, 18 follow A₂₂ = 0.1192 and A₂₃ = 0.8808, as written.
    A₂₁ = e⁴ / (e⁴ + e¹⁶ + e¹⁸) = 0.00000073, written 0.000007: a nought too few. (From 12 it would be 0.000006, and
    then A₂₂ would be 0.98: the entire row was worked from 18.)
    Z₁₁ = 0.06×1 + 0.468×2 + 0.468×2 = 1.932, written 1.0932: a nought slipped in.
    Z₃₁ = 0.00029×1 + 0.88×2 + 0.119×2 = 1.998, written 1.099; not below the wrong score, that is in row 2.
    Z₂₁ = 0.000007×1 + 0.119×2 + 0.88×2 = 1.998, written 1.99: cut. Z₂₂ = 0.000007×2 + 0.119×8 + 0.88×6 = 6.232 and
    Z₂₃ = 0.000007×3 + 0.88×3 = 2.640 are carried forward. Z₃₃ = 0.00029×3 + 0.119×3 = 0.35787, written 0.357: cut.
    A₃₁ = e⁴ / (e⁴ + e¹² + e¹⁰) = 0.000295, written 0.00029: cut.
    """
    agree("numerical-self-attention", roots=["S 2 3", "A 2 1", "Z 1 1", "Z 3 1"])


def test_masked_self_attention_has_one_miscopied_number_that_was_not_used() -> None:
    """One transcription: Q₂₁ = 0.4×1 + 0.5×4 + 0.6×7 = 6.6, and 6.6 in its own line, copied into the scores as 6.4.

    The scores were worked from 6.6: S₂₁ = 6.6×4.2 + 3.9×1.8 + 7.6×1.4 = 45.38, where 6.4 would give 44.54.
    e^(45.38 − 116.99) = 7.946e-32, e^(70.7 − 294.2) = 8.614e-98, e^(182.45 − 294.2) = 2.935e-49,
    e^(96.02 − 551.69) = 1.2736e-198, e^(247.91 − 551.69) = 1.17496e-132, e^(399.8 − 551.69) = 1.0840e-66: all right.
    """
    agree("numerical-masked-self-attention", roots=["Q 2 1"])


def test_cross_attention_has_one_miscopied_number_that_was_not_used() -> None:
    """One transcription: K₃₃ = 0.7×9 + 0.8×1 + 0.9×1 = 8, and 8 in its own line, copied into the scores as 8.1.

    The scores were worked from 8: S₁₃ = 6.4×14.4 + 2.1×8.4 + 8.6×8 = 178.6 (8.1 would give 179.46), and
    S₂₃ = 5.1×14.4 + 5.5×8.4 + 5.9×8 = 166.84. Three weights are cut: e^(178.6 − 246.55) = 3.0881e-30, written 3.08;
    e^(39.58 − 230.47) = 1.2518e-83, written 1.2; e^(103.21 − 230.47) = 5.391e-56, written 5.3.
    """
    agree("numerical-cross-attention", roots=["K 3 3"])


def test_the_encoder_of_lets_go_has_no_error() -> None:
    """No slip: the one number that is off is explained by weights that were themselves shown to one decimal.

    K₁₁ = 1.87×(−1.7) + 1.09×(−1.5) = −4.814, written −4.7; weights within ±0.05 move it by (1.87 + 1.09)×0.05 = 0.148,
    as far as −4.666, and −4.7 means anything from −4.75 to −4.65: plausible.
    S₁₁ = −1.0×−4.7 + 3.7×1.9 = 11.73, S₁₂ = −1.0×1.9 + 3.7×−0.2 = −2.64, S₂₁ = −3.7×−4.7 + 0.6×1.9 = 18.53 and
    S₂₂ = −3.7×1.9 + 0.6×−0.2 = −7.15 (an exact half, written −7.2) are right from the digits on the page.
    e^11.7 / (e^11.7 + e^−2.6) = 0.9999994, written 0.99: truncated. Output: 1.87 + 2.5 = 4.37, 1.09 − 2.1 = −1.01, …
    """
    agree("lets-go-encoder", roots=[])


def test_the_decoder_of_lets_go_has_no_error_on_its_first_token() -> None:
    """No slip.

    K₁₂ = 2.70×(−0.7) + (−0.34)×0.3 = −1.992, written −1.8; weights within ±0.05 reach −1.992 + 3.04×0.05 = −1.84, and
    −1.8 begins at −1.85: plausible. S = 1.2×1.2 + 1.0×−1.8 = −0.36, written −0.4. Output: −0.34 + 1.0×−2.3 = −2.64,
    written −2.6. Cross: Q = −0.1×1.5 + −2.6×0.3 = −0.93 and −0.1×−0.3 + −2.6×−1.0 = 2.63;
    S = −0.9×−4.5 + 2.6×2.1 = 9.51 and −0.9×−0.5 + 2.6×1.4 = 4.09.
    """
    agree("lets-go-decoder-eos", roots=[])


def test_the_decoder_of_lets_go_forgets_a_position_and_miscopies_two_numbers() -> None:
    """The position was not added, one query was miscopied, and so was one score on its way into the softmax.

    X′ of Vamos = −0.86 + (−0.9) = −1.76 and 2.37 + 0.4 = 2.77, written −0.86 and 2.37, the word alone: two root cells.
    Q₁ from that = −0.86×0.4 + 2.37×−0.3 = −1.055, so −1.1, written −1.3. Rounded weights reach only −1.055 − 0.165 =
    −1.22, and −1.3 begins at −1.25. The score that uses it was worked from the right one: −1.055×1.216 + −0.107×−1.992
    = −1.07, written −1.1, where −1.3×1.2 + −0.1×−1.8 = −1.38 and, at its widest, −1.155. So by rule 6 the −1.3 is a
    transcription and the −1.1 is right.
    S₂ needs K of Vamos, that the page skips: (−1.292, 1.313), so S₂ = −1.3×−1.292 + −0.1×1.313 = 1.548, written 1.4;
    weights within ±0.05 move that K by 0.165, and so S₂ by 0.38: plausible.
    Into the softmax the page copies −1.4 for 1.4: a sign, transcription; softmax(−1.1, 1.4) = 0.076, 0.924 was used.
    Output: −0.86 + 0.1×−2.8 + 0.9×0.0 = −1.14, written −1.2: rounding only. 2.37 + 0.1×−2.3 + 0.9×3.7 = 5.47: follows.
    Cross: Q = −1.2×1.5 + 5.5×0.3 = −0.15 (an exact half, written −0.1) and −1.2×−0.3 + 5.5×−1.0 = −5.14;
    S = −0.1×−4.5 + −5.1×2.1 = −10.26 and −0.1×−0.5 + −5.1×1.4 = −7.09; output −1.2 + 2.6 = 1.4 and 5.5 + 1.2 = 6.7.
    """
    agree("lets-go-decoder-vamos", roots=["X′ 2 1", "X′ 2 2", "Q 2 1", "S 2 2"])


def test_the_positions_that_are_added_were_worked_in_degrees() -> None:
    """One misconception, degrees instead of radians, that reproduces the entire second line.

    sin 1 = 0.8415, written 0.02: sin 1° = 0.0175. cos 1 = 0.5403, written 1: cos 1° = 0.9998.
    The other two cells cannot tell: sin 0.01 = 0.00999983, written 0 beside 0.02 (so 0.00), is cut; cos 0.01 = 0.99995.
    """
    report = agree("positions-added", roots=["P 2 1", "P 2 2"])
    assert [finding.name for finding in report.findings] == ["degrees instead of radians"], (
        "one misconception should explain both cells"
    )


def test_every_working_has_its_verdicts_here() -> None:
    assert {path.stem for path in FOLDER.glob("*.yaml")} == set(EXPECTED), "a working without verdicts, or the reverse"


@pytest.mark.parametrize("name", list(EXPECTED))
@pytest.mark.parametrize("takes_rounded_parents_as_they_are", [False, True])
def test_a_second_implementation_of_the_rules_gives_the_same_verdicts(
    name: str, takes_rounded_parents_as_they_are: bool
) -> None:
    if name == "positions-added":
        assert [[f"{math.sin(math.radians(x)):.2f}", f"{math.cos(math.radians(x)):.2f}"] for x in (1, 0.01)] == [
            ["0.02", "1.00"],
            ["0.00", "1.00"],
        ], "in degrees the second line would be what the page writes"
    derived = SHEETS[name](Paper(lines_of(name), takes_rounded_parents_as_they_are))
    expected_lines = [
        line for line in EXPECTED[name] if "T" not in line.verdicts or line.verdicts == "Tf"
    ]  # without the copies
    assert len(derived) == len(expected_lines) > 0, "a line was left out"
    for expected, letters in zip(expected_lines, derived, strict=True):
        alike = {"k": "cr", "s": "S", "i": "S", "M": "S", "T": "S", "6": "S"}
        for wanted, letter in zip(expected.verdicts.replace(" ", ""), letters.replace(" ", ""), strict=True):
            assert letter in alike.get(wanted, wanted), f"{name}, {expected}: the rules give {letters}"


# How the marker's report is compared with the verdicts above.


def lines_of(name: str) -> list[list[list[str]]]:
    """Every written line of a working, in order, as rows of raw cells."""
    data = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    assert data["problem"] == name, "a working should be about the problem of its name"
    return list(_flat(data["written"]))


def _flat(lines: dict[str, Any]) -> Iterator[list[list[str]]]:
    for value in lines.values():  # a number, a row, a matrix, or a part that contains lines
        if isinstance(value, dict):
            yield from _flat(value)
        else:
            rows: list[Any] = [[value]] if isinstance(value, str) else value
            yield rows if isinstance(rows[0], list) else [rows]


def agree(name: str, roots: list[str]) -> Report:
    """Mark the working and compare every cell, and every root error, with what was derived."""
    [report] = check(FOLDER / f"{name}.yaml")
    wrong: list[str] = []
    errors: list[str] = []
    for expected, rows in zip(EXPECTED[name], lines_of(name), strict=True):
        line = _find(report, expected, rows)
        words = expected.verdicts.split()
        for cell in _rows(line, expected, rows):
            wanted = words[cell.row + 1 - expected.top][cell.column]
            at = f"{expected.symbol} {cell.row + 1} {cell.column + 1}"
            if wanted in ROOTS:
                errors.append(at)
            if cell.verdict not in LETTERS[wanted]:
                wrong.append(f"{line.name}, {at}, written {cell.text}: {cell.verdict}, not {sorted(LETTERS[wanted])}")
    assert not wrong, "\n".join(wrong)
    assert sorted(errors) == sorted(roots), "the table and the list of roots disagree"
    blamed = [
        f"{report.lines[finding.line].symbol} {row + 1} {column + 1}"
        for finding in report.findings
        for row, column in finding.cells
    ]
    assert sorted(blamed) == sorted(roots), "the findings are not the root errors"
    assert report.has_error == bool(roots)
    assert report.exit_code == (1 if roots else 0)
    return report


def _find(report: Report, expected: Expected, rows: list[list[str]]) -> LineMark:
    """The marked line with this symbol, at this place, whose cells are the ones that were written."""
    texts = [cell for row in rows for cell in row]
    matches = [
        line
        for line in report.lines
        if line.symbol == expected.symbol
        and expected.where in line.where
        and [cell.text for cell in _rows(line, expected, rows)] == texts
    ]
    assert len(matches) == 1, f"{expected} was written once and is in the report {len(matches)} times"
    return matches[0]


def _rows(line: LineMark, expected: Expected, written_rows: list[list[str]]) -> list[CellMark]:
    """The marked cells of the rows that were written: rows written one at a time are joined in a report."""
    rows = range(expected.top - 1, expected.top - 1 + len(written_rows))
    return [cell for cell in line.marked if cell.row in rows]


# The second implementation: the rules on plain lists. x is a line as written, x̂ what it means.


@dataclass(frozen=True)
class Marked:
    """A line of numbers: as written, what they mean, the unit of each, and whether an error is in it or above it."""

    x: Matrix
    hat: Matrix
    unit: Matrix
    is_spoilt: list[list[bool]]
    letters: str = ""


@dataclass(frozen=True)
class Reference:
    """What a line should be: from the written parents, from what those mean, how far it can move, errors above."""

    x: Matrix
    hat: Matrix
    radius: Matrix
    is_below: list[list[bool]]


def given(numbers: Matrix, unit: float = 0.0) -> Marked:
    """Numbers of the question: exact, or shown to `unit`."""
    return Marked(numbers, numbers, [[unit for _ in row] for row in numbers], [[False for _ in row] for row in numbers])


def product(a: Marked, b: Marked, divisor: float = 1.0) -> Reference:
    """A B, each cell a sum of products."""

    def cells(first: Matrix, second: Matrix) -> Matrix:
        return [
            [math.fsum(p * q for p, q in zip(r, c, strict=True)) / divisor for c in transpose(second)] for r in first
        ]

    def move(i: int, j: int) -> float:
        return math.fsum(
            abs(a.x[i][k]) * b.unit[k][j] / 2 + abs(b.x[k][j]) * a.unit[i][k] / 2 + a.unit[i][k] * b.unit[k][j] / 4
            for k in range(len(b.x))
        )

    places = [[(i, j) for j in range(len(b.x[0]))] for i in range(len(a.x))]
    below = [[any(a.is_spoilt[i]) or any(row[j] for row in b.is_spoilt) for i, j in row] for row in places]
    return Reference(
        cells(a.x, b.x), cells(a.hat, b.hat), [[move(i, j) / divisor for i, j in r] for r in places], below
    )


def turned(a: Marked) -> Marked:
    """Aᵀ."""
    spoilt = [list(column) for column in zip(*a.is_spoilt, strict=True)]
    return Marked(transpose(a.x), transpose(a.hat), transpose(a.unit), spoilt)


def weights(scores: Marked) -> Reference:
    """The softmax of each row, and the widest it moves when every score moves by half its unit."""
    rows = [softmax(row) for row in scores.x]
    radius = []
    for row, units in zip(rows, scores.unit, strict=True):
        grown = math.exp(max(units))
        radius.append([max(a - a / (a + (1 - a) * grown), a / (a + (1 - a) / grown) - a) for a in row])
    return Reference(
        rows, [softmax(row) for row in scores.hat], radius, [[any(row)] * len(row) for row in scores.is_spoilt]
    )


def total(a: Marked, b: Marked | Reference) -> Reference:
    """A + B, cell by cell."""
    b = skipped(b) if isinstance(b, Reference) else b

    def cells(first: Matrix, second: Matrix, factor: float = 1.0) -> Matrix:
        return [[(p + q) * factor for p, q in zip(r, s, strict=True)] for r, s in zip(first, second, strict=True)]

    below = [[p or q for p, q in zip(r, s, strict=True)] for r, s in zip(a.is_spoilt, b.is_spoilt, strict=True)]
    return Reference(cells(a.x, b.x), cells(a.hat, b.hat), cells(a.unit, b.unit, 0.5), below)


def same(a: Marked) -> Reference:
    """A line written again."""
    return Reference(a.x, a.hat, [[u / 2 for u in row] for row in a.unit], a.is_spoilt)


def stack(*parts: Marked) -> Marked:
    """Rows one below the other."""
    every = [[row for part in parts for row in getattr(part, field)] for field in ("x", "hat", "unit", "is_spoilt")]
    return Marked(every[0], every[1], every[2], every[3])


def skipped(reference: Reference) -> Marked:
    """A line that was not written."""
    return Marked(reference.x, reference.hat, [[2 * r for r in row] for row in reference.radius], reference.is_below)


def unit_of(text: str, line: list[str], value: float) -> float:
    """The unit of the last digit written; of an integer, as the cells around it."""
    mantissa, _, power = text.partition("e")
    if "." in mantissa:
        return float(f"1e{int(power or 0) - len(mantissa.partition('.')[2])}")
    if math.isinf(value) or abs(value - round(value)) < 1e-9:
        return 0.0
    units = Counter(unit_of(cell, [], 0.0) for cell in line if "." in cell)
    return units.most_common(1)[0][0] if units else 0.01


class Paper:
    """A sheet that is marked line by line, in the order of the file."""

    def __init__(self, lines: list[list[list[str]]], takes_as_written: bool) -> None:
        self.lines = iter(lines)
        self.takes_as_written = takes_as_written

    def skip(self) -> None:
        """Skip a matrix that only restates another one."""
        next(self.lines)

    def mark(self, reference: Reference) -> Marked:
        """Mark the next line against what it should be."""
        texts = next(self.lines)
        around = [cell for row in texts for cell in row]
        x = [[float(cell) for cell in row] for row in texts]
        hat = [list(row) for row in x]
        unit = [[0.0] * len(row) for row in x]
        spoilt = [[False] * len(row) for row in x]
        letters = [""] * len(x)
        for i, row in enumerate(texts):
            for j, text in enumerate(row):
                true, own, is_below = reference.hat[i][j], reference.x[i][j], reference.is_below[i][j]
                unit[i][j] = unit_of(text, around, true)
                letter = judge(x[i][j], unit[i][j], true, own, reference.radius[i][j])
                spoilt[i][j] = letter == "S" or is_below
                letters[i] += "f" if letter in "cr" and is_below else letter
                if letter != "S" and not (self.takes_as_written and letter == "p"):
                    hat[i][j] = own if self.takes_as_written and letter == "r" else true
        return Marked(x, hat, unit, spoilt, " ".join(letters))


def judge(y: float, v: float, true: float, own: float, radius: float) -> str:
    """The first of rules 1 to 5 and 7 that fits."""
    if y == true:
        return "c"
    if v == 0:  # an integer, where an integer is expected
        return "c" if abs(y - true) < 1e-9 else ("r" if abs(y - own) < 1e-9 else "S")
    slack = 1e-9 * v
    if abs(y - true) <= v / 2 + slack:
        return "c"
    if abs(y - own) <= v / 2 + slack:
        return "r"
    if any(abs(math.trunc(f / v + math.copysign(1e-9, f)) * v - y) <= slack for f in (true, own)):
        return "t"
    if min(abs(y - true), abs(y - own)) < v - slack:
        return "o"
    return "p" if abs(y - own) <= radius + v / 2 + slack else "S"


# The numbers of the questions, typed in again, and the order of the lines on each page.

H: Matrix = [[0.1, 0.2, 0.3, 0.4], [0.2, 0.3, 0.4, 0.5], [0.3, 0.4, 0.5, 0.6]]
STATE: Matrix = [[0.4, 0.5, 0.6, 0.7]]
SENTENCE: Matrix = [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0.8, 0.9], [1.0, 1.1, 1.2]]
Triple = tuple[Matrix, Matrix, Matrix]  # W_Q, W_K, W_V
SHARED: Triple = (
    [[1, 2, 3], [4, 5, 2], [7, 1, 9]],
    [[1, 6, 9], [7, 3, 1], [9, 2, 1]],
    [[2, 4, 6], [8, 0, 2], [1, 6, 8]],
)
SELF: Triple = ([[0.4, 0.4], [-0.3, 0.1]], [[0.4, -0.7], [-0.4, 0.3]], [[-1.1, -0.7], [-0.4, 1.3]])
CROSS: Triple = ([[1.5, -0.3], [0.3, -1.0]], [[-1.1, 0.3], [-0.3, -0.8]], [[1.1, 0.6], [-1.2, -0.5]])
MEMORY: Matrix = [[4.37, -1.01], [0.82, -1.43]]


def seq2seq(paper: Paper, weight: Matrix | None = None) -> list[str]:
    h, s = given(H), given(STATE)
    first = paper.mark(turned_reference(product(given(weight), turned(h)))) if weight else h
    scores = paper.mark(product(s, turned(first)))
    alpha = paper.mark(weights(scores))
    a = paper.mark(product(alpha, h))
    joined = turned(stack(turned(a), turned(s)))
    state = paper.mark(same(joined))
    return [line.letters for line in (([first] if weight else []) + [scores, alpha, a, state])]


def turned_reference(a: Reference) -> Reference:
    below = [list(column) for column in zip(*a.is_below, strict=True)]
    return Reference(transpose(a.x), transpose(a.hat), transpose(a.radius), below)


def projected(paper: Paper, x: Marked, memory: Marked, matrices: Triple, unit: float = 0.0) -> list[Marked]:
    """Q, K and V as the next three lines."""
    return [paper.mark(product(m, given(w, unit))) for m, w in zip((x, memory, memory), matrices, strict=True)]


def letters(*lines: Marked) -> list[str]:
    return [line.letters for line in lines]


def exam(paper: Paper) -> list[str]:
    x = given([[1, 0.3, 0.4], [1.5, 0.5, 1], [0.3, 1, 0.8]])
    matrices: Triple = (
        [[0, 0.7, 1], [1, 2, 0.3], [0.5, 1, 1]],
        [[1.8, 1, 1], [1, 0.5, 0.7], [0.2, 1.5, 0.9]],
        [[1, 1.3, 0.4], [2, 1, 2], [1, 1.5, 0.2]],
    )
    q, k, v = projected(paper, x, x, matrices)
    scaled = paper.mark(product(q, turned(k), math.sqrt(3)))
    a = paper.mark(weights(scaled))
    return letters(q, k, v, scaled, a, paper.mark(product(a, v)))


def numerical(paper: Paper) -> list[str]:
    x = given([[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]])
    matrices: Triple = (
        [[1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1]],
        [[0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0]],
        [[0, 2, 0], [0, 3, 0], [1, 0, 3], [1, 1, 0]],
    )
    q, k, v = projected(paper, x, x, matrices)
    scores = paper.mark(product(q, turned(k)))
    a = paper.mark(weights(scores))
    return letters(q, k, v, scores, a, paper.mark(product(a, v)))


def masked(paper: Paper) -> list[str]:
    q, k, v = projected(paper, given(SENTENCE), given(SENTENCE), SHARED)
    paper.skip()
    scores = paper.mark(product(q, turned(k)))
    copied = same(scores)
    x, hat = (
        [[cell if j <= i else -math.inf for j, cell in enumerate(row)] for i, row in enumerate(m)]
        for m in (copied.x, copied.hat)
    )
    hidden = paper.mark(Reference(x, hat, copied.radius, copied.is_below))
    a = paper.mark(weights(hidden))
    return letters(q, k, v, scores, hidden, a, paper.mark(same(a)), paper.mark(product(a, v)))


def cross(paper: Paper) -> list[str]:
    q, k, v = projected(paper, given([[0.4, 0.1, 0.8], [0.9, 0.7, 0.2]]), given(SENTENCE), SHARED)
    paper.skip()
    scores = paper.mark(product(q, turned(k)))
    a = paper.mark(weights(scores))
    return letters(q, k, v, scores, a, paper.mark(same(a)), paper.mark(product(a, v)))


def encoder(paper: Paper) -> list[str]:
    x = paper.mark(total(given([[1.87, 0.09], [-0.78, 0.27]]), given([[0.0, 1.0], [-0.9, 0.4]])))
    matrices: Triple = ([[1.1, 0.6], [-2.8, 2.4]], [[-1.7, 0.5], [-1.5, 0.9]], [[1.5, -1.0], [-0.3, -0.2]])
    q, k, v = projected(paper, x, x, matrices, 0.1)
    scores = paper.mark(product(q, turned(k)))
    a = paper.mark(weights(scores))
    again = paper.mark(weights(scores))  # its first cell, written once more
    z = paper.mark(product(a, v))
    return letters(x, q, k, v, scores, a, again, z, paper.mark(total(x, z)))


def first_step(paper: Paper) -> list[str]:
    x = paper.mark(total(given([[2.70, -1.34]]), given([[0.0, 1.0]])))
    q, k, v = projected(paper, x, x, SELF, 0.1)
    scores = paper.mark(product(q, turned(k)))
    a = paper.mark(weights(scores))
    first = paper.mark(total(x, product(a, v)))
    return letters(x, q, k, v, scores, a, first) + cross_half(paper, first)


def second_step(paper: Paper) -> list[str]:
    eos = skipped(total(given([[2.70, -1.34]]), given([[0.0, 1.0]])))
    x = paper.mark(total(given([[-0.86, 2.37]]), given([[-0.9, 0.4]])))
    w_q, w_k, w_v = (given(w, 0.1) for w in SELF)
    q = paper.mark(product(x, w_q))
    k_eos = paper.mark(product(eos, w_k))
    v_eos, v_vamos = paper.mark(product(eos, w_v)), paper.mark(product(x, w_v))
    k = stack(k_eos, skipped(product(x, w_k)))
    scores = paper.mark(product(q, turned(k)))
    # Rule 6: the right query, from the input as it was written, gives the score as it was written.
    right = product(skipped(product(x, w_q)), turned(k))
    assert f"{right.hat[0][0]:.1f}" == "-1.1", "the first score should follow from the right query"
    paper.skip()
    a = paper.mark(weights(scores))
    first = paper.mark(total(x, product(a, stack(v_eos, v_vamos))))
    return letters(x, q, k_eos, v_eos, v_vamos, scores, a, first) + cross_half(paper, first)


def cross_half(paper: Paper, first: Marked) -> list[str]:
    q, k, v = projected(paper, first, given(MEMORY), CROSS, 0.1)
    scores = paper.mark(product(q, turned(k)))
    a = paper.mark(weights(scores))
    z = paper.mark(product(a, v))
    return letters(q, k, v, scores, a, z, paper.mark(total(first, z)))


def positions(paper: Paper) -> list[str]:
    table = [[math.sin(p), math.cos(p), math.sin(p / 100), math.cos(p / 100)] for p in (0, 1)]
    return letters(*(paper.mark(same(given([row]))) for row in table))


SHEETS = {
    "seq2seq-dot": seq2seq,
    "seq2seq-multiplicative": lambda paper: seq2seq(paper, [[(i + j + 1) / 10 for j in range(4)] for i in range(4)]),
    "exam-self-attention": exam,
    "numerical-self-attention": numerical,
    "numerical-masked-self-attention": masked,
    "numerical-cross-attention": cross,
    "lets-go-encoder": encoder,
    "lets-go-decoder-eos": first_step,
    "lets-go-decoder-vamos": second_step,
    "positions-added": positions,
}
