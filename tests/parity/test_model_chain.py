"""Every value in a trace has an origin, and each of the three tests catches a fault that the others miss."""

from collections.abc import Callable
from typing import Any

import pytest
import torch.nn.functional as F
from torch import Tensor

from clearhead.model import Transformer, attention, recorded_steps
from clearhead.model.tracing import PartTrace
from clearhead.steps import Step
from clearhead.steps.vocabulary import ADD
from tests.parity.models import (
    CASES,
    Inputs,
    case_name,
    check_chain,
    check_parity,
    check_replay,
    make_inputs,
    make_model,
    run_traced,
)

CHECKS: dict[str, Callable[[Transformer, Inputs], None]] = {
    "parity": check_parity,
    "replay": check_replay,
    "chain": check_chain,
}
GATED = 5  # the variant with a gate, rotary positions and two widths


@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_every_input_is_a_parameter_a_model_input_or_an_earlier_value(case: tuple[str, str, int]) -> None:
    shape, mask, variant = case
    model = make_model(shape, variant)
    check_chain(model, make_inputs(model.config, mask))


@pytest.mark.parametrize("case", CASES[::5], ids=case_name)
def test_every_recorded_value_is_used_or_is_the_output(case: tuple[str, str, int]) -> None:
    shape, mask, variant = case
    model = make_model(shape, variant)
    _, trace = run_traced(model, make_inputs(model.config, mask))
    used = {
        id(part)
        for record in trace
        for value in record.inputs.values()
        for part in (value if isinstance(value, tuple) else (value,))
    }
    assert all(id(record.value) in used for record in trace.records[:-1])


@pytest.mark.parametrize("case", CASES[::5], ids=case_name)
def test_no_two_records_share_place_step_and_symbol(case: tuple[str, str, int]) -> None:
    shape, mask, variant = case
    model = make_model(shape, variant)
    _, trace = run_traced(model, make_inputs(model.config, mask))
    keys = [(record.where, record.step.name, record.symbol) for record in trace]
    assert len(keys) == len(set(keys))


# Deliberate faults: each must be detected by one test, and only by that one


def failing() -> set[str]:
    """Return the checks that fail now."""
    model = make_model("encoder-decoder", GATED)
    inputs = make_inputs(model.config, "right padding")
    failures = set()
    for name, check in CHECKS.items():
        try:
            check(model, inputs)
        except AssertionError:
            failures.add(name)
    return failures


def test_without_a_fault_nothing_fails() -> None:
    assert failing() == set()


def test_only_parity_detects_wrong_scaling_in_fused_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    real = F.scaled_dot_product_attention

    def scaled_wrongly(q: Tensor, k: Tensor, v: Tensor, **options: Any) -> Tensor:
        return real(q, k, v, **{**options, "scale": 1 / q.shape[-1]})

    monkeypatch.setattr(F, "scaled_dot_product_attention", scaled_wrongly)
    assert failing() == {"parity"}


def test_only_parity_detects_a_lost_mask_in_fused_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    real = F.scaled_dot_product_attention

    def unmasked(q: Tensor, k: Tensor, v: Tensor, **options: Any) -> Tensor:
        return real(q, k, v, **{**options, "attn_mask": None})

    monkeypatch.setattr(F, "scaled_dot_product_attention", unmasked)
    assert failing() == {"parity"}


def test_only_replay_detects_a_step_with_a_wrong_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded_steps, "MULTIPLY", ADD)
    assert failing() == {"replay"}


def test_only_replay_detects_a_wrong_number_beside_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    real = PartTrace.record

    def record(self: PartTrace, step: Step, value: Any, *, symbol: str = "", **inputs: Any) -> None:
        wrong = {"root_of": inputs["root_of"] + 1} if step.name == "scale" else {}
        real(self, step, value, symbol=symbol, **{**inputs, **wrong})

    monkeypatch.setattr(PartTrace, "record", record)
    assert failing() == {"replay"}


def test_only_chain_detects_a_shadow_computation_shown_instead_of_the_real_value(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = attention.attend_traced

    def shadow(layer: Any, x: Tensor, memory: Any, mask: Any, *, probe: Any, **options: Any) -> Tensor:
        real(layer, x, memory, mask, probe=probe, **options)
        return attention.attend_fused(layer, x, memory, mask, **options)

    monkeypatch.setattr(attention, "attend_traced", shadow)
    assert failing() == {"chain"}


def test_only_chain_detects_a_copy_of_a_parameter(monkeypatch: pytest.MonkeyPatch) -> None:
    real = attention.record_product

    def copied(trace: Any, y: Tensor, x: Tensor, weight: Tensor, bias: Any, letter: str) -> None:
        real(trace, y, x, weight.clone(), bias, letter)

    monkeypatch.setattr(attention, "record_product", copied)
    assert failing() == {"chain"}


def test_only_chain_detects_a_mask_that_does_not_follow_from_the_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    real = attention.trace_head

    def copied(trace: Any, scaled: Tensor, v: Tensor, allowed: Tensor, sub: str) -> Tensor:
        return real(trace, scaled, v, allowed.clone(), sub)

    monkeypatch.setattr(attention, "trace_head", copied)
    assert failing() == {"chain"}
