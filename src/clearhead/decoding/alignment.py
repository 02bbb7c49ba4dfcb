"""Align target tokens with source tokens by cross-attention, in Pharaoh format: `0-0 1-2 2-1`.

Each target token has two decoder positions: the one where it is predicted, and the next one, where it is the input.
The second one usually attends to the right source token more often, so it is the default. torch is only imported to
run a PyTorch model: the NumPy engine has its own attention.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clearhead.decoding.word_alignment import Links
from clearhead.errors import ConfigError

if TYPE_CHECKING:
    from torch import Tensor

    from clearhead.model import SequenceModel
    from clearhead.model.config import ModelConfig
    from clearhead.model.numpy_transformer import Array


@dataclass(frozen=True)
class Head:
    """A cross-attention head of the decoder, both numbers counted from 0; `head=None` is the mean over the heads."""

    block: int
    head: int | None = None

    @staticmethod
    def usual(config: "ModelConfig") -> "Head":
        """Return the mean over the heads of the second-to-last layer: the default when no head was chosen on data.

        Layers of a pruned model that have lost all heads do not count.
        """
        layers = [layer for layer, count in enumerate(cross_attention_heads(config)) if count]
        if not layers:
            raise ConfigError(
                "this model has no attention to the source, so that there is no alignment. Translate without it.",
                options=("align", "draw"),
            )
        return Head(layers[-2] if len(layers) > 1 else layers[0])

    @property
    def value(self) -> str:
        """The head as an option takes it, counted from 0: `5.3`, or `5` for the mean over the heads of a layer."""
        return f"{self.block}" if self.head is None else f"{self.block}.{self.head}"

    def __str__(self) -> str:
        """Return the head as people read it, counted from 1: `decoder layer 6, head 4`."""
        return f"decoder layer {self.block + 1}, {'mean of heads' if self.head is None else f'head {self.head + 1}'}"


@dataclass(frozen=True)
class AlignmentRule:
    """The head to read alignments from, and the position: where a token is the input (shifted) or predicted."""

    head: Head
    is_shifted: bool = True

    @staticmethod
    def usual(config: "ModelConfig", head: Head | None = None) -> "AlignmentRule":
        """Return the default: the usual head, where a token is the input.

        A recurrent decoder attends to the source for the token that it predicts, so there it is that position.
        """
        return AlignmentRule(Head.usual(config) if head is None else head, config.architecture != "recurrent")

    def __str__(self) -> str:
        return f"{self.head}, at the position where the token is {'the input' if self.is_shifted else 'predicted'}"


@dataclass(frozen=True, eq=False)
class CrossAttention:
    """The weights (H, T + 1, S) of every layer for one sentence and one translation.

    The layers of a pruned model can have different numbers of heads. Row t is the output of the decoder after t tokens:
    its input is token t - 1, and it predicts token t.
    """

    weights: "Sequence[Tensor] | Sequence[Array]"

    def rows(self, head: Head, *, is_shifted: bool = True) -> "Tensor | Array":
        """Return the weights (T, S) of each target token, where it is the input (shifted) or where it is predicted."""
        block = self.weights[head.block]
        chosen: Tensor | Array = block.mean(0) if head.head is None else block[head.head]
        return chosen[1:] if is_shifted else chosen[:-1]


def cross_attention(model: "SequenceModel", source: "Tensor", targets: Sequence[Sequence[int]]) -> list[CrossAttention]:
    """Return the cross-attention of several translations of one sentence (S,), in a single traced pass."""
    import torch

    from clearhead.model.probe import Probe
    from clearhead.model.tracing import PartTrace

    longest = max(len(target) for target in targets)
    inputs = source.new_full((len(targets), longest + 1), model.config.pad)
    inputs[:, 0] = model.config.start_id
    for row, target in enumerate(targets):
        inputs[row, 1 : len(target) + 1] = source.new_tensor(list(target))
    memory = model.encode(source[None])
    first_row = torch.zeros(len(targets), dtype=torch.long, device=source.device)  # all have the same source
    trace = PartTrace(("decoder.*.cross_attention",))
    model.decode_states(inputs, memory.reorder(first_row), probe=Probe(trace))
    heads = [record.value for record in trace.find("softmax")]  # layer by layer, head by head: (N, T + 1, S) each
    if model.config.architecture == "recurrent":  # token by token, (N, 1, S) each
        heads = [torch.cat(heads, dim=1)] if heads else []
    nothing = inputs.new_empty(*inputs.shape, len(source), dtype=model.dtype)
    layers, first = [], 0
    for count in cross_attention_heads(model.config):
        layers.append(torch.stack(heads[first : first + count] or [nothing])[:count])  # (H, N, T + 1, S)
        first += count
    return [
        CrossAttention([layer[:, row, : len(target) + 1] for layer in layers]) for row, target in enumerate(targets)
    ]


def cross_attention_heads(config: "ModelConfig") -> list[int]:
    """Return the number of cross-attention heads of every decoder layer."""
    return [config.num_heads_at(f"decoder.{layer}.cross_attention") for layer in range(config.decoder_blocks)]


def align_by_rules(
    model: "SequenceModel", source: "Tensor", target: Sequence[int], rules: Sequence[AlignmentRule]
) -> list[Links]:
    """Return the links of one translation by each of several rules, in a single traced pass."""
    eos = model.config.eos
    tokens = without_eos(target, eos)
    if not tokens or len(source) < 2:
        return [()] * len(rules)
    attention = cross_attention(model, source, [tokens])[0]
    return [links_by_rule(attention, rule, has_eos=int(source[-1]) == eos) for rule in rules]


def without_eos(target: Sequence[int], eos: int) -> list[int]:
    """Return the tokens of a translation without the end token."""
    return list(target[:-1]) if target and target[-1] == eos else list(target)


def links_by_rule(attention: CrossAttention, rule: AlignmentRule, *, has_eos: bool) -> Links:
    """Return the links (source, target) of one translation; with `has_eos`, the last source token is not linked."""
    rows = attention.rows(rule.head, is_shifted=rule.is_shifted)
    best = (rows[:, :-1] if has_eos else rows).argmax(-1)  # the source token that each target token attends to most
    return tuple((int(place), number) for number, place in enumerate(best.tolist()))


def every_rule(model: "SequenceModel") -> list[AlignmentRule]:
    """Return every possible rule: each head, and the mean over the heads of each layer, with either position."""
    counts = cross_attention_heads(model.config)
    places = [Head(block, head) for block, count in enumerate(counts) if count for head in (None, *range(count))]
    return [AlignmentRule(place, is_shifted) for place in places for is_shifted in (True, False)]


@dataclass(frozen=True)
class RatedRule:
    """A rule, and the error rate of its links on some data."""

    rule: AlignmentRule
    error: float


def rate_rules(
    model: "SequenceModel",
    pairs: "Sequence[tuple[Tensor, Sequence[int]]]",
    error_rate: Callable[[Sequence[Links]], float],
) -> list[RatedRule]:
    """Rate every rule on pairs of a sentence (S,) and its translation; return them with the lowest error first."""
    rules = every_rule(model)
    links_by_pair = [align_by_rules(model, source, target, rules) for source, target in pairs]
    rated = [
        RatedRule(rule, error_rate([links_by_rule[index] for links_by_rule in links_by_pair]))
        for index, rule in enumerate(rules)
    ]
    return sorted(rated, key=lambda rated_rule: rated_rule.error)
