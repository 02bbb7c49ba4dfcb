"""Sheets on recurrent networks.

1: a plain cell with integers. 2: a plain cell with one-decimal numbers and an output layer. 3: an LSTM or a GRU.
"""

from clearhead.quiz.chance import Chance
from clearhead.quiz.kinds.attention import input_numbers
from clearhead.quiz.kinds.numbers import Data, Numbers

_STATE = 2


def draw_recurrent(chance: Chance, difficulty: int) -> Data:
    """Draw a problem of the kind recurrent."""
    numbers = input_numbers(chance, difficulty).within(1)
    data: Data = {"tokens": numbers.words(2), "X": numbers.matrix(2, 2), "h0": numbers.vector(_STATE)}
    weights = Numbers(chance, 0 if difficulty == 1 else 1, 1)
    if difficulty < 3:
        data["cell"] = _cell(weights)
        if difficulty == 2:
            output = {"W": weights.matrix(3, _STATE), "b": weights.vector(3), "classes": numbers.words(3)}
            data["output"] = {**output, "activation": "softmax", "after": "last"}
        return data
    if chance.below(2):
        gru = {gate: _cell(weights) for gate in ("reset", "update", "candidate")}
        return {**data, "gru": gru, "reset": "before", "update": chance.choose(["keep", "replace"])}
    gates = {gate: _cell(weights) for gate in ("forget", "input", "candidate", "output")}
    return {**data, "lstm": gates, "c0": numbers.vector(_STATE)}


def _cell(weights: Numbers) -> Data:
    return {"W": weights.matrix(_STATE, 2), "U": weights.matrix(_STATE, _STATE), "b": weights.vector(_STATE)}
