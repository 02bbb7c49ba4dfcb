"""Pictures of experiments: as SVG or PNG, the same for the same numbers."""

from pathlib import Path

import pytest

from clearhead.errors import ClearheadError
from clearhead.experiments import EXPERIMENTS, Experiment
from clearhead.experiments.picture import check_picture, save_picture


def test_a_picture_drawn_from_json_is_the_same_picture(tmp_path: Path) -> None:
    fresh = EXPERIMENTS["norms"].run(0)
    save_picture(fresh, tmp_path / "fresh.svg")
    save_picture(Experiment.from_json(fresh.to_json()), tmp_path / "again.svg")
    assert (tmp_path / "fresh.svg").read_bytes() == (tmp_path / "again.svg").read_bytes()


def test_a_picture_is_svg_or_png() -> None:
    with pytest.raises(ClearheadError, match=r"slide\.gif is neither an SVG nor a PNG.*ends in \.svg or \.png"):
        check_picture(Path("slide.gif"))
