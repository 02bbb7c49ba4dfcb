"""Every row of the lecture notes has a command that does it, and the command still gives the answer (rows.txt).

The ten studies that train models run as commands, but at the sizes of their own tests: at full size they take from half a minute to five.
"""

import shlex
from pathlib import Path

import pytest

from clearhead.quiz import quiz_kinds
from clearhead.studies import STUDIES, find_study
from tests.command import run
from tests.unit.studies.tiny import TINY

GOLDEN = Path(__file__).parent
LINES = (GOLDEN / "rows.txt").read_text(encoding="utf-8").splitlines()
ROWS = [tuple(line.split(" | ")) for line in LINES if not line.startswith("#")]
TEXTS = {
    "en.txt": "the cat sees a dog.\nthe dog sleeps.\n",
    "de.txt": "die Katze sieht einen Hund.\nder Hund schläft.\n",
    "es.txt": "el gato ve un perro.\nel perro duerme.\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rows")
    (folder / "examples").symlink_to(GOLDEN.parents[1] / "examples")
    (folder / "first_release").symlink_to(GOLDEN / "first_release")
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(("command", "code", "parts"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_the_command_of_a_row_gives_its_answer(
    folder: Path, monkeypatch: pytest.MonkeyPatch, command: str, code: str, parts: str
) -> None:
    _, *words = shlex.split(command)
    if words[0] == "experiment" and words[1] in TINY:
        monkeypatch.setattr(find_study(words[1]), "SMALL", TINY[words[1]])
    done = run(*words, cwd=folder)
    assert done.returncode == int(code), done.stderr
    output = _plain(done.stdout + done.stderr)
    for part in parts.split(" ... "):
        _, answer, output = output.partition(part)
        assert answer, f"{part} is not in the output of {command}"


def test_every_kind_of_exercise_every_experiment_and_every_language_has_a_row() -> None:
    commands = [row[1] for row in ROWS]
    assert {command.split()[2] for command in commands if " quiz " in command} == set(quiz_kinds())
    assert {command.split()[2] for command in commands if " experiment " in command} == {*STUDIES}
    assert {"hi", "bn", "es"} <= {shlex.split(command)[3] for command in commands if " --to " in command}
    assert len({row[0] for row in ROWS}) == len(ROWS)


def test_every_exercise_of_the_gallery_has_a_row_and_so_has_every_working() -> None:
    commands = {row[1] for row in ROWS}
    for verb in ("solve", "check"):
        lines = run(verb, "--list").stdout.splitlines()
        names = {line.split()[0] for line in lines if line[0] != " " and not line.startswith("id ")}
        assert {f"clearhead {verb} {name}" for name in names} <= commands


def test_a_verb_that_goes_has_no_row() -> None:
    assert not {command.split()[1] for _, command, *_ in ROWS} & {"film", "practise", "what-if"}


def _plain(text: str) -> str:
    """Return the text without the lines of tables, and with one blank between words."""
    return " ".join(text.translate(str.maketrans("━─│┃╇┼╎|", "        ")).split())
