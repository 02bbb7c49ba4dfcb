"""The loop of training: take a batch, make an update, and now and then log, validate, save, and look whether to stop.

What it does at an update depends on the config, the data and the number of the update alone, so that a run that was
killed and resumed goes the way of one that was not.
"""

import math
import time
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import Literal

import torch

from clearhead.data.batches import BatchStream, TokenBatch, make_layout
from clearhead.errors import CheckpointError, RunError, printable
from clearhead.evaluation.scores import Score
from clearhead.formats.checkpoint import save_checkpoint
from clearhead.formats.weights import own_tensors
from clearhead.model import TrainableModel, build_model
from clearhead.model.device import choose_device, choose_kernels
from clearhead.training.average import average_in
from clearhead.training.config import RunConfig
from clearhead.training.divergence import DivergenceError, describe_fault, save_fault
from clearhead.training.feed import BatchPrefetcher, sharing, to_batch
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
    planned_checkpoints,
    readable_checkpoints,
    remove_parts,
    save_state,
    step_of,
)
from clearhead.training.step import Totals, Updater
from clearhead.training.stopping import Stop, stopping
from clearhead.training.validate import Validator
from clearhead.training.warm_up import warming_up

_MAX_ROLL_BACKS = 5
_LEAST_AHEAD, _TOKENS_AHEAD = 16, 1_000_000  # batches that wait: enough for the time in which a block is laid out


def train(config: RunConfig, folder: RunFolder, reporter: Reporter, resume: bool) -> Outcome:
    """Train the model of a config in a run's folder, from its beginning or from its last checkpoint."""
    torch.manual_seed(config.training.seed)
    device = choose_device(config.training.device)
    with warming_up(device):
        prepared = prepare(config, folder, reporter)
    run = _Run(config, folder, reporter, prepared, device)
    if resume:
        run.resume()
    with stopping() as stop, sharing():
        return run.go(stop)


class _Run:
    """One run at work."""

    def __init__(
        self, config: RunConfig, folder: RunFolder, reporter: Reporter, prepared: Prepared, device: torch.device
    ) -> None:
        self.config, self.folder, self.reporter, self.device = config, folder, reporter, device
        self.training = config.training
        self.precision = torch.bfloat16 if self._is_mixed() else torch.float32
        self.has_labels = config.task == "classify"
        is_compiled = self.device.type == "cuda" if self.training.is_compiled is None else self.training.is_compiled
        if self.device.type == "cuda":
            torch.set_float32_matmul_precision("high")
            choose_kernels(self.training.is_deterministic)
        self.model = prepared.model.to(self.device).train()
        self.updater = Updater(self.model, self.training, is_compiled=is_compiled, precision=self.precision)
        self.stream = self._stream(prepared)
        self.total = self._total()
        self.validator = None
        if prepared.valid is not None:
            self.validator = Validator(prepared.valid, prepared.vocabularies, config.task, config.validation)
        self.vocabularies = prepared.vocabularies
        self.progress = Progress()
        self.recent: deque[tuple[int, list[TokenBatch]]] = deque(maxlen=max(self.training.log_every, 2))
        self.num_roll_backs = 0
        self._start_time = self._last_log = self._clock = (
            time.perf_counter()
        )  # of this process, the last log, the last save
        self._counted_tokens = 0  # tokens up to the last log

    def _is_mixed(self) -> bool:
        if self.training.precision == "auto":
            return self.device.type == "cuda"
        return self.training.precision == "bfloat16"

    def _stream(self, prepared: Prepared) -> BatchStream:
        batching = self._batching()
        layout = make_layout(
            prepared.train, self.training.batch_tokens, batching=batching, has_labels=self.has_labels,
            max_tokens=self.config.data.max_tokens,
        )  # fmt: skip
        stream = BatchStream(
            prepared.train, prepared.vocabularies, layout, weights=[corpus.weight for corpus in self.config.data.train],
            seed=self.training.seed, has_labels=self.has_labels,
        )  # fmt: skip
        self.reporter.message(
            f"Batches of {len(layout.shapes)} shape{'s' if len(layout.shapes) > 1 else ''} ({batching}): "
            f"{', '.join(str(shape) for shape in layout.shapes)}; {100 * stream.padding:.1f} % padding."
        )
        return stream

    def _batching(self) -> Literal["packed", "bucketed"]:
        """Return how rows are filled; a classifier, and a norm over whole sentences, need a row for each."""
        has_encoder = self.model.config.shape != "decoder"
        if self.has_labels or (has_encoder and self.model.config.encoder_norm == "all"):
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
        passed_over = []
        for place, wrong in readable_checkpoints(self.folder.checkpoints):
            if not wrong:
                self._load(place)
                break
            passed_over.append(f"{place.name} is passed over: {wrong}")
            self.reporter.message(passed_over[-1])
        else:
            if passed_over:
                raise CheckpointError(
                    f"no checkpoint in {printable(str(self.folder.checkpoints))} can be read. {passed_over[0]} "
                    "Move them away to begin from the first update."
                )
        forget_after(self.folder.checkpoints, self.progress.step)
        self.folder.truncate_metrics(self.progress.step)
        if self.progress.best_step == self.progress.step:
            save_checkpoint(self._averaged(), self.folder.best)  # the process may have ended before it was written
        self.reporter.message(f"Going on from update {self.progress.step:,}.")

    def _load(self, place: Path) -> None:
        self.progress = load_state(place, self.updater)
        self.updater.parts = self.progress.parts
        self._counted_tokens = self.progress.num_tokens

    # The loop

    def go(self, stop: Stop) -> Outcome:
        """Make updates until something says stop."""
        self.reporter.begin(self.total, self.progress.step)
        self._start_time = self._last_log = self._clock = time.perf_counter()
        if self.training.on_divergence == "roll_back" and not checkpoints(self.folder.checkpoints):
            self._save()
        reason: Stopped | None = None
        while reason is None:
            try:
                reason = self._go_on(stop)
            except DivergenceError as fault:
                self._roll_back(fault)
            except torch.OutOfMemoryError:
                raise RunError(_no_memory(self.progress.step + 1)) from None
        save_checkpoint(self._averaged(), self.folder.last)
        scores = {
            name: Score(score["name"], score["value"], score["signature"])
            for name, score in self.progress.best_scores.items()
        }
        return Outcome(self.progress.step, self._seconds(), reason, scores, self.progress.best_step)

    def _go_on(self, stop: Stop) -> Stopped:
        """Make updates from where the run stands."""
        ahead = max(_LEAST_AHEAD, _TOKENS_AHEAD // self.training.batch_tokens)
        with BatchPrefetcher(self.stream.batches(self.progress.position), ahead) as prefetcher:
            while True:
                reason = self._reason(stop)
                if reason is not None:
                    self._stop_here(reason)
                    return reason
                self._update(prefetcher)
                step = self.progress.step
                self.reporter.advance(step)
                is_last = step >= self.total
                if step % self.training.log_every == 0 or is_last:
                    self._log(prefetcher)
                is_judged = self._is_judged(step, is_last)
                if is_judged or step % self.training.checkpoint_every == 0 or is_last:
                    self._judge_and_save(is_judged)

    def _is_judged(self, step: int, is_last: bool) -> bool:
        validation = self.config.validation
        is_due = step >= validation.after and step % validation.every == 0
        return self.validator is not None and (is_due or is_last)

    def _reason(self, stop: Stop) -> Stopped | None:
        if self.progress.step >= self.total:
            return "steps" if self.training.steps is not None else "epochs"
        patience = self.config.validation.patience
        if patience is not None and self.progress.num_worse >= patience:
            return "patience"
        if self._is_enough():
            return "enough"
        minutes = self.training.minutes
        if minutes is not None and time.perf_counter() - self._start_time > 60 * minutes:
            return "minutes"
        return "interrupted" if stop.is_asked else None

    def _is_enough(self) -> bool:
        """Whether the best model is as good as was asked; a loss is kept with its sign turned."""
        enough, best = self.config.validation.enough, self.progress.best
        if enough is None or best is None:
            return False
        return best >= (-enough if self.config.metric == "loss" else enough)

    def _stop_here(self, reason: Stopped) -> None:
        """Save what there is, wherever the run was stopped; where time is up, judge it too."""
        is_judged = (
            reason == "minutes" and self.validator is not None and self.progress.judged_step != self.progress.step
        )
        is_saved = self.progress.step in map(step_of, checkpoints(self.folder.checkpoints))
        if is_judged or not is_saved:
            self._judge_and_save(is_judged)

    def _update(self, prefetcher: BatchPrefetcher) -> None:
        token_batches = [prefetcher.take() for _ in range(self.training.accumulate)]
        number = self.progress.step + 1
        rate = self.progress.rate_factor * rate_at(number, self.training, self.total)
        batches = [to_batch(batch, self.device, has_labels=self.has_labels) for batch in token_batches]
        parts = self.updater.parts
        self.updater.step(batches, rate, number)
        if self.updater.note:
            self.reporter.message(self.updater.note)
            self.updater.note = ""
        if self.updater.parts != parts:
            self.reporter.message(
                f"Out of memory at update {number:,}: each batch is now cut into {self.updater.parts} parts whose "
                "gradients are added. An update is still of as many tokens; a smaller training.batch_tokens would be "
                "quicker."
            )
        self.recent.append((number, token_batches))
        tokens = sum(batch.num_pairs if self.has_labels else batch.num_target for batch in token_batches)
        self.progress = replace(
            self.progress, step=number, position=token_batches[-1].after, parts=self.updater.parts,
            num_tokens=self.progress.num_tokens + tokens,
        )  # fmt: skip

    # Looking

    def _look(self) -> Totals:
        """Return what happened since the last log; a number that is not finite is a divergence."""
        totals = self.updater.read()
        if totals.first_bad is not None:
            raise DivergenceError(totals.first_bad, None)
        return totals

    def _log(self, prefetcher: BatchPrefetcher) -> None:
        totals, now, step = self._look(), time.perf_counter(), self.progress.step
        lowest = self.progress.lowest_loss
        if lowest is not None and totals.loss > lowest + self.training.max_rise:
            raise DivergenceError(step, totals.loss - lowest)
        passed = max(now - self._last_log, 1e-9)
        self.reporter.log(
            step,
            {
                "loss": totals.loss,
                "rate": self.progress.rate_factor * rate_at(step, self.training, self.total),
                "gradient": totals.gradient,
                "epoch": float(self.progress.position.epoch),
                "tokens_per_second": (self.progress.num_tokens - self._counted_tokens) / passed,
                "waiting": min(1.0, prefetcher.waited / passed),
            },
        )
        prefetcher.waited, self._last_log, self._counted_tokens = 0.0, now, self.progress.num_tokens
        self.updater.begin_sums()
        self.progress = replace(self.progress, lowest_loss=totals.loss if lowest is None else min(lowest, totals.loss))

    def _validate(self) -> TrainableModel | None:
        """Judge the model as it is; return it if none was better. A validation that was not due wears no patience."""
        assert self.validator is not None
        step, model = self.progress.step, self._averaged()
        with torch.compiler.set_stance("force_eager"):  # sentences come in many shapes
            scores = self.validator.scores(model, self.precision)
        self.reporter.log(step, {f"valid/{name}": score.value for name, score in scores.items()})
        chosen = scores[self.config.metric]
        value = chosen.value if chosen.is_higher_better else -chosen.value
        loss = scores["loss"].value if math.isfinite(scores["loss"].value) else None
        if math.isfinite(value) and self._is_best(value, loss):
            best_scores = {name: score.to_dict() for name, score in scores.items() if math.isfinite(score.value)}
            self.progress = replace(
                self.progress, best=value, best_loss=loss, best_step=step, best_scores=best_scores, num_worse=0,
                judged_step=step,
            )  # fmt: skip
            return model
        num_worse = self.progress.num_worse + (step % self.config.validation.every == 0)
        self.progress = replace(self.progress, num_worse=num_worse, judged_step=step)
        return None

    def _is_best(self, value: float, loss: float | None) -> bool:
        """Whether no validation was better; the lower loss decides between equal scores, such as a BLEU of 0."""
        best, best_loss = self.progress.best, self.progress.best_loss
        if best is None or value > best:
            return True
        return value == best and loss is not None and (best_loss is None or loss < best_loss)

    def _averaged(self) -> TrainableModel:
        """Return the model that is judged and kept: the average of weights where one is made."""
        if self.training.average == "none":
            return self.model
        with torch.random.fork_rng(devices=[]):
            model = build_model(self.model.config).to(self.device)
        average = self.updater.average
        tensors = own_tensors(self.model) if average is None else average.tensors()
        with torch.no_grad():
            for name, tensor in own_tensors(model).items():
                tensor.copy_(tensors[name])
        if self.training.average == "last":
            every, number = self.training.checkpoint_every, self.training.average_last - 1
            average_in(model, planned_checkpoints(self.folder.checkpoints, every, self.progress.step)[-number:])
        return model.eval()

    # Saving

    def _judge_and_save(self, is_judged: bool) -> None:
        """Write a checkpoint; if the model is to be judged, the scores are in it, and the best model comes after it.

        Whatever moment the process is killed at, what the checkpoint says of the best model can be made true again.
        """
        self._look()
        start = time.perf_counter()
        best = self._validate() if is_judged else None
        self._save()
        if best is not None:
            save_checkpoint(best, self.folder.best)
        self._last_log += time.perf_counter() - start  # not counted in tokens a second

    def _save(self) -> None:
        self.progress = replace(self.progress, seconds=self._seconds())
        self._clock = time.perf_counter()
        save_state(self.folder.checkpoints, self.updater, self.progress)
        keep = self.training.keep_checkpoints
        if self.training.average == "last":
            keep = max(keep, self.training.average_last)
        forget_old(self.folder.checkpoints, keep, self.training.checkpoint_every)

    def _seconds(self) -> float:
        """Return how long the run was trained, in all processes together."""
        return self.progress.seconds + time.perf_counter() - self._clock

    # Divergence

    def _roll_back(self, fault: DivergenceError) -> None:
        """Keep the batch that did it; then stop, or go back to the last good checkpoint with half the rate."""
        token_batches = next((batches for step, batches in self.recent if step == fault.step), [])
        place = save_fault(self.folder.path, fault.step, token_batches, self.vocabularies)
        sentence = describe_fault(fault, place)
        good = self._last_good(fault)
        if self.training.on_divergence == "stop":
            advice = "No checkpoint was written yet."
            if good is not None:
                advice = f"The last good checkpoint is {good.name}: resume the run with a lower training.rate."
            raise RunError(
                f"{sentence} {advice} Or begin again with a lower training.rate, a longer training.warm_up, or "
                "training.on_divergence: roll_back.",
                options=("resume", "changes"),
            )
        assert good is not None, "a run that may be rolled back has a checkpoint of its start"
        self.num_roll_backs += 1
        if self.num_roll_backs > _MAX_ROLL_BACKS:
            raise RunError(f"{sentence} It was rolled back {_MAX_ROLL_BACKS} times, in vain. Look at that batch.")
        factor, seconds = self.progress.rate_factor / 2, self._seconds()
        self._load(good)
        self.progress = replace(self.progress, rate_factor=factor, seconds=seconds)
        self._clock = self._last_log = time.perf_counter()
        self.updater.forget_fault()
        self.recent.clear()
        self.folder.truncate_metrics(self.progress.step)
        self.reporter.message(f"{sentence} Going back to {good.name} with the rate times {factor:g}.")

    def _last_good(self, fault: DivergenceError) -> Path | None:
        """Return the last checkpoint from before the fault, and remove later ones.

        A loss that is not a number is seen before anything is saved; one that explodes is seen at the next log only.
        """
        readable = [place for place, wrong in readable_checkpoints(self.folder.checkpoints) if not wrong][::-1]
        if fault.rise is not None:
            last_log = (fault.step - 1) // self.training.log_every * self.training.log_every
            readable = [place for place in readable if step_of(place) <= last_log] or readable[:1]
        if readable:
            forget_after(self.folder.checkpoints, step_of(readable[-1]))
        return readable[-1] if readable else None


def _no_memory(step: int) -> str:
    return (
        f"Update {step:,} needs more memory than there is, even one row at a time. Nothing that was saved is lost. "
        "Lower data.max_tokens or take a smaller model."
    )
