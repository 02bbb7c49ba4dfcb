"""Words as vectors: TF-IDF against its formula."""

import math

from clearhead import solve
from clearhead.worksheet.kinds.word_vectors import WordVectorsProblem
from tests.tolerances import assert_close


def test_tf_idf_counts_and_weighs() -> None:
    sheet = solve({"kind": "word-vectors", "task": "tf-idf", "documents": ["a b a", ["b", "c"]]})
    tf = [[2 / 3, 1 / 3, 0], [0, 1 / 2, 1 / 2]]
    idf = [math.log(2), 0.0, math.log(2)]
    assert_close(sheet.answer, [[t * i for t, i in zip(row, idf, strict=True)] for row in tf])
    smooth = solve({"kind": "word-vectors", "task": "tf-idf", "documents": ["a b a", "b c"], "idf": "smooth"})
    assert_close(smooth.value("idf"), [[math.log(3 / 2) + 1, 1.0, math.log(3 / 2) + 1]])


def test_cosines_of_pythagorean_vectors() -> None:
    fields = {"task": "similarity", "embedding": {"king": [3, 4], "queen": [4, 3]}}
    # Both have length 5, and 3·4 + 4·3 = 24.
    assert_close(solve(WordVectorsProblem.model_validate(fields)).answer, [[1, 24 / 25], [24 / 25, 1]])


def test_a_one_hot_vector_has_a_place_for_every_word() -> None:
    sheet = solve(WordVectorsProblem.model_validate({"task": "one-hot", "tokens": ["b", "a", "b"]}))
    assert sheet.answer.tolist() == [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
