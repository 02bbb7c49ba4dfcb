"""The settings of a model's architecture: sizes, norms, positions, tied embeddings. Presets are differences from them.

Every default is defined on its field. Two models with the same config and the same weights are the same model.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from clearhead.errors import ConfigError, Mistake, did_you_mean
from clearhead.model.architecture import (
    POSITIONS,
    PRESETS,
    Architecture,
    foreign_mistakes,
    position_mistakes,
    presets_of,
    unused_settings,
)
from clearhead.settings import MisfitError, Settings, read_settings

Norm = Literal["layer", "rms", "all"]
_MAX_TOKENS = 2**24  # of a vocabulary
_MAX_TABLE = 2**28  # numbers in a table of positions, 1 GiB: sinusoids are not in the file, so its size is no bound


class ModelConfig(Settings):
    """The architecture and the sizes of a model."""

    architecture: Architecture = Field(
        "transformer", description="how tokens are combined: by attention, by a recurrent state, or by convolutions"
    )
    shape: Literal["encoder-decoder", "encoder", "decoder"] = Field(
        "encoder-decoder", description="encoder-decoder translates, encoder classifies, decoder is a language model"
    )
    source_vocabulary: int = Field(
        ge=1, le=_MAX_TOKENS, description="size of the source vocabulary (shape decoder: of its vocabulary)"
    )
    target_vocabulary: int | None = Field(
        None, ge=1, le=_MAX_TOKENS, description="size of the target vocabulary; default: source_vocabulary"
    )
    num_classes: int | None = Field(None, ge=2, le=_MAX_TOKENS, description="shape encoder: the number of classes")
    encoder_blocks: int = Field(6, ge=0, le=200, description="number of encoder layers")
    decoder_blocks: int = Field(6, ge=0, le=200, description="number of decoder layers")
    d_model: int = Field(512, ge=1, le=2**16, description="width of encoder and decoder, in numbers per token")
    d_decoder: int | None = Field(None, ge=1, le=2**16, description="width of the decoder; default: d_model")
    num_heads: int = Field(8, ge=1, description="attention heads per layer; must divide d_model")
    heads_kept: dict[str, tuple[int, ...]] = Field(
        default_factory=dict,
        description="pruned model: the heads that are left of each attention layer, by their numbers before pruning; "
        "a layer that is not listed has all heads",
    )
    d_ff: int = Field(2048, ge=1, le=2**20, description="hidden width of the feed-forward network")
    encoder_norm: Norm = Field(
        "layer", description="layer norm, RMS norm, or `all`: one mean and variance over all tokens of a sentence"
    )
    decoder_norm: Norm = Field("layer", description="layer norm or RMS norm")
    norm_place: Literal["pre", "post"] = Field(
        "pre", description="pre: x + f(norm(x)), with a final norm; post: norm(x + f(x))"
    )
    has_last_norm: bool | None = Field(
        None, description="whether a norm follows the last layer; default: true for pre, false for post"
    )
    epsilon: float = Field(1e-5, ge=0, description="added to the variance in a norm")
    positions: Literal["sinusoidal", "learned", "rotary", "none"] = Field(
        "sinusoidal", description="kind of positional encoding"
    )
    sinusoids: Literal["pairs", "blocks"] = Field(
        "pairs", description="pairs: sine and cosine alternate; blocks: all sines before all cosines (MarianMT)"
    )
    max_length: int = Field(
        1024, ge=1, le=2**20, description="longest sentence in tokens, with sinusoidal or learned positions"
    )
    scale_scores: bool = Field(
        True, description="divide attention scores by the square root of the width of a head; false only for studies"
    )
    scale_embedding: bool = Field(True, description="multiply embeddings by the square root of the width")
    activation: Literal["relu", "gelu", "silu"] = Field(
        "relu", description="activation function of the feed-forward network"
    )
    is_gated: bool = Field(False, description="gated feed-forward network: f(x W₁) ⊙ (x W₃) instead of f(x W₁)")
    has_bias: bool = Field(True, description="whether linear layers have a bias")
    has_output_bias: bool = Field(False, description="whether the logits have a bias (MarianMT)")
    tied: Literal["three", "two", "none"] = Field(
        "three",
        description="weight tying; three: source and target embeddings and output share one matrix; "
        "two: target embeddings and output; none",
    )
    start: Literal["bos", "eos", "pad"] = Field("bos", description="the first token that the decoder reads")
    pad: int = Field(0, ge=0, description="id of the padding token")
    bos: int = Field(1, ge=0, description="id of the token before a sentence")
    eos: int = Field(2, ge=0, description="id of the token after a sentence")
    unk: int | None = Field(None, ge=0, description="id of the unknown token, which is never written, if there is one")
    cell: Literal["gru", "lstm"] = Field("lstm", description="recurrent: kind of cell")
    is_bidirectional: bool = Field(
        True, description="recurrent: whether one half of the encoder's state reads each sentence from its end"
    )
    attention: Literal["none", "dot", "scaled", "multiplicative", "additive"] = Field(
        "scaled",
        description="recurrent encoder-decoder: scores of the decoder's state h and an encoder state s; dot: h·s, "
        "scaled: h·s/√d, multiplicative: h·(W s), additive: v·tanh(W h + U s)",
    )
    has_input_feeding: bool = Field(
        False,
        description="recurrent: feed the attentional state into the next step, which makes training much slower",
    )
    has_residuals: bool = Field(True, description="recurrent: add the input of a layer to its output, after the first")
    kernel: int = Field(
        3, ge=1, le=255, description="convolutional: number of neighbouring tokens that a layer sees, an odd number"
    )
    dropout: float = Field(0.1, ge=0, lt=1, description="dropout on embeddings and on the output of every sublayer")
    attention_dropout: float = Field(0.0, ge=0, lt=1, description="dropout on attention weights")
    activation_dropout: float = Field(0.0, ge=0, lt=1, description="dropout inside the feed-forward network")

    @model_serializer(mode="wrap")
    def _serialise(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out settings without meaning, so that the files of Transformers are those of earlier versions."""
        data: dict[str, Any] = serialise(self)
        absent = unused_settings(self.architecture, self.shape)
        absent |= {"architecture"} if self.architecture == "transformer" else set()
        absent |= set() if self.heads_kept else {"heads_kept"}
        absent |= {"scale_scores"} if self.scale_scores else set()
        return {name: value for name, value in data.items() if name not in absent}

    @model_validator(mode="before")
    @classmethod
    def _with_positions(cls, data: Any) -> Any:
        """Fill in the kind of positions of an architecture that has only one."""
        architecture = data.get("architecture") if isinstance(data, Mapping) else None
        if isinstance(architecture, str) and architecture in POSITIONS and "positions" not in data:
            return {**data, "positions": POSITIONS[architecture]}
        return data

    def __hash__(self) -> int:
        return hash(self.model_dump_json())  # a dict has no hash

    @property
    def decoder_width(self) -> int:
        """The width of the decoder."""
        return self.d_model if self.d_decoder is None else self.d_decoder

    def num_heads_at(self, where: str) -> int:
        """Return the number of heads of an attention layer, such as `encoder.0.self_attention`."""
        if self.architecture == "convolutional":
            return int(where.startswith("decoder") and where.endswith("cross_attention"))  # one, of full width
        if self.architecture == "recurrent":
            return int(self.has_memory_attention and where == f"decoder.{self.decoder_blocks - 1}.cross_attention")
        return len(self.heads_kept[where]) if where in self.heads_kept else self.num_heads

    def head_width(self, where: str) -> int:
        """Return the width of every head of an attention layer, which pruning does not change."""
        return (self.d_model if where.startswith("encoder") else self.decoder_width) // self.num_heads

    @property
    def can_pack_rows(self) -> bool:
        """Whether several sentences can share a row, kept apart by masks: not if anything spans entire rows."""
        spans_rows = self.shape == "encoder" or (self.shape != "decoder" and self.encoder_norm == "all")
        return self.architecture == "transformer" and not spans_rows

    @property
    def target_size(self) -> int:
        """The number of tokens in the target vocabulary."""
        return self.source_vocabulary if self.target_vocabulary is None else self.target_vocabulary

    @property
    def num_outputs(self) -> int:
        """The number of logits: tokens of the target vocabulary, or classes."""
        return self.target_size if self.num_classes is None else self.num_classes

    @property
    def has_position_table(self) -> bool:
        """Whether positions come from a table, which ends at `max_length`."""
        return self.positions in ("sinusoidal", "learned")

    @property
    def position_limit(self) -> int | None:
        """The length in tokens of the longest sentence that has positions, or None if there is no limit."""
        return self.max_length if self.has_position_table else None

    @property
    def ends_with_norm(self) -> bool:
        """Whether a norm follows the last layer."""
        return self.norm_place == "pre" if self.has_last_norm is None else self.has_last_norm

    @property
    def start_id(self) -> int:
        """The id of the first token that the decoder reads."""
        return {"bos": self.bos, "eos": self.eos, "pad": self.pad}[self.start]

    @property
    def never_written(self) -> tuple[int, ...]:
        """The ids that no sentence contains: padding, the unknown token, and bos, unless one of them is also eos."""
        unknown = set() if self.unk is None else {self.unk}
        return tuple(sorted({self.pad, self.bos, *unknown} - {self.eos}))

    @model_validator(mode="after")
    def _fits(self) -> Self:
        mistakes = [*foreign_mistakes(self.architecture, self.model_fields_set)]
        mistakes += [*position_mistakes(self.architecture, self.positions)]
        mistakes += [*self._width_mistakes(), *self._shape_mistakes(), *self._table_mistakes(), *self._token_mistakes()]
        mistakes += [*self._position_mistakes(), *self._head_mistakes()]
        mistakes += [*self._recurrent_mistakes(), *self._convolutional_mistakes()]
        if mistakes:
            raise MisfitError(mistakes)
        return self

    def _recurrent_mistakes(self) -> Iterator[Mistake]:
        if self.architecture != "recurrent":
            return
        has_encoder, has_decoder = self.shape != "decoder", self.shape != "encoder"
        for name, is_used in (("encoder_blocks", has_encoder), ("decoder_blocks", has_decoder)):
            if is_used and getattr(self, name) == 0:
                yield Mistake(
                    (name, "architecture"), f"{name} = 0, but a recurrent model needs at least one layer. Use 1 or more"
                )
        if has_encoder and self.is_bidirectional and self.d_model % 2:
            yield Mistake(
                ("d_model", "is_bidirectional"),
                f"d_model = {self.d_model} is odd, but each direction of the encoder has half of it. "
                "Use an even d_model, or is_bidirectional: false",
            )
        explicit = self.model_fields_set
        if not has_encoder and self.is_bidirectional and "is_bidirectional" in explicit:
            yield Mistake(
                ("is_bidirectional", "shape"),
                "is_bidirectional is for encoders, but shape = 'decoder' has none. Remove is_bidirectional",
            )
        if self.shape != "encoder-decoder" and self.attention != "none" and "attention" in explicit:
            yield Mistake(
                ("attention", "shape"),
                f"attention = '{self.attention}' is from a decoder to an encoder, but shape = '{self.shape}' has only "
                "one of them. Remove attention",
            )
        if self.has_input_feeding and not self.has_memory_attention:
            why = f"attention = '{self.attention}'" if self.attention == "none" else f"shape = '{self.shape}'"
            yield Mistake(
                ("has_input_feeding", "attention", "shape"),
                f"has_input_feeding needs attention, but {why} has none. Remove has_input_feeding, or choose "
                "an attention in an encoder-decoder",
            )

    def _convolutional_mistakes(self) -> Iterator[Mistake]:
        if self.architecture == "convolutional" and self.kernel % 2 == 0:
            yield Mistake(
                ("kernel",),
                f"kernel = {self.kernel} is even, so it has no token in its middle. Use an odd kernel, such as 3",
            )

    @property
    def has_memory_attention(self) -> bool:
        """Whether the decoder of a recurrent model has attention to the encoder's states."""
        return self.architecture == "recurrent" and self.shape == "encoder-decoder" and self.attention != "none"

    def _width_mistakes(self) -> Iterator[Mistake]:
        if self.architecture != "transformer":
            return
        widths = {"d_model": self.d_model, "d_decoder": self.decoder_width}
        for name, width in widths.items():
            if name == "d_decoder" and width == self.d_model:
                continue
            if width % self.num_heads:
                fits = ", ".join(str(n) for n in range(1, min(width, 64) + 1) if width % n == 0)
                yield Mistake(
                    ("num_heads", name),
                    f"num_heads = {self.num_heads} does not divide {name} = {width}. Use {fits} heads",
                )
            elif self.positions == "rotary" and (width // self.num_heads) % 2:
                yield Mistake(
                    ("positions", name, "num_heads"),
                    f"rotary positions need heads of even width, but {name} = {width} and num_heads = {self.num_heads} "
                    f"give a width of {width // self.num_heads}. Change one of them",
                )

    def _shape_mistakes(self) -> Iterator[Mistake]:
        if self.decoder_norm == "all":
            yield Mistake(
                ("decoder_norm",),
                "decoder_norm = 'all' would let a token depend on later tokens, which its norm averages over. "
                "Use layer or rms in a decoder",
            )
        if self.shape == "encoder" and self.num_classes is None:
            yield Mistake(("shape", "num_classes"), "shape encoder needs num_classes, the number of classes")
        if self.shape != "encoder" and self.num_classes is not None:
            yield Mistake(("num_classes", "shape"), "num_classes is only for shape encoder. Remove num_classes")

    def _table_mistakes(self) -> Iterator[Mistake]:
        if self.tied != "three" or self.shape != "encoder-decoder":
            return
        if self.target_size != self.source_vocabulary:
            yield Mistake(
                ("tied", "source_vocabulary", "target_vocabulary"),
                f"tied = 'three' shares one matrix, but source_vocabulary = {self.source_vocabulary} and "
                f"target_vocabulary = {self.target_size}. Use one vocabulary, or tied: two",
            )
        if self.decoder_width != self.d_model:
            yield Mistake(
                ("tied", "d_model", "d_decoder"),
                f"tied = 'three' shares one matrix, but d_model = {self.d_model} and d_decoder = {self.decoder_width}. "
                "Use one width, or tied: two",
            )

    def _position_mistakes(self) -> Iterator[Mistake]:
        """Check the size of the tables of positions, which are in memory before any weight is read."""
        width = max(self.d_model, self.decoder_width)
        if self.has_position_table and self.max_length * width > _MAX_TABLE:
            yield Mistake(
                ("max_length",),
                f"max_length = {self.max_length} times the width {width} is more than the {_MAX_TABLE:,} numbers that "
                f"a table of positions can have. Use at most {_MAX_TABLE // width} tokens",
            )

    def _head_mistakes(self) -> Iterator[Mistake]:
        """Check the heads of a pruned model."""
        from clearhead.model.heads import attention_places

        places, path = attention_places(self), ("heads_kept",)
        for where, heads in self.heads_kept.items():
            if where not in places:
                near = did_you_mean(where, places)
                listed = f"{places[0]} to {places[-1]}" if places else "none"
                yield Mistake(path, f"heads_kept: '{where}' is no attention layer of this model.{near} It has {listed}")
            elif list(heads) != sorted({*heads}) or not all(0 <= head < self.num_heads for head in heads):
                yield Mistake(
                    path,
                    f"heads_kept: {where} keeps the heads {list(heads)}. List different numbers from 0 to "
                    f"{self.num_heads - 1} in ascending order",
                )

    def _token_mistakes(self) -> Iterator[Mistake]:
        top = {"encoder": self.source_vocabulary, "decoder": self.target_size}.get(
            self.shape, min(self.source_vocabulary, self.target_size)
        )
        for name in ("pad", "bos", "eos", "unk"):
            if getattr(self, name) is not None and getattr(self, name) >= top:
                yield Mistake((name,), f"{name} = {getattr(self, name)} is not in a vocabulary of {top} tokens")
        if self.pad == self.eos and self.shape != "encoder":
            yield Mistake(
                ("pad", "eos"),
                f"pad and eos are both {self.pad}, so the end of a sentence could not be learned. Use different ids",
            )


def preset(name: str, **changes: Any) -> ModelConfig:
    """Return a preset with changes, which must include `source_vocabulary`; the architecture may be one of them."""
    if name not in PRESETS:
        raise ConfigError(f"'{name}' is not a preset.{did_you_mean(name, PRESETS)} Presets: {', '.join(PRESETS)}.")
    return read_config({**presets_of(changes.get("architecture"))[name], **changes})


def read_config(data: Mapping[str, Any]) -> ModelConfig:
    """Return the config described by the data, or raise ConfigError with all its errors."""
    return read_settings(ModelConfig, data, "model")
