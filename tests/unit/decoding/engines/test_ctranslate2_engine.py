"""The CTranslate2 engine: it reports what it does not support, starts without torch, and reports damaged files."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clearhead.decoding.engines import ctranslate2_engine
from clearhead.decoding.engines.ctranslate2_engine import CTranslate2Engine, lacks, open_ctranslate2, shared
from clearhead.decoding.engines.engine import EngineNeeds, Request, Use, batches_by_length
from clearhead.decoding.search.settings import SearchSettings
from clearhead.errors import CheckpointError, ConfigError
from clearhead.formats import save_checkpoint
from clearhead.formats.ctranslate2 import convert
from clearhead.formats.model_folder import ModelFolder, load_arrays, load_config
from tests.unit.decoding.toys import random_model

pytest.importorskip("ctranslate2", reason="the engine is an extra: pip install '.[translate]'")
PROGRAM = """
import sys
from pathlib import Path
from clearhead.decoding.engines.engine import EngineNeeds, Request
from clearhead.formats.model_folder import ModelFolder
from clearhead.decoding.engines.ctranslate2_engine import lacks, open_ctranslate2
from clearhead.decoding.search.settings import SearchSettings
from clearhead import Translator
from clearhead.decoding import job
place = ModelFolder(Path(sys.argv[1]), Path(sys.argv[1]), False)
assert lacks(place, EngineNeeds(), "cpu", "auto") is None
outcomes = open_ctranslate2(place).translate([Request((5, 7, 2), 9)], SearchSettings())
assert outcomes[0][0].tokens
print(sorted({name.partition(".")[0] for name in sys.modules} & {"torch", "transformers"}))
"""


@pytest.fixture
def place(tmp_path: Path) -> ModelFolder:
    save_checkpoint(random_model().float(), tmp_path)
    return ModelFolder(tmp_path, tmp_path, is_marian=False)


def test_a_converted_model_translates_without_torch(place: ModelFolder) -> None:
    open_ctranslate2(place)
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(place.folder)], capture_output=True, text=True, check=False
    )
    assert (process.stdout, process.stderr) == ("[]\n", "")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"beam": 4, "stopping": "proved"}, "by the rule 'first', not 'proved'"),
        ({"beam": 4, "stopping": "likely"}, "by the rule 'first', not 'likely'"),
        ({"temperature": 1.0}, "it draws different random numbers"),
        ({"no_repeat": 2}, "no_repeat"),
        ({"min_length": 2}, "min_length"),
        ({"beam": 15, "stopping": "first"}, "a beam of 15 needs more than 30 tokens, but the vocabulary has 30"),
    ],
)
def test_a_search_with_different_results_uses_torch(changes: dict[str, Any], reason: str, place: ModelFolder) -> None:
    assert reason in str(lacks(place, EngineNeeds(SearchSettings(**changes)), "cpu", "auto"))


@pytest.mark.parametrize(
    "settings", [{}, {"beam": 4}, {"beam": 4, "stopping": "first", "n_best": 3, "length_penalty": 0.0}]
)
def test_plain_searches_are_supported(settings: dict[str, Any], place: ModelFolder) -> None:
    assert lacks(place, EngineNeeds(SearchSettings(**settings)), "cpu", "int8") is None


@pytest.mark.parametrize(
    ("use", "reason"),
    [
        ("prefix", "it does not support a forced prefix"),
        ("forbidden", "it does not support forbidden phrases"),
        ("required", "it does not support required phrases"),
        ("alignment", "it does not support alignments"),
        ("explain", "it does not support explanations"),
        ("token_scores", "it does not support token scores"),
    ],
)
def test_an_unsupported_use_is_named(use: Use, reason: str, place: ModelFolder) -> None:
    assert reason in str(lacks(place, EngineNeeds(uses=(use,)), "cpu", "auto"))


def test_an_unsupported_precision_is_named(place: ModelFolder) -> None:
    assert "bfloat16" in str(lacks(place, EngineNeeds(), "cpu", "bfloat16"))
    with pytest.raises(ConfigError, match="the engine ctranslate2 does not support bfloat16. Use float32, int8"):
        open_ctranslate2(place, precision="bfloat16")


def test_an_absent_or_old_library_is_named(place: ModelFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctranslate2_engine.metadata, "version", lambda name: "4.7.1")
    assert "ctranslate2 4.7.1 is older than 4.8" in str(lacks(place, EngineNeeds(), "cpu", "auto"))

    def absent(name: str) -> str:
        raise ctranslate2_engine.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(ctranslate2_engine.metadata, "version", absent)
    assert "not installed: pip install 'ctranslate2>=4.8'" in str(lacks(place, EngineNeeds(), "cpu", "auto"))


def test_a_conversion_that_ctranslate2_cannot_open_is_named(place: ModelFolder, tmp_path: Path) -> None:
    folder = tmp_path / "converted"
    folder.mkdir()
    convert(load_arrays(place), folder, "float32")
    binary = (folder / "model.bin").read_bytes()
    (folder / "model.bin").write_bytes(binary[: len(binary) // 2])
    with pytest.raises(CheckpointError, match="CTranslate2 cannot open .*converted.*Delete that folder"):
        CTranslate2Engine(folder, load_config(place), "float32")


def test_only_the_best_hypotheses_are_returned_in_the_order_of_the_requests(place: ModelFolder) -> None:
    engine = open_ctranslate2(place, num_threads=1)
    requests = [Request((5,) * length + (2,), 7) for length in (2, 11, 5)]
    settings = SearchSettings(beam=5, n_best=2, stopping="first", batch_tokens=12)
    outcomes = engine.translate(requests, settings)
    assert [len(hypotheses) for hypotheses in outcomes] == [2, 2, 2]
    alone = [engine.translate([request], settings)[0] for request in requests]
    assert [[hypothesis.tokens for hypothesis in hypotheses] for hypotheses in outcomes] == [
        [hypothesis.tokens for hypothesis in hypotheses] for hypotheses in alone
    ]
    assert all(hypotheses[0].score >= hypotheses[1].score for hypotheses in outcomes)
    assert (engine.config.pad, engine.config.eos, engine.config.position_limit) == (0, 2, 23)
    assert engine.described == "ctranslate2, cpu, float32"


def test_a_batch_is_halved_until_it_fits_in_memory(place: ModelFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = open_ctranslate2(place, num_threads=1)
    requests = [Request((5, 7, 11, 2), 9)] * 7
    expected = [best[0].tokens for best in engine.translate(requests, SearchSettings())]
    hypotheses, failures = engine._hypotheses, []

    def limited(*arguments: Any) -> Any:
        if len(failures) < 3:
            failures.append(None)
            raise RuntimeError("mkl_malloc: failed to allocate memory")
        return hypotheses(*arguments)

    monkeypatch.setattr(engine, "_hypotheses", limited)
    assert [best[0].tokens for best in engine.translate(requests, SearchSettings())] == expected
    assert len(failures) == 3


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("number", [1, 2, 7, 40])
def test_one_batch_is_shared_among_all_workers(workers: int, number: int) -> None:
    requests = [Request((5,) * (3 + place % 9), 7) for place in range(number)]
    shares = shared(batches_by_length(requests, 1000), workers)
    assert sorted(place for share in shares for place in share) == list(range(number))
    assert min(workers, number) - 1 <= len(shares) <= workers
    assert max(map(len, shares)) == -(-number // workers)


def test_a_few_uneven_batches_are_split_and_a_part_is_never_larger_than_its_batch() -> None:
    requests = [Request((5,) * length, 7) for length in (90, *(3,) * 60)]
    batches = batches_by_length(requests, 100)
    assert [len(batch) for batch in batches] == [1, 33, 27]
    shares = shared(batches, 2)
    assert sorted(place for share in shares for place in share) == list(range(61))
    assert [len(share) for share in shares] == [1, 17, 16, 14, 13]
    assert shares[0] == [0], "the long one stays alone"


def test_many_batches_are_not_split() -> None:
    requests = [Request((5,) * (3 + place % 9), 7) for place in range(40)]
    batches = batches_by_length(requests, 12)
    assert shared(batches, 2) == batches
    assert shared([], 2) == []


def test_no_batch_is_begun_for_requests_that_nobody_waits_for(place: ModelFolder) -> None:
    engine = open_ctranslate2(place)
    begun: list[int] = []

    def is_wanted() -> bool:
        begun.append(1)
        return len(begun) <= 40

    requests = [Request((5, 7, 2), 9, is_wanted=is_wanted) for _ in range(97)]
    settings = SearchSettings(batch_tokens=3)  # a sentence in each batch
    outcomes = engine.translate(requests, settings)
    assert sum(map(bool, outcomes)) == 40
    assert len(engine.translate([Request((5, 7, 2), 9)], settings)[0]) == 1
