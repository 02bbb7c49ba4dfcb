"""Beam search on MarianMT: the tokens and the scores that Transformers' `generate` gives with the same settings."""

from typing import Any

import pytest
import torch

from clearhead.decoding.search.beam import beam_search
from clearhead.decoding.search.settings import SearchSettings
from clearhead.formats import from_marian_tensors
from tests.parity.test_marian import marian_of, sources

transformers = pytest.importorskip("transformers", reason="MarianMT is compared with Hugging Face Transformers")
STOPPING = {"proved": "never", "likely": False, "first": True}
STEPS = 17


@pytest.mark.parametrize("stopping", STOPPING)
@pytest.mark.parametrize(
    ("beam", "alpha", "no_repeat"), [(1, 1.0, 2), (4, 1.0, None), (4, 1.0, 2), (4, 0.6, 3), (4, 0.0, 1), (2, 2.0, 2)]
)
@pytest.mark.parametrize("end", [0.0, 1.0, 2.0], ids=["cut", "ended late", "ended early"])
@torch.inference_mode()
def test_beams_are_those_of_transformers(
    beam: int, alpha: float, no_repeat: int | None, stopping: str, end: float
) -> None:
    marian = marian_of({"tie_word_embeddings": False}).double()
    for layer in marian.model.decoder.layers:  # otherwise every source would get the same translation
        layer.encoder_attn.out_proj.weight.mul_(3)
        layer.encoder_attn.v_proj.weight.mul_(3)
    marian.final_logits_bias[0, 0] += end
    model = from_marian_tensors(marian.config.to_dict(), marian.state_dict())
    source = sources()
    beam_options: dict[str, Any] = (
        {}
        if beam == 1
        else {"early_stopping": STOPPING[stopping], "length_penalty": alpha, "num_return_sequences": beam}
    )
    theirs = marian.generate(
        input_ids=source,
        attention_mask=(source != 52).long(),
        num_beams=beam,
        max_new_tokens=STEPS,
        bad_words_ids=[[52]],
        return_dict_in_generate=True,
        output_scores=True,
        **({} if no_repeat is None else {"no_repeat_ngram_size": no_repeat}),
        **beam_options,
    )
    settings = SearchSettings(beam=beam, n_best=beam, length_penalty=alpha, stopping=stopping, no_repeat=no_repeat)
    ours = [hypothesis for row in beam_search(model, source, [STEPS] * 3, settings) for hypothesis in row]
    right = [[token for token in row[1:] if token != 52] for row in theirs.sequences.tolist()]
    assert beam == 1 or end > 1 or len({tuple(row) for row in right}) > beam, (
        "sentences that are all translated alike prove less"
    )
    assert [list(hypothesis.tokens) for hypothesis in ours] == right
    if beam > 1:
        assert [hypothesis.score for hypothesis in ours] == pytest.approx(theirs.sequences_scores.tolist(), abs=1e-5)


@torch.inference_mode()
def test_a_bos_token_can_be_written_if_no_sentence_starts_with_it() -> None:
    marian = marian_of({"tie_word_embeddings": False, "bos_token_id": 7}).double()
    marian.final_logits_bias[0, 7] += 3.0
    model = from_marian_tensors(marian.config.to_dict(), marian.state_dict())
    assert model.config.never_written == (52,)
    source = sources()
    theirs = marian.generate(
        input_ids=source,
        attention_mask=(source != 52).long(),
        num_beams=1,
        max_new_tokens=STEPS,
        bad_words_ids=[[52]],
        forced_eos_token_id=None,
    )
    right = [[token for token in row[1:] if token != 52] for row in theirs.tolist()]
    assert any(7 in row for row in right)
    ours = beam_search(model, source, [STEPS] * 3, SearchSettings())
    assert [list(row[0].tokens) for row in ours] == right
