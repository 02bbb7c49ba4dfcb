"""What ends a run before its time: a signal, too little memory, a loss that is not finite or explodes."""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import FrameType

from clearhead.data.batches import NO_LABEL, TokenBatch
from clearhead.errors import RunError, is_out_of_memory, printable
from clearhead.files.json_file import json_writer
from clearhead.files.writing import write_together
from clearhead.text.tokeniser import Tokeniser, Vocabularies

FOLDER = "diverged"
MODEL_TOO_LARGE = (
    "There is not enough memory for the model and its optimiser. Use a smaller preset, or smaller model sizes."
)


@contextmanager
def explain_memory_errors(sentence: str | Callable[[], str]) -> Iterator[None]:
    """Replace an error about memory by one with this sentence, or with the one that a function returns then."""
    try:
        yield
    except (RuntimeError, MemoryError) as wrong:
        if not is_out_of_memory(wrong):
            raise
        raise RunError(sentence if isinstance(sentence, str) else sentence()) from None


def update_too_large(step: int) -> str:
    """Return the sentence about an update that needs too much memory."""
    return (
        f"Update {step:,} needs more memory than is available, even one row at a time. Saved checkpoints are not lost. "
        "Lower data.max_tokens or use a smaller model."
    )


@dataclass
class Stop:
    """Whether a stop was requested."""

    is_asked: bool = False


@contextmanager
def stopping() -> Iterator[Stop]:
    """On Ctrl-C or SIGTERM, let the current update finish; a second one stops immediately."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def ask(number: int, frame: FrameType | None) -> None:
        if stop.is_asked:
            raise KeyboardInterrupt
        stop.is_asked = True

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class DivergenceError(Exception):
    """The loss of update `step` was not finite (`rise` None), or the mean loss rose `rise` nats above its minimum.

    With `is_of_weights`, loss and gradient were finite, but the weights after the update are not.
    """

    def __init__(self, step: int, rise: float | None, *, is_of_weights: bool = False) -> None:
        super().__init__(step, rise)
        self.step, self.rise, self.is_of_weights = step, rise, is_of_weights


def describe_fault(fault: DivergenceError, place: Path) -> str:
    """Describe a divergence in two sentences."""
    location = f"The batch of that update is saved in {printable(str(place))}."
    if fault.is_of_weights:
        return f"The weights were not finite numbers after update {fault.step:,}. {location}"
    if fault.rise is None:
        return f"The loss or its gradient was not a finite number at update {fault.step:,}. {location}"
    return f"The loss exploded: at update {fault.step:,} it was {fault.rise:.2f} nats above its minimum. {location}"


def save_fault(folder: Path, step: int, batches: Sequence[TokenBatch], vocabularies: Vocabularies) -> Path:
    """Write the rows of a diverged update as JSON, with ids and pieces, and return the path."""
    name = f"step-{step:08d}.json"
    rows = list(chain.from_iterable(_rows(batch, vocabularies) for batch in batches))
    write_together(folder / FOLDER, {name: json_writer({"step": step, "rows": rows})})
    return folder / FOLDER / name


def stop_error(sentence: str, good: Path | None) -> RunError:
    """Return the error of a run that stops at a divergence, with what to do; `good` is the last good checkpoint."""
    advice = "There is no checkpoint yet. Start"
    if good is not None:
        advice = f"The last good checkpoint is {good.name}: resume the run with a lower training.rate. Or start"
    return RunError(
        f"{sentence} {advice} again with a lower training.rate or a longer training.warm_up.",
        options=("changes",) if good is None else {"resume": "", "changes": "training.rate=LOWER"},
    )


def _rows(batch: TokenBatch, vocabularies: Vocabularies) -> Iterator[dict[str, object]]:
    """Yield the rows of a batch that have a target; packed sentences follow each other, each with its end token."""
    for number in range(batch.shape.rows):
        source = batch.source[number].tolist() if batch.source.size else []
        row = _side_data("source", source, vocabularies.source)
        if batch.target.ndim > 1:
            row |= _side_data("target", batch.target[number].tolist(), vocabularies.target)
        elif batch.target[number] != NO_LABEL:
            row["label"] = vocabularies.labels[int(batch.target[number])]
        if row.get("target_ids") or "label" in row:
            yield row


def _side_data(side: str, ids: Sequence[int], tokeniser: Tokeniser) -> dict[str, object]:
    real = [token for token in ids if token != tokeniser.pad]
    return {side: " ".join(tokeniser.pieces(real)), f"{side}_ids": real}
