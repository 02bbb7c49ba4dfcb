"""Copy, reverse and sort: the answers follow the rule, and no sentence is in two parts."""

from hashlib import sha256
from typing import get_args

import pytest

from clearhead.data.sequences import LONGEST, SHORTEST, SIZES, WORDS, Split, Task, pairs
from clearhead.errors import DataError

SPLITS: tuple[Split, ...] = ("train", "valid", "test")
RULES = {"copy": list, "reverse": lambda words: list(reversed(words)), "sort": sorted}


@pytest.mark.parametrize("name", get_args(Task))
@pytest.mark.parametrize("split", SPLITS)
def test_every_answer_follows_the_rule(name: Task, split: Split) -> None:
    drawn = list(pairs(name, split))
    assert len(drawn) == len({source for source, _ in drawn}) == SIZES[split]
    for source, target in drawn:
        words = source.split()
        assert SHORTEST <= len(words) <= LONGEST
        assert target.split() == RULES[name](words)


def test_sizes_and_lengths_are_as_documented() -> None:
    assert SIZES == {"train": 20_000, "valid": 500, "test": 500}
    lengths = {len(source.split()) for source, _ in pairs("copy", "train")}
    assert lengths == set(range(3, 11))
    assert {word for source, _ in pairs("copy", "valid") for word in source.split()} == set(WORDS)


def test_no_sentence_is_in_two_parts_of_any_seed() -> None:
    parts = {split: {source for seed in (1, 2) for source, _ in pairs("sort", split, seed)} for split in SPLITS}
    assert parts["train"].isdisjoint(parts["valid"] | parts["test"])
    assert parts["valid"].isdisjoint(parts["test"])


def test_the_corpus_is_the_same_everywhere() -> None:
    lines = "".join(f"{source}\t{target}\n" for source, target in pairs("reverse", "train"))
    assert sha256(lines.encode()).hexdigest()[:16] == "8b40d2246c72a8db"


def test_another_seed_draws_other_sentences() -> None:
    assert list(pairs("copy", "valid", seed=1)) != list(pairs("copy", "valid", seed=2))


def test_an_unknown_task_is_refused_with_the_choices() -> None:
    with pytest.raises(DataError) as refused:
        pairs("revers", "train")  # type: ignore[arg-type]
    assert str(refused.value) == "There is no task 'revers'. Did you mean 'reverse'? Choices: copy, reverse, sort."


def test_an_unknown_part_is_refused_with_the_choices() -> None:
    with pytest.raises(DataError) as refused:
        pairs("copy", "dev")  # type: ignore[arg-type]
    assert str(refused.value) == "There is no part 'dev'. Choices: train, valid, test."
