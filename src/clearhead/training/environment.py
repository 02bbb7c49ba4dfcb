"""The environment of a run: versions, commit, hardware. It is recorded so that the run can be reproduced."""

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from clearhead import __version__

_PACKAGES = ("torch", "numpy", "sentencepiece", "sacrebleu", "safetensors", "pydantic", "PyYAML")


def describe_environment(seed: int) -> dict[str, Any]:
    """Return the versions, commit and hardware of this process as plain data."""
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "clearhead": __version__,
        "commit": _commit(Path(__file__).parent),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "memory_gib": _memory(),
        "gpus": [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())],
        "cuda": torch.version.cuda,
        "seed": seed,
        "command": sys.argv[1:],
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _commit(folder: Path) -> str | None:
    """Return the commit of the checkout that clearhead runs from, with + if files are modified; None if installed."""
    ask = ["git", "-C", str(folder)]
    try:
        # An installed package can be inside an unrelated checkout, so check that the file itself is tracked.
        subprocess.run(
            [*ask, "ls-files", "--error-unmatch", "environment.py"], check=True, capture_output=True, timeout=9
        )
        describe = [*ask, "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty=+"]  # without names of tags
        return subprocess.run(describe, check=True, capture_output=True, text=True, timeout=9).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def _memory() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, ValueError, OSError):
        return None
