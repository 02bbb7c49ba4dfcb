"""The weights of a model as arrays: the numbers of the file, also where torch has to read it."""

from pathlib import Path

import numpy as np
import pytest
import torch

from clearhead.errors import CheckpointError
from clearhead.formats import save_checkpoint
from clearhead.formats.arrays import arrays_of
from clearhead.formats.model_folder import ModelFolder, load_arrays
from clearhead.formats.weights import own_tensors
from clearhead.model import Transformer
from tests.unit.decoding.toys import random_model


def saved(model: Transformer, folder: Path) -> ModelFolder:
    save_checkpoint(model, folder)
    return ModelFolder(folder, folder, is_marian=False)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_a_file_of_any_type_is_read_in_float32(tmp_path: Path, dtype: torch.dtype) -> None:
    model = random_model().to(dtype)
    weights = load_arrays(saved(model, tmp_path))
    assert weights.config == model.config
    tensors = own_tensors(model)
    assert set(weights.arrays) == set(tensors)
    for name, array in weights.arrays.items():
        assert array.dtype == np.float32
        assert np.array_equal(array, tensors[name].detach().float().numpy())


def test_the_arrays_of_a_model_are_copies() -> None:
    model = random_model(tied="three").float()
    arrays = arrays_of(model).arrays
    assert "output.weight" not in arrays, "a tied table has one name"
    arrays["encoder.embedding.weight"][:] = 0
    assert bool(model.output.weight.any())


def test_weights_of_another_config_are_refused(tmp_path: Path) -> None:
    folder = saved(random_model(), tmp_path)
    (tmp_path / "SHA256SUMS").unlink()
    config = (tmp_path / "config.json").read_text()
    (tmp_path / "config.json").write_text(config.replace('"d_ff": 17', '"d_ff": 19'))
    with pytest.raises(CheckpointError, match=r"does not match config\.json: .* instead of 19×12.*one checkpoint"):
        load_arrays(folder)
