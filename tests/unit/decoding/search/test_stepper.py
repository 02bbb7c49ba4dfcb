"""One step of a model for many hypotheses: the log-probabilities of a full pass, for any selection of hypotheses."""

import torch
from torch import Tensor

from clearhead.decoding.search.stepper import Stepper
from clearhead.model import Transformer
from clearhead.model.tracing import PartTrace
from tests.tolerances import assert_close
from tests.unit.decoding.toys import random_model, sources


def full_pass(model: Transformer, source: Tensor, tokens: Tensor) -> Tensor:
    """Return log P of the next token after each hypothesis of `tokens` (B, K, T), computed without a cache: (B, K, V)."""
    rows = []
    for sentence, hypotheses in zip(source, tokens, strict=True):
        start = hypotheses.new_full((len(hypotheses), 1), model.config.start_id)
        memory = model.encode(sentence[None].expand(len(hypotheses), -1))
        rows.append(model.decode(torch.cat((start, hypotheses), dim=1), memory)[:, -1].log_softmax(dim=-1))
    return torch.stack(rows)


@torch.inference_mode()
def test_every_step_equals_a_full_pass_over_the_tokens_so_far() -> None:
    model = random_model(36)
    source = sources(model, (7, 5, 3))
    stepper = Stepper(model, source)
    tokens = source.new_empty(3, 1, 0)
    assert_close(stepper.step(tokens), full_pass(model, source, tokens))
    stepper.follow(torch.zeros(3, 2, dtype=torch.long))  # two hypotheses for each sentence
    tokens = torch.tensor([[[5], [7]], [[11], [13]], [[17], [19]]])
    assert_close(stepper.step(tokens), full_pass(model, source, tokens))
    stepper.follow(torch.tensor([[1, 0], [1, 1], [0, 0]]))
    tokens = torch.tensor([[[7, 3], [5, 5]], [[13, 7], [13, 3]], [[17, 5], [17, 7]]])
    assert_close(stepper.step(tokens), full_pass(model, source, tokens))
    stepper.keep(torch.tensor([2, 0]))  # the second sentence is done
    stepper.follow(torch.tensor([[1], [0]]))
    tokens = torch.tensor([[[17, 7, 11]], [[7, 3, 3]]])
    assert_close(stepper.step(tokens), full_pass(model, source[[2, 0]], tokens))


@torch.inference_mode()
def test_log_probabilities_are_in_float32_if_the_model_has_lower_precision() -> None:
    model = random_model(36).to(torch.bfloat16)
    source = sources(model, (5, 3))
    log_probs = Stepper(model, source).step(source.new_empty(2, 1, 0))
    assert log_probs.dtype == torch.float32
    assert log_probs.shape == (2, 1, model.config.target_size)
    assert_close(log_probs.exp().sum(dim=-1), torch.ones(2, 1), "float32")


@torch.inference_mode()
def test_a_traced_step_is_the_same_step() -> None:
    model = random_model(36)
    source = sources(model, (5, 3))
    tokens, trace = source.new_empty(2, 1, 0), PartTrace(("decoder.1.cross_attention",))
    assert_close(Stepper(model, source).step(tokens, trace), Stepper(model, source).step(tokens))
    assert len(trace.find("softmax")) == model.config.num_heads
