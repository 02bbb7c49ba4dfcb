"""Quality after equal time: clearhead, JoeyNMT and Transformers' MarianMT + Seq2SeqTrainer, with their own settings.

Every system gets the same text (normalised with clearhead's config), the same device and the same number of minutes,
counted from the start of its process. Then each translates the test set with a beam of 5, and `clearhead evaluate`
scores all of them, with a significance test of each against the first. All use one vocabulary:
clearhead learns it within its time, the others get it ready-made.

    python benchmarks/train_quality.py --data data/multi30k --minutes 5 --output made --joey joey/bin/python
    python benchmarks/train_quality.py --data data/europarl --valid valid --test test --minutes 5 --curve-every 30 \\
        --config configs/europarl-en-de.yaml --systems clearhead transformers-matched --output made

- clearhead: configs/multi30k-en-de.yaml, or another one given with --config.
- clearhead-short: the same with the number of updates given with --short-steps.
- joeynmt: its configuration for IWSLT14 (iwslt14_deen_sp.yaml: 6+6 layers of width 512, 8,192 tokens, rate 2e-4).
- joeynmt-small: its earlier one for the same text, nearer to Multi30k (width 256, 4,096 tokens, dropout 0.3, rate
  3e-4); its plateau schedule needs an older torch, so the schedule of the other one is used.
- transformers: the numbers of its guide to translation (rate 2e-5, 16 sentences), in a model of OPUS-MT's size. They
  are meant for fine-tuning, hence also the next one.
- transformers-scratch: fairseq's recipe for IWSLT14 (rate 5e-4, inverse square root, smoothing 0.1, dropout 0.3, about
  4,096 tokens) at the sizes of clearhead's config.
- joeynmt-brief, transformers-brief: not a published recipe, but what one would change for minutes instead of hours,
  because all of these warm up over 4,000 updates: a rate of 1e-3 after 200 updates, 2,048 tokens, dropout 0.1.
- transformers-matched: the sizes and the recipe of clearhead's config (rate, warm-up, tokens per batch, dropout, label
  smoothing, AdamW, clipping), a cosine schedule that ends when the time is over, a fused optimiser, batches grouped by
  length and four loader processes. It is not compiled, because its batches have many
  shapes. MarianMT has post-norm, for which such a rate can be too high: --peer-rate and --peer-warm-up change it.
- transformers-pre-norm: the same with the model of Pegasus, which has pre-norm, as clearhead's does.

With `--curve-every 60` the systems of Transformers also translate the validation sentences greedily every 60 seconds,
with the clock stopped (the validations of clearhead count as its time): see curve.json and curve.svg.

`--preset tiny` gives every system that size, for a CPU. train_peers.py explains how to install JoeyNMT.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from clearhead.data.config import DataConfig
from clearhead.data.corpora import read_texts
from clearhead.model import ModelConfig, preset
from clearhead.text.config import TextConfig
from clearhead.training.config import RunConfig, load_run_config
from train_curve import CurvePoint, clearhead_curve, comparison, peer_curve, save_curves
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
    write_sources,
)

SYSTEMS = (
    *("clearhead", "clearhead-short"),
    *("joeynmt", "joeynmt-small", "joeynmt-brief"),
    *("transformers", "transformers-scratch", "transformers-brief"),
    *("transformers-matched", "transformers-pre-norm"),
)
DEFAULTS = tuple(name for name in SYSTEMS if name not in ("clearhead-short", "transformers-pre-norm"))
CONFIGS = Path(__file__).resolve().parent.parent / "configs"
BEAM = 5
NUM_WORKERS = 4  # that load data for transformers-matched
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
    config: RunConfig  # the same with the changes of --set
    corpus: TokenisedCorpus
    folder: Path

    @property
    def num_valid(self) -> int:
        """The number of validation sentences of clearhead."""
        num_lines = len((self.folder / "valid.source").read_text(encoding="utf-8").splitlines())
        return min(num_lines, self.config.validation.max_sentences or num_lines)

    def lines(self, name: str) -> list[str]:
        """Return the lines of a file, at most as many as clearhead validates with."""
        return (self.folder / name).read_text(encoding="utf-8").splitlines()[: self.num_valid]

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
    curve: list[CurvePoint] = field(default_factory=list)
    whole_seconds: float | None = None  # of the process, if translating is not a part of it

    @property
    def seconds(self) -> float:
        """How long it trained."""
        last = self.points[-1].seconds if self.points else 0.0
        return min(self.ended.seconds, last) if self.whole_seconds is None else self.whole_seconds


# The systems


def run_clearhead(task: Task, name: str = "clearhead", steps: int | None = None) -> Trained:
    """Train with the config, or with another number of updates, and translate."""
    options, folder = task.options, task.folder
    settings = {**task.settings, "data": data_of(folder), "preset": options.preset or task.settings["preset"]}
    settings["training"] = {**settings["training"], "device": options.device, "log_every": 10}
    path, run, output = folder / f"{name}.yaml", folder / f"{name}.run", folder / f"{name}.txt"
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    environment = environment_of(options.threads)
    changes = options.set if steps is None else [*options.set, f"training.steps={steps}"]
    command = clearhead("train", path, "--run", run, *(part for change in changes for part in ("--set", change)))
    ended = run_for(command, task.seconds, folder / f"{name}.log", environment, folder)
    points, _ = clearhead_points(run, ended.start)
    files: list[str | Path] = ["--model", run, "--input", folder / "test.source", "--output", output]
    command = clearhead("translate", *files, "--beam", str(BEAM), "--device", options.device)
    finish(command, environment, "clearhead translate")
    return Trained(ended, points, output, clearhead_curve(run, ended.start), ended.seconds)


def run_short(task: Task) -> Trained:
    """Train clearhead with the number of updates of --short-steps."""
    if task.options.short_steps is None:
        raise PeerError("--short-steps is missing.")
    return run_clearhead(task, "clearhead-short", task.options.short_steps)


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


def matched_recipe(task: Task) -> dict[str, Any]:
    """Return the sizes and the recipe of clearhead's config, with the fastest settings of the trainer."""
    options, config = task.options, task.config
    training, name = config.training, options.preset or config.preset
    if training.rate is None or training.warm_up is None or training.batch_tokens is None:
        raise PeerError("the config must have training.rate, training.warm_up and training.batch_tokens.")
    sizes = preset(name, source_vocabulary=task.corpus.vocabularies.source.size, **config.model)
    is_gpu = options.device == "cuda"
    arguments: dict[str, Any] = {
        "learning_rate": training.rate, "weight_decay": training.weight_decay,
        "adam_beta1": training.betas[0], "adam_beta2": training.betas[1], "adam_epsilon": training.epsilon,
        "max_grad_norm": training.clip or 0.0, "label_smoothing_factor": training.label_smoothing,
        "per_device_train_batch_size": round(training.batch_tokens * training.accumulate / task.corpus.mean_target),
        "optim": "adamw_torch_fused", "dataloader_pin_memory": is_gpu,
        "logging_nan_inf_filter": False,  # it waits for the device at every update
    }  # fmt: skip
    if is_gpu:
        arguments |= {"dataloader_num_workers": NUM_WORKERS, "dataloader_persistent_workers": True,
                      "dataloader_prefetch_factor": 4}  # fmt: skip
    return {
        "model": marian_settings(sizes), "arguments": arguments, "is_grouped": False, "clock_warm_up": training.warm_up,
    }  # fmt: skip


def run_matched(task: Task) -> Trained:
    """Train MarianMT with the recipe of clearhead, and the rate and warm-up of the options."""
    options, recipe = task.options, matched_recipe(task)
    if options.peer_rate is not None:
        recipe["arguments"]["learning_rate"] = options.peer_rate
    if options.peer_warm_up is not None:
        recipe["clock_warm_up"] = options.peer_warm_up
    return run_transformers(task, "transformers-matched", recipe)


def run_pre_norm(task: Task) -> Trained:
    """Train the model of Pegasus with the recipe of clearhead."""
    return run_transformers(task, "transformers-pre-norm", {**matched_recipe(task), "architecture": "pegasus"})


def run_transformers(task: Task, name: str, recipe: dict[str, Any]) -> Trained:
    """Train MarianMT with Seq2SeqTrainer, and translate with the last weights."""
    options, folder, vocabularies = task.options, task.folder, task.corpus.vocabularies
    write_pairs(folder / "pairs.npz", task.corpus.source, task.corpus.target)
    test_lines = (folder / "test.source").read_text(encoding="utf-8").splitlines()
    write_sources(folder / "test.npz", test_lines, vocabularies)
    is_gpu = options.device == "cuda"
    points, ids, output = folder / f"{name}.jsonl", folder / f"{name}.json", folder / f"{name}.txt"
    settings = {
        **recipe,
        "arguments": {**trainer_arguments(folder / name, options, 10, 2 if is_gpu else 0), **recipe["arguments"]},
        "pairs": str(folder / "pairs.npz"), "points": str(points),
        "translate": {
            "source": str(folder / "test.npz"), "output": str(ids), "beam": BEAM, "batch": 256 if is_gpu else 64,
        },
    }  # fmt: skip
    curve = folder / f"{name}.curve.jsonl"
    if options.curve_every is not None:
        write_sources(folder / "valid.npz", task.lines("valid.source"), vocabularies)
        settings["curve"] = {
            "source": str(folder / "valid.npz"), "output": str(curve), "beam": 1, "batch": 256,
            "every": options.curve_every,
        }  # fmt: skip
    ended = train_marian(settings, folder / f"{name}.settings.json", task.seconds, 3600, options.threads)
    if not ids.is_file():
        raise PeerError(f"it made no translations. Its output:\n{ended.tail()}")
    translations = vocabularies.target.decode(json.loads(ids.read_text(encoding="utf-8")))
    output.write_text("".join(f"{line}\n" for line in translations), encoding="utf-8")
    scored = peer_curve(curve, ended.start, vocabularies, task.lines("valid.target"))
    return Trained(ended, marian_points(points, ended.start), output, scored)


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
        "clearhead-short": run_short,
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
        "transformers-matched": run_matched,
        "transformers-pre-norm": run_pre_norm,
    }
    return available_systems(runs, options)


def options_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
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
    parser.add_argument("--short-steps", type=int, default=None, help="updates of clearhead-short")
    parser.add_argument("--peer-rate", type=float, default=None, help="rate of transformers-matched")
    parser.add_argument("--peer-warm-up", type=int, default=None, help="warm-up of transformers-matched")
    parser.add_argument("--curve-every", type=float, default=None, help="seconds between two points of the curve")
    parser.add_argument("--preset", default=None, help="the same sizes for every system, instead of its own")
    parser.add_argument("--no-scores", action="store_true", help="leave the scoring of the translations for later")
    add_peer_options(parser, SYSTEMS, DEFAULTS)
    parser.add_argument("--output", type=Path, required=True, help="a new folder for models and translations")
    return parser


def train_all(task: Task, systems: Mapping[str, Callable[[Task], Trained]]) -> dict[str, Trained]:
    """Run the systems one after the other, and print a table row for each."""
    print("| system | updates | seconds | target tokens learned from |\n|---|---:|---:|---:|")
    outputs: dict[str, Trained] = {}
    for name, run in systems.items():
        try:
            outputs[name] = trained = run(task)
        except PeerError as wrong:
            print(f"\n{name} is skipped:  {wrong}\n", flush=True)
            continue
        tokens = trained.points[-1].tokens if trained.points else 0.0
        updates = f"{trained.curve[-1].step:,}" if trained.curve else ""
        print(f"| {name} | {updates} | {trained.seconds:,.0f} | {tokens:,.0f} |", flush=True)
    return outputs


def main() -> None:
    options = options_parser().parse_args()
    systems = systems_of(options)
    folder = options.output.resolve()
    folder.mkdir(parents=True)
    settings = yaml.safe_load(options.config.read_text(encoding="utf-8"))
    config = load_run_config(options.config, options.set, check_files=False)
    corpus = write_texts(options, config.text, folder)
    print_machine(options, systems)
    sizes = f"every system {options.preset}" if options.preset else "each system with its own sizes"
    print(f"{options.source} to {options.target}, {len(corpus.source):,} pairs, {options.minutes:g} minutes each, "
          f"{sizes}; scored on {options.test}, beam {BEAM}\n", flush=True)  # fmt: skip
    task = Task(options, settings, config, corpus, folder)
    outputs = train_all(task, systems)
    if options.curve_every is not None:
        curves = {name: trained.curve for name, trained in outputs.items()}
        save_curves(curves, task.num_valid, folder / "curve.json")
        print(f"\n{comparison(curves, task.num_valid)}", flush=True)
    if options.no_scores:
        return
    print(flush=True)
    files: list[str | Path] = ["--reference", folder / "test.target", "--source", folder / "test.source"]
    files += [part for name, trained in outputs.items() for part in ("--system", f"{name}={trained.translations}")]
    subprocess.run(clearhead("evaluate", *files, "--format", "markdown"), check=True)


if __name__ == "__main__":
    main()
