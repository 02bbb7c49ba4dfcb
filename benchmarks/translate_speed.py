"""Translation speed: our two engines, raw CTranslate2 and Transformers' generate, all in one run.

All use the same weights (a random MarianMT, which all of them support), the same sentences in the same batches, and a
fixed number of tokens for each, so that all do the same work. On a CPU our engines read and write text, the others ids;
on a GPU all use ids, and CTranslate2 is not needed. Rounds are interleaved, and the median is reported.
Run: python benchmarks/translate_speed.py [--device cuda] [--preset base] [--batch 32] [--beams 1 4]
"""

import argparse
import gc
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

from clearhead.decoding.engines.engine import Request
from clearhead.decoding.engines.torch_engine import TorchEngine, open_torch
from clearhead.decoding.pipeline import TranslationOptions
from clearhead.decoding.search.settings import SearchSettings
from clearhead.formats import save_checkpoint, to_marian
from clearhead.formats.model_folder import ModelFolder
from clearhead.model import Transformer, preset

NEVER = -1e4  # a logit that prevents a token from being written
REST = 0.3  # seconds until the waiting threads of one library are asleep, before the next one starts

Row = list[int]


@dataclass(frozen=True)
class Work:
    """The input of every system: batches of sentences, as ids with eos and as text."""

    batches: list[list[Row]]
    texts: list[list[str]]
    limit: int

    @property
    def num_sentences(self) -> int:
        """The number of sentences."""
        return sum(map(len, self.batches))


@dataclass(frozen=True)
class System:
    """Something that translates a batch with a beam; its output is the ids of the best translations, or their text."""

    name: str
    precision: str
    translate: Callable[[Work, int, int, int], Any]  # work, number of the batch, beam, limit
    is_text: bool = False


def make_model(options: argparse.Namespace, used: int | None) -> Transformer:
    """Return a random model that MarianMT supports and that writes no padding, no end token and no unused id."""
    torch.manual_seed(1)
    config = preset(
        options.preset, source_vocabulary=options.vocabulary, norm_place="post", sinusoids="blocks", start="pad",
        has_output_bias=True, activation="silu", epsilon=1e-5,
    )  # fmt: skip
    model = Transformer(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # sharp choices, so that rounding decides little
            parameter += 0.02 * torch.randn_like(parameter)
        bias = model.output.bias
        bias[[config.pad, config.bos, config.eos]] = NEVER
        if used is not None:
            bias[used:] = NEVER
    return model


# The input


def made_up(options: argparse.Namespace) -> Work:
    """Return sentences of random ids, of the lengths of everyday text, sorted into batches."""
    random = torch.Generator().manual_seed(1)
    lengths = torch.randint(8, 33, (options.sentences,), generator=random).sort(descending=True).values.tolist()
    rows = [[*torch.randint(4, options.vocabulary, (n - 1,), generator=random).tolist(), 2] for n in lengths]
    batches = [rows[start : start + options.batch] for start in range(0, len(rows), options.batch)]
    return Work(batches, [], options.length)


def phrasebook(options: argparse.Namespace, folder: Path) -> tuple[Work, int]:
    """Return lines of two or three phrasebook sentences, and the size of a vocabulary learned from the phrasebook."""
    from clearhead.data.phrasebook import pairs
    from clearhead.text.config import TextConfig
    from clearhead.text.train import train_vocabularies

    train = list(itertools.islice(pairs("train"), 20_000))
    config = TextConfig.model_validate({"kind": "bpe", "vocabulary": min(3000, options.vocabulary)})
    vocabularies = train_vocabularies(train, config)
    vocabularies.save(folder)
    batched = itertools.batched if hasattr(itertools, "batched") else _batched
    lines = [" ".join(source for source, _ in group) for group in batched(train[-3 * options.sentences :], 3)]
    ids = vocabularies.source.encode(lines)
    order = sorted(range(len(lines)), key=lambda index: -len(ids[index]))[: options.sentences]
    parts = [order[start : start + options.batch] for start in range(0, len(order), options.batch)]
    batches = [[[*ids[index], 2] for index in part] for part in parts]
    return Work(batches, [[lines[index] for index in part] for part in parts], options.length), vocabularies.source.size


def _batched(items: Sequence[Any], size: int) -> list[Sequence[Any]]:
    return [items[start : start + size] for start in range(0, len(items), size)]


# The systems


def settings_of(beam: int, limit: int) -> SearchSettings:
    """Return our settings: those of the other systems, without splitting the given batches."""
    return SearchSettings(
        beam=beam, stopping="first", max_length=limit, max_ratio=1000.0, max_extra=1000, batch_tokens=10**9
    )


def ours_by_ids(name: str, precision: str, engine: TorchEngine) -> System:
    """Return our engine on ids."""

    def run(work: Work, number: int, beam: int, limit: int) -> list[Row]:
        requests = [Request(tuple(row), limit) for row in work.batches[number]]
        return [list(hypotheses[0].tokens) for hypotheses in engine.translate(requests, settings_of(beam, limit))]

    return System(name, precision, run)


def ours_by_text(name: str, precision: str, translator: Any) -> System:
    """Return one of our engines, text in and text out."""

    def run(work: Work, number: int, beam: int, limit: int) -> list[str]:
        options = TranslationOptions(has_scores=False)
        translations = translator.translate(work.texts[number], settings_of(beam, limit), options)
        return [translation.text for translation in translations]

    return System(name, precision, run, is_text=True)


def transformers_generate(folder: Path, device: str, dtype: torch.dtype) -> System:
    """Return MarianMT of Transformers with the same weights."""
    from transformers import MarianMTModel
    from transformers.utils import logging

    logging.set_verbosity_error()
    model = MarianMTModel.from_pretrained(folder, dtype=dtype).to(device).eval()
    model.generation_config.forced_eos_token_id = None
    model.generation_config.bad_words_ids = None
    model.generation_config.max_length = None

    @torch.inference_mode()
    def run(work: Work, number: int, beam: int, limit: int) -> list[Row]:
        rows = work.batches[number]
        longest = max(map(len, rows))
        source = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows], device=device)
        beam_options = {"early_stopping": True, "length_penalty": 1.0} if beam > 1 else {}
        generated = model.generate(
            input_ids=source, attention_mask=(source != 0).long(), num_beams=beam, do_sample=False,
            max_new_tokens=limit, **beam_options,
        )  # fmt: skip
        rows_out: list[Row] = generated[:, 1:].tolist()
        return rows_out

    return System("transformers generate", str(dtype).removeprefix("torch."), run)


def raw_ctranslate2(translator: Any, precision: str, name: str, parts: int) -> System:
    """Return raw CTranslate2; with `parts` > 1 it splits every batch into this number of parts."""

    def run(work: Work, number: int, beam: int, limit: int) -> list[Row]:
        tokens = [[str(token) for token in row] for row in work.batches[number]]
        results = translator.translate_batch(
            tokens, max_batch_size=-(-len(tokens) // parts) if parts > 1 else 0, beam_size=beam,
            max_decoding_length=limit, min_decoding_length=0, length_penalty=1.0,
        )  # fmt: skip
        return [[int(token) for token in result.hypotheses[0]] for result in results]

    return System(name, precision, run)


def cpu_systems(options: argparse.Namespace, folder: Path, work: Work) -> list[System]:
    """Return the systems that run on a CPU."""
    from ctranslate2 import Translator as CTranslate2Translator

    from clearhead.decoding.engines.ctranslate2_engine import open_ctranslate2
    from clearhead.decoding.translator import Translator
    from clearhead.formats.ctranslate2 import converted
    from clearhead.formats.model_folder import load_arrays, load_vocabularies

    place = ModelFolder(folder, folder, is_marian=False)
    vocabularies = load_vocabularies(place)
    systems = [transformers_generate(folder / "marian", "cpu", torch.float32)]
    systems.append(ours_by_text("clearhead torch", "float32", Translator(vocabularies, open_torch(place, "cpu"))))
    for precision in ("float32", "int8"):
        engine = open_ctranslate2(place, "cpu", precision, options.threads)
        conversion = converted(place, precision, lambda: load_arrays(place)).folder  # the one that `engine` has made
        as_it_comes = CTranslate2Translator(
            str(conversion), "cpu", compute_type=precision, intra_threads=options.threads
        )
        systems.append(raw_ctranslate2(as_it_comes, precision, "raw CTranslate2", 1))
        # uses the model that our engine has loaded: two copies differ in speed by some per cent
        systems.append(raw_ctranslate2(engine.translator, precision, "raw, a core each", options.threads))
        systems.append(ours_by_text("clearhead ctranslate2", precision, Translator(vocabularies, engine)))
    return systems


def gpu_systems(folder: Path) -> list[System]:
    """Return the systems that run on a GPU, in bfloat16."""
    place = ModelFolder(folder, folder, is_marian=False)
    theirs = transformers_generate(folder / "marian", "cuda", torch.bfloat16)
    return [theirs, ours_by_ids("clearhead torch", "bfloat16", open_torch(place, "cuda"))]


# The clock


def seconds_of(system: System, work: Work, beam: int) -> float:
    """Return the seconds that all batches take."""
    start = time.perf_counter()
    for number in range(len(work.batches)):
        system.translate(work, number, beam, work.limit)
    return time.perf_counter() - start


def throughput(systems: Sequence[System], work: Work, beam: int, rounds: int) -> dict[int, float]:
    """Return the tokens per second of each system: the median over interleaved rounds."""
    times: dict[int, list[float]] = {number: [] for number in range(len(systems))}
    for turn in range(rounds + 1):
        for number, system in list(enumerate(systems))[:: 1 if turn % 2 else -1]:  # alternate the order
            time.sleep(REST)
            seconds = seconds_of(system, work, beam)
            if turn:  # the first round is a warm-up
                times[number].append(seconds)
        print(f"beam {beam}: round {turn} of {rounds}", file=sys.stderr, flush=True)
    return {
        number: work.num_sentences * work.limit / statistics.median(seconds_of_rounds)
        for number, seconds_of_rounds in times.items()
    }


def latencies(system: System, work: Work, beam: int, runs: int) -> tuple[float, float]:
    """Return the 50th and the 99th percentile of the latency of one short sentence, in milliseconds."""
    short = Work([[work.batches[-1][-1]]], [[work.texts[-1][-1]]] if work.texts else [], 10)
    times = []
    time.sleep(REST)
    for turn in range(runs + 3):
        start = time.perf_counter()
        system.translate(short, 0, beam, short.limit)
        if turn >= 3:
            times.append(1000 * (time.perf_counter() - start))
    times.sort()
    return statistics.median(times), times[min(len(times) - 1, round(0.99 * len(times)))]


def start_ups(folder: Path, options: argparse.Namespace) -> dict[str, float]:
    """Return the seconds from the start of a new process to its first translation."""
    ours = (
        "from clearhead import Translator; "
        f"from clearhead.decoding.search.settings import SearchSettings; t = Translator.load({str(folder)!r}, "
        "engine='{}', device='cpu'); t.translate(['Good morning'], SearchSettings(max_length=10)); "
    )
    programs = {
        "clearhead ctranslate2": ours.format("ctranslate2") + "import sys; assert 'torch' not in sys.modules",
        "clearhead torch": ours.format("torch"),
        "transformers": "import torch; from transformers import MarianMTModel; "
        f"m = MarianMTModel.from_pretrained({str(folder / 'marian')!r}); "
        "m.generate(input_ids=torch.tensor([[5, 6, 2]]), max_new_tokens=10)",
    }
    medians = {}
    for name, program in programs.items():
        times = []
        for _ in range(options.start_ups):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
            times.append(time.perf_counter() - start)
        medians[name] = statistics.median(times)
    return medians


# The report


def tell_machine(options: argparse.Namespace, model: Transformer, work: Work) -> None:
    """Print the model, the machine and the versions."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    is_gpu = options.device == "cuda"
    machine = torch.cuda.get_device_name() if is_gpu else f"{platform.machine()}, {options.threads} threads"
    versions = [f"Python {platform.python_version()}", f"torch {torch.__version__}"]
    for package in ("transformers", *(() if is_gpu else ("ctranslate2",))):
        versions.append(f"{package} {metadata.version(package)}")
    config = model.config
    lengths = [len(row) for batch in work.batches for row in batch]
    print(f"{machine}; {', '.join(versions)}; commit {commit.strip()}")
    print(
        f"preset {options.preset} ({config.encoder_blocks}+{config.decoder_blocks} blocks, width {config.d_model}), "
        f"vocabulary {config.target_size:,}; {work.num_sentences} sentences of {min(lengths)} to {max(lengths)} tokens "
        f"in batches of {options.batch}, {work.limit} tokens generated for each; {options.rounds} rounds\n"
    )


def agreement(systems: Sequence[System], work: Work, beam: int, vocabularies: Any) -> dict[int, float]:
    """Return the share of sentences of the first batch for which a system's output equals that of the first one."""
    outputs = [system.translate(work, 0, beam, work.limit) for system in systems]
    if vocabularies is not None:
        outputs = [
            output if system.is_text else vocabularies.target.decode(output)
            for system, output in zip(systems, outputs, strict=True)
        ]
    return {
        number: sum(a == b for a, b in zip(output, outputs[0], strict=True)) / len(outputs[0])
        for number, output in enumerate(outputs)
    }


def tell(systems: Sequence[System], work: Work, options: argparse.Namespace, vocabularies: Any) -> None:
    """Print the table."""
    print("| search | system | precision | tokens/s | × transformers | × raw CTranslate2 | p50 ms | p99 ms | same |")
    print("|---|---|---|---:|---:|---:|---:|---:|---:|")
    for beam in options.beams:
        speeds = throughput(systems, work, beam, options.rounds)
        same = agreement(systems, work, beam, vocabularies)
        for number, system in enumerate(systems):
            raw = [
                speeds[place]
                for place, other in enumerate(systems)
                if other.name == "raw CTranslate2" and other.precision == system.precision
            ]
            median, most = latencies(system, work, beam, options.latency_runs)
            print(
                f"| {'greedy' if beam == 1 else f'beam {beam}'} | {system.name} | {system.precision} | "
                f"{speeds[number]:,.0f} | {speeds[number] / speeds[0]:.2f} | "
                f"{f'{speeds[number] / raw[0]:.2f}' if raw else ''} | {median:.1f} | {most:.1f} | "
                f"{100 * same[number]:.0f} % |",
                flush=True,
            )
        gc.collect()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--preset", default="base")
    parser.add_argument("--vocabulary", type=int, default=7716)
    parser.add_argument("--sentences", type=int, default=None, help="default: 96, on a GPU 640")
    parser.add_argument("--batch", type=int, default=None, help="sentences in a batch; default: 32, on a GPU 64")
    parser.add_argument("--length", type=int, default=20, help="number of tokens generated for each sentence")
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--latency-runs", type=int, default=50)
    parser.add_argument("--start-ups", type=int, default=3, help="number of times that start-up is timed; 0 skips it")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    is_gpu = options.device == "cuda"
    options.sentences = options.sentences or (640 if is_gpu else 96)
    options.batch = options.batch or (64 if is_gpu else 32)
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        work, used = (made_up(options), None) if is_gpu else phrasebook(options, folder)
        model = make_model(options, used)
        save_checkpoint(model, folder)
        to_marian(model, folder / "marian")
        tell_machine(options, model, work)
        vocabularies = None
        if is_gpu:
            systems = gpu_systems(folder)
        else:
            from clearhead.text.tokeniser import Vocabularies

            vocabularies = Vocabularies.load(folder)
            systems = cpu_systems(options, folder, work)
        tell(systems, work, options, vocabularies)
        print("\n`same`: share of sentences of the first batch with the same output as transformers generate.")
        if not is_gpu and options.start_ups:
            print("\nFrom the start of the process to the first translation:")
            for system, seconds in start_ups(folder, options).items():
                print(f"- {system}: {seconds:.2f} s")


if __name__ == "__main__":
    main()
