"""Read the recorded choices of a beam search: the same pools, stopping and hypotheses as `beam.py`, without torch.

The choices are those of NumPy, or of a device that runs the next step without waiting for the host, which reads each
record one step behind. No rule may depend on earlier tokens.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from clearhead.decoding.search.hypothesis import Hypothesis, Pool, is_finished, normalised
from clearhead.decoding.search.settings import SearchSettings

PARENT, TOKEN, LOG_PROB, TOTAL, IS_ENDED = range(5)  # the columns of a record, for each candidate
Numbers = NDArray[np.float64]


class RecordReader:
    """The choices of every step so far, the pools, and the sentences that are not finished.

    `limits` are the maximum lengths. The search of a sentence stops after the step in which `is_wanted` returns False
    for its number.
    """

    def __init__(
        self,
        limits: Sequence[int],
        settings: SearchSettings,
        eos: int,
        is_wanted: Callable[[int], bool] = lambda number: True,
    ) -> None:
        self.limits, self.settings, self.eos, self.is_wanted = limits, settings, eos, is_wanted
        self.pools = [Pool(settings.beam) for _ in limits]
        self.going: list[int] = list(range(len(limits)))
        self._steps: list[Numbers] = []  # (B, K, 3) each: parent, token and log-probability of the kept candidates

    @property
    def best(self) -> list[list[Hypothesis]]:
        """The best hypotheses of each sentence, best first."""
        return [pool.best[: self.settings.n_best] for pool in self.pools]

    def read(self, record: Numbers) -> Numbers:
        """Process the record (B, C, 5) of one step, best candidates first; return the kept candidates (B, K, 5)."""
        self._set_aside(record[:, : self.settings.beam])
        # the best that have not ended; where there are fewer than `beam`, the rest have no chance
        choice = record[:, :, IS_ENDED].argsort(axis=1, kind="stable")[:, : self.settings.beam]
        survivors = np.take_along_axis(record, choice[..., None], axis=1)
        survivors[..., TOTAL][survivors[..., IS_ENDED] > 0] = -math.inf
        self._steps.append(survivors[:, :, [PARENT, TOKEN, LOG_PROB]])
        best, length = survivors[:, 0, TOTAL].tolist(), len(self._steps)
        self.going = [number for number in self.going if not self._is_done(number, best[number], length)]
        return survivors

    def _is_done(self, number: int, best: float, length: int) -> bool:
        if not self.is_wanted(number):
            return True
        return is_finished(self.pools[number], best, length, self.limits[number], self.settings)

    def _set_aside(self, first: Numbers) -> None:
        """Put ended candidates among the best `beam` into the pools of their sentences."""
        is_going = np.zeros(len(first), dtype=bool)
        is_going[self.going] = True
        ended = (first[:, :, IS_ENDED] > 0) & (first[:, :, TOTAL] > -math.inf) & is_going[:, None]
        rows, places = ended.nonzero()
        if not len(rows):
            return
        length = len(self._steps) + 1
        before = self._before(rows, first[rows, places, PARENT].astype(np.int64))
        last = first[rows, places].tolist()
        for row, (tokens, log_probs), candidate in zip(rows.tolist(), before, last, strict=True):
            score = normalised(candidate[TOTAL], length, self.settings.length_penalty)
            if self.pools[row].would_take(score):
                token = int(candidate[TOKEN])
                all_log_probs = (*log_probs, candidate[LOG_PROB])
                self.pools[row].add(Hypothesis((*tokens, token), all_log_probs, score, token == self.eos))

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
