"""The worksheet of a GRU gives the states of torch.nn.GRU, whose weights it takes apart."""

import numpy as np
import pytest
import torch

from clearhead import solve
from clearhead.check import mark_worksheet
from clearhead.worksheet.worksheet import Worksheet

TOKENS, WIDTH, STATE = 5, 3, 7
GATES = ("reset", "update", "candidate")  # in the order of PyTorch's packed weights


def sheet_of(gru: torch.nn.GRU, x: torch.Tensor, h: torch.Tensor, *, has_bias: bool) -> Worksheet:
    def parts(name: str) -> list[list[float]]:
        return [part.tolist() for part in getattr(gru, name).detach().chunk(3)]

    names = {"W": "weight_ih_l0", "U": "weight_hh_l0"} | ({"b": "bias_ih_l0", "c": "bias_hh_l0"} if has_bias else {})
    gates = {gate: {letter: parts(name)[number] for letter, name in names.items()} for number, gate in enumerate(GATES)}
    return solve({"kind": "recurrent", "X": x.tolist(), "gru": gates, "h0": h.tolist()})


@pytest.mark.parametrize("has_bias", [True, False])
def test_every_state_equals_that_of_pytorch(has_bias: bool) -> None:
    torch.manual_seed(3)
    gru = torch.nn.GRU(WIDTH, STATE, bias=has_bias, batch_first=True).double()
    x, h = torch.randn(TOKENS, WIDTH, dtype=torch.float64), torch.randn(STATE, dtype=torch.float64)
    with torch.no_grad():
        states, _ = gru(x[None], h[None, None])
    sheet = sheet_of(gru, x, h, has_bias=has_bias)
    mine = np.concatenate([sheet.value(f"h{'₁₂₃₄₅'[time]}") for time in range(TOKENS)])
    np.testing.assert_allclose(mine, states[0].numpy(), rtol=0, atol=1e-12)
    report = mark_worksheet(sheet)
    assert report.earned == report.out_of > 0
