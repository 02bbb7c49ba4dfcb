"""Cost against length: what is remembered, and where one cost crosses another."""

import pytest
import torch

from clearhead.model import Batch, build_model
from clearhead.studies import ResultTable
from clearhead.studies.length_cost import bytes_of, finding_of, step_bytes
from clearhead.studies.variants import LANGUAGE_MODELS, VARIANTS, matched_config
from tests.unit.studies.tiny import measured

SHARED = {"shape": "decoder", "source_vocabulary": 11, "decoder_blocks": 1, "dropout": 0.0, "max_length": 200}


def test_only_the_past_of_a_transformer_grows() -> None:
    for name in LANGUAGE_MODELS.values():
        first, last = map(float, measured("length-cost").tables[1].column(f"{name}, MiB"))
        assert (last > first) == (name == "Transformer")
        assert first > 0


def test_the_memory_of_a_step_is_linear_in_its_tokens() -> None:
    for name in LANGUAGE_MODELS:
        model = build_model(matched_config(VARIANTS[name], SHARED, 12))
        sizes = [step_bytes(model, Batch(target=torch.full((1, n), 5), is_padded=False)) for n in (64, 128, 192)]
        assert sizes[1] - sizes[0] > 64 * 12 * 4  # more than one number of every token and column
        assert sizes[2] - sizes[1] == pytest.approx(
            sizes[1] - sizes[0], rel=0.2
        )  # a recurrent kernel rounds its workspace


def test_a_storage_is_counted_once() -> None:
    tensor = torch.zeros(6, dtype=torch.float64)
    assert bytes_of([tensor, {"view": tensor[:2]}, (torch.zeros(2),)]) == 6 * 8 + 2 * 4


def test_the_finding_states_the_growth() -> None:
    table = ResultTable("", ("tokens", "A, ms", "A, MiB"), ((64, 2.0, 1.0), (128, 3.0, 1.0), (1024, 5.0, 4.0)))
    assert finding_of([table, table]).startswith(
        "From 64 to 1,024 tokens, a training step is multiplied by: A, ms 2.5; A, MiB 4."
    )
