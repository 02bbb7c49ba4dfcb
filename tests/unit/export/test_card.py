"""The card of an export: its licence, the header for model hubs, and the text of the model's own card."""

from dataclasses import replace
from pathlib import Path

import pytest

from clearhead.errors import ConfigError
from clearhead.export.card import licence_terms, write_card
from clearhead.export.certificate import read_certificate
from clearhead.formats.model_folder import find_model

FIRST = Path(__file__).parents[2] / "golden" / "first_release"
RUN, BUILT_IN = find_model(FIRST / "run"), find_model("en-es")
CERTIFICATE = read_certificate(FIRST / "onnx").model_copy(update={"target": "hub-folder"})


def card(folder: Path, licence: str | None, model: object = RUN) -> str:
    terms = licence_terms(model, "hub-folder", licence)  # type: ignore[arg-type]
    write_card(model, folder, CERTIFICATE, 'He said "no".', terms)  # type: ignore[arg-type]
    return (folder / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("licence", "lines"),
    [
        ("CC-BY-4.0", ["license: cc-by-4.0"]),
        ("cc by 4.0", ["license: cc-by-4.0"]),
        ("My own: terms", ["license: other", 'license_name: "My own: terms"']),
    ],
)
def test_the_licence_is_in_the_header_and_in_its_own_file(licence: str, lines: list[str], tmp_path: Path) -> None:
    text = card(tmp_path, licence)
    header = text.split("---\n")[1].splitlines()
    assert header[: len(lines)] == lines
    assert header[-2:] == ["library_name: clearhead", "pipeline_tag: translation"]
    expected = f"The weights in this folder are licensed under {licence}.\n"
    assert (tmp_path / "LICENSE").read_text(encoding="utf-8") == expected


def test_a_licence_can_be_a_file(tmp_path: Path) -> None:
    (tmp_path / "terms.txt").write_text("\nThe Terms\n\nDo no harm.\n")
    text = card(tmp_path, str(tmp_path / "terms.txt"))
    assert 'license_name: "The Terms"' in text
    assert (tmp_path / "LICENSE").read_text() == "\nThe Terms\n\nDo no harm.\n"


def test_the_licence_of_a_built_in_model_is_known(tmp_path: Path) -> None:
    text = card(tmp_path, None, BUILT_IN)
    assert 'license_name: "CC BY 2.0 FR"' in text
    assert 'language:\n- "en"\n- "es"\n- "hi"\n- "bn"\n' in text
    assert "Tatoeba" in (tmp_path / "LICENSE").read_text(encoding="utf-8")


def test_the_text_of_the_own_card_follows_one_level_deeper(tmp_path: Path) -> None:
    text = card(tmp_path, "MIT")
    assert text.index("## Certificate: ") < text.index("## The model") < text.index("### Scores")
    assert text.count("\n# ") == 1
    assert 'translate(["He said \\"no\\"."])' in text


def test_an_unknown_licence_is_refused_only_for_a_hub() -> None:
    licence_terms(RUN, "onnx", None)
    with pytest.raises(ConfigError, match="State it, such as CC-BY-4.0, or give a file with its text"):
        licence_terms(RUN, "hub-folder", None)
    with pytest.raises(ConfigError, match="the name of the licence has 300 characters"):
        licence_terms(replace(RUN), "hub-folder", "x" * 300)
