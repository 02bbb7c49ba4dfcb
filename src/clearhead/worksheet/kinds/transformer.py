"""A complete small Transformer, which generates token by token or computes the loss of a given target."""

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from clearhead.errors import ProblemError, did_you_mean
from clearhead.steps.symbols import subscript
from clearhead.steps.vocabulary import ADD, CHOOSE, EMBED, GRADIENT, LOSS, PICK, PROJECT, TOTAL
from clearhead.worksheet.arrays import Array, Ids
from clearhead.worksheet.attention.layer import KeyValueWeights
from clearhead.worksheet.attention.validation import SequenceShape
from clearhead.worksheet.attention.work import TokenSequence
from clearhead.worksheet.cells import Count, Embedding, Matrix, Title, Tokens, Vector
from clearhead.worksheet.input_tokens import Position, PositionedTokens, PositionRule
from clearhead.worksheet.layers import DecoderLayer, EncoderLayer, Norm
from clearhead.worksheet.pen import Pen
from clearhead.worksheet.problem import Problem
from clearhead.worksheet.shapes import Shapes
from clearhead.worksheet.softmax import work_softmax

Names = tuple[str, ...]


class TransformerProblem(Problem):
    """Encoder, decoder and output layer, with generation or with teacher forcing, loss and gradient."""

    summary: ClassVar[str] = (
        "a complete encoder-decoder that generates until the end token, or computes the loss of a target sentence"
    )

    kind: Literal["transformer"] = "transformer"
    source: PositionedTokens = Field(description="the sentence to read: {tokens, embedding, position} or {X, position}")
    encoder: tuple[EncoderLayer, ...] = Field(
        max_length=64, description="the encoder layers, each with the keys of encoder-block"
    )
    encoder_norm: Norm | None = Field(None, description="a final norm after the encoder, as in pre-norm models")
    target_embedding: Embedding = Field(
        description="the output vocabulary: words with their vectors, in the order of the output layer"
    )
    target_position: Position | None = Field(
        None, description="positions to add to the decoder input, with the keys of position"
    )
    decoder: tuple[DecoderLayer, ...] = Field(
        max_length=64, description="the decoder layers, each with the keys of decoder-block"
    )
    decoder_norm: Norm | None = Field(None, description="a final norm after the decoder")
    W_out: Matrix = Field(description="weights of the output layer, one score for each word")
    b_out: Vector | None = Field(None, description="bias of the output layer")
    start: Title = Field("<EOS>", description="the first input word of the decoder")
    end: Title = Field("<EOS>", description="the word that ends the sentence")
    target: Tokens = Field(
        (), description="the target sentence, without start and end, to compute the loss and its gradient"
    )
    one_by_one: bool = Field(False, description="with target: also compute the same loss one word at a time")
    choose: Literal["greedy", "sample"] = Field(
        "greedy", description="greedy: take the most probable word; sample: draw a word at random"
    )
    seed: Count = Field(0, ge=0, description="random seed of sample")
    max_length: Count = Field(10, ge=1, le=200, description="stop after this number of words")

    @property
    def words(self) -> Names:
        """The output vocabulary in order."""
        return tuple(self.target_embedding)

    def mistakes(self, shapes: Shapes) -> None:
        """Report errors in the sentences, the layers and the output layer."""
        self.source.token_mistakes(shapes)
        for key, word in (("start", self.start), ("end", self.end), *(("target", word) for word in self.target)):
            if word not in self.target_embedding:
                near = did_you_mean(word, self.words)
                shapes.add(
                    (key, "target_embedding"),
                    f"{key}: '{word}' has no vector in target_embedding.{near} Words: {', '.join(self.words)}.",
                )
        if not self.source.is_given:
            shapes.add(("source", "X", "embedding", "tokens"), "source needs X, or an embedding with tokens.")
            return
        count, width = self.source.size(shapes)
        inside = [Shapes(shapes.layout) for _ in (*self.encoder, *self.decoder)]
        for encoder, inner in zip(self.encoder, inside, strict=False):
            encoder.layer_mistakes(inner, count, width)
        target_width = len(next(iter(self.target_embedding.values())))
        length = len(self.target) + 1
        memory = SequenceShape("memory", count, width)
        for decoder, inner in zip(self.decoder, inside[len(self.encoder) :], strict=True):
            decoder.layer_mistakes(inner, length, target_width, memory)
        places = [f"encoder layer {n + 1}" for n in range(len(self.encoder))]
        places += [f"decoder layer {n + 1}" for n in range(len(self.decoder))]
        for place, inner in zip(places, inside, strict=True):
            shapes.include(place, inner)
        shapes.product("the decoder's output", target_width, None, "W_out", self.W_out)
        if shapes.width(self.W_out) != len(self.words):
            shapes.add(
                ("W_out", "target_embedding"),
                f"W_out gives {shapes.width(self.W_out)} scores, but target_embedding has {len(self.words)} words. "
                "Give W_out one score for each word.",
            )
        if self.b_out is not None:
            shapes.bias("b_out", self.b_out, "W_out", self.W_out)
        if self.target_position is not None:
            _as_learned(self.target_position).mistakes(shapes, "target_position", length, target_width)
        for name, rule, tokens, wide in (
            ("encoder_norm", self.encoder_norm, count, width),
            ("decoder_norm", self.decoder_norm, length, target_width),
        ):
            if rule is not None:
                inner = Shapes(shapes.layout)
                rule.norm_mistakes(inner, tokens, wide)
                shapes.include(name, inner)
        if self.one_by_one and not self.target:
            shapes.add(("one_by_one", "target"), "one_by_one needs target, which is not given. Remove it.")
        for number, block in enumerate(self.decoder, 1):
            self._fixed_size_mistakes(shapes, number, block)

    def _fixed_size_mistakes(self, shapes: Shapes, number: int, block: DecoderLayer) -> None:
        """Report values of a fixed size: the decoder runs with every number of words, starting at one."""
        for name, layer in (("self_attention", block.self_attention), ("cross_attention", block.cross_attention)):
            owners: list[KeyValueWeights] = [layer, *layer.heads, *layer.kv_heads]
            keys = ("cached_K", "cached_V", "Q") + (("K", "V") if name == "self_attention" else ())
            fixed = [key for owner in owners for key in keys if getattr(owner, key, None) is not None]
            if layer.mask.explicit is not None or (name == "self_attention" and layer.mask.padding is not None):
                fixed.append("mask")
            for key in dict.fromkeys(fixed):
                shapes.add(
                    (name, key),
                    f"decoder layer {number}: {name}: {key} has a fixed size, but the decoder runs with sentences of "
                    "every length. Remove it (a causal mask has no fixed size).",
                )

    def work(self, pen: Pen) -> None:
        """Write the encoder, then the generation or the loss."""
        x = self.source.work_tokens(pen.at("input"))
        names = self.source.names
        for number, block in enumerate(self.encoder):
            x = block.work_layer(pen.at("encoder", number), x, names)
        if self.encoder_norm is not None:
            x = self.encoder_norm.work_norm(pen.at("encoder", "norm"), x, names)
        memory = TokenSequence(x, names)
        table = pen.give_as_rows("E_target", np.stack(list(self.target_embedding.values())), rows=self.words)
        if self.target:
            self._teach(pen, memory, table)
        else:
            self._generate(pen, memory, table)

    def _generate(self, pen: Pen, memory: TokenSequence, table: Array) -> None:
        random = np.random.default_rng(self.seed)
        generated: list[str] = []
        longest = self._longest(pen)
        while not generated or (generated[-1] != self.end and len(generated) < longest):
            here = pen.at("generate", len(generated))
            prefix = (self.start, *generated)
            x = self._decode(here, prefix, memory, table)
            last = here.at("output").work(PICK, symbol="d", x=x, row=len(prefix))
            probabilities = self._probabilities(here, last)
            draw = float(random.random()) if self.choose == "sample" else None
            choice = here.at("output").work(CHOOSE, probabilities=probabilities, draw=draw)
            generated.append(self.words[int(choice[0, 0])])
        pen.warn(f"generated: {' '.join(generated)}")
        if generated[-1] != self.end:
            pen.warn(f"stopped after {len(generated)} words without '{self.end}'.")

    def _longest(self, pen: Pen) -> int:
        rule = self.target_position
        if rule is None or rule.table is None:
            return self.max_length
        return min(self.max_length, int(rule.table.shape[pen.layout == "columns"]) - rule.start)

    def _teach(self, pen: Pen, memory: TokenSequence, table: Array) -> None:
        """Write the parallel pass over the shifted target, its loss and gradient, and optionally the loss by word."""
        prefix, aims = (self.start, *self.target), (*self.target, self.end)
        here = pen.at("teacher")
        probabilities = self._probabilities(here, self._decode(here, prefix, memory, table))
        targets = here.give_as_rows(
            "targets", np.array([self.words.index(word) for word in aims]), symbol="tokens", rows=prefix
        )
        loss = self._loss(here, probabilities, targets)
        here.at("output").work(TOTAL, x=loss)
        here.at("output").work(GRADIENT, probabilities=probabilities, targets=targets)
        if self.one_by_one:
            self._one_by_one(pen, memory, table, aims)

    def _one_by_one(self, pen: Pen, memory: TokenSequence, table: Array, aims: Names) -> None:
        losses, prefix = [], (self.start, *self.target)
        for number, word in enumerate(aims):
            here = pen.at("one_by_one", number)
            x = self._decode(here, prefix[: number + 1], memory, table)
            last = here.at("output").work(PICK, symbol="d", x=x, row=number + 1)
            target = here.give_as_rows("targets", np.array([self.words.index(word)]), symbol="tokens")
            losses.append(self._loss(here, self._probabilities(here, last), target, f"ℓ{subscript(number + 1)}"))
        running = losses[0]
        for number, loss in enumerate(losses[1:], 1):
            running = pen.at("one_by_one", number, "output").work(
                ADD, symbol=f"L{subscript(number + 1)}", a=running, b=loss
            )

    def _decode(self, pen: Pen, prefix: Names, memory: TokenSequence, table: Array) -> Array:
        place = {word: number for number, word in enumerate(self.words)}
        here = pen.at("input")
        ids = here.give_as_rows("tokens", np.array([place[word] for word in prefix]), rows=prefix)
        x = here.at("embedding").work(EMBED, symbol="Y", ids=ids, table=table)
        if self.target_position is not None:
            rule = _as_learned(self.target_position)
            x = here.work(ADD, symbol="Y′", a=x, b=rule.work(here, len(prefix), x.shape[1], prefix))
        for number, block in enumerate(self.decoder):
            x = block.work_layer(pen.at("decoder", number), x, prefix, memory)
        return x if self.decoder_norm is None else self.decoder_norm.work_norm(pen.at("decoder", "norm"), x, prefix)

    def _probabilities(self, pen: Pen, x: Array) -> Array:
        here = pen.at("output")
        w = here.give("W_out", self.W_out, columns=self.words)
        b = None if self.b_out is None else here.give("b_out", self.b_out)
        logits = here.work(PROJECT, symbol="logits", x=x, w=w, b=b)
        return work_softmax(here, logits, symbol="p")

    def _loss(self, pen: Pen, probabilities: Array, targets: Ids, symbol: str = "ℓ") -> Array:
        if np.any(np.take_along_axis(probabilities, targets[:, None], axis=1) <= 0.0):
            raise ProblemError(
                "a target word has probability 0, so its -ln is infinite. Use more decimals, or give smaller weights."
            )
        return pen.at("output").work(LOSS, symbol=symbol, probabilities=probabilities, targets=targets)


def _as_learned(rule: PositionRule) -> PositionRule:
    """Return a given position table as a look-up table, because the sentence can be shorter than the table."""
    return rule.model_copy(update={"formula": "learned"}) if rule.formula == "given" else rule
