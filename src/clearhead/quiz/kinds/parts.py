"""Sheets with two parts, the second of which can use the answer of the first.

1: a softmax and a dense layer with integers; one step of them is asked. 2: positions, then self-attention over their
sum. 3: self-attention with two heads, then residual and norm.
"""

from clearhead.quiz.chance import Chance
from clearhead.quiz.kinds.attention import RULE, draw_self_attention, weights
from clearhead.quiz.kinds.layers import draw_dense, layer_norm
from clearhead.quiz.kinds.numbers import Data, Numbers
from clearhead.quiz.kinds.softmax import draw_softmax


def draw_parts(chance: Chance, difficulty: int) -> Data:
    """Draw a problem of the kind parts."""
    if difficulty == 1:
        return {"parts": [_part("softmax", draw_softmax(chance, 1)), _part("dense-layer", draw_dense(chance, 1))]}
    if difficulty == 2:
        positions: Data = {"X": Numbers(chance, 1, 1).matrix(3, 2), "formula": "sinusoidal", "base": 10}
        layer = {**RULE, **weights(chance, 2, (2, 2)), "mask": "none"}
        return {
            "parts": [_part("positions", positions), _part("self-attention", {"X": "part.0.answer", **layer})],
        }
    first = draw_self_attention(chance, 3)
    second = {"X": first["X"], "Y": "part.0.answer", **layer_norm(), "norm": "all"}
    return {"parts": [_part("self-attention", first), _part("add-and-norm", second)]}


def _part(kind: str, data: Data) -> Data:
    return {"kind": kind, "title": kind.replace("-", " ").capitalize(), **data}
