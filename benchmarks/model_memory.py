"""Memory of one forward and backward pass against the length: the fused path must grow linearly.

Run: python benchmarks/model_memory.py [--device cuda]. On the CPU the profiler's allocations are counted, on the GPU
the allocator's peak. The memory of the traced path is only estimated, as `Transformer.trace` does before it runs.
"""

import argparse
import platform
import subprocess

import torch

from clearhead.model import Batch, Transformer, preset
from clearhead.model.tracing import traced_bytes

VOCABULARY = 1000


def peak_bytes(model: Transformer, batch: Batch, device: str) -> int:
    """Return the peak memory of a pass, not counting the model itself."""
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model.loss(batch).mean
        loss.backward()
        return torch.cuda.max_memory_allocated() - before
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(
        activities=activities, profile_memory=True, record_shapes=True, with_stack=True
    ) as profile:
        model.loss(batch).mean.backward()
    held = most = 0
    for event in profile._memory_profile().timeline if hasattr(profile, "_memory_profile") else ():
        _, action, _, size = event
        is_new = any(word in str(action) for word in ("CREATE", "PREEXISTING"))
        held += size if is_new else -size if "DESTROY" in str(action) else 0
        most = max(most, held)
    return most


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    device = options.device
    lengths = [512, 1024, 2048, 4096, 8192]
    torch.manual_seed(0)
    config = preset("tiny", source_vocabulary=VOCABULARY, max_length=lengths[-1], encoder_blocks=2, decoder_blocks=2)
    model = Transformer(config).to(device).train()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    name = torch.cuda.get_device_name() if device == "cuda" else platform.machine()
    print(f"{name}; torch {torch.__version__}; commit {commit.strip()}; 2+2 blocks, width 128, two sentence pairs")
    print("\n| tokens | fused (MiB) | × the length before | a trace would need (MiB) |\n|---:|---:|---:|---:|")
    before = 0
    for length in lengths:
        ids = torch.randint(3, VOCABULARY, (2, length), device=device)
        ids[1, length // 2 :] = 0
        batch = Batch(ids, ids)
        peak_bytes(model, batch, device)  # warm up
        model.zero_grad(set_to_none=True)
        need = peak_bytes(model, batch, device)
        traced = traced_bytes(config, ids, ids, 4)
        growth = f"{need / before:.2f}" if before else ""
        print(f"| {length:,} | {need / 2**20:.0f} | {growth} | {traced / 2**20:,.0f} |", flush=True)
        before = need


if __name__ == "__main__":
    main()
