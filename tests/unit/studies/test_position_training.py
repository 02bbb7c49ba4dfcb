"""Kinds of positions: a count as a table, and what layer norm does to it."""

import torch

from clearhead.studies.position_training import KINDS, count_table, make_model
from clearhead.studies.tasks import Task
from tests.unit.studies.tiny import TINY, measured


def test_the_tables_have_a_row_for_every_kind_and_a_column_for_every_length() -> None:
    for table in measured("position-training").tables:
        assert table.column("positions") == KINDS
        assert table.columns[2:] == ("3 words", "5 words")


def test_a_count_is_the_number_of_the_position() -> None:
    assert count_table(3, 2, in_one=False).tolist() == [[0, 0], [1, 1], [2, 2]]
    assert count_table(3, 2, in_one=True).tolist() == [[0, 0], [1, 0], [2, 0]]
    model = make_model("count in one dimension", TINY["position-training"], seed=0)
    assert model.encoder is not None
    assert model.encoder.position is not None
    assert model.encoder.position[2, :2].tolist() == [2.0, 0.0]


def test_layer_norm_removes_a_count_in_every_dimension() -> None:
    batch = Task("copy", 3, 5).batch(4, torch.Generator().manual_seed(0))
    sizes = TINY["position-training"]
    logits = {kind: make_model(kind, sizes, 0).eval()(batch) for kind in ("none", "count", "count in one dimension")}
    assert torch.allclose(logits["none"], logits["count"], atol=1e-4)
    assert not torch.allclose(logits["none"], logits["count in one dimension"], atol=1e-2)
