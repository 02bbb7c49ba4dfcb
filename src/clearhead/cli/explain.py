"""`clearhead explain`: why a model translates a sentence as it does, with every head and every number."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clearhead.cli.model_option import ModelOption, SourceLanguage, TargetLanguage, translation_model
from clearhead.cli.option_groups import with_option_groups
from clearhead.errors import ConfigError
from clearhead.files.output_format import format_of_file

if TYPE_CHECKING:
    from clearhead.decoding.translator import Translator
    from clearhead.explain import LoadedModel
    from clearhead.formats.model_folder import ModelFolder

_FORMATS = ("html", "json")  # of --output


@dataclass(frozen=True)
class SentenceOptions:
    """The translation that is explained."""

    target: Annotated[
        str | None, typer.Option(help="Explain this translation instead of the one that the model chooses.")
    ] = None
    prefix: Annotated[
        str | None,
        typer.Option(help="Start the translation with this text, and explain how the model continues."),
    ] = None
    source_language: SourceLanguage = None
    language: TargetLanguage = None
    beam: Annotated[int, typer.Option(min=1, max=100, help="Hypotheses kept at each step; 1 is greedy search.")] = 1
    length_penalty: Annotated[
        float, typer.Option(min=0, max=10, help="A score is log P divided by the length to this power; 0 is off.")
    ] = 1.0
    hypothesis: Annotated[
        int, typer.Option(min=0, help="Explain another hypothesis of the beam than the best, counted from 0.")
    ] = 0


@dataclass(frozen=True)
class DetailOptions:
    """How much is explained, and where it is written."""

    alternatives: Annotated[int, typer.Option(min=1, max=100, help="Most probable tokens to list for each token.")] = 5
    sums: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HEAD",
            help="With --json or --output: also write the queries, keys and values of this head, such as "
            "decoder.2.cross*.head.5, counted from 0 (* matches anything), or of all heads (all). Can be repeated.",
        ),
    ] = None
    has_projections: Annotated[
        bool,
        typer.Option(
            "--projections",
            help="With --sums: also write the weights that make these queries, keys and values, about 1 MB for a head "
            "of width 64 in a model of width 512.",
        ),
    ] = False
    npz: Annotated[Path | None, typer.Option(help="Write all arrays to this NPZ file, by name and in float32.")] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write a page to explore in a browser (.html), or JSON (.json)."),
    ] = None


@dataclass(frozen=True)
class ComparisonOptions:
    """A second sentence."""

    compare: Annotated[
        str | None, typer.Option(help="A second sentence: compare the vectors of a word in both, layer by layer.")
    ] = None
    word: Annotated[
        str | None, typer.Option(help="With --compare: the word. \\[default: the longest that both have]")
    ] = None


@with_option_groups
def explain(
    *,
    text: Annotated[str, typer.Argument(help="The sentence to explain.")],
    model: ModelOption = None,
    sentence: SentenceOptions,
    comparison: ComparisonOptions,
    details: DetailOptions,
) -> None:
    """Explain a translation: attention of every head, alternatives, what carried each word, and the search."""
    from clearhead.explain.checks import check_sentence, checked_config, explained_heads

    _check_files(details, comparison)
    _check_options(sentence, details)
    chosen = translation_model(model, [text], sentence.source_language, sentence.language)
    config = checked_config(chosen.path)
    explained_heads(details.sums or (), config, has_projections=details.has_projections)
    check_sentence(text)
    _check_outputs(details, chosen.path)
    from clearhead.explain import open_model  # with torch: after the checks that need no model

    opened = open_model(chosen.path)
    if comparison.compare is not None:
        _compare(opened, text, comparison, details, chosen.language)
    else:
        _explain(opened, text, sentence, details, chosen.language)


def _check_files(details: DetailOptions, comparison: ComparisonOptions) -> None:
    """Raise an error, before the model is loaded, if a file cannot be written or options contradict."""
    if comparison.word is not None and comparison.compare is None:
        raise ConfigError("--word needs a second sentence. Give it with --compare.")
    if details.npz is not None and comparison.compare is not None:
        raise ConfigError("a comparison has no NPZ file. Remove --npz or --compare.")
    format_of_file(details.output, _FORMATS, default="html")
    format_of_file(details.npz, ["npz"], default="npz", option="npz")
    _check_outputs(details)


def _check_options(sentence: SentenceOptions, details: DetailOptions) -> None:
    """Raise an error, before the model is loaded, if options have no effect or contradict."""
    if details.sums and details.output is None and not details.as_json:
        raise ConfigError("--sums writes to a page or to JSON. Add --output page.html or --json.")
    if sentence.hypothesis >= sentence.beam:
        raise ConfigError(
            f"--hypothesis {sentence.hypothesis} needs a beam of at least {sentence.hypothesis + 1}. Use --beam "
            f"{sentence.hypothesis + 1}."
        )


def _check_outputs(details: DetailOptions, model: "Path | ModelFolder | None" = None) -> None:
    """Raise an error if a file cannot be written, or belongs to the model or its run."""
    from clearhead.files.destination import Output, check_outputs
    from clearhead.formats.model_files import model_files
    from clearhead.formats.model_folder import find_model

    named = ((details.npz, "npz"), (details.output, "output"))
    outputs = [Output(path, option) for path, option in named if path is not None]
    check_outputs(outputs, model_files=() if model is None else model_files(find_model(model)))


def _explain(
    opened: "Translator | LoadedModel",
    text: str,
    sentence: SentenceOptions,
    details: DetailOptions,
    language: str | None,
) -> None:
    from clearhead.decoding.search.settings import SearchSettings
    from clearhead.explain import ExplainOptions, explain, to_dict, to_npz
    from clearhead.explain.explanation_text import explanation_text
    from clearhead.files.writing import write_file

    search = SearchSettings(beam=sentence.beam, n_best=sentence.hypothesis + 1, length_penalty=sentence.length_penalty)
    options = ExplainOptions(
        alternatives=details.alternatives,
        hypothesis=sentence.hypothesis,
        prefix=sentence.prefix or "",
        sums=tuple(details.sums or ()),
        has_projections=details.has_projections,
    )
    explanation = explain(opened, text, target=sentence.target, search=search, language=language, options=options)
    for note in explanation.notes:
        typer.echo(f"clearhead: {note}", err=True)
    if details.npz is not None:
        write_file(details.npz, to_npz(explanation))
    _show(to_dict(explanation), explanation_text(explanation), details)


def _compare(
    opened: "Translator | LoadedModel",
    text: str,
    options: ComparisonOptions,
    details: DetailOptions,
    language: str | None,
) -> None:
    from clearhead.explain import compare
    from clearhead.explain.explanation_text import comparison_text

    assert options.compare is not None
    comparison = compare(opened, text, options.compare, word=options.word, language=language)
    _show(comparison.to_dict(), comparison_text(comparison), details)


def _show(data: dict[str, Any], table: str, details: DetailOptions) -> None:
    """Write the file that was requested, and print JSON; print the table where neither was requested."""
    from clearhead.explain import explanation_page
    from clearhead.files.writing import write_file

    if details.output is not None:
        is_page = format_of_file(details.output, _FORMATS, default="html") == "html"
        write_file(details.output, (explanation_page(data) if is_page else _json(data) + "\n").encode())
        if str(details.output) != "-":
            typer.echo(f"Wrote {details.output}.", err=True)
    if details.as_json:
        typer.echo(_json(data))
    elif details.output is None:
        typer.echo(table.removesuffix("\n"))


def _json(data: dict[str, Any]) -> str:
    import json

    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))
