"""The parts of a recurrent model, against PyTorch's own cells and packed sequences, and its settings."""

from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from clearhead.errors import ConfigError, DataError
from clearhead.formats import load_checkpoint, save_checkpoint
from clearhead.model import Batch, ModelConfig, check_batch
from clearhead.model.base import Memory
from clearhead.model.config import read_config
from clearhead.model.gates import Gates
from clearhead.model.mask import Mask
from clearhead.model.probe import Probe
from clearhead.model.recorded_steps import append_traced
from clearhead.model.recurrent import RecurrentModel
from clearhead.model.recurrent_attention import MemoryAttention
from clearhead.model.recurrent_cell import (
    CellState,
    RecurrentBeams,
    RecurrentState,
    TracedCell,
    join_weights,
    make_cell,
    run_cell,
)
from clearhead.model.recurrent_decoder import last_states
from clearhead.model.recurrent_decoder_trace import decode_traced
from clearhead.model.recurrent_encoder import RecurrentLayer, reversed_places
from clearhead.steps import Trace
from tests.tolerances import assert_close

KEYS = torch.tensor([[True] * 5, [True, True, False, False, False], [True, True, True, False, False]])


def make_config(**changes: object) -> ModelConfig:
    sizes = {"source_vocabulary": 11, "encoder_blocks": 2, "decoder_blocks": 2, "d_model": 6, "dropout": 0.0}
    return read_config({"architecture": "recurrent", **sizes, **changes})


# Cells


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_a_traced_step_is_a_step_of_pytorchs_cell(kind: str) -> None:
    torch.manual_seed(0)
    cell = make_cell(kind, 3, 2).double()
    single = (nn.LSTMCell if kind == "lstm" else nn.GRUCell)(3, 2).double()
    with torch.no_grad():
        for own, other in zip(cell.all_weights[0], single.parameters(), strict=True):
            other.copy_(own)
    x, h, c = (torch.randn(4, size, dtype=torch.float64) for size in (3, 2, 2))
    state = CellState(h[:, None], c[:, None] if kind == "lstm" else None)
    after = TracedCell(cell, Trace()).step(x[:, None], state, 0, Trace())
    expected = single(x, (h, c)) if kind == "lstm" else (single(x, h), None)
    assert_close(after.hidden[:, 0].detach(), expected[0].detach())
    assert (after.memory is None) == (kind == "gru")
    if after.memory is not None:
        assert_close(after.memory[:, 0].detach(), expected[1].detach())


def test_an_lstm_forgets_little_at_first() -> None:
    model = RecurrentModel(make_config())
    assert model.decoder is not None
    bias = model.decoder.cells[0].all_weights[0][2].view(4, 6)
    assert bias.tolist() == [[0.0] * 6, [1.0] * 6, [0.0] * 6, [0.0] * 6]


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_joined_weights_are_one_block_of_memory_with_the_same_numbers(kind: str) -> None:
    torch.manual_seed(0)
    cell, x = make_cell(kind, 3, 2), torch.randn(5, 7, 3)
    parameters, before = list(cell.parameters()), run_cell(cell, x)[0]
    join_weights(cell)
    assert all(one is other for one, other in zip(cell.parameters(), parameters, strict=True))
    first = parameters[0].data_ptr()
    places = [(weight.data_ptr() - first) // weight.element_size() for weight in parameters]
    assert places == [sum(weight.numel() for weight in parameters[:number]) for number in range(4)]
    assert torch.equal(run_cell(cell, x)[0], before)
    run_cell(cell, x)[0].sum().backward()
    assert all(weight.grad is not None and weight.grad.abs().sum() > 0 for weight in parameters)


# Encoder


def test_each_sentence_is_reversed_within_its_length() -> None:
    assert reversed_places(KEYS).tolist() == [[4, 3, 2, 1, 0], [1, 0, 2, 3, 4], [2, 1, 0, 3, 4]]


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_two_directions_are_those_of_packed_sequences(kind: str) -> None:
    torch.manual_seed(0)
    layer = RecurrentLayer(make_config(cell=kind)).double()
    other = (nn.LSTM if kind == "lstm" else nn.GRU)(6, 3, batch_first=True, bidirectional=True).double()
    assert layer.reverse_cell is not None
    with torch.no_grad():
        own = [*layer.forward_cell.all_weights[0], *layer.reverse_cell.all_weights[0]]
        for mine, theirs in zip(own, other.parameters(), strict=True):
            theirs.copy_(mine)
    x = torch.randn(3, 5, 6, dtype=torch.float64)
    packed = pack_padded_sequence(x, KEYS.sum(dim=1), batch_first=True, enforce_sorted=False)
    expected, _ = pad_packed_sequence(other(packed)[0], batch_first=True)
    states = torch.where(KEYS[..., None], layer(x, reversed_places(KEYS)), 0.0)
    assert_close(states.detach(), expected.detach())


def test_the_last_states_are_those_of_the_last_and_of_the_first_token() -> None:
    memory = Memory(torch.arange(30.0).view(3, 5, 2), Mask(keys=KEYS))
    assert last_states(memory, is_bidirectional=False)[:, 0].tolist() == [[8.0, 9.0], [12.0, 13.0], [24.0, 25.0]]
    assert last_states(memory, is_bidirectional=True)[:, 0].tolist() == [[8.0, 1.0], [12.0, 11.0], [24.0, 21.0]]


# Attention


@pytest.mark.parametrize("kind", ["dot", "scaled", "multiplicative", "additive"])
def test_attention_without_a_visible_state_has_the_context_zero(kind: str) -> None:
    torch.manual_seed(0)
    layer = MemoryAttention(make_config(attention=kind)).double()
    h, states = torch.randn(1, 2, 6, dtype=torch.float64), torch.randn(1, 5, 6, dtype=torch.float64)
    memory = Memory(states, Mask(keys=torch.zeros(1, 5, dtype=torch.bool)))
    expected = torch.tanh(h @ layer.output.weight[:, 6:].T)
    assert_close(layer(h, layer.keys(memory), memory).detach(), expected.detach())


def test_the_scores_differ_by_kind() -> None:
    """Two states, s₁ = (1, 0) and s₂ = (0, 1), and h = (ln 3, 0): the weights of dot are 3/4 and 1/4."""
    config = make_config(d_model=2, attention="dot")
    layer = MemoryAttention(config).double()
    with torch.no_grad():
        layer.output.weight.copy_(torch.tensor([[1.0, 0, 0, 0], [0, 1.0, 0, 0]]))  # tanh of the context alone
    memory = Memory(torch.eye(2, dtype=torch.float64)[None], Mask())
    h = torch.tensor([[[3.0, 1.0]]], dtype=torch.float64).log()
    context = torch.atanh(layer(h, layer.keys(memory), memory))
    assert_close(context.detach(), [[[0.75, 0.25]]])
    layer.kind = "scaled"  # 3^(1/√2) = 2.174581, divided by 3.174581
    scaled = torch.atanh(layer(h, layer.keys(memory), memory))
    assert scaled[0, 0].tolist() == pytest.approx([0.684998, 0.315002], abs=1e-6)


# State


def test_beams_follow_their_parents_and_rows_are_dropped() -> None:
    numbers = torch.arange(12.0).view(2, 3, 2)
    beams = RecurrentBeams([CellState(numbers, numbers + 100)], numbers + 200, numbers + 300)
    beams.follow(torch.tensor([[2, 0], [1, 1]]))
    assert beams.layers[0].hidden[..., 0].tolist() == [[4.0, 0.0], [8.0, 8.0]]
    beams.reorder(torch.tensor([1]))
    assert beams.layers[0].memory is not None
    assert beams.layers[0].memory[..., 0].tolist() == [[108.0, 108.0]]
    assert beams.fed is not None
    assert beams.fed[..., 0].tolist() == [[208.0, 208.0]]
    assert beams.keys is not None
    assert beams.keys[..., 0].tolist() == [[306.0, 308.0, 310.0]]


def test_padding_keeps_the_old_state() -> None:
    old, new = (RecurrentState([CellState(torch.full((2, 1, 1), value))]) for value in (1.0, 2.0))
    new.keep_old(old, torch.tensor([True, False])[:, None, None])
    assert new.layers[0].hidden.flatten().tolist() == [2.0, 1.0]


def test_a_traced_step_continues_from_a_state() -> None:
    model = RecurrentModel(make_config(shape="decoder")).double().eval()
    assert model.decoder is not None
    state = model.start_cache(None, 2, torch.device("cpu"))
    trace = Trace()
    decode_traced(model.decoder, torch.tensor([[3], [4]]), None, state, trace)
    decode_traced(model.decoder, torch.tensor([[5], [6]]), None, state, Trace())
    assert state.length == 2
    assert append_traced([state.layers[-1].hidden], "S", trace) is state.layers[-1].hidden


# The model


@pytest.mark.parametrize("changes", [{}, {"cell": "gru", "attention": "additive", "has_input_feeding": True}])
def test_a_checkpoint_holds_it(tmp_path: Path, changes: dict[str, object]) -> None:
    model = RecurrentModel(make_config(**changes)).eval()
    save_checkpoint(model, tmp_path)
    loaded = load_checkpoint(tmp_path)
    batch = Batch(torch.tensor([[3, 4, 2]]), torch.tensor([[5, 6, 2]]))
    assert isinstance(loaded, RecurrentModel)
    assert loaded.config == model.config
    assert torch.equal(loaded(batch), model(batch))


def test_dropout_is_on_in_training_only() -> None:
    model = RecurrentModel(make_config(dropout=0.5))
    batch = Batch(torch.tensor([[3, 4, 2]]), torch.tensor([[5, 6, 2]]))
    assert not torch.equal(model(batch), model(batch))
    model.eval()
    assert torch.equal(model(batch), model(batch))


def test_it_has_no_heads_to_scale() -> None:
    model = RecurrentModel(make_config())
    gates = Gates({"encoder.0.self_attention": torch.ones(2)})
    with pytest.raises(ConfigError, match=r"this model has no such attention\. It has none\.$"):
        model(Batch(torch.tensor([[3, 2]]), torch.tensor([[3, 2]])), probe=Probe(gates=gates))


def test_it_reads_one_sentence_per_row() -> None:
    ids, sentences = torch.tensor([[3, 2, 4, 2]]), torch.tensor([[1, 1, 2, 2]])
    batch = Batch(ids, ids, source_sentences=sentences, target_sentences=sentences)
    with pytest.raises(DataError, match="but a recurrent model reads entire rows. Give each sentence its own row"):
        check_batch(batch, make_config())


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_a_sequence_is_its_steps(kind: str) -> None:
    cell = make_cell(kind, 3, 2).double()
    x = torch.randn(2, 4, 3, dtype=torch.float64)
    whole, last = run_cell(cell, x)
    state = None
    for time in range(4):
        output, state = run_cell(cell, x[:, time : time + 1], state)
        assert_close(output[:, 0].detach(), whole[:, time].detach())
    assert state is not None
    assert_close(state.hidden.detach(), last.hidden.detach())


@pytest.mark.parametrize("has_state", [False, True])
@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_the_kernel_computes_exactly_what_pytorchs_module_computes(kind: str, has_state: bool) -> None:
    cell = make_cell(kind, 3, 2)
    x, h, c = torch.randn(5, 4, 3), torch.randn(5, 2), torch.randn(5, 2)
    state = CellState(h, c if kind == "lstm" else None) if has_state else None
    output, last = run_cell(cell, x, state)
    first = ((h[None], c[None]) if kind == "lstm" else h[None]) if has_state else None
    right, end = cell(x, first)
    assert torch.equal(output, right)
    for part, other in zip((last.hidden, last.memory), end if kind == "lstm" else (end,), strict=False):
        assert part is not None
        assert torch.equal(part, other[0])


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_the_kernel_keeps_what_gradients_need_in_eval_mode_too(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """cuDNN, which is not here, refuses the gradients of a call that is not for training."""
    kernel, calls = getattr(torch, kind), []

    def recorded(*arguments: object) -> object:
        calls.append(arguments[-3])
        return kernel(*arguments)

    monkeypatch.setattr(torch, kind, recorded)
    cell, x = make_cell(kind, 3, 2).eval(), torch.randn(5, 4, 3)
    run_cell(cell, x)
    with torch.no_grad():
        run_cell(cell, x)
        run_cell(cell.train(), x)
    assert calls == [True, False, True]
