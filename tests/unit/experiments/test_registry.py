"""The experiments by name."""

import pytest

from clearhead.errors import ClearheadError
from clearhead.experiments.registry import EXPERIMENTS, find_experiment


def test_an_unknown_experiment_gets_a_close_match() -> None:
    with pytest.raises(ClearheadError, match=r"'varience' is not an experiment\. Did you mean 'variance'\?"):
        find_experiment("varience")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_can_be_found_run_and_drawn(name: str) -> None:
    module = find_experiment(name)
    assert module is EXPERIMENTS[name]
    assert module.__name__ == f"clearhead.experiments.{name}"
    assert module.TITLE
    assert hasattr(module, "PANELS") != hasattr(module, "draw")
    assert callable(module.run)
