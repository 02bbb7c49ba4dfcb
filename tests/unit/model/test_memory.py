"""The memory of fused attention is linear in the length of a sentence, padded or not; that of traced attention is not.

PyTorch's profiler counts what is allocated and freed, so that the numbers are the same on every run. The model is 64
wide: the kernel keeps a block of scores for each thread, larger from 768 tokens on, which must not weigh.
"""

from collections.abc import Iterator

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from clearhead.model import Batch, ModelConfig, Transformer
from clearhead.model.probe import Probe
from clearhead.model.tracing import PartTrace

LENGTHS = (512, 1024, 2048, 4096)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def peak_bytes(shape: str, length: int, *, is_padded: bool = False, is_traced: bool = False) -> int:
    """Return the peak memory of a forward and backward pass over one sentence, without the model."""
    torch.manual_seed(0)
    settings = {"shape": shape, "source_vocabulary": 11, "encoder_blocks": 1, "decoder_blocks": 1, "d_model": 64}
    sizes = {"num_heads": 4, "d_ff": 64, "max_length": LENGTHS[-1], "dropout": 0.0}
    model = Transformer(
        ModelConfig.model_validate({**settings, **sizes, "num_classes": 2 if shape == "encoder" else None})
    ).eval()
    ids = torch.full((1, length), 3)
    if is_padded:
        ids[:, -5:] = 0
    batch = Batch(None if shape == "decoder" else ids, None if shape == "encoder" else ids, is_padded=is_padded)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as memory_profile:
        output = model(batch, probe=Probe(PartTrace())) if is_traced else model(batch)
        output.sum().backward()
        del output
    held = peak = 0
    for event in memory_profile.profiler.kineto_results.events():  # type: ignore[union-attr]
        if event.name() == "[memory]":
            held += event.nbytes()
            peak = max(peak, held)
    assert peak > length * 64 * 4, "nothing was counted"
    return peak


@pytest.mark.parametrize("is_padded", [False, True], ids=["whole", "padded"])
@pytest.mark.parametrize("shape", ["encoder-decoder", "encoder", "decoder"])
def test_twice_the_length_takes_about_twice_the_memory(shape: str, is_padded: bool) -> None:
    peaks = [peak_bytes(shape, length, is_padded=is_padded) for length in LENGTHS]
    for length, short, long in zip(LENGTHS[1:], peaks, peaks[1:], strict=False):
        assert long / short < 2.6, f"{length} tokens take {long} bytes, half as many {short}"


def test_the_measurement_detects_memory_that_grows_with_the_square() -> None:
    assert peak_bytes("decoder", 1024, is_traced=True) / peak_bytes("decoder", 512, is_traced=True) > 3.3
