"""An OPUS-MT folder through `clearhead translate`: the text that Transformers' tokeniser and `generate` give."""

from pathlib import Path
from typing import Any

import pytest
import torch

from clearhead.explain import explain, open_model
from clearhead.text.marian import load_marian_vocabularies
from tests.command import run
from tests.parity.test_marian import marian_of
from tests.unit.text.sentences import ENGLISH, GERMAN
from tests.unit.text.test_marian import make_folder

transformers = pytest.importorskip("transformers", reason="translations are compared with Hugging Face Transformers")
pytest.importorskip("ctranslate2", reason="the engine is an extra: pip install '.[translate]'")
STEPS = 13
# Transformers without sacremoses does not normalise punctuation, and warns about it
pytestmark = pytest.mark.filterwarnings("ignore:Recommended")


@pytest.fixture(scope="module")
def opus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small MarianMT model with its files as OPUS-MT has them."""
    folder = make_folder(tmp_path_factory.mktemp("opus"))
    target = load_marian_vocabularies(folder).target
    marian = marian_of(
        {
            "vocab_size": target.size, "decoder_vocab_size": target.size, "pad_token_id": target.pad,
            "decoder_start_token_id": target.pad, "eos_token_id": target.eos, "bos_token_id": target.eos,
            "forced_eos_token_id": target.eos, "max_position_embeddings": 61, "tie_word_embeddings": False,
        }
    )  # fmt: skip
    learn(marian, transformers.MarianTokenizer.from_pretrained(str(folder)))
    with torch.no_grad():  # as in a fully trained model: tokens that occur in no text are very unlikely
        marian.final_logits_bias[0, [target.pad, target.unk, *target.tags.values()]] = -30.0
    marian.save_pretrained(folder)
    return folder


def learn(marian: Any, tokeniser: Any) -> None:
    """Train briefly, so that translations differ from each other: an untrained model repeats one token."""
    encoded = tokeniser(ENGLISH, text_target=GERMAN, return_tensors="pt", padding=True)
    labels = encoded.labels.masked_fill(encoded.labels == tokeniser.pad_token_id, -100)
    optimiser = torch.optim.Adam(marian.parameters(), lr=0.02)
    for _ in range(120):
        optimiser.zero_grad()
        marian(input_ids=encoded.input_ids, attention_mask=encoded.attention_mask, labels=labels).loss.backward()
        optimiser.step()


def theirs(folder: Path, lines: list[str], beam: int) -> list[str]:
    """Return the translations of lines by Transformers."""
    tokeniser: Any = transformers.MarianTokenizer.from_pretrained(str(folder))
    marian = transformers.MarianMTModel.from_pretrained(str(folder)).eval()
    beam_options = {"early_stopping": True, "length_penalty": 1.0} if beam > 1 else {}
    texts = []
    for line in lines:  # one by one: no padding
        ids = marian.generate(
            **tokeniser([line], return_tensors="pt"),
            num_beams=beam,
            max_new_tokens=STEPS,
            bad_words_ids=[[tokeniser.pad_token_id]],
            forced_eos_token_id=None,
            **beam_options,
        )
        texts += tokeniser.batch_decode(ids, skip_special_tokens=True)
    return texts


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_translations_are_those_of_transformers(opus: Path, tmp_path: Path, engine: str, beam: int) -> None:
    lines = [*ENGLISH, "a Ü ß unknown 😀", "  Two   spaces "]
    right = theirs(opus, [*(f">>deu<< {line}" for line in lines), ">>nld<< the cat sees a book."], beam)
    assert len(set(right)) > len(lines) // 4, "sentences that are all translated alike prove less"
    done = run(
        *("translate", "-m", str(opus), "--engine", engine, "--device", "cpu", "--precision", "float32"),
        *("--beam", str(beam), "--max-length", str(STEPS), "--max-ratio", "100", "--to", "deu", "--quiet"),
        text="".join(line + "\n" for line in [*lines, ">>nld<< the cat sees a book.", ""]),
    )
    note = f"clearhead: {opus} has no SHA256SUMS, so its files were not verified."
    assert done.returncode == 0
    assert done.stderr.startswith(note), done.stderr
    assert done.stderr.count("\n") == 1, "and it is the engine that was asked for"
    assert done.stdout.split("\n") == [*right, "", ""]


def test_explained_attention_is_that_of_transformers(opus: Path) -> None:
    """Weights of every head, and log P of every token, of the translation that clearhead explains."""
    explanation = explain(open_model(opus), ENGLISH[0])
    assert explanation.source is not None
    assert explanation.target is not None
    marian = transformers.MarianMTModel.from_pretrained(str(opus), attn_implementation="eager").eval()
    target = list(explanation.target.ids)
    with torch.no_grad():
        outputs = marian(
            input_ids=torch.tensor([explanation.source.ids]),
            decoder_input_ids=torch.tensor([[marian.config.decoder_start_token_id, *target[:-1]]]),
            output_attentions=True,
        )
    theirs_by_stack = {
        "encoder": outputs.encoder_attentions, "decoder": outputs.decoder_attentions, "cross": outputs.cross_attentions,
    }  # fmt: skip
    for name, stack in explanation.stacks.items():
        weights = torch.cat(theirs_by_stack[name]).numpy()  # (layers, heads, queries, keys)
        assert stack.weights == pytest.approx(weights, abs=1e-5)
    log_probs = torch.log_softmax(outputs.logits[0], dim=-1)[range(len(target)), target]
    assert [output.log_prob for output in explanation.outputs] == pytest.approx(log_probs.tolist(), abs=1e-4)
