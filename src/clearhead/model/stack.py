"""The first part of an encoder or a decoder: embeddings and positions. A Transformer also has a norm at its end."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.model.config import ModelConfig
from clearhead.model.dropout import dropout
from clearhead.model.norm import NORMS
from clearhead.model.positions import sinusoids
from clearhead.steps import Tracer
from clearhead.steps.vocabulary import ADD, EMBED, MULTIPLY


class Stack(nn.Module):
    """Embedding, positions and final norm of the encoder or the decoder; without `norm` there is none."""

    def __init__(self, config: ModelConfig, width: int, vocabulary: int, norm: str | None = None) -> None:
        super().__init__()
        self.width, self.dropout = width, config.dropout
        self.scale = math.sqrt(width) if config.scale_embedding else 1.0
        self.embedding = nn.Embedding(vocabulary, width)
        self.position: Tensor | None
        if config.positions == "learned":
            self.position = nn.Parameter(torch.empty(config.max_length, width))
        else:
            is_sinusoidal = config.positions == "sinusoidal"
            table = sinusoids(config.max_length, width, config.sinusoids) if is_sinusoidal else None
            self.register_buffer("position", table, persistent=False)
        self.last_norm = None
        if norm is not None and config.ends_with_norm:
            self.last_norm = NORMS[norm](width, config.epsilon)

    def embed(self, ids: Tensor, places: Tensor, trace: Tracer) -> Tensor:
        """Look up the embeddings and add the positions: (B, T) → (B, T, D)"""
        trace.give("tokens", ids)
        trace.give("E", self.embedding.weight)
        x: Tensor = self.embedding(ids)
        trace.at("embedding").record(EMBED, x, ids=ids, table=self.embedding.weight)
        if self.scale != 1.0:
            scaled = x * self.scale
            self._record_scale(trace, scaled, x)
            x = scaled
        if self.position is not None:
            position = F.embedding(places, self.position)
            here = trace.at("position")
            here.give("P", self.position)
            here.give("positions", places, symbol="pos")
            here.record(EMBED, position, symbol="P", ids=places, table=self.position)
            total = x + position
            trace.record(ADD, total, symbol="X′", a=x, b=position)
            x = total
        return dropout(x, self.dropout, self.training)

    def _record_scale(self, trace: Tracer, scaled: Tensor, x: Tensor) -> None:
        """Record x √d, with the root in the precision in which PyTorch multiplies."""
        if trace.is_on:
            dtype = torch.promote_types(x.dtype, torch.float32)
            root = torch.full((1, 1), self.scale, dtype=dtype, device=x.device)
            trace.give("scale", root, symbol="√d")
            trace.at("scaled").record(MULTIPLY, scaled, symbol="X̂", a=x, b=root)
