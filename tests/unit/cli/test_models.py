"""`clearhead models`, and the built-in models of `clearhead translate`."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from clearhead.formats import built_in
from tests.built_in import EN_ES, install_models, write_description
from tests.command import run
from tests.small_run import make_run


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        yield install_models(tmp_path_factory.mktemp("built-in"), patch)


def translate(*arguments: str) -> str:
    completed = run("translate", "the red cat", "--max-length", "7", *arguments)
    assert completed.returncode == 0, completed.stderr
    assert completed.stderr == ""
    return completed.stdout


def test_the_list_has_languages_sizes_scores_and_licences(installed: Path) -> None:
    completed = run("models")
    assert completed.returncode == 0
    first, second = (line for line in completed.stdout.splitlines() if line.startswith(("en-es-hi-bn", "es-en")))
    assert first.split() == [
        *("en-es-hi-bn", "English", "(en)", "Spanish", "(es)", "46.5", "65.2", "0.0", "MB", "CC", "BY", "2.0", "FR")
    ]
    assert second.split()[1:6] == ["Spanish", "(es)", "English", "(en)", "50.0"]
    assert "Hindi (hi)" in completed.stdout


def test_the_list_as_json(installed: Path) -> None:
    records = json.loads(run("models", "--json").stdout)
    assert [record["name"] for record in records] == ["en-es-hi-bn", "es-en"]
    assert records[0]["directions"][0] == {**EN_ES, "languages": ["English", "Spanish"]}
    assert records[0]["licence"] == "CC BY 2.0 FR"
    assert records[0]["parameters"] > 1000
    assert records[0]["bytes"] == (installed / "en-es-hi-bn" / "model.safetensors").stat().st_size


def test_an_installation_without_models_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(built_in, "MODELS", tmp_path)
    completed = run("models")
    assert (completed.returncode, completed.stdout) == (0, "")
    assert "no built-in model is installed" in completed.stderr
    assert run("models", "--json").stdout == "[]\n"
    completed = run("translate", "the red cat")
    assert completed.returncode == 2
    assert completed.stderr == (
        "clearhead: no built-in model is installed. Name a run folder, a checkpoint or an OPUS-MT folder (--model).\n"
    )


def test_without_a_model_the_languages_choose_a_built_in_one(installed: Path) -> None:
    spanish, hindi = translate(), translate("--to", "hi")
    assert spanish != hindi, "the language tag is read"
    assert spanish == translate("--from", "en") == translate("-m", "en-es") == translate("-m", "en-es-hi-bn")
    assert hindi == translate("-m", "en-hi") == translate("-m", "en-es-hi-bn", "--to", "hi")
    assert translate("--to", "en") == translate("--from", "es") == translate("-m", "es-en")


def test_a_folder_is_used_before_a_built_in_model(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_run(tmp_path / "en-es", seed=17)
    own = translate("-m", str(tmp_path / "en-es"))
    assert own != translate("-m", "en-es")
    monkeypatch.chdir(tmp_path)
    completed = run("translate", "the red cat", "--max-length", "7", "-m", "en-es")
    assert completed.stdout == own
    assert translate() != own, "without --model, a folder of that name makes no difference"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--to", "fr"), "no built-in model translates into 'fr'. There is: en → es, hi, bn; es → en. Use one of these, or a model of your own (--to, --model)."),
        (("--from", "fr"), "no built-in model translates from 'fr'."),
        (("-m", "en-ess"), "en-ess does not exist. Give a run folder, one of its checkpoints, or an OPUS-MT folder. Did you mean 'en-es'? Built-in models: en-es-hi-bn, es-en (--model)."),
        (("-m", "es-en", "--to", "hi"), "the built-in model es-en does not translate into 'hi'."),
    ],
)  # fmt: skip
def test_unknown_names_and_languages_get_one_sentence(
    installed: Path, arguments: tuple[str, ...], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    completed = run("translate", "the red cat", *arguments)
    assert (completed.returncode, completed.stdout) == (2, "")
    assert sentence in completed.stderr
    assert completed.stderr.count("\n") == 1


def test_the_source_language_of_an_own_model_cannot_be_chosen(tmp_path: Path) -> None:
    completed = run("translate", "a dog", "-m", str(make_run(tmp_path / "run")), "--from", "es")
    assert completed.returncode == 2
    assert "--from chooses a built-in model, but" in completed.stderr


def test_a_run_is_packed(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    (folder / "README.md").write_text("# Card\n")
    about = write_description(tmp_path / "about.json", [EN_ES])
    completed = run("models", "--pack", str(folder), "-o", str(tmp_path / "en-es"), "--about", str(about))
    assert completed.returncode == 0, completed.stderr
    assert f"wrote {tmp_path / 'en-es'}, 0.0 MB." in completed.stderr
    assert (tmp_path / "en-es" / "SHA256SUMS").is_file()
    completed = run("models", "--pack", str(folder))
    assert completed.returncode == 2
    assert "--pack needs the folder to write (--output) and a description (--about)" in completed.stderr
    completed = run("models", "-o", str(tmp_path / "x"))
    assert (completed.returncode, "only apply to --pack RUN" in completed.stderr) == (2, True)
