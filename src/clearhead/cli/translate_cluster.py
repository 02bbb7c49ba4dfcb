"""`clearhead translate --ray`: the same translations, made by the workers of a Ray cluster."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from clearhead.cli.cluster_options import ClusterOptions, absolute_model
from clearhead.cli.translate_options import EngineOptions, LineOptions, ShownOptions
from clearhead.cli.translate_progress import TranslationProgress, can_show_progress
from clearhead.errors import ClearheadError

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearhead.cluster.translation import TranslationPlan
    from clearhead.decoding.alignment import AlignmentRule
    from clearhead.decoding.engines.engine import EngineNeeds
    from clearhead.decoding.job import JobOutput
    from clearhead.decoding.pipeline import Remark, TranslationOptions
    from clearhead.decoding.search.settings import SearchSettings
    from clearhead.formats.model_folder import ModelFolder


@dataclass(frozen=True)
class ClusterRequest:
    """What to translate with, as it was requested; each worker loads its own translator."""

    model: "Path | ModelFolder"
    needs: "EngineNeeds"
    search: "SearchSettings"
    options: "TranslationOptions"
    output: "JobOutput"
    find_rule: "Callable[[], AlignmentRule | None]"  # for alignments; it can load the model
    engine: EngineOptions
    texts: list[str]

    def task(self) -> "TranslationPlan":
        """Return the task of the workers, with an absolute path of the model."""
        from clearhead.cluster.translation import TranslationPlan
        from clearhead.decoding.engines.opening import EngineChoice

        folder = absolute_model(self.model)
        engine = self.engine
        choice = EngineChoice(engine.engine.value, engine.device.value, engine.precision.value)
        return TranslationPlan(folder, choice, self.needs, self.search, self.options, self.output, self.find_rule())


def run_on_cluster(
    cluster: ClusterOptions,
    request: ClusterRequest,
    lines: LineOptions,
    shown: ShownOptions,
    shown_remark: "Callable[[Remark], str]",
) -> None:
    """Translate the input on a cluster, with progress and notes on standard error."""
    from clearhead.cluster.inputs import InputRequest, find_inputs
    from clearhead.decoding.job import JobHooks, JobInterrupted
    from clearhead.files.line_input import LineSource

    if shown.explain is not None:
        raise ClearheadError("--explain writes one file from one process, so it cannot be used with --ray.")
    if request.texts and lines.input is not None:
        raise ClearheadError("both a sentence and a file (--input) are given. Give only one of them.")
    text = "\n".join(text.removesuffix("\n") for text in request.texts) if request.texts else None
    wanted = InputRequest(
        lines.input, None if lines.form is None else lines.form.value, lines.column, text, lines.on_fault.value
    )
    files = find_inputs(wanted, lines.output)
    task = request.task()
    is_plain = len(files) == 1 and Path(files[0].source.name).suffix != ".parquet"
    progress = TranslationProgress(
        files[0].source if is_plain else LineSource(),
        is_shown=can_show_progress(lines.output, is_typed=False),
    )
    hooks = JobHooks(
        remark=lambda remark: (
            None if shown.quiet and remark.is_advice else progress.print(f"clearhead: {shown_remark(remark)}")
        ),
        progress=progress.advance,
        resumed=progress.resume,
    )
    try:
        with cluster.connected(request.engine.device.value, quiet=shown.quiet) as (ray_cluster, pool), progress:
            from clearhead.cluster.job import ClusterTranslation

            ClusterTranslation(task, files, hooks).run(
                ray_cluster, pool, lambda name: lines.window_size(name, is_typed=False), resume=lines.resume
            )
    except JobInterrupted as interruption:
        show_interruption(interruption.num_done if lines.output is not None else 0)
        raise typer.Exit(130) from None


def show_interruption(num_done: int) -> None:
    """Print that a job was interrupted, and how to continue it."""
    advice = f" {num_done:,} lines are done. To continue, run the same command with --resume." if num_done else ""
    typer.echo(f"clearhead: interrupted.{advice}", err=True)
