"""Names and sentences as LaTeX text: commands in them are escaped, and every character compiles.

Scripts other than Latin need a font. XeLaTeX uses the Noto font of the script if it is installed; otherwise, and always
with pdfLaTeX, the word is replaced by text in italics: Indic and Cyrillic letters are transliterated (हम: hama), other
characters are shown by their Unicode number.
"""

import re
import unicodedata
from collections.abc import Iterable
from itertools import groupby

from clearhead.errors import printable

_SIGNS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\symbol{34}",
    "`": r"\textasciigrave{}",
    "‘": r"\textquoteleft{}",
    "’": r"\textquoteright{}",
    "“": r"\textquotedblleft{}",
    "”": r"\textquotedblright{}",
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "…": r"\ldots{}",
    "\N{NO-BREAK SPACE}": "~",
    **{letter: f"\\{name}{{}}" for letter, name in {"Ł": "L", "ł": "l", "Œ": "OE", "œ": "oe", "ı": "i"}.items()},
    **{sign: f"\\{sign}" for sign in "{}$&#%_"},
}
MATHS_SIGNS = {
    "·": r"\cdot",
    "×": r"\times",
    "÷": r"\div",
    "±": r"\pm",
    "−": "-",
    "≈": r"\approx",
    "≠": r"\neq",
    "≤": r"\leq",
    "≥": r"\geq",
    "∞": r"\infty",
    "√": r"\surd",
    "∈": r"\in",
    "∂": r"{\partial}",
    "ℓ": r"{\ell}",
    "∑": r"\sum",
    "→": r"\to",
    "←": r"\leftarrow",
    "⊙": r"\odot",
    "∘": r"\circ",
    "‖": r"\|",
    "…": r"\ldots",
    "⋯": r"\cdots",
}
_ACCENTS = dict(zip("\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0323\u0327\u0328",
                    "`'^~=u.\"rHvdck", strict=True))  # fmt: skip
_SHAPED = ("Devanagari", "Bengali", "Gurmukhi", "Gujarati", "Oriya", "Tamil", "Telugu", "Kannada", "Malayalam",
           "Sinhala", "Arabic", "Hebrew", "Thai")  # fmt: skip
# script, by its Unicode name -> the name of our command and the font
_FONTS = {name.upper(): (name, f"Noto Sans {name}") for name in _SHAPED} | {
    "CYRILLIC": ("Cyrillic", "Noto Sans"),
    **dict.fromkeys(("CJK", "HIRAGANA", "KATAKANA", "HANGUL"), ("East", "Noto Sans CJK SC")),
}
_CYRILLIC = dict(zip("абвгдеёзийклмнопрстуфыэ", "abvgdeeziiklmnoprstufye", strict=True)) | {
    "ж": "zh", "х": "kh", "ц": "ts", "ч": "ch", "ш": "sh", "щ": "shch", "ъ": "", "ь": "", "ю": "iu", "я": "ia"
}  # fmt: skip
_GREEK_CAPITALS = ("GAMMA", "DELTA", "THETA", "LAMDA", "XI", "PI", "SIGMA", "UPSILON", "PHI", "PSI", "OMEGA")
_LIGATURE = re.compile(r"(?<=([-',?!]))(?=\1)")
_LONG_WORD = re.compile(r"\S{24}(?=\S)")
_JOINERS = "\u200c\u200d"


def escape(text: str) -> str:
    """Make a name or a title safe inside LaTeX text."""
    parts = []
    for script, letters in groupby(_with_scripts(unicodedata.normalize("NFC", printable(text))), key=lambda x: x[0]):
        run = "".join(letter for _, letter in letters)
        if script == "plain":
            broken = _LONG_WORD.sub(lambda word: word[0] + "\0", run)  # a very long word can break anywhere
            pieces = (_LIGATURE.sub("\1", piece) for piece in broken.split("\0"))
            parts.append(r"\hspace{0pt}".join("".join(map(_letter, piece)) for piece in pieces))
        elif script in _FONTS:
            parts.append(f"\\clearhead{_FONTS[script][0]}{{{run}}}{{{_substitute(run)}}}")
        else:
            parts.append(rf"\textit{{{_substitute(run)}}}")
    return "".join(parts)


def _with_scripts(text: str) -> Iterable[tuple[str, str]]:
    """Yield every letter with its script, `plain` if any LaTeX can typeset it. A mark has the script of its letter."""
    script = "plain"
    for letter in text:
        if not (letter in _JOINERS or (script != "plain" and unicodedata.category(letter).startswith("M"))):
            script = "plain" if _is_plain(letter) else unicodedata.name(letter, "OTHER").split()[0]
        if letter not in _JOINERS or script in _FONTS:
            yield script, letter


def _is_plain(letter: str) -> bool:
    return (
        letter.isascii()
        or letter in _SIGNS
        or letter in MATHS_SIGNS
        or "À" <= letter <= "ÿ"
        or greek(letter) is not None
        or raised_or_lowered(letter) is not None
        or _accented(letter) is not None
    )


def _letter(letter: str) -> str:
    if letter == "\1":
        return "{}"
    if letter in _SIGNS:
        return _SIGNS[letter]
    if letter in MATHS_SIGNS:
        return f"${MATHS_SIGNS[letter]}$"
    if letter.isascii() or "À" <= letter <= "ÿ":
        return letter
    if (raised := raised_or_lowered(letter)) is not None:
        return f"${{}}{raised[0]}{{{raised[1]}}}$"
    return _accented(letter) or f"${greek(letter)}$"


def greek(letter: str) -> str | None:
    """Return the maths command of a Greek letter; None for any other."""
    match unicodedata.name(letter, "").split():
        case ["GREEK", "SMALL", "LETTER", name] if name not in ("OMICRON", "FINAL"):
            return "\\" + {"LAMDA": "lambda"}.get(name, name.lower())
        case ["GREEK", "CAPITAL", "LETTER", name] if name in _GREEK_CAPITALS:
            return "\\" + {"LAMDA": "Lambda"}.get(name, name.capitalize())
    return None


def raised_or_lowered(letter: str) -> tuple[str, str] | None:
    """Return ("^", "2") for ² and ("_", "i") for ᵢ; None for a letter on the baseline."""
    kind, _, code = unicodedata.decomposition(letter).partition(" ")
    if kind not in ("<super>", "<sub>") or " " in code:
        return None
    plain = chr(int(code, 16))
    plain = greek(plain) or {"−": "-"}.get(plain, plain)
    if (kind, plain) == ("<super>", "T"):
        plain = r"\top"
    return ("^" if kind == "<super>" else "_", plain) if plain.isascii() else None


def _accented(letter: str) -> str | None:
    parts = unicodedata.normalize("NFD", letter)
    if len(parts) == 2 and parts[0].isascii() and parts[1] in _ACCENTS:
        return f"\\{_ACCENTS[parts[1]]}{{{parts[0]}}}"
    return None


def _substitute(run: str) -> str:
    """Transliterate letters to ASCII by their Unicode names."""
    if len(run) == 1 and unicodedata.category(run) == "So":
        return f"[{unicodedata.name(run, 'sign').lower()}]"
    spelled, ends_in_a = "", False
    for letter in run:
        name = unicodedata.name(letter, "").split()
        match name:
            case [_, "LETTER", sound] if sound.isalpha() and name[0].title() in _SHAPED[:10]:
                ends_in_a = sound[0] not in "AEIOU" and sound.endswith("A")
                spelled += sound.lower()
            case [_, *_, "SIGN", "VIRAMA"]:
                spelled, ends_in_a = spelled[:-1] if ends_in_a else spelled, False
            case [_, "VOWEL", "SIGN", *_, vowel]:
                spelled, ends_in_a = (spelled[:-1] if ends_in_a else spelled) + vowel.lower(), False
            case [_, "SIGN", sign] if sign in ("ANUSVARA", "CANDRABINDU", "VISARGA", "NUKTA", "TIPPI", "BINDI"):
                spelled += {"VISARGA": "h", "NUKTA": ""}.get(sign, "n")
            case ["CYRILLIC", *_] if letter.lower() in _CYRILLIC:
                latin = _CYRILLIC[letter.lower()]
                spelled += latin.capitalize() if letter.isupper() else latin
            case _ if unicodedata.decimal(letter, None) is not None:
                spelled += str(unicodedata.decimal(letter))
            case _ if letter not in _JOINERS:
                spelled += f"[U+{ord(letter):04X}]"
    return spelled


def font_commands(body: str) -> list[str]:
    """Return the lines that define the commands for the scripts used in `body`."""
    lines = []
    for name, font in dict.fromkeys(_FONTS.values()):
        if f"\\clearhead{name}{{" not in body:
            continue
        shaping = f"[Script={name}]" if name in (*_SHAPED, "Cyrillic") else ""
        command, family = rf"\clearhead{name}", rf"\clearhead{name}font"
        lines += [
            rf"\ifPDFTeX\providecommand{{{command}}}[2]{{\textit{{#2}}}}\else\IfFontExistsTF{{{font}}}%",
            rf"  {{\providefontfamily{family}{{{font}}}{shaping}\providecommand{{{command}}}[2]{{{{{family} #1}}}}}}%",
            rf"  {{\providecommand{{{command}}}[2]{{\textit{{#2}}}}}}\fi",
        ]
    return lines
