"""The OpenAPI description: every call has a summary, examples, and the statuses that it can have."""

from typing import Any

from fastapi.testclient import TestClient
from pydantic import Field

from clearhead.serve.api_documentation import BodyExample, documented, without_framework_errors
from clearhead.serve.request_body import parse_object
from clearhead.settings import Settings


class Inner(Settings):
    number: int = Field(3, description="a number")


class Outer(Settings):
    inner: Inner | None = Field(None, description="something")


def test_every_call_has_a_summary_an_example_and_documented_errors(translating: TestClient) -> None:
    paths: dict[str, Any] = translating.get("/openapi.json").json()["paths"]
    assert len(paths) > 20
    for path, operations in paths.items():
        for method, operation in operations.items():
            place = f"{method} {path}"
            assert operation["summary"], place
            assert "422" not in operation["responses"], place
            for media in operation.get("requestBody", {}).get("content", {}).values():
                assert "example" in media or "examples" in media, place
            for status, response in operation["responses"].items():
                content = response.get("content", {}).get("application/json", {})
                assert status == "200" or "example" in content, f"{place} {status}"


def test_the_examples_of_translations_are_answered(translating: TestClient) -> None:
    paths = translating.get("/openapi.json").json()["paths"]
    calls = ("/translate", "/detect", "/v1/translate", "/v1/score")
    for path in calls:
        body = paths[path]["post"]["requestBody"]["content"]["application/json"]["example"]
        answer = translating.post(path, json=body)
        assert answer.status_code == 200, (path, answer.text)


def test_a_schema_is_complete_in_itself() -> None:
    schema = BodyExample.of(Outer, {}).schema
    assert "$ref" not in str(schema)
    assert schema["properties"]["inner"]["anyOf"][0]["properties"]["number"]["default"] == 3


def test_a_call_documents_the_errors_of_keys() -> None:
    responses = documented("x", answer={}, errors=(504,))["responses"]
    assert sorted(responses) == [200, 401, 403, 429, 504]
    description = {"paths": {"/x": {"get": {"responses": {"200": {}, "422": {}}}}}, "components": {"schemas": {}}}
    assert without_framework_errors(description)["paths"]["/x"]["get"]["responses"] == {"200": {}}
    assert parse_object(b"{}") == {}
