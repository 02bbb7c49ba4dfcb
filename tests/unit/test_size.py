"""The size of the package has a limit: tokens of each room, bytes of its web files, and the share of long lines.

`python -m tests.unit.test_size` prints the table (from the root of the repository).

What counts: every Python file below `src/clearhead`, as Python's `tokenize` splits it, without comments, docstrings and layout
(`NEWLINE`, `NL`, `INDENT`, `DEDENT`, `ENCODING`, `ENDMARKER`). So names, keywords, operators, brackets, numbers and strings count
one each. An f-string is one token; Python 3.12 and later split it into its parts, which are folded here. A line is a line of code
if a token that counts or a docstring starts on it, and long if more than 20 tokens do. Counted so, the package had 665,223 tokens
and 10.6 % long lines before it was made smaller.
"""

import io
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

HOME = Path(__file__).parents[2] / "src" / "clearhead"

# Limits only fall: a commit that makes a room smaller lowers its limit to the new number. A rise needs a line in the table of
# docs/adr/0019-size.md that says what a reader gets for it.
TOKENS = {
    "beside the rooms": 4_540,
    "check": 90_353,
    "cli": 32_054,
    "data": 12_298,
    "decoding": 40_848,
    "documents": 21_656,
    "evaluation": 9_324,
    "exercises": 37_245,
    "explain": 39_895,
    "export": 10_458,
    "files": 13_034,
    "formats": 18_315,
    "model": 33_907,
    "quiz": 23_646,
    "serve": 34_632,
    "steps": 4_189,
    "studies": 23_512,
    "text": 10_560,
    "training": 41_402,
    "worksheet": 68_125,
}
BESIDE = "beside the rooms"
BYTES = {"css": 70_514, "html": 10_910, "js": 257_508, "yaml": 33_625}
LONG = 20  # tokens of a line
# The number has today's value. The share has some room, because it rises when code with few long lines is removed.
LONG_LINES = 6_539
LONG_SHARE = 11.0  # percent of the lines of code; the aim is 5

STATEMENT_ENDS = {"NEWLINE", "INDENT", "DEDENT", "ENCODING", "ENDMARKER"}
LAYOUT = {*STATEMENT_ENDS, "NL", "COMMENT"}


@dataclass(frozen=True)
class Token:
    """What counting needs of a token: the name of its type and the line it starts on."""

    kind: str
    line: int


@dataclass(frozen=True)
class Size:
    """The size of one or more files."""

    files: int = 0
    tokens: int = 0
    lines: int = 0
    long_lines: int = 0

    def __add__(self, other: "Size") -> "Size":
        return Size(
            self.files + other.files,
            self.tokens + other.tokens,
            self.lines + other.lines,
            self.long_lines + other.long_lines,
        )

    @property
    def long_share(self) -> float:
        """Long lines in percent of all lines of code."""
        return 100 * self.long_lines / max(self.lines, 1)


def fold_f_strings(tokens: Iterable[Token]) -> Iterator[Token]:
    """Replace the parts of each f-string, with the f-strings inside it, by one token."""
    depth = 0
    for token in tokens:
        if token.kind == "FSTRING_START":
            depth += 1
            if depth == 1:
                yield Token("STRING", token.line)
        elif token.kind == "FSTRING_END":
            depth -= 1
        elif depth == 0:
            yield token


def significant_tokens(source: str) -> list[Token]:
    """Return the tokens of `source` without comments and layout; docstrings have the kind DOCSTRING."""
    raw = (Token(tokenize.tok_name[t.type], t.start[0]) for t in tokenize.generate_tokens(io.StringIO(source).readline))
    tokens = [token for token in fold_f_strings(raw) if token.kind in STATEMENT_ENDS or token.kind not in LAYOUT]
    before = [Token("NEWLINE", 0), *tokens]
    after = [*tokens[1:], Token("ENDMARKER", 0)]
    significant = []
    for previous, token, following in zip(before, tokens, after, strict=False):
        is_docstring = token.kind == "STRING" and previous.kind in STATEMENT_ENDS and following.kind in STATEMENT_ENDS
        if token.kind not in LAYOUT:
            significant.append(Token("DOCSTRING", token.line) if is_docstring else token)
    return significant


def size_of(source: str) -> Size:
    """Return the size of one file."""
    significant = significant_tokens(source)
    tokens_of_lines = Counter(token.line for token in significant if token.kind != "DOCSTRING").values()
    long_lines = sum(tokens > LONG for tokens in tokens_of_lines)
    return Size(1, sum(tokens_of_lines), len({token.line for token in significant}), long_lines)


def measure_rooms(home: Path = HOME) -> dict[str, Size]:
    """Return the size of each room; the files beside the rooms are together in the last entry."""
    sizes: dict[str, Size] = {}
    for path in sorted(home.rglob("*.py")):
        parts = path.relative_to(home).parts
        room = parts[0] if len(parts) > 1 else BESIDE
        sizes[room] = sizes.get(room, Size()) + size_of(path.read_text(encoding="utf-8"))
    return sizes


def measure_bytes(home: Path = HOME) -> dict[str, int]:
    """Return the bytes of the package's files of each kind in `BYTES`."""
    return {kind: sum(path.stat().st_size for path in home.rglob(f"*.{kind}")) for kind in BYTES}


def print_table() -> None:
    """Print each room as a line that can be copied to `TOKENS`, each kind of file for `BYTES`, and the totals."""
    sizes = measure_rooms()
    for room, size in sizes.items():
        entry = f'    "{room}": {size.tokens:_},'
        notes = f"limit {TOKENS.get(room, 0):_}, {size.files} files, {size.long_share:.1f} % long lines"
        print(f"{entry:<34}# {notes}")
    web = measure_bytes()
    print("BYTES = {" + ", ".join(f'"{kind}": {number:_}' for kind, number in web.items()) + "}")
    total = sum(sizes.values(), Size())
    print(f"LONG_LINES = {total.long_lines:_}")
    files = ", ".join(f"{number:,} of {BYTES[kind]:,} bytes of {kind}" for kind, number in web.items())
    share = f"{total.long_share:.1f} of {LONG_SHARE:.1f} % of the lines long"
    print(f"together {total.tokens:,} of {sum(TOKENS.values()):,} tokens; {share}; {files}")


@pytest.fixture(scope="module")
def rooms() -> dict[str, Size]:
    return measure_rooms()


def test_every_room_has_a_limit(rooms: dict[str, Size]) -> None:
    assert set(rooms) == set(TOKENS)


@pytest.mark.parametrize("room", TOKENS)
def test_a_room_stays_below_its_limit(room: str, rooms: dict[str, Size]) -> None:
    tokens = rooms[room].tokens
    assert tokens <= TOKENS[room], f"{room} has {tokens - TOKENS[room]:,} tokens more than its limit"


@pytest.mark.parametrize("kind", BYTES)
def test_files_for_browsers_and_of_data_stay_below_their_limit(kind: str) -> None:
    number = measure_bytes()[kind]
    assert 0 < number <= BYTES[kind], (
        f"the files of kind {kind} have {number - BYTES[kind]:,} bytes more than their limit"
    )


def test_long_lines_stay_below_their_limits(rooms: dict[str, Size]) -> None:
    total = sum(rooms.values(), Size())
    assert total.long_lines <= LONG_LINES, f"{total.long_lines:,} lines have more than {LONG} tokens"
    assert total.long_share <= LONG_SHARE, f"{total.long_lines:,} of {total.lines:,} lines have more than {LONG} tokens"


def test_what_counts_is_counted() -> None:
    source = dedent('''
        """A docstring is a line without tokens."""  # and a comment is nothing

        import math  # 2 tokens


        def area(radius: float) -> str:  # 9: def area ( radius : float ) -> str, and 1 for the colon
            """A docstring of
            two lines.
            """
            square = radius**2  # 5
            label = f"{'r': >{4}} = {radius:.2f}"  # 3: the name, the sign and one f-string
            return (  # 2
                label  # 1
                + f"{math.pi * square!r}"  # 2
                "x"  # 1
            )  # 1
        ''')
    assert size_of(source) == Size(files=1, tokens=27, lines=11, long_lines=0)
    assert size_of('"""Docstring."""') == Size(files=1, lines=1)
    assert size_of("x = [" + "1, " * 9 + "]\n").long_lines == 1  # 22 tokens
    assert size_of("x = [" + "1, " * 8 + "]\n").long_lines == 0  # 20 tokens


def test_the_parts_of_an_f_string_are_one_token() -> None:
    # x = f"{f'{a}' + b!r:>{c}}" + d, as Python 3.12 and later split it; Python 3.11 has one STRING.
    tokens = [
        *(("NAME", 1), ("OP", 1)),
        *(("FSTRING_START", 1), ("OP", 1), ("FSTRING_START", 1), ("OP", 1), ("NAME", 1), ("OP", 1), ("FSTRING_END", 1)),
        *(("OP", 1), ("NAME", 1), ("OP", 1), ("NAME", 1), ("OP", 1), ("FSTRING_MIDDLE", 1)),
        *(("OP", 1), ("NAME", 1), ("OP", 1), ("OP", 1), ("FSTRING_END", 1)),
        *(("OP", 1), ("NAME", 1), ("NEWLINE", 1)),
    ]
    folded = list(fold_f_strings(Token(kind, line) for kind, line in tokens))
    assert [token.kind for token in folded] == ["NAME", "OP", "STRING", "OP", "NAME", "NEWLINE"]


if __name__ == "__main__":
    print_table()
