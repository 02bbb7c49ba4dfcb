"""What Transformers and convolutional models have in common: an encoder and a decoder that are stacks of layers.

A stack begins with embeddings and positions. That of a Transformer can also have a norm at its end.
"""

import math
from abc import abstractmethod

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.model.base import SequenceModel
from clearhead.model.batch import check_length
from clearhead.model.config import ModelConfig
from clearhead.model.norm import NORMS, dropout
from clearhead.model.positions import sinusoids
from clearhead.model.recorded_steps import add_traced, as_number, embed_traced
from clearhead.steps import Tracer
from clearhead.steps.vocabulary import EMBED, MULTIPLY


class Stack(nn.Module):
    """Embedding, positions and final norm of the encoder or the decoder; `side` says which."""

    def __init__(self, config: ModelConfig, side: str) -> None:
        super().__init__()
        is_encoder = side == "encoder"
        width = config.d_model if is_encoder else config.decoder_width
        vocabulary = config.source_vocabulary if is_encoder else config.target_size
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
        if config.architecture == "transformer" and config.ends_with_norm:
            norm = config.encoder_norm if is_encoder else config.decoder_norm
            self.last_norm = NORMS[norm](width, config.epsilon)

    def embed(self, ids: Tensor, places: Tensor, trace: Tracer) -> Tensor:
        """Look up the embeddings and add the positions: (B, T) → (B, T, D)"""
        x = embed_traced(self.embedding, ids, trace)
        if self.scale != 1.0:
            scaled = x * self.scale
            if trace.is_on:
                root = as_number(self.scale, x)
                trace.give("scale", root, symbol="√d")
                trace.at("scaled").record(MULTIPLY, scaled, symbol="X̂", a=x, b=root)
            x = scaled
        if self.position is not None:
            position = F.embedding(places, self.position)
            here = trace.at("position")
            here.give("P", self.position)
            here.give("positions", places, symbol="pos")
            here.record(EMBED, position, symbol="P", ids=places, table=self.position)
            x = add_traced(x, position, "X′", trace)
        return dropout(x, self.dropout, self.training)


class StackedModel(SequenceModel):
    """A model with an encoder, a decoder or both, each a Stack and its layers."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.encoder: Stack | None = None
        self.decoder: Stack | None = None
        if config.shape != "decoder":
            self.encoder = Stack(config, "encoder")
            self.encoder_blocks = self._make_blocks("encoder", config.encoder_blocks)
        if config.shape != "encoder":
            self.decoder = Stack(config, "decoder")
            self.decoder_blocks = self._make_blocks("decoder", config.decoder_blocks)
        self.output = self._make_output()
        self._initialise()
        self._tie(*(None if stack is None else stack.embedding for stack in (self.encoder, self.decoder)))

    def _make_blocks(self, side: str, count: int) -> nn.ModuleList:
        return nn.ModuleList(self._make_block(side, number) for number in range(count))

    @abstractmethod
    def _make_block(self, side: str, number: int) -> nn.Module:
        """Return a new layer of the encoder or the decoder."""

    def _check_places(self, places: Tensor, length: int, side: str) -> None:
        """Reject sentences longer than the position table. Reads the places only if the shape exceeds the limit."""
        if length > self.config.max_length and not torch.compiler.is_compiling():
            check_length(int(places.max()) + 1, self.config, side)

    def blocks(self) -> list[nn.Module]:
        """Return the layers of encoder and decoder."""
        stacks = [getattr(self, name, ()) for name in ("encoder_blocks", "decoder_blocks")]
        return [block for stack in stacks for block in stack]
