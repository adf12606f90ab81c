from __future__ import annotations

import asyncio
from pathlib import Path

from fastapi import FastAPI

from handler.identity.rights import UserRole
from handler.web.problems import ProblemType, uri_of
from tests.handler.web.test_rights import WEB, play, user
from tests.support.asked import Reply, asked
from tests.support.engines import Up

API = "/api/v1"
ADMIN = user(UserRole.ADMIN)


async def put(app: FastAPI, size: int, tag: str) -> Reply:
    return await asked(app, "PUT", f"{API}/groups/web/size", ADMIN, {"size": size}, headers={"If-Match": tag})


def test_of_two_clients_that_have_read_the_same_size_only_one_sets_it(tmp_path: Path) -> None:
    async def scene(up: Up, app: FastAPI) -> None:
        await up.grown(2)
        read = await asked(app, "GET", f"{API}/groups/web/size", ADMIN)
        replies = await asyncio.gather(put(app, 3, read.headers["etag"]), put(app, 4, read.headers["etag"]))
        assert sorted(reply.status for reply in replies) == [202, 412]
        (late,) = (reply for reply in replies if reply.status == 412)
        assert (late.json["type"], late.json["reason"]) == (uri_of(ProblemType.CHANGED), "outbid")
        now = await asked(app, "GET", f"{API}/groups/web/size", ADMIN)
        assert late.headers["etag"] == now.headers["etag"] != read.headers["etag"]
        assert now.json["desired"] == next(reply.json["desired_to"] for reply in replies if reply.status == 202)

    play(tmp_path, scene)


def test_the_tag_of_a_group_serves_as_that_of_its_size_and_a_refusal_is_in_the_history(tmp_path: Path) -> None:
    async def scene(up: Up, app: FastAPI) -> None:
        await up.grown(2)
        read = await asked(app, "GET", f"{API}/groups/web", ADMIN)
        assert (await put(app, 3, read.headers["etag"])).status == 202
        assert (await put(app, 2, read.headers["etag"])).status == 412
        assert (await put(app, 2, "*")).status == 202
        assert "outbid" in {event.name for event in await up.operations.history(WEB, before=None, limit=20)}

    play(tmp_path, scene)


def test_an_act_without_a_tag_takes_no_condition(tmp_path: Path) -> None:
    async def scene(up: Up, app: FastAPI) -> None:
        reply = await asked(app, "POST", f"{API}/groups/web/pause", ADMIN, {}, headers={"If-Match": '"1.2"'})
        assert (reply.status, reply.json["type"]) == (412, uri_of(ProblemType.CHANGED))
        assert (await asked(app, "GET", f"{API}/groups/web", ADMIN)).json["pause"] == "no"

    play(tmp_path, scene)


def test_a_reader_that_has_the_answer_gets_304_and_no_body(tmp_path: Path) -> None:
    async def scene(up: Up, app: FastAPI) -> None:
        for path in ("/groups/web/size", "/groups/web/definitions", "/hooks", "/users", "/problems", "/openapi.json"):
            read = await asked(app, "GET", API + path, ADMIN)
            tag = {"If-None-Match": f'"other", {read.headers["etag"]}'}
            again = await asked(app, "GET", API + path, ADMIN, headers=tag)
            assert (again.status, again.text, again.headers["etag"]) == (304, "", read.headers["etag"]), path
            fresh = await asked(app, "GET", API + path, ADMIN, headers={"If-None-Match": '"other"'})
            assert (fresh.status, fresh.text) == (200, read.text), path

    play(tmp_path, scene)


def test_an_error_has_no_tag_and_is_never_304(tmp_path: Path) -> None:
    async def scene(up: Up, app: FastAPI) -> None:
        reply = await asked(app, "GET", f"{API}/groups/wev", ADMIN, headers={"If-None-Match": "*"})
        assert (reply.status, "etag" in reply.headers) == (404, False)

    play(tmp_path, scene)
