"""`clearhead heads` as a user runs it: tables, CSV and JSON of the same numbers, and error messages."""

import csv
import io
import json
import signal
from pathlib import Path

import pytest

from clearhead.cli.progress_bar import progress_bar
from clearhead.explain.head_measurement import HeadRequest, report_heads
from clearhead.formats import save_checkpoint
from clearhead.text.config import TextConfig
from clearhead.text.train import train_vocabularies
from tests.command import run
from tests.integration.test_translate_progress import Terminal
from tests.small_run import TEXTS, make_run
from tests.unit.decoding.test_scoring import LINES, make_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("heads")
    make_run(root / "run")
    vocabularies = train_vocabularies([(line, line) for line in LINES], TextConfig(kind="char", vocabulary=61))
    vocabularies.save(root / "writer")
    save_checkpoint(make_model(vocabularies, shape="decoder").float(), root / "writer" / "best")
    (root / "text").write_text("\n".join(LINES) + "\n")
    for side, name in enumerate(("source", "target")):
        (root / name).write_text("".join(f"{pair[side]}\n" for pair in TEXTS), encoding="utf-8")
    (root / "exported").mkdir()
    (root / "exported" / "model.bin").write_bytes(b"CT2")
    (root / "in.csv").write_text("a\n")
    (root / "short").write_text("abc\n")
    (root / "empty").write_text("")
    (root / "gold").write_text("0-0 1-1\n0-0\n0-0 1p1\n0-0\n0-0\n0-0\n")
    return root


def test_json_has_the_numbers_of_the_library(folder: Path) -> None:
    done = run("heads", "-m", "run", "source", "target", "--gold-links", "gold", "--json", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    request = HeadRequest(str(folder / "gold"))
    expected = report_heads(folder / "run", [str(folder / "source"), str(folder / "target")], request)
    data = json.loads(done.stdout)
    assert [row["head"] for row in data["heads"]] == [str(row.head) for row in expected.rows]
    for row, right in zip(data["heads"], expected.rows, strict=True):
        for name, value in right.to_dict().items():
            assert row[name] == (pytest.approx(value, rel=1e-4, abs=1e-6) if isinstance(value, float) else value), name
    assert {row["alignment_error"] is None for row in data["heads"][-4:]} == {False}
    assert data["signatures"]["alignment_error"] == "nrefs:1|sentences:6|links:gold|teacher-forced:yes"


def test_the_table_names_every_head_and_explains_its_columns(folder: Path) -> None:
    done = run("heads", "-m", "run", "source", "target", cwd=folder)
    lines = done.stdout.splitlines()
    assert lines[0] == "10 attention heads"
    headings = [heading.strip() for heading in lines[1].split("┃")]
    assert headings[:6] == ["head", "kind", "confidence", "offset", "first", "end"]
    assert headings[6:] == ["AER %", "importance", "Δ loss", "p", "Δ loss alone"]
    assert sum(line.startswith(("encoder.", "decoder.")) for line in lines) == 10
    assert sum(line.rstrip().endswith("best") for line in lines) == 5, "one head of each layer"
    assert "positions (nrefs:1|sentences:6|links:counted|teacher-forced:yes)" in done.stdout
    assert "p: ar:10000|seed:12345|correction:holm|tests:10" in done.stdout
    markdown = run("heads", "-m", "run", "source", "target", "--format", "markdown", cwd=folder).stdout
    assert markdown.startswith("### 10 attention heads\n\n| head | kind | confidence | ")


def test_csv_has_a_line_for_every_head(folder: Path) -> None:
    done = run("heads", "-m", "run", "source", "target", "--format", "csv", "--lines", "3", cwd=folder)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(rows) == 10
    assert rows[0]["head"] == "encoder.0.self_attention.head.0"
    assert rows[0]["bleu_change"] == ""
    assert 0 < float(rows[0]["confidence"]) <= 1


def test_a_table_can_be_sorted_and_cut(folder: Path) -> None:
    done = run("heads", "-m", "run", "source", "target", "--sort", "importance", "--top", "3", "--json", cwd=folder)
    data = json.loads(done.stdout)
    importance = [row["importance"] for row in data["heads"]]
    assert len(importance) == 3
    assert importance == sorted(importance, reverse=True)
    assert len(data["best_alone"]) == 5, "of all heads"


def test_bleu_without_each_head_is_measured_on_request(folder: Path) -> None:
    done = run("heads", "-m", "run", "source", "target", "--bleu", "--beam", "2", "--lines", "2", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Δ BLEU" in done.stdout.splitlines()[1]
    assert "Δ BLEU: change if the head is removed; unchanged " in done.stdout


def test_a_language_model_has_only_self_attention(folder: Path) -> None:
    done = run("heads", "-m", "writer", "text", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["heads"]
    assert {row["head"].split(".")[2] for row in rows} == {"self_attention"}
    assert all(row["end_share"] is None and row["alignment_error"] is None for row in rows)


def test_the_built_in_model_is_the_default_and_takes_a_direction(folder: Path) -> None:
    (folder / "built.en").write_text("Good morning.\n")
    (folder / "built.hi").write_text("सुप्रभात।\n")
    done = run("heads", "built.en", "built.hi", "--to", "hi", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert len(data["heads"]) == 60
    other = run("heads", "-m", "tatoeba", "built.en", "built.hi", "--json", cwd=folder)
    assert json.loads(other.stdout)["loss"]["value"] > 1.5 * data["loss"]["value"], "the default direction is en-es"


def test_output_is_a_page_json_or_csv_by_its_name(folder: Path, tmp_path: Path) -> None:
    printed = {}
    for suffix in ("html", "json", "csv"):
        path = tmp_path / f"heads.{suffix}"
        done = run("heads", "-m", "run", "source", "target", "--lines", "2", "-o", str(path), cwd=folder)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        printed[suffix] = path.read_text(encoding="utf-8")
    assert "<h1>Attention heads of run</h1>" in printed["html"]
    assert len(json.loads(printed["json"])["heads"]) == len(printed["csv"].splitlines()) - 1 == 10


HEADS = "import sys; sys.argv[0] = 'clearhead'; from clearhead.cli.main import main; main()"


def test_a_terminal_shows_progress_and_is_restored(folder: Path) -> None:
    arguments = ["heads", "-m", str(folder / "run"), str(folder / "source"), str(folder / "target")]
    terminal = Terminal(arguments, code=HEADS)
    assert terminal.close() == 0
    content = terminal.content.decode()
    assert "loss of each head alone: " in content
    assert " of 11" in content
    assert terminal.lines == []
    assert not terminal.screen.cursor.hidden


def test_an_interruption_restores_the_terminal_and_shows_no_traceback(folder: Path) -> None:
    (folder / "many").write_text("Where is the station?\n" * 500)
    (folder / "many2").write_text("¿Dónde está la estación?\n" * 500)
    terminal = Terminal(["heads", str(folder / "many"), str(folder / "many2")], code=HEADS)
    terminal.read(until=lambda: any("attention: " in line or "importance: " in line for line in terminal.lines))
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.close() == 130
    assert "Traceback" not in terminal.content.decode()
    assert not terminal.screen.cursor.hidden


def test_no_bar_is_drawn_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar() as show:
        show("attention", 1, 2)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-m", "run", "source"), "this model translates: give two files, the sentences and their translations, not 1."),
        (("-m", "writer", "text", "text"), "this is a language model, which reads no source: give one file, not 2."),
        (("-m", "writer", "text", "--bleu"), "a language model has no translations to align or to score."),
        (("-m", "run", "source", "target", "--sort", "bleu"), "--sort bleu needs a measurement of BLEU. Add --bleu."),
        (("-m", "run", "source", "none"), "none does not exist"),
        (("-m", "run", "source", "short"), "source has 6 lines, but short has 1."),
        (("-m", "run", "empty", "empty2"), "empty is empty. Give at least one sentence."),
        (("-m", "run", "-", "-"), "standard input can only be read once. Give a file for one of them."),
        (("-m", "run", "--to", "de", "source", "target"), "'de' is not a target language of this model."),
        (("-m", "run", "--from", "en", "source", "target"), "--from chooses a built-in model, but run is a model of yours"),
        (("--from", "fr", "source", "target"), "no built-in model translates from 'fr'. There is: en → es, hi, bn; es → en."),
        (("-m", "run", "source", "target", "-o", "heads.pdf"), "heads.pdf: .pdf is not the suffix of a format that can be written here."),
        (("-m", "run", "in.csv", "target", "-o", "in.csv"), "in.csv is read"),
        (("-m", "exported", "source", "target"),
         "exported is a model exported to CTranslate2, whose steps are fused away. Open the run or the checkpoint"),
        (("-m", "run", "source", "target", "--gold-links", "short"), "'abc' is not a gold link."),
    ],
)  # fmt: skip
def test_errors_are_one_sentence(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    (folder / "empty2").write_text("")
    done = run("heads", *arguments, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
