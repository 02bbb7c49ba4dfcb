"""Text in, translations out: in order, for any batches, the same from Python and from the command line."""

from pathlib import Path
from typing import Any

import pytest
import torch

import clearhead
from clearhead.decoding.alignment import cross_attention
from clearhead.decoding.phrase_constraints import PhraseConstraints
from clearhead.decoding.pipeline import TranslationOptions
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translation import Translation
from clearhead.decoding.translator import Translator
from clearhead.errors import ConfigError, DataError
from clearhead.model.gates import Gates, closed_gates
from clearhead.model.heads import find_heads
from tests.command import run
from tests.parity.test_model_gates import without_rows
from tests.small_run import make_run
from tests.unit.decoding.toys import letter_translator, random_model

SENTENCES = ["abc", "", "hello", "   ", "z", "the longer one", "!?", "abc", "q\u2028r"]


def tokens(translation: Translation) -> list[tuple[int, ...]]:
    return [hypothesis.tokens for hypothesis in translation.hypotheses]


SEARCHES = [{}, {"beam": 3, "n_best": 2}, {"temperature": 0.8, "n_best": 2, "seed": 5}]


@pytest.mark.parametrize("options", SEARCHES, ids=["greedy", "beam", "sampling"])
def test_translations_are_in_the_order_of_the_sentences_for_any_batches(options: dict[str, Any]) -> None:
    translator = letter_translator(random_model(36))
    alone = translator.translate(SENTENCES, SearchSettings(**options, batch_tokens=1))
    for batch_tokens in (11, 10_000):
        together = translator.translate(SENTENCES, SearchSettings(**options, batch_tokens=batch_tokens))
        assert [translation.texts for translation in together] == [translation.texts for translation in alone]
        assert [tokens(translation) for translation in together] == [tokens(translation) for translation in alone]
    assert [translation.source for translation in alone] == SENTENCES
    assert [translation.number for translation in alone] == list(range(1, 10))
    assert len({translation.text for translation in alone}) > 3, "a model that writes one sentence proves nothing"


def test_lines_without_a_token_stay_empty() -> None:
    translator = letter_translator(random_model(36))
    translations = translator.translate(SENTENCES)
    for number in (1, 3, 6):
        assert (translations[number].text, translations[number].hypotheses) == ("", ())
        assert translations[number].has_ended
    assert translator.translate([]) == []


def test_a_line_that_is_too_long_is_split_with_a_note() -> None:
    translator = letter_translator(random_model(36, max_length=5))
    split, short = translator.translate(["abcd efgh", "abcd"])
    assert [part.source for part in split.parts] == ["abcd", "efgh"]
    assert split.parts[0].texts == short.texts
    assert split.notes == ("Split: it has 8 tokens, but the model reads at most 4.",)
    assert short.notes == ()
    assert len(short.hypotheses[0].tokens) <= 5
    without_table = letter_translator(random_model(36, max_length=5, positions="rotary"))
    assert not without_table.translate(["abcd efgh"])[0].notes


def test_a_translation_shows_whether_it_ended() -> None:
    model = random_model(36, has_output_bias=True)
    with torch.no_grad():
        model.output.bias[model.config.eos] -= 1e3
    cut = letter_translator(model).translate(["ab"], SearchSettings(max_ratio=1, max_extra=2))[0]
    assert not cut.has_ended
    assert len(cut.hypotheses[0].tokens) == 5, "two letters and eos, and two more"
    with torch.no_grad():
        model.output.bias[model.config.eos] += 2e3
    assert letter_translator(model).translate(["ab"])[0].has_ended


@pytest.mark.parametrize(
    ("shape", "missing", "verb"),
    [("encoder", "decoder", "classify"), ("decoder", "encoder", "generate")],
    ids=["encoder", "decoder"],
)
def test_a_model_of_another_shape_is_refused(shape: str, missing: str, verb: str) -> None:
    model = random_model(36, shape=shape, num_classes=3 if shape == "encoder" else None)
    with pytest.raises(ConfigError, match=f"shape {shape} cannot translate: it has no {missing}. Use one .* {verb}"):
        letter_translator(model)


def test_scores_are_those_of_the_hypotheses_and_can_be_omitted() -> None:
    translator = letter_translator(random_model(36))
    translation = translator.translate(["abc"], SearchSettings(beam=3, n_best=2))[0]
    assert translation.score == translation.hypotheses[0].score
    assert translation.score_of(1) == translation.hypotheses[1].score <= translation.score
    assert translation.log_prob_of(0) == pytest.approx(sum(translation.token_log_probs))


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_python_and_the_command_line_give_the_same_translations(tmp_path: Path, engine: str) -> None:
    pytest.importorskip("ctranslate2", reason="the engine is an extra: pip install '.[translate]'")
    model = make_run(tmp_path / "run")
    lines = ["the red cat sees", "", "a dog, a bird", "where is the old house? " * 9]
    (tmp_path / "in.txt").write_text("".join(line + "\n" for line in lines))
    for options, search in (([], SearchSettings()), (["--beam", "3"], SearchSettings(beam=3))):
        arguments = ("-m", str(model), "--engine", engine, "-i", str(tmp_path / "in.txt"), *options)
        printed = run("translate", *arguments).stdout
        translations = clearhead.Translator.load(model, engine=engine).translate(lines, search)
        assert [translation.text for translation in translations] == printed.split("\n")[:-1]
        assert len(translations[3].parts) > 1


def test_a_search_that_the_engine_does_not_support_opens_another_engine(tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2", reason="the engine is an extra: pip install '.[translate]'")
    model = make_run(tmp_path)
    translator = Translator.load(model)
    assert translator.engine.name == "ctranslate2"
    drawn = translator.translate(["a dog"], SearchSettings(temperature=1.0, max_length=7))
    assert translator.engine.name == "torch"
    again = Translator.load(model, engine="torch").translate(["a dog"], SearchSettings(temperature=1.0, max_length=7))
    assert drawn[0].text == again[0].text
    assert translator.fingerprint is not None


def test_a_custom_engine_is_not_replaced() -> None:
    translator = letter_translator(random_model(36))

    class Limited:
        name = described = "limited"
        config = translator.engine.config

        def lacks(self, needs: object) -> str:
            return "it does nothing"

    limited = Translator(translator.vocabularies, Limited())
    with pytest.raises(ConfigError, match="the engine limited cannot do this: it does nothing. Use torch."):
        limited.translate(["a"])
    assert limited.fingerprint is None


def test_a_stream_reads_only_the_lines_that_it_needs() -> None:
    translator = letter_translator(random_model(36))
    lines = iter(SENTENCES)
    first = next(translator.stream(lines, options=TranslationOptions(has_scores=False), window=2))
    assert first.source == SENTENCES[0]
    assert next(lines) == SENTENCES[2]


def test_one_text_in_place_of_several_is_refused() -> None:
    translator = letter_translator(random_model(36))
    with pytest.raises(
        DataError, match="translate takes a list of texts, not a single string. Put the text in a list."
    ):
        translator.translate("abc")
    with pytest.raises(
        ConfigError, match="required must be a tuple of phrases, not a single string. Put the phrase in"
    ):
        PhraseConstraints(required="abc")  # type: ignore[arg-type]


@pytest.mark.parametrize("choice", [{"engine": "torhc"}, {"device": "gpu"}, {"precision": "int4"}], ids=str)
def test_an_engine_that_does_not_exist_is_refused(tmp_path: Path, choice: dict[str, Any]) -> None:
    name, value = next(iter(choice.items()))
    with pytest.raises(ConfigError, match=f"{name} = '{value}' is not valid") as problem:
        Translator.load(make_run(tmp_path), **choice)
    assert problem.value.options == (name,)


# Gates on heads


@pytest.mark.parametrize("options", SEARCHES, ids=str)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32, packed"])
def test_a_translator_without_a_head_is_that_of_the_model_without_its_rows(
    options: dict[str, Any], dtype: torch.dtype
) -> None:
    model = random_model(36).to(dtype)
    translator, settings = letter_translator(model), SearchSettings(**options)
    plain = [translation.texts for translation in translator.translate(SENTENCES, settings)]
    for name in ("encoder.1.self_attention.head.0", "decoder.0.cross_attention.head.1"):
        heads = find_heads([name], model.config)
        gated = translator.gated(closed_gates(model.config, model.device, without=heads))
        expected = letter_translator(without_rows(model, heads[0])).translate(SENTENCES, settings)
        texts = [translation.texts for translation in gated.translate(SENTENCES, settings)]
        assert texts == [translation.texts for translation in expected]
        assert texts != plain
    assert [translation.texts for translation in translator.translate(SENTENCES, settings)] == plain, "it is unchanged"


def test_alignments_of_a_gated_translator_are_those_of_the_gated_model() -> None:
    model = random_model(36)
    heads = find_heads(["decoder.*.cross_attention.head.*"], model.config)
    gated = letter_translator(model).gated(closed_gates(model.config, model.device, uniform=heads))
    attention = cross_attention(gated.model, torch.tensor([5, 7, 9, 11, 2]), [[4, 5, 6]])[0]
    for weights in attention.weights:
        assert torch.allclose(torch.as_tensor(weights), torch.tensor(0.2, dtype=torch.float64))


def test_gates_load_the_model_with_torch(tmp_path: Path) -> None:
    translator = Translator.load(make_run(tmp_path), engine="numpy")
    gated = translator.gated(Gates({"encoder.0.self_attention": torch.ones(2)}))
    assert (translator.engine.name, gated.engine.name) == ("numpy", "torch")
    reason = "it does not support gates on attention heads"
    assert gated.notes == (f"Using the engine torch, because numpy cannot do this: {reason}.",)


def test_gates_for_attention_that_does_not_exist_are_rejected() -> None:
    translator = letter_translator(random_model(36))
    with pytest.raises(ConfigError, match=r"gates for 'encoder\.9\.self_attention', but this model has no such"):
        translator.gated(Gates({"encoder.9.self_attention": torch.ones(2)}))
    with pytest.raises(ConfigError, match=r"Give one number per head, \(2,\)\."):
        translator.gated(Gates({"encoder.0.self_attention": torch.ones(3, 2)}))
