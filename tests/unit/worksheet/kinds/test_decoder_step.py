"""One decoder step from cached keys and values gives the last row of the block that reads all tokens at once."""

from typing import Any

import pytest

from clearhead import solve
from clearhead.errors import ProblemError
from tests.golden.by_hand import times, transpose
from tests.tolerances import assert_close
from tests.unit.worksheet.random_models import WIDTH, random_attention, random_network
from tests.unit.worksheet.random_problems import numbers, with_tokens_as_columns

EARLIER, SOURCE, SOURCE_WIDTH = 4, 2, 5
X, MEMORY = numbers(EARLIER + 1, WIDTH), numbers(SOURCE, SOURCE_WIDTH, seed=1)
SELF, CROSS = random_attention(WIDTH, 10), random_attention(WIDTH, 20, SOURCE_WIDTH)
FULL: dict[str, Any] = {
    "kind": "decoder-block",
    "X": X,
    "memory": MEMORY,
    "self_attention": SELF,
    "cross_attention": CROSS,
    "feed_forward": random_network(WIDTH, 30),
}
CACHE = {"cached_K": times(X[:-1], SELF["W_K"]), "cached_V": times(X[:-1], SELF["W_V"])}
GIVEN = {"W_Q": CROSS["W_Q"], "K": times(MEMORY, CROSS["W_K"]), "V": times(MEMORY, CROSS["W_V"])}
STEP: dict[str, Any] = {key: value for key, value in FULL.items() if key != "memory"} | {
    "X": X[-1:],
    "self_attention": SELF | CACHE,
    "cross_attention": GIVEN,
}


@pytest.mark.parametrize("norm", [{}, {"norm_place": "pre"}, {"norm": "rms"}, {"norm": "none"}], ids=str)
def test_a_step_from_caches_is_the_last_row_of_the_block(norm: dict[str, str]) -> None:
    full = solve(FULL | norm)
    own = "decoder.0.self_attention*"
    cache = {f"cached_{letter}": full.value(letter, own)[:-1].tolist() for letter in "KV"}
    step = STEP | norm | {"self_attention": SELF | cache}
    assert_close(solve(step).answer, full.answer[-1:])
    turned = with_tokens_as_columns(step)
    assert_close(solve(turned).answer, transpose(solve(step).answer.tolist()))


def test_two_new_tokens_attend_causally_after_the_cache() -> None:
    cache = {"cached_K": CACHE["cached_K"][:-1], "cached_V": CACHE["cached_V"][:-1]}
    step = STEP | {"X": X[-2:], "self_attention": SELF | cache}
    assert_close(solve(step).answer, solve(FULL).answer[-2:])


def test_the_keys_of_all_tokens_so_far_can_be_given_instead_of_a_cache() -> None:
    all_keys = {"W_Q": SELF["W_Q"], "K": times(X, SELF["W_K"]), "V": times(X, SELF["W_V"])}
    sheet = solve(STEP | {"self_attention": all_keys, "cached_tokens": ["a", "b", "c", "d"], "tokens": ["e"]})
    assert_close(sheet.answer, solve(FULL).answer[-1:])


def test_a_step_with_several_heads_splits_the_caches() -> None:
    heads: dict[str, Any] = {"num_heads": 2, "W_O": numbers(4, WIDTH, seed=9)}
    own = {name: numbers(WIDTH, 4, seed=40 + n) for n, name in enumerate(("W_Q", "W_K", "W_V"))} | heads
    other = {"W_Q": numbers(WIDTH, 4, seed=50), "W_K": numbers(SOURCE_WIDTH, 4, seed=51)}
    other |= {"W_V": numbers(SOURCE_WIDTH, 4, seed=52)} | heads
    full = FULL | {"self_attention": own, "cross_attention": other}
    cache = {f"cached_{letter}": times(X[:-1], own[f"W_{letter}"]) for letter in "KV"}
    given = {letter: times(MEMORY, other[f"W_{letter}"]) for letter in "KV"} | {"W_Q": other["W_Q"]} | heads
    step = STEP | {"self_attention": own | cache, "cross_attention": given}
    assert_close(solve(step).answer, solve(full).answer[-1:])


def test_the_keys_have_the_names_of_their_tokens() -> None:
    names = {"tokens": ["now"], "cached_tokens": ["a", "b", "c", "d"], "memory_tokens": ["un", "deux"]}
    text = solve(STEP | names).to_markdown()
    assert "| a | b | c | d | now |" in text
    assert "| un | deux |" in text


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"cross_attention": CROSS}, "memory is missing: give memory, the encoder's output, or give its keys K and"),
        ({"cross_attention": {"W_Q": CROSS["W_Q"], "K": GIVEN["K"]}}, "memory is missing: give memory, the enc"),
        ({"cached_tokens": ["a"]}, "cached_tokens has 1 name, but the cache has 4 tokens. Give 4 names, or omit cac"),
        ({"memory_tokens": ["a"]}, "memory_tokens has 1 name, but K of cross_attention has 2 tokens. Give 2 names"),
        (
            {"self_attention": SELF | {"cached_K": CACHE["cached_K"]}},
            "self_attention: cached_K is given without cached_V. Give both.",
        ),
        (
            {"self_attention": SELF | {"cached_K": [[1, 2, 3]], "cached_V": CACHE["cached_V"][:1]}},
            "self_attention: cached_K is 1 × 3, but K is 2 wide. Give both the same width.",
        ),
        (
            {"cross_attention": GIVEN | {"K": [[1, 2], [3, 4], [5, 6]]}},
            "cross_attention: there are 3 keys and 2 values. Every key needs one value: give the same number of each.",
        ),
        (
            {"cross_attention": GIVEN | {"V": [[1, 2], [3, 4]]}},
            "cross_attention: the output vectors are 2 wide, but the residual adds them to vectors that are 3 wide.",
        ),
    ],
)
def test_mistakes_in_a_step_are_one_sentence(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ProblemError) as wrong:
        solve(STEP | changes)
    assert len(wrong.value.mistakes) == 1, wrong.value.mistakes
    assert wrong.value.mistakes[0].startswith(sentence)
