"""Write docs/guide/misconceptions.md: every wrong rule that the marker can name, read from its source.

Run it after adding one: python docs/make_misconceptions.py. A test compares the page.
"""

import ast
import inspect
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import cast

from clearhead.check import Verdict
from clearhead.check.diagnose import RootError
from clearhead.check.misconceptions import MISCONCEPTIONS
from clearhead.check.statement import JudgedStatement
from clearhead.check.story import remedy
from clearhead.steps import STEPS

PAGE = Path(__file__).parent / "guide" / "misconceptions.md"
HEAD = """\
# Wrong rules that can be named

Written by `python docs/make_misconceptions.py` from the marker's own code.

A wrong rule is named only where it gives the digits that were written and the right rule does not: every number of a
row, and at least two wrong cells or a whole row. The line in which it was used may have been left out: a missing √d_k
is found in the weights where no scaled scores were written.

A misconception costs the method mark and the rows in which it stands. What follows rightly from it earns its marks, and
the same rule again in a later line is not charged again, unless the [scheme](check.md#marks) says so.

Where the question leaves the choice open (a problem without `scale`, say), the same numbers may be a
[convention](check.md#conventions) instead.

A `…` stands for a symbol or a function: *V made with W_K*, *ReLU forgotten*, *tanh instead of relu*. Where the remedy
is only the rule itself, the report adds the equation of the line.
"""


def names_by_step() -> dict[str, list[str]]:
    """Return the names of the wrong rules by step, with … for what is filled in."""
    sources = {inspect.getsourcefile(rules): inspect.getmodule(rules) for rules in MISCONCEPTIONS.values()}
    functions = {
        node.name: node
        for module in sources.values()
        if module is not None
        for node in ast.parse(inspect.getsource(module)).body
        if isinstance(node, ast.FunctionDef)
    }
    return {
        step: list(dict.fromkeys(_names(functions[make.__name__], functions))) for step, make in MISCONCEPTIONS.items()
    }


def _names(function: ast.FunctionDef, functions: dict[str, ast.FunctionDef]) -> Iterator[str]:
    for node in ast.walk(function):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        if node.func.id == "Variant":
            yield from _texts(node.args[0], function)
        elif node.func.id in functions and node.func.id != function.name:
            yield from _names(functions[node.func.id], functions)


def _texts(node: ast.expr, function: ast.FunctionDef) -> Iterator[str]:
    """Return the texts that an expression can be."""
    if isinstance(node, ast.Constant):
        yield str(node.value)
    elif isinstance(node, ast.JoinedStr):
        choices = [list(_texts(part, function)) for part in node.values]
        yield from ("".join(texts) for texts in product(*choices))
    elif isinstance(node, ast.FormattedValue):
        assignments = isinstance(node.value, ast.Name) and _assigned(node.value.id, function)
        yield from (text for expression in assignments or [] for text in _plain_texts(expression, function))
        if not assignments:
            yield "…"
    elif isinstance(node, ast.IfExp):
        yield from _texts(node.body, function)
        yield from _texts(node.orelse, function)
    elif isinstance(node, ast.Subscript):
        yield from _texts(node.value, function)
    elif isinstance(node, ast.Dict):
        for value in node.values:
            yield from _texts(value, function)
    elif isinstance(node, ast.Name):
        for value in _assigned(node.id, function):
            yield from _texts(value, function)
    else:
        raise TypeError(f"the name of a wrong rule in {function.name} is not plain: {ast.unparse(node)}")


def _plain_texts(node: ast.expr, function: ast.FunctionDef) -> list[str]:
    """Return the texts that are filled into a name, or … where that depends on the sheet."""
    try:
        return [f"{float(text):g}" if text.endswith(".0") else text for text in _texts(node, function)]
    except TypeError:
        return ["…"]


def _assigned(name: str, function: ast.FunctionDef) -> list[ast.expr]:
    """Return what is assigned to a name, also by a loop over constants or over pairs of them."""
    values = []
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            values.append(node.value)
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name) and node.target.id == name:
            values += node.iter.elts if isinstance(node.iter, ast.Tuple) else [node.iter]
        if isinstance(node, ast.For) and isinstance(node.target, ast.Tuple) and isinstance(node.iter, ast.Tuple):
            for place, target in enumerate(node.target.elts):
                if isinstance(target, ast.Name) and target.id == name:
                    values += [row.elts[place] for row in node.iter.elts if isinstance(row, ast.Tuple)]
    return values


def page() -> str:
    """Return the page."""
    lines = [HEAD]
    for step, names in names_by_step().items():
        sentence = STEPS[step].sentence
        lines += [f"## {step}", "", sentence, "", "| name | how to put it right |", "|---|---|"]
        lines += [f"| {_safe(name)} | {_safe(_remedy(name, sentence))} |" for name in names]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _remedy(name: str, sentence: str) -> str:
    """Return what the report says, without the equation of the line."""
    root = RootError(
        cast(JudgedStatement, None), (), Verdict.MISCONCEPTION, name.replace("made with …", "made with W_…")
    )
    return remedy(root, "EQUATION", sentence).replace(": EQUATION.", ".").replace(" EQUATION.", "")


def _safe(text: str) -> str:
    return text.replace("|", "\\|").replace("_", "\\_").replace("*", "\\*").replace("[", "\\[").replace("<", "&lt;")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
