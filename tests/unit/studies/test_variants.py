"""The variants of the studies: nearly equal numbers of parameters, and configs that differ only in the model."""

from pathlib import Path

import pytest
import yaml

from clearhead.model import build_model
from clearhead.studies import STUDIES
from clearhead.studies.variants import MAIN, VARIANTS, matched_config, num_parameters, transformer_sizes
from clearhead.training.config import load_run_config

CONFIGS = Path(__file__).parents[3] / "configs" / "studies"
SHARED = {"source_vocabulary": 19, "encoder_blocks": 2, "decoder_blocks": 2, "max_length": 23}


@pytest.mark.parametrize("name", VARIANTS)
def test_all_variants_have_nearly_as_many_parameters_as_the_transformer(name: str) -> None:
    goal = num_parameters(matched_config(VARIANTS["transformer"], SHARED, 48))
    config = matched_config(VARIANTS[name], SHARED, 48)
    assert config.architecture == VARIANTS[name].settings["architecture"]
    assert num_parameters(config) == pytest.approx(goal, rel=0.05)
    assert sum(parameter.numel() for parameter in build_model(config).parameters()) == num_parameters(config)


@pytest.mark.parametrize("name", MAIN)
def test_a_language_model_has_no_attention_to_a_source(name: str) -> None:
    config = matched_config(VARIANTS[name], {**SHARED, "shape": "decoder"}, 32)
    assert config.shape == "decoder"
    assert "attention" not in config.model_dump() or config.architecture == "transformer"


@pytest.mark.parametrize("width", [12, 16, 24, 64, 100])
def test_the_heads_of_a_transformer_divide_its_width(width: int) -> None:
    sizes = transformer_sizes(width)
    assert width % sizes["num_heads"] == 0
    assert width // sizes["num_heads"] >= 12


@pytest.mark.parametrize("name", VARIANTS)
def test_there_is_a_config_that_differs_only_in_the_model(name: str) -> None:
    path = CONFIGS / f"{name}.yaml"
    config = load_run_config(path, check_files=False)
    expected = {**VARIANTS[name].settings, "dropout": 0.1}
    assert config.model == expected
    assert config.training.batching == ("packed" if name == "transformer-packed" else "bucketed")
    settings, other = (
        yaml.safe_load(file.read_text(encoding="utf-8")) for file in (path, CONFIGS / "transformer.yaml")
    )
    for one in (settings, other):
        del one["model"], one["training"]["batching"]
    assert settings == other


def test_every_config_of_the_folder_is_a_variant_or_the_base_of_a_study() -> None:
    assert {path.stem for path in CONFIGS.glob("*.yaml")} - set(STUDIES) == set(VARIANTS)
