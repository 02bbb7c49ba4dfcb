"""Decoding token by token with a cache is the full pass: for prefixes, for beams in another order, and traced."""

from typing import Any

import pytest
import torch
from torch import Tensor

from clearhead.model import Memory, Transformer
from clearhead.model.probe import Probe
from clearhead.model.tracing import PartTrace
from tests.parity.models import BATCH, PAD, TARGET, chain_all, make_inputs, make_model, replay_all
from tests.tolerances import assert_close

VARIANTS = [0, 1, 2, 3, 5, 10]
LENGTHS = (5, 4, 2)  # of the decoder's input, including the start token


def make_case(
    shape: str, variant: int, mask: str = "right padding", **changes: Any
) -> tuple[Transformer, Tensor, Memory | None]:
    """Return a model, the input of its decoder (B, T), padded on the right, and the memory."""
    model = make_model(shape, variant, **changes)
    batch = make_inputs(model.config, mask).batch
    assert batch.target is not None
    tokens = model.shifted(make_inputs(model.config, "none").batch.target)  # type: ignore[arg-type]
    real = torch.arange(TARGET)[None] < torch.tensor(LENGTHS)[:, None]
    memory = None if batch.source is None else model.encode(batch.source)
    return model, torch.where(real, tokens, PAD), memory


def is_real() -> Tensor:
    return torch.arange(TARGET)[None] < torch.tensor(LENGTHS)[:, None]


@pytest.mark.parametrize("mask", ["none", "right padding", "left padding", "nothing but padding"])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("shape", ["encoder-decoder", "decoder"])
def test_decoding_token_by_token_equals_the_full_pass(shape: str, variant: int, mask: str) -> None:
    model, tokens, memory = make_case(shape, variant, mask)
    full = model.decode(tokens, memory)
    cache = model.start_cache(memory, BATCH, tokens.device)
    steps = torch.cat([model.decode(tokens[:, i : i + 1], memory, cache) for i in range(TARGET)], dim=1)
    assert_close(steps[is_real()].detach(), full[is_real()].detach())
    assert cache.lengths.tolist() == list(LENGTHS)


@pytest.mark.parametrize("start", ["bos", "eos", "pad"])
def test_decoding_equals_the_full_pass_for_any_start_token(start: str) -> None:
    model, tokens, memory = make_case("encoder-decoder", 0, start=start)
    full = model.decode(tokens, memory)
    cache = model.start_cache(memory, BATCH, tokens.device)
    steps = torch.cat([model.decode(tokens[:, i : i + 1], memory, cache) for i in range(TARGET)], dim=1)
    assert tokens[0, 0] == {"bos": 1, "eos": 2, "pad": 0}[start]
    assert_close(steps[is_real()].detach(), full[is_real()].detach())


@pytest.mark.parametrize("sizes", [(2, 3), (3, 1, 1), (1, 4), (5,)], ids=str)
@pytest.mark.parametrize("variant", VARIANTS)
def test_decoding_in_pieces_of_any_size_equals_the_full_pass(variant: int, sizes: tuple[int, ...]) -> None:
    model, tokens, memory = make_case("encoder-decoder", variant)
    full = model.decode(tokens, memory)
    cache = model.start_cache(memory, BATCH, tokens.device)
    pieces = [model.decode(piece, memory, cache) for piece in tokens.split(sizes, dim=1)]
    assert_close(torch.cat(pieces, dim=1)[is_real()].detach(), full[is_real()].detach())


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("order", [(2, 0, 1), (1, 1, 0), (0, 2, 2)], ids=str)
def test_prefixes_of_different_lengths_continue_at_their_own_positions_in_any_order(
    variant: int, order: tuple[int, ...]
) -> None:
    model, tokens, memory = make_case("encoder-decoder", variant)
    assert memory is not None
    full = model.decode(tokens, memory)
    prefix_lengths = torch.tensor([3, 2, 1])
    prefix = torch.where(torch.arange(3)[None] < prefix_lengths[:, None], tokens[:, :3], PAD)
    cache = model.start_cache(memory, BATCH, tokens.device)
    model.decode(prefix, memory, cache)
    index = torch.tensor(order)
    cache.reorder(index)
    following = tokens[index, prefix_lengths[index]][:, None]
    assert (following != PAD).all()
    logits = model.decode(following, memory.reorder(index), cache)[:, 0]
    assert_close(logits.detach(), full[index, prefix_lengths[index]].detach())


@pytest.mark.parametrize("has_gradients", [True, False])
@pytest.mark.parametrize("shape", ["encoder-decoder", "decoder"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_parallel_continuations_are_independent_texts(variant: int, shape: str, has_gradients: bool) -> None:
    """Three sentences, one continuation each, then two, then four; then one sentence is removed. Every second step is traced."""
    model, tokens, memory = make_case(shape, variant, "right padding")
    texts = tokens[:, :1]  # (B · continuations, T), complete and without a cache
    token, sentences = tokens[:, :1], BATCH
    with torch.set_grad_enabled(has_gradients):
        beams = model.start_beams(memory, BATCH, tokens.device)
        for number, parents in enumerate(([0, 0], [1, 0, 1, 1], [3, 2, 1, 0], [2, 2], [0, 1])):
            looked_at = {"probe": Probe(PartTrace())} if number % 2 else {}
            logits = model.decode(token, memory, beams, **looked_at)
            wide = None if memory is None else memory.reorder(torch.arange(sentences).repeat_interleave(token.shape[1]))
            assert_close(
                logits.flatten(0, 1).detach(), model.decode(texts, wide)[:, -1].detach(), label=f"step {number}"
            )
            index = torch.tensor(parents).expand(sentences, -1)
            beams.follow(index)
            rows = (index + torch.arange(sentences)[:, None] * token.shape[1]).flatten()
            token = 3 + (torch.arange(len(rows)).view(sentences, -1) * 5 + number) % 8
            texts = torch.cat((texts[rows], token.flatten()[:, None]), dim=1)
            if number == 2:
                remaining = torch.tensor([2, 0])
                beams.reorder(remaining)
                memory = None if memory is None else memory.reorder(remaining)
                texts = texts.view(sentences, -1, texts.shape[1])[remaining].flatten(0, 1)
                token, sentences = token[remaining], 2


def test_a_beam_that_has_ended_gets_padding_and_the_others_continue() -> None:
    model, tokens, memory = make_case("encoder-decoder", 1)
    full = model.decode(tokens, memory)
    cache = model.start_cache(memory, BATCH, tokens.device)
    for i in range(TARGET):
        step = model.decode(tokens[:, i : i + 1], memory, cache)[:, 0]
        going = is_real()[:, i]
        assert step.isfinite().all()
        assert_close(step[going].detach(), full[going, i].detach())


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("shape", ["encoder-decoder", "decoder"])
def test_traced_decoding_with_a_cache_is_the_fused_one_and_its_chain_holds(shape: str, variant: int) -> None:
    model, tokens, memory = make_case(shape, variant)
    fused, traced = (model.start_cache(memory, BATCH, tokens.device) for _ in range(2))
    for i in range(TARGET):
        token, place = tokens[:, i : i + 1], fused.lengths[:, None].clone()
        before = [(block.own.k, block.own.v) for block in traced.blocks]
        expected = model.decode(token, memory, fused)
        trace = PartTrace()
        logits = model.decode(token, memory, traced, probe=Probe(trace))
        assert_close(logits.detach(), expected.detach(), label=f"token {i}")
        for mine, theirs in zip(traced.blocks, fused.blocks, strict=True):
            assert_close(mine.own.k.detach(), theirs.own.k.detach())
            assert_close(mine.own.v.detach(), theirs.own.v.detach())
        replay_all(trace)
        assert len(trace.find("append")) == 2 * 2 * model.config.num_heads, "keys and values of each head and block"

        def expected_given(name: str, token: Tensor = token, place: Tensor = place, before: Any = before) -> Any:
            parts = name.split(".")
            match parts[-1]:
                case "tokens":
                    return token
                case "positions":
                    return place
                case "scale":
                    return [[model.config.decoder_width**0.5]]
                case "cached":
                    head = before[int(parts[1])][0 if parts[-2] == "key" else 1][:, int(parts[parts.index("head") + 1])]
                    return head.detach()
                case "x" if "cross_attention" in parts:
                    assert memory is not None
                    return memory.states.detach()
                case "M":
                    own = fused.is_real[:, None, :]
                    return own if memory is None or "self_attention" in parts else memory.mask.keys[:, None, :]  # type: ignore[index]
            return None

        chain_all(model, trace, expected_given)
        assert logits.data_ptr() == trace[-1].value.data_ptr()


def test_one_cache_works_for_alternating_fused_and_traced_steps() -> None:
    model, tokens, memory = make_case("encoder-decoder", 1)
    full = model.decode(tokens, memory)
    cache = model.start_cache(memory, BATCH, tokens.device)
    steps = []
    for i in range(TARGET):
        looked_at = {"probe": Probe(PartTrace())} if i % 2 else {}
        steps.append(model.decode(tokens[:, i : i + 1], memory, cache, **looked_at))
    assert_close(torch.cat(steps, dim=1)[is_real()].detach(), full[is_real()].detach())


def test_under_autocast_the_cache_has_the_lower_precision() -> None:
    model = make_model("decoder", 1, torch.float32)
    tokens = torch.full((BATCH, TARGET), 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        full = model.decode(tokens)
        cache = model.start_cache(None, BATCH, tokens.device)
        steps = torch.cat([model.decode(tokens[:, i : i + 1], None, cache) for i in range(TARGET)], dim=1)
    assert cache.blocks[0].own.k.dtype == torch.bfloat16
    assert_close(steps.detach().float(), full.detach().float(), "bfloat16")
