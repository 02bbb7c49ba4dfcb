"""Models are loaded on first use, unloaded when idle, and a damaged one is one sentence."""

import io
from pathlib import Path

import pytest

from clearhead.decoding.pipeline import SourceLine
from clearhead.decoding.translation import Translation
from clearhead.errors import ConfigError
from clearhead.serve.api_errors import ApiError
from clearhead.serve.catalogue import make_catalogue
from clearhead.serve.model_pool import ModelPool, ModelWorker
from clearhead.serve.request_log import RequestLog
from clearhead.serve.server import Server
from clearhead.serve.settings import ModelSettings, ServeSettings
from clearhead.serve.translation_task import TranslationTask
from tests.small_run import make_run


def translated(worker: ModelWorker, task: TranslationTask, text: str) -> Translation:
    """Translate a text as the batches do."""
    encoded = worker.encode(task, [SourceLine(1, text)])
    worker.search(task, encoded, encoded.searched)
    (translation,) = encoded.translations
    return translation


def test_a_model_is_loaded_on_first_use_and_unloaded_when_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    catalogue = make_catalogue([])
    pool = ModelPool(catalogue, ModelSettings(idle_minutes=2), RequestLog(is_on=False))
    (model,) = catalogue.models
    worker = pool.worker(model)
    assert worker is pool.worker(model)
    assert worker is not pool.worker(model, is_plain=False)
    assert not pool.is_loaded(model)
    task = TranslationTask(catalogue.route("en", "es"))
    assert translated(worker, task, "Let's go").text == "Vamos"
    assert pool.is_loaded(model)
    assert pool.unload_idle() == []
    monkeypatch.setattr("clearhead.serve.model_pool.time.monotonic", lambda: worker.last_used + 121)
    assert pool.unload_idle() == ["tatoeba"]
    worker.executor.submit(lambda: None).result()
    assert not pool.is_loaded(model)
    assert translated(worker, task, "Let's go").text == "Vamos"
    pool.close()


def test_an_engine_that_can_align_is_used_for_alignments() -> None:
    catalogue = make_catalogue([])
    worker = ModelPool(catalogue, ModelSettings(), RequestLog(is_on=False)).worker(catalogue.models[0], is_plain=False)
    task = TranslationTask(catalogue.route("en", "es"), is_aligned=True)
    translation = translated(worker, task, "I see the house.")
    assert translation.alignment is not None
    assert translation.alignment.links
    assert worker.translator().engine.name in ("torch", "numpy")


def test_a_damaged_model_is_one_sentence_and_the_log_says_why(tmp_path: Path) -> None:
    run = make_run(tmp_path / "mine")
    catalogue = make_catalogue([f"{run}=en-de"])
    stream = io.StringIO()
    worker = ModelPool(catalogue, ModelSettings(), RequestLog(stream=stream)).worker(catalogue.models[0])
    weights = run / "best" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(ApiError) as wrong:
        worker.translator()
    assert wrong.value.status == 503
    assert wrong.value.sentence.startswith("the model mine cannot be loaded: its folder was removed, or its files are ")
    assert '"event":"not loaded","model":"mine","reason":"' in stream.getvalue()


def test_preloading_loads_every_model_or_says_why_not(tmp_path: Path) -> None:
    run = make_run(tmp_path / "mine")
    settings = ServeSettings(models=(f"{run}=en-de",), loading=ModelSettings(preload=True), log="off")
    server = Server(settings)
    server.preload()
    assert server.pool.is_loaded(server.catalogue.models[0])
    server.pool.close()
    server = Server(settings)
    run.rename(tmp_path / "moved")
    with pytest.raises(ConfigError, match="the model mine cannot be loaded"):
        server.preload()
    server.pool.close()
