"""Read the choices that a device recorded: the same pools, stopping and hypotheses as `beam.py`, one step later.

The device runs the next step without waiting for the host, which reads each record one step behind.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from clearhead.decoding.search.beam import BeamSearch
from clearhead.decoding.search.hypothesis import Hypothesis, normalised
from clearhead.decoding.search.selection import IS_ENDED, LOG_PROB, PARENT, TOKEN, TOTAL

Numbers = NDArray[np.float64]


class RecordReader:
    """The choices of every step so far, and the sentences that are not finished."""

    def __init__(self, search: BeamSearch) -> None:
        self.search = search
        self.going: list[int] = list(range(len(search.limits)))
        self._steps: list[Numbers] = []  # (B, K, 3) each: parent, token and log-probability of the kept candidates

    def read(self, record: Numbers) -> None:
        """Process the record (B, C, 5) of one step."""
        beam = self.search.settings.beam
        self._set_aside(record[:, :beam])
        choice = record[:, :, IS_ENDED].argsort(axis=1, kind="stable")[:, :beam]
        survivors = np.take_along_axis(record, choice[..., None], axis=1)
        best = np.where(survivors[:, 0, IS_ENDED] > 0, -math.inf, survivors[:, 0, TOTAL]).tolist()
        self._steps.append(survivors[:, :, [PARENT, TOKEN, LOG_PROB]])
        length = len(self._steps)
        self.going = [row for row in self.going if not self.search.is_done(row, best[row], length)]

    def _set_aside(self, first: Numbers) -> None:
        """Put ended candidates among the best `beam` into the pools of their sentences."""
        is_going = np.zeros(len(first), dtype=bool)
        is_going[self.going] = True
        ended = (first[:, :, IS_ENDED] > 0) & (first[:, :, TOTAL] > -math.inf) & is_going[:, None]
        rows, places = ended.nonzero()
        if not len(rows):
            return
        length, alpha = len(self._steps) + 1, self.search.settings.length_penalty
        before = self._before(rows, first[rows, places, PARENT].astype(np.int64))
        last = first[rows, places].tolist()
        for row, (tokens, log_probs), candidate in zip(rows.tolist(), before, last, strict=True):
            score = normalised(candidate[TOTAL], length, alpha)
            if self.search.pools[row].would_take(score):
                token = int(candidate[TOKEN])
                all_log_probs = (*log_probs, candidate[LOG_PROB])
                has_ended = token == self.search.eos
                self.search.add(row, Hypothesis((*tokens, token), all_log_probs, score, has_ended))

    def _before(
        self, rows: NDArray[np.int64], beams: NDArray[np.int64]
    ) -> Sequence[tuple[Sequence[int], Sequence[float]]]:
        """Return the tokens of hypotheses before this step, and their log-probabilities."""
        columns = np.empty((len(rows), len(self._steps), 2))
        for step in range(len(self._steps) - 1, -1, -1):
            chosen = self._steps[step][rows, beams]  # (N, 3)
            columns[:, step] = chosen[:, 1:]
            beams = chosen[:, 0].astype(np.int64)
        return list(zip(columns[..., 0].astype(np.int64).tolist(), columns[..., 1].tolist(), strict=True))
