"""Symbols, equations, numbers and sums as LaTeX maths."""

import pytest

from clearhead import Worksheet
from clearhead.steps import STEPS
from clearhead.worksheet.expression import Call, Number, Power, Product, Quotient, Sum, write
from clearhead.worksheet.render.latex_maths import equation, expression_tex, number_tex, symbol
from clearhead.worksheet.view import SheetView
from tests.conftest import SHIPPED


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
        tex = equation(step.equation_in(layout, {step_input.name: "X₁" for step_input in step.inputs}))
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
