"""Three estimates of how much each input token contributed to each output token, and where they disagree.

attention_norm: the norm of what cross-attention carries from a source token (Kobayashi et al., 2020)
gradient_input: the gradient of log P of the output token times the embedding of the input token
leave_out: the change of log P if a word is left out
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.attention import SDPBackend, sdpa_kernel

from clearhead.decoding.scoring import token_log_probs
from clearhead.explain.token_row import TokenRow
from clearhead.explain.traced_pass import AttentionStack, complete_model, to_array
from clearhead.model.base import SequenceModel
from clearhead.model.batch import Batch, padded
from clearhead.worksheet.arrays import Array

Method = Literal["attention_norm", "gradient_input", "leave_out"]
METHODS: Mapping[Method, str] = {
    "attention_norm": "The length of the vector that attention carries from a token: ‖Σ over heads of weight × value × "
    "W_O‖ in the row that predicts the output token, as a share of the row, mean over layers. What the encoder "
    "wrote at a token's place counts as this token, although its layers have already mixed the tokens.",
    "gradient_input": "The gradient of log P of the output token with respect to the embedding of an input token, "
    "times that embedding: how log P would change, to first order, if the embedding grew. Signed, in nats.",
    "leave_out": "log P of the output token minus its log P if the word is left out of the input, with the same output "
    "before it. Signed, in nats.",
}
_GRADIENT_ROWS = 16  # output tokens whose gradients are computed together
_MAX_LOGITS = 2**24  # numbers in one batch of logits


@dataclass(frozen=True)
class Disagreement:
    """The top word of each method (None without words), and the rank correlation of each pair of methods."""

    top: Mapping[Method, int | None]
    agreement: Mapping[str, float | None]

    @property
    def is_disputed(self) -> bool:
        """Whether the methods do not all name the same top word."""
        return len(set(self.top.values())) > 1


def disagreement(contributions: Mapping[Method, Array]) -> Disagreement:
    """Compare the absolute contributions (words,) of the methods to one output token."""
    sizes = {method: np.abs(values) for method, values in contributions.items()}
    top = {method: int(values.argmax()) if values.any() else None for method, values in sizes.items()}
    methods = list(sizes)
    agreement = {
        f"{one}/{other}": rank_correlation(sizes[one], sizes[other])
        for index, one in enumerate(methods)
        for other in methods[index + 1 :]
    }
    return Disagreement(top, agreement)


def rank_correlation(one: Array, other: Array) -> float | None:
    """Return Spearman's rank correlation, with mean ranks for ties; None if either side is constant."""
    ranks = [_ranks(values) - (len(values) - 1) / 2 for values in (one, other)]
    product = float(np.sqrt((ranks[0] ** 2).sum() * (ranks[1] ** 2).sum()))
    return float((ranks[0] * ranks[1]).sum()) / product if product > 0 else None


def _ranks(values: Array) -> Array:
    smaller = (values[:, None] > values).sum(axis=1)
    equal = (values[:, None] == values).sum(axis=1)
    ranks: Array = smaller + (equal - 1) / 2
    return ranks


def attention_norms(stack: AttentionStack) -> Array:
    """Return (L, Q, K): ‖Σ_h a_h(q, k) v_h(k) W_O,h‖, each row divided by its sum.

    Layers that have lost all heads are left out; if all have, the norms are zeros.
    """
    layers = []
    with_heads = sorted({layer for layer, _ in stack.kept}) or list(range(stack.num_layers))
    parts = (stack.weights[with_heads], stack.v[with_heads], stack.outputs[with_heads])
    for weights, v, output in zip(*parts, strict=True):
        per_head = output.reshape(len(v), v.shape[-1], output.shape[-1])  # (H, E, D)
        carried = v @ per_head  # (H, K, D)
        norms = [
            np.linalg.norm(np.einsum("hk,hkd->kd", weights[:, row], carried), axis=1) for row in range(weights.shape[1])
        ]
        layers.append(norms)
    stacked = np.array(layers)
    total = stacked.sum(axis=-1, keepdims=True)
    shares: Array = np.divide(stacked, total, out=np.zeros_like(stacked), where=total > 0)
    return shares


class _LastLogits(nn.Module):
    """A model whose forward returns only the logits of the last outputs: the others would cost most of a gradient."""

    def __init__(self, model: SequenceModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, places: Tensor, answers: Tensor, first: int) -> Tensor:
        """Return the logits (T - first, V) of the answers (1, T) from `first` on, or (1, C) of a classifier.

        A model without an encoder reads the places (1, T) as its input.
        """
        model = self.model
        if model.can_classify:
            logits: Tensor = model(Batch(places, is_padded=False))
            return logits
        memory = model.encode(places, is_padded=False) if model.can_translate else None
        states = model.decode_states(places if memory is None else model.shifted(answers), memory)
        return model.project(states[0, first:])


def gradients(model: SequenceModel, source: Sequence[int] | None, target: Sequence[int]) -> Array:
    """Return gradient · input (T, S): of log P of each target token by the embedding of each source token.

    Without a source, the inputs of the decoder take its place. For a classifier, `target` has the classes. Every input
    position has its own copy of its embedding, so that a repeated token has a gradient for each place.
    """
    model = complete_model(model)  # without any heads to the source, there would be no path for a gradient
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    answers = torch.tensor([list(target)], device=model.device)
    inputs = model.shifted(answers)[0] if source is None else torch.tensor(list(source), device=model.device)
    rows = embeddings_of(model, inputs).clone().requires_grad_()
    chunks = []
    for first in range(0, len(target), _GRADIENT_ROWS):
        # later tokens have no influence on those of the chunk, so that they need not be read
        log_probs = _log_probs_of_rows(model, rows, answers[:, : first + _GRADIENT_ROWS], first)
        gradient = _gradients_of_all(log_probs, rows, is_batched=model.config.architecture != "recurrent")
        chunks.append(to_array((gradient * rows).sum(dim=-1)))
    return np.concatenate(chunks)


def embeddings_of(model: SequenceModel, ids: Tensor) -> Tensor:
    """Return the embeddings (T, D) of the ids (T,) that a model reads: of its source, or of its text."""
    table: Tensor = model.state_dict()[f"{_input_side(model)}.embedding.weight"]
    return table[ids]


def _input_side(model: SequenceModel) -> str:
    return "decoder" if model.can_continue_text else "encoder"


def _gradients_of_all(log_probs: Tensor, rows: Tensor, *, is_batched: bool) -> Tensor:
    """Return the gradients (T, S, D) of each of the log-probabilities (T,) by the embeddings (S, D)."""
    if is_batched:
        chosen = torch.eye(len(log_probs), dtype=rows.dtype, device=rows.device)
        (gradient,) = torch.autograd.grad(log_probs, rows, chosen, is_grads_batched=True)
        return gradient
    # the kernels of recurrent cells on a GPU have no gradients in batches
    return torch.stack([torch.autograd.grad(log_prob, rows, retain_graph=True)[0] for log_prob in log_probs])


def _log_probs_of_rows(model: SequenceModel, rows: Tensor, answers: Tensor, first: int) -> Tensor:
    """Return log P (T - first,) of the answers (1, T) from `first` on; row i of `rows` is the embedding of input i."""
    num_inputs = answers.shape[1] if model.can_continue_text else len(rows)
    places = torch.arange(num_inputs, device=rows.device)[None]
    name = f"model.{_input_side(model)}.embedding.weight"
    with sdpa_kernel(SDPBackend.MATH):  # the others have no gradients in batches
        logits = functional_call(_LastLogits(model), {name: rows}, (places, answers, first), tie_weights=False)
    log_probs = torch.log_softmax(logits, dim=-1)
    chosen = answers[0, first:, None]
    own: Tensor = log_probs.expand(len(chosen), -1).gather(1, chosen)[:, 0]
    return own


def leave_out(model: SequenceModel, sources: Sequence[Sequence[int]], target: Sequence[int]) -> Array:
    """Return log P (N, T) of the target's tokens after each of several sources, in batches."""
    most = max(1, _MAX_LOGITS // (len(target) * model.config.target_size))
    rows = []
    with torch.no_grad():
        for first in range(0, len(sources), most):
            batch = padded(sources[first : first + most], model.config.pad, model.device)
            targets = torch.tensor([list(target)], device=model.device).expand(len(batch), -1)
            rows.append(to_array(token_log_probs(model, batch, targets)))
    return np.concatenate(rows) if rows else np.zeros((0, len(target)))


def leave_out_of_text(model: SequenceModel, text: TokenRow) -> Array:
    """Return (T, W) for a language model: log P of each token minus its log P without an earlier word, else 0."""
    differences = np.zeros((len(text), len(text.words)))
    ids = list(text.ids)
    log_probs = _text_log_probs(model, [ids])[0]
    words = range(len(text.words))
    remaining = [[token for token in range(len(ids)) if text.word_of[token] != word] for word in words]
    others = _text_log_probs(model, [[ids[token] for token in tokens] for tokens in remaining])
    for word, (tokens, own) in enumerate(zip(remaining, others, strict=True)):
        start = text.word_of.index(word)
        for token, log_prob in zip(tokens, own, strict=False):
            if token > start:
                differences[token, word] = log_probs[token] - log_prob
    return differences


def _text_log_probs(model: SequenceModel, texts: Sequence[Sequence[int]]) -> list[list[float]]:
    with torch.no_grad():
        return [
            token_log_probs(model, None, torch.tensor([list(text)], device=model.device))[0].tolist() if text else []
            for text in texts
        ]


def leave_out_of_classes(model: SequenceModel, sources: Sequence[Sequence[int]]) -> Array:
    """Return log P (N, C) of every class for each of several sources."""
    with torch.no_grad():
        logits = model(Batch(padded(sources, model.config.pad, model.device)))
        return to_array(torch.log_softmax(logits, dim=-1))
