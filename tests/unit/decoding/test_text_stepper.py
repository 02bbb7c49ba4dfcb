"""A language model after prompts: the same log-probabilities as in one pass, in every search."""

import pytest
import torch
from torch import Tensor

from clearhead.decoding.generation import TextStepper
from clearhead.decoding.scoring import token_log_probs
from clearhead.decoding.search.beam import search_with
from clearhead.decoding.search.sampling import sample
from clearhead.decoding.search.settings import SearchSettings
from clearhead.model import SequenceModel
from tests.small_halves import ARCHITECTURES, small_model, small_vocabularies


@pytest.fixture(scope="module", params=ARCHITECTURES)
def model(request: pytest.FixtureRequest) -> SequenceModel:
    return small_model(small_vocabularies(), **ARCHITECTURES[request.param]).to(dtype=torch.float64)


@pytest.fixture
def prompts(model: SequenceModel) -> Tensor:
    start = model.config.start_id
    return torch.tensor([[start, 5, 7, 11], [start, 6, 5, 9], [start, 8, 8, 8]])


SEARCHES = [
    SearchSettings(),
    SearchSettings(beam=3, n_best=3, stopping="likely"),
    SearchSettings(temperature=1.0, n_best=2),
]


@pytest.mark.parametrize("settings", SEARCHES, ids=["greedy", "beam", "sampling"])
def test_the_log_probabilities_are_those_of_one_pass(
    model: SequenceModel, prompts: Tensor, settings: SearchSettings
) -> None:
    search = sample if settings.is_sampling else search_with
    with torch.inference_mode():
        outcomes = search(TextStepper(model, prompts), prompts, [7] * 3, settings)
        for prompt, hypotheses in zip(prompts.tolist(), outcomes, strict=True):
            assert len(hypotheses) == settings.n_best
            for hypothesis in hypotheses:
                target = torch.tensor([[*prompt[1:], *hypothesis.tokens]])
                expected = token_log_probs(model, None, target)[0, len(prompt) - 1 :]
                assert list(hypothesis.log_probs) == pytest.approx(expected.tolist(), abs=1e-9)
                assert 1 <= len(hypothesis.tokens) <= 7
                assert hypothesis.has_ended == (hypothesis.tokens[-1] == model.config.eos)


@pytest.mark.parametrize("settings", SEARCHES, ids=["greedy", "beam", "sampling"])
def test_batched_is_the_same_as_alone(model: SequenceModel, prompts: Tensor, settings: SearchSettings) -> None:
    with torch.inference_mode():
        for number in range(3):
            own = prompts[number : number + 1]
            if settings.is_sampling:
                together = sample(TextStepper(model, prompts), prompts, [7] * 3, settings)
                alone = sample(TextStepper(model, own), own, [7], settings, numbers=[number])
            else:
                together = search_with(TextStepper(model, prompts), prompts, [7] * 3, settings)
                alone = search_with(TextStepper(model, own), own, [7], settings)
            assert [one.tokens for one in alone[0]] == [one.tokens for one in together[number]]


def test_greedy_search_takes_the_most_probable_token_of_every_pass(model: SequenceModel, prompts: Tensor) -> None:
    with torch.inference_mode():
        best = search_with(TextStepper(model, prompts), prompts, [5] * 3, SearchSettings())[0][0]
        ids = prompts[0].tolist()
        for token in best.tokens:
            logits = model.decode(torch.tensor([ids]))[0, -1]
            logits[list(model.config.never_written)] = -torch.inf
            assert token == int(logits.argmax())
            ids.append(token)


def test_every_step_is_reported_with_the_tokens_so_far(model: SequenceModel, prompts: Tensor) -> None:
    lengths = []
    stepper = TextStepper(model, prompts[:1], lambda tokens: lengths.append(tokens.shape[-1]))
    with torch.inference_mode():
        hypothesis = search_with(stepper, prompts[:1], [4], SearchSettings())[0][0]
    assert lengths == list(range(len(hypothesis.tokens)))
