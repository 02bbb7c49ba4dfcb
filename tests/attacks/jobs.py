"""Jobs that write files: training, translating, converting, exporting and saving, each small enough to be killed often.

A job starts from a folder, writes into it, and can be run again after a fault. `view` returns what a reader of its files
finds afterwards; it raises a ClearheadError if the files are refused.
"""

import gc
import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from clearhead.data.config import CorpusConfig, DataConfig
from clearhead.data.store import PairStore, build_store, open_store
from clearhead.files.manifest import MANIFEST
from clearhead.formats import load_checkpoint, save_checkpoint
from clearhead.formats.marian import export_marian, from_marian, import_marian, to_marian
from clearhead.model import ModelConfig, Transformer
from clearhead.text.config import TextConfig
from clearhead.text.marian import load_marian_vocabularies
from clearhead.text.tokeniser import Vocabularies
from clearhead.text.train import train_vocabularies
from tests.attacks.child import command
from tests.small_run import TEXTS, make_run
from tests.unit.text.test_marian import make_folder

View = Any
ROOT = Path(__file__).parents[2]
STEPS = 6
CONFIG = f"""
data:
  train: [{{source: train.en, target: train.de}}]
  valid: {{source: valid.en, target: valid.de}}
  max_tokens: 31
text: {{kind: unigram, vocabulary: 61, coverage: 1.0}}
model: {{encoder_blocks: 1, decoder_blocks: 1, d_model: 8, d_ff: 13, num_heads: 2, max_length: 64}}
training:
  device: cpu
  steps: {STEPS}
  batch_tokens: 64
  average: ema
  log_every: 1
  checkpoint_every: 2
  keep_checkpoints: 2
  warm_up: 3
validation: {{every: 3, max_sentences: 3, max_ratio: 0.2}}
"""
WORDS = ("red cat", "old house", "small book", "green bird", "dog", "fish", "good friend", "cold water")
_USED = (
    *("clearhead.check.classroom", "clearhead.cli.check", "clearhead.cli.solve", "clearhead.cli.train"),
    *(
        "clearhead.cli.translate",
        "clearhead.decoding.job",
        "clearhead.training.loop",
        "clearhead.worksheet.render.html",
        "sacrebleu",
        "torch._dynamo",  # the optimisers of torch load its compiler
    ),
)
LINES = [*(source for source, _ in TEXTS[:3]), "", "the old cat", "a book", "17 fish"]


@dataclass(frozen=True)
class Job:
    """A job, its start, and how its result is read. `after` runs it again where that differs from the first time."""

    name: str
    prepare: Callable[[Path], None]
    run: Callable[[Path], None]
    view: Callable[[Path], View]
    after: Callable[[Path], None] | None = None
    # Whether a reader finds the files as they were before or after the job, at any moment. Training and translating have
    # many states in between, and a reader is refused only while a set of files is replaced.
    is_atomic: bool = False
    may_refuse: bool = field(default=False)


# Reading


def content_hash(path: Path) -> str:
    """Return the hash of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def model_view(model: Transformer) -> View:
    """Return a hash of all weights, and the config."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode() + tensor.contiguous().numpy().tobytes())
    return digest.hexdigest()[:16], model.config.model_dump_json()


def run_view(folder: Path) -> View:
    """Return the results of a run, without its times: models, states, vocabularies, data, metrics and outcome."""
    run = folder / "run"
    clocks = ("time", "tokens_per_second", "waiting")
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    metrics = [{name: value for name, value in line.items() if name not in clocks} for line in lines]
    names = ("*/model.safetensors", "checkpoints/*/*.safetensors", "tokeniser/*", "data/*/*")
    files = {path.relative_to(run).as_posix(): content_hash(path) for name in names for path in sorted(run.glob(name))}
    outcome = json.loads((run / "outcome.json").read_text())
    del outcome["seconds"]
    return {"files": files, "metrics": metrics, "outcome": outcome}


def file_view(name: str) -> Callable[[Path], View]:
    """Return a function that returns the content of one file, or None if there is none."""

    def view(folder: Path) -> View:
        return (folder / name).read_bytes() if (folder / name).exists() else None

    return view


# Training


def prepare_training(folder: Path) -> None:
    """Write a config and its parallel text."""
    (folder / "config.yaml").write_text(CONFIG)
    pairs = [(f"the {word} sees {number}", f"der {word} sieht {number}") for word in WORDS for number in range(3)]
    for name, part in (("train", pairs), ("valid", pairs[::7])):
        for column, language in enumerate(("en", "de")):
            text = "".join(f"{pair[column]}\n" for pair in part)
            (folder / f"{name}.{language}").write_text(text)


def train(folder: Path) -> None:
    """Start the run, or resume it."""
    os.chdir(folder)
    more = ("--resume",) if Path("run/config.yaml").is_file() else ()
    command("train", "config.yaml", "--run", "run", *more)


def continue_training(folder: Path) -> None:
    """Resume the run unless it is complete."""
    if not (folder / "run/outcome.json").is_file():
        train(folder)


# Translating


def prepare_translating(folder: Path) -> None:
    """Write a small random model and lines to translate."""
    make_run(folder / "model", max_length=13)
    (folder / "in.txt").write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")


def translate_with(engine: str, model: str = "model") -> Callable[[Path], None]:
    """Return a function that translates a file, two lines at a time, or continues to do so."""

    def translate(folder: Path) -> None:
        os.chdir(folder)
        os.environ["CLEARHEAD_CACHE"] = str(folder / "cache")
        command(
            *("translate", "-m", model, "-i", "in.txt", "-o", "out.txt", "--resume", "--window", "2"),
            *("--engine", engine, "--device", "cpu", "--precision", "float32", "--max-length", "7"),
            *(("--scores",) if engine == "torch" else ()),  # digits that depend on every weight
        )

    return translate


# Saving and converting models


def small_model(seed: int, size: int = 17) -> Transformer:
    """Return a random model that MarianMT supports."""
    torch.manual_seed(seed)
    config = {
        "source_vocabulary": size, "encoder_blocks": 1, "decoder_blocks": 1, "d_model": 8, "num_heads": 2, "d_ff": 13,
        "max_length": 61, "norm_place": "post", "sinusoids": "blocks", "epsilon": 1e-5,
        "has_output_bias": True, "pad": size - 1, "bos": size - 1, "eos": 0,
    }  # fmt: skip
    return Transformer(ModelConfig.model_validate(config)).eval()


def prepare_checkpoint(folder: Path) -> None:
    """Write a model that is to be replaced."""
    save_checkpoint(small_model(3), folder / "model")


def prepare_opus(folder: Path) -> None:
    """Write a small OPUS-MT folder with random weights and, as usual, without checksums; and lines to translate."""
    (folder / "opus").mkdir()
    make_folder(folder / "opus")
    to_marian(small_model(5, load_marian_vocabularies(folder / "opus").target.size), folder / "opus")
    (folder / "opus" / MANIFEST).unlink(missing_ok=True)
    (folder / "in.txt").write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")


def prepare_export(folder: Path) -> None:
    """Write a checkpoint that was imported from an OPUS-MT folder."""
    prepare_opus(folder)
    import_marian(folder / "opus", folder / "model")


def imported_view(folder: Path) -> View:
    """Return an imported model and its tokeniser, or None if there is no folder."""
    if not (folder / "model").exists():
        return None
    vocabularies = load_marian_vocabularies(folder / "model")
    return model_view(load_checkpoint(folder / "model")), vocabularies.digest


def exported_view(folder: Path) -> View:
    """Return an exported model and its tokeniser, or None if there is no folder."""
    if not (folder / "marian").exists():
        return None
    return model_view(from_marian(folder / "marian")), load_marian_vocabularies(folder / "marian").digest


# Vocabularies, stores and sheets


def vocabularies_of(number: int) -> Vocabularies:
    """Return vocabularies that differ by number."""
    return train_vocabularies(TEXTS, TextConfig(kind="unigram", vocabulary=131 + 10 * number, coverage=1.0))


def save_vocabularies(folder: Path) -> None:
    """Replace the vocabularies of a folder."""
    vocabularies_of(1).save(folder)


def prepare_store(folder: Path) -> None:
    """Write a store whose text has changed since."""
    prepare_training(folder)
    store(folder)
    text = (folder / "train.en").read_text()
    (folder / "train.en").write_text(text.replace("sees", "has"))


def store(folder: Path) -> PairStore:
    """Build the store of the training text."""
    corpus = CorpusConfig(source=str(folder / "train.en"), target=str(folder / "train.de"))
    return build_store([corpus], vocabularies_of(0), DataConfig(train=(corpus,)), folder / "store", use="valid")


def store_view(folder: Path) -> View:
    """Return the content of the store."""
    opened = open_store(folder / "store")
    return [
        [row.tolist() for row in side.rows(range(len(opened)))] for side in (opened.source, opened.target)
    ] + [opened.texts("source", range(len(opened)))]  # fmt: skip


def prepare_file(folder: Path) -> None:
    """Write older output files, which are to be replaced."""
    (folder / "sheet.html").write_text("an older sheet")
    (folder / "grades.csv").write_text("older grades")
    (folder / "class").mkdir()
    for name in ("class/asha.yaml", "scheme.yaml"):
        (folder / name).write_bytes((ROOT / "examples/workings" / name).read_bytes())


def solve(folder: Path) -> None:
    """Write a sheet to a file."""
    command("solve", str(ROOT / "examples/self-attention.yaml"), "-o", str(folder / "sheet.html"))


def grade(folder: Path) -> None:
    """Write the grades of a class to a file."""
    os.chdir(folder)
    command("check", "class", "--scheme", "scheme.yaml", "--csv", "grades.csv")


JOBS = (
    Job("train", prepare_training, train, run_view, continue_training),
    Job("translate", prepare_translating, translate_with("torch"), file_view("out.txt"), is_atomic=True),
    Job(
        "translate with CTranslate2", prepare_translating, translate_with("ctranslate2"), file_view("out.txt"),
        is_atomic=True,
    ),
    Job(
        "replace a model", prepare_checkpoint, lambda folder: save_checkpoint(small_model(7), folder / "model"),
        lambda folder: model_view(load_checkpoint(folder / "model")), is_atomic=True, may_refuse=True,
    ),
    Job(
        "import an OPUS-MT model", prepare_opus, lambda folder: _nothing(import_marian(folder / "opus", folder / "model")),
        imported_view, is_atomic=True, may_refuse=True,
    ),
    Job(
        "export to MarianMT", prepare_export, lambda folder: export_marian(folder / "model", folder / "marian"),
        exported_view, is_atomic=True, may_refuse=True,
    ),
    Job(
        "replace vocabularies", lambda folder: vocabularies_of(0).save(folder), save_vocabularies,
        lambda folder: Vocabularies.load(folder).digest, is_atomic=True, may_refuse=True,
    ),
    Job("replace a token store", prepare_store, lambda folder: _nothing(store(folder)), store_view, is_atomic=True, may_refuse=True),
    Job("solve to a file", prepare_file, solve, file_view("sheet.html"), is_atomic=True),
    Job("grades of a class", prepare_file, grade, file_view("grades.csv"), is_atomic=True),
)  # fmt: skip


def _nothing(value: object) -> None:
    """Drop a value that a child need not return."""


def warm_up() -> None:
    """Import everything that the jobs need, so that their children start at once."""
    for name in _USED:
        import_module(name)
    with suppress(ImportError):  # extras
        import_module("ctranslate2.specs")
        import_module("torch.utils.tensorboard")
    with tempfile.TemporaryDirectory() as folder:
        save_checkpoint(small_model(1), Path(folder) / "model")  # torch imports more on its first use
    gc.freeze()  # otherwise a collection in a child would copy the memory that it shares with this process
