"""Decoding at equal quality: a 12+1 and a 6+6 model on CTranslate2 in int8, and the 6+6 model on Transformers.

All systems read and write text. Batches are sorted by the same rule, each system with its fastest batch size.
Tokens are counted in each system's own output, without end tokens and padding. Rounds are interleaved; the table has
the median time, and the BLEU of the output that was timed.
Run: python benchmarks/decode_at_equal_quality.py DEEP EVEN SOURCE REFERENCE [--beam 5]
     python benchmarks/decode_at_equal_quality.py --random     random models of both shapes; their BLEU means nothing
"""

import argparse
import itertools
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from clearhead.data.phrasebook import pairs
from clearhead.decoding.engines.ctranslate2_engine import open_ctranslate2
from clearhead.decoding.engines.engine import Engine, Request, batches_by_length, length_limit
from clearhead.decoding.engines.torch_engine import load_model
from clearhead.decoding.search.settings import SearchSettings
from clearhead.errors import ClearheadError, DataError
from clearhead.evaluation.scores import Score, corpus_score
from clearhead.files.line_input import whole_input
from clearhead.formats import save_checkpoint, to_marian
from clearhead.formats.model_folder import ModelFolder, find_model, load_vocabularies
from clearhead.model import Transformer, preset
from clearhead.text.config import TextConfig
from clearhead.text.tokeniser import Vocabularies
from clearhead.text.train import train_vocabularies
from translate_speed import NEVER, REST

# What both random models have: the sizes of configs/multi30k-12-1-distilled.yaml and multi30k-6-6.yaml, and a bias that
# forbids the end of a sentence.
SIZES = {"d_model": 256, "d_ff": 1024, "num_heads": 4, "has_output_bias": True}
SHAPES: dict[str, dict[str, Any]] = {
    "deep": {"encoder_blocks": 12, "decoder_blocks": 1},
    "even": {"encoder_blocks": 6, "decoder_blocks": 6, "norm_place": "post", "sinusoids": "blocks"},
}
MOST_LOST = 0.3  # how much lower the BLEU of the deep model may be
AIMS = {"even, CTranslate2": 2.0, "even, Transformers": 4.0}  # target: how many times faster the deep model must be
Row = Sequence[int]


@dataclass(frozen=True)
class Output:
    """The output of a system: the ids of each line without end tokens and padding, and the text."""

    rows: list[list[int]]
    texts: list[str]

    @property
    def num_tokens(self) -> int:
        """The number of tokens written."""
        return sum(map(len, self.rows))


@dataclass(frozen=True)
class System:
    """Something that translates lines with settings; `num_parameters` are those of its model."""

    name: str
    precision: str
    num_parameters: int
    translate: Callable[[Sequence[str], SearchSettings], Output]


@dataclass(frozen=True)
class Timed:
    """A system, its batch size, and the median time of its rounds."""

    system: System
    batch_tokens: int
    output: Output
    seconds: float

    @property
    def tokens_a_second(self) -> float:
        """Tokens of its own output per second."""
        return self.output.num_tokens / self.seconds

    @property
    def sentences_a_second(self) -> float:
        """Lines per second; the lines are the same for all systems."""
        return len(self.output.texts) / self.seconds


# The systems


def clean(rows: Sequence[Row], vocabularies: Vocabularies) -> Output:
    """Return rows of ids without end tokens and padding, and their text."""
    special = {vocabularies.target.pad, vocabularies.target.bos, vocabularies.target.eos}
    token_rows = [[token for token in row if token not in special] for row in rows]
    return Output(token_rows, vocabularies.target.decode(token_rows))


def by_ctranslate2(name: str, place: ModelFolder, threads: int) -> System:
    """Return our engine with CTranslate2 in int8."""
    vocabularies = load_vocabularies(place)
    engine: Engine = open_ctranslate2(place, "cpu", "int8", threads)
    config = engine.config

    def run(lines: Sequence[str], settings: SearchSettings) -> Output:
        ids = [(*row, config.eos) for row in vocabularies.source.encode(lines)]
        requests = [Request(row, length_limit(len(row), settings, config), number=n) for n, row in enumerate(ids)]
        hypothesis_lists = engine.translate(requests, settings)
        return clean([hypotheses[0].tokens for hypotheses in hypothesis_lists], vocabularies)

    return System(f"{name}, CTranslate2", "int8", num_parameters(load_model(place, "cpu")), run)


def by_transformers(name: str, place: ModelFolder, folder: Path) -> System:
    """Return Transformers with the same weights as a MarianMT."""
    from transformers import MarianMTModel
    from transformers.utils import logging

    logging.set_verbosity_error()
    vocabularies, ours = load_vocabularies(place), load_model(place, "cpu")
    to_marian(ours, folder)
    model = MarianMTModel.from_pretrained(folder, dtype=torch.float32).eval()
    # extra work of MarianMT that would only slow it down
    for habit in ("forced_eos_token_id", "bad_words_ids", "max_length"):
        setattr(model.generation_config, habit, None)
    config = ours.config

    @torch.inference_mode()
    def run(lines: Sequence[str], settings: SearchSettings) -> Output:
        ids = [(*row, config.eos) for row in vocabularies.source.encode(lines)]
        requests = [Request(row, length_limit(len(row), settings, config)) for row in ids]
        output_rows: list[Row] = [()] * len(lines)
        beam_options = {"early_stopping": True, "length_penalty": settings.length_penalty} if settings.beam > 1 else {}
        for places in batches_by_length(requests, settings.tokens_on("cpu")):
            longest = max(len(ids[place]) for place in places)
            source = torch.tensor([[*ids[place], *[config.pad] * (longest - len(ids[place]))] for place in places])
            generated = model.generate(
                input_ids=source, attention_mask=(source != config.pad).long(), num_beams=settings.beam,
                do_sample=False, max_new_tokens=max(requests[place].limit for place in places), **beam_options,
            )  # fmt: skip
            for place, row in zip(places, generated[:, 1:].tolist(), strict=True):
                output_rows[place] = row
        return clean(output_rows, vocabularies)

    return System(f"{name}, Transformers", "float32", num_parameters(ours), run)


def num_parameters(model: Transformer) -> int:
    """Return the number of parameters of a model; shared ones are counted once."""
    return sum(parameter.numel() for parameter in model.parameters())


# Random models


def make_random(folder: Path, options: argparse.Namespace) -> list[str]:
    """Write two random models that never write the end token, and a phrasebook tokeniser; return lines to translate."""
    train = list(itertools.islice(pairs("train"), 20_000))
    text = TextConfig.model_validate({"kind": "bpe", "vocabulary": min(3000, options.vocabulary)})
    vocabularies = train_vocabularies(train, text)
    for name in SHAPES:
        vocabularies.save(folder / name)
    used = vocabularies.target.size
    for name, shape in SHAPES.items():
        torch.manual_seed(1)
        model = Transformer(preset("base", source_vocabulary=options.vocabulary, **SIZES, **shape)).eval()
        with torch.no_grad():
            for parameter in model.parameters():  # sharp choices, so that rounding decides little
                parameter += 0.02 * torch.randn_like(parameter)
            config = model.config
            model.output.bias[[config.pad, config.bos, config.eos]] = NEVER
            model.output.bias[used:] = NEVER
        save_checkpoint(model, folder / name / "best")
    sources = [source for source, _ in train[-2 * options.sentences :]]
    return [" ".join(two) for two in zip(sources[::2], sources[1::2], strict=True)]  # about as long as a caption


# The clock


def best_batch(system: System, lines: Sequence[str], settings: SearchSettings, sizes: Sequence[int]) -> int:
    """Return the batch size with which a system is fastest on some of the lines; this also warms it up."""
    times = {}
    system.translate(lines, settings)
    for size in sizes:
        start = time.perf_counter()
        system.translate(lines, settings.model_copy(update={"batch_tokens": size}))
        times[size] = time.perf_counter() - start
    return min(times, key=times.__getitem__)


def measure(
    systems: Sequence[System], lines: Sequence[str], settings: SearchSettings, options: argparse.Namespace
) -> list[Timed]:
    """Return every system with its median time over interleaved rounds."""
    every = max(1, len(lines) // options.tuned_on)
    sizes = [best_batch(system, lines[::every], settings, options.batch_tokens) for system in systems]
    times: list[list[float]] = [[] for _ in systems]
    outputs = [Output([], [])] * len(systems)
    for turn in range(options.rounds):
        for number, system in enumerate(systems):
            own = settings.model_copy(update={"batch_tokens": sizes[number]})
            time.sleep(REST)
            start = time.perf_counter()
            outputs[number] = system.translate(lines, own)
            times[number].append(time.perf_counter() - start)
        print(f"round {turn + 1} of {options.rounds}", file=sys.stderr, flush=True)
    rows = zip(systems, sizes, outputs, times, strict=True)
    return [Timed(system, size, output, statistics.median(seconds)) for system, size, output, seconds in rows]


# The report


def tell_machine(options: argparse.Namespace, lines: Sequence[str], place: ModelFolder) -> None:
    """Print the models, the machine and the versions."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    versions = [f"Python {platform.python_version()}", f"torch {torch.__version__}"]
    versions += [f"{package} {metadata.version(package)}" for package in ("transformers", "ctranslate2")]
    load = f"load {os.getloadavg()[0]:.1f} before the start"
    print(f"{platform.machine()}, {options.threads} threads, {load}; {', '.join(versions)}; commit {commit.strip()}")
    forced = f", {options.length} tokens forced for each" if options.random else ""
    mean_length = statistics.mean(map(len, load_vocabularies(place).source.encode(lines)))
    search = f"{search_name(options.beam)}{forced}; {options.rounds} rounds"
    print(f"{len(lines):,} lines of {mean_length:.1f} tokens, {search}\n")


def search_name(beam: int) -> str:
    """Return the name of a search."""
    return "greedy search" if beam == 1 else f"a beam of {beam}"


def tell(timed: Sequence[Timed], scores: Sequence[Score] | None) -> None:
    """Print the table, and whether the targets are reached."""
    print("| system | precision | parameters | batch | tokens | tokens/s | sentences/s | × in tokens | × | BLEU |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    deep = timed[0]
    for number, entry in enumerate(timed):
        by_tokens = deep.tokens_a_second / entry.tokens_a_second
        by_sentences = deep.sentences_a_second / entry.sentences_a_second
        score = "—" if scores is None else f"{scores[number].value:.2f}"
        print(
            f"| {entry.system.name} | {entry.system.precision} | {entry.system.num_parameters / 1e6:.1f} M | "
            f"{entry.batch_tokens} | {entry.output.num_tokens:,} | {entry.tokens_a_second:,.0f} | "
            f"{entry.sentences_a_second:,.1f} | {by_tokens:.2f} | {by_sentences:.2f} | {score} |"
        )
    print("\n×: how many times faster the first system is, in tokens and in sentences. batch: source tokens.")
    if scores is not None:
        print(f"BLEU: {scores[0].signature}")
    for line in verdicts(timed, scores):
        print(line)


def verdicts(timed: Sequence[Timed], scores: Sequence[Score] | None) -> list[str]:
    """List for each target whether it is reached."""
    deep, sentences = timed[0], []
    if scores is None:
        sentences.append("- The models are random: this compares only speed, and BLEU is not reported.")
    else:
        even = max(score.value for score in scores[1:])
        lost = even - scores[0].value
        stands = f"{abs(lost):.2f} {'below' if lost > 0 else 'above'}"
        sentences.append(
            f"- {_yes(lost <= MOST_LOST)}: BLEU at most {MOST_LOST} below the even model (it is {stands})."
        )
    for entry in timed[1:]:
        aim = AIMS[entry.system.name]
        times = deep.tokens_a_second / entry.tokens_a_second
        sentences.append(
            f"- {_yes(times >= aim)}: {aim:g} × {entry.system.name} in tokens a second (it is {times:.2f} ×)."
        )
    return sentences


def _yes(is_so: bool) -> str:
    return "reached" if is_so else "missed"


# The benchmark


def compare(options: argparse.Namespace, folder: Path) -> None:
    """Open the systems, time them, and print the report."""
    settings = SearchSettings(beam=options.beam, stopping="first")
    references: list[str] | None = None
    if options.random:
        lines = make_random(folder, options)
        deep, even = find_model(folder / "deep"), find_model(folder / "even")
        settings = settings.model_copy(
            update={"max_length": options.length, "max_ratio": 1000.0, "max_extra": 1000}
        )  # no model writes the end token
    else:
        lines, references = whole_input(str(options.source)), whole_input(str(options.reference))
        if len(lines) != len(references) or not all(line.strip() for line in lines):
            raise DataError(
                f"{options.source} has {len(lines):,} lines and {options.reference} {len(references):,}. "
                "The numbers must be equal, without empty lines."
            )
        deep, even = find_model(options.deep), find_model(options.even)
    torch.set_num_threads(options.threads)
    systems = [
        by_ctranslate2("deep", deep, options.threads),
        by_ctranslate2("even", even, options.threads),
        by_transformers("even", even, folder / "marian"),
    ]
    tell_machine(options, lines, even)
    timed = measure(systems, lines, settings, options)
    # do not request more tokens than the model can write
    metric = "tokenised-bleu" if load_vocabularies(even).target.config.lower_case else "bleu"
    tell(
        timed, None if references is None else [corpus_score(metric, entry.output.texts, references) for entry in timed]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare two models, or random ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("deep", type=Path, nargs="?", help="run folder of the 12+1")
    parser.add_argument("even", type=Path, nargs="?", help="run folder of the 6+6, post-norm with sinusoids = blocks")
    parser.add_argument("source", type=Path, nargs="?")
    parser.add_argument("reference", type=Path, nargs="?")
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--batch-tokens", type=int, nargs="+", default=[512, 1024, 2048, 4096], help="candidate batch sizes"
    )
    parser.add_argument("--tuned-on", type=int, default=200, help="number of lines used to choose the batch size")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--random", action="store_true", help="random models of both shapes, on the phrasebook")
    parser.add_argument("--sentences", type=int, default=400, help="with --random: number of lines")
    parser.add_argument("--vocabulary", type=int, default=4000, help="with --random: vocabulary size")
    parser.add_argument("--length", type=int, default=16, help="with --random: tokens generated for each line")
    options = parser.parse_args(arguments)
    if options.random == (options.reference is not None):
        parser.error("give DEEP EVEN SOURCE REFERENCE, or --random")
    with tempfile.TemporaryDirectory() as name:
        try:
            compare(options, Path(name))
        except ClearheadError as wrong:
            print(f"decode_at_equal_quality: {wrong}", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
