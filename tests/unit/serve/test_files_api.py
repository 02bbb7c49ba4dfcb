"""Documents over HTTP: LibreTranslate's call, ours with events, and uploads that are refused or deleted."""

import asyncio
import io
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from clearhead.serve.api_errors import ApiError
from clearhead.serve.document_translation import DocumentTarget, aligned, document_formats, translate_file
from clearhead.serve.file_jobs import FileJob, FileJobs, result_name
from clearhead.serve.files_api import Upload
from clearhead.serve.request_fields import read_form
from clearhead.serve.server import Server
from clearhead.serve.settings import LimitSettings, ServeSettings
from clearhead.serve.translation_task import TextLines, TranslatedText
from tests.unit.serve.small_app import served

MARKDOWN = b"# My house\n\nI have a **big** house.\n\n```\nmy code\n```\n"


def upload(client: TestClient, path: str, name: str, content: bytes, **fields: str) -> Any:
    fields = {"source": "en", "target": "es", **fields}
    return client.post(path, data=fields, files={"file": (name, content)})


def finished(client: TestClient, name: str, content: bytes, **fields: str) -> Any:
    """Translate a document by our own calls, and return its download."""
    job = upload(client, "/v1/files", name, content, **fields).json()
    client.get(job["events"])
    return client.get(job["download"])


def test_a_document_of_libretranslate_is_downloaded_once(translating: TestClient) -> None:
    answer = upload(translating, "/translate_file", "../../my house.txt", b"Let's go\n\nHow are you?\n")
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
        ("a.exe", {}, "Invalid request: file format not supported"),
        ("a.txt", {"source": ""}, "Invalid request: missing source parameter"),
        ("a.txt", {"target": ""}, "Invalid request: missing target parameter"),
        ("a.txt", {"target": "xx"}, "xx is not supported. Languages: en, es, hi, bn."),
        ("a.txt", {"source": "auto", "target": "xx"}, "xx is not supported. Languages: en, es, hi, bn."),
    ],
)
def test_a_wrong_document_has_the_sentence_of_libretranslate(
    translating: TestClient, name: str, fields: dict[str, str], sentence: str
) -> None:
    answer = upload(translating, "/translate_file", name, b"a", **fields)
    assert (answer.status_code, answer.json()) == (400, {"error": sentence})
    answer = translating.post("/translate_file", data={"source": "en"}, files={"other": b"x"})
    assert answer.json() == {"error": "Invalid request: missing file parameter"}


def test_events_report_the_progress_and_markdown_keeps_its_form(translating: TestClient) -> None:
    job = upload(translating, "/v1/files", "a.md", MARKDOWN).json()
    events = translating.get(job["events"])
    assert events.headers["content-type"].startswith("text/event-stream")
    blocks = events.text.split("\n\n")[:-1]
    assert all(block.startswith("event: progress\ndata: {") for block in blocks[:-1])
    assert blocks[-1] == 'event: done\ndata: {"notes":[]}'
    assert '"done":2,"total":2' in blocks[-2]
    text = translating.get(job["download"]).text
    assert text.startswith("# Mi casa\n")
    assert "**" in text
    assert "```\nmy code\n```" in text


def test_notes_about_a_document_are_in_the_last_event(translating: TestClient) -> None:
    job = upload(translating, "/v1/files", "a.txt", b"[MUSIC] JOHN: I love you.").json()
    assert "A word that the model has hardly seen: '[MUSIC]' (8 pieces)." in translating.get(job["events"]).text


def test_the_language_of_a_document_is_detected(translating: TestClient) -> None:
    download = finished(translating, "a.txt", "¿Dónde está la casa?".encode(), source="auto", target="en")
    assert download.text == "Where is the house?"


def test_a_document_in_the_target_language_is_unchanged(translating: TestClient) -> None:
    for source in ("auto", "es"):
        download = finished(translating, "año.md", "# ¿Dónde está **la casa**?\n".encode(), source=source)
        assert download.text == "# ¿Dónde está **la casa**?\n"
        assert "filename=\"a_o.es.md\"; filename*=UTF-8''a%C3%B1o" in download.headers["content-disposition"]
    assert upload(translating, "/translate_file", "a.txt", b"Vamos", source="es").status_code == 200


@pytest.mark.parametrize("path", ["/v1/files", "/translate_file"])
def test_a_body_that_is_no_form_is_415(translating: TestClient, path: str) -> None:
    answer = translating.post(path, content=b"{}", headers={"content-type": "application/json"})
    assert answer.status_code == 415
    assert answer.json() == {"error": "send the document as a form: multipart/form-data with a field `file`."}


def test_a_format_that_is_not_translated_is_415(translating: TestClient) -> None:
    answer = upload(translating, "/v1/files", "a.exe", b"x")
    assert answer.status_code == 415
    assert answer.json()["error"].startswith("documents of this kind are not translated. Extensions: .txt, .md")
    assert ".docx" in document_formats()


@pytest.mark.parametrize("name", ["a.docx", "a.html", "a.srt", "a.po"])
def test_a_damaged_document_is_an_event_with_one_sentence(translating: TestClient, name: str) -> None:
    job = upload(translating, "/v1/files", name, b"\xff\xfe\x00\x01 no document").json()
    last = translating.get(job["events"]).text.split("\n\n")[-2]
    if last.startswith("event: error"):
        assert translating.get(job["download"]).status_code == 400
        assert "log of the server" not in last
    else:  # lenient formats read anything
        assert translating.get(job["download"]).status_code == 200


def test_a_zip_bomb_in_a_word_document_is_refused(translating: TestClient) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("[Content_Types].xml", "word/document.xml"):
            archive.writestr(name, b"<a>" + b" " * 200_000_000)
    job = upload(translating, "/v1/files", "a.docx", content.getvalue()).json()
    assert "event: error\n" in translating.get(job["events"]).text


def test_a_deleted_document_is_gone(translating: TestClient) -> None:
    job = upload(translating, "/v1/files", "a.txt", b"Let's go").json()
    assert translating.delete(job["download"]).json() == {"deleted": True}
    for path in (job["events"], job["download"]):
        assert translating.get(path).json() == {
            "error": "there is no such document, or it was downloaded or deleted already."
        }


def test_a_document_that_is_too_large_or_one_too_many_is_refused() -> None:
    with served({"limits": {"file_bytes": 3000, "files": 1}}) as client:
        assert upload(client, "/v1/files", "a.txt", b"x" * 5000).status_code == 413
        assert upload(client, "/v1/files", "a.txt", b"Let's go").status_code == 200
        answer = upload(client, "/v1/files", "b.txt", b"Let's go")
        assert answer.status_code == 503
        assert answer.json() == {"error": "1 documents are being translated. Try again later."}
        assert answer.headers["retry-after"] == "30"


def test_a_document_has_a_time_limit_of_its_own() -> None:
    with served({"queue": {"time_limit": 0.001}, "limits": {"file_time_limit": 60}}) as client:
        assert upload(client, "/translate_file", "a.txt", b"Let's go").status_code == 200
        answer = client.post("/translate", json={"q": "<p>House</p>", "format": "html", "source": "en", "target": "es"})
        sentence = "the request took longer than the limit of 0.001 s. Send less text."
        assert (answer.status_code, answer.json()) == (504, {"error": sentence})
    with served({"limits": {"file_time_limit": 0.001}}) as client:
        answer = upload(client, "/translate_file", "a.txt", b"Let's go")
        assert answer.status_code == 504
        sentence = "the document took longer than the limit of 0.001 s (limits.file_time_limit). Divide it."
        assert answer.json() == {"error": f"{sentence} /v1/files answers at once and reports the progress."}
        answer = finished(client, "a.txt", b"Let's go")
        assert (answer.status_code, answer.json()) == (504, {"error": sentence})


def test_the_progress_of_a_document_is_reported_after_each_piece() -> None:
    content = "\n".join(f"I have {number} books." for number in range(2, 39)).encode()

    async def translate() -> list[tuple[int, int]]:
        reports: list[tuple[int, int]] = []
        server = Server(ServeSettings(log="off"))
        await translate_file(DocumentTarget(server, "en", "es"), "a.txt", content, lambda *pair: reports.append(pair))
        await server.stop()
        return reports

    assert asyncio.run(translate()) == [(0, 37), (16, 37), (32, 37), (37, 37), (37, 37)]


def test_uploads_leave_no_file(translating: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert finished(translating, "a.txt", b"Let's go" + b"\n" * 1_500_000).status_code == 200
    assert list(tmp_path.iterdir()) == []


def test_jobs_expire(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = FileJobs(LimitSettings(file_minutes=3))
    job = jobs.add("a.txt")
    assert jobs.find(job.id) is job
    late = time.monotonic() + 181
    monkeypatch.setattr("clearhead.serve.file_jobs.time.monotonic", lambda: late)
    with pytest.raises(ApiError, match="there is no such document"):
        jobs.find(job.id)
    assert not job.is_wanted


def test_changes_of_a_job_end_with_its_result() -> None:
    async def watch() -> list[tuple[bool, int]]:
        job = FileJob("a.txt")
        asyncio.get_running_loop().call_later(0.01, job.advance, 3, 7)
        asyncio.get_running_loop().call_later(0.02, job.finish, b"")
        return [(change, job.num_done) async for change in job.changes()]

    assert asyncio.run(watch()) == [(True, 0), (True, 3), (True, 3)]


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
