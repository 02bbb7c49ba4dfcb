"""Which source token each target token came from, read off cross-attention, in Pharaoh format: `0-0 1-2 2-1`.

The row that reads a token attends to its source better than the row that writes it, one row earlier; so the row that
reads it is taken, unless the other is asked for.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from clearhead.model import Transformer
from clearhead.model.tracing import PartTrace


@dataclass(frozen=True)
class Head:
    """Where alignments are read: a block of the decoder, and one of its heads (None: the mean of them)."""

    block: int
    head: int | None = None

    @staticmethod
    def usual(model: Transformer) -> "Head":
        """Return the mean of the heads of the last block but one: the best guess, where no data has chosen."""
        return Head(max(0, model.config.decoder_blocks - 2))


@dataclass(frozen=True)
class Reading:
    """How alignments are read: off which head, and off the row that reads a token (shifted) or that writes it."""

    head: Head
    is_shifted: bool = True

    def __str__(self) -> str:
        head = "the mean of its heads" if self.head.head is None else f"head {self.head.head}"
        return f"block {self.head.block}, {head}, the row that {'reads' if self.is_shifted else 'writes'} a token"


@dataclass(frozen=True, eq=False)
class CrossAttention:
    """The weights of every block and head (blocks, H, T + 1, S) over one sentence and one translation.

    Row t is what the decoder gave when it had read t tokens: it writes token t, and reads token t - 1.
    """

    weights: Tensor

    def rows(self, head: Head, *, is_shifted: bool = True) -> Tensor:
        """Return the weights (T, S) of each target token: of the row that reads it, or else that writes it."""
        block = self.weights[head.block]
        chosen = block.mean(dim=0) if head.head is None else block[head.head]
        return chosen[1:] if is_shifted else chosen[:-1]


def cross_attention(model: Transformer, source: Tensor, targets: Sequence[Sequence[int]]) -> list[CrossAttention]:
    """Return the cross-attention of translations of one sentence (S,), in one traced pass over all of them."""
    longest = max(len(target) for target in targets)
    read = source.new_full((len(targets), longest + 1), model.config.pad)
    read[:, 0] = model.config.start_id
    for row, target in enumerate(targets):
        read[row, 1 : len(target) + 1] = source.new_tensor(list(target))
    memory = model.encode(source[None])
    each = torch.zeros(len(targets), dtype=torch.long, device=source.device)
    trace = PartTrace(("decoder.*.cross_attention",))
    model.decode_states(read, memory.reorder(each), trace=trace)
    heads = [record.value for record in trace.find("softmax")]  # block by block, head by head: (N, T + 1, S) each
    num_heads = model.config.num_heads
    blocks = [torch.stack(heads[first : first + num_heads]) for first in range(0, len(heads), num_heads)]
    whole = torch.stack(blocks).movedim(2, 0)  # (N, blocks, H, T + 1, S)
    return [CrossAttention(whole[row, :, :, : len(target) + 1]) for row, target in enumerate(targets)]


Links = tuple[tuple[int, int], ...]


def links(weights: Tensor) -> Links:
    """Return for each target token the source token it attends to most, as (source, target) places."""
    return tuple((int(place), number) for number, place in enumerate(weights.argmax(dim=-1).tolist()))


def pharaoh(pairs: Links) -> str:
    """Write links as `source-target` places, sorted."""
    return " ".join(f"{source}-{target}" for source, target in sorted(pairs))


def align(
    model: Transformer,
    source: Tensor,
    target: Sequence[int],
    head: Head | None = None,
    *,
    is_shifted: bool = True,
) -> Links:
    """Return the links of a translation of one sentence (S,); neither end is linked."""
    reading = Reading(Head.usual(model) if head is None else head, is_shifted)
    return align_each(model, source, target, [reading])[0]


def align_each(model: Transformer, source: Tensor, target: Sequence[int], readings: Sequence[Reading]) -> list[Links]:
    """Return the links of one translation by several readings, in one traced pass."""
    eos = model.config.eos
    words = list(target[:-1]) if target and target[-1] == eos else list(target)
    if not words or len(source) < 2:
        return [()] * len(readings)
    seen = cross_attention(model, source, [words])[0]
    each = (seen.rows(reading.head, is_shifted=reading.is_shifted) for reading in readings)
    return [links(rows[:, :-1] if int(source[-1]) == eos else rows) for rows in each]


def every_reading(model: Transformer) -> list[Reading]:
    """Return all that can be chosen from: each head and each mean of a block's heads, by either row."""
    blocks, heads = model.config.decoder_blocks, model.config.num_heads
    places = [Head(block, head) for block in range(blocks) for head in (None, *range(heads))]
    return [Reading(place, is_shifted) for place in places for is_shifted in (True, False)]


@dataclass(frozen=True)
class Rated:
    """A reading, and the error of its links on data."""

    reading: Reading
    error: float


def choose_head(
    model: Transformer,
    pairs: Sequence[tuple[Tensor, Sequence[int]]],
    error_rate: Callable[[Sequence[Links]], float],
) -> list[Rated]:
    """Return every reading, that of the least error on data first: sentences (S,) and their translations."""
    readings = every_reading(model)
    each = [align_each(model, source, target, readings) for source, target in pairs]
    made = [Rated(reading, error_rate([row[place] for row in each])) for place, reading in enumerate(readings)]
    return sorted(made, key=lambda rated: rated.error)
