"""`clearhead what-if`: change heads, states or words, and compare the translation with the unchanged one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clearhead.cli.model_option import Device, ModelOption, translation_model
from clearhead.cli.option_groups import with_option_groups
from clearhead.cli.translate_options import EngineName
from clearhead.errors import ClearheadError, ConfigError, not_installed, printable

if TYPE_CHECKING:
    from clearhead.decoding.search.settings import SearchSettings
    from clearhead.decoding.translator import Translator
    from clearhead.explain import LoadedModel
    from clearhead.explain.intervention import Intervention
    from clearhead.model.config import ModelConfig

_EXTRA = {"torch", "safetensors", "sentencepiece", "sacrebleu"}
_LONGEST_NAME = 255  # characters: a longer text is not the name of a file


@dataclass(frozen=True)
class ChangeOptions:
    """What is changed."""

    without: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HEAD",
            help="Remove this head, such as encoder.2.*.head.5, counted from 0; * matches anything. Can be repeated, "
            "and takes a list with commas.",
        ),
    ] = None
    uniform: Annotated[
        list[str] | None,
        typer.Option(metavar="HEAD", help="Make the attention of this head the same for all tokens. As --without."),
    ] = None
    swap: Annotated[
        list[str] | None,
        typer.Option(metavar="WORD=WORD", help="Replace a word of the sentence: river=money. Can be repeated."),
    ] = None
    patch: Annotated[
        str | None,
        typer.Option(
            metavar="LAYER", help="Replace the states after this encoder layer, such as encoder.3, counted from 0."
        ),
    ] = None
    from_sentence: Annotated[
        str | None, typer.Option(metavar="SENTENCE", help="With --patch: the sentence that the states come from.")
    ] = None
    word: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WORD",
            help="With --patch: replace the states of this word only; river=money takes those of another word. Can be "
            "repeated. \\[default: all tokens]",
        ),
    ] = None

    def intervention(self) -> "Intervention":
        """Return the changes."""
        from clearhead.explain.intervention import Intervention, Patch

        patch = None
        if self.patch is not None:
            if self.from_sentence is None:
                raise ConfigError("--patch needs a sentence that the states come from. Give it with --from-sentence.")
            words = [name.partition("=") for name in self.word or ()]
            patch = Patch(self.patch, self.from_sentence, {own: other or own for own, _, other in words})
        elif self.from_sentence is not None or self.word:
            raise ConfigError("--from-sentence and --word need a layer. Give it with --patch.")
        return Intervention(_names(self.without), _names(self.uniform), _swapped_words(self.swap), patch)


@dataclass(frozen=True)
class QuestionOptions:
    """How it is translated, and on how many lines."""

    source_language: Annotated[
        str | None, typer.Option("--from", help="Source language, to choose a built-in model. \\[default: en]")
    ] = None
    language: Annotated[
        str | None,
        typer.Option("--to", help="Target language: of a built-in model, or for a model with several. \\[default: es]"),
    ] = None
    beam: Annotated[int, typer.Option(min=1, max=4096, help="Hypotheses kept at each step; 1 is greedy search.")] = 1
    length_penalty: Annotated[
        float, typer.Option(min=0, max=10, help="A score is log P divided by the length to this power; 0 is off.")
    ] = 1.0
    lines: Annotated[int | None, typer.Option(min=1, help="Use only this many lines of a test set.")] = None

    @property
    def search(self) -> "SearchSettings":
        """The settings of the search."""
        from clearhead.decoding.search.settings import SearchSettings

        return SearchSettings(beam=self.beam, length_penalty=self.length_penalty)


@with_option_groups
def what_if(
    *,
    texts: Annotated[
        list[str],
        typer.Argument(
            metavar="SENTENCE | SOURCE TARGET",
            help="A sentence, or a test set: two files, sentences and their translations. For a language model, a text "
            "or one file.",
        ),
    ],
    model: ModelOption = None,
    change: ChangeOptions,
    text: QuestionOptions,
    engine: Annotated[EngineName, typer.Option(help="Only torch can change the inside of a model.")] = EngineName.auto,
    device: Annotated[Device, typer.Option(help="Device to run on.")] = Device.auto,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Change heads, states or words, and compare the translation with the unchanged one."""
    if engine.value not in ("auto", "torch"):
        raise ConfigError(
            f"the engine {engine.value} runs a model whose heads and states cannot be changed. Open the run or the "
            "checkpoint with --engine torch."
        )
    try:
        from clearhead.explain.checks import checked_config

        question = change.intervention()
        chosen = translation_model(model, texts, text.source_language, text.language)
        is_test_set = _check(texts, question, checked_config(chosen.path, None if question.is_swap else "what-if"))
        from clearhead.explain import open_model  # with torch: after the checks that need no model

        opened = open_model(chosen.path, device=device.value, precision="float32")
        answer = _compare_test_set if is_test_set else _compare_sentence
        answer(opened, texts, question, replace(text, language=chosen.language), as_json)
    except ModuleNotFoundError as missing:
        if missing.name in _EXTRA:
            raise ClearheadError(not_installed("what-if", missing.name, "translate")) from None
        raise


def _names(values: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names in repeated options, of which each can be a list with commas."""
    return tuple(name.strip() for value in values or () for name in value.split(","))


def _swapped_words(values: Sequence[str] | None) -> dict[str, str]:
    words = {}
    for value in values or ():
        word, sign, other = value.partition("=")
        if not (word.strip() and sign and other.strip()):
            raise ConfigError(
                f"--swap {printable(value[:80])} does not name two words. Write the word of the sentence and the word "
                "that replaces it, such as river=money."
            )
        words[word.strip()] = other.strip()
    return words


def _check(texts: Sequence[str], question: "Intervention", config: "ModelConfig") -> bool:
    """Check what needs no model; return whether the texts are files of a test set rather than a sentence."""
    from clearhead.explain.checks import check_sentence, check_test_set
    from clearhead.explain.intervention import refuse_changes_of_a_sentence, swap_words

    has_source = config.shape == "encoder-decoder"
    is_test_set = _is_test_set(texts, has_source=has_source)
    question.check(config)
    if is_test_set:
        refuse_changes_of_a_sentence(question)
        check_test_set(texts, has_source=has_source)
    else:
        check_sentence(texts[0])
        if config.shape != "decoder":
            swap_words(texts[0], question.swap)
    return is_test_set


def _is_test_set(texts: Sequence[str], *, has_source: bool) -> bool:
    """Return whether the arguments are files rather than a sentence."""
    files = [_is_file(name) for name in texts]
    if len(texts) == 1:
        if files[0] and has_source:
            raise ConfigError(
                f"{printable(texts[0])} is a file. A test set has two: give the file of the translations too."
            )
        return files[0]
    if len(texts) > 2 or not has_source:
        raise ConfigError(
            f"{len(texts)} arguments were given. Give one text in quotes, or "
            f"{'the two files of a test set' if has_source else 'one file'}."
        )
    if not all(files):
        raise ConfigError(
            f"'{printable(texts[files.index(False)][:80])}' is not a file. Give one sentence in quotes, or two files: "
            "sentences and their translations."
        )
    return True


def _is_file(name: str) -> bool:
    return name == "-" or (len(name) <= _LONGEST_NAME and Path(name).exists() and not Path(name).is_dir())


def _compare_sentence(
    opened: "Translator | LoadedModel",
    texts: Sequence[str],
    question: "Intervention",
    options: QuestionOptions,
    as_json: bool,
) -> None:
    from clearhead.explain.what_if_sentence import what_if
    from clearhead.explain.what_if_text import what_if_text

    outcome = what_if(opened, texts[0], question, search=options.search, language=options.language)
    for note in outcome.notes:
        typer.echo(f"clearhead: {note}", err=True)
    typer.echo(_json(outcome.to_dict()) if as_json else what_if_text(outcome).removesuffix("\n"))


def _compare_test_set(
    opened: "Translator | LoadedModel",
    texts: Sequence[str],
    question: "Intervention",
    options: QuestionOptions,
    as_json: bool,
) -> None:
    from clearhead.cli.evaluation_output import draw, waiting
    from clearhead.explain.head_selection import read_texts
    from clearhead.explain.what_if_corpus import what_if_on_corpus
    from clearhead.files.input import whole_input

    pairs = read_texts(*texts) if len(texts) == 2 else [("", line) for line in whole_input(texts[0])]
    with waiting():
        change = what_if_on_corpus(
            opened, pairs[: options.lines], question, search=options.search, language=options.language
        )
    if as_json:
        typer.echo(_json(change.to_dict()))
    else:
        draw([change.table()])


def _json(data: dict[str, Any]) -> str:
    import json

    return json.dumps(data, ensure_ascii=False)
