"""The precision of a run, and whether its model is compiled."""

import pytest
import torch

from clearhead.training import arithmetic
from clearhead.training.arithmetic import Arithmetic, choose_arithmetic
from clearhead.training.config import TrainingConfig


def test_a_cpu_computes_in_float32_without_compiling() -> None:
    assert choose_arithmetic(TrainingConfig(), torch.device("cpu")) == Arithmetic(torch.float32, False)


def test_settings_are_followed() -> None:
    config = TrainingConfig(precision="bfloat16", is_compiled=True)
    assert choose_arithmetic(config, torch.device("cpu")) == Arithmetic(torch.bfloat16, True)


@pytest.mark.parametrize(("parallel", "is_compiled"), [("ddp", True), ("fsdp", False)])
def test_a_gpu_compiles_unless_the_model_is_sharded(
    monkeypatch: pytest.MonkeyPatch, parallel: str, is_compiled: bool
) -> None:
    monkeypatch.setattr(torch, "set_float32_matmul_precision", lambda name: None)
    monkeypatch.setattr(arithmetic, "choose_kernels", lambda is_deterministic: None)
    config = TrainingConfig.model_validate({"parallel": parallel})
    assert choose_arithmetic(config, torch.device("cuda")) == Arithmetic(torch.bfloat16, is_compiled)
