"""Write the pictures of the web pages into docs/pictures, from `clearhead serve` with the built-in model.

Run: python docs/make_server_pictures.py      (needs Chromium and the extra `dev`)
"""

import shutil
import socket
import threading
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from urllib.parse import urlencode

import uvicorn
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from clearhead.serve.app import create_app
from clearhead.serve.server import Server
from clearhead.serve.settings import ServeSettings

PICTURES = Path(__file__).parent / "pictures"
SIZE = {"width": 1100, "height": 745}  # CSS pixels
SHARPNESS = 1.25  # pixels of a picture for a CSS pixel
NUM_COLOURS = 256  # a picture of a page has few, and is a third as large with them
WAIT = 60_000  # milliseconds


def open_why(page: Page, base: str) -> None:
    """Explain a sentence, and select the word that depends on its meaning."""
    sentence = {"text": "The old man went to the bank to get some money.", "source": "en", "target": "es"}
    page.goto(f"{base}/why#{urlencode(sentence)}")
    page.wait_for_selector("#result[data-shown]", timeout=WAIT)
    frame = page.frame_locator("#result iframe")
    frame.get_by_role("button", name="word 5: banco").click()
    page.mouse.move(1, 1)
    frame.locator("html").evaluate("(page) => page.scrollTo(0, 0)")
    page.wait_for_timeout(500)  # the ribbons fade in


def open_translate(page: Page, base: str) -> None:
    """Translate a text, and point at a word."""
    page.goto(f"{base}/#{urlencode({'text': 'The children play in the garden. It is late.', 'target': 'es'})}")
    page.get_by_text("juegan", exact=True).hover(timeout=WAIT)


def open_exercise(page: Page, base: str) -> None:
    """Show a problem as a form, beside its solution."""
    page.goto(f"{base}/exercises")
    page.wait_for_selector("#sheet[data-shown]", timeout=WAIT)


def write_picture(page: Page, name: str) -> None:
    """Write a picture of the window as a small PNG file."""
    picture = Image.open(BytesIO(page.screenshot())).convert("RGB")
    picture.quantize(NUM_COLOURS, method=Image.Quantize.MEDIANCUT, kmeans=2, dither=Image.Dither.NONE).save(
        PICTURES / f"{name}.png", optimize=True
    )


def photograph(base: str) -> None:
    """Write every picture in light and dark."""
    views: dict[str, Callable[[Page, str], None]] = {
        "why": open_why,
        "translate": open_translate,
        "exercises": open_exercise,
    }
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            context = browser.new_context(
                viewport=SIZE, device_scale_factor=SHARPNESS, color_scheme=scheme, locale="en", reduced_motion="reduce"
            )
            for name, prepare in views.items():
                page = context.new_page()
                prepare(page, base)
                write_picture(page, f"{name}-{scheme}")
                page.close()
        browser.close()


def main() -> None:
    """Start a server on a free port, and write the pictures."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(create_app(Server(ServeSettings(log="off"))), log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            photograph(f"http://127.0.0.1:{listener.getsockname()[1]}")
        finally:
            server.should_exit = True
            thread.join()


if __name__ == "__main__":
    main()
