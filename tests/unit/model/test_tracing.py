"""Traces of selected places, the estimate of their size, and when they are refused."""

import pytest
import torch

from clearhead.errors import TraceError
from clearhead.model import Batch, Transformer
from clearhead.model.tracing import traced_bytes
from clearhead.steps import Trace
from tests.parity.models import make_inputs, make_model

SHAPES = ["encoder-decoder", "encoder", "decoder"]


def traced(shape: str = "encoder-decoder", only: str | tuple[str, ...] = ()) -> tuple[Transformer, Batch, Trace]:
    model = make_model(shape, 1)
    batch = make_inputs(model.config, "right padding").batch
    return model, batch, model.trace(batch, only)[1]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_trace_comes_with_the_very_output(shape: str) -> None:
    model = make_model(shape, 1)
    output, trace = model.trace(make_inputs(model.config, "right padding").batch)
    assert trace[-1].value.data_ptr() == output.data_ptr()


def test_only_keeps_a_place_and_everything_in_it() -> None:
    model, batch, part = traced(only=("decoder.*.cross_attention",))
    _, full_trace = model.trace(batch)
    expected = full_trace.find(where="decoder.*.cross_attention.*")
    assert len(part) == len(expected) > 10
    for mine, theirs in zip(part, expected, strict=True):
        assert (mine.where, mine.step, mine.symbol) == (theirs.where, theirs.step, theirs.symbol)
        assert torch.equal(mine.value, theirs.value)


def test_what_a_part_starts_from_is_given() -> None:
    _, _, part = traced(only=("decoder.1.feed_forward", "output"))
    available_ids = {id(start.value) for start in part.givens.values()}
    for record in part:
        assert all(id(value) in available_ids for value in record.inputs.values() if isinstance(value, torch.Tensor))
        available_ids.add(id(record.value))


def test_one_pattern_can_be_given_without_a_list() -> None:
    _, _, part = traced(only="encoder.0")
    assert {record.where.split(".")[:2] == ["encoder", "0"] for record in part} == {True}


def test_a_pattern_that_matches_nothing_is_refused() -> None:
    with pytest.raises(TraceError, match=r"^nothing was traced: no place matches decodr\.\*\. Try encoder"):
        traced(only=("decodr.*",))


def test_training_mode_is_refused() -> None:
    model = make_model("encoder-decoder", 1).train()
    with pytest.raises(
        TraceError, match="the model is in training mode, where dropout changes every number. Call model.eval"
    ):
        model.trace(make_inputs(model.config, "none").batch)


def test_a_trace_over_the_limit_is_refused_before_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    model = make_model("encoder-decoder", 1, max_length=4096)
    monkeypatch.setattr(model, "forward", lambda *_, **__: pytest.fail("it ran"))
    ids = torch.full((16, 4096), 3)
    with pytest.raises(
        TraceError,
        match=r"^this trace would take about (\d+\.\d) GiB, and the limit is 2\.0 GiB\. Trace fewer",
    ) as error:
        model.trace(Batch(ids, ids))
    need = traced_bytes(model.config, ids, ids, 8) / 2**30
    assert f"about {need:.1f} GiB" in str(error.value)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("variant", [1, 8])
@pytest.mark.parametrize("length", [7, 97])
def test_the_estimated_size_is_right_within_a_factor_of_two(shape: str, variant: int, length: int) -> None:
    model = make_model(shape, variant, torch.float32, max_length=97)
    ids = torch.randint(3, 11, (2, length))
    batch = Batch(None if shape == "decoder" else ids, None if shape == "encoder" else ids)
    _, trace = model.trace(batch)
    storages = {record.value.untyped_storage().data_ptr(): record.value.untyped_storage().nbytes() for record in trace}
    need, real = traced_bytes(model.config, batch.source, batch.target, 4), sum(storages.values())
    assert 0.5 < need / real < 2, f"{need} bytes were foretold, and {real} are held"


def test_no_state_is_left_on_the_model() -> None:
    model = make_model("encoder-decoder", 1)
    batch = make_inputs(model.config, "right padding").batch
    names = {name: set(vars(module)) for name, module in model.named_modules()}
    before = model(batch)
    model.trace(batch)
    assert torch.equal(model(batch), before)
    assert {name: set(vars(module)) for name, module in model.named_modules()} == names
