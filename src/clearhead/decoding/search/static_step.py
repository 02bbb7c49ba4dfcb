"""A search step with tensors at fixed addresses: on a GPU it is recorded once as a CUDA graph and then replayed.

Writing one token takes hundreds of small kernels, and launching them takes more time than running them. A recorded
step has capacity for more rows, longer sources and longer translations than most batches need; the rest is masked.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import TypeGuard

import torch
from torch import Tensor

from clearhead.decoding.search.selection import Selection
from clearhead.decoding.search.stepper import Stepper
from clearhead.model import Mask, Memory, ModelConfig, SequenceModel, Transformer
from clearhead.model.cache import BeamCache
from clearhead.model.gates import NO_GATES, Gates
from clearhead.model.key_values import KeyValues
from clearhead.model.layers import BlockCache, TransformerBlock
from clearhead.model.probe import Probe
from clearhead.steps import NO_TRACE, Tracer

_GRAIN = 32  # tokens: lengths are rounded up to multiples of this, so that a few recorded steps fit many batches
_LEAST_ROWS = 8
_WARM_UP = 2


@dataclass(frozen=True)
class StepShape:
    """The capacity of a step, and whether it hides the tokens of other scripts."""

    rows: int
    beam: int
    source: int
    length: int
    hides: bool = False

    @staticmethod
    def holding(source: Tensor, beam: int, limit: int, *, hides: bool = False) -> "StepShape":
        """Return the shape for a batch, with rows rounded up to a power of two and lengths to a multiple of 32."""
        rows = max(_LEAST_ROWS, 1 << (len(source) - 1).bit_length())
        lengths = [-(-length // _GRAIN) * _GRAIN for length in (source.shape[1], limit)]
        return StepShape(rows, beam, lengths[0], lengths[1], hides)


def shape_bytes(shape: StepShape, model: SequenceModel) -> int:
    """Estimate the memory of a step in bytes: keys, values, log-probabilities and records."""
    config, size = model.config, model.dtype.itemsize
    keys = 2 * config.decoder_blocks * config.decoder_width * (shape.length * shape.beam + shape.source)
    record = 2 * shape.beam * shape.length * 5 * 8
    return shape.rows * (keys * size + shape.beam * config.target_size * (size + 8) + record)


class StaticKeyValues(KeyValues):
    """Keys and values in fixed buffers, written at the current value of the tensor `slots`."""

    def __init__(self, k: Tensor, v: Tensor, slots: Tensor) -> None:
        super().__init__(k, v)
        self._slots = slots

    def append(self, k: Tensor, v: Tensor) -> None:
        """Overwrite the slots with the keys and values of new tokens."""
        for buffer, new in zip(self._buffers, (k, v), strict=True):
            buffer.index_copy_(2, self._slots, new.to(buffer.dtype))


@dataclass
class StaticBeamCache(BeamCache):
    """A BeamCache allocated for all tokens from the start; its current position is stored in tensors."""

    parents: Tensor = field(kw_only=True)  # (B, K): the hypothesis that each new one continues
    slots: Tensor = field(kw_only=True)  # (K,): where the next keys are written
    place: Tensor = field(kw_only=True)  # (1,): the position of the next tokens

    def advance(self, target: Tensor, config: ModelConfig) -> tuple[Tensor, Mask]:
        """Return positions and mask for reading `target` (B, K), where each token continues its parent."""
        past = self.past.gather(1, self.parents[..., None].expand(-1, -1, self.num_keys))
        own = torch.arange(self.num_keys, device=target.device)[None] == self.slots[:, None]  # (K, keys)
        self.past.copy_(past | own)
        return self.place.expand(1, target.shape[1]), Mask(explicit=self.past)

    def move_on(self) -> None:
        """Advance by one token."""
        self.slots.add_(len(self.slots))
        self.place.add_(1)

    def clear(self) -> None:
        """Reset the cache; old keys and values are masked and will be overwritten."""
        self.past.zero_()
        self.parents.zero_()
        self.slots.copy_(torch.arange(len(self.slots), device=self.slots.device))
        self.place.zero_()


class StaticStep:
    """One search step for a batch of a fixed shape: run the model, then choose the hypotheses to keep.

    A caller that makes these choices itself sets `tokens` and the parents in the cache before the next step.
    Gates are copied to tensors of the step, so that a recorded step can be used with other numbers.
    """

    def __init__(self, model: Transformer, shape: StepShape, gates: Gates = NO_GATES) -> None:
        self.model, self.shape = model, shape
        self.gates = gates.changed(torch.clone)
        device = model.device
        self.tokens = torch.zeros(shape.rows, shape.beam, dtype=torch.long, device=device)
        self.log_probs = torch.empty(0, device=device)  # (B, K, V), of the last step
        self.cache = self._make_cache(device)
        wide = torch.promote_types(model.dtype, torch.float32)
        never = torch.zeros(model.config.target_size, dtype=wide, device=device)
        never[list(model.config.never_written)] = -float("inf")
        self.selection = Selection(shape.rows, shape.beam, shape.length, never, model.config.eos)
        # (1, 1, V), from `hidden_logits`, the same for the whole batch
        self.hidden = torch.zeros(1, 1, model.config.target_size, device=device)
        is_real = torch.zeros(shape.rows, shape.source, dtype=torch.bool, device=device)
        # with a cache, the decoder only uses the length of the memory
        self.memory = Memory(is_real.new_empty(shape.rows, shape.source, 0), Mask(keys=is_real))
        self._is_real = is_real
        self.run: Callable[[], None] = self._recorded() if device.type == "cuda" else self._step

    def _make_cache(self, device: torch.device) -> StaticBeamCache:
        shape, dtype = self.shape, self.model.dtype
        slots = torch.arange(shape.beam, device=device)
        num_keys = shape.length * shape.beam
        blocks = []
        for block in self.model.decoder_blocks:
            assert isinstance(block, TransformerBlock)
            assert block.cross_attention is not None
            width = block.self_attention.d_k
            sizes = ((block.self_attention.num_heads, num_keys), (block.cross_attention.num_heads, shape.source))
            # zeros, because masked values are multiplied by 0, and 0 times an uninitialised NaN is not 0
            own, memory = (
                [torch.zeros(shape.rows, heads, length, width, dtype=dtype, device=device) for _ in range(2)]
                for heads, length in sizes
            )
            blocks.append(BlockCache(StaticKeyValues(own[0], own[1], slots), KeyValues(memory[0], memory[1])))
        return StaticBeamCache(
            blocks,
            torch.zeros(shape.rows, shape.beam, num_keys, dtype=torch.bool, device=device),
            parents=torch.zeros_like(self.tokens),
            slots=slots,
            place=torch.zeros(1, dtype=torch.long, device=device),
        )

    def _step(self) -> None:
        logits = self.model.decode(self.tokens, self.memory, self.cache, probe=Probe(gates=self.gates))  # (B, K, V)
        if self.shape.hides:
            logits = logits + self.hidden
        self.log_probs = torch.log_softmax(logits, dim=-1, dtype=torch.promote_types(logits.dtype, torch.float32))
        parents, tokens = self.selection.choose(self.log_probs, self.cache.place)
        self.cache.parents.copy_(parents)
        self.tokens.copy_(tokens)
        self.cache.move_on()

    def _recorded(self) -> Callable[[], None]:
        """Record a step as a CUDA graph, and return the function that replays it."""
        aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(_WARM_UP):  # libraries initialise in their first calls, which cannot be recorded
                self._step()
                self.cache.clear()
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            self._step()
        return graph.replay

    def fits(self, shape: StepShape, gates: Gates) -> bool:
        """Return whether the step can be used for a batch: it has this capacity and gates at the same places."""
        return self.shape == shape and self.gates.is_like(gates)

    def use(self, gates: Gates, hidden: Tensor | None) -> None:
        """Copy the numbers of other gates at the same places, and those of `hidden_logits`."""
        if self.shape.hides:
            assert hidden is not None
            self.hidden.copy_(hidden)
        self.gates.overwrite(gates)

    def start(self, memory: Memory) -> None:
        """Start a batch: copy its keys and values to the buffers of the step."""
        rows, length = memory.states.shape[:2]
        self.cache.clear()
        self.tokens.fill_(self.model.config.start_id)
        self._is_real.zero_()
        self._is_real[:rows, :length] = True if memory.mask.keys is None else memory.mask.keys
        for block, block_cache in zip(self.model.decoder_blocks, self.cache.blocks, strict=True):
            assert isinstance(block, TransformerBlock)
            assert block.cross_attention is not None
            assert block_cache.memory is not None
            key_values = block.cross_attention.key_values(memory.states)
            block_cache.memory.k[:rows, :, :length] = key_values.k
            block_cache.memory.v[:rows, :, :length] = key_values.v


class StaticStepper(Stepper):
    """A Stepper that runs a StaticStep; finished sentences stay in their rows and are ignored."""

    def __init__(self, step: StaticStep, source: Tensor) -> None:
        self.model, self.static = step.model, step
        self.memory = step.model.encode(source, probe=Probe(gates=step.gates))
        step.start(self.memory)
        self._rows = torch.arange(len(source), device=source.device)

    def step(self, tokens: Tensor, trace: Tracer = NO_TRACE) -> Tensor:
        """Read the last token of every hypothesis (B, K, T); return log P of every next token: (B, K, V)."""
        assert not trace.is_on, "a recorded step cannot be traced"
        width = tokens.shape[1]
        if tokens.shape[-1]:
            self.static.tokens[self._rows, :width] = tokens[..., -1]
        self.static.run()
        return self.static.log_probs.index_select(0, self._rows)[:, :width]

    def follow(self, parents: Tensor) -> None:
        """Switch to hypotheses (B, K′) that continue those at `parents`."""
        self.static.cache.parents[self._rows, : parents.shape[1]] = parents

    def keep(self, rows: Tensor) -> None:
        """Keep only the sentences at `rows`."""
        self._rows = self._rows[rows]


class StaticStepPool:
    """Recorded steps of a model for reuse; a step in use is taken out of the pool, so that threads never share it."""

    def __init__(self, model: Transformer, max_bytes: int = 4 * 2**30) -> None:
        self.model, self.max_bytes = model, max_bytes
        self._free: list[StaticStep] = []  # the most recently used is last
        self._lock = Lock()

    @contextmanager
    def step(
        self, source: Tensor, beam: int, limit: int, gates: Gates = NO_GATES, hidden: Tensor | None = None
    ) -> Iterator[StaticStep]:
        """Provide a step for one search; least recently used steps are deleted when a new one needs memory."""
        shape = StepShape.holding(source, beam, limit, hides=hidden is not None)
        with self._lock:
            step = next((step for step in self._free if step.fits(shape, gates)), None)
            if step is not None:
                self._free.remove(step)
        if step is None:
            self._make_room(shape)
            step = StaticStep(self.model, shape, gates)
        step.use(gates, hidden)
        try:
            yield step
        finally:
            with self._lock:
                self._free.append(step)

    @contextmanager
    def stepper(
        self, source: Tensor, beam: int, limit: int, gates: Gates = NO_GATES, hidden: Tensor | None = None
    ) -> Iterator[Stepper]:
        """Provide a stepper for one search in which the caller makes the choices."""
        with self.step(source, beam, limit, gates, hidden) as step:
            yield StaticStepper(step, source)

    def _make_room(self, shape: StepShape) -> None:
        with self._lock:
            while self._free and shape_bytes(shape, self.model) + self.num_bytes > self.max_bytes:
                del self._free[0]

    @property
    def num_bytes(self) -> int:
        """The estimated memory of the steps in the pool."""
        return sum(shape_bytes(step.shape, self.model) for step in self._free)


def can_record(model: SequenceModel) -> TypeGuard[Transformer]:
    """Return whether the steps of a model can be recorded: it must be a Transformer on a GPU."""
    return isinstance(model, Transformer) and model.can_record_steps and model.device.type == "cuda"
