"""The web pages as files in memory: each is put together once, from its HTML, the layout of all pages and its texts.

Results that are pages of their own (an explanation, a worksheet, a marked working, a practice sheet, a model card) are
shown in sandboxed frames, whose scripts are the files of those pages.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files

from clearhead.explain.page.page import SCRIPTS
from clearhead.quiz.page.markup import MARKING_SCRIPTS
from clearhead.worksheet.render.page import escape, package_file

LANGUAGES = {"en": "English", "es": "Español", "hi": "हिन्दी"}  # of the pages' texts, each by its own name
PAGES = {
    "/": "translate",
    "/why": "why",
    "/exercises": "exercises",
    "/models": "models",
}
PACKAGE = "clearhead.serve.pages"
_PLACEHOLDER = re.compile(r"\{\{([\w.]+)\}\}")
_MEDIA_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
# Packages whose files are loaded by pages in frames: their address is /static/ and the folder.
_FOLDERS = {
    "": PACKAGE,
    "sheet/": "clearhead.worksheet.render",
    "check/": "clearhead.check.render",
    "explain/": "clearhead.explain.page",
    "quiz/": "clearhead.quiz.page",
}

# Trusted types: a browser that knows them refuses every string as HTML, so that texts can only be shown as text.
_PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)
# The sandbox gives a frame an origin of its own: it can neither read the page around it nor call the API.
_FRAME_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'; sandbox allow-scripts allow-downloads"
)
_DIALOGS = " allow-modals"  # a practice sheet asks before it clears what was typed


@dataclass(frozen=True)
class Frame:
    """The files of a page that is shown in a sandboxed frame, by their addresses below /static/."""

    styles: tuple[str, ...]
    scripts: tuple[str, ...] = ()
    has_dialogs: bool = False


_MARKING = tuple(f"quiz/{name}" for name in MARKING_SCRIPTS)
_EXPLANATION = tuple(f"explain/{name}.js" for name in SCRIPTS)
FRAMES = {
    # live.js adds what needs the server; it comes before the last file, which puts the sections together
    "explanation": Frame(
        ("sheet/sheet.css", "explain/explain.css", "live.css"),
        ("sheet/keys.js", *_EXPLANATION[:-1], "live.js", _EXPLANATION[-1]),
    ),
    "worksheet": Frame(("sheet/sheet.css",), ("sheet/keys.js", "sheet/sheet.js")),
    "marks": Frame(("sheet/sheet.css", "check/report.css"), ("sheet/keys.js", "check/report.js")),
    # quiz.js gives the sheet a storage and a button; working.js, which restores the work, comes last
    "quiz": Frame(("sheet/sheet.css", "quiz/page.css"), (*_MARKING, "quiz.js", "quiz/working.js"), has_dialogs=True),
    "card": Frame(("card.css",)),
}


@dataclass(frozen=True)
class PageFile:
    """A file in memory, with the tag by which a browser asks whether its copy is still the same."""

    content: bytes
    media_type: str
    headers: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def tag(self) -> str:
        """The tag of the content, in the quotes that HTTP wants."""
        return f'"{hashlib.sha256(self.content).hexdigest()[:32]}"'


def catalogue_of(language: str) -> dict[str, str]:
    """Return all texts of the pages in a language, by their keys."""
    texts: dict[str, str] = json.loads(package_file(f"texts/{language}.json", PACKAGE))
    return texts


def make_page(name: str, language: str) -> PageFile:
    """Return a page in a language: `{{key}}` in its HTML is a text, which is escaped."""
    texts = catalogue_of(language)
    content = _filled(package_file(f"{name}.html", PACKAGE), {key: escape(text) for key, text in texts.items()})
    parts = {key: escape(text) for key, text in texts.items()} | {
        "language": language,
        "page": name,
        "title": escape(texts[f"{name}.title"]),
        "content": content,
        "navigation": "".join(_links(name, texts)),
        "languages": "".join(_choices(language)),
        # `<` is written as an escape, so that no text can end the element
        "texts": json.dumps(texts, separators=(",", ":")).replace("<", "\\u003c"),
    }
    page = _filled(package_file("layout.html", PACKAGE), parts)
    return PageFile(page.encode(), "text/html", {"Content-Security-Policy": _PAGE_POLICY, "X-Frame-Options": "DENY"})


def make_frame(frame: Frame) -> PageFile:
    """Return the empty page of a frame, which waits for its content."""
    styles = "".join(f'<link rel="stylesheet" href="/static/{name}">' for name in frame.styles)
    page = _filled(package_file("frame.html", PACKAGE), {"styles": styles, "scripts": " ".join(frame.scripts)})
    policy = _FRAME_POLICY + (_DIALOGS if frame.has_dialogs else "")
    return PageFile(page.encode(), "text/html", {"Content-Security-Policy": policy})


def static_files() -> dict[str, PageFile]:
    """Return the styles and scripts of all pages, by their addresses below /static/."""
    loaded = {}
    for folder, package in _FOLDERS.items():
        for entry in files(package).iterdir():
            suffix = entry.name[entry.name.rfind(".") :]
            if suffix in _MEDIA_TYPES:
                loaded[folder + entry.name] = PageFile(entry.read_bytes(), _MEDIA_TYPES[suffix])
    return loaded


def _filled(template: str, parts: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda match: parts[match[1]], template)


def _links(page: str, texts: Mapping[str, str]) -> Iterator[str]:
    for path, name in PAGES.items():
        current = ' aria-current="page"' if name == page else ""
        yield f'<li><a href="{path}"{current}>{escape(texts[f"navigation.{name}"])}</a></li>'


def _choices(language: str) -> Iterator[str]:
    for code, name in LANGUAGES.items():
        selected = " selected" if code == language else ""
        yield f'<option value="{code}" lang="{code}"{selected}>{name}</option>'
