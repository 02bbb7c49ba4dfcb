"""The fused loss kernel agrees with PyTorch's operations, including gradients; it needs Triton and a GPU."""

import pytest
import torch

from clearhead.model import Batch, ModelConfig, Transformer
from clearhead.training.config import TrainingConfig
from clearhead.training.fused_loss import fused_loss_from_states, is_fusible
from clearhead.training.objective import loss_from_states

needs_a_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def model_of(vocabulary: int) -> Transformer:
    config = ModelConfig(
        source_vocabulary=vocabulary, encoder_blocks=1, decoder_blocks=1, d_model=32, num_heads=2, d_ff=32
    )
    return Transformer(config)


def test_without_a_gpu_the_kernel_is_not_available() -> None:
    assert not is_fusible(model_of(50), TrainingConfig(), torch.float32)


@pytest.mark.gpu
@needs_a_gpu
@pytest.mark.parametrize("vocabulary", [50, 4096, 10_001])
@pytest.mark.parametrize("r_drop", [0.0, 2.0])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_loss_and_gradients_are_those_of_the_operations(
    vocabulary: int, r_drop: float, smoothing: float, dtype: torch.dtype
) -> None:
    torch.manual_seed(0)
    model = model_of(vocabulary).cuda()
    config = TrainingConfig(r_drop=r_drop, label_smoothing=smoothing)
    assert is_fusible(model, config, dtype)
    target = torch.randint(3, vocabulary, (4, 9), device="cuda")
    target[1, 5:], target[3] = 0, 0  # padding, and a row of nothing else
    source = torch.randint(3, vocabulary, (4, 7), device="cuda")
    batch = Batch(source, target).changed(lambda part: torch.cat((part, part)) if r_drop else part)
    losses_and_gradients = []
    for loss_function in (loss_from_states, fused_loss_from_states):
        states = 3 * torch.randn(
            *batch.target.shape, 32, device="cuda", generator=torch.Generator("cuda").manual_seed(1)
        )
        states.requires_grad_()
        with torch.autocast("cuda", torch.bfloat16, enabled=dtype == torch.bfloat16):
            loss = loss_function(model, states, batch, config)
        model.zero_grad()
        loss.mean.backward()
        losses_and_gradients.append((loss, states.grad, model.output.weight.grad.clone()))
    (right, *right_gradients), (fused, *fused_gradients) = losses_and_gradients
    assert fused.num_tokens == right.num_tokens
    assert fused.total.item() == pytest.approx(right.total.item(), rel=1e-5)
    slack = 1e-5 if dtype == torch.float32 else 2e-2  # both round to bfloat16, in another order
    for one, other in zip(fused_gradients, right_gradients, strict=True):
        assert (one - other).abs().max() <= slack * other.abs().max()
