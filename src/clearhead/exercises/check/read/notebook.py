"""Read a Jupyter notebook: Markdown, text outputs and the lists that are typed into code cells, in order."""

import ast
import json
from collections.abc import Iterator
from typing import Any

from clearhead.errors import ProblemError
from clearhead.exercises.check.read.grid import Grid, Grids, without_holes
from clearhead.exercises.check.read.page import Cells, Page
from clearhead.exercises.check.read.text import read_text

_MAX_CELLS = 2_000


def read_notebook(text: str) -> Page:
    """Return what is on the pages of a notebook; no code is run."""
    try:
        cells = json.loads(text)["cells"]
        grids = Grids()
        parts = [part for cell in cells[:_MAX_CELLS] for part in _parts(cell, grids)]
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as wrong:
        raise ProblemError(f"is not a readable notebook ({type(wrong).__name__}). Save it again as .ipynb.") from None
    return read_text("\n\n".join(parts), grids)


def _parts(cell: dict[str, Any], grids: Grids) -> Iterator[str]:
    """Return the texts of a cell."""
    source = "".join(cell.get("source", ()))
    if cell["cell_type"] == "markdown":
        yield without_holes(source)
    elif cell["cell_type"] == "code":
        for name, matrix in _typed(source):
            yield grids.add(Grid(matrix, name=name))
        for output in cell.get("outputs", ()):
            shown = output.get("text") or output.get("data", {}).get("text/plain", "")
            yield without_holes("".join(shown))


def _typed(source: str) -> Iterator[tuple[str, Cells]]:
    """Return the lists that the code assigns to names or to keys, with the digits as they are typed."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return
    for node in tree.body:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.List):
            continue
        target = node.targets[0]
        key = target.slice if isinstance(target, ast.Subscript) else None
        name = str(key.value) if isinstance(key, ast.Constant) else getattr(target, "id", "")
        rows = [row.elts for row in node.value.elts if isinstance(row, ast.List)] or [node.value.elts]
        if name and any(rows):
            yield name, tuple(tuple(_cell(source, cell) for cell in row) for row in rows)


def _cell(source: str, node: ast.expr) -> str:
    """Return a cell as it is typed; `...` is blank."""
    if isinstance(node, ast.Constant) and node.value is ...:
        return ""
    text = ast.get_source_segment(source, node) or ""
    return str(node.value) if isinstance(node, ast.Constant) and isinstance(node.value, str) else text
