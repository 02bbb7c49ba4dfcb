"""An explanation as JSON with a stated number of digits, as NPZ, and as text."""

import io
import json
from dataclasses import replace

import numpy as np
import pytest

from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.explain import ExplainOptions, Explanation, LoadedModel, explain, to_dict, to_npz
from clearhead.explain.explanation_file import DIGITS, WINDOW, plain_data
from clearhead.explain.explanation_text import explanation_text
from clearhead.explain.outputs import RankedToken
from tests.unit.explain.models import SENTENCE, single_stack


def test_json_has_the_numbers_of_the_explanation(explanation: Explanation) -> None:
    data = json.loads(json.dumps(to_dict(explanation)))
    assert data["kind"] == "translation"
    assert data["source"]["pieces"][0] == ">>de<<"
    assert data["source"]["word_of"][0] is None
    assert data["window"] is None
    for name, stack in explanation.stacks.items():
        for layer, heads in enumerate(data["attention"][name]):
            for head, entry in enumerate(heads):
                assert entry["name"] == stack.head_name(layer, head)
                assert np.array(entry["weights"]) == pytest.approx(stack.weights[layer, head], abs=0.5e-4)
    for output, entry in zip(explanation.outputs, data["tokens"], strict=True):
        assert entry["probability"] == pytest.approx(output.probability, abs=0.5e-6)
        assert entry["is_disputed"] == (len(set(entry["top"].values())) > 1)
        for method, values in explanation.contributions.by_word.items():
            assert entry["contributions"][method] == pytest.approx(values[output.position], abs=0.5e-4)
    assert set(data["methods"]) == set(explanation.contributions.by_word)
    assert data["classes"] is None


def test_the_sums_of_a_head_give_its_cells(explanation: Explanation) -> None:
    """z = A v and score = q · k / √E, from the numbers that are shown."""
    data = to_dict(explanation)
    (name,) = data["sums"]
    sums = {part: np.array(values) for part, values in data["sums"][name].items()}
    weights = np.array(data["attention"]["cross"][1][0]["weights"])
    assert name == data["attention"]["cross"][1][0]["name"]
    width = sums["q"].shape[1]
    assert sums["q"] @ sums["k"].T / np.sqrt(width) == pytest.approx(sums["scores"], abs=1e-2)
    assert weights @ sums["v"] == pytest.approx(sums["z"], abs=5e-3)
    powers = np.exp(sums["scores"])
    assert powers / powers.sum(axis=1, keepdims=True) == pytest.approx(weights, abs=1e-3)


def test_the_projections_of_a_head_give_its_vectors(explanation: Explanation) -> None:
    heads = ("decoder.1.cross_attention.head.0", "encoder.0.self_attention.head.1")
    options = ExplainOptions(sums=heads, has_projections=True)
    data = to_dict(replace(explanation, options=options))
    for name in heads:
        sums = data["sums"][name]
        parts = {key: None if value is None else np.array(value) for key, value in sums["projections"].items()}
        inputs = {"q": parts["query_input"], "k": parts["key_input"]}
        if "encoder" in name:
            assert parts["key_input"] is None
            inputs["k"] = inputs["q"]
        inputs["v"] = inputs["k"]
        for letter, x in inputs.items():
            product = x @ parts[f"w_{letter}"] + parts[f"b_{letter}"]
            assert product == pytest.approx(np.array(sums[letter]), abs=1e-4)
    assert "projections" not in to_dict(explanation)["sums"][heads[0]]


def test_npz_has_every_array_in_float32(explanation: Explanation) -> None:
    with np.load(io.BytesIO(to_npz(explanation))) as arrays:
        assert arrays["cross_weights"].dtype == np.float32
        assert arrays["cross_weights"] == pytest.approx(explanation.stacks["cross"].weights, abs=1e-6)
        assert arrays["logits"] == pytest.approx(explanation.traced.logits.numpy(), rel=1e-6)
        assert arrays["target_ids"].tolist() == list(explanation.target.ids if explanation.target else ())
        assert arrays["leave_out_by_word"].shape == explanation.contributions.by_word["leave_out"].shape
        assert arrays["encoder_states"].shape[0] == 2


def test_json_of_a_long_sentence_has_a_window_and_npz_everything() -> None:
    model = single_stack("decoder", max_length=200)
    explanation = explain(model, "a dog, a bird and 17 fish " * 8)
    assert explanation.target is not None
    size = len(explanation.target)
    assert size > WINDOW
    data = to_dict(explanation, first_target=30)
    assert data["window"]["target"] == [30, 94]
    assert data["window"]["target_tokens"] == size
    assert "Only 64 tokens of each side are shown" in data["window"]["note"]
    assert data["target"]["pieces"] == list(explanation.target.pieces[30:94])
    weights = np.array(data["attention"]["decoder"][2][1]["weights"])
    assert weights == pytest.approx(explanation.stacks["decoder"].weights[2, 1, 30:94, 30:94], abs=0.5e-4)
    assert [token["position"] for token in data["tokens"]] == list(range(30, 94))
    assert len(data["tokens"][0]["piece_contributions"]["gradient_input"]) == 64
    assert to_dict(explanation, first_target=1000)["window"]["target"] == [size - 64, size]
    with np.load(io.BytesIO(to_npz(explanation))) as arrays:
        assert arrays["decoder_weights"].shape == (3, 2, size, size)


def test_models_of_one_stack_have_null_for_what_they_lack(classifier: LoadedModel, language_model: LoadedModel) -> None:
    classes, text = to_dict(explain(classifier, SENTENCE)), to_dict(explain(language_model, SENTENCE))
    assert classes["target"] is classes["attention"]["decoder"] is classes["search"] is None
    assert [entry["label"] for entry in classes["classes"]] == [entry["piece"] for entry in classes["classes"]]
    assert classes["tokens"] == []
    assert text["source"] is text["attention"]["encoder"] is text["rollout"]["decoder_to_source"] is None
    assert text["model"]["encoder_layers"] == 0
    assert json.loads(json.dumps([classes, text]))[1]["kind"] == "text"


def test_numbers_are_rounded_to_the_stated_digits() -> None:
    assert plain_data(np.array([[0.123456, -0.000001]]), DIGITS["weights"]) == [[0.1235, 0.0]]
    assert str(plain_data(np.array([-0.000001]))) == "[0.0]"
    assert plain_data([RankedToken(3, "a", 0.12345678)]) == [{"token": 3, "piece": "a", "probability": 0.123457}]
    assert plain_data({"score": 0.12345678, "best": None}) == {"score": 0.1235, "best": None}


def test_the_text_has_a_line_for_each_token(explanation: Explanation, german: Translator) -> None:
    lines = explanation_text(explanation).splitlines()
    assert explanation.target is not None
    assert lines[0].startswith("source: >>de<< ▁the")
    start = next(number for number, line in enumerate(lines) if line.startswith("token "))
    for line, output in zip(lines[start + 1 :], explanation.outputs, strict=False):
        assert line.startswith(output.piece)
        assert f"{output.probability:.3f}" in line
    heading = "Tokens that are not the most probable ones in float64 (a beam of 3 compares whole translations):"
    assert heading in lines
    assert "cross-attention, 4 heads:" in lines
    greedy = explain(german, "the cat", search=SearchSettings(max_length=5), language="de")
    assert "In float64 every token is also the most probable one." in explanation_text(greedy)
