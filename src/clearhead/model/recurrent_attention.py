"""Attention of a recurrent decoder to the states of the encoder: fused for all tokens at once, or step by step.

e = score(h, s), α = softmax(e), a = Σ α s, and the attentional state tanh(W_c [a; h]) (Luong et al., 2015). The scores
are h·s, h·s/√d, h·(W s), or v·tanh(W_s h + W_h s) (Bahdanau et al., 2015).
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.model.base import Memory
from clearhead.model.config import ModelConfig
from clearhead.model.recorded_steps import activate_traced, add_traced, join_traced, transform_traced
from clearhead.steps import Tracer
from clearhead.steps.symbols import subscript
from clearhead.steps.vocabulary import MASK, MIX, SCALE, SCORE, SOFTMAX


class MemoryAttention(nn.Module):
    """Attention of one head, with one of four scores."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width, self.kind = config.d_model, config.attention
        if self.kind == "additive":
            self.query = nn.Linear(width, width, bias=False)
        if self.kind in ("multiplicative", "additive"):
            self.key = nn.Linear(width, width, bias=False)
        if self.kind == "additive":
            self.score = nn.Linear(width, 1, bias=False)
        self.output = nn.Linear(2 * width, width, bias=False)

    def keys(self, memory: Memory) -> Tensor:
        """Return what queries are compared with (B, S, D), which is computed once for all steps."""
        keys: Tensor = self.key(memory.states) if self.kind in ("multiplicative", "additive") else memory.states
        return keys

    def forward(self, h: Tensor, keys: Tensor, memory: Memory) -> Tensor:
        """Return the attentional states (B, Q, D) of decoder states h (B, Q, D)."""
        states = memory.states.to(h.dtype)
        mask = memory.mask.fused(h.shape[1], states.shape[1], h.device)
        if self.kind == "additive":
            scores = self.score(torch.tanh(self.query(h)[:, :, None] + keys[:, None]))[..., 0]  # (B, Q, S)
            if mask.mask is not None:
                scores = torch.where(mask.mask[:, 0], scores, float("-inf"))
            context = torch.softmax(scores, dim=-1) @ states  # (B, Q, D)
        else:
            scale = None if self.kind == "scaled" else 1.0
            q, k, v = h[:, None], keys.to(h.dtype)[:, None], states[:, None]  # one head
            context = F.scaled_dot_product_attention(q, k, v, attn_mask=mask.mask, scale=scale)[:, 0]
        if mask.has_any is not None:
            context = torch.where(mask.has_any[:, 0], context, 0.0)
        return torch.tanh(self.output(torch.cat((context.to(h.dtype), h), dim=-1)))


class TracedAttention:
    """Attention whose steps are recorded one by one. Its weights, mask and keys are given or recorded once."""

    def __init__(self, layer: MemoryAttention, memory: Memory, num_queries: int, trace: Tracer) -> None:
        self.layer, self.memory = layer, memory
        letters = {"multiplicative": {"key": "W"}, "additive": {"key": "W_h", "query": "W_s", "score": "v"}}
        for name, letter in {**letters.get(layer.kind, {}), "output": "W_c"}.items():
            trace.give(letter, getattr(layer, name).weight)
        self.keys = memory.states
        if layer.kind in ("multiplicative", "additive"):
            symbol = "W h" if layer.kind == "multiplicative" else "W_h h"
            self.keys = transform_traced(layer.key, memory.states, symbol, trace.at("key"))
        self.allowed: Tensor | None = None
        if memory.mask.keys is not None and not bool(memory.mask.keys.all()):
            self.allowed = memory.mask.allowed(num_queries, memory.states.shape[1]).squeeze(1)  # (B, Q, S)
            trace.give("M", self.allowed)

    def step(self, h: Tensor, time: int, trace: Tracer) -> Tensor:
        """Return the attentional states of h (B, Q, D) at `time`."""
        sub = subscript(time + 1)
        scores = self._scores(h, sub, trace)  # (B, Q, S)
        weights = torch.softmax(scores, dim=-1)
        if self.allowed is not None:
            masked = torch.where(self.allowed, scores, float("-inf"))
            trace.record(MASK, masked, symbol=f"e″{sub}", scores=scores, allowed=self.allowed, fill=float("-inf"))
            has_any = self.allowed.any(dim=-1, keepdim=True)
            weights = torch.where(has_any, torch.softmax(torch.where(has_any, masked, 0.0), dim=-1), 0.0)
            scores = masked
        trace.record(SOFTMAX, weights, symbol=f"α{sub}", scores=scores)
        context = weights @ self.memory.states  # (B, Q, D)
        trace.record(MIX, context, symbol=f"a{sub}", weights=weights, v=self.memory.states)
        here = trace.at("state")
        joined = join_traced((context, h), f"s′{sub}", here)
        return activate_traced(
            transform_traced(self.layer.output, joined, f"W_c s′{sub}", here), "tanh", f"s̃{sub}", here
        )

    def _scores(self, h: Tensor, sub: str, trace: Tracer) -> Tensor:
        if self.layer.kind == "additive":
            query = transform_traced(self.layer.query, h, f"W_s s{sub}", trace.at("query"))
            return self._additive_scores(query, sub, trace)
        scores = h @ self.keys.transpose(-1, -2)
        trace.record(SCORE, scores, symbol=f"e{sub}", q=h, k=self.keys)
        if self.layer.kind != "scaled":
            return scores
        scaled: Tensor = scores / h.shape[-1] ** 0.5
        trace.record(SCALE, scaled, symbol=f"e′{sub}", scores=scores, root_of=h.shape[-1])
        return scaled

    def _additive_scores(self, query: Tensor, sub: str, trace: Tracer) -> Tensor:
        """Record v·tanh(W_s h + W_h s). With several queries, such as those of beams, each has an axis of its own."""
        is_single = query.shape[1] == 1
        keys = self.keys if is_single else self.keys[:, None]
        queries = query if is_single else query[:, :, None]  # (B, Q, 1, D)
        total = add_traced(keys, queries, f"U{sub}", trace.at("key"))
        activated = activate_traced(total, "tanh", f"T{sub}", trace.at("key"))
        v = self.layer.score.weight  # (1, D)
        scores = v @ activated.transpose(-1, -2)
        trace.record(SCORE, scores, symbol=f"e{sub}", q=v, k=activated)
        return scores if is_single else scores[:, :, 0]
