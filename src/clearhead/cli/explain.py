"""`clearhead explain`: why a model translates a sentence as it does, with every head and every number."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clearhead.cli.model_option import ModelOption, translation_model
from clearhead.cli.option_groups import with_option_groups
from clearhead.errors import ClearheadError, ConfigError, not_installed

if TYPE_CHECKING:
    from clearhead.decoding.translator import Translator
    from clearhead.explain import LoadedModel

_EXTRA = {"torch", "safetensors", "sentencepiece"}


@dataclass(frozen=True)
class SentenceOptions:
    """The translation that is explained."""

    target: Annotated[
        str | None, typer.Option(help="Explain this translation instead of the one that the model chooses.")
    ] = None
    source_language: Annotated[
        str | None, typer.Option("--from", help="Source language, to choose a built-in model. \\[default: en]")
    ] = None
    language: Annotated[
        str | None,
        typer.Option("--to", help="Target language: of a built-in model, or for a model with several. \\[default: es]"),
    ] = None
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
    continuations: Annotated[
        int, typer.Option(min=0, max=20, help="Other tokens to force at each position, each with its translation.")
    ] = 1
    sums: Annotated[
        list[str] | None,
        typer.Option(
            help="With --json: also write the queries, keys and values of this head, such as "
            "decoder.2.cross_attention.head.5, counted from 0, or of all heads (all). Can be repeated."
        ),
    ] = None
    npz: Annotated[Path | None, typer.Option(help="Write all arrays to this NPZ file, by name and in float32.")] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False


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
    try:
        from clearhead.explain import open_model

        _check_npz(details.npz, comparison)
        chosen = translation_model(model, [text], sentence.source_language, sentence.language)
        opened = open_model(chosen.path)
        if comparison.compare is not None:
            _compare(opened, text, comparison, chosen.language, as_json=details.as_json)
        else:
            _explain(opened, text, sentence, details, chosen.language)
    except ModuleNotFoundError as missing:
        if missing.name in _EXTRA:
            raise ClearheadError(not_installed("explain", missing.name, "translate")) from None
        raise


def _check_npz(path: Path | None, comparison: ComparisonOptions) -> None:
    """Raise an error, before the model is loaded, if the NPZ file cannot be written or options contradict."""
    from clearhead.files.destination import Output, check_outputs

    if comparison.word is not None and comparison.compare is None:
        raise ConfigError("--word needs a second sentence. Give it with --compare.")
    if path is None:
        return
    if comparison.compare is not None:
        raise ConfigError("a comparison has no NPZ file. Remove --npz or --compare.")
    check_outputs([Output(path, "npz")], [])


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

    if sentence.hypothesis >= sentence.beam:
        raise ConfigError(
            f"--hypothesis {sentence.hypothesis} needs a beam of at least {sentence.hypothesis + 1}. Use --beam "
            f"{sentence.hypothesis + 1}."
        )
    search = SearchSettings(beam=sentence.beam, n_best=sentence.hypothesis + 1, length_penalty=sentence.length_penalty)
    options = ExplainOptions(
        alternatives=details.alternatives,
        continuations=details.continuations,
        hypothesis=sentence.hypothesis,
        sums=tuple(details.sums or ()),
    )
    explanation = explain(opened, text, target=sentence.target, search=search, language=language, options=options)
    for note in explanation.notes:
        typer.echo(f"clearhead: {note}", err=True)
    if details.npz is not None:
        write_file(details.npz, to_npz(explanation))
    typer.echo(_json(to_dict(explanation)) if details.as_json else explanation_text(explanation).removesuffix("\n"))


def _compare(
    opened: "Translator | LoadedModel",
    text: str,
    options: ComparisonOptions,
    language: str | None,
    *,
    as_json: bool,
) -> None:
    from clearhead.explain import compare
    from clearhead.explain.explanation_text import comparison_text

    assert options.compare is not None
    comparison = compare(opened, text, options.compare, word=options.word, language=language)
    typer.echo(_json(comparison.to_dict()) if as_json else comparison_text(comparison).removesuffix("\n"))


def _json(data: dict[str, Any]) -> str:
    import json

    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))
