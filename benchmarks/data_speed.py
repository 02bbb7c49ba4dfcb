"""Speed from raw text to batches: reading, cleaning, tokenising, storing and batching, each stage and the total.

A pair is two lines. Peak memory is that of this process; the vocabulary is learned in a separate one.
Run: python benchmarks/data_speed.py train.en.xz train.de.xz [--vocabulary 8000] [--kind unigram] [--pairs 100000]
"""

import argparse
import os
import platform
import resource
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

import numpy
import sentencepiece

from clearhead.data.batches import BatchStream, TokenBatch, make_layout
from clearhead.data.clean import Filter
from clearhead.data.config import CorpusConfig, DataConfig
from clearhead.data.corpora import open_corpus, read_texts
from clearhead.data.ragged import RaggedWriter
from clearhead.data.store import build_store
from clearhead.text.config import TextConfig
from clearhead.text.tokeniser import Vocabularies
from clearhead.text.train import train_vocabularies

BLOCK = 4096
SAMPLED = 20 * BLOCK


class Watch:
    """Adds up the seconds of stages that alternate."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def time(self, stage: str) -> Iterator[None]:
        """Add the time that passes inside to a stage."""
        start = time.perf_counter()
        yield
        self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - start


def learn(data: DataConfig, config: TextConfig, folder: str) -> None:
    """Learn the vocabulary and save it; runs in a separate process, so that its memory is released."""
    train_vocabularies(read_texts(data.train, data), config).save(folder)


def stages(corpus: CorpusConfig, data: DataConfig, vocabularies: Vocabularies, watch: Watch, folder: Path) -> int:
    """Pass the pairs through every stage block by block, and return their number."""
    plain = DataConfig(train=(corpus,), max_pairs=data.max_pairs)
    pairs = iter(open_corpus(corpus, plain))
    keep = Filter(data)
    writers = [RaggedWriter(folder, side, "uint32") for side in ("source", "target")]
    count = 0
    while True:
        with watch.time("reading"):
            block = list(islice(pairs, BLOCK))
        if not block:
            break
        count += len(block)
        with watch.time("cleaning"):
            clean_pairs = [pair for pair in block if keep.rejection_reason(pair) is None]
        with watch.time("tokenising"):
            sides = (
                vocabularies.source.encode([pair.source for pair in clean_pairs]),
                vocabularies.target.encode([pair.target for pair in clean_pairs]),
            )
        with watch.time("storing"):
            for writer, rows in zip(writers, sides, strict=True):
                writer.append(rows)
        done = count - len(block)
        if vocabularies.source.config.sampling and done < SAMPLED:
            with watch.time("sampling"):
                vocabularies.source.sample([pair.source for pair in clean_pairs], seed=count)
                vocabularies.target.sample([pair.target for pair in clean_pairs], seed=count)
    for writer in writers:
        writer.close()
    return count


def padded_tokens(batch: TokenBatch) -> int:
    """Return the number of tokens in a batch, including padding."""
    return batch.source.size + batch.target.size


def memory() -> float:
    """Return the peak memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", help="file of source sentences; .gz and .xz are unpacked")
    parser.add_argument("target", help="file of target sentences")
    parser.add_argument("--vocabulary", type=int, default=8000)
    parser.add_argument("--kind", default="unigram", choices=["unigram", "bpe", "word", "char"])
    parser.add_argument("--tokens", type=int, default=16384, help="target tokens in a batch")
    parser.add_argument("--pairs", type=int, default=None, help="read at most this number of pairs")
    options = parser.parse_args()
    corpus = CorpusConfig(source=options.source, target=options.target)
    data = DataConfig(train=(corpus,), max_pairs=options.pairs, max_words=100, max_ratio=4.0, deduplicate=True)
    config = TextConfig.model_validate({"kind": options.kind, "vocabulary": options.vocabulary, "sampling": 0.1})
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    print(f"{platform.machine()}, {os.cpu_count()} cores; Python {platform.python_version()}, "
          f"sentencepiece {sentencepiece.__version__}, numpy {numpy.__version__}; commit {commit.strip()}")  # fmt: skip
    watch = Watch()
    with tempfile.TemporaryDirectory() as folder:
        with watch.time("learning"):
            child = get_context("spawn").Process(target=learn, args=(data, config, folder))
            child.start()
            child.join()
        vocabularies = Vocabularies.load(folder)
        before = memory()
        count = stages(corpus, data, vocabularies, watch, Path(folder))
        with watch.time("all"):
            store = build_store([corpus], vocabularies, data, Path(folder) / "store")
        peak = memory()
        tokens = int(store.source.lengths.sum() + store.target.lengths.sum())
        wastes = {}
        for batching in ("packed", "bucketed"):
            layout = make_layout(store, options.tokens, batching=batching)
            stream = BatchStream(store, vocabularies, layout)
            with watch.time(batching):
                batch_sizes = list(map(padded_tokens, stream.once()))
            wastes[batching] = 1 - tokens / sum(batch_sizes)
        after = memory()
    show(watch.seconds, count, tokens)
    print(f"\npadding of batches of {options.tokens:,} target tokens: "
          + ", ".join(f"{name} {100 * waste:.1f} %" for name, waste in wastes.items()))  # fmt: skip
    print(f"peak memory {peak:.0f} MB while storing, {after:.0f} MB while batching, {before:.0f} MB before the start")


def show(seconds: dict[str, float], count: int, tokens: int) -> None:
    """Print a row for each stage."""
    names = {
        "reading": "reading (unpacked, decoded, aligned)",
        "cleaning": "cleaning (words, ratio, duplicates)",
        "tokenising": "tokenising (normalised, cut)",
        "storing": "storing",
        "all": "all of these: text to store",
        "sampling": "sampling (what text.sampling adds to an epoch)",
        "packed": "batches from the store, packed",
        "bucketed": "batches from the store, bucketed",
    }
    print(f"{count:,} pairs, {tokens:,} tokens; the vocabulary was learned in {seconds['learning']:.1f} s\n")
    print("| stage | seconds | lines/s | tokens/s |\n|---|---:|---:|---:|")
    for stage, name in names.items():
        if stage in seconds:
            share = min(1.0, SAMPLED / count) if stage == "sampling" else 1.0
            rates = (share * amount / seconds[stage] for amount in (2 * count, tokens))
            print(f"| {name} | {seconds[stage]:.2f} | " + " | ".join(f"{rate:,.0f}" for rate in rates) + " |")


if __name__ == "__main__":
    main()
