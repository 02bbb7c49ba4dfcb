"""Exports: complete folders with certificates that other programs run, or nothing at all."""

import errno
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from clearhead import Translator
from clearhead.errors import CheckpointError, ClearheadError, ConfigError
from clearhead.export import certificate as certificates
from clearhead.export import exporting
from clearhead.export.certificate import Limits, read_certificate
from clearhead.export.exporting import DriftError, ExportRequest, export_model
from clearhead.export.probe import onnx_probe
from clearhead.export.sentences import TextChoice
from clearhead.files.manifest import read_manifest, verify_files
from clearhead.formats import load_checkpoint
from clearhead.formats.model_folder import find_model, load_vocabularies
from tests.small_run import TEXTS, make_run

pytest.importorskip("ctranslate2", reason="exports are compared with it: pip install '.[translate]'")
pytest.importorskip("onnxruntime", reason="exports are compared with it: pip install '.[onnx]'")
pytest.importorskip("onnx", reason="exports are compared with it: pip install '.[onnx]'")
pytest.importorskip("transformers", reason="exports are compared with it: pip install '.[dev]'")

FIRST = Path(__file__).parents[2] / "golden" / "first_release"
SENTENCES = ["the cat sees a dog.", "the dog sleeps.", "a cat sleeps."]
REFERENCES = ["die Katze sieht einen Hund.", "der Hund schläft.", "der Hund schläft."]  # what this small model writes
TARGETS = ["ctranslate2", "onnx", "marian", "hub-folder"]


@pytest.fixture
def text(tmp_path: Path) -> TextChoice:
    for name, lines in (("text.en", SENTENCES), ("text.de", REFERENCES)):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return TextChoice(str(tmp_path / "text.en"), str(tmp_path / "text.de"))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def translator_of(folder: Path) -> Translator:
    """Return the export as its users run it; clearhead itself does not translate with one to ONNX."""
    export = find_model(folder)
    if export.runtime == "onnx":
        return Translator(load_vocabularies(export), onnx_probe(export).engine)
    return Translator.load(folder)


@pytest.mark.parametrize("target", TARGETS)
def test_an_export_is_a_complete_folder_with_a_certificate(target: str, text: TextChoice, tmp_path: Path) -> None:
    folder = tmp_path / "export"
    request = ExportRequest(FIRST / "run", target, folder, text=text, licence="CC-BY-4.0")
    certificate = export_model(request)
    assert certificate == read_certificate(folder)
    measured = certificate.comparison
    assert (measured.sentences, measured.identical, measured.divergence) == (3, 3, None)
    assert measured.numbers is not None
    assert measured.numbers.of == ("log-probabilities" if target == "ctranslate2" else "logits")
    assert measured.numbers.largest < 2e-4
    assert measured.numbers.tokens >= sum(len(line.split()) for line in REFERENCES)
    assert measured.bleu is not None
    assert measured.bleu.difference == measured.bleu.low == measured.bleu.high == 0
    assert measured.bleu.original == pytest.approx(100)
    assert measured.same_tokens == (3 if target == "marian" else None)
    files = {path.name for path in folder.iterdir() if path.is_file()}
    listed = read_manifest(folder)
    assert listed is not None
    assert set(listed) == files - {"SHA256SUMS"}
    assert verify_files(folder, listed).is_listed
    assert {"README.md", "LICENSE", "certificate.json", "certificate.md"} <= files
    assert [line.text for line in translator_of(folder).translate(SENTENCES)] == REFERENCES
    assert names(tmp_path) == ["export", "text.de", "text.en"], "no partial folder remains"


@pytest.mark.parametrize("target", [*TARGETS[:2], pytest.param("marian", marks=pytest.mark.slow), "hub-folder"])
def test_the_card_shows_how_to_translate_with_the_program_alone(target: str, tmp_path: Path) -> None:
    if target == "hub-folder":
        folder = tmp_path / "export"
        text = tmp_path / "text.en"
        text.write_text(SENTENCES[0] + "\n")
        export_model(ExportRequest(FIRST / "run", target, folder, text=TextChoice(str(text)), licence="MIT"))
    else:
        folder = FIRST / target
    block = re.search(r"```python\n(.*?)```", (folder / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    assert ("clearhead" in block[1]) == (target == "hub-folder")
    done = subprocess.run(
        [sys.executable, "-c", block[1]], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, REFERENCES[0]), done.stderr


@pytest.mark.parametrize(
    ("target", "precision", "share"),
    [("ctranslate2", "int8", 0.75), ("onnx", "int8", 0.9), ("hub-folder", "int8", 0.75), ("hub-folder", "float16", 0.75), ("marian", "float16", 0.75), ("ctranslate2", "float16", 0.75)],
)  # fmt: skip
def test_narrower_precisions_are_smaller_and_certified(
    target: str, precision: str, share: float, text: TextChoice, tmp_path: Path
) -> None:
    request = ExportRequest(FIRST / "run", target, tmp_path / "export", precision, text, "MIT", allows_drift=True)
    certificate = export_model(request)
    assert certificate.precision == precision
    whole = certificate.comparison.original_bytes * (2 if target == "onnx" else 1)
    assert certificate.comparison.exported_bytes < share * whole
    assert certificate.comparison.numbers is not None
    assert certificate.comparison.numbers.largest > 0
    assert len(translator_of(tmp_path / "export").translate(SENTENCES)) == 3


def test_an_export_beyond_its_limits_is_not_written_unless_drift_is_allowed(
    text: TextChoice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(certificates._LIMITS, "float32", Limits(difference=0.0, identical=1.0, bleu_drop=0.0))
    with pytest.raises(DriftError, match=r"the largest difference of logits is .* \(limit 0\). Nothing was written"):
        export_model(ExportRequest(FIRST / "run", "onnx", tmp_path / "export", text=text))
    assert names(tmp_path) == ["text.de", "text.en"]
    certificate = export_model(ExportRequest(FIRST / "run", "onnx", tmp_path / "export", text=text, allows_drift=True))
    assert len(certificate.faults) == 1
    assert json.loads((tmp_path / "export" / "certificate.json").read_text())["faults"] == list(certificate.faults)


def test_a_model_that_was_changed_on_the_way_diverges(
    text: TextChoice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = exporting.write_files

    def write_wrong_weights(plan: Any) -> None:
        write(plan)
        model = load_checkpoint(plan.folder)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(parameter + 0.7 * torch.randn(parameter.shape, generator=random))
        from clearhead.formats import save_checkpoint

        save_checkpoint(model, plan.folder)

    random = torch.Generator().manual_seed(3)
    monkeypatch.setattr(exporting, "write_files", write_wrong_weights)
    with pytest.raises(DriftError, match="of the translations are identical") as caught:
        export_model(ExportRequest(FIRST / "run", "hub-folder", tmp_path / "export", text=text, licence="MIT"))
    measured = caught.value.certificate.comparison
    assert measured.bleu is not None
    assert measured.bleu.difference <= measured.bleu.high < 0
    assert measured.divergence is not None
    assert measured.divergence.sentence == 1
    assert measured.divergence.original != measured.divergence.exported


def test_a_language_of_a_model_with_tags_is_exported_and_explained(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", ("de", "hi"))
    text = tmp_path / "text.en"
    text.write_text("".join(f">>hi<< {source}\n" for source, _ in TEXTS[:3]), encoding="utf-8")
    for target in ("ctranslate2", "onnx"):
        request = ExportRequest(run, target, tmp_path / target, text=TextChoice(str(text)), allows_drift=True)
        numbers = export_model(request).comparison.numbers  # a random model can be near a tie
        assert numbers is not None
        assert numbers.largest < 1e-3
        assert ">>de<<" in (tmp_path / target / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("target", TARGETS)
def test_an_opus_folder_is_exported_with_its_own_tokenizer(target: str, text: TextChoice, tmp_path: Path) -> None:
    request = ExportRequest(FIRST / "marian", target, tmp_path / "export", text=text, licence="MIT")
    assert export_model(request).comparison.identical == 3
    assert (tmp_path / "export" / "vocab.json").read_bytes() == (FIRST / "marian" / "vocab.json").read_bytes()
    assert [line.text for line in translator_of(tmp_path / "export").translate(SENTENCES)] == REFERENCES


def test_a_recurrent_model_can_only_be_a_hub_folder(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", architecture="recurrent")
    text = tmp_path / "text.en"
    text.write_text("the red cat\n")
    with pytest.raises(ConfigError, match="ONNX only supports Transformers, and this model is recurrent"):
        export_model(ExportRequest(run, "onnx", tmp_path / "export", text=TextChoice(str(text))))
    request = ExportRequest(run, "hub-folder", tmp_path / "export", text=TextChoice(str(text)), licence="MIT")
    assert export_model(request).comparison.identical == 1  # the same program with the same weights


# Bad input


def test_a_folder_that_exists_is_never_written_to(text: TextChoice, tmp_path: Path) -> None:
    (tmp_path / "export").mkdir()
    with pytest.raises(CheckpointError, match="export exists already. Choose a new folder."):
        export_model(ExportRequest(FIRST / "run", "onnx", tmp_path / "export", text=text))
    with pytest.raises(CheckpointError, match="the folder of .* does not exist. Create it first."):
        export_model(ExportRequest(FIRST / "run", "onnx", tmp_path / "no" / "export", text=text))
    assert names(tmp_path / "export") == []


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("moment", ["weights", "certificate"])
def test_a_disk_that_fills_leaves_nothing(
    target: str, moment: str, text: TextChoice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    if moment == "weights":
        write = exporting.write_files

        def write_and_fail(plan: Any) -> None:
            write(plan)
            fail()

        monkeypatch.setattr(exporting, "write_files", write_and_fail)
    else:
        monkeypatch.setattr(exporting, "write_card", fail)
    with pytest.raises(CheckpointError) as caught:
        export_model(ExportRequest(FIRST / "run", target, tmp_path / "export", text=text, licence="MIT"))
    assert str(caught.value) == (
        f"{tmp_path / 'export'} could not be written: No space left on device. No partial files remain. Choose a folder "
        "on a disk with enough space."
    )
    assert names(tmp_path) == ["text.de", "text.en"]


def test_an_interrupted_export_leaves_nothing(
    text: TextChoice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(exporting, "certify", interrupt)
    with pytest.raises(KeyboardInterrupt):
        export_model(ExportRequest(FIRST / "run", "onnx", tmp_path / "export", text=text))
    assert names(tmp_path) == ["text.de", "text.en"]


def test_a_hub_folder_needs_a_licence(text: TextChoice, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the licence of the weights is not known, and a hub needs it"):
        export_model(ExportRequest(FIRST / "run", "hub-folder", tmp_path / "export", text=text))


def test_an_export_is_not_exported_again(text: TextChoice, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="is an export to ONNX itself. Export the model that it came from."):
        export_model(ExportRequest(FIRST / "onnx", "ctranslate2", tmp_path / "export", text=text))


def test_a_missing_package_is_named(text: TextChoice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "find_spec", lambda name: None if name == "onnxruntime" else object())
    with pytest.raises(ClearheadError, match=r"export to onnx needs onnxruntime, which is not installed.*\[onnx\]"):
        export_model(ExportRequest(FIRST / "run", "onnx", tmp_path / "export", text=text))


def test_without_transformers_the_files_of_marian_are_read_by_clearhead_and_it_says_so(
    text: TextChoice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "find_spec", lambda name: None if name == "transformers" else object())
    certificate = export_model(ExportRequest(FIRST / "run", "marian", tmp_path / "export", text=text))
    assert certificate.exported.startswith("torch ")
    assert certificate.comparison.same_tokens is None


def test_weights_beyond_float16_are_refused(text: TextChoice, tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    run = Path(shutil.copytree(FIRST / "run", tmp_path / "run"))
    weights = run / "best" / "model.safetensors"
    tensors = load_file(weights)
    tensors["encoder_blocks.0.feed_forward.first.bias"][0] = np.float32(1e6)
    save_file(tensors, weights)
    (run / "best" / "SHA256SUMS").unlink()
    with pytest.raises(CheckpointError, match="has numbers beyond ±65,504, the range of float16"):
        export_model(ExportRequest(run, "hub-folder", tmp_path / "export", "float16", text, "MIT"))
    assert not (tmp_path / "export").exists()
