"""Attention in two versions: PyTorch's fused kernel, and the same steps one by one with every number recorded.

Z = softmax(Q Kᵀ / √d_k) V for every head, joined and multiplied by W_O. The traced version computes its output from
the values that it records. A test compares the two versions.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention.flex_attention import flex_attention

from clearhead.model.gates import GateKind, Gates
from clearhead.model.key_values import KeyValues
from clearhead.model.mask import PreparedMask
from clearhead.model.positions import rotary_angles, rotate, trace_rotation
from clearhead.model.probe import NO_PROBE, Probe
from clearhead.model.recorded_steps import join_traced, multiply_traced, product_traced, record_product
from clearhead.steps import Tracer
from clearhead.steps.symbols import subscript
from clearhead.steps.vocabulary import APPEND, MASK, MIX, SCALE, SCORE, SOFTMAX, SPLIT

_PLACES = {"Q": "query", "K": "key", "V": "value"}
_SHORT = 64  # tokens
_TILES: dict[int, Any] = {
    tile: {
        **{f"fwd_{block}": tile for block in ("BLOCK_M", "BLOCK_N")},
        **{f"bwd_{block}": tile for block in ("BLOCK_M1", "BLOCK_N1", "BLOCK_M2", "BLOCK_N2")},
        "fwd_num_warps": 4,
        "bwd_num_warps": 4,
    }
    for tile in (32, 64)
}


class Attention(nn.Module):
    """Multi-head self-attention (packed Q, K, V), or cross-attention to a memory of another width (packed K, V)."""

    def __init__(
        self,
        width: int,
        memory_width: int | None,
        num_heads: int,
        *,
        d_k: int | None = None,
        has_bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.num_heads, self.d_k, self.dropout = num_heads, d_k or width // num_heads, dropout
        self.score_root = self.d_k  # scores are divided by its square root; 1: they are not scaled
        self.is_cross = memory_width is not None
        joined = num_heads * self.d_k  # the width of all heads together; less than `width` in a pruned model
        if memory_width is None:
            self.packed = nn.Linear(width, 3 * joined, bias=has_bias)
        else:
            self.query = nn.Linear(width, joined, bias=has_bias)
            self.packed = nn.Linear(memory_width, 2 * joined, bias=has_bias)
        self.output = nn.Linear(joined, width, bias=has_bias)

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None,
        mask: PreparedMask,
        *,
        cache: KeyValues | None = None,
        places: Tensor | None = None,
        probe: Probe = NO_PROBE,
    ) -> Tensor:
        """Attend from x (B, Q, D) to itself, or to a memory (B, K, D′). The new tokens are appended to `cache`.

        `places` are the positions of the tokens (B or 1, T), if they are rotary.
        """
        attend = attend_traced if probe.trace.is_on else attend_fused
        return attend(self, x, memory, mask, cache=cache, places=places, probe=probe)

    def heads(self, x: Tensor) -> Tensor:
        """(B, T, D) → (B, H, T, E)"""
        return x.view(*x.shape[:-1], self.num_heads, self.d_k).transpose(1, 2)

    def key_values(self, memory: Tensor) -> KeyValues:
        """Return the keys and values of a memory, which are computed once and used at every step."""
        k, v = self.packed(memory).chunk(2, dim=-1)
        return KeyValues(self.heads(k), self.heads(v))


def attend_fused(
    layer: Attention,
    x: Tensor,
    memory: Tensor | None,
    mask: PreparedMask,
    *,
    cache: KeyValues | None = None,
    places: Tensor | None = None,
    probe: Probe = NO_PROBE,
) -> Tensor:
    """Compute attention with PyTorch's fused kernel."""
    if layer.is_cross:
        q = layer.heads(layer.query(x))  # (B, H, Q, E)
        if cache is None:
            assert memory is not None
            cache = layer.key_values(memory)
        k, v = cache.k, cache.v
    else:
        # (B, T, 3D) → three of (B, H, T, E)
        q, k, v = layer.packed(x).unflatten(-1, (3, layer.num_heads, layer.d_k)).permute(2, 0, 3, 1, 4).unbind(0)
        if places is not None:
            angles = rotary_angles(places, layer.d_k, q.dtype)[:, None]
            q, k = rotate(q, angles), rotate(k, angles)
        if cache is not None:
            cache.append(k, v)
            k, v = cache.k, cache.v
    dropout = layer.dropout if layer.training else 0.0
    scale = None if layer.score_root == layer.d_k else layer.score_root**-0.5
    q = probe.gates.scale_queries(q)
    z = probe.gates.scale_outputs(fused_heads(q, k, v, mask, dropout, scale))  # (B, H, Q, E)
    output: Tensor = layer.output(z.transpose(1, 2).flatten(-2))  # (B, Q, D)
    return output


def fused_heads(
    q: Tensor, k: Tensor, v: Tensor, mask: PreparedMask, dropout: float, scale: float | None = None
) -> Tensor:
    """Compute softmax(q kᵀ / √d_k) v in one kernel: PyTorch's, or a smaller one for short sentences on a GPU.

    `scale` replaces 1 / √d_k.

    PyTorch's kernels work in tiles of 64 or 128 tokens, which are mostly empty for a short sentence.
    """
    fused = mask.fused
    hidden = _hide(mask)
    if _is_short_on_gpu(q, k, dropout) and (hidden is not None or fused.mask is None):
        tile = 32 if mask.mask.packed is None else 64  # the fastest in measurements
        z = flex_attention(q, k, v, score_mod=hidden, scale=scale, kernel_options=_TILES[tile])
        assert isinstance(z, Tensor)
    else:
        z = F.scaled_dot_product_attention(
            q, k, v, attn_mask=fused.mask, dropout_p=dropout, is_causal=fused.is_causal, scale=scale
        )
    return z if fused.has_any is None else torch.where(fused.has_any, z, 0.0)


def _is_short_on_gpu(q: Tensor, k: Tensor, dropout: float) -> bool:
    is_short = 1 < q.shape[2] <= _SHORT and k.shape[2] <= _SHORT
    return is_short and dropout == 0.0 and q.is_cuda and torch.compiler.is_compiling()


def _hide(prepared: PreparedMask) -> Callable[..., Tensor] | None:
    """Return a function that sets hidden scores to -∞, or None if nothing is hidden or the mask is too complex."""
    mask, fused, packed = prepared.mask, prepared.fused, prepared.mask.packed
    if packed is not None and mask.keys is None and mask.explicit is None and mask.first == 0:
        queries, keys = packed.queries.int(), packed.keys.int()
        if mask.is_causal:
            return lambda score, b, h, i, j: torch.where(
                (queries[b, i] == keys[b, j]) & (keys[b, j] != 0) & (i >= j), score, -float("inf")
            )
        return lambda score, b, h, i, j: torch.where(
            (queries[b, i] == keys[b, j]) & (keys[b, j] != 0), score, -float("inf")
        )
    if fused.mask is not None and fused.is_by_key:
        visible = fused.mask[:, 0, 0]  # (B, K)
        return lambda score, b, h, i, j: torch.where(visible[b, j], score, -float("inf"))
    if fused.is_causal:
        return lambda score, b, h, i, j: torch.where(i >= j, score, -float("inf"))
    return None


def attend_traced(
    layer: Attention,
    x: Tensor,
    memory: Tensor | None,
    mask: PreparedMask,
    *,
    cache: KeyValues | None = None,
    places: Tensor | None = None,
    probe: Probe = NO_PROBE,
) -> Tensor:
    """Compute attention step by step and record every step. The output is computed from the recorded values."""
    trace, gates = probe.trace, probe.gates
    projections = _trace_projections(layer, x, memory, trace)
    allowed = mask.allowed()
    trace.give("M", allowed)
    outputs, pasts = [], []
    for head in range(layer.num_heads):
        here, sub = trace.at("head", head), subscript(head + 1)
        part = {"head": head + 1, "num_heads": layer.num_heads}
        q, k, v = (
            _trace_share(here.at(_PLACES[letter]), projection, f"{letter}{sub}", part)
            for letter, projection in projections.items()
        )
        if places is not None and not layer.is_cross:
            q = trace_rotation(q, places, f"Q{sub}′", here.at("query"))
            k = trace_rotation(k, places, f"K{sub}′", here.at("key"))
        if cache is not None and not layer.is_cross:
            k, v = (
                _trace_append(here.at(p), old[:, head], new, f"{m}{sub}")
                for p, m, old, new in (("key", "K", cache.k, k), ("value", "V", cache.v, v))
            )
        pasts.append((k, v))
        scores = trace_scores(here, q, k, sub, layer.score_root)
        scores = _trace_gate(here.at("score_gate"), scores, gates, "scores", head)
        mixed = trace_head(here, scores, v, allowed, sub)
        outputs.append(_trace_gate(here.at("gate"), mixed, gates, "outputs", head))
    if cache is not None and not layer.is_cross:
        keys, values = zip(*pasts, strict=True)
        cache.replace(torch.stack(keys, dim=1), torch.stack(values, dim=1))  # (B, H, K, E)
    here = trace.at("output")
    joined = join_traced(tuple(outputs), "", here)  # (B, Q, D)
    return product_traced(layer.output, joined, "O", here)


def _trace_projections(layer: Attention, x: Tensor, memory: Tensor | None, trace: Tracer) -> dict[str, Tensor]:
    """Return Q, K and V of all heads (B, T, D), each recorded as a separate product with its part of W."""
    width = layer.num_heads * layer.d_k
    if layer.is_cross:
        assert memory is not None
        products = [("Q", layer.query, x), ("KV", layer.packed, memory)]
    else:
        products = [("QKV", layer.packed, x)]
    projections = {}
    for letters, linear, y in products:
        shares = linear(y).split(width, dim=-1)
        for number, (letter, share) in enumerate(zip(letters, shares, strict=True)):
            rows = slice(number * width, (number + 1) * width)
            bias = None if linear.bias is None else linear.bias[rows]
            record_product(trace.at(_PLACES[letter]), share, y, linear.weight[rows], bias, letter)
            projections[letter] = share
    return projections


def _trace_share(trace: Tracer, x: Tensor, symbol: str, share: dict[str, int]) -> Tensor:
    width = x.shape[-1] // share["num_heads"]
    part = x[..., (share["head"] - 1) * width : share["head"] * width]
    trace.record(SPLIT, part, symbol=symbol, x=x, **share)
    return part


def _trace_append(trace: Tracer, cached: Tensor, new: Tensor, symbol: str) -> Tensor:
    appended = torch.cat((cached, new), dim=-2)
    trace.give("cached", cached)
    trace.record(APPEND, appended, symbol=symbol, cached=cached, new=new)
    return appended


def trace_scores(trace: Tracer, q: Tensor, k: Tensor, sub: str, root_of: int | None = None) -> Tensor:
    """Compute and record the scaled scores of one head: (B, Q, K). `root_of` replaces the width of the head."""
    root_of = q.shape[-1] if root_of is None else root_of
    scores = q @ k.transpose(-1, -2)  # (B, Q, K)
    trace.record(SCORE, scores, symbol=f"S{sub}", q=q, k=k)
    scaled: Tensor = scores / root_of**0.5
    trace.record(SCALE, scaled, symbol=f"S′{sub}", scores=scores, root_of=root_of)
    return scaled


def _trace_gate(trace: Tracer, x: Tensor, gates: Gates, kind: GateKind, head: int) -> Tensor:
    """Multiply the scores or the output of one head by its gate and record it; without a gate, x is unchanged."""
    gate = gates.of_head(kind, head, x.dtype)
    if gate is None:
        return x
    sub = subscript(head + 1)
    name, symbol = ("g", f"Z{sub}′") if kind == "outputs" else ("c", f"Ŝ{sub}")
    trace.give(name, gate, symbol=f"{name}{sub}")
    return multiply_traced(x, gate, symbol, trace)


def trace_head(trace: Tracer, scaled: Tensor, v: Tensor, allowed: Tensor, sub: str) -> Tensor:
    """Compute and record mask, softmax and mix of one head: (B, Q, E)"""
    masked = torch.where(allowed, scaled, float("-inf"))
    trace.record(MASK, masked, symbol=f"S″{sub}", scores=scaled, allowed=allowed, fill=float("-inf"))
    has_any = allowed.any(dim=-1, keepdim=True)
    # Softmax of a row with no visible key is taken over zeros, and the result set to 0: no NaN forward or backward.
    weights = torch.where(has_any, torch.softmax(torch.where(has_any, masked, 0.0), dim=-1), 0.0)
    trace.record(SOFTMAX, weights, symbol=f"A{sub}", scores=masked)
    mixed = weights @ v  # (B, Q, E)
    trace.record(MIX, mixed, symbol=f"Z{sub}", weights=weights, v=v)
    return mixed
