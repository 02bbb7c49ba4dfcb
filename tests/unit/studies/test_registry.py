"""The studies by name."""

import subprocess
import sys

import pytest
import torch

from clearhead.studies.registry import STUDIES, find_study, run_study
from tests.unit.studies.tiny import TINY, measured


def test_a_study_is_the_module_of_its_name() -> None:
    assert find_study("teacher-forcing").__name__ == "clearhead.studies.teacher_forcing"


def test_the_list_needs_no_torch() -> None:
    code = "import sys, clearhead.studies as s; assert s.STUDIES; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert len({study.title for study in STUDIES.values()}) == len(STUDIES)


def test_a_study_is_run_with_one_thread_at_its_small_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    before, counts = torch.get_num_threads(), set()
    monkeypatch.setattr(find_study("teacher-forcing"), "SMALL", TINY["teacher-forcing"])
    result = run_study("teacher-forcing", 0, lambda *_: counts.add(torch.get_num_threads()))
    assert counts == {1}
    assert torch.get_num_threads() == before
    assert result.tables[0].column("words") == measured("teacher-forcing").tables[0].column("words")
