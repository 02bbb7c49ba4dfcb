"""`clearhead export` and `clearhead import` as a user runs them: output, exit codes and folders."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.command import run

pytest.importorskip("onnxruntime", reason="exports are compared with it: pip install '.[onnx]'")
pytest.importorskip("onnx", reason="exports are compared with it: pip install '.[onnx]'")

FIRST = Path(__file__).parents[1] / "golden" / "first_release"
RUN = str(FIRST / "run")
SENTENCE, TRANSLATION = "the cat sees a dog.", "die Katze sieht einen Hund."


@pytest.fixture
def text(tmp_path: Path) -> list[str]:
    for name, line in (("text.en", SENTENCE), ("text.de", TRANSLATION)):
        (tmp_path / name).write_text(line + "\n", encoding="utf-8")
    return ["--source", "text.en", "--reference", "text.de"]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_model_goes_out_and_comes_back(text: list[str], tmp_path: Path) -> None:
    exported = run("export", RUN, "--to", "hub-folder", "--licence", "MIT", *text, cwd=tmp_path)
    assert exported.returncode == 0, exported.stderr
    assert exported.stderr == "clearhead: wrote run-hub-folder, with its certificate in certificate.md.\n"
    assert "identical translations: 1 of 1 (100.0%; limit 98%)\n" in exported.stdout
    assert exported.stdout.endswith("verdict: within the limits\n")
    translated = run("translate", "--model", "run-hub-folder", SENTENCE, cwd=tmp_path)
    assert translated.stdout == f"{TRANSLATION}\n"
    imported = run("import", "run-hub-folder", "-o", "model", "--json", cwd=tmp_path)
    assert json.loads(imported.stdout) == {"kind": "a clearhead model", "parameters": 3146, "folder": "model"}
    weights = tmp_path / "model" / "model.safetensors"
    assert weights.read_bytes() == (FIRST / "run" / "best" / "model.safetensors").read_bytes()


def test_the_certificate_is_printed_as_json(text: list[str], tmp_path: Path) -> None:
    done = run("export", RUN, "--to", "hub-folder", "--licence", "MIT", "--json", *text, cwd=tmp_path)
    data = json.loads(done.stdout)
    assert data == json.loads((tmp_path / "run-hub-folder" / "certificate.json").read_text())
    assert (data["target"], data["comparison"]["numbers"]["largest"], data["faults"]) == ("hub-folder", 0.0, [])


def test_the_engine_without_torch_gives_the_same_translation() -> None:
    done = run("translate", "--model", RUN, "--engine", "numpy", "--beam", "3", SENTENCE)
    assert (done.returncode, done.stdout) == (0, "ein Hund sieht die Katze.\n"), done.stderr


def test_drift_is_an_answer_not_an_error(text: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from clearhead.export import certificate as certificates
    from clearhead.export.certificate import Limits

    limits = Limits(difference=None, identical=1.0, bleu_drop=-1.0)  # a drop of 0 is more
    monkeypatch.setitem(certificates._LIMITS, "float32", limits)
    done = run("export", RUN, "--to", "onnx", *text, cwd=tmp_path)
    assert done.returncode == 1
    assert "verdict: beyond the limits: BLEU drops by " in done.stdout
    assert done.stderr == (
        "clearhead: the export is too far from its model, so run-onnx was not written. Choose a wider --precision, or "
        "--allow-drift.\n"
    )
    assert names(tmp_path) == ["text.de", "text.en"]
    assert run("export", RUN, "--to", "onnx", "--allow-drift", *text, cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("export", RUN, "--to", "onx"), "'onx' is not a format for export. Did you mean 'onnx'?"),
        (("export", RUN, "--to", "onnx", "--precision", "int4"), "Did you mean 'int8'? Precisions: float32, int8 (--precision)."),
        (("export", "en-es", "--to", "marian"), "MarianMT is post-norm, and this model is pre-norm"),
        (("export", RUN, "--to", "onnx"), "Give a file of sentences, one per line, and a file of their translations (--source, --reference)."),
        (("export", RUN, "--to", "onnx", "--source", "missing.en"), "missing.en does not exist"),
        (("export", "no-such", "--to", "onnx"), "no-such does not exist."),
        (("export", RUN, "--to", "onnx", "-o", "."), ". exists already. Choose a new folder (--output)."),
        (("import", "no-such"), "no-such does not exist. Give the folder of a model"),
        (("import", str(FIRST / "ctranslate2")), "are not read back"),
        (("import", str(FIRST / "onnx")), "is an export to ONNX, whose weights are in the layout of that program and are not read back"),
        (("translate", "--model", str(FIRST / "onnx"), "a"), "is an export to ONNX, which is for onnxruntime. Use the model that it was exported from (--model)."),
        (("translate", "--model", str(FIRST / "ctranslate2"), "--engine", "torch", "a"), "is an export to CTranslate2, which the engine torch cannot run. Use the engine ctranslate2"),
        (("translate", "--model", str(FIRST / "ctranslate2"), "--precision", "int8", "a"), "is an export to CTranslate2 in float32, and cannot be run in int8."),
        (("translate", "--model", str(FIRST / "ctranslate2"), "--align", "a"), "which cannot do this: "),
        (("score", "--model", str(FIRST / "onnx"), "-", "x"), "is an export to ONNX, which runs the model as a whole"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence_and_exit_code_2(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert names(tmp_path) == []


@pytest.mark.slow
def test_a_disk_that_really_fills_leaves_nothing(text: list[str], tmp_path: Path) -> None:
    arguments = ["clearhead", "export", RUN, "--to", "onnx", "-o", "export", *text]
    program = (
        "import resource, signal, sys\n"
        "import torch, clearhead.export.exporting, clearhead.export.probe  # compiled before the limit\n"
        "from clearhead.cli.main import main\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))  # less than the weights\n"
        f"sys.argv = {arguments!r}\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr == (
        "clearhead: export could not be written: File too large. No partial files remain. Choose a folder on a disk "
        "with enough space (--output).\n"
    )
    assert names(tmp_path) == ["text.de", "text.en"]


@pytest.mark.slow
def test_an_interrupted_export_leaves_nothing(text: list[str], tmp_path: Path) -> None:
    (tmp_path / "long.en").write_text("".join(f"{SENTENCE} {number}\n" for number in range(50_000)))  # minutes of work
    command = [sys.executable, "-m", "clearhead.cli.main", "export", RUN, "--to", "onnx", "-o", "export"]
    process = subprocess.Popen([*command, "--source", "long.en"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 300
    while not list(tmp_path.glob(".export.*.part/SHA256SUMS")):  # the comparison has begun
        assert process.poll() is None, "it ended before it was interrupted"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGINT)
    _, message = process.communicate(timeout=300)
    assert process.returncode == 130
    assert message.endswith("clearhead: interrupted. export was not written.\n")
    assert names(tmp_path) == ["long.en", "text.de", "text.en"]
