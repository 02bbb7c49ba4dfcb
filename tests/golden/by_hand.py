"""Attention in plain Python lists: an independent computation of the same numbers. Nothing here is imported from clearhead."""

import math

Matrix = list[list[float]]


def transpose(a: Matrix) -> Matrix:
    return [list(column) for column in zip(*a, strict=True)]


def times(a: Matrix, b: Matrix) -> Matrix:
    return [[math.fsum(x * y for x, y in zip(row, column, strict=True)) for column in transpose(b)] for row in a]


def plus(a: Matrix, b: Matrix) -> Matrix:
    return [[x + y for x, y in zip(r, s, strict=True)] for r, s in zip(a, b, strict=True)]


def softmax(scores: list[float], allowed: list[bool] | None = None) -> list[float]:
    is_allowed = allowed or [True] * len(scores)
    top = max((s for s, ok in zip(scores, is_allowed, strict=True) if ok), default=0.0)
    powers = [math.exp(s - top) if ok else 0.0 for s, ok in zip(scores, is_allowed, strict=True)]
    total = math.fsum(powers)
    return [p / total if total else 0.0 for p in powers]


def attention(q: Matrix, k: Matrix, v: Matrix, divisor: float = 1.0, is_causal: bool = False) -> Matrix:
    scores = [[s / divisor for s in row] for row in times(q, transpose(k))]
    gap = len(k) - len(q)
    weights = [softmax(row, [not is_causal or j <= i + gap for j in range(len(row))]) for i, row in enumerate(scores)]
    return times(weights, v)


def sinusoid(pos: int, dim: int, d: int, is_variant: bool = False) -> float:
    exponent = dim if dim % 2 == 0 or is_variant else dim - 1
    angle = pos / 10000 ** (exponent / d)
    return math.sin(angle) if dim % 2 == 0 else math.cos(angle)


def normalised(numbers: list[float], epsilon: float) -> list[float]:
    mean = math.fsum(numbers) / len(numbers)
    variance = math.fsum((x - mean) ** 2 for x in numbers) / len(numbers)
    return [(x - mean) / math.sqrt(variance + epsilon) for x in numbers]
