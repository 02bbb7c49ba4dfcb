"""Random problems of every kind, with the small numbers that exercises have and every convention stated.

A Maker draws one problem; what `solve` refuses (a sum of 0, a variance of 0) is drawn again.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from clearhead.errors import ClearheadError
from clearhead.worksheet.solver import solve
from clearhead.worksheet.worksheet import Worksheet
from student_exact import Data, with_exact_scores

WORDS = ("the", "cat", "sat", "on", "a", "mat", "we", "go")
MAX_RECORDS = 140  # longer workings are not realistic exercises


@dataclass(frozen=True)
class Exercise:
    """A problem as plain data, and its exact working."""

    data: Data
    sheet: Worksheet


def random_exercise(seed: int, kinds: tuple[str, ...] = ()) -> Exercise:
    """Return a problem that can be worked, always the same one for a seed."""
    chooser = random.Random(seed)
    for _ in range(200):
        kind = chooser.choice(kinds or tuple(MAKERS))
        data = (maker := Maker(chooser)).problem(kind)
        if maker.decimals == 0 and maker.often(0.5):
            data = with_exact_scores(data, chooser)
        try:
            sheet = solve(data)
        except ClearheadError:
            continue
        names = [(record.symbol, record.where) for record in sheet.trace]
        if 0 < len(sheet.trace) <= MAX_RECORDS and len(set(names)) == len(names):
            return Exercise(data, sheet)
    raise AssertionError(f"seed {seed} gave no problem that can be worked")


class Maker:
    """Draws the numbers of one problem in one style: how many decimals, how large, tokens as rows or columns."""

    def __init__(self, chooser: random.Random, layout: str = "") -> None:
        self.chooser = chooser
        self.layout = layout or chooser.choice(["rows", "rows", "columns"])
        self.decimals = chooser.choice([0, 0, 1, 1, 2])
        self.largest = chooser.choice([1, 1, 2, 3]) if self.decimals == 0 else chooser.choice([0.5, 1, 1, 2])
        self.is_positive = chooser.random() < 0.25

    def problem(self, kind: str) -> Data:
        """Draw a problem of a kind."""
        return {"kind": kind, "layout": self.layout, **MAKERS[kind](self)}

    def often(self, chance: float) -> bool:
        """Return True with this probability."""
        return self.chooser.random() < chance

    def size(self) -> int:
        """Draw a number of tokens or a width."""
        return self.chooser.choice([2, 2, 3, 3, 4])

    def number(self) -> float:
        """Draw a number in the problem's style."""
        unit = 10**self.decimals
        least = 0 if self.is_positive else -round(self.largest * unit)
        drawn = self.chooser.randint(least, round(self.largest * unit)) / unit
        return int(drawn) if self.decimals == 0 else drawn

    def vector(self, width: int) -> list[float]:
        """Draw a vector."""
        return [self.number() for _ in range(width)]

    def plain(self, rows: int, columns: int) -> list[list[float]]:
        """Draw a matrix that is written the same way in every layout."""
        return [self.vector(columns) for _ in range(rows)]

    def matrix(self, rows: int, columns: int) -> list[list[float]]:
        """Draw a matrix, `rows` by `columns` with tokens as rows, and transpose it where tokens are columns."""
        return self.turned(self.plain(rows, columns))

    def turned(self, matrix: list[list[Any]]) -> list[list[Any]]:
        """Transpose a matrix where tokens are columns."""
        return [list(row) for row in zip(*matrix, strict=True)] if self.layout == "columns" else matrix

    def embedding(self, width: int, words: tuple[str, ...] = WORDS[:5]) -> Data:
        """Draw a vector for each word."""
        return {word: self.vector(width) for word in words}

    def words(self, count: int) -> list[str]:
        """Draw a sentence."""
        return [self.chooser.choice(WORDS[:5]) for _ in range(count)]

    def sentence(self, count: int, width: int, *, has_position: bool = True) -> Data:
        """Draw the tokens: X or words in an embedding, with or without positions."""
        data: Data = {"X": self.matrix(count, width)}
        if self.often(0.3):
            data = {"embedding": self.embedding(width), "tokens": self.words(count)}
        if has_position and self.often(0.3):
            data["position"] = self.position(count, width)
        return data

    def position(self, count: int, width: int) -> Any:
        """Draw positions to add."""
        formula = self.chooser.choice(
            ["sinusoidal", "sinusoidal", "sinusoidal-odd-exponent", "learned", "one-hot", "count", "given"]
        )
        if formula == "given":
            return {"formula": "given", "table": self.matrix(count, width)}
        data: Data = {"formula": formula, "start": 0}
        if formula == "learned":
            data["table"] = self.matrix(count + 2, width)
        elif formula.startswith("sinusoidal"):
            data["base"] = self.chooser.choice([10000, 10000, 100, 10])
        return data

    def mask(self, queries: int, keys: int, *, is_fixed: bool = True) -> Any:
        """Draw a mask under which every query sees something; `is_fixed` allows one of a fixed size."""
        choices: list[Any] = ["none", "none"]
        if queries <= keys:
            choices.append("causal")
        if is_fixed:
            choices.append({"padding": 1} if keys > 1 else "none")
            allowed = [[int(self.often(0.6)) for _ in range(keys)] for _ in range(queries)]
            for row in allowed:
                row[self.chooser.randrange(keys)] = 1
            choices.append({"explicit": self.turned(allowed)})
        return self.chooser.choice(choices)

    def rule(self) -> Data:
        """Draw how scores become weights, with every convention stated."""
        scales: list[Any] = ["sqrt(d_k)", "sqrt(d_k)", "sqrt(d_k)", "none", "sqrt(d_model)", 2]
        data: Data = {"scale": self.chooser.choice(scales), "normaliser": "softmax"}
        if self.often(0.12):
            data["normaliser"] = "division"
        elif self.often(0.15):
            data["base"] = self.chooser.choice([2, 3, 10])
        return data

    def weights(self, queries: int, keys: int, width: int, value_width: int) -> Data:
        """Draw W_Q, W_K and W_V for the widths of the queries' and the keys' inputs, sometimes with biases."""
        shapes = {"Q": (queries, width), "K": (keys, width), "V": (keys, value_width)}
        data: Data = {f"W_{name}": self.matrix(*shape) for name, shape in shapes.items()}
        if self.often(0.25):
            data |= {f"b_{name}": self.vector(shape[1]) for name, shape in shapes.items()}
        return data

    def output(self, data: Data, width: int, wanted: int | None) -> None:
        """Draw W_O, which is needed where the joined heads do not have the required width."""
        if wanted is None and self.often(0.5):
            return
        if wanted == width and self.often(0.5):
            return
        data["W_O"] = self.matrix(width, wanted or width)
        if self.often(0.25):
            data["b_O"] = self.vector(wanted or width)

    def attention(self, query_width: int, key_width: int, wanted: int | None, heads: str = "") -> Data:
        """Draw an attention layer from vectors of width `asking` over vectors of width `asked`."""
        heads = heads or self.chooser.choice(["one", "one", "one", "split", "own"])
        data = self.rule()
        rotary = self.often(0.15)
        width = self.chooser.choice([2, 4]) if rotary else self.size()
        if rotary:
            data["rotary"] = {
                "base": self.chooser.choice([10000, 100]),
                "pairing": self.chooser.choice(["neighbours", "halves"]),
            }
        if heads == "split":
            width = 2 if rotary else self.chooser.choice([1, 2])
            count = 2
            kv = self.chooser.choice([1, 2])
            data |= {"num_heads": count, "W_Q": self.matrix(query_width, count * width)}
            data |= {name: self.matrix(key_width, kv * width) for name in ("W_K", "W_V")}
            if kv != count:
                data["num_kv_heads"] = kv
            if self.often(0.25):
                data |= {"b_Q": self.vector(count * width), "b_K": self.vector(kv * width)}
            self.output(data, count * width, wanted)
        elif heads == "own":
            width = 2
            data["heads"] = [self.weights(query_width, key_width, width, width) for _ in range(2)]
            if self.often(0.25):
                data["heads"] = [{"W_Q": self.matrix(query_width, width)} for _ in range(2)]
                data["kv_heads"] = [{"W_K": self.matrix(key_width, width), "W_V": self.matrix(key_width, width)}]
            self.output(data, 2 * width, wanted)
        else:
            value_width = wanted if wanted and self.often(0.6) else self.size()
            data |= self.weights(query_width, key_width, width, value_width)
            if (wanted and value_width != wanted) or self.often(0.2):
                data["W_O"] = self.matrix(value_width, wanted or self.size())
        return data

    def norm(self, width: int) -> Data:
        """Draw a norm, with every convention stated."""
        data: Data = {
            "norm": self.chooser.choice(["layer", "layer", "layer", "batch", "all"]),
            "epsilon": self.chooser.choice([0, 1e-5, 0.001, 0.01, 0.1, 1]),
            "epsilon_place": self.chooser.choice(["inside", "inside", "outside"]),
        }
        if self.often(0.3):
            data["gain"] = self.vector(width)
        if self.often(0.3):
            data["shift"] = self.vector(width)
        return data

    def feed_forward(self, width: int, wanted: int) -> Data:
        """Draw a feed-forward network."""
        inner = self.size()
        data: Data = {
            "W_1": self.matrix(width, inner),
            "W_2": self.matrix(inner, wanted),
            "activation": self.chooser.choice(["relu", "relu", "relu", "tanh", "sigmoid", "gelu", "silu"]),
        }
        if self.often(0.6):
            data |= {"b_1": self.vector(inner), "b_2": self.vector(wanted)}
        return data

    def encoder(self, width: int, count: int | None) -> Data:
        """Draw an encoder block (without a mask of fixed size where there is no `count`)."""
        data: Data = {"self_attention": self.attention(width, width, width)}
        data["self_attention"]["mask"] = self.mask(count or 2, count or 2, is_fixed=count is not None)
        return data | self.block_end(width)

    def decoder(self, width: int, memory: int, count: int | None) -> Data:
        """Draw a decoder block."""
        data: Data = {
            "self_attention": {**self.attention(width, width, width), "mask": "causal"},
            "cross_attention": {**self.attention(width, memory, width), "mask": "none"},
        }
        if count is not None and self.often(0.2):
            data["self_attention"]["mask"] = "none"
        return data | self.block_end(width)

    def block_end(self, width: int) -> Data:
        """Draw what a block has after its attention."""
        data: Data = {"norm_place": self.chooser.choice(["post", "pre"])}
        data["norm"] = self.norm(width) if self.often(0.8) else {"norm": "none"}
        if self.often(0.7):
            data["feed_forward"] = self.feed_forward(width, width)
        return data


def _seq2seq(make: Maker) -> Data:
    count, width = make.size(), make.size()
    score = make.chooser.choice(["dot", "scaled-dot", "multiplicative", "additive", "additive-concatenated"])
    state = width if "dot" in score or make.often(0.7) else make.size()
    data: Data = {"score": score, "h": make.matrix(count, width), "s": make.vector(state)}
    inner = make.size()
    if score == "multiplicative":
        data["W"] = make.plain(state, width)
    if score == "additive":
        data |= {"W_h": make.plain(inner, width), "W_s": make.plain(inner, state), "v": make.vector(inner)}
    if score == "additive-concatenated":
        data |= {"W": make.plain(inner, width + state), "v": make.vector(inner)}
    if make.often(0.4):
        data["W_c"] = make.plain(make.size(), width + state)
    return data


def _self_attention(make: Maker, heads: str = "") -> Data:
    count, width = make.size(), make.size()
    if not heads and make.often(0.2):
        inner = make.size()
        matrices = {name: make.matrix(count, inner) for name in "QKV"}
        return {**matrices, **make.rule(), "mask": make.mask(count, count)}
    layer = make.attention(width, width, None, heads)
    data = {**make.sentence(count, width), **layer, "mask": make.mask(count, count)}
    if not heads and "heads" not in data and "num_heads" not in data and make.often(0.12):
        cached = make.size()
        inner, value = (len(data[key][0 if make.layout == "rows" else slice(None)]) for key in ("W_K", "W_V"))
        data |= {"cached_K": make.matrix(cached, inner), "cached_V": make.matrix(cached, value)}
        data["mask"] = make.mask(count, cached + count)
    return data


def _masked(make: Maker) -> Data:
    return {**_self_attention(make), "mask": "causal"}


def _cross(make: Maker) -> Data:
    queries, keys, query_width, key_width = (make.size() for _ in range(4))
    data: Data = {"Y": make.matrix(queries, query_width), "X": make.matrix(keys, key_width)}
    return {**data, **make.attention(query_width, key_width, None), "mask": make.mask(queries, keys)}


def _multi_head(make: Maker) -> Data:
    if make.often(0.25):
        queries, keys, query_width, key_width = (make.size() for _ in range(4))
        data: Data = {"Y": make.matrix(queries, query_width), "X": make.matrix(keys, key_width)}
        heads = make.chooser.choice(["split", "own"])
        return {**data, **make.attention(query_width, key_width, None, heads), "mask": make.mask(queries, keys)}
    return _self_attention(make, make.chooser.choice(["split", "own"]))


def _positions(make: Maker) -> Data:
    formula = make.chooser.choice(
        ["sinusoidal"] * 4 + ["sinusoidal-odd-exponent", "learned", "one-hot", "count", "rotary"]
    )
    count, width = make.size(), make.chooser.choice([2, 4, 4, 6])
    data: Data = {"formula": formula}
    if formula == "learned":
        data["P"] = make.matrix(count + 2, width)
    elif formula not in ("one-hot", "count"):
        data["base"] = make.chooser.choice([10000, 10000, 100, 10])
    if formula == "rotary":
        data["pairing"] = make.chooser.choice(["neighbours", "halves"])
    if formula == "rotary" or make.often(0.5):
        return data | make.sentence(count, width, has_position=False)
    if formula != "learned":
        data["d_model"] = width
        if make.often(0.2) and formula != "one-hot":
            data["dimensions"] = sorted(make.chooser.sample(range(width), 2))
    data["positions"] = count if make.often(0.6) else sorted(make.chooser.sample(range(count + 2), 2))
    return data


def _context(make: Maker) -> Data:
    count, width = make.size(), make.size()
    data = make.sentence(count, width, has_position=make.often(0.3))
    data["mask"] = make.mask(count, count)
    source = make.chooser.choice(["weights", "times", "dots", "dots"])
    if source == "weights":
        shares = [[make.chooser.randint(1, 9) / 10 for _ in range(count)] for _ in range(count)]
        data["weights"] = make.turned(shares)
    elif source == "times":
        data |= {"times": sorted(make.chooser.sample(range(8), count)), "variance": make.chooser.choice([1, 2, 4])}
    else:
        data |= make.rule()
        if make.often(0.15):
            data.pop("base", None)
            data["normaliser"] = "none"
    return data


def _add_norm(make: Maker) -> Data:
    count, width = make.size(), make.size()
    data: Data = {"X": make.matrix(count, width), **make.norm(width)}
    if make.often(0.7):
        data["Y"] = make.matrix(count, width)
    if make.often(0.15):
        data |= {"padding": 1, "count_padding": make.often(0.5)}
    return data


def _feed_forward(make: Maker) -> Data:
    width = make.size()
    data = {**make.sentence(make.size(), width), **make.feed_forward(width, make.size())}
    return data | {"as_convolution": True} if make.often(0.15) else data


def _encoder(make: Maker) -> Data:
    count, width = make.chooser.choice([2, 3]), make.size()
    return {**make.sentence(count, width), **make.encoder(width, count)}


def _decoder(make: Maker) -> Data:
    count, width, memory = make.chooser.choice([2, 3]), make.size(), make.size()
    data = {**make.sentence(count, width), "memory": make.matrix(make.size(), memory)}
    return data | make.decoder(width, memory, count)


def _transformer(make: Maker) -> Data:
    width, words = make.chooser.choice([2, 3]), ("<EOS>", "va", "mos")
    data: Data = {
        "source": make.sentence(2, width),
        "encoder": [make.encoder(width, 2)],
        "target_embedding": make.embedding(width, words),
        "decoder": [make.decoder(width, width, None)],
        "W_out": make.matrix(width, len(words)),
        "start": "<EOS>",
        "end": "<EOS>",
    }
    if make.often(0.4):
        data["b_out"] = make.vector(len(words))
    if make.often(0.2):
        data |= {"encoder_norm": make.norm(width), "decoder_norm": make.norm(width)}
    if make.often(0.5):
        return data | {"target": ["va"], "one_by_one": make.often(0.3)}
    return data | {"choose": "greedy", "max_length": make.chooser.choice([1, 2])}


def _word_vectors(make: Maker) -> Data:
    task = make.chooser.choice(["one-hot", "tf-idf", "tf-idf", "look-up", "similarity", "similarity"])
    if task == "one-hot":
        return {"task": task, "tokens": make.words(4)}
    if task == "tf-idf":
        documents = [make.words(make.chooser.choice([3, 4, 5])) for _ in range(3)]
        return {"task": task, "documents": documents, "idf": make.chooser.choice(["N/df", "smooth"])}
    return {"task": task, "embedding": make.embedding(make.size()), "tokens": list(WORDS[:3])}


def _recurrent(make: Maker) -> Data:
    width, state, count = make.size(), make.chooser.choice([2, 3]), make.chooser.choice([2, 3])

    def cell() -> Data:
        data: Data = {"W": make.plain(state, width), "U": make.plain(state, state)}
        return data | {"b": make.vector(state)} if make.often(0.6) else data

    data = {**make.sentence(count, width, has_position=False), "h0": make.vector(state)}
    if make.often(0.5):
        return data | {"cell": cell()}
    gates = {gate: cell() for gate in ("forget", "input", "candidate", "output")}
    return data | {"lstm": gates, "c0": make.vector(state)}


def _convolution(make: Maker) -> Data:
    width, out = make.size(), make.chooser.choice([1, 2, 3])
    data = {
        **make.sentence(make.size(), width, has_position=False),
        "taps": [make.matrix(width, out) for _ in range(make.chooser.choice([1, 2, 3]))],
        "padding": make.chooser.choice(["same", "causal", "valid"]),
        "activation": make.chooser.choice(["none", "relu", "tanh", "sigmoid"]),
    }
    return data | {"b": make.vector(out)} if make.often(0.5) else data


def _parts(make: Maker) -> Data:
    kinds = [kind for kind in MAKERS if kind not in ("parts", "transformer", "decoder-block", "encoder-block")]
    parts = []
    for _ in range(2):
        part = Maker(make.chooser, make.layout).problem(make.chooser.choice(kinds))
        part.pop("layout")
        parts.append(part)
    return {"parts": parts}


MAKERS: dict[str, Callable[[Maker], Data]] = {
    "seq2seq-attention": _seq2seq,
    "self-attention": _self_attention,
    "masked-self-attention": _masked,
    "cross-attention": _cross,
    "multi-head-attention": _multi_head,
    "positions": _positions,
    "context": _context,
    "add-and-norm": _add_norm,
    "feed-forward": _feed_forward,
    "encoder-block": _encoder,
    "decoder-block": _decoder,
    "transformer": _transformer,
    "word-vectors": _word_vectors,
    "recurrent": _recurrent,
    "convolution": _convolution,
    "parts": _parts,
}
