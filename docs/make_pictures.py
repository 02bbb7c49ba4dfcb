"""Write the pictures of the README and the front page into docs/pictures, from the tool itself.

Run: python docs/make_pictures.py      (needs Chromium and the extra `dev`)
Each is a part of a page that `clearhead solve`, `check` or `explain` writes, in a browser, in light and dark. The trace
of the trained model is one of those that `examples/models/look_inside.py` wrote.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from generated import page_of_explanation
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
NARROW, WIDE = 480, 556  # CSS pixels: still readable at 270 pixels in the README
PAGE = 1000  # CSS pixels of a picture that fills the page of a guide
ASPECT = 0.78  # height by width


def clearhead(*arguments: str | Path, expected: int = 0) -> None:
    """Run a command of clearhead in the repository."""
    command = [sys.executable, "-m", "clearhead", *map(str, arguments)]
    status = subprocess.run(command, cwd=ROOT, check=False).returncode
    if status != expected:
        raise SystemExit(f"{' '.join(command)} ended with {status}, not {expected}")


def open_sum(page: Page) -> str:
    """Show the sum behind one score of the worksheet; return the selector of what to photograph."""
    page.locator("figure[data-symbol=S] td[data-at='0,0']").focus()
    page.keyboard.press("Enter")
    return "article.step:has(figure[data-symbol=S])"


def open_error(page: Page) -> str:
    """Show the details of the first wrong number of a report; return the selector of what to photograph."""
    page.locator("article.step table[aria-label=S] td.wrong").first.click()
    return "article.step:has(table[aria-label=S])"


def open_attention(page: Page) -> str:
    """Return the selector of the attention weights that a head's page starts with."""
    return "section.overview .shelf"


def open_translation(page: Page) -> str:
    """Wait for the page of an explanation; return the selector of what it starts with."""
    page.wait_for_selector("body[data-ready]")
    return "header"


def photograph(browser: Browser, html: Path, name: str, width: int, prepare: Callable[[Page], str]) -> None:
    """Write NAME-light.png and NAME-dark.png, the part of a page that `prepare` opens."""
    for scheme in ("light", "dark"):
        context = browser.new_context(
            viewport={"width": width, "height": 2000}, color_scheme=scheme, device_scale_factor=1.5
        )
        page = context.new_page()
        page.goto(html.as_uri())
        box = page.locator(prepare(page)).bounding_box()
        assert box is not None, f"{name}: nothing to photograph"
        clip = {"x": 0, "y": box["y"] - 8, "width": width, "height": ASPECT * width}
        page.screenshot(path=PICTURES / f"{name}-{scheme}.png", clip=clip)
        context.close()


def main() -> None:
    """Write all pictures."""
    PICTURES.mkdir(exist_ok=True)
    trace = ROOT / "docs" / "inside" / "sentence-1-head.json"
    with TemporaryDirectory() as folder, sync_playwright() as driver:
        sheet, report, head, explanation = (
            Path(folder) / f"{name}.html" for name in ("sheet", "report", "head", "explanation")
        )
        clearhead("solve", "lets-go-encoder", "--detail", "products", "-o", sheet)
        clearhead("check", "examples/workings/two-slips.yaml", "-o", report, expected=1)
        clearhead("solve", "--from-trace", trace, "-o", head)
        path = shutil.which("chromium") or shutil.which("google-chrome")
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        photograph(browser, sheet, "sheet", NARROW, open_sum)
        photograph(browser, report, "marked", NARROW, open_error)
        photograph(browser, head, "attention", WIDE, open_attention)
        data = ROOT / "docs" / "inside" / "explanation.json"
        explanation.write_text(page_of_explanation(data), encoding="utf-8")
        photograph(browser, explanation, "explanation", PAGE, open_translation)
        browser.close()


if __name__ == "__main__":
    main()
