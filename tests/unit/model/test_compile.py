"""A model with fused attention compiles in one graph and exports, for sentences of any length."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch._dynamo import lookup_backend
from torch.export import Dim

from clearhead.model import Batch, Transformer
from clearhead.model.probe import Probe
from tests.parity.models import make_gates, make_model
from tests.tolerances import assert_close, assert_close_gradients

CASES = [("encoder-decoder", 5), ("encoder", 10), ("decoder", 0)]
ONE_BLOCK = {"encoder_blocks": 1, "decoder_blocks": 1}
# torch's own compiler warns of its own deprecated parts
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning:torch"
)


@pytest.fixture(autouse=True)
def _fresh_compiler() -> Iterator[None]:
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def make_batch(shape: str, source: int, target: int, size: int = 3) -> Batch:
    random = torch.Generator().manual_seed(source)
    source_ids, target_ids = (torch.randint(3, 11, (size, length), generator=random) for length in (source, target))
    source_ids[1, -2:], target_ids[1, -1:] = 0, 0
    return Batch(
        None if shape == "decoder" else source_ids,
        None if shape == "encoder" else target_ids,
        torch.arange(size) % 3 if shape == "encoder" else None,
    )


def hold_to_plain(model: Transformer, backend: str, batches: list[Batch], **options: Any) -> int:
    """Compare compiled loss and gradients with the plain ones; return how many graphs were made."""
    graphs = []

    def counting(graph: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        graphs.append(graph)
        return lookup_backend(backend)(graph, inputs)

    compiled = torch.compile(lambda batch: model.loss(batch).mean, fullgraph=True, backend=counting, **options)
    for batch in batches:
        losses_and_gradients = []
        for loss_of in (lambda plain_batch: model.loss(plain_batch).mean, compiled):
            model.zero_grad()
            loss = loss_of(batch)
            loss.backward()
            losses_and_gradients.append(
                (loss.detach(), {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None})
            )
        (plain, plain_gradients), (fast, fast_gradients) = losses_and_gradients
        assert_close(fast, plain, "float32")
        assert fast_gradients.keys() == plain_gradients.keys()
        largest = max(float(gradient.abs().max()) for gradient in plain_gradients.values())
        for name, gradient in plain_gradients.items():
            assert_close_gradients(fast_gradients[name], gradient, largest, "float32")
    return len(graphs)


@pytest.mark.parametrize(("shape", "variant"), CASES)
def test_the_loss_compiles_in_one_graph(shape: str, variant: int) -> None:
    model = make_model(shape, variant, torch.float32, **ONE_BLOCK)
    assert hold_to_plain(model, "aot_eager", [make_batch(shape, 7, 5)]) == 1


@pytest.mark.parametrize(("shape", "variant"), CASES)
def test_a_gated_loss_compiles_in_one_graph_that_serves_other_gates(shape: str, variant: int) -> None:
    model = make_model(shape, variant, torch.float32, **ONE_BLOCK)
    batch, graphs = make_batch(shape, 7, 5), []

    def counting(graph: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        graphs.append(graph)
        return lookup_backend("aot_eager")(graph, inputs)

    compiled = torch.compile(lambda probe: model.loss(batch, probe=probe).mean, fullgraph=True, backend=counting)
    losses = []
    for seed in (1, 2):
        probe = Probe(gates=make_gates(model.config, seed=seed))
        losses.append(compiled(probe).detach())
        assert_close(losses[-1], model.loss(batch, probe=probe).mean.detach(), "float32")
    assert losses[0] != losses[1]
    assert len(graphs) == 1


def test_lengths_that_change_are_compiled_once_more_and_then_no_more() -> None:
    model = make_model("encoder-decoder", 0, torch.float32, **ONE_BLOCK)
    sizes = ((7, 5, 3), (11, 13, 5), (17, 3, 2), (5, 19, 7), (13, 11, 11))
    batches = [make_batch("encoder-decoder", *lengths) for lengths in sizes]
    assert hold_to_plain(model, "aot_eager", batches) <= 2


@pytest.mark.slow
def test_the_loss_compiles_to_machine_code() -> None:
    model = make_model("encoder-decoder", 0, torch.float32, **ONE_BLOCK)
    assert hold_to_plain(model, "inductor", [make_batch("encoder-decoder", 7, 5)]) == 1


@pytest.mark.parametrize(("shape", "variant"), CASES)
def test_forward_exports_for_any_length(shape: str, variant: int) -> None:
    model = make_model(shape, variant, torch.float32, **ONE_BLOCK)
    size, source, target = Dim("size", min=2, max=64), Dim("source", min=2, max=19), Dim("target", min=3, max=19)
    shapes = Batch(
        None if shape == "decoder" else {0: size, 1: source},  # type: ignore[arg-type]
        None if shape == "encoder" else {0: size, 1: target},  # type: ignore[arg-type]
        None,
        None,  # type: ignore[arg-type]
    )
    program = torch.export.export(model, (make_batch(shape, 7, 5)._replace(labels=None),), dynamic_shapes=(shapes,))
    for lengths in ((7, 5), (11, 13), (3, 17)):
        batch = make_batch(shape, *lengths)._replace(labels=None)
        assert_close(program.module()(batch).detach(), model(batch).detach(), "float32")
