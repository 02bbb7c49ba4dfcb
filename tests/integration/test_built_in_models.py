"""The models that are shipped: complete, within their size, the same in every engine, and right about everyday phrases."""

import json
from itertools import islice
from pathlib import Path

import pytest

from clearhead.data import phrasebook
from clearhead.decoding.engines.engine import EngineName
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.files.manifest import verify_files
from clearhead.formats.built_in import BuiltInModel, Direction, built_in_models
from tests.command import run

MODELS = built_in_models()
DIRECTIONS = [direction for model in MODELS for direction in model.description.directions]
MOST_BYTES = 16_000_000  # of all weights together
SAME = 98  # of a hundred sentences; two continuations can have almost the same score


def sentences(language: str) -> list[str]:
    """Return a hundred sentences of the phrasebook, in English or Spanish."""
    return [pair[language == "es"] for pair in islice(phrasebook.pairs("test"), 100)]


def test_the_weights_are_small_enough_to_ship() -> None:
    assert {direction.name for direction in DIRECTIONS} == {"en-es", "en-hi", "en-bn", "es-en"}
    assert sum((model.folder / "model.safetensors").stat().st_size for model in MODELS) <= MOST_BYTES


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_all_files_are_listed_and_intact(model: BuiltInModel) -> None:
    names = ("README.md", "config.json", "model.json", "model.safetensors")
    assert verify_files(model.folder, names).is_listed
    assert "CC BY 2.0 FR" in (model.folder / "README.md").read_text(encoding="utf-8")
    assert model.description.licence
    assert "Tatoeba" in model.description.attribution


@pytest.mark.parametrize("direction", DIRECTIONS, ids=lambda direction: direction.name)
def test_engines_agree_on_a_hundred_sentences(direction: Direction) -> None:
    pytest.importorskip("ctranslate2", reason="one of the three engines is an extra")
    engines: tuple[EngineName, ...] = ("numpy", "torch", "ctranslate2")
    texts = sentences(direction.source)
    outputs = [
        [line.text for line in Translator.load(direction.name, engine=engine).translate(texts, SearchSettings())]
        for engine in engines
    ]
    for others in outputs[1:]:
        assert sum(map(str.__eq__, outputs[0], others)) >= SAME
    assert not any(mark in text for rows in outputs for text in rows for mark in ("<unk>", "⁇", "\ufffd"))


@pytest.mark.parametrize("direction", DIRECTIONS, ids=lambda direction: direction.name)
def test_digits_and_signs_are_not_lost(direction: Direction) -> None:
    translator = Translator.load(direction.name, engine="numpy")
    for line in translator.translate(["I have 37 cats.", "It costs $45 (10% off)."]):
        assert "⁇" not in line.text
    tokeniser = translator.vocabularies.target
    for text in ("0123456789 % $ ( ) : Á ü 😀", "¿Qué? ¡Sí! ñ"):
        assert tokeniser.decode(tokeniser.encode([text])) == [text]


def test_the_command_answers_without_a_model(tmp_path: Path) -> None:
    completed = run("translate", "Let's go", cwd=tmp_path)
    assert (completed.returncode, completed.stdout.strip().rstrip(".!").lstrip("¡")) == (0, "Vamos")
    listed = json.loads(run("models", "--json").stdout)
    assert {model["name"] for model in listed} == {model.name for model in MODELS}


def test_capital_letters_are_translated_from_lower_case() -> None:
    done = run("translate", "CONGRATULATIONS!", "GOOD MORNING, MY FRIENDS.", "--json")
    first, second = map(json.loads, done.stdout.splitlines())
    assert (first["source"], first["translation"]) == ("CONGRATULATIONS!", "¡Felicidades!")
    assert second["translation"] == "Buenos días, mis amigos."
    assert first["notes"][0].startswith("A sentence in capital letters, which was translated from lower case: ")
