"""An explanation explains the translation that translate gives, in float64, with what each method must satisfy."""

import numpy as np
import pytest
import torch

from clearhead.decoding.phrase_constraints import PhraseConstraints
from clearhead.decoding.pipeline import TranslationOptions
from clearhead.decoding.scoring import Scorer, TextPair
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.errors import ConfigError, DataError
from clearhead.explain import ExplainOptions, Explanation, LoadedModel, explain, to_dict
from clearhead.explain.explained_text import check_text
from clearhead.explain.opening import double_copy
from clearhead.explain.sentence import explain as explain_sentence
from clearhead.model.batch import Batch
from tests.unit.explain.conftest import BEAM
from tests.unit.explain.models import SENTENCE, single_stack

GERMAN = TranslationOptions(language="de")


def batch_of(explanation: Explanation) -> Batch:
    rows = [None if row is None else torch.tensor([row.ids]) for row in (explanation.source, explanation.target)]
    return Batch(rows[0], rows[1])


def test_it_explains_the_translation_that_translate_gives(german: Translator, explanation: Explanation) -> None:
    translation = german.translate([SENTENCE], BEAM, GERMAN)[0]
    assert explanation.target is not None
    assert explanation.translation is not None
    assert explanation.target.text == explanation.translation.text == translation.text
    assert explanation.target.ids == translation.hypotheses[0].tokens
    assert explanation.language == "de"
    assert explanation.translation.precision_difference is not None
    assert explanation.translation.precision_difference < 1e-4
    assert [output.log_prob for output in explanation.outputs] == pytest.approx(translation.token_log_probs, abs=1e-4)


def test_the_probabilities_are_those_of_a_float64_pass(german: Translator, explanation: Explanation) -> None:
    assert explanation.target is not None
    with torch.no_grad():
        logits = double_copy(german.model)(batch_of(explanation))[0]
    probabilities = torch.softmax(logits, dim=-1)
    for output, row in zip(explanation.outputs, probabilities, strict=True):
        assert output.probability == pytest.approx(float(row[output.token]), rel=1e-12)
        best = [(other.token, other.probability) for other in output.alternatives]
        values, indices = row.topk(5)
        assert [token for token, _ in best] == indices.tolist()
        assert [value for _, value in best] == pytest.approx(values.tolist(), rel=1e-12)
        assert output.rank == int((row > row[output.token]).sum())


def test_it_names_the_tokens_that_float64_would_not_choose(explanation: Explanation) -> None:
    """A random model searched with a beam: some token of the best hypothesis is not the most probable one."""
    assert explanation.translation is not None
    named = {difference.position for difference in explanation.translation.differences}
    assert named == {output.position for output in explanation.outputs if output.rank > 0} != set()
    for difference in explanation.translation.differences:
        assert difference.best_probability > difference.probability


def test_a_given_target_is_explained_instead(german: Translator) -> None:
    given = explain(german, SENTENCE, target="die rote Katze", search=BEAM, language="de")
    assert given.is_given
    assert given.target is not None
    assert given.target.words == ("die", "rote", "Katze")
    assert given.translation is not None
    assert given.translation.precision_difference is None
    scorer = Scorer(german.model, german.vocabularies)
    score = next(iter(scorer.score([TextPair(">>de<<" + SENTENCE, "die rote Katze")])))
    assert [output.log_prob for output in given.outputs] == pytest.approx(score.log_probs, abs=1e-4)


def test_a_prefix_is_forced_and_the_model_goes_on(german: Translator, explanation: Explanation) -> None:
    forced = explain(german, SENTENCE, search=BEAM, language="de", options=ExplainOptions(prefix="das alte Haus"))
    assert explanation.target is not None
    assert forced.target is not None
    options = TranslationOptions(PhraseConstraints(prefix="das alte Haus"), "de")
    expected = german.translate([SENTENCE], BEAM, options)[0]
    assert forced.target.ids == expected.hypotheses[0].tokens != explanation.target.ids
    assert forced.target.text == expected.text
    assert forced.target.words[:2] == ("das", "alte")
    assert (forced.is_given, to_dict(forced)["target"]["prefix"]) == (True, "das alte Haus")
    assert forced.translation is not None
    assert forced.translation.hypothesis.tokens == explanation.target.ids, "what translate gives is known too"


def test_another_hypothesis_can_be_explained(german: Translator) -> None:
    hypotheses = german.translate([SENTENCE], BEAM, GERMAN)[0].hypotheses
    second = explain(german, SENTENCE, search=BEAM, language="de", options=ExplainOptions(hypothesis=1))
    assert second.target is not None
    assert second.target.ids == hypotheses[1].tokens != hypotheses[0].tokens
    with pytest.raises(ConfigError, match="hypothesis = 1, but the search returned 1 "):
        explain(german, SENTENCE, language="de", options=ExplainOptions(hypothesis=1))


def test_leaving_a_word_out_is_scoring_and_translating_without_it(german: Translator, explanation: Explanation) -> None:
    assert explanation.source is not None
    assert explanation.target is not None
    texts = [explanation.source.without(word) for word in range(len(explanation.source.words))]
    assert texts[1] == "the cat sees a small book."
    translations = german.translate(texts, BEAM.model_copy(update={"n_best": 1}), GERMAN)
    assert [word.translation for word in explanation.left_out] == [translation.text for translation in translations]
    scorer = Scorer(german.model, german.vocabularies)
    tokens = explanation.target.ids
    scores = list(scorer.score([TextPair(">>de<<" + text, "", tokens) for text in [SENTENCE, *texts]]))
    for word, score in enumerate(scores[1:]):
        expected = np.array(scores[0].log_probs) - np.array(score.log_probs)
        assert explanation.contributions.by_word["leave_out"][:, word] == pytest.approx(expected, abs=1e-4)


def test_the_parts_of_a_word_add_up_to_the_word(explanation: Explanation) -> None:
    row = explanation.source
    assert row is not None
    assert len(row.words) == 7
    for method, values in explanation.contributions.by_token.items():
        by_word = explanation.contributions.by_word[method]
        for word in range(len(row.words)):
            tokens = [token for token, own in enumerate(row.word_of) if own == word]
            assert values[:, tokens].sum(axis=1) == pytest.approx(by_word[:, word])


def test_a_language_model_explains_the_tokens_of_a_text(language_model: LoadedModel) -> None:
    explanation = explain(language_model, SENTENCE)
    assert explanation.kind == "text"
    assert explanation.source is None
    assert list(explanation.stacks) == ["decoder"]
    with torch.no_grad():
        logits = double_copy(language_model.model)(batch_of(explanation))[0]
    assert explanation.traced.logits.numpy() == pytest.approx(logits.numpy())
    gradient = explanation.contributions.by_token["gradient_input"]
    assert not np.triu(gradient, 1).any()  # later tokens have no effect
    assert explanation.contributions.by_token["attention_norm"].sum(axis=1) == pytest.approx(1.0)
    dropped = explanation.contributions.by_word["leave_out"]
    assert explanation.target is not None
    scorer = Scorer(language_model.model, language_model.vocabularies)
    plain, shorter = scorer.score([TextPair("", SENTENCE), TextPair("", explanation.target.without(0))])
    size = len(plain.log_probs) - len(shorter.log_probs)
    assert dropped[size:, 0] == pytest.approx(np.array(plain.log_probs[size:]) - np.array(shorter.log_probs), abs=1e-4)


def test_a_classifier_explains_its_classes(classifier: LoadedModel) -> None:
    explanation = explain(classifier, SENTENCE)
    assert explanation.kind == "classes"
    assert list(explanation.stacks) == ["encoder"]
    assert sum(output.probability for output in explanation.outputs) == pytest.approx(1.0)
    assert {output.piece for output in explanation.outputs} == {"bad", "good", "so-so"}
    shorter = explain(classifier, "the cat sees a small book.")
    for position, output in enumerate(explanation.outputs):
        other = next(other for other in shorter.outputs if other.token == output.token)
        difference = output.log_prob - other.log_prob
        assert explanation.contributions.by_word["leave_out"][position, 1] == pytest.approx(difference)


@pytest.mark.parametrize("norm_place", ["pre", "post"])
@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
def test_the_shape_of_a_model_does_not_matter(norm_place: str, positions: str) -> None:
    model = single_stack("decoder", norm_place=norm_place, positions=positions)
    explanation = explain_sentence(model, "a dog")
    assert explanation.outputs[0].lens[-1].probability == explanation.outputs[0].probability
    assert len(explanation.outputs[0].lens) == 4


def test_what_cannot_be_explained_is_said_in_one_sentence(german: Translator, language_model: LoadedModel) -> None:
    with pytest.raises(DataError, match=r"^the text is empty\. Give a sentence\.$"):
        explain(german, "  ", language="de")
    with pytest.raises(DataError, match="the text has 6,003 tokens, but an explanation shows at most 128"):
        explain(german, "cat " * 1000 + "a " * 3000 + "x", language="de")
    with pytest.raises(ConfigError, match="a temperature samples at random"):
        explain(german, "cat", search=SearchSettings(temperature=1.0), language="de")
    with pytest.raises(ConfigError, match="a model of shape decoder does not translate"):
        explain(language_model, "cat", target="Katze")
    with pytest.raises(ConfigError, match="a model of shape decoder does not translate"):
        explain(language_model, "cat", options=ExplainOptions(prefix="Katze"))
    with pytest.raises(ConfigError, match=r"a given target needs no prefix\. Remove one of them\."):
        explain(german, "cat", target="Katze", language="de", options=ExplainOptions(prefix="Katze"))
    with pytest.raises(DataError, match="the prefix is empty"):
        explain(german, "cat", language="de", options=ExplainOptions(prefix=" "))
    with pytest.raises(DataError, match="the target is empty"):
        explain(german, "cat", target="", language="de")
    with pytest.raises(ConfigError, match=r"there is no head 'encoder\.0\.self_attention\.head\.7' in this model"):
        explain(german, "cat", language="de", options=ExplainOptions(sums=("encoder.0.self_attention.head.7",)))
    with pytest.raises(ConfigError, match="alternatives = 0, but it must be at least 1"):
        ExplainOptions(alternatives=0)


def test_a_text_of_unknown_characters_is_refused(german: Translator) -> None:
    tokeniser = german.vocabularies.source
    with pytest.raises(DataError, match="has no character of the text 'xyz', so that all its tokens are unknown"):
        check_text("xyz", [tokeniser.tags["de"], tokeniser.unk, tokeniser.unk], tokeniser)


def test_several_sentences_are_not_explained_at_once(german: Translator) -> None:
    with pytest.raises(DataError, match="the text has 2 sentences, which are translated one by one"):
        explain(german, "where is the old house? the red cat sees a small book.", language="de")


def test_a_long_sentence_is_not_translated_without_each_word(
    german: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clearhead.explain.sentence.MAX_SEARCHES", 3)
    explanation = explain(german, SENTENCE, search=SearchSettings(max_length=7), language="de")
    assert explanation.left_out == ()
    assert any("it has over 3" in note for note in explanation.notes)
