"""Translate a file with the workers of a Ray cluster: each worker translates parts of it, which are joined at the end.

A part consists of whole windows of lines, so that its bytes are those that one process would write. It is an output
file with a journal: a worker that replaces another continues it, and a command that is run again skips complete parts.
"""

import logging
import os
import shutil
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.util import find_spec
from itertools import accumulate, islice, pairwise
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np

from clearhead.decoding.alignment import AlignmentRule
from clearhead.decoding.annotation import Annotator
from clearhead.decoding.engines.engine import EngineNeeds
from clearhead.decoding.engines.opening import EngineChoice
from clearhead.decoding.job import JobHooks, JobOutput, TranslationJob
from clearhead.decoding.pipeline import Remark, TranslationOptions, windows
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.decoding.windowed_job import JobInterrupted
from clearhead.errors import ClearheadError, ConfigError, DataError, RunError, not_installed, printable
from clearhead.files.destination import find_destination
from clearhead.files.line_input import InputLine, LineSource
from clearhead.files.line_output import LineOutput
from clearhead.files.line_record import describe_differences
from clearhead.formats.model_folder import ModelFolder

AUTO = "auto"
_MAX_PARTS = 100  # each worker reads the input from its start, so that many small parts would take long to read
_MAX_STARTS = 4  # of a part; Ray would repeat it without limit
_STARTS = ".starts"  # the suffix of a file with one byte for each start of a part
_CONNECT_LIMIT = 10.0  # seconds for the port of a cluster to answer


@dataclass(frozen=True)
class RayTask:
    """What the workers translate, and with what; the folder of parts must be the same for all of them."""

    model: ModelFolder
    choice: EngineChoice
    needs: EngineNeeds
    search: SearchSettings
    options: TranslationOptions
    output: JobOutput
    rule: AlignmentRule | None  # the attention head that alignments are read from
    source: LineSource
    path: Path | None  # of the output
    window: int
    folder: Path = field(default_factory=Path.cwd)  # that relative names start from

    @property
    def parts(self) -> Path:
        """The folder of the parts, next to the output."""
        assert self.path is not None
        return self.path.with_name(f"{self.path.name}.parts")


@dataclass(frozen=True)
class PartSource(LineSource):
    """The lines of a source from number `start` (counted from 0) to before number `stop`."""

    start: int = 0
    stop: int = 0

    def records(self) -> Iterator[InputLine]:
        """Yield these lines, with their numbers in the complete source."""
        return islice(super().records(), self.start, self.stop)


@dataclass(frozen=True)
class PartResult:
    """What a worker reports about a part: the settings it was made with, or the error that ended it."""

    num_lines: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    remarks: tuple[Remark, ...] = ()
    error: ClearheadError | None = None  # returned, because Ray repeats what raises an error


class PartWorker:
    """Translates parts with a model that is loaded once."""

    def __init__(self, task: RayTask) -> None:
        self._task = task
        os.chdir(task.folder)

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Translate one part; Ray passes and expects columns of one row."""
        return {"result": np.array([self.translate(int(batch["start"][0]), int(batch["stop"][0]))])}

    def translate(self, start: int, stop: int) -> PartResult:
        """Write the part from line `start` to line `stop`, or continue it; a complete part is only checked."""
        task = self._task
        source = PartSource(**asdict(task.source), start=start, stop=stop)
        path = task.parts / f"{start}-{stop}"
        is_complete = path.exists()
        remarks: list[Remark] = []
        with path.with_name(path.name + _STARTS).open("ab") as starts:
            starts.write(b".")
            num_starts = starts.tell()
        try:
            if num_starts > _MAX_STARTS:
                raise RunError(
                    f"lines {start + 1:,} to {stop:,} have ended {_MAX_STARTS} workers, perhaps because memory ran "
                    "out. Use fewer workers or a smaller window.",
                    options=("workers", "window"),
                )
            hooks = JobHooks(self._annotator, remark=remarks.append)
            job = TranslationJob(self._translator, source, task.search, task.options, task.output, hooks)
            job.run(path, window=task.window, resume=True)
        except DataError as error:
            # without the sentence that a job adds about its own lines, which are only those of the part
            cause = error.__context__
            return PartResult(error=cause if isinstance(cause, DataError) else error)
        except ClearheadError as error:
            return PartResult(error=error)
        # advice counts the lines of a whole input
        shown = [remark for remark in remarks if not remark.is_advice and not is_complete]
        notes = [Remark(note) for note in self._translator.notes]
        return PartResult(stop - start, job.settings, (*notes, *shown))

    @cached_property
    def _translator(self) -> Translator:
        return Translator.open(self._task.model, self._task.choice, self._task.needs)

    @cached_property
    def _annotator(self) -> Annotator | None:
        output = self._task.output
        if not (output.align or output.draw):
            return None
        return Annotator(self._translator, self._task.search, self._task.rule)


@dataclass(frozen=True)
class RayCluster:
    """The address of a cluster (`auto`: a running one, otherwise one on this machine), and the number of workers."""

    address: str = AUTO
    num_workers: int | None = None  # one for each GPU, or for each CPU if there is none

    def translate(self, task: RayTask, hooks: JobHooks, *, resume: bool = False) -> None:
        """Translate all parts on the cluster, and join them."""
        if task.path is None or task.source.text is not None or task.source.name == "-":
            raise ConfigError("a cluster reads a file and writes a file. Name both.", options=("input", "output"))
        destination = find_destination(task.path)
        shown = printable(str(task.path))
        if destination.is_stream:
            raise RunError(f"{shown} is not a file. A cluster writes parts of a file.", options=("output",))
        is_continued = task.parts.exists()
        if is_continued and not resume:
            raise RunError(
                f"{printable(str(task.parts))} exists already: a translation that was not finished. "
                "Delete it, or resume it.",
                options=("resume",),
            )
        if not is_continued and LineOutput(destination.path, {}).part.exists():
            raise RunError(f"{shown} was started in one process. Finish it there, or delete {shown}.part.")
        parts = _cut(task.source, task.window)
        if resume and not is_continued and task.path.exists():
            parts = [(0, 0)]  # it is complete: a worker says which settings it would be made with
        settings = self._translate_parts(task, parts, hooks)
        file = LineOutput.open(task.path, {**settings, "window": task.window}, resume=resume)
        if file.is_finished:
            file.check_finished(record.line for record in task.source.records())
            hooks.remark(Remark(f"{shown} is already complete."))
        else:
            _join(file, task, parts)
        shutil.rmtree(task.parts, ignore_errors=True)

    def _translate_parts(self, task: RayTask, parts: Sequence[tuple[int, int]], hooks: JobHooks) -> Mapping[str, Any]:
        """Return the settings of all parts."""
        settings: Mapping[str, Any] = {}
        remarks: set[Remark] = set()
        num_lines = 0
        with self._connected():
            task.parts.mkdir(exist_ok=True)
            _forget_starts(task.parts)  # of a command that was killed
            try:
                for result in self._results(task, parts):
                    if result.error is not None:
                        raise result.error
                    if differences := describe_differences(settings or result.settings, result.settings):
                        raise RunError(
                            f"the workers of the cluster differ: {differences}. Give every node the same model and "
                            "packages, or choose the engine, device and precision.",
                            options=("engine", "device", "precision"),
                        )
                    settings = result.settings
                    for remark in result.remarks:
                        if remark not in remarks:
                            hooks.remark(remark)
                    remarks.update(result.remarks)
                    num_lines += result.num_lines
                    hooks.progress(num_lines)
            except KeyboardInterrupt:
                raise JobInterrupted(num_lines) from None
            finally:
                _forget_starts(task.parts)
                with suppress(OSError):
                    task.parts.rmdir()  # if nothing is done, there is nothing to resume
        return settings

    def _results(self, task: RayTask, parts: Sequence[tuple[int, int]]) -> Iterator[PartResult]:
        """Yield the result of each part, in any order."""
        import ray
        from ray.data import ActorPoolStrategy, DataContext

        resources = ray.cluster_resources()
        num_gpus = 0 if task.choice.device == "cpu" else min(1, int(resources.get("GPU", 0)))
        kind = "GPU" if num_gpus else "CPU"
        most = int(resources.get(kind, 0))
        num_workers = self.num_workers or max(1, most)
        if num_workers > most:
            raise ConfigError(
                f"{num_workers} workers need as many {kind}s, but the Ray cluster has {most}.",
                options=("workers",),
            )
        context = DataContext.get_current()
        context.enable_progress_bars = context.print_on_execution_start = False
        rows = [{"start": start, "stop": stop} for start, stop in parts]
        results = ray.data.from_items(rows, override_num_blocks=len(rows)).map_batches(
            PartWorker,
            fn_constructor_args=(task,),
            batch_size=1,
            compute=ActorPoolStrategy(size=min(num_workers, len(rows)), max_tasks_in_flight_per_actor=1),
            num_cpus=1,
            num_gpus=num_gpus,
        )
        try:
            for row in results.iter_rows():
                yield row["result"]
        except ray.exceptions.RayError as error:
            raise RunError(
                f"the workers of the cluster failed: {printable(str(error).strip().splitlines()[-1])} "
                "Correct that, then resume.",
                options=("resume",),
            ) from None

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Connect to the cluster; one that is started here ends with the job."""
        if find_spec("ray") is None:
            raise ConfigError(not_installed("a cluster", "ray", "cluster"))
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
        # Without GPUs, leave the variables alone that hide GPUs: otherwise Ray warns that this will become the default.
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        if self.address != AUTO:
            _check_address(self.address)
        elif "RAY_AUTH_MODE" not in os.environ:  # keep other users of this machine out of a cluster that is started
            os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=token_hex(32))
        import ray
        import ray.data  # it configures its logger

        logging.getLogger("ray.data").setLevel(logging.CRITICAL)
        try:
            ray.init(
                None if self.address == AUTO else self.address,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.CRITICAL,
            )
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise RunError(
                f"the Ray cluster cannot be joined: {printable(str(error).strip().splitlines()[0])} This command must "
                "run on a node of the cluster, with the same versions of Python and Ray.",
                options=("ray",),
            ) from None
        try:
            yield
        finally:
            ray.shutdown()


def _forget_starts(folder: Path) -> None:
    for starts in folder.glob(f"*{_STARTS}"):
        starts.unlink()


def _cut(source: LineSource, window: int) -> list[tuple[int, int]]:
    """Return the first and the last line (excluded) of each part."""
    ends = [0, *accumulate(len(lines) for lines in windows(source.records(), window))]
    num_windows = -(-len(ends) // _MAX_PARTS)  # of each part
    return list(pairwise([*ends[:-1:num_windows], ends[-1]])) or [(0, 0)]


def _join(file: LineOutput, task: RayTask, parts: Iterable[tuple[int, int]]) -> None:
    """Write all parts in order to the output; those that an interrupted command has joined are skipped."""
    records = task.source.records()
    with file:
        file.skip(record.line for record in islice(records, file.num_done))
        for start, stop in parts:
            if start < file.num_done:
                continue
            lines = [record.line for record in islice(records, stop - start)]
            file.write((task.parts / f"{start}-{stop}").read_bytes(), lines, len(lines))
        file.finish()


def _check_address(address: str) -> None:
    """Raise an error if nothing answers at an address: Ray would wait for long, or abort the process."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) >= 2**16:
        raise ConfigError(
            f"'{printable(address)}' is not the address of a Ray cluster. Give {AUTO}, or HOST:PORT as `ray start` "
            "prints it.",
            options=("ray",),
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_LIMIT).close()
    except OSError as error:
        raise RunError(
            f"no Ray cluster answers at {printable(address)}: {error.strerror or 'no answer'}. Start one with "
            f"`ray start`, correct the address, or give {AUTO}.",
            options=("ray",),
        ) from None
