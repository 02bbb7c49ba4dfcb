"""Attention compared with plain arithmetic, head by head."""

import pytest
import torch

from clearhead.model import Mask
from clearhead.model.attention import Attention, KeyValues, attend_fused, attend_traced
from clearhead.model.mask import CAUSAL, EVERYTHING, prepare
from clearhead.model.probe import Probe
from clearhead.model.tracing import PartTrace
from tests.tolerances import assert_close

BATCH, QUERIES, KEYS, WIDTH, MEMORY, HEADS = 3, 5, 7, 6, 11, 2
CPU = torch.device("cpu")


def make(memory_width: int | None = None, **options: bool) -> Attention:
    torch.manual_seed(0)
    return Attention(WIDTH, memory_width, HEADS, **options).double().eval()


@pytest.mark.parametrize("is_cross", [False, True])
@pytest.mark.parametrize("has_bias", [False, True])
def test_it_is_the_formula_head_by_head(is_cross: bool, has_bias: bool) -> None:
    layer = make(MEMORY if is_cross else None, has_bias=has_bias)
    x = torch.randn(BATCH, QUERIES, WIDTH, dtype=torch.float64)
    memory = torch.randn(BATCH, KEYS, MEMORY, dtype=torch.float64) if is_cross else None
    if is_cross:
        q, (k, v) = layer.query(x), layer.packed(memory).split(WIDTH, dim=-1)
    else:
        q, k, v = layer.packed(x).split(WIDTH, dim=-1)
    heads = []
    for head in range(HEADS):
        cut = slice(head * WIDTH // HEADS, (head + 1) * WIDTH // HEADS)
        scores = torch.einsum("bqe,bke->bqk", q[..., cut], k[..., cut]) / (WIDTH / HEADS) ** 0.5
        weights = scores.exp() / scores.exp().sum(dim=-1, keepdim=True)
        heads.append(torch.einsum("bqk,bke->bqe", weights, v[..., cut]))
    expected = layer.output(torch.cat(heads, dim=-1))
    mask = prepare(EVERYTHING, QUERIES, KEYS if is_cross else QUERIES, CPU)
    assert_close(layer(x, memory, mask).detach(), expected.detach())
    assert_close(layer(x, memory, mask, probe=Probe(PartTrace())).detach(), expected.detach())


def test_a_causal_token_is_not_changed_by_what_comes_later() -> None:
    layer, x = make(), torch.randn(BATCH, QUERIES, WIDTH, dtype=torch.float64)
    mask = prepare(CAUSAL, QUERIES, QUERIES, CPU)
    other = x.clone()
    other[:, 3:] += 1.0
    assert_close(layer(other, None, mask)[:, :3].detach(), layer(x, None, mask)[:, :3].detach())
    assert not torch.allclose(layer(other, None, mask)[:, 3:], layer(x, None, mask)[:, 3:])


@pytest.mark.parametrize("attend", [attend_fused, attend_traced])
def test_a_cache_grows_by_the_new_tokens_on_either_side(attend: object) -> None:
    layer, x = make(), torch.randn(BATCH, QUERIES, WIDTH, dtype=torch.float64)
    empty = torch.empty(BATCH, HEADS, 0, WIDTH // HEADS, dtype=torch.float64)
    cache = KeyValues(empty, empty)
    options = {"probe": Probe(PartTrace())} if attend is attend_traced else {}
    attend(layer, x[:, :2], None, prepare(CAUSAL, 2, 2, CPU), cache=cache, **options)  # type: ignore[operator]
    assert cache.k.shape == (BATCH, HEADS, 2, WIDTH // HEADS)
    _, k, v = layer.packed(x[:, :2]).chunk(3, dim=-1)
    assert_close(cache.k.detach(), layer.heads(k).detach())
    assert_close(cache.v.detach(), layer.heads(v).detach())


@pytest.mark.parametrize("attend", [attend_fused, attend_traced])
def test_the_cache_of_a_memory_does_not_grow(attend: object) -> None:
    layer, x = make(MEMORY), torch.randn(BATCH, QUERIES, WIDTH, dtype=torch.float64)
    memory = torch.randn(BATCH, KEYS, MEMORY, dtype=torch.float64)
    cache = layer.key_values(memory)
    options = {"probe": Probe(PartTrace())} if attend is attend_traced else {}
    output = attend(layer, x, memory, prepare(EVERYTHING, QUERIES, KEYS, CPU), cache=cache, **options)  # type: ignore[operator]
    assert cache.k.shape[2] == KEYS
    assert_close(output.detach(), layer(x, memory, prepare(EVERYTHING, QUERIES, KEYS, CPU)).detach())


def test_rotary_attention_sees_distances_only() -> None:
    layer = Attention(8, None, HEADS).double()
    x = torch.randn(BATCH, QUERIES, 8, dtype=torch.float64)
    mask = prepare(CAUSAL, QUERIES, QUERIES, CPU)
    near, far = (torch.arange(QUERIES)[None] + shift for shift in (0, 31))
    assert_close(layer(x, None, mask, places=near).detach(), layer(x, None, mask, places=far).detach())


def test_traced_weights_sum_to_one_if_any_key_is_visible() -> None:
    layer, x = make(), torch.randn(BATCH, QUERIES, WIDTH, dtype=torch.float64)
    keys = torch.tensor([[True] * 5, [True, True, False, False, False], [False] * 5])
    trace = PartTrace()
    layer(x, None, prepare(Mask(keys), QUERIES, QUERIES, CPU), probe=Probe(trace))
    softmax_records = trace.find("softmax")
    assert len(softmax_records) == HEADS
    for record in softmax_records:
        assert_close(record.value.sum(dim=-1).detach(), [[1.0] * 5, [1.0] * 5, [0.0] * 5])
        assert (record.value[1, :, 2:] == 0).all()


def test_dropout_of_weights_is_of_training_only() -> None:
    layer = Attention(WIDTH, None, HEADS, dropout=0.5).double()
    x, mask = torch.randn(BATCH, QUERIES, WIDTH, dtype=torch.float64), prepare(EVERYTHING, QUERIES, QUERIES, CPU)
    assert not torch.equal(layer(x, None, mask), layer(x, None, mask))
    layer.eval()
    assert torch.equal(layer(x, None, mask), layer(x, None, mask))
