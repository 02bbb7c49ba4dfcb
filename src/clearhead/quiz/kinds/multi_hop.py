"""Sheets on two layers of attention: what is 'it', which was left in one place while another thing was taken along?

1: integers and the same weights in both layers; one step of them is asked. 2: one-decimal vectors. 3: each layer has
weights of its own, and every line is rounded.

One layer cannot tell: 'it' sees the same words in both orders of the story, so it gets the same vector whichever thing
was left. The words before it see only what came before them, and the second layer reads what they have gathered.
"""

from typing import Any

from clearhead.quiz.chance import Chance
from clearhead.quiz.kinds.numbers import Data
from clearhead.worksheet.reading import parse_problem
from clearhead.worksheet.solver import solve
from clearhead.worksheet.worksheet import Worksheet

MARGIN = 0.2  # by which one answer is larger than the other, so that no rounding decides between them
_STORIES = (  # thing, place, distractor
    ("guitar", "kitchen", "wine"),
    ("book", "garden", "lamp"),
    ("coat", "train", "map"),
    ("letter", "desk", "key"),
    ("ball", "shed", "kite"),
    ("phone", "car", "bag"),
)
# The thing that is left, the place, the distractor and 'it', and the weights: numbers that keep the promise, and the
# middle of those that are drawn. A query is the first number of a token, a key its second: 'it' looks for the place.
_TOKENS = ((1, 0), (0, -1), (0, 1), (-1, 1))
_WEIGHTS = {"W_Q": ((1, 0), (0, 0)), "W_K": ((0, 1), (1, 0)), "W_V": ((2, 0), (0, 0))}


def draw_multi_hop(chance: Chance, difficulty: int) -> Data:
    """Draw two encoder blocks, each with the dot products of the last word and the two things."""
    thing, place, distractor = chance.choose(_STORIES)
    # Integers are twice as large as the middle, which the scale undoes.
    unit, divisor, scale = (2, 1, 4) if difficulty == 1 else (10, 10, "sqrt(d_k)")
    steps = [[unit * number + chance.between(-unit // 2, unit // 2) for number in token] for token in _TOKENS]
    vectors = [[step / divisor if divisor > 1 else step for step in token] for token in steps]
    first = _attention(chance)
    second = _attention(chance) if difficulty == 3 else first
    names = [thing, place, distractor, "it"]
    parts = []
    for number, weights in enumerate((first, second)):
        attention = {**weights, "scale": scale, "mask": "causal"}
        layer = {"tokens": names, "X": "part.0.answer" if number else vectors, "norm": "none"}
        candidates = [list(pair) for pair in zip(vectors[0], vectors[2], strict=True)]
        answer = {
            "tokens": ["it"],
            "X": f"part.{2 * number}.answer[4]",
            "W": candidates,
            "classes": [thing, distractor],
        }
        count = "two layers" if number else "one layer"
        story = f"the {thing} is left in the {place}, then the {distractor} is taken along"
        title = "second layer" if number else f"first layer: {story}"
        parts += [
            {"kind": "encoder-block", "title": title, **layer, "self_attention": attention},
            {"kind": "dense-layer", "title": f"what is found in the {place}, after {count}", **answer},
        ]
    return {"kind": "parts", "parts": parts}


def _attention(chance: Chance) -> Data:
    def near(number: int) -> int:
        return number + (chance.between(-1, 1) if chance.below(5) == 0 else 0)

    return {name: [[near(number) for number in row] for row in rows] for name, rows in _WEIGHTS.items()}


def broken_promise(problem: dict[str, Any], key: Worksheet) -> str:
    """Return what a draw does not show: one layer is wrong and two are right, also if the things change places."""
    layer, *others = problem["parts"]
    thing, place, distractor, pronoun = layer["X"]
    exchanged = {**problem, "parts": [{**layer, "X": [distractor, place, thing, pronoun]}, *others]}
    if _lead(key, 1) > -MARGIN:
        return "one layer is enough"
    return "" if _lead(key, 3) > MARGIN and _lead(solve(parse_problem(exchanged)), 3) < -MARGIN else "two layers fail"


def _lead(sheet: Worksheet, part: int) -> float:
    """Return by how much the dot product with the thing is larger than that with the distractor."""
    answer = next(record.value for record in sheet.trace if record.where == f"part.{part}.dense")
    return float(answer[0, 0] - answer[0, 1])
