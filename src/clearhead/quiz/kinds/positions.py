"""Sheets on positions.

1: a table of sines and cosines for three positions. 2: the table is added to one-decimal word vectors. 3: rotary
positions. The base is 10 or 100, so that at two decimals every pair of dimensions has angles of its own.
"""

from clearhead.quiz.chance import Chance
from clearhead.quiz.kinds.numbers import Data, Numbers

_BASES = (10, 100)


def draw_positions(chance: Chance, difficulty: int) -> Data:
    """Draw a problem of the kind positions."""
    base = chance.choose(_BASES)
    if difficulty == 1:
        positions = sorted(chance.sample(range(9), 3))
        return {"formula": "sinusoidal", "base": base, "d_model": 4, "positions": positions}
    numbers = Numbers(chance, 1, 2)
    data: Data = {"tokens": numbers.words(3), "X": numbers.matrix(3, 4), "base": base}
    if difficulty == 2:
        return {**data, "formula": "sinusoidal"}
    return {**data, "formula": "rotary", "pairing": chance.choose(["neighbours", "halves"])}
