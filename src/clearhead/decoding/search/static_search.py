"""Beam search with a static step: the device runs ahead, and the host reads its choices one step behind."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clearhead.decoding.search.constraints import Constraints
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.record_reader import RecordReader
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.search.static_step import StaticStep
from clearhead.model import ModelConfig
from clearhead.model.probe import Probe


def can_choose(settings: SearchSettings, constraints: Sequence[Constraints], config: ModelConfig) -> bool:
    """Return whether a static step supports a search: no constraints, and no rule that depends on earlier tokens."""
    is_plain = settings.no_repeat is None and not settings.is_sampling
    most_hidden = max((len(constraint.hidden) for constraint in constraints), default=0)
    # a token other than eos is always allowed
    has_choice = config.target_size - len(set(config.never_written)) - most_hidden > 1
    return is_plain and has_choice and all(constraint == Constraints() for constraint in constraints)


def static_search(
    step: StaticStep,
    source: Tensor,
    limits: Sequence[int],
    settings: SearchSettings,
    is_wanted: Callable[[int], bool] = lambda number: True,
) -> list[list[Hypothesis]]:
    """Return the same hypotheses as `beam_search`, best first; a search stops when its number is no longer wanted."""
    step.start(step.model.encode(source, probe=Probe(gates=step.gates)))
    step.selection.start(limits, settings.min_length)
    reader = RecordReader(limits, settings, step.model.config.eos, is_wanted)
    transfer = _RecordTransfer(step.selection.record, len(source))
    for number in range(max(limits)):
        step.run()
        transfer.send(number)
        if number:
            reader.read(transfer.receive(number - 1))
        if not reader.going:
            break
    else:
        reader.read(transfer.receive(max(limits) - 1))
    return reader.best


class _RecordTransfer:
    """Copies records to the host without blocking the device."""

    def __init__(self, record: Tensor, rows: int) -> None:
        self._record, self._rows = record, rows
        self._is_far = record.is_cuda
        self._sent: dict[int, tuple[Tensor, torch.cuda.Event | None]] = {}

    def send(self, number: int) -> None:
        """Start to copy the record of a step."""
        part = self._record[number, : self._rows]
        if not self._is_far:
            self._sent[number] = part, None
            return
        event = torch.cuda.Event()  # type: ignore[no-untyped-call]
        home = torch.empty(part.shape, dtype=part.dtype, pin_memory=True).copy_(part, non_blocking=True)
        event.record()
        self._sent[number] = home, event

    def receive(self, number: int) -> NDArray[np.float64]:
        """Wait for a record that was sent, and return it."""
        home, event = self._sent.pop(number)
        if event is not None:
            event.synchronize()
        record: NDArray[np.float64] = home.numpy()
        return record
