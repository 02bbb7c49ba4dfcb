"""Files that the first release wrote: every later version loads them, with the same results."""

from pathlib import Path

import pytest

from clearhead import Translator, Worksheet, solve
from clearhead.check import mark_worksheet
from clearhead.export.certificate import read_certificate
from clearhead.export.importing import import_model
from clearhead.export.probe import onnx_probe
from clearhead.formats.model_folder import find_model, load_vocabularies
from clearhead.training.run import RunFolder
from tests.tolerances import assert_close

KEPT = Path(__file__).parent / "first_release"
SENTENCES = ["the cat sees a dog.", "the dog sleeps."]
TRANSLATIONS = ["die Katze sieht einen Hund.", "der Hund schläft."]


@pytest.mark.parametrize("engine", ["numpy", "torch", "ctranslate2"])
def test_its_run_folder_is_translated_with_by_every_engine(engine: str) -> None:
    pytest.importorskip(engine, reason="the engine is an extra")
    translator = Translator.load(KEPT / "run", engine=engine)  # type: ignore[arg-type]
    assert translator.notes == ()
    assert [translation.text for translation in translator.translate(SENTENCES)] == TRANSLATIONS


def test_its_run_folder_has_a_config_metrics_and_an_outcome() -> None:
    run = RunFolder(KEPT / "run")
    config, outcome = run.read_config(), run.read_outcome()
    assert (config.training.steps, config.model["d_model"]) == (300, 12)
    assert outcome is not None
    assert outcome.steps == 300
    assert run.read_metrics()[-1]["step"] == 300
    assert find_model(KEPT / "run").fingerprint == "ebc2782107cbf2a87aa4ade3d1afcd75"


def test_its_worksheet_is_read_and_is_still_what_the_exercise_gives() -> None:
    sheet = Worksheet.from_json((KEPT / "worksheet.json").read_bytes())
    expected = solve("lets-go-encoder")
    assert [record.step.name for record in sheet.steps] == [record.step.name for record in expected.steps]
    assert_close(sheet.answer, expected.answer)


def test_its_trace_of_a_model_is_read_and_gets_full_marks() -> None:
    trace = Worksheet.from_json((KEPT / "trace.json").read_bytes())
    assert (trace.title, len(trace.steps), trace.precision) == ("a model of width 4", 90, "float64")
    assert_close(trace.answer[0, 1:3], [1.6635430471666475, 0.8347223106880985])
    report = mark_worksheet(trace)
    assert report.earned == report.out_of == 2.0 * len(trace.trace)


@pytest.mark.parametrize("runtime", ["ctranslate2", "marian"])
def test_its_exports_translate(runtime: str) -> None:
    pytest.importorskip({"marian": "torch"}.get(runtime, runtime), reason="it is an extra")
    translator = Translator.load(KEPT / runtime)
    assert [translation.text for translation in translator.translate(SENTENCES)] == TRANSLATIONS


def test_its_export_to_onnx_translates_in_onnxruntime() -> None:
    pytest.importorskip("onnxruntime", reason="it is an extra")
    vocabularies = load_vocabularies(find_model(KEPT / "onnx"))
    engine = onnx_probe(find_model(KEPT / "onnx")).engine
    translator = Translator(vocabularies, engine)
    assert [translation.text for translation in translator.translate(SENTENCES)] == TRANSLATIONS


@pytest.mark.parametrize("runtime", ["ctranslate2", "onnx", "marian"])
def test_its_exports_have_certificates(runtime: str) -> None:
    certificate = read_certificate(KEPT / runtime)
    assert (certificate.target, certificate.precision, certificate.faults) == (runtime, "float32", ())
    assert certificate.comparison.identical == certificate.comparison.sentences == 4


def test_its_export_to_marian_can_be_imported(tmp_path: Path) -> None:
    import_model(KEPT / "marian", tmp_path / "model")
    translator = Translator.load(tmp_path / "model", engine="numpy")
    assert [translation.text for translation in translator.translate(SENTENCES)] == TRANSLATIONS
