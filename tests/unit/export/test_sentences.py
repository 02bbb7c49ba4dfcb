"""The sentences of a comparison: from files, or from the phrasebook for a model that it fits."""

from dataclasses import replace
from pathlib import Path

import pytest

from clearhead.errors import ConfigError, DataError
from clearhead.export.sentences import NUM_BUILT_IN, TextChoice, read_comparison_text
from clearhead.formats.model_folder import find_model

RUN = find_model(Path(__file__).parents[2] / "golden" / "first_release" / "run")
BUILT_IN = find_model("en-es")


def write(folder: Path, name: str, *lines: str) -> str:
    (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(folder / name)


def test_files_are_read_without_their_empty_lines(tmp_path: Path) -> None:
    source, reference = write(tmp_path, "a.en", "one", "", "three", "four"), write(tmp_path, "a.de", "1", "2", "3", "4")
    text = read_comparison_text(TextChoice(source, reference, num_lines=2), RUN)
    assert (text.sources, text.references, text.name) == (("one", "three"), ("1", "3"), "a.en")
    assert read_comparison_text(TextChoice(source), RUN).references is None
    assert text.digest != read_comparison_text(TextChoice(source, num_lines=2), RUN).digest


def test_files_that_do_not_fit_each_other_are_refused(tmp_path: Path) -> None:
    source, reference = write(tmp_path, "a.en", "one", "two"), write(tmp_path, "a.de", "1")
    with pytest.raises(DataError, match=r"a.en has 2 lines and .*a.de has 1"):
        read_comparison_text(TextChoice(source, reference), RUN)
    with pytest.raises(DataError, match="has no sentences"):
        read_comparison_text(TextChoice(write(tmp_path, "b.en", "", " ")), RUN)
    with pytest.raises(ConfigError, match="there are references, but no sentences"):
        read_comparison_text(TextChoice(reference=reference), RUN)
    with pytest.raises(ConfigError, match="a source file or the phrasebook, not both"):
        read_comparison_text(TextChoice(source, is_phrasebook=True), RUN)


def test_a_model_of_ones_own_needs_sentences() -> None:
    with pytest.raises(ConfigError, match="Give a file of sentences, one per line, and a file of their translations"):
        read_comparison_text(TextChoice(), RUN)
    assert len(read_comparison_text(TextChoice(num_lines=5, is_phrasebook=True), RUN).sources) == 5


def test_the_phrasebook_is_for_the_direction_of_a_built_in_model() -> None:
    spanish = read_comparison_text(TextChoice(), BUILT_IN)
    assert len(spanish.sources) == NUM_BUILT_IN
    assert spanish.references is not None
    english = read_comparison_text(TextChoice(), replace(BUILT_IN, language="en"))
    assert (english.sources, english.references) == (spanish.references, spanish.sources)
    assert read_comparison_text(TextChoice(), replace(BUILT_IN, language="hi")).references is None
