"""The training loop: take a batch, make an update, and at intervals log, validate, save and check whether to stop.

An update depends only on the config, the data and its number, so that a run that was killed and resumed continues
exactly as if it had not been stopped.
"""

import math
import time
from collections import deque
from dataclasses import replace
from pathlib import Path

import torch

from clearhead.data.batches import TokenBatch
from clearhead.errors import CheckpointError, RunError, printable
from clearhead.formats.weights import own_tensors
from clearhead.model import SequenceModel
from clearhead.model.device import choose_device
from clearhead.training.average import average_in, copy_with
from clearhead.training.config import RunConfig
from clearhead.training.distributed.shares import check_rows, rank_seed
from clearhead.training.distributed.world import ALONE, World
from clearhead.training.feed import BatchPrefetcher, open_stream, sharing, to_batch
from clearhead.training.interruption import (
    MODEL_TOO_LARGE,
    DivergenceError,
    Stop,
    describe_fault,
    explain_memory_errors,
    stop_error,
    stopping,
    update_too_large,
)
from clearhead.training.outcome import Outcome, Stopped, kept_scores
from clearhead.training.plan_report import length_warnings
from clearhead.training.prepare import Prepared, collection_paused, prepare, reopen_prepared, warming_up
from clearhead.training.progress import Reporter
from clearhead.training.run import RunFolder
from clearhead.training.run_writer import RunWriter
from clearhead.training.schedule import rate_at
from clearhead.training.state import Progress, load_state, planned_checkpoints
from clearhead.training.step import Totals, Updater, choose_arithmetic
from clearhead.training.timeline import Timeline
from clearhead.training.validate import Validator

_PREPARED = "prepared"  # announced when the first process has prepared the run folder
_LEAST_AHEAD, _TOKENS_AHEAD = 16, 1_000_000  # prefetched batches: enough while the next block of data is laid out


def train(
    config: RunConfig,
    folder: RunFolder,
    reporter: Reporter,
    resume: bool,
    *,
    is_planned: bool = False,
    world: World = ALONE,
) -> Outcome:
    """Train the model of a config in a run folder, from the start or from the last checkpoint.

    With `is_planned`, the config is a plan that was made in this folder just before. Of several processes only the
    first one calls this; the others call `join`.
    """
    device = world.place(choose_device(config.training.device))
    with explain_memory_errors(MODEL_TOO_LARGE):
        torch.manual_seed(config.training.seed)
        with warming_up(device), collection_paused():
            prepared = prepare(config, folder, reporter, is_planned=is_planned)
        if prepared.config != config:
            folder.write_config(prepared.config)
        world.announce(_PREPARED)
    return _train(prepared, folder, reporter, device, resume=resume, world=world)


def join(folder: RunFolder, reporter: Reporter, world: World, *, resume: bool) -> Outcome:
    """Take part in the run that the first process prepares in a folder."""
    world.wait_for(_PREPARED)
    if not folder.holds_a_run:
        raise RunError(
            f"rank {world.rank} cannot see the run folder {printable(str(folder.path))}, which rank 0 has prepared. "
            "All processes need the same folder: use a file system that the machines share.",
            options=("run",),
        )
    config = folder.read_config()
    device = world.place(choose_device(config.training.device))
    with explain_memory_errors(MODEL_TOO_LARGE), warming_up(device), collection_paused():
        torch.manual_seed(config.training.seed)
        prepared = reopen_prepared(config, folder)
    return _train(prepared, folder, reporter, device, resume=resume, world=world)


def _train(
    prepared: Prepared, folder: RunFolder, reporter: Reporter, device: torch.device, *, resume: bool, world: World
) -> Outcome:
    with explain_memory_errors(MODEL_TOO_LARGE):
        run = _Run(prepared, folder, reporter, device, world)
        if resume:
            run.resume()
    with stopping() as stop, sharing():
        return run.go(stop)


class _Run:
    """The state of a run during training."""

    def __init__(
        self, prepared: Prepared, folder: RunFolder, reporter: Reporter, device: torch.device, world: World
    ) -> None:
        config = prepared.config
        self.config, self.folder, self.reporter, self.device, self.world = config, folder, reporter, device, world
        self.training = config.training
        self.writer = RunWriter(folder, config.training, world)
        self.precision, is_compiled = choose_arithmetic(self.training, device)
        self.has_labels = config.task == "classify"
        self.model = prepared.model.to(self.device).train()
        self.updater = Updater(
            self.model, self.training, is_compiled=is_compiled, precision=self.precision, world=world
        )
        self.stream = open_stream(config, prepared, reporter)
        for note in check_rows(self.stream.layout.shapes, self.training, world):
            reporter.message(note)
        self.total = self._total()
        self.timeline = Timeline(config, self.total)
        self.validator = None
        if prepared.valid is not None:
            self.validator = Validator(prepared.valid, prepared.vocabularies, config.task, config.validation, world)
        self.vocabularies = prepared.vocabularies
        self.progress = Progress()
        self.recent: deque[tuple[int, list[TokenBatch]]] = deque(maxlen=max(self.training.log_every, 2))
        # Times of the start, the last log line and the last save.
        self._start_time = self._last_log = self._clock = time.perf_counter()
        self._counted_tokens = 0  # tokens up to the last log line
        self._logged_step = 0  # the update of the last log line
        self._validation_seconds = 0.0  # how long the last validation took
        # The first log line of a compiled run includes the time to compile, which says nothing about its speed.
        self._logs_until_speed = 2 if is_compiled else 1
        if not world.is_first:  # the first process continues with the random numbers of a run of one process
            torch.manual_seed(rank_seed(self.training.seed, world.rank))

    def _total(self) -> int:
        """Return the number of updates of the run. Epochs are converted by the size of the first one."""
        if self.training.steps is not None:
            return self.training.steps
        assert self.training.epochs is not None
        return max(1, round(self.training.epochs * self.stream.batches_per_epoch / self.training.accumulate))

    # Resuming

    def resume(self) -> None:
        """Restore the last readable checkpoint, or start from the first update if there is none."""
        passed_over = []
        for place, wrong in self.writer.candidates():
            if not wrong:
                wrong = self._load_if_complete(place)
            if not wrong:
                if note := self.writer.unverified_note(place):
                    self.reporter.message(note)
                break
            passed_over.append(f"{place.name} is skipped: {wrong}")
            self.reporter.message(passed_over[-1])
        else:
            if passed_over:
                raise CheckpointError(
                    f"no checkpoint in {printable(str(self.folder.checkpoints))} can be read. {passed_over[0]} "
                    "Move them away to start from the first update."
                )
        num_damaged = self.writer.clean_up(self.progress.step)
        if num_damaged:
            self.reporter.message(f"metrics.jsonl: {num_damaged:,} damaged lines are removed.")
        if self.progress.best_step == self.progress.step:
            # the process may have ended before it was written
            self.writer.save_model(self._averaged(), self.folder.best)
        self.reporter.message(f"Resuming from update {self.progress.step:,}.")

    def _load_if_complete(self, place: Path) -> str:
        """Load a checkpoint that can be read, or return why it does not belong to this run."""
        own = ""
        try:
            self.progress = load_state(place, self.updater)
        except CheckpointError as wrong:
            own = str(wrong)
        self.updater.parts = self.progress.parts
        self._counted_tokens = self.progress.num_tokens
        return next(filter(None, self.world.gather(own)), "")

    # The loop

    def go(self, stop: Stop) -> Outcome:
        """Make updates until there is a reason to stop."""
        for line in length_warnings(self.training, self.total):
            self.reporter.message(line)
        self.reporter.begin(self.total, self.progress.step)
        self._start_time = self._last_log = self._clock = time.perf_counter()
        self._logged_step = self.progress.step
        try:
            with explain_memory_errors(lambda: update_too_large(self.progress.step + 1)):
                reason = self._go_on(stop)
        except DivergenceError as fault:
            raise self._divergence_error(fault) from None
        self.writer.save_model(self._averaged(), self.folder.last)
        progress = self.progress
        return Outcome(progress.step, self._seconds(), reason, progress.best_scores, progress.best_step)

    def _go_on(self, stop: Stop) -> Stopped:
        """Make updates from the current position in the data."""
        ahead = max(_LEAST_AHEAD, _TOKENS_AHEAD // self.training.tokens_per_batch)
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
                is_judged = self.timeline.next_validation(step - 1) == step
                if is_judged or step % self.training.checkpoint_every == 0 or is_last:
                    self._judge_and_save(is_judged)

    def _reason(self, stop: Stop) -> Stopped | None:
        if self.progress.step >= self.total:
            return "steps" if self.training.steps is not None else "epochs"
        patience = self.config.validation.patience
        if patience is not None and self.progress.num_worse >= patience:
            return "patience"
        if self._is_enough():
            return "enough"
        is_over, is_asked = self.world.any_of([self._is_time_over(), stop.is_asked])
        if is_over:
            return "minutes"
        return "interrupted" if is_asked else None

    def _is_time_over(self) -> bool:
        minutes = self.training.minutes
        return minutes is not None and time.perf_counter() - self._start_time > 60 * minutes

    def _is_enough(self) -> bool:
        """Whether the best score reaches `validation.enough`. A loss is stored with its sign changed."""
        enough, best = self.config.validation.enough, self.progress.best
        if enough is None or best is None:
            return False
        return best >= (-enough if self.config.metric == "loss" else enough)

    def _stop_here(self, reason: Stopped) -> None:
        """Save the current state when the run is stopped; at the end of its time, validate it too."""
        is_judged = (
            reason == "minutes" and self.validator is not None and self.progress.judged_step != self.progress.step
        )
        is_saved = self.writer.has_checkpoint(self.progress.step)
        if is_judged or not is_saved:
            self._judge_and_save(is_judged)

    def _update(self, prefetcher: BatchPrefetcher) -> None:
        """Make an update, and count it."""
        token_batches = [prefetcher.take() for _ in range(self.training.accumulate)]
        number = self.progress.step + 1
        rate = rate_at(number, self.training, self.total)
        batches = [to_batch(batch, self.device, has_labels=self.has_labels) for batch in token_batches]
        parts = self.updater.parts
        self.updater.step(batches, rate, number)
        if self.updater.note:
            self.reporter.message(self.updater.note)
            self.updater.note = ""
        if self.updater.parts != parts:
            self.reporter.message(
                f"Out of memory at update {number:,}: each batch is now split into {self.updater.parts} parts, whose "
                "gradients are added. An update still has the same number of tokens; a smaller training.batch_tokens "
                "would be faster."
            )
        self.recent.append((number, token_batches))
        tokens = sum(batch.num_pairs if self.has_labels else batch.num_target for batch in token_batches)
        self.progress = replace(
            self.progress, step=number, position=token_batches[-1].after, parts=self.updater.parts,
            num_tokens=self.progress.num_tokens + tokens,
        )  # fmt: skip

    # Logging and validating

    def _look(self) -> Totals:
        """Return the sums since the last log line; raise DivergenceError if a number was not finite."""
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
        speed = passed / max(1, step - self._logged_step)  # seconds per update
        self.reporter.log(
            step,
            {
                "loss": totals.loss,
                "rate": rate_at(step, self.training, self.total),
                "gradient": totals.gradient,
                "epoch": float(self.progress.position.epoch),
                "tokens_per_second": (self.progress.num_tokens - self._counted_tokens) / passed,
                "waiting": min(1.0, prefetcher.waited / passed),
            },
            phase=self.timeline.phase(step),
            seconds_left=self._seconds_left(speed),
        )
        self._logs_until_speed -= 1
        if self._logs_until_speed == 0:
            for line in self.timeline.expectations(step, speed):
                self.reporter.message(line)
        prefetcher.waited, self._last_log, self._counted_tokens = 0.0, now, self.progress.num_tokens
        self._logged_step = step
        self.updater.begin_sums()
        self.progress = replace(self.progress, lowest_loss=totals.loss if lowest is None else min(lowest, totals.loss))

    def _seconds_left(self, seconds_per_update: float) -> float:
        """Estimate the remaining time of the run from the speed and the duration of the last validation."""
        step = self.progress.step
        seconds = seconds_per_update * (self.total - step)
        seconds += self._validation_seconds * self.timeline.num_validations(step)
        if self.training.minutes is not None:
            seconds = min(seconds, 60 * self.training.minutes - (time.perf_counter() - self._start_time))
        return max(0.0, seconds)

    def _validate(self) -> SequenceModel | None:
        """Validate the model, and return it if it is the best. Extra validations do not count for patience."""
        assert self.validator is not None
        step, model = self.progress.step, self._averaged()
        with torch.compiler.set_stance("force_eager"):  # sentences come in many shapes
            scores = self.validator.scores(model, self.precision)
        self.reporter.log(step, {f"valid/{name}": score.value for name, score in scores.items()})
        chosen = scores[self.config.metric]
        value = chosen.value if chosen.is_higher_better else -chosen.value
        loss = scores["loss"].value if math.isfinite(scores["loss"].value) else None
        if math.isfinite(value) and self._is_best(value, loss):
            self.progress = replace(
                self.progress, best=value, best_loss=loss, best_step=step, best_scores=kept_scores(scores), num_worse=0,
                judged_step=step,
            )  # fmt: skip
            return model
        num_worse = self.progress.num_worse + (step % self.config.validation.every == 0)
        self.progress = replace(self.progress, num_worse=num_worse, judged_step=step)
        return None

    def _is_best(self, value: float, loss: float | None) -> bool:
        """Whether a score is the best so far. The lower loss decides between equal scores, such as a BLEU of 0."""
        best, best_loss = self.progress.best, self.progress.best_loss
        if best is None or value > best:
            return True
        return value == best and loss is not None and (best_loss is None or loss < best_loss)

    def _averaged(self) -> SequenceModel:
        """Return the model that is validated and saved: the averaged weights if there are any."""
        if self.training.average == "none":
            return self.model
        average = self.updater.average
        tensors = own_tensors(self.model) if average is None else average.tensors()
        model = copy_with(self.model, tensors)
        if self.training.average == "last":
            every, number = self.training.checkpoint_every, self.training.average_last - 1
            average_in(model, planned_checkpoints(self.folder.checkpoints, every, self.progress.step)[-number:])
        return model.eval()

    # Saving

    def _judge_and_save(self, is_judged: bool) -> None:
        """Validate if `is_judged`, write a checkpoint with the scores, and then save the best model.

        In this order, a resumed run can always write the best model again that its checkpoint refers to.
        """
        self._look()
        if not self.updater.has_finite_weights():
            raise DivergenceError(self.progress.step, None, is_of_weights=True)
        start = time.perf_counter()
        best = self._validate() if is_judged else None
        self._validation_seconds = time.perf_counter() - start if is_judged else self._validation_seconds
        self._save()
        if best is not None:
            self.writer.save_model(best, self.folder.best)
            assert self.validator is not None
            self.writer.record_log_probs(self.validator.log_probs)
        self._last_log += time.perf_counter() - start  # not counted in tokens per second

    def _save(self) -> None:
        self.progress = replace(self.progress, seconds=self._seconds())
        self._clock = time.perf_counter()
        self.writer.save(self.updater, self.progress)

    def _seconds(self) -> float:
        """Return the training time of the run in all processes together."""
        return self.progress.seconds + time.perf_counter() - self._clock

    # Divergence

    def _divergence_error(self, fault: DivergenceError) -> RunError:
        """Save the batch of the divergence, and return the error that names the last good checkpoint."""
        token_batches = next((batches for step, batches in self.recent if step == fault.step), [])
        place = self.writer.save_fault(fault.step, token_batches, self.vocabularies)
        return stop_error(describe_fault(fault, place), self.writer.last_good_checkpoint(fault))
