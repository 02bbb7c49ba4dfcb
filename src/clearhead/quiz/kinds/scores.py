"""Sheets on attention without a layer of weights: in a recurrent encoder-decoder, and context from dot products.

seq2seq-attention 1: dot products of integers. 2: scaled or multiplicative scores and the new state. 3: additive scores,
the new state and an output layer. context 1: dot products of integers. 2: scaled dot products of one-decimal vectors.
3: with a causal mask and positions as well.
"""

from clearhead.quiz.chance import Chance
from clearhead.quiz.kinds.numbers import Data, Numbers


def draw_seq2seq(chance: Chance, difficulty: int) -> Data:
    """Draw a problem of the kind seq2seq-attention."""
    numbers = Numbers(chance, 0 if difficulty == 1 else 1, 2)
    weights = Numbers(chance, 1 if difficulty == 3 else 0, 1)
    data: Data = {"tokens": numbers.words(3), "h": numbers.matrix(3, 2), "s": numbers.vector(2)}
    if difficulty == 1:
        return {**data, "score": "dot"}
    data["W_c"] = Numbers(chance, 1, 1).matrix(2, 4)
    if difficulty == 2:
        data["score"] = chance.choose(["scaled-dot", "multiplicative"])
        if data["score"] == "multiplicative":
            data |= {"W": weights.matrix(2, 2), "order": "s(Wh)"}
        return data
    data |= {"score": "additive", "W_h": weights.matrix(2, 2), "W_s": weights.matrix(2, 2)}
    data["v"] = numbers.vector(2)
    classes = numbers.words(3)
    data["output"] = {"W": weights.matrix(3, 2), "b": weights.vector(3), "activation": "softmax", "classes": classes}
    return data


def draw_context(chance: Chance, difficulty: int) -> Data:
    """Draw a problem of the kind context."""
    numbers = Numbers(chance, 0 if difficulty == 1 else 1, 2)
    data: Data = {"tokens": numbers.words(3), "X": numbers.matrix(3, 2 if difficulty == 1 else 3)}
    if difficulty == 3:
        data["position"] = {"formula": "given", "table": Numbers(chance, 1, 1).matrix(3, 3)}
    data |= {"scale": "none" if difficulty == 1 else "sqrt(d_k)", "normaliser": "softmax"}
    return {**data, "mask": "causal" if difficulty == 3 else "none"}
