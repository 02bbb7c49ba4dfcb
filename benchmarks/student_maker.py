"""The numbers, matrices and layers of random problems, in the style of one exercise."""

import random
from typing import Any

from student_exact import Data

WORDS = ("the", "cat", "sat", "on", "a", "mat", "we", "go")


class Maker:
    """Draws the numbers of one problem in one style: how many decimals, how large, tokens as rows or columns."""

    def __init__(self, chooser: random.Random, layout: str = "") -> None:
        self.chooser = chooser
        self.layout = layout or chooser.choice(["rows", "rows", "columns"])
        self.decimals = chooser.choice([0, 0, 1, 1, 2])
        self.largest = chooser.choice([1, 1, 2, 3]) if self.decimals == 0 else chooser.choice([0.5, 1, 1, 2])
        self.is_positive = chooser.random() < 0.25

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
            "norm": self.chooser.choice(["layer", "layer", "layer", "batch", "all", "rms"]),
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
