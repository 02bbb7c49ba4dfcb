"""What the tests of pages in a real browser share: opening a page, and the faults that axe finds."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from clearhead import Worksheet

CHROMIUM = shutil.which("chromium")
IN_BROWSER = [
    pytest.mark.browser,
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
]
SCREENS = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]  # a desktop and a phone


class Desk:
    """Opens pages, and records the browser's errors and network requests."""

    def __init__(self, browser: Any, folder: Path) -> None:
        self.browser, self.folder = browser, folder
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.contexts: list[Any] = []

    def open(self, sheet: Worksheet, detail: Any = "products", blanks: tuple[str, ...] = (), **options: Any) -> Any:
        return self.show(sheet.to_html(detail, blanks), **options)

    def show(self, text: str, **options: Any) -> Any:
        path = self.folder / "page.html"
        path.write_text(text, encoding="utf-8")
        context = self.browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        self.contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

        def refuse(route: Any) -> None:
            self.requests.append(route.request.url)
            route.abort()

        page.route(re.compile(r"^(?!file:)"), refuse)
        page.goto(path.as_uri())
        return page


def serious_faults(page: Any, options: dict[str, Any] | None = None) -> list[tuple[str, str]]:
    """Return the serious and critical faults that axe finds on a page: the rule, and the first element."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    violations = axe.Axe().run(page, options=options or axe.DEFAULT_OPTIONS).response["violations"]
    return [
        (fault["id"], fault["nodes"][0]["html"][:200])
        for fault in violations
        if fault["impact"] in ("serious", "critical")
    ]
