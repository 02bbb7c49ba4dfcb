"""Documents over HTTP: LibreTranslate's call, and uploads that are refused or deleted."""

import asyncio
import io
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from clearhead.serve.api_errors import ApiError
from clearhead.serve.document_translation import DocumentTarget, aligned, document_formats, translate_file
from clearhead.serve.files_api import TranslatedFiles, Upload, result_name
from clearhead.serve.request_body import read_form
from clearhead.serve.server import Server
from clearhead.serve.settings import LimitSettings, ServeSettings
from clearhead.serve.tickets import Client
from clearhead.serve.translation_task import TextLines, TranslatedText
from tests.unit.serve.small_app import served

EXTENSIONS = ", ".join(document_formats())
MARKDOWN = b"# My house\n\nI have a **big** house.\n\n```\nmy code\n```\n"


def upload(client: TestClient, name: str, content: bytes, **fields: str) -> Any:
    fields = {"source": "en", "target": "es", **fields}
    return client.post("/translate_file", data=fields, files={"file": (name, content)})


def downloaded(client: TestClient, name: str, content: bytes, **fields: str) -> Any:
    """Translate a document, and return its download."""
    return client.get(upload(client, name, content, **fields).json()["translatedFileUrl"])


def test_a_document_of_libretranslate_is_downloaded_once(translating: TestClient) -> None:
    answer = upload(translating, "../../my house.txt", b"Let's go\n\nHow are you?\n")
    assert answer.status_code == 200, answer.text
    address = answer.json()["translatedFileUrl"]
    download = translating.get(address)
    assert download.text == "Vamos\n\n¿Cómo estás?\n"
    assert download.headers["content-disposition"] == (
        "attachment; filename=\"my house.es.txt\"; filename*=UTF-8''my%20house.es.txt"
    )
    assert download.headers["content-type"] == "application/octet-stream"
    assert translating.get(address).status_code == 404


@pytest.mark.parametrize(
    ("name", "fields", "sentence"),
    [
        ("a.exe", {}, f"Invalid request: file format not supported. Extensions: {EXTENSIONS}."),
        ("a.txt", {"source": ""}, "Invalid request: missing source parameter"),
        ("a.txt", {"target": ""}, "Invalid request: missing target parameter"),
        ("a.txt", {"target": "xx"}, "xx is not supported. Languages: en, es, hi, bn."),
        ("a.txt", {"source": "auto", "target": "xx"}, "xx is not supported. Languages: en, es, hi, bn."),
    ],
)
def test_a_wrong_document_has_the_sentence_of_libretranslate(
    translating: TestClient, name: str, fields: dict[str, str], sentence: str
) -> None:
    answer = upload(translating, name, b"a", **fields)
    assert (answer.status_code, answer.json()) == (400, {"error": sentence})
    answer = translating.post("/translate_file", data={"source": "en"}, files={"other": b"x"})
    assert answer.json() == {"error": "Invalid request: missing file parameter"}


def test_the_language_of_a_document_is_detected(translating: TestClient) -> None:
    download = downloaded(translating, "a.txt", "¿Dónde está la casa?".encode(), source="auto", target="en")
    assert download.text == "Where is the house?"


def test_a_document_in_the_target_language_is_unchanged(translating: TestClient) -> None:
    for source in ("auto", "es"):
        download = downloaded(translating, "año.md", "# ¿Dónde está **la casa**?\n".encode(), source=source)
        assert download.text == "# ¿Dónde está **la casa**?\n"
        assert "filename=\"a_o.es.md\"; filename*=UTF-8''a%C3%B1o" in download.headers["content-disposition"]
    assert upload(translating, "a.txt", b"Vamos", source="es").status_code == 200


def test_a_body_that_is_no_form_is_415(translating: TestClient) -> None:
    answer = translating.post("/translate_file", content=b"{}", headers={"content-type": "application/json"})
    assert answer.status_code == 415
    assert answer.json() == {"error": "send the document as a form: multipart/form-data with a field `file`."}


def test_markdown_keeps_its_form(translating: TestClient) -> None:
    text = downloaded(translating, "a.md", MARKDOWN).text
    assert text.startswith("# Mi casa\n")
    assert "**" in text
    assert "```\nmy code\n```" in text


def test_notes_about_a_document_are_in_the_answer(translating: TestClient) -> None:
    answer = upload(translating, "a.txt", b"[MUSIC] JOHN: I love you.").json()
    assert "A word that the model has hardly seen: '[MUSIC]' (8 pieces)." in answer["notes"]


@pytest.mark.parametrize("name", ["a.docx", "a.html", "a.srt"])
def test_a_damaged_document_is_one_sentence(translating: TestClient, name: str) -> None:
    answer = upload(translating, name, b"\xff\xfe\x00\x01 no document")
    if answer.status_code != 200:  # lenient formats read anything
        assert answer.status_code == 400
        assert "log of the server" not in answer.json()["error"]


def test_a_zip_bomb_in_a_word_document_is_refused(translating: TestClient) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("[Content_Types].xml", "word/document.xml"):
            archive.writestr(name, b"<a>" + b" " * 200_000_000)
    assert upload(translating, "a.docx", content.getvalue()).status_code == 400


def test_a_fault_while_a_document_is_translated_is_not_described_and_frees_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fail(*arguments: object) -> bytes:
        raise ValueError("secret")

    monkeypatch.setattr("clearhead.serve.files_api.translate_file", fail)
    with served({"limits": {"files": 1}}) as client:
        for _ in range(2):
            answer = upload(client, "a.txt", b"Let's go")
            sentence = "the document cannot be translated. The log of the server says where it failed."
            assert (answer.status_code, answer.json()) == (400, {"error": sentence})


def test_a_document_that_is_too_large_or_one_too_many_is_refused() -> None:
    with served({"limits": {"file_bytes": 3000, "files": 1}}) as client:
        assert upload(client, "a.txt", b"x" * 5000).status_code == 413
        assert upload(client, "a.txt", b"Let's go").status_code == 200
        answer = upload(client, "b.txt", b"Let's go")
        assert answer.status_code == 503
        assert answer.json() == {"error": "1 documents are being translated. Try again later."}
        assert answer.headers["retry-after"] == "30"


def test_a_document_has_a_time_limit_of_its_own() -> None:
    with served({"queue": {"time_limit": 0.001}, "limits": {"file_time_limit": 60}}) as client:
        assert upload(client, "a.txt", b"Let's go").status_code == 200
        answer = client.post("/translate", json={"q": "<p>House</p>", "format": "html", "source": "en", "target": "es"})
        sentence = "the request took longer than the limit of 0.001 s. Send less text."
        assert (answer.status_code, answer.json()) == (504, {"error": sentence})
    with served({"limits": {"file_time_limit": 0.001}}) as client:
        answer = upload(client, "a.txt", b"Let's go")
        assert answer.status_code == 504
        sentence = "the document took longer than the limit of 0.001 s (limits.file_time_limit). Divide it."
        assert answer.json() == {"error": sentence}


def test_a_document_whose_client_has_gone_is_not_translated_to_its_end() -> None:
    content = "\n".join(f"I have {number} books." for number in range(2, 199)).encode()

    async def num_translated() -> int:
        server, pieces = Server(ServeSettings(log="off")), []
        translate = server.batcher.translate

        async def translate_piece(task: Any, sentences: Any, *arguments: Any) -> Any:
            pieces.append(len(sentences))
            return await translate(task, sentences, *arguments)

        async def is_gone() -> bool:
            return len(pieces) > 1

        server.batcher.translate = translate_piece  # type: ignore[method-assign]
        target = DocumentTarget(server, "en", "es", client=Client("a", is_gone))
        with pytest.raises(ApiError, match="the document is not wanted any more.|the client closed the connection"):
            await translate_file(target, "a.txt", content)
        await server.stop()
        return sum(pieces)

    assert asyncio.run(num_translated()) == 32


def test_a_client_that_has_gone_keeps_one_thread_and_others_are_served() -> None:
    """Reading a document cannot be interrupted; meanwhile the other documents of this client wait."""
    running: list[str] = []
    free = threading.Event()

    def read_slowly(content: bytes, *_: Any, **__: Any) -> bytes:
        running.append(content.decode())
        assert free.wait(60) or content == b"other"
        return content

    async def translate() -> None:
        server = Server(ServeSettings(log="off"))
        greedy, other = (DocumentTarget(server, "en", "es", client=Client(name)) for name in ("greedy", "other"))
        given_up = [
            asyncio.create_task(translate_file(greedy, "a.txt", f"greedy {number}".encode())) for number in (1, 2)
        ]
        while not running:
            await asyncio.sleep(0.01)
        for task in given_up:
            task.cancel()
        later = asyncio.create_task(translate_file(greedy, "a.txt", b"greedy 3"))
        beside = asyncio.create_task(translate_file(other, "a.txt", b"other"))
        while len(running) < 2:
            await asyncio.sleep(0.01)
        assert running == ["greedy 1", "other"]
        free.set()
        assert await asyncio.gather(later, beside) == [b"greedy 3", b"other"]
        assert running == ["greedy 1", "other", "greedy 3"]
        await server.stop()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clearhead.documents.translate_document", read_slowly)
        asyncio.run(translate())


def test_uploads_leave_no_file(translating: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert downloaded(translating, "a.txt", b"Let's go" + b"\n" * 1_500_000).status_code == 200
    assert list(tmp_path.iterdir()) == []


def test_translated_documents_expire_and_those_that_are_being_translated_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    files = TranslatedFiles(LimitSettings(file_minutes=3, files=2))
    translated, other = files.add("a.txt"), files.add("b.txt")
    translated.finish(b"")
    late = time.monotonic() + 181
    monkeypatch.setattr("clearhead.serve.files_api.time.monotonic", lambda: late)
    with pytest.raises(ApiError, match="there is no such document"):
        files.take(translated.id)
    other.finish(b"b")
    assert files.take(other.id).content == b"b"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("report.docx", "report.es.docx"),
        ("../../etc/passwd.txt", "passwd.es.txt"),
        ("C:\\x\\y.md", "y.es.md"),
        (".txt", "txt.es"),
        ("a\nb\u202e.txt", "a\\nb\\u202e.es.txt"),
        ("a" * 300 + ".txt", "a" * 100 + ".es.txt"),
    ],
)
def test_the_name_of_a_result_has_no_folders_and_no_control_characters(name: str, expected: str) -> None:
    assert result_name(name, "es") == expected


def test_a_translation_without_an_alignment_has_no_links() -> None:
    assert aligned(TranslatedText(TextLines.of(""))).links == ()
    assert Upload("a", b"", {}).fields == {}
    assert read_form.__doc__
