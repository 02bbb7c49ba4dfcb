"""What-if questions about one sentence: a changed model equals one with other weights, states or words."""

import math

import pytest
import torch

from clearhead.decoding.engines.torch_engine import TorchEngine
from clearhead.decoding.pipeline import TranslationOptions
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.errors import ConfigError, DataError
from clearhead.explain import Intervention, LoadedModel, Patch, WhatIf, explain, what_if
from clearhead.explain.what_if_sentence import TokenReplacement
from clearhead.model.heads import find_heads
from tests.parity.test_model_gates import without_rows
from tests.unit.decoding.toys import random_model
from tests.unit.explain.models import SENTENCE
from tests.unit.explain.test_head_report import vocabularies

TEXT, OTHER = "hello", "words"  # 5 letters, each a token and a word
HEAD = "decoder.1.cross_attention.head.0"
MODEL = random_model(36)
REMOVED = Intervention(without=[HEAD])


def translator_of(model: object = MODEL) -> Translator:
    return Translator(vocabularies(), TorchEngine(model))  # type: ignore[arg-type]


def text_of(text: str) -> str:
    return translator_of().translate([text])[0].text


def test_the_names_of_the_package_stay_functions() -> None:
    import clearhead.explain

    assert callable(clearhead.explain.what_if)
    assert clearhead.explain.what_if is what_if


# Heads


@pytest.mark.parametrize("beam", [1, 3])
def test_a_removed_head_gives_the_translation_of_the_model_without_its_rows(beam: int) -> None:
    search, other = SearchSettings(beam=beam), without_rows(MODEL, find_heads([HEAD], MODEL.config)[0])
    outcome = what_if(translator_of(), TEXT, REMOVED, search=search)
    plain, changed = (translator_of(model).translate([TEXT], search)[0] for model in (MODEL, other))
    assert (outcome.before, outcome.after) == (plain.text, changed.text)
    assert outcome.log_prob == pytest.approx(changed.log_prob_of(0))


def test_log_probs_are_those_of_the_old_translation_in_both_models() -> None:
    outcome, other = what_if(translator_of(), TEXT, REMOVED), without_rows(MODEL, find_heads([HEAD], MODEL.config)[0])
    translation = translator_of().translate([TEXT])[0]
    assert [token.before for token in outcome.tokens] == pytest.approx(translation.token_log_probs)
    source = torch.tensor([[*vocabularies().source.encode([TEXT])[0], MODEL.config.eos]])
    target = torch.tensor([translation.hypotheses[0].tokens])
    logits = other.decode(other.shifted(target), other.encode(source))
    expected = torch.log_softmax(logits, dim=-1).gather(-1, target[..., None])[0, :, 0]
    assert [token.after for token in outcome.tokens] == pytest.approx(expected.tolist())
    assert all(token.difference == token.after - token.before != 0 for token in outcome.tokens)


def test_differences_add_up_to_the_total() -> None:
    outcome = what_if(translator_of(), TEXT, Intervention(uniform="encoder.*.head.1", without=[HEAD]))
    assert outcome.total is not None
    assert outcome.total.difference == pytest.approx(math.fsum(token.difference for token in outcome.tokens))
    data = outcome.to_dict()
    for side in ("before", "after", "difference"):
        assert data["total"][side] == pytest.approx(sum(token[side] for token in data["tokens"]))


# Patches


@pytest.mark.parametrize("layer", ["encoder.0", "encoder.1"])
def test_a_sentence_patched_with_itself_is_unchanged(layer: str) -> None:
    outcome = what_if(translator_of(), TEXT, Intervention(patch=Patch(layer, TEXT)))
    assert outcome.is_same
    assert not outcome.replacements
    assert all(token.difference == 0 for token in outcome.tokens)


@pytest.mark.parametrize("layer", ["encoder.0", "encoder.1"])
def test_all_states_of_another_sentence_give_its_translation(layer: str) -> None:
    outcome = what_if(translator_of(), TEXT, Intervention(patch=Patch(layer, OTHER)))
    assert (outcome.before, outcome.after) == (text_of(TEXT), text_of(OTHER))
    assert outcome.before != outcome.after
    assert [token.after for token in outcome.tokens] == pytest.approx(
        [token.after for token in what_if(translator_of(), TEXT, Intervention(swap={TEXT: OTHER})).tokens]
    )


def test_the_states_of_one_word_change_less_than_all() -> None:
    patch = Patch("encoder.1", "some words", {"h": "w"})
    outcome = what_if(translator_of(), TEXT, Intervention(patch=patch))
    assert all(token.difference != 0 for token in outcome.tokens)


def test_a_patch_and_gates_are_combined() -> None:
    patch = Patch("encoder.1", OTHER)
    outcome = what_if(translator_of(), TEXT, Intervention(without=[HEAD], patch=patch))
    assert outcome.after == what_if(translator_of(), OTHER, REMOVED).after


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        (("encoder.2", OTHER), r"there is no encoder layer 'encoder\.2' in this model\. Its layers are encoder\.0 to"),
        (("decoder.0", OTHER), "there is no encoder layer 'decoder"),
        (("encoder.1", "longer"), "the sentence has 6 tokens and the other sentence 7, with the end token. All states"),
        (("encoder.1", OTHER, {"z": "w"}), "'hello' does not contain the word 'z'"),
        (("encoder.1", OTHER, {"h": "h"}), "'words' does not contain the word 'h'"),
        (("encoder.1", " "), "the other sentence is empty"),
        (("encoder.1", OTHER, {"?": "w"}), "a word to patch is empty"),
    ],
)
def test_a_patch_that_does_not_fit_is_refused(patch: tuple[str, str], message: str) -> None:
    with pytest.raises((ConfigError, DataError), match=message):
        what_if(translator_of(), TEXT, Intervention(patch=Patch(*patch)))


def test_a_word_of_another_number_of_tokens_is_refused(german: Translator) -> None:
    patch = Patch("encoder.0", "where is the old house?", {"cat": "house"})
    with pytest.raises(DataError, match=r"Choose two words with the same number of tokens\."):
        what_if(german, SENTENCE, Intervention(patch=patch), language="de")


# Swapped words, on a model with language tags


def test_a_swapped_word_gives_the_translation_of_the_swapped_sentence(german: Translator) -> None:
    outcome = what_if(german, SENTENCE, Intervention(swap={"cat": "dog"}), language="de")
    swapped = "the red dog sees a small book."
    plain, changed = german.translate([SENTENCE, swapped], options=TranslationOptions(language="de"))
    assert outcome.changed_source == swapped
    assert (outcome.before, outcome.after) == (plain.text, changed.text)


def test_changed_tokens_are_listed() -> None:
    outcome = what_if(translator_of(), TEXT, Intervention(swap={TEXT: OTHER}))
    old, new = (translator_of().translate([text])[0].hypotheses[0].tokens for text in (TEXT, OTHER))
    pieces = vocabularies().target.pieces
    rebuilt, position = [], 0
    for replacement in outcome.replacements:
        rebuilt += [*pieces(old[position : replacement.position]), *replacement.after]
        position = replacement.position + len(replacement.before)
    assert [*rebuilt, *pieces(old[position:])] == pieces(new)
    assert isinstance(outcome.replacements[0], TokenReplacement)
    assert outcome.to_dict()["changed_tokens"][0]["position"] == outcome.replacements[0].position


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" ", "the text is empty. Give a sentence."),
        ("cat " * 2500, "tokens, but an explanation shows at most 128"),
        ("cat " * 40, "the text has 4 sentences, which are translated one by one."),
    ],
)
def test_a_text_that_cannot_be_read_is_refused(german: Translator, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        what_if(german, text, REMOVED, language="de")


# Models of one stack


def test_a_language_model_compares_the_tokens_of_the_text(language_model: LoadedModel) -> None:
    outcome = what_if(language_model, "the red cat", Intervention(without=["decoder.1.*"]))
    plain = explain(language_model, "the red cat")
    assert outcome.kind == "text"
    assert [token.before for token in outcome.tokens] == pytest.approx([o.log_prob for o in plain.outputs], abs=1e-4)
    assert all(token.difference for token in outcome.tokens)
    assert outcome.before == outcome.after == "the red cat"
    with pytest.raises(ConfigError, match="a language model reads no source"):
        what_if(language_model, "the red cat", Intervention(swap={"cat": "dog"}))


def test_a_classifier_compares_its_classes(classifier: LoadedModel) -> None:
    outcome: WhatIf = what_if(classifier, "the red cat", Intervention(without=["*"], swap={"cat": "dog"}))
    assert {token.piece for token in outcome.tokens} == {"bad", "good", "so-so"}
    for side in ("before", "after"):
        assert math.fsum(math.exp(getattr(token, side)) for token in outcome.tokens) == pytest.approx(1)
    assert outcome.before == outcome.tokens[0].piece
    assert outcome.total is None
    only_swap = what_if(classifier, "the red cat", Intervention(swap={"cat": "dog"}))
    same = what_if(classifier, "the red dog", Intervention(swap={"dog": "cat"}))
    after = {token.piece: token.after for token in only_swap.tokens}
    assert after == pytest.approx({token.piece: token.before for token in same.tokens})
    with pytest.raises(ConfigError, match="states can only be patched in a model that translates"):
        what_if(classifier, "the red cat", Intervention(patch=Patch("encoder.0", "the red dog")))
