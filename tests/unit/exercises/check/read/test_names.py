"""The names that people give to lines, rows and cells."""

import pytest

from clearhead.exercises.check.read.names import Name, read_name

LABELS = {"sun", "moon", "h1", "h2", "i", "vamos"}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("A[2, 3]", Name("A", "2", "3")),
        ("α_{21}", Name("α", "2", "1")),
        ("α_{2,1}", Name("α", "2", "1")),
        ("s_12", Name("s", "1", "2")),
        ("score(1,2)", Name("score", "1", "2")),
        ("w(sun→moon)", Name("w", "sun", "moon")),
        ("PE(pos=1)", Name("P", "pos 1")),
        ("PE(3, 2)", Name("P", "pos 3", "dim 2")),
    ],
)
def test_two_indices_are_a_cell(text: str, name: Name) -> None:
    assert read_name(text, LABELS) == name


@pytest.mark.parametrize(
    "text", ["q1·k2", "q_1 . k_2", "q1 k2^T", "<q1, k2>", "dot(q1, k2)", "k2·q1", "q(1) × k(2)", "q₁·k₂ᵀ"]
)
def test_a_query_times_a_key_is_a_cell_of_the_scores(text: str) -> None:
    assert read_name(text, LABELS) == Name("QKᵀ", "1", "2")


def test_a_product_can_name_tokens_have_one_query_and_be_divided() -> None:
    assert read_name("q_sun·k_moon", LABELS) == Name("QKᵀ", "sun", "moon")
    assert read_name("sun·moon", LABELS) == Name("QKᵀ", "sun", "moon")
    assert read_name("q·k2", LABELS) == Name("scores", "2")
    assert read_name("s·h1", LABELS) == Name("e", "1")
    assert read_name("q1·k2/√4", LABELS) == Name("scaled scores", "1", "2")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("z_sun", Name("z", "sun")),
        ("A[2]", Name("A", "2")),
        ("A[2, :]", Name("A", "2")),
        ("e_{h1}", Name("e", "h1")),
        ("row 2 of A", Name("A", "2")),
        ("weights for sun", Name("weights", "sun")),
        ("mean of row 2", Name("mean", "2")),
        ("output of token 1", Name("output", "1")),
        ("hidden state 1", Name("hidden state", "1")),
    ],
)
def test_one_index_is_a_row(text: str, name: Name) -> None:
    assert read_name(text, LABELS) == name


@pytest.mark.parametrize("text", ["h1", "W_Q", "weights", "attention output", "F1", "Z_2", "weights (%)", "A for Mars"])
def test_other_names_are_left_as_they_are(text: str) -> None:
    assert read_name(text, LABELS) == Name(text)


def test_what_stands_before_a_name_is_not_part_of_it() -> None:
    assert read_name("∴ so the weights =", LABELS) == Name("weights")
    assert read_name("3) A[2]", LABELS) == Name("A", "2")


def test_an_index_that_runs_and_a_spelled_letter_say_nothing() -> None:
    assert read_name("S_{ij}", LABELS) == Name("S")
    assert read_name("α_i", LABELS) == Name("α")
    assert read_name("alpha_h1", LABELS) == Name("α", "h1")
    assert read_name("s11'", LABELS) == Name("s'", "1", "1")
