"""A traced model on the command line: saved, opened at one head in every format, and marked."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from clearhead import Worksheet, solve
from clearhead.explain.trace_file import save_trace
from clearhead.model import Batch, ModelConfig, Transformer, build_model
from clearhead.model.float64 import trace_in_float64
from clearhead.worksheet.part import part_of_sheet
from tests.command import run

HEAD = "encoder.0.self_attention.head.2"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(2)
    sizes = {"d_model": 6, "num_heads": 3, "d_ff": 5, "encoder_blocks": 1, "decoder_blocks": 1, "max_length": 11}
    model = Transformer(ModelConfig(source_vocabulary=13, **sizes)).eval()
    batch = Batch(torch.tensor([[5, 7, 2, 0]]), torch.tensor([[4, 9, 2]]))
    folder = tmp_path_factory.mktemp("trace")
    names = {"tokens": ["let's", "go", "</s>"], "target_tokens": ["<s>", "vamos", "ya"]}
    save_trace(trace_in_float64(model, batch)[1], folder / "trace.json", title="Let's go", **names)  # type: ignore[arg-type]
    save_trace(model.trace(batch)[1], folder / "trace32.json")
    return folder


@pytest.fixture(scope="module")
def saved_gru(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(2)
    sizes = {"d_model": 4, "encoder_blocks": 1, "decoder_blocks": 1}
    model = build_model(ModelConfig(architecture="recurrent", cell="gru", source_vocabulary=13, **sizes)).eval()
    batch = Batch(torch.tensor([[5, 7, 2]]), torch.tensor([[4, 9, 2]]))
    path = tmp_path_factory.mktemp("gru") / "trace.json"
    names = {"tokens": ["let's", "go", "</s>"], "target_tokens": ["<s>", "vamos", "ya"]}
    save_trace(trace_in_float64(model, batch)[1], path, **names)  # type: ignore[arg-type]
    return path


@pytest.mark.parametrize(
    ("place", "lines"),
    [
        (
            "encoder.0.forward.time.1",
            ["Encoder layer 1 · Forward direction · Time step 2 · Reset gate", "new₂ = (1 - z₂) ⊙ n₂", "go [ "],
        ),
        (
            "decoder.0.cross_attention.time.1",
            ["Decoder layer 1 · Cross-attention · Time step 2", "let's      go    </s>", "vamos [ "],
        ),
    ],
)
def test_a_step_of_a_recurrent_model_is_shown_and_gets_full_marks(
    saved_gru: Path, tmp_path: Path, place: str, lines: list[str]
) -> None:
    done = run("solve", "--from-trace", str(saved_gru), "--where", place)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line for line in lines if line not in done.stdout] == []
    part = tmp_path / "part.json"
    assert run("solve", "--from-trace", str(saved_gru), "--where", place, "-o", str(part)).returncode == 0
    checked = run("check", str(part), "--json")
    marks = json.loads(checked.stdout)["marks"]
    assert (checked.returncode, marks["earned"]) == (0, marks["out_of"])


def test_a_head_is_shown_as_solve_shows_a_problem(saved: Path) -> None:
    done = run("solve", "--from-trace", str(saved / "trace.json"), "--where", HEAD, "--detail", "products")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Let's go (Encoder layer 1 · Self-attention · Head 3)\n")
    assert "Encoder layer 1 · Self-attention · Head 3\n" in done.stdout
    assert "A₃ = softmax of each row of S″₃" in done.stdout
    assert "A₃[go, let's]" in done.stdout


@pytest.mark.parametrize("form", ["markdown", "html", "latex", "latex-fragment", "json"])
def test_every_format_is_that_of_the_library(saved: Path, form: str) -> None:
    done = run("solve", "--from-trace", str(saved / "trace.json"), "--where", HEAD, "--format", form)
    sheet = part_of_sheet(Worksheet.from_json((saved / "trace.json").read_bytes()), HEAD)
    expected = {
        "markdown": lambda: sheet.to_markdown("matrices"),
        "html": lambda: sheet.to_html("matrices"),
        "latex": lambda: sheet.to_latex("matrices"),
        "latex-fragment": lambda: sheet.to_latex("matrices", fragment=True),
        "json": lambda: sheet.to_json().decode() + "\n",
    }[form]()
    assert (done.returncode, done.stderr, done.stdout) == (0, "", expected)


def test_digits_blanks_pictures_and_complete_traces_work_too(saved: Path) -> None:
    path = str(saved / "trace.json")
    two = run("solve", "--from-trace", path, "--where", HEAD, "--decimals", "2", "--blank", "A₃[go, *]")
    assert "shown to at most 2 decimals" in two.stdout
    assert two.stdout.count("____") == 3
    picture = run("solve", "--from-trace", path, "--where", "decoder.*.cross_attention", "--picture", "A₁")
    assert picture.stdout.startswith("<svg")
    sheet = run("solve", "--from-trace", path, "--detail", "results")
    assert "logits = N W_out" in sheet.stdout


def test_the_marker_gives_saved_traces_full_marks(saved: Path) -> None:
    for name in ("trace.json", "trace32.json"):
        done = run("check", str(saved / name), "--json")
        report = json.loads(done.stdout)
        assert done.returncode == 0, done.stderr
        assert report["marks"]["earned"] == report["marks"]["out_of"] > 100
    assert "Computed in float32" in run("solve", "--from-trace", str(saved / "trace32.json"), "--where", HEAD).stdout


def test_torch_is_not_loaded_to_show_a_trace(saved: Path) -> None:
    arguments = ["clearhead", "solve", "--from-trace", str(saved / "trace.json"), "--where", HEAD]
    code = (
        f"import sys, clearhead.cli.main as m\nsys.argv = {arguments!r}\n"
        "try:\n    m.main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "sys.exit('torch was loaded' if 'torch' in sys.modules else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "Head 3" in done.stdout


def test_a_worksheet_that_solve_wrote_opens_at_a_place(tmp_path: Path) -> None:
    solve("lets-go-encoder").save(tmp_path / "sheet.json")
    done = run("solve", "--from-trace", str(tmp_path / "sheet.json"), "--where", "encoder.0.self_attention.query")
    assert done.returncode == 0, done.stderr
    assert "W_Q" in done.stdout
    assert "W_K" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["lets-go", "--from-trace", "trace.json"], "lets-go is an exercise and --from-trace trace.json is a trace. Give only one of them."),
        (["--where", HEAD], f"--where {HEAD} selects a part of a trace. Give the trace with --from-trace FILE."),
        (["--from-trace", "none.json"], "none.json cannot be read: No such file or directory. Give a file written by save_trace."),
        (["--from-trace", "."], ". cannot be read: Is a directory. Give a file written by save_trace."),
        (["--from-trace", "text.json"], "text.json is not a trace file (this is not a worksheet: invalid literal, expected 'null': line 1 column 1 (char 0)). Write one with clearhead.explain.trace_file.save_trace, or write a worksheet with Worksheet.to_json."),
        (["--from-trace", "trace.json", "--where", "encoder.0.self_attention.head.7"], "trace.json: there is no part 'encoder.0.self_attention.head.7' in this trace."),
        (["--from-trace", "trace.json", "--round-lines"], "--round-lines cannot be used with a trace: its numbers are already calculated. Remove --round-lines."),
    ],
)  # fmt: skip
def test_mistakes_are_reported_in_one_sentence(saved: Path, arguments: list[str], sentence: str) -> None:
    (saved / "text.json").write_text("not JSON")
    done = run("solve", *arguments, cwd=saved)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"clearhead: {sentence}")
    assert done.stderr.count("\n") == 1
