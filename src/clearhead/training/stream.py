"""The batches of a run: how rows are filled, and the stream of all epochs for the settings of the run."""

from typing import Literal

from clearhead.data.batches import BatchStream, make_layout
from clearhead.model import ModelConfig
from clearhead.training.config import RunConfig
from clearhead.training.prepare import Prepared
from clearhead.training.progress import Reporter


def open_stream(config: RunConfig, prepared: Prepared, reporter: Reporter) -> BatchStream:
    """Return the batches of a run, and report their shapes."""
    batching, has_labels = choose_batching(config, prepared.model.config), config.task == "classify"
    layout = make_layout(
        prepared.train, config.training.tokens_per_batch, batching=batching, has_labels=has_labels,
        max_tokens=config.data.max_tokens,
    )  # fmt: skip
    stream = BatchStream(
        prepared.train, prepared.vocabularies, layout, weights=[corpus.weight for corpus in config.data.train],
        seed=config.training.seed, has_labels=has_labels,
    )  # fmt: skip
    reporter.message(
        f"Batches of {len(layout.shapes)} shape{'s' if len(layout.shapes) > 1 else ''} ({batching}): "
        f"{', '.join(str(shape) for shape in layout.shapes)}; {100 * stream.padding:.1f} % padding."
    )
    return stream


def choose_batching(config: RunConfig, model: ModelConfig) -> Literal["packed", "bucketed"]:
    """Return how rows are filled. Only some models can have several sentences in a row: see `can_pack_rows`."""
    if config.task == "classify" or not model.can_pack_rows:
        return "bucketed"
    return "packed" if config.training.batching == "auto" else config.training.batching
