"""No engine writes the unknown token, however likely it is, in models of any version and of OPUS-MT."""

from pathlib import Path
from typing import Any

import pytest
import torch

from clearhead.decoding.engines.engine import EngineName
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.formats import load_checkpoint, save_checkpoint, to_marian
from clearhead.formats.model_folder import find_model, load_config
from clearhead.model import ModelConfig, Transformer
from clearhead.text.config import TextConfig
from clearhead.text.marian import load_marian_vocabularies
from clearhead.text.tokeniser import Vocabularies
from clearhead.text.train import train_vocabularies
from tests.unit.text.sentences import ENGLISH, PAIRS
from tests.unit.text.test_marian import make_folder


def _model(vocabularies: Vocabularies, **changes: Any) -> Transformer:
    """Return a random model for which the unknown token is by far the most likely one at every step."""
    target = vocabularies.target
    torch.manual_seed(5)
    config = ModelConfig(
        source_vocabulary=target.size, encoder_blocks=1, decoder_blocks=1, d_model=12, num_heads=2, d_ff=17,
        max_length=61, norm_place="post", sinusoids="blocks", has_output_bias=True, pad=target.pad, eos=target.eos,
        **{"bos": target.bos, **changes},
    )  # fmt: skip
    model = Transformer(config)
    with torch.no_grad():
        model.output.bias[target.unk] = 50.0
    return model


@pytest.fixture(scope="module", params=["with the id", "of an earlier version", "OPUS-MT"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("model")
    if request.param == "OPUS-MT":
        make_folder(place)
        vocabularies = load_marian_vocabularies(place)
        to_marian(_model(vocabularies, start="pad", bos=vocabularies.target.eos), place)
        return place
    vocabularies = train_vocabularies(PAIRS, TextConfig(vocabulary=61))
    vocabularies.save(place)
    unknown = {"unk": vocabularies.target.unk} if request.param == "with the id" else {}
    save_checkpoint(_model(vocabularies, **unknown), place / "best")
    return place


@pytest.mark.parametrize("engine", ["torch", "ctranslate2", "numpy"])
@pytest.mark.parametrize("search", [{}, {"beam": 3, "n_best": 3, "stopping": "first"}, {"temperature": 1.0}])
def test_the_unknown_token_is_never_written(folder: Path, engine: EngineName, search: dict[str, Any]) -> None:
    if engine == "ctranslate2":
        pytest.importorskip("ctranslate2", reason="the engine is an extra: pip install '.[translate]'")
    translator = Translator.load(folder, engine=engine)
    unknown = translator.vocabularies.target.unk
    for translation in translator.translate(ENGLISH[:7], SearchSettings(max_length=13, **search)):
        for hypothesis in translation.parts[0].hypotheses:
            assert hypothesis.tokens
            assert unknown not in hypothesis.tokens
        assert "⁇" not in translation.text


def test_weights_alone_do_not_know_their_unknown_token(folder: Path, tmp_path: Path) -> None:
    vocabularies = train_vocabularies(PAIRS, TextConfig(vocabulary=61))
    save_checkpoint(_model(vocabularies), tmp_path)
    assert load_config(find_model(tmp_path)).unk is load_checkpoint(tmp_path).config.unk is None
    assert load_config(find_model(folder)).unk is not None
