from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from config.errors import StoreError
from handler.identity.actors import Actor
from handler.identity.rights import UserRole
from handler.operations.address import address_of
from handler.operations.registry import OPERATIONS
from handler.web.api import build
from handler.web.problems import ProblemType, uri_of
from handler.web.repeating import is_keyed
from tests.handler.web.test_rights import API, WEB, play, user
from tests.support.asked import Reply, asked
from tests.support.engines import EngineBed, Up

ADMIN, OPERATOR, VIEWER = user(UserRole.ADMIN), user(UserRole.OPERATOR, WEB), user(UserRole.VIEWER, WEB)
PAUSE = f"{API}/groups/web/pause"


async def post(app: FastAPI, path: str, body: Any = None, key: str = "k1", actor: Actor = ADMIN) -> Reply:
    return await asked(app, "POST", path, actor, {} if body is None else body, headers={"Idempotency-Key": key})


async def acts(up: Up, name: str) -> int:
    return sum(event.name == name for event in await up.operations.history(WEB, before=None, limit=1000))


def test_a_repetition_is_answered_like_the_first_and_not_carried_out(tmp_path: Path) -> None:
    async def scene(up: Up, app: FastAPI) -> None:
        first, again = await post(app, PAUSE), await post(app, PAUSE, key='"k1"')
        assert (again.status, again.text) == (first.status, first.text)
        assert (again.headers["idempotency-replayed"], await acts(up, "pause")) == ("true", 1)
        assert (await post(app, PAUSE, key="k2")).status == 200
        assert await acts(up, "pause") == 2

    play(tmp_path, scene)


def test_another_request_under_the_key_is_refused_and_another_caller_s_key_is_its_own(tmp_path: Path) -> None:
    async def scene(up: Up, app: FastAPI) -> None:
        await post(app, PAUSE)
        for path, body in ((PAUSE, {"decisions_only": True}), (f"{API}/groups/web/resume", None)):
            reply = await post(app, path, body)
            assert (reply.status, reply.json["type"]) == (422, uri_of(ProblemType.KEY_REUSED))
        assert (await post(app, f"{API}/groups/web/resume", actor=OPERATOR)).status == 200

    play(tmp_path, scene)


def test_a_repetition_after_a_restart_is_answered_like_the_first(tmp_path: Path) -> None:
    bed, replies = EngineBed(tmp_path), list[Reply]()

    async def scene(up: Up) -> None:
        replies.append(await post(build(up.operations), PAUSE))
        assert await acts(up, "pause") == 1

    bed.run(scene)
    bed.run(scene)
    assert replies[0].text == replies[1].text


def test_what_was_interrupted_is_never_done_again(tmp_path: Path) -> None:
    bed, calls = EngineBed(tmp_path), []

    async def interrupted(up: Up) -> None:
        async def killed(*_: object, **__: object) -> None:
            calls.append(1)
            raise asyncio.CancelledError

        up.operations.pauses.pause = killed  # type: ignore[method-assign]
        with pytest.raises(asyncio.CancelledError):
            await post(build(up.operations), PAUSE)

    async def scene(up: Up) -> None:
        reply = await post(build(up.operations), PAUSE)
        assert (reply.status, reply.json["type"]) == (409, uri_of(ProblemType.OUTCOME_UNKNOWN))
        assert await acts(up, "pause") == 0

    bed.run(interrupted)
    bed.run(scene)
    assert len(calls) == 1


def test_a_store_that_fails_within_an_act_leaves_it_unknown(tmp_path: Path) -> None:
    async def scene(up: Up, app: FastAPI) -> None:
        async def full(*_: object, **__: object) -> None:
            raise StoreError("the disk is full")

        up.operations.pauses.pause = full  # type: ignore[method-assign]
        assert (await post(app, PAUSE)).status == 503
        assert (await post(app, PAUSE)).json["type"] == uri_of(ProblemType.OUTCOME_UNKNOWN)

    play(tmp_path, scene)


def test_a_refusal_is_kept_too(tmp_path: Path) -> None:
    async def scene(up: Up, app: FastAPI) -> None:
        path = f"{API}/groups/web/rollback"
        first, again = await post(app, path), await post(app, path)
        assert (first.status, again.status) == (409, 409)
        assert (again.text, again.headers["content-type"]) == (first.text, first.headers["content-type"])

    play(tmp_path, scene)


def test_while_the_first_is_carried_out_a_repetition_is_asked_to_wait(tmp_path: Path) -> None:
    async def scene(up: Up, app: FastAPI) -> None:
        begun, go_on, whole = asyncio.Event(), asyncio.Event(), up.operations.pauses.pause

        async def slow(*given: Any, **more: Any) -> None:
            begun.set()
            await go_on.wait()
            await whole(*given, **more)

        up.operations.pauses.pause = slow  # type: ignore[method-assign]
        first = asyncio.create_task(post(app, PAUSE))
        await begun.wait()
        meanwhile = await post(app, PAUSE)
        assert (meanwhile.status, meanwhile.json["type"]) == (409, uri_of(ProblemType.STILL_RUNNING))
        assert meanwhile.headers["retry-after"] == "1"
        go_on.set()
        assert (await first).text == (await post(app, PAUSE)).text
        assert await acts(up, "pause") == 1

    play(tmp_path, scene)


def test_of_many_at_once_one_is_carried_out(tmp_path: Path) -> None:
    async def scene(up: Up, app: FastAPI) -> None:
        replies = await asyncio.gather(*(post(app, PAUSE) for _ in range(20)))
        assert {reply.status for reply in replies} <= {200, 409}
        assert {reply.json["type"] for reply in replies if reply.status == 409} <= {uri_of(ProblemType.STILL_RUNNING)}
        assert await acts(up, "pause") == 1

    play(tmp_path, scene)


def test_a_caller_without_the_right_gets_no_kept_answer(tmp_path: Path) -> None:
    async def scene(up: Up, app: FastAPI) -> None:
        assert (await post(app, PAUSE, actor=OPERATOR)).status == 200
        demoted = Actor(name=OPERATOR.name, origin=OPERATOR.origin, grants=VIEWER.grants, is_user=True)
        assert (await post(app, PAUSE, actor=demoted)).status == 403

    play(tmp_path, scene)


def test_a_secret_is_shown_once_and_never_kept(tmp_path: Path) -> None:
    async def scene(up: Up, app: FastAPI) -> None:
        made = await post(app, f"{API}/hooks", {"name": "grafana"})
        assert made.json["token"]
        again = await post(app, f"{API}/hooks", {"name": "grafana"})
        assert (again.status, again.json["type"]) == (409, uri_of(ProblemType.ANSWER_NOT_KEPT))
        assert made.json["token"] not in repr([call.body for call in up.store.calls()])

    play(tmp_path, scene)


def test_every_operation_whose_answer_has_a_token_says_so() -> None:
    kept = Path(__file__).parents[2] / "golden" / "files" / "answers.json"
    answers = json.loads(kept.read_text())["answers"]
    for kind in OPERATIONS:
        address = address_of(kind)
        body = answers[f"{address.method} {API}{address.path}"]["body"]
        if is_keyed(address) and isinstance(body, dict) and {"token", "url", "secret"} & body.keys():
            assert address.secret, kind


def test_an_execution_keeps_recognising_its_key_by_itself(tmp_path: Path) -> None:
    async def scene(up: Up, app: FastAPI) -> None:
        await up.grown(2)
        path = f"{API}/groups/web/policies/out/execute"
        first, again = await post(app, path), await post(app, path)
        assert (first.status, again.status, again.json["repeated"]) == (202, 202, True)
        other = await post(app, f"{API}/groups/web/policies/in/execute")
        assert (other.status, other.json["type"]) == (422, uri_of(ProblemType.KEY_REUSED))

    play(tmp_path, scene)
