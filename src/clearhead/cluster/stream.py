"""A Ray Data pipeline: one reader yields windows of lines, a pool of workers processes them, the order is kept.

Ray Data limits how far the reader runs ahead, restarts workers that die and repeats their windows.
"""

import os
import platform
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import pyarrow
import ray
from ray.data import ActorPoolStrategy, DataContext, Datasource, ExecutionResources, ReadTask
from ray.data.block import BlockMetadata

from clearhead.cluster.connection import RayCluster
from clearhead.cluster.messages import LineWindow, WindowResult
from clearhead.errors import ClearheadError, ConfigError, RunError

MAX_ATTEMPTS = 4  # a window that has ended as many workers ends the job
_STORE_LIMIT = 2**27  # bytes of windows and results in shared memory
_TASKS_IN_FLIGHT = 2  # windows that wait at each worker, so that it never waits for one itself
_MAX_COUNTED = 100_000  # windows whose starts are counted: far more than can be under way
_WAIT = 30.0  # seconds without a free worker after which the user gets a message


WorkT = TypeVar("WorkT", bound="Work")
AnswerT = TypeVar("AnswerT")


class WindowWorker(Protocol):
    """Processes windows with a model that was loaded once."""

    def process(self, window: LineWindow) -> WindowResult:
        """Return the result of a window; raise ClearheadError for an error of the user."""


class Work(Protocol):
    """A job that can be sent to workers: how its input is read and how its windows are processed."""

    def read(self) -> Iterator[LineWindow]:
        """Yield the windows of all inputs, in order."""

    def open(self, num_threads: int) -> WindowWorker:
        """Load the model, on a worker."""


@dataclass(frozen=True)
class ClusterWorkers:
    """The workers of a job: their number, and the CPUs and GPUs that each of them has."""

    num_workers: int
    num_cpus: int = 1
    num_gpus: int = 0

    @staticmethod
    def plan(cluster: RayCluster, device: str, num_workers: int | None) -> "ClusterWorkers":
        """Return one worker for each GPU, or for each CPU where no GPU is wanted or there is none."""
        num_gpus = 0 if device == "cpu" else min(1, cluster.num_gpus)
        if device == "cuda" and not num_gpus:
            raise ConfigError("no node of the Ray cluster has a GPU. Run on CPUs.", options={"device": "cpu"})
        most = cluster.num_gpus if num_gpus else cluster.num_cpus
        if num_workers is not None and num_workers > most:
            kind = "GPUs" if num_gpus else "CPUs"
            raise ConfigError(
                f"{num_workers} workers need {num_workers} {kind}, but the Ray cluster has {most}.",
                options=("workers",),
            )
        if not most:
            raise RunError("the Ray cluster has no CPUs for workers. Add a node to it.", options=("ray",))
        return ClusterWorkers(num_workers or most, 1, num_gpus)


def ask_worker(
    pool: ClusterWorkers,
    work: WorkT,
    ask: Callable[[WorkT, int], AnswerT],
    waits: Callable[[], None] = lambda: None,
) -> AnswerT:
    """Return `ask(work, num_threads)`, called on one worker; `waits` is called if the cluster has none to spare."""
    remote: Any = ray.remote(num_cpus=pool.num_cpus, num_gpus=pool.num_gpus, max_retries=MAX_ATTEMPTS)(_asked)
    reference = remote.remote(ask, work, pool.num_cpus)
    ready, _ = ray.wait([reference], timeout=_WAIT)
    if not ready:
        waits()
    answer: AnswerT | ClearheadError = ray.get(reference)
    if isinstance(answer, ClearheadError):
        raise answer
    return answer


def _asked(ask: Callable[[WorkT, int], AnswerT], work: WorkT, num_threads: int) -> AnswerT | ClearheadError:
    try:
        return ask(work, num_threads)
    except ClearheadError as wrong:  # returned, because Ray would repeat the task
        return wrong


def process_windows(cluster: RayCluster, pool: ClusterWorkers, work: Work) -> Generator[WindowResult, None, None]:
    """Yield the results of all windows in the order of the input, as soon as they are there."""
    context = DataContext.get_current()
    context.execution_options.preserve_order = True
    context.execution_options.resource_limits = ExecutionResources(object_store_memory=_STORE_LIMIT)
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.target_max_block_size = context.target_min_block_size = 1  # one window for each block and task
    on_driver = {"ray.io/node-id": cluster.node}  # its files need not be visible elsewhere
    attempts = ray.remote(num_cpus=0)(_Attempts).options(label_selector=on_driver).remote()
    results = ray.data.read_datasource(
        _WindowSource(work), override_num_blocks=1, num_cpus=0, label_selector=on_driver
    ).map_batches(
        _PoolWorker,
        fn_constructor_args=(work, pool.num_cpus, attempts),
        batch_size=1,
        compute=ActorPoolStrategy(size=pool.num_workers, max_tasks_in_flight_per_actor=_TASKS_IN_FLIGHT),
        num_cpus=pool.num_cpus,
        num_gpus=pool.num_gpus,
    )
    for table in results.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
        for row in table.to_pylist():
            yield WindowResult.from_json(row["result"], row["content"])


class _WindowSource(Datasource):
    """Reads all inputs in one task: reading is fast, and one task keeps their order."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        self._work = work

    def estimate_inmemory_data_size(self) -> int | None:
        return None

    def get_read_tasks(
        self, parallelism: int, per_task_row_limit: int | None = None, data_context: DataContext | None = None
    ) -> list[ReadTask]:
        work = self._work

        def read() -> Iterable[pyarrow.Table]:
            for number, window in enumerate(work.read()):
                yield pyarrow.table({"number": [number], "window": [window.to_json()]})

        metadata = BlockMetadata(num_rows=None, size_bytes=None, input_files=None, exec_stats=None)
        return [ReadTask(read, metadata)]


class _PoolWorker:
    """An actor of the pool: it loads the model once, then processes windows."""

    def __init__(self, work: Work, num_threads: int, attempts: Any) -> None:
        self._attempts = attempts
        self._worker: WindowWorker | ClearheadError
        try:
            self._worker = work.open(num_threads)
        except ClearheadError as wrong:  # returned with each window, because Ray would start the worker again
            self._worker = wrong
        self._name = (platform.node(), os.getpid())

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        window = LineWindow.from_json(str(batch["window"][0]))
        num_attempts: int = ray.get(self._attempts.start.remote(int(batch["number"][0])))
        result = replace(self._result(window, num_attempts), worker=self._name, num_attempts=num_attempts)
        return {"result": [result.to_json()], "content": [result.content]}

    def _result(self, window: LineWindow, num_attempts: int) -> WindowResult:
        lines = tuple(line.line for line in window.lines)
        if window.is_last or window.error is not None:
            return WindowResult(window.file, error=window.error, is_last=window.is_last)
        try:
            if isinstance(self._worker, ClearheadError):
                raise self._worker
            if num_attempts > MAX_ATTEMPTS:
                first, last = window.lines[0].number, window.lines[-1].number
                raise RunError(
                    f"lines {first:,} to {last:,} of input {window.file + 1} have ended {MAX_ATTEMPTS} workers, "
                    "perhaps because memory ran out. Use fewer workers or smaller windows.",
                    options=("workers", "window"),
                )
            return replace(self._worker.process(window), file=window.file, lines=lines)
        except ClearheadError as wrong:
            return WindowResult(window.file, error=wrong)


class _Attempts:
    """Counts how often each window was started, in a process that outlives the workers."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def start(self, number: int) -> int:
        """Count a start of a window, and return how many there were; windows long before it are forgotten."""
        self._counts[number] = self._counts.get(number, 0) + 1
        if len(self._counts) > _MAX_COUNTED:
            del self._counts[next(iter(self._counts))]
        return self._counts[number]
