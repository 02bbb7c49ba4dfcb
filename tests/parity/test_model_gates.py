"""Gates on heads: fused and traced attention agree, the trace is complete, and 0 and 1 mean what they must."""

from copy import deepcopy
from dataclasses import replace
from typing import cast

import numpy as np
import pytest
import torch
from torch import Tensor

from clearhead.check import mark_worksheet
from clearhead.explain.trace_file import sheet_of_trace
from clearhead.model import Batch, Transformer
from clearhead.model.attention import Attention
from clearhead.model.gates import NO_GATES, Gates, closed_gates, open_gates
from clearhead.model.heads import AttentionHead, every_head
from clearhead.model.probe import Probe
from clearhead.model.tracing import PartTrace
from tests.parity.models import (
    BATCH,
    CASES,
    SHAPES,
    TARGET,
    Inputs,
    case_name,
    check_chain,
    check_parity,
    check_replay,
    make_gates,
    make_inputs,
    make_model,
    run,
)
from tests.parity.test_model_cache import is_real, make_case
from tests.parity.test_model_packed import packed, sentences_of
from tests.tolerances import assert_close

CPU = torch.device("cpu")


def gated_inputs(model: Transformer, mask: str, *, is_by_sentence: bool) -> Inputs:
    gates = make_gates(model.config, BATCH if is_by_sentence else None)
    return replace(make_inputs(model.config, mask), gates=gates)


def attention_at(model: Transformer, where: str) -> Attention:
    stack, layer, kind = where.split(".")
    return cast(Attention, getattr(getattr(model, f"{stack}_blocks")[int(layer)], kind))


def without_rows(model: Transformer, head: AttentionHead) -> Transformer:
    """Return a copy in which the rows of W_O (columns of PyTorch's weight) of one head are 0."""
    changed = deepcopy(model)
    layer = attention_at(changed, head.where)
    with torch.no_grad():
        layer.output.weight[:, head.number * layer.d_k : (head.number + 1) * layer.d_k] = 0
    return changed


@pytest.mark.parametrize("is_by_sentence", [False, True])
@pytest.mark.parametrize("case", CASES[::3], ids=case_name)
def test_gated_attention_is_the_same_fused_and_traced(case: tuple[str, str, int], is_by_sentence: bool) -> None:
    shape, mask, variant = case
    model = make_model(shape, variant)
    inputs = gated_inputs(model, mask, is_by_sentence=is_by_sentence)
    check_parity(model, inputs)
    assert not torch.allclose(run(model, inputs), run(model, replace(inputs, gates=NO_GATES))), "the gates do nothing"


@pytest.mark.parametrize("is_by_sentence", [False, True])
@pytest.mark.parametrize("case", CASES[1::5], ids=case_name)
def test_every_gated_step_is_replayed_and_has_an_origin(case: tuple[str, str, int], is_by_sentence: bool) -> None:
    shape, mask, variant = case
    model = make_model(shape, variant)
    inputs = gated_inputs(model, mask, is_by_sentence=is_by_sentence)
    check_replay(model, inputs)
    check_chain(model, inputs)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_gate_is_a_step_of_the_trace_and_without_gates_there_is_none(shape: str) -> None:
    model = make_model(shape, 0)
    inputs = make_inputs(model.config, "right padding")
    plain, gated = PartTrace(), PartTrace()
    run(model, inputs, plain)
    run(model, replace(inputs, gates=make_gates(model.config)), gated)
    heads = every_head(model.config)
    for name in ("gate", "score_gate"):
        assert {record.where for record in gated.find("multiply", f"*.head.*.{name}")} == {f"{h}.{name}" for h in heads}
    assert not plain.find("multiply", "*.head.*")
    assert len(gated) == len(plain) + 2 * len(heads)


@pytest.mark.parametrize("shape", SHAPES)
def test_gates_of_one_change_no_bit(shape: str) -> None:
    model = make_model(shape, 5)
    inputs = make_inputs(model.config, "right padding")
    gates = open_gates(model.config, CPU)
    opened = Gates(gates.outputs, gates.outputs)
    assert torch.equal(run(model, inputs), run(model, replace(inputs, gates=opened)))
    assert torch.equal(run(model, inputs, PartTrace()), run(model, replace(inputs, gates=opened), PartTrace()))


@pytest.mark.parametrize("variant", [0, 5])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_gate_of_zero_is_the_model_without_the_rows_of_that_head(shape: str, variant: int) -> None:
    model = make_model(shape, variant)
    inputs = make_inputs(model.config, "right padding")
    for head in every_head(model.config):
        gates = closed_gates(model.config, CPU, without=[head])
        expected = run(without_rows(model, head), inputs)
        assert_close(run(model, replace(inputs, gates=gates)).detach(), expected.detach(), label=str(head))


@pytest.mark.parametrize("shape", SHAPES)
def test_a_uniform_head_weights_all_visible_keys_equally(shape: str) -> None:
    model = make_model(shape, 1)
    inputs = make_inputs(model.config, "nothing but padding")
    for head in every_head(model.config):
        trace = PartTrace((head.where,))
        uniform = replace(inputs, gates=closed_gates(model.config, CPU, uniform=[head]))
        run(model, uniform, trace)
        allowed = trace.givens[f"{head.where}.M"].value.double()
        expected = allowed / allowed.sum(dim=-1, keepdim=True).clamp(min=1)
        for record in trace.find("softmax"):
            weights = record.value.detach()
            assert (record.where == str(head)) == torch.allclose(weights, expected.expand_as(weights), atol=1e-12)
        check_parity(model, uniform)


def test_a_gate_per_sentence_is_that_of_the_sentence_alone() -> None:
    model = make_model("encoder-decoder", 5)
    inputs = gated_inputs(model, "right padding", is_by_sentence=True)
    assert isinstance(inputs.gates, Gates)
    together = run(model, inputs)
    for row in range(BATCH):
        gates = Gates(*({k: v[row] for k, v in side.items()} for side in (inputs.gates.outputs, inputs.gates.scores)))
        batch = inputs.batch.changed(lambda ids, row=row: ids[row : row + 1])  # type: ignore[misc]
        assert_close(run(model, Inputs(batch, gates=gates))[0].detach(), together[row].detach())


# Decoding


@pytest.mark.parametrize("variant", [0, 1, 5])
@pytest.mark.parametrize("shape", ["encoder-decoder", "decoder"])
def test_gated_decoding_with_a_cache_is_the_full_pass(shape: str, variant: int) -> None:
    model, tokens, _ = make_case(shape, variant)
    gates = make_gates(model.config)
    batch = make_inputs(model.config, "right padding").batch
    memory = None if batch.source is None else model.encode(batch.source, probe=Probe(gates=gates))
    full = model.decode(tokens, memory, probe=Probe(gates=gates))
    cache, traced = (model.start_cache(memory, BATCH, CPU) for _ in range(2))
    columns = tokens.split(1, dim=1)
    steps = torch.cat([model.decode(token, memory, cache, probe=Probe(gates=gates)) for token in columns], dim=1)
    shown = torch.cat(
        [model.decode(token, memory, traced, probe=Probe(PartTrace(), gates)) for token in columns], dim=1
    )
    assert_close(steps[is_real()].detach(), full[is_real()].detach())
    assert_close(shown[is_real()].detach(), full[is_real()].detach())
    ungated = model.decode(tokens, None if batch.source is None else model.encode(batch.source))
    assert not torch.allclose(full, ungated)


def test_gated_beams_are_independent_texts() -> None:
    model, tokens, _ = make_case("encoder-decoder", 1)
    gates = make_gates(model.config)
    source = make_inputs(model.config, "right padding").batch.source
    assert source is not None
    memory = model.encode(source, probe=Probe(gates=gates))
    beams = model.start_beams(memory, BATCH, CPU)
    model.decode(tokens[:, :1], memory, beams, probe=Probe(gates=gates))
    beams.follow(torch.zeros(BATCH, 2, dtype=torch.long))
    second = torch.tensor([[3, 4], [5, 6], [7, 8]])
    logits = model.decode(second, memory, beams, probe=Probe(gates=gates))
    for beam in range(2):
        texts = torch.cat((tokens[:, :1], second[:, beam : beam + 1]), dim=1)
        expected = model.decode(texts, memory, probe=Probe(gates=gates))[:, -1]
        assert_close(logits[:, beam].detach(), expected.detach())
    assert TARGET > 2


@pytest.mark.parametrize("shape", ["encoder-decoder", "decoder"])
def test_gates_in_packed_rows_are_those_of_single_sentences(shape: str) -> None:
    model = make_model(shape, 0)
    gates = make_gates(model.config)
    rows = sentences_of(model.config)
    together = model.loss(packed(rows), probe=Probe(gates=gates)).total
    alone = sum(model.loss(sentence, probe=Probe(gates=gates)).total for row in rows for sentence in row)
    assert isinstance(alone, Tensor)
    assert_close(together.detach(), alone.detach())
    assert not torch.allclose(together, model.loss(packed(rows)).total)


# Gradients, float64 worksheets, dtypes


def test_the_gradient_of_a_gate_is_that_of_finite_differences() -> None:
    model = make_model("encoder-decoder", 0)
    batch = make_inputs(model.config, "right padding").batch

    def loss_of(*values: Tensor) -> Tensor:
        places = list(template.outputs)
        half = len(places)
        gates = Gates(dict(zip(places, values[:half], strict=True)), dict(zip(places, values[half:], strict=True)))
        return model.loss(batch, probe=Probe(gates=gates)).total

    template = make_gates(model.config)
    values = [gate.double().requires_grad_() for side in (template.outputs, template.scores) for gate in side.values()]
    assert torch.autograd.gradcheck(loss_of, values)


def test_a_gated_trace_gets_full_marks_as_a_worksheet() -> None:
    model = make_model("encoder-decoder", 0)
    batch = Batch(torch.tensor([[5, 7, 3, 2], [4, 6, 2, 0]]), torch.tensor([[5, 7, 2], [4, 2, 0]]))
    for num_rows in (None, 2):
        _, trace = model.trace(batch, probe=Probe(gates=make_gates(model.config, num_rows)))
        sheet = sheet_of_trace(trace, 1)
        report = mark_worksheet(sheet)
        assert report.earned == report.out_of > 0, [finding.what for finding in report.findings]
        gate = next(g for g in sheet.trace.givens.values() if g.name.endswith("head.0.gate.g"))
        assert np.shape(gate.value) == (1, 1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_gates_do_not_widen_the_dtype_of_a_model(dtype: torch.dtype) -> None:
    model = make_model("encoder-decoder", 0, dtype)
    inputs = gated_inputs(model, "right padding", is_by_sentence=False)
    assert run(model, inputs).dtype == dtype
    assert run(model, inputs, PartTrace()).dtype == dtype
