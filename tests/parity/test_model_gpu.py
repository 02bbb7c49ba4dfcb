"""The compiled path on a GPU, small tiles included, against the traced one in float64."""

import pytest
import torch
import torch.nn.functional as F

from clearhead.model import Batch, ModelConfig, Transformer
from clearhead.model.tracing import PartTrace


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
    logits = exact(batch, trace=PartTrace())
    truth = F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=0)
    truth.backward()
    assert abs(loss.item() - truth.item()) < 1e-5
    right = dict(exact.named_parameters())
    largest = max(parameter.grad.abs().max() for parameter in right.values())
    for name, parameter in model.named_parameters():
        gap = (parameter.grad - right[name].grad).abs().max() / largest
        assert gap < 1e-5, f"{name}: {gap:.1e} of the largest gradient"


def test_advice_of_the_compiler_on_a_gpu_is_not_an_error_in_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    # The two places where torch's compiler warns that TensorFloat32 is available but off, as on a GPU that has it.
    from torch._inductor import compile_fx
    from torch._inductor.fx_passes import fuse_attention

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (9, 0))
    assert torch.backends.cuda.matmul.fp32_precision != "tf32"
    for advise in (compile_fx._warn_tf32_disabled, fuse_attention._warn_tf32_disabled):
        advise.__wrapped__()
