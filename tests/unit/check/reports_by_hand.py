"""Marked workings written by hand: what a renderer must be able to show, created without the marker."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from clearhead.check.report import CellMark, Finding, LineMark, LineMarks, Report
from clearhead.check.verdict import Verdict
from clearhead.check.working import Note

TOKENS = ("x1", "x2", "x3")
CODES = {
    "c": Verdict.CORRECT,
    "r": Verdict.ROUNDED,
    "f": Verdict.CARRIED,
    "t": Verdict.TRUNCATED,
    "o": Verdict.ROUNDING,
    "p": Verdict.PLAUSIBLE,
    "!": Verdict.TRUE,
    "X": Verdict.TRANSCRIPTION,
    "M": Verdict.MISCONCEPTION,
    "S": Verdict.SLIP,
    "I": Verdict.INVARIANT,
    "?": Verdict.UNREADABLE,
    "u": Verdict.UNCHECKED,
    "n": Verdict.UNSUPPORTED,
}
FULL = LineMarks(1, 1, 1, 1)
FOLLOWED = LineMarks(1, 1, 1, 1, is_follow_through=True, because="Follow-through: it agrees with your own S.")


def cells(
    texts: str,
    codes: str,
    findings: Mapping[tuple[int, int], tuple[int, ...]] | None = None,
    right: Mapping[tuple[int, int], str] | None = None,
    truth: Mapping[tuple[int, int], str] | None = None,
) -> tuple[tuple[CellMark | None, ...], ...]:
    """Read `0.5 1.7; 1 3` with the codes `cc; cS`; `_` is a blank cell; there is one code per cell."""
    findings_of_cell, right, truth = findings or {}, right or {}, truth or {}
    rows = [row.split() for row in texts.split(";")]
    verdicts = [list(row.strip()) for row in codes.split(";")] if ";" in codes else [[codes] * len(row) for row in rows]
    return tuple(
        tuple(
            None
            if text == "_"
            else CellMark(
                i,
                j,
                text,
                CODES[verdicts[i][j]],
                right=right.get((i, j), ""),
                truth=truth.get((i, j), ""),
                findings=findings_of_cell.get((i, j), ()),
            )
            for j, text in enumerate(row)
        )
        for i, row in enumerate(rows)
    )


def line(
    symbol: str,
    equation: str,
    grid: tuple[tuple[CellMark | None, ...], ...],
    *,
    where: str = "attention",
    step: str = "project",
    columns: Sequence[str] = (),
    rows: Sequence[str] = TOKENS,
    marks: LineMarks = FULL,
    section: str = "Self-attention",
    place: str = "",
    name: str = "",
    copy_of: str = "",
    note: str = "",
) -> LineMark:
    """Create a line with ordinary values for everything else."""
    return LineMark(
        name or symbol,
        symbol,
        equation,
        section,
        where,
        step,
        place,
        tuple(rows),
        tuple(columns),
        grid,
        marks,
        copy_of,
        note,
    )


def projections() -> list[LineMark]:
    """Q, K and V of the exam question, all right."""
    return [
        line("Q", "X W_Q", cells("0.50 1.70 1.49; 1.00 3.05 2.65; 1.40 3.01 1.40", "c"), where="query"),
        line("K", "X W_K", cells("2.18 1.75 1.57; 3.40 3.25 2.75; 1.70 2.00 1.72", "c"), where="key"),
        line("V", "X W_V", cells("2.00 2.20 1.08; 3.50 3.95 1.80; 3.10 2.59 2.28", "c"), where="value"),
    ]


def faultless() -> Report:
    """The exam question without an error, with three truncated numbers and one rounded the wrong way."""
    weights = cells("0.05 0.88 0.06; 0.00 0.98 0.01; 0.01 0.98 0.01", "cct; tto; ccc", right={(0, 2): "0.065"})
    lines = [
        *projections(),
        line("S′", "S / √3", cells("3.70 6.54 3.93; 6.74 11.89 7.13; 6.07 10.62 6.24", "r"), step="scale"),
        line("A", "softmax of each row of S′", weights, step="softmax", columns=TOKENS),
        line("Z", "A V", cells("3.40 3.77 1.79; 3.49 3.93 1.80; 3.48 3.92 1.80", "ppp; ccc; ccc"), step="mix"),
    ]
    note = Note("read", "6 lines were read, 54 numbers in all.")
    return Report("Exam question", "self-attention", "Ada L.", "rows", tuple(lines), (), (note,), 12, 12)


def slipped() -> Report:
    """The exam question with a slip in a score, everything below it carried forward, and several other findings."""
    below = {(1, j): (0,) for j in range(3)}
    scores = cells(
        "6.40 11.32 6.81; 11.68 20.60 18; 10.52 18.39 10.81",
        "ccc; ccS; ccc",
        {(1, 2): (0,)},
        {(1, 2): "12.36"},
        {(1, 2): "12.358"},
    )
    scaled = cells(
        "3.70 6.54 3.93; 6.74 11.89 10.39; 6.07 10.62 6.24", "ccc; rrf; cco", {(1, 2): (0,)}, {(2, 2): "6.241"}
    )
    weights = cells(
        "0.05 0.88 0.07; 0.00 0.81 0.18; 0.01 0.98 _",
        "ccc; fff; ccc",
        below,
        truth={(1, 0): "0.0057", (1, 1): "0.9858", (1, 2): "0.0085"},
    )
    outputs = cells("3.39 3.77 1.79; 3.39 3.67 1.87; 3.4? _ 1.80", "tcc; ffp; ?cc", below, {(0, 0): "3.396"})
    lines = [
        *projections(),
        line(
            "Q", "X W_Q", cells("0.50 1.70 1.49; 1.00 3.05 2.65; 1.40 3.01 1.40", "c"), where="query",
            copy_of="Q", marks=LineMarks(0, 0, 0, 0), place="line 9",
        ),
        line(
            "S", "Q Kᵀ", scores, step="score", columns=TOKENS, place="line 12", name="Scores",
            marks=LineMarks(1, 1, 2 / 3, 1, because="Row 2 has a wrong sum."),
        ),
        line("S′", "S / √3", scaled, step="scale", columns=TOKENS, marks=FOLLOWED),
        line("A", "softmax of each row of S′", weights, step="softmax", columns=TOKENS, marks=FOLLOWED),
        line("Z", "A V", outputs, step="mix", marks=LineMarks(1, 1, 2 / 3, 1, is_follow_through=True)),
    ]  # fmt: skip
    finding = Finding(
        line=4,
        cells=((1, 2),),
        verdict=Verdict.SLIP,
        name="",
        what="S, row 2, column 3 is 18, and your own Q and K give 12.36: the product 3.05×2.00 was taken for 11.74.",
        follows="7 later cells of S′, A and Z follow from it, rightly, and earn their follow-through marks.",
        remedy="Multiply row 2 of Q by row 3 of K once more, product by product.",
        right_sum="12.358 = 1.00×1.70 + 3.05×2.00 + 2.65×1.72",
        student_sum="18 = 1.70 + 11.74 + 4.56",
        below=(5, 6, 7),
    )
    notes = (
        Note("read", "8 lines were read, 70 numbers in all."),
        Note("convention", "You divide by √3; that is the convention of the question."),
        Note("unreadable", "‘3.4?’ could not be read as a number. Write it out.", "line 15, cell 1"),
        Note("unplaced", "A line called H fits nothing in this exercise.", "line 17"),
        Note("warning", "Row 3 of A is not complete."),
    )
    return Report(
        "Exam question, scaled self-attention", "self-attention", "Ada L.", "rows", tuple(lines), (finding,), notes,
        10 + 4 / 3, 13,
    )  # fmt: skip


def unsupported() -> Report:
    """Only the output, which nothing leads to."""
    output = replace(
        line("Z", "A V", cells("-3 7 1; 8 0 2; 1 1 1", "n"), step="mix", marks=LineMarks(0, 1, 0, 1)),
        unwritten=("Q", "K", "V", "S", "S′", "A"),
    )
    return Report("Exam question", "self-attention", "Ada L.", "rows", (output,), (), (), 0, 2)


def misconceived() -> Report:
    """A softmax down the columns, a swapped digit before it, a line of the wrong shape; nothing is named x1."""
    tokens = ("The", "cat", "sat")
    keys = cells("2.18 1.75 1.57; 3.40 3.52 2.75; 1.70 2.00 1.72", "ccc; cXc; ccc", {(1, 1): (0,)}, {(1, 1): "3.25"})
    scored = {(i, 1): (0,) for i in range(3)}
    weighed = {(i, j): (0, 1) if j == 1 else (1,) for i in range(3) for j in range(3)}
    right = {(i, j): text for i, row in enumerate(["0.05 0.89 0.06", "0.01 0.99 0.01", "0.01 0.98 0.01"])
             for j, text in enumerate(row.split())}  # fmt: skip
    lines = [
        line("K", "X W_K", keys, where="key", rows=tokens, marks=LineMarks(1, 1, 2 / 3, 1)),
        line("S′", "Q Kᵀ / √3", cells("3.70 6.80 3.93; 6.74 12.37 7.13; 6.07 11.09 6.24", "cfc; cfc; cfc", scored),
             step="scale", rows=tokens, columns=tokens, marks=FOLLOWED),
        line("A", "softmax of each row of S′", cells("0.03 0.00 0.03; 0.64 0.78 0.69; 0.33 0.22 0.28", "M", weighed, right),
             step="softmax", rows=tokens, columns=tokens, section="Weights and output",
             marks=LineMarks(0, 1, 0, 1, because="The rule was not the right one.")),
        line("Z", "A V", (), step="mix", rows=(), section="Weights and output", marks=LineMarks(0, 1, 0, 1),
             note="Z was written as 2 × 3; it must be 3 × 3, one row for each token."),
    ]  # fmt: skip
    findings = (
        Finding(0, ((1, 1),), Verdict.TRANSCRIPTION, "digit swap", "K, row 2, column 2 is 3.52 where 3.25 was meant.",
                "", "Copy the number once more.", "3.25 = 1.5×1 + 0.5×0.5 + 1×1.5", "3.52", (1, 2)),
        Finding(2, tuple(weighed), Verdict.MISCONCEPTION, "softmax down the columns",
                "All 9 weights are what a softmax of each column gives.", "Nothing that could be marked.",
                "Divide each exponential by the sum of its row, so that every row adds up to 1.",
                "0.05 = e^3.70 / (e^3.70 + e^6.80 + e^3.93)", "0.03 = e^3.70 / (e^3.70 + e^6.74 + e^6.07)", ()),
    )  # fmt: skip
    return Report("Second exercise", "self-attention", "Ada L.", "rows", tuple(lines), findings, (), 3 + 2 / 3, 8)


def hostile() -> Report:
    """Tokens, names and titles that contain markup and control characters."""
    evil = '"><img src=x onerror=alert(1)>'
    grid = ((CellMark(0, 0, "[bold]1[/bold]|`x`\n<b>", Verdict.SLIP, "2<3", "", (0,), "see ![a](http://evil.example)"),),
            (CellMark(1, 0, "</td></title><script>alert(1)</script>\x1b[31m", Verdict.UNREADABLE),))  # fmt: skip
    one = line("S", f"Q {evil}", grid, rows=("<script>alert(1)</script>", "' onmouseover=alert(1) '"), columns=(evil,),
               name="[red]S[/red]", section="<h1>[x](javascript:alert(1))", place="line [1]", note="*note* @everyone")  # fmt: skip
    finding = Finding(0, ((0, 0),), Verdict.SLIP, "", evil, "[/bold] www.evil.example", "<svg onload=alert(1)>",
                      "1 < 2 && 3", "`a` | b")  # fmt: skip
    note = Note("unplaced", "</ul><script>alert(2)</script>", "</li>")
    return Report(f"</title>{evil} [i]T[/i]", "self-attention", "<a href=//evil.example>Bob</a>\u202e", "rows", (one,),
                  (finding,), (note,), 0, 2)  # fmt: skip


def large(size: int = 10, symbols: str = "QKVSAZ") -> Report:
    """Ten tokens, every cell affected by the error in the eighth column of the last row."""
    tokens = [f"token{number}" for number in range(1, size + 1)]
    at, below = (size - 1, size - 3), {(i, j): (0,) for i in range(size) for j in range(size)}
    wrong = cells(
        ";".join(" ".join(["0.1234"] * size) for _ in tokens),
        ";".join("".join("S" if (i, j) == at else "c" for j in range(size)) for i in range(size)),
        {at: (0,)},
        {at: "0.12345"},
    )
    after = cells(
        ";".join(" ".join(["0.1234"] * size) for _ in tokens), "f", below, truth=dict.fromkeys(below, "0.54321")
    )
    lines = [
        line(symbol, "a b", after if number else wrong, rows=tokens, columns=tokens)
        for number, symbol in enumerate(symbols)
    ]
    finding = Finding(
        0, (at,), Verdict.SLIP, "", "It is wrong.", "", "Work it again.", below=tuple(range(1, len(lines)))
    )
    return Report("Ten tokens", "self-attention", "", "rows", tuple(lines), (finding,), (), 7.5, 12)
