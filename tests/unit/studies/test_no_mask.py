"""A decoder without a mask: it sees later tokens in training, and has none to see when it writes."""

import torch

from clearhead.model import Batch, ModelConfig, Transformer
from clearhead.studies import ResultTable
from clearhead.studies.no_mask import UnmaskedTransformer, finding_of, shortened
from tests.unit.studies.tiny import measured

CONFIG = ModelConfig(source_vocabulary=13, encoder_blocks=1, decoder_blocks=1, d_model=8, num_heads=2, d_ff=7)


def test_the_table_has_a_row_with_and_one_without_a_mask() -> None:
    losses, samples = measured("no-mask").tables
    assert losses.column("decoder") == ("with a mask", "without a mask")
    assert len(samples.rows) == 2


def test_a_later_token_changes_an_earlier_state_only_without_a_mask() -> None:
    source, target = torch.tensor([[3, 4, 2]]), torch.tensor([[5, 6, 7, 2]])
    other = torch.tensor([[5, 6, 9, 2]])
    for kind, is_changed in ((Transformer, False), (UnmaskedTransformer, True)):
        torch.manual_seed(0)
        model = kind(CONFIG).eval()
        states, others = model.states(Batch(source, target)), model.states(Batch(source, other))
        assert torch.equal(states[:, 1], others[:, 1]) != is_changed


def test_both_kinds_write_alike_from_the_same_weights() -> None:
    torch.manual_seed(0)
    models = [kind(CONFIG).eval() for kind in (Transformer, UnmaskedTransformer)]
    models[1].load_state_dict(models[0].state_dict())
    tokens, logits = torch.tensor([[1, 5, 6]]), []
    for model in models:
        memory = model.encode(torch.tensor([[3, 4, 2]]))
        cache = model.start_cache(memory, 1, model.device)
        logits.append(torch.cat([model.decode(tokens[:, i : i + 1], memory, cache) for i in range(3)], dim=1))
    assert torch.allclose(logits[0], logits[1], atol=1e-6)


def test_the_finding_follows_the_numbers() -> None:
    rows = (("with a mask", 0.5, 0.75, 50.0), ("without a mask", 0.125, 0.25, 0.0))
    text = finding_of(ResultTable("", ("decoder", "loss", "held-out loss", "right"), rows))
    assert "ends at 0.125 nats per token (0.5 with a mask), and 0.0 % of the held-out sentences" in text
    assert text.endswith("the loss on held-out sentences is 0.25 (0.75).")


def test_a_long_sentence_is_shortened() -> None:
    assert shortened("a b") == "a b"
    assert shortened("x " * 30) == "x x x x x x x x x x …"
