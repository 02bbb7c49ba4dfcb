"""Find the given that a written line repeats: by its name, or by its numbers alone."""

import numpy as np

from clearhead.check.graph import Graph
from clearhead.check.grid import Grid, fit_grid, values_and_units
from clearhead.check.line_words import symbol_key
from clearhead.check.names import Pick
from clearhead.worksheet.arrays import Array


class GivenLines:
    """The givens of a sheet, in the layout of the sheet."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def named(self, name: str, where: str) -> list[str]:
        """Return the givens that a name can mean in a part of the model."""
        key = symbol_key(name)
        symbols = {n: symbol_key(matrix.symbol) for n, matrix in self._graph.givens.items()}
        named = [n for n, symbol in symbols.items() if symbol == key]
        if not named and len(key) == 1:  # y for Y
            named = [n for n, symbol in symbols.items() if symbol.casefold() == key.casefold()]
        if not named:
            named = [n for n in symbols if n.rpartition(".")[2] == name.strip().casefold()]
        hinted = [n for n in named if where and any(word in n for word in where.split("."))]
        return hinted or named

    def value(self, name: str) -> Array:
        """Return the numbers of a given."""
        value = np.atleast_2d(np.asarray(self._graph.givens[name].value))
        return value.T if self._graph.is_turned else value

    def fit(self, grid: Grid, name: str, pick: Pick) -> Grid | None:
        """Return the cells in the shape of a given; None if they do not fit."""
        matrix, shape = self._graph.givens[name], self.value(name).shape
        if np.asarray(matrix.value).ndim != 2:
            return None
        labels = (matrix.rows, matrix.columns)
        return fit_grid(grid, (shape[0], shape[1]), pick, labels, is_turned=self._graph.is_turned)

    def repeated(self, grid: Grid, pick: Pick) -> str:
        """Return the given whose numbers a line repeats under another name; an empty text if there is none."""
        for name, matrix in self._graph.givens.items():
            if np.asarray(matrix.value).dtype.kind not in "iuf":
                continue
            cells = self.fit(grid, name, pick)
            if cells is None:
                continue
            values, _ = values_and_units(cells)
            is_written = ~np.isnan(values)
            if is_written.sum() > 1 and np.allclose(values[is_written], self.value(name)[is_written], atol=1e-9):
                return name
        return ""
