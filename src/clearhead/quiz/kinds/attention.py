"""Sheets on self-attention, masked self-attention, cross-attention and multi-head attention.

1: integers, up to three tokens of width 2. 2: one-decimal inputs, the whole layer. 3: two heads and an output
projection, with a mask.
"""

from typing import Any

from clearhead.quiz.chance import Chance
from clearhead.quiz.kinds.numbers import Data, Numbers

RULE: Data = {"scale": "sqrt(d_k)", "normaliser": "softmax"}


def draw_self_attention(chance: Chance, difficulty: int) -> Data:
    """Draw a problem of the kind self-attention; difficulty 3 masks the last token as padding."""
    mask: Any = {"padding": 1} if difficulty == 3 else "none"
    return {**_self_layer(chance, difficulty), "mask": mask}


def draw_masked_self_attention(chance: Chance, difficulty: int) -> Data:
    """Draw a problem of the kind masked-self-attention."""
    return {**_self_layer(chance, difficulty), "mask": "causal"}


def draw_cross_attention(chance: Chance, difficulty: int) -> Data:
    """Draw a problem of the kind cross-attention, with different numbers of queries and keys."""
    numbers = input_numbers(chance, difficulty)
    count, width = (2, 2) if difficulty == 1 else (2, 3)
    data: Data = {"Y": numbers.matrix(count, 2), "X": numbers.matrix(3, width), **RULE}
    data |= weights(chance, difficulty, (2, width), num_heads=2 if difficulty == 3 else 1)
    return {**data, "mask": {"padding": 1} if difficulty == 3 else "none"}


def draw_multi_head_attention(chance: Chance, difficulty: int) -> Data:
    """Draw a problem of the kind multi-head-attention; difficulty 3 adds a causal mask and the output projection."""
    numbers = input_numbers(chance, difficulty)
    count, width = (2, 2) if difficulty == 1 else (3, 3)
    data: Data = {"tokens": numbers.words(count), "X": numbers.matrix(count, width), **RULE}
    data |= weights(chance, difficulty, (width, width), num_heads=2, has_output=difficulty > 1)
    return {**data, "mask": "causal" if difficulty == 3 else "none"}


def input_numbers(chance: Chance, difficulty: int) -> Numbers:
    """Return the numbers of the token vectors: small integers, or tenths."""
    return Numbers(chance, 0 if difficulty == 1 else 1, 2)


def weight_numbers(chance: Chance, difficulty: int) -> Numbers:
    """Return the numbers of the weight matrices: integers, or tenths for difficulty 2."""
    return Numbers(chance, 1 if difficulty == 2 else 0, 1)


def _self_layer(chance: Chance, difficulty: int) -> Data:
    count = chance.between(2, 3) if difficulty == 1 else 3
    width = 3 if difficulty == 2 else 2
    numbers = input_numbers(chance, difficulty)
    data: Data = {"tokens": numbers.words(count), "X": numbers.matrix(count, width), **RULE}
    return data | weights(chance, difficulty, (width, width), num_heads=2 if difficulty == 3 else 1)


def weights(
    chance: Chance,
    difficulty: int,
    widths: tuple[int, int],
    *,
    num_heads: int = 1,
    has_output: bool | None = None,
) -> Data:
    """Draw the weights of an attention layer for the widths of the queries' and the keys' inputs."""
    numbers, (query_width, key_width) = weight_numbers(chance, difficulty), widths
    heads = [
        {
            "W_Q": numbers.matrix(query_width, 2),
            "W_K": numbers.matrix(key_width, 2),
            "W_V": numbers.matrix(key_width, 2),
        }
        for _ in range(num_heads)
    ]
    if num_heads == 1:
        return heads[0]
    data: Data = {"heads": heads}
    if has_output if has_output is not None else difficulty == 3:
        data["W_O"] = numbers.matrix(2 * num_heads, query_width)
    return data
