"""The generators: numbers of the stated style, matrices whose rows and columns differ, and a description of each."""

from types import ModuleType

import pytest

from clearhead.errors import QuizError
from clearhead.quiz.chance import Chance
from clearhead.quiz.kinds import (
    attention,
    blocks,
    describe_kind,
    generator_of,
    kinds_with_generator,
    layers,
    multi_hop,
    parts,
    positions,
    recurrent,
    scores,
    softmax,
    word_vectors,
)
from clearhead.quiz.kinds.numbers import Numbers

MODULES = (attention, blocks, layers, multi_hop, parts, positions, recurrent, scores, softmax, word_vectors)


@pytest.mark.parametrize("module", MODULES)
def test_a_module_says_what_its_difficulties_are(module: ModuleType) -> None:
    text = module.__doc__ or ""
    assert all(f"{difficulty}:" in text for difficulty in (1, 2, 3))


@pytest.mark.parametrize("kind", kinds_with_generator())
def test_a_generator_depends_only_on_its_stream(kind: str) -> None:
    for difficulty in (1, 2, 3):
        first, again, other = (generator_of(kind)(Chance(key), difficulty) for key in ("a", "a", "b"))
        assert first == again
        assert first != other
    assert len(set(describe_kind(kind))) == 3


def test_a_matrix_has_different_rows_and_columns_is_not_symmetric_and_has_no_zeros_line() -> None:
    numbers = Numbers(Chance("matrix"), 0, 1)
    for _ in range(31):
        matrix = numbers.matrix(2, 2)
        columns = [list(column) for column in zip(*matrix, strict=True)]
        assert matrix[0] != matrix[1]
        assert columns[0] != columns[1]
        assert matrix != columns
        assert all(any(line) for line in (*matrix, *columns))


def test_numbers_are_integers_or_tenths_within_the_limit() -> None:
    assert all(isinstance(number, int) and abs(number) <= 2 for number in Numbers(Chance("x"), 0, 2).distinct(5))
    tenths = Numbers(Chance("x"), 1, 2).within(1).distinct(21)
    assert sorted(tenths) == [step / 10 for step in range(-10, 11)]


def test_more_different_numbers_than_there_are_get_one_sentence() -> None:
    sentence = "8 different numbers were requested, but there are only 7 from -3 to 3. Ask for fewer numbers."
    with pytest.raises(QuizError, match=sentence):
        Numbers(Chance("x"), 0, 3).distinct(8)
    with pytest.raises(QuizError, match="no 5 × 1 matrix with different rows and columns was found from -1 to 1"):
        Numbers(Chance("x"), 0, 1).matrix(5, 1)
