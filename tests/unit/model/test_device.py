"""The device and memory settings of a model."""

import subprocess
import sys

import pytest
import torch

from clearhead.errors import ConfigError
from clearhead.model.device import choose_device, keep_freed_memory

_TOUCHED_AGAIN = """
import resource, torch
from clearhead.model.device import keep_freed_memory
kept = keep_freed_memory()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(40):
    torch.ones(2**23).sum()  # 32 MiB, freed at once
print(kept, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def test_memory_that_was_freed_is_used_again_without_asking_the_system_for_its_pages() -> None:
    output = subprocess.run([sys.executable, "-c", _TOUCHED_AGAIN], capture_output=True, text=True, check=True).stdout
    is_kept, num_faults = output.split()
    # 40 times 8,192 pages would be 327,680; this is only guaranteed with the GNU C library
    assert is_kept == "False" or int(num_faults) < 200_000


def test_a_system_without_the_option_is_not_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctypes.CDLL", lambda name: object())
    assert keep_freed_memory() is False


def test_a_missing_gpu_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == torch.device("cpu")
    with pytest.raises(ConfigError, match="PyTorch finds no GPU"):
        choose_device("cuda")
