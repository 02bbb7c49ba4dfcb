"""Run a job on a cluster from this process, the driver: ask a worker for its settings, then write results in order.

The driver holds one result at a time. Outputs and journals are those of one machine, so that a job that was started on
one machine can be resumed on a cluster, and the other way round.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from clearhead.cluster.connection import RayCluster
from clearhead.cluster.inputs import InputFile, is_parquet
from clearhead.cluster.messages import WindowResult
from clearhead.cluster.outputs import StreamOutput, WindowOutput, first_lines, open_file, write_in_order
from clearhead.cluster.stream import ClusterWorkers, ask_worker, process_windows
from clearhead.cluster.translation import (
    TranslationDescription,
    TranslationPlan,
    TranslationWork,
    describe_translation,
)
from clearhead.decoding.job import JobHooks, skipped_sentence
from clearhead.decoding.pipeline import Remark
from clearhead.decoding.unfamiliar import FindingCounts
from clearhead.errors import ClearheadError, RunError, printable
from clearhead.files.destination import Output, check_outputs, find_destination
from clearhead.files.line_output import COMPANIONS
from clearhead.files.lines import Fault
from clearhead.formats.model_files import model_files

_MAX_LISTED = 5  # skipped lines that are named in the message


@dataclass
class ClusterReport:
    """What the workers reported about all windows so far."""

    num_lines: int = 0
    num_repeated: int = 0  # windows that were started again, because their worker had died
    workers: set[tuple[str, int]] = field(default_factory=set)
    findings: FindingCounts = field(default_factory=FindingCounts)
    num_skipped: int = 0
    skipped: list[Fault] = field(default_factory=list)
    remarks: dict[Remark, None] = field(default_factory=dict)

    def add(self, result: WindowResult) -> list[Remark]:
        """Add the report of a window, and return its remarks that no window before it had."""
        self.num_lines += len(result.lines)
        self.num_repeated += result.num_attempts > 1
        self.workers.add(result.worker)
        report = result.report
        if findings := report.get("findings"):
            examples = {kind: (number, example) for kind, (number, example) in findings["examples"].items()}
            self.findings.merge(FindingCounts(findings["num_lines"], findings["counts"], examples))
        faults = [Fault(**fault) for fault in report.get("skipped", ())]
        self.num_skipped += report.get("num_skipped", 0)
        self.skipped += faults[: _MAX_LISTED - len(self.skipped)]
        remarks = [Remark(remark[0], tuple(remark[1]), remark[2]) for remark in report.get("remarks", ())]
        new = [remark for remark in remarks if remark not in self.remarks]
        self.remarks.update(dict.fromkeys(new))
        return new


def repeated_sentence(number: int) -> str:
    """Return how many windows were processed again."""
    windows = "1 window of lines was" if number == 1 else f"{number:,} windows of lines were"
    return f"{windows} processed again, because a worker had died. No line is missing or written twice."


class ClusterTranslation:
    """Translates files on a cluster; `report` counts what was done."""

    def __init__(self, task: TranslationPlan, files: Sequence[InputFile], hooks: JobHooks = JobHooks()) -> None:
        self.task, self.files, self.hooks = task, list(files), hooks
        self.report = ClusterReport()
        needs_one_line = any(file.output is not None and is_parquet(file.output) for file in files)
        output = task.output
        if needs_one_line and (
            output.as_json or output.draw or output.alternatives is not None or task.search.n_best > 1
        ):
            raise ClearheadError(
                "a Parquet file has one row for each row of the input, without JSON, n-best lists, drawings or "
                "alternatives. Write lines: give an output without .parquet.",
                options=("output",),
            )

    def run(
        self, cluster: RayCluster, pool: ClusterWorkers, window_size: Callable[[str], int], *, resume: bool = False
    ) -> None:
        """Translate all files; `window_size` returns the number of lines in a window for an engine."""
        work = TranslationWork(self.task, tuple(file.source for file in self.files), folder=Path.cwd())
        description: TranslationDescription = ask_worker(
            pool, work, describe_translation, lambda: self.hooks.remark(Remark("the cluster is busy: waiting for it."))
        )
        for note in description.notes:
            self.hooks.remark(Remark(note))
        window = window_size(description.engine)
        targets: list[tuple[InputFile, WindowOutput]] = []
        for file in self.files:
            output = self._open(file, description, window, resume=resume)
            if output is not None:
                targets.append((file, output))
        if targets:
            work = replace(
                work,
                sources=tuple(file.source for file, _ in targets),
                num_done=tuple(output.num_done for _, output in targets),
                window=window,
                expected=description,
            )
            for file, output in targets:
                output.skip(first_lines(file, output.num_done))
            self.hooks.resumed(sum(output.num_done for _, output in targets))
            outputs = [output for _, output in targets]
            write_in_order(outputs, process_windows(cluster, pool, work), self._count)
        self._finish()

    def _open(
        self, file: InputFile, description: TranslationDescription, window: int, *, resume: bool
    ) -> WindowOutput | None:
        """Open the output of a file; None if it is complete already."""
        if file.output is None:
            return StreamOutput(sys.stdout.buffer, is_owned=False)
        if len(self.files) > 1:
            file.output.parent.mkdir(parents=True, exist_ok=True)
        inputs = [] if file.source.text is not None else [file.source.name]
        check_outputs([Output(file.output, companions=COMPANIONS)], inputs, model_files=model_files(self.task.model))
        destination = find_destination(file.output)
        shown = printable(str(file.output))
        if destination.is_stream:
            if resume:
                raise RunError(f"{shown} is not a file, so it cannot be resumed.", options=("resume",))
            return StreamOutput(destination.open_stream())
        made_with = {
            **description.settings,
            "form": file.source.form,
            "column": file.source.column,
            "window": window,
        }
        output = open_file(file, description.headings, made_with, resume=resume)
        if output is None:
            self.hooks.remark(Remark(f"{shown} is already complete."))
        return output

    def _count(self, result: WindowResult) -> None:
        for remark in self.report.add(result):
            self.hooks.remark(remark)
        self.hooks.progress(self.report.num_lines)

    def _finish(self) -> None:
        report = self.report
        for sentence in report.findings.summary():
            self.hooks.remark(Remark(sentence, is_advice=True))
        if report.skipped:
            self.hooks.remark(Remark(skipped_sentence(report.skipped, report.num_skipped)))
        if report.num_repeated:
            self.hooks.remark(Remark(repeated_sentence(report.num_repeated)))
