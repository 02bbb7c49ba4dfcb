"""Time and memory against length: a training step and one step of decoding, for language models of three architectures.

A training step always has the same number of tokens, in fewer and longer sequences. A token is decoded after a past of
each length, which the model remembers as keys and values, as a recurrent state, or as the inputs of its convolutions.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from clearhead.experiments.experiment import Cell, Experiment, ResultTable
from clearhead.model import Batch, TrainableModel, build_model
from clearhead.studies.learning import Show, set_training, silent
from clearhead.studies.registry import STUDIES
from clearhead.studies.tasks import FIRST
from clearhead.studies.variants import VARIANTS, matched_config, num_parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "length-cost"
SIZE = (12.5, 8.8)
COMPARED = {"recurrent-scaled": "recurrent", "convolutional": "convolutional", "transformer": "Transformer"}
_TITLES = ("Time of a training step", "Memory of a training step", "Time of decoding a token", "Memory of the past")
_LINES = {
    "recurrent-scaled": "o-",
    "convolutional": "o--",
    "transformer": "o-",
}  # two of them coincide in the last plot
_WARM_UP = 16  # tokens
MEASURES = ("ms of a training step", "MiB of a training step", "ms of decoding a token", "MiB of the past")
_MIB = 2**20
_WIDE = 20  # a larger ratio of two values is drawn on a logarithmic axis


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
FULL = LengthCostSizes(
    lengths=(64, 128, 256, 512, 1024, 2048, 4096, 8192),
    num_tokens=16_384,
    width=512,
    blocks=6,
    vocabulary=8000,
    device="cuda",
)


@dataclass(frozen=True)
class LengthCosts:
    """What was measured for one architecture at every length, by the names in MEASURES."""

    variant: str
    num_parameters: int
    values: dict[str, tuple[float, ...]]

    @property
    def title(self) -> str:
        """What the architecture is called."""
        return COMPARED[self.variant]


def run(seed: int, sizes: LengthCostSizes = SMALL, show: Show = silent) -> Experiment:
    """Measure all architectures at every length."""
    results = [measure(name, sizes, seed, show) for name in COMPARED]
    tables = (
        _table(
            f"a training step of {sizes.num_tokens:,} tokens, in sequences of each length", results, sizes, MEASURES[:2]
        ),
        _table("decoding one token after a past of each length", results, sizes, MEASURES[2:]),
        ResultTable(
            "the models", ("architecture", "parameters"), tuple((one.title, one.num_parameters) for one in results)
        ),
    )
    arrays = {"lengths": np.array(sizes.lengths, dtype=np.float64)}
    arrays |= {f"{one.variant}, {name}": np.array(values) for one in results for name, values in one.values.items()}
    claim = (
        "The cost of attention grows with the square of the length; a recurrent model works through one word at a time."
    )
    return Experiment(NAME, STUDIES[NAME].title, seed, claim, describe(results, sizes), tables, arrays)


def _table(title: str, results: Sequence[LengthCosts], sizes: LengthCostSizes, names: Sequence[str]) -> ResultTable:
    columns = ("tokens", *(f"{one.title}, {name.split()[0]}" for name in names for one in results))
    rows: list[tuple[Cell, ...]] = [
        (length, *(one.values[name][place] for name in names for one in results))
        for place, length in enumerate(sizes.lengths)
    ]
    return ResultTable(title, columns, tuple(rows))


def describe(results: Sequence[LengthCosts], sizes: LengthCostSizes) -> str:
    """Return the finding: the growth of every cost, and where attention becomes the most expensive."""
    first, last = sizes.lengths[0], sizes.lengths[-1]
    sentences = []
    for name in MEASURES:
        growth = ", ".join(f"{one.title} {one.values[name][-1] / one.values[name][0]:.2g}" for one in results)
        sentences.append(f"From {first} to {last:,} tokens, the {name} are multiplied by: {growth}.")
    transformer = next(one for one in results if one.variant == "transformer")
    for name in (MEASURES[0], MEASURES[2]):
        for one in results:
            if one is not transformer:
                crossing = crossing_of(transformer.values[name], one.values[name], sizes.lengths)
                sentences.append(f"The {name}: the Transformer {crossing} {one.title}.")
    return " ".join(sentences)


def crossing_of(own: Sequence[float], other: Sequence[float], lengths: Sequence[int]) -> str:
    """Return from which length on the first cost is larger than the other, in words."""
    is_larger = [a > b for a, b in zip(own, other, strict=True)]
    if all(is_larger):
        return "is slower at every length than"
    if not any(is_larger):
        return "is faster at every length than"
    if not is_larger[-1]:
        return f"is faster at {lengths[-1]:,} tokens than"
    place = max(index for index, larger in enumerate(is_larger) if not larger) + 1
    return f"is slower from {lengths[place]:,} tokens on than"


def measure(name: str, sizes: LengthCostSizes, seed: int, show: Show) -> LengthCosts:
    """Measure one architecture at every length."""
    shared: dict[str, Any] = {
        "shape": "decoder",
        "source_vocabulary": sizes.vocabulary,
        "decoder_blocks": sizes.blocks,
        "dropout": 0.0,
        "max_length": sizes.lengths[-1] + 1,
    }
    config = matched_config(VARIANTS[name], shared, sizes.width)
    torch.manual_seed(seed)
    model = build_model(config).to(device=torch.device(sizes.device))
    steps = []
    for number, length in enumerate(sizes.lengths, start=1):
        steps.append(training_step(model, length, sizes))
        show(f"training steps, {COMPARED[name]}", number, len(sizes.lengths))
    decoded = list(
        decoding_steps(model, sizes, lambda done: show(f"decoding, {COMPARED[name]}", done, sizes.lengths[-1]))
    )
    values = dict(
        zip(MEASURES, (tuple(column) for pair in (steps, decoded) for column in zip(*pair, strict=True)), strict=True)
    )
    return LengthCosts(name, num_parameters(config), values)


def training_step(model: TrainableModel, length: int, sizes: LengthCostSizes) -> tuple[float, float]:
    """Return the milliseconds and the MiB of a training step without the optimiser.

    The memory is the peak on a GPU, and what is kept for the backward pass on a CPU.
    """
    set_training(model, is_training=True)
    random = torch.Generator().manual_seed(length)
    shape = (max(1, sizes.num_tokens // length), length)
    ids = torch.randint(FIRST, sizes.vocabulary, shape, generator=random).to(model.device)
    batch = Batch(target=ids, is_padded=False)
    memory = step_bytes(model, batch)
    times = []
    for _ in range(sizes.repeats):
        synchronise(model)
        start = time.perf_counter()
        update(model, batch)
        synchronise(model)
        times.append(time.perf_counter() - start)
    return 1000 * min(times), memory / _MIB


def update(model: TrainableModel, batch: Batch) -> None:
    """Compute the loss and all gradients, on a GPU in bfloat16."""
    for parameter in model.parameters():
        parameter.grad = None
    with torch.autocast(model.device.type, dtype=torch.bfloat16, enabled=model.device.type == "cuda"):
        loss = model.loss(batch).mean
    loss.backward()  # type: ignore[no-untyped-call]


def step_bytes(model: TrainableModel, batch: Batch) -> int:
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
        loss = model.loss(batch).mean
    loss.backward()  # type: ignore[no-untyped-call]
    return sum(storages.values())


@torch.inference_mode()
def decoding_steps(
    model: TrainableModel, sizes: LengthCostSizes, show: Callable[[int], None]
) -> Iterator[tuple[float, float]]:
    """Yield the milliseconds of decoding a token, and the MiB that the decoder remembers, at every length."""
    set_training(model, is_training=False)
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
            show(place)


def bytes_of(thing: object) -> int:
    """Return the memory of all tensors in an object, its attributes and lists, each storage once."""
    storages: dict[int, int] = {}
    waiting, visited = [thing], set()
    while waiting:
        one = waiting.pop()
        if id(one) in visited:
            continue
        visited.add(id(one))
        if isinstance(one, Tensor):
            storages[one.untyped_storage().data_ptr()] = one.untyped_storage().nbytes()
        elif isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list | tuple):
            waiting += one
        elif hasattr(one, "__dict__"):
            waiting += vars(one).values()
    return sum(storages.values())


def synchronise(model: TrainableModel) -> None:
    """Wait until a GPU has done its work."""
    if model.device.type == "cuda":
        torch.cuda.synchronize()


def draw(result: Experiment, figure: "Figure") -> None:
    """Draw the four costs against the length."""
    plots = figure.subplots(2, 2).flatten()
    lengths = result.arrays["lengths"]
    for plot, name, title in zip(plots, MEASURES, _TITLES, strict=True):
        values = {variant: result.arrays[f"{variant}, {name}"] for variant in COMPARED}
        for variant, label in COMPARED.items():
            plot.plot(lengths, values[variant], _LINES[variant], color=VARIANTS[variant].colour, label=label)
        plot.set(title=title, xlabel="tokens", ylabel=name.split()[0])
        plot.set_xscale("log", base=2)
        if max(map(np.max, values.values())) > _WIDE * min(map(np.min, values.values())):
            plot.set_yscale("log")
            plot.yaxis.set_major_formatter("{x:g}")
        else:
            plot.set_ylim(bottom=0)
        plot.set_xticks(lengths, [f"{length:,.0f}" for length in lengths])
    plots[0].legend(loc="best")
