"""Attention rollout (Abnar and Zuidema, 2020): how much of each token reaches another one over several layers.

Ã = ½(Ā + I), R_l = Ã_l R_(l-1), where Ā is the mean over the heads of a layer, and I is the residual connection,
with half of the weight. A layer without heads leaves R as it is. It ignores values, feed-forward networks and norms: it
follows attention weights only.
"""

from dataclasses import dataclass

import numpy as np

from clearhead.explain.traced_pass import AttentionStack, StackName
from clearhead.worksheet.arrays import Array

FORMULA = "Ã = ½(Ā + I), R_l = Ã_l R_(l-1), R_0 = I; Ā: mean of the heads of layer l"
SOURCE_FORMULA = (
    "in decoder layer l: D ← ½(D + Ā_self D), then D ← ½(D + Ā_cross [R_encoder 0]); "
    "D starts as [0 I], columns: source tokens, then tokens of the decoder's input"
)


@dataclass(frozen=True, eq=False)
class Rollout:
    """Rollouts by layer; every row sums to 1. None where a model has no such attention."""

    encoder: Array | None  # (L, S, S)
    decoder: Array | None  # (L, T, T)
    decoder_to_source: Array | None  # (L, T, S + T)


def rollouts(stacks: dict[StackName, AttentionStack]) -> Rollout:
    """Return the rollouts of the stacks that a model has."""
    encoder = rollout(stacks["encoder"].kept_weights) if "encoder" in stacks else None
    decoder = rollout(stacks["decoder"].kept_weights) if "decoder" in stacks else None
    to_source = None
    if "decoder" in stacks and "cross" in stacks:
        cross = stacks["cross"].kept_weights
        source = np.eye(cross[0].shape[-1]) if encoder is None else encoder[-1]
        to_source = rollout_to_source(stacks["decoder"].kept_weights, cross, source)
    return Rollout(encoder, decoder, to_source)


def rollout(weights: Array | list[Array]) -> Array:
    """Return R_1 … R_L (L, T, T) from the weights (H, T, T) of each layer."""
    current = np.eye(weights[0].shape[-1])
    layers = []
    for layer in weights:
        if len(layer):
            current = (layer.mean(axis=0) @ current + current) / 2
        layers.append(current)
    return np.stack(layers)


def rollout_to_source(own: Array | list[Array], cross: Array | list[Array], source: Array) -> Array:
    """Return the rollout (L, T, S + T) of a decoder that also attends to a source with rollout (S, S)."""
    num_source, num_target = cross[0].shape[-1], own[0].shape[-1]
    memory = np.hstack([source, np.zeros((num_source, num_target))])
    current = np.hstack([np.zeros((num_target, num_source)), np.eye(num_target)])
    layers = []
    for own_layer, cross_layer in zip(own, cross, strict=True):
        if len(own_layer):
            current = (current + own_layer.mean(axis=0) @ current) / 2
        if len(cross_layer):
            current = (current + cross_layer.mean(axis=0) @ memory) / 2
        layers.append(current)
    return np.stack(layers)
