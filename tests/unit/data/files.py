"""Corpora written by tests, and settings that read them."""

import gzip
import lzma
from pathlib import Path
from typing import Any

from clearhead.data.clean import CleaningReport
from clearhead.data.config import CorpusConfig, DataConfig
from clearhead.data.corpora import open_corpus
from clearhead.files.pair_reader import SentencePair
from clearhead.text.config import Task

PACK = {".gz": gzip.compress, ".xz": lzma.compress}


def write(path: Path, content: str | bytes) -> str:
    """Write a file, compressed if its name ends that way, and return its path."""
    raw = content.encode() if isinstance(content, str) else content
    path.write_bytes(PACK.get(path.suffix, bytes)(raw))
    return str(path)


def aligned(folder: Path, source: str | bytes, target: str | bytes, **changes: Any) -> CorpusConfig:
    """Write two aligned files and return their corpus."""
    one, other = write(folder / "train.en", source), write(folder / "train.de", target)
    return CorpusConfig(source=one, target=other, **changes)


def read(corpus: CorpusConfig, task: Task = "translate", **changes: Any) -> tuple[list[SentencePair], CleaningReport]:
    """Read a corpus to its end."""
    opened = open_corpus(corpus, DataConfig(train=(corpus,), **changes), task)
    return list(opened), opened.report
