"""Search, engines and training know a model by one base class, and few files outside its package name another."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import clearhead
from clearhead.model import Batch, ModelConfig
from clearhead.model.base import Loss, Memory
from clearhead.model.build import build_model
from clearhead.model.mask import Mask
from clearhead.steps import NO_TRACE, Trace, Tracer

HOME = Path(clearhead.__file__).parent
# Files outside model/ that may name the class: those that create or take apart the weights of this very architecture
NAMES_THE_CLASS = {
    "decoding/search/static_step.py",  # its keys and values are put where a recorded step looks for them
    "formats/head_removal.py",  # a model with fewer rows in its matrices
    "formats/marian.py",
    "formats/weights.py",
    "explain/outputs.py",  # only a Transformer has a residual stream that its output layer can read
    # Studies of the parts of this very architecture: its mask, positions, residuals and norms.
    *(f"studies/{name}.py" for name in ("multi_hop", "no_mask", "stability")),
    # Interventions and pruning change or remove its heads.
    *(f"explain/{name}.py" for name in ("pruned_model", "pruning")),
}


def make_config(**changes: object) -> ModelConfig:
    sizes = {
        "source_vocabulary": 13,
        "encoder_blocks": 2,
        "decoder_blocks": 3,
        "d_model": 10,
        "num_heads": 2,
        "d_ff": 17,
    }
    return ModelConfig.model_validate({**sizes, **changes})


def test_the_class_is_named_only_where_weights_are_read_and_written() -> None:
    files = {
        path.relative_to(HOME).as_posix()
        for path in HOME.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and "Transformer" in {alias.name for alias in node.names}
    }
    assert {name for name in files if not name.startswith("model/")} == NAMES_THE_CLASS


def test_a_config_is_read_without_torch() -> None:
    code = "import sys; from clearhead.model import ModelConfig, preset; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_model_says_what_it_can_do() -> None:
    translator, classifier = build_model(make_config()), build_model(make_config(shape="encoder", num_classes=3))
    writer, shallow = build_model(make_config(shape="decoder")), build_model(make_config(decoder_blocks=0))
    models = (translator, classifier, writer, shallow)
    assert [model.can_translate for model in models] == [True, False, False, True]
    assert [model.can_classify for model in models] == [False, True, False, False]
    assert [model.can_continue_text for model in models] == [False, False, True, False]
    assert [model.has_cross_attention for model in models] == [True, False, False, False]
    assert [model.can_record_steps for model in models] == [False] * 4  # a CPU records nothing
    assert [model.config.num_outputs for model in models] == [13, 3, 13, 13]


def test_device_and_dtype_are_those_of_the_parameters() -> None:
    model = build_model(make_config()).to(dtype=torch.float64)
    assert (model.device, model.dtype) == (torch.device("cpu"), torch.float64)
    assert {(parameter.device, parameter.dtype) for parameter in model.parameters()} == {(model.device, model.dtype)}


@pytest.mark.parametrize("tied", ["three", "two", "none"])
def test_weight_matrices_are_those_of_the_blocks(tied: str) -> None:
    model = build_model(make_config(tied=tied))
    in_blocks = {id(p) for block in model.blocks() for p in block.parameters() if p.dim() == 2}
    assert len(list(model.blocks())) == 5
    assert {id(matrix) for matrix in model.weight_matrices()} == in_blocks


def test_the_loss_comes_in_two_halves() -> None:
    model = build_model(make_config()).eval()
    batch = Batch(torch.tensor([[3, 4, 2]]), torch.tensor([[5, 6, 7, 2, 0]]))
    halves, loss = model.loss_from_states(model.states(batch), batch, 0.1), model.loss(batch, 0.1)
    assert torch.equal(halves.total, loss.total)
    assert int(loss.num_tokens) == 4  # padding is not counted
    assert model.ignore_index == 0
    assert torch.equal(model.labels(batch), batch.target)


def test_the_mean_of_a_loss_of_nothing_is_zero() -> None:
    assert float(Loss(torch.tensor(6.0), torch.tensor(4)).mean) == 1.5
    assert float(Loss(torch.tensor(0.0), torch.tensor(0)).mean) == 0.0


def test_a_memory_is_reordered_with_its_mask() -> None:
    keys = torch.tensor([[True, False], [True, True]])
    memory = Memory(torch.arange(12.0).view(2, 2, 3), Mask(keys=keys)).reorder(torch.tensor([1, 1, 0]))
    assert memory.states[:, 0, 0].tolist() == [6.0, 6.0, 0.0]
    assert memory.mask.keys is not None
    assert memory.mask.keys.tolist() == [[True, True], [True, True], [True, False]]


def test_a_forward_pass_writes_to_a_trace_or_to_none() -> None:
    tracers: list[Tracer] = [NO_TRACE, Trace()]
    assert [tracer.is_on for tracer in tracers] == [False, True]
