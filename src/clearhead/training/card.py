"""The model card: a README.md in the run folder that says what was trained, on what, how well, and its limits."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clearhead import __version__
from clearhead.errors import printable
from clearhead.settings import fields_of, shown
from clearhead.training.config import RunConfig
from clearhead.training.outcome import WORDS, Outcome
from clearhead.training.run import CARD, RunFolder

_WHAT = {
    "translate": "translates sentences",
    "classify": "puts sentences into classes",
    "language-model": "goes on with a text",
}
_LOAD = """from clearhead.formats import load_checkpoint
from clearhead.text.tokeniser import Vocabularies

model = load_checkpoint("{folder}/{which}")
vocabularies = Vocabularies.load("{folder}")
"""
_TRANSLATE = """from clearhead import Translator

print(Translator.load("{folder}").translate(["…"])[0].text)
"""


def write_card(folder: RunFolder, config: RunConfig, outcome: Outcome) -> None:
    """Write the card of a run into its folder, over an older one."""
    folder.write(CARD, model_card(folder, config, outcome).encode())


def model_card(folder: RunFolder, config: RunConfig, outcome: Outcome) -> str:
    """Return the card of a run as Markdown."""
    environment, data = folder.read_environment(), folder.read_data()
    which = "best" if folder.best.is_dir() or outcome.best_step is not None else "last"
    parts = [
        f"# {_plain(folder.path.resolve().name)}",
        f"A Transformer that {_WHAT[config.task]}, trained by clearhead {__version__}. "
        f"Preset {_plain(config.preset)}; every setting is in `config.yaml`.",
        "## Scores",
        *_scores(config, outcome),
        "## Data",
        *_data(data, config),
        "## Settings that differ from the defaults",
        *_differences(config),
        "## How it was trained",
        *_training(environment, outcome),
        "## How to use it",
        _use(folder.path.as_posix(), which, config),
        "## Limits",
        *_limits(config, data, outcome),
    ]
    return "\n\n".join(parts) + "\n"


def _scores(config: RunConfig, outcome: Outcome) -> Iterator[str]:
    if not outcome.scores:
        yield (
            "None: the run stopped before its first validation."
            if config.data.valid is not None
            else "None: the run had no validation set (`data.valid`)."
        )
        return
    at = f" (update {outcome.best_step:,})" if outcome.best_step is not None else ""
    yield f"On the validation set, by the best checkpoint{at}:"
    rows = [(score.name, f"{score.value:.4g}", f"`{_cell(score.signature)}`") for score in outcome.scores.values()]
    yield _table(("score", "value", "signature"), rows)


def _data(data: Mapping[str, Any], config: RunConfig) -> Iterator[str]:
    corpora = data.get("corpora", [])
    if not corpora:
        yield "The data had not been read when this was written."
        return
    rows, files = [], []
    for corpus in corpora:
        left_out = ", ".join(f"{count:,} {_cell(reason)}" for reason, count in corpus["left_out"].items() if count)
        rows.append((f"`{corpus['path']}`", f"{corpus['read']:,}", f"{corpus['kept']:,}", left_out or "none"))
        files += [(f"`{corpus['path']}`", f"`{_cell(name)}`", f"`{sha}`") for name, sha in corpus["files"].items()]
    yield _table(("corpus", "read", "kept", "left out"), rows)
    if files:
        yield _table(("corpus", "file", "SHA-256"), files)
    used = (*config.data.train, config.data.valid)
    built_in = sorted({corpus.built_in for corpus in used if corpus is not None and corpus.built_in is not None})
    if built_in:
        yield f"Made by clearhead itself: {', '.join(built_in)}."
    if data.get("tokeniser"):
        yield (
            "Tokeniser: "
            + ", ".join(f"{_cell(str(key))} {_cell(str(v))}" for key, v in data["tokeniser"].items())
            + "."
        )


def _differences(config: RunConfig) -> Iterator[str]:
    rows = [(f"`{path}`", f"`{_cell(value)}`", f"`{_cell(default)}`") for path, value, default in differences(config)]
    yield _table(("setting", "value", "default"), rows) if rows else "None."


def differences(config: RunConfig) -> Iterator[tuple[str, str, str]]:
    """Yield path, value and default of every setting that is not at its default; those of corpora are left out."""
    for setting in fields_of(RunConfig):
        if setting.path in ("run", "data") or setting.path.startswith(("data.train", "data.valid")):
            continue
        value: Any = config
        for name in setting.path.split("."):
            value = getattr(value, name)
        if setting.path == "model":
            yield from ((f"model.{name}", _value(difference), "the preset's") for name, difference in value.items())
        elif value != setting.default:
            yield setting.path, _value(value), _value(setting.default)


def _value(value: Any) -> str:
    return value if isinstance(value, str) else shown(value)


def _training(environment: Mapping[str, Any], outcome: Outcome) -> Iterator[str]:
    yield f"{outcome.steps:,} updates in {_duration(outcome.seconds)}; it ended because {WORDS[outcome.stopped]}."
    if environment:
        gpus = environment.get("gpus") or ["no GPU"]
        commit = environment.get("commit")
        yield (
            f"On {_plain(str(environment['processor']))} ({environment['cores']} cores), {_plain(', '.join(gpus))}; "
            f"Python {environment['python']}, torch {environment['packages']['torch']}, seed {environment['seed']}"
            f"{f', commit {commit}' if commit else ''}. The rest is in `environment.json`."
        )


def _use(folder: str, which: str, config: RunConfig) -> str:
    """Show the lines of Python that put the model to work."""
    named = printable(folder).replace("\\", "\\\\").replace('"', '\\"')
    code = (_TRANSLATE if config.task == "translate" else _LOAD).format(folder=named, which=which)
    return f"```python\n{code}```"


def _limits(config: RunConfig, data: Mapping[str, Any], outcome: Outcome) -> Iterator[str]:
    trained = [corpus for corpus in data.get("corpora", []) if corpus["path"].startswith("data.train")]
    pairs = f"{sum(corpus['kept'] for corpus in trained):,} pairs" if trained else "data"
    lines = [
        f"It has learned from the {pairs} above and from nothing else; of other subjects and styles it knows nothing.",
        f"It has seen nothing longer than {config.data.max_tokens} tokens.",
        "What it writes can be fluent and wrong. Let someone who knows both languages read it where it matters."
        if config.task == "translate"
        else "It is never sure, however sure it sounds. Let someone check it where it matters.",
        "Whatever is one-sided or unfair in the data is so in the model. Its licence is bound by that of the data.",
    ]
    if outcome.scores:
        lines.append(
            "The scores are of the sentences that also chose the checkpoint, so that they flatter it a little: "
            "measure it again on sentences that no one has looked at."
        )
    if not outcome.is_finished:
        lines.append("The run is not finished: a longer one would be better.")
    yield "\n".join(f"- {line}" for line in lines)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _table(heading: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [heading, ("---",) * len(heading), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _plain(text: str) -> str:
    """Write text of others so that Markdown shows it as it is."""
    return "".join(f"\\{letter}" if letter in r"\`*_{}[]<>#|!" else letter for letter in printable(text))


def _cell(text: str) -> str:
    """Write text of others inside code in a table, where backticks and bars would end it."""
    return printable(text).replace("`", "'").replace("|", "¦")
