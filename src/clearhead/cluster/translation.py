"""Translate windows of lines on a worker, with the same job and the same settings as on one machine."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from clearhead import __version__
from clearhead.cluster.inputs import read_input
from clearhead.cluster.messages import LineWindow, WindowResult
from clearhead.decoding.alignment import AlignmentRule
from clearhead.decoding.annotation import Annotator
from clearhead.decoding.engines.engine import EngineNeeds
from clearhead.decoding.engines.opening import EngineChoice
from clearhead.decoding.job import JobHooks, JobOutput, TranslationJob
from clearhead.decoding.pipeline import WINDOW, Remark, TranslationOptions, windows
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.errors import DataError, RunError
from clearhead.files.line_input import LineSource
from clearhead.files.line_record import describe_differences, plain_data
from clearhead.formats.model_folder import ModelFolder


@dataclass(frozen=True)
class TranslationPlan:
    """What to translate with: the model, its engine, the search, and what is written for each line."""

    model: ModelFolder
    choice: EngineChoice
    needs: EngineNeeds
    search: SearchSettings
    options: TranslationOptions
    output: JobOutput
    rule: AlignmentRule | None = None  # the attention head that alignments are read from

    def open(self, num_threads: int) -> Translator:
        """Load the model."""
        # a copy has no hashes yet, so that the files of this machine are verified
        model, choice = replace(self.model), replace(self.choice, num_threads=num_threads)
        return Translator.open(model, choice, self.needs)

    def job(self, translator: Translator, source: LineSource, remarks: list[Remark]) -> TranslationJob:
        """Return a job for lines of one source; its remarks are added to `remarks`."""
        annotator = None
        if self.output.align or self.output.draw or self.output.alternatives is not None:
            annotator = Annotator(translator, self.search, self.rule)
        hooks = JobHooks(annotator, remark=remarks.append)
        return TranslationJob(translator, source, self.search, self.options, self.output, hooks)


@dataclass(frozen=True)
class TranslationDescription:
    """What a worker reports about its model: the settings for the journal, the name of the engine, and notes.

    The settings are those of all sources; each source adds its form and its column.
    """

    settings: Mapping[str, Any]
    engine: str
    headings: tuple[str, ...]
    notes: tuple[str, ...] = ()
    version: str = __version__


@dataclass(frozen=True)
class TranslationWork:
    """Sources to translate, each with the number of lines that are done already; see cluster.stream.Work."""

    task: TranslationPlan
    sources: tuple[LineSource, ...]
    num_done: tuple[int, ...] = ()
    folder: Path = Path()  # that the names of the sources are relative to
    window: int = WINDOW
    expected: TranslationDescription | None = None  # of the first worker, which every other must match

    def read(self) -> Iterator[LineWindow]:
        """Yield the windows of all sources, in order."""
        os.chdir(self.folder)  # so that messages show the names as the user gave them
        for number, source in enumerate(self.sources):
            try:
                lines = islice(read_input(source), self.num_done[number], None)
                for window in windows(lines, self.window):
                    yield LineWindow(number, tuple(window))
            except DataError as wrong:
                yield LineWindow(number, error=wrong)
                return
            yield LineWindow(number, is_last=True)

    def open(self, num_threads: int) -> "TranslationWorker":
        """Load the model, on a worker, and check that it is the same model and engine as on all others."""
        worker = TranslationWorker(self.task.open(num_threads), self)
        if self.expected is not None:
            own = worker.describe()
            check_worker(
                {**self.expected.settings, "clearhead": self.expected.version},
                {**own.settings, "clearhead": own.version},
            )
        return worker


def describe_translation(work: TranslationWork, num_threads: int) -> TranslationDescription:
    """Return what a worker says about its model; this function is called on a worker."""
    return work.open(num_threads).describe()


def check_worker(expected: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Raise RunError if a worker has another model or engine than the first worker."""
    differences = describe_differences(plain_data(expected), plain_data(own))
    if differences:
        raise RunError(
            f"the workers of the cluster differ: {differences}. Give every node the same model and packages, or choose "
            "the engine, device and precision.",
            options=("engine", "device", "precision"),
        )


class TranslationWorker:
    """Translates windows with one translator."""

    def __init__(self, translator: Translator, work: TranslationWork) -> None:
        self._translator, self._work = translator, work

    def describe(self) -> TranslationDescription:
        """Return the settings, the engine and the notes of its translator."""
        job = self._work.task.job(self._translator, self._work.sources[0], [])
        settings = {name: value for name, value in job.settings.items() if name not in ("form", "column")}
        headings = tuple(job.columns.headings)
        return TranslationDescription(settings, self._translator.engine.name, headings, self._translator.notes)

    def process(self, window: LineWindow) -> WindowResult:
        """Translate a window."""
        remarks: list[Remark] = []
        # a new job for each window, so that its counts are those of this window
        job = self._work.task.job(self._translator, self._work.sources[window.file], remarks)
        content = job.translated(window.lines)
        report = {
            "remarks": remarks,
            "num_skipped": job.num_skipped,
            "skipped": [asdict(fault) for fault in job.skipped],
            "findings": asdict(job.pipeline.unfamiliar.counts),
        }
        return WindowResult(window.file, content, report=report)
