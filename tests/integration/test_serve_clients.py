"""Unmodified clients of LibreTranslate from PyPI, against a server on this machine."""

from collections.abc import Iterator
from urllib.error import HTTPError

import pytest
from deep_translator import LibreTranslator
from deep_translator.exceptions import AuthorizationException, ServerException
from libretranslatepy import LibreTranslateAPI

from clearhead.serve.api_keys import KeyFile
from tests.unit.serve.small_app import listening


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with listening({"has_pages": False}) as url:
        yield f"{url}/"


def test_libretranslatepy_translates_detects_and_lists_languages(url: str) -> None:
    client = LibreTranslateAPI(url)
    assert client.translate("Let's go", "en", "es") == "Vamos"
    assert client.translate("How are you?", "auto", "hi") == "आप कैसे हैं?"
    assert client.detect("¿Cómo estás?")[0]["language"] == "es"
    assert [language["code"] for language in client.languages()] == ["en", "es", "hi", "bn"]


def test_deep_translator_translates_texts_and_lists(url: str) -> None:
    client = LibreTranslator(source="en", target="es", api_key="unused", custom_url=url)
    assert client.translate("Let's go") == "Vamos"
    assert client.translate_batch(["Let's go", "How are you?"]) == ["Vamos", "¿Cómo estás?"]
    with pytest.raises(ServerException):
        LibreTranslator(source="es", target="hi", api_key="unused", custom_url=url).translate("Vamos")


def test_both_clients_send_their_key(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("keys") / "keys.sqlite"
    key = KeyFile(path).add("client")
    with listening({"has_pages": False, "keys": {"file": str(path), "is_required": True}}) as url:
        libre = LibreTranslateAPI(url, key)
        assert libre.translate("Let's go", "en", "es") == "Vamos"
        assert libre.detect("¿Cómo estás?")[0]["language"] == "es"
        assert [language["code"] for language in libre.languages()] == ["en", "es", "hi", "bn"]
        with pytest.raises(HTTPError, match="400"):
            LibreTranslateAPI(url).languages()
        client = LibreTranslator(source="en", target="es", api_key=key, custom_url=f"{url}/")
        assert client.translate("Let's go") == "Vamos"
        wrong = LibreTranslator(source="en", target="es", api_key="wrong", custom_url=f"{url}/")
        with pytest.raises(AuthorizationException):
            wrong.translate("Let's go")
