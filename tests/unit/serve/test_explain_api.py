"""Explanations over HTTP: the data of the command line, limits, and a process that is killed."""

import json
import os
import re
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from clearhead.decoding.translator import Translator
from clearhead.explain import Intervention, Patch, what_if
from clearhead.formats.built_in import MODELS
from clearhead.serve.explain_worker import ExplainWorker
from tests.command import run
from tests.unit.serve.small_app import child_pids, served

SENTENCE = {"text": "The bank of the river.", "source": "en", "target": "es"}


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with served({"explain": {"max_tokens": 30}}) as client:
        yield client


def from_command(*arguments: str) -> Any:
    return json.loads(run(*arguments, "--json").stdout)


def test_an_explanation_is_the_data_of_the_command_line(client: TestClient) -> None:
    answer = client.post("/v1/explain", json={**SENTENCE, "target": "hi"})
    assert answer.status_code == 200, answer.text
    assert answer.json() == from_command("explain", SENTENCE["text"], "--from", "en", "--to", "hi")


def test_a_given_translation_a_beam_and_sums_are_explained_as_by_the_command_line(client: TestClient) -> None:
    options = {"translation": "El banco.", "sums": ["decoder.0.cross*.head.1"], "alternatives": 2}
    answer = client.post("/v1/explain", json={**SENTENCE, **options})
    flags = ("--target", "El banco.", "--sums", "decoder.0.cross*.head.1", "--alternatives", "2")
    assert answer.json() == from_command("explain", SENTENCE["text"], "--to", "es", *flags)
    beam = client.post("/v1/explain", json={**SENTENCE, "beam": 3, "hypothesis": 1})
    flags = ("--beam", "3", "--hypothesis", "1")
    assert beam.json() == from_command("explain", SENTENCE["text"], "--from", "en", "--to", "es", *flags)


def test_the_process_has_the_priority_of_the_server_so_that_it_ends_within_its_time_on_a_busy_machine(
    client: TestClient,
) -> None:
    assert client.post("/v1/explain", json={**SENTENCE, "parts": ["tokens"]}).status_code == 200
    assert {os.getpriority(os.PRIO_PROCESS, pid) for pid in child_pids("explain")} == {
        os.getpriority(os.PRIO_PROCESS, 0)
    }


def test_parts_of_an_explanation_are_those_of_the_whole_one(client: TestClient) -> None:
    whole = client.post("/v1/explain", json={**SENTENCE, "prefix": "La"}).json()
    answer = client.post("/v1/explain", json={**SENTENCE, "prefix": "La", "parts": ["tokens", "source"]}).json()
    assert answer == {name: whole[name] for name in ("clearhead_explanation", "kind", "source", "tokens")}
    wrong = client.post("/v1/explain", json={**SENTENCE, "parts": ["tokes"]})
    assert wrong.status_code == 400
    assert wrong.json()["error"].startswith("parts = ['tokes'] is not a choice. Did you mean 'tokens'?")


def test_a_page_is_that_of_the_command_line_and_its_policy_is_a_header(client: TestClient, tmp_path: Path) -> None:
    script = "<script>alert(1)</script>"
    answer = client.post("/v1/explain/page", json={**SENTENCE, "text": f"The {script} bank."})
    run("explain", f"The {script} bank.", "--from", "en", "--to", "es", "-o", str(tmp_path / "page.html"))
    assert answer.text == (tmp_path / "page.html").read_text(encoding="utf-8")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    stated = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]+)">', answer.text)
    assert stated is not None
    assert policy.startswith(f"{stated[1]}; base-uri 'none'; ")  # the hashes of the header fit the page
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe-inline" not in policy
    assert "sandbox allow-scripts" in policy
    assert script not in answer.text


def test_a_changed_model_is_compared_as_in_python(client: TestClient) -> None:
    translator = Translator.load("en-es", engine="torch", precision="float32")
    change = Intervention(without=["encoder.0.*.head.1"], swap={"river": "sea"})
    answer = client.post("/v1/what-if", json={**SENTENCE, "without": ["encoder.0.*.head.1"], "swap": {"river": "sea"}})
    assert answer.json() == what_if(translator, SENTENCE["text"], change, language="es").to_dict()
    patch = {"patch": "encoder.1", "from_sentence": "The bank is closed.", "words": {"bank": "bank"}}
    answer = client.post("/v1/what-if", json={**SENTENCE, **patch})
    change = Intervention(patch=Patch("encoder.1", "The bank is closed.", {"bank": "bank"}))
    assert answer.json() == what_if(translator, SENTENCE["text"], change, language="es").to_dict()


def test_two_sentences_are_compared_as_by_the_command_line(client: TestClient) -> None:
    texts = ["The bank of the river.", "The bank is closed."]
    answer = client.post("/v1/compare", json={"texts": texts, "word": "bank", "source": "en", "target": "es"})
    assert answer.json() == from_command("explain", texts[0], "--compare", texts[1], "--word", "bank")


@pytest.mark.parametrize(
    ("path", "change", "status", "sentence"),
    [
        ("explain", {"text": " "}, 400, "the text is empty. Give a sentence."),
        ("explain", {"text": "a b " * 20}, 400, "tokens, but this server explains at most 30."),
        ("explain", {"prefix": "a b " * 20}, 400, "tokens, but this server explains at most 30."),
        ("explain", {"text": "x" * 5000}, 400, "text = "),
        ("explain", {"text": 5, "sums": ["encoder.77"]}, 400, "there is no head 'encoder.77' in this model."),
        (
            "explain",
            {"continuations": 2},
            400,
            "continuations was removed from clearhead. Explain another continuation by",
        ),
        ("explain", {"beam": 1, "hypothesis": 2}, 400, "hypothesis = 2 needs a beam of at least 3"),
        ("explain", {"target": "xx"}, 400, "no model translates from 'en' into 'xx'."),
        ("explain", {"model": "../../etc"}, 404, "there is no model '../../etc'."),
        ("what-if", {}, 400, "there is nothing to change."),
        ("what-if", {"without": ["encoder.77"]}, 400, "there is no head 'encoder.77' in this model."),
        ("what-if", {"swap": {"sea": "river"}}, 400, "'sea'"),
        ("what-if", {"swap": {"bank": "coast"}, "words": {"a": "b"}}, 400, "from_sentence and words need a layer."),
        ("what-if", {"patch": "encoder.1"}, 400, "the other sentence is empty."),
    ],
)
def test_a_wrong_request_is_answered_by_a_sentence(
    client: TestClient, path: str, change: dict[str, Any], status: int, sentence: str
) -> None:
    answer = client.post(f"/v1/{path}", json={**SENTENCE, **change})
    assert answer.status_code == status
    assert sentence in answer.json()["error"]


def test_texts_to_compare_are_two_and_have_the_word(client: TestClient) -> None:
    for texts in ([], ["The bank."], ["a", "b", "c"]):
        wrong = client.post("/v1/compare", json={"texts": texts})
        assert wrong.json() == {"error": f"texts = {texts!r} is not a list of 2 texts (texts: two sentences)."}
    one = client.post("/v1/compare", json={"texts": ["The bank."]})
    assert one.status_code == 400
    other = client.post("/v1/compare", json={"texts": ["The bank.", "The sea."], "word": "boat", "target": "es"})
    assert other.status_code == 400
    assert "boat" in other.json()["error"]
    long = client.post("/v1/compare", json={"texts": ["The bank.", "x" * 5000]})
    assert long.status_code == 400
    assert long.json()["error"].startswith("texts = ")


def test_a_process_killed_in_mid_request_is_one_sentence_and_the_next_request_works(client: TestClient) -> None:
    client.post("/v1/explain", json={**SENTENCE, "parts": ["tokens"]})
    (pid,) = child_pids("explain")
    os.kill(pid, signal.SIGSTOP)  # so that it is killed for certain before it answers
    killer = threading.Timer(0.3, os.kill, (pid, signal.SIGKILL))
    killer.start()
    killed = client.post("/v1/explain", json=SENTENCE)
    killer.join()
    assert killed.status_code == 503
    assert killed.headers["retry-after"] == "2"
    sentence = "the process for the explanation ended before it answered; another one starts. Send it again."
    assert killed.json() == {"error": sentence}
    assert client.post("/v1/explain", json={**SENTENCE, "parts": ["tokens"]}).status_code == 200
    assert child_pids("explain") != [pid]


def test_a_waiting_explanation_delays_no_other_answer(client: TestClient) -> None:
    client.post("/v1/explain", json={**SENTENCE, "parts": ["tokens"]})
    (pid,) = child_pids("explain")
    answers = []
    os.kill(pid, signal.SIGSTOP)
    thread = threading.Thread(target=lambda: answers.append(client.post("/v1/explain", json=SENTENCE)))
    try:
        thread.start()
        time.sleep(0.2)
        assert client.get("/health").status_code == 200
        assert client.post("/v1/solve", json={"problem": "positions"}).status_code == 200
        assert not answers
    finally:
        os.kill(pid, signal.SIGCONT)
    thread.join()
    assert answers[0].status_code == 200


def test_an_explanation_that_takes_too_long_is_ended() -> None:
    with served({"explain": {"time_limit": 0.01}}) as client:
        answer = client.post("/v1/explain", json=SENTENCE)
        assert answer.status_code == 504
        assert answer.json() == {
            "error": "the explanation took longer than the limit of 0.01 s. Send a smaller request."
        }


def test_a_server_can_be_told_not_to_explain() -> None:
    with served({"explain": {"is_enabled": False}}) as client:
        answer = client.post("/v1/explain", json=SENTENCE)
        assert answer.status_code == 501
        assert answer.json() == {"error": "explanations are switched off on this server."}


def test_a_model_whose_folder_is_removed_is_one_sentence_without_its_path(tmp_path: Path) -> None:
    shutil.copytree(MODELS / "tatoeba", tmp_path / "mine")
    worker = ExplainWorker(60, "cpu")
    request = {
        **{"call": "compare", "texts": ["The bank.", "A bank."], "word": None, "language": "es"},
        **{"path": str(tmp_path / "mine"), "model": "mine"},
    }
    assert json.loads(worker.handle(request))["word"] == "bank"
    (tmp_path / "mine").rename(tmp_path / "removed")
    sentence = "the files of the model mine cannot be read any more. Tell the operator of this server."
    with pytest.raises(Exception, match=f"^{sentence}$") as gone:
        worker.handle(request)
    assert getattr(gone.value, "status", None) == 503
    (tmp_path / "removed").rename(tmp_path / "mine")
    assert json.loads(worker.handle(request))["word"] == "bank"


def test_the_source_language_can_be_detected(client: TestClient) -> None:
    request = {"text": "¿Dónde está la biblioteca de la ciudad?", "source": "auto", "target": "en", "parts": ["target"]}
    assert "library" in client.post("/v1/explain", json=request).json()["target"]["text"]
    request = {"text": "Where is the library of the city?", "source": "auto", "target": "en", "parts": ["target"]}
    answer = client.post("/v1/explain", json=request)
    assert answer.status_code == 400
    assert answer.json()["error"].startswith("no model translates from 'en' into 'en'.")


def test_the_rate_of_clients_without_a_key_holds_for_exercises_and_explanations() -> None:
    with served({"keys": {"rate": 1}}) as client:
        assert client.get("/v1/exercises").status_code == 200
        for path in ("solve", "check", "explain", "explain/page", "what-if", "compare"):
            answer = client.post(f"/v1/{path}", json={})
            assert answer.status_code == 429
            assert answer.json()["error"].startswith("Slowdown: 1 requests per minute are allowed.")
            assert int(answer.headers["retry-after"]) > 0
