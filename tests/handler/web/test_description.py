"""The OpenAPI document against what is served: statuses, problems and credentials of every route."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI

from handler.operations.address import address_of
from handler.operations.registry import OPERATIONS
from handler.web.gate import PUBLIC
from handler.web.problems import MEDIA, TYPES, uri_of
from tests.handler.web.test_rights import ANONYMOUS, API, play
from tests.support.asked import asked
from tests.support.engines import Up


def test_a_credential_is_asked_for_where_the_document_says_so_and_nowhere_else(tmp_path: Path) -> None:
    async def scene(up: Up, app: FastAPI) -> None:
        for path, methods in app.openapi()["paths"].items():
            for method, described in methods.items():
                if method == "get":
                    reply = await asked(app, "GET", path.replace("{group}", "web"), ANONYMOUS)
                    assert (reply.status == 401) is bool(described["security"]), path
                    assert bool(described["security"]) is (path not in PUBLIC), path
                else:
                    assert described["security"] == [{"bearer": []}], path

    play(tmp_path, scene)


def test_every_operation_s_status_is_described_and_every_problem_is_of_its_status(tmp_path: Path) -> None:
    statuses = {uri_of(problem): str(found.status) for problem, found in TYPES.items()}

    async def scene(up: Up, app: FastAPI) -> None:
        paths = app.openapi()["paths"]
        for kind in OPERATIONS:
            address = address_of(kind)
            responses = paths[API + address.path][address.method.lower()]["responses"]
            assert str(address.status) in responses, kind
            for status, response in responses.items():
                for each in response.get("content", {}).get(MEDIA, {}).get("schema", {}).get("allOf", [{}])[1:]:
                    assert {statuses[uri] for uri in each["properties"]["type"]["enum"]} == {status}, kind

    play(tmp_path, scene)
