"""The ONNX engine: what it supports, exports that it opens, and that it runs without torch."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

pytest.importorskip("onnxruntime", reason="the engine is an extra: pip install '.[onnx]'")
pytest.importorskip("onnx", reason="the engine is an extra: pip install '.[onnx]'")

from clearhead.decoding.engines import onnx_engine
from clearhead.decoding.engines.engine import EngineNeeds
from clearhead.decoding.engines.onnx_engine import lacks, open_onnx
from clearhead.decoding.search.settings import SearchSettings
from clearhead.errors import CheckpointError, ConfigError
from clearhead.formats.model_folder import ModelFolder, find_model
from tests.small_run import make_run

FIRST = Path(__file__).parents[3] / "golden" / "first_release"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> ModelFolder:
    return find_model(make_run(tmp_path_factory.mktemp("run")))


@pytest.mark.parametrize(
    ("needs", "reason"),
    [
        (EngineNeeds(), None),
        (EngineNeeds(SearchSettings(beam=5, n_best=3, stopping="proved", min_length=2)), None),
        (EngineNeeds(uses=("token_scores",)), None),
        (EngineNeeds(uses=("alignment",)), "it does not support alignments"),
        (EngineNeeds(uses=("explain",)), "it does not support explanations"),
        (EngineNeeds(SearchSettings(temperature=1.0)), "it does not sample"),
    ],
)
def test_what_it_lacks_is_named(place: ModelFolder, needs: EngineNeeds, reason: str | None) -> None:
    assert lacks(place, needs, "auto", "auto") == reason
    assert open_onnx(place).lacks(needs) == reason


def test_other_devices_and_precisions_are_left_to_other_engines(place: ModelFolder) -> None:
    assert lacks(place, EngineNeeds(), "cuda", "auto") == "it does not use a GPU"
    assert lacks(place, EngineNeeds(), "cpu", "float16") == "it computes in float32 or int8, not in float16"
    with pytest.raises(ConfigError, match="the engine onnx does not support bfloat16. Use float32 or int8."):
        open_onnx(place, "bfloat16")


def test_a_missing_package_is_named(place: ModelFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_engine, "find_spec", lambda name: None if name == "onnxruntime" else object())
    assert lacks(place, EngineNeeds(), "cpu", "auto") == "onnxruntime is not installed"


def test_models_that_the_graphs_cannot_be_are_refused(tmp_path: Path) -> None:
    recurrent = find_model(make_run(tmp_path / "lstm", architecture="recurrent"))
    rotary = find_model(make_run(tmp_path / "rotary", positions="rotary"))
    assert lacks(recurrent, EngineNeeds(), "cpu", "auto") == "it only supports Transformers, and the model is recurrent"
    assert lacks(rotary, EngineNeeds(), "cpu", "auto") == "it does not support rotary positions"


def test_weights_that_overflow_are_reported(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    weights = run / "best" / "model.safetensors"
    save_file({name: array * np.float32(1e30) for name, array in load_file(weights).items()}, weights)
    (run / "best" / "SHA256SUMS").unlink()
    with pytest.raises(CheckpointError, match="its weights overflow in float32"):
        open_onnx(find_model(run))


def test_translating_with_an_export_imports_no_torch() -> None:
    program = f"""
import sys
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
translator = Translator.load({str(FIRST / "onnx")!r})
assert translator.engine.described == "onnx, cpu, float32"
assert translator.translate(["the dog sleeps."], SearchSettings(beam=2))[0].text == "der Hund schläft."
assert "torch" not in sys.modules and "ctranslate2" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)
