"""The pages as files: languages, headers, tags, and texts that are all in the catalogues."""

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.resources import files

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from clearhead.retired import removed
from clearhead.serve import page_files, page_routes
from clearhead.serve.api_errors import ApiError, answer_api_error
from tests.unit.serve.small_app import served

SOURCES = {entry.name: entry.read_text("utf-8") for entry in files(page_files.PACKAGE).iterdir() if entry.is_file()}
CATALOGUES = {code: page_files.catalogue_of(code) for code in page_files.LANGUAGES}


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    app = FastAPI()
    app.include_router(page_routes.make_router())
    app.add_exception_handler(ApiError, answer_api_error)
    with TestClient(app) as opened:
        yield opened


@pytest.mark.parametrize("path", page_files.PAGES)
def test_a_page_has_a_strict_policy_and_loads_only_files_that_exist(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "frame-ancestors 'none'" in policy
    assert "require-trusted-types-for 'script'" in policy
    assert answer.headers["referrer-policy"] == "no-referrer"
    loaded = set(re.findall(r'(?:src|href)="(/static/[^"]+)"', answer.text))
    assert len(loaded) >= 4
    scripts = [name for name in loaded if name.endswith(".js")]
    while scripts:
        name = scripts.pop()
        script = client.get(name)
        assert (script.status_code, script.headers["content-type"]) == (200, "text/javascript; charset=utf-8"), name
        imported = {f"/static/{module}" for module in re.findall(r'(?:from|import) "\./([\w.]+)"', script.text)}
        scripts += imported - loaded
        loaded |= imported
    assert {client.get(name).status_code for name in loaded} == {200}
    assert not re.search(r"<script(?! type=)|style=|javascript:| on\w+=", answer.text)
    assert not re.search(r"https?://(?!www\.w3\.org/)", answer.text)


@pytest.mark.parametrize("name", page_files.FRAMES)
def test_a_frame_is_sandboxed_and_loads_only_files_that_exist(client: TestClient, name: str) -> None:
    answer = client.get(f"/frame/{name}")
    policy = answer.headers["content-security-policy"]
    frame = page_files.FRAMES[name]
    dialogs = " allow-modals" if name == "quiz" else ""
    assert policy.endswith(f"frame-ancestors 'self'; sandbox allow-scripts allow-downloads{dialogs}")
    assert "unsafe" not in policy
    assert "allow-same-origin" not in policy
    for path in (*frame.styles, *frame.scripts):
        assert client.get(f"/static/{path}").status_code == 200, path
        assert path in answer.text


def test_a_browser_that_has_a_file_gets_no_content_again(client: TestClient) -> None:
    for path in ("/", "/static/site.css", "/frame/card"):
        answer = client.get(path)
        assert answer.headers["cache-control"] == "no-cache"
        tag = answer.headers["etag"]
        same = client.get(path, headers={"If-None-Match": f'W/{tag}, "other"'})
        assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag)
        assert client.get(path, headers={"If-None-Match": '"other"'}).status_code == 200


@pytest.mark.parametrize(
    ("header", "cookie", "language"),
    [
        ("", None, "en"),
        ("es-MX,es;q=0.9,en;q=0.8", None, "es"),
        ("de, fr;q=0.9, hi;q=0.5, es;q=0.4", None, "hi"),
        ("en;q=0.3, es;q=0.7", None, "es"),
        ("es;q=0, de", None, "en"),
        ("es;q=much, *", None, "en"),
        ("es", "hi", "hi"),
        ("es", "xx", "es"),
    ],
)
def test_the_language_is_the_chosen_one_else_that_of_the_browser(
    client: TestClient, header: str, cookie: str | None, language: str
) -> None:
    headers = {"Accept-Language": header}
    if cookie:
        headers["Cookie"] = f"{page_routes.LANGUAGE_COOKIE}={cookie}"
    answer = client.get("/", headers=headers)
    assert f'<html lang="{language}">' in answer.text
    assert CATALOGUES[language]["translate.placeholder"] in answer.text
    assert f'<option value="{language}" lang="{language}" selected>' in answer.text
    assert answer.headers["vary"] == "Accept-Language, Cookie"


@pytest.mark.parametrize(
    "path",
    ["/static/../page_routes.py", "/static/%2e%2e/page_routes.py", "/static/texts/en.json", "/static/page.py",
     "/static/explain/page.py", "/static//etc/passwd", "/frame/none", "/frame/..%2fsite.css"],
)  # fmt: skip
def test_other_files_cannot_be_asked_for(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert "def " not in answer.text
    if path == "/frame/none":
        assert answer.json() == {"error": "there is no page or file 'none'."}


@pytest.mark.parametrize("path", ["/practice", "/translator/translate", "/v1/files", "/v1/alternatives"])
def test_an_address_of_an_earlier_version_is_answered_by_what_to_use_instead(path: str) -> None:
    with served() as client:
        answer = client.get(path)
    assert answer.status_code == 404
    assert answer.json() == {"error": removed(path)}


# ---- texts ----


def test_all_catalogues_have_the_same_keys_and_the_same_places_for_values() -> None:
    english = CATALOGUES["en"]
    for code, texts in CATALOGUES.items():
        assert list(texts) == list(english), code
        for key, text in texts.items():
            assert sorted(re.findall(r"\{\w+\}", text)) == sorted(re.findall(r"\{\w+\}", english[key])), (code, key)
            assert text.strip() == text != "", (code, key)
    same = {key for key in english if english[key] == CATALOGUES["es"][key]} - {"exercises.text"}
    assert {key.partition("_")[0] for key in same} <= {"why.example"}  # sentences to be translated from English


def test_the_catalogues_are_written_as_json_writes_them() -> None:
    for code, texts in CATALOGUES.items():
        written = (files(page_files.PACKAGE) / "texts" / f"{code}.json").read_text("utf-8")
        assert written == json.dumps(texts, indent=2, ensure_ascii=False) + "\n"


def test_every_text_is_used_and_every_used_text_exists() -> None:
    used = set()
    for name, source in SOURCES.items():
        if name.endswith(".html"):
            used |= set(re.findall(r"\{\{(\w+\.\w+)\}\}", source))
        elif name == "live.js":
            arguments = " ".join(re.findall(r"(?:liveText|line)\(([^,)]*)", source))
            used |= {f"live.{key}" for key in re.findall(r'"(\w+)"', arguments)}
        else:
            used |= set(re.findall(r'"([a-z]+\.\w+)"', source))
    used |= {f"navigation.{name}" for name in page_files.PAGES.values()}
    used |= {f"{name}.title" for name in page_files.PAGES.values()}
    unknown = {key for key in used if key.partition(".")[0] in {known.partition(".")[0] for known in CATALOGUES["en"]}}
    assert set(CATALOGUES["en"]) - used == set()
    assert unknown - set(CATALOGUES["en"]) == set()


class _Texts(HTMLParser):
    """Collects what a reader sees or hears of a page: texts, and attributes that are read aloud or shown."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        shown = ("aria-label", "aria-description", "alt", "title", "placeholder", "data-second")
        self.found += [value or "" for name, value in attrs if name in shown]

    def handle_data(self, data: str) -> None:
        self.found.append(data)


@pytest.mark.parametrize("name", [name for name in SOURCES if name.endswith(".html")])
def test_the_html_of_the_pages_has_no_text_of_its_own(name: str) -> None:
    reader = _Texts()
    reader.feed(SOURCES[name])
    texts = {re.sub(r"\{\{[\w.]+\}\}", "", text).strip(" ·\n") for text in reader.found}
    formats = {"YAML", "Markdown", "LaTeX", "CSV", "TSV", "TXT", "HTML", "JSON"}
    assert texts <= {"", "clearhead", *formats}
