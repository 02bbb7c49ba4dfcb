"""Shapes that do not fit, collected as sentences."""

import numpy as np
import pytest

from clearhead.worksheet.shapes import Shapes, size

X, W = np.zeros((5, 3)), np.zeros((2, 7))


def test_a_matrix_is_read_in_its_own_layout() -> None:
    rows, columns = Shapes("rows"), Shapes("columns")
    assert (rows.tokens(X), rows.width(X), rows.inner(W)) == (5, 3, 2)
    assert (columns.tokens(X), columns.width(X), columns.inner(W)) == (3, 5, 7)
    assert (size(X), size(X[0])) == ("5 × 3", "3")


@pytest.mark.parametrize(
    ("layout", "sentence"),
    [
        ("rows", "X is 5 × 3 and W is 2 × 7, so X W cannot be multiplied. Give W 3 rows, or X 2 columns."),
        ("columns", "X is 5 × 3 and W is 2 × 7, so W X cannot be multiplied. Give W 5 columns, or X 7 rows."),
    ],
)
def test_a_product_that_does_not_fit_is_reported_with_both_solutions(layout: str, sentence: str) -> None:
    shapes = Shapes(layout)
    shapes.product("X", shapes.width(X), X, "W", W)
    assert [mistake.sentence for mistake in shapes.mistakes] == [sentence]


def test_shapes_that_fit_are_not_reported() -> None:
    shapes = Shapes("rows")
    shapes.product("X", 2, None, "W", W)
    shapes.bias("b", np.zeros(7), "W", W)
    shapes.vector("v", np.zeros(3), 3, "X is 3 wide")
    shapes.same_tokens("X", X, "Y", np.zeros((5, 1)), "they are added")
    shapes.shape("M", X, 5, 3, "there are 5 queries")
    shapes.names("tokens", (), "X", 5)
    shapes.names("tokens", tuple("abcde"), "X", 5)
    assert shapes.mistakes == []


def test_every_misfit_is_collected_with_what_would_fit() -> None:
    shapes = Shapes("rows")
    shapes.bias("b", np.zeros(2), "W", W)
    shapes.same_tokens("K", X, "V", W, "every key needs a value")
    shapes.shape("M", X, 2, 7, "there are 2 queries and 7 keys")
    shapes.names("tokens", ("a",), "X", 5)
    assert [mistake.sentence for mistake in shapes.mistakes] == [
        "b has 2 numbers, but W is 2 × 7. Give b 7 numbers.",
        "K is 5 × 3 and V is 2 × 7: every key needs a value. Give V 5 rows, or K 2.",
        "M is 5 × 3, but there are 2 queries and 7 keys. Make it 2 × 7.",
        "tokens has 1 name, but X has 5 tokens. Give 5 names, or omit tokens.",
    ]
