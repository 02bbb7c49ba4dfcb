"""What tests share: every worksheet that the project ships, worked once."""

import os
from pathlib import Path

# Before torch or numpy is loaded: tests run one to a core, and threads of several processes would fight for them.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest

from clearhead import Worksheet, solve
from clearhead.worksheet.reading import gallery

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted(path for path in (ROOT / "examples").iterdir() if path.is_file())
SHIPPED = [*gallery(), *(str(path) for path in EXAMPLES)]


@pytest.fixture(scope="session")
def all_sheets() -> dict[str, Worksheet]:
    """Every gallery problem and every example, solved."""
    return {name: solve(name) for name in SHIPPED}
