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
from clearhead.worksheet.render.latex import to_latex
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


def test_blanks_are_lines_to_write_on() -> None:
    sheet = solve("lets-go-encoder")
    complete, blanked = sheet.to_latex("products"), sheet.to_latex("products", ["A[go, *]"])
    assert r"\underline{" not in complete
    assert r"\clearheadname{go} & \clearheadcorner & \underline{\hspace{2.5em}} & \underline{" in blanked
    assert r"A[\text{go}" in complete
    assert r"A[\text{go}" not in blanked


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


@pytest.mark.slow
@needs_pdflatex
@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_sheet_compiles_and_fits_the_page(
    name: str, all_sheets: dict[str, Worksheet], tmp_path: Path
) -> None:
    assert "Overfull" not in compiled(all_sheets[name].to_latex("products"), tmp_path)


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("detail", ["results", "matrices", "products"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_ten_tokens_fit_the_page(compiler: str, detail: Any, tmp_path: Path) -> None:
    assert "Overfull" not in compiled(ten_tokens().to_latex(detail), tmp_path, compiler)


@pytest.mark.slow
@needs_pdflatex
def test_long_means_and_variances_fit_the_page(tmp_path: Path) -> None:
    x = np.random.default_rng(3).normal(size=(2, 13)) * 1000
    sheet = solve({"kind": "add-and-norm", "X": x.tolist(), "norm": "layer"})
    assert "Overfull" not in compiled(sheet.to_latex("products"), tmp_path)


@pytest.mark.slow
@needs_pdflatex
def test_numbers_of_a_hundred_digits_fit_the_page(tmp_path: Path) -> None:
    x = [[10.0 ** (100 + n) for n in range(14)], [1.0] * 14]
    rounding = {"lines": "rounded", "decimals": 2}
    sheet = solve({"kind": "add-and-norm", "X": x, "norm": "layer", "rounding": rounding})
    assert "Overfull" not in compiled(sheet.to_latex("products"), tmp_path)


@pytest.mark.slow
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


def test_a_document_contains_its_fragment() -> None:
    sheet = solve({"kind": "positions", "formula": "count", "positions": [3, 5], "d_model": 2})
    document, fragment = to_latex(sheet), to_latex(sheet, fragment=True)
    body = fragment[fragment.index(r"\begingroup") :].rstrip()
    assert body in document
    assert document.startswith(r"\documentclass")
    assert document.endswith("\\end{document}\n")
    assert "\n\\begin{document}" not in fragment
