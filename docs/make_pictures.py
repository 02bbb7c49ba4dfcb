"""Write the pictures of the README and the front page into docs/pictures, from the tool itself.

Run: python docs/make_pictures.py      (needs Chromium and the extra `dev`)
A worksheet and a marked working are photographed in a browser, in light and dark; the attention picture is
`clearhead solve --picture` of a trace that `examples/models/look_inside.py` wrote.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
SIZE = {"width": 440, "height": 440}  # CSS pixels: still readable at 270 pixels in the README


def clearhead(*arguments: str | Path, expected: int = 0) -> None:
    """Run a command of clearhead in the repository."""
    command = [sys.executable, "-m", "clearhead", *map(str, arguments)]
    status = subprocess.run(command, cwd=ROOT, check=False).returncode
    if status != expected:
        raise SystemExit(f"{' '.join(command)} ended with {status}, not {expected}")


def open_sum(page: Page) -> None:
    """Show the sum behind one score of the worksheet."""
    page.locator("figure[data-symbol=S] td[data-at='0,0']").focus()
    page.keyboard.press("Enter")
    page.locator("figure[data-symbol=K]").scroll_into_view_if_needed()
    page.evaluate(f"window.scrollTo(0, {top_of('figure[data-symbol=K]')})")


def show_error(page: Page) -> None:
    """Show the first error of a report, with the right sum beside the student's."""
    page.evaluate(f"window.scrollTo(0, {top_of('details')})")


def top_of(selector: str) -> str:
    """Return the JavaScript for the top of an element on the page, with a margin."""
    return f'document.querySelector("{selector}").getBoundingClientRect().top + window.scrollY - 60'


def photograph(browser: Browser, html: Path, name: str, prepare: Callable[[Page], None]) -> None:
    """Write NAME-light.png and NAME-dark.png of a page."""
    for scheme in ("light", "dark"):
        context = browser.new_context(viewport=SIZE, color_scheme=scheme, device_scale_factor=1.5)
        page = context.new_page()
        page.goto(html.as_uri())
        prepare(page)
        page.screenshot(path=PICTURES / f"{name}-{scheme}.png")
        context.close()


def main() -> None:
    """Write all pictures."""
    PICTURES.mkdir(exist_ok=True)
    trace = ROOT / "docs" / "inside" / "sentence-1-head.json"
    clearhead("solve", "--from-trace", trace, "--picture", "A", "-o", PICTURES / "attention.svg")
    with TemporaryDirectory() as folder, sync_playwright() as driver:
        sheet, report = Path(folder) / "sheet.html", Path(folder) / "report.html"
        clearhead("solve", "lets-go-encoder", "--detail", "products", "-o", sheet)
        clearhead("check", "examples/workings/two-slips.yaml", "--format", "html", "-o", report, expected=1)
        path = shutil.which("chromium") or shutil.which("google-chrome")
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        photograph(browser, sheet, "sheet", open_sum)
        photograph(browser, report, "marked", show_error)
        browser.close()


if __name__ == "__main__":
    main()
