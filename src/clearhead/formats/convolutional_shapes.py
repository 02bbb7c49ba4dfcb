"""The names and shapes of the tensors of a convolutional model, without torch."""

from clearhead.formats.recurrent_shapes import Tensors
from clearhead.model.config import ModelConfig


def convolutional_tensors(config: ModelConfig) -> Tensors:
    """Yield the name and shape of every tensor, tied ones once, under their first name."""
    width, has_memory = config.d_model, config.shape == "encoder-decoder"
    if config.shape != "decoder":
        yield "encoder.position", (config.max_length, width)
        yield "encoder.embedding.weight", (config.source_vocabulary, width)
        for number in range(config.encoder_blocks):
            yield from _linear(f"encoder_blocks.{number}.convolution.filter", config.kernel * width, 2 * width)
    if config.shape != "encoder":
        yield "decoder.position", (config.max_length, width)
        if not has_memory or config.tied != "three":
            yield "decoder.embedding.weight", (config.target_size, width)
        for number in range(config.decoder_blocks):
            yield from _linear(f"decoder_blocks.{number}.convolution.filter", config.kernel * width, 2 * width)
            for name in ("query", "output") if has_memory else ():
                yield from _linear(f"decoder_blocks.{number}.cross_attention.{name}", width, width)
    if config.tied == "none" or config.shape == "encoder":
        yield "output.weight", (config.num_outputs, width)
    if config.has_output_bias or config.shape == "encoder":
        yield "output.bias", (config.num_outputs,)


def _linear(place: str, inputs: int, outputs: int) -> Tensors:
    yield f"{place}.weight", (outputs, inputs)
    yield f"{place}.bias", (outputs,)
