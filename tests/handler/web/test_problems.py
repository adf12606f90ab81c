from __future__ import annotations

import re
from pathlib import Path

from fastapi import FastAPI

from config.errors import StoreError
from handler.identity.actors import Actor
from handler.identity.rights import UserRole
from handler.web.problems import MEDIA, TYPES, ProblemType, uri_of
from tests.handler.web.test_rights import ANONYMOUS, WEB, play, user
from tests.support.asked import asked
from tests.support.daemon import Daemon
from tests.support.engines import Up

API = "/api/v1"
PAGE = Path(__file__).parents[3] / "docs" / "api.md"
ADMIN, VIEWER = user(UserRole.ADMIN), user(UserRole.VIEWER, WEB)


def test_the_page_lists_every_type_with_its_status_and_title() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (\d{3}) \| (.+) \|$", PAGE.read_text(), re.MULTILINE)
    assert rows == [(problem.value, str(found.status), found.title) for problem, found in TYPES.items()]


def test_the_table_has_every_type_and_only_statuses_of_errors() -> None:
    assert TYPES.keys() == set(ProblemType)
    assert all(400 <= found.status < 600 for found in TYPES.values())


def test_every_refusal_has_its_type_beside_the_error_that_it_always_had(tmp_path: Path) -> None:
    cases: tuple[tuple[ProblemType, str, str, Actor, object], ...] = (
        (ProblemType.NOT_FOUND, "GET", f"{API}/groups/wev", ADMIN, None),
        (ProblemType.NOT_FOUND, "GET", f"{API}/groups/db", VIEWER, None),
        (ProblemType.NOT_FOUND, "GET", f"{API}/nothing", ADMIN, None),
        (ProblemType.NOT_FOUND, "GET", "/events", ADMIN, None),
        (ProblemType.WRONG_METHOD, "POST", f"{API}/groups", ADMIN, {}),
        (ProblemType.WRONG_METHOD, "POST", f"{API}/declarations/revisions", ADMIN, {}),
        (ProblemType.INVALID, "PUT", f"{API}/groups/web/size", ADMIN, {"size": "many"}),
        (ProblemType.FORBIDDEN, "PUT", f"{API}/groups/web/size", VIEWER, {"size": 2}),
        (ProblemType.UNAUTHENTICATED, "GET", f"{API}/groups", ANONYMOUS, None),
        (ProblemType.REFUSED, "DELETE", f"{API}/groups/web", ADMIN, None),
    )

    async def scene(up: Up, app: FastAPI) -> None:
        for problem, method, path, actor, body in cases:
            reply = await asked(app, method, path, actor, body, "group=wev" if path == "/events" else "")
            answer, found = reply.json, TYPES[problem]
            assert reply.headers["content-type"] == MEDIA, path
            assert (reply.status, answer["type"], answer["title"]) == (found.status, uri_of(problem), found.title), path
            assert answer["status"] == reply.status
            assert answer["detail"] == answer["error"] != ""

    play(tmp_path, scene)


def test_a_size_that_the_guards_refuse_keeps_its_answer(tmp_path: Path) -> None:
    async def scene(up: Up, app: FastAPI) -> None:
        reply = await asked(app, "PUT", f"{API}/groups/web/size", ADMIN, {"size": 1000})
        assert (reply.status, reply.json["type"]) == (403, uri_of(ProblemType.NO_CHANGE))
        assert reply.json["answers"][0]["words"] == reply.json["detail"]

    play(tmp_path, scene)


def test_a_store_that_fails_is_reported_with_the_time_of_the_next_try(tmp_path: Path) -> None:
    async def scene(up: Up, app: FastAPI) -> None:
        def broken(*_: object, **__: object) -> None:
            raise StoreError("the disk is full")

        up.operations.history = broken  # type: ignore[method-assign,assignment]
        reply = await asked(app, "GET", f"{API}/groups/web/history", ADMIN)
        assert (reply.status, reply.json["type"], reply.headers["retry-after"]) == (503, uri_of(ProblemType.STORE), "5")

    play(tmp_path, scene)


def test_the_gate_answers_in_the_same_form(daemon: Daemon) -> None:
    for answer, problem in (
        (daemon.ask("PUT", f"{API}/groups/group-1/size", {"size": 1}), ProblemType.UNAUTHENTICATED),
        (daemon.ask("POST", f"{API}/reload", b"x" * 70_000, bearer=daemon.token), ProblemType.TOO_LONG),
        (daemon.ask("GET", f"{API}/groups", headers={"Host": "example.org"}), ProblemType.MISDIRECTED),
    ):
        assert answer.headers["content-type"] == MEDIA
        assert (answer.status, answer.json["type"]) == (TYPES[problem].status, uri_of(problem))
        assert answer.json["error"] == answer.json["detail"]
