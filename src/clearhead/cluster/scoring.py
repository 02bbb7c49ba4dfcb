"""Score windows of pairs on the workers of a cluster, and write the scores in order."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from clearhead import __version__
from clearhead.cluster.connection import RayCluster
from clearhead.cluster.messages import LineWindow, WindowResult
from clearhead.cluster.outputs import StreamOutput, WindowOutput, write_in_order
from clearhead.cluster.stream import ClusterWorkers, ask_worker, process_windows
from clearhead.cluster.translation import check_worker
from clearhead.decoding.engines.engine import DeviceName, Precision
from clearhead.decoding.scoring import SCORE_WINDOW, ScoreTotal, TextPair, TooLong, open_scorer, read_pairs
from clearhead.decoding.scoring_job import ScoreOutput, ScoringJob, check_num_files, pair_line
from clearhead.errors import DataError, RunError, printable
from clearhead.files.destination import find_destination
from clearhead.files.line_input import InputLine
from clearhead.files.line_output import LineOutput
from clearhead.formats.model_folder import ModelFolder


@dataclass(frozen=True)
class ScoringTask:
    """What to score with, the files of the pairs, and what is written for each pair."""

    model: ModelFolder
    files: tuple[str, ...]
    output: ScoreOutput = ScoreOutput()
    device: DeviceName = "auto"
    precision: Precision = "auto"
    too_long: TooLong = "refuse"


@dataclass(frozen=True)
class ScoringDescription:
    """What a worker reports about its model."""

    settings: Mapping[str, Any]
    has_source: bool
    vocabulary: str  # the digest
    version: str = __version__


@dataclass(frozen=True)
class ScoringWork:
    """Pairs to score, of which the first `num_done` are done already; see cluster.stream.Work."""

    task: ScoringTask
    folder: Path  # that the names of the files are relative to
    num_done: int = 0
    expected: ScoringDescription | None = None  # of the first worker, which every other must match

    def pairs(self) -> Iterator[TextPair]:
        """Yield the pairs of the files."""
        return read_pairs(self.task.files[0] if len(self.task.files) == 2 else None, self.task.files[-1])

    def read(self) -> Iterator[LineWindow]:
        """Yield the windows of pairs, in order."""
        os.chdir(self.folder)  # so that messages show the names as the user gave them
        number = self.num_done
        try:
            pairs = islice(self.pairs(), self.num_done, None)
            while window := list(islice(pairs, SCORE_WINDOW)):
                lines = []
                for pair in window:
                    number += 1
                    lines.append(InputLine(number, pair_line(pair), pair.target, (pair.source, pair.target)))
                yield LineWindow(0, tuple(lines))
        except DataError as wrong:
            yield LineWindow(0, error=wrong)
            return
        yield LineWindow(0, is_last=True)

    def open(self, num_threads: int) -> "ScoringWorker":
        """Load the model, on a worker, and check that it is the same as on all others."""
        task = self.task  # torch has as many threads as Ray assigns CPUs, by OMP_NUM_THREADS
        model = replace(task.model)  # a copy has no hashes yet, so that the files of this machine are verified
        scorer = open_scorer(model, device=task.device, precision=task.precision, too_long=task.too_long)
        worker = ScoringWorker(ScoringJob(scorer, task.output))
        if self.expected is not None:
            own = worker.describe()
            check_worker(
                {**self.expected.settings, "clearhead": self.expected.version},
                {**own.settings, "clearhead": own.version},
            )
        return worker


def describe_scoring(work: ScoringWork, num_threads: int) -> ScoringDescription:
    """Return what a worker reports about its model; this function is called on a worker."""
    return work.open(num_threads).describe()


class ScoringWorker:
    """Scores windows with one model."""

    def __init__(self, job: ScoringJob) -> None:
        self._job = job

    def describe(self) -> ScoringDescription:
        """Return the settings of its model."""
        scorer = self._job.scorer
        return ScoringDescription(self._job.settings, scorer.has_source, scorer.vocabularies.digest)

    def process(self, window: LineWindow) -> WindowResult:
        """Score a window."""
        job = ScoringJob(self._job.scorer, self._job.output)  # a new one, so that its total is that of this window
        content = job.scored([TextPair(line.cells[0], line.cells[1]) for line in window.lines], window.lines[0].number)
        return WindowResult(window.file, content, report={"total": asdict(job.total), "num_kept": job.num_kept})


class ClusterScoring:
    """Scores the pairs of files on a cluster; `total` is the total of the pairs that this run has scored."""

    def __init__(self, task: ScoringTask, progress: Callable[[int], None] = lambda num_pairs: None) -> None:
        self.task, self._progress = task, progress
        self.total = ScoreTotal()
        self.num_kept = self.num_repeated = self.num_earlier = 0
        self.vocabulary = ""

    def run(
        self, cluster: RayCluster, pool: ClusterWorkers, output: Path | None = None, *, resume: bool = False
    ) -> bool:
        """Score all pairs; return False if the output was complete already."""
        work = ScoringWork(self.task, Path.cwd())
        description: ScoringDescription = ask_worker(pool, work, describe_scoring)
        check_num_files(len(self.task.files), has_source=description.has_source)
        self.vocabulary = description.vocabulary
        target = self._open(output, work, description, resume=resume)
        if target is None:
            return False
        target.skip(map(pair_line, islice(work.pairs(), target.num_done)))
        self.num_earlier = target.num_done
        work = replace(work, num_done=target.num_done, expected=description)
        write_in_order([target], process_windows(cluster, pool, work), self._count)
        return True

    def _open(
        self, output: Path | None, work: ScoringWork, description: ScoringDescription, *, resume: bool
    ) -> WindowOutput | None:
        if output is None:
            return StreamOutput(sys.stdout.buffer, is_owned=False)
        destination = find_destination(output)
        if destination.is_stream:
            if resume:
                raise RunError(f"{printable(str(output))} is not a file, so it cannot be resumed.", options=("resume",))
            return StreamOutput(destination.open_stream())
        file = LineOutput.open(output, description.settings, resume=resume)
        if not file.is_finished:
            return file
        file.check_finished(map(pair_line, work.pairs()))
        return None

    def _count(self, result: WindowResult) -> None:
        self.total.merge(ScoreTotal(**result.report["total"]))
        self.num_kept += result.report["num_kept"]
        self.num_repeated += result.num_attempts > 1
        self._progress(self.total.num_sentences)
