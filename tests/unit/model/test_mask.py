"""One mask for fused and traced attention; a query without visible keys gets zeros, forward and backward."""

import pytest
import torch
from torch import Tensor

from clearhead.model import Mask
from clearhead.model.attention import Attention, attend_fused, attend_traced
from clearhead.model.mask import CAUSAL, EVERYTHING, counted_tokens, prepare
from clearhead.model.probe import Probe
from clearhead.model.tracing import PartTrace
from tests.tolerances import assert_close

CPU = torch.device("cpu")
KEYS = torch.tensor([[True, True, True, False, False], [False, True, True, True, True], [False] * 5])
EXPLICIT = torch.tensor([[True, False, True, True, False], [False] * 5, [True] * 5])  # 3 queries


def test_causal_queries_see_themselves_and_what_came_before() -> None:
    assert CAUSAL.allowed(3, 3)[0, 0].int().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_causal_queries_after_a_cache_see_all_of_it() -> None:
    assert Mask(is_causal=True, first=3).allowed(2, 5)[0, 0].int().tolist() == [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]


def test_fewer_causal_queries_than_keys_are_aligned_to_the_first_keys_by_default() -> None:
    assert CAUSAL.allowed(2, 5)[0, 0].int().tolist() == [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0]]


def test_keys_causality_and_the_explicit_part_hide_together() -> None:
    mask = Mask(KEYS, is_causal=True, first=2, explicit=EXPLICIT)
    assert mask.allowed(3, 5)[0, 0].int().tolist() == [[1, 0, 1, 0, 0], [0, 0, 0, 0, 0], [1, 1, 1, 0, 0]]
    assert mask.allowed(3, 5)[1, 0].int().tolist() == [[0, 0, 1, 0, 0], [0, 0, 0, 0, 0], [0, 1, 1, 1, 1]]
    assert not mask.allowed(3, 5)[2].any()


def test_an_explicit_part_of_a_batch_is_a_batch_and_not_heads() -> None:
    explicit = torch.stack((EXPLICIT, ~EXPLICIT))
    allowed = Mask(explicit=explicit).allowed(3, 5)
    assert allowed.shape == (2, 1, 3, 5)
    assert torch.equal(allowed[:, 0], explicit)


def test_the_fused_form_is_compact_wherever_it_can_be() -> None:
    assert EVERYTHING.fused(7, 7).mask is None
    assert CAUSAL.fused(7, 7).mask is None
    assert CAUSAL.fused(7, 7).is_causal
    assert Mask(is_causal=True, first=6).fused(1, 7).mask is None
    padded = Mask(KEYS).fused(7, 5)
    assert padded.mask is not None
    assert padded.mask.shape == (3, 1, 1, 5), "memory is linear in the length"


def test_a_row_of_padding_only_counts_all_its_tokens() -> None:
    assert counted_tokens(KEYS).tolist() == [*KEYS[:2].tolist(), [True] * 5]


MASKS = {
    "everything": EVERYTHING,
    "causal": CAUSAL,
    "causal with a cache": Mask(is_causal=True, first=2),
    "padding": Mask(KEYS),
    "padding and causal": Mask(KEYS, is_causal=True),
    "padding and causal with a cache": Mask(KEYS, is_causal=True, first=2),
    "explicit": Mask(explicit=EXPLICIT),
    "explicit, padding and causal": Mask(KEYS, is_causal=True, first=2, explicit=EXPLICIT),
    "explicit for each": Mask(explicit=torch.stack((EXPLICIT, ~EXPLICIT, EXPLICIT))),
}


def attend(mask: Mask, dtype: torch.dtype, *, is_traced: bool) -> tuple[Tensor, list[Tensor]]:
    """Return what cross-attention of 3 queries to 5 keys gives, without a bias, and the gradients of its square."""
    torch.manual_seed(0)
    layer = Attention(6, 10, 2, has_bias=False).to(dtype)
    x, memory = (torch.randn(3, n, d).to(dtype).requires_grad_() for n, d in ((3, 6), (5, 10)))
    prepared = prepare(mask, 3, 5, CPU)
    if is_traced:
        output = attend_traced(layer, x, memory, prepared, probe=Probe(PartTrace()))
    else:
        output = attend_fused(layer, x, memory, prepared)
    output.square().sum().backward()
    return output, [tensor.grad for tensor in (x, memory, *layer.parameters()) if tensor.grad is not None]


@pytest.mark.parametrize("name", MASKS)
def test_one_mask_works_for_fused_and_traced_attention(name: str) -> None:
    mask = MASKS[name]
    (fused, fused_gradients), (traced, traced_gradients) = (
        attend(mask, torch.float64, is_traced=is_traced) for is_traced in (False, True)
    )
    assert_close(fused.detach(), traced.detach())
    assert len(fused_gradients) == len(traced_gradients) == 5
    for a, b in zip(fused_gradients, traced_gradients, strict=True):
        assert_close(a, b)
    has_keys = mask.allowed(3, 5).any(dim=-1).squeeze(1).expand(3, 3)
    assert torch.equal((traced != 0).any(dim=-1), has_keys), "zeros exactly where nothing may be seen"


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("is_traced", [False, True], ids=["fused", "traced"])
@pytest.mark.parametrize("name", [name for name in MASKS if "padding" in name or "explicit" in name])
def test_a_query_without_visible_keys_gets_zeros_forward_and_backward(
    name: str, is_traced: bool, dtype: torch.dtype
) -> None:
    mask = MASKS[name]
    output, gradients = attend(mask, dtype, is_traced=is_traced)
    blind = ~mask.allowed(3, 5).any(dim=-1).squeeze(1).expand(3, 3)
    assert blind.any()
    assert (output[blind] == 0).all()
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert (gradients[0][blind] == 0).all(), "what saw nothing has no gradient"
    if mask.keys is not None:
        assert (gradients[1][2] == 0).all(), "what nobody saw has no gradient"
    assert any((gradient != 0).any() for gradient in gradients)


def test_hidden_keys_change_nothing_however_large() -> None:
    torch.manual_seed(0)
    layer = Attention(6, 10, 2)
    x, memory = torch.randn(3, 3, 6), torch.randn(3, 5, 10)
    other = memory.masked_fill(~KEYS[..., None], 1e4)
    prepared = prepare(Mask(KEYS), 3, 5, CPU)
    assert_close(layer(x, memory, prepared).detach(), layer(x, other, prepared).detach(), "float32")
