"""The loop of training: take a batch, make an update, and now and then log, validate, save, and look whether to stop.

What it does at an update depends on the config, the data and the number of the update alone, so that a run that was
killed and resumed goes the way of one that was not.
"""

import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Literal

import torch

from clearhead.data.batches import BatchStream, TokenBatch, make_layout
from clearhead.errors import RunError
from clearhead.evaluation.scores import Score
from clearhead.formats.checkpoint import save_checkpoint
from clearhead.formats.weights import own_tensors
from clearhead.model import Transformer
from clearhead.training.average import average_checkpoints
from clearhead.training.config import RunConfig
from clearhead.training.divergence import DivergenceError, describe_fault, save_fault
from clearhead.training.feed import Feed, to_batch
from clearhead.training.outcome import Outcome, Stopped
from clearhead.training.prepare import Prepared, prepare
from clearhead.training.progress import Reporter
from clearhead.training.run import RunFolder
from clearhead.training.schedule import rate_at
from clearhead.training.state import (
    Progress,
    checkpoints,
    forget_after,
    forget_old,
    load_state,
    readable_checkpoints,
    remove_parts,
    save_state,
)
from clearhead.training.step import Stepper
from clearhead.training.validate import Validator

_MAX_ROLL_BACKS = 5
_TURN = 2e-4  # seconds
_LEAST_AHEAD, _TOKENS_AHEAD = 16, 1_000_000  # batches that wait: enough for the time in which a block is laid out


def train(config: RunConfig, folder: RunFolder, reporter: Reporter, resume: bool) -> Outcome:
    """Train the model of a config in a run's folder, from its beginning or from its last checkpoint."""
    torch.manual_seed(config.training.seed)
    prepared = prepare(config, folder, reporter)
    run = _Run(config, folder, reporter, prepared)
    if resume:
        run.resume()
    with _stopping() as stop, _sharing():
        return run.go(stop)


class _Run:
    """One run at work."""

    def __init__(self, config: RunConfig, folder: RunFolder, reporter: Reporter, prepared: Prepared) -> None:
        self.config, self.folder, self.reporter = config, folder, reporter
        self.training = config.training
        self.device = choose_device(self.training.device)
        self.precision = torch.bfloat16 if self._is_mixed() else torch.float32
        self.has_labels = config.task == "classify"
        is_compiled = self.device.type == "cuda" if self.training.is_compiled is None else self.training.is_compiled
        if self.device.type == "cuda":
            torch.set_float32_matmul_precision("high")
            _choose_kernels(self.training.is_deterministic)
        self.model = prepared.model.to(self.device).train()
        self.stepper = Stepper(self.model, self.training, is_compiled=is_compiled, precision=self.precision)
        self.stream = self._stream(prepared)
        self.total = self._total()
        self.validator = None
        if prepared.valid is not None:
            self.validator = Validator(prepared.valid, prepared.vocabularies, config.task, config.validation)
        self.vocabularies = prepared.vocabularies
        self.progress = Progress()
        self.recent: deque[tuple[int, list[TokenBatch]]] = deque(maxlen=max(self.training.log_every, 2))
        self.num_roll_backs = 0
        self._begun = self._logged = time.perf_counter()
        self._scored_at = -1

    def _is_mixed(self) -> bool:
        if self.training.precision == "auto":
            return self.device.type == "cuda"
        return self.training.precision == "bfloat16"

    def _stream(self, prepared: Prepared) -> BatchStream:
        batching = self._batching()
        layout = make_layout(prepared.train, self.training.batch_tokens, batching=batching, has_labels=self.has_labels)
        self.reporter.message(
            f"Batches of {len(layout.shapes)} shape{'s' if len(layout.shapes) > 1 else ''} ({batching}): "
            + ", ".join(str(shape) for shape in layout.shapes)
        )
        weights = [corpus.weight for corpus in self.config.data.train]
        return BatchStream(
            prepared.train, prepared.vocabularies, layout,
            weights=weights, seed=self.training.seed, has_labels=self.has_labels,
        )  # fmt: skip

    def _batching(self) -> Literal["packed", "bucketed"]:
        """Return how rows are filled; a classifier, and a norm over whole sentences, need a row for each."""
        if self.has_labels or self.model.config.encoder_norm == "all":
            return "bucketed"
        return "packed" if self.training.batching == "auto" else self.training.batching

    def _total(self) -> int:
        """Return how many updates are to be made; epochs are turned into updates by the size of the first one."""
        if self.training.steps is not None:
            return self.training.steps
        assert self.training.epochs is not None
        return max(1, round(self.training.epochs * self.stream.batches_per_epoch / self.training.accumulate))

    # From where

    def resume(self) -> None:
        """Go on from the last whole checkpoint, or from the beginning if there is none."""
        remove_parts(self.folder.path)
        for place, wrong in readable_checkpoints(self.folder.checkpoints):
            if wrong:
                self.reporter.message(f"{place.name} is passed over: {wrong}")
                continue
            self._load(place)
            break
        forget_after(self.folder.checkpoints, self.progress.step)
        self.folder.truncate_metrics(self.progress.step)
        self.reporter.message(f"Going on from update {self.progress.step:,}.")

    def _load(self, place: Path) -> None:
        self.progress = load_state(place, self.stepper)
        self.stepper.parts = self.progress.parts

    # The loop

    def go(self, stop: "_Stop") -> Outcome:
        """Make updates until something says stop."""
        self.reporter.begin(self.total, self.progress.step)
        self._begun = self._logged = time.perf_counter()
        if self.training.on_divergence == "roll_back" and not checkpoints(self.folder.checkpoints):
            self._save()
        reason: Stopped | None = None
        while reason is None:
            try:
                reason = self._go_on(stop)
            except DivergenceError as fault:
                self._roll_back(fault)
        return self._end(reason)

    def _go_on(self, stop: "_Stop") -> Stopped:
        """Make updates from where the run stands."""
        ahead = max(_LEAST_AHEAD, _TOKENS_AHEAD // self.training.batch_tokens)
        with Feed(self.stream.batches(self.progress.position), ahead) as feed:
            while True:
                reason = self._reason(stop)
                if reason is not None:
                    return reason
                self._update(feed)
                step = self.progress.step
                self.reporter.advance(step)
                is_last = step >= self.total
                if step % self.training.log_every == 0 or is_last:
                    self._log(feed)
                if self._is_due(step, self.config.validation.every) or is_last:
                    self._validate()
                if self._is_due(step, self.training.checkpoint_every) or is_last:
                    self._save()

    def _reason(self, stop: "_Stop") -> Stopped | None:
        if self.progress.step >= self.total:
            return "steps" if self.training.steps is not None else "epochs"
        patience = self.config.validation.patience
        if patience is not None and self.progress.num_worse >= patience:
            return "patience"
        if self.training.minutes is not None and self._seconds() > 60 * self.training.minutes:
            return "minutes"
        return "interrupted" if stop.is_asked else None

    @staticmethod
    def _is_due(step: int, every: int) -> bool:
        return step % every == 0

    def _seconds(self) -> float:
        return self.progress.seconds + time.perf_counter() - self._begun

    def _update(self, feed: Feed) -> None:
        made = [feed.take() for _ in range(self.training.accumulate)]
        number = self.progress.step + 1
        rate = self.progress.rate_factor * rate_at(number, self.training, self.total)
        batches = [to_batch(each, self.device, has_labels=self.has_labels) for each in made]
        parts = self.stepper.parts
        self.stepper.step(batches, rate, number)
        if self.stepper.parts != parts:
            self.reporter.message(
                f"Out of memory at update {number:,}: each batch is now cut into {self.stepper.parts} parts whose "
                "gradients are added. The updates stay the same; a smaller training.batch_tokens would be quicker."
            )
        self.recent.append((number, made))
        tokens = sum(each.num_pairs if self.has_labels else each.num_target for each in made)
        self.progress = replace(
            self.progress, step=number, position=made[-1].after, parts=self.stepper.parts,
            num_tokens=self.progress.num_tokens + tokens,
        )  # fmt: skip

    # Looking

    def _look(self) -> None:
        """Take in what happened since the last look; a number that is not finite is a divergence."""
        totals = self.stepper.read()
        if totals.first_bad is not None:
            raise DivergenceError(totals.first_bad, None)
        window = self.progress.window
        self.progress = replace(
            self.progress,
            window=replace(
                window,
                loss=window.loss + (totals.loss * totals.num_tokens if totals.num_tokens else 0.0),
                num_tokens=window.num_tokens + totals.num_tokens,
            ),
        )
        self._gradient = totals.gradient

    def _log(self, feed: Feed) -> None:
        self._look()
        window, now = self.progress.window, time.perf_counter()
        loss = window.mean
        lowest = self.progress.lowest_loss
        if lowest is not None and loss > lowest + self.training.max_rise:
            raise DivergenceError(self.progress.step, loss - lowest)
        passed = max(now - self._logged, 1e-9)
        step = self.progress.step
        self.reporter.log(
            step,
            {
                "loss": loss,
                "rate": self.progress.rate_factor * rate_at(step, self.training, self.total),
                "gradient": self._gradient,
                "epoch": float(self.progress.position.epoch),
                "tokens_per_second": window.num_tokens / passed,
                "waiting": min(1.0, feed.waited / passed),
            },
        )
        feed.waited = 0.0
        self._logged = now
        self.progress = replace(
            self.progress, window=type(window)(), lowest_loss=loss if lowest is None else min(lowest, loss)
        )

    def _validate(self) -> None:
        self._look()
        if self.validator is None or self._scored_at == self.progress.step:
            return
        begun = time.perf_counter()
        model = self._averaged()
        scores = self.validator.scores(model, self.precision)
        self._scored_at = self.progress.step
        chosen = scores[self.config.metric]
        value = chosen.value if chosen.is_higher_better else -chosen.value
        is_better = self.progress.best is None or value > self.progress.best
        self.reporter.log(self.progress.step, {f"valid/{name}": score.value for name, score in scores.items()})
        if is_better:
            save_checkpoint(model, self.folder.best)
            kept = {name: score.to_dict() for name, score in scores.items()}
            step = self.progress.step
            self.progress = replace(self.progress, best=value, best_step=step, best_scores=kept, num_worse=0)
        else:
            self.progress = replace(self.progress, num_worse=self.progress.num_worse + 1)
        self._logged += time.perf_counter() - begun  # not counted in tokens a second

    def _averaged(self) -> Transformer:
        """Return the model that is judged and kept: the average of weights where one is made."""
        if self.training.average == "none":
            return self.model
        with torch.random.fork_rng(devices=[]):
            model = Transformer(self.model.config).to(self.device)
        last = checkpoints(self.folder.checkpoints)[-self.training.average_last :]
        if self.training.average == "last" and last:
            average_checkpoints(last, model)
            return model.eval()
        average = self.stepper.average
        tensors = own_tensors(self.model) if average is None else average.tensors()
        with torch.no_grad():
            for name, tensor in own_tensors(model).items():
                tensor.copy_(tensors[name])
        return model.eval()

    # Saving

    def _save(self) -> None:
        self._look()
        begun = time.perf_counter()
        progress = replace(self.progress, seconds=self._seconds())
        save_state(self.folder.checkpoints, self.stepper, progress)
        keep = self.training.keep_checkpoints
        if self.training.average == "last":
            keep = max(keep, self.training.average_last)
        forget_old(self.folder.checkpoints, keep)
        self._logged += time.perf_counter() - begun

    def _end(self, reason: Stopped) -> Outcome:
        """Save what there is, and say how it ended."""
        if not checkpoints(self.folder.checkpoints) or self._saved_step() != self.progress.step:
            self._save()
        if reason != "interrupted":
            self._validate()
        save_checkpoint(self._averaged(), self.folder.last)
        scores = {
            name: Score(kept["name"], kept["value"], kept["signature"])
            for name, kept in self.progress.best_scores.items()
        }
        return Outcome(self.progress.step, self._seconds(), reason, scores, self.progress.best_step)

    def _saved_step(self) -> int:
        return int(checkpoints(self.folder.checkpoints)[-1].name[5:])

    # Divergence

    def _roll_back(self, fault: DivergenceError) -> None:
        """Keep the batch that did it; then stop, or go back to the last checkpoint with half the rate."""
        number = fault.step
        made = next((batches for step, batches in self.recent if step == number), [])
        place = save_fault(self.folder.path, number, made, self.vocabularies)
        sentence = describe_fault(fault, place)
        whole = checkpoints(self.folder.checkpoints)
        if self.training.on_divergence == "stop":
            left = f"The last good checkpoint is {whole[-1].name}." if whole else "No checkpoint was written yet."
            raise RunError(
                f"{sentence} {left} Lower training.rate or raise training.warm_up and begin again, or say "
                "training.on_divergence: roll_back."
            )
        self.num_roll_backs += 1
        if self.num_roll_backs > _MAX_ROLL_BACKS:
            raise RunError(f"{sentence} It was rolled back {_MAX_ROLL_BACKS} times, in vain. Look at that batch.")
        factor = self.progress.rate_factor / 2
        self._load(whole[-1])
        self.progress = replace(self.progress, rate_factor=factor)
        self.stepper.forget_fault()
        self.stepper.read()
        self.recent.clear()
        self.folder.truncate_metrics(self.progress.step)
        self.reporter.message(f"{sentence} Going back to {whole[-1].name} with the rate times {factor:g}.")


def choose_device(name: str) -> torch.device:
    """Return the device that is asked for; auto is a GPU if there is one."""
    if name == "cuda" and not torch.cuda.is_available():
        raise RunError("training.device = 'cuda', but PyTorch sees no GPU here. Say cpu or auto.")
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)


def _choose_kernels(is_deterministic: bool) -> None:
    """Have the library use kernels whose sums come in one order, or any."""
    if is_deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # what the library asks for; read at its first use
    torch.use_deterministic_algorithms(is_deterministic)
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # a help to find faults


@contextmanager
def _sharing() -> Iterator[None]:
    """Have threads take turns more often: the one that lays out batches would keep the one that trains waiting."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_TURN)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@dataclass
class _Stop:
    """Whether someone asked to stop."""

    is_asked: bool = False


@contextmanager
def _stopping() -> Iterator[_Stop]:
    """Let Ctrl-C (or a termination) finish the update at hand; a second one stops at once."""
    stop = _Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def ask(number: int, frame: FrameType | None) -> None:
        if stop.is_asked:
            raise KeyboardInterrupt
        stop.is_asked = True

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
