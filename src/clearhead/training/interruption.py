"""What ends a run before its time: a signal, too little memory, a loss that is not finite or explodes."""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from clearhead.data.batches import NO_LABEL, Ids, TokenBatch
from clearhead.errors import RunError, is_out_of_memory, printable
from clearhead.files.json_file import json_writer
from clearhead.files.writing import write_together
from clearhead.text.tokeniser import Tokeniser, Vocabularies
from clearhead.training.state import forget_after, readable_checkpoints, step_of

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
    """Write the sentences of a diverged update as JSON, with ids and pieces, and return the path."""
    name = f"step-{step:08d}.json"
    pairs = [pair for batch in batches for pair in _pairs(batch, vocabularies)]
    write_together(folder / FOLDER, {name: json_writer({"step": step, "pairs": pairs})})
    return folder / FOLDER / name


def last_good_checkpoint(checkpoints: Path, fault: DivergenceError, log_every: int) -> Path | None:
    """Return the last checkpoint before the divergence, and remove later ones.

    A loss that is not finite is noticed before anything is saved; one that explodes, only at the next log line.
    """
    readable = [place for place, wrong in readable_checkpoints(checkpoints) if not wrong][::-1]
    if fault.rise is not None:
        last_log = (fault.step - 1) // log_every * log_every
        readable = [place for place in readable if step_of(place) <= last_log] or readable[:1]
    if readable:
        forget_after(checkpoints, step_of(readable[-1]))
    return readable[-1] if readable else None


def stop_error(sentence: str, good: Path | None) -> RunError:
    """Return the error of a run that stops at a divergence, with what to do; `good` is the last good checkpoint."""
    advice = "There is no checkpoint yet. Start"
    if good is not None:
        advice = f"The last good checkpoint is {good.name}: resume the run with a lower training.rate. Or start"
    return RunError(
        f"{sentence} {advice} again with a lower training.rate or a longer training.warm_up.",
        options=("changes",) if good is None else {"resume": "", "changes": "training.rate=LOWER"},
    )


def _pairs(batch: TokenBatch, vocabularies: Vocabularies) -> list[dict[str, object]]:
    pairs = []
    for row in range(batch.shape.rows):
        for number in range(1, _num_sentences(batch, row) + 1):
            source = _sentence(batch.source[row], batch.source_sentences, row, number) if batch.source.size else []
            if batch.target.ndim == 1:
                if batch.target[row] != NO_LABEL:
                    label = vocabularies.labels[int(batch.target[row])]
                    pairs.append({**_side_data("source", source, vocabularies.source), "label": label})
                continue
            target = _sentence(batch.target[row], batch.target_sentences, row, number)
            pair = {
                **_side_data("source", source, vocabularies.source),
                **_side_data("target", target, vocabularies.target),
            }
            if pair["target_ids"]:
                pairs.append(pair)
    return pairs


def _num_sentences(batch: TokenBatch, row: int) -> int:
    sides = [side for side in (batch.source_sentences, batch.target_sentences) if side is not None and side.size]
    return max((int(side[row].max()) for side in sides), default=1)


def _sentence(ids: Ids, sentences: Ids | None, row: int, number: int) -> list[int]:
    own_ids: list[int] = (ids if sentences is None else ids[sentences[row] == number]).tolist()
    return own_ids


def _side_data(side: str, ids: list[int], tokeniser: Tokeniser) -> dict[str, object]:
    real = [token for token in ids if token != tokeniser.pad]
    return {side: " ".join(tokeniser.pieces(real)), f"{side}_ids": real}
