"""The cost of attention.

Every token has a score with every token, so the matrix of weights has n² numbers: twice the length needs four times the
time and memory. Memory is counted exactly; times depend on the machine and vary between runs.
"""

import gc
import time
import tracemalloc

import numpy as np

from clearhead.studies.experiment import Measurement, ResultTable, Rows
from clearhead.studies.picture import Panel
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.reference import scale, softmax

CLAIM = "The time and memory of attention grow with the square of the length."
LENGTHS = (64, 128, 256, 512, 1024, 2048)
WIDTH = 64
NUM_REPEATS = 3
_LEAST_SECONDS = 0.1  # short runs are repeated more often, because their times vary more
_MEBIBYTE = 2**20
_MEMORY = ("peak memory (MiB)", "one n × n matrix (MiB)")
PANELS = (
    Panel("Memory of the weights", _MEMORY, "tokens", log="xy", label="MiB"),
    Panel("Time (depends on the machine)", ("time (ms)",), "tokens", log="xy"),
)


def run(seed: int) -> Measurement:
    """Measure the time and the peak memory of the weights at every length, and fit their growth."""
    random = np.random.default_rng(seed)
    rows: Rows = []
    for length in LENGTHS:
        q, k = random.standard_normal((2, length, WIDTH))
        seconds, peak = best_time(q, k), peak_memory(q, k)
        rows.append((length, 1000.0 * seconds, peak / _MEBIBYTE, 8 * length**2 / _MEBIBYTE))
    columns = ("tokens", "time (ms)", *_MEMORY)
    title = f"weights = softmax(Q Kᵀ / √d), d = {WIDTH}, float64, one core, fastest of at least {NUM_REPEATS} runs"
    time_growth, memory_growth = (growth(LENGTHS, [float(row[column]) for row in rows]) for column in (1, 2))
    growths: Rows = [("time", time_growth), ("peak memory", memory_growth)]
    doubled = float(rows[-1][2]) / float(rows[-2][2])
    finding = (
        f"From {LENGTHS[0]} to {LENGTHS[-1]} tokens, peak memory grows as n^{memory_growth:.2f} (the last doubling "
        f"multiplies it by {doubled:.2f}, to {float(rows[-1][2]):.0f} MiB), and time on this machine as "
        f"n^{time_growth:.2f}."
    )
    tables = (
        ResultTable(title, columns, rows),
        ResultTable("growth as a power of the length", ("quantity", "exponent"), growths),
    )
    return Measurement(tables, finding)


def weigh(q: Array, k: Array) -> Array:
    """softmax(Q Kᵀ / √d)

    The product is computed by einsum on one core: a multi-threaded product is faster, but at these lengths most of the
    time would be thread overhead, which varies between runs.
    """
    return softmax(scale(np.einsum("qd,kd->qk", q, k), root_of=q.shape[1]))


def best_time(q: Array, k: Array) -> float:
    """Return the seconds of the fastest of several runs, because other processes can only slow a run down."""
    weigh(q, k)  # warms the caches
    times: list[float] = []
    while len(times) < NUM_REPEATS or sum(times) < _LEAST_SECONDS:
        start = time.perf_counter()
        weigh(q, k)
        times.append(time.perf_counter() - start)
    return min(times)


def peak_memory(q: Array, k: Array) -> int:
    """Return the peak memory in bytes while the weights are computed, without the memory allocated before."""
    was_tracing = tracemalloc.is_tracing()
    gc.collect()  # garbage that is freed during the count would hide some allocations
    if not was_tracing:
        tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        weigh(q, k)
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        if not was_tracing:
            tracemalloc.stop()


def growth(lengths: tuple[int, ...], amounts: list[float]) -> float:
    """Return the p of the best fit amount = c nᵖ: the slope of the line through the logarithms."""
    return float(np.polyfit(np.log(lengths), np.log(amounts), 1)[0])
