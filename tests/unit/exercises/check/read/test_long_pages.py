"""The work of checking a page grows with its length, whatever is repeated on it: two such pages must not occupy a server."""

import re
import time

import pytest
from clearhead.exercises.check.read.document import scan_document
from clearhead.exercises.check.read.page_table import NumberLines

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
    assert not scan_document("<!--\n" * 200_000).items, "1 MB of beginnings without an end"
    assert time.process_time() - start < 20, (
        "a search from every beginning takes a minute, one search a tenth of a second"
    )


COMMENTS = [
    "a <!-- b --> c", "<!-- a\nb -->\nQ = [1 2]", "<!-->", "<!--->", "<!---->", "<!-- <!-- -->-->", "--> <!-- a -->",
    "<!-- a --><!-- b -->c", "<!-- never closed", "a<!--" + "b" * 20_001 + "--> Q", "<!--" + "b" * 20_000 + "--> Q",
    "<!--" + "b" * 15_000 + "<!-- Q" + "c" * 15_000 + "--> K", "<!--<!-->", "<!--" * 6_000 + "--> Q",
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(COMMENTS)))
def test_comments_are_removed_as_by_the_expression_that_describes_them(number):
    from clearhead.exercises.check.read.document import _without_comments

    expression = re.compile(r"<!--(?:(?!-->).){0,20000}?-->", re.DOTALL)
    text = COMMENTS[number]
    assert _without_comments(text) == expression.sub(lambda match: "\n" * match[0].count("\n"), text)


def test_a_column_of_numbers_is_searched_once_and_the_matrix_after_it_is_read():
    numbers = NumberLines(["1", "2", "3", "words", "4", "5 6", "7 8"])
    assert [numbers.rows(at) for at in range(5)] == [[], [], [], [], [["4"], ["5", "6"], ["7", "8"]]]
    assert numbers.rows(1) == [], "a line before the last search"
    assert numbers.rows(5) == [["5", "6"], ["7", "8"]]
