"""Workings written by hand to trip the checker, marked on paper: each tests one thing that a marker easily gets wrong.

The files are in the folder twenty. Each case below gives the verdict of every cell that was derived on paper, with the
numbers and the rule: f is the value that the lines above give, v the unit of the written number. What a faultless person
can reach where lines are skipped: each skipped line in full, at the shown decimals or at one more, rounded or cut.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.command import run

FOLDER = Path(__file__).parent / "twenty"
EXAMPLES = Path(__file__).parents[2] / "examples"
CORRECT, ROUNDED, CARRIED = "correct", "correct (rounded working)", "carried forward"
CUT, NEAR, PLAUSIBLE = "truncated", "rounding only", "plausible"
SLIP, WRONG_RULE, IMPOSSIBLE, COPIED = ("arithmetic slip", "misconception", "invariant violated", "transcription")
ERRORS = {SLIP, WRONG_RULE, IMPOSSIBLE, COPIED}

# One letter for each cell. An "e" is an error whose cause is not known: no wrong rule and no copying error is claimed.
LETTERS = {
    "c": {CORRECT},
    "k": {CORRECT, ROUNDED},
    "r": {ROUNDED},
    "f": {CARRIED},
    "o": {NEAR},
    "p": {PLAUSIBLE},
    "a": {CORRECT, ROUNDED, CUT, NEAR, PLAUSIBLE},
    "M": {WRONG_RULE},
    "I": {IMPOSSIBLE},
    "e": {SLIP, IMPOSSIBLE},
    "E": ERRORS,
    "q": {PLAUSIBLE} | ERRORS,
    "n": {"not enough working"} | ERRORS,
    "x": {CORRECT, ROUNDED, NEAR, PLAUSIBLE, "not enough working"} | ERRORS,
}


@dataclass(frozen=True)
class Line:
    """A line of the sheet: its verdicts, a word of letters for each row, and its marks where the rules decide them."""

    symbol: str
    verdicts: str
    marks: str = ""


@dataclass(frozen=True)
class Case:
    """One working: its exercise, its exit code, its lines, the number of errors, and what its report says or never says."""

    file: str
    problem: str
    code: int
    lines: tuple[Line, ...] = ()
    findings: int | None = None
    says: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    most_marks: float | None = None


# Sentences that claim a cause.
CAUSES = (
    "misconception",
    "digit",
    "ten times",
    "exchanged",
    "swapped",
    "copied",
    "counted twice",
    "is missing",
    "sign",
)
TICK_TOCK = "scheme.yaml"

ALONE = [
    # X = [1 2; 3 1] gives Z = [2.586 6.379; 2.363 6.044], V = [1 4; 3 7]. Nobody whose weights lie between 0 and 1 gets
    # -3 (the least is 0·1 + 0·3) or 8 (the most is 1 + 3). 7 is within one unit of 6.38, and 0 is what weights that were
    # cut to whole numbers, 0 and 0, give: neither is proved. Each row has an error, so A is 0; Q, K, V, S and A are not
    # there and nothing shows that they were done: 0. Only the M of Z is left to argue about, 1 of 10.
    Case(
        "01-nonsense-alone.yaml",
        TICK_TOCK,
        1,
        (Line("Z", "Ex En"), *(Line(symbol, "", "0") for symbol in "QKVSA")),
        never=("No error", "later lines show that it was done"),
        most_marks=1,
    ),
    # The weights are [.207 .793; .319 .681]. Row 1: S = 1.2, 3.1, to one decimal and over 1.4 to √2 or 1.5: the scaled
    # gap is between 1.1 and 1.5, so the first weight is between .18 and .25: never .6. Row 2: S is 1.5 to 1.7 and 2.6 to
    # 2.8, the scaled gap .6 to 1.0, the first weight .26 to .36: never .9. The other cells are 1 less these.
    # Without a scale the row would be .130 .870, and down the columns .429 .571: no rule gives .6 or .9 either.
    Case(
        "02-random-weights-alone.yaml",
        TICK_TOCK,
        1,
        (Line("A", "ee ee", "0"), *(Line(symbol, "", "0") for symbol in "QKS")),
        never=("No error", "misconception", "copying error", "later lines show that it was done"),
    ),
    # v = .1: .207, .793, .319 and .681 are .2, .8, .3 and .7 (rule 1).
    Case("03-right-weights-alone.yaml", TICK_TOCK, 0, (Line("A", "cc cc", "3"),), 0),
    # The exercise gives Q, K, V: S = 1.4 0.6 0.9 exactly, A = .4864 .2186 .2950, Z = 1.0765 .8086. Weights to two decimals,
    # cut or rounded, are .48 or .49, .21 or .22, .29 or .30: Z₁ = a₁ + 2a₃ is between 1.06 and 1.09, never .95;
    # Z₂ = a₂ + 2a₃ = .8086 is .81 (rule 1).
    Case("09-wrong-answer-alone.yaml", "lamp", 1, (Line("Z", "ec"),), 1, never=("misconception",)),
    # The same exercise: 1.0765 is 1.08 and .8086 is .81 (rule 1).
    Case("10-right-answer-alone.yaml", "lamp", 0, (Line("Z", "cc", "2"),), 0),
]

EXACT = [
    # The scores are exact, so u = 0: the second weight is .2186, even with exponentials 4.06, 1.82, 2.46 and their sum 8.34
    # (.2182). .25 is three units off. Z follows from it: .49 + 2×.30 = 1.09, .25 + 2×.30 = .85 (rule 2).
    Case(
        "04-wrong-weight-below-exact-scores.md",
        "lamp",
        1,
        (Line("S", "ccc", "2"), Line("A", "cec", "1"), Line("Z", "ff", "2")),
        1,
        never=("copying error", "misconception"),
    ),
    # .4864, .2186 and .2950 are .49, .22 and .30. Z: 1.0765 from the unrounded weights is 1.08 (rule 1); from the rounded
    # ones .22 + 2×.30 is .82 (rule 2), where the unrounded ones give .81.
    Case("05-right-weights-below-exact-scores.md", "lamp", 0, (Line("S", "ccc"), Line("A", "ccc"), Line("Z", "cr")), 0),
    # S = [1.449 .551; 1.051 .449; .653 .347], written to one decimal. Row 1 from the unrounded gap .898: .7105 .2895
    # (rule 1; the rounded gap .8 gives .69). Row 2 from the rounded gap .7: .6682 .3318 (rule 2; unrounded .646). Row 3:
    # the rounded gap .4 gives .5987 .4013, so .59 and .41 are .0087 off, less than a unit (rule 4; .59 is also .5987 cut,
    # rule 3).
    Case("06-weights-from-unrounded-scores.csv", "two-keys", 0, (Line("S", "cc cc cc"), Line("A", "cc rr ao")), 0),
    # R = 1.2 .4 .9 2.1 exactly, μ = 1.15, σ² = .3825, σ = .6185; N = .0808 -1.2127 -.4042 1.5360. With σ = .62 the row is
    # .0806 -1.2097 -.4032 1.5323, which is what was written: σ may be used to two decimals (rule 5).
    Case("07-sigma-to-two-decimals.yaml", "norm", 0, (Line("R", "cccc"), Line("N", "cppp", "2")), 0),
    # The same row. σ to two decimals, .61 or .62, puts the third number between -.410 and -.403, and the variance .38 gives
    # -.406; -.394 is out of reach.
    Case("08-wrong-norm-below-exact-lines.csv", "norm", 1, (Line("R", "cccc"), Line("N", "ccec", "1")), 1),
    # S = [.349 .451 .551; .698 .902 1.102], written to one decimal. Row 1: .3002 is .30; the images of .36 and .39 reach
    # [.320, .365] and [.355, .402], so each alone is plausible, but .30 + .36 + .39 = 1.05, beyond 1 + 3×.01.
    # Row 2: .2685 .3293 .4022.
    Case("16-row-of-weights-sums-to-1.05.csv", "thirds", 1, (Line("S", "ccc ccc"), Line("A", "xxI ccc")), 1, ("1.05",)),
]

ROOTS = [
    # S over 1.4 is 2.143 2.857 5.000, 2.143 3.571 3.571, 2.857 5.000 4.286; over √2 it is 2.121 2.828 4.950 …, one to five
    # units less. One cause for the whole line. (2.14 alone might come from √2 = 1.405, so it may be called plausible.)
    Case("11-root-1.4-two-decimals.tex", "sky", 1, (Line("S", "ccc ccc ccc"), Line("S′", "qEE qEE EEE")), 1, ("1.4",)),
    # 18, 20 and 23 over 1.4 are 12.86, 14.29, 16.43: √2 to one decimal on a line of one decimal (rule 5; the right
    # numbers are 12.73, 14.14 and 16.26, more than a unit away in the first two).
    Case("12-root-1.4-one-decimal.csv", "wide", 0, (Line("S", "ccc"), Line("S′", "ppa", "2")), 0),
    # Over 1.41: 12.766, 14.184, 16.312. √2 may be used to two decimals (rule 5; the right numbers are 3 to 5 units less).
    Case("13-root-1.41.yaml", "wide", 0, (Line("S", "ccc"), Line("S′", "ppp", "2")), 0),
]

CONVENTIONS = [
    # The scores are right and each scaled score is wrong by any divisor: 3/1.3 = 2.31, 4/2.6 = 1.54, 7/3.9 = 1.79, …
    # "No scaling" would leave the second line without a place, which counts against it with nine cells.
    Case(
        "14-wrong-scaled-scores-scale-open.md",
        "sky-open",
        1,
        (Line("S", "ccc ccc ccc", "2"), Line("S′", "eee eee eee", "0")),
        never=("Your lines use no scaling", "misconception"),
    ),
    # Row 1 masked with 0: e³ + 1 + 1 = 22.09 gives .909 .045 .045; row 2: e³ + e⁵ + 1 = 169.5 gives .118 .876 .006: the
    # weights follow from the zeros. Row 3 has no masked key: .0351 .7054 .2595. M is lost, and A for the two rows.
    Case(
        "15-zero-for-minus-infinity.yaml",
        "sky-masked",
        1,
        (Line("S", "ccc ccc ccc", "2"), Line("S″", "cMM ccM ccc", "0.333"), Line("A", "fff fff ccc", "2")),
        1,
        ("mask with 0 instead of",),
        ("sum of its row", "divided by"),
    ),
    # A kind that is masked by definition fixes the mask as well.
    Case(
        "15-zero-for-minus-infinity.yaml",
        "sky-masked-kind",
        1,
        (Line("S", "ccc ccc ccc", "2"), Line("S″", "cMM ccM ccc", "0.333"), Line("A", "fff fff ccc", "2")),
        1,
        ("mask with 0 instead of",),
        ("sum of its row", "divided by"),
    ),
    # Without a mask the line "masked scores" has no place; with one its zeros are wrong: an error in either reading. By
    # division the weights of row 3 would be 4/17 = .24, 7/17 = .41, 6/17 = .35.
    Case(
        "15-zero-for-minus-infinity.yaml",
        "sky-mask-open",
        1,
        (Line("S", "ccc ccc ccc", "2"),),
        never=("sum of its row", "No error"),
    ),
    # Weights 0 make the attention the mean of the two tokens: R = X + [2 2 2 4], exactly. Row 1 has μ = 5.5, σ² = 7.25:
    # -.928 -.186 -.557 1.671; row 2 μ = 4.5, σ² = 1.25: .447 -1.342 -.447 1.342. "No norm" would leave the line without a
    # place, which counts against it with eight cells.
    Case(
        "28-norm-where-none-is-stated.yaml",
        "block-without-norm",
        1,
        (Line("R₁", "cccc cccc", "2"), Line("N₁", "eeee eeee", "0")),
        never=("No error", "misconception"),
    ),
    Case(
        "29-right-norm-where-none-is-stated.yaml",
        "block-without-norm",
        0,
        (Line("R₁", "cccc cccc", "2"), Line("N₁", "cccc cccc", "2")),
        0,
    ),
    # Q = [1 2; 1.75 1], K = [.8 .2; .9 1.1]: S is exact, with tokens as rows. A is [.207 .793; .319 .681], without a scale
    # [.130 .870; .254 .746], down the columns [.429 .414; .571 .586]: neither .55 .45 nor .95 .05 has a rule.
    Case(
        "30-wrong-weights-layout-open.txt",
        "tick-tock-open",
        1,
        (Line("S", "cc cc", "2"), Line("A", "ee ee", "0")),
        never=("as columns", "misconception"),
    ),
]

CLAIMS = [
    # 5.00 is 5/√2 = 3.54 not divided, but eight of the nine cells are divided: no rule that the student holds.
    Case(
        "17-one-cell-off-of-nine.tex",
        "sky",
        1,
        (Line("S", "ccc ccc ccc", "2"), Line("S′", "ccc cEc ccc", "1.667")),
        1,
        never=("misconception",),
    ),
    # No cell is near 3 4 7, 3 5 5, 4 7 6. The weights follow from the written scores over √2: row 1 .0049 .9931 .0020,
    # row 2 .2842 .0033 .7125, row 3 .0006 .0013 .9981.
    Case(
        "18-unrelated-scores.txt",
        "sky",
        1,
        (Line("S", "eee eee eee", "0"), Line("A", "fff fff fff", "2")),
        never=CAUSES,
    ),
    # .8482 is .85, and .65 differs from it in one digit, but a weight is not copied from anywhere. Row 1 of Z follows from
    # .65: .05 + 3×.65 = 2.00, 2×.10 + .65 = .85; rows 2 and 3 are 1.4458 1.3374 and .9914 1.5457.
    Case(
        "19-softmax-weight-off.yaml",
        "sky",
        1,
        (
            Line("S", "ccc ccc ccc", "2"),
            Line("S′", "ccc ccc ccc", "2"),
            Line("A", "cce ccc ccc", "1.667"),
            Line("Z", "ff cc cc", "2"),
        ),
        1,
        never=("copying error", "digit", "swapped", "exchanged", "misconception"),
    ),
    # relu leaves the seven numbers that are not negative, so only -1 and -3 tell the wrong rule from the right one, and
    # both are given by it. F₂ follows: 2 + .5 + 1 = 3.5, 1 - 2 = -1; 3 + 3 = 6, -6. M is lost, and A for two rows of three.
    Case(
        "20-forgotten-relu.md",
        "relu",
        1,
        (Line("F₁", "ccc ccc ccc", "2"), Line("F₁′", "ccc ccM ccM", "0.333"), Line("F₂", "cc ff ff", "2")),
        1,
        ("ReLU forgotten",),
    ),
    # Z = [2.595 1.052; 1.446 1.337; .991 1.546], from the rounded weights [2.60 1.05; 1.46 1.35; 1.00 1.55]. AᵀV is
    # [.26 .29; 1.96 1.52; 1.78 1.21]. No rule gives a row of what was written.
    Case(
        "31-unrelated-output.tex", "sky", 1, (Line("A", "ccc ccc ccc", "2"), Line("Z", "ee ee ee", "0")), never=CAUSES
    ),
]

READING = [
    # Row moon, column sky of the scores is 5, not 6. From 3 5 6 over √2: .0743 .3057 .6200, and z = 1.934 1.231.
    Case(
        "21-rows-by-token.txt",
        "sky",
        1,
        (Line("S", "ccc ccE ccc", "1.667"), Line("A", "ccc fff ccc", "2"), Line("Z", "cc ff cc", "2")),
        1,
    ),
    # q₃·k₂ = 3×2 + 1×1 = 7, not 8. From 4 8 6 over √2: .0454 .7679 .1867.
    Case("22-dot-products.md", "sky", 1, (Line("S", "ccc ccc cEc", "1.667"), Line("A", "ccc ccc fff", "2")), 1),
    # Z[2, 2] = .4458×2 + .4458 = 1.337, not 1.84. It is a sum, and not copied from anywhere.
    Case(
        "23-rows-by-number.txt",
        "sky",
        1,
        (Line("A", "ccc ccc ccc", "2"), Line("Z", "cc ce cc", "1.667")),
        1,
        never=("copying error",),
    ),
]

NAMES = [
    # Z is 3 × 3 and the output 3 × 2, so Z is not the output here; the numbers are the scores over √2. All are right.
    Case(
        "24-names-E-Z-P-C.yaml",
        "sky",
        0,
        (
            Line("S", "ccc ccc ccc", "2"),
            Line("S′", "ccc ccc ccc", "2"),
            Line("A", "ccc ccc ccc", "2"),
            Line("Z", "cc cc cc", "2"),
        ),
        0,
        ('"Z"', '"E"', '"P"', '"C"'),
    ),
    Case("33-alpha-and-context.md", "lamp", 0, (Line("S", "ccc"), Line("A", "ccc"), Line("Z", "cc")), 0),
    # head0 is the first head, whose scores are all 2, and head1 the second: 0 4 2 over √2 gives .0454 .7679 .1867.
    Case(
        "25-heads-from-zero.yaml",
        "examples/multi-head-attention",
        0,
        (
            Line("S₁", "ccc ccc ccc", "2"),
            Line("A₁", "ccc ccc ccc", "2"),
            Line("S₂", "ccc ccc ccc", "2"),
            Line("A₂", "ccc ccc ccc", "2"),
        ),
        0,
    ),
    # 35 % is .35 with v = .01: [.353 .338 .309; .295 .362 .343; .272 .367 .361] (rule 1).
    Case("26-weights-in-percent.csv", "examples/cross-attention", 0, (Line("A", "ccc ccc ccc", "2"),), 0),
    # A name that fits no line is not marked, and the report says what was probably meant: code 2. The rest is marked; the
    # output is right without the weights.
    Case(
        "27-weihgts.yaml",
        "sky",
        2,
        (Line("S", "ccc ccc ccc", "2"), Line("Z", "cc cc cc", "2")),
        0,
        ("Did you mean", "weights"),
    ),
    # The norm after the residual R₁, as derived for file 28.
    Case("34-AddNorm.yaml", "block-with-norm", 0, (Line("N₁", "cccc cccc", "2"),), 0),
    # h is the residual here: its numbers are those of R₁ and of no other 2 × 4 line (X is given, Z is 2 2 2 4). The last
    # number of LN is 1.342 (1.339 with σ = 1.12): 1.24 differs in one digit, but a norm is not copied from anywhere.
    Case(
        "35-LN.csv",
        "block-with-norm",
        1,
        (Line("R₁", "cccc cccc", "2"), Line("N₁", "cccc ccce", "1.5")),
        1,
        never=("copying error", "misconception"),
    ),
    # Part 0 is the first: sin(1/100) = .010, not .100. Part 1 is right.
    Case(
        "36-parts-by-path.yaml", "examples/parts", 1, (Line("P", "cccc ccEc", "1.5"), Line("N", "ccc ccc ccc", "2")), 1
    ),
]


def problem_of(case: Case) -> list[str]:
    """Return the options that name the exercise."""
    if case.problem == TICK_TOCK:
        return ["--scheme", str(EXAMPLES / "workings" / TICK_TOCK)]
    if case.problem.startswith("examples/"):
        return ["--problem", str(EXAMPLES / f"{case.problem.removeprefix('examples/')}.yaml")]
    return ["--problem", str(FOLDER / "problems" / f"{case.problem}.yaml")]


def letters_fit(expected: Line, line: dict[str, Any]) -> bool:
    """Return whether each cell has a verdict that its letter allows."""
    rows = [[cell["verdict"] for cell in row] for row in line["cells"]]
    words = expected.verdicts.split()
    return [len(row) for row in rows] == [len(word) for word in words] and all(
        verdict in LETTERS[letter]
        for row, word in zip(rows, words, strict=True)
        for verdict, letter in zip(row, word, strict=True)
    )


def name_of(case: Case) -> str:
    return f"{Path(case.file).stem}, {case.problem.removesuffix('.yaml')}"


@pytest.mark.parametrize("case", [*ALONE, *EXACT, *ROOTS, *CONVENTIONS, *CLAIMS, *READING, *NAMES], ids=name_of)
def test_a_working_gets_the_verdicts_that_were_derived_on_paper(case: Case) -> None:
    arguments = ("check", str(FOLDER / case.file), *problem_of(case))
    shown = run(*arguments, is_merged=True)
    text = " ".join(shown.stdout.split())
    assert shown.returncode == case.code, text
    for phrase in case.says:
        assert phrase in text
    for phrase in case.never:
        assert phrase not in text, phrase
    if case.lines:
        judge(case, json.loads(run(*arguments, "--json").stdout))


def judge(case: Case, report: dict[str, Any]) -> None:
    """Compare the JSON report with the verdicts, marks and errors of the case."""
    lines = {line["symbol"]: line for line in report["lines"]}
    for expected in case.lines:
        line = lines[expected.symbol]
        rows = [[(cell["text"], cell["verdict"]) for cell in row] for row in line["cells"]]
        assert letters_fit(expected, line), f"{expected.symbol} {expected.verdicts}: {rows}"
        if expected.marks:
            marks = line["marks"]
            assert marks["method"] + marks["accuracy"] == pytest.approx(float(expected.marks), abs=1e-3), line
    for finding in report["findings"]:
        if finding["verdict"] == WRONG_RULE and not any(word in finding["name"] for word in ("mask", "ReLU")):
            # A mask and a number that was left as it is are no calculations.
            assert finding["student_sum"], f"the student's own calculation is not shown: {finding['what']}"
    if case.findings is not None:
        assert len(report["findings"]) == case.findings, [finding["what"] for finding in report["findings"]]
    if case.most_marks is not None:
        assert report["marks"]["earned"] <= case.most_marks
