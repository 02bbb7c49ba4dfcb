"""The model learns: copying, reversing, sorting, language modelling and classification, to a stated score.

Sentences are of 3 to 10 words out of 17, drawn anew for every step; the score is the share of 512 other sentences with every token right.
"""

from collections.abc import Callable
from itertools import pairwise

import pytest
import torch

from tests.system.learning import (
    FIRST,
    LONGEST,
    Recipe,
    commonest,
    counting_on,
    greedy,
    held_out,
    rewriting,
    small_config,
    train,
)

# Without attention, the state of an LSTM must hold the entire sentence.
ARCHITECTURES: dict[str, dict[str, object]] = {
    "transformer": {},
    "gru": {"architecture": "recurrent", "cell": "gru"},
    "lstm without attention": {"architecture": "recurrent", "attention": "none"},
    "convolutional": {"architecture": "convolutional", "kernel": 5},
}
RATES = {"transformer": 3e-3, "gru": 6e-3, "lstm without attention": 6e-3, "convolutional": 3e-3}
COPY_STEPS = {"transformer": 300, "gru": 350, "lstm without attention": 1000, "convolutional": 300}
REWRITING_STEPS = {
    ("transformer", "copy"): 450,
    ("convolutional", "copy"): 450,
    ("convolutional", "reverse"): 450,
}  # else 700
RULES: dict[str, Callable[[list[int]], list[int]]] = {
    "copy": lambda row: row,
    "reverse": lambda row: row[::-1],
    "sort": sorted,
}


def exact(task_name: str, longest: int, recipe: Recipe, **changes: object) -> float:
    """Return the share of held-out sentences that are written without an error."""
    task = rewriting(RULES[task_name], longest)
    model = train(small_config(**changes), task, recipe)
    batch = held_out(task)
    assert batch.source is not None
    assert batch.target is not None
    return float((greedy(model, batch.source, batch.target.shape[1]) == batch.target).all(dim=1).double().mean())


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_it_learns_to_copy_short_sentences(name: str) -> None:
    score = exact("copy", 5, Recipe(COPY_STEPS[name], RATES[name]), **ARCHITECTURES[name])
    assert score >= 0.99, f"{score:.1%} of the sentences are right"


@pytest.mark.slow
@pytest.mark.parametrize("task_name", RULES)
@pytest.mark.parametrize("name", ["transformer", "gru"])
def test_it_learns_to_rewrite_sentences(name: str, task_name: str) -> None:
    score = exact(
        task_name, LONGEST, Recipe(REWRITING_STEPS.get((name, task_name), 700), RATES[name]), **ARCHITECTURES[name]
    )
    assert score >= 0.99, f"{score:.1%} of the sentences are right"


@pytest.mark.slow
@pytest.mark.parametrize("task_name", RULES)
def test_a_convolutional_model_learns_to_rewrite_sentences(task_name: str) -> None:
    """To a lower score: it sees only some of the sentence, which is not enough to sort it without an error."""
    layers = {"encoder_blocks": 2, "decoder_blocks": 3}
    recipe = Recipe(REWRITING_STEPS.get(("convolutional", task_name), 700), RATES["convolutional"])
    score = exact(task_name, LONGEST, recipe, **layers, **ARCHITECTURES["convolutional"])
    assert score >= 0.9, f"{score:.1%} of the sentences are right"


@pytest.mark.parametrize("name", ["transformer", "gru", "convolutional"])
def test_a_decoder_learns_to_continue_a_language(name: str) -> None:
    config = small_config(shape="decoder", decoder_blocks=2, **ARCHITECTURES[name])
    model = train(config, counting_on, Recipe(400, RATES[name]))
    batch = held_out(counting_on)
    assert batch.target is not None
    with torch.no_grad():
        foretold = model(batch).argmax(dim=-1)
    right = (foretold == batch.target)[:, 2:].double().mean()
    assert right >= 0.99, f"{right:.1%} of the words are right"


@pytest.mark.parametrize("name", ["transformer", "gru", "convolutional"])
def test_an_encoder_learns_to_classify(name: str) -> None:
    config = small_config(shape="encoder", num_classes=3, **ARCHITECTURES[name])
    model = train(config, commonest, Recipe(steps=300))
    batch = held_out(commonest)
    with torch.no_grad():
        right = (model(batch).argmax(dim=-1) == batch.labels).double().mean()
    assert right >= 0.99, f"{right:.1%} of the sentences are right"
    assert batch.labels is not None
    assert batch.labels.bincount().max() < 0.5 * len(batch.labels), "a constant answer would score well"


def test_the_tasks_match_their_descriptions() -> None:
    pairs = held_out(rewriting(RULES["reverse"]), 7)
    for source, target in zip(pairs.source.tolist(), pairs.target.tolist(), strict=True):  # type: ignore[union-attr]
        words = [token for token in source if token >= FIRST]
        assert [token for token in target if token >= FIRST] == words[::-1]
    for row in held_out(counting_on, 7).target.tolist():  # type: ignore[union-attr]
        steps = {(b - a) % 17 for a, b in pairwise(row)}
        assert len(steps) == 1
