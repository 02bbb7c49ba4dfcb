"""The parts of an attention layer: its heads, its cache and its projections."""

import numpy as np
import pytest

from clearhead import Rounding
from clearhead.worksheet.attention.layer import AttentionLayer
from clearhead.worksheet.pen import Pen

I2 = [[1, 0], [0, 1]]


def layer(**fields: object) -> AttentionLayer:
    return AttentionLayer.model_validate(fields)


def test_heads_are_counted_if_they_are_split_and_if_they_have_separate_weights() -> None:
    assert (layer().head_count, layer().kv_count) == (1, 1)
    split = layer(num_heads=6, num_kv_heads=3)
    assert (split.head_count, split.kv_count) == (6, 3)
    own = layer(heads=[{"W_Q": I2}] * 4, kv_heads=[{"W_K": I2, "W_V": I2}] * 2)
    assert (own.head_count, own.kv_count) == (4, 2)


def test_cached_tokens_are_rows_or_columns() -> None:
    keys = [[1, 2, 3]] * 5
    assert layer(cached_K=keys, cached_V=keys).num_cached("rows") == 5
    assert layer(cached_K=keys, cached_V=keys).num_cached("columns") == 3
    assert layer(heads=[{"W_Q": I2}, {"cached_K": keys}]).num_cached("rows") == 5
    assert layer().num_cached("rows") == 0


def test_a_projection_is_of_the_layer_or_of_one_head() -> None:
    with_heads = layer(W_Q=I2, b_Q=[1, 2], heads=[{"W_Q": [[3], [5]]}])
    assert with_heads.projection("query").weights is with_heads.W_Q
    assert with_heads.projection("query").bias is with_heads.b_Q
    assert with_heads.projection("query", with_heads.heads[0]).weights is with_heads.heads[0].W_Q
    assert with_heads.projection("value").weights is None


@pytest.mark.parametrize(("cached", "symbol"), [(None, "K₁"), ([[1, 2]], "K_new₁")])
def test_new_keys_have_a_different_symbol_if_others_are_cached(cached: object, symbol: str) -> None:
    assert layer(cached_K=cached).projection("key").new_symbol("₁") == symbol


def test_a_projection_is_written_with_its_bias() -> None:
    pen = Pen("rows", Rounding())
    x = np.array([[1.0, 2.0]])
    # [1 2] · [[1 3], [1 5]] + [10 20] = [1 + 2 + 10, 3 + 10 + 20]
    keys = layer(W_K=[[1, 3], [1, 5]], b_K=[10, 20]).projection("key").work(pen, x, ("a",), "")
    assert keys.tolist() == [[13.0, 33.0]]
    assert [(record.where, record.symbol) for record in pen.finish()] == [("key", "K")]
