"""A model learns its byte pieces: it copies characters that its training text does not have."""

from pathlib import Path
from random import Random

import pytest
import yaml

from clearhead.data.sequences import WORDS
from tests.command import run

UNSEEN = ["🍣", "😀", "é", "ñ", "7", "%", "(", "Ж", "中", "हि", "ক", "€", "ü", "Ω", "🚀"]
CONFIG = {
    "model": {"encoder_blocks": 1, "decoder_blocks": 1, "d_model": 64, "num_heads": 4, "d_ff": 128, "dropout": 0.1},
    "data": {"train": [{"built_in": "copy"}]},
    "text": {"vocabulary": 400, "byte_fallback": True},
    "training": {
        "steps": 1400, "batch_tokens": 512, "rate": 4e-3, "warm_up": 100, "schedule": "cosine", "device": "cpu",
        "label_smoothing": 0.0,
    },
}  # fmt: skip


def _sentences(number: int) -> list[str]:
    """Return sentences of the task with one unseen character each: as a word, or as the end of a word."""
    random, sentences = Random(7), []
    for index in range(number):
        words = [random.choice(WORDS) for _ in range(random.randint(3, 7))]
        place, character = random.randrange(len(words)), random.choice(UNSEEN)
        words[place] = character if index % 2 else words[place][0] + character
        sentences.append(" ".join(words))
    return sentences


@pytest.mark.slow
def test_unseen_characters_are_copied(tmp_path: Path) -> None:
    (tmp_path / "copy.yaml").write_text(yaml.safe_dump(CONFIG))
    trained = run("train", "copy.yaml", "--run", "run", cwd=tmp_path)
    assert trained.returncode == 0, trained.stderr
    sentences = _sentences(200)
    done = run("translate", "-m", "run", "--quiet", text="".join(f"{line}\n" for line in sentences), cwd=tmp_path)
    copies = done.stdout.split("\n")[:-1]
    score = sum(copy == sentence for copy, sentence in zip(copies, sentences, strict=True)) / len(sentences)
    assert score >= 0.5, f"{score:.0%} of the sentences are right; without byte_share, none is"
