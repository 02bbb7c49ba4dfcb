"""Heads, rollout and logit lens of an explanation."""

import numpy as np
import pytest
import torch

from clearhead.decoding.translator import Translator
from clearhead.explain import LoadedModel, explain
from clearhead.explain.explanation import Explanation
from clearhead.explain.head_kind import HeadStatistics, kind_of_head, sentence_statistics
from clearhead.explain.opening import double_copy
from clearhead.explain.outputs import LensLayer, RankedToken, decided_at, lens_logits
from clearhead.explain.rollout import rollout, rollout_to_source
from clearhead.explain.traced_pass import trace_pass
from clearhead.model.batch import Batch
from clearhead.model.heads import AttentionHead
from clearhead.worksheet.arrays import Array


def test_the_weights_are_those_of_the_heads_that_give_them_their_names(
    german: Translator, explanation: Explanation
) -> None:
    assert explanation.source is not None
    assert explanation.target is not None
    model = double_copy(german.model)
    sources, targets = torch.tensor([explanation.source.ids]), torch.tensor([explanation.target.ids])
    with torch.no_grad():
        _, trace = model.trace(Batch(sources, targets))
    for stack in explanation.stacks.values():
        for layer in range(stack.num_layers):
            for head in range(stack.num_heads):
                name = stack.head_name(layer, head)
                record = trace.find("softmax", name)[0]
                assert stack.weights[layer, head].tolist() == pytest.approx(record.value[0].numpy())
    assert {name: stack.weights.shape[:2] for name, stack in explanation.stacks.items()} == {
        "encoder": (1, 2), "decoder": (2, 2), "cross": (2, 2),
    }  # fmt: skip


def test_every_row_of_attention_and_the_shown_sums_add_up(explanation: Explanation) -> None:
    for stack in explanation.stacks.values():
        assert stack.weights.sum(axis=-1) == pytest.approx(1.0)
        assert stack.q @ stack.k.swapaxes(-1, -2) / np.sqrt(stack.q.shape[-1]) == pytest.approx(stack.scores)
        assert stack.weights @ stack.v == pytest.approx(stack.z)


def test_shifted_cross_attention_starts_one_row_later(explanation: Explanation) -> None:
    cross = explanation.stacks["cross"]
    assert explanation.target is not None
    assert cross.weights.shape[2] == len(explanation.target)
    assert (cross.shifted == cross.weights[:, :, 1:]).all()
    assert explanation.inputs[1:] == explanation.target.pieces[:-1]


def shifted_diagonal(size: int, offset: int) -> Array:
    weights = np.full((size, size), 0.1)
    for query in range(size):
        weights[query, min(size - 1, max(0, query + offset))] = 1.0
    return weights / weights.sum(axis=1, keepdims=True)


PLACES = {
    "encoder": "encoder.0.self_attention", "decoder": "decoder.0.self_attention", "cross": "decoder.0.cross_attention",
}  # fmt: skip


def head_kind(weights: Array, stack: str) -> HeadStatistics:
    return sentence_statistics(AttentionHead(PLACES[stack], 0), weights)


@pytest.mark.parametrize(
    ("offset", "kind"), [(-1, "previous token"), (0, "same token"), (1, "next token"), (-2, "offset −2")]
)
def test_a_head_at_one_offset_is_named_after_it(offset: int, kind: str) -> None:
    """The largest of 9 weights is 1.0 beside eight times 0.1; the end token is neither a query nor a key."""
    result = head_kind(shifted_diagonal(9, offset), "encoder")
    assert (result.kind, result.offset, result.offset_share) == (kind, offset, 1.0)
    assert result.num_queries == 8
    missing = (0.1 - 1.0) / 1.8 / 8 if offset == 1 else 0.0  # the token before the end looks at the end
    assert result.confidence == pytest.approx(1 / 1.8 + missing)


def test_a_head_with_fewer_than_nine_of_ten_largest_weights_at_an_offset_is_mostly_there() -> None:
    weights = shifted_diagonal(12, 0)
    weights[3, [3, 5]] = weights[3, [5, 3]]
    assert head_kind(weights, "encoder").kind == "same token"  # 10 of 11
    weights[4, [4, 7]] = weights[4, [7, 4]]
    assert head_kind(weights, "encoder").kind == "mostly same token"  # 9 of 11


def test_heads_at_the_first_and_the_end_token() -> None:
    first, end = np.full((7, 7), 0.01), np.full((7, 7), 0.01)
    first[:, 0] = end[:, -1] = 0.94
    assert head_kind(first, "encoder").kind == "first token"
    assert head_kind(end, "encoder").kind == "end token"
    assert head_kind(np.tril(first), "decoder").kind == "first token"
    assert head_kind(end, "cross").kind == "end token"
    assert head_kind(first, "encoder").confidence == pytest.approx(0.94)
    assert head_kind(end, "encoder").confidence == pytest.approx(0.01), "the end token is left out"


def test_a_head_without_a_pattern_is_broad_or_mixed() -> None:
    """The largest weights are at 3, 5, 0, 0, 1, 4: no offset occurs more than twice."""
    weights = np.full((7, 7), 0.1)
    weights[range(7), [3, 5, 0, 0, 1, 4, 2]] = 0.4
    assert head_kind(weights, "encoder").kind == "broad"  # entropy 1.75 of log 7 = 1.95
    weights[weights < 0.4] = 0.001
    weights[range(7), [4, 6, 1, 1, 2, 5, 3]] = 0.395
    row = head_kind(weights, "encoder")
    assert (row.kind, row.confidence) == ("mixed", pytest.approx(0.4))
    assert row.spread == pytest.approx((-0.4 * np.log(0.4) - 0.395 * np.log(0.395) - 0.005 * np.log(0.001)) / np.log(7))
    assert head_kind(np.ones((2, 2)) / 2, "encoder").kind == "mixed"  # too short


def test_an_offset_that_few_queries_can_look_at_is_not_counted() -> None:
    """Of 12 queries, 2 can look ten tokens ahead and both do; the others scatter, and one looks at itself."""
    weights = np.full((13, 13), 0.01)
    keys = [10, 11, 2, 5, 7, 9, 1, 8, 4, 3, 8, 8, 0]
    weights[range(13), keys] = 0.4
    row = head_kind(weights, "encoder")
    assert (row.offset, row.offset_share) == (0, pytest.approx(1 / 12))


def test_heads_that_look_near_pick_one_token_or_follow_the_diagonal() -> None:
    near = np.full((13, 13), 0.05)
    near[range(13), [max(0, q + (-2, -1, 0, 1, 2)[q % 5]) for q in range(13)]] = 0.4
    assert (head_kind(near, "encoder").kind, head_kind(near, "encoder").near_share) == ("nearby tokens", 1.0)
    focused = np.full((13, 13), 0.01)
    focused[range(13), [9, 7, 11, 8, 10, 0, 1, 2, 11, 3, 0, 4, 5]] = 0.88
    assert head_kind(focused, "encoder").kind == "focused"
    diagonal = np.full((5, 10), 0.01)  # nine tokens and the end token: the diagonal is at 0, 2, 4, 6, 8
    diagonal[range(5), [1, 1, 5, 0, 2]] = 0.92
    assert head_kind(diagonal, "cross").kind == "mostly diagonal"  # 3 of 5 within one token
    assert kind_of_head(head_kind(diagonal, "cross"), 49.9) == "alignment"
    assert kind_of_head(head_kind(diagonal, "cross"), 50.1) == "mostly diagonal"


def test_a_diagonal_of_cross_attention_follows_the_lengths() -> None:
    weights = np.full((5, 10), 0.01)  # nine tokens and the end token
    weights[range(5), range(0, 9, 2)] = 0.92
    assert (head_kind(weights, "cross").kind, head_kind(weights, "cross").diagonal_share) == ("diagonal", 1.0)
    assert head_kind(shifted_diagonal(7, 0), "cross").kind == "offset +0"


def test_rollout_worked_by_hand() -> None:
    """Two layers of Ā = (0 1; 0 1): Ã = (½ ½; 0 1), Ã Ã = (¼ ¾; 0 1)."""
    weights = np.array([[[[0.0, 1.0], [0.0, 1.0]]]] * 2)
    assert rollout(weights).tolist() == [[[0.5, 0.5], [0.0, 1.0]], [[0.25, 0.75], [0.0, 1.0]]]


def test_rollout_to_the_source_worked_by_hand() -> None:
    """One token, one layer: ½ D + ½ D = D, then ½ from the source by its weights and ½ from the token itself."""
    own, cross = np.ones((1, 1, 1, 1)), np.array([[[[0.25, 0.75]]]])
    assert rollout_to_source(own, cross, np.eye(2)).tolist() == [[[0.125, 0.375, 0.5]]]


def test_rows_of_a_rollout_sum_to_1(explanation: Explanation, language_model: LoadedModel) -> None:
    rollouts = explanation.rollout
    assert rollouts.encoder is not None
    assert rollouts.decoder is not None
    assert rollouts.decoder_to_source is not None
    for matrix in (rollouts.encoder, rollouts.decoder, rollouts.decoder_to_source):
        assert matrix.sum(axis=-1) == pytest.approx(1.0)
    alone = explain(language_model, "a dog").rollout
    assert alone.encoder is None
    assert alone.decoder is not None
    assert alone.decoder.sum(axis=-1) == pytest.approx(1.0)


def test_the_lens_of_the_last_layer_is_the_models_own_distribution(
    german: Translator, explanation: Explanation
) -> None:
    for output in explanation.outputs:
        last = output.lens[-1]
        assert (last.layer, last.probability, last.rank) == (2, output.probability, output.rank)
        assert last.best == output.alternatives[:3]
    assert len(explanation.outputs[0].lens) == 3
    shown = [*explanation.outputs[0].alternatives, *explanation.outputs[0].lens[0].best]
    assert [other.piece for other in shown] == german.vocabularies.target.pieces([other.token for other in shown])


def test_the_lens_projects_the_states_of_each_layer(german: Translator, explanation: Explanation) -> None:
    """The states after the last layer, through the last norm and the output layer, are the model's logits."""
    model, traced = double_copy(german.model), explanation.traced
    assert traced.decoder_states is not None
    logits = lens_logits(model, traced)
    assert model.decoder is not None
    states = torch.from_numpy(traced.decoder_states)
    for layer in range(2):
        x = states[layer] if model.decoder.last_norm is None else model.decoder.last_norm(states[layer][None], None)[0]
        assert logits[layer].numpy() == pytest.approx(model.project(x).detach().numpy())
    x = states[-1] if model.decoder.last_norm is None else model.decoder.last_norm(states[-1][None], None)[0]
    assert model.project(x).detach().numpy() == pytest.approx(traced.logits.numpy())


def test_a_token_is_decided_where_it_stays_the_best() -> None:
    best = (RankedToken(1, "▁a", 0.5),)
    lens = [LensLayer(layer, 0.5, rank, best) for layer, rank in enumerate((0, 3, 0, 0))]
    assert decided_at(lens) == 2
    assert decided_at(lens[:2]) is None


def test_a_classifier_has_the_lens_of_its_mean(classifier: LoadedModel) -> None:
    outputs = explain(classifier, "a small book.").outputs
    assert [output.lens[-1].probability for output in outputs] == [output.probability for output in outputs]
    traced = trace_pass(double_copy(classifier.model), [11, 12, 13], None)
    assert len(lens_logits(double_copy(classifier.model), traced)) == 4
