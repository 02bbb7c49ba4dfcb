"""The engine that runs the model itself."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from clearhead.decoding.engines.engine import Request
from clearhead.decoding.engines.torch_engine import TorchEngine, open_torch
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.errors import ConfigError, DataError
from clearhead.formats.model_folder import find_model
from tests.small_run import make_run


def test_a_precision_of_another_engine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="int8 is only supported by the engine ctranslate2"):
        Translator.load(make_run(tmp_path), engine="torch", precision="int8")


def limit_rows(monkeypatch: pytest.MonkeyPatch, engine: TorchEngine, rows: int) -> list[int]:
    """Give the engine memory for this number of sentences; return the sizes of the batches that it tries."""
    search, sizes = engine._search, []

    def limited(batch: Sequence[Request], settings: SearchSettings) -> list[list[Hypothesis]]:
        sizes.append(len(batch))
        if len(batch) > rows:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 59200000 bytes.")
        return search(batch, settings)

    monkeypatch.setattr(engine, "_search", limited)
    return sizes


def test_a_batch_is_halved_until_it_fits_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = open_torch(find_model(make_run(tmp_path)), "cpu")
    requests = [Request((5, 7, 11, 2), 9, number=number) for number in range(7)]
    expected = [[hypothesis.tokens for hypothesis in best] for best in engine.translate(requests, SearchSettings())]
    sizes = limit_rows(monkeypatch, engine, 2)
    outcomes = engine.translate(requests, SearchSettings())
    assert [[hypothesis.tokens for hypothesis in best] for best in outcomes] == expected
    assert sizes == [7, 3, 1, 2, 4, 2, 2]
    assert engine._divisor == 8, "later batches are smaller from the start"


def test_a_sentence_that_does_not_fit_in_memory_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = open_torch(find_model(make_run(tmp_path)), "cpu")
    limit_rows(monkeypatch, engine, 0)
    with pytest.raises(
        DataError, match=r"^a sentence of 4 tokens needs more memory than is available\. Use a smaller beam"
    ):
        engine.translate([Request((5, 7, 11, 2), 9)] * 3, SearchSettings())
