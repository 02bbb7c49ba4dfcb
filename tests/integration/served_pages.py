"""What the tests of the web pages share: a server with the built-in model, and a visitor who opens its pages."""

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.integration.browser import serious_faults

SENTENCE = "The black dog runs."
SECONDS = 60_000  # milliseconds that an explanation may take on a busy machine
BAD = '<img src=x onerror="top.hacked=1;window.hacked=1"><script>window.hacked=1</script>'
_WATCH = """
  addEventListener("securitypolicyviolation", (event) => {
    console.error("policy:", event.violatedDirective, event.blockedURI);
  });
"""


@contextmanager
def served_site() -> Iterator[str]:
    """Serve the built-in model on a free port, in a thread, and yield the address."""
    import uvicorn

    from clearhead.serve.app import create_app
    from clearhead.serve.server import Server
    from clearhead.serve.settings import ServeSettings

    with socket.create_server(("127.0.0.1", 0)) as listener:
        app = create_app(Server(ServeSettings(log="off")))
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=5))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join()


class Visitor:
    """Opens pages of the server, and records what the browser complains about and what is loaded from elsewhere."""

    def __init__(self, browser: Any, base: str) -> None:
        self.browser, self.base = browser, base
        self.complaints: list[str] = []
        self.elsewhere: list[str] = []
        self.contexts: list[Any] = []
        self.are_errors_expected = False

    def open(self, path: str, *, is_ready: bool = True, **options: Any) -> Any:
        size = {"width": 1280, "height": 800}
        usual = {"viewport": size, "locale": "en-GB", "reduced_motion": "reduce"}
        context = self.browser.new_context(**{**usual, **options})
        context.add_init_script(_WATCH)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: self.note(message.text))
        page.on("pageerror", lambda error: self.note(str(error)))

        def refuse(route: Any) -> None:
            self.elsewhere.append(route.request.url)
            route.abort()

        page.route(re.compile(rf"^(?!{re.escape(self.base)}|blob:|about:)"), refuse)
        page.goto(self.base + path)
        if is_ready:
            page.wait_for_selector("body[data-ready]")
        return page

    def note(self, complaint: str) -> None:
        if not (self.are_errors_expected and complaint.startswith("Failed to load resource")):
            self.complaints.append(complaint)


def frame_of(page: Any, box: str, number: int = 1) -> Any:
    """Return the document in the frame of a box, when it has been drawn once, or twice …, or more often meanwhile."""
    fewer = "".join(f":not([data-shown='{count}'])" for count in range(number))
    page.wait_for_selector(f"{box}[data-shown]{fewer} iframe:not(.waiting)", timeout=SECONDS)
    return page.locator(f"{box} iframe:not(.waiting)").element_handle().content_frame()


def focused(page: Any) -> str:
    return str(page.evaluate("document.activeElement.id || document.activeElement.textContent"))


def tab_to(page: Any, id_: str, most: int = 40) -> None:
    """Press Tab until an element has the focus, as a person without a mouse does."""
    for _ in range(most):
        if page.evaluate("document.activeElement.id") == id_:
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{most} times Tab did not reach #{id_}, but {focused(page)}")


def faults_in(frame: Any) -> list[tuple[str, str]]:
    """Return what axe finds in a frame, where it must not load the styles again: the policy allows no requests."""
    return serious_faults(frame, {"resultTypes": ["violations"], "preload": False})
