"""Checks before a model is loaded: they need no torch, and a wrong number of files or a missing one is reported."""

import subprocess
import sys
from pathlib import Path

import pytest

from clearhead.errors import ClearheadError
from clearhead.explain.checks import check_test_set


def test_checks_do_not_import_torch() -> None:
    code = "import sys, clearhead.explain.checks; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_number_of_files_and_their_existence(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("a\n")
    one, missing = str(tmp_path / "one"), str(tmp_path / "missing")
    check_test_set([one, "-"], has_source=True)
    check_test_set([one], has_source=False)
    for files, has_source, message in (
        ([one], True, "give two files"),
        ([one, one], False, "give one file, not 2"),
        (["-", "-"], True, "standard input can only be read once"),
        ([one, missing], True, "missing does not exist"),
    ):
        with pytest.raises(ClearheadError, match=message):
            check_test_set(files, has_source=has_source)
