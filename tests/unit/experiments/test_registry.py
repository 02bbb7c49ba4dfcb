"""The experiments by name."""

import pytest

from clearhead.errors import ClearheadError
from clearhead.experiments import find_experiment


def test_an_unknown_experiment_gets_a_close_match() -> None:
    with pytest.raises(ClearheadError, match=r"'varience' is not an experiment\. Did you mean 'variance'\?"):
        find_experiment("varience")
