"""Training speed of a recurrent model, compared with a plain PyTorch model of the same kind and sizes.

Both make full updates (forward, backward, clipping, AdamW) on the same padded batch, in turns in one run: in bfloat16
autocast on a GPU, in float32 on a CPU. The plain model is nn.LSTM or nn.GRU with several layers and two directions, and
attention as one would write it. It reads padded sentences (its reverse direction then begins in the padding), or packed
sequences, which need the lengths on the CPU. Neither has residuals, which nn.LSTM lacks. Ours is the update that
`clearhead train` makes, as a CUDA graph on a GPU.

    python benchmarks/recurrent_speed.py
    python benchmarks/recurrent_speed.py --device cuda --preset small --batch-tokens 16384
"""

import argparse
import math
import os
import platform
import statistics
import subprocess
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from clearhead.model import Batch, ModelConfig, preset
from convolutional_speed import CLIP, RATE, SMOOTHING, VOCABULARY, make_batch, ours, seconds


class PlainRecurrent(nn.Module):
    """An encoder-decoder of nn.LSTM or nn.GRU with scaled dot-product attention after the last layer."""

    def __init__(self, config: ModelConfig, *, is_packed: bool) -> None:
        super().__init__()
        width, kind = config.d_model, nn.LSTM if config.cell == "lstm" else nn.GRU
        self.is_packed, self.num_states = is_packed, (2 if config.cell == "lstm" else 1) * config.decoder_blocks
        self.embedding = nn.Embedding(VOCABULARY, width)
        nn.init.normal_(self.embedding.weight, std=width**-0.5)
        self.dropout = nn.Dropout(config.dropout)
        shared = {"batch_first": True, "dropout": config.dropout}
        self.encoder = kind(width, width // 2, config.encoder_blocks, bidirectional=True, **shared)
        self.decoder = kind(width, width, config.decoder_blocks, **shared)
        self.bridge = nn.Linear(width, self.num_states * width)
        self.combine = nn.Linear(2 * width, width, bias=False)

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Return the states (B, S, D) and the last states of both directions (B, D)."""
        x = self.dropout(self.embedding(source))
        if self.is_packed:
            lengths = (source != 0).sum(dim=1).cpu()
            packed, last = self.encoder(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))
            states, _ = pad_packed_sequence(packed, batch_first=True, total_length=source.shape[1])
        else:
            states, last = self.encoder(x)
        hidden = last[0] if isinstance(last, tuple) else last  # (2 · layers, B, D / 2)
        return self.dropout(states), torch.cat((hidden[-2], hidden[-1]), dim=-1)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Return the mean loss."""
        memory, last = self.encode(source)
        first = torch.tanh(self.bridge(last)).unflatten(-1, (self.num_states, -1)).transpose(0, 1).contiguous()
        shifted = torch.cat((torch.ones_like(target[:, :1]), target[:, :-1]), dim=1)
        parts = first.float().chunk(2) if isinstance(self.decoder, nn.LSTM) else None
        state = first.float() if parts is None else (parts[0].contiguous(), parts[1].contiguous())
        h, _ = self.decoder(self.dropout(self.embedding(shifted)), state)
        h = self.dropout(h)
        scores = torch.bmm(h, memory.transpose(1, 2)) / math.sqrt(h.shape[-1])
        weights = torch.softmax(scores.masked_fill((source == 0)[:, None], -float("inf")), dim=-1)
        joined = torch.cat((torch.bmm(weights.to(memory.dtype), memory), h), dim=-1)
        logits = F.linear(self.dropout(torch.tanh(self.combine(joined))), self.embedding.weight).float()
        return F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=0, label_smoothing=SMOOTHING)


def plain(config: ModelConfig, batch: Batch, device: str, *, is_packed: bool) -> Callable[[], None]:
    """Return an update of the plain model."""
    model = PlainRecurrent(config, is_packed=is_packed).to(device).train()
    adam = torch.optim.AdamW(model.parameters(), lr=RATE, fused=True)

    def update() -> None:
        adam.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
            loss = model(batch.source, batch.target)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP, foreach=True)
        adam.step()

    return update


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--preset", default="tiny")
    parser.add_argument("--cell", default="lstm", choices=("gru", "lstm"))
    parser.add_argument("--batch-tokens", type=int, default=2048)
    parser.add_argument("--length", type=int, default=32, help="longest sentence in tokens")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--updates", type=int, default=None, help="updates of a round")
    options = parser.parse_args()
    device, count = options.device, options.updates or (20 if options.device == "cuda" else 2)
    torch.set_float32_matmul_precision("high")
    config = preset(
        options.preset, source_vocabulary=VOCABULARY, architecture="recurrent", cell=options.cell, has_residuals=False
    )
    batch = make_batch(options.batch_tokens, options.length, device)
    assert batch.target is not None
    num_tokens = int((batch.target != 0).sum())
    updates: dict[str, Callable[[], None]] = {
        "plain PyTorch, padded": plain(config, batch, device, is_packed=False),
        "plain PyTorch, packed": plain(config, batch, device, is_packed=True),
        "clearhead": ours(config, batch, device, is_compiled=False),
    }
    if device == "cuda":
        updates["clearhead, compiled loss"] = ours(config, batch, device, is_compiled=True)
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
        f"preset {options.preset}, {options.cell}, vocabulary {VOCABULARY:,}; {num_tokens:,} target tokens in "
        f"{len(batch.target)} rows of {options.length}; median of {options.rounds} rounds of {count}"
    )
    print("\n| model | target tokens/s | × plain PyTorch, packed |\n|---|---:|---:|")
    for name, speed in speeds.items():
        print(f"| {name} | {speed:,.0f} | {speed / speeds['plain PyTorch, packed']:.2f} |")


if __name__ == "__main__":
    main()
