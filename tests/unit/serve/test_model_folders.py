"""A model folder from somebody else: it shows no other file, and nothing in it acts in a page of the server."""

import json
import os
import shutil
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from clearhead.errors import CheckpointError
from clearhead.files import own_file
from clearhead.files.reading import UnreadableFileError
from clearhead.serve.app import create_app
from clearhead.serve.catalogue import make_catalogue
from clearhead.serve.server import Server
from clearhead.serve.settings import ServeSettings
from tests.attacks.folder_cases import ACT, CARDS, POLICY, SECRET, hub_snapshot, model_folder
from tests.attacks.route_cases import ask_every_route
from tests.small_run import make_run
from tests.unit.serve.small_app import served


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return model_folder(tmp_path / "mine")


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "elsewhere" / "secret"
    path.parent.mkdir()
    path.write_text(SECRET)
    return path


def card_of(folder: Path) -> str:
    with served({"models": [str(folder)]}) as client:
        answer = client.get("/v1/models/mine")
        assert answer.status_code == 200
        return str(answer.json()["card"])


@pytest.mark.parametrize("attack", CARDS)
def test_a_card_that_is_no_file_of_the_folder_is_not_read(folder: Path, secret: Path, attack: str) -> None:
    card = folder / "README.md"
    card.unlink()
    CARDS[attack](card, secret)
    assert card_of(folder) == ""


def test_a_card_of_the_folder_is_read_also_through_a_link_to_the_folder(folder: Path) -> None:
    shutil.move(folder, folder.parent / "disk")
    folder.symlink_to("disk")
    with served({"models": [str(folder)]}) as client:
        assert client.get("/v1/models/disk").json()["card"].startswith("# ")
    (folder / "docs").mkdir()
    (folder / "README.md").rename(folder / "docs" / "card.md")
    (folder / "README.md").symlink_to("docs/card.md")
    with served({"models": [str(folder)]}) as client:
        assert client.get("/v1/models/disk").json()["card"].startswith("# ")


def test_of_a_huge_card_only_the_beginning_is_read(folder: Path) -> None:
    with (folder / "README.md").open("wb") as file:
        file.write("# Große".encode())
        file.truncate(2**40)  # a file with a hole: it takes no disk, but no memory could hold it
    card = card_of(folder)
    assert card.startswith("# Große")
    assert len(card) < 2**16


def test_a_link_that_replaces_the_card_after_its_path_was_checked_is_not_followed(
    folder: Path, secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    card, check = folder / "README.md", own_file.own_path

    def checked_then_replaced(*paths: Path) -> Path:
        place = check(*paths)
        card.unlink()
        card.symlink_to(secret)
        return place

    monkeypatch.setattr(own_file, "own_path", checked_then_replaced)
    with pytest.raises(OSError, match="symbolic links"):
        own_file.read_own_file(folder, card, 100)
    assert card.read_text() == SECRET  # the attack took place


def test_a_pipe_that_replaces_the_card_after_its_path_was_checked_is_not_waited_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    card, check = folder / "README.md", own_file.own_path

    def checked_then_replaced(*paths: Path) -> Path:
        place = check(*paths)
        card.unlink()
        os.mkfifo(card)
        return place

    monkeypatch.setattr(own_file, "own_path", checked_then_replaced)
    with pytest.raises(UnreadableFileError, match="is not a regular file"):
        own_file.read_own_file(folder, card, 100)


def test_a_description_that_is_a_link_out_of_the_folder_is_refused(folder: Path, secret: Path) -> None:
    description = json.loads((folder / "model.json").read_text())
    secret.write_text(json.dumps({**description, "summary": SECRET}))
    (folder / "model.json").unlink()
    (folder / "model.json").symlink_to(secret)
    with pytest.raises(CheckpointError) as error:
        make_catalogue([str(folder)])
    assert str(error.value) == (
        f"{folder / 'model.json'} is a link to a file outside its folder. Put a copy of that file in its place."
    )


def test_a_language_that_a_linked_file_states_is_shown_only_if_it_is_a_code(tmp_path: Path, secret: Path) -> None:
    run = make_run(tmp_path / "run")
    secret.write_text(json.dumps({"source_lang": "password 123", "target_lang": "de"}))
    (run / "best" / "tokenizer_config.json").symlink_to(secret)
    (direction,) = make_catalogue([str(run)]).models[0].directions
    assert (direction.source, direction.target) == ("und", "de")


def test_a_snapshot_of_a_hub_translates_but_its_links_are_not_shown(tmp_path: Path) -> None:
    snapshot = hub_snapshot(tmp_path)
    with served({"models": [f"{snapshot}=en-es"]}) as client:
        answer = client.post("/translate", json={"q": "Let's go", "source": "en", "target": "es"})
        assert answer.json() == {"translatedText": "Vamos"}
        assert client.get("/v1/models/main").json()["card"] == ""
    with pytest.raises(CheckpointError, match=r"model\.json is a link to a file outside its folder"):
        make_catalogue([str(snapshot)])


def test_no_error_quotes_a_file_of_the_folder_or_names_its_place(folder: Path) -> None:
    """The files are replaced while the model is served; the operator reads the reason in the log, clients do not."""
    calls = {
        "/translate": {"q": "Let's go", "source": "en", "target": "es"},
        "/v1/translate": {"text": "Let's go", "target": "es", "alignment": True},
        "/v1/explain": {"text": "Let's go", "target": "es"},
        "/v1/score": {"pairs": [{"source": "Let's go", "target": "Vamos"}], "target": "es"},
    }
    names = ("config.json", "alignment.json", "tokeniser/tokeniser.json", "tokeniser/statistics.json", "model.json")
    contents = {name: (folder / name).read_bytes() for name in names if (folder / name).exists()}
    assert len(contents) > 3
    with served({"models": [str(folder)]}) as client:
        for name, content in contents.items():
            changed = {**json.loads(content), SECRET: SECRET}
            for text in (SECRET, json.dumps(SECRET), json.dumps(changed), f'{{"{SECRET}": '):
                (folder / name).write_text(text)
                for path, body in calls.items():
                    answer = client.post(path, json=body)
                    assert SECRET not in answer.text, (name, path)
                    assert str(folder.parent) not in answer.text, (name, path)
            (folder / name).write_bytes(content)


def test_nothing_out_of_a_model_folder_is_a_page_of_the_server(folder: Path) -> None:
    description = json.loads((folder / "model.json").read_text())
    texts = {"summary": ACT, "licence": ACT, "attribution": ACT}
    (folder / "model.json").write_text(json.dumps({**description, **texts}))
    for name in ("README.md", "page.html", "index.html", "model.html", "heads.html"):
        (folder / name).write_text(f"# Page\n\n{ACT}\n")
    app = create_app(Server(ServeSettings(models=(str(folder),), log="off")))
    with TestClient(app, raise_server_exceptions=False) as client:
        num_shown = 0
        for name in ("mine", "page.html", "mine/page", "mine/page.html", "README.md"):
            for answer in ask_every_route(client, app, {"name": name}):
                is_shown = SECRET.encode() in answer.content
                num_shown += is_shown
                assert not is_shown or answer.media_type == "application/json", answer
        assert num_shown > 0  # the texts are in the list of models, as data
        for path in ("/models/mine/page", "/models/mine/page.html", "/mine/page.html"):
            assert client.get(path).status_code == 404
        card = client.get("/v1/models/mine").json()["card_html"]
        assert "<script" not in card
        assert "<meta" not in card


def test_the_policy_of_an_explanation_does_not_come_out_of_its_page(monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(*arguments: object) -> bytes:
        return ACT.encode()

    monkeypatch.setattr("clearhead.serve.explain_api.answer_by_worker", answer)
    with served() as client:
        answered = client.post("/v1/explain/page", json={"text": "House", "target": "es"})
    policy = answered.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert policy.endswith("frame-ancestors 'self'; sandbox allow-scripts allow-downloads")
    assert POLICY not in policy
