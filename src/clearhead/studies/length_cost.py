"""Time and memory against length: a training step and one step of decoding, for language models of three architectures.

A training step always has the same number of tokens, in fewer and longer sequences. A token is decoded after a past of
each length, which the model remembers as keys and values, as a recurrent state, or as the inputs of its convolutions.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from clearhead.model import Batch, Loss, SequenceModel
from clearhead.studies.experiment import Measurement, ResultTable, Rows
from clearhead.studies.learning import Show, gradients, seconds_of
from clearhead.studies.picture import Panel
from clearhead.studies.tasks import FIRST
from clearhead.studies.variants import (
    LANGUAGE_MODELS,
    VARIANTS,
    matched_config,
    num_parameters,
    seeded_model,
    shared_settings,
)

CLAIM = "The cost of attention grows with the square of the length; a recurrent model works through one word at a time."
_WARM_UP = 16  # tokens
_MIB = 2**20
_NAMES = tuple(LANGUAGE_MODELS.values())
_MS, _MEMORY = (tuple(f"{name}, {unit}" for name in _NAMES) for unit in ("ms", "MiB"))
_DECODING = {1: ""}
PANELS = (
    Panel("Time of a training step", _MS, "tokens", lines=_NAMES, log="x", label="ms"),
    Panel("Memory of a training step", _MEMORY, "tokens", lines=_NAMES, log="x", label="MiB"),
    Panel("Time of decoding a token", _MS, "tokens", tables=_DECODING, lines=_NAMES, log="x", label="ms"),
    Panel("Memory of the past", _MEMORY, "tokens", tables=_DECODING, lines=_NAMES, log="xy", label="MiB"),
)


@dataclass(frozen=True)
class LengthCostSizes:
    """The sizes of the models and of the data."""

    lengths: tuple[int, ...] = (64, 128, 256, 512, 1024)  # tokens of a sequence
    num_tokens: int = 1024  # of a training step, at least as many as the longest sequence has
    repeats: int = 5  # training steps of which the fastest counts
    num_decoded: int = 32  # tokens before each length whose median time counts
    width: int = 128  # of the Transformer
    blocks: int = 4
    vocabulary: int = 1000
    device: str = "cpu"


SMALL = LengthCostSizes()


def run(seed: int, sizes: LengthCostSizes, show: Show) -> Measurement:
    """Measure all architectures at every length."""
    shared = {**shared_settings(sizes.vocabulary, sizes.blocks, sizes.lengths[-1]), "shape": "decoder"}
    models = []
    steps, decoded = [], []  # of every architecture, the milliseconds and the MiB at every length
    for name, title in LANGUAGE_MODELS.items():
        model = seeded_model(matched_config(VARIANTS[name], shared, sizes.width), seed)
        models.append((title, num_parameters(model.config)))
        model.to(device=torch.device(sizes.device))
        of_lengths = []
        for number, length in enumerate(sizes.lengths, start=1):
            of_lengths.append(training_step(model, length, sizes))
            show(f"training steps, {title}", number, len(sizes.lengths))
        steps.append(of_lengths)
        decoded.append(list(decoding_steps(model, sizes, partial(show, f"decoding, {title}"))))
    tables = (
        _table(f"a training step of {sizes.num_tokens:,} tokens, in sequences of each length", sizes, steps),
        _table("decoding one token after a past of each length", sizes, decoded),
    )
    parameters = ResultTable("the models", ("architecture", "parameters"), models)
    return Measurement((*tables, parameters), finding_of(tables))


def _table(title: str, sizes: LengthCostSizes, costs: Sequence[Sequence[tuple[float, float]]]) -> ResultTable:
    rows: Rows = []
    for length, pairs in zip(sizes.lengths, zip(*costs, strict=True), strict=True):
        times, memories = zip(*pairs, strict=True)
        rows.append((length, *times, *memories))
    return ResultTable(title, ("tokens", *_MS, *_MEMORY), rows)


def finding_of(tables: Sequence[ResultTable]) -> str:
    """Return the finding in words: the growth of every cost."""
    sentences = []
    for name, table in zip(("a training step", "decoding a token"), tables, strict=True):
        first, last = table.rows[0], table.rows[-1]
        ratios = zip(table.columns[1:], last[1:], first[1:], strict=True)
        growth = "; ".join(f"{column} {float(large) / float(small):.2g}" for column, large, small in ratios)
        sentences.append(f"From {first[0]} to {last[0]:,} tokens, {name} is multiplied by: {growth}.")
    return " ".join(sentences)


def training_step(model: SequenceModel, length: int, sizes: LengthCostSizes) -> tuple[float, float]:
    """Return the milliseconds and the MiB of a training step without the optimiser.

    The memory is the peak on a GPU, and what is kept for the backward pass on a CPU.
    """
    model.train()
    random = torch.Generator().manual_seed(length)
    shape = (max(1, sizes.num_tokens // length), length)
    ids = torch.randint(FIRST, sizes.vocabulary, shape, generator=random).to(model.device)
    batch = Batch(target=ids, is_padded=False)
    memory = step_bytes(model, batch)
    return 1000 * min(seconds_of(partial(update, model, batch), sizes.repeats)), memory / _MIB


def update(model: SequenceModel, batch: Batch) -> None:
    """Compute the loss and all gradients, on a GPU in bfloat16."""

    def loss_of(batch: Batch) -> Loss:
        with torch.autocast(model.device.type, dtype=torch.bfloat16, enabled=model.device.type == "cuda"):
            return model.loss(batch)

    gradients(model, batch, loss_of)
    synchronise(model)


def step_bytes(model: SequenceModel, batch: Batch) -> int:
    """Return the memory of an update; the first one, which also loads kernels."""
    if model.device.type == "cuda":
        update(model, batch)
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        update(model, batch)
        return torch.cuda.max_memory_allocated() - before
    storages: dict[int, int] = {}
    weights = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            storages[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        gradients(model, batch)
    return sum(storages.values())


@torch.inference_mode()
def decoding_steps(
    model: SequenceModel, sizes: LengthCostSizes, show: Callable[[int, int], None]
) -> Iterator[tuple[float, float]]:
    """Yield the milliseconds of decoding a token, and the MiB that the decoder remembers, at every length."""
    model.eval()
    token = torch.full((1, 1), model.config.start_id, device=model.device)
    cache = model.start_cache(None, 1, model.device)
    for _ in range(min(_WARM_UP, sizes.lengths[-1])):  # kernels are loaded
        model.decode(token, None, cache)
    cache = model.start_cache(None, 1, model.device)
    times: list[float] = []
    for place in range(1, sizes.lengths[-1] + 1):
        synchronise(model)
        start = time.perf_counter()
        token = model.decode(token, None, cache).argmax(dim=-1)
        synchronise(model)
        times.append(time.perf_counter() - start)
        if place in sizes.lengths:
            yield 1000 * statistics.median(times[-sizes.num_decoded :]), bytes_of(cache) / _MIB
        if place % 64 == 0 or place == sizes.lengths[-1]:
            show(place, sizes.lengths[-1])


def bytes_of(thing: object) -> int:
    """Return the memory of all tensors in an object, its attributes and lists, each storage once."""
    storages = [tensor.untyped_storage() for tensor in tensors_of(thing)]
    return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())


def tensors_of(thing: object) -> Iterator[Tensor]:
    """Yield all tensors in an object, its attributes and lists."""
    parts = getattr(thing, "__dict__", thing)
    if isinstance(thing, Tensor):
        yield thing
    elif isinstance(parts, dict | list | tuple):
        for part in parts.values() if isinstance(parts, dict) else parts:
            yield from tensors_of(part)


def synchronise(model: SequenceModel) -> None:
    """Wait until a GPU has done its work."""
    if model.device.type == "cuda":
        torch.cuda.synchronize()
