"""The page guide/misconceptions.md: every misconception that the checker recognises, read from its source."""

import ast
import inspect
from collections.abc import Iterator, Mapping
from itertools import product
from typing import cast

from clearhead.check import Verdict
from clearhead.check.diagnose import RootError
from clearhead.check.misconceptions import MISCONCEPTIONS
from clearhead.check.statement import JudgedStatement
from clearhead.check.story import remedy
from clearhead.steps import STEPS

HEAD = """\
# Misconceptions that the checker recognises

A *misconception* is a wrong rule that students often use, such as a softmax over the columns instead of the rows. The
checker (`clearhead check`) looks for the misconceptions on this page in a *working*, that is, a student's written
calculation. The page is generated from the code of the checker.

The checker names a misconception only if the wrong rule gives the student's own digits and the correct rule does not:
rounded or cut, from the lines above as they are written or from the unrounded numbers. It must give at least two wrong
cells (or the only cell in which the two rules differ) and at least three of four wrong cells of the line, and no right
cell of the same row may contradict it. The report shows the calculation by the wrong rule beside the right one. Digits
that differ by no more than the rounding of the lines above count only if so many cells cannot agree by chance.

The checker finds a misconception even if the student did not write the line in which it was used: a missing division by
√d_k is found in the attention weights if the scaled scores are not written. Only then may a line in between be rounded.

A line that no rule gives is reported as one that does not follow from the line above, without a cause.

A misconception costs the method mark and the accuracy marks (points) of its rows. Later lines that follow correctly
from it still earn their marks. If a later line repeats the same misconception, it costs marks again only if the
[marking scheme](check.md#marks) sets `charge_repeats`.

If the exercise leaves a choice open (for example, if its file does not set `scale`), the same numbers can follow an
allowed [convention](check.md#conventions). They are then not an error.

In the names, `…` is a placeholder for a symbol or a function: *V computed with W_K*, *ReLU forgotten*, *tanh instead of
relu*. For *forgotten* parts, the report adds the equation of the line.
"""


HEADINGS: Mapping[str, str] = {
    "score": "Scores (Q Kᵀ)",
    "scale": "Scaling",
    "mask": "Mask",
    "softmax": "Softmax",
    "divide": "Division by the sum",
    "mix": "Output (A V)",
    "project": "Projections (X W)",
    "transform": "Projections with the matrix on the left (W x)",
    "join": "Concatenation",
    "add": "Sums",
    "multiply": "Products, cell by cell",
    "complement": "1 - z",
    "activate": "Activation functions",
    "exponentiate": "Exponentials",
    "row_sum": "Sums of exponentials",
    "mean": "Mean",
    "variance": "Variance",
    "deviation": "Standard deviation",
    "normalise": "Norm",
    "position": "Positional encoding",
    "angle": "Angles of rotary positions",
    "rotate": "Rotation by rotary positions",
    "convolve": "Convolution",
    "loss": "Loss",
    "gradient": "Gradient",
    "cosine": "Cosine similarity",
    "length": "Length of a vector",
    "idf": "Inverse document frequency",
    "kernel": "Attention weights from a normal density",
    "copy": "Lines of an earlier part",
}


def names_by_step() -> dict[str, list[str]]:
    """Return the names of the misconceptions by step, with … as a placeholder."""
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
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "changed":
            yield from _texts(node.args[0], function)
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        if node.func.id in ("Variant", "worked", "worked_down_columns", "worked_over_all"):
            yield from _texts(node.args[0], function)
        elif node.func.id in functions and node.func.id != function.name:
            yield from _names(functions[node.func.id], functions)


def _texts(node: ast.expr, function: ast.FunctionDef) -> Iterator[str]:
    """Return the possible texts of an expression."""
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
        raise TypeError(
            f"the name of a misconception in {function.name} cannot be read from the source: {ast.unparse(node)}"
        )


def _plain_texts(node: ast.expr, function: ast.FunctionDef) -> list[str]:
    """Return the texts that can be part of a name, or … if they depend on the sheet."""
    try:
        return [f"{float(text):g}" if text.endswith(".0") else text for text in _texts(node, function)]
    except TypeError:
        return ["…"]


def _assigned(name: str, function: ast.FunctionDef) -> list[ast.expr]:
    """Return the values assigned to a name, including loops over constants or pairs of constants."""
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
        lines += [f"## {HEADINGS[step]}", "", f"Step `{step}`: {sentence}", ""]
        lines += ["| name | how to correct it |", "|---|---|"]
        lines += [f"| {_safe(name)} | {_safe(_remedy(name, sentence))} |" for name in names]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _remedy(name: str, sentence: str) -> str:
    """Return how to correct an error, as in the report, without the equation of the line."""
    root = RootError(
        cast(JudgedStatement, None), (), Verdict.MISCONCEPTION, name.replace("computed with …", "computed with W_…")
    )
    return remedy(root, "EQUATION", sentence).replace(": EQUATION.", ".").replace(" EQUATION.", "")


def _safe(text: str) -> str:
    return text.replace("|", "\\|").replace("_", "\\_").replace("*", "\\*").replace("[", "\\[").replace("<", "&lt;")
