"""The package run as a module."""

import subprocess
import sys

import clearhead
import clearhead.__main__


def test_python_minus_m_clearhead_is_the_command() -> None:
    command = [sys.executable, "-m", "clearhead", "--version"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    assert answer.stdout == f"clearhead {clearhead.__version__}\n"
    assert clearhead.__main__.main is not None
