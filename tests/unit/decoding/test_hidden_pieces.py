"""A translation into one of several languages has no pieces of another script, with any engine and any search."""

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import torch

from clearhead.decoding.engines.engine import EngineName
from clearhead.decoding.hidden_pieces import HiddenPieces
from clearhead.decoding.phrase_constraints import PhraseConstraints
from clearhead.decoding.pipeline import TranslationOptions
from clearhead.decoding.search.beam import beam_search
from clearhead.decoding.search.constraints import Constraints
from clearhead.decoding.search.rules import hidden_logits
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.search.static_search import can_choose, static_search
from clearhead.decoding.search.static_step import StaticStepPool
from clearhead.decoding.translator import Translator
from clearhead.explain import ExplainOptions, explain
from clearhead.formats import save_checkpoint
from clearhead.model import ModelConfig, Transformer
from clearhead.text.config import TextConfig
from clearhead.text.scripts import scripts_of
from clearhead.text.statistics import TextStatistics
from clearhead.text.train import train_vocabularies
from tests.unit.decoding.search.test_static_search import check

ENGLISH = ["the cat sees a book", "a dog likes the house", "my friend finds bread", "the cat likes bread", "a book"]
HINDI = ["बिल्ली किताब देखती है", "कुत्ता घर पसंद करता है", "मेरा दोस्त रोटी पाता है", "बिल्ली रोटी चाहती है", "किताब"]
BENGALI = ["বিড়াল বই দেখে", "কুকুর বাড়ি পছন্দ করে", "আমার বন্ধু রুটি পায়", "বিড়াল রুটি চায়", "বই"]
SCRIPTS = {"hi": ["DEVANAGARI"], "bn": ["BENGALI"]}
GREEDY: dict[str, Any] = {"max_length": 13}
BEAM: dict[str, Any] = {"max_length": 13, "beam": 4, "n_best": 4}
ENGINES: tuple[EngineName, ...] = ("numpy", "torch", "ctranslate2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a random model of two target scripts that prefers Devanagari."""
    place = tmp_path_factory.mktemp("model")
    pairs = [*zip(ENGLISH, HINDI, strict=True), *zip(ENGLISH, BENGALI, strict=True)]
    vocabularies = train_vocabularies(pairs, TextConfig(vocabulary=131, byte_fallback=False), ("hi", "bn"))
    vocabularies.save(place)
    target = vocabularies.target
    torch.manual_seed(7)
    config = ModelConfig(
        source_vocabulary=target.size, encoder_blocks=1, decoder_blocks=1, d_model=12, num_heads=2, d_ff=17,
        max_length=61, has_output_bias=True, pad=target.pad, eos=target.eos, bos=target.bos, unk=target.unk,
    )  # fmt: skip
    model = Transformer(config)
    with torch.no_grad():
        for number, piece in enumerate(target.pieces(range(target.size))):
            model.output.bias[number] += 3.0 if "DEVANAGARI" in scripts_of(piece) else 0.0
        # CTranslate2 gives their probability to the other tokens, so let there be none
        model.output.bias[[target.pad, target.bos, target.unk]] = -30.0
    save_checkpoint(model, place / "best")
    TextStatistics(scripts=SCRIPTS).save(place)
    return place


def translator(folder: Path, engine: EngineName, scripts: dict[str, list[str]] | None = SCRIPTS) -> Translator:
    if engine == "ctranslate2":
        pytest.importorskip("ctranslate2", reason="the engine is an extra: pip install '.[translate]'")
    loaded = Translator.load(folder, engine=engine, device="cpu")
    loaded.statistics = loaded.statistics.model_copy(update={"scripts": scripts})
    return loaded


def scripts_in(texts: list[str]) -> set[str]:
    return set().union(*map(scripts_of, texts))


def translated(loaded: Translator, language: str, **search: Any) -> list[str]:
    options = TranslationOptions(language=language)
    translations = loaded.translate(ENGLISH, SearchSettings(**search), options)
    return [text for translation in translations for text in translation.parts[0].texts]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("search", [GREEDY, BEAM, {"temperature": 3.0, "n_best": 5, "max_length": 13}])
def test_no_engine_writes_another_script(folder: Path, engine: EngineName, search: dict[str, Any]) -> None:
    loaded = translator(folder, engine)
    assert scripts_in(translated(loaded, "bn", **search)) == {"BENGALI"}
    assert scripts_in(translated(loaded, "hi", **search)) == {"DEVANAGARI"}


def test_the_tag_of_a_source_decides_what_is_hidden(folder: Path) -> None:
    vocabularies = translator(folder, "numpy").vocabularies
    tags, pieces = vocabularies.source.tags, HiddenPieces(vocabularies, TextStatistics(scripts={"bn": ["BENGALI"]}))
    hidden = pieces.hide([tags["bn"], 17], Constraints())
    assert hidden.hidden == vocabularies.target.pieces_outside(("BENGALI",)) != ()
    assert hidden == Constraints()
    assert pieces.hide([tags["bn"], 23], Constraints()) is hidden
    for ids in ([], [17, tags["bn"]], [tags["hi"], 17]):
        assert pieces.hide(ids, Constraints()).hidden == ()
    wanted = hidden.hidden[3]
    prefixed = pieces.hide([tags["bn"]], Constraints(prefix=(wanted,)))
    assert set(hidden.hidden) - set(prefixed.hidden) == {wanted}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_folder_without_the_scripts_translates_as_before(folder: Path, engine: EngineName) -> None:
    for texts in (
        translated(translator(folder, engine, None), "bn", **BEAM),
        translated(translator(folder, engine, {"hi": ["DEVANAGARI"]}), "bn", **BEAM),
    ):
        assert "DEVANAGARI" in scripts_in(texts)


def test_the_engines_find_the_same_translations_with_the_same_scores(folder: Path) -> None:
    settings, options = SearchSettings(**BEAM), TranslationOptions(language="bn")
    outcomes = [translator(folder, engine).translate(ENGLISH, settings, options) for engine in ENGINES]
    for one, other in combinations(outcomes, 2):
        for first, second in zip(one, other, strict=True):
            pairs = list(zip(first.parts[0].hypotheses, second.parts[0].hypotheses, strict=True))
            assert [a.tokens for a, _ in pairs] == [b.tokens for _, b in pairs]
            assert [a.score for a, _ in pairs] == pytest.approx([b.score for _, b in pairs], abs=2e-4)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("search", [GREEDY, BEAM])
def test_lines_with_their_own_tags_are_each_in_their_script(
    folder: Path, engine: EngineName, search: dict[str, Any]
) -> None:
    lines = [f">>{language}<< {text}" for text in ENGLISH for language in ("hi", "bn")]
    loaded = translator(folder, engine)
    texts = [translation.text for translation in loaded.translate(lines, SearchSettings(**search))]
    assert scripts_in(texts[::2]) == {"DEVANAGARI"}
    assert scripts_in(texts[1::2]) == {"BENGALI"}
    settings = SearchSettings(**search)
    alone = [loaded.translate([line], settings)[0].text for line in lines]
    assert texts == alone


def test_a_search_of_several_languages_in_one_batch_hides_the_tokens_of_each(folder: Path) -> None:
    loaded = translator(folder, "torch")
    target, tags = loaded.vocabularies.target, loaded.vocabularies.source.tags
    hidden = {name: target.pieces_outside(tuple(SCRIPTS[name])) for name in tags}
    source = torch.tensor([[tags[name], 17, 23, target.eos] for name in ("hi", "bn", "bn")])
    constraints = [Constraints(hidden=hidden[name]) for name in ("hi", "bn", "bn")]
    limits = [3, 11, 7]  # the first sentence leaves the batch before the others
    with torch.inference_mode():
        together = beam_search(loaded.model.eval(), source, limits, SearchSettings(**BEAM), constraints)
    texts = target.decode([row[0].tokens for row in together])
    assert [scripts_of(text) for text in texts] == [{"DEVANAGARI"}, {"BENGALI"}, {"BENGALI"}]


@pytest.mark.parametrize("search", [GREEDY, BEAM])
def test_a_static_step_hides_the_tokens_of_each_batch(folder: Path, search: dict[str, Any]) -> None:
    loaded, settings = translator(folder, "torch"), SearchSettings(**search)
    model = loaded.model.double().eval()
    assert isinstance(model, Transformer)
    pool, size = StaticStepPool(model), model.config.target_size
    source = torch.tensor([[5, 17, 23, 2], [6, 11, 13, 2]])
    for scripts in (["BENGALI"], ["DEVANAGARI"], None, ["BENGALI"]):  # one after the other in the same buffers
        hidden = () if scripts is None else loaded.vocabularies.target.pieces_outside(tuple(scripts))
        constraints = [Constraints(hidden=hidden)] * 2
        added = hidden_logits(constraints, size, source.device)
        assert can_choose(settings, constraints, model.config)
        with torch.inference_mode(), pool.step(source, settings.beam, 11, hidden=added) as step:
            outcomes = static_search(step, source, [11, 7], settings)
        with torch.inference_mode():
            expected = beam_search(model, source, [11, 7], settings, constraints)
        check(outcomes, expected)
        assert not {token for row in outcomes for hypothesis in row for token in hypothesis.tokens} & set(hidden)
    nearly_all = Constraints(hidden=tuple(range(4, size)))
    assert not can_choose(settings, [nearly_all], model.config)


def test_a_prefix_or_a_required_phrase_in_another_script_is_written(folder: Path) -> None:
    loaded = translator(folder, "torch")
    for phrases in (PhraseConstraints(prefix="किताब"), PhraseConstraints(required=("किताब",))):
        options = TranslationOptions(phrases, "bn")
        for translation in loaded.translate(ENGLISH, SearchSettings(**BEAM), options):
            assert "किताब" in translation.text
            assert scripts_of(translation.text.replace("किताब", "")) <= {"BENGALI", "DEVANAGARI"}


def test_explanations_give_hidden_pieces_no_probability(folder: Path) -> None:
    loaded, settings = translator(folder, "torch"), SearchSettings(beam=3, max_length=9)
    hidden = set(loaded.vocabularies.target.pieces_outside(("BENGALI",)))
    translation = loaded.translate(ENGLISH[:1], settings, TranslationOptions(language="bn"))[0]
    explanation = explain(loaded, ENGLISH[0], search=settings, language="bn")
    assert explanation.translation is not None
    assert explanation.translation.text == translation.text
    assert explanation.translation.precision_difference == pytest.approx(0, abs=1e-4)
    for output in explanation.outputs:
        assert not {alternative.token for alternative in output.alternatives} & hidden
        assert output.lens[-1].probability == pytest.approx(output.probability)
    other_start = loaded.vocabularies.target.decode([[explanation.outputs[0].alternatives[1].token]])[0]
    forced = explain(
        loaded, ENGLISH[0], search=settings, language="bn", options=ExplainOptions(prefix=other_start)
    ).target
    assert forced is not None
    assert scripts_in([forced.text]) == {"BENGALI"}


def test_a_given_target_in_another_script_has_a_probability(folder: Path) -> None:
    explanation = explain(translator(folder, "torch"), ENGLISH[0], target="किताब", language="bn")
    assert all(0 < output.probability < 1 for output in explanation.outputs)
