"""`clearhead score`: the log-probability of given sentences under a model, by sentence and by token."""

import math
from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clearhead.cli.model_option import Device, ModelOption, chosen_model
from clearhead.errors import ClearheadError, ConfigError, not_installed

if TYPE_CHECKING:
    from clearhead.decoding.scoring import ScoredTarget, Scorer, ScoreTotal, TextPair

_EXTRA = {"torch", "safetensors", "sentencepiece", "sacrebleu"}
_HEADINGS = ("log_prob", "perplexity", "tokens")


class ModelPrecision(StrEnum):
    """The number format of the model."""

    auto = "auto"
    float32 = "float32"
    bfloat16 = "bfloat16"
    float16 = "float16"


class TooLongLines(StrEnum):
    """What to do with a line that is longer than the model supports."""

    refuse = "refuse"
    skip = "skip"


def score(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Two files: sentences, one per line, and their translations, which are scored. For a language model, "
            "give one file of sentences. - means standard input."
        ),
    ],
    model: ModelOption = None,
    tokens: Annotated[bool, typer.Option("--tokens", help="Also print every token with its log-probability.")] = False,
    total: Annotated[
        bool, typer.Option("--total", help="Print only one line with the total of all sentences.")
    ] = False,
    too_long: Annotated[
        TooLongLines,
        typer.Option(
            help="For lines that are longer than the model supports: stop with an error (refuse), or skip them."
        ),
    ] = TooLongLines.refuse,
    device: Annotated[Device, typer.Option(help="Device to run on.")] = Device.auto,
    precision: Annotated[ModelPrecision, typer.Option(help="Number type to compute in.")] = ModelPrecision.auto,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per line, with numbers in full precision.")
    ] = False,
) -> None:
    """Compute the log-probability (natural logarithm) and perplexity of given sentences under a model."""
    try:
        from clearhead.decoding.scoring import ScoreTotal, open_scorer
        from clearhead.files.destination import check_standard_output

        folder = chosen_model(model, files)
        if files.count("-") > 1:
            raise ConfigError("standard input can only be read once. Give a file for one of them.")
        check_standard_output(files)
        scorer = open_scorer(folder, device=device.value, precision=precision.value, too_long=too_long.value)
    except ModuleNotFoundError as missing:
        if missing.name in _EXTRA:
            raise ClearheadError(not_installed("score", missing.name, "translate")) from None
        raise
    pairs = _pairs(scorer, files)
    sums = ScoreTotal()
    for target in _targets(scorer, pairs, files[-1]):
        if not as_json and not total and sums.num_sentences == 0:
            typer.echo("\t".join([*_HEADINGS, *["log_probs"] * tokens]))
        sums.add(target)
        if not total:
            typer.echo(_json(scorer, target, tokens) if as_json else _line(scorer, target, tokens))
    _show_total(sums, scorer.vocabularies.digest[:12], to_output=total, as_json=as_json)


def _pairs(scorer: "Scorer", files: list[str]) -> Iterator["TextPair"]:
    from clearhead.decoding.scoring import read_pairs

    if scorer.has_source and len(files) != 2:
        raise ConfigError(
            f"this model translates: give two files, the sentences and their translations, not {len(files)}."
        )
    if not scorer.has_source and len(files) != 1:
        raise ConfigError(f"this is a language model, which reads no source: give one file, not {len(files)}.")
    return read_pairs(files[0] if scorer.has_source else None, files[-1])


def _targets(scorer: "Scorer", pairs: Iterator["TextPair"], name: str) -> Iterator["ScoredTarget"]:
    """Yield the scores, with a line counter on the terminal if the scores are printed elsewhere."""
    import sys

    from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from clearhead.decoding.scoring import shown_name

    targets = scorer.score(pairs)
    if not sys.stderr.isatty() or sys.stdout.isatty():
        yield from targets
        return
    from rich.console import Console

    columns = (TextColumn(f"{shown_name(name)}"), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield from progress.track(targets, total=None)


def _line(scorer: "Scorer", target: "ScoredTarget", has_tokens: bool) -> str:
    if target.perplexity is None:
        cells = ["" if target.is_skipped else "0", "", "" if target.is_skipped else "0"]
    else:
        cells = [f"{target.log_prob:.6f}", f"{target.perplexity:.6g}", str(len(target.tokens))]
    if has_tokens:
        pieces = scorer.vocabularies.target.pieces(target.tokens)
        cells.append(" ".join(f"{piece}:{value:.4f}" for piece, value in zip(pieces, target.log_probs, strict=True)))
    return "\t".join(cells)


def _json(scorer: "Scorer", target: "ScoredTarget", has_tokens: bool) -> str:
    import json

    record: dict[str, Any] = {
        "log_prob": None if target.is_skipped else target.log_prob,
        "perplexity": _finite(target.perplexity),
        "num_tokens": None if target.is_skipped else len(target.tokens),
    }
    if has_tokens:
        record |= {"tokens": scorer.vocabularies.target.pieces(target.tokens), "log_probs": target.log_probs}
    return json.dumps(record, ensure_ascii=False)


def _finite(value: float | None) -> float | None:
    """Return None for infinity, which JSON cannot represent."""
    return None if value is None or math.isinf(value) else value


def _show_total(sums: "ScoreTotal", vocabulary: str, to_output: bool, as_json: bool) -> None:
    """Print the total: to stdout if it is the result, otherwise to stderr."""
    from clearhead.evaluation.scores import perplexity

    score = perplexity(sums.log_prob, sums.num_tokens, vocabulary) if sums.num_tokens else None
    if to_output and as_json:
        import json

        record = {
            "sentences": sums.num_sentences,
            "skipped": sums.num_skipped,
            "num_tokens": sums.num_tokens,
            "log_prob": sums.log_prob,
            "perplexity": None if score is None else _finite(score.value),
            "signature": None if score is None else score.signature,
        }
        typer.echo(json.dumps(record, ensure_ascii=False))
        return
    skipped = f", {sums.num_skipped:,} too long and skipped" if sums.num_skipped else ""
    ending = f", {score.name} {score.value:.6g} ({score.signature})" if score is not None else ""
    typer.echo(
        f"{sums.num_sentences:,} sentences{skipped}, {sums.num_tokens:,} tokens, log P {sums.log_prob:.6f}{ending}",
        err=not to_output,
    )
