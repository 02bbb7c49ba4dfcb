"""The words for the lines of a sheet: which records each word, letter or symbol can mean."""

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from clearhead.steps import Record
from clearhead.steps.symbols import SUBSCRIPT_DIGITS

SUBSCRIPTS = str.maketrans(SUBSCRIPT_DIGITS, "0123456789")
_SUPERSCRIPTS = str.maketrans("ᵀᵗ", "Tt")
_PRIMED_INDEX = re.compile(r"(\d+)([′″²]+)$")  # S_1' is S′₁
_SQUARED = re.compile(r"\^\s?\{?2\}?(?!\d)")
_DROPPED = re.compile(r"</?su[bp]>|[\s_^{}$\\*()]|\b(?:text|mathrm|mathbf)\b")


@lru_cache(maxsize=4096)
def symbol_key(name: str) -> str:
    """Normalise a symbol: W^Q, W_{Q} and W_Q are the same, S' is S′, σ^2 is σ²; letters keep their case."""
    text = _SQUARED.sub("²", unicodedata.normalize("NFC", name)).translate(SUBSCRIPTS).translate(_SUPERSCRIPTS)
    text = text.replace("∣", "|").replace("'", "′").replace("′′", "″").replace("−", "-")
    return _PRIMED_INDEX.sub(r"\2\1", _DROPPED.sub("", text))


@lru_cache(maxsize=4096)
def word_key(name: str) -> str:
    """Normalise a word: Scaled-Scores, scaled_scores and `scaled scores` are the same.

    A single letter keeps its case: A means weights and a the output, P positions and p probabilities.
    """
    key = re.sub(r"[-.:·×/√]", "", symbol_key(name))
    return key if len(key.rstrip("′″")) == 1 else key.casefold()


Test = Callable[[Record], bool]


def _step(*names: str) -> Test:
    return lambda record: record.step.name in names


def _at(step: str, part: str) -> Test:
    return lambda record: record.step.name == step and part in record.where.split(".")


def _in_place(part: str, *steps: str) -> Test:
    return lambda record: record.step.name in steps and part in record.where.split(".")


def _in_attention(*names: str) -> Test:
    """Match a step of an attention layer, but not of the output layer of a model."""
    return lambda record: record.step.name in names and record.symbol not in ("p", "logits")


def _bare_softmax(record: Record) -> bool:
    """Match the weights of an exercise that is only a softmax, which has no part of a model."""
    return record.step.name in ("softmax", "divide") and record.where.split(".")[:-1] in ([], ["part"])


def _before_activation(record: Record) -> bool:
    """Match the matrix products of a dense layer or of a feed-forward network."""
    return record.step.name == "project" and not {"dense", "first", "second"}.isdisjoint(record.where.split("."))


def _symbol(base: str) -> Test:
    """Match a symbol with any subscript."""
    return lambda record: re.sub(r"[₀-₉]+$", "", record.symbol) == base


def _made_for(letter: str, part: str) -> Test:
    """Match the queries, keys or values of a layer or of a head."""
    return lambda record: record.symbol.startswith(letter) and record.where.endswith(part)


@dataclass(frozen=True)
class Meaning:
    """A line of a sheet: what it is called in a report, the words for it, and its records, the most likely first."""

    title: str
    words: str
    tests: tuple[Test, ...]


OPEN_STEPS = frozenset(
    {"score", "softmax", "mix"}
)  # steps with symbols and words that are used for several lines: S, E, A, Z
_SCORES = (_in_attention("score", "kernel"), _in_attention("scale"), _step("mask"))

MEANINGS: tuple[Meaning, ...] = (
    Meaning("queries", "queries, query", (_made_for("Q", "query"), _at("project", "query"))),
    Meaning("keys", "keys, key", (_made_for("K", "key"), _at("project", "key"))),
    Meaning("values", "values, value", (_made_for("V", "value"), _at("project", "value"))),
    Meaning("scores",
            "scores, score, raw scores, raw score, attention scores, attention score, E, e, e^t, S, QK^T, QKT, QK, "
            "Q K^T, KQ, K^TQ, puntuaciones, Punktzahlen, dot products, dot product, similarity, similarities", _SCORES),
    Meaning("scaled scores",
            "scaled scores, scaled score, scaled, S', E', e', s', scaled attention scores, scaled_dot_product, "
            "scaled dot products, QK^T/sqrt(d_k), QK^T/√d_k, QKT/sqrtdk, frac{QK^T}{sqrt{d_k}}",
            (_in_attention("scale"),)),
    Meaning("masked scores", "masked scores, masked score, masked, masked_e, S'', E'', s'', after masking",
            (_step("mask"),)),
    Meaning("shifted scores", "shifted scores, shifted, scores minus max, S - max, s - max, x - max, D",
            (_step("shift"),)),
    Meaning("exponentials",
            "exp, exps, exponential, exponentials, exponentiated, exp scores, exp(S), exp(S'), exp(scores), exp(x), "
            "exp(z), e^S, e^s, e^S', e^S'', e^x, e^z, e^scores, e^score, powers, numerator, numerators, num, "
            "unnormalised weights, unnormalized weights", (_step("exponentiate"),)),
    Meaning("sums of the exponentials",
            "sum, sums, row sum, row sums, sum of exponentials, sum of exps, sum exp, sum of exp, sumexp, Σ, Σexp, "
            "Σ exp, Σe^s, Σ e^s, ∑, ∑exp, sum(exp), sum of row, sum of each row, total, totals, denominator, "
            "denominators, denom, normaliser, normalizer, Z-sum, Zsum, partition function", (_step("row_sum"),)),
    Meaning("weights",
            "weights, weight, attention weights, attention weight, w, A, alpha, alpha^t, α, α^t, softmax, softmax(E), "
            "softmax(S), distribution, attention distribution, attention, W, weights rounded, renormalised, "
            "pesos, Gewichte, softmax scores, softmax weights, softmax output, attention probabilities, softmax(QK^T), "
            "softmax(QK^T/√d_k), softmax(QK^T/sqrt(d_k))",
            (_in_attention("softmax", "divide"), _step("mask"))),
    Meaning("attention output",
            "attention output, context, contexts, context vector, Z, a, a^t, C, c, c^t, AV, A V, attended, Y, "
            "weighted sum, Attention(Q,K,V)", (_step("mix"),)),
    Meaning("input", "input, inputs, X', embedded, embedding plus position",
            (_at("add", "input"), _at("embed", "embedding"))),
    Meaning("embeddings", "embedding, embeddings, word vectors, X", (_step("embed"),)),
    Meaning("position vectors", "positions, position, PE, P, positional encoding, added, position vectors",
            (_step("position"),)),
    Meaning("input with positions", "position added, with positions, X + P, X + PE, X+PE",
            (_at("add", "input"), _step("add"))),
    Meaning("transformed states", "Wh, W h, W_h h", (_step("transform"),)),
    Meaning("state times W", "s^TW, sW, s W, W^Ts", (_symbol("sᵀW"), _symbol("Wᵀs"))),
    Meaning("bilinear scores", "s^TWh, s^TWh_i, sWh, (sW)h, s(Wh)", _SCORES),
    Meaning("new state", "state, new state, s', [a; s], [c; s], concatenation", (_at("join", "state"),)),
    Meaning("combined state", "combined state, attentional state, attentional vector, s~, h~",
            (_at("activate", "state"), _at("transform", "state"))),
    Meaning("joined heads", "heads, joined, concatenated, concat, context, C, Z", (_at("join", "output"),)),
    Meaning("mean", "mean, means, μ, mu", (_step("mean"),)),
    Meaning("variance", "variance, variances, σ², sigma^2, var", (_step("variance"),)),
    Meaning("standard deviation",
            "σ, sigma, std, stdev, std dev, sd, SD, standard deviation, standard deviations, deviation, deviations",
            (_step("deviation"),)),
    Meaning("root mean square", "RMS, rms, root mean square", (_step("root_mean_square"),)),
    Meaning("norm",
            "norm, normalised, normalized, layer norm, layernorm, LN, layer normalisation, layer normalization, "
            "normalisation, normalization, rms norm, rmsnorm, N", (_step("normalise", "rms_normalise"),)),
    Meaning("forget gate", "forget gate", (_at("activate", "forget_gate"),)),
    Meaning("input gate", "input gate", (_at("activate", "input_gate"),)),
    Meaning("output gate", "output gate", (_at("activate", "output_gate"),)),
    Meaning("reset gate", "reset gate, reset", (_at("activate", "reset_gate"),)),
    Meaning("update gate", "update gate, update", (_at("activate", "update_gate"),)),
    Meaning("candidate state", "candidate, candidate state, c~, C~, c̃, C̃, h~, h̃, n~, ñ, new gate",
            (_at("activate", "candidate_gate"),)),
    Meaning("cell state", "cell state, cell", (_symbol("c"),)),
    Meaning("hidden state", "hidden state", (_symbol("h"),)),
    Meaning("add and norm",
            "add and norm, add & norm, add + norm, addnorm, addandnorm, residual and norm",
            (_in_place("add_and_norm", "normalise", "rms_normalise"), _at("add", "add_and_norm"))),
    Meaning("residual", "residual, R, added residual, add, residual connection", (_at("add", "add_and_norm"),)),
    Meaning("hidden layer", "relu, activation, hidden, hidden layer, F", (_step("activate"),)),
    Meaning("feed-forward output", "ffn, feed forward, feed forward output, ffn output, mlp",
            (_at("project", "second"),)),
    Meaning("pre-activation",
            "pre-activation, pre-activations, linear, linear layer, weighted sum, weighted input, Z, z, XW+b, Wx+b",
            (_before_activation,)),
    Meaning("activation",
            "A, a, H, h, y, Y, relu, tanh, sigmoid, gelu, silu, activation, activations, activated, F",
            (_at("activate", "dense"), _at("softmax", "dense"), _at("activate", "feed_forward"))),
    Meaning("output scores",
            "scores, z, Z, linear, pre-activation, W_out h + b_out, Wh + b, W h + b, output scores",
            (_symbol("logits"),)),
    Meaning("logits", "logits", (_symbol("logits"), _at("project", "output"))),
    Meaning("probabilities",
            "probabilities, p, P, probs, softmax, distribution, prediction, predictions, class probabilities, y, ŷ, y^",
            (_at("softmax", "output"), _symbol("p"), _at("activate", "output"), _symbol("F₂′"))),
    Meaning("weights of a softmax", "p, P, probabilities, probs", (_bare_softmax,)),
    Meaning("loss", "loss", (_step("loss"), _step("total"))),
    Meaning("gradient", "gradient", (_step("gradient"),)),
    Meaning("angles", "angles, angle, θ, theta", (_step("angle"),)),
    Meaning("one-hot vectors", "one hot, onehot", (_step("one_hot"),)),
    Meaning("lengths", "length, lengths, norms", (_step("length"),)),
    Meaning("cosines", "cosine, cosines, cos", (_step("cosine"),)),
)  # fmt: skip
# Symbols that mean something else on most sheets, but may also be the exponentials or the shifted scores.
EXPONENTIAL_SYMBOLS = frozenset(word_key(word) for word in ("E", "e", "P", "numerators", "numerator", "D"))
LAST_LINE = (
    "output, outputs, salida, resultado, Ausgabe, Ergebnis, output layer, out, O, answer, result, Z, attention, "
    "multihead, multihead output, multihead attention, y"
)
# Names that people use for other lines too: the titles of those lines, the most likely first.
OTHER_MEANINGS: Mapping[str, tuple[str, ...]] = {
    "Z": ("scaled scores", "scores", "norm", "output scores", "pre-activation"),
    "z": ("scaled scores", "scores", "norm", "output scores", "pre-activation"),
    "E": ("embeddings", "exponentials"),
    "e": ("exponentials",),
    "P": ("weights",),
    "p": ("weights",),
    "a": ("weights",),
    "A": ("attention output", "scores"),
    "y": ("add and norm", "norm", "residual", "feed-forward output", "attention output"),
    "Y": ("add and norm", "norm", "residual", "feed-forward output"),
    "h": ("hidden state", "hidden layer", "pre-activation", "norm", "residual", "attention output"),
    "H": ("joined heads", "hidden layer", "pre-activation", "norm", "residual", "attention output"),
    "s'": ("combined state",),
    "state": ("combined state",),
    "new state": ("combined state",),
    "F": ("pre-activation",),
    "hidden": ("pre-activation",),
    "hidden layer": ("pre-activation",),
}


def _words_of(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word_key(word) for word in text.split(", ")))


def _tests_by_word() -> dict[str, tuple[Test, ...]]:
    """Return the tests of each word; a word with several meanings has the tests of all of them."""
    tests: dict[str, tuple[Test, ...]] = {}
    for meaning in MEANINGS:
        for word in _words_of(meaning.words):
            tests[word] = (*tests.get(word, ()), *meaning.tests)
    return tests


WORDS: Mapping[str, tuple[Test, ...]] = _tests_by_word()
TESTS_BY_TITLE = {meaning.title: meaning.tests for meaning in MEANINGS}
_OTHER_TITLES = {word_key(name): titles for name, titles in OTHER_MEANINGS.items()}
LAST_WORDS = frozenset(_words_of(LAST_LINE))
FINAL_WORDS = LAST_WORDS - WORDS.keys()  # words that name nothing but the last line


def other_titles(name: str) -> tuple[str, ...]:
    """Return the titles of the other lines that people use a name for."""
    return _OTHER_TITLES.get(word_key(name), ())
