"""A decoder without a mask: it sees later tokens in training, and has none to see when it writes."""

import torch

from clearhead.model import Batch, ModelConfig, Transformer
from clearhead.studies.no_mask import MaskOutcome, UnmaskedTransformer, describe, shortened
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
    masked, unmasked = MaskOutcome([], 0.5, 0.75, 0.5, []), MaskOutcome([], 0.125, 0.25, 0.0, [])
    text = describe(masked, unmasked)
    assert "ends at 0.125 nats per token, below the 0.5 of the masked decoder, but it writes 0.0%" in text
    assert text.endswith("so validating with teacher forcing does not show the fault either.")
    text = describe(unmasked, masked)
    assert "not below the 0.125 of the masked decoder, and it writes 50.0%" in text
    assert text.endswith("shows the fault.")


def test_a_long_sentence_is_shortened() -> None:
    assert shortened("a b") == "a b"
    assert shortened("x " * 30) == "x x x x x x x x x x …"
