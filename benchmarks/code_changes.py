"""The small faults that a Python file could have: each changes an operator, a constant or a call on one line.

Only functions are changed, without their docstrings, annotations, messages and logs. Changes that always raise or do
nothing are left out where that is simple to see.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path

KINDS = ("comparison", "operator", "constant", "dropped", "swapped")
_COMPARISONS = {
    **{"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "in": "not in", "not in": "in"},
    **{"is": "is not", "is not": "is"},
}
_OPERATORS = {"+": "-", "-": "+", "*": "+", "/": "*", "//": "*", "%": "+", "**": "*", "and": "or", "or": "and"}
# Keyword arguments that change no result.
_NO_EFFECT = {"strict", "ensure_ascii", "flush", "indent", "timeout", "stacklevel", "slots", "daemon", "maxsize"}
# Functions whose arguments are messages, types or names.
_NOT_CHANGED = {
    *("debug", "info", "warning", "warn", "log", "print", "cast", "isinstance", "issubclass", "getattr", "hasattr"),
    *("filterwarnings", "simplefilter", "super", "TypeVar", "Field"),
}
_SYMMETRIC = {"max", "min", "maximum", "minimum", "isclose", "allclose", "array_equal", "equal", "gcd", "hypot"}
_SEQUENCES = (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp)
_EXCHANGED = (ast.Name, ast.Attribute, ast.Subscript, ast.BinOp, ast.Call)
_PATH = re.compile(r"(?i)(folder|path|place|root|part)$")


@dataclass(frozen=True)
class Change:
    """A change of one line. Its key has no file and no line number, so that it is found in code that has moved."""

    function: str  # with its class, as in Trace.at
    line: str
    kind: str
    number: int  # among the changes of this kind on lines with this text in the function
    start: int  # in the line
    old: str
    new: str
    file: str  # in the package
    row: int
    first_row: int  # of its statement, without the body of a compound statement
    last_row: int

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What a change is found by in other versions of the code."""
        return self.function, self.line, self.kind, self.number

    def text_from(self, source: str) -> str:
        """Return the source of the file with this change."""
        lines = source.split("\n")
        head, tail = self.line[: self.start], self.line[self.start + len(self.old) :]
        lines[self.row - 1] = lines[self.row - 1].replace(self.line, f"{head}{self.new}{tail}")
        return "\n".join(lines)


@dataclass(frozen=True)
class _Edit:
    """Other text for a part of a line; columns count bytes, as in `ast`."""

    kind: str
    row: int
    start: int
    end: int
    text: str


def write_source(path: Path, text: str) -> None:
    """Write a source file. Its compiled form goes: it is known by size and second only, and a mutant can have both."""
    path.write_text(text, encoding="utf-8")
    Path(cache_from_source(str(path))).unlink(missing_ok=True)


def changes_in(path: Path, package: Path) -> list[Change]:
    """Return every change of the functions of a file, in the order of the lines."""
    source = path.read_text(encoding="utf-8")
    lines = [line.encode() for line in source.split("\n")]
    numbers: Counter[tuple[str, str, str]] = Counter()
    changes = []
    for name, function in _functions(ast.parse(source)):
        for statement in _statements(function.body):
            nodes = _own_nodes(statement)
            rows = (statement.lineno, max(getattr(node, "end_lineno", 0) for node in (nodes or [statement])))
            for edit in sorted(_edits(statement, nodes, lines), key=lambda edit: (edit.row, edit.start)):
                raw = lines[edit.row - 1]
                line, old = raw.decode().strip(), raw[edit.start : edit.end].decode()
                start = len(raw[: edit.start].decode().lstrip())
                numbers[name, line, edit.kind] += 1
                number = numbers[name, line, edit.kind]
                file = path.relative_to(package).as_posix()
                changes.append(Change(name, line, edit.kind, number, start, old, edit.text, file, edit.row, *rows))
    return changes


def _functions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for child in ast.iter_child_nodes(node):
        is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
        name = f"{prefix}{child.name}" if is_function or isinstance(child, ast.ClassDef) else ""
        if is_function:
            yield name, child
        yield from _functions(child, f"{name}." if name else prefix)


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a function that may be changed, those in compound statements too."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue  # a function of its own
        if not isinstance(statement, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom):
            yield statement
        for name in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(statement, name, ()))
        for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            yield from _statements(part.body)


def _own_nodes(statement: ast.stmt) -> list[ast.expr]:
    """Return the expressions of a statement, without its body, annotations and what is not changed."""
    nodes: list[ast.expr] = []
    names = {"body", "orelse", "finalbody", "handlers", "cases", "annotation"}
    stack = [value for name, value in ast.iter_fields(statement) if name not in names]
    while stack:
        value = stack.pop()
        if isinstance(value, list):
            stack += value
        elif isinstance(value, ast.AST) and not _is_left(value):
            nodes += [value] if isinstance(value, ast.expr) else []
            stack += [child for name, child in ast.iter_fields(value) if name not in ("annotation", "ctx")]
    return nodes


def _is_left(node: ast.AST) -> bool:
    """Say whether a node stays as it is. A message is often an f-string, whose parts have no columns in Python 3.11."""
    if isinstance(node, ast.Call):
        return _name_called(node) in _NOT_CHANGED
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.keyword) and node.arg in _NO_EFFECT)


def _name_called(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def _edits(statement: ast.stmt, nodes: list[ast.expr], lines: list[bytes]) -> Iterator[_Edit]:
    if _is_droppable(statement):
        yield _Edit("dropped", statement.lineno, statement.col_offset, statement.end_col_offset or 0, "pass")
    for node in nodes:
        match node:
            case ast.Compare(left=left, comparators=[right]):
                yield from _symbol_edit("comparison", left, right, _COMPARISONS, lines)
            case ast.BoolOp(values=[left, right, *_]):
                yield from _symbol_edit("operator", left, right, _OPERATORS, lines)
            case ast.BinOp(left=left, right=right) if not (_is_joined(left) or _is_joined(right)):
                yield from _symbol_edit("operator", left, right, _OPERATORS, lines)
            case ast.UnaryOp(op=ast.Not() | ast.USub() as operation):
                symbol = "not " if isinstance(operation, ast.Not) else "-"
                yield _Edit("operator", node.lineno, node.col_offset, node.col_offset + len(symbol), "")
            case ast.Constant(value=bool() | int() | float() as value):
                yield _Edit("constant", node.lineno, node.col_offset, node.end_col_offset or 0, _other(value))
            case ast.Call(args=[first, second, *_]) if _name_called(node) not in _SYMMETRIC:
                yield from _swap_edit(first, second, lines)


def _is_droppable(statement: ast.stmt) -> bool:
    if statement.lineno != statement.end_lineno:
        return False
    match statement:
        case ast.Expr(value=ast.Call() as call):
            return _name_called(call) not in _NOT_CHANGED and "super()" not in ast.unparse(call)
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            return True
        case _:
            return isinstance(statement, ast.AugAssign | ast.Continue | ast.Break)


def _is_joined(node: ast.expr) -> bool:
    """Say whether an operand can only be joined: a text, a list or a path, for which other operators raise."""
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    is_path = isinstance(node, ast.Name | ast.Attribute) and _PATH.search(ast.unparse(node))
    return is_text or bool(is_path) or isinstance(node, _SEQUENCES)


def _other(value: float) -> str:
    if isinstance(value, bool):
        return str(not value)
    return str(value + 1) if isinstance(value, int) or value == 0 else str(value * 2)


def _symbol_edit(
    kind: str, left: ast.expr, right: ast.expr, symbols: dict[str, str], lines: list[bytes]
) -> Iterator[_Edit]:
    """Yield the change of the symbol between two operands, if all three are on one line."""
    if left.end_lineno != right.lineno:
        return
    start, end = left.end_col_offset or 0, right.col_offset
    gap = re.fullmatch(r"[ )]*(.*?)[ (]*", lines[right.lineno - 1][start:end].decode())
    if gap and gap[1] in symbols:
        yield _Edit(kind, right.lineno, start + gap.start(1), start + gap.end(1), symbols[gap[1]])


def _swap_edit(first: ast.expr, second: ast.expr, lines: list[bytes]) -> Iterator[_Edit]:
    """Yield the exchange of the first two arguments of a call, if they are on one line and could have one type."""
    is_one_line = first.lineno == first.end_lineno == second.lineno == second.end_lineno
    if not is_one_line or type(first) is not type(second) or not isinstance(first, _EXCHANGED):
        return
    line, ends = lines[first.lineno - 1], (first.end_col_offset or 0, second.end_col_offset or 0)
    texts = [line[node.col_offset : end].decode() for node, end in zip((first, second), ends, strict=True)]
    between = line[ends[0] : second.col_offset].decode()
    if texts[0] != texts[1] and between.strip() == ",":
        yield _Edit("swapped", first.lineno, first.col_offset, ends[1], f"{texts[1]}{between}{texts[0]}")
