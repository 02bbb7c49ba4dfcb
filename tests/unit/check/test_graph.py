"""A worksheet as a graph: parents, children, recomputed values, and which cells depend on which."""

import numpy as np
import pytest

from clearhead import solve
from clearhead.check.graph import FromGiven, FromParts, FromRecord, Graph, Plain, fetch_from
from clearhead.worksheet.parents import PARENTS

UNIT = [[1, 0], [0, 1]]
ATTENTION = {
    "kind": "self-attention", "X": [[1, 2], [3, -1], [0, 1]], "W_Q": [[1, 2], [3, 1]], "W_K": UNIT, "W_V": [[1, 2], [3, 4]],
    "mask": "causal",
}  # fmt: skip


def graph_of(problem):
    return Graph(solve(problem))


def by_symbol(graph):
    return {record.symbol: index for index, record in enumerate(graph.records)}


def test_every_input_comes_from_a_given_an_earlier_record_or_is_plain():
    graph = graph_of(ATTENTION)
    at = by_symbol(graph)
    assert graph.sources[at["Q"]]["x"] == FromGiven("input.X")
    assert graph.sources[at["S"]] == {"q": FromRecord(at["Q"]), "k": FromRecord(at["K"])}
    assert isinstance(graph.sources[at["S′"]]["root_of"], Plain)
    assert graph.parents[at["Z"]] == (at["A"], at["V"])
    assert at["Z"] in graph.children[at["A"]]


def test_a_record_of_several_parts_has_them_all_as_parents():
    heads = {
        "kind": "multi-head-attention", "X": [[1, 0], [0, 1]], "W_Q": UNIT, "W_K": UNIT, "W_V": UNIT, "num_heads": 2,
        "W_O": UNIT,
    }  # fmt: skip
    graph = graph_of(heads)
    join = next(index for index, record in enumerate(graph.records) if record.step.name == "join")
    assert isinstance(graph.sources[join]["parts"], FromParts)
    assert [graph.records[index].symbol for index in graph.parents[join]] == ["Z₁", "Z₂"]
    assert graph.is_move[join], "joining only moves numbers"


def test_every_record_recomputed_from_its_own_inputs_is_unchanged(all_sheets):
    num_records = 0
    for name, sheet in all_sheets.items():
        if sheet.rounding.lines != "exact":
            continue
        graph = Graph(sheet)
        fetch = fetch_from([record.value for record in graph.records], graph.givens)
        for index, record in enumerate(graph.records):
            assert np.allclose(graph.work(index, fetch), record.value, rtol=1e-9, atol=1e-12, equal_nan=True), name
            num_records += 1
    assert num_records > 300


def test_columns_are_transposed_into_rows():
    graph = Graph(solve({**ATTENTION, "layout": "columns", "X": [[1, 3, 0], [2, -1, 1]]}))
    assert graph.is_turned
    assert graph.records[by_symbol(graph)["Q"]].value.shape == (3, 2), "three tokens, as rows"


@pytest.mark.parametrize("seed", range(3))
def test_errors_spread_along_the_parents_of_each_cell(all_sheets, seed):
    """The fast methods for products, rows and cells agree with the list of parents of every cell."""
    rng = np.random.default_rng(seed)
    compared = 0
    for name, sheet in all_sheets.items():
        graph = Graph(sheet)
        for index, record in enumerate(graph.records):
            if record.value.size > 60 or not graph.parents[index]:
                continue
            chosen = int(rng.choice(graph.parents[index]))
            mask = rng.random(graph.records[chosen].value.shape) < 0.2

            def fetch(source, chosen=chosen, mask=mask):
                return mask if source == FromRecord(chosen) else None

            touched = graph.affected_cells(index, fetch)
            expected = np.zeros(record.value.shape, dtype=bool)
            for row, column in np.ndindex(*record.value.shape):
                for parent in PARENTS[record.step.name](record, row, column):
                    source = graph.sources[index].get(parent.name)
                    if isinstance(source, FromParts):
                        source = source.parts[parent.part or 0]
                    if source == FromRecord(chosen) and mask[parent.row, parent.column]:
                        expected[row, column] = True
            assert np.all(touched >= expected), f"{name}: {record.symbol} at {record.where} misses a cell"
            if record.step.name != "mask":
                assert np.array_equal(touched, expected), f"{name}: {record.symbol} ({record.step.name}) marks too much"
            compared += 1
    assert compared > 100
