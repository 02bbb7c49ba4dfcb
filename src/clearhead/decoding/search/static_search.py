"""A whole search by a fixed step: the device runs ahead, and what it chose is read one step behind it."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clearhead.decoding.search.beam import BeamSearch
from clearhead.decoding.search.constraints import Constraints
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.record_reader import RecordReader
from clearhead.decoding.search.rules import rules_of
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.search.static_step import StaticStep
from clearhead.model import ModelConfig


def can_choose(settings: SearchSettings, constraints: Sequence[Constraints], config: ModelConfig) -> bool:
    """Return whether a fixed step can make the choices of a search: no constraints, and nothing that looks back."""
    is_plain = settings.no_repeat is None and not settings.coverage_penalty and not settings.is_sampling
    has_choice = config.target_size - len(set(config.never_written)) > 1  # something can always be written but eos
    return is_plain and has_choice and all(constraint == Constraints() for constraint in constraints)


def static_search(
    step: StaticStep, source: Tensor, limits: Sequence[int], settings: SearchSettings
) -> list[list[Hypothesis]]:
    """Return the hypotheses that `beam_search` finds, best first."""
    config = step.model.config
    search = BeamSearch(limits, settings, rules_of(settings, [Constraints()] * len(limits), config), config.eos)
    step.start(step.model.encode(source))
    step.selection.start(limits, settings.min_length)
    reader, transfer = RecordReader(search), _RecordTransfer(step.selection.record, len(source))
    for number in range(max(limits)):
        step.run()
        transfer.send(number)
        if number:
            reader.read(transfer.receive(number - 1))
        if not reader.going:
            break
    else:
        reader.read(transfer.receive(max(limits) - 1))
    return [pool.best[: settings.n_best] for pool in search.pools]


class _RecordTransfer:
    """Brings records home without holding up the device."""

    def __init__(self, record: Tensor, rows: int) -> None:
        self._record, self._rows = record, rows
        self._is_far = record.is_cuda
        self._sent: dict[int, tuple[Tensor, torch.cuda.Event | None]] = {}

    def send(self, number: int) -> None:
        """Ask for the record of a step."""
        part = self._record[number, : self._rows]
        if not self._is_far:
            self._sent[number] = part, None
            return
        event = torch.cuda.Event()  # type: ignore[no-untyped-call]
        home = torch.empty(part.shape, dtype=part.dtype, pin_memory=True).copy_(part, non_blocking=True)
        event.record()
        self._sent[number] = home, event

    def receive(self, number: int) -> NDArray[np.float64]:
        """Return a record that was asked for; waits until it is there."""
        home, event = self._sent.pop(number)
        if event is not None:
            event.synchronize()
        record: NDArray[np.float64] = home.numpy()
        return record
