"""The model card: a README.md in the run folder with the scores, data, settings, use and limits of the model."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from clearhead import __version__
from clearhead.errors import printable
from clearhead.files.json_file import read_json
from clearhead.formats.files import CONFIG
from clearhead.settings import fields_of, shown
from clearhead.training.config import RunConfig
from clearhead.training.outcome import WORDS, KeptScore, Outcome
from clearhead.training.run import CARD, RunFolder

_WHAT = {
    "translate": "A translation model (encoder-decoder {})",
    "classify": "A classification model ({} encoder)",
    "language-model": "A language model ({} decoder)",
}
# Sentences that a model of a built-in corpus has learned; for other data, "…" is a placeholder.
_EXAMPLES = {"phrasebook": "Good morning", "copy": "ba do ki", "reverse": "ba do ki", "sort": "ba do ki"}
_LISTS = ("data.train", "data.valid", "data.test")  # they do not fit a table of settings
# The test of the documentation runs the blocks of a model card.
_USES = {
    "translate": """\
Translate a sentence:

```console
$ clearhead translate -m {path} "{text}"
```

Translate a file line by line, and print the log-probability of each translation:

```console
$ echo "{text}" > source.txt
$ clearhead translate -m {path} -i source.txt -o translation.txt
$ clearhead score -m {path} source.txt translation.txt
```

In Python:

```python
from clearhead import Translator

translator = Translator.load("{folder}")
print(translator.translate(["{text}"])[0].text)
```""",
    "classify": """\
Classify a sentence in Python:

```python
import torch

from clearhead.formats import load_checkpoint
from clearhead.model import Batch
from clearhead.text.tokeniser import Vocabularies

model = load_checkpoint("{folder}/{which}").eval()
vocabularies = Vocabularies.load("{folder}")
ids = [*vocabularies.source.encode(["{text}"])[0], vocabularies.source.eos]
logits = model(Batch(torch.tensor([ids])))  # (1, number of classes)
print(vocabularies.labels[int(logits.argmax())])
```""",
    "language-model": """\
Print the log-probability and perplexity of each line of a text:

```console
$ echo "{text}" > text.txt
$ clearhead score -m {path} text.txt
```

In Python:

```python
from clearhead.decoding.scoring import TextPair, open_scorer

scorer = open_scorer("{folder}")
for target in scorer.score([TextPair("", "{text}")]):
    print(target.log_prob, target.perplexity)
```""",
}


def write_card(folder: RunFolder, config: RunConfig, outcome: Outcome) -> None:
    """Write the model card of a run into its folder, and replace an older one."""
    folder.write(CARD, model_card(folder, config, outcome).encode())


def model_card(folder: RunFolder, config: RunConfig, outcome: Outcome) -> str:
    """Return the model card of a run as Markdown."""
    environment, data = folder.read_environment(), folder.read_data()
    which = "best" if folder.best.is_dir() or outcome.best_step is not None else "last"
    parts = [
        f"# {_plain(folder.path.resolve().name)}",
        f"{_what(folder.path / which / CONFIG, config)}, trained with clearhead {__version__}. "
        f"Its preset is {_plain(config.preset)}; all settings are in `config.yaml`.",
        "## How to use it",
        *_use(folder.path, which, config),
        "## Scores",
        *_scores(config, outcome),
        "## Data",
        *_data(data, config),
        "## Settings that differ from the defaults",
        *_differences(config),
        "## How it was trained",
        *_training(environment, outcome),
        "## Limits",
        *_limits(config, data, outcome),
    ]
    return "\n\n".join(parts) + "\n"


def _what(path: Path, config: RunConfig) -> str:
    """Return what the model is, from the config.json of its checkpoint: a run with `init_from` need not say it."""
    model = read_json(path) if path.is_file() else config.model
    architecture = model.get("architecture", "transformer")
    names = {"transformer": "Transformer", "recurrent": str(model.get("cell", "lstm")).upper()}
    return _WHAT[config.task].format(names.get(architecture, f"{architecture} network"))


def _scores(config: RunConfig, outcome: Outcome) -> Iterator[str]:
    if not outcome.scores:
        yield (
            "None: the run stopped before its first validation."
            if config.data.valid is not None
            else "None: the run had no validation set (`data.valid`)."
        )
        return
    at = f" (update {outcome.best_step:,})" if outcome.best_step is not None else ""
    yield f"Scores of the best checkpoint{at} on the validation set:"
    yield _score_table(outcome.scores)
    if outcome.test_scores:
        yield "Scores on the test set (`data.test`), which was used for nothing else:"
        yield _score_table(outcome.test_scores)
        yield "Some sentences of the test set, with the translation of the model and the reference:"
        yield _table(
            ("source", "translation", "reference"),
            [
                (_plain(sample.source), _plain(sample.translation), _plain(sample.reference))
                for sample in outcome.samples
            ],
        )


def _score_table(scores: Mapping[str, KeptScore]) -> str:
    rows = [(score.name, f"{score.value:.4g}", f"`{_cell(score.signature)}`") for score in scores.values()]
    return _table(("score", "value", "signature"), rows)


def _data(data: Mapping[str, Any], config: RunConfig) -> Iterator[str]:
    corpora = data.get("corpora", [])
    if not corpora:
        yield "The data had not been read when this card was written."
        return
    rows, files = [], []
    for corpus in corpora:
        removed = ", ".join(f"{count:,} {_cell(reason)}" for reason, count in corpus["left_out"].items() if count)
        rows.append((f"`{corpus['path']}`", f"{corpus['read']:,}", f"{corpus['kept']:,}", removed or "none"))
        files += [(f"`{corpus['path']}`", f"`{_cell(name)}`", f"`{sha}`") for name, sha in corpus["files"].items()]
    yield _table(("corpus", "read", "kept", "removed"), rows)
    if files:
        yield _table(("corpus", "file", "SHA-256"), files)
    used = (*config.data.train, config.data.valid)
    built_in = sorted({corpus.built_in for corpus in used if corpus is not None and corpus.built_in is not None})
    if built_in:
        yield f"Built-in corpora of clearhead: {', '.join(built_in)}."
    for use, coverage in data.get("coverage", {}).items():
        yield f"`data.{_cell(use)}`: {_plain(coverage)}."
    if data.get("tokeniser"):
        yield (
            "Tokeniser: "
            + ", ".join(
                f"{_cell(str(key))} {_cell(str(v))}" for key, v in data["tokeniser"].items() if key != "valid_pairs"
            )
            + "."
        )


def _differences(config: RunConfig) -> Iterator[str]:
    rows = [(f"`{path}`", f"`{_cell(value)}`", f"`{_cell(default)}`") for path, value, default in differences(config)]
    yield _table(("setting", "value", "default"), rows) if rows else "None."


def differences(config: RunConfig) -> Iterator[tuple[str, str, str]]:
    """Yield path, value and default of every setting that is not at its default, except corpora."""
    for setting in fields_of(RunConfig):
        if setting.path in ("run", "data") or setting.path.startswith(_LISTS):
            continue
        value: Any = config
        for name in setting.path.split("."):
            value = getattr(value, name)
        if setting.path == "model":
            yield from ((f"model.{name}", _value(difference), "from the preset") for name, difference in value.items())
        elif value != setting.default:
            yield setting.path, _value(value), _value(setting.default)


def _value(value: Any) -> str:
    return value if isinstance(value, str) else shown(value)


def _training(environment: Mapping[str, Any], outcome: Outcome) -> Iterator[str]:
    yield f"{outcome.steps:,} updates in {_duration(outcome.seconds)}. Training ended: {WORDS[outcome.stopped]}."
    if environment:
        gpus = environment.get("gpus") or ["no GPU"]
        commit = environment.get("commit")
        yield (
            f"Trained on {_plain(str(environment['processor']))} ({environment['cores']} cores), "
            f"{_plain(', '.join(gpus))}, with Python {environment['python']}, "
            f"torch {environment['packages']['torch']}, seed {environment['seed']}"
            f"{f', commit {commit}' if commit else ''}. More versions are in `environment.json`."
        )


def _use(folder: Path, which: str, config: RunConfig) -> Iterator[str]:
    """Yield the commands and the Python code that use the model."""
    corpus = config.data.train[0]
    tag = f">>{corpus.language}<< " if corpus.language else ""
    path, text = printable(folder.as_posix()), tag + _EXAMPLES.get(corpus.built_in or "", "…")
    quoted = path.replace("\\", "\\\\").replace('"', '\\"')  # for Python
    yield _USES[config.task].format(path=shlex.quote(path), folder=quoted, which=which, text=text)
    if not folder.is_absolute():
        yield (
            "Paths are relative to the folder in which the model was trained. Elsewhere, write the path of this "
            f"folder instead of `{_cell(path)}`."
        )


def _limits(config: RunConfig, data: Mapping[str, Any], outcome: Outcome) -> Iterator[str]:
    trained = [corpus for corpus in data.get("corpora", []) if corpus["path"].startswith("data.train")]
    pairs = f"{sum(corpus['kept'] for corpus in trained):,} pairs" if trained else "data"
    lines = [
        f"It was trained only on the {pairs} above. Expect poor results on other subjects and styles.",
        f"It was not trained on sentences longer than {config.data.max_tokens} tokens.",
        "A translation can be fluent and wrong. Have important ones checked by someone who speaks both languages."
        if config.task == "translate"
        else "Its output can be wrong even with a high probability. Have important results checked by a person.",
        "It reproduces the biases of its training data. Check the licence of that data before you publish the model.",
    ]
    if outcome.scores:
        lines.append(
            "The best checkpoint was chosen by its validation scores, so these are slightly optimistic"
            + ("." if outcome.test_scores else ": evaluate the model on a separate test set.")
        )
    if not outcome.is_finished:
        lines.append("The run is not finished: the model would improve with more training.")
    lines += [_plain(sentence) for sentence in outcome.advice]
    yield "\n".join(f"- {line}" for line in lines)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _table(heading: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [heading, ("---",) * len(heading), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _plain(text: str) -> str:
    """Escape text for Markdown."""
    return "".join(f"\\{letter}" if letter in r"\`*_{}[]<>#|!" else letter for letter in printable(text))


def _cell(text: str) -> str:
    """Replace backticks and bars in text for code in a table, where they cannot be escaped."""
    return printable(text).replace("`", "'").replace("|", "¦")
