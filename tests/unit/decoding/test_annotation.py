"""Annotations of a translation: word links and the search, how they are drawn, and sentences with links for documents."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from clearhead.decoding.alignment import AlignmentRule, Head
from clearhead.decoding.annotation import Annotator, SentenceAligner, read_head, word_links_of
from clearhead.decoding.engines.engine import Request
from clearhead.decoding.output import OutputColumns, to_lines, to_record
from clearhead.decoding.phrase_constraints import PhraseConstraints
from clearhead.decoding.pipeline import TranslationOptions
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translation import Translation
from clearhead.decoding.translator import Translator
from clearhead.decoding.word_alignment import WordAlignment
from clearhead.documents import translate_html_fragment
from clearhead.errors import ConfigError
from clearhead.formats.built_in import built_in_for
from clearhead.formats.model_folder import ModelFolder, built_in_folder
from tests.small_run import TEXTS, make_run

BEAM = SearchSettings(beam=3, max_length=11)
GERMAN = TranslationOptions(language="de")


def translated(
    translator: Translator, *lines: str, options: TranslationOptions = GERMAN, search: SearchSettings = BEAM
) -> list[Translation]:
    return translator.translate(lines, search, options)


def test_alignments_link_words_and_are_numbered_across_parts(tagged_translator: Translator) -> None:
    options = TranslationOptions(language="de", is_paragraphs=True)
    one, two, empty = translated(tagged_translator, "the cat.", "the cat. The cat.", "", options=options)
    annotator = Annotator(tagged_translator, BEAM)
    alone, both = annotator.aligned(one).alignment, annotator.aligned(two).alignment
    assert alone is not None
    assert both is not None
    assert both.source == ("the", "cat.", "The", "cat.")
    assert both.links[: len(alone.links)] == alone.links
    assert all(source < 4 and target < len(both.target) for source, target in both.links)
    assert annotator.aligned(empty).alignment is None
    assert to_lines(annotator.aligned(empty), OutputColumns(alignment=True)) == ["\t"]
    assert to_record(annotator.aligned(empty), OutputColumns(alignment=True))["alignment"] == ""


def test_the_row_that_writes_a_token_can_be_used_too(tagged_translator: Translator) -> None:
    options = TranslationOptions(PhraseConstraints(prefix="die rote Katze sieht ein kleines Buch."), language="de")
    result = translated(tagged_translator, "the red cat sees a small book.", options=options)[0]
    reads, writes = (
        Annotator(tagged_translator, BEAM, AlignmentRule(Head(0), is_shifted)).aligned(result).alignment
        for is_shifted in (True, False)
    )
    assert reads is not None
    assert writes is not None
    assert reads.links != writes.links


def test_heads_are_parsed_and_checked(tagged_translator: Translator) -> None:
    assert read_head("1") == Head(1)
    assert read_head("1.0") == Head(1, 0)
    for wrong in ("", "a", "1.2.3", "-1"):
        with pytest.raises(ConfigError, match="is not a head. Write LAYER.HEAD"):
            read_head(wrong)
    with pytest.raises(
        ConfigError,
        match=r"no head 1\.7 \(decoder layer 2, head 8\): the decoder has 2 layers with 2 heads each\..* 0\.0 to 1\.1",
    ):
        Annotator(tagged_translator, BEAM, AlignmentRule(Head(1, 7)))


def test_numpy_reads_the_same_alignments_as_torch(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    lines = [*(source for source, _ in TEXTS), ""]
    on_torch, on_numpy = (Translator.load(run, engine=engine) for engine in ("torch", "numpy"))
    for rule in (None, AlignmentRule(Head(0, 1), is_shifted=False)):
        expected, alignments = (
            [Annotator(translator, BEAM, rule).aligned(line).alignment for line in translator.translate(lines, BEAM)]
            for translator in (on_torch, on_numpy)
        )
        assert alignments == expected
        assert alignments[0] is not None


def test_only_a_model_on_torch_can_be_annotated(tagged_translator: Translator, tmp_path: Path) -> None:
    class Fused:
        name = described = "fused"
        config = tagged_translator.engine.config

        def translate(self, requests: Sequence[Request], settings: SearchSettings) -> list[list[Hypothesis]]:
            raise AssertionError

    with pytest.raises(
        ConfigError, match="this needs the PyTorch model, but the engine is fused, which does not expose it"
    ):
        Annotator(Translator(tagged_translator.vocabularies, Fused()), BEAM)


@pytest.fixture(scope="module")
def folder() -> ModelFolder:
    return built_in_folder(built_in_for("en", "es"))


@pytest.fixture(scope="module")
def spanish_translator(folder: ModelFolder) -> Translator:
    return Translator.load(folder, engine="numpy")


def test_translations_are_those_of_the_translator_and_links_those_of_the_chosen_head(
    folder: ModelFolder, spanish_translator: Translator
) -> None:
    aligner = SentenceAligner(spanish_translator, folder)
    sentences = ["I have a red car.", "Where is she?"]
    translations = aligner(sentences)
    expected = spanish_translator.translate(sentences)
    assert [translation.text for translation in translations] == [translation.text for translation in expected]
    rule = AlignmentRule(Head(0, 4), is_shifted=True)  # alignment.json of the model
    annotator = Annotator(spanish_translator, SearchSettings(), rule)
    for translation, plain in zip(translations, expected, strict=True):
        alignment = annotator.aligned(plain).alignment
        assert alignment is not None
        assert translation.links == tuple(sorted(set(alignment.links)))
    assert aligner.num_sentences == 2


def test_a_fragment_of_html_is_translated_with_its_tags(folder: ModelFolder, spanish_translator: Translator) -> None:
    aligner = SentenceAligner(spanish_translator, folder, SearchSettings(n_best=3, beam=3))
    assert translate_html_fragment("<p>I have a <b>red</b> car.</p>", aligner) == "<p>Tengo un coche <b>rojo</b>.</p>"
    assert aligner([]) == []


def test_other_counts_of_words_are_matched_by_their_characters() -> None:
    alignment = WordAlignment(("one", "two", "three"), ("uno", "dos"), ((0, 0), (1, 1), (2, 1)))
    assert word_links_of(alignment, "one two three", "uno dos") == ((0, 0), (1, 1), (2, 1))
    assert word_links_of(alignment, "onetwo three", "uno dos") == ((0, 0), (0, 1), (1, 1))
    assert word_links_of(alignment, "one two three", "") == ()
