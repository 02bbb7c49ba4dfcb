"""Operations that are one recorded step each: they compute a value and record it, if there is a trace."""

from collections.abc import Callable, Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.steps import Tracer
from clearhead.steps.symbols import subscript
from clearhead.steps.vocabulary import ACTIVATE, ADD, APPEND, EMBED, JOIN, MASK, MULTIPLY, PICK, PROJECT, TRANSFORM

ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "silu": F.silu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
}
_PRODUCTS = {"1": "F₁", "2": "F₂", "3": "F₃", "out": "logits"}  # worksheet symbols; Q, K, V, O keep theirs


def embed_traced(embedding: nn.Embedding, ids: Tensor, trace: Tracer) -> Tensor:
    """Look up the embeddings of ids: (B, T) → (B, T, D)"""
    trace.give("tokens", ids)
    trace.give("E", embedding.weight)
    x: Tensor = embedding(ids)
    trace.at("embedding").record(EMBED, x, ids=ids, table=embedding.weight)
    return x


def pick_traced(x: Tensor, time: int, trace: Tracer) -> Tensor:
    """Return the vector of one token: (B, T, D) → (B, 1, D)"""
    token = x[:, time : time + 1]
    trace.record(PICK, token, symbol=f"x{subscript(time + 1)}", x=x, row=time + 1)
    return token


def add_traced(a: Tensor, b: Tensor, symbol: str, trace: Tracer) -> Tensor:
    """Return a + b."""
    total = a + b
    trace.record(ADD, total, symbol=symbol, a=a, b=b)
    return total


def multiply_traced(a: Tensor, b: Tensor, symbol: str, trace: Tracer) -> Tensor:
    """Return a ⊙ b."""
    product = a * b
    trace.record(MULTIPLY, product, symbol=symbol, a=a, b=b)
    return product


def activate_traced(x: Tensor, function: str, symbol: str, trace: Tracer) -> Tensor:
    """Return f(x) for a function of ACTIVATIONS."""
    y = ACTIVATIONS[function](x)
    trace.record(ACTIVATE, y, symbol=symbol, x=x, function=function)
    return y


def product_traced(linear: nn.Linear, x: Tensor, letter: str, trace: Tracer) -> Tensor:
    """Return x W + b with all weights of a layer, which are given here."""
    y: Tensor = linear(x)
    record_product(trace, y, x, linear.weight, linear.bias, letter)
    return y


def record_product(trace: Tracer, y: Tensor, x: Tensor, weight: Tensor, bias: Tensor | None, letter: str) -> None:
    """Record y = x W + b, with W shown as (in, out)."""
    if not trace.is_on:
        return
    w = weight.T
    trace.give(f"W_{letter}", w)
    inputs = {"x": x, "w": w}
    if bias is not None:
        trace.give(f"b_{letter}", bias)
        inputs["b"] = bias
    trace.record(PROJECT, y, symbol=_PRODUCTS.get(letter, letter), **inputs)


def as_number(factor: float, x: Tensor) -> Tensor:
    """Return a factor as (1, 1) in the precision in which PyTorch multiplies x by it, for a trace."""
    return torch.full((1, 1), factor, dtype=torch.promote_types(x.dtype, torch.float32), device=x.device)


def join_traced(parts: tuple[Tensor, ...], symbol: str, trace: Tracer) -> Tensor:
    """Return vectors side by side."""
    joined = torch.cat(parts, dim=-1)
    trace.record(JOIN, joined, symbol=symbol, parts=parts)
    return joined


def append_traced(states: Sequence[Tensor], symbol: str, trace: Tracer) -> Tensor:
    """Return the states (B, 1, D) of all tokens as one matrix (B, T, D)."""
    total = states[0]
    for time, state in enumerate(states[1:], start=1):
        appended = torch.cat((total, state), dim=1)
        here = trace.at("time", time)
        here.record(APPEND, appended, symbol=f"{symbol}{subscript(time + 1)}", cached=total, new=state)
        total = appended
    return total


def hide_traced(x: Tensor, is_real: Tensor | None, symbol: str, trace: Tracer) -> Tensor:
    """Set x (B, 1, D) to 0 where a token is padding; `is_real` (B, 1, 1) is None where no token is."""
    if is_real is None:
        return x
    hidden = torch.where(is_real, x, 0.0)
    trace.record(MASK, hidden, symbol=symbol, scores=x, allowed=is_real, fill=0.0)
    return hidden


def linear_traced(x: Tensor, w: Tensor, b: Tensor | None, symbol: str, trace: Tracer) -> Tensor:
    """Return W x + b for each row of x. W and b must have been given."""
    y = F.linear(x, w, b)
    bias = {} if b is None else {"b": b}
    trace.record(TRANSFORM, y, symbol=symbol, x=x, w=w, **bias)
    return y


def transform_traced(linear: nn.Linear, x: Tensor, symbol: str, trace: Tracer) -> Tensor:
    """Return W x + b with the weights of a layer, which must have been given."""
    return linear_traced(x, linear.weight, linear.bias, symbol, trace)


def rows_traced(linear: nn.Linear, rows: slice, x: Tensor, symbol: str, trace: Tracer) -> Tensor:
    """Return W x + b with some rows of W and b, which are given here."""
    w, b = linear.weight[rows], linear.bias[rows]
    trace.give("W", w)
    trace.give("b", b)
    return linear_traced(x, w, b, symbol, trace)
