"""Train MarianMT with Transformers' Seq2SeqTrainer, as its documentation shows, and log the progress with times.

The other training benchmarks start this as a separate process: python benchmarks/train_marian.py settings.json.
Optional settings: `architecture` (marian, or pegasus, which is the same with pre-norm), `clock_warm_up` (this number of
updates, then a cosine schedule that ends with the time), `curve` (translate held-out sentences from time to time).
"""

import json
import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, models
from torch import Tensor
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import Dataset, Sampler
from transformers import (
    DataCollatorForSeq2Seq,
    MarianConfig,
    MarianMTModel,
    PegasusConfig,
    PegasusForConditionalGeneration,
    PreTrainedTokenizerFast,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    TrainerCallback,
)

PAD, EOS = 0, 2
MEGABATCH = 50  # batches whose sentences are sorted by length
LONGEST = 1.5, 20  # a translation has at most this number of tokens per source token, plus a constant


class Pairs(Dataset[dict[str, list[int]]]):
    """Sentences as ids, each with its end token."""

    def __init__(self, path: Path) -> None:
        with np.load(path) as arrays:
            self.sides = {name: arrays[name] for name in arrays.files}

    def row(self, side: str, index: int) -> list[int]:
        """Return the ids of a sentence."""
        ends = self.sides[f"{side}_ends"]
        if not 0 <= index < len(ends) - 1:
            raise IndexError(index)  # this ends a loop over the pairs
        start, end = ends[index : index + 2]
        ids: list[int] = self.sides[side][start:end].tolist()
        return ids

    def lengths(self) -> np.ndarray[Any, Any]:
        """Return the number of tokens of each pair, both sides together."""
        total: np.ndarray[Any, Any] = np.diff(self.sides["source_ends"]) + np.diff(self.sides["target_ends"])
        return total

    def __len__(self) -> int:
        return len(self.sides["source_ends"]) - 1

    def __getitem__(self, index: int) -> dict[str, list[int]]:
        source = self.row("source", index)
        return {"input_ids": source, "attention_mask": [1] * len(source), "labels": self.row("target", index)}


class Clock:
    """The time of a run, from its start to its deadline; it stands still while it is paused."""

    def __init__(self, start: float, deadline: float) -> None:
        self.start, self.deadline = start, deadline
        self.seconds_paused = 0.0

    def now(self) -> float:
        """Return the time, less that of all pauses."""
        return time.time() - self.seconds_paused

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Stop the clock, after the device has finished its work."""
        wait_for_device()
        before = time.time()
        yield
        wait_for_device()
        self.seconds_paused += time.time() - before


def wait_for_device() -> None:
    """Wait until a GPU has done all that it was asked to do."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


class ClockSchedule:
    """The share of the peak rate: a linear warm-up of some updates, then a cosine that reaches 0 at the deadline."""

    def __init__(self, clock: Clock, warm_up: int) -> None:
        self.clock, self.warm_up = clock, warm_up
        self.peak_time: float | None = None

    def __call__(self, step: int) -> float:
        """Return the share for the update after `step` updates."""
        if step < self.warm_up:
            return (step + 1) / self.warm_up
        now = self.clock.now()
        if self.peak_time is None:
            self.peak_time = now
        share = (now - self.peak_time) / max(self.clock.deadline - self.peak_time, 1e-9)
        return 0.5 * (1.0 + math.cos(math.pi * min(share, 1.0)))


class GroupedSampler(Sampler[int]):
    """Sentences of similar length in each batch, and batches in a random order; the last batch can be smaller.

    The trainer's own sampler first loads every sentence for its length, and leaves the batches sorted by length.
    """

    def __init__(self, lengths: np.ndarray[Any, Any], batch_size: int) -> None:
        self.lengths, self.batch_size = lengths, batch_size

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[int]:
        order = torch.randperm(len(self.lengths)).numpy()
        size = MEGABATCH * self.batch_size
        parts = [order[start : start + size] for start in range(0, len(order), size)]
        order = np.concatenate([part[np.argsort(self.lengths[part], kind="stable")] for part in parts])
        batches = [order[start : start + self.batch_size] for start in range(0, len(order), self.batch_size)]
        rest = batches.pop() if len(batches[-1]) < self.batch_size else order[:0]
        for index in torch.randperm(len(batches)).tolist():
            yield from batches[index].tolist()
        yield from rest.tolist()


class CountingTrainer(Seq2SeqTrainer):
    """The trainer, which also counts the target tokens that it learns from, without synchronising the device."""

    num_tokens: Tensor | int = 0
    schedule: ClockSchedule | None = None  # instead of the one in the arguments
    lengths: np.ndarray[Any, Any] | None = None  # for grouping the sentences

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
        """Use the schedule by the clock, if there is one."""
        if self.schedule is None:
            return super().create_scheduler(num_training_steps, optimizer)
        self.lr_scheduler = LambdaLR(self.optimizer if optimizer is None else optimizer, self.schedule)
        return self.lr_scheduler

    def _get_train_sampler(self, *arguments: Any, **named: Any) -> Any:
        """Group by the lengths, if they were given."""
        if self.lengths is None:
            return super()._get_train_sampler(*arguments, **named)
        return GroupedSampler(self.lengths, self.args.train_batch_size)

    def training_step(self, model: Any, inputs: Any, *rest: Any, **named: Any) -> Tensor:
        """Count, then do what the trainer does."""
        self.num_tokens = self.num_tokens + (inputs["labels"] != -100).sum()
        loss: Tensor = super().training_step(model, inputs, *rest, **named)
        return loss


class Diary(TrainerCallback):
    """Writes the time and the number of tokens so far at each log, and stops the training when its time is over."""

    def __init__(self, points: Path, clock: Clock) -> None:
        self.points, self.clock = points, clock
        self.trainer: CountingTrainer | None = None

    def on_log(self, args: Any, state: Any, control: Any, **named: Any) -> None:
        """Write a line."""
        if self.trainer is not None and "loss" in (named.get("logs") or {}):
            counted = int(self.trainer.num_tokens)
            now, loss = self.clock.now(), named["logs"]["loss"]
            append_line(self.points, {"time": now, "tokens": counted, "step": state.global_step, "loss": loss})

    def on_step_end(self, args: Any, state: Any, control: Any, **named: Any) -> None:
        """Look at the clock."""
        if self.clock.now() > self.clock.deadline:
            control.should_training_stop = True


class Curve(TrainerCallback):
    """Translates held-out sentences from time to time and at the end, while the clock is paused."""

    def __init__(self, job: dict[str, Any], clock: Clock) -> None:
        self.job, self.clock = job, clock
        self.next_time = clock.start + job["every"]
        self.last_step = 0
        self.trainer: CountingTrainer | None = None

    def on_step_end(self, args: Any, state: Any, control: Any, **named: Any) -> None:
        """Translate if it is time to."""
        if self.clock.now() >= self.next_time:
            self.measure(state.global_step)
            while self.next_time <= self.clock.now():
                self.next_time += self.job["every"]

    def on_train_end(self, args: Any, state: Any, control: Any, **named: Any) -> None:
        """Translate with the last weights."""
        if state.global_step > self.last_step:
            self.measure(state.global_step)

    def measure(self, step: int) -> None:
        """Write the time, the number of tokens so far and the translations."""
        assert self.trainer is not None
        with self.clock.pause():
            model: Any = self.trainer.model
            point = {"time": self.clock.now(), "tokens": int(self.trainer.num_tokens), "step": step}
            append_line(Path(self.job["output"]), {**point, "ids": translate(model, self.job)})
            model.train()
        self.last_step = step


def append_line(path: Path, data: dict[str, Any]) -> None:
    """Add a line of JSON to a file."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(data) + "\n")


def grouped() -> dict[str, Any]:
    """Return the argument that groups sentences by length: its name changed in version 5."""
    argument_names = {field.name for field in fields(Seq2SeqTrainingArguments)}
    if "group_by_length" in argument_names:
        return {"group_by_length": True}
    return {"train_sampling_strategy": "group_by_length"}


def padder(size: int) -> Any:
    """Return a tokeniser that is only used for padding."""
    words = Tokenizer(models.WordLevel({str(number): number for number in range(size)}, unk_token="3"))
    make: Any = PreTrainedTokenizerFast
    return make(tokenizer_object=words, pad_token=str(PAD), eos_token=str(EOS), unk_token="3")


@torch.no_grad()
def translate(model: Any, job: dict[str, Any]) -> list[list[int]]:
    """Return the ids of the translations of a test set, in its order."""
    test = Pairs(Path(job["source"]))
    rows = [test.row("source", index) for index in range(len(test))]
    order = sorted(range(len(rows)), key=lambda index: len(rows[index]))
    translations: list[list[int]] = [[] for _ in rows]
    model.eval()
    for start in range(0, len(order), job["batch"]):
        part = order[start : start + job["batch"]]
        longest = max(len(rows[index]) for index in part)
        ids = torch.tensor([[*rows[index], *[PAD] * (longest - len(rows[index]))] for index in part])
        ids = ids.to(model.device)
        generated = model.generate(
            input_ids=ids, attention_mask=(ids != PAD).long(), num_beams=job["beam"], do_sample=False,
            max_new_tokens=round(LONGEST[0] * longest) + LONGEST[1],
        )  # fmt: skip
        for index, row in zip(part, generated[:, 1:].tolist(), strict=True):
            translations[index] = row[: row.index(EOS)] if EOS in row else [token for token in row if token != PAD]
    return translations


def build(settings: dict[str, Any]) -> Any:
    """Return a new model."""
    model: Any
    if settings.get("architecture") == "pegasus":
        model = PegasusForConditionalGeneration(PegasusConfig(**settings["model"]))
    else:
        model = MarianMTModel(MarianConfig(**settings["model"]))
    model.generation_config.max_length = None
    return model


def main() -> None:
    settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    torch.manual_seed(1)
    model, pairs = build(settings), Pairs(Path(settings["pairs"]))
    clock = Clock(settings["start"], settings["deadline"])
    diary = Diary(Path(settings["points"]), clock)
    curve = Curve(settings["curve"], clock) if settings.get("curve") else None
    trainer = CountingTrainer(
        model=model,
        args=Seq2SeqTrainingArguments(**settings["arguments"], **(grouped() if settings["is_grouped"] else {})),
        train_dataset=pairs,
        data_collator=DataCollatorForSeq2Seq(padder(settings["model"]["vocab_size"]), model=model),
        callbacks=[diary, *([] if curve is None else [curve])],
    )
    diary.trainer = trainer
    if curve is not None:
        curve.trainer = trainer
    if settings.get("clock_warm_up") is not None:
        trainer.schedule = ClockSchedule(clock, settings["clock_warm_up"])
        trainer.lengths = pairs.lengths()
    trainer.train()
    if settings.get("translate"):
        translations = translate(model, settings["translate"])
        Path(settings["translate"]["output"]).write_text(json.dumps(translations), encoding="utf-8")


if __name__ == "__main__":
    main()
