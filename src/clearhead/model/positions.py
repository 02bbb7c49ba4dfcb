"""Positional encodings: a table that is added (sinusoidal or learned), or rotary angles for queries and keys."""

import math

import torch
from torch import Tensor

from clearhead.steps import NO_TRACE, Tracer
from clearhead.steps.vocabulary import ANGLE, ROTATE

_BASE = 10000.0


def sinusoids(length: int, width: int, order: str = "pairs") -> Tensor:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos of the same

    The order 'blocks' puts all sines before all cosines, as in MarianMT. Computed in float64, stored in float32.
    """
    place = torch.arange(length, dtype=torch.float64)[:, None]
    pairs = torch.arange((width + 1) // 2, dtype=torch.float64)
    angles = place / _BASE ** (2.0 * pairs / width)  # (T, ⌈D/2⌉)
    table = torch.zeros(length, width, dtype=torch.float64)
    middle = len(pairs)
    sines, cosines = slice(0, None, 2), slice(1, None, 2)
    if order == "blocks":
        sines, cosines = slice(middle), slice(middle, None)
    table[:, sines] = torch.sin(angles)
    table[:, cosines] = torch.cos(angles[:, : width // 2])
    return table.to(torch.get_default_dtype())


def rotary_angles(places: Tensor, width: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """θ(pos, i) = pos / 10000^(2i/d), one angle for each pair of neighbouring dimensions

    In float32 at least: in bfloat16, positions are exact only up to 256.
    """
    precise = torch.promote_types(dtype, torch.float32)
    rates = torch.exp(torch.arange(0, width, 2, device=places.device, dtype=precise) * (-math.log(_BASE) / width))
    return places[..., None].to(rates.dtype) * rates  # (…, T, E/2)


def rotate(x: Tensor, angles: Tensor) -> Tensor:
    """(a, b) → (a cos θ - b sin θ, a sin θ + b cos θ) for neighbouring dimensions a, b"""
    cosine, sine = torch.cos(angles).to(x.dtype), torch.sin(angles).to(x.dtype)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cosine - b * sine, a * sine + b * cosine), dim=-1).flatten(-2)


def trace_rotation(x: Tensor, places: Tensor, symbol: str, trace: Tracer = NO_TRACE) -> Tensor:
    """Rotate x by its positions and record both steps."""
    width = x.shape[-1]
    angles = rotary_angles(places, width, x.dtype)
    trace.give("positions", places, symbol="pos")
    trace.record(ANGLE, angles, positions=places, width=width, base=_BASE)
    turned = rotate(x, angles)
    trace.record(ROTATE, turned, symbol=symbol, x=x, angles=angles, pairing="neighbours")
    return turned


def is_first(sentences: Tensor) -> Tensor:
    """Return (B, T): True for the first token of each sentence in a row, given the sentence numbers (B, T)."""
    return torch.cat(
        (torch.ones_like(sentences[:, :1], dtype=torch.bool), sentences[:, 1:] != sentences[:, :-1]), dim=1
    )


def packed_places(sentences: Tensor) -> Tensor:
    """Return (B, T): the position of each token in its sentence; 0 for padding, since every table contains 0."""
    steps = torch.arange(sentences.shape[1], device=sentences.device)[None]
    starts = torch.where(is_first(sentences), steps, 0).cummax(dim=1).values
    return torch.where(sentences != 0, steps - starts, 0)
