"""A documentation page as a test sees it: its code blocks, their directives, and how an output is compared.

The convention is described in CONTRIBUTING.md, "Documentation pages"; tests/docs_runner.py runs the blocks.
"""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

DIRECTIVE = re.compile(r"\s*<!-- (test|file):\s*(.*?)\s*-->\s*")
FENCE = re.compile(r"( *)(`{3,})(.*)")
# A block of another language that starts like this should be a console block.
COMMAND_STARTS = ("$ ", "clearhead ", "make ", "pip ", "python ")

MAX_DIFFERENCE = 40  # lines of a diff that are shown


@dataclass(frozen=True)
class Directives:
    """What the comments before a block ask of the test."""

    exit_codes: tuple[int, ...] = (0,)  # one for all commands of the block, or one for each
    skip_reason: str = ""
    added_arguments: str = ""
    file: str = ""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page; `line` is the number of its first line inside the fence, from 1."""

    language: str
    line: int
    lines: tuple[str, ...]
    directives: Directives = Directives()
    is_directly_after: bool = False  # only blank lines lie between it and the block before it

    @property
    def text(self) -> str:
        """The lines as one text, with a newline at its end."""
        return "".join(f"{line}\n" for line in self.lines)


@dataclass(frozen=True)
class Command:
    """A command of a console block, with the output that the page shows for it."""

    line: int
    text: str
    output: tuple[str, ...]


class PageError(Exception):
    """A page that does not follow the convention; the message has the line."""


def parse(text: str) -> list[Block]:
    """Return the fenced blocks of a Markdown page, each with the directives on the lines before it."""
    blocks: list[Block] = []
    pending: list[tuple[int, str, str]] = []
    has_text_between = True
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if directive := DIRECTIVE.fullmatch(line):
            pending.append((number, directive[1], directive[2]))
        elif fence := FENCE.fullmatch(line):
            start, indent = number, len(fence[1])
            while number < len(lines) and lines[number].strip() != fence[2]:
                number += 1
            if number == len(lines):
                raise PageError(f"line {start}: the block has no end")
            content = tuple(line[min(indent, len(line) - len(line.lstrip())) :] for line in lines[start:number])
            language = fence[3].split(" ")[0]
            blocks.append(Block(language, start + 1, content, _directives(pending), not has_text_between))
            number += 1
            pending, has_text_between = [], False
        elif line.strip():
            has_text_between = True
            if pending:
                raise PageError(f"line {pending[-1][0]}: the directive is not followed by a block")
    if pending:
        raise PageError(f"line {pending[-1][0]}: the directive is not followed by a block")
    return blocks


def _directives(comments: Sequence[tuple[int, str, str]]) -> Directives:
    exit_codes, skip_reason, added, file = (0,), "", "", ""
    for line, kind, text in comments:
        name, _, value = text.partition(" ")
        if kind == "file" and text:
            file = text
        elif kind == "test" and name == "exit" and re.fullmatch(r"\d+( \d+)*", value):
            exit_codes = tuple(int(code) for code in value.split())
        elif kind == "test" and name == "skip" and value:
            skip_reason = value
        elif kind == "test" and name == "add" and value:
            added = value
        else:
            raise PageError(
                f"line {line}: '{kind}: {text}' is not a directive. "
                "Use 'test: exit CODE', 'test: skip REASON', 'test: add ARGUMENTS' or 'file: NAME'."
            )
    return Directives(exit_codes, skip_reason, added, file)


def commands(block: Block) -> list[Command]:
    """Return the commands of a console block: `$ ` starts one, `> ` continues it, other lines are its output."""
    parts: list[tuple[int, list[str], list[str]]] = []
    for number, line in enumerate(block.lines, start=block.line):
        if line.startswith("$ "):
            parts.append((number, [line[2:]], []))
        elif not parts:
            raise PageError(f"line {number}: a console block starts with a command, on a line that starts with '$ '")
        elif line.startswith("> ") and not parts[-1][2]:
            parts[-1][1].append(line[2:])
        else:
            parts[-1][2].append(line)
    return [Command(line, "\n".join(texts), tuple(output)) for line, texts, output in parts]


def block_faults(blocks: Sequence[Block]) -> list[str]:
    """Return what in these blocks does not follow the convention: commands that no test would run."""
    faults = []
    for block in blocks:
        first = next((line for line in block.lines if line.strip()), "")
        is_shell = block.language in ("bash", "sh", "shell", "shell-session")
        if is_shell or (block.language in ("", "text") and first.startswith(COMMAND_STARTS)):
            faults.append(f"line {block.line}: '{first}' is a command in a block that no test runs. Use console.")
        codes = block.directives.exit_codes
        if block.language == "console" and len(codes) not in (1, len(commands(block))):
            faults.append(f"line {block.line}: {len(codes)} exit codes for {len(commands(block))} commands")
    return faults


def matches(expected: Sequence[str], actual: Sequence[str]) -> bool:
    """Whether an output is the expected one: `...` alone on a line is any lines, inside a line any text."""
    pattern = "".join(
        r"(?:[^\n]*\n)*" if line.strip() == "..." else _line_pattern(line) + r"\n" for line in _trimmed(expected)
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _trimmed(actual))) is not None


def difference(expected: Sequence[str], actual: Sequence[str]) -> str:
    """Return a diff of two outputs in which a line with `...` is equal to a line that it matches."""
    output = _trimmed(actual)
    resolved = []
    for line in _trimmed(expected):
        matching = (candidate for candidate in output if re.fullmatch(_line_pattern(line), candidate))
        resolved.append(next(matching, line) if "..." in line and line.strip() != "..." else line)
    lines = list(difflib.unified_diff(resolved, output, "expected", "actual", lineterm="", n=2))
    omitted = [f"({len(lines) - MAX_DIFFERENCE} more lines)"] if len(lines) > MAX_DIFFERENCE else []
    return "\n".join([*lines[:MAX_DIFFERENCE], *omitted])


def _line_pattern(line: str) -> str:
    return re.escape(line).replace(r"\.\.\.", r"[^\n]*")


def _trimmed(lines: Sequence[str]) -> list[str]:
    """Return the lines without trailing spaces, and without empty lines at the start and the end."""
    return "\n".join(line.rstrip() for line in lines).strip("\n").splitlines()
