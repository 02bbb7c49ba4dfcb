"""Bad input gets one clear sentence for every mistake, all of them together."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clearhead import Problem, load_problem, solve
from clearhead.errors import ProblemError, did_you_mean
from clearhead.worksheet.reading import read_data

X = [[1, 2], [3, 4], [5, 6]]
I2 = [[1, 0], [0, 1]]
SELF = {"kind": "self-attention", "X": X, "W_Q": I2, "W_K": I2, "W_V": I2}
QKV = {"W_Q": [[1]], "W_K": [[1]], "W_V": [[1]]}


def mistakes(data: Any) -> list[str]:
    with pytest.raises(ProblemError) as wrong:
        solve(data)
    return list(wrong.value.mistakes)


def test_a_good_problem_has_no_mistakes() -> None:
    assert isinstance(load_problem(SELF), Problem)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"X": [[1, 2], [3]]}, "X: row 2 has 1 number but row 1 has 2. Give every row the same length."),
        ({"X": []}, "X: is empty: a sequence needs at least one token. Give at least one row."),
        ({"X": [[]]}, "X: row 1 is empty. Give at least one number in every row."),
        ({"X": [1, 2]}, "X: row 1 is 1, not a list. Write a matrix as a list of rows, [[1, 2], [3, 4]]; a single row is [[1, 2]]."),
        ({"X": "a"}, "X: expected a list of rows such as [[1, 2], [3, 4]], but found 'a'."),
        ({"X": [[1, "two"]]}, "X: row 1, column 2: 'two' is not a number."),
        ({"X": [[1, True]]}, "X: row 1, column 2: True is not a number."),
        ({"X": [[1, None]]}, "X: row 1, column 2: None is not a number."),
        ({"X": [[float("nan"), 1]]}, "X: row 1, column 1: nan is not a finite number."),
        ({"X": [[1, float("-inf")]]}, "X: row 1, column 2: -inf is not a finite number."),
        ({"X": [["1e999", 1]]}, "X: row 1, column 1: '1e999' is not a finite number."),
        ({"X": [["1/0", 1]]}, "X: row 1, column 1: '1/0' divides by zero."),
        ({"scale": "sqrt(dk)"}, "scale: 'sqrt(dk)' is not a scale. Give none, sqrt(d_k), sqrt(d_model) or a number to divide by."),
        ({"scale": -2}, "scale: -2 is not greater than 0. Give the number to divide the scores by."),
        ({"mask": "casual"}, "mask: 'casual' is not a mask. Give none, causal, a matrix of 0 and 1, or {causal, padding, explicit}."),
        ({"mask": [[1, 2, 0]]}, "mask, explicit: row 1, column 2: 2 is neither 1 (attend) nor 0 (do not attend)."),
        ({"mask": [[1, 1]]}, "mask: explicit is 1 × 2, but there are 3 queries and 3 keys. Make it 3 × 3."),
        ({"mask": {"padding": 4}}, "mask: padding = 4, but there are 3 keys. Give a number from 0 to 3."),
        ({"mask": {"padding": [1, 1]}}, "mask: padding has 2 numbers, but there are 3 keys. Give mask: padding 3 numbers."),
        ({"normaliser": "sofmax"}, "normaliser = 'sofmax' is not a choice. Did you mean 'softmax'? Choices: softmax, division."),
        ({"layout": "row"}, "layout = 'row' is not a choice. Did you mean 'rows'? Choices: rows, columns."),
        ({"base": 1}, "base = 1 makes all weights equal. Give another base, or remove it to use e."),
        ({"tokens": ["a", "b"]}, "tokens has 2 names, but X has 3 tokens. Give 3 names, or omit tokens."),
        ({"tokens": [None, "b", "c"]}, "tokens: name 1: expected text, but found None. Put it in quotes."),
        ({"W_Q": [[1, 0]]}, "X is 3 × 2 and W_Q is 1 × 2, so X W_Q cannot be multiplied. Give W_Q 2 rows, or X 1 column."),
        ({"b_K": [1]}, "b_K has 1 number, but W_K is 2 × 2. Give b_K 2 numbers."),
        ({"W_K": [[1], [0]]}, "a query is 2 wide and a key 1, so they have no dot product. Give W_Q and W_K (or Q and K) the same width in every head."),
        ({"Q": X}, "both Q and W_Q are given. Remove one of them."),
        ({"W_V": None, "W_O": [[1, 0], [0, 1]]}, "W_V is missing: give the weights W_V, or the matrix V."),
        ({"cached_K": [[1, 1]]}, "cached_K is given without cached_V. Give both."),
        ({"cached_K": [[1, 1]], "cached_V": [[1]]}, "cached_V is 1 × 1, but V is 2 wide. Give both the same width."),
        ({"W_O": [[1, 1, 1]]}, "Z is 2 wide and W_O is 1 × 3, so Z W_O cannot be multiplied. Give W_O 2 rows, or Z 1 column."),
        ({"b_O": [1, 1]}, "b_O needs W_O, which is not given. Remove it."),
        ({"rounding": {"decimals": 2, "significant": 2}}, "rounding: give decimals or significant, not both."),
        ({"rotary": {}, "W_Q": [[1], [0]], "W_K": [[1], [0]]}, "rotary positions rotate pairs of dimensions, but a head is 1 wide. Make d_k even."),
        ({"position": [[1, 2]]}, "position is 1 × 2, but there are 3 tokens of width 2. Make it 3 × 2."),
        ({"position": {"formula": "learned", "table": [[1, 2]]}}, "position: table has 1 positions, but the last token is at position 2. Give table at least 3 positions (counted from 0)."),
        ({"embedding": {"a": [1, 2]}}, "both X and embedding are given. Remove one of them."),
    ],
)  # fmt: skip
def test_one_mistake_is_one_sentence(change: dict[str, Any], sentence: str) -> None:
    assert mistakes(SELF | change) == [sentence]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"mask": {"padding": "x"}}, "mask, padding: expected an integer, but found 'x'."),
        ({"mask": 7}, "mask: expected keys and values (keys: causal, padding, explicit), but found 7."),
        ({"num_heads": True}, "num_heads: expected an integer, but found True."),
        ({"num_heads": 2.0}, "num_heads: expected an integer, but found 2.0."),
        ({"num_heads": 10**6}, "num_heads = 1000000: input should be less than or equal to 1024."),
        ({"base": True}, "base: True is not a number."),
        ({"title": ["a"]}, "title: expected text, but found ['a']. Put it in quotes."),
        ({"title": "\ud800"}, "title: '\\ud800' contains half of a surrogate pair, which is not a character."),
        ({"heads": 3}, "heads: expected a list, but found 3."),
        ({"heads": [{"W_Q": I2, "w_k": I2}]}, "'w_k' is not a key of heads, item 1 of self-attention. Did you mean 'W_K'? Its keys: W_Q, W_K, W_V, b_Q, b_K, b_V, Q, K, V, cached_K, cached_V."),
        ({"rounding": {"decimals": True}}, "rounding, decimals: expected an integer, but found True."),
        ({"W_Q": None, "Q": [[1, 2]]}, "Q is 1 × 2, but X has 3 tokens. Give Q one vector for each token of X, or remove X."),
        ({"W_K": None, "K": [[1, 2]]}, "K is 1 × 2, but X has 3 tokens. Give K one vector for each token of X, or remove X."),
    ],
)  # fmt: skip
def test_a_wrong_type_is_reported_without_the_words_of_a_library(change: dict[str, Any], sentence: str) -> None:
    assert mistakes(SELF | change) == [sentence]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({}, "kind is missing. Kinds: "),
        ({"kind": "selfattention"}, "kind = 'selfattention' is not a kind of exercise. Did you mean 'self-attention'?"),
        ({"kind": ["a"]}, "kind = ['a'] is not a kind of exercise."),
        ({"kind": "add-and-norm"}, "add-and-norm needs X: the input of the layer, or simply the table to normalise"),
        ({"kind": "add-and-norm", "X": X, "norm": "none"}, "there is nothing to do"),
        ({"kind": "add-and-norm", "X": X, "Y": I2}, "Y is 2 × 2, but X is 3 × 2, and they are added. Make it 3 × 2."),
        ({"kind": "add-and-norm", "X": X, "gain": [1]}, "gain has 1 number, but tokens are 2 wide. Give gain 2 numbers."),
        ({"kind": "add-and-norm", "X": X, "padding": 3}, "at least one must not be padding. Give a number from 0 to 2."),
        ({"kind": "add-and-norm", "X": X, "epsilon": -1}, "epsilon = -1.0: input should be greater than or equal to 0."),
        ({"kind": "add-and-norm", "X": [[1, 1]], "epsilon": 0}, "the variance of token 1 is 0 and epsilon is 0"),
        ({"kind": "add-and-norm", "X": [[1, 1]], "epsilon": 0, "tokens": ["a"]}, "the variance of token 1 ('a') is 0"),
        ({"kind": "positions"}, "positions is missing"),
        ({"kind": "positions", "positions": 3}, "d_model is missing"),
        ({"kind": "positions", "positions": -1, "d_model": 4}, "positions: expected a number (such as 4) or a list"),
        ({"kind": "positions", "positions": [3], "dimensions": [4], "d_model": 4}, "dimension 4 does not exist: with d_model = 4 they are 0 to 3."),
        ({"kind": "positions", "formula": "rotary", "positions": 3}, "formula rotary needs X"),
        ({"kind": "positions", "formula": "learned", "X": X, "P": I2}, "P has 2 positions, but position 2 is needed."),
        ({"kind": "context", "tokens": ["a"]}, "context needs weights, times, or vectors"),
        ({"kind": "context", "X": X, "weights": [[1, 0]]}, "weights has weights for 2 words, but there are 3 words."),
        ({"kind": "context", "X": X, "times": [1]}, "times has 1 number, but there are 3 words."),
        ({"kind": "context", "embedding": {"a": [1], "b": [1, 2]}}, "the vector of 'b' has 2 numbers but that of 'a' has 1"),
        ({"kind": "context", "embedding": {"cat": [1]}, "tokens": ["cta"]}, "'cta' has no vector in embedding. Did you mean 'cat'?"),
        ({"kind": "seq2seq-attention", "h": X, "s": [1]}, "the states in h are 2 wide and s is 1 wide"),
        ({"kind": "seq2seq-attention", "h": X, "s": [1, 1], "W": I2}, "score dot does not use W."),
        ({"kind": "seq2seq-attention", "h": X, "s": [1, 1], "score": "additive"}, "score additive needs W_h"),
        ({"kind": "seq2seq-attention", "h": X, "s": [1, 1, 1], "score": "multiplicative", "W": I2}, "W is 2 × 2, but s has 3 numbers. Give W 3 rows."),
        ({"kind": "encoder-block", "self_attention": {"W_Q": I2, "W_K": I2, "W_V": I2}}, "encoder-block needs X, or an embedding"),
        ({"kind": "encoder-block", "X": X, "self_attention": {"W_Q": I2, "W_K": I2, "W_V": [[1], [1]]}}, "self_attention: the output vectors are 1 wide, but the residual adds them to vectors that are 2 wide."),
        ({"kind": "encoder-block", "X": X, "self_attention": {"W_Q": I2, "W_K": I2, "W_V": I2, "scal": 1}}, "'scal' is not a key of self_attention of encoder-block. Did you mean 'scale'?"),
        ({"kind": "context", "weights": [[0.5, 0.5]]}, "there is nothing to do: weights are given without vectors"),
        ({"kind": "context", "X": X, "new_tokens": ["a"]}, "new_tokens needs weights"),
        ({"kind": "context", "times": [1, 2], "tokens": ["a"]}, "tokens has 1 name, but times has 2 tokens."),
        ({"kind": "context", "times": [1, 2], "variance": float("inf")}, "variance: inf is not a finite number."),
        ({"kind": "context", "times": [0, 1], "variance": 1e6, "rounding": {"lines": "rounded", "decimals": 2}}, "the scores of query 1 sum to 0"),
        ({"kind": "context", "X": X, "scale": -1}, "scale: -1 is not greater than 0."),
        ({"kind": "positions", "formula": "one-hot", "positions": 5, "d_model": 4}, "position 4 does not fit into a one-hot vector of width 4"),
        ({"kind": "positions", "positions": 2, "d_model": 4, "tokens": ["a"]}, "tokens has 1 name, but positions has 2 tokens."),
        ({"kind": "positions", "positions": 2**20, "d_model": 2**16}, "position would give 1,048,576 × 65,536 numbers"),
        ({"kind": "positions", "position": "count", "positions": 2, "d_model": 4}, "'position' is not a key of positions. Did you mean 'positions'?"),
        ({"kind": "add-and-norm", "X": X, "Y": X, "norm": "none", "gain": [1, 1]}, "norm none does not use gain."),
        ({"kind": "add-and-norm", "X": X, "epsilon": True}, "epsilon: True is not a number."),
        ({"kind": "self-attention", "X": np.ones((2**17, 1)), "W_Q": np.ones((1, 2**17)), "W_K": [[1]], "W_V": [[1]]}, "a query is 131072 wide"),
        ({"kind": "encoder-block", "X": X, "self_attention": {"Q": [[1, 1]], "W_K": I2, "W_V": I2}}, "self_attention: Q is 1 × 2, but X has 3 tokens."),
        ({"titel": "x", "parts": [{"kind": "add-and-norm", "X": 5}]}, "'titel' is not a key of parts. Did you mean 'title'?"),
        ({"layout": "row", "parts": [{"kind": "add-and-norm", "X": 5}]}, "part 1: X: expected a list of rows"),
        ({"parts": [{"parts": [{"kind": "add-and-norm", "X": [[1]]}]}]}, "is not an exercise. Each part needs its own kind (not parts)."),
        ({"parts": []}, "parts must be a list of exercises"),
        ({"parts": [{"kind": "positions"}, {"kind": "nonsense"}]}, "part 2: kind = 'nonsense' is not a kind of exercise."),
        ({"parts": [{"kind": "positions", "layout": "rows"}]}, "layout is set once for the entire sheet. Move it to the same level as parts."),
    ],
)  # fmt: skip
def test_every_kind_reports_what_is_missing(data: dict[str, Any], sentence: str) -> None:
    assert any(sentence in mistake for mistake in mistakes(data)), mistakes(data)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"kind": "recurrent", "X": [[1]], "h0": [0]}, "recurrent needs exactly one of cell, lstm and gru."),
        ({"kind": "recurrent", "X": [[1]], "h0": [0], "cell": {"W": [[1, 2]], "U": [[1]]}}, "W is 1 × 2, but the state has 1 numbers and an input 1. Make it 1 × 1."),
        ({"kind": "convolution", "X": [[1]], "taps": []}, "taps is empty."),
        ({"kind": "recurrent", "X": [[1]], "h0": [0], "c0": [0], "cell": {"W": [[1]], "U": [[1]]}}, "c0 is only for an lstm."),
        ({"kind": "recurrent", "X": [[1]], "h0": [0], "reset": "after", "cell": {"W": [[1]], "U": [[1]]}}, "reset is only for a gru. Remove it."),
        ({"kind": "recurrent", "X": [[1]], "h0": [0], "update": "keep", "cell": {"W": [[1]], "U": [[1]]}}, "update is only for a gru. Remove it."),
        ({"kind": "word-vectors", "task": "similarity", "embedding": {"a": [0, 0], "b": [1, 2]}}, "the vector of 'a' has length 0, so it has no direction and no cosine."),
        ({"kind": "word-vectors", "task": "one-hot", "tokens": ["a"], "embedding": {"a": [1]}}, "task one-hot does not use an embedding."),
        ({"kind": "encoder-block", "X": [[1]], "self_attention": {"W_Q": [[1]], "W_K": [[1]], "W_V": [[1]]}, "norm": "layer", "norms": ["layer"]}, "both norm and norms are given."),
        ({"kind": "convolution", "X": [[1]], "taps": [[[1]], [[1]]], "padding": "valid"}, "a filter of 2 taps does not fit into 1 tokens"),
        ({"kind": "word-vectors", "task": "tf-idf"}, "task tf-idf needs documents"),
        ({"kind": "word-vectors", "task": "tf-idf", "documents": ["a", ""]}, "documents: document 2 has no words."),
        ({"kind": "word-vectors", "task": "look-up"}, "task look-up needs an embedding"),
        ({"kind": "word-vectors", "task": "one-hot"}, "task one-hot needs tokens"),
        ({"kind": "feed-forward", "X": [[1, 2]], "W_1": [[1]], "W_2": [[1]]}, "X is 2 wide and W_1 is 1 × 1"),
        ({"kind": "encoder-block", "X": [[1]], "self_attention": {"W_Q": [[1]], "W_K": [[1]], "W_V": [[1]]}, "feed_forward": {"W_1": [[1]], "W_2": [[1, 2]]}}, "feed_forward: the output vectors are 2 wide"),
        ({"kind": "encoder-block", "X": [[1]], "self_attention": {"W_Q": [[1]], "W_K": [[1]], "W_V": [[1]]}, "norms": ["layer", "layer"]}, "norms has 2 entries, but the block has 1 residuals."),
    ],
)  # fmt: skip
def test_missing_values_are_reported(data: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ProblemError) as wrong:
        solve(data)
    assert sentence in str(wrong.value)


def test_messages_for_columns_speak_of_columns() -> None:
    data = {
        "kind": "self-attention",
        "layout": "columns",
        "X": X,
        "W_Q": I2,
        "W_K": [[1, 0, 1]] * 2,
        "W_V": [[1, 0, 1]],
    }
    assert mistakes(data) == [
        "X is 3 × 2 and W_Q is 2 × 2, so W_Q X cannot be multiplied. Give W_Q 3 columns, or X 2 rows."
    ]


def test_several_mistakes_are_reported_together_and_once() -> None:
    sentences = mistakes(
        SELF | {"maks": "causal", "W_Q": [[1]], "b_V": [1, 2, 3], "normaliser": "x", "W_K": [["a", 1], [1, 1]]}
    )
    assert len(sentences) == 5
    text = "\n".join(sentences)
    assert "'maks' is not a key of self-attention. Did you mean 'mask'?" in text
    assert "W_K: row 1, column 1: 'a' is not a number." in text
    assert "normaliser = 'x' is not a choice." in text
    assert "so X W_Q cannot be multiplied" in text
    assert "b_V has 3 numbers" in text
    assert "is missing" not in text


@pytest.mark.parametrize(
    ("data", "near"),
    [
        ({"kind": "self-attention", "X": I2, "W_q": I2, "W_K": I2, "W_V": I2}, "W_Q"),
        ({"kind": "seq2seq-attention", "hh": I2, "s": [1, 2]}, "h"),
        ({"kind": "encoder-block", "X": I2, "self_attenton": {"W_Q": I2, "W_K": I2, "W_V": I2}}, "self_attention"),
    ],
)
def test_a_key_that_is_suggested_for_a_misspelt_one_is_not_also_missing(data, near) -> None:
    (sentence,) = mistakes(data)
    assert f"Did you mean '{near}'?" in sentence


def test_another_missing_key_is_still_reported_beside_a_misspelt_one() -> None:
    sentences = mistakes({"kind": "self-attention", "X": I2, "W_q": I2, "W_V": I2})
    assert len(sentences) == 2
    assert sentences[1].startswith("W_K is missing")


def test_a_wrong_key_hides_no_message_that_contains_its_name_as_a_word() -> None:
    assert mistakes({"kind": "add-and-norm", "X": I2, "tokens": 5, "padding": 2}) == [
        "tokens: expected a list of names such as [the, cat], but found 5.",
        "padding = 2, but there are 2 tokens, and at least one must not be padding. Give a number from 0 to 1.",
    ]


def test_what_follows_from_a_wrong_key_is_not_blamed_too() -> None:
    assert mistakes(SELF | {"W_Q": [[1, "x"]], "b_Q": [1, 2, 3]}) == ["W_Q: row 1, column 2: 'x' is not a number."]


def test_more_scores_than_fit_into_memory_are_rejected() -> None:
    column = np.ones((5000, 1))
    sentence = "would give 5,000 × 5,000 numbers; a line of a worksheet can have at most 16,777,216."
    for data in ({"kind": "context"}, {"kind": "context", "times": column[:, 0]}):
        assert sentence in mistakes({"X": column, **data})[0]
    heads = "1 × 5000 × 5000 scores (heads × queries × keys) are more than 16,777,216, the limit of a worksheet."
    assert mistakes({"X": column, "kind": "self-attention", **QKV}) == [heads + " Give fewer tokens."]


def test_numbers_that_overflow_are_refused() -> None:
    sentences = mistakes(SELF | {"X": [[1e200, 1e200]], "W_Q": [[1e200, 0], [0, 1e200]]})
    assert sentences == ["project gives numbers that are too large (beyond about 1.8e308). Give smaller numbers."]


def test_scores_that_sum_to_zero_cannot_be_divided() -> None:
    data = {"kind": "self-attention", "Q": [[1, -1]], "K": [[1, 0], [0, 1]], "V": I2, "normaliser": "division"}
    assert mistakes(data) == [
        "the scores of query 1 sum to 0, so they cannot be divided by the sum. Use normaliser: softmax."
    ]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty."),
        (b"  \n", "is empty."),
        (b"# only words\n", "contains only comments."),
        (b"just text", "contains 'just text', not an exercise."),
        (b"- 1\n- 2\n", "contains [1, 2], not an exercise."),
        (b"kind: [unclosed", "this is not YAML"),
        (b"kind: a\n\tb: c", "line 2"),
        (b"kind: \xff\xfe", "line 1 is not UTF-8 text."),
        (b"kind: a\x00b", "this is not YAML"),
        (b"X: [[1]]\nX: [[2]]\n", "line 2: the key 'X' is given twice."),
        (b'{"X": 1, "X": 2}', "the key 'X' is given twice."),
        (b'{"X": 1,, }', "is not JSON"),
        (b"kind: !!python/object/apply:os.system ['true']", "this cannot be read as an exercise"),
        (b"a: 1\n---\nb: 2\n", "this is not YAML"),
        (b"X: [[!!bool abc]]", "a YAML tag (!!…) does not fit the value after it."),
        (b"X: [[!!timestamp abc]]", "a YAML tag (!!…) does not fit the value after it."),
        (b"X: [[!!int abc]]", "a YAML tag (!!…) does not fit the value after it."),
        (b"? [1, 2]\n: 3\n", "this cannot be read as an exercise: found unhashable key"),
        (b"<<: 3\n", "this cannot be read as an exercise"),
        (b"X: [[" + b"9" * 5000 + b"]]", "contains an integer with thousands of digits."),
        (b'{"X": [[' + b"9" * 5000 + b"]]}", "contains an integer with thousands of digits."),
        (b"X: " + b"[" * 100_000 + b"]" * 100_000, "nested more than 40 deep"),
        (b'{"X": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested more than 40 deep"),
        (b"X: &x [*x, *x]", "nested more than 40 deep"),
        (b"- " * 50_000, "nested more than 40 deep"),
    ],
)  # fmt: skip
def test_the_error_for_a_file_that_is_not_a_problem_has_the_reason(content: bytes, sentence: str) -> None:
    with pytest.raises(ProblemError) as wrong:
        read_data(content)
    assert sentence in str(wrong.value)


def test_an_alias_bomb_is_refused_without_unfolding_it() -> None:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    with pytest.raises(ProblemError, match="aliases expand to more than 4,194,304 values"):
        read_data("\n".join(lines).encode())


def test_an_ordinary_alias_is_fine() -> None:
    assert read_data(b"a: &m [[1, 2]]\nb: *m\n") == {"a": [[1, 2]], "b": [[1, 2]]}


def test_words_that_yaml_takes_for_numbers_booleans_and_dates_stay_words() -> None:
    data = read_data(b"tokens: [no, yes, on, off, 2024-01-01, 007, '12:30', 12:30, 0x1f, 1_000, true, ~]\n")
    words = ["no", "yes", "on", "off", "2024-01-01", "007", "12:30", "12:30", "0x1f", "1_000"]
    assert data["tokens"] == [*words, True, None]


def test_numbers_in_yaml_are_read_as_people_mean_them() -> None:
    data = read_data(b"X: [1, -2, +3, 0, 1.5, .5, -.5, 2., 1e3, 1e-3, 1.5E+2, -1e2, 010, .inf, -.inf]\n")
    assert data["X"] == [
        1,
        -2,
        3,
        0,
        1.5,
        0.5,
        -0.5,
        2.0,
        1000.0,
        0.001,
        150.0,
        -100.0,
        "010",
        float("inf"),
        float("-inf"),
    ]
    assert solve(SELF | {"X": [["010", 1]]}).value("X").tolist() == [[10.0, 1.0]]


def test_a_yaml_file_of_too_many_values_is_refused_at_once() -> None:
    with pytest.raises(ProblemError, match="contains more than 262,144 values, the limit of a YAML file"):
        read_data(b"X: [[" + b"1," * 2_200_000 + b"1]]")


def test_many_mistakes_are_counted_rather_than_listed() -> None:
    with pytest.raises(ProblemError) as wrong:
        solve(SELF | {f"key{n}": 1 for n in range(1000)})
    assert len(wrong.value.mistakes) == 1000
    assert str(wrong.value).endswith("\n… and 980 more mistakes.")


def test_a_byte_order_mark_and_windows_line_ends_are_fine() -> None:
    assert read_data(b"\xef\xbb\xbfkind: a\r\nX: [[1]]\r\n") == {"kind": "a", "X": [[1]]}


def test_a_missing_file_is_named_with_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "homework.yaml").write_text("kind: positions")
    with pytest.raises(ProblemError, match=r"there is no such file and .* Did you mean 'homework.yaml'\?"):
        solve(tmp_path / "homewrok.yaml")
    with pytest.raises(ProblemError, match="is a folder"):
        solve(tmp_path)
    with pytest.raises(ProblemError, match="Did you mean 'lets-go-encoder'"):
        solve("lets-go-encodr")


def test_a_file_that_is_too_long_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "long.yaml"
    with path.open("wb") as file:
        file.truncate(33 * 2**20)
    with pytest.raises(ProblemError, match="has 33 MiB; a problem file can have at most 32"):
        solve(path)


def test_an_error_in_the_working_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "zero.yaml"
    path.write_text("{kind: add-and-norm, X: [[1, 1]], epsilon: 0}")
    with pytest.raises(ProblemError, match="zero.yaml: the variance of token 1 is 0"):
        solve(path)


def test_a_close_match_is_offered_only_if_it_is_close() -> None:
    assert did_you_mean("sofmax", ["softmax"]) == " Did you mean 'softmax'?"
    assert did_you_mean("zebra", ["softmax"]) == ""
