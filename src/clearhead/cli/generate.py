"""`clearhead generate`: continue a text with a language model, by search or at random."""

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clearhead.cli.model_option import Device, DeviceOption, ModelOption, ModelPrecision, PrecisionOption, chosen_model
from clearhead.cli.option_groups import with_option_groups
from clearhead.cli.text_lines import TextLineOptions, UnknownWordNotes, hint_at_page
from clearhead.cli.translate_options import SamplingSeed, Temperature, TopK, TopP
from clearhead.cli.translate_progress import TranslationProgress, can_show_progress
from clearhead.errors import ConfigError, printable

if TYPE_CHECKING:
    from clearhead.decoding.generation import GeneratedText, TextGenerator, TokenChoice
    from clearhead.decoding.search.settings import SearchSettings

_CONSEQUENCE = "so that the continuation does not depend on it"


@dataclass(frozen=True)
class ContinuationOptions:
    """How the continuation is chosen; an option that is not given has the default of its setting."""

    max_length: Annotated[
        int, typer.Option("--max-tokens", min=1, help="Maximum length of the continuation in tokens.")
    ] = 100
    n_best: Annotated[
        int | None, typer.Option("--num", min=1, help="Number of continuations for each prompt. \\[default: 1]")
    ] = None
    beam: Annotated[
        int | None, typer.Option(help="Number of hypotheses kept at each step. \\[default: 1, greedy search]")
    ] = None
    length_penalty: Annotated[
        float | None, typer.Option(help="Exponent p of the score log P / length^p; 0 is off. \\[default: 1]")
    ] = None
    no_repeat: Annotated[
        int | None, typer.Option(help="Forbid repeated n-grams of this size in the continuation. \\[default: off]")
    ] = None
    temperature: Temperature = None
    top_k: TopK = None
    top_p: TopP = None
    seed: SamplingSeed = None

    def settings(self) -> "SearchSettings":
        """Return the search settings."""
        from clearhead.decoding.search.settings import SearchSettings
        from clearhead.settings import read_settings

        values = {option.name: getattr(self, option.name) for option in fields(self)}
        # A text can end almost anywhere, so that the first hypotheses to end are the shortest, not the best.
        values["stopping"] = "likely"
        try:
            return read_settings(SearchSettings, {name: value for name, value in values.items() if value is not None})
        except ConfigError as wrong:
            names = dict.fromkeys(path for mistake in wrong.details for path in mistake.paths if path)
            raise ConfigError(wrong.details, options=tuple(names)) from None


@dataclass(frozen=True)
class WrittenOptions:
    """What is shown besides the text."""

    explain: Annotated[
        bool,
        typer.Option("--explain", help="Also print the probability and rank of every written token, and alternatives."),
    ] = False
    alternatives: Annotated[int, typer.Option(min=1, max=100, help="With --explain: other tokens to list.")] = 5
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object for each prompt.")] = False


@with_option_groups
def generate(
    *,
    prompts: Annotated[
        list[str] | None,
        typer.Argument(metavar="PROMPT", help="Beginnings of texts. Without them, lines are read from --input."),
    ] = None,
    model: ModelOption = None,
    lines: TextLineOptions,
    search: ContinuationOptions,
    shown: WrittenOptions,
    device: DeviceOption = Device.auto,
    precision: PrecisionOption = ModelPrecision.auto,
) -> None:
    """Continue texts with a model that was trained with task: language-model."""
    from clearhead.decoding.generation import WINDOW, open_generator

    texts = prompts or []
    path = chosen_model(model, texts)
    settings = search.settings()
    source = lines.source(texts, "continue")
    lines.check_outputs(path, [] if texts else [lines.input or "-"])
    generator = open_generator(path, device=device.value, precision=precision.value, on_fault=lines.on_fault.value)
    is_typed = lines.is_typed(texts)
    prompt_lines = (line.text for line in source.records())
    if _can_stream(lines, shown, settings):
        _stream(generator, prompt_lines, settings)
        return
    progress = TranslationProgress(source, is_shown=can_show_progress(lines.output, is_typed=is_typed))
    with progress:
        texts_by_line = generator.generate(prompt_lines, settings, window=1 if is_typed else WINDOW)
        generated = _counted(texts_by_line, progress, UnknownWordNotes(_CONSEQUENCE, is_typed=is_typed))
        lines.write(_Output(generator, shown, settings, str(path)).lines(generated))


def _counted(
    generated: Iterator["GeneratedText | None"], progress: TranslationProgress, notes: UnknownWordNotes
) -> Iterator["GeneratedText | None"]:
    for number, text in enumerate(generated, 1):
        progress.advance(number)
        yield text
        if text is not None:
            notes.count(text.number, text.prompt, text.unknown_words)
    notes.show()


def _can_stream(lines: TextLineOptions, shown: WrittenOptions, settings: "SearchSettings") -> bool:
    """Return whether tokens can be printed as they are chosen: one plain continuation, in a terminal."""
    is_plain = not (shown.explain or shown.as_json) and settings.beam == settings.n_best == 1
    return is_plain and lines.output is None and sys.stdout.isatty()


def _stream(generator: "TextGenerator", prompts: Iterator[str], settings: "SearchSettings") -> None:
    """Print each prompt, and its continuation as it grows."""
    notes = UnknownWordNotes(_CONSEQUENCE, is_typed=True)
    for number, prompt in enumerate(prompts, 1):
        stream = TextStream(prompt.rstrip())
        generated = next(iter(generator.generate([prompt], settings, window=1, on_text=stream.show, first=number)))
        if generated is not None:
            stream.show(generated.continuations[0].text)
        typer.echo()
        if generated is not None:
            notes.count(number, prompt, generated.unknown_words)


class TextStream:
    """Prints a text that grows, each part once, after its prompt."""

    def __init__(self, prompt: str) -> None:
        self._prompt, self._shown = prompt, ""

    def show(self, text: str) -> None:
        """Print what is new in the text so far; a character whose bytes are not complete comes later."""
        if self._prompt:
            typer.echo(self._prompt, nl=False)
            self._prompt = ""
        if text.startswith(self._shown) and text != self._shown:
            typer.echo(text[len(self._shown) :], nl=False)
            self._shown = text


class _Output:
    """Formats continuations as lines."""

    def __init__(
        self, generator: "TextGenerator", shown: WrittenOptions, settings: "SearchSettings", model: str
    ) -> None:
        self._generator, self._shown, self._settings, self._model = generator, shown, settings, model
        self._has_note = False

    def lines(self, texts: Iterator["GeneratedText | None"]) -> Iterator[str]:
        """Yield the lines of each prompt; an empty line for a prompt that was skipped."""
        for generated in texts:
            if generated is None:
                yield ""
            elif self._shown.as_json:
                yield self._json(generated)
            else:
                yield "\n".join(self._text_lines(generated))

    def _text_lines(self, generated: "GeneratedText") -> Iterator[str]:
        for rank, continuation in enumerate(generated.continuations):
            text = generated.text_of(rank)
            is_list = self._settings.n_best > 1
            yield f"{generated.number}\t{continuation.hypothesis.score:.4f}\t{text}" if is_list else text
            if self._shown.explain:
                yield from _table(self._choices(generated, rank))

    def _json(self, generated: "GeneratedText") -> str:
        import json

        continuations = []
        for rank, continuation in enumerate(generated.continuations):
            hypothesis = continuation.hypothesis
            record: dict[str, Any] = {
                "text": generated.text_of(rank),
                "continuation": continuation.text,
                "score": hypothesis.score,
                "log_prob": hypothesis.log_prob,
                "has_ended": hypothesis.has_ended,
            }
            if self._shown.explain:
                record["tokens"] = [choice.to_dict() for choice in self._choices(generated, rank)]
            else:
                pieces = self._generator.vocabularies.target.pieces(hypothesis.tokens)
                pairs = zip(pieces, hypothesis.log_probs, strict=True)
                record["tokens"] = [{"piece": piece, "log_prob": log_prob} for piece, log_prob in pairs]
            continuations.append(record)
        data = {
            "line": generated.number,
            "prompt": generated.prompt,
            "unknown_words": list(generated.unknown_words),
            "continuations": continuations,
        }
        return json.dumps(data, ensure_ascii=False)

    def _choices(self, generated: "GeneratedText", rank: int) -> list["TokenChoice"]:
        """Return the choices of a continuation; the first time, also say where there is more."""
        from clearhead.decoding.generation import token_choices

        if not (self._has_note or self._shown.as_json):
            self._has_note = True
            hint_at_page(self._model, self._generator.model.config.architecture)
        return token_choices(self._generator, generated, rank, self._shown.alternatives)


def _table(choices: list["TokenChoice"]) -> list[str]:
    """Return the choices as lines of a table."""
    from clearhead.decoding.alignment_text import padded_to, width

    names = [printable(choice.piece) for choice in choices]
    size = max([5, *map(width, names)])
    lines = [f"  {padded_to('token', size)}       P   rank  alternatives"]
    for name, choice in zip(names, choices, strict=True):
        others = ", ".join(f"{printable(other.piece)} {math.exp(other.log_prob):.4f}" for other in choice.alternatives)
        lines.append(f"  {padded_to(name, size)}  {math.exp(choice.log_prob):.4f}  {choice.rank:>5,}  {others}")
    return lines
