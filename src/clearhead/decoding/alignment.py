"""Which source token each target token came from, read off cross-attention, in Pharaoh format: `0-0 1-2 2-1`.

The row that reads a token attends to its source better than the row that writes it, one row earlier; so the row that
reads it is taken, unless the other is asked for.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from clearhead.decoding.word_alignment import Links
from clearhead.model import SequenceModel
from clearhead.model.tracing import PartTrace


@dataclass(frozen=True)
class Head:
    """Where alignments are read: a block of the decoder, and one of its heads (None: the mean of them)."""

    block: int
    head: int | None = None

    @staticmethod
    def usual(model: SequenceModel) -> "Head":
        """Return the mean of the heads of the last block but one: the best guess, where no data has chosen."""
        return Head(max(0, model.config.decoder_blocks - 2))


@dataclass(frozen=True)
class AlignmentRule:
    """How alignments are read: from which head, and from the row that reads a token (shifted) or that writes it."""

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


def cross_attention(model: SequenceModel, source: Tensor, targets: Sequence[Sequence[int]]) -> list[CrossAttention]:
    """Return the cross-attention of translations of one sentence (S,), in one traced pass over all of them."""
    longest = max(len(target) for target in targets)
    inputs = source.new_full((len(targets), longest + 1), model.config.pad)
    inputs[:, 0] = model.config.start_id
    for row, target in enumerate(targets):
        inputs[row, 1 : len(target) + 1] = source.new_tensor(list(target))
    memory = model.encode(source[None])
    first_row = torch.zeros(len(targets), dtype=torch.long, device=source.device)  # all share the one sentence
    trace = PartTrace(("decoder.*.cross_attention",))
    model.decode_states(inputs, memory.reorder(first_row), trace=trace)
    heads = [record.value for record in trace.find("softmax")]  # block by block, head by head: (N, T + 1, S) each
    num_heads = model.config.num_heads
    blocks = [torch.stack(heads[first : first + num_heads]) for first in range(0, len(heads), num_heads)]
    weights = torch.stack(blocks).movedim(2, 0)  # (N, blocks, H, T + 1, S)
    return [CrossAttention(weights[row, :, :, : len(target) + 1]) for row, target in enumerate(targets)]


def links(weights: Tensor) -> Links:
    """Return for each target token the source token it attends to most, as (source, target) places."""
    return tuple((int(place), number) for number, place in enumerate(weights.argmax(dim=-1).tolist()))


def align(model: SequenceModel, source: Tensor, target: Sequence[int], rule: AlignmentRule | None = None) -> Links:
    """Return the links of a translation of one sentence (S,), by the usual rule if none is given; no end is linked."""
    return align_by_rules(model, source, target, [rule or AlignmentRule(Head.usual(model))])[0]


def align_by_rules(
    model: SequenceModel, source: Tensor, target: Sequence[int], rules: Sequence[AlignmentRule]
) -> list[Links]:
    """Return the links of one translation by several rules, in one traced pass."""
    eos = model.config.eos
    tokens = list(target[:-1]) if target and target[-1] == eos else list(target)
    if not tokens or len(source) < 2:
        return [()] * len(rules)
    attention = cross_attention(model, source, [tokens])[0]
    weights = (attention.rows(rule.head, is_shifted=rule.is_shifted) for rule in rules)
    return [links(rows[:, :-1] if int(source[-1]) == eos else rows) for rows in weights]


def every_rule(model: SequenceModel) -> list[AlignmentRule]:
    """Return all that can be chosen from: each head and each mean of a block's heads, by either row."""
    blocks, heads = model.config.decoder_blocks, model.config.num_heads
    places = [Head(block, head) for block in range(blocks) for head in (None, *range(heads))]
    return [AlignmentRule(place, is_shifted) for place in places for is_shifted in (True, False)]


@dataclass(frozen=True)
class RatedRule:
    """A rule, and the error of its links on data."""

    rule: AlignmentRule
    error: float


def rate_rules(
    model: SequenceModel,
    pairs: Sequence[tuple[Tensor, Sequence[int]]],
    error_rate: Callable[[Sequence[Links]], float],
) -> list[RatedRule]:
    """Return every rule, that of the least error on data first: sentences (S,) and their translations."""
    rules = every_rule(model)
    links_by_pair = [align_by_rules(model, source, target, rules) for source, target in pairs]
    rated = [
        RatedRule(rule, error_rate([links_by_rule[index] for links_by_rule in links_by_pair]))
        for index, rule in enumerate(rules)
    ]
    return sorted(rated, key=lambda rated_rule: rated_rule.error)
