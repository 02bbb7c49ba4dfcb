"""The names and shapes of the tensors of a recurrent model, without torch."""

from collections.abc import Iterator

from clearhead.model.config import ModelConfig

Tensors = Iterator[tuple[str, tuple[int, ...]]]
_NUM_GATES = {"gru": 3, "lstm": 4}
_NUM_STATES = {"gru": 1, "lstm": 2}  # of a layer: an LSTM has a cell state too


def recurrent_tensors(config: ModelConfig) -> Tensors:
    """Yield the name and shape of every tensor, tied ones once, under their first name."""
    width, has_memory = config.d_model, config.shape == "encoder-decoder"
    if config.shape != "decoder":
        yield "encoder.embedding.weight", (config.source_vocabulary, width)
        directions = ("forward_cell", "reverse_cell") if config.is_bidirectional else ("forward_cell",)
        for number in range(config.encoder_blocks):
            for direction in directions:
                yield from _cell(f"encoder.layers.{number}.{direction}", config, width, width // len(directions))
    if config.shape != "encoder":
        if not has_memory or config.tied != "three":
            yield "decoder.embedding.weight", (config.target_size, width)
        for number in range(config.decoder_blocks):
            inputs = 2 * width if number == 0 and config.has_input_feeding else width
            yield from _cell(f"decoder.layers.{number}", config, inputs, width)
        if has_memory:
            states = _NUM_STATES[config.cell] * config.decoder_blocks * width
            yield "decoder.bridge.weight", (states, width)
            yield "decoder.bridge.bias", (states,)
        if config.has_memory_attention:
            yield from _attention(config)
    if config.tied == "none" or config.shape == "encoder":
        yield "output.weight", (config.num_outputs, width)
    if config.has_output_bias or config.shape == "encoder":
        yield "output.bias", (config.num_outputs,)


def _cell(place: str, config: ModelConfig, inputs: int, state: int) -> Tensors:
    """Yield the weights of nn.GRU or nn.LSTM, with the gates one below the other."""
    rows = _NUM_GATES[config.cell] * state
    yield f"{place}.weight_ih_l0", (rows, inputs)
    yield f"{place}.weight_hh_l0", (rows, state)
    yield f"{place}.bias_ih_l0", (rows,)
    yield f"{place}.bias_hh_l0", (rows,)


def _attention(config: ModelConfig) -> Tensors:
    width = config.d_model
    if config.attention == "additive":
        yield "decoder.attention.query.weight", (width, width)
    if config.attention in ("multiplicative", "additive"):
        yield "decoder.attention.key.weight", (width, width)
    if config.attention == "additive":
        yield "decoder.attention.score.weight", (1, width)
    yield "decoder.attention.output.weight", (width, 2 * width)
