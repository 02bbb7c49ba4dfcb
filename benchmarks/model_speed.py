"""Training speed of the model: forward, backward and optimiser step, compared with MarianMT and torch.nn.Transformer.

All in one run, the same sizes, the same random batch: on the GPU in bfloat16 autocast, on the CPU in float32. Prints
thousand target tokens a second, the share of the machine's measured matrix rate, and the ratio to MarianMT eager.
Needs transformers. Run: python benchmarks/model_speed.py [--device cuda] [--preset small]
"""

import argparse
import gc
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.model import Batch, Transformer, preset

VOCABULARY = 10_240
LENGTH = 32


class Clock:
    """Times a step: device events on a GPU, wall time on a CPU; the median of many."""

    def __init__(self, device: str, runs: int) -> None:
        self.device, self.runs = device, runs

    def seconds(self, step: Callable[[], object]) -> float:
        """Return the median time of one step, after warming up."""
        for _ in range(3 if self.device == "cpu" else 8):
            step()
        times = []
        for _ in range(self.runs):
            if self.device == "cuda":
                start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                torch.cuda.synchronize()
                start.record()
                step()
                end.record()
                torch.cuda.synchronize()
                times.append(start.elapsed_time(end) / 1000)
            else:
                start_time = time.perf_counter()
                step()
                times.append(time.perf_counter() - start_time)
        return statistics.median(times)


def matrix_rate(device: str) -> float:
    """Return the measured rate of a large matrix product in FLOP/s: the machine's ceiling."""
    size, dtype = (8192, torch.bfloat16) if device == "cuda" else (1024, torch.float32)
    a, b = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    return 2.0 * size**3 / Clock(device, 10).seconds(lambda: a @ b)


def flops_per_token(model: Transformer) -> float:
    """Return the FLOPs of a step for one target and one source token: six times the number of weights used."""
    config = model.config
    embedded = model.decoder.embedding.weight.numel() if model.decoder is not None else 0
    weights = sum(parameter.numel() for parameter in model.parameters()) - embedded
    return 6.0 * (weights + config.target_size * config.decoder_width) + 6.0 * 3 * 2 * LENGTH * config.d_model


def autocast(device: str) -> torch.autocast:
    """Return the precision that is usual for training."""
    return torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda")


def optimiser(model: nn.Module, device: str) -> torch.optim.Optimizer:
    """Return fused AdamW, the same for every model."""
    return torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True, capturable=device == "cuda")


def ours(name: str, source: Tensor, target: Tensor, device: str, is_graphed: bool) -> Callable[[], object]:
    """Return a training step of clearhead: compiled, and on the GPU captured as one graph."""
    model = Transformer(preset(name, source_vocabulary=VOCABULARY)).to(device).train()
    adam = optimiser(model, device)
    batch = Batch(source, target, is_padded=False)

    def loss_of(batch: Batch) -> Tensor:
        with autocast(device):
            return model.loss(batch).mean

    # on a CPU the compiler's own random numbers are slower than the library's
    options = {"fallback_random": True} if device == "cpu" else None
    compiled = torch.compile(loss_of, fullgraph=True, options=options)

    def step() -> None:
        adam.zero_grad(set_to_none=True)
        compiled(batch).backward()
        adam.step()

    return graphed(step) if is_graphed else step


def graphed(step: Callable[[], None]) -> Callable[[], object]:
    """Capture a step as one CUDA graph, to avoid the cost of kernel launches."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(4):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def marian(name: str, source: Tensor, target: Tensor, device: str, is_compiled: bool = False) -> Callable[[], object]:
    """Return a training step of transformers' MarianMT with the same sizes."""
    from transformers import MarianConfig, MarianMTModel

    config = preset(name, source_vocabulary=VOCABULARY)
    sizes = {
        "vocab_size": VOCABULARY, "d_model": config.d_model, "encoder_layers": config.encoder_blocks,
        "decoder_layers": config.decoder_blocks, "encoder_attention_heads": config.num_heads,
        "decoder_attention_heads": config.num_heads, "encoder_ffn_dim": config.d_ff, "decoder_ffn_dim": config.d_ff,
        "max_position_embeddings": 1024, "dropout": config.dropout, "attention_dropout": 0.0, "activation_dropout": 0.0,
        "activation_function": config.activation, "scale_embedding": True, "pad_token_id": 0, "eos_token_id": 2,
        "decoder_start_token_id": 0, "use_cache": False,
    }  # fmt: skip
    model = MarianMTModel(MarianConfig(**sizes)).to(device).train()
    adam = optimiser(model, device)

    def loss_of(source: Tensor, target: Tensor) -> Tensor:
        with autocast(device):
            return model(input_ids=source, labels=target).loss

    run = torch.compile(loss_of) if is_compiled else loss_of

    def step() -> None:
        adam.zero_grad(set_to_none=True)
        run(source, target).backward()
        adam.step()

    return step


class Plain(nn.Module):
    """torch.nn.Transformer with embeddings, positions and a tied output."""

    def __init__(self, name: str) -> None:
        super().__init__()
        config = preset(name, source_vocabulary=VOCABULARY)
        self.embedding = nn.Embedding(VOCABULARY, config.d_model)
        self.position = nn.Parameter(torch.randn(LENGTH, config.d_model) * 0.02)
        self.stack = nn.Transformer(
            config.d_model, config.num_heads, config.encoder_blocks, config.decoder_blocks, config.d_ff,
            config.dropout, batch_first=True, norm_first=True,
        )  # fmt: skip

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Return the mean loss."""
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1], device=target.device)
        source_vectors, target_vectors = (
            self.embedding(ids) + self.position[: ids.shape[1]] for ids in (source, target)
        )
        states = self.stack(source_vectors, target_vectors, tgt_mask=mask, tgt_is_causal=True)
        logits = F.linear(states, self.embedding.weight)
        return F.cross_entropy(logits.flatten(0, 1).float(), target.flatten())


def plain(name: str, source: Tensor, target: Tensor, device: str) -> Callable[[], object]:
    """Return a training step of torch.nn.Transformer."""
    model = Plain(name).to(device).train()
    adam = optimiser(model, device)

    def step() -> None:
        adam.zero_grad(set_to_none=True)
        with autocast(device):
            loss = model(source, target)
        loss.backward()
        adam.step()

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--preset", default="small")
    parser.add_argument("--tokens", type=int, nargs="+", default=None, help="target tokens in a batch")
    parser.add_argument("--length", type=int, default=LENGTH)
    parser.add_argument("--runs", type=int, default=None)
    parser.add_argument("--peers", default="marian,nn", help="marian, marian-compiled, nn; or none")
    options = parser.parse_args()
    device = options.device
    torch.set_float32_matmul_precision("high")
    tokens = options.tokens or ([4096, 16384, 32768] if device == "cuda" else [4096])
    clock = Clock(device, options.runs or (30 if device == "cuda" else 5))
    rate = matrix_rate(device)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    card = torch.cuda.get_device_name() if device == "cuda" else f"{platform.machine()}, {os.cpu_count()} cores"
    print(f"{card}; Python {platform.python_version()}, torch {torch.__version__}; commit {commit.strip()}")
    print(f"preset {options.preset}, vocabulary {VOCABULARY:,}, length {options.length}; "
          f"matrix rate {rate / 1e12:.2f} TFLOP/s")  # fmt: skip
    print("\n| target tokens | model | 1000 tokens/s | × MarianMT eager | share of the matrix rate |")
    print("|---:|---|---:|---:|---:|")
    for count in tokens:
        shape = (count // options.length, options.length)
        source, target = (torch.randint(3, VOCABULARY, shape, device=device) for _ in range(2))
        sizes = (options.preset, source, target, device)
        makers: dict[str, Callable[[], Callable[[], object]]] = {}
        if "marian" in options.peers.split(","):
            makers["MarianMT eager"] = partial(marian, *sizes)
        if "marian-compiled" in options.peers.split(","):
            makers["MarianMT compiled"] = partial(marian, *sizes, is_compiled=True)
        if "nn" in options.peers.split(","):
            makers["nn.Transformer eager"] = partial(plain, *sizes)
        makers["clearhead compiled"] = partial(ours, *sizes, is_graphed=False)
        if device == "cuda":
            makers["clearhead graphed"] = partial(ours, *sizes, is_graphed=True)
        least = 0.0
        needed = flops_per_token(Transformer(preset(options.preset, source_vocabulary=VOCABULARY)))
        for name, make in makers.items():
            speed = count / clock.seconds(make())
            least = least or speed
            share = speed * needed / rate
            print(
                f"| {count:,} | {name} | {speed / 1000:.1f} | {speed / least:.2f} | {100 * share:.1f} % |", flush=True
            )
            gc.collect()
            if device == "cuda":
                torch.cuda.empty_cache()
                torch._dynamo.reset()


if __name__ == "__main__":
    main()
