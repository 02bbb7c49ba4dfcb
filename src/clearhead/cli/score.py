"""`clearhead score`: how likely a model finds sentences that there are already, one by one and token by token."""

import math
from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clearhead.errors import ClearheadError, ConfigError, DataError, printable

if TYPE_CHECKING:
    from clearhead.decoding.scoring import Scored, Scorer, TextPair

_EXTRA = {"torch", "safetensors", "sentencepiece", "sacrebleu"}
_HEADINGS = ("log_prob", "perplexity", "tokens")


class Device(StrEnum):
    """Where the model runs."""

    auto = "auto"
    cpu = "cpu"
    cuda = "cuda"


class Precision(StrEnum):
    """What its numbers are."""

    auto = "auto"
    float32 = "float32"
    bfloat16 = "bfloat16"
    float16 = "float16"


class TooLong(StrEnum):
    """What becomes of a line that the model has no positions for."""

    refuse = "refuse"
    skip = "skip"


def score(
    model: Annotated[str, typer.Argument(help="A run folder, one of its checkpoints, or an OPUS-MT folder.")],
    target: Annotated[str, typer.Option(help="The sentences to score, one a line; - is standard input.")],
    source: Annotated[
        str | None, typer.Option(help="What they are translations of, line for line; a language model needs none.")
    ] = None,
    tokens: Annotated[bool, typer.Option("--tokens", help="Every token with its log-probability too.")] = False,
    total: Annotated[bool, typer.Option("--total", help="Only one line, about all sentences together.")] = False,
    too_long: Annotated[
        TooLong, typer.Option(help="Lines longer than the model can read: refuse, or skip (their cells stay empty).")
    ] = TooLong.refuse,
    device: Annotated[Device, typer.Option(help="Where the model runs.")] = Device.auto,
    precision: Annotated[Precision, typer.Option(help="What its numbers are.")] = Precision.auto,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line, every number in full.")] = False,
) -> None:
    """Give the log-probability (natural) and perplexity of sentences under a model."""
    try:
        from clearhead.decoding.scoring import open_scorer

        if source == "-" and target == "-":
            raise ConfigError("standard input can be read once only. Give a file for --source or --target.")
        scorer = open_scorer(model, device=device.value, precision=precision.value, too_long=too_long.value)
    except ModuleNotFoundError as missing:
        if missing.name in _EXTRA:
            raise ClearheadError(
                f"score needs {missing.name}, which is not installed: pip install 'clearhead[translate]'."
            ) from None
        raise
    pairs = _pairs(scorer, source, target)
    tally = _Tally(scorer.vocabularies.digest[:12])
    for scored in _scored(scorer, pairs, target):
        if not as_json and not total and tally.num_sentences == 0:
            typer.echo("\t".join([*_HEADINGS, *["log_probs"] * tokens]))
        tally.add(scored)
        if not total:
            typer.echo(_json(scorer, scored, tokens) if as_json else _line(scorer, scored, tokens))
    tally.tell(to_output=total, as_json=as_json)


def _pairs(scorer: "Scorer", source: str | None, target: str) -> Iterator["TextPair"]:
    if scorer.has_source and source is None:
        raise ConfigError("this model translates: give what was translated with --source FILE.")
    if not scorer.has_source and source is not None:
        raise ConfigError("this model goes on with a text and reads no source. Leave --source out.")
    return _read(source, target)


def _read(source: str | None, target: str) -> Iterator["TextPair"]:
    from itertools import zip_longest

    from clearhead.decoding.scoring import TextPair
    from clearhead.files.input import input_lines

    number = 0
    targets = input_lines(target)
    if source is None:
        for line in targets:
            number += 1
            yield TextPair("", line)
    else:
        for one, other in zip_longest(input_lines(source), targets):
            if one is None or other is None:
                shorter, longer = (source, target) if one is None else (target, source)
                raise DataError(
                    f"{_shown(shorter)} ends after {number:,} lines, and {_shown(longer)} has more. "
                    "Line i of one belongs to line i of the other: give as many of both."
                )
            number += 1
            yield TextPair(one, other)
    if number == 0:
        raise DataError(f"{_shown(target)} is empty. Give at least one sentence.")


def _shown(name: str) -> str:
    return "standard input" if name == "-" else printable(name)


def _scored(scorer: "Scorer", pairs: Iterator["TextPair"], target: str) -> Iterator["Scored"]:
    """Yield the scores, with a count of lines on a terminal that shows no scores itself."""
    import sys

    from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    found = scorer.score(pairs)
    if not sys.stderr.isatty() or sys.stdout.isatty():
        yield from found
        return
    from rich.console import Console

    columns = (TextColumn(f"{_shown(target)}"), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield from progress.track(found, total=None)


def _line(scorer: "Scorer", scored: "Scored", has_tokens: bool) -> str:
    if scored.perplexity is None:
        cells = ["" if scored.is_skipped else "0", "", "" if scored.is_skipped else "0"]
    else:
        cells = [f"{scored.log_prob:.6f}", f"{scored.perplexity:.6g}", str(len(scored.tokens))]
    if has_tokens:
        pieces = scorer.vocabularies.target.pieces(scored.tokens)
        cells.append(" ".join(f"{piece}:{value:.4f}" for piece, value in zip(pieces, scored.log_probs, strict=True)))
    return "\t".join(cells)


def _json(scorer: "Scorer", scored: "Scored", has_tokens: bool) -> str:
    import json

    told: dict[str, Any] = {
        "log_prob": None if scored.is_skipped else scored.log_prob,
        "perplexity": _finite(scored.perplexity),
        "num_tokens": None if scored.is_skipped else len(scored.tokens),
    }
    if has_tokens:
        told |= {"tokens": scorer.vocabularies.target.pieces(scored.tokens), "log_probs": scored.log_probs}
    return json.dumps(told, ensure_ascii=False)


def _finite(value: float | None) -> float | None:
    """JSON has no infinity."""
    return None if value is None or math.isinf(value) else value


class _Tally:
    """What all sentences come to."""

    def __init__(self, vocabulary: str) -> None:
        self.vocabulary, self.num_sentences, self.num_skipped, self.num_tokens = vocabulary, 0, 0, 0
        self.log_prob = 0.0

    def add(self, scored: "Scored") -> None:
        """Count a sentence."""
        self.num_sentences += 1
        self.num_skipped += scored.is_skipped
        self.num_tokens += len(scored.tokens)
        self.log_prob += scored.log_prob

    def tell(self, to_output: bool, as_json: bool) -> None:
        """Print the total: as the result if only it was asked for, else as a remark."""
        from clearhead.evaluation.scores import perplexity

        found = perplexity(self.log_prob, self.num_tokens, self.vocabulary) if self.num_tokens else None
        if to_output and as_json:
            import json

            told = {
                "sentences": self.num_sentences,
                "skipped": self.num_skipped,
                "num_tokens": self.num_tokens,
                "log_prob": self.log_prob,
                "perplexity": None if found is None else _finite(found.value),
                "signature": None if found is None else found.signature,
            }
            typer.echo(json.dumps(told, ensure_ascii=False))
            return
        skipped = f", {self.num_skipped:,} too long and skipped" if self.num_skipped else ""
        ending = f", {found.name} {found.value:.6g} ({found.signature})" if found is not None else ""
        typer.echo(
            f"{self.num_sentences:,} sentences{skipped}, {self.num_tokens:,} tokens, log P {self.log_prob:.6f}{ending}",
            err=not to_output,
        )
