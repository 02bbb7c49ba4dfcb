"""The output tokens of a traced pass: the probability, the alternatives and the logit lens of each.

The logit lens is the distribution that the output layer would give at each layer of a model: the states of the layer
are normalised by the last norm of the model, if it has one, and projected to logits. After the last layer this is the
model's own distribution; before it, the numbers are a view that the model was not trained for.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from clearhead.explain.traced_pass import TracedPass
from clearhead.model import SequenceModel, Transformer

Spelling = Callable[[Sequence[int]], Sequence[str]]  # returns the piece of each token id, or the label of each class
_NUM_OF_LENS = 3  # most probable tokens of each layer


@dataclass(frozen=True)
class RankedToken:
    """A token (or a class), its piece (or label) and its probability."""

    token: int
    piece: str
    probability: float


@dataclass(frozen=True)
class LensLayer:
    """What a layer would predict: the probability and rank (0 is the best) of a token, and the most probable tokens.

    Layer 0 is the embedding, layer 1 the output of the first layer.
    """

    layer: int
    probability: float
    rank: int
    best: tuple[RankedToken, ...]


@dataclass(frozen=True)
class ExplainedToken:
    """An output token (or a class): its probability, the alternatives, and what each layer would have predicted."""

    position: int
    token: int
    piece: str
    probability: float
    log_prob: float
    rank: int  # 0 is the most probable
    alternatives: tuple[RankedToken, ...]
    lens: tuple[LensLayer, ...]
    decided_at: int | None


def explained_outputs(
    model: SequenceModel, traced: TracedPass, tokens: Sequence[int], spelling: Spelling, number: int
) -> tuple[ExplainedToken, ...]:
    """Explain tokens, one for each row of the logits, or classes, which share a single row."""
    own = torch.tensor(list(tokens), device=traced.logits.device)[:, None]
    logits = traced.allowed(traced.logits).expand(len(tokens), -1)  # (T, V)
    probabilities = torch.softmax(logits, dim=-1)
    probability = probabilities.gather(1, own)
    log_probs = torch.log_softmax(logits, dim=-1).gather(1, own)[:, 0].tolist()
    ranks = (probabilities > probability).sum(dim=1).tolist()
    alternatives = ranked(probabilities, number, spelling)
    lens = logit_lens(model, traced, list(tokens), spelling)
    return tuple(
        ExplainedToken(
            position=position,
            token=token,
            piece=spelling([token])[0],
            probability=float(probability[position, 0]),
            log_prob=log_probs[position],
            rank=ranks[position],
            alternatives=alternatives[position],
            lens=tuple(lens[position]),
            decided_at=decided_at(lens[position]),
        )
        for position, token in enumerate(tokens)
    )


def ranked(probabilities: Tensor, number: int, spelling: Spelling) -> list[tuple[RankedToken, ...]]:
    """Return the `number` most probable tokens of each row (T, V), best first."""
    best = probabilities.topk(min(number, probabilities.shape[-1]))
    return [
        tuple(map(RankedToken, tokens, spelling(tokens), values))
        for tokens, values in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]


def logit_lens(
    model: SequenceModel, traced: TracedPass, tokens: list[int], spelling: Spelling
) -> list[list[LensLayer]]:
    """Return the lens of every token (T tokens × L + 1 layers); `tokens` are classes if the model is a classifier.

    Only a Transformer has a residual stream that the output layer could read: for other models the lens is empty.
    """
    rows: list[list[LensLayer]] = [[] for _ in tokens]
    if not isinstance(model, Transformer):
        return rows
    for layer, logits in enumerate(lens_logits(model, traced)):
        probabilities = torch.softmax(traced.allowed(logits), dim=-1)
        if len(probabilities) == 1:
            probabilities = probabilities.expand(len(tokens), -1)  # every class has the same distribution
        own = probabilities.gather(1, torch.tensor(tokens, device=logits.device)[:, None])
        ranks = (probabilities > own).sum(dim=1).tolist()
        best = ranked(probabilities, _NUM_OF_LENS, spelling)
        for row, probability, rank, top in zip(rows, own[:, 0].tolist(), ranks, best, strict=True):
            row.append(LensLayer(layer, probability, rank, top))
    return rows


def lens_logits(model: Transformer, traced: TracedPass) -> list[Tensor]:
    """Return the logits (T, V) of every layer, from the embedding to the last layer, whose logits are the model's."""
    is_classifier = traced.decoder_states is None
    stack, states = (model.encoder, traced.encoder_states) if is_classifier else (model.decoder, traced.decoder_states)
    assert stack is not None
    assert states is not None
    logits = []
    with torch.no_grad():
        for layer in states[:-1]:
            x = torch.from_numpy(layer).to(traced.logits.device)[None]
            x = x if stack.last_norm is None else stack.last_norm(x, None)
            logits.append(model.project(x.mean(dim=1, keepdim=True) if is_classifier else x)[0])
    return [*logits, traced.logits]


def decided_at(lens: list[LensLayer]) -> int | None:
    """Return the first layer from which on the token is the most probable one; None if it is not at the last layer."""
    first = None
    for layer in reversed(lens):
        if layer.rank > 0:
            break
        first = layer.layer
    return first
