"""`clearhead translate`: text in, translations out, line for line."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from clearhead.errors import ClearheadError

_EXTRA = {"torch", "safetensors", "sentencepiece"}


class EngineChoice(StrEnum):
    """What computes."""

    auto = "auto"
    torch = "torch"
    ctranslate2 = "ctranslate2"


class DeviceChoice(StrEnum):
    """Where it is computed."""

    auto = "auto"
    cpu = "cpu"
    cuda = "cuda"


class PrecisionChoice(StrEnum):
    """How exactly."""

    auto = "auto"
    float32 = "float32"
    bfloat16 = "bfloat16"
    float16 = "float16"
    int8 = "int8"


class FormChoice(StrEnum):
    """What the lines of the input are."""

    text = "text"
    tsv = "tsv"
    jsonl = "jsonl"


class LongChoice(StrEnum):
    """What becomes of a line that is too long for the model."""

    splits = "split"
    refuses = "refuse"


class StoppingChoice(StrEnum):
    """When a beam search stops."""

    first = "first"
    likely = "likely"
    proved = "proved"


def translate(
    model: Annotated[Path, typer.Argument(help="A run folder, one of its checkpoints, or an OPUS-MT folder.")],
    text: Annotated[str | None, typer.Argument(help="A sentence; without one, lines are read.")] = None,
    source: Annotated[
        str | None, typer.Option("--input", "-i", help="Read this file (also .gz, .xz). \\[default: standard input]")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write to this file, which appears when it is whole.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an output file that was not finished.")] = False,
    form: Annotated[
        FormChoice | None, typer.Option(help="What the lines are. \\[default: by the file's name, else text]")
    ] = None,
    column: Annotated[
        str | None, typer.Option(help="Column (name or number) or key to translate. \\[default: source]")
    ] = None,
    to: Annotated[str | None, typer.Option(help="Language to translate into, of a model that has several.")] = None,
    paragraphs: Annotated[
        bool, typer.Option("--paragraphs", help="Split each line into sentences, and join their translations.")
    ] = False,
    long: Annotated[
        LongChoice, typer.Option(help="Split a line that is too long for the model, or refuse it.")
    ] = LongChoice.splits,
    max_source: Annotated[
        int | None, typer.Option(min=2, help="Most tokens read at once. \\[default: what the model has positions for]")
    ] = None,
    window: Annotated[
        int | None,
        typer.Option(min=1, help="Lines sorted by length together; 1 answers at once. \\[default: 1024]"),
    ] = None,
    beam: Annotated[int | None, typer.Option(help="Hypotheses kept at each step. \\[default: 1, greedy]")] = None,
    n_best: Annotated[int | None, typer.Option(help="Translations of each line, with their scores.")] = None,
    length_penalty: Annotated[float | None, typer.Option(help="Power of the length in a score; 0 is off.")] = None,
    coverage_penalty: Annotated[
        float | None, typer.Option(help="Weight of source tokens that were hardly attended to.")
    ] = None,
    stopping: Annotated[
        StoppingChoice | None,
        typer.Option(help="Stop at as many ends as the beam is wide, or when nothing better comes. \\[default: first]"),
    ] = None,
    min_length: Annotated[int | None, typer.Option(help="Shortest translation in tokens.")] = None,
    max_length: Annotated[int | None, typer.Option(help="Longest translation in tokens.")] = None,
    max_ratio: Annotated[float | None, typer.Option(help="Longest translation, in tokens for each of the source.")] = (
        None
    ),
    max_extra: Annotated[int | None, typer.Option(help="Tokens that it may have beyond that.")] = None,
    no_repeat: Annotated[int | None, typer.Option(help="No run of so many tokens is written twice.")] = None,
    temperature: Annotated[float | None, typer.Option(help="Draw tokens at random: 1 as the model says.")] = None,
    top_k: Annotated[int | None, typer.Option(help="Draw from the so many likeliest tokens.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Draw from the likeliest that make up this share.")] = None,
    seed: Annotated[int | None, typer.Option(help="Where the draws start.")] = None,
    batch_tokens: Annotated[
        int | None, typer.Option(help="Source tokens in one batch; if left out: 1,024 (a GPU: 16,384).")
    ] = None,
    prefix: Annotated[str | None, typer.Option(help="Every translation begins with this.")] = None,
    forbid: Annotated[
        list[str] | None, typer.Option(help="A phrase that no translation may hold. May be repeated.")
    ] = None,
    require: Annotated[
        list[str] | None, typer.Option(help="A phrase that every translation must hold. May be repeated.")
    ] = None,
    glossary: Annotated[
        Path | None, typer.Option(help="Terms and what they must become: term, tab, translation on each line.")
    ] = None,
    alternatives: Annotated[
        int | None, typer.Option(min=1, metavar="WORD", help="What else could stand at this word, counted from 1.")
    ] = None,
    choices: Annotated[int, typer.Option(min=1, help="With --alternatives: how many of them.")] = 5,
    scores: Annotated[
        bool, typer.Option("--scores", help="The score of each translation, and the log-probability of each token.")
    ] = False,
    align: Annotated[
        bool, typer.Option("--align", help="Which source word each target word came from: 0-0 1-2 (Pharaoh).")
    ] = False,
    draw: Annotated[bool, typer.Option("--draw", help="Draw the alignment below each translation.")] = False,
    head: Annotated[
        str | None,
        typer.Option(
            help="Block and head that alignments are read off: 1.3. "
            "\\[default: by `evaluate --choose-head`, else the last block but one]"
        ),
    ] = None,
    shift: Annotated[
        bool | None,
        typer.Option(
            "--shift/--no-shift",
            help="Read the alignment of a token off the row that reads it, or else that writes it. "
            "\\[default: as was chosen, else shift]",
        ),
    ] = None,
    explain: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write every beam at every step as JSON; - shows it in the terminal."),
    ] = None,
    all_heads: Annotated[
        bool, typer.Option("--all-heads", help="With --explain: the attention of every block and head.")
    ] = False,
    engine: Annotated[EngineChoice, typer.Option(help="What computes.")] = EngineChoice.auto,
    device: Annotated[DeviceChoice, typer.Option(help="Where it is computed.")] = DeviceChoice.auto,
    precision: Annotated[PrecisionChoice, typer.Option(help="How exactly.")] = PrecisionChoice.auto,
    as_json: Annotated[bool, typer.Option("--json", help="A JSON object for each line, with its score.")] = False,
) -> None:
    """Translate lines of text, a file, or a sentence."""
    search = {
        "beam": beam,
        "n_best": n_best,
        "length_penalty": length_penalty,
        "coverage_penalty": coverage_penalty,
        "stopping": None if stopping is None else stopping.value,
        "min_length": min_length,
        "max_length": max_length,
        "max_ratio": max_ratio,
        "max_extra": max_extra,
        "no_repeat": no_repeat,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "seed": seed,
        "batch_tokens": batch_tokens,
    }
    try:
        from clearhead.cli.translating import Engines, Feed, Looks, Words, translate_all

        translate_all(
            Engines(model, engine.value, device.value, precision.value),
            Feed(
                *(text, source, output, resume),
                form=None if form is None else form.value,
                column=column,
                window=window,
                is_paragraphs=paragraphs,
                long=long.value,
                max_source=max_source,
            ),
            {name: value for name, value in search.items() if value is not None},
            Words(to, prefix, tuple(forbid or ()), tuple(require or ()), glossary),
            Looks(scores, align, draw, head, shift, alternatives, choices, explain, all_heads, as_json),
        )
    except ModuleNotFoundError as missing:
        if missing.name in _EXTRA:
            raise ClearheadError(
                f"translate needs {missing.name}, which is not installed: pip install 'clearhead[translate]'."
            ) from None
        raise
