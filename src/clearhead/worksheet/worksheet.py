"""A Worksheet: a solved problem, and methods to show and save it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import orjson

from clearhead.errors import TraceError
from clearhead.steps import Record, Trace, trace_from_data, trace_to_data
from clearhead.worksheet.arrays import AnyArray, Array
from clearhead.worksheet.rounding import Rounding

if TYPE_CHECKING:
    from rich.console import Console

Detail = Literal["results", "matrices", "products"]
FORMAT = 1  # of the JSON; increased when an old version would misread a new file


@dataclass(frozen=True)
class Worksheet:
    """The records of a solved problem in order, and how they were rounded.

    `titles` are the titles of the parts of a sheet with several, by their place in the trace (`part.0`).
    `precision` is the number type of the computation: float64, or the type of a traced model. `id` is the gallery id.
    """

    kind: str
    title: str
    rounding: Rounding
    trace: Trace
    warnings: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    precision: str = "float64"
    id: str = field(default="", compare=False)

    @property
    def layout(self) -> str:
        """Whether tokens are rows or columns."""
        return self.trace.layout

    @property
    def steps(self) -> tuple[Record, ...]:
        """Every step, in order."""
        return tuple(self.trace)

    @property
    def answer(self) -> Array:
        """The last line: the answer of the problem (of the last part, if there are several)."""
        return np.asarray(self.trace[-1].value)

    @property
    def answers(self) -> tuple[Array, ...]:
        """The last line of every part; one answer if there are no parts."""
        if not self.titles:
            return (self.answer,)
        by_part = {record.where.split(".")[1]: record.value for record in self.trace}
        return tuple(np.asarray(by_part[str(n)]) for n in range(len(self.titles)) if str(n) in by_part)

    def value(self, symbol: str, where: str = "*") -> Array:
        """Return the value of the only step or given matrix with this symbol, at the places that match `where`."""
        steps: list[Any] = [record for record in self.trace.find(where=where) if record.symbol == symbol]
        if not steps:
            steps = [entry for entry in self.trace.givens.values() if entry.symbol == symbol and where == "*"]
        if len(steps) != 1:
            symbols = sorted({record.symbol for record in self.trace})
            raise TraceError(
                f"'{symbol}' matches {len(steps)} steps of this worksheet. Steps: {', '.join(symbols)}. "
                "Pass where, as in where='cross_attention*', to choose one of several."
            )
        return np.asarray(steps[0].value)

    def to_json(self) -> bytes:
        """Return the worksheet as JSON: every value as nested lists of full-precision numbers, -∞ as "-inf"."""
        data = {
            "clearhead": FORMAT,
            "kind": self.kind,
            "title": self.title,
            "rounding": self.rounding.model_dump(exclude_none=True),
            "warnings": self.warnings,
            "titles": self.titles,
            **({} if self.precision == "float64" else {"precision": self.precision}),
            **trace_to_data(self.trace),
            "answer": {"record": len(self.trace) - 1},
        }
        return orjson.dumps(data, default=_array_json)

    @classmethod
    def from_json(cls, text: str | bytes) -> "Worksheet":
        """Return the worksheet that `to_json` wrote."""
        try:
            data = orjson.loads(text)
            if not isinstance(data, dict) or data.get("clearhead") != FORMAT:
                raise TraceError(
                    f"this is not a worksheet of format {FORMAT}. Solve the exercise again and write it as JSON."
                )
            texts = [data["kind"], data["title"], *data["warnings"], *data["titles"]]
            if not all(isinstance(text, str) for text in texts):
                raise TypeError("its kind, title or warnings are not text")
            return cls(
                kind=data["kind"],
                title=data["title"],
                rounding=Rounding(**data["rounding"]),
                trace=trace_from_data(data, _read_array),
                warnings=tuple(data["warnings"]),
                titles=tuple(data["titles"]),
                precision=str(data.get("precision", "float64")),
            )
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as problem:
            raise TraceError(f"this is not a worksheet: {problem}.") from problem

    def to_markdown(self, detail: Detail = "matrices", blanks: Sequence[str] = ()) -> str:
        """Return the worksheet as Markdown; `blanks` are cells to fill in, such as `A[2, *]`."""
        from clearhead.worksheet.render.markdown import to_markdown

        return to_markdown(self, detail, blanks)

    def to_html(self, detail: Detail = "products", blanks: Sequence[str] = ()) -> str:
        """Return the worksheet as one self-contained page; `blanks` are cells to fill in, such as `A[2, *]`."""
        from clearhead.worksheet.render.html import to_html

        return to_html(self, detail, blanks)

    def _repr_html_(self) -> str:
        """Show the worksheet in a notebook."""
        from clearhead.worksheet.render.html import to_fragment

        return to_fragment(self)

    def to_latex(self, detail: Detail = "matrices", blanks: Sequence[str] = (), *, fragment: bool = False) -> str:
        """Return the worksheet as a LaTeX document, or as a `fragment` for \\input in another document."""
        from clearhead.worksheet.render.latex import to_latex

        return to_latex(self, detail, blanks, fragment=fragment)

    def to_notebook(self, detail: Detail = "matrices", blanks: Sequence[str] = ()) -> bytes:
        """Return the worksheet as a Jupyter notebook of one Markdown cell."""
        source = self.to_markdown(detail, blanks).splitlines(keepends=True)
        cell = {"cell_type": "markdown", "id": "sheet", "metadata": {}, "source": source}
        notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        return orjson.dumps(notebook, option=orjson.OPT_INDENT_2)

    def picture(self, symbol: str, where: str = "*", blanks: Sequence[str] = ()) -> str:
        """Return a heat map of one matrix, computed or given, as SVG; `where` selects one of several."""
        from clearhead.worksheet.render.svg import matrix_svg
        from clearhead.worksheet.view import SheetView

        return matrix_svg(SheetView(self, blanks).matrix(symbol, where))

    def show(self, detail: Detail = "matrices", console: "Console | None" = None, blanks: Sequence[str] = ()) -> None:
        """Print the worksheet in the terminal; `blanks` are cells to fill in, such as `A[2, *]`."""
        from clearhead.worksheet.render.terminal import show

        show(self, detail, console, blanks)

    def save(self, path: str | Path) -> None:
        """Write the JSON to a file; an interrupted write leaves no partial file."""
        from clearhead.files.writing import write_file

        write_file(Path(path), self.to_json())


def _array_json(value: Any) -> orjson.Fragment:
    if not isinstance(value, np.ndarray):
        raise TypeError(f"a worksheet cannot contain a value of type {type(value).__name__}")
    text = orjson.dumps(np.ascontiguousarray(value), option=orjson.OPT_SERIALIZE_NUMPY)
    # JSON has no infinity and orjson writes null; the only one in a worksheet is a masked score.
    return orjson.Fragment(text.replace(b"null", b'"-inf"'))


def _read_array(nested: Any) -> AnyArray:
    values = np.array(nested)
    return values if values.dtype.kind in "if" else np.array(nested, dtype=np.float64)
