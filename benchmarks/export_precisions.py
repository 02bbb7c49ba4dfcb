"""Every format and precision that a model can be exported to: size, speed, and what changes, in one run.

Each row is a certified export: largest difference of logits or log-probabilities, share of identical translations, and
BLEU with the 95 % interval of its difference. Speeds are greedy, with one untimed pass first; rounds are interleaved.
The processor time of a sentence is reported, because other programs on the machine hardly change it: the median, and
its ratio to that of the model in PyTorch (float32). The wall-clock speed is that of the fastest round.
Run: python benchmarks/export_precisions.py MODEL --source test.en --reference test.de [--rounds 5] [--lines N]
"""

import argparse
import os
import platform
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import ctranslate2

from clearhead.decoding.engines.engine import EngineName
from clearhead.decoding.pipeline import TranslationOptions
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.errors import ConfigError
from clearhead.export.certificate import Certificate
from clearhead.export.exporting import ExportRequest, export_model
from clearhead.export.sentences import TextChoice, read_comparison_text
from clearhead.export.targets import PRECISIONS
from clearhead.formats.model_folder import find_model

HEADINGS = (
    "export", "weights (MB)", "processor time (ms/sentence)", "times faster", "sentences/s", "largest difference",
    "identical",
    "BLEU (difference; 95 % interval)",
)  # fmt: skip
ORIGINAL = "the model in torch, float32"
PACKAGES = ("torch", "ctranslate2", "onnxruntime", "transformers", "sacrebleu")


def export_all(model: str, text: TextChoice, folder: Path) -> dict[str, Certificate]:
    """Export to every format and precision that supports the model; return the certificates by `format precision`."""
    certificates = {}
    for target, precisions in PRECISIONS.items():
        for precision in precisions:
            name = f"{target} {precision}"
            try:
                request = ExportRequest(model, target, folder / name, precision, text, "test", allows_drift=True)
                certificates[name] = export_model(request)
            except ConfigError as refusal:
                print(f"not {name}: {refusal}")
    return certificates


@dataclass(frozen=True)
class MeasuredSpeed:
    """Milliseconds of processor time for a sentence, the median of all rounds, and sentences per second of the best."""

    milliseconds: float
    speed: float


def measure(
    translators: dict[str, Translator], sources: tuple[str, ...], language: str | None, rounds: int
) -> dict[str, MeasuredSpeed]:
    """Translate all sentences with every translator in turn; the first round warms up and is not measured."""
    walls: dict[str, list[float]] = {name: [] for name in translators}
    processor: dict[str, list[float]] = {name: [] for name in translators}
    options = TranslationOptions(language=language, has_scores=False)
    for number in range(rounds + 1):
        for name, translator in translators.items():
            start, processor_start = time.perf_counter(), time.process_time()
            translator.translate(sources, SearchSettings(), options)
            if number:
                walls[name].append(time.perf_counter() - start)
                processor[name].append(time.process_time() - processor_start)
    return {
        name: MeasuredSpeed(1000 * statistics.median(processor[name]) / len(sources), len(sources) / min(walls[name]))
        for name in translators
    }


def row(name: str, certificate: Certificate, measured: MeasuredSpeed | None, base: MeasuredSpeed) -> str:
    """Return a row of the table."""
    own = certificate.comparison
    speeds = ("", "", "")
    if measured is not None:
        ratio = base.milliseconds / measured.milliseconds
        speeds = (f"{measured.milliseconds:.2f}", f"{ratio:.2f}", f"{measured.speed:,.0f}")
    numbers = "" if own.numbers is None else f"{own.numbers.largest:.1e} ({own.numbers.of})"
    bleu = ""
    if own.bleu is not None:
        bleu = f"{own.bleu.exported:.2f} ({own.bleu.difference:+.2f}; {own.bleu.low:+.2f} to {own.bleu.high:+.2f})"
    cells = (name, f"{own.exported_bytes / 1e6:.1f}", *speeds, numbers, f"{own.share:.1%}", bleu)
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--source")
    parser.add_argument("--reference")
    parser.add_argument("--lines", type=int)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    model = find_model(options.model)
    choice = TextChoice(options.source, options.reference, options.lines)
    text = read_comparison_text(choice, model)
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    versions = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    cores, python = len(os.sched_getaffinity(0)), platform.python_version()
    print(f"{platform.machine()}, {cores} cores; Python {python}, {versions}; commit {commit}")
    print(f"CTranslate2 computes in {', '.join(sorted(ctranslate2.get_supported_compute_types('cpu')))} on this CPU.")
    print(f"{len(text.sources):,} sentences of {text.name}, greedy; median of {options.rounds} rounds.")
    with tempfile.TemporaryDirectory() as place:
        certificates = export_all(options.model, choice, Path(place))
        translators = {ORIGINAL: Translator.load(model, engine="torch", device="cpu")}
        for name in certificates:
            if "marian" not in name:  # transformers runs it, inside its certificate
                engine: EngineName = "torch" if "hub-folder" in name else "auto"
                translators[name] = Translator.load(Path(place) / name, engine=engine, device="cpu")
        speeds = measure(translators, text.sources, model.language, options.rounds)
    base = speeds[ORIGINAL]
    print(f"| {' | '.join(HEADINGS)} |")
    print("|---" * len(HEADINGS) + "|")
    first = next(iter(certificates.values())).comparison
    bleu = "" if first.bleu is None else f"{first.bleu.original:.2f}"
    cells = (ORIGINAL, f"{first.original_bytes / 1e6:.1f}", f"{base.milliseconds:.2f}", "1.00", f"{base.speed:,.0f}")
    print(f"| {' | '.join((*cells, '', '', bleu))} |")
    for name, certificate in certificates.items():
        print(row(name, certificate, speeds.get(name), base))


if __name__ == "__main__":
    main()
