"""Normalise the names of lines, in LaTeX or plain text: W^{Q} is W_Q, e_{h_1} is e[1].

The meaning of a name (its part) depends on the name alone, so that a formula can be read before any number.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, cast

from clearhead.check.line_words import LAST_WORDS, WORDS, word_key

Part = Literal[
    "X", "Y", "W_Q", "W_K", "W_V", "W_O", "W", "h", "s", "Q", "K", "V", "scores", "scaled", "weights", "output"
]
_GREEK = {
    **{"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "lambda": "λ", "mu": "μ", "sigma": "σ", "theta": "θ"},
    **{"epsilon": "ε", "varepsilon": "ε", "phi": "φ", "omega": "ω", "tau": "τ", "eta": "η", "emptyset": "∅"},
}
_GROUP = re.compile(
    r"\\(?:text|textbf|textit|textrm|mathbf|mathrm|mathit|mathsf|mathcal|mathbb|operatorname|bm|boldsymbol|hat|bar|"
    r"vec|mbox|overline|underline|underbrace|textcircled)\*?\s{0,3}\{([^{}]{0,200})\}"
)
_TILDE = re.compile(r"\\(?:wide)?tilde\s{0,3}(?:\{\s{0,3}([A-Za-z])\s{0,3}\}|([A-Za-z]))|([A-Za-z])\u0303")
_FRACTION = re.compile(r"\\[dt]?frac\s{0,3}\{([^{}]{0,200})\}\s{0,3}\{([^{}]{0,200})\}")
_ROOT = re.compile(r"\\sqrt\s{0,3}\{([^{}]{0,200})\}")
_TRANSPOSED = re.compile(
    r"\^\s{0,2}(?:\{\s{0,2}(?:T|⊤|\\top|\\intercal|\\mathsf\s?T)\s{0,2}\}|T(?![a-z])|⊤|\\top|\\intercal)|(?<=[A-Za-z])\.T(?![a-z])|⊤"
)
_SCRIPT = re.compile(r"([_^])\s{0,2}\{([^{}]{0,40})\}")
_PREFIX = re.compile(
    r"^(?:[\s}{∴→⇒⟹•*#>\-–—✓√①②③④⑤⑥⑦⑧⑨,.;:]|\d{1,2}[.)](?!\d)|\([a-z0-9]{1,2}\)(?=\s)|so\b|thus\b|now\b|hence\b|then\b|therefore\b|where\b|and\b|with\b|"
    r"let\b|given\b|compute\b|for\b|we get\b|step\s?\d{0,2}\s?[:.)\-–]?(?=\s|$))",
    re.IGNORECASE,
)
_WORDS: dict[str, Part] = {
    "output": "output", "outputs": "output", "context": "output", "context vector": "output",
    "attention output": "output", "attention": "output", "result": "output", "z": "output", "o": "output",
    "scores": "scores", "score": "scores", "attention scores": "scores", "raw scores": "scores", "e": "scores",
    "scaled scores": "scaled", "scaled": "scaled", "weights": "weights", "attention weights": "weights",
    "weight": "weights", "attention weight": "weights",
    "attention distribution": "weights", "alpha": "weights", "a": "weights", "p": "weights", "α": "weights",
    "queries": "Q", "query": "Q", "keys": "K", "key": "K", "values": "V", "value": "V",
    "input": "X", "inputs": "X", "embeddings": "X",
}  # fmt: skip
_ROW_LETTERS: dict[str, Part] = {
    **{"x": "X", "q": "Q", "k": "K", "v": "V", "h": "h", "e": "scores", "z": "output", "o": "output", "α": "weights"},
    **{"y": "Y", "a": "weights"},
}
_EXPLAINED = re.compile(r"\s{0,2}\([A-Za-zα]{1,3}\)$")
_PERCENT = re.compile(r"\s{0,2}(?:\(\s?(?:in )?\\?%\s?\)|(?:in )?\\?%)$")
_NOT_NAME = re.compile(r"(?i:dim|pos|marks?|date|page|d|i|j|d_k|d_model|t)|n")  # but N is a norm
_SUM_OF_LETTERS = re.compile(r"[A-Za-z]\w?(?: ?\+ ?[A-Za-z]\w{0,3})+")  # X + Y
_MAX_WORDS = 4  # of a name at the end of a sentence


@dataclass(frozen=True)
class Symbol:
    """A normalised name: its part, and its row (counted from 1; 0 for the entire matrix)."""

    name: str
    part: Part | None = None
    row: int = 0

    @property
    def is_line(self) -> bool:
        """Whether a line of a sheet has this name, and not any word."""
        name = re.sub(r"[\s_]{0,3}\d{1,2}$", "", self.name.partition("[")[0])
        is_formula = _SUM_OF_LETTERS.fullmatch(name) or re.fullmatch("[A-Z]ᵀ", name)
        return self.part is not None or is_line_word(name) or is_formula is not None

    @property
    def is_given(self) -> bool:
        """Whether an exercise usually gives such numbers."""
        return self.part in ("X", "Y", "W_Q", "W_K", "W_V", "W_O", "W", "h", "s")


def plain(text: str) -> str:
    """Convert LaTeX to plain Unicode, as far as names and formulas need it."""
    text = text[:2000]
    text = re.sub(r"\\textcircled\s?\{[^{}]{0,9}\}", " ", text)
    text = re.sub(r"\\(?:(?:quad|qquad|left|right)(?![a-zA-Z])|[,;!: ])", " ", text)
    text = _TILDE.sub(lambda match: f"{match[1] or match[2] or match[3]}~", text)
    for _ in range(6):
        before = text
        text = _TRANSPOSED.sub("ᵀ", text)
        text = _GROUP.sub(r"\1", text)
        text = _ROOT.sub(r"√\1", text)
        text = _FRACTION.sub(r"\1/\2", text)
        text = _SCRIPT.sub(lambda match: match[1] + re.sub(r"\s", "", match[2]), text)
        if text == before:
            break
    text = re.sub(r"\\(?:therefore|because)(?![a-zA-Z])", "∴", text)
    text = re.sub(r"\\(?:[lL]ong)?[rR]ightarrow(?![a-zA-Z])|\\(?:to|implies)(?![a-zA-Z])", "→", text)
    text = re.sub(r"\\(?:times|cdot|ast)(?![a-zA-Z])", "×", text)
    text = re.sub(r"\\sum(?![a-zA-Z])", "Σ", text)
    text = re.sub(
        r"\\([a-zA-Z]{1,20})", lambda match: _GREEK.get(match[1], match[1] if match[1] == "softmax" else " "), text
    )
    text = text.replace("^T", "ᵀ").replace("**", "").replace("__", "").replace("`", "").replace("$", " ")
    return re.sub(r"\s{1,9}", " ", text).strip()


def read_symbol(raw: str) -> Symbol | None:
    """Return the name before an equals sign or a colon, or None if the words there are not a name."""
    text = plain(raw[-400:])
    text = text.rpartition(":")[2] if ":" in text.rstrip(" :") else text.rstrip(" :")
    for _ in range(6):
        text = _PREFIX.sub("", text, count=1).strip()
    text = text.strip(" .,;*_={}()") if text.count("(") != text.count(")") else text.strip(" .,;*_={}")
    if not text or len(text) > 60 or "▢" in text:
        return None
    symbol = _known(text)
    if symbol is None and _PERCENT.search(text):  # weights (%)
        percent = _known(_PERCENT.sub("", text))
        return None if percent is None else replace(percent, name=f"{percent.name} (%)")
    return _last_words(text) if symbol is None and " " in text else symbol


def is_line_word(text: str) -> bool:
    """Return whether a text is a word for a line, such as `hidden layer`, and no single letter."""
    key = word_key(text)
    return len(key) > 1 and (key in WORDS or key in LAST_WORDS)


def _last_words(text: str) -> Symbol | None:
    """Return the name at the end of a sentence: `so the hidden layer`."""
    words = text.split(" ")
    last = words[-1].strip("(),*")
    symbol = _known(last)
    phrases = [" ".join(words[-number:]) for number in range(min(_MAX_WORDS, len(words) - 1), 1, -1)]
    added = next((phrase for phrase in phrases if _SUM_OF_LETTERS.fullmatch(phrase)), "")
    if added or symbol is None or symbol.part is None:
        phrase = added or next((phrase for phrase in phrases if is_line_word(phrase)), "")
        symbol = _known(phrase) if phrase else symbol
    is_word = symbol is not None and not symbol.is_line and not re.match(r"[A-Z]\w{0,5}$", last)
    return None if is_word else symbol


def _known(text: str) -> Symbol | None:
    """Return the symbol that a text is, by the first rule of the table that fits."""
    tight = re.sub(r"\s", "", text)
    for pattern, build in _RULES:
        match = pattern.fullmatch(tight)
        if match is not None:
            return build(match)
    word = _EXPLAINED.sub("", text).strip()
    if word.lower() in _WORDS:
        inside = re.search(r"\(([A-Za-zα])\)$", text)
        return Symbol(inside[1] if inside else word, _WORDS[word.lower()])
    if _NOT_NAME.fullmatch(tight):
        return None
    if is_line_word(word) or _SUM_OF_LETTERS.fullmatch(text):
        return Symbol(text)
    is_word = re.fullmatch(r"[A-Za-zα-ω][\w'ᵀα-ω^]{0,11}(?:\([\w, ]{1,12}\))?", tight) and len(text.split()) == 1
    return Symbol(tight) if is_word else None


def _weights_matrix(match: re.Match[str]) -> Symbol:
    name = f"W_{match[1].upper()}"
    return Symbol(name, cast(Part, name))


def _transformed_row(match: re.Match[str]) -> Symbol:
    return Symbol(f"W h[{int(match[1])}]", None, int(match[1]))


def _cell(match: re.Match[str]) -> Symbol:
    row, column = match[2].split(",") if "," in match[2] else list(match[2])
    return Symbol(f"{match[1]}[{int(row)}, {int(column)}]", "scores" if match[1] in "eEsS" else "weights", int(row))


def _row(match: re.Match[str]) -> Symbol:
    letter = match[1].upper() if match[1].lower() in "xqkvyz" else match[1]
    return Symbol(f"{letter}[{int(match[2])}]", _ROW_LETTERS[match[1].lower()], int(match[2]))


def _candidate(match: re.Match[str]) -> Symbol:
    return Symbol(f"{match[1]}~_{int(match[2])}" if match[2] else f"{match[1]}~")


def _rest_of_update(match: re.Match[str]) -> Symbol:
    return Symbol(f"1 - z_{int(match[1])}" if match[1] else "1 - z")


def _fixed(name: str, part: Part | None) -> Callable[[re.Match[str]], Symbol]:
    return lambda match: Symbol(name, part)


def _shown(part: Part | None) -> Callable[[re.Match[str]], Symbol]:
    """Return a rule for names that are kept as they are written."""
    return lambda match: Symbol(match[0], part)


# Patterns of names without blanks and what they mean; the first that fits a name decides.
_RULES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Symbol]], ...] = tuple(
    (re.compile(pattern), build)
    for pattern, build in (
        (r"[Ww][_^]?\(?([QqKkVvOo])\)?", _weights_matrix),
        (r"\(?[Q∅q][×*.·]?[Kk]ᵀ?T?\)?[/÷]\(?(?:√|sqrt)\(?[\w.]{1,8}\)?\)?", _fixed("QKᵀ/√d_k", "scaled")),
        (r"\(?(?:[SE]|[Ss]cores?|QKᵀ)\)?[/÷]\(?(?:√|sqrt)?\(?[\w.]{1,8}\)?\)?", _fixed("scaled scores", "scaled")),
        (r"\(?[Q∅q][×*.·]?[Kk](?:ᵀ|T|\.T)\)?", _fixed("QKᵀ", "scores")),
        (r"(?i)softmax\(.{0,16}", _shown("weights")),
        (r"(?i)softmax\(.*", _fixed("softmax", "weights")),
        (r"(?i)attention\(.*", _fixed("Attention", "output")),
        (r"(?i)(?:relu|tanh|sigmoid|gelu|silu)\(.{1,40}\)", _shown(None)),
        (r"([A-Za-z])~_?\(?(\d{1,3})?\)?", _candidate),
        (r"\(?1[-−–]z_?\(?(\d{1,3})?\)?", _rest_of_update),
        (r"W[×*·]?[hH]_?\(?(\d{1,3})\)?", _transformed_row),
        (r"W|W_a", _fixed("W", "W")),
        (r"s(?:[_^]\{?t\}?)?ᵀ?|S(?:[_^]\{?t\}?ᵀ?|ᵀ)", _fixed("s", "s")),
        (r"e\^?\(?t\)?", _fixed("e^t", "scores")),
        (r"α\^?\(?t\)?", _fixed("α^t", "weights")),
        (r"[ac][\^_]\(?t\)?|[cC]", _shown("output")),
        (r"[Xx]", _fixed("X", "X")),
        (r"Y", _fixed("Y", "Y")),
        (r"Q", _fixed("Q", "Q")),
        (r"K", _fixed("K", "K")),
        (r"V", _fixed("V", "V")),
        (r"[hH]", _shown("h")),
        (r"[ES]", _shown("scores")),
        (r"[AP]", _shown("weights")),
        (r"[OZ]", _shown("output")),
        (r"M", _fixed("M", None)),
        (r"[QKVXSEA]ᵀ", _shown(None)),
        (r"([eEsSaAαP])_?\(?(\d{1,3},\d{1,3}|[1-9][1-9])\)?", _cell),
        (r"([XQKVHEZOAYxqkvhezoayα])_?\(?h?_?(\d{1,3})\)?", _row),
    )
)
