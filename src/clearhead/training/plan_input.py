"""The input of a planned run: two text files, or one TSV or JSONL file, recognised by name and content.

The pairs are read into memory, because some of them have to be held out.
"""

import json
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from clearhead.data.config import CorpusConfig, DataConfig
from clearhead.data.corpora import open_corpus
from clearhead.data.hold_out import TextPair
from clearhead.errors import DataError, printable
from clearhead.files.lines import Fault, read_lines

CONFIG_SUFFIXES = (".yaml", ".yml")
_PACKED = (".gz", ".xz")
_LOOKED_AT = 50  # lines
_COMMAND = "train train.en train.es"  # the example in messages
_SETTING = re.compile(r"(data|training|model|text|task|preset|run|validation)\s*:")


def is_config(path: Path) -> bool:
    """Whether a file is a config: by its suffix, or because it contains settings. A missing file counts as one."""
    if path.suffix in CONFIG_SUFFIXES or not path.is_file():
        return True
    return "".join(_suffixes(path)) == "" and any(_SETTING.match(line) for line in _first_lines(path))


def corpus_of(paths: Sequence[Path]) -> CorpusConfig:
    """Return the corpus in two text files or in one TSV or JSONL file, or raise DataError if there is none."""
    if len(paths) > 2:
        raise DataError(
            f"{len(paths)} files were given. Give two text files with one sentence per line, the source and its "
            f"translation ({_COMMAND}), or one TSV or JSONL file."
        )
    for path in paths:
        if path.suffix in CONFIG_SUFFIXES:
            raise DataError(f"{printable(str(path))} is a config. Give the config alone, or two text files.")
    if len(paths) == 2:
        for path in paths:
            _first_lines(path)
        if paths[0].resolve() == paths[1].resolve():
            raise DataError(
                f"{printable(str(paths[0]))} was given twice. Give the source and its translation: {_COMMAND}."
            )
        return CorpusConfig(source=str(paths[0]), target=str(paths[1]))
    return _table(paths[0])


def run_name(paths: Sequence[Path]) -> str:
    """Return the name of the run: train-en-es for train.en and train.es."""
    names = [path.name.removesuffix(next((end for end in _PACKED if path.name.endswith(end)), "")) for path in paths]
    if len(names) == 1:
        return Path(names[0]).stem or names[0]
    (stem, _, source), (other, _, target) = (name.rpartition(".") for name in names)
    parts = (stem, source, target) if stem and stem == other else [name.replace(".", "-") for name in names]
    return "-".join(parts)


def read_pairs(corpus: CorpusConfig, data: DataConfig) -> list[TextPair]:
    """Return the pairs of a corpus, without those that are filtered or were seen before."""
    return [(_one_line(pair.source), _one_line(pair.target)) for pair in open_corpus(corpus, data)]


def _one_line(text: str) -> str:
    """Return a text of JSON, which can have several lines, as one line."""
    return " ".join(text.split("\n")) if "\n" in text else text


def _table(path: Path) -> CorpusConfig:
    lines, suffixes, name = _first_lines(path), _suffixes(path), str(path)
    first = next((line for line in lines if line.strip()), "")
    if ".jsonl" in suffixes or ".ndjson" in suffixes or first.lstrip().startswith("{"):
        source, target = _json_keys(path, first)
        return CorpusConfig(jsonl=name, source_field=source, target_field=target)
    if "\t" in first:
        return CorpusConfig(tsv=name)
    kind = "a TSV file, but its first line has no tab" if ".tsv" in suffixes else "one file of plain text"
    raise DataError(
        f"{printable(name)} is {kind}, so there are no translations to learn from. Give two text files with one "
        f"sentence per line, the source and its translation ({_COMMAND}), or one TSV or JSONL file."
    )


def _json_keys(path: Path, line: str) -> tuple[str, str]:
    """Return the keys of source and target in a line of JSON: by name, or the only two that have text."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise DataError(
            f'{printable(str(path))}:1 is not a JSON object such as {{"source": "…", "target": "…"}}. '
            "Each line of a JSONL file must be one object."
        )
    prefix = ""
    if isinstance(data.get("translation"), dict):
        data, prefix = data["translation"], "translation."
    names = [name for name, value in data.items() if isinstance(value, str)]
    if {"source", "target"} <= set(names):
        return f"{prefix}source", f"{prefix}target"
    if len(names) != 2:
        listed = ", ".join(printable(name[:40]) for name in names[:10]) or "none"
        raise DataError(
            f"{printable(str(path))}:1 does not say which key is the source and which the target. Keys with text: "
            f"{listed}. Rename two of them to source and target."
        )
    return prefix + names[0], prefix + names[1]


def _first_lines(path: Path) -> list[str]:
    """Return the first lines of a file; raise DataError if it is missing, empty or not text."""
    shown = printable(str(path))
    items = list(islice(read_lines(str(path)), _LOOKED_AT))
    faults = [item for item in items if isinstance(item, Fault)]
    if not items:
        raise DataError(f"{shown} is empty. Give a file with one sentence per line.")
    if faults and (faults[0].is_fatal or len(faults) > len(items) / 4):
        raise DataError(
            f"{shown} is not a text file: {faults[0].reason} in line {faults[0].line}. Give UTF-8 text with one "
            "sentence per line."
        )
    return [item for item in items if isinstance(item, str)]


def _suffixes(path: Path) -> list[str]:
    return [suffix for suffix in path.suffixes if suffix not in _PACKED]
