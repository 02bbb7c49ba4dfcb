"""Fixtures of the tests in a real browser."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.browser import CHROMIUM, Desk
from tests.integration.served_pages import Visitor, served_site


# Not one for the session: playwright runs an event loop in this thread until it stops, and no test that comes
# between could use asyncio. A browser starts in about a second.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


@pytest.fixture
def desk(browser: Any, tmp_path: Path) -> Iterator[Desk]:
    new_desk = Desk(browser, tmp_path)
    yield new_desk
    for context in new_desk.contexts:
        context.close()
    assert new_desk.complaints == []
    assert new_desk.requests == []


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The address of a server with the built-in model."""
    pytest.importorskip("uvicorn", reason="the extra serve is not installed")
    with served_site() as address:
        yield address


@pytest.fixture
def visitor(browser: Any, site: str) -> Iterator[Visitor]:
    """Opens pages of the server; the browser has nothing to complain about, and loads nothing from elsewhere."""
    opened = Visitor(browser, site)
    yield opened
    for context in opened.contexts:
        context.close()
    assert opened.complaints == []
    assert opened.elsewhere == []
