"""Sentences in, translations out: in their order, whatever the batches, with empty lines kept."""

from typing import Any

import pytest
import torch

from clearhead.decoding.search.constraints import Constraints
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translate import Sentence, Translation, batches, length_limits, translate
from clearhead.errors import ConfigError
from tests.unit.decoding.toys import Both, random_model

SENTENCES = ["abc", "", "hello", "   ", "z", "the longer one", "!?", "abc", "q\u2028r"]


def plain(translation: Translation) -> list[tuple[int, ...]]:
    return [each.tokens for each in translation.hypotheses]


SEARCHES = [{}, {"beam": 3, "n_best": 2}, {"temperature": 0.8, "n_best": 2, "seed": 5}]


@pytest.mark.parametrize("options", SEARCHES, ids=["greedy", "beam", "sampling"])
def test_translations_come_in_the_order_of_the_sentences_whatever_the_batches(options: dict[str, Any]) -> None:
    model = random_model(36)
    alone = translate(model, Both(), SENTENCES, SearchSettings(**options, batch_tokens=1))
    for batch_tokens in (11, 10_000):
        together = translate(model, Both(), SENTENCES, SearchSettings(**options, batch_tokens=batch_tokens))
        assert [each.texts for each in together] == [each.texts for each in alone]
        assert [plain(each) for each in together] == [plain(each) for each in alone]
    assert [each.source for each in alone] == SENTENCES
    assert len({each.text for each in alone}) > 3, "a model that writes one sentence proves nothing"


def test_lines_without_a_token_stay_empty() -> None:
    made = translate(random_model(36), Both(), SENTENCES)
    for number in (1, 3, 6):
        assert (made[number].text, made[number].hypotheses) == ("", ())
        assert made[number].has_ended
    assert translate(random_model(36), Both(), []) == []


def test_a_line_that_is_too_long_is_cut_and_says_so() -> None:
    model = random_model(36, max_length=5)
    cut, whole, same = translate(model, Both(), ["abcdefgh", "abcd", "abcdxyz"])
    assert (cut.is_cut, whole.is_cut, same.is_cut) == (True, False, True)
    assert cut.text == whole.text == same.text
    assert len(whole.hypotheses[0].tokens) <= 5
    without_table = random_model(36, max_length=5, positions="rotary")
    assert not translate(without_table, Both(), ["abcdefgh"])[0].is_cut


def test_a_translation_says_whether_it_came_to_its_end() -> None:
    model = random_model(36, has_output_bias=True)
    with torch.no_grad():
        model.output.bias[model.config.eos] -= 1e3
    made = translate(model, Both(), ["ab"], SearchSettings(max_ratio=1, max_extra=2))[0]
    assert not made.has_ended
    assert len(made.hypotheses[0].tokens) == 5, "two letters and eos, and two more"
    with torch.no_grad():
        model.output.bias[model.config.eos] += 2e3
    assert translate(model, Both(), ["ab"])[0].has_ended


def test_the_model_is_left_in_the_mode_that_it_was_in() -> None:
    model = random_model(36).train()
    first = translate(model, Both(), ["abc"])
    assert model.training
    assert translate(model.eval(), Both(), ["abc"]) == first
    assert not model.training


@pytest.mark.parametrize(
    ("shape", "missing"), [("encoder", "decoder"), ("decoder", "encoder")], ids=["encoder", "decoder"]
)
def test_a_model_of_another_shape_is_refused(shape: str, missing: str) -> None:
    model = random_model(36, shape=shape, num_classes=3 if shape == "encoder" else None)
    with pytest.raises(ConfigError, match=f"shape {shape} cannot translate: it has no {missing}. Use one of shape"):
        translate(model, Both(), ["a"])


def test_batches_hold_their_budget_of_tokens_with_padding() -> None:
    sentences = [Sentence(number, [7] * length) for number, length in enumerate((3, 11, 2, 5, 5, 13, 1))]
    made = list(batches(sentences, 13))
    assert [[len(each.ids) for each in batch] for batch in made] == [[13], [11], [5, 5], [3, 2, 1]]


def test_limits_follow_the_source_up_to_what_the_model_can_place() -> None:
    model = random_model(36, max_length=23)
    batch = [Sentence(0, [7] * 2), Sentence(1, [7] * 11), Sentence(2, [7] * 17)]
    settings = SearchSettings(max_ratio=1.5, max_extra=3)
    assert length_limits(batch, settings, model.config) == [6, 19, 23]
    assert length_limits(batch, SearchSettings(max_length=7), model.config) == [7, 7, 7]


def test_each_sentence_has_its_own_wishes() -> None:
    model = random_model(36)
    sentences = ["abcdefg", "", "xy", "q"]
    constraints = [Constraints(prefix=(number + 5,)) for number in range(4)]
    made = translate(model, Both(), sentences, SearchSettings(beam=2), constraints)
    assert [each.text[:1] for each in made] == ["b", "", "d", "e"]
