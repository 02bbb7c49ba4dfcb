"""`clearhead translate`: text in, translations out, line for line."""

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperCommand

from clearhead.cli.flags import with_flags
from clearhead.cli.model_option import ModelOption, translation_model
from clearhead.cli.option_groups import with_option_groups
from clearhead.cli.text_lines import refuse_files
from clearhead.cli.translate_cluster import ClusterOptions, run_on_cluster
from clearhead.cli.translate_document import DocumentFlags, DocumentTask, document_name, run_document
from clearhead.cli.translate_options import (
    EngineOptions,
    FaultyLines,
    LineOptions,
    PhraseOptions,
    SearchOptions,
    ShownOptions,
    rule_with_flags,
)
from clearhead.cli.translate_progress import TranslationProgress, can_show_progress, interrupted
from clearhead.errors import ClearheadError, ConfigError, printable
from clearhead.retired import removed

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearhead.decoding.alignment import AlignmentRule
    from clearhead.decoding.annotation import Annotator
    from clearhead.decoding.engines.engine import EngineNeeds
    from clearhead.decoding.job import Explainer
    from clearhead.decoding.pipeline import Remark
    from clearhead.decoding.search.settings import SearchSettings
    from clearhead.decoding.translator import Translator
    from clearhead.formats.model_folder import ModelFolder

_SHORT = 800  # characters
_MANY = 500  # lines that take NumPy several seconds


@with_option_groups
def translate(
    context: typer.Context,
    *,
    texts: Annotated[
        list[str] | None,
        typer.Argument(help="Sentences to translate. Without them, lines are read from --input."),
    ] = None,
    model: ModelOption = None,
    lines: LineOptions,
    search: SearchOptions,
    phrases: PhraseOptions,
    shown: ShownOptions,
    engine: EngineOptions,
    documents: DocumentFlags,
    cluster: ClusterOptions,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object for each line.")] = False,
) -> None:
    """Translate sentences or a file."""
    _limit_threads(lines.num_characters(texts or []))
    try:
        from clearhead.decoding.engines.engine import EngineNeeds
        from clearhead.decoding.job import JobHooks, JobOutput, TranslationJob

        sentences = texts or []
        chosen = translation_model(model, sentences, lines.source_language, lines.language)
        path = chosen.path
        refuse_files(sentences, "translate")
        shown.check(lines)
        settings = search.settings()
        if sentence := removed(Path(lines.input or "").suffix.lower()):
            raise ConfigError(sentence)
        if documents.is_document(lines.input):
            line_options = {"--ray": cluster.is_used, **_line_options(lines, settings, shown, as_json)}
            name = document_name(lines, line_options, has_texts=bool(sentences))
            _check_outputs(path, lines, shown, phrases, has_texts=False)
            document = DocumentTask(name, lines.output, shown.quiet)
            run_document(document, chosen, settings, lines.options(phrases, chosen.language, has_scores=False), engine)
            return
        has_scores = shown.scores or as_json or settings.n_best > 1
        options = lines.options(phrases, chosen.language, has_scores=has_scores)
        needs = EngineNeeds(settings, (*options.constraints.uses, *shown.uses), lines.num_characters(sentences))
        output = JobOutput(shown.scores, shown.align, shown.draw, as_json)
        source = lines.source(sentences)
        _check_outputs(path, lines, shown, phrases, has_texts=bool(sentences))
        is_typed = lines.is_typed(bool(sentences))
        progress = TranslationProgress(source, is_shown=can_show_progress(lines.output, is_typed=is_typed))

        def show(remark: "Remark") -> None:
            if not (shown.quiet and remark.is_advice):
                progress.print(f"clearhead: {_with_flags(remark, context)}")

        if cluster.is_used:
            if shown.explain is not None:
                raise ClearheadError("--explain writes one file from one process, so it cannot be used with --ray.")
            from clearhead.decoding.engines.opening import EngineChoice
            from clearhead.decoding.ray_job import RayTask
            from clearhead.formats.model_folder import find_model

            task = RayTask(
                replace(find_model(path)),
                EngineChoice(engine.engine.value, engine.device.value, engine.precision.value, num_threads=1),
                needs,
                settings,
                options,
                output,
                _rule_of_driver(path, needs, shown),
                source,
                lines.output,
                lines.window_size(engine.engine.value, is_typed=False),
            )
            hooks = JobHooks(remark=show, progress=progress.advance)
            run_on_cluster(cluster, task, progress, hooks, resume=lines.resume)
            return
        translator = engine.load(path, needs)
        for note in translator.notes:
            typer.echo(f"clearhead: {note}", err=True)
        rule = _alignment_rule(translator, path, shown)
        annotator = _annotator(translator, settings, shown, rule)
        explainer = _explainer(translator, settings, shown, rule)
        hooks = JobHooks(
            annotator,
            explainer,
            show,
            _advancing(progress, is_slow=translator.engine.name == "numpy" and engine.is_auto and not shown.quiet),
            progress.resume,
        )
        job = TranslationJob(translator, source, settings, options, output, hooks)
        with progress:
            window = lines.window_size(translator.engine.name, is_typed=is_typed)
            job.run(lines.output, window=window, resume=lines.resume)
    except KeyboardInterrupt as interruption:
        raise interrupted(interruption) from None


def _line_options(
    lines: LineOptions, settings: "SearchSettings", shown: ShownOptions, as_json: bool
) -> dict[str, bool]:
    """Return the options that only apply to lines, with whether they are given."""
    return {
        "--json": as_json,
        "--resume": lines.resume,
        "--form": lines.form is not None,
        "--column": lines.column is not None,
        "--on-fault": lines.on_fault != FaultyLines.refuse,
        "--window": lines.window is not None,
        "--n-best": settings.n_best > 1,
        "--scores": shown.scores,
        "--align": shown.align,
        "--draw": shown.draw,
        "--explain": shown.explain is not None,
    }


def _advancing(progress: TranslationProgress, *, is_slow: bool) -> "Callable[[int], None]":
    """Return the function that is called with the number of lines so far; it names a faster engine once."""
    from clearhead.decoding.engines.opening import is_installed

    has_hint = is_slow and not is_installed("ctranslate2")

    def advance(num_lines: int) -> None:
        nonlocal has_hint
        progress.advance(num_lines)
        if has_hint and num_lines >= _MANY:
            has_hint = False
            progress.print(
                "clearhead: the engine is NumPy. For many lines, CTranslate2 is faster: run pip install '.[fast]' in a "
                "clone of clearhead."
            )

    return advance


def _limit_threads(num_characters: int | None) -> None:
    """Let NumPy use one thread for a short text; this must happen before NumPy is imported.

    Its products are so small that on a busy machine, waiting for other threads takes ten times as long as the products.
    """
    if num_characters is not None and num_characters <= _SHORT:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _check_outputs(
    model: "Path | ModelFolder", lines: LineOptions, shown: ShownOptions, phrases: PhraseOptions, *, has_texts: bool
) -> None:
    """Raise an error, before the model is loaded, if an output cannot be written or would overwrite an input."""
    from clearhead.files.destination import Output, check_outputs, check_standard_output
    from clearhead.files.line_output import COMPANIONS
    from clearhead.formats.model_files import model_files
    from clearhead.formats.model_folder import find_model

    inputs: list[str | Path] = [] if phrases.glossary is None else [phrases.glossary]
    inputs += [] if has_texts else [lines.input or "-"]
    outputs = [] if lines.output is None else [Output(lines.output, companions=COMPANIONS)]
    outputs += [] if shown.explain in (None, "-") else [Output(str(shown.explain), "explain")]
    if outputs:
        check_outputs(outputs, [*inputs, *model_files(find_model(model))])
    if lines.output is None:
        check_standard_output(inputs)


def _rule_of_driver(model: "Path | ModelFolder", needs: "EngineNeeds", shown: ShownOptions) -> "AlignmentRule | None":
    """Return the rule for alignments on a cluster; only then the model is loaded here, on the CPU."""
    if not shown.reads_attention:
        return None
    from clearhead.decoding.translator import Translator

    return _alignment_rule(Translator.load(model, device="cpu", needs=needs), model, shown)


def _alignment_rule(
    translator: "Translator", model: "Path | ModelFolder", shown: ShownOptions
) -> "AlignmentRule | None":
    """Return the head and position given by options, otherwise those chosen for this model, otherwise the default."""
    if not shown.reads_attention:
        return None
    from clearhead.decoding.alignment import AlignmentRule, cross_attention_heads
    from clearhead.decoding.annotation import read_head
    from clearhead.decoding.head_choice import read_choice

    config = translator.attending_engine.config
    if not (shown.align or shown.draw or shown.head or any(cross_attention_heads(config))):
        return None  # a search can be explained without attention
    if shown.head is not None:
        rule = AlignmentRule.usual(config, read_head(shown.head))
        return rule if shown.shift is None else replace(rule, is_shifted=shown.shift)
    choice = read_choice(model)
    if choice is None:
        rule = AlignmentRule.usual(config)
        rule = rule if shown.shift is None else replace(rule, is_shifted=shown.shift)
        if shown.align or shown.draw:
            typer.echo(
                f"clearhead: {_default_note(rule, model if isinstance(model, Path) else model.folder)}", err=True
            )
        return rule
    rule = choice.rule if shown.shift is None else replace(choice.rule, is_shifted=shown.shift)
    links = choice.chosen_by.replace("counted", "estimated")  # files written by `evaluate --choose-head` say "counted"
    typer.echo(
        f"clearhead: alignments are read from {rule_with_flags(rule)}, chosen with {printable(links)} "
        f"(AER {choice.error:.2f}).",
        err=True,
    )
    return rule


def _default_note(rule: "AlignmentRule", model: Path) -> str:
    return (
        f"alignments are read from {rule_with_flags(rule)}. This is a default, which may not be the best head of this "
        "model. To choose one from sentences and their translations, run: "
        f"clearhead evaluate --choose-head -m {printable(str(model))} SOURCE_FILE TARGET_FILE"
    )


def _annotator(
    translator: "Translator", settings: "SearchSettings", shown: ShownOptions, rule: "AlignmentRule | None"
) -> "Annotator | None":
    if not shown.reads_attention:
        return None
    from clearhead.decoding.annotation import Annotator

    return Annotator(translator, settings, rule)


def _explainer(
    translator: "Translator", settings: "SearchSettings", shown: ShownOptions, rule: "AlignmentRule | None"
) -> "Explainer | None":
    if shown.explain is None:
        return None
    from clearhead.explain.explainer import ExplanationFile, SearchExplainer

    head = None if rule is None else rule.head
    if shown.explain == "-":
        return SearchExplainer(translator, settings, head, shown.all_heads)
    return ExplanationFile(Path(shown.explain), translator, settings, head, shown.all_heads)


def _with_flags(remark: "Remark", context: typer.Context) -> str:
    command = context.command
    return (
        with_flags(remark.sentence, remark.options, command) if isinstance(command, TyperCommand) else remark.sentence
    )
