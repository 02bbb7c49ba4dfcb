"""Annotations of a translation: word links and the search, and how they are drawn."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from clearhead.decoding.alignment import AlignmentRule, Head
from clearhead.decoding.annotation import Annotator, read_head
from clearhead.decoding.engines.engine import Request
from clearhead.decoding.output import OutputColumns, to_lines, to_record
from clearhead.decoding.phrase_constraints import PhraseConstraints
from clearhead.decoding.pipeline import TranslationOptions
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translation import Translation
from clearhead.decoding.translator import Translator
from clearhead.errors import ConfigError
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
        info = tagged_translator.engine.info

        def translate(self, requests: Sequence[Request], settings: SearchSettings) -> list[list[Hypothesis]]:
            raise AssertionError

    with pytest.raises(
        ConfigError, match="this needs the PyTorch model, but the engine is fused, which does not expose it"
    ):
        Annotator(Translator(tagged_translator.vocabularies, Fused()), BEAM)
