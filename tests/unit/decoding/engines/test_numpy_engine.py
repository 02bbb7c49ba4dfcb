"""The NumPy engine: what it supports, what it says it lacks, and that it runs without torch."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from clearhead.decoding.engines.engine import EngineNeeds, Request, Use
from clearhead.decoding.engines.numpy_engine import NumpyEngine, lacks, open_numpy, search_lacks
from clearhead.decoding.search.constraints import Constraints
from clearhead.decoding.search.settings import SearchSettings
from clearhead.errors import CheckpointError, ConfigError
from clearhead.formats.model_folder import ModelFolder, find_model
from tests.small_run import make_run


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> ModelFolder:
    return find_model(make_run(tmp_path_factory.mktemp("run")))


@pytest.mark.parametrize(
    ("needs", "reason"),
    [
        (EngineNeeds(), None),
        (EngineNeeds(SearchSettings(beam=5, n_best=3, stopping="proved", min_length=2)), None),
        (EngineNeeds(uses=("alignment", "token_scores")), None),
        (EngineNeeds(uses=("alignment", "explain")), "it does not support explanations"),
        (EngineNeeds(uses=("required",)), "it does not support required phrases"),
        (EngineNeeds(SearchSettings(temperature=1.0)), "it does not sample"),
        (EngineNeeds(SearchSettings(no_repeat=3)), "it does not support no_repeat"),
    ],
)
def test_what_it_lacks_is_named(place: ModelFolder, needs: EngineNeeds, reason: str | None) -> None:
    assert lacks(place, needs, "auto", "auto") == reason
    assert open_numpy(place).lacks(needs) == reason


def test_other_devices_precisions_and_formats_are_left_to_other_engines(place: ModelFolder) -> None:
    assert lacks(place, EngineNeeds(), "cuda", "auto") == "it does not use a GPU"
    assert lacks(place, EngineNeeds(), "cpu", "int8") == "it computes in float32, not in int8"
    assert lacks(replace(place, is_marian=True), EngineNeeds(), "cpu", "auto") == "it does not read OPUS-MT folders"


@pytest.mark.parametrize(
    ("options", "constraints", "reason"),
    [({"temperature": 1.0}, Constraints(), "it does not sample"), ({}, Constraints(prefix=(5,)), "constraints")],
)
def test_unsupported_settings_are_rejected_and_not_replaced(
    place: ModelFolder, options: dict[str, Any], constraints: Constraints, reason: str
) -> None:
    request = Request((5, 7, 2), 9, constraints)
    with pytest.raises(ConfigError, match=f"the engine numpy cannot do this search: .*{reason}.*engine='torch'"):
        open_numpy(place).translate([request], SearchSettings(**options))


def test_a_batch_for_which_memory_runs_out_is_halved(place: ModelFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = open_numpy(place)
    many = [Request((5,) * length + (2,), 7) for length in (2, 11, 5, 3)]
    expected = engine.translate(many, SearchSettings())
    search = NumpyEngine._search

    def small_memory(self: NumpyEngine, batch: list[Request], settings: SearchSettings) -> Any:
        if len(batch) > 1:
            raise MemoryError
        return search(self, batch, settings)

    monkeypatch.setattr(NumpyEngine, "_search", small_memory)
    outcomes = engine.translate(many, SearchSettings())
    assert [hypotheses[0].tokens for hypotheses in outcomes] == [hypotheses[0].tokens for hypotheses in expected]
    assert engine.translate([], SearchSettings()) == []


def test_weights_that_overflow_are_reported(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    weights = run / "best" / "model.safetensors"
    tensors = {name: array * np.float32(1e30) for name, array in load_file(weights).items()}
    save_file(tensors, weights)
    (run / "best" / "SHA256SUMS").unlink()
    with pytest.raises(CheckpointError, match="its weights overflow in float32"):
        open_numpy(find_model(run))


def test_translating_and_aligning_import_no_torch(place: ModelFolder) -> None:
    program = f"""
import sys
from clearhead.decoding.annotation import Annotator
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
search = SearchSettings(beam=2)
translator = Translator.load({str(place.folder)!r}, engine="numpy")
translation = translator.translate(["the red cat"], search)[0]
assert Annotator(translator, search).aligned(translation).alignment is not None
assert "torch" not in sys.modules and "ctranslate2" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


@pytest.mark.parametrize(
    ("use", "name"),
    [
        ("prefix", "a forced prefix"),
        ("forbidden", "forbidden phrases"),
        ("required", "required phrases"),
        ("explain", "explanations"),
        ("gates", "gates on attention heads"),
    ],
)
def test_every_use_that_needs_torch_is_named(use: Use, name: str) -> None:
    assert search_lacks(EngineNeeds(uses=(use,))) == f"it does not support {name}"


def test_searches_that_need_torch_are_named() -> None:
    assert search_lacks(EngineNeeds(SearchSettings(beam=5, min_length=3), ("alignment", "token_scores"))) is None
    assert search_lacks(EngineNeeds(SearchSettings(temperature=1.0))) == "it does not sample"
    assert search_lacks(EngineNeeds(SearchSettings(no_repeat=3))) == "it does not support no_repeat"
