"""The studies by name."""

import subprocess
import sys

import pytest
import torch

from clearhead.errors import ClearheadError
from clearhead.studies.registry import STUDIES, find_study, run_study
from tests.unit.studies.tiny import TINY, measured


def test_an_unknown_experiment_gets_a_close_match() -> None:
    with pytest.raises(ClearheadError, match=r"'varience' is not an experiment\. Did you mean 'variance'\?"):
        find_study("varience")


def test_the_list_needs_no_torch() -> None:
    code = "import sys, clearhead.studies as s; assert s.STUDIES; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert len({study.title for study in STUDIES.values()}) == len(STUDIES)


def test_a_study_is_run_with_one_thread_at_its_small_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    before, counts = torch.get_num_threads(), set()
    monkeypatch.setattr(find_study("teacher-forcing"), "SMALL", TINY["teacher-forcing"])
    result = run_study("teacher-forcing", show=lambda *_: counts.add(torch.get_num_threads()))
    assert counts == {1}
    assert torch.get_num_threads() == before
    assert result.tables[0].column("words") == measured("teacher-forcing").tables[0].column("words")
