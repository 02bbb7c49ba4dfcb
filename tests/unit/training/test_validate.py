"""Scores on held-out sentences: by hand, the same every time, and without changing the model."""

from pathlib import Path

import pytest
import torch

from clearhead.data.config import CorpusConfig, DataConfig
from clearhead.data.store import PairStore, build_store
from clearhead.decoding.translation import TranslatedPart, Translation
from clearhead.decoding.translator import Translator
from clearhead.model import Batch, ModelConfig, Transformer
from clearhead.text.config import Task, TextConfig
from clearhead.text.tokeniser import Vocabularies
from clearhead.text.train import train_vocabularies
from clearhead.training.config import ValidationConfig
from clearhead.training.validate import Validator
from tests.unit.text.sentences import PAIRS

LABELS = ["good", "bad", "so-so"]
SHAPES = {"translate": "encoder-decoder", "classify": "encoder", "language-model": "decoder"}


def made(
    folder: Path, task: Task, sampling: float = 0.0, lower_case: bool = False
) -> tuple[PairStore, Vocabularies, Transformer]:
    pairs = [(a, LABELS[len(b) % 3] if task == "classify" else b) for a, b in PAIRS]
    (folder / "valid.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in pairs))
    fields = {"source_field": "2"} if task == "language-model" else {"source_field": "1", "target_field": "2"}
    corpus = CorpusConfig(tsv=str(folder / "valid.tsv"), **fields)  # type: ignore[arg-type]
    vocabularies = train_vocabularies(
        pairs, TextConfig(vocabulary=70, sampling=sampling, lower_case=lower_case), task=task
    )
    store = build_store([corpus], vocabularies, DataConfig(train=(corpus,)), folder / "store", task=task, use="valid")
    torch.manual_seed(0)
    sizes = {"encoder_blocks": 1, "decoder_blocks": 1, "d_model": 12, "num_heads": 2, "d_ff": 17, "dropout": 0.3}
    if task == "classify":
        sizes["num_classes"] = len(vocabularies.labels)
    model = Transformer(ModelConfig(shape=SHAPES[task], source_vocabulary=vocabularies.source.size, **sizes))  # type: ignore[arg-type]
    return store, vocabularies, model.train()


@pytest.mark.parametrize("sampling", [0.0, 0.1])  # held-out sentences are never cut at random
@pytest.mark.parametrize("task", ["translate", "classify", "language-model"])
def test_the_loss_is_that_of_the_sentences_one_by_one(tmp_path: Path, task: Task, sampling: float) -> None:
    store, vocabularies, model = made(tmp_path, task, sampling)
    scores = Validator(store, vocabularies, task, ValidationConfig()).scores(model, torch.float32)
    assert model.training, "the model is left in another mode than it was"
    model.eval()
    total, count, hits = 0.0, 0, 0
    with torch.no_grad():
        for i in range(len(store)):
            source, target = (
                torch.from_numpy(side.rows([i])[0].astype("int64"))[None] for side in (store.source, store.target)
            )
            match task:
                case "classify":
                    batch = Batch(source, labels=target[0])
                    hits += int(model(batch).argmax()) == int(target)
                case "language-model":
                    batch = Batch(target=target)
                case _:
                    batch = Batch(source, target)
            loss = model.loss(batch)
            total += float(loss.total)
            count += int(loss.num_tokens)
    assert scores["loss"].value == pytest.approx(total / count, rel=1e-5)
    assert not scores["loss"].is_higher_better
    if task == "classify":
        assert scores["accuracy"].value == pytest.approx(100 * hits / len(store))
    assert (
        set(scores)
        == {
            "translate": {"loss", "bleu", "chrf", "exact"},
            "classify": {"loss", "accuracy"},
            "language-model": {"loss"},
        }[task]
    )


def test_what_it_writes_is_compared_with_the_references(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, vocabularies, model = made(tmp_path, "translate")
    validator = Validator(store, vocabularies, "translate", ValidationConfig())
    assert validator.references == [b for _, b in PAIRS]
    assert validator.sources == [a for a, _ in PAIRS]

    right = [b for _, b in PAIRS]
    outputs = [*right[:-1], "nothing of the kind"]
    translations = [
        Translation(number, "", (TranslatedPart("", "", (), texts=(text,)),)) for number, text in enumerate(outputs, 1)
    ]
    monkeypatch.setattr(Translator, "translate", lambda *arguments: translations)
    scores = validator.scores(model, torch.float32)
    assert scores["exact"].value == pytest.approx(100 * (len(PAIRS) - 1) / len(PAIRS))
    assert 50 < scores["bleu"].value < 100


def test_scores_are_the_same_every_time_and_draw_no_random_numbers(tmp_path: Path) -> None:
    store, vocabularies, model = made(tmp_path, "translate")
    validator = Validator(store, vocabularies, "translate", ValidationConfig())
    before = torch.get_rng_state()
    first = validator.scores(model, torch.float32)
    assert torch.equal(torch.get_rng_state(), before)
    assert first == validator.scores(model, torch.float32)


def test_a_vocabulary_in_lower_case_is_judged_in_lower_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, vocabularies, model = made(tmp_path, "translate", lower_case=True)
    wanted = [target.upper() for _, target in PAIRS]  # as the file may have them
    assert [text.upper() for text in store.texts("target", range(len(store)))] == wanted
    monkeypatch.setattr(type(store), "texts", lambda self, side, indices: [wanted[index] for index in indices])
    validator = Validator(store, vocabularies, "translate", ValidationConfig())
    assert validator.references == [text.lower() for text in wanted]
    scores = validator.scores(model, torch.float32)
    assert {name for name, score in scores.items() if score.signature.endswith("|text:lower-cased")} == {
        "bleu", "chrf", "exact",
    }  # fmt: skip
