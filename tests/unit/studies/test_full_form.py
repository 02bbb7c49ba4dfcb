"""The full form of studies: the families of configs in benchmarks/studies.py."""

from pathlib import Path
from typing import Any

import pytest

from clearhead.model.config import ModelConfig
from clearhead.studies import STUDIES
from clearhead.training.config import load_run_config
from clearhead.training.config_checks import model_settings

ROOT = Path(__file__).parents[3]


@pytest.fixture
def full_form(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import studies

    return studies


def test_every_variant_has_a_valid_config_and_the_same_budget(full_form: Any) -> None:
    assert set(full_form.FAMILIES) <= set(STUDIES)
    for family in full_form.FAMILIES.values():
        variants = [
            load_run_config(full_form.CONFIGS / family.config, changes, check_files=False)
            for changes in family.variants.values()
        ]
        assert len({(one.training, one.text, one.data) for one in variants}) == 1
        models = [ModelConfig.model_validate(model_settings(one)) for one in variants]
        assert len(set(models)) == len(variants)


def test_a_table_has_a_row_for_every_variant_and_a_dash_for_a_failed_one(full_form: Any, tmp_path: Path) -> None:
    report = {"by_length": {"buckets": [{"name": "1–5 words", "scores": {"one-head": {"bleu": 12.34}}}]}}
    results = {
        "one head": {"scores": {"bleu": 20.0, "chrf": 40.0}, "training_loss": 2.5, "seconds": 61.2},
        "failed": {"scores": {}, "training_loss": None, "seconds": None},
    }
    lines = full_form.table(results, report).splitlines()
    assert lines[2] == "| one head | 20.0 | 40.0 | 12.3 | 2.500 | 61 |"
    assert lines[3] == "| failed | – | – | – | – | – |"


def test_a_file_is_found_plain_or_compressed(full_form: Any, tmp_path: Path) -> None:
    (tmp_path / "train.en.xz").write_bytes(b"")
    assert full_form.find(tmp_path, "train.en") == tmp_path / "train.en.xz"
    with pytest.raises(SystemExit, match=r"has no test\.en, also not as"):
        full_form.find(tmp_path, "test.en")
