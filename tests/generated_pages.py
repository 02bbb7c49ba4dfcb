"""The pages of the documentation that are generated, as they are now; a page is generated once in a process."""

import runpy
from collections.abc import Callable
from functools import cache
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "docs" / "generated.py"


@cache
def makers() -> dict[str, Callable[[], str]]:
    """Return for each generated page, relative to docs/, the function that returns its text."""
    pages: dict[str, Callable[[], str]] = runpy.run_path(str(SCRIPT))["pages"]()
    return pages


@cache
def generated_page(name: str) -> str:
    """Return the text of a generated page, for example guide/config.md."""
    return makers()[name]()
