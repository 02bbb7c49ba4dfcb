"""Models without some of their heads: the same numbers as with gates of 0, in every engine and every file format."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from clearhead.check import mark_worksheet
from clearhead.decoding.alignment import cross_attention
from clearhead.decoding.engines.torch_engine import TorchEngine
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.search.static_step import StaticStepPool
from clearhead.explain.head_importance import head_importance
from clearhead.explain.token_pairs import TokenPair
from clearhead.explain.trace_file import sheet_of_trace
from clearhead.formats import load_checkpoint, save_checkpoint
from clearhead.formats.arrays import arrays_of
from clearhead.formats.head_removal import config_without, with_all_heads, without_heads
from clearhead.formats.marian import from_marian, to_marian
from clearhead.model import Batch, Transformer
from clearhead.model.gates import Gates, closed_gates, open_gates
from clearhead.model.heads import AttentionHead, every_head, find_heads
from clearhead.model.layers import HeadlessAttention
from clearhead.model.numpy_transformer import NumpyTransformer
from tests.parity.engine_models import KINDS, requests, toy
from tests.parity.models import (
    BATCH,
    SHAPES,
    check_chain,
    check_parity,
    check_replay,
    make_inputs,
    make_model,
    run,
)
from tests.parity.test_model_cache import is_real, make_case
from tests.parity.test_numpy import assert_same, engine_of
from tests.parity.torch_module import to_torch_transformer
from tests.tolerances import assert_close

CPU = torch.device("cpu")
# One head of some layers, all heads of others
REMOVED = (
    "encoder.0.self_attention.head.1",
    "encoder.1.self_attention.head.*",
    "decoder.0.self_attention.head.*",
    "decoder.1.self_attention.head.0",
    "decoder.0.cross_attention.head.0",
    "decoder.1.cross_attention.head.*",
)


def removed_heads(model: Transformer) -> list[AttentionHead]:
    stacks = {"encoder-decoder": ("encoder", "decoder")}.get(model.config.shape, (model.config.shape,))
    names = [name for name in REMOVED if name.startswith(stacks)]
    return find_heads([name for name in names if model.config.shape != "decoder" or "cross" not in name], model.config)


def pruned(model: Transformer) -> Transformer:
    return without_heads(model, removed_heads(model))


@pytest.mark.parametrize("variant", [0, 1, 5, 8])
@pytest.mark.parametrize("shape", SHAPES)
def test_removing_heads_equals_gates_of_zero(shape: str, variant: int) -> None:
    model = make_model(shape, variant)
    inputs = make_inputs(model.config, "right padding")
    gated = replace(inputs, gates=closed_gates(model.config, CPU, without=removed_heads(model)))
    smaller = pruned(model)
    assert_close(run(smaller, inputs).detach(), run(model, gated).detach())
    assert not torch.allclose(run(smaller, inputs), run(model, inputs))
    assert len(every_head(smaller.config)) == len(every_head(model.config)) - len(removed_heads(model))
    assert sum(p.numel() for p in smaller.parameters()) < sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize("variant", [0, 5])
def test_a_layer_without_heads_is_a_layer_whose_gates_are_all_zero(variant: int) -> None:
    model = make_model("encoder-decoder", variant)
    inputs = make_inputs(model.config, "nothing but padding")
    for where in ("encoder.1.self_attention", "decoder.0.self_attention", "decoder.1.cross_attention"):
        heads = find_heads([f"{where}.head.*"], model.config)
        gated = replace(inputs, gates=closed_gates(model.config, CPU, without=heads))
        smaller = without_heads(model, heads)
        assert any(isinstance(module, HeadlessAttention) for module in smaller.modules())
        assert_close(run(smaller, inputs).detach(), run(model, gated).detach(), label=where)


@pytest.mark.parametrize("mask", ["right padding", "left padding", "nothing but padding"])
@pytest.mark.parametrize("variant", [0, 3, 5, 10])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_pruned_model_has_parity_replay_and_chain(shape: str, variant: int, mask: str) -> None:
    model = pruned(make_model(shape, variant))
    inputs = make_inputs(model.config, mask)
    check_parity(model, inputs)
    check_replay(model, inputs)
    check_chain(model, inputs)


def test_a_pruned_model_can_have_gates() -> None:
    model = pruned(make_model("encoder-decoder", 0))
    inputs = make_inputs(model.config, "right padding")
    gates = Gates({where: torch.rand(gate.shape) for where, gate in open_gates(model.config, CPU).outputs.items()})
    check_parity(model, replace(inputs, gates=gates))
    assert not torch.allclose(run(model, replace(inputs, gates=gates)), run(model, inputs))
    assert_close(run(model, replace(inputs, gates=open_gates(model.config, CPU))).detach(), run(model, inputs).detach())


def test_heads_are_removed_again_and_again_and_keep_their_first_numbers() -> None:
    model = make_model("encoder-decoder", 0, num_heads=6)
    where = "encoder.0.self_attention"
    once = without_heads(model, [AttentionHead(where, 1), AttentionHead(where, 4)])
    twice = without_heads(once, [AttentionHead(where, 2), AttentionHead("decoder.1.cross_attention", 5)])
    assert once.config.heads_kept == {where: (0, 2, 3, 5)}
    assert twice.config.heads_kept == {where: (0, 2, 5), "decoder.1.cross_attention": (0, 1, 2, 3, 4)}
    inputs = make_inputs(model.config, "right padding")
    gone = [AttentionHead(where, 1), AttentionHead(where, 3), AttentionHead(where, 4)]
    gates = closed_gates(model.config, CPU, without=[*gone, AttentionHead("decoder.1.cross_attention", 5)])
    assert_close(run(twice, inputs).detach(), run(model, replace(inputs, gates=gates)).detach())


@pytest.mark.parametrize("variant", [0, 1, 5, 8])
def test_removed_heads_can_be_filled_with_zeros(variant: int) -> None:
    model = pruned(make_model("encoder-decoder", variant))
    inputs = make_inputs(model.config, "right padding")
    full = with_all_heads(model)
    assert not full.config.heads_kept
    assert_close(run(full, inputs).detach(), run(model, inputs).detach())


# Files


def test_a_pruned_model_is_saved_and_loaded(tmp_path: Path) -> None:
    model = pruned(make_model("encoder-decoder", 0))
    save_checkpoint(model, tmp_path / "model")
    loaded = load_checkpoint(tmp_path / "model")
    assert loaded.config == model.config
    inputs = make_inputs(model.config, "right padding")
    assert torch.equal(run(loaded, inputs), run(model, inputs))
    assert len({model.config, loaded.config}) == 1


def test_the_config_of_a_model_with_all_heads_does_not_mention_them() -> None:
    config = make_model("encoder-decoder", 0).config
    assert "heads_kept" not in config.model_dump(mode="json")
    assert "heads_kept" in config_without(config, [AttentionHead("encoder.0.self_attention", 0)]).model_dump()


def test_marian_and_torch_get_zeros_for_removed_heads(tmp_path: Path) -> None:
    model = pruned(toy(**{**KINDS["as MarianMT"], "tied": "three"}))
    to_marian(model, tmp_path / "marian")
    back = from_marian(tmp_path / "marian")
    ids = torch.tensor([[5, 7, 11, model.config.eos]])
    with torch.no_grad():
        assert_close(back(Batch(ids, ids)).numpy(), model(Batch(ids, ids)).numpy(), "float32")
    assert to_torch_transformer(pruned(toy())).nhead == toy().config.num_heads


def test_ctranslate2_gets_zeros_for_removed_heads(tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2", reason="the engine is an extra: pip install '.[translate]'")
    from tests.parity.test_ctranslate2 import engines

    model = pruned(toy())
    ours, theirs = engines(model, tmp_path)
    settings = SearchSettings(beam=3, n_best=2, stopping="first")
    right, outcomes = (engine.translate(requests(model), settings) for engine in (ours, theirs))
    for hypotheses, expected in zip(outcomes, right, strict=True):
        assert [hypothesis.tokens for hypothesis in hypotheses] == [hypothesis.tokens for hypothesis in expected]
        assert hypotheses[0].score == pytest.approx(expected[0].score, abs=2e-4)


# Decoding


@pytest.mark.parametrize("variant", [0, 1, 5])
@pytest.mark.parametrize("shape", ["encoder-decoder", "decoder"])
def test_a_pruned_decoder_with_a_cache_is_the_full_pass(shape: str, variant: int) -> None:
    whole, tokens, _ = make_case(shape, variant)
    model = pruned(whole)
    batch = make_inputs(model.config, "right padding").batch
    memory = None if batch.source is None else model.encode(batch.source)
    full = model.decode(tokens, memory)
    cache = model.start_cache(memory, BATCH, CPU)
    steps = torch.cat([model.decode(token, memory, cache) for token in tokens.split(1, dim=1)], dim=1)
    assert_close(steps[is_real()].detach(), full[is_real()].detach())


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("changes", [{}, {"d_decoder": 20, "tied": "two"}, {"has_bias": False}], ids=str)
def test_engines_translate_with_a_pruned_model_alike(beam: int, changes: dict[str, object]) -> None:
    model = toy(**changes)
    smaller, settings = pruned(model), SearchSettings(beam=beam, n_best=beam)
    gated = TorchEngine(model).gated(closed_gates(model.config, CPU, without=removed_heads(model)))
    expected = gated.translate(requests(model), settings)
    assert_same(TorchEngine(smaller).translate(requests(model), settings), expected)
    assert_same(engine_of(smaller).translate(requests(model), settings), expected)


def test_a_recorded_step_fits_layers_with_different_numbers_of_heads() -> None:
    model = pruned(toy())
    source = torch.tensor([[5, 7, 11, model.config.eos], [13, 17, 19, model.config.eos]])
    with torch.inference_mode(), StaticStepPool(model).stepper(source, 1, 7) as stepper:
        log_probs = stepper.step(torch.empty(2, 1, 0, dtype=torch.long))
        start = torch.full((2, 1), model.config.start_id)
        expected = model.decode(start, model.encode(source)).log_softmax(dim=-1)
    assert_close(log_probs.numpy(), expected.numpy(), "float32")


def test_alignments_are_read_from_the_heads_that_are_left() -> None:
    model = pruned(toy())
    source, target = [5, 7, 11, 13, 17, model.config.eos], [19, 23, 5]
    with torch.inference_mode():
        expected = cross_attention(model, torch.tensor(source), [target])[0].weights
    weights = arrays_of(model)
    ours = NumpyTransformer(weights.config, weights.arrays).cross_attention(np.array(source), target)
    assert [layer.shape for layer in ours] == [(1, 4, 6), (0, 4, 6)]
    for layer, right in zip(ours, expected, strict=True):
        assert_close(layer, np.asarray(right), "float32")


# Looking inside


def test_importance_of_the_heads_that_are_left_is_that_of_the_gated_model() -> None:
    model = make_model("encoder-decoder", 0, torch.float32)
    importance = head_importance(pruned(model), [TokenPair((3, 5, 7, 2), (4, 6, 2)), TokenPair((8, 2), (9, 3, 2))])
    assert set(importance) == set(every_head(pruned(model).config))
    assert all(value > 0 for value in importance.values())


@pytest.mark.parametrize("variant", [0, 5])
def test_a_trace_of_a_pruned_model_gets_full_marks_as_a_worksheet(variant: int) -> None:
    model = pruned(make_model("encoder-decoder", variant))
    batch = Batch(torch.tensor([[5, 7, 3, 2]]), torch.tensor([[5, 7, 2]]))
    _, trace = model.trace(batch)
    report = mark_worksheet(sheet_of_trace(trace, 0))
    assert report.earned == report.out_of > 0, [finding.what for finding in report.findings]


def test_an_unknown_head_of_a_pruned_model_is_answered_with_those_that_are_left() -> None:
    model = pruned(make_model("encoder-decoder", 0))
    with pytest.raises(Exception, match=r"Its heads are encoder.0.self_attention.head.0; decoder.1.self_attention"):
        find_heads(["encoder.1.self_attention.head.0"], model.config)
