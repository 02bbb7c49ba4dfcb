"""Find the record that a student's name for a line refers to.

A name is a symbol (Q, S′, α, W_Q), a word (scores, weights, output) or another common notation (QKᵀ, e^t, softmax).
It can select a row, `A[2]` or `Q[Vamos]`, or a cell, `A[2, 3]`.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from clearhead.check.graph import Graph
from clearhead.steps import Record
from clearhead.steps.symbols import SUBSCRIPT_DIGITS

_PICK = re.compile(r"(.+?)\s*\[\s*([^\[\],]+?)\s*(?:,\s*([^\[\],]+?)\s*)?\]\s*", re.DOTALL)
SUBSCRIPTS = str.maketrans(SUBSCRIPT_DIGITS, "0123456789")
_SUPERSCRIPTS = str.maketrans("ᵀᵗ", "Tt")
_POSITION = re.compile(r"(PE?)\s*\(\s*(?:pos\s*=?\s*)?(\d+)\s*\)").fullmatch  # positions count from 0
_HEAD = re.compile(r"(?i)(|.*[^a-z])head[\s_]*(\d+)(?!\d)(.*)", re.DOTALL).fullmatch
# A row by its number, q2 or Q_2, or by its token, q_Vamos. A token needs the separator: "values" is not a row of V.
_NUMBERED = re.compile(r"(.*?[^\W\d_]|.*[αμσθ])(?:[\s_^{]*(\d+)|[\s_^{]+([^\W\d_]{2,}))\}?")
_DROPPED = re.compile(r"</?su[bp]>|[\s_^{}$\\*()]|\b(?:text|mathrm|mathbf)\b")


@dataclass(frozen=True)
class Pick:
    """A name without its selection, and the row (number or token) and column that it selects, if any."""

    name: str
    row: str = ""
    column: str = ""


def split_pick(name: str) -> Pick:
    """Read `A[2, 3]` as cell 2, 3 of A."""
    at = _POSITION(name.strip())
    if at is not None:
        return Pick(at[1], f"pos {at[2]}")
    match = _PICK.fullmatch(name.strip())
    return Pick(name.strip()) if match is None else Pick(match[1].strip(), match[2], match[3] or "")


@lru_cache(maxsize=4096)
def symbol_key(name: str) -> str:
    """Normalise a symbol: W^Q, W_{Q} and W_Q are the same, S' is S′; letters keep their case."""
    text = unicodedata.normalize("NFC", name).translate(SUBSCRIPTS).translate(_SUPERSCRIPTS)
    text = text.replace("'", "′").replace("''", "″").replace("′′", "″").replace("−", "-")
    return _DROPPED.sub("", text)


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


_OPEN = frozenset(
    {"score", "softmax", "mix"}
)  # steps with symbols and words that are used for several lines: S, E, A, Z
_SCORES = (_in_attention("score", "kernel"), _in_attention("scale"), _step("mask"))

MEANINGS: tuple[Meaning, ...] = (
    Meaning("queries", "queries, query", (_made_for("Q", "query"), _at("project", "query"))),
    Meaning("keys", "keys, key", (_made_for("K", "key"), _at("project", "key"))),
    Meaning("values", "values, value", (_made_for("V", "value"), _at("project", "value"))),
    Meaning("scores",
            "scores, raw scores, attention scores, E, e, e^t, S, QK^T, QKT, QK, Q K^T, KQ, K^TQ, dot products, "
            "similarity, similarities", _SCORES),
    Meaning("scaled scores",
            "scaled scores, scaled, S', scaled attention scores, scaled_dot_product, scaled dot products, "
            "QK^T/sqrt(d_k), QK^T/√d_k, QKT/sqrtdk, frac{QK^T}{sqrt{d_k}}", (_in_attention("scale"),)),
    Meaning("masked scores", "masked scores, masked, masked_e, S'', after masking", (_step("mask"),)),
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
            "weights, attention weights, A, alpha, alpha^t, α, α^t, softmax, softmax(E), softmax(S), distribution, "
            "attention distribution, attention, W, weights rounded, renormalised, softmax scores, softmax weights, "
            "softmax output, attention probabilities, softmax(QK^T), softmax(QK^T/√d_k), softmax(QK^T/sqrt(d_k))",
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
    Meaning("new state", "state, new state, s', [a; s], concatenation", (_at("join", "state"),)),
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
    Meaning("candidate state", "candidate, candidate state, c~, C~, c̃, C̃", (_at("activate", "candidate_gate"),)),
    Meaning("cell state", "cell state, cell", (_symbol("c"),)),
    Meaning("hidden state", "hidden state", (_symbol("h"),)),
    Meaning("add and norm",
            "add and norm, add & norm, add + norm, addnorm, addandnorm, residual and norm",
            (_in_place("add_and_norm", "normalise", "rms_normalise"), _at("add", "add_and_norm"))),
    Meaning("residual", "residual, R, added residual, add, residual connection", (_at("add", "add_and_norm"),)),
    Meaning("hidden layer", "relu, activation, hidden, F", (_step("activate"),)),
    Meaning("feed-forward output", "ffn, feed forward, feed forward output, ffn output, mlp",
            (_at("project", "second"),)),
    Meaning("pre-activation",
            "pre-activation, pre-activations, linear, linear layer, weighted sum, weighted input, Z, z, XW+b, Wx+b",
            (_at("project", "dense"), _at("project", "second"), _at("project", "first"))),
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
LAST_LINE = "output, out, O, answer, result, Z, attention, multihead, multihead output, multihead attention, y"
# Letters that people use for other lines too: the titles of those lines, the most likely first.
OTHER_MEANINGS: Mapping[str, tuple[str, ...]] = {
    "Z": ("scaled scores", "scores", "norm"),
    "z": ("scaled scores", "scores", "norm"),
    "E": ("embeddings", "exponentials"),
    "e": ("exponentials",),
    "P": ("weights",),
    "p": ("weights",),
    "a": ("weights",),
    "A": ("attention output", "scores"),
    "y": ("add and norm", "norm", "residual", "feed-forward output", "attention output"),
    "Y": ("add and norm", "norm", "residual", "feed-forward output"),
    "h": ("hidden state", "hidden layer", "norm", "residual", "attention output"),
    "H": ("joined heads", "hidden layer", "norm", "residual", "attention output"),
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
_TESTS_BY_TITLE = {meaning.title: meaning.tests for meaning in MEANINGS}
_LAST = frozenset(_words_of(LAST_LINE))


def line_title(record: Record) -> str:
    """Return what a record is called in a report, such as "scaled scores"; "" if it has only its symbol."""
    return next((meaning.title for meaning in MEANINGS if meaning.tests[0](record)), "")


def words_for(graph: Graph) -> list[str]:
    """Return the words that name a line of this sheet."""
    words = [
        word
        for meaning in MEANINGS
        if any(test(record) for test in meaning.tests for record in graph.records)
        for word in meaning.words.split(", ")
    ]
    return list(dict.fromkeys([*words, *LAST_LINE.split(", ")]))


_PLACE_WORDS = {
    "self": "self_attention",
    "masked": "self_attention",
    "cross": "cross_attention",
    "ffn": "feed_forward",
    "mlp": "feed_forward",
    "residual": "add_and_norm",
    "residual_and_norm": "add_and_norm",
}
_COUNTED = {"head": "head", "part": "part", "block": "", "layer": "", "time": "time", "t": "time", "step": "generate"}


@lru_cache(maxsize=2**15)
def matches_place(where: str, record_where: str) -> bool:
    """Return whether a record is in the named part of the model.

    A name is the record's path, part of it, or words such as `head 2`, `encoder layer 1` or `encoder block 1`. Paths
    count from 0, and a number belongs to the word before it: `part.0` is not `part.1.encoder.0`.
    """
    if not where or where == record_where:
        return True
    path = record_where.split(".")
    hints = [hint.strip().casefold().replace("-", "_") for hint in re.split(r"[.:/,·]|\bof\b|\bin\b", where)]
    hints = [hint for hint in hints if hint]
    for hint, following in pairwise([*hints, ""]):
        if following.isdecimal() and not hint.isdecimal():
            word = "_".join(hint.split())
            word = _PLACE_WORDS.get(word, word)
            if not any(step.startswith(word) and number == following for step, number in pairwise(path)):
                return False
        elif (not hint.isdecimal() or len(hints) == 1) and not _hint_fits(hint.split(), path):
            return False
    return True


def _hint_fits(words: list[str], path: list[str]) -> bool:
    joined = "_".join(words)
    if joined in path or _PLACE_WORDS.get(joined, joined) in path:
        return True
    counted = re.fullmatch(r"([a-z_]+?)_?=?_?(\d+)", joined)
    if counted is None:
        return any(joined and step.startswith(joined) for step in path)
    word, number = re.sub(r"(?<=coder)_(?:block|layer)$", "", counted[1]), int(counted[2])  # encoder layer 1
    word = _COUNTED.get(word, _PLACE_WORDS.get(word, word))
    return any(
        path[place + 1] == str(number - 1) and (not word or step == word or step.startswith(word))
        for place, step in enumerate(path[:-1])
    )


@dataclass(frozen=True)
class RecordCandidates:
    """The records that a name can mean, the most likely first; `row` is set if the name itself selects one (`q2`).

    `others` are records for which people use the name too. They are tried where `nodes` do not fit. With `is_symbol`,
    the name is the sheet's own symbol of the first of the nodes. With `is_guess`, the nodes are such other records.
    """

    nodes: tuple[int, ...]
    row: str = ""
    others: tuple[int, ...] = ()
    is_symbol: bool = False
    is_guess: bool = False


def find_records(graph: Graph, name: str, where: str) -> RecordCandidates:
    """Return the records that a name can mean in a part of the model."""
    head = _HEAD(name) if name.casefold().count("head") == 1 else None
    if head is not None and "head" not in where.casefold():  # `Q of head 2`; `head 2` alone means its output
        plain = (re.sub(r"(?i)\s(?:of|in|for)\s+$", "", head[1]) + head[3]).strip(" _,()") or "Z"
        return find_records(graph, plain, f"{where}.head {head[2]}".lstrip("."))
    key = symbol_key(name)
    exact = [i for i in graph.by_place.get(where, ()) if symbol_key(graph.records[i].symbol) == key]
    if exact and where and key not in OTHER_MEANINGS:
        return RecordCandidates(tuple(exact), is_symbol=True)
    here = sorted(i for place, indices in graph.by_place.items() if matches_place(where, place) for i in indices)
    others = [i for i in _by_other_meaning(graph, here, key) if i not in exact]
    if exact and where:
        return RecordCandidates(tuple(exact), "", tuple(others), is_symbol=True)
    named = [i for i in here if symbol_key(graph.records[i].symbol) == key]
    if not named and where:  # the Q of head 2 is Q₂
        named = [i for i in here if symbol_key(graph.records[i].symbol).rstrip("0123456789") == key]
    named = _new_rows(graph, here, key) + named if named else []
    nodes = named + _further_readings(graph, here, name, named) if named else _by_word(graph, here, word_key(name))
    nodes = nodes or _in_capitals(graph, here, key)
    if nodes:
        others = [i for i in others if i not in nodes]
        return RecordCandidates(tuple(nodes), "", tuple(others), is_symbol=bool(named))
    if others:
        return RecordCandidates(tuple(others), is_guess=True)
    plainer = _without_explanation(name)
    if plainer:
        return find_records(graph, plainer, where)
    shorter = _NUMBERED.fullmatch(name.translate(SUBSCRIPTS).strip())
    if shorter is None:
        return RecordCandidates(())
    deeper = find_records(graph, shorter[1].rstrip("_^{ "), where)
    return RecordCandidates(()) if deeper.row else replace(deeper, row=shorter[2] or shorter[3])


def _by_other_meaning(graph: Graph, here: list[int], key: str) -> list[int]:
    matches: list[int] = []
    for title in OTHER_MEANINGS.get(key, ()):
        for test in _TESTS_BY_TITLE[title]:
            matches += [i for i in here if test(graph.records[i]) and i not in matches]
    return matches


def counted_from_one(places: Sequence[str]) -> list[str]:
    """Return names and places with heads and layers counted from 1, if there is a `head 0` or a `layer0` in them."""
    for word in ("head", "layer", "block"):
        number = re.compile(rf"(?i)(?<![a-z])({word}[\s_]*)(\d+)(?![\d.])")
        if any(int(match[2]) == 0 for place in places for match in number.finditer(place)):
            places = [number.sub(lambda match: f"{match[1]}{int(match[2]) + 1}", place) for place in places]
    return list(places)


def _new_rows(graph: Graph, here: list[int], key: str) -> list[int]:
    """Return the keys or values of the new tokens where the others are cached: a student's K can be K_new alone."""
    letter = re.fullmatch(r"([KV])(\d*)", key)
    if letter is None:
        return []
    return [i for i in here if symbol_key(graph.records[i].symbol) == f"{letter[1]}new{letter[2]}"]


def _in_capitals(graph: Graph, here: list[int], key: str) -> list[int]:
    """Return the records with the capital of a small letter, if the problem does not use the small letter itself."""
    if len(key) != 1 or any(symbol_key(matrix.symbol) == key for matrix in graph.givens.values()):
        return []
    return [i for i in here if symbol_key(graph.records[i].symbol) == key.upper()]


def _without_explanation(name: str) -> str:
    """Remove an explanation from a name, as in `scores (Q Kᵀ)` or `weight matrix`; return "" if there is none."""
    short = re.sub(r"\s+\([^()]*\)$|(?<=\w\w)\(.*\)$", "", name.strip())  # also Concat(head1, head2)
    short = re.sub(r"(?i)^(?:the|final)\s+|[\s_]+(?:matrix|matrices|vectors?)$", "", short).strip()
    return short if short and short != name.strip() else ""


def _further_readings(graph: Graph, here: list[int], name: str, named: list[int]) -> list[int]:
    """Return further meanings of a symbol that is used for several lines, such as E, S and Z."""
    if graph.records[named[0]].step.name not in _OPEN and word_key(name) not in _LAST:
        return []
    return [i for i in _by_word(graph, here, word_key(name)) if i not in named]


def _by_word(graph: Graph, here: list[int], key: str) -> list[int]:
    matches: list[int] = []
    if key in _LAST and here:
        matches += _last_lines(graph, here)
    for test in WORDS.get(key, ()):
        fresh = [i for i in here if test(graph.records[i]) and i not in matches]
        matches += fresh
        if fresh and graph.records[fresh[0]].step.name not in _OPEN:
            break
    return matches


def _last_lines(graph: Graph, here: list[int]) -> list[int]:
    """Return the last record of a part, then its residual and norm, then its weighted sum."""
    last = here[-1]
    lines = [last]
    step: int | None = last
    while step is not None and len(lines) < 4:
        norms = ("add", "mean", "normalise", "rms_normalise")
        after = [c for c in graph.children[step] if graph.records[c].step.name in norms]
        residual = next((c for c in after if graph.records[c].step.name != "mean"), None)
        step = residual if residual not in lines else None
        if step is not None and step not in here:
            lines.append(step)
        elif step is not None:
            break
    outputs = [i for i in reversed(here) if graph.records[i].step.name in ("mix", "join", "project") and i != last]
    return lines + [i for i in outputs if not graph.records[i].where.endswith(("query", "key", "value"))]
