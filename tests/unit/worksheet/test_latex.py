"""LaTeX: every symbol and equation as maths, nothing in a name is a command, and both compilers take all of it."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clearhead import Worksheet, solve
from clearhead.steps import STEPS
from clearhead.worksheet.expression import Call, Number, Power, Product, Quotient, Sum, write
from clearhead.worksheet.render.latex_maths import equation, expression_tex, number_tex, symbol
from clearhead.worksheet.render.latex_text import escape
from clearhead.worksheet.view import SheetView
from tests.conftest import SHIPPED

needs_pdflatex = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no pdflatex on this machine")
needs_xelatex = pytest.mark.skipif(shutil.which("xelatex") is None, reason="there is no xelatex on this machine")
COMPILERS = [pytest.param("pdflatex", marks=needs_pdflatex), pytest.param("xelatex", marks=needs_xelatex)]

HOSTILE = ["<script>", "a&b", "100%", "\\input{/etc/passwd}", "$x$", "#1", "a_b", "{", "}", "~", "^", "\\", '"q"', "`'",
           "--", "[x]", "*", "\\end{document}", "^^5cinput", "two\nlines", "\x1b[31m", "%", "x" * 18]  # fmt: skip
SCRIPTS = ["हम", "दोस्त", "আমি", "স্কুলে", "咖啡", "🙂", "👩‍🚀", "Привет", "مرحبا", "ñandú", "Łódź", "αβγ", "σ²", "W̃", "x̱"]


def compiled(text: str, folder: Path, compiler: str = "pdflatex") -> str:
    """Compile a document as strictly as can be, and return its log as one line per message."""
    (folder / "sheet.tex").write_text(text, encoding="utf-8")
    quick = ["-draftmode"] if compiler == "pdflatex" else ["-no-pdf"]
    command = [compiler, *quick, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "sheet.tex"]
    environment = {**os.environ, "max_print_line": "1000"}
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=120, env=environment, check=False)
    log = (folder / "sheet.log").read_text(encoding="utf-8", errors="replace")
    assert done.returncode == 0, log[-3000:]
    return log


def named(tokens: list[str], **more: Any) -> Worksheet:
    x = [[float(i), 1.0] for i in range(len(tokens))]
    return solve({"kind": "context", "X": x, "tokens": tokens, **more})


def ten_tokens(kind: str = "masked-self-attention") -> Worksheet:
    numbers = np.random.default_rng(7)
    shapes = {"X": (10, 8), "W_Q": (8, 8), "W_K": (8, 8), "W_V": (8, 8)}
    matrices = {name: numbers.normal(size=shape).round(2).tolist() for name, shape in shapes.items()}
    tokens = ["the", "quick", "brown", "foxes", "jumped", "over", "seventeen", "lazy", "sleeping", "dachshunds"]
    return solve({"kind": kind, "tokens": tokens, **matrices})


@pytest.mark.parametrize(
    ("plain", "tex"),
    [
        ("W_Q", "W_{Q}"),
        ("X′", "X'"),
        ("S″₁", "S_{1}''"),
        ("Q₁", "Q_{1}"),
        ("W_Q₁", "W_{Q,1}"),
        ("K_new", r"K_{\mathrm{new}}"),
        ("μ", r"\mu"),
        ("σ²₁", r"\sigma_{1}^{2}"),
        ("W̃", r"\tilde{W}"),
        ("Ỹ", r"\tilde{Y}"),
        ("s̃", r"\tilde{s}"),
        ("KᵀQ₂", r"K^{\top}Q_{2}"),
        ("Wh", "Wh"),
        ("W_c s′", r"W_{c}\, s'"),
        ("cached K", r"\text{cached}\, K"),
        ("x_12", "x_{12}"),
        ("S′ᵀ", r"S^{\prime \top}"),
        ("λ", r"\lambda"),
    ],
)
def test_a_symbol_is_maths(plain: str, tex: str) -> None:
    assert symbol(plain) == tex


@pytest.mark.parametrize(
    ("plain", "tex"),
    [
        ("S = Q Kᵀ", r"$S = Q\, K^{\top}$"),
        ("X = the row of E for each token", "$X =$ the row of $E$ for each token"),
        ("S′ = S / √2", r"$S' = \dfrac{S}{\sqrt{2}}$"),
        ("N = γ × (R - μ) / √(σ² + 0.001) + β", r"$N = \gamma \times \dfrac{R - \mu}{\sqrt{\sigma^{2} + 0.001}} + \beta$"),
        ("θ = pos / 10000^(2i/4)", r"$\theta = \dfrac{\text{pos}}{10000^{2i/4}}$"),
        ("Wh = W hᵢ, a row for each i", r"$Wh = W\, h_{i}$, a row for each $i$"),
        ("e = s Whᵀ", r"$e = s\, (Wh)^{\top}$"),
        ("S″ = S where M is 1, -∞ elsewhere", r"$S'' = S$ where $M$ is $1$, $-\infty$ elsewhere"),
        ("T = tanh(U)", r"$T = \tanh(U)$"),
        ("F = relu(U) + 1e-05", r"$F = \operatorname{relu}(U) + 1\times10^{-5}$"),
        ("g = (a", "$g = (a)$"),
        ("y = √", r"$y = \surd$"),
    ],
)  # fmt: skip
def test_an_equation_is_words_and_maths(plain: str, tex: str) -> None:
    assert equation(plain) == tex


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_symbol_and_equation_is_without_stray_letters(
    name: str, all_sheets: dict[str, Worksheet]
) -> None:
    for step in SheetView(all_sheets[name]).steps:
        texts = [symbol(matrix.symbol) for matrix in (step.matrix, *step.givens)]
        texts += [equation(f"{step.matrix.symbol} = {step.equation}")]
        for tex in texts:
            assert tex.isascii(), tex
            assert r"\text{$" not in tex, tex
            assert "[U+" not in tex, tex
            assert tex.count("{") == tex.count("}"), tex


@pytest.mark.parametrize("name", STEPS)
def test_every_declared_equation_is_read_in_both_layouts(name: str) -> None:
    step = STEPS[name]
    for layout in ("rows", "columns"):
        tex = equation(step.equation_in(layout, {each.name: "X₁" for each in step.inputs}))
        assert tex.isascii()
        assert tex.count("$") % 2 == 0


@pytest.mark.parametrize(
    ("shown", "tex"),
    [
        ("-0.995", "-0.995"),
        ("7.95×10⁻³²", r"7.95\times10^{-32}"),
        ("-1.2×10⁹", r"-1.2\times10^{9}"),
        ("-∞", r"-\infty"),
        ("____", r"\underline{\hspace{2.5em}}"),
        ("e", r"\mathrm{e}"),
        ("π", r"\pi"),
    ],
)
def test_a_number_is_maths(shown: str, tex: str) -> None:
    assert number_tex(shown) == tex


def test_a_sum_has_fractions_exponents_and_roots() -> None:
    e, two = Number("e"), Number("2")
    softmax = Quotient(Power(e, Number("-1.5")), Sum((Power(e, Number("-1.5")), Power(e, two))))
    assert expression_tex(softmax) == r"\dfrac{\mathrm{e}^{-1.5}}{\mathrm{e}^{-1.5} + \mathrm{e}^{2}}"
    assert expression_tex(Sum((Product((Number("1.87"), Number("-2.8"))), two), 3)) == (
        r"1.87 \cdot (-2.8) + \cdots\ \text{(3 more)}\ \cdots + 2"
    )
    assert expression_tex(Quotient(two, Call("√", Number("8")))) == r"\dfrac{2}{\sqrt{8}}"
    assert expression_tex(Power(Number("4.2×10⁻⁷"), two)) == r"(4.2\times10^{-7})^{2}"


def test_a_fraction_too_long_for_a_line_is_written_with_a_stroke() -> None:
    long = Sum(tuple(Number(f"{n}.1234") for n in range(12)))
    assert len(write(long)) > 62
    tex = expression_tex(Quotient(long, Number("12")))
    assert r"\dfrac" not in tex
    assert tex.endswith(r")\,/\,12")


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_in_a_name_is_a_command(name: str) -> None:
    tex = escape(name)
    allowed = (r"\\text(backslash|asciitilde|asciicircum|asciigrave|less|greater|bar)\{\}|\\symbol\{34\}|\\[{}$&#%_]|"
               r"\\hspace\{0pt\}|\{\}")  # fmt: skip
    assert not set(re.sub(allowed, "", tex)) & set("\\{}$&#%_^~"), tex


def test_letters_beyond_latin_have_a_substitute_in_ascii() -> None:
    assert escape("हैं") == r"\clearheadDevanagari{हैं}{hain}"
    assert escape("দোকান") == r"\clearheadBengali{দোকান}{dokaana}"
    assert escape("Привет") == r"\clearheadCyrillic{Привет}{Privet}"
    assert escape("茶") == r"\clearheadEast{茶}{[U+8336]}"
    assert escape("🙂") == r"\textit{[slightly smiling face]}"
    assert escape("Łódź") == r"\L{}ód\'{z}"


def test_blanks_are_lines_to_write_on() -> None:
    sheet = solve("lets-go-encoder")
    whole, open_ = sheet.to_latex("products"), sheet.to_latex("products", ["A[go, *]"])
    assert r"\underline{" not in whole
    assert r"\clearheadname{go} & \clearheadcorner & \underline{\hspace{2.5em}} & \underline{" in open_
    assert r"A[\text{go}" in whole
    assert r"A[\text{go}" not in open_


def test_a_fragment_says_what_it_needs_and_is_no_document() -> None:
    text = solve("lets-go-encoder").to_latex(fragment=True)
    assert text.startswith("% A worksheet to \\input")
    assert r"\usepackage{iftex,amsmath,graphicx}" in text
    assert r"\documentclass" not in text
    assert r"\begin{document}" not in re.sub("(?m)^%.*", "", text)


def test_details_differ_in_what_they_show() -> None:
    sheet = solve("lets-go-encoder")
    results, matrices, products = (sheet.to_latex(detail) for detail in ("results", "matrices", "products"))
    assert "W_{Q}" not in results
    assert r"$Q = X'\, W_{Q}$" in matrices
    assert r"1.87 \cdot 1.1" not in matrices
    assert r"= 1.87 \cdot 1.1 + 1.09 \cdot (-2.8) = -0.995" in products


def test_a_matrix_much_too_wide_is_split_into_blocks_of_columns() -> None:
    x = np.random.default_rng(5).normal(size=(2, 11)) * 1e6
    text = solve({"kind": "add-and-norm", "X": x.tolist(), "norm": "layer"}).to_latex()
    assert r"$X\text{ (columns 1 to 6)} = " in text
    assert r"$X\text{ (columns 7 to 11)} = " in text
    assert r"\text{ (columns" not in ten_tokens().to_latex()


def test_a_wide_matrix_without_names_has_no_stray_ellipsis() -> None:
    text = solve({"kind": "add-and-norm", "X": [[float(n) for n in range(13)]] * 2, "norm": "layer"}).to_latex()
    assert r"\multicolumn{1}{r}{\cdots}" not in text
    assert r"& \cdots &" in text
    assert "2 $\\times$ 12 of 2 $\\times$ 13 cells are shown" in text


@needs_pdflatex
@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_sheet_compiles_and_fits_the_page(
    name: str, all_sheets: dict[str, Worksheet], tmp_path: Path
) -> None:
    assert "Overfull" not in compiled(all_sheets[name].to_latex("products"), tmp_path)


@needs_xelatex
def test_fragments_of_all_shipped_sheets_compile_together_in_xelatex(
    all_sheets: dict[str, Worksheet], tmp_path: Path
) -> None:
    inputs = []
    for number, sheet in enumerate(all_sheets.values()):
        (tmp_path / f"part{number}.tex").write_text(sheet.to_latex("matrices", fragment=True), encoding="utf-8")
        inputs.append(rf"\input{{part{number}}}")
    packages = r"\usepackage{iftex,amsmath,graphicx,fontspec}\usepackage[margin=20mm]{geometry}"
    text = "\n".join([r"\documentclass{article}", packages, r"\begin{document}", *inputs, r"\end{document}"])
    assert "Overfull" not in compiled(text, tmp_path, "xelatex")


@pytest.mark.parametrize("detail", ["results", "matrices", "products"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_ten_tokens_fit_the_page(compiler: str, detail: Any, tmp_path: Path) -> None:
    assert "Overfull" not in compiled(ten_tokens().to_latex(detail), tmp_path, compiler)


@needs_pdflatex
def test_long_means_and_variances_fit_the_page(tmp_path: Path) -> None:
    x = np.random.default_rng(3).normal(size=(2, 13)) * 1000
    sheet = solve({"kind": "add-and-norm", "X": x.tolist(), "norm": "layer"})
    assert "Overfull" not in compiled(sheet.to_latex("products"), tmp_path)


@needs_pdflatex
def test_numbers_of_a_hundred_digits_fit_the_page(tmp_path: Path) -> None:
    x = [[10.0 ** (100 + n) for n in range(14)], [1.0] * 14]
    rounding = {"lines": "rounded", "decimals": 2}
    sheet = solve({"kind": "add-and-norm", "X": x, "norm": "layer", "rounding": rounding})
    assert "Overfull" not in compiled(sheet.to_latex("products"), tmp_path)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_hostile_names_and_every_script_compile(compiler: str, tmp_path: Path) -> None:
    for tokens in (HOSTILE, SCRIPTS):
        sheet = named(tokens, title=" ".join(tokens) + " " + "long" * 60)
        for fragment in (False, True):
            text = sheet.to_latex("matrices", fragment=fragment)
            if fragment:
                packages = (
                    r"\usepackage{iftex,amsmath,graphicx}\ifPDFTeX\usepackage[T1]{fontenc}\else\usepackage{fontspec}\fi"
                )
                text = rf"\documentclass{{article}}{packages}\begin{{document}}{text}\end{{document}}"
            assert "Overfull" not in compiled(text, tmp_path, compiler)


@needs_pdflatex
@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="there is no pdftotext on this machine")
def test_a_hostile_name_is_printed_as_it_is_written(tmp_path: Path) -> None:
    title = r"\input{/etc/passwd} 100% $x$ a_b #1 <b> & ~ ^ {y}"
    (tmp_path / "sheet.tex").write_text(named(["a", "b"], title=title).to_latex("results"), encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "sheet.tex"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120, check=True)
    done = subprocess.run(["pdftotext", "sheet.pdf", "-"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert title in " ".join(done.stdout.split())
