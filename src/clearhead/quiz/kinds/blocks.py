"""Sheets on the blocks of a Transformer, and on a complete small one.

1: integers, two tokens of width 2, no norm, one step asked. 2: one-decimal inputs, one head, residuals; the blocks with
layer norm and without feed-forward, the Transformer with the loss of one word. 3: two heads, layer norm and
feed-forward, every line rounded.
"""

from clearhead.quiz.chance import Chance
from clearhead.quiz.kinds.attention import RULE, input_numbers, weight_numbers, weights
from clearhead.quiz.kinds.layers import feed_forward, layer_norm
from clearhead.quiz.kinds.numbers import Data, Numbers


def draw_encoder_block(chance: Chance, difficulty: int) -> Data:
    """Draw a problem of the kind encoder-block."""
    width = 2 if difficulty == 1 else 3
    numbers = input_numbers(chance, difficulty).within(1 if difficulty > 1 else 2)
    return {"tokens": numbers.words(2), "X": numbers.matrix(2, width), **encoder_layer(chance, difficulty, width)}


def draw_decoder_block(chance: Chance, difficulty: int) -> Data:
    """Draw a problem of the kind decoder-block."""
    width = 2 if difficulty == 1 else 3
    numbers = input_numbers(chance, difficulty).within(1 if difficulty > 1 else 2)
    data: Data = {"tokens": numbers.words(2), "X": numbers.matrix(2, width), "memory": numbers.matrix(3, width)}
    return data | decoder_layer(chance, difficulty, width)


def draw_transformer(chance: Chance, difficulty: int) -> Data:
    """Draw a problem of the kind transformer."""
    width = 3 if difficulty == 3 else 2
    numbers = input_numbers(chance, difficulty).within(1 if difficulty > 1 else 2)
    words = ["<EOS>", *numbers.words(2)]
    output = Numbers(chance, 0 if difficulty == 1 else 1, 1)
    target = dict(zip(words, numbers.matrix(3, width), strict=True))
    return {
        "source": {"tokens": numbers.words(2), "X": numbers.matrix(2, width)},
        "encoder": [encoder_layer(chance, difficulty, width)],
        "target_embedding": target,
        "decoder": [decoder_layer(chance, difficulty, width)],
        "W_out": output.matrix(width, 3),
        "b_out": output.vector(3),
        "start": "<EOS>",
        "end": "<EOS>",
        **({"choose": "greedy", "max_length": 1} if difficulty == 1 else {"target": words[1:2]}),
    }


def encoder_layer(chance: Chance, difficulty: int, width: int) -> Data:
    """Draw an encoder layer."""
    attention = {**_attention(chance, difficulty, width), "mask": "none"}
    return {"self_attention": attention, **_block_end(chance, difficulty, width)}


def decoder_layer(chance: Chance, difficulty: int, width: int) -> Data:
    """Draw a decoder layer."""
    own = {**_attention(chance, difficulty, width), "mask": "causal"}
    cross = {**_attention(chance, min(difficulty, 2), width), "mask": "none"}
    return {"self_attention": own, "cross_attention": cross, **_block_end(chance, difficulty, width)}


def _attention(chance: Chance, difficulty: int, width: int) -> Data:
    """Draw an attention layer whose output has the width of its input."""
    if difficulty == 3:
        return {**RULE, **weights(chance, 2, (width, width), num_heads=2, has_output=True)}
    numbers = weight_numbers(chance, difficulty)
    matrices = {name: numbers.matrix(width, 2) for name in ("W_Q", "W_K")}
    return {**RULE, **matrices, "W_V": numbers.matrix(width, width)}


def _block_end(chance: Chance, difficulty: int, width: int) -> Data:
    data: Data = {"norm_place": "post", "norm": {"norm": "none"} if width == 2 else layer_norm()}
    return data | {"feed_forward": feed_forward(chance, 2, width)} if difficulty == 3 else data
