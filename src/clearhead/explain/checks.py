"""Checks that need neither torch nor the weights of a model, so that mistakes are reported without waiting for them."""

from collections.abc import Sequence
from pathlib import Path

from clearhead.errors import CheckpointError, ConfigError, DataError, printable
from clearhead.files.line_input import STANDARD_INPUT, input_lines
from clearhead.formats.model_folder import ModelFolder, find_model, load_config
from clearhead.model.config import ModelConfig
from clearhead.model.heads import find_heads

MAX_PROJECTIONS = 16  # MB of a page or JSON
_WEIGHT_BYTES = 10  # of a number with six decimals, as JSON
_EXPORTED = "model.bin"  # the weights of CTranslate2
_INSTEAD = {  # what works with a model that is not a Transformer
    "what-if": " Swap words instead, which works with every model.",
    "pruning": " Train a smaller model instead: fewer layers, or a smaller d_model.",
    "heads": " `clearhead explain` shows what it attends to in a sentence, if it has attention.",
}


def checked_config(path: str | Path | ModelFolder, what: str | None = None) -> ModelConfig:
    """Return the config of a model that can be opened, or raise an error.

    `what` needs the heads of a Transformer, such as `pruning`; None if any model will do.
    """
    refuse_exported(path)
    config = load_config(find_model(path))
    if what is not None:
        require_heads(config, what)
    return config


def require_heads(config: ModelConfig, what: str) -> None:
    """Raise ConfigError unless a model is a Transformer; `what` needs its heads."""
    if config.architecture != "transformer":
        raise ConfigError(
            f"{what} needs the heads and layers of a Transformer, but this model is {config.architecture}."
            f"{_INSTEAD.get(what, '')}"
        )


def refuse_exported(path: str | Path | ModelFolder) -> None:
    """Raise ConfigError for a model that was exported to CTranslate2: it has neither a trace nor gates."""
    if isinstance(path, str | Path) and (Path(path) / _EXPORTED).is_file():
        raise ConfigError(
            f"{printable(str(path))} is a model exported to CTranslate2, whose steps are fused away. "
            "Open the run or the checkpoint that it was exported from.",
            options=("model",),
        )


def explained_heads(names: Sequence[str], config: ModelConfig, *, has_projections: bool = False) -> tuple[str, ...]:
    """Return the names of heads whose sums are shown, as in a trace; `*` matches anything, and `all` is every head.

    The heads of a pruned model have their numbers from before pruning. Projections are refused if they are too large.
    """
    if names and config.architecture != "transformer":
        raise ConfigError(
            f"sums are those of the heads of a Transformer, but this model is {config.architecture}. Leave them out.",
            options=("sums",),
        )
    complete = config.model_copy(update={"heads_kept": {}})
    chosen: dict[str, None] = {}
    for name in names:
        heads = find_heads(["*" if name == "all" else name], complete, option="sums")
        remaining = [head for head in heads if head.number in config.heads_kept.get(head.where, (head.number,))]
        if not remaining:
            raise ConfigError(
                f"'{printable(name)}' was removed from this model, so that it has no sums. Name a head that is left.",
                options=("sums",),
            )
        chosen |= dict.fromkeys(str(head) for head in remaining)
    if has_projections:
        _check_projections(len(chosen), config)
    return tuple(chosen)


def _check_projections(num_heads: int, config: ModelConfig) -> None:
    """Raise ConfigError if there are no heads, or if the weights of so many would make a page too large."""
    if not num_heads:
        raise ConfigError("projections belong to heads. Name a head.", options=("sums",))
    megabytes = 3 * config.d_model * (config.d_model // config.num_heads) * _WEIGHT_BYTES / 1e6
    if num_heads * megabytes > MAX_PROJECTIONS:
        raise ConfigError(
            f"the projections of {num_heads} heads would take about {num_heads * megabytes:,.0f} MB, and at most "
            f"{MAX_PROJECTIONS} MB are written: {megabytes:.1f} MB for each head. Name fewer heads.",
            options=("sums",),
        )


def check_pruning(path: str | Path, files: Sequence[str], heads: Sequence[str], output: Path | None) -> None:
    """Raise an error for a model, files, heads or an output folder with which pruning would fail."""
    config = checked_config(path, "pruning")
    if config.shape != "encoder-decoder":
        raise ConfigError(f"only translation models can be pruned here, and this one has the shape {config.shape}.")
    find_heads(heads, config, option="remove")
    if len(files) not in (0, 2):
        raise ConfigError(f"give two files, sentences and their translations, or none; not {len(files)}.")
    check_files(files)
    if output is not None:
        check_new_folder(output)


def check_new_folder(target: Path) -> None:
    """Raise CheckpointError if a folder exists already, or its parent does not."""
    if target.exists() or target.is_symlink():
        raise CheckpointError(f"{printable(str(target))} exists already. Choose a new folder.", options=("output",))
    if not target.absolute().parent.is_dir():
        raise CheckpointError(
            f"the folder of {printable(str(target))} does not exist. Create it first.", options=("output",)
        )


def check_sentence(text: str) -> None:
    """Raise DataError for an empty text."""
    if not text.strip():
        raise DataError("the text is empty. Give a sentence.")


def check_test_set(files: Sequence[str], *, has_source: bool) -> None:
    """Raise an error unless these are the files of a test set: two for a model that translates, otherwise one.

    Standard input and pipes are not read, because they can be read only once.
    """
    if files.count(STANDARD_INPUT) > 1:
        raise ConfigError("standard input can only be read once. Give a file for one of them.")
    if not has_source and len(files) != 1:
        raise ConfigError(f"this is a language model, which reads no source: give one file, not {len(files)}.")
    if has_source and len(files) != 2:
        raise ConfigError(
            f"this model translates: give two files, the sentences and their translations, not {len(files)}."
        )
    check_files(files)


def check_files(files: Sequence[str]) -> None:
    """Raise an error if a file does not exist or does not start with text; pipes are not read."""
    for name in files:
        if name != STANDARD_INPUT and not Path(name).is_fifo():
            next(input_lines(name), None)
