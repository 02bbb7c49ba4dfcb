"""What holds for every architecture: traced = fused, replay, chain, state = recomputed, batched = single, beam 1 = greedy."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from clearhead.check import mark_worksheet
from clearhead.decoding.search.beam import beam_search
from clearhead.decoding.search.greedy import greedy
from clearhead.decoding.search.settings import SearchSettings
from clearhead.explain.trace_file import sheet_of_trace
from clearhead.model import Batch, Memory, SequenceModel, convolution, recorded_steps, recurrent, recurrent_encoder
from clearhead.model.probe import Probe
from clearhead.model.tracing import PartTrace
from clearhead.steps import Step
from clearhead.worksheet.worksheet import Worksheet
from tests.parity.architectures import CASES, EVERY, MODELS, WITH_DECODER, make_architecture
from tests.parity.models import (
    BATCH,
    PAD,
    TARGET,
    Inputs,
    check_chain,
    check_parity,
    check_replay,
    make_inputs,
    replay_all,
    run_traced,
)
from tests.tolerances import assert_close

LENGTHS = (5, 4, 2)  # of the decoder's input, including the start token


def make_case(name: str, shape: str) -> tuple[SequenceModel, Tensor, Memory | None]:
    """Return a model, the input of its decoder (B, T), padded on the right, and the memory."""
    model = make_architecture(name, shape)
    batch = make_inputs(model.config, "right padding").batch
    whole = make_inputs(model.config, "none").batch.target
    assert whole is not None
    tokens = torch.where(is_real(), model.shifted(whole), PAD)
    return model, tokens, None if batch.source is None else model.encode(batch.source)


def is_real() -> Tensor:
    return torch.arange(TARGET)[None] < torch.tensor(LENGTHS)[:, None]


# Traces


@pytest.mark.parametrize(("name", "shape", "mask"), CASES)
def test_the_fused_output_is_the_traced_output(name: str, shape: str, mask: str) -> None:
    model = make_architecture(name, shape)
    check_parity(model, make_inputs(model.config, mask))


@pytest.mark.parametrize(("name", "shape", "mask"), CASES)
def test_the_oracle_recomputes_every_record(name: str, shape: str, mask: str) -> None:
    model = make_architecture(name, shape)
    check_replay(model, make_inputs(model.config, mask))


@pytest.mark.parametrize(("name", "shape", "mask"), CASES)
def test_every_input_is_a_parameter_a_model_input_or_an_earlier_value(name: str, shape: str, mask: str) -> None:
    model = make_architecture(name, shape)
    check_chain(model, make_inputs(model.config, mask))


@pytest.mark.parametrize(("name", "shape"), EVERY)
def test_every_recorded_value_is_used_and_has_a_name_of_its_own(name: str, shape: str) -> None:
    model = make_architecture(name, shape)
    _, trace = run_traced(model, make_inputs(model.config, "right padding"))
    used = {
        id(part)
        for record in trace
        for value in record.inputs.values()
        for part in (value if isinstance(value, tuple) else (value,))
    }
    unused = [f"{record.where} {record.symbol}" for record in trace.records[:-1] if id(record.value) not in used]
    assert unused == []
    keys = [(record.where, record.step.name, record.symbol) for record in trace]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize(("name", "shape"), EVERY)
def test_float32_differs_only_by_its_rounding(name: str, shape: str) -> None:
    model = make_architecture(name, shape, torch.float32)
    check_parity(model, make_inputs(model.config, "right padding"), "float32")


@pytest.mark.parametrize(("name", "shape"), [case for case in EVERY if case[0].startswith("convolutional")])
def test_the_worksheet_of_a_trace_gets_full_marks(name: str, shape: str) -> None:
    model = make_architecture(name, shape, encoder_blocks=1, decoder_blocks=1, d_model=6)
    output, trace = model.trace(make_inputs(model.config, "right padding").batch)
    for sentence in range(BATCH):
        sheet = Worksheet.from_json(sheet_of_trace(trace, sentence).to_json())
        report = mark_worksheet(sheet)
        assert report.earned == report.out_of == 2.0 * len(trace), (report.counts, report.findings[:1])
        np.testing.assert_array_equal(sheet.answer, np.atleast_2d(output[sentence].detach().numpy()))


# Neighbours


@pytest.mark.parametrize(("name", "shape"), EVERY)
def test_padding_and_neighbours_change_no_logit_of_a_real_token(name: str, shape: str) -> None:
    model = make_architecture(name, shape)
    batch = make_inputs(model.config, "right padding").batch
    together = model(batch)
    for row, (source, target) in enumerate(((7, 5), (4, 3), (5, 2))):
        alone = Batch(
            None if batch.source is None else batch.source[row : row + 1, :source],
            None if batch.target is None else batch.target[row : row + 1, :target],
            is_padded=False,
        )
        logits = together[row : row + 1] if shape == "encoder" else together[row : row + 1, :target]
        assert_close(logits.detach(), model(alone).detach(), label=f"sentence {row}")


@pytest.mark.parametrize(("name", "shape"), WITH_DECODER)
def test_no_token_sees_a_later_one(name: str, shape: str) -> None:
    model, tokens, memory = make_case(name, shape)
    changed = tokens.clone()
    changed[:, 3:] = 5
    logits, others = model.decode(tokens, memory), model.decode(changed, memory)
    assert_close(logits[:, :3].detach(), others[:, :3].detach())
    assert not torch.allclose(logits[0, 3:], others[0, 3:])


# One-token steps


@pytest.mark.parametrize("sizes", [(1, 1, 1, 1, 1), (2, 3), (3, 1, 1), (5,)], ids=str)
@pytest.mark.parametrize(("name", "shape"), WITH_DECODER)
def test_decoding_in_pieces_equals_the_full_pass(name: str, shape: str, sizes: tuple[int, ...]) -> None:
    model, tokens, memory = make_case(name, shape)
    full = model.decode(tokens, memory)
    cache = model.start_cache(memory, BATCH, tokens.device)
    pieces = []
    for number, piece in enumerate(tokens.split(sizes, dim=1)):  # every second piece is traced
        trace = PartTrace()
        looked_at = {"probe": Probe(trace)} if number % 2 else {}
        pieces.append(model.decode(piece, memory, cache, **looked_at))
        replay_all(trace)
    assert_close(torch.cat(pieces, dim=1)[is_real()].detach(), full[is_real()].detach())


@pytest.mark.parametrize("order", [(2, 0, 1), (1, 1, 0)], ids=str)
@pytest.mark.parametrize(("name", "shape"), WITH_DECODER)
def test_prefixes_of_different_lengths_continue_in_any_order(name: str, shape: str, order: tuple[int, ...]) -> None:
    model, tokens, memory = make_case(name, shape)
    full = model.decode(tokens, memory)
    prefix_lengths = torch.tensor([3, 2, 1])
    prefix = torch.where(torch.arange(3)[None] < prefix_lengths[:, None], tokens[:, :3], PAD)
    cache = model.start_cache(memory, BATCH, tokens.device)
    model.decode(prefix, memory, cache)
    index = torch.tensor(order)
    cache.reorder(index)
    following = tokens[index, prefix_lengths[index]][:, None]
    logits = model.decode(following, None if memory is None else memory.reorder(index), cache)[:, 0]
    assert_close(logits.detach(), full[index, prefix_lengths[index]].detach())


@pytest.mark.parametrize(("name", "shape"), WITH_DECODER)
def test_parallel_continuations_are_independent_texts(name: str, shape: str) -> None:
    """One continuation of each sentence, then two, then four; then a sentence is removed. Every second step is traced."""
    model, tokens, memory = make_case(name, shape)
    texts = token = tokens[:, :1]
    sentences = BATCH
    beams = model.start_beams(memory, BATCH, tokens.device)
    for number, parents in enumerate(([0, 0], [1, 0, 1, 1], [3, 2, 1, 0], [2, 2], [0, 1])):
        trace = PartTrace()
        logits = model.decode(token, memory, beams, **({"probe": Probe(trace)} if number % 2 else {}))
        replay_all(trace)
        wide = None if memory is None else memory.reorder(torch.arange(sentences).repeat_interleave(token.shape[1]))
        expected = model.decode(texts, wide)[:, -1]
        assert_close(logits.flatten(0, 1).detach(), expected.detach(), label=f"step {number}")
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


# Search


@pytest.mark.parametrize("name", MODELS)
def test_a_beam_of_one_is_greedy_search(name: str) -> None:
    model = make_architecture(name)
    source = make_inputs(model.config, "right padding").batch.source
    assert source is not None
    limits = [9, 7, 8]
    rows = greedy(model, source, torch.tensor(limits)).tolist()
    beams = beam_search(model, source, limits, SearchSettings(beam=1))
    for row, hypotheses, limit in zip(rows, beams, limits, strict=True):
        written = row[: row.index(model.config.eos) + 1] if model.config.eos in row else row[:limit]
        assert list(hypotheses[0].tokens) == written


@pytest.mark.parametrize("name", MODELS)
def test_the_scores_of_a_beam_search_are_those_of_the_full_pass(name: str) -> None:
    model = make_architecture(name)
    source = make_inputs(model.config, "right padding").batch.source
    assert source is not None
    results = beam_search(model, source, [6, 6, 6], SearchSettings(beam=4, n_best=3))
    for row, hypotheses in enumerate(results):
        real = source[row : row + 1, : int((source[row] != PAD).sum())]
        for hypothesis in hypotheses:
            target = torch.tensor([hypothesis.tokens])
            log_probs = torch.log_softmax(model(Batch(real, target)), dim=-1)
            written = log_probs.gather(2, target[..., None])[0, :, 0].detach()
            assert_close(torch.tensor(hypothesis.log_probs, dtype=torch.float64), written)
    assert all(math.isfinite(hypothesis.score) for hypotheses in results for hypothesis in hypotheses)


# What training asks of a model


@pytest.mark.parametrize(("name", "shape"), EVERY)
def test_its_layers_and_matrices_are_known(name: str, shape: str) -> None:
    model = make_architecture(name, shape)
    num_layers = {"encoder": 3, "decoder": 4, "encoder-decoder": 7}[shape]
    assert len(model.blocks()) == (0 if model.config.architecture == "recurrent" else num_layers)
    assert all(matrix.dim() == 2 for matrix in model.weight_matrices())
    assert not any(matrix is model.output.weight for matrix in model.weight_matrices())


@pytest.mark.parametrize(("name", "shape"), EVERY)
def test_every_parameter_has_a_gradient_that_is_finite(name: str, shape: str) -> None:
    model = make_architecture(name, shape)
    batch = make_inputs(model.config, "right padding").batch
    if shape == "encoder":
        batch = batch._replace(labels=torch.tensor([0, 2, 1]))
    model.loss(batch).mean.backward()
    for parameter_name, parameter in model.named_parameters():
        assert parameter.grad is not None, parameter_name
        assert parameter.grad.isfinite().all(), parameter_name
        assert parameter.grad.abs().max() > 0, parameter_name


# Deliberate faults: each must be detected by one test, and only by that one

CHECKS: dict[str, Callable[[SequenceModel, Inputs], None]] = {
    "parity": check_parity,
    "replay": check_replay,
    "chain": check_chain,
}


def failing(name: str) -> set[str]:
    """Return the checks that fail now."""
    model = make_architecture(name)
    inputs = make_inputs(model.config, "right padding")
    failures = set()
    for check_name, check in CHECKS.items():
        try:
            check(model, inputs)
        except AssertionError:
            failures.add(check_name)
    return failures


def test_only_parity_detects_a_reversal_that_starts_in_padding(monkeypatch: pytest.MonkeyPatch) -> None:
    assert failing("gru, dot") == set()
    monkeypatch.setattr(recurrent_encoder, "reverse", lambda x, reversal: x.flip(1))
    assert failing("gru, dot") == {"parity"}


def test_only_replay_detects_a_step_of_a_cell_with_a_wrong_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded_steps, "MULTIPLY", recorded_steps.ADD)
    assert failing("lstm, scaled") == {"replay"}


def test_only_chain_detects_a_fused_result_shown_as_a_traced_one(monkeypatch: pytest.MonkeyPatch) -> None:
    real = recurrent.decode_traced

    def shadow(decoder: Any, target: Tensor, memory: Any, state: Any, trace: Any) -> Any:
        real(decoder, target, memory, state, trace)
        return decoder(target, memory)

    monkeypatch.setattr(recurrent, "decode_traced", shadow)
    assert failing("gru, multiplicative") == {"chain"}


def test_only_parity_detects_a_reversed_filter_in_the_fused_convolution(monkeypatch: pytest.MonkeyPatch) -> None:
    real = F.conv1d
    monkeypatch.setattr(F, "conv1d", lambda x, filters, *rest, **options: real(x, filters.flip(-1), *rest, **options))
    assert failing("convolutional") == {"parity"}


def test_only_replay_detects_a_wrong_first_token_beside_a_convolution(monkeypatch: pytest.MonkeyPatch) -> None:
    real = PartTrace.record

    def record(self: PartTrace, step: Step, value: Any, *, symbol: str = "", **inputs: Any) -> None:
        wrong = {"first": inputs["first"] + 1} if step.name == "convolve" else {}
        real(self, step, value, symbol=symbol, **{**inputs, **wrong})

    monkeypatch.setattr(PartTrace, "record", record)
    assert failing("convolutional") == {"replay"}


def test_only_chain_detects_a_shadow_of_the_convolution(monkeypatch: pytest.MonkeyPatch) -> None:
    real = convolution.convolve_traced

    def shadow(layer: Any, x: Tensor, past: Any, trace: Any) -> Tensor:
        real(layer, x, past, trace)
        return convolution.convolve_fused(layer, x, past)

    monkeypatch.setattr(convolution, "convolve_traced", shadow)
    assert failing("convolutional") == {"chain"}
