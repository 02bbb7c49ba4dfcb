"""The number of a sheet: kind, difficulty, options, seed, variant, draw, version of the generator and a check letter.

`self-attention-2-7-03-v1-U` is sheet 3 of seed 7 in difficulty 2; `2r3` would ask for one row to three decimals, and
`03d4` is the fifth draw, because the first four did not meet the conditions of a sheet. The draw is part of the number,
so that a later version finds the same problem even if it judges draws differently.
"""

import re
from dataclasses import dataclass

from clearhead.errors import QuizError, did_you_mean
from clearhead.quiz.kinds import kinds_with_generator
from clearhead.quiz.request import BLANKS, MAX_DECIMALS, MAX_SEED, MAX_VARIANT, MIN_DECIMALS, QuizRequest

VERSION = 1  # of the generators; a sheet of an older version is drawn by its own generator
VERSIONS = (1,)
MAX_DRAW = 9_999
TRACE_PREFIX = "trace"
_CHECK_LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"  # 23, a prime; without I, O and Q, which look like 1 and 0
_SYMBOLS = "0123456789abcdefghijklmnopqrstuvwxyz-"
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−_", "-"))
_NUMBER = re.compile(
    r"(?P<kind>[a-z0-9-]*[a-z])-(?P<difficulty>\d)(?:(?P<blanks>[arh])(?P<decimals>\d)?)?-(?P<seed>\d{1,9})"
    r"-(?P<variant>\d{1,9})(?:d(?P<draw>\d{1,9}))?-v(?P<version>\d{1,9})-(?P<letter>[a-z])"
)
_EXAMPLE = "A number looks like self-attention-2-7-03-v1-U: kind, difficulty, seed, sheet, version and a letter."
MAX_TYPED = 100  # characters


@dataclass(frozen=True)
class SheetNumber:
    """The parts of a number."""

    request: QuizRequest
    draw: int = 0
    version: int = VERSION

    def __str__(self) -> str:
        body = _body(self)
        return f"{body}-{check_letter(body)}"


def _body(number: SheetNumber) -> str:
    request = number.request
    options = ""
    if request.blanks != "all" or request.decimals is not None:
        options = request.blanks[0] + ("" if request.decimals is None else str(request.decimals))
    draw = f"d{number.draw}" if number.draw else ""
    return f"{request.kind}-{request.difficulty}{options}-{request.seed}-{request.variant:02d}{draw}-v{number.version}"


def check_letter(body: str) -> str:
    """Return the check letter of a number without it.

    The weights 1 to 22 modulo the prime 23 detect every changed digit and every swap of neighbouring digits.
    """
    total = sum((index % 22 + 1) * _SYMBOLS.index(letter) for index, letter in enumerate(body))
    return _CHECK_LETTERS[total % len(_CHECK_LETTERS)]


def tidy_number(typed: str) -> str:
    """Return a number as it was typed by hand, without spaces, in lower case and with plain hyphens."""
    return "".join(typed.split()).translate(_DASHES).lower()


def is_trace_number(typed: str) -> bool:
    """Return whether a number is that of a sheet from a trace, which is found only by its key file."""
    return tidy_number(typed).startswith(f"{TRACE_PREFIX}-")


def parse_number(typed: str) -> SheetNumber:
    """Return the parts of a number, or raise a QuizError that names the part that is wrong."""
    shown = f"'{typed[:MAX_TYPED]}{'…' if len(typed) > MAX_TYPED else ''}'"
    text = tidy_number(typed[: MAX_TYPED + 1])
    if is_trace_number(text):
        raise QuizError(
            f"{shown} is the number of a sheet from a trace, which is found only by its key file. "
            "Give the folder with the file NUMBER.key.json."
        )
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise QuizError(f"{shown} is not the number of a sheet. {_EXAMPLE}")
    parts = match.groupdict()
    kinds = kinds_with_generator()
    if parts["kind"] not in kinds:
        raise QuizError(
            f"{shown}: '{parts['kind']}' is not a kind of exercise.{did_you_mean(parts['kind'], kinds)} "
            f"Kinds: {', '.join(kinds)}."
        )
    number = _from_parts(parts, shown)
    letter = check_letter(_body(number))
    if parts["letter"].upper() != letter:
        raise QuizError(
            f"{shown}: the check letter {parts['letter'].upper()} does not fit the rest, so a character was probably "
            "mistyped. Compare the number with the sheet."
        )
    return number


def _from_parts(parts: dict[str, str | None], shown: str) -> SheetNumber:
    def integer(name: str, least: int, most: int) -> int:
        value = int(parts[name] or 0)
        if not least <= value <= most:
            raise QuizError(f"{shown}: the {name} {value} does not exist. It is an integer from {least} to {most}.")
        return value

    version = integer("version", 1, 10**9)
    if version not in VERSIONS:
        raise QuizError(
            f"{shown}: version {version} of the generator is not known to this version of clearhead, which has "
            f"{', '.join(f'v{own}' for own in VERSIONS)}. Install a newer version of clearhead."
        )
    blanks = next(name for name in BLANKS if name.startswith(parts["blanks"] or "a"))
    request = QuizRequest(
        kind=parts["kind"] or "",
        difficulty=integer("difficulty", 1, 3),
        seed=integer("seed", 0, MAX_SEED),
        variant=integer("variant", 1, MAX_VARIANT),
        blanks=blanks,
        decimals=None if parts["decimals"] is None else integer("decimals", MIN_DECIMALS, MAX_DECIMALS),
    )
    return SheetNumber(request, integer("draw", 0, MAX_DRAW), version)
