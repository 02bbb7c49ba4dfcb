"""The work of checking a page grows with its length, whatever is repeated on it: two such pages must not occupy a server."""

import time

import pytest

from clearhead.exercises.check.read.text import read_text
from tests.attacks.long_pages import KINDS, check_page, num_calls, page

PIECES_AT_A_LINE = 20  # a line of pieces is longer, and cheaper to read


@pytest.mark.parametrize("problem", ["numerical-self-attention", None], ids=["with its problem", "without"])
@pytest.mark.parametrize("kind", KINDS)
def test_twice_as_long_a_page_takes_twice_as_many_calls(kind, problem):
    check_page(page("vectors", 1), problem)  # imports and caches are not counted
    size = 120 * (PIECES_AT_A_LINE if kind.startswith("one line") else 1)
    once, twice = (num_calls(page(kind, repeats), problem) for repeats in (size, 2 * size))
    assert twice < 2.5 * once, f"{once:,} calls for {size} repeats and {twice:,} for twice as many"


def test_every_beginning_of_a_comment_is_looked_at_once():
    start = time.process_time()  # of this process, whatever else the machine does
    assert not read_text("<!--\n" * 200_000).blocks, "1 MB of beginnings without an end"
    assert time.process_time() - start < 20, (
        "a search from every beginning takes a minute, one search a tenth of a second"
    )


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("<!-- a\nb -->\nQ = [1 2]", ["Q"]),
        ("<!-- Q = [1 2] -->K = [3 4]", ["K"]),
        ("<!-- a --><!-- Q = [1 2] -->\nK = [3 4]", ["K"]),
        ("<!-- never closed\nQ = [1 2]", ["Q"]),
    ],
)
def test_what_is_in_a_comment_is_not_read(text, names):
    assert [block.name for block in read_text(text).blocks] == names


def test_a_column_of_numbers_and_the_matrix_after_it_are_read():
    blocks = read_text("1\n2\n3\nwords\n4\n5 6\n7 8\n").blocks
    assert [block.sides[0].grids[0] for block in blocks] == [(("1",), ("2",), ("3",)), (("4",), ("5", "6"), ("7", "8"))]
