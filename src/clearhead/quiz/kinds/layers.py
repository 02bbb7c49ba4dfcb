"""Sheets on the layers around attention: a dense layer, feed-forward, residual and norm, and convolution.

1: two or three tokens with small integers. 2: one-decimal inputs. 3: dense-layer with a softmax over classes,
feed-forward with a smooth activation and an output activation, add-and-norm with gain and shift, convolution with two
filters and tanh.
"""

from clearhead.quiz.chance import Chance
from clearhead.quiz.kinds.attention import input_numbers, weight_numbers
from clearhead.quiz.kinds.numbers import Data, Numbers

EPSILON = 0.00001


def draw_dense(chance: Chance, difficulty: int) -> Data:
    """Draw a problem of the kind dense-layer."""
    numbers, weights = input_numbers(chance, difficulty), weight_numbers(chance, difficulty)
    width, out = {1: (2, 2), 2: (3, 2), 3: (3, 3)}[difficulty]
    activation = {1: "relu", 2: chance.choose(["tanh", "sigmoid"]), 3: "softmax"}[difficulty]
    count = 2 if difficulty < 3 else 3
    data: Data = {"tokens": numbers.words(count), "X": numbers.matrix(count, width), "W": weights.matrix(width, out)}
    data |= {"b": weights.vector(out), "activation": activation}
    return data | {"classes": numbers.words(out)} if difficulty == 3 else data


def draw_feed_forward(chance: Chance, difficulty: int) -> Data:
    """Draw a problem of the kind feed-forward."""
    numbers = input_numbers(chance, difficulty)
    width = 2 if difficulty == 1 else 3
    data: Data = {"tokens": numbers.words(2), "X": numbers.matrix(2, width), **feed_forward(chance, difficulty, width)}
    if difficulty == 3:
        data |= {"activation": chance.choose(["tanh", "sigmoid"]), "output_activation": "softmax"}
    return data


def feed_forward(chance: Chance, difficulty: int, width: int) -> Data:
    """Draw two linear layers with ReLU between them."""
    weights = weight_numbers(chance, difficulty)
    inner = 3
    data: Data = {"W_1": weights.matrix(width, inner), "b_1": weights.vector(inner), "activation": "relu"}
    return data | {"W_2": weights.matrix(inner, width), "b_2": weights.vector(width)}


def draw_add_and_norm(chance: Chance, difficulty: int) -> Data:
    """Draw a problem of the kind add-and-norm."""
    numbers = Numbers(chance, 0 if difficulty == 1 else 1, 3)
    count, width = (2, 3) if difficulty == 1 else (3, 3)
    data: Data = {"tokens": numbers.words(count), "X": numbers.matrix(count, width), "Y": numbers.matrix(count, width)}
    data |= {"norm": "layer", "epsilon": EPSILON, "epsilon_place": "inside"}
    if difficulty == 3:
        data |= {
            "norm": chance.choose(["layer", "batch"]),
            "gain": _gain(chance, width),
            "shift": numbers.vector(width),
        }
    return data


def layer_norm() -> Data:
    """Return a layer norm with every convention stated."""
    return {"norm": "layer", "epsilon": EPSILON, "epsilon_place": "inside"}


def _gain(chance: Chance, width: int) -> list[float]:
    return [tenths / 10 for tenths in chance.sample(range(5, 21), width)]


def draw_convolution(chance: Chance, difficulty: int) -> Data:
    """Draw a problem of the kind convolution."""
    numbers, weights = input_numbers(chance, difficulty), weight_numbers(chance, difficulty)
    count, width, num_taps = {1: (3, 2, 2), 2: (4, 2, 3), 3: (4, 2, 3)}[difficulty]
    num_filters = 1 if difficulty == 1 else 2
    taps = [weights.matrix(width, num_filters) for _ in range(num_taps)]
    data: Data = {"tokens": numbers.words(count), "X": numbers.matrix(count, width), "taps": taps}
    data["padding"] = {1: "valid", 2: chance.choose(["valid", "same"]), 3: chance.choose(["same", "causal"])}[
        difficulty
    ]
    data["activation"] = {1: "none", 2: "relu", 3: "tanh"}[difficulty]
    return data | {"b": weights.vector(num_filters)} if difficulty > 1 else data
