"""The model card: a README.md in the run folder with the scores, data, settings, use and limits of the model."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

import yaml

from clearhead import __version__
from clearhead.errors import printable
from clearhead.files.json_file import read_json
from clearhead.formats.files import CONFIG
from clearhead.training.config import RunConfig
from clearhead.training.outcome import WORDS, KeptScore, Outcome
from clearhead.training.run import CARD, RunFolder
from clearhead.training.timeline import duration

_WHAT = {
    "translate": "A translation model (encoder-decoder {})",
    "classify": "A classification model ({} encoder)",
    "language-model": "A language model ({} decoder)",
}
# Sentences that a model of a built-in corpus has learned; for other data, "…" is a placeholder.
_EXAMPLES = {"phrasebook": "Good morning", "copy": "ba do ki", "reverse": "ba do ki", "sort": "ba do ki"}
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


_CARD = """\
# {name}

{what}, trained with clearhead {version}. Its preset is {preset}; all settings are in `config.yaml`.

## How to use it

{use}

## Scores

{scores}

## Data

{data}

## Settings that differ from the defaults

```yaml
{settings}
```

## How it was trained

{training}

## Limits

{limits}
"""


def write_card(folder: RunFolder, config: RunConfig, outcome: Outcome) -> None:
    """Write the model card of a run into its folder, and replace an older one."""
    folder.write(CARD, model_card(folder, config, outcome).encode())


def model_card(folder: RunFolder, config: RunConfig, outcome: Outcome) -> str:
    """Return the model card of a run as Markdown."""
    data = folder.read_data()
    which = "best" if folder.best.is_dir() or outcome.best_step is not None else "last"
    sections = {
        "use": _use(folder.path, which, config),
        "scores": _scores(config, outcome),
        "data": _data(data, config),
        "settings": [_differences(config)],
        "training": _training(folder.read_environment(), outcome),
        "limits": [f"- {line}" for line in _limits(config, data, outcome)],
    }
    return _CARD.format(
        name=_plain(folder.path.resolve().name),
        what=_what(folder.path / which / CONFIG, config),
        version=__version__,
        preset=_plain(config.preset),
        **{name: ("\n" if name == "limits" else "\n\n").join(parts) for name, parts in sections.items()},
    )


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
            [tuple(map(_plain, astuple(sample))) for sample in outcome.samples],
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
    tokeniser = {**data["tokeniser"], "valid_pairs": None}
    properties = ", ".join(_cell(f"{name} {value}") for name, value in tokeniser.items() if value is not None)
    if properties:
        yield f"Tokeniser: {properties}."


def _differences(config: RunConfig) -> str:
    """Return the settings that are not at their defaults as YAML; the corpora are described above them."""
    omitted: dict[str, Any] = {"run": True, "data": {"train": True, "valid": True, "test": True}}
    settings = config.model_dump(mode="json", exclude_defaults=True, exclude=omitted)
    text = yaml.safe_dump({name: value for name, value in settings.items() if value}, sort_keys=False, width=10_000)
    return "\n".join(map(printable, text.splitlines()))


def _training(environment: Mapping[str, Any], outcome: Outcome) -> Iterator[str]:
    yield f"{outcome.steps:,} updates in {duration(outcome.seconds)}. Training ended: {WORDS[outcome.stopped]}."
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
    yield f"It was trained only on the {pairs} above. Expect poor results on other subjects and styles."
    yield f"It was not trained on sentences longer than {config.data.max_tokens} tokens."
    if config.task == "translate":
        yield "A translation can be fluent and wrong. Have important ones checked by someone who speaks both languages."
    else:
        yield "Its output can be wrong even with a high probability. Have important results checked by a person."
    yield "It reproduces the biases of its training data. Check the licence of that data before you publish the model."
    if outcome.scores:
        advice = "." if outcome.test_scores else ": evaluate the model on a separate test set."
        yield f"The best checkpoint was chosen by its validation scores, so these are slightly optimistic{advice}"
    if not outcome.is_finished:
        yield "The run is not finished: the model would improve with more training."
    yield from map(_plain, outcome.advice)


def _table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _plain(text: str) -> str:
    """Escape text for Markdown."""
    return "".join(f"\\{letter}" if letter in r"\`*_{}[]<>#|!" else letter for letter in printable(text))


def _cell(text: str) -> str:
    """Replace backticks and bars in text for code in a table, where they cannot be escaped."""
    return printable(text).replace("`", "'").replace("|", "¦")
