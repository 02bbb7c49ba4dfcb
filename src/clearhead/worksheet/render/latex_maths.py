"""Symbols, equations, numbers and sums as LaTeX maths.

Equations are parsed from the text of a Step, so that a new Step needs no code here: single letters are symbols, longer
words are text, and signs such as ᵀ, √, ᵢ and ² become the corresponding LaTeX.
"""

import re
import unicodedata
from dataclasses import dataclass
from itertools import groupby

from clearhead.worksheet.expression import (
    Call,
    Difference,
    Expression,
    Negative,
    Number,
    Power,
    Product,
    Quotient,
    Sum,
    write,
)
from clearhead.worksheet.render.latex_text import MATHS_SIGNS, escape, greek, raised_or_lowered
from clearhead.worksheet.rounding import BLANK

BLANK_BOX = r"\underline{\hspace{2.5em}}"
_LONGEST_PART = 62  # characters of a numerator, denominator or root; a longer one is written so that the line can break
_NUMBER = re.compile(r"(-?\d+(?:\.\d+)?)(?:×10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)|e([+-]?\d+))?")
_LETTER = r"[^\W\d_²³¹\u1d2c-\u1d6a\u1d78\u2070-\u209c\u2c7c\u2c7d]"  # on the baseline, neither raised nor lowered
_WORD = re.compile(rf"{_LETTER}{{2,}}(?:-{_LETTER}{{2,}})*(?![\u0300-\u036f])")
_ARTICLE = re.compile(rf"a (?={_LETTER}{{2,}}(?!\())")
_SUBSCRIPT = re.compile(rf"_(\d+|{_LETTER}+)")
_PRIMES = {"′": 1, "″": 2, "‴": 3, "'": 1}
_MARKS = {"\u0303": r"\tilde", "\u0302": r"\hat", "\u0304": r"\bar", "\u0307": r"\dot"}
_TEX_FUNCTIONS = ("sin", "cos", "tan", "tanh", "exp", "log", "ln", "max", "min")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_OPERATORS = "+-=<>×·≈≤≥≠→∈±÷⊙∘"


@dataclass(frozen=True)
class _Piece:
    """A part of an equation: `tex` in maths, `text` if it is a word, `bare` without its brackets."""

    tex: str
    text: str | None = None
    bare: str | None = None
    is_spaced: bool = False  # whether a space comes before it
    is_operator: bool = False


def symbol(text: str) -> str:
    """Return a symbol as maths: `W_Q₁` is W_{Q,1}, `s̃` is \\tilde{s}, `KᵀQ` is K^{\\top}Q."""
    return _in_maths(_Reader(text).pieces())


def equation(text: str) -> str:
    """Return an equation as a line of text with maths in it, which can break between words and at operators."""
    line = ""
    for is_maths, run in groupby(_fractions(_Reader(text).pieces()), key=lambda piece: piece.text is None):
        pieces = list(run)
        if is_maths:
            line += " " * (pieces[0].is_spaced and bool(line)) + f"${_in_maths(pieces)}$"
        else:
            line += "".join(" " * (piece.is_spaced and bool(line)) + (piece.text or "") for piece in pieces)
    return line


def _in_maths(pieces: list[_Piece]) -> str:
    tex, after_operator = "", True
    for piece in _fractions(pieces):
        between = r"\, " if piece.is_spaced and not piece.is_operator and not after_operator else " "
        tex += (between if piece.is_spaced and tex else "") + piece.tex
        after_operator = piece.is_operator
    return tex


def _fractions(pieces: list[_Piece]) -> list[_Piece]:
    """Turn `a / b`, with spaces, into a fraction of the pieces to the left and right of the slash."""
    done: list[_Piece] = []
    rest = list(pieces)
    while rest:
        piece = rest.pop(0)
        if piece.tex != "/" or not piece.is_spaced or not done or not rest:
            done.append(piece)
            continue
        over, under = [done.pop()], [rest.pop(0)]
        while done and not over[0].is_spaced and not done[-1].is_operator:
            over.insert(0, done.pop())
        while rest and not rest[0].is_spaced and not rest[0].is_operator and rest[0].text is None:
            under.append(rest.pop(0))
        halves = [(run[0].bare if len(run) == 1 else None) or "".join(p.tex for p in run) for run in (over, under)]
        done.append(_Piece(rf"\dfrac{{{halves[0]}}}{{{halves[1]}}}", is_spaced=over[0].is_spaced))
    return done


class _Reader:
    """A parser that reads an equation from left to right."""

    def __init__(self, text: str) -> None:
        self.text = unicodedata.normalize("NFD", text)
        self.at = 0

    def pieces(self, until: str = "") -> list[_Piece]:
        """Read up to the closing bracket `until`, or to the end."""
        pieces: list[_Piece] = []
        is_spaced = False
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter == until:
                break
            if letter == " ":
                is_spaced = True
                self.at += 1
                continue
            piece = self.piece(at_top=not until)
            pieces.append(_Piece(piece.tex, piece.text, piece.bare, is_spaced, piece.is_operator))
            is_spaced = False
        return pieces

    def piece(self, *, at_top: bool = False) -> _Piece:
        """Read one symbol, number, word, bracket or sign, with its superscripts and subscripts."""
        letter, rest = self.text[self.at], self.text[self.at :]
        if at_top and _ARTICLE.match(rest):
            self.at += 1
            return _Piece(r"\text{a}", "a")
        if word := _WORD.match(rest):
            return self.word(word[0])
        if letter != "-" and (number := _NUMBER.match(rest)):
            self.at += number.end()
            return self.with_scripts(number_tex(number[0]))
        if letter in _CLOSING:
            return self.group(letter)
        self.at += 1
        if letter == "√":
            return self.root()
        if letter in ",;:.":
            return _Piece(letter + " " * (not at_top), letter if at_top else None, is_operator=not at_top)
        if letter in _OPERATORS:
            return _Piece(MATHS_SIGNS.get(letter, letter), is_operator=True)
        if letter.isascii() and (letter.isalnum() or letter in "/|!*"):
            return self.with_scripts(letter)
        return self.with_scripts(greek(letter) or MATHS_SIGNS.get(letter) or rf"\text{{{escape(letter)}}}")

    def word(self, word: str) -> _Piece:
        self.at += len(word)
        if len(word) == 2 and word[0].isupper() and word[1].islower():  # Wh is W times h
            product = self.with_scripts(word).tex
            return _Piece(product if product == word else f"({word}){product.removeprefix(word)}")
        is_call = self.text[self.at : self.at + 1] == "("
        if word in _TEX_FUNCTIONS and is_call:
            return _Piece("\\" + word)
        if word.isupper() and not is_call:  # QK: symbols side by side
            tail = self.with_scripts(word[-1])
            return _Piece(word[:-1] + tail.tex)
        if is_call:
            return _Piece(rf"\operatorname{{{escape(word)}}}")
        upright = self.with_scripts(rf"\text{{{escape(word)}}}").tex
        return _Piece(upright, escape(word) if upright == rf"\text{{{escape(word)}}}" else None)

    def group(self, opening: str) -> _Piece:
        self.at += 1
        inside = _in_maths(self.pieces(_CLOSING[opening]))
        self.at += 1
        brackets = ("\\{", "\\}") if opening == "{" else (opening, _CLOSING[opening])
        if r"\dfrac" in inside:  # brackets as tall as the fraction
            brackets = (rf"\left{brackets[0]}", rf"\right{brackets[1]}")
        bracketed = f"{brackets[0]}{inside}{brackets[1]}"
        piece = self.with_scripts(bracketed)
        return _Piece(piece.tex, bare=inside if piece.tex == bracketed and opening == "(" else None)

    def root(self) -> _Piece:
        if self.at >= len(self.text):
            return _Piece(r"\surd")
        under = self.piece()
        return _Piece(rf"\sqrt{{{under.bare or under.tex}}}")

    def with_scripts(self, base: str) -> _Piece:
        """Read the accents, primes, superscripts and subscripts after a symbol."""
        lowered: list[str] = []
        raised = ""
        primes = 0
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter in _MARKS:
                base = f"{_MARKS[letter]}{{{base}}}"
            elif letter in _PRIMES:
                primes += _PRIMES[letter]
            elif (script := raised_or_lowered(letter)) is not None:
                if script[0] == "^":
                    raised += script[1]
                else:
                    is_more = bool(lowered) and raised_or_lowered(self.text[self.at - 1]) is not None
                    lowered[-1:] = [lowered[-1] + script[1]] if is_more else [*lowered[-1:], script[1]]
            elif letter == "_" and (under := _SUBSCRIPT.match(self.text, self.at)):
                self.at = under.end() - 1
                lowered.append(_subscript(under[1]))
            elif letter == "^" and self.at + 1 < len(self.text):
                self.at += 1
                power = self.piece()
                raised += power.bare or power.tex
                continue
            else:
                break
            self.at += 1
        below = f"_{{{','.join(lowered)}}}" if lowered else ""
        above = r"\prime" * primes + (" " if primes and raised else "") + raised
        above = "'" * primes if primes and not raised else (f"^{{{above}}}" if above else "")
        return _Piece(base + below + above)


def _subscript(text: str) -> str:
    if text.isdigit():
        return text
    if len(text) == 1:
        return greek(text) or (text if text.isascii() else rf"\text{{{escape(text)}}}")
    return rf"\mathrm{{{text}}}" if text.isascii() else rf"\text{{{escape(text)}}}"


_LEVEL = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def number_tex(text: str) -> str:
    """Return a shown number as maths: `7.95×10⁻³²` is 7.95\\times10^{-32}; a blank becomes a line to write on."""
    if text == BLANK:
        return BLANK_BOX
    if text == "e":
        return r"\mathrm{e}"
    if number := _NUMBER.fullmatch(text):
        mantissa, raised, exponent = number.groups()
        power = raised.translate(_LEVEL) if raised else exponent
        if len(mantissa) > _LONGEST_PART:  # hundreds of digits, if every line is rounded
            mantissa = r"\allowbreak ".join(re.findall(".{1,20}", mantissa))
        return mantissa if power is None else rf"{mantissa}\times10^{{{int(power)}}}"
    if text in ("∞", "-∞", "…"):
        return {"∞": r"\infty", "-∞": r"-\infty", "…": r"\cdots"}[text]
    return symbol(text)


def expression_tex(expression: Expression, *, is_small: bool = False) -> str:
    """Return the sum of a cell as maths; a long one can break at its operators. `is_small`: inside an exponent."""
    match expression:
        case Number(text):
            return number_tex(text)
        case Sum(terms, left_out):
            texts = [_inside(term, "+", is_small) for term in terms]
            more = rf"\cdots\ \text{{({left_out} more)}}\ \cdots"
            return " + ".join([*texts[:-1], more, texts[-1]] if left_out else texts)
        case Product(factors):
            return r" \cdot ".join(_inside(factor, "×", is_small) for factor in factors)
        case Difference(minuend, subtrahend):
            return f"{_inside(minuend, '+', is_small)} - {_inside(subtrahend, '-', is_small)}"
        case Negative(argument):
            return f"-{_inside(argument, '-', is_small)}"
        case Quotient(numerator, denominator):
            if is_small or not (_is_short(numerator) and _is_short(denominator)):
                stroke = "/" if is_small else r"\,/\,"
                return _inside(numerator, "/", is_small) + stroke + _inside(denominator, "/", is_small)
            return rf"\dfrac{{{expression_tex(numerator)}}}{{{expression_tex(denominator)}}}"
        case Power(base, exponent):
            return f"{_inside(base, '^', is_small)}^{{{expression_tex(exponent, is_small=True)}}}"
        case Call("√", argument):
            inside = expression_tex(argument, is_small=is_small)
            return rf"\sqrt{{{inside}}}" if _is_short(argument) else f"({inside})^{{1/2}}"
        case Call(function, argument):
            name = "\\" + function if function in _TEX_FUNCTIONS else rf"\operatorname{{{escape(function)}}}"
            return name + _bracketed(expression_tex(argument, is_small=is_small))


def _is_short(expression: Expression) -> bool:
    return len(write(expression)) <= _LONGEST_PART


def _inside(expression: Expression, operator: str, is_small: bool) -> str:
    tex = expression_tex(expression, is_small=is_small)
    needs = {
        "+": (Negative,),
        "-": (Sum, Difference, Negative),
        "×": (Sum, Difference, Negative),
        "/": (Sum, Difference, Negative, Product, Quotient),
        "^": (Sum, Difference, Negative, Product, Quotient, Power, Call),
    }[operator]
    is_stroke = operator == "×" and isinstance(expression, Quotient) and r"\dfrac" not in tex
    is_negative = isinstance(expression, Number) and tex.startswith("-")
    is_power_of_ten = isinstance(expression, Number) and r"\times" in tex and operator in "/^"
    needed = isinstance(expression, needs) or is_stroke or is_negative or is_power_of_ten
    return _bracketed(tex) if needed else tex


def _bracketed(tex: str) -> str:
    return rf"\left({tex}\right)" if r"\dfrac" in tex and r"\cdots" not in tex and len(tex) < 160 else f"({tex})"
