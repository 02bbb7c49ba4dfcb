"""Sentences with links for documents: from the attention of a model, between words that white space separates."""

import pytest

from clearhead.decoding.alignment import AlignmentRule, Head
from clearhead.decoding.annotation import Annotator
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.sentence_aligner import SentenceAligner, word_links_of
from clearhead.decoding.translator import Translator
from clearhead.decoding.word_alignment import WordAlignment
from clearhead.documents import translate_html_fragment
from clearhead.formats.built_in import built_in_for
from clearhead.formats.model_folder import ModelFolder, built_in_folder


@pytest.fixture(scope="module")
def folder() -> ModelFolder:
    return built_in_folder(built_in_for("en", "es"))


@pytest.fixture(scope="module")
def translator(folder: ModelFolder) -> Translator:
    return Translator.load(folder, engine="numpy")


def test_translations_are_those_of_the_translator_and_links_those_of_the_chosen_head(
    folder: ModelFolder, translator: Translator
) -> None:
    aligner = SentenceAligner(translator, folder)
    sentences = ["I have a red car.", "Where is she?"]
    translations = aligner(sentences)
    expected = translator.translate(sentences)
    assert [translation.text for translation in translations] == [translation.text for translation in expected]
    rule = AlignmentRule(Head(0, 4), is_shifted=True)  # alignment.json of the model
    annotator = Annotator(translator, SearchSettings(), rule)
    for translation, plain in zip(translations, expected, strict=True):
        alignment = annotator.aligned(plain).alignment
        assert alignment is not None
        assert translation.links == tuple(sorted(set(alignment.links)))
    assert aligner.num_sentences == 2


def test_a_fragment_of_html_is_translated_with_its_tags(folder: ModelFolder, translator: Translator) -> None:
    aligner = SentenceAligner(translator, folder, SearchSettings(n_best=3, beam=3))
    assert translate_html_fragment("<p>I have a <b>red</b> car.</p>", aligner) == "<p>Tengo un coche <b>rojo</b>.</p>"
    assert aligner([]) == []


def test_other_counts_of_words_are_matched_by_their_characters() -> None:
    alignment = WordAlignment(("one", "two", "three"), ("uno", "dos"), ((0, 0), (1, 1), (2, 1)))
    assert word_links_of(alignment, "one two three", "uno dos") == ((0, 0), (1, 1), (2, 1))
    assert word_links_of(alignment, "onetwo three", "uno dos") == ((0, 0), (0, 1), (1, 1))
    assert word_links_of(alignment, "one two three", "") == ()
