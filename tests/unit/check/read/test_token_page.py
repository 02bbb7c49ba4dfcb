"""Pages that work attention token by token: Q, K and V are the weights, QL the query of a token."""

import pytest

from clearhead.check.read.document import scan_document
from clearhead.check.read.token_page import TokenPages, read_token_pages

# Embeddings a = [1, 0] and b = [0, 1]; with unit weights QA = KA = VA = [1, 0] and QB = KB = VB = [0, 1].
PAGE = """\
aa\tbb
[1, 0]\t[0, 1]

Self attention (aa bb)

Q = 1 0 0 1\tK = 1 0 0 1
V = 1 0 0 1
QA = aa X Q\tKA = aa X K
VA = aa X V
QB = bb X Q\tKB = bb X K
VB = bb X V
QA = [1, 0]\tQB = [0, 1]
QAxKA = 1\tQAxKB = 0
Softmax(1, 0) 0.73, 0.27
"""


@pytest.fixture(scope="module")
def pages() -> TokenPages:
    return read_token_pages(scan_document(PAGE).items)


def test_the_section_becomes_a_self_attention_of_its_tokens(pages):
    (working,) = pages.workings
    assert working.problem["kind"] == "self-attention"
    assert working.problem["tokens"] == ["aa", "bb"]
    assert working.problem["X"] == [["1", "0"], ["0", "1"]]


def test_vectors_are_rows_and_single_scores_one_matrix_in_the_order_of_the_page(pages):
    (working,) = pages.workings
    lines = [(line.name, line.cells, line.place) for line in working.lines]
    assert lines == [
        ("Q[1]", (("1", "0"),), "line 12"),
        ("Q[2]", (("0", "1"),), "line 12"),
        ("E", (("1", "0"), ("", "")), "line 13"),
        ("E[1]", (("1", "0"),), "line 14"),
        ("A[1]", (("0.73", "0.27"),), "line 14"),
    ]
    assert [line.copied_into for line in working.lines] == ["", "", "", "A[1]", ""]


def test_a_page_without_such_formulas_is_not_changed():
    items = scan_document("Q = [[1, 2], [3, 4]]").items
    assert read_token_pages(items) == TokenPages((), list(items))
