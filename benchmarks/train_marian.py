"""Train MarianMT with Transformers' Seq2SeqTrainer, as its documentation shows, and log the progress with times.

The other training benchmarks start this as a separate process: python benchmarks/train_marian.py settings.json.
"""

import json
import sys
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, models
from torch import Tensor
from torch.utils.data import Dataset
from transformers import (
    DataCollatorForSeq2Seq,
    MarianConfig,
    MarianMTModel,
    PreTrainedTokenizerFast,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    TrainerCallback,
)

PAD, EOS = 0, 2
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

    def __len__(self) -> int:
        return len(self.sides["source_ends"]) - 1

    def __getitem__(self, index: int) -> dict[str, list[int]]:
        source = self.row("source", index)
        return {"input_ids": source, "attention_mask": [1] * len(source), "labels": self.row("target", index)}


class CountingTrainer(Seq2SeqTrainer):
    """The trainer, which also counts the target tokens that it learns from, without synchronising the device."""

    num_tokens: Tensor | int = 0

    def training_step(self, model: Any, inputs: Any, *rest: Any, **named: Any) -> Tensor:
        """Count, then do what the trainer does."""
        self.num_tokens = self.num_tokens + (inputs["labels"] != -100).sum()
        loss: Tensor = super().training_step(model, inputs, *rest, **named)
        return loss


class Diary(TrainerCallback):
    """Writes the time and the number of tokens so far at each log, and stops the training when its time is over."""

    def __init__(self, points: Path, deadline: float) -> None:
        self.points, self.deadline = points, deadline
        self.trainer: CountingTrainer | None = None

    def on_log(self, args: Any, state: Any, control: Any, **named: Any) -> None:
        """Write a line."""
        if self.trainer is not None and "loss" in (named.get("logs") or {}):
            counted = int(self.trainer.num_tokens)
            point = {"time": time.time(), "tokens": counted, "step": state.global_step, "loss": named["logs"]["loss"]}
            with self.points.open("a", encoding="utf-8") as file:
                file.write(json.dumps(point) + "\n")

    def on_step_end(self, args: Any, state: Any, control: Any, **named: Any) -> None:
        """Look at the clock."""
        if time.time() > self.deadline:
            control.should_training_stop = True


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


@torch.inference_mode()
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


def main() -> None:
    settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    torch.manual_seed(1)
    model = MarianMTModel(MarianConfig(**settings["model"]))
    model.generation_config.max_length = None
    diary = Diary(Path(settings["points"]), settings["deadline"])
    trainer = CountingTrainer(
        model=model,
        args=Seq2SeqTrainingArguments(**settings["arguments"], **(grouped() if settings["is_grouped"] else {})),
        train_dataset=Pairs(Path(settings["pairs"])),
        data_collator=DataCollatorForSeq2Seq(padder(settings["model"]["vocab_size"]), model=model),
        callbacks=[diary],
    )
    diary.trainer = trainer
    trainer.train()
    if settings.get("translate"):
        translations = translate(model, settings["translate"])
        Path(settings["translate"]["output"]).write_text(json.dumps(translations), encoding="utf-8")


if __name__ == "__main__":
    main()
