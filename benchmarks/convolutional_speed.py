"""Training speed of a convolutional model, compared with a plain PyTorch model of the same kind and sizes.

Both make full updates (forward, backward, clipping, AdamW) on the same padded batch, in turns in one run: in bfloat16
autocast on a GPU, in float32 on a CPU. The plain model is nn.Conv1d, F.glu and softmax attention as one would write
them, eager and compiled. Ours is the update that `clearhead train` makes.

    python benchmarks/convolutional_speed.py
    python benchmarks/convolutional_speed.py --device cuda --preset small --batch-tokens 16384
"""

import argparse
import math
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.model import Batch, ModelConfig, build_model, preset
from clearhead.training.config import TrainingConfig
from clearhead.training.step import Updater

VOCABULARY = 8_000
RATE, CLIP, SMOOTHING = 1e-4, 1.0, 0.1
ROOT = math.sqrt(0.5)


class PlainEncoderLayer(nn.Module):
    """A gated convolution over (B, D, S) with a residual."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.dropout = nn.Dropout(config.dropout)
        self.convolution = nn.Conv1d(config.d_model, 2 * config.d_model, config.kernel, padding=config.kernel // 2)

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        """Return the next states."""
        x = x * real
        return (x + F.glu(self.convolution(self.dropout(x)), dim=1)) * ROOT


class PlainDecoderLayer(nn.Module):
    """A causal gated convolution over (B, D, T), attention to the source, and residuals."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width = config.d_model
        self.dropout = nn.Dropout(config.dropout)
        self.left = config.kernel - 1
        self.convolution = nn.Conv1d(width, 2 * width, config.kernel)
        self.query, self.output = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: Tensor, embedded: Tensor, source: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        """Return the next states; the source has keys, values and the mask of its padding."""
        keys, values, real = source
        y = F.glu(self.convolution(F.pad(self.dropout(x), (self.left, 0))), dim=1).transpose(1, 2)
        q = (self.query(y) + embedded.transpose(1, 2)) * ROOT
        scores = torch.bmm(q, keys) / math.sqrt(q.shape[-1])
        weights = torch.softmax(scores.masked_fill(~real, -float("inf")), dim=-1)
        context = torch.bmm(weights, values.transpose(1, 2))
        y = (y + self.output(context)) * ROOT
        return (x + y.transpose(1, 2)) * ROOT


class PlainConvolutional(nn.Module):
    """The same sizes and steps as clearhead's model, in (B, D, T)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.scale = math.sqrt(config.d_model)
        self.embedding = nn.Embedding(VOCABULARY, config.d_model)
        nn.init.normal_(self.embedding.weight, std=config.d_model**-0.5)
        self.positions = nn.ModuleList(nn.Embedding(config.max_length, config.d_model) for _ in range(2))
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = nn.ModuleList(PlainEncoderLayer(config) for _ in range(config.encoder_blocks))
        self.decoder = nn.ModuleList(PlainDecoderLayer(config) for _ in range(config.decoder_blocks))

    def embed(self, ids: Tensor, position: nn.Module) -> Tensor:
        """Return embeddings with positions: (B, D, T)."""
        places = torch.arange(ids.shape[1], device=ids.device)
        return self.dropout(self.embedding(ids) * self.scale + position(places)).transpose(1, 2)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Return the mean loss."""
        real = (source != 0)[:, None]
        embedded = x = self.embed(source, self.positions[0])
        for layer in self.encoder:
            x = layer(x, real)
        memory = x, (x + embedded) * ROOT, real
        shifted = torch.cat((torch.ones_like(target[:, :1]), target[:, :-1]), dim=1)
        embedded = x = self.embed(shifted, self.positions[1])
        for layer in self.decoder:
            x = layer(x, embedded, memory)
        logits = F.linear(x.transpose(1, 2), self.embedding.weight).float()
        return F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=0, label_smoothing=SMOOTHING)


def plain(config: ModelConfig, batch: Batch, device: str, *, is_compiled: bool) -> Callable[[], None]:
    """Return an update of the plain model."""
    model = PlainConvolutional(config).to(device).train()
    adam = torch.optim.AdamW(model.parameters(), lr=RATE, fused=True)
    run = torch.compile(model) if is_compiled else model

    def update() -> None:
        adam.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
            loss = run(batch.source, batch.target)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP, foreach=True)
        adam.step()

    return update


def ours(config: ModelConfig, batch: Batch, device: str, *, is_compiled: bool) -> Callable[[], None]:
    """Return an update as `clearhead train` makes it; on a GPU it is a CUDA graph."""
    model = build_model(config).to(torch.device(device)).train()
    precision = torch.bfloat16 if device == "cuda" else torch.float32
    settings = TrainingConfig(label_smoothing=SMOOTHING, clip=CLIP)
    updater = Updater(model, settings, is_compiled=is_compiled, precision=precision)

    def update() -> None:
        updater.step([batch], RATE, 1)

    return update


def make_batch(num_tokens: int, length: int, device: str) -> Batch:
    """Return random sentences of half to full length, padded: about `num_tokens` target tokens."""
    rows = max(1, round(num_tokens / (0.75 * length)))
    generator = torch.Generator().manual_seed(0)
    sides = []
    for _ in range(2):
        ids = torch.randint(3, VOCABULARY, (rows, length), generator=generator)
        lengths = torch.randint(length // 2, length + 1, (rows, 1), generator=generator)
        lengths[0] = length
        sides.append(torch.where(torch.arange(length)[None] < lengths, ids, 0).to(device))
    return Batch(sides[0], sides[1])


def seconds(update: Callable[[], None], device: str, count: int) -> float:
    """Return the mean time of `count` updates."""
    if device == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(count):
        update()
    if device == "cuda":
        torch.cuda.synchronize()
    return (time.perf_counter() - start) / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--preset", default="tiny")
    parser.add_argument("--batch-tokens", type=int, default=2048)
    parser.add_argument("--length", type=int, default=32, help="longest sentence in tokens")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--updates", type=int, default=None, help="updates of a round")
    parser.add_argument("--no-compile", action="store_true", help="leave out the compiled models")
    options = parser.parse_args()
    device, count = options.device, options.updates or (20 if options.device == "cuda" else 2)
    torch.set_float32_matmul_precision("high")
    config = preset(options.preset, source_vocabulary=VOCABULARY, architecture="convolutional")
    batch = make_batch(options.batch_tokens, options.length, device)
    assert batch.target is not None
    num_tokens = int((batch.target != 0).sum())
    updates: dict[str, Callable[[], None]] = {}
    for is_compiled in (False,) if options.no_compile else (False, True):
        how = "compiled" if is_compiled else "eager"
        updates[f"plain PyTorch, {how}"] = plain(config, batch, device, is_compiled=is_compiled)
        updates[f"clearhead, {how}"] = ours(config, batch, device, is_compiled=is_compiled)
    for update in updates.values():
        seconds(update, device, 3)
    times: dict[str, list[float]] = {name: [] for name in updates}
    for _ in range(options.rounds):
        for name, update in updates.items():
            times[name].append(seconds(update, device, count))
    speeds = {name: num_tokens / statistics.median(taken) for name, taken in times.items()}
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    machine = torch.cuda.get_device_name() if device == "cuda" else f"{platform.machine()}, {os.cpu_count()} cores"
    versions = f"Python {platform.python_version()}, torch {torch.__version__}"
    print(f"{machine}; {torch.get_num_threads()} threads; {versions}; commit {commit.strip()}")
    print(
        f"preset {options.preset}, kernel {config.kernel}, vocabulary {VOCABULARY:,}; {num_tokens:,} target tokens in "
        f"{len(batch.target)} rows of {options.length}; median of {options.rounds} rounds of {count}"
    )
    print("\n| model | target tokens/s | × plain PyTorch, eager |\n|---|---:|---:|")
    for name, speed in speeds.items():
        print(f"| {name} | {speed:,.0f} | {speed / speeds['plain PyTorch, eager']:.2f} |")


if __name__ == "__main__":
    main()
