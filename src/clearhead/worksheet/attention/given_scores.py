"""Attention with the scores given: scale, mask and softmax, then the values if there are any."""

from pydantic import AliasChoices, Field

from clearhead.steps.vocabulary import MIX, SCORE
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.attention.layer import AttentionLayer
from clearhead.worksheet.attention.rule import Names, check_scores, work_mask, work_scale, work_weights
from clearhead.worksheet.attention.validation import SequenceShape
from clearhead.worksheet.cells import Count, Matrix, count
from clearhead.worksheet.pen import Pen
from clearhead.worksheet.shapes import Shapes, size

_UNUSED = (
    *("Q", "W_Q", "b_Q", "K", "W_K", "b_K", "cached_K", "cached_V", "rotary"),
    *("num_heads", "num_kv_heads", "heads", "kv_heads"),
)


class ScoredAttentionLayer(AttentionLayer):
    """An attention layer whose scores can be given instead of queries and keys."""

    scores: Matrix | None = Field(
        None,
        validation_alias=AliasChoices("scores", "S"),
        description="the scores, one row for each query (alias S), instead of queries and keys; they are scaled only "
        "if d_k or scale is given",
    )
    d_k: Count | None = Field(None, ge=1, description="with scores: the width of a key, for the scale sqrt(d_k)")

    def score_mistakes(self, shapes: Shapes, tokens_shape: SequenceShape | None) -> None:
        """Report keys that scores exclude, a scale without its width, and values that do not fit."""
        assert self.scores is not None
        for key in _UNUSED:
            value = getattr(self, key)
            if value is not None and not (isinstance(value, tuple) and not value):
                shapes.add(("scores", key), f"both scores and {key} are given. Remove one of them.")
        num_queries, num_keys = shapes.tokens(self.scores), shapes.width(self.scores)
        if "scale" in self.model_fields_set and self._root == "d_k" and self.d_k is None:
            shapes.add(("scale", "d_k"), "scale sqrt(d_k) needs d_k, because only the scores are given. Give d_k.")
        if self._root == "d_model":
            shapes.add(
                ("scale", "scores"),
                "scale sqrt(d_model) cannot be used with scores, because d_model is not known. Give the number to "
                "divide by.",
            )
        if self.d_k is not None and "scale" in self.model_fields_set and self._root != "d_k":
            shapes.add(("d_k", "scale"), f"d_k is not used with scale {self.scale}. Remove one of them.")
        self.mask.mistakes(shapes, num_queries, num_keys)
        self._value_mistakes(shapes, num_keys, tokens_shape)

    def width_mistakes(self, shapes: Shapes) -> None:
        """Report a width that only scores need."""
        if self.d_k is not None:
            shapes.add(("d_k", "scores"), "d_k is used only with scores: otherwise it is the width of K. Remove it.")

    @property
    def _root(self) -> str:
        return {"sqrt(d_k)": "d_k", "sqrt(d_model)": "d_model"}.get(str(self.scale), "")

    def _value_mistakes(self, shapes: Shapes, num_keys: int, tokens_shape: SequenceShape | None) -> None:
        width, num_values = 0, num_keys
        if self.V is not None and self.W_V is not None:
            shapes.add(("V", "W_V"), "both V and W_V are given. Remove one of them.")
        elif self.V is not None:
            num_values, width = shapes.tokens(self.V), shapes.width(self.V)
        elif self.W_V is not None and tokens_shape is None:
            shapes.add(("W_V", "V", "X"), "W_V needs input tokens: give X, or give the matrix V instead.")
        elif self.W_V is not None and tokens_shape is not None:
            num_values, width = tokens_shape.count, shapes.width(self.W_V)
            on_paper = tokens_shape.on_paper(shapes)
            shapes.product(tokens_shape.name, tokens_shape.width, on_paper, "W_V", self.W_V)
            if self.b_V is not None:
                shapes.bias("b_V", self.b_V, "W_V", self.W_V)
        if num_values != num_keys:
            shapes.add(
                ("scores", "V"),
                f"the scores are for {num_keys} keys, but there are {num_values} values. "
                "Every key needs one value: give the same number of each.",
            )
        for key, needed in (("W_O", "V"), ("b_O", "W_O"), ("b_V", "W_V")):
            owners = ("V", "W_V") if needed == "V" else (needed,)
            if getattr(self, key) is not None and all(getattr(self, owner) is None for owner in owners):
                shapes.add((key, needed), f"{key} needs {needed}, which is not given. Remove it.")
        if self.W_O is not None and width:
            shapes.product("Z", width, None, "W_O", self.W_O)
            if self.b_O is not None:
                shapes.bias("b_O", self.b_O, "W_O", self.W_O)

    def work_scores(self, pen: Pen, x: Array | None, names: tuple[Names, Names]) -> Array:
        """Write the layer from the given scores; `x` are the tokens of the values, `names` those of both sides."""
        assert self.scores is not None
        names = self._fitting(pen, names)
        is_scaled = "scale" in self.model_fields_set or self.d_k is not None
        rule = self if is_scaled else self.model_copy(update={"scale": "none"})
        raw = "KᵀQ" if pen.layout == "columns" and rule.scale != "none" else SCORE.symbol_in(pen.layout)
        scores = pen.give("scores", self.scores, symbol=raw, rows=names[0], columns=names[1])
        check_scores(1, *scores.shape)
        has_values = self.V is not None or self.W_V is not None
        v = self.projection("value").work(pen, x, names[1], "") if has_values else None
        allowed = work_mask(pen, self.mask, scores.shape[0], scores.shape[1], names)
        scores = work_scale(pen, rule, scores, self.d_k or 1, 1)
        weights = work_weights(pen, rule, scores, allowed)
        if v is None:
            return weights
        return self.work_output(pen, pen.work(MIX, weights=weights, v=v))

    def _fitting(self, pen: Pen, names: tuple[Names, Names]) -> tuple[Names, Names]:
        """Return the names of queries and keys, each only if it fits the scores."""
        assert self.scores is not None
        counts = self.scores.shape[::-1] if pen.layout == "columns" else self.scores.shape
        queries, keys = (own if len(own) == number else () for own, number in zip(names, counts, strict=True))
        return queries, keys


def names_of_scores(shapes: Shapes, scores: Array, tokens: Names, source_tokens: Names | None = None) -> None:
    """Report names that fit neither the queries nor the keys of the scores."""
    num_queries, num_keys = shapes.tokens(scores), shapes.width(scores)
    if source_tokens is not None:
        shapes.names("tokens", tokens, "scores", num_queries)
        shapes.names("source_tokens", source_tokens, "scores", num_keys)
    elif tokens and len(tokens) not in (num_queries, num_keys):
        shapes.add(
            ("tokens", "scores"),
            f"tokens has {count(len(tokens), 'name')}, but scores is {size(scores)}. Give a name for every token, or "
            "omit tokens.",
        )
