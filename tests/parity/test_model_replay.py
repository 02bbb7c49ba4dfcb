"""The oracle, which shares no code with the model, gives every recorded value from its own inputs."""

import pytest
import torch

from tests.parity.models import CASES, case_name, check_replay, make_inputs, make_model, replay_all


@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_the_oracle_recomputes_every_record(case: tuple[str, str, int]) -> None:
    shape, mask, variant = case
    model = make_model(shape, variant)
    check_replay(model, make_inputs(model.config, mask))


@pytest.mark.parametrize("case", CASES[::7], ids=case_name)
def test_the_oracle_recomputes_every_record_of_float32(case: tuple[str, str, int]) -> None:
    shape, mask, variant = case
    model = make_model(shape, variant, torch.float32)
    check_replay(model, make_inputs(model.config, mask), "float32")


@pytest.mark.parametrize("shape", ["encoder-decoder", "encoder", "decoder"])
@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "learned"])
def test_a_float64_copy_of_a_float32_model_replays_to_float64(shape: str, positions: str) -> None:
    model = make_model(shape, 0, torch.float32, positions=positions).double()
    _, trace = model.trace(make_inputs(model.config, "right padding").batch)
    replay_all(trace)
