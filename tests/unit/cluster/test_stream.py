"""How many workers a cluster gives, and what a worker does with windows that fail."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

pytest.importorskip("ray")

from clearhead.cluster import stream
from clearhead.cluster.connection import RayCluster
from clearhead.cluster.messages import LineWindow, WindowResult
from clearhead.cluster.stream import MAX_ATTEMPTS, ClusterWorkers
from clearhead.errors import CheckpointError, ClearheadError, DataError
from clearhead.files.line_input import InputLine

CPUS, GPUS = RayCluster(7, 0, "node", False), RayCluster(13, 3, "node", False)


@pytest.mark.parametrize(
    ("cluster", "device", "number", "pool"),
    [
        (CPUS, "auto", None, ClusterWorkers(7, 1, 0)),
        (CPUS, "cpu", 5, ClusterWorkers(5, 1, 0)),
        (GPUS, "auto", None, ClusterWorkers(3, 1, 1)),
        (GPUS, "cuda", 2, ClusterWorkers(2, 1, 1)),
        (GPUS, "cpu", None, ClusterWorkers(13, 1, 0)),
    ],
)
def test_there_is_a_worker_for_each_gpu_or_else_for_each_cpu(
    cluster: RayCluster, device: str, number: int | None, pool: ClusterWorkers
) -> None:
    assert ClusterWorkers.plan(cluster, device, number) == pool


@pytest.mark.parametrize(
    ("cluster", "device", "number", "sentence"),
    [
        (CPUS, "cuda", None, "no node of the Ray cluster has a GPU. Run on CPUs."),
        (CPUS, "auto", 11, "11 workers need 11 CPUs, but the Ray cluster has 7."),
        (GPUS, "auto", 11, "11 workers need 11 GPUs, but the Ray cluster has 3."),
        (RayCluster(0, 0, "node", False), "auto", None, "the Ray cluster has no CPUs for workers. Add a node to it."),
    ],
)
def test_more_workers_than_the_cluster_has_are_refused(
    cluster: RayCluster, device: str, number: int | None, sentence: str
) -> None:
    with pytest.raises(ClearheadError) as refusal:
        ClusterWorkers.plan(cluster, device, number)
    assert str(refusal.value) == sentence


class _Upper:
    """A worker that writes lines in capital letters, and refuses empty ones."""

    def process(self, window: LineWindow) -> WindowResult:
        if any(not line.text for line in window.lines):
            raise DataError("a line is empty.")
        return WindowResult(0, "".join(f"{line.text.upper()}\n" for line in window.lines).encode())


@dataclass(frozen=True)
class _Work:
    error: ClearheadError | None = None

    def read(self) -> Iterator[LineWindow]:
        yield LineWindow(0, is_last=True)

    def open(self, num_threads: int) -> _Upper:
        if self.error is not None:
            raise self.error
        return _Upper()


def _result(work: _Work, window: LineWindow, num_attempts: int = 1) -> WindowResult:
    return stream._PoolWorker(work, 1, None)._result(window, num_attempts)


WINDOW = LineWindow(2, (InputLine(5, "one", "one"), InputLine(6, "two", "two")))


def test_a_worker_returns_the_output_with_the_input_lines() -> None:
    assert _result(_Work(), WINDOW) == WindowResult(2, b"ONE\nTWO\n", ("one", "two"))


def test_errors_are_returned_and_not_raised() -> None:
    empty = _result(_Work(), LineWindow(0, (InputLine(1, "", ""),)))
    assert str(empty.error) == "a line is empty."
    unloaded = _result(_Work(CheckpointError("no model.")), WINDOW)
    assert isinstance(unloaded.error, CheckpointError)
    unread = _result(_Work(), LineWindow(1, error=DataError("not UTF-8.")))
    assert (unread.file, str(unread.error)) == (1, "not UTF-8.")


def test_a_window_that_has_ended_several_workers_ends_the_job() -> None:
    assert _result(_Work(), WINDOW, MAX_ATTEMPTS).error is None
    refused = _result(_Work(), WINDOW, MAX_ATTEMPTS + 1)
    assert str(refused.error).startswith(
        "lines 5 to 6 of input 3 have ended 4 workers, perhaps because memory ran out."
    )
    assert refused.content == b""


def test_starts_are_counted_by_window_and_old_ones_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "_MAX_COUNTED", 3)
    attempts = stream._Attempts()
    assert [attempts.start(number) for number in (0, 1, 0, 2, 0)] == [1, 1, 2, 1, 3]
    assert [attempts.start(number) for number in (3, 0)] == [1, 1]
