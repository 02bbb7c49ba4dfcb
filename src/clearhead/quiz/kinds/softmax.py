"""Sheets on the softmax alone.

1: one row of up to three integers. 2: two rows of one-decimal scores and a temperature. 3: a causal mask as well, or
another base.
"""

from clearhead.quiz.chance import Chance
from clearhead.quiz.kinds.numbers import Data, Numbers


def draw_softmax(chance: Chance, difficulty: int) -> Data:
    """Draw a problem of the kind softmax."""
    if difficulty == 1:
        scores = Numbers(chance, 0, 5).distinct(3)
        return {"scores": scores, "scale": "none", "mask": "none", "normaliser": "softmax"}
    rows = 2 if difficulty == 2 else 3
    numbers = Numbers(chance, 1, 2 if difficulty == 2 else 3)
    data: Data = {"scores": [numbers.distinct(3) for _ in range(rows)], "normaliser": "softmax"}
    data["scale"] = chance.choose([2, 0.5]) if difficulty == 2 else 2
    data["mask"] = "none" if difficulty == 2 else "causal"
    if difficulty == 3 and chance.below(2):
        data["base"] = 2
    return data
