"""How much every attention head of a model matters: by the gradient of its gate, and by removing it.

Losses are in nats per token, so that the importance |∂loss/∂gate| estimates the change of the loss to first order.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from clearhead.evaluation.scores import Score
from clearhead.explain.token_pairs import Advance, TokenPair, no_progress, read_batches
from clearhead.model import Batch, SequenceModel
from clearhead.model.base import Memory
from clearhead.model.gates import Gates
from clearhead.model.heads import AttentionHead, attention_places, every_head
from clearhead.model.modes import evaluation_mode
from clearhead.model.probe import NO_PROBE, Probe
from clearhead.text.tokeniser import Vocabularies
from clearhead.worksheet.arrays import Array


@dataclass(frozen=True, eq=False)
class SentenceLosses:
    """The summed loss of every sentence in nats, and its number of tokens."""

    totals: Array  # (N,)
    num_tokens: Array  # (N,)

    @property
    def mean(self) -> float:
        """The loss per token over all sentences."""
        return float(self.totals.sum() / self.num_tokens.sum())


def head_importance(
    model: SequenceModel, pairs: Sequence[TokenPair], advance: Advance = no_progress
) -> dict[AttentionHead, float]:
    """Return mean |∂loss/∂gate| of every head over the sentences (Michel et al., 2019); the gates are 1.

    The loss is that of one sentence, per token. Every sentence has its own gates, so that one backward pass gives the
    gradients of a whole batch sentence by sentence.
    """
    num_heads = {where: model.config.num_heads_at(where) for where in attention_places(model.config)}
    totals = {where: torch.zeros(count, dtype=torch.float64) for where, count in num_heads.items() if count}
    with evaluation_mode(model), torch.enable_grad():
        for indices, batch in read_batches(model, pairs, advance):
            gates = {
                where: torch.ones(len(indices), num_heads[where], device=model.device, requires_grad=True)
                for where in totals
            }
            losses = _losses(model, batch, Probe(gates=Gates(gates)))
            gradients = torch.autograd.grad((losses / _num_tokens(model, batch)).sum(), list(gates.values()))
            for total, gradient in zip(totals.values(), gradients, strict=True):
                total += gradient.double().abs().sum(dim=0).cpu()
    return {head: float(totals[head.where][head.number]) / len(pairs) for head in every_head(model.config)}


def mean_loss(model: SequenceModel, pairs: Sequence[TokenPair]) -> float:
    """Return the loss of a model in nats per token."""
    total, num_tokens = 0.0, 0
    with evaluation_mode(model), torch.inference_mode():
        for _, batch in read_batches(model, pairs):
            total += float(_losses(model, batch).sum())
            num_tokens += int(_num_tokens(model, batch).sum())
    return total / num_tokens


def loss_score(loss: float, num_sentences: int, vocabularies: Vocabularies) -> Score:
    """Return a loss in nats per token with its signature."""
    signature = f"unit:token|log:e|eos:yes|sentences:{num_sentences}|vocabulary:{vocabularies.digest[:12]}"
    return Score("loss", loss, signature, is_higher_better=False)


def losses_without(
    model: SequenceModel, pairs: Sequence[TokenPair], advance: Advance = no_progress
) -> dict[AttentionHead | None, SentenceLosses]:
    """Return the losses of the sentences without each head, and those of the unchanged model under None."""
    return _losses_by_head(model, pairs, _without, advance)


def losses_alone(
    model: SequenceModel, pairs: Sequence[TokenPair], advance: Advance = no_progress
) -> dict[AttentionHead | None, SentenceLosses]:
    """Return the losses of the sentences if each head is the only one of its attention layer; None: unchanged."""
    return _losses_by_head(model, pairs, lambda head, num_heads: 1.0 - _without(head, num_heads), advance)


def _without(head: AttentionHead, num_heads: int) -> Tensor:
    """Return the gates (H,) of a layer without one head."""
    gates = torch.ones(num_heads)
    gates[head.number] = 0.0
    return gates


def _losses_by_head(
    model: SequenceModel,
    pairs: Sequence[TokenPair],
    layer_gates: Callable[[AttentionHead, int], Tensor],
    advance: Advance,
) -> dict[AttentionHead | None, SentenceLosses]:
    choices: list[AttentionHead | None] = [None, *every_head(model.config)]
    probes: dict[AttentionHead | None, Probe] = {None: NO_PROBE}
    for own in every_head(model.config):
        gate = layer_gates(own, model.config.num_heads_at(own.where)).to(model.device)
        probes[own] = Probe(gates=Gates({own.where: gate}))
    totals, num_tokens = np.zeros((len(choices), len(pairs))), np.zeros(len(pairs))
    with evaluation_mode(model), torch.inference_mode():
        batches = list(read_batches(model, pairs))
        for number, (indices, batch) in enumerate(batches):
            num_tokens[indices] = _num_tokens(model, batch).cpu().numpy()
            memory = None if batch.source is None else model.encode(batch.source)  # gates of the decoder leave it alone
            for row, head in enumerate(choices):
                advance(number * len(choices) + row, len(batches) * len(choices))
                is_in_encoder = head is not None and head.kind.startswith("encoder")
                losses = _losses(model, batch, probes[head], None if is_in_encoder else memory)
                totals[row, indices] = losses.cpu().numpy()
    return {head: SentenceLosses(totals[row], num_tokens) for row, head in enumerate(choices)}


def _losses(model: SequenceModel, batch: Batch, probe: Probe = NO_PROBE, memory: Memory | None = None) -> Tensor:
    """Return the summed cross-entropy of every sentence (B,) in float64; without a `memory` the source is encoded."""
    assert batch.target is not None
    if memory is None and batch.source is not None:
        memory = model.encode(batch.source, probe=probe)
    logits = model.decode(model.shifted(batch.target), memory, probe=probe)  # (B, T, V)
    wide = torch.promote_types(logits.dtype, torch.float32)
    own = torch.log_softmax(logits, dim=-1, dtype=wide).gather(-1, batch.target[..., None])[..., 0].double()
    return -own.masked_fill(batch.target == model.config.pad, 0.0).sum(dim=1)


def _num_tokens(model: SequenceModel, batch: Batch) -> Tensor:
    """Return the number of predicted tokens of every sentence (B,)."""
    assert batch.target is not None
    return (batch.target != model.config.pad).sum(dim=1)
