"""Recording a film: nothing else in the run changes, and a resumed run has the same film."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from clearhead.decoding.alignment import cross_attention
from clearhead.decoding.pipeline import TranslationOptions
from clearhead.decoding.translator import Translator
from clearhead.errors import ConfigError
from clearhead.training.config import PinnedSentence
from clearhead.training.film import FilmRecorder, film_sentence
from clearhead.training.film_file import MAX_TOKENS, frame_paths, read_frame
from clearhead.training.run import RunFolder
from clearhead.training.timeline import Timeline
from tests.small_run import make_run
from tests.unit.training.runs import same, settings_of, train
from tests.unit.training.test_loop import MOMENTS, KilledError, kill_at

PINNED: list[Any] = ["3 1 4 1 5", {"source": "9 2 6", "reference": "9 2 6"}]


@pytest.fixture(scope="module")
def filmed_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete run with a film, which no test changes."""
    return train(tmp_path_factory.mktemp("filmed") / "run", pinned=PINNED).folder


def frames(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in frame_paths(folder)}


def test_a_run_has_the_same_losses_and_weights_with_and_without_a_film(tmp_path: Path) -> None:
    changes: dict[str, Any] = {"model": {"dropout": 0.1}, "training": {"average": "ema"}}
    plain = train(tmp_path / "plain", **changes)
    filmed = train(tmp_path / "filmed", pinned=PINNED, **changes)
    assert filmed.metrics() == plain.metrics()
    assert same(filmed.tensors(), plain.tensors())
    assert list(frames(tmp_path / "filmed")) == ["step-00000005.npz", "step-00000010.npz", "step-00000012.npz"]
    assert not (tmp_path / "plain" / "film").exists()


def test_recording_leaves_the_random_state_and_the_mode_of_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = []
    add = FilmRecorder.add

    def observed(self: FilmRecorder, step: int, model: Any, *rest: Any) -> None:
        before = (torch.random.get_rng_state(), model.training)
        add(self, step, model, *rest)
        states.append((before, (torch.random.get_rng_state(), model.training)))

    monkeypatch.setattr(FilmRecorder, "add", observed)
    train(tmp_path / "run", pinned=PINNED)
    assert len(states) == 3
    for before, after in states:
        assert torch.equal(before[0], after[0])
        assert before[1] == after[1]


def test_a_run_that_was_killed_and_resumed_has_the_same_film(tmp_path: Path) -> None:
    complete = train(tmp_path / "complete", pinned=PINNED)
    killed = tmp_path / "killed"
    shutil.copytree(complete.folder, killed)
    # killed after the validation of update 10 had written its frame, and before its checkpoint was complete
    for name in ("step-00000010", "step-00000012"):
        shutil.rmtree(killed / "checkpoints" / name, ignore_errors=True)
    (killed / "outcome.json").unlink()
    (killed / "film" / "step-00000010.npz").write_bytes(b"half")
    train(killed, resume=True, pinned=PINNED)
    assert frames(killed) == frames(complete.folder)
    assert not list(killed.rglob("*.part"))


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_run_that_is_killed_at_any_moment_resumes_with_the_same_film(
    filmed_run: Path, tmp_path: Path, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        kill_at(patch, *MOMENTS[moment])
        with pytest.raises(KilledError):
            train(tmp_path / "run", pinned=PINNED)
    train(tmp_path / "run", resume=True, pinned=PINNED)
    assert frames(tmp_path / "run") == frames(filmed_run)


def test_frames_after_a_step_are_dropped_with_the_metrics(tmp_path: Path) -> None:
    run = train(tmp_path / "run", pinned=PINNED)
    RunFolder(run.folder).truncate_metrics(10)
    assert list(frames(run.folder)) == ["step-00000005.npz", "step-00000010.npz"]


def test_a_frame_has_what_the_validated_model_says(tmp_path: Path) -> None:
    run = train(tmp_path / "run", pinned=PINNED)
    frame = read_frame(frame_paths(run.folder)[-1])
    assert frame.step == 12
    translator = Translator.load(run.folder / "last", engine="torch", device="cpu", precision="float32")
    for pinned, sentence in zip(PINNED, frame.sentences, strict=True):
        source = pinned if isinstance(pinned, str) else pinned["source"]
        translation = translator.translate([source])[0]
        assert (sentence.source, sentence.translation) == (source, translation.text)
        hypothesis, ids = translation.hypotheses[0], [*translation.parts[0].ids, translator.model.config.eos]
        assert sentence.target_tokens == tuple(translator.vocabularies.target.pieces(hypothesis.tokens))
        assert sentence.source_tokens == tuple(translator.vocabularies.source.pieces(ids))
        assert sentence.probabilities == pytest.approx(np.exp(hypothesis.log_probs), rel=2e-3)
        attention = cross_attention(translator.model, torch.tensor(ids), [hypothesis.tokens[:-1]])[0]
        means = [torch.as_tensor(layer).mean(0).detach().numpy() for layer in attention.weights]
        assert sentence.attention == pytest.approx(np.stack(means), abs=1e-3)
        assert sentence.attention.sum(-1) == pytest.approx(1, abs=5e-3)
    assert [sentence.reference for sentence in frame.sentences] == [None, "9 2 6"]


def test_a_long_sentence_keeps_its_first_tokens_and_an_empty_one_none(tmp_path: Path) -> None:
    translator = Translator.load(make_run(tmp_path / "run", max_length=200), engine="torch", device="cpu")
    text = "the red cat sees a small book. " * 16
    options = TranslationOptions(is_paragraphs=False)
    (translation,) = translator.translate([text], options=options)
    sentence = film_sentence(PinnedSentence(source=text), translation, translator)
    assert len(sentence.source_tokens) == sentence.attention.shape[2] == MAX_TOKENS
    assert len(sentence.target_tokens) == len(sentence.probabilities) <= MAX_TOKENS
    nothing = film_sentence(PinnedSentence(source="x"), translator.translate([" "])[0], translator)
    assert (nothing.translation, nothing.target_tokens, nothing.attention.size) == ("", (), 0)


def test_an_unknown_language_is_refused_before_the_training(tmp_path: Path) -> None:
    vocabularies = Translator.load(make_run(tmp_path / "run", ["de", "hi"]), engine="torch").vocabularies
    for source, is_wrong in ((">>hi<< good morning", False), ("good morning", False), (">>xx<< good morning", True)):
        config = settings_of(pinned=[source])
        if is_wrong:
            with pytest.raises(ConfigError, match=r"pinned.0.source: .*xx"):
                FilmRecorder(config, RunFolder(tmp_path), Timeline(config, 12), vocabularies)
        else:
            FilmRecorder(config, RunFolder(tmp_path), Timeline(config, 12), vocabularies)
