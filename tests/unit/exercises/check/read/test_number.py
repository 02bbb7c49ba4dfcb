"""Reading one written cell: value, unit of the last digit, digits, and the reason if it cannot be read."""

import math

import pytest

from clearhead.exercises.check.read.number import is_blank, read_cell
from clearhead.exercises.check.read.sum import MAX_DEPTH, read_sum

PLAIN = [  # text, value, unit, figures
    ("0.50", 0.5, 0.01, 2),
    ("-0.00", 0.0, 0.01, 1),
    ("−0.53", -0.53, 0.01, 2),
    ("–0.53", -0.53, 0.01, 2),
    ("- 0.53", -0.53, 0.01, 2),
    ("(-0.53)", -0.53, 0.01, 2),
    ("[0.53]", 0.53, 0.01, 2),
    (".34", 0.34, 0.01, 2),
    ("+1.2", 1.2, 0.1, 2),
    ("0.0120", 0.012, 0.0001, 3),
    ("12.0", 12.0, 0.1, 3),
    ("≈ 0.26", 0.26, 0.01, 2),
    (r"\approx 0.26", 0.26, 0.01, 2),
    ("= 0.26", 0.26, 0.01, 2),
    ("~0.26", 0.26, 0.01, 2),
    ("$0.26$", 0.26, 0.01, 2),
    (" 0.26\u00a0", 0.26, 0.01, 2),
    ("0.333…", 0.333, 0.001, 3),
    ("０．５", 0.5, 0.1, 1),
    ("100%", 1.0, 0.01, 3),
    ("26.5 %", 0.265, 0.001, 3),
    (r"26\%", 0.26, 0.01, 2),
    ("1.2×10^-3", 0.0012, 0.0001, 2),
    ("1.2x10^-3", 0.0012, 0.0001, 2),
    ("1.2*10^-3", 0.0012, 0.0001, 2),
    ("1.2 × 10^(-3)", 0.0012, 0.0001, 2),
    ("1.2·10⁻³", 0.0012, 0.0001, 2),
    ("-1.20×10⁴", -12000.0, 100.0, 3),
    (r"7.9\times10^{-32}", 7.9e-32, 1e-33, 2),
    (r"7.9 \cdot 10^{-32}", 7.9e-32, 1e-33, 2),
    ("1e-3", 0.001, 0.001, 1),
    ("1.5E+02", 150.0, 10.0, 2),
    ("1e-350", 0.0, 5e-324, 1),
]
WHOLE = [("0", 0.0, 1), ("5.", 5.0, 1), ("-12", -12.0, 2), ("120", 120.0, 3), ("≈5", 5.0, 1), ("007", 7.0, 1)]
EXACT = [
    ("½", 0.5),
    ("¼", 0.25),
    ("¾", 0.75),
    ("⅓", 1 / 3),
    ("1½", 1.5),
    ("-1½", -1.5),
    (r"\frac{1}{2}", 0.5),
    (r"-\frac{1}{2}", -0.5),
    ("2/3", 2 / 3),
    ("−2/3", -2 / 3),
    ("√3", math.sqrt(3)),
    (r"\sqrt{3}", math.sqrt(3)),
    ("sqrt(3)", math.sqrt(3)),
    ("√3/2", math.sqrt(3) / 2),
    ("2√3", 2 * math.sqrt(3)),
    ("e^2/(e^2+1)", math.exp(2) / (math.exp(2) + 1)),
    ("e^0.6/(e^0.6+1)", math.exp(0.6) / (math.exp(0.6) + 1)),
    (r"\frac{e^{2}}{e^{2}+1}", math.exp(2) / (math.exp(2) + 1)),
    ("e²", math.exp(2)),
    ("exp(2)", math.exp(2)),
    ("e^-1000", 0.0),
    ("π", math.pi),
    (r"\pi/2", math.pi / 2),
    ("2π", 2 * math.pi),
    ("ln(2)", math.log(2)),
    ("sin(1)", math.sin(1)),
    ("cos(0)", 1.0),
    ("tanh(0.5)", math.tanh(0.5)),
    (r"\tanh\left(0.5\right)", math.tanh(0.5)),
    ("1 - 1/3", 1 - 1 / 3),
    ("-2^2", -4.0),
    ("2^3^2", 512.0),
    ("2^-1", 0.5),
    ("8/4/2", 1.0),
    ("2·1", 2.0),
    ("0.6×0.5 + 0.4", 0.7),
    ("-∞", -math.inf),
    ("-inf", -math.inf),
    (r"-\infty", -math.inf),
    ("∞", math.inf),
]
REFUSED = [
    ("", "nothing is written"),
    ("x", "it is not a number"),
    ("nan", "it is not a number"),
    ("__import__('os')", "it is not a number"),
    ("1.2.3", "it is not a number"),
    ("1 234", "it is not a number"),
    ("0.26(3)", "it is not a number"),
    ("2e", "it is not a number"),
    ("5-", "it is not a number"),
    ("1/2π", "it is not a number"),
    ("(1", "it is not a number"),
    ("(1]", "it is not a number"),
    ("²", "it is not a number"),
    ("\x1b[31m1", "it is not a number"),
    ("<b>1</b>", "it is not a number"),
    ("1e999999", "it is too large (beyond 1e308)"),
    ("1e309", "it is too large (beyond 1e308)"),
    ("9**9**9", "it is too large (beyond 1e308)"),
    ("9^9^9^9", "it is too large (beyond 1e308)"),
    ("exp(1000)", "it is too large (beyond 1e308)"),
    ("1e200*1e200", "it is too large (beyond 1e308)"),
    ("1e999999 + 1", "it is too large (beyond 1e308)"),
    ("1e-999999", "it is too small (its exponent is below -400)"),
    ("1/0", "it divides by zero"),
    ("0^-1", "it divides by zero"),
    ("√(-1)", "it has no value: there is no root of a negative number"),
    ("ln(0)", "it has no value: there is no ln of such a number"),
    ("(-8)^(1/3)", "it is a fractional power of a negative number"),
    ("log(2)", "log is ambiguous: write ln"),
    ("1,234", "it has a comma: write 1.234 or 1234, or set decimal: comma"),
    ("0,5", "it has a comma: write 0.5, or set decimal: comma"),
    ("1,234,567", "it has a comma: write a point, or set decimal: comma"),
    ("(" * 30 + "1" + ")" * 30, "its brackets are nested more than 20 deep"),
    ("2^" * 30 + "1", "its powers are nested more than 20 deep"),
    ("1" * 3000, "it is longer than 200 characters"),
]


@pytest.mark.parametrize(("text", "value", "unit", "figures"), PLAIN)
def test_a_decimal_keeps_its_value_and_the_unit_of_its_last_digit(text, value, unit, figures):
    number = read_cell(text)
    assert number.problem == "", "it is a number"
    assert (number.text, number.value, number.is_whole) == (text, value, False)
    assert number.unit == pytest.approx(unit, rel=1e-12, abs=0), "the unit of the last digit"
    assert number.figures == figures, "the significant digits as they were written"


@pytest.mark.parametrize(("text", "value", "figures"), WHOLE)
def test_an_integer_is_marked_so_that_its_neighbours_determine_its_unit(text, value, figures):
    number = read_cell(text)
    assert (number.value, number.unit, number.is_whole, number.figures, number.problem) == (
        value,
        1.0,
        True,
        figures,
        "",
    )


@pytest.mark.parametrize(("text", "value"), EXACT)
def test_a_sum_is_exact(text, value):
    number = read_cell(text)
    assert number.problem == "", "it is a number"
    assert number.value == pytest.approx(value, rel=1e-15, abs=0)
    assert (number.unit, number.is_whole, number.figures) == (0.0, False, None), "no digit of it was rounded"


@pytest.mark.parametrize(("text", "problem"), REFUSED)
def test_an_unreadable_cell_has_a_reason_and_raises_nothing(text, problem):
    number = read_cell(text)
    assert number.problem == problem
    assert math.isnan(number.value), "no value may be used by mistake"
    assert number.text == text


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [("0,5", 0.5, 0.1), ("-0,50", -0.5, 0.01), (",5", 0.5, 0.1), ("1,2×10^-3", 0.0012, 1e-4), ("0{,}5", 0.5, 0.1)],
)
def test_a_decimal_comma_is_read_if_the_file_declares_it(text, value, unit):
    number = read_cell(text, has_decimal_comma=True)
    assert (number.value, number.problem) == (value, "")
    assert number.unit == pytest.approx(unit, rel=1e-12)


def test_a_point_and_a_comma_in_one_number_are_refused():
    assert read_cell("1.234,5", has_decimal_comma=True).problem.startswith("it has a point and a comma")


def test_a_middle_dot_is_a_point_only_if_requested():
    assert read_cell("2·1").value == 2.0, "a product"
    number = read_cell("2·1", dot_is_point=True)
    assert (number.value, number.unit) == (2.1, 0.1), "a decimal"
    assert read_cell("2·1×10⁻³", dot_is_point=True).value == 0.0021, "a decimal mantissa"
    assert read_cell("2·10⁻³", dot_is_point=True).value == 0.002, "a power of ten follows: a product all the same"


def test_a_percentage_is_the_same_float_as_its_decimal():
    for percent in range(101):
        assert read_cell(f"{percent}%").value == read_cell(f"{percent / 100:.2f}").value, f"{percent} %"


@pytest.mark.parametrize("text", ["", " ", "?", "??", "_", "____", "…", "...", "-", "—", "–", "−", "□", " \u00a0"])
def test_a_placeholder_is_blank(text):
    assert is_blank(text)


@pytest.mark.parametrize("text", ["0", "-0", "x", "-1", "_1", "?1", "."])
def test_a_cell_with_content_is_not_blank(text):
    assert not is_blank(text)


# ---- Sums in one cell: precedence, implicit products, bounds, and the reason why a text has no value ----


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2+3*4", 14.0),
        ("-2^2", -4.0),
        ("2^3^2", 512.0),
        ("2√3", 2 * math.sqrt(3)),
        ("1½", 1.5),
        ("\\frac{3}{4}", 0.75),
        ("e^2/(e^2+1)", math.exp(2) / (math.exp(2) + 1)),
        ("6/3*2", 4.0),
    ],
)
def test_a_sum_is_worked_by_the_usual_precedence(text, value):
    assert read_sum(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["2(3)", "1/2π", "2e", "sin 3", "2+", "import os", "(2]"])
def test_ambiguous_or_meaningless_sums_are_rejected(text):
    with pytest.raises(ValueError, match="^$"):
        read_sum(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("log(2)", "log is ambiguous: write ln"),
        ("√(-1)", "there is no root of a negative number"),
        ("(-8)^(1/3)", "it is a fractional power of a negative number"),
        ("(" * (MAX_DEPTH + 2) + "1" + ")" * (MAX_DEPTH + 2), f"nested more than {MAX_DEPTH} deep"),
    ],
)
def test_a_sum_without_a_value_says_why(text, reason):
    with pytest.raises(ValueError, match=reason):
        read_sum(text)


def test_division_by_zero_and_overflow_are_separate_errors():
    with pytest.raises(ZeroDivisionError):
        read_sum("1/0")
    with pytest.raises(OverflowError):
        read_sum("10^400")
