"""Positions: sines and cosines compared with the formula, and rotations that depend only on distances."""

import math

import pytest
import torch

from clearhead.model.positions import rotary_angles, rotate, sinusoids
from tests.tolerances import assert_close


@pytest.mark.parametrize("width", [12, 13])
def test_pairs_are_sine_and_cosine_in_turn(width: int) -> None:
    expected = [
        [(math.cos if j % 2 else math.sin)(pos / 10000 ** (2 * (j // 2) / width)) for j in range(width)]
        for pos in range(7)
    ]
    assert_close(sinusoids(7, width), expected, "float32")


@pytest.mark.parametrize("width", [12, 13])
def test_blocks_are_all_sines_then_all_cosines(width: int) -> None:
    pairs = sinusoids(7, width, "pairs")
    assert torch.equal(sinusoids(7, width, "blocks"), torch.cat((pairs[:, 0::2], pairs[:, 1::2]), dim=1))


def test_far_positions_are_worked_in_float64() -> None:
    table = sinusoids(5001, 6)
    assert abs(table[5000, 2].item() - math.sin(5000 / 10000 ** (2 / 6))) < 1e-7


def test_angles_are_in_float32_at_least_and_in_float64_for_float64() -> None:
    places = torch.tensor([[4095]])
    for dtype, angle_dtype in (
        (torch.bfloat16, torch.float32),
        (torch.float32, torch.float32),
        (torch.float64, torch.float64),
    ):
        angles = rotary_angles(places, 6, dtype)
        assert angles.dtype == angle_dtype
        assert_close(
            angles[0, 0], [4095 / 10000 ** (2 * i / 6) for i in range(3)], str(angle_dtype).removeprefix("torch.")
        )


def test_a_quarter_turn_takes_the_first_of_a_pair_to_the_second() -> None:
    turned = rotate(torch.tensor([[1.0, 0.0, 0.0, 1.0]]), torch.tensor([[math.pi / 2, math.pi]]))
    assert_close(turned, [[0.0, 1.0, 0.0, -1.0]], "float32")


def test_a_product_of_turned_vectors_sees_their_distance_only() -> None:
    torch.manual_seed(0)
    q, k = torch.randn(2, 6, dtype=torch.float64)

    def product(i: int, j: int) -> float:
        angles = rotary_angles(torch.tensor([i, j]), 6, torch.float64)
        return float(rotate(q[None], angles[:1])[0] @ rotate(k[None], angles[1:])[0])

    assert product(3, 1) == pytest.approx(product(11, 9), abs=1e-12)
    assert product(3, 1) != pytest.approx(product(3, 2), abs=1e-3)
    assert product(0, 0) == pytest.approx(float(q @ k), abs=1e-12)
