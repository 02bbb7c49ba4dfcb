"""The vectors of the source tokens inside an encoder: the static embedding, and the states after every layer.

They are taken from the trace of the model's own pass, for every architecture.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from clearhead.model import ModelConfig, SequenceModel
from clearhead.model.probe import Probe
from clearhead.model.tracing import PartTrace
from clearhead.steps import Trace

_STATIC = "input.embedding"


@torch.no_grad()
def encoder_states(model: SequenceModel, source: Tensor) -> list[Tensor]:
    """Return vectors (B, S, D) of the tokens of sentences (B, S), outside of training.

    The first are the embeddings, without positions; then come the states after every layer. The last ones are the
    output of the encoder, which the decoder reads: after the last norm, if there is one.
    """
    assert not model.training, "dropout would change the vectors"
    places = [layer_place(model.config, number) for number in range(model.config.encoder_blocks)]
    trace = PartTrace((_STATIC, *places))
    output = model.encode(source, probe=Probe(trace)).states
    (static,) = (record.value for record in trace.find("embed", _STATIC))
    return [static, *(_states_at(trace, place) for place in places[:-1]), output]


def layer_place(config: ModelConfig, number: int) -> str:
    """Return the place where the trace of an encoder has the output of a layer, counted from 0.

    A recurrent layer has one place for every token, all of them below this place.
    """
    place = f"encoder.{number}"
    if config.architecture == "transformer":
        return f"{place}.add_and_norm.1"
    if config.architecture == "convolutional":
        return f"{place}.residual"
    has_sum = config.is_bidirectional or (number > 0 and config.has_residuals)  # of directions or with the input
    return f"{place}.time" if has_sum else f"{place}.forward.time"


def _states_at(trace: Trace, place: str) -> Tensor:
    """Return the last value at a place (B, S, D); for a recurrent layer, those of all tokens next to each other."""
    records = [record for record in trace if record.where == place or record.where.startswith(f"{place}.")]
    if not place.endswith(".time"):
        value: Tensor = records[-1].value
        return value
    last: dict[int, Tensor] = {}
    for record in records:
        last[int(record.where.removeprefix(f"{place}.").split(".")[0])] = record.value
    return torch.cat([last[time] for time in sorted(last)], dim=1)


def word_vectors(states: Sequence[Tensor], places: Tensor) -> Tensor:
    """Return the vectors of one word of every sentence in every layer: (L, B, D), in float32.

    `places` (B, P) are the positions of the word's pieces, of which it has the same number in every sentence. Their
    vectors are averaged in float64.
    """
    rows = torch.arange(len(places), device=places.device)[:, None]
    return torch.stack([layer[rows, places].double().mean(dim=1).float() for layer in states])
