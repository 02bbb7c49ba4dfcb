"""The full form of studies: the families of configs in benchmarks/studies.py."""

from pathlib import Path
from typing import Any

import pytest

from clearhead.model.config import ModelConfig
from clearhead.studies import STUDIES
from clearhead.studies.picture import draw_picture
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


def drawn_lines(full_form: Any, study: str, failed: str = "") -> dict[str, tuple[list[float], list[float]]]:
    """Draw made-up scores of a study: 10 BLEU for the first variant, 11 for the second and so on."""
    import studies_report

    names = list(full_form.FAMILIES[study].variants)
    results = {name: {"scores": {} if name == failed else {"bleu": 10.0 + number}} for number, name in enumerate(names)}
    scores = {full_form.slug(name): result["scores"] for name, result in results.items()}
    buckets = [
        {"name": name, "sentences": number, "scores": scores}
        for name, number in (("1–5 words", 30), ("6–10 words", 40), ("over 60 words", 3))
    ]
    experiment = studies_report.as_experiment(study, results, {"by_length": {"buckets": buckets}})
    lines = draw_picture(experiment, studies_report).axes[0].get_lines()
    drawn = {str(line.get_label()): (list(line.get_xdata()), list(line.get_ydata())) for line in lines}
    return {label: points for label, points in drawn.items() if not label.startswith("_")}  # named lines


def test_positions_are_drawn_by_length_without_lengths_of_few_sentences(full_form: Any) -> None:
    assert drawn_lines(full_form, "position-training") == {
        "sinusoidal": ([3.0, 8.0], [10.0, 10.0]),
        "none": ([3.0, 8.0], [11.0, 11.0]),
        "learned": ([3.0, 8.0], [12.0, 12.0]),
        "rotary": ([3.0, 8.0], [13.0, 13.0]),
    }


def test_scaling_is_drawn_by_width(full_form: Any) -> None:
    assert drawn_lines(full_form, "score-scaling") == {
        "scaled, 1 head": ([64, 128, 256, 512], [10, 14, 18, 22]),
        "unscaled, 1 head": ([64, 128, 256, 512], [11, 15, 19, 23]),
        "scaled, 8 heads": ([64, 128, 256, 512], [12, 16, 20, 24]),
        "unscaled, 8 heads": ([64, 128, 256, 512], [13, 17, 21, 25]),
    }


def test_a_failed_training_is_a_cross_at_the_bottom(full_form: Any) -> None:
    lines = drawn_lines(full_form, "score-scaling", failed="256, 1 head, unscaled")
    assert lines["unscaled, 1 head: failed"] == ([256], [0])
    assert lines["scaled, 1 head"] == ([64, 128, 256, 512], [10, 14, 18, 22])
    assert len(lines) == 5


def test_the_line_in_the_plot_is_the_longest_training_sentence_of_the_config(full_form: Any) -> None:
    import studies_report

    config = load_run_config(full_form.CONFIGS / "position-training.yaml", [], check_files=False)
    assert config.data.max_words == studies_report._LONGEST
