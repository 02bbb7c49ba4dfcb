"""The tokens that a problem starts from: looked up, and with positions added."""

import numpy as np

from clearhead import Rounding
from clearhead.worksheet.input_tokens import EmbeddedTokens, PositionedTokens, PositionRule
from clearhead.worksheet.pen import Pen
from clearhead.worksheet.shapes import Shapes


def test_tokens_are_vectors_or_words_to_look_up() -> None:
    vectors = EmbeddedTokens.model_validate({"X": [[1, 2, 3]] * 5})
    assert (vectors.is_given, vectors.names) == (True, ())
    assert vectors.size(Shapes("rows")) == (5, 3)
    assert vectors.size(Shapes("columns")) == (3, 5)
    words = EmbeddedTokens.model_validate({"embedding": {"he": [1, 2], "is": [3, 4]}, "tokens": ["is", "he", "is"]})
    assert (words.names, words.size(Shapes("rows"))) == (("is", "he", "is"), (3, 2))
    assert words.work_embedding(Pen("rows", Rounding())).tolist() == [[3, 4], [1, 2], [3, 4]]
    assert not EmbeddedTokens.model_validate({"tokens": ["a"]}).is_given


def test_positions_are_added_from_their_start() -> None:
    tokens = PositionedTokens.model_validate({"X": [[1, 1], [1, 1]], "position": {"formula": "count", "start": 3}})
    pen = Pen("rows", Rounding())
    assert tokens.work_tokens(pen).tolist() == [[4.0, 4.0], [5.0, 5.0]]
    assert [record.symbol for record in pen.finish()] == ["P", "X′"]
    table = PositionedTokens.model_validate({"X": [[1, 1]], "position": [[0.5, 0.25]]})
    assert table.work_tokens(Pen("rows", Rounding())).tolist() == [[1.5, 1.25]]


def test_the_first_position_of_the_paper_is_sine_0_and_cosine_1() -> None:
    vectors = PositionRule.model_validate({}).work(Pen("rows", Rounding()), 1, 4, ("a",))
    assert vectors.tolist() == [[0.0, 1.0, 0.0, 1.0]]
    learned = PositionRule.model_validate({"formula": "learned", "table": np.arange(6).reshape(3, 2), "start": 1})
    assert learned.work(Pen("rows", Rounding()), 2, 2, ("a", "b")).tolist() == [[2.0, 3.0], [4.0, 5.0]]


def test_a_table_must_reach_the_last_token() -> None:
    shapes = Shapes("rows")
    PositionRule.model_validate({"formula": "learned", "table": [[1, 2]]}).mistakes(shapes, "position", 3, 2)
    PositionRule.model_validate({"formula": "count", "table": [[1, 2]]}).mistakes(shapes, "position", 1, 2)
    assert [mistake.sentence for mistake in shapes.mistakes] == [
        "position: table has 1 positions, but the last token is at position 2. "
        "Give table at least 3 positions (counted from 0).",
        "position: table needs formula learned, not count. Remove one of them.",
    ]
