"""Sampling: tokens have the probabilities of the model, and the same seed gives the same tokens."""

from typing import Any

import torch
from torch import Tensor

from clearhead.decoding.search.constraints import Constraints
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.sampling import sample
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.search.stepper import Stepper
from clearhead.model import Transformer
from tests.unit.decoding.toys import best_hypotheses, random_model, sources


def drawn(
    model: Transformer, source: Tensor, numbers: list[int] | None = None, **options: Any
) -> list[list[Hypothesis]]:
    with torch.inference_mode():
        return sample(
            Stepper(model, source),
            source,
            [13] * len(source),
            SearchSettings(**{"temperature": 1.0, **options}),
            None,
            numbers,
        )


def test_the_same_seed_draws_the_same_tokens_in_any_batch() -> None:
    model = random_model(36)
    source = sources(model)
    together = drawn(model, source, n_best=3, seed=7)
    for number, row in enumerate(source):
        alone = drawn(model, row[row != model.config.pad][None], [number], n_best=3, seed=7)[0]
        assert [hypothesis.tokens for hypothesis in alone] == [hypothesis.tokens for hypothesis in together[number]]
    assert drawn(model, source, n_best=3, seed=8) != together
    assert len({hypothesis.tokens for row in together for hypothesis in row}) > 10


def test_tokens_are_drawn_with_the_probabilities_of_the_model() -> None:
    model = random_model(36)
    source = sources(model, (3,)).expand(2000, -1)
    with torch.no_grad():
        start = torch.tensor([[model.config.start_id]])
        logits = model.decode(start, model.encode(source[:1]))[0, -1]
    logits[[model.config.pad, model.config.bos]] = float("-inf")
    settings = SearchSettings(temperature=0.7)
    with torch.inference_mode():
        first = [hypotheses[0].tokens[0] for hypotheses in sample(Stepper(model, source), source, [1] * 2000, settings)]
    counts = torch.bincount(torch.tensor(first), minlength=30) / 2000
    assert (counts - (logits / 0.7).softmax(dim=-1)).abs().max() < 0.05


def test_only_the_most_probable_tokens_are_drawn() -> None:
    model = random_model(36)
    source = sources(model)
    best = best_hypotheses(model, source, [Constraints()] * 5, beam=1, max_length=13)
    for options in ({"top_k": 1}, {"top_p": 1e-9}, {"temperature": 1e-6}):
        assert [row[0].tokens[:13] for row in drawn(model, source, **options)] == [
            hypothesis.tokens[:13] for hypothesis in best
        ]
    one = sources(model, (3,)).expand(500, -1)
    settings = SearchSettings(temperature=5.0, top_k=4)
    with torch.inference_mode():
        assert len({hypotheses[0].tokens for hypotheses in sample(Stepper(model, one), one, [1] * 500, settings)}) == 4
        nucleus = SearchSettings(temperature=1.0, top_p=0.5)
        logits = model.decode(torch.tensor([[model.config.start_id]]), model.encode(one[:1]))[0, -1]
        shares = logits.softmax(dim=-1).sort(descending=True).values.cumsum(dim=-1)
        size = int((shares < 0.5).sum()) + 1
        assert (
            len({hypotheses[0].tokens for hypotheses in sample(Stepper(model, one), one, [1] * 500, nucleus)}) == size
        )
