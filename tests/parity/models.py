"""Models and inputs over which the three tests of the trace run, and the three checks themselves.

Sizes are distinct primes wherever they can be (a width is heads times an even number, for rotary positions): 3 sentences,
7 and 5 tokens, vocabularies of 11 and 13, 2 heads, widths 12 and 20, 17 between the products, 19 positions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import torch
from torch import Tensor

from clearhead.model import Batch, Mask, ModelConfig, SequenceModel, Transformer
from clearhead.model.gates import NO_GATES, Gates
from clearhead.model.heads import attention_places
from clearhead.model.probe import Probe
from clearhead.model.tracing import PartTrace
from clearhead.steps import NO_TRACE, Trace
from clearhead.steps.trace import NoTrace
from clearhead.worksheet.reference import REFERENCE
from tests.tolerances import assert_close

BATCH, SOURCE, TARGET, PAD = 3, 7, 5, 0
SHAPES = ("encoder-decoder", "encoder", "decoder")
MASKS = ("none", "right padding", "left padding", "nothing but padding")
# All combinations of norms and positions; the other options vary so that every pair of values of two options occurs.
VARIANTS: tuple[dict[str, Any], ...] = tuple(
    {
        "encoder_norm": norm,
        "decoder_norm": "rms" if norm == "all" else norm,
        "positions": positions,
        "activation": ("relu", "gelu", "silu")[(i + j) % 3],
        "norm_place": ("pre", "post")[(i + j) % 2],
        "is_gated": (i + j // 2) % 2 == 1,
        "d_decoder": (None, 20)[(i // 2 + j) % 2],
        "has_bias": i != 1,
        "sinusoids": ("pairs", "blocks")[i % 2],
        "scale_embedding": (i + j) % 3 != 1,
        "tied": ("two", "none")[j % 2],
        "has_output_bias": j % 2 == 1,
        "scale_scores": (i, j) not in ((0, 3), (1, 2), (2, 1)),
    }
    for i, norm in enumerate(("layer", "rms", "all"))
    for j, positions in enumerate(("sinusoidal", "rotary", "learned", "none"))
)
OPTIONS = ("encoder_norm", "norm_place", "positions", "activation", "is_gated", "d_decoder")
CASES = [(shape, mask, variant) for shape, mask, variant in product(SHAPES, MASKS, range(len(VARIANTS)))]


@dataclass(frozen=True)
class Inputs:
    """Ids of a batch; `keys` are set where the target is padded on the left and its mask is given by hand."""

    batch: Batch
    keys: Tensor | None = None
    gates: Gates = NO_GATES


def make_model(shape: str, variant: int = 0, dtype: torch.dtype = torch.float64, **changes: Any) -> Transformer:
    """Return a small model with random parameters everywhere: a bias of 0 or a gain of 1 would hide a mistake."""
    options: dict[str, Any] = {
        **VARIANTS[variant],
        "shape": shape,
        "source_vocabulary": 11,
        "encoder_blocks": 2,
        "decoder_blocks": 2,
        "d_model": 12,
        "num_heads": 2,
        "d_ff": 17,
        "max_length": 19,
        **({"target_vocabulary": 13} if shape == "encoder-decoder" else {"d_decoder": None}),
        **({"num_classes": 3} if shape == "encoder" else {}),
        **changes,
    }
    torch.manual_seed(variant)
    model = Transformer(ModelConfig(**options)).to(torch.float64)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return model.to(dtype).eval()


def make_inputs(config: ModelConfig, mask: str, seed: int = 0) -> Inputs:
    """Return ids with padding of that kind: sentence 0 is full length, 1 is short, 2 is shorter or only padding."""
    random = torch.Generator().manual_seed(seed)
    source = torch.randint(3, config.source_vocabulary, (BATCH, SOURCE), generator=random)
    target = torch.randint(3, config.target_size, (BATCH, TARGET), generator=random)
    keys = None
    if mask != "none":
        source[1, 4:], source[2, 5:] = PAD, PAD
        target[1, 3:], target[2, 2:] = PAD, PAD
    if mask == "nothing but padding":
        source[2], target[2] = PAD, PAD
    if mask == "left padding":
        source, target = source.flip(1), target.flip(1)
        keys = target != PAD
    return Inputs(
        Batch(
            source if config.shape != "decoder" else None,
            target if config.shape != "encoder" else None,
            is_padded=mask != "none",
        ),
        keys if config.shape != "encoder" else None,
    )


def make_gates(config: ModelConfig, num_rows: int | None = None, seed: int = 0) -> Gates:
    """Return random gates of every head, with 0 and 1 among them; with `num_rows`, other gates for every sentence."""
    random = torch.Generator().manual_seed(seed)
    shape = (config.num_heads,) if num_rows is None else (num_rows, config.num_heads)
    sides: list[dict[str, Tensor]] = []
    for side in range(2):
        sides.append({where: 2 * torch.rand(shape, generator=random) - 0.5 for where in attention_places(config)})
        for number, gate in enumerate(sides[-1].values()):
            gate[..., (number + side) % config.num_heads] = float(number % 2)
    return Gates(*sides)


def run(model: SequenceModel, inputs: Inputs, trace: Trace | NoTrace = NO_TRACE) -> Tensor:
    """Return the model's logits: from fused attention, or from traced attention if there is a trace."""
    batch = inputs.batch
    if inputs.keys is None:
        return model(batch, probe=Probe(trace, inputs.gates))
    assert batch.target is not None
    memory = None if batch.source is None else model.encode(batch.source, probe=Probe(trace, inputs.gates))
    mask = Mask(inputs.keys, is_causal=True)
    return model.decode(batch.target, memory, mask=mask, probe=Probe(trace, inputs.gates))


def run_traced(model: SequenceModel, inputs: Inputs) -> tuple[Tensor, Trace]:
    """Return logits and trace. `model.trace` does the same, but refuses some of the padding that is tried here."""
    trace = PartTrace()
    return run(model, inputs, trace), trace


# The three checks


def check_parity(model: SequenceModel, inputs: Inputs, dtype: str = "float64") -> None:
    """Check that the fused output is the traced output, also at padded places."""
    fused, (traced, _) = run(model, inputs), run_traced(model, inputs)
    assert fused.isfinite().all(), "the fused output has a NaN"
    assert_close(_numpy(fused), _numpy(traced), dtype, "fused and traced")


def check_replay(model: SequenceModel, inputs: Inputs, dtype: str = "float64") -> None:
    """Check that the oracle recomputes every Record from its own inputs, for every sentence of the batch."""
    output, trace = run_traced(model, inputs)
    assert len(trace) > 20
    replay_all(trace, dtype)
    assert output.isfinite().all()


def replay_all(trace: Trace, dtype: str = "float64") -> None:
    """Recompute every Record of a trace from its own inputs."""
    for record in trace:
        again = REFERENCE[record.step.name](**{name: _plain(value) for name, value in record.inputs.items()})
        assert_close(_numpy(record.value), again, dtype, f"{record.where} {record.step.name} {record.symbol}")


def check_chain(model: SequenceModel, inputs: Inputs, dtype: str = "float64") -> None:
    """Every input is, bit for bit, a parameter, a buffer, a model input or an earlier value; the last is the output."""
    output, trace = run_traced(model, inputs)
    chain_all(model, trace, expected_givens(model.config, inputs))
    last = trace[-1].value
    assert output.data_ptr() == last.data_ptr(), "the output is not the last value"
    assert torch.equal(output.flatten(), last.flatten())


def chain_all(model: SequenceModel, trace: Trace, expected: Callable[[str], Any]) -> None:
    """Check that every given of a trace is an allowed value, and every input a given or an earlier value.

    `expected` returns what a given that is not a parameter must be: computed from the ids alone, without the model.
    """
    owned = {t.untyped_storage().data_ptr() for t in (*model.parameters(), *model.buffers())}
    earlier_ids: set[int] = set()
    for name, entry in trace.givens.items():
        if entry.value.untyped_storage().data_ptr() not in owned:
            right = expected(name)
            assert right is not None, f"{name} was given, and is no parameter, no model input and no earlier value"
            np.testing.assert_array_equal(_numpy(entry.value), np.asarray(right), err_msg=name)
        earlier_ids.add(id(entry.value))
    for record in trace:
        for name, value in record.inputs.items():
            for part in value if isinstance(value, tuple) else (value,):
                message = f"{record.where} {record.step.name}: {name} comes from nowhere"
                assert not isinstance(part, Tensor) or id(part) in earlier_ids, message
        earlier_ids.add(id(record.value))


def expected_givens(config: ModelConfig, inputs: Inputs) -> Callable[[str], Any]:
    """Return what a given that is not a parameter must be, by its name."""
    batch, is_left = inputs.batch, inputs.keys is not None
    source = None if batch.source is None else batch.source.tolist()
    target = None if batch.target is None else batch.target.tolist()
    decoder_ids = target if target is None or is_left else [[config.start_id, *row[:-1]] for row in target]

    def expected(name: str) -> Any:
        side, last = name.split(".")[0], name.split(".")[-1]
        ids = source if side in ("input", "encoder", "output") else decoder_ids
        assert ids is not None
        match last:
            case "tokens":
                return ids
            case "positions":
                return [list(range(len(ids[0])))]
            case "scale":
                width = config.d_model if side == "input" else config.decoder_width
                return [[width**0.5]]
            case "counted":
                real = [[token != PAD for token in row] for row in ids]
                return [row if any(row) else [True] * len(row) for row in real]
            case "b_O":  # of an attention layer without heads and without a bias
                width = config.d_model if side == "encoder" else config.decoder_width
                return np.zeros((len(ids), len(ids[0]), width))
            case "half":
                return [[0.5**0.5]]
            case "real":
                return [[[float(token != PAD)] for token in row] for row in ids]
            case "g" | "c":
                return _expected_gate(inputs.gates, name, last)
            case "h0" | "c0" | "fed":  # the first state, and the attentional state before the first token
                is_half = config.is_bidirectional and side == "encoder"
                return np.zeros((len(ids), 1, config.d_model // 2 if is_half else config.d_model))
            case "last":
                assert source is not None
                places = [max(0, sum(token != PAD for token in row) - 1) for row in source]
                return [[[float(place == j) for j in range(len(source[0]))]] for place in places]
            case "M" if config.architecture == "recurrent":
                assert source is not None
                if side == "input":  # at one time
                    return [[[row[int(name.split(".")[2])] != PAD]] for row in source]
                return _allowed(1, source, is_causal=False, is_padded=True)
            case "M":
                is_cross = "cross_attention" in name
                is_causal = side == "decoder" and not is_cross
                keys = source if is_cross or side == "encoder" else (decoder_ids if is_left else None)
                return _allowed(len(ids[0]), keys, is_causal=is_causal, is_padded=batch.is_padded)
        return None

    return expected


def _expected_gate(gates: Gates, name: str, last: str) -> Any:
    """Return the gate of `encoder.0.self_attention.head.1.gate.g`: (1, 1), or (B, 1, 1) with a gate per sentence."""
    assert isinstance(gates, Gates)
    where, _, head = name.rpartition(".head.")
    gate = (gates.outputs if last == "g" else gates.scores)[where].double()
    return gate[..., int(head.split(".")[0])].numpy()[..., None, None]


def _allowed(queries: int, keys: list[list[int]] | None, *, is_causal: bool, is_padded: bool) -> list[Any]:
    if keys is None or not is_padded:
        length = queries if keys is None else len(keys[0])
        keys = [[PAD + 1] * length]
    return [
        [[token != PAD and (j <= i or not is_causal) for j, token in enumerate(row)] for i in range(queries)]
        for row in keys
    ]


def _numpy(value: Tensor) -> Any:
    return value.detach().to(torch.float64 if value.is_floating_point() else value.dtype).numpy()


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_plain(part) for part in value)
    return _numpy(value) if isinstance(value, Tensor) else value


def case_name(case: tuple[str, str, int]) -> str:
    """Describe a case in words."""
    shape, mask, variant = case
    options = VARIANTS[variant]
    return f"{shape}, {mask}, {options['encoder_norm']}-{options['norm_place']}, {options['positions']}"
