"""Fold LaTeX, Markdown and HTML marks into plain text: W_{Q} is W_Q, and each matrix environment is one grid.

One pass over tokens. `\\f` ends a line of the text that is no line of the file, and `\\v` is a line of the file
inside a matrix, so that line numbers stay right.
"""

import html
import re
import unicodedata

from clearhead.exercises.check.read.grid import LABEL, Grids, table_grid, without_holes

_MAX_DEPTH = 40
_TOKEN = re.compile(
    r"\\(?:left|right)(?![A-Za-z])\s*\.?|\\\\(?:\[-?[0-9.]+[a-z]{2}\])?|\\[A-Za-z]+\*?|\\.|\n|[{}$&]|[^\\\n{}$&]+|\\"
)
_SUB, _SUP = (
    re.compile(r"(?i)(?:_|<i[^<>]{0,20}>_</i>)?<sub>([^<>\n]*)</sub>"),
    re.compile(r"(?i)<sup>([^<>\n]*)</sup>"),
)
_TAG = re.compile(r"(?i)</?(?:b|i|em|strong|span|u|code|del|s|center|font|br)\b[^<>\n]{0,100}>")
_STRUCK = re.compile(r"~~[^~\n]+~~|<(del|s)>[^<>\n]*</\1>")
_TEX_NOTES = re.compile(r"(?<!\\)%.*|\\[a-z]+=-?[0-9.]+[a-z]{2}|\\end\{document\}")
_SIMPLE = re.compile(r"\w+|′+").fullmatch
_SUM = re.compile(r"[\w.^{}√]+").fullmatch
_BLANKS = str.maketrans(
    dict.fromkeys("\u00a0\u2002\u2003\u2007\u2009\u200a\u202f", " ")
    | dict.fromkeys("\u200b\u200e\u200f\u2060\ufeff\v\f\r")
)
_SYMBOLS = {
    "cdot": "·", "times": "×", "div": "÷", "top": "T", "intercal": "T", "infty": "∞", "approx": "≈", "simeq": "≈",
    "to": "→", "rightarrow": "→", "Rightarrow": "⇒", "implies": "⇒", "longrightarrow": "→", "therefore": "∴",
    "prime": "′", "sum": "Σ", "ldots": "…", "cdots": "…", "dots": "…", "vdots": "…", "langle": "<", "rangle": ">",
    "odot": "⊙", "checkmark": "✓", "varepsilon": "ε", "lambda": "λ", "mid": "|", "vert": "|", "pm": "±",
    "par": "\f", "item": "\f", "newline": "\f", "textless": "<", "textgreater": ">", "hfill": "  ",
    "quad": "  ", "qquad": "  ", "ell": "ℓ", "partial": "∂",
}  # fmt: skip
_FUNCTIONS = ("softmax", "tanh", "exp", "log", "ln", "sin", "cos", "max", "min", "sqrt", "relu", "sigmoid", "inf")
_ACCENTS = {"tilde": "\u0303", "widetilde": "\u0303", "hat": "\u0302", "bar": "\u0304", "overline": "\u0304", "vec": ""}
_HEADINGS = {"section": "#", "subsection": "##", "subsubsection": "###", "paragraph": "####"}
_DROPPED = {
    "hspace": 1,
    "vspace": 1,
    "cline": 1,
    "label": 1,
    "tag": 1,
    "setlength": 2,
    "renewcommand": 2,
    "multicolumn": 2,
    "end": 1,
}
_STRIKES = ("cancel", "bcancel", "xcancel", "sout", "st")
_MATRIX = re.compile(r"(?:[bBpvV]|small)?matrix|array|tabular").match


def fold(text: str, grids: Grids, remarks: list[str], *, is_fresh: bool = True) -> str:
    """Return the plain text of a page, with a character for every matrix environment."""
    text = without_holes(text).translate(_BLANKS) if is_fresh else text
    if _STRUCK.search(text):
        remarks.append("Struck-out text was ignored.")
    text = _STRUCK.sub(" ", without_comments(text))
    text = _TAG.sub("", _SUP.sub(r"^{\1}", _SUB.sub(r"_{\1}", text)))
    preamble, begin, body = html.unescape(text).partition(r"\begin{document}")
    text = "\n" * preamble.count("\n") + _TEX_NOTES.sub("", body) if begin else preamble
    folder = _Folder(text.replace("**", "").replace("`", ""), grids)
    folded = folder.read()
    remarks += ["Struck-out text was ignored."] if folder.has_struck and not remarks else []
    return folded


class _Folder:
    """Read the tokens of a page once, from left to right."""

    def __init__(self, text: str, grids: Grids) -> None:
        self.has_struck = False
        self._tokens = _TOKEN.findall(text)
        self._grids = grids
        self._next = 0
        self._depth = 0
        self._stop = ""  # the token at which the last reading stopped
        self._num_escaped = 0  # open brackets written \[
        self._is_in_matrix = False

    def read(self, *stops: str) -> str:
        """Return the text up to one of the stops, or to the end."""
        parts: list[str] = []
        self._depth += 1
        while self._next < len(self._tokens):
            token = self._tokens[self._next]
            self._next += 1
            self._stop = token[:2] if token.startswith("\\\\") else token
            if self._stop in stops:
                break
            parts.append(self._value(token, parts[-1] if parts else ""))
        else:
            self._stop = ""
        self._depth -= 1
        return "".join(parts)

    def _value(self, token: str, before: str) -> str:
        """Return the plain text of one token and its arguments."""
        if token == "{":
            return self._group(before)
        if token in ("}", "$", "&"):
            return ""
        if token == "\n":
            return "\v " if self._is_in_matrix else token
        if token.startswith("\\\\"):
            return "\f"
        if not token.startswith("\\"):
            return token
        name = token[1:].rstrip("*")
        return self._command(name) if name[:1].isalpha() and len(token) > 1 else self._escaped(token[1:], before)

    def _peek(self) -> str:
        return self._tokens[self._next] if self._next < len(self._tokens) else ""

    def _group(self, before: str) -> str:
        if self._depth > _MAX_DEPTH:
            return ""
        inner = self.read("}")
        if not before.endswith(("_", "^")):
            return inner
        inner = inner.strip().replace("=", "＝")  # the = below a sum begins no side
        return inner if _SIMPLE(inner) else f"{{{inner}}}"

    def _argument(self) -> str:
        """Return the next group, or else the next character."""
        while self._peek().isspace():
            self._next += 1
        token = self._peek()
        if not token or self._depth > _MAX_DEPTH:
            return ""
        if token != "{" and not token.startswith("\\"):
            self._tokens[self._next] = token.lstrip()[1:]
            return token.lstrip()[:1]
        self._next += 1
        return self._value(token, "")

    def _escaped(self, letter: str, before: str) -> str:
        """Return an escaped character: a space, a bracket of mathematics, or itself."""
        if letter in ("[", "(") or (letter in ("]", ")") and not self._num_escaped):
            is_index = letter == "[" and bool(before) and not before[-1].isspace()
            self._num_escaped += is_index
            return letter if is_index else ""
        if letter in ("]", ")"):
            self._num_escaped -= 1
            return letter
        if letter in (",", ";", ":", " ", ""):
            return "" if before.endswith(" ") or self._peek().startswith(" ") else " "
        return {"!": "", "|": "∣"}.get(letter, letter)  # an escaped bar parts no cells

    def _command(self, name: str) -> str:
        if name == "begin":
            return self._environment(self._argument())
        if name.endswith("frac"):
            return f"{_closed(self._argument())}/{_closed(self._argument())}"
        if name == "sqrt":
            return f"√{_closed(self._argument())}"
        if name in _STRIKES:
            self.has_struck = True
            self._argument()
            return " "
        if name in _ACCENTS:
            return self._argument() + _ACCENTS[name]
        if name == "underline":
            return self._argument().strip() or "____"
        if name in _HEADINGS:
            return f"\f{_HEADINGS[name]} {self._argument()}\f"
        if name in ("clearheadname", "rule"):
            return LABEL + self._argument() if name == "clearheadname" else f"{self._argument() and ''}{self._rule()}"
        for _ in range(_DROPPED.get(name, 0)):
            self._argument()
        return _SYMBOLS.get(name) or (name if name in _FUNCTIONS else _greek(name))

    def _rule(self) -> str:
        """Return the blank that a drawn line leaves for an answer; its height is dropped."""
        self._argument()
        return "____"

    def _environment(self, name: str) -> str:
        """Return the grid of a matrix; the lines of any other environment."""
        if not _MATRIX(name) or self._is_in_matrix:
            return "\f"
        if name in ("array", "tabular"):
            self._argument()
        rows: list[list[str]] = [[]]
        self._is_in_matrix = True
        while True:
            rows[-1].append(self.read("&", "\\\\", "\\end"))
            if self._stop == "\\\\":
                rows.append([])
            elif self._stop != "&":
                break
        self._is_in_matrix = False
        self._argument()
        content = "".join(map("".join, rows))
        lines = "\v" * content.count("\v")
        rows = [[" ".join(cell.split()) for cell in row] for row in rows if "".join(row).strip()] or [[""]]
        grid = table_grid(rows, can_count=not name.endswith("matrix"))
        if "=" in content or not grid.has_values:
            return "\f" + "\f".join(map(" ".join, rows)) + lines + "\f"
        return self._grids.add(grid) + lines


def without_comments(text: str) -> str:
    """Return a text without HTML comments; their line breaks stay."""
    first, *others = text.split("<!--")
    parts = [first]
    for part in others:
        comment, end, after = part.partition("-->")
        parts.append("\n" * comment.count("\n") + after if end else f"<!--{part}")
    return "".join(parts)


def _closed(text: str) -> str:
    """Return a text in brackets unless it is one term."""
    return text if _SUM(text) else f"({text})"


def _greek(name: str) -> str:
    """Return a Greek letter; nothing for an unknown command, whose argument is read as text."""
    case = "SMALL" if name.islower() else "CAPITAL"
    try:
        return unicodedata.lookup(f"GREEK {case} LETTER {name.upper()}")
    except KeyError:
        return ""
