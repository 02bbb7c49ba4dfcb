"""One update: forward, backward, clipping, optimiser, average. On a GPU it is captured as one CUDA graph per shape.

Nothing is read from the device before `read`: losses are summed on it, and the number of the first update with a loss
or gradient that is not finite is stored on it.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from clearhead.errors import is_out_of_memory
from clearhead.formats.weights import own_tensors
from clearhead.model import Batch, Loss, SequenceModel
from clearhead.model.device import choose_kernels
from clearhead.training.average import RunningAverage
from clearhead.training.config import TrainingConfig
from clearhead.training.distributed.shares import rows_of, share_of_batch
from clearhead.training.distributed.world import ALONE, World
from clearhead.training.fused_loss import fused_loss_from_states, is_fusible
from clearhead.training.objective import LossFunction, loss_from_states, objective
from clearhead.training.optimiser import Optimiser

_WARM_UPS = 3  # runs before a capture, in which libraries choose their kernels
_MAX_SHAPES = 64  # that can be compiled; torch's default limit is 8


class FlatGradients:
    """A flat tensor whose parts are the gradients of parameters: `backward` adds to the parts in place."""

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        self._parameters = list(parameters)
        first = self._parameters[0]
        number = sum(parameter.numel() for parameter in self._parameters)
        self.flat: Tensor = torch.zeros(number, dtype=first.dtype, device=first.device)
        sizes = [parameter.numel() for parameter in self._parameters]
        parts = torch.split(self.flat, sizes)
        self._views = [part.view_as(parameter) for part, parameter in zip(parts, self._parameters, strict=True)]
        self.attach()

    def attach(self) -> None:
        """Set all gradients to 0, and make them the parts of the flat tensor again."""
        self.flat.zero_()
        for parameter, view in zip(self._parameters, self._views, strict=True):
            parameter.grad = view


@dataclass(frozen=True)
class Totals:
    """Sums since the last call of `begin_sums`."""

    loss: float
    num_tokens: int
    gradient: float  # norm of the last gradient, before clipping
    first_bad: int | None  # number of the first update that was not finite


class Updater:
    """Makes updates. With `parts` > 1 every batch is split and the gradients are added, to save memory.

    With several processes, each computes the gradients of its rows, and the gradients of all are added before the
    weights change. The loss is divided by the tokens of all processes.
    """

    def __init__(
        self,
        model: SequenceModel,
        config: TrainingConfig,
        *,
        is_compiled: bool,
        precision: torch.dtype,
        world: World = ALONE,
    ) -> None:
        self.model, self.config, self.parts, self.world = model, config, 1, world
        self.device = model.device
        world.copy_from_first(own_tensors(model).values())
        self.optimiser = Optimiser(model, config)
        self._flat: FlatGradients | None = None
        if not world.is_alone:
            self._flat = FlatGradients(self.optimiser.parameters)
        self.average = RunningAverage(model, config.ema_decay) if config.average == "ema" else None
        self._precision = precision
        self._sums = torch.zeros(3, dtype=torch.float64, device=self.device)  # loss, tokens, norm of the gradient
        self._window = torch.zeros((), dtype=torch.float64, device=self.device)  # tokens of the current update
        # Loss and tokens of the current update in this process, until they are added to those of the others.
        self._own_sums = torch.zeros(2, dtype=torch.float64, device=self.device)
        self._step = torch.zeros((), dtype=torch.int64, device=self.device)
        self._bad = torch.full((), -1, dtype=torch.int64, device=self.device)
        self._is_finite = torch.ones((), dtype=torch.bool, device=self.device)
        self._has_changed = False  # whether the current update has changed weights
        self._is_compiled = is_compiled
        if is_compiled:
            self._loss_function = self._compile()
        else:
            self._loss_function = fused_loss_from_states if is_fusible(model, config, precision) else loss_from_states
        self._graphs: dict[Any, _Graph] = {}
        self._is_graphed = self.device.type == "cuda"
        self.note = ""  # a message for the log
        self._compiled_keys: set[Any] = set()  # shapes that were compiled

    def step(self, batches: Sequence[Batch], rate: float, number: int) -> None:
        """Make update `number` (from 1) with the summed gradients of the batches.

        If memory runs out, it starts again with smaller parts, as long as they have more than one row.
        """
        self.optimiser.set_rate(rate)
        self._step.fill_(number)
        if self.average is not None:
            self.average.set_step(number)
        if not self.world.is_alone:
            batches = [share_of_batch(batch, self.world, self.model.ignore_index) for batch in batches]
        counters = [self._sums, self._window, self._own_sums, self._is_finite]
        saved_counters = [counter.clone() for counter in counters]
        self._has_changed = False
        while True:
            try:
                self._step_in_parts([part for batch in batches for part in split(batch, self.parts)])
                return
            except _compiler_failures() as wrong:
                torch._foreach_copy_(counters, saved_counters)
                self._give_up_compiling(wrong)
            except (RuntimeError, MemoryError) as wrong:
                if (
                    not is_out_of_memory(wrong)
                    or self._has_changed
                    or self.parts >= max(batch.num_rows for batch in batches)
                ):
                    raise
                torch._foreach_copy_(counters, saved_counters)
                self._halve()

    def _step_in_parts(self, parts: Sequence[Batch]) -> None:
        if len(parts) == 1 and self.parts == 1 and self.world.is_alone:
            self._run("whole", self._whole, parts[0])
            return
        for part in parts:
            self._run("add", self._add, part)
        if not self.world.is_alone:
            self._has_changed = True  # the other processes have our gradients, so there is no second try
            self._exchange()
        self._run("update", self._update, None)

    def _give_up_compiling(self, wrong: Exception) -> None:
        """Continue without compiling after the compiler failed: slower, but the run is not lost."""
        self.note = (
            f"The model could not be compiled ({type(wrong).__name__}: {str(wrong).splitlines()[0][:160]}). "
            "Continuing without compiling, which is slower. Set training.is_compiled: false to skip it."
        )
        self._loss_function, self._is_compiled = loss_from_states, False
        self._graphs.clear()
        self._zero()

    def _halve(self) -> None:
        """Halve the size of the parts. Only gradients have changed so far, and they are removed."""
        self.parts *= 2
        self._graphs.clear()
        self._zero()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def _zero(self) -> None:
        self.optimiser.zero()
        if self._flat is not None:
            self._flat.attach()

    def read(self) -> Totals:
        """Return the sums so far. Waits for the device."""
        loss, tokens, gradient = self._sums.tolist()
        bad = int(self._bad)
        return Totals(loss / tokens if tokens else float("nan"), int(tokens), gradient, None if bad < 0 else bad)

    def has_finite_weights(self) -> bool:
        """Return whether no weight is NaN or infinite. Waits for the device."""
        weights = [weight.detach() for weight in self.optimiser.parameters]
        extremes = [extreme for weight in weights if weight.numel() for extreme in weight.aminmax()]
        (has_bad_weights,) = self.world.any_of([bool(extremes) and not torch.stack(extremes).isfinite().all()])
        return not has_bad_weights

    def begin_sums(self) -> None:
        """Reset the sums."""
        self._sums.zero_()

    def tensors(self) -> dict[str, Tensor]:
        """Return the tensors that determine the next update and the next log line, by name, not copies."""
        averages = {} if self.average is None else {f"average.{k}": v for k, v in self.average.tensors().items()}
        weights = {f"weight.{name}": tensor.detach() for name, tensor in own_tensors(self.model).items()}
        return {**weights, **self.optimiser.tensors(), **averages, "sums": self._sums}

    def _compile(self) -> LossFunction:
        """Compile each layer and the loss separately: layers of one kind share the compiled code."""
        # The layers of a pruned model have different sizes, and each is compiled for every shape.
        num_sizes = len(list(self.model.blocks())) if self.model.config.heads_kept else 1
        limit = max(torch._dynamo.config.recompile_limit, _MAX_SHAPES * num_sizes)
        torch._dynamo.config.recompile_limit = limit
        torch._dynamo.config.accumulated_recompile_limit = max(
            torch._dynamo.config.accumulated_recompile_limit, 4 * limit
        )
        # On a CPU the compiler's random numbers are slower than PyTorch's.
        options: Any = {"fallback_random": True} if self.device.type == "cpu" else None
        for block in self.model.blocks():
            block.compile(fullgraph=True, dynamic=False, options=options)
        compiled: LossFunction = torch.compile(loss_from_states, fullgraph=True, dynamic=False, options=options)
        return compiled

    def _loss(self, batch: Batch) -> Loss:
        is_mixed = self._precision != torch.float32
        stance = "default" if self._is_compiled else "force_eager"
        with (
            torch.compiler.set_stance(stance),
            torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=is_mixed),
        ):
            return objective(self.model, batch, self.config, self._loss_function)

    def _whole(self, batch: Batch) -> None:
        self.optimiser.zero()
        loss = self._loss(batch)
        loss.mean.backward()  # type: ignore[no-untyped-call]
        self._count(loss)
        self._finish()

    def _add(self, batch: Batch) -> None:
        loss = self._loss(batch)
        loss.total.backward()  # type: ignore[no-untyped-call]
        self._window += loss.num_tokens
        self._count(loss)

    def _exchange(self) -> None:
        """Add the gradients, the loss and the tokens of all processes."""
        self.world.sum_up(self._own_sums)
        self._sums[:2] += self._own_sums
        self._window.copy_(self._own_sums[1])
        self._is_finite &= self._own_sums[0].isfinite()
        self._own_sums.zero_()
        if self._flat is not None:
            self.world.sum_up(self._flat.flat)

    def _update(self, _: None) -> None:
        gradients = [p.grad for p in self.optimiser.parameters if p.grad is not None]
        torch._foreach_mul_(gradients, (1.0 / self._window.clamp(min=1)).float())
        self._finish()
        torch._foreach_zero_(gradients)
        self._window.zero_()

    def _count(self, loss: Loss) -> None:
        total = loss.total.detach()
        sums = self._sums if self.world.is_alone else self._own_sums
        sums[0] += total
        sums[1] += loss.num_tokens
        self._is_finite &= total.isfinite()

    def _finish(self) -> None:
        """Clip the gradients, update the weights, and check that loss and gradients are finite."""
        gradients = [p.grad for p in self.optimiser.parameters if p.grad is not None]
        length = torch.nn.utils.get_total_norm(gradients, foreach=True)
        if self.config.clip is not None:
            torch.nn.utils.clip_grads_with_norm_(self.optimiser.parameters, self.config.clip, length, foreach=True)
        self._sums[2] = length
        is_bad = ~(self._is_finite & length.isfinite()) & (self._bad < 0)
        self._bad.copy_(torch.where(is_bad, self._step, self._bad))
        self._is_finite.fill_(True)
        self._has_changed = True
        self.optimiser.step()
        if self.average is not None:
            self.average.update()

    def _run(self, kind: str, work: Callable[[Any], None], batch: Batch | None) -> None:
        key = (kind, None if batch is None else tuple(t.shape for t in batch if isinstance(t, Tensor)))
        is_new, start = self._is_compiled and key not in self._compiled_keys, time.perf_counter()
        if not self._is_graphed:
            work(batch)
        else:
            if key not in self._graphs:
                self._graphs[key] = self._capture(work, batch)
            self._graphs[key].run(batch)
        if is_new and batch is not None:
            self._compiled_keys.add(key)
            self.note = f"Compiled for {describe_shape(batch)} in {time.perf_counter() - start:.0f} s."

    def _capture(self, work: Callable[[Any], None], batch: Batch | None) -> "_Graph":
        """Capture a function as a CUDA graph. Capturing runs it, so everything it changes is restored afterwards."""
        if work == self._add or work == self._update:
            for parameter in self.optimiser.parameters:  # all graphs must use the same gradient tensors
                parameter.grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        changed = [*self.tensors().values(), self._window, self._own_sums, self._step, self._bad, self._is_finite]
        if work != self._whole:
            changed += [p.grad for p in self.optimiser.parameters if p.grad is not None]
        saved_tensors = [tensor.clone() for tensor in changed]
        random = torch.cuda.get_rng_state(self.device)
        try:
            return _Graph(work, batch)
        finally:
            with torch.no_grad():
                torch._foreach_copy_(changed, saved_tensors)
            torch.cuda.set_rng_state(random, self.device)
            self._has_changed = False


class _Graph:
    """A function of a batch, captured once as a CUDA graph and replayed with new values in the same tensors."""

    def __init__(self, work: Callable[[Any], None], batch: Batch | None) -> None:
        self._batch = None if batch is None else batch.changed(Tensor.clone)
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(_WARM_UPS):
                work(self._batch)
        torch.cuda.current_stream().wait_stream(side)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            work(self._batch)

    def run(self, batch: Batch | None) -> None:
        """Copy the batch into the graph's tensors and replay it."""
        if batch is not None and self._batch is not None:
            for place, new in zip(self._batch, batch, strict=True):
                if isinstance(place, Tensor) and isinstance(new, Tensor):
                    place.copy_(new, non_blocking=True)
        self._graph.replay()


def _compiler_failures() -> tuple[type[Exception], ...]:
    """Return the exceptions of a failing compiler. Called only after an exception, since the import is slow."""
    from torch._dynamo.exc import BackendCompilerFailed
    from torch._inductor.exc import InductorError

    return BackendCompilerFailed, InductorError


def describe_shape(batch: Batch) -> str:
    """Return the shape of a batch as text."""
    widths = [str(side.shape[1]) for side in (batch.source, batch.target) if side is not None]
    return f"{batch.num_rows} × ({' + '.join(widths)})"


def split(batch: Batch, parts: int) -> list[Batch]:
    """Split a batch by rows into `parts` parts, or fewer if it has fewer rows."""
    count = min(parts, batch.num_rows)
    if count == 1:
        return [batch]
    size = -(-batch.num_rows // count)
    return [rows_of(batch, start, start + size) for start in range(0, batch.num_rows, size)]


def choose_arithmetic(config: TrainingConfig, device: torch.device) -> tuple[torch.dtype, bool]:
    """Return the precision of matrix products and whether the model is compiled; prepare the kernels of the device."""
    is_cuda = device.type == "cuda"
    is_mixed = {"auto": is_cuda, "bfloat16": True}.get(config.precision, False)
    is_compiled = is_cuda if config.is_compiled is None else config.is_compiled
    if is_cuda:
        torch.set_float32_matmul_precision("high")
        choose_kernels(config.is_deterministic)
    return torch.bfloat16 if is_mixed else torch.float32, is_compiled
