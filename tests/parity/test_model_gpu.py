"""The compiled path on a GPU, small tiles included, against the traced one in float64."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from clearhead.decoding.engines.torch_engine import TorchEngine
from clearhead.decoding.search.beam import beam_search
from clearhead.decoding.search.settings import SearchSettings
from clearhead.explain.head_importance import head_importance, losses_without
from clearhead.explain.head_statistics import measure_attention
from clearhead.explain.token_pairs import TokenPair
from clearhead.formats.head_removal import without_heads
from clearhead.model import Batch, ModelConfig, Transformer
from clearhead.model.gates import closed_gates
from clearhead.model.heads import find_heads
from clearhead.model.probe import Probe
from clearhead.model.probed import ProbedModel
from clearhead.model.tracing import PartTrace
from tests.parity.engine_models import requests, toy
from tests.parity.models import make_gates, make_model


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("is_padded", [False, True])
@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
def test_compiled_loss_and_gradients_are_those_of_traced_attention(positions: str, is_padded: bool) -> None:
    torch.manual_seed(0)
    config = ModelConfig(
        source_vocabulary=101, encoder_blocks=2, decoder_blocks=2, d_model=128, num_heads=2, d_ff=96,
        positions=positions, dropout=0.0, max_length=64,
    )  # fmt: skip
    model = Transformer(config).cuda().eval()
    source = torch.randint(3, 101, (5, 29), device="cuda")
    target = torch.randint(3, 101, (5, 23), device="cuda")
    if is_padded:
        source[1, 7:], target[2, 5:], source[3] = 0, 0, 0
    batch = Batch(source, target, is_padded=is_padded)
    loss = torch.compile(lambda batch: model.loss(batch).mean, fullgraph=True)(batch)
    loss.backward()
    exact = Transformer(config).cuda().double().eval()
    exact.load_state_dict(model.state_dict())
    logits = exact(batch, probe=Probe(PartTrace()))
    truth = F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=0)
    truth.backward()
    assert abs(loss.item() - truth.item()) < 1e-5
    right = dict(exact.named_parameters())
    largest = max(parameter.grad.abs().max() for parameter in right.values())
    for name, parameter in model.named_parameters():
        gap = (parameter.grad - right[name].grad).abs().max() / largest
        assert gap < 1e-5, f"{name}: {gap:.1e} of the largest gradient"


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_the_compiled_gated_loss_is_that_of_traced_attention() -> None:
    torch.manual_seed(0)
    config = ModelConfig(
        source_vocabulary=101, encoder_blocks=2, decoder_blocks=2, d_model=128, num_heads=2, d_ff=96, dropout=0.0,
        max_length=64,
    )  # fmt: skip
    model = Transformer(config).cuda().eval()
    source, target = (torch.randint(3, 101, (5, length), device="cuda") for length in (29, 23))
    batch = Batch(source, target, is_padded=False)
    exact = Transformer(config).cuda().double().eval()
    exact.load_state_dict(model.state_dict())
    compiled = torch.compile(lambda probe: model.loss(batch, probe=probe).mean, fullgraph=True)
    for seed in (1, 2):
        gates = make_gates(config, seed=seed).changed(lambda gate: gate.cuda().requires_grad_())
        slopes = []
        for loss in (compiled(Probe(gates=gates)), _traced_loss(exact, batch, gates)):
            slopes.append((loss.detach(), torch.autograd.grad(loss, list(gates.outputs.values()))))
        assert abs(slopes[0][0] - slopes[1][0]) < 1e-5
        for one, other in zip(slopes[0][1], slopes[1][1], strict=True):
            assert (one - other).abs().max() < 1e-5


def _traced_loss(model: Transformer, batch: Batch, gates: Any) -> torch.Tensor:
    assert batch.target is not None
    logits = model(batch, probe=Probe(PartTrace(), gates))
    return F.cross_entropy(logits.flatten(0, 1), batch.target.flatten())


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 4}, {"beam": 3, "no_repeat": 2}], ids=str)
def test_recorded_steps_use_the_numbers_of_the_gates_at_hand(options: dict[str, Any]) -> None:
    """`no_repeat` needs a stepper, the others choose on the device; the second gates replay the graph of the first."""
    model = toy().cuda()
    engine, settings = TorchEngine(model), SearchSettings(**options)
    batch = requests(model)
    outputs = []
    for seed in (1, 2, 1):
        gates = make_gates(model.config, seed=seed)
        outcomes = engine.gated(gates).translate(batch, settings)
        outputs.append([hypotheses[0].tokens for hypotheses in outcomes])
        view = ProbedModel(model, Probe(gates=gates.changed(lambda gate: gate.cuda())))
        with torch.inference_mode():
            for request, tokens in zip(batch, outputs[-1], strict=True):
                source = torch.tensor([request.ids], device="cuda")
                assert beam_search(view, source, [request.limit], settings)[0][0].tokens == tokens
    plain = [hypotheses[0].tokens for hypotheses in engine.translate(batch, settings)]
    assert outputs[0] == outputs[2] != outputs[1]
    assert plain not in outputs


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_heads_measure_the_same_on_a_gpu() -> None:
    pairs = [TokenPair((3, 4, 5, 2), (6, 7, 2)), TokenPair((7, 8, 2), (9, 3, 4, 5, 2))]
    model = make_model("encoder-decoder", 0)
    here = measure_attention(model, pairs).statistics, head_importance(model, pairs), losses_without(model, pairs)
    model.cuda()
    there = measure_attention(model, pairs).statistics, head_importance(model, pairs), losses_without(model, pairs)
    for one, other in zip(here[0], there[0], strict=True):
        assert one.to_dict() == pytest.approx(other.to_dict())
    assert list(there[1].values()) == pytest.approx(list(here[1].values()), rel=1e-5)
    assert [row.mean for row in there[2].values()] == pytest.approx([row.mean for row in here[2].values()])


def test_advice_of_the_compiler_on_a_gpu_is_not_an_error_in_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    # The two places where torch's compiler warns that TensorFloat32 is available but off, as on a GPU that has it.
    from torch._inductor import compile_fx
    from torch._inductor.fx_passes import fuse_attention

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (9, 0))
    assert torch.backends.cuda.matmul.fp32_precision != "tf32"
    for advise in (compile_fx._warn_tf32_disabled, fuse_attention._warn_tf32_disabled):
        advise.__wrapped__()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_pruned_model_is_compiled_and_its_steps_are_recorded() -> None:
    model = toy(d_model=64).cuda()  # compiled attention needs heads of width 16 or more
    heads = find_heads(["*.0.self_attention.head.1"], model.config)
    heads += find_heads(["encoder.1.self_attention.head.*", "decoder.1.cross_attention.head.*"], model.config)
    smaller = without_heads(model, heads)
    gated = TorchEngine(model).gated(closed_gates(model.config, model.device, without=heads))
    for settings in (SearchSettings(), SearchSettings(beam=4, n_best=2)):
        expected = gated.translate(requests(model), settings)
        outcomes = TorchEngine(smaller).translate(requests(model), settings)
        for hypotheses, right in zip(outcomes, expected, strict=True):
            assert hypotheses[0].tokens == right[0].tokens
            assert hypotheses[0].score == pytest.approx(right[0].score, abs=2e-4)
    ids = torch.randint(3, 29, (5, 17), device="cuda")
    loss = torch.compile(lambda batch: smaller.loss(batch).mean, fullgraph=True)(Batch(ids, ids))
    assert loss.item() == pytest.approx(smaller.loss(Batch(ids, ids)).mean.item(), rel=1e-4)
