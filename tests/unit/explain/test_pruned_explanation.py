"""A pruned model is explained like any other: its own numbers, with removed heads marked and left out of means."""

from pathlib import Path

import numpy as np
import pytest
import torch

from clearhead.decoding.pipeline import TranslationOptions
from clearhead.decoding.translator import Translator
from clearhead.errors import ConfigError
from clearhead.explain import ExplainOptions, Explanation, compare, explain, to_dict
from clearhead.explain.contributions import attention_norms
from clearhead.explain.explanation_text import explanation_text
from clearhead.explain.opening import double_copy
from clearhead.formats import load_checkpoint, save_checkpoint
from clearhead.formats.head_removal import without_heads
from clearhead.model.batch import Batch
from clearhead.model.heads import find_heads
from tests.small_run import make_run
from tests.unit.explain.conftest import BEAM
from tests.unit.explain.models import SENTENCE

REMOVED = (
    "encoder.0.self_attention.head.0",
    "decoder.0.self_attention.head.0",
    "decoder.0.self_attention.head.1",
    "decoder.0.cross_attention.head.0",
    "decoder.0.cross_attention.head.1",
    "decoder.1.cross_attention.head.1",
)


@pytest.fixture(scope="module")
def pruned(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    """Return a translator whose first decoder layer has no heads, and whose other layers have 1 or 2."""
    run: Path = make_run(tmp_path_factory.mktemp("pruned"))
    model = load_checkpoint(run / "best")
    save_checkpoint(without_heads(model, find_heads(REMOVED, model.config)), run / "best")
    return Translator.load(run, engine="torch")


@pytest.fixture(scope="module")
def explained(pruned: Translator) -> Explanation:
    return explain(pruned, SENTENCE, search=BEAM, options=ExplainOptions(sums=("all",)))


def test_the_translation_and_its_probabilities_are_those_of_the_pruned_model(
    pruned: Translator, explained: Explanation
) -> None:
    assert pruned.model.config.heads_kept, "the model is really smaller"
    assert explained.source is not None
    assert explained.target is not None
    assert explained.target.text == pruned.translate([SENTENCE], BEAM, TranslationOptions())[0].text
    ids = [torch.tensor([row.ids]) for row in (explained.source, explained.target)]
    with torch.no_grad():
        logits = double_copy(pruned.model)(Batch(ids[0], ids[1]))[0]
    probabilities = torch.softmax(logits, dim=-1)
    own = [float(row[output.token]) for output, row in zip(explained.outputs, probabilities, strict=True)]
    assert [output.probability for output in explained.outputs] == pytest.approx(own, rel=1e-12)
    assert to_dict(explained)["model"]["parameters"] == sum(
        parameter.numel() for parameter in pruned.model.parameters()
    )


def test_removed_heads_keep_their_numbers_and_are_marked(explained: Explanation) -> None:
    data = to_dict(explained)
    assert data["removed_heads"] == list(REMOVED)
    heads = [head for stack in data["attention"].values() for layer in stack for head in layer]
    assert [head["name"] for head in heads if head["kind"] == "removed"] == list(REMOVED)
    for head in heads:
        is_removed = head["name"] in REMOVED
        assert (head["confidence"] is None) == is_removed
        row_sums = np.array(head["weights"]).sum(axis=1)
        assert row_sums == pytest.approx(0.0 if is_removed else 1.0, abs=1e-3)
    assert set(explained.kinds).isdisjoint(REMOVED)
    assert set(data["sums"]) == set(explained.kinds)
    text = explanation_text(explained)
    assert "encoder self-attention, 1 head (1 removed):" in text
    assert "cross-attention, 1 head (3 removed):" in text


def test_means_over_heads_leave_removed_heads_out(explained: Explanation) -> None:
    encoder, decoder, cross = (explained.stacks[name].weights for name in ("encoder", "decoder", "cross"))
    rollout = explained.rollout
    assert rollout.encoder is not None
    assert rollout.decoder is not None
    assert rollout.decoder_to_source is not None
    np.testing.assert_allclose(rollout.encoder[0], (encoder[0, 1] + np.eye(len(encoder[0, 1]))) / 2)
    identity = np.eye(decoder.shape[-1])
    np.testing.assert_array_equal(rollout.decoder[0], identity)
    np.testing.assert_allclose(rollout.decoder[1], (decoder[1].mean(axis=0) + identity) / 2)
    num_source = cross.shape[-1]
    np.testing.assert_allclose(rollout.decoder_to_source[1, :, :num_source], cross[1, 0] @ rollout.encoder[-1] / 2)
    np.testing.assert_allclose(rollout.decoder_to_source.sum(axis=-1), 1.0)
    norms = attention_norms(explained.stacks["cross"])
    assert len(norms) == 1, "a layer without heads has no share"
    np.testing.assert_allclose(explained.contributions.by_token["attention_norm"].sum(axis=1), 1.0)


def test_a_removed_head_has_no_sums(pruned: Translator) -> None:
    with pytest.raises(ConfigError, match=r"'decoder.0.cross_attention.head.1' was removed from this model"):
        explain(pruned, SENTENCE, options=ExplainOptions(sums=("decoder.0.cross_attention.head.1",)))


def test_the_states_of_two_sentences_are_compared(pruned: Translator) -> None:
    side = compare(pruned, "the red cat", "where is the old house?", word="the").sides[0]
    model = double_copy(pruned.model)
    assert model.encoder is not None
    assert model.encoder.last_norm is not None, "it is applied after the last layer, whose states are compared"
    with torch.no_grad():
        states = model.encode(torch.tensor([side.row.ids])).states[0, list(side.positions)]
        normed = model.encoder.last_norm(torch.from_numpy(side.layers[-1])[None], None)
    assert len(side.positions) == 1, "the norm of a mean is not the mean of norms"
    np.testing.assert_allclose(normed.numpy(), states.numpy())


def test_a_model_without_any_heads_is_explained(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    model = load_checkpoint(run / "best")
    save_checkpoint(without_heads(model, find_heads(["*"], model.config)), run / "best")
    explained = explain(Translator.load(run, engine="torch"), SENTENCE, search=BEAM)
    assert not explained.kinds
    assert not explained.contributions.by_token["attention_norm"].any()
