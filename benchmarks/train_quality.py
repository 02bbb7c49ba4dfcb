"""Quality after equal time: clearhead, JoeyNMT and Transformers' MarianMT + Seq2SeqTrainer, with their own settings.

Every system gets the same text (normalised with clearhead's config), the same device and the same number of minutes,
counted from the start of its process. Then each translates the test set with a beam of 5, and `clearhead evaluate`
scores all of them, with a significance test of each against the first. All use one vocabulary:
clearhead learns it within its time, the others get it ready-made.

    python benchmarks/train_quality.py --data data/multi30k --minutes 5 --output made --joey joey/bin/python

- clearhead: configs/multi30k-en-de.yaml, or another one given with --config.
- joeynmt: its configuration for IWSLT14 (iwslt14_deen_sp.yaml: 6+6 layers of width 512, 8,192 tokens, rate 2e-4).
- joeynmt-small: its earlier one for the same text, nearer to Multi30k (width 256, 4,096 tokens, dropout 0.3, rate
  3e-4); its plateau schedule needs an older torch, so the schedule of the other one is used.
- transformers: the numbers of its guide to translation (rate 2e-5, 16 sentences), in a model of OPUS-MT's size. They
  are meant for fine-tuning, hence also the next one.
- transformers-scratch: fairseq's recipe for IWSLT14 (rate 5e-4, inverse square root, smoothing 0.1, dropout 0.3, about
  4,096 tokens) at the sizes of clearhead's config.
- joeynmt-brief, transformers-brief: not a published recipe, but what one would change for minutes instead of hours,
  because all of these warm up over 4,000 updates: a rate of 1e-3 after 200 updates, 2,048 tokens, dropout 0.1.

`--preset tiny` gives every system that size, for a CPU. train_peers.py explains how to install JoeyNMT.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from clearhead.data.config import DataConfig
from clearhead.data.corpora import read_texts
from clearhead.model import ModelConfig, preset
from clearhead.text.config import TextConfig
from train_peers import (
    FOREVER,
    EndedProcess,
    Point,
    TokenisedCorpus,
    add_peer_options,
    available_systems,
    clearhead,
    clearhead_points,
    corpus_config,
    environment_of,
    joey_model,
    joey_points,
    marian_points,
    marian_settings,
    print_machine,
    run_for,
    tokenise_corpus,
    train_joey,
    train_marian,
    trainer_arguments,
    write_joey_vocabulary,
    write_pairs,
)

SYSTEMS = (
    "clearhead",
    *("joeynmt", "joeynmt-small", "joeynmt-brief"),
    *("transformers", "transformers-scratch", "transformers-brief"),
)
CONFIGS = Path(__file__).resolve().parent.parent / "configs"
BEAM = 5
OPUS_MT = {"d_model": 512, "d_ff": 2048, "num_heads": 8, "dropout": 0.1}
BRIEF_RATE, BRIEF_WARM_UP, BRIEF_TOKENS, BRIEF_DROPOUT = 1e-3, 200, 2048, 0.1
JOEY_SMALL = {"d_model": 256, "d_ff": 1024, "num_heads": 4, "dropout": 0.3}


class PeerError(Exception):
    """A system could not train or translate here."""


@dataclass(frozen=True)
class Task:
    """The inputs that are the same for every system."""

    options: argparse.Namespace
    settings: Mapping[str, Any]  # clearhead's config
    corpus: TokenisedCorpus
    folder: Path

    @property
    def seconds(self) -> float:
        """How long each system can train."""
        return float(60 * self.options.minutes)

    def sizes(self, **documented: Any) -> ModelConfig:
        """Return the documented sizes, or those of the requested preset."""
        size = self.corpus.vocabularies.source.size
        name = self.options.preset
        documented = {key: value for key, value in documented.items() if name is None or key == "dropout"}
        return preset(name or "base", source_vocabulary=size, **documented)


@dataclass(frozen=True)
class Trained:
    """How far a system got, and its translation of the test set."""

    ended: EndedProcess
    points: list[Point]
    translations: Path


# The systems


def run_clearhead(task: Task) -> Trained:
    """Train with the config, and translate."""
    options, folder = task.options, task.folder
    settings = {**task.settings, "data": data_of(folder), "preset": options.preset or task.settings["preset"]}
    settings["training"] = {**settings["training"], "device": options.device, "log_every": 10}
    path, run, output = folder / "clearhead.yaml", folder / "run", folder / "clearhead.txt"
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    environment = environment_of(options.threads)
    changes = [part for change in options.set for part in ("--set", change)]
    command = clearhead("train", path, "--run", run, *changes)
    ended = run_for(command, task.seconds, folder / "clearhead.log", environment, folder)
    points, _ = clearhead_points(run, ended.start)
    arguments: list[str | Path] = [
        "translate",
        "--model",
        run,
        "--input",
        folder / "test.source",
        "--output",
        output,
        "--beam",
        str(BEAM),
    ]
    finish(clearhead(*arguments, "--device", options.device), environment, "clearhead translate")
    return Trained(ended, points, output)


def run_joey(task: Task, name: str, config: ModelConfig, changes: dict[str, Any]) -> Trained:
    """Train with JoeyNMT's configuration for IWSLT14, and translate with its best checkpoint."""
    options, folder = task.options, task.folder
    write_joey_vocabulary(task.corpus.vocabularies, folder / "pieces.txt")
    side = {
        "level": "bpe", "tokenizer_type": "sentencepiece", "max_length": 512, "voc_file": str(folder / "pieces.txt"),
        "tokenizer_cfg": {"model_file": str(task.corpus.folder / "tokeniser" / "joint.spm")},
    }  # fmt: skip
    data = {"dataset_type": "plain", "src": {"lang": "source", **side}, "trg": {"lang": "target", **side}}
    start = {"initializer": "xavier_normal", "embed_initializer": "xavier_normal", "bias_initializer": "zeros"}
    settings: dict[str, Any] = {
        "name": name, "random_seed": 42, "model": {**joey_model(config, "post"), **start},
        "data": {**data, "train": str(folder / "train"), "dev": str(folder / "valid")},
        "training": {
            "optimizer": "adam", "adam_betas": [0.9, 0.999], "normalization": "tokens", "learning_rate": 2e-4,
            "scheduling": "warmupinversesquareroot", "learning_rate_warmup": 4000, "learning_rate_min": 1e-8,
            "weight_decay": 0.0, "label_smoothing": 0.1, "batch_size": 8192, "batch_type": "token",
            "early_stopping_metric": "bleu", "epochs": FOREVER, "validation_freq": 1000, "logging_freq": 10,
            "overwrite": True, **changes,
        },
        "testing": {
            "beam_size": BEAM, "beam_alpha": 1.0, "batch_size": 64, "batch_type": "sentence", "max_output_length": 100,
            "eval_metrics": ["bleu"],
        },
    }  # fmt: skip
    path = folder / f"{name}.yaml"
    ended = train_joey(settings, path, task.seconds, options)
    points = joey_points(ended.log, ended.start)
    if not points:
        raise PeerError(f"it did not train. Its output:\n{ended.tail()}")
    test_settings = {**yaml.safe_load(path.read_text(encoding="utf-8")), "data": {**data, "test": str(folder / "test")}}
    path.write_text(yaml.safe_dump(test_settings), encoding="utf-8")
    environment = environment_of(options.threads, is_ours=options.joey == sys.executable)
    # its checkpoints are pickles, which torch since 2.6 loads only on request; these were written just now
    environment["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = "1"
    finish(
        [options.joey, "-m", "joeynmt", "test", str(path), "--output-path", str(folder / name)],
        environment,
        "joeynmt test",
    )
    return Trained(ended, points, folder / f"{name}.test")


def guide_recipe(task: Task) -> dict[str, Any]:
    """Return the settings of Transformers' guide to translation."""
    model = {**marian_settings(task.sizes(**OPUS_MT)), "activation_function": "swish"}
    arguments = {"learning_rate": 2e-5, "per_device_train_batch_size": 16, "weight_decay": 0.01}
    return {"model": model, "arguments": arguments, "is_grouped": False}


def scratch_recipe(task: Task, *, is_brief: bool = False) -> dict[str, Any]:
    """Return the settings for training from scratch; `is_brief`: for training within minutes."""
    name = task.options.preset or task.settings["preset"]
    dropout = BRIEF_DROPOUT if is_brief else 0.3
    config = preset(name, source_vocabulary=task.corpus.vocabularies.source.size, dropout=dropout)
    arguments = {
        "learning_rate": 5e-4, "lr_scheduler_type": "inverse_sqrt", "warmup_steps": 4000, "weight_decay": 1e-4,
        "label_smoothing_factor": 0.1, "adam_beta2": 0.98, "max_grad_norm": 0.0,
        "per_device_train_batch_size": round(4096 / task.corpus.mean_target),
    }  # fmt: skip
    if is_brief:
        arguments |= {
            "learning_rate": BRIEF_RATE, "warmup_steps": BRIEF_WARM_UP,
            "per_device_train_batch_size": round(BRIEF_TOKENS / task.corpus.mean_target),
        }  # fmt: skip
    return {"model": marian_settings(config), "arguments": arguments, "is_grouped": True}


def run_transformers(task: Task, name: str, recipe: dict[str, Any]) -> Trained:
    """Train MarianMT with Seq2SeqTrainer, and translate with the last weights."""
    options, folder, vocabularies = task.options, task.folder, task.corpus.vocabularies
    write_pairs(folder / "pairs.npz", task.corpus.source, task.corpus.target)
    lines = (folder / "test.source").read_text(encoding="utf-8").splitlines()
    rows = [[*row, vocabularies.source.eos] for row in vocabularies.source.encode(lines)]
    write_pairs(folder / "test.npz", rows, rows)
    num_workers = 2 if options.device == "cuda" else 0
    points, ids, output = folder / f"{name}.jsonl", folder / f"{name}.json", folder / f"{name}.txt"
    settings = {
        **recipe,
        "arguments": {**recipe["arguments"], **trainer_arguments(folder / name, options, 10, num_workers)},
        "pairs": str(folder / "pairs.npz"), "points": str(points),
        "translate": {"source": str(folder / "test.npz"), "output": str(ids), "beam": BEAM, "batch": 64},
    }  # fmt: skip
    ended = train_marian(settings, folder / f"{name}.settings.json", task.seconds, 3600, options.threads)
    if not ids.is_file():
        raise PeerError(f"it made no translations. Its output:\n{ended.tail()}")
    translations = vocabularies.target.decode(json.loads(ids.read_text(encoding="utf-8")))
    output.write_text("".join(f"{line}\n" for line in translations), encoding="utf-8")
    return Trained(ended, marian_points(points, ended.start), output)


def finish(command: list[str], environment: Mapping[str, str], name: str) -> None:
    """Run a command to its end; on failure raise an error with its output."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(environment))
    if done.returncode:
        raise PeerError(f"{name} failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")


# The text


def data_of(folder: Path) -> dict[str, Any]:
    """Return the `data:` section of a config for the files that were written."""
    places = {
        part: {side: str(folder / f"{part}.{side}") for side in ("source", "target")} for part in ("train", "valid")
    }
    return {"train": [places["train"]], "valid": places["valid"]}


def write_texts(options: argparse.Namespace, text: TextConfig, folder: Path) -> TokenisedCorpus:
    """Write every part as plain normalised lines, and tokenise the training text with a vocabulary learned from it."""
    from clearhead.text.normalise import normalise

    for part, name in (("train", "train"), ("valid", options.valid), ("test", options.test)):
        files = [find_file(options.data, f"{name}.{language}") for language in (options.source, options.target)]
        config = DataConfig.model_validate({"train": [corpus_config(*files)], "on_empty": "refuse"})
        pairs = list(read_texts(config.train, config))
        if part == "test":
            pairs = pairs[: options.sentences]
        for number, side in enumerate(("source", "target")):
            lines = [normalise(pair[number], text.normalisation, text.lower_case) for pair in pairs]
            (folder / f"{part}.{side}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return tokenise_corpus(DataConfig.model_validate({"train": data_of(folder)["train"]}), text, folder / "pieces")


def find_file(folder: Path, name: str) -> str:
    """Return the path of a file, plain or compressed."""
    for suffix in ("", ".gz", ".xz"):
        if (folder / f"{name}{suffix}").is_file():
            return str(folder / f"{name}{suffix}")
    sys.exit(f"{folder} has no {name}, plain, .gz or .xz.")


def systems_of(options: argparse.Namespace) -> dict[str, Callable[[Task], Trained]]:
    """Return the systems that can run here; report the others with the reason."""
    runs: dict[str, Callable[[Task], Trained]] = {
        "clearhead": run_clearhead,
        "joeynmt": lambda task: run_joey(task, "joeynmt", task.sizes(**OPUS_MT), {}),
        "joeynmt-small": lambda task: run_joey(
            task, "joeynmt-small", task.sizes(**JOEY_SMALL), {"batch_size": 4096, "learning_rate": 3e-4}
        ),
        "joeynmt-brief": lambda task: run_joey(
            task,
            "joeynmt-brief",
            task.sizes(**{**JOEY_SMALL, "dropout": BRIEF_DROPOUT}),
            {"batch_size": BRIEF_TOKENS, "learning_rate": BRIEF_RATE, "learning_rate_warmup": BRIEF_WARM_UP},
        ),
        "transformers": lambda task: run_transformers(task, "transformers", guide_recipe(task)),
        "transformers-scratch": lambda task: run_transformers(task, "transformers-scratch", scratch_recipe(task)),
        "transformers-brief": lambda task: run_transformers(
            task, "transformers-brief", scratch_recipe(task, is_brief=True)
        ),
    }
    return available_systems(runs, options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="a folder with train.en, val.en and so on, also .gz")
    parser.add_argument("--source", default="en")
    parser.add_argument("--target", default="de")
    parser.add_argument("--valid", default="val", help="name of the held-out part")
    parser.add_argument("--test", default="test_2016_flickr", help="name of the part that is scored")
    parser.add_argument("--sentences", type=int, default=None, help="score at most this number of sentences")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--config", type=Path, default=CONFIGS / "multi30k-en-de.yaml", help="config of clearhead")
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help="as in clearhead train")
    parser.add_argument("--preset", default=None, help="the same sizes for every system, instead of its own")
    add_peer_options(parser, SYSTEMS, SYSTEMS)
    parser.add_argument("--output", type=Path, required=True, help="a new folder for models and translations")
    options = parser.parse_args()
    systems = systems_of(options)
    folder = options.output.resolve()
    folder.mkdir(parents=True)
    settings = yaml.safe_load(options.config.read_text(encoding="utf-8"))
    corpus = write_texts(options, TextConfig.model_validate(settings["text"]), folder)
    print_machine(options, systems)
    sizes = f"every system {options.preset}" if options.preset else "each system with its own sizes"
    print(f"{options.source} to {options.target}, {len(corpus.source):,} pairs, {options.minutes:g} minutes each, "
          f"{sizes}; scored on {options.test}, beam {BEAM}\n", flush=True)  # fmt: skip
    print("| system | seconds | target tokens learned from |\n|---|---:|---:|")
    task, outputs = Task(options, settings, corpus, folder), {}
    for name, run in systems.items():
        try:
            trained = run(task)
        except PeerError as wrong:
            print(f"\n{name} is skipped:  {wrong}\n", flush=True)
            continue
        outputs[name] = trained.translations
        last = trained.points[-1] if trained.points else Point(0.0, 0.0)
        print(f"| {name} | {min(trained.ended.seconds, last.seconds):,.0f} | {last.tokens:,.0f} |", flush=True)
    print(flush=True)
    arguments: list[str | Path] = [
        "--reference",
        folder / "test.target",
        "--source",
        folder / "test.source",
        "--format",
        "markdown",
    ]
    for name, path in outputs.items():
        arguments += ["--system", f"{name}={path}"]
    subprocess.run(clearhead("evaluate", *arguments), check=True)


if __name__ == "__main__":
    main()
