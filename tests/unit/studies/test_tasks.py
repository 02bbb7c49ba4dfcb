"""Tasks that are generated on the fly."""

import pytest
import torch

from clearhead.model import ModelConfig, check_batch
from clearhead.studies.tasks import EOS, FIRST, PAD, Task


@pytest.mark.parametrize(
    ("rule", "answer"), [("copy", lambda row: row), ("reverse", lambda row: row[::-1]), ("sort", sorted)]
)
def test_every_sentence_has_its_answer(rule: str, answer: object) -> None:
    task = Task(rule, 2, 7, num_words=5)
    batch = task.batch(40, torch.Generator().manual_seed(3))
    check_batch(batch, ModelConfig(source_vocabulary=task.vocabulary))
    lengths = set()
    assert batch.source is not None
    assert batch.target is not None
    for source, target in zip(batch.source.tolist(), batch.target.tolist(), strict=True):
        words = [token for token in source if token not in (PAD, EOS)]
        lengths.add(len(words))
        assert all(FIRST <= word < task.vocabulary for word in words)
        assert source[len(words)] == target[len(words)] == EOS
        assert target[: len(words)] == answer(words)  # type: ignore[operator]
        assert set(source[len(words) + 1 :] + target[len(words) + 1 :]) <= {PAD}
    assert lengths == {2, 3, 4, 5, 6, 7}


def test_the_same_generator_gives_the_same_sentences() -> None:
    task = Task("copy", 3, 5)
    first, again, other = (task.batch(4, torch.Generator().manual_seed(seed)).source for seed in (1, 1, 2))
    assert first is not None
    assert again is not None
    assert other is not None
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
