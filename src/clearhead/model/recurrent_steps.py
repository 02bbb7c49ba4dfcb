"""Small traced operations of a recurrent model, whose tokens are read one by one: each is one recorded step."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.steps import Tracer
from clearhead.steps.symbols import subscript
from clearhead.steps.vocabulary import ACTIVATE, ADD, APPEND, EMBED, JOIN, MASK, PICK, TRANSFORM


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


def transform_traced(linear: nn.Linear, x: Tensor, symbol: str, trace: Tracer) -> Tensor:
    """Return W x + b for each row of x. Its weights must have been given."""
    y: Tensor = linear(x)
    bias = {} if linear.bias is None else {"b": linear.bias}
    trace.record(TRANSFORM, y, symbol=symbol, x=x, w=linear.weight, **bias)
    return y


def tanh_traced(x: Tensor, symbol: str, trace: Tracer) -> Tensor:
    """Return tanh(x)."""
    y = torch.tanh(x)
    trace.record(ACTIVATE, y, symbol=symbol, x=x, function="tanh")
    return y


def rows_traced(linear: nn.Linear, rows: slice, x: Tensor, symbol: str, trace: Tracer) -> Tensor:
    """Return W x + b with some rows of W and b, which are given here."""
    w, b = linear.weight[rows], linear.bias[rows]
    trace.give("W", w)
    trace.give("b", b)
    y = F.linear(x, w, b)
    trace.record(TRANSFORM, y, symbol=symbol, x=x, w=w, b=b)
    return y
