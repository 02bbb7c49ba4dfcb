"""Traces of selected parts, and an estimate of a trace's size before it is computed."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any
from weakref import ReferenceType, ref

from torch import Tensor

from clearhead.model.config import ModelConfig
from clearhead.steps import Step, Trace

MAX_TRACE_BYTES = 2 * 2**30  # the default limit of a trace


class PartTrace(Trace):
    """A Trace that records only the steps at selected places. Their inputs from elsewhere become given values.

    `only` is a list of patterns: `decoder.*.cross_attention` selects that place and everything in it.
    """

    def __init__(self, only: Sequence[str] = ()) -> None:
        super().__init__()
        self.only = tuple(only)
        self._known_ids: set[int] = set()
        self._outside: dict[int, tuple[ReferenceType[Any], str]] = {}  # symbols of unrecorded values, by weak reference

    def _is_wanted(self) -> bool:
        return not self.only or any(
            fnmatchcase(self.where, pattern) or fnmatchcase(self.where, f"{pattern}.*") for pattern in self.only
        )

    def give(self, name: str, value: Any, **labels: Any) -> None:
        """Add a given value, if its place is selected."""
        if self._is_wanted():
            super().give(name, value, **labels)
            self._known_ids.add(id(value))
        else:
            self._remember(value, labels.get("symbol") or name)

    def record(self, step: Step, value: Any, *, symbol: str = "", **inputs: Any) -> None:
        """Record one step at this place, if it is selected."""
        if not self._is_wanted():
            self._remember(value, symbol or step.symbol_in(self.layout))
            return
        for name, argument in inputs.items():
            for part in argument if isinstance(argument, tuple) else (argument,):
                if isinstance(part, Tensor) and id(part) not in self._known_ids:
                    super().give(self._free(name), part, symbol=self._symbol_of(part))
                    self._known_ids.add(id(part))
        super().record(step, value, symbol=symbol, **inputs)
        self._known_ids.add(id(value))

    def _remember(self, value: Any, symbol: str) -> None:
        if isinstance(value, Tensor):
            self._outside[id(value)] = (ref(value), symbol)

    def _symbol_of(self, value: Tensor) -> str:
        """Return the symbol of a value from an unselected place, or "". The reference is checked: ids are reused."""
        reference, symbol = self._outside.get(id(value), (None, ""))
        return symbol if reference is not None and reference() is value else ""

    def _free(self, name: str) -> str:
        place = f"{self.where}." if self.where else ""
        number, fresh = 2, name
        while f"{place}{fresh}" in self.givens:
            fresh, number = f"{name}{number}", number + 1
        return fresh


def traced_bytes(config: ModelConfig, source: Tensor | None, target: Tensor | None, item: int) -> int:
    """Estimate the bytes of a trace's values: the scores four times and the states a dozen times per layer."""
    if config.architecture != "transformer":
        return _traced_bytes_by_token(config, source, target, item)
    sizes = {}
    for name, ids in (("source", source), ("target", target)):
        sizes[name] = (0, 0) if ids is None else (ids.shape[0], ids.shape[1])
    (batch, long), (_, short) = sizes["source"], sizes["target"]
    batch = max(batch, sizes["target"][0])
    heads, wide, narrow = config.num_heads, config.d_model, config.decoder_width
    cells = 0
    if config.shape != "decoder":
        cells += config.encoder_blocks * batch * (4 * heads * long * long + long * (14 * wide + 3 * config.d_ff))
    if config.shape != "encoder":
        across = long if config.shape == "encoder-decoder" else 0
        cells += (
            config.decoder_blocks
            * batch
            * (4 * heads * short * (short + across) + short * (24 * narrow + 3 * config.d_ff) + across * 2 * narrow)
        )
        cells += batch * short * config.target_size
    return cells * item


def _traced_bytes_by_token(config: ModelConfig, source: Tensor | None, target: Tensor | None, item: int) -> int:
    """Estimate the bytes of a trace of a model without attention layers: two dozen states per layer and token."""
    num_tokens = {
        "encoder": 0 if source is None else source.numel(),
        "decoder": 0 if target is None else target.numel(),
    }
    blocks = {"encoder": config.encoder_blocks, "decoder": config.decoder_blocks}
    cells = sum(24 * config.d_model * (1 + blocks[side]) * number for side, number in num_tokens.items())
    if target is not None:
        across = 0 if source is None else source.shape[1]
        # additive attention has a vector for every pair of tokens
        cells += target.numel() * (config.target_size + across * (4 + 2 * config.d_model))
    return cells * item
