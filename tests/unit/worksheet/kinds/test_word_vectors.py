"""Words as vectors: TF-IDF against its formula."""

import math

from clearhead import solve
from tests.tolerances import assert_close


def test_tf_idf_counts_and_weighs() -> None:
    sheet = solve({"kind": "word-vectors", "task": "tf-idf", "documents": ["a b a", ["b", "c"]]})
    tf = [[2 / 3, 1 / 3, 0], [0, 1 / 2, 1 / 2]]
    idf = [math.log(2), 0.0, math.log(2)]
    assert_close(sheet.answer, [[t * i for t, i in zip(row, idf, strict=True)] for row in tf])
    smooth = solve({"kind": "word-vectors", "task": "tf-idf", "documents": ["a b a", "b c"], "idf": "smooth"})
    assert_close(smooth.value("idf"), [[math.log(3 / 2) + 1, 1.0, math.log(3 / 2) + 1]])
