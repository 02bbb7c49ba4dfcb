"""What was removed is answered with one sentence that names what to use instead, wherever a user can ask for it."""

from typing import Any, ClassVar, Literal

import pytest

from clearhead import retired
from clearhead.errors import ConfigError
from clearhead.settings import Settings, read_settings
from tests.command import run

# Commands of earlier versions, and the name that the sentence begins with.
COMMANDS = [
    ("translate --engine onnx text", "--engine onnx"),
    ("evaluate outputs.txt --reference references.txt --metric comet", "--metric comet"),
    ("evaluate outputs.txt --reference references.txt --comet-model model.ckpt", "--comet-model"),
    ("evaluate outputs.txt --reference references.txt --parquet=text", "--parquet"),
    ("evaluate outputs.txt --reference references.txt --buckets", "--buckets"),
    ("evaluate outputs.txt --reference references.txt --no-buckets", "--no-buckets"),
    ("prune -m run --penalty 0.1 -o smaller", "prune --penalty"),
    ("film run", "film"),
    ("practise softmax --seed 7", "practise"),
    ("score --ray auto source.txt target.txt", "score --ray"),
    ("translate --input corpus.parquet", ".parquet"),
    ("explain text --continuations 2", "--continuations"),
    ("classify -m run --explain text", "classify --explain"),
    ("what-if sentence --without encoder.0.*", "what-if"),
    ("quiz softmax --format qti -o softmax.zip", "quiz --format qti"),
    ("translate -m tatoeba --alternatives 4", "--alternatives"),
    ("translate -m tatoeba --coverage-penalty 0.2", "--coverage-penalty"),
    ("translate -m tatoeba --choices 4", "translate --choices"),
    ("translate --input messages.po", ".po"),
    ("translate --input messages.POT --no-document", ".pot"),
    ("translate --input messages.po --all-messages", "--all-messages"),
]


class Engines(Settings):
    """Settings as an earlier version wrote them: with `pinned`, which was empty by default."""

    retired: ClassVar[dict[str, Any]] = {"pinned": []}
    engine: Literal["numpy", "torch"] = "numpy"


@pytest.mark.parametrize(("command", "name"), COMMANDS)
def test_a_command_of_an_earlier_version_is_answered_by_what_to_use_instead(command: str, name: str) -> None:
    outcome = run(*command.split())
    assert outcome.returncode == 2
    assert outcome.stdout == ""
    assert outcome.stderr == f"clearhead: {retired.removed(name)}\n"


def test_a_removed_setting_at_its_default_is_ignored_and_any_other_value_is_refused() -> None:
    assert read_settings(Engines, {"pinned": [], "engine": "torch"}) == Engines(engine="torch")
    with pytest.raises(ConfigError) as caught:
        read_settings(Engines, {"pinned": ["Let's go"]})
    assert str(caught.value) == (
        "pinned was removed from clearhead. See the curves with 'clearhead plot', and translate with each checkpoint."
    )


def test_a_removed_choice_is_named_with_its_setting() -> None:
    with pytest.raises(ConfigError) as caught:
        read_settings(Engines, {"engine": "onnx"}, "loading")
    assert str(caught.value) == (
        "loading.engine: engine: onnx was removed from clearhead. Use the engine numpy or ctranslate2; an export for "
        "ONNX is for onnxruntime."
    )


def test_a_name_that_was_never_there_has_no_sentence() -> None:
    assert retired.removed("dance", "--shoe") is None
    assert "No such command 'dance'" in run("dance").stderr
