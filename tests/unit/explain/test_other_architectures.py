"""Explanations of recurrent and convolutional models: every part that exists for them, against an independent value."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from clearhead.decoding.alignment import cross_attention
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.errors import ConfigError
from clearhead.explain import (
    ExplainOptions,
    Explanation,
    Intervention,
    LoadedModel,
    Patch,
    compare,
    explain,
    to_dict,
    to_npz,
    what_if,
)
from clearhead.explain.contributions import gradients
from clearhead.explain.explanation import MissingPart, missing_parts
from clearhead.explain.explanation_text import comparison_text, explanation_text
from clearhead.explain.opening import double_copy
from clearhead.model import Batch
from clearhead.model.base import SequenceModel
from clearhead.model.config import read_config
from tests.parity.architectures import make_architecture
from tests.small_halves import LABELS, LINES, small_model, small_vocabularies
from tests.small_run import make_run
from tests.unit.explain.models import SENTENCE

MODELS: dict[str, dict[str, Any]] = {
    "convolutional": {"architecture": "convolutional", "encoder_blocks": 3, "kernel": 5},
    "lstm, additive": {"architecture": "recurrent", "attention": "additive", "encoder_blocks": 3},
    "gru, scaled": {"architecture": "recurrent", "cell": "gru", "attention": "scaled", "is_bidirectional": False},
    "lstm, multiplicative, fed": {
        "architecture": "recurrent", "attention": "multiplicative", "has_input_feeding": True,
    },
    "gru": {"architecture": "recurrent", "cell": "gru", "attention": "none"},
}  # fmt: skip
STEP = 1e-6
SEARCH = SearchSettings(beam=2, max_length=7)
OPTIONS = ExplainOptions(has_translations=False)


@pytest.fixture(scope="module", params=MODELS)
def translator(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Translator:
    folder = make_run(tmp_path_factory.mktemp("run"), ("de", "bn"), spread=0.2, **MODELS[request.param])
    return Translator.load(folder, engine="torch")


@pytest.fixture(scope="module")
def explanation(translator: Translator) -> Explanation:
    return explain(translator, SENTENCE, search=SEARCH, language="de", options=OPTIONS)


def ids_of(explanation: Explanation) -> tuple[torch.Tensor, torch.Tensor]:
    assert explanation.source is not None
    assert explanation.target is not None
    return torch.tensor(explanation.source.ids), torch.tensor(explanation.target.ids)


def log_probs(model: SequenceModel, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        logits = model(Batch(source[None], target[None]))[0]
    return torch.log_softmax(logits, dim=-1).gather(1, target[:, None])[:, 0]


def test_probabilities_and_the_search_are_those_of_the_translation(
    translator: Translator, explanation: Explanation
) -> None:
    source, target = ids_of(explanation)
    own = log_probs(double_copy(translator.model), source, target)
    assert [output.log_prob for output in explanation.outputs] == pytest.approx(own.tolist(), abs=1e-12)
    assert explanation.translation is not None
    assert explanation.translation.precision_difference is not None
    assert explanation.translation.precision_difference < 1e-4
    assert explanation.search is not None
    assert not any("recorded search" in note for note in explanation.notes)


def test_attention_is_that_of_every_layer_that_attends_to_the_source(
    translator: Translator, explanation: Explanation
) -> None:
    model = double_copy(translator.model)
    source, target = ids_of(explanation)
    if not model.has_cross_attention:
        assert explanation.stacks == {}
        return
    assert list(explanation.stacks) == ["cross"]
    stack = explanation.stacks["cross"]
    with torch.no_grad():
        layers = cross_attention(model, source, [target.tolist()])[0].weights
    right = [np.asarray(layer)[:, :-1] for layer in layers if len(layer)]
    assert stack.weights == pytest.approx(np.stack(right), abs=1e-12)
    assert stack.weights.sum(axis=-1) == pytest.approx(1.0)
    assert stack.z == pytest.approx(stack.weights @ stack.v, abs=1e-12)
    last = f"decoder.{model.config.decoder_blocks - 1}.cross_attention.head.0"
    assert list(explanation.kinds)[-1] == last


def test_attention_norms_are_those_of_what_the_decoder_reads(translator: Translator, explanation: Explanation) -> None:
    """Of a recurrent model: the part of W_c [a; h] that comes from a source token, W_c α s."""
    model = double_copy(translator.model)
    source, _ = ids_of(explanation)
    norms = explanation.contributions.by_token.get("attention_norm")
    if not model.has_cross_attention:
        assert norms is None
        assert list(explanation.contributions.by_word) == ["gradient_input", "leave_out"]
        return
    assert norms is not None
    assert norms.sum(axis=1) == pytest.approx(1.0)
    if model.config.architecture != "recurrent":
        return
    states = model.encode(source[None]).states[0].detach()
    width = states.shape[-1]
    read = model.state_dict()["decoder.attention.output.weight"][:, :width]
    lengths = (states @ read.T).norm(dim=-1).numpy()
    carried = explanation.stacks["cross"].weights[0, 0] * lengths
    assert norms == pytest.approx(carried / carried.sum(axis=1, keepdims=True), abs=1e-12)


def test_gradient_times_input_is_the_slope_of_log_p_if_an_embedding_grows(
    translator: Translator, explanation: Explanation
) -> None:
    model = double_copy(translator.model)
    source, target = ids_of(explanation)
    values = gradients(model, source.tolist(), target.tolist())
    assert values == pytest.approx(explanation.contributions.by_token["gradient_input"], abs=1e-12)
    table = model.state_dict()["encoder.embedding.weight"]  # shares its memory with the model
    for position in (1, 4):
        token = int(source[position])
        assert source.tolist().count(token) == 1
        own, sides = table[token].clone(), []
        for factor in (1 + STEP, 1 - STEP):
            table[token] = own * factor
            sides.append(log_probs(model, source, target))
        table[token] = own
        slope = (sides[0] - sides[1]) / (2 * STEP)
        assert values[:, position] == pytest.approx(slope.numpy(), abs=1e-6)


@pytest.mark.parametrize("name", ["lstm, scaled", "convolutional, tied"])
def test_embeddings_that_are_shared_with_the_output_have_the_gradients_of_the_source_only(name: str) -> None:
    tied = make_architecture(name)
    assert tied.config.tied == "three"
    free = make_architecture(name, tied="none")
    free.load_state_dict(tied.state_dict())
    source, target = [3, 5, 7, 2], [5, 4, 2]
    values = gradients(tied, source, target)
    assert values == pytest.approx(gradients(free, source, target), abs=1e-12)
    assert np.abs(values).min() > 0


def test_leaving_out_is_the_change_of_log_p(translator: Translator, explanation: Explanation) -> None:
    model = double_copy(translator.model)
    source, target = ids_of(explanation)
    shorter = translator.vocabularies.source.encode([f">>de<< {SENTENCE.replace('red ', '')}"])[0]
    other = log_probs(model, torch.tensor([*shorter, model.config.eos]), target)
    difference = log_probs(model, source, target) - other
    assert explanation.source is not None
    red = explanation.source.words.index("red")
    assert explanation.contributions.by_word["leave_out"][:, red] == pytest.approx(difference.numpy(), abs=1e-9)


def test_states_are_those_of_the_layers(translator: Translator, explanation: Explanation) -> None:
    model = double_copy(translator.model)
    source, target = ids_of(explanation)
    traced, config = explanation.traced, model.config
    memory = model.encode(source[None])
    states = model.decode_states(model.shifted(target[None]), memory)
    assert traced.encoder_states is not None
    assert traced.decoder_states is not None
    assert traced.encoder_states.shape == (config.encoder_blocks + 1, len(source), config.d_model)
    assert traced.encoder_states[-1] == pytest.approx(memory.states[0].detach().numpy(), abs=1e-12)
    assert traced.decoder_states[-1] == pytest.approx(states[0].detach().numpy(), abs=1e-12)
    if config.architecture == "recurrent":
        table = model.state_dict()["encoder.embedding.weight"]
        assert traced.encoder_states[0] == pytest.approx(table[source].numpy(), abs=1e-12)


def test_json_text_and_npz_say_what_the_model_does_not_have(explanation: Explanation) -> None:
    config = explanation.model.config
    data, text = to_dict(explanation), explanation_text(explanation)
    assert data["model"]["architecture"] == config.architecture
    assert (data["model"]["heads"], data["model"]["d_ff"]) == (None, None)
    assert data["model"]["d_decoder"] == config.d_model
    missing = [part["part"] for part in data["missing"]]
    assert missing[:3] == ["self-attention heads", "attention rollout", "logit lens"]
    has_attention = config.attention != "none" or config.architecture == "convolutional"
    assert missing[3:] == ([] if has_attention else ["attention to the source"])
    assert all(token["lens"] == [] and token["decided_at"] is None for token in data["tokens"])
    assert set(data["methods"]) == set(explanation.contributions.by_word)
    assert data["rollout"]["encoder"] is None
    assert f"Not in this explanation, because the model is {config.architecture}:\n  self-attention heads: " in text
    assert "decided" not in text
    with np.load(io.BytesIO(to_npz(explanation))) as arrays:
        assert "lens_probabilities" not in arrays
        assert ("cross_weights" in arrays) == has_attention
        assert ("cross_q" in arrays) == (config.architecture == "convolutional")


def test_a_word_is_compared_in_every_layer_of_the_encoder(translator: Translator) -> None:
    comparison = compare(translator, "the red cat sees", "a small cat", word="cat", language="de")
    assert len(comparison.cosines) == translator.model.config.encoder_blocks + 1
    assert comparison.static_cosine == pytest.approx(1.0)
    assert comparison.cosines[-1] < 1.0
    first = "embedding" if translator.model.config.architecture == "recurrent" else "with position"
    assert f"\n{first} " in comparison_text(comparison)


@pytest.mark.parametrize("architecture", ["recurrent", "convolutional"])
@pytest.mark.parametrize("labels", [LABELS, ()], ids=["classifier", "language model"])
def test_models_of_one_stack_are_explained_too(architecture: str, labels: tuple[str, ...]) -> None:
    vocabularies = small_vocabularies(labels)
    model = small_model(vocabularies, architecture=architecture)
    explanation = explain(LoadedModel(model, vocabularies), LINES[0])
    by_word = explanation.contributions.by_word
    assert list(by_word) == ["gradient_input", "leave_out"]
    assert explanation.stacks == {}
    assert [part.part for part in explanation.missing] == ["self-attention heads", "attention rollout", "logit lens"]
    double = double_copy(model)
    ids = torch.tensor([vocabularies.source.encode(LINES[:1])[0] + [model.config.eos]])
    with torch.no_grad():
        logits = double(Batch(ids) if labels else Batch(target=ids))
    best = torch.softmax(logits, dim=-1)[0].sort(descending=True).values
    own = [output.probability for output in explanation.outputs]
    if labels:
        assert own == pytest.approx(best[: len(own)].tolist(), abs=1e-12)
    else:
        right = torch.softmax(logits, dim=-1)[0].gather(1, ids[0][:, None])[:, 0]
        assert own == pytest.approx(right.tolist(), abs=1e-12)


def test_nothing_is_missing_for_a_transformer() -> None:
    assert missing_parts(read_config({"source_vocabulary": 7})) == ()
    assert str(MissingPart("logit lens", "there is none")) == "logit lens: there is none."


def test_the_folder_of_a_run_is_explained(tmp_path: Path) -> None:
    from clearhead.explain import open_model

    opened = open_model(make_run(tmp_path / "run", architecture="recurrent"))
    explanation = explain(opened, "the red cat", search=SEARCH, options=OPTIONS)
    assert explanation.model.name == "run"
    assert to_dict(explanation)["model"]["parameters"] > 1000


def test_words_are_swapped_in_every_model_and_heads_and_states_are_those_of_a_transformer(
    translator: Translator,
) -> None:
    swapped = what_if(translator, SENTENCE, Intervention(swap={"red": "small"}), search=SEARCH, language="de")
    assert (
        swapped.after
        == what_if(
            translator, swapped.changed_source, Intervention(swap={"small": "red"}), search=SEARCH, language="de"
        ).before
    )
    name = translator.model.config.architecture
    for change in (Intervention(without=["decoder.*"]), Intervention(patch=Patch("encoder.0", "a red cat"))):
        with pytest.raises(ConfigError) as caught:
            what_if(translator, SENTENCE, change, language="de")
        assert str(caught.value) == (
            f"what-if needs the heads and layers of a Transformer, but this model is {name}. Swap words instead, which "
            "works with every model."
        )
