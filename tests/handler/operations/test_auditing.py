"""What the audit trail says of operations: asked, done, refused, forbidden, failed."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from config.errors import StoreError
from config.units import ROOT_ACCOUNT, GroupId
from handler.identity.actors import Actor, Origin, Way, local
from handler.identity.grants import Anonymous, Grants
from handler.identity.rights import VERBS, UserRole
from handler.operations.auditing import audited
from handler.operations.authorising import Forbidden
from handler.operations.daemon_operations import MakeHook
from handler.operations.group_operations import ConvergeGroup, ObserveGroup, ReloadFile
from handler.operations.lookup import NoSuch
from handler.operations.registry import Operation, perform
from handler.operations.size_operations import PauseFleet, PauseGroup, ScaleGroup
from handler.operations.user_operations import BeginUsers, GiveRole, NewToken
from tests.support.engines import WEB, EngineBed, Up, model
from trigger.requests import Pause

ADA = local("ada", "uid 1000")
BOB = Actor(
    name="bob",
    origin=Origin(way=Way.TOKEN, peer="10.0.0.7", credential="laptop"),
    grants=Grants(VERBS[UserRole.VIEWER], frozenset({WEB})),
    is_user=True,
    because="a try",
)


def rows_of(up: Up) -> list[dict[str, Any]]:
    """The rows since the daemon's start."""
    return [dict(row.fields) for row in up.store.audit_after(1, 1000)]


def play(place: Path, scene: Callable[[Up], Coroutine[Any, Any, None]]) -> None:
    """Play a scene once the group has a size."""

    async def sized(up: Up) -> None:
        await up.until(lambda: up.runtime.state.desired is not None)
        await scene(up)

    EngineBed(place, model(interval="1h")).run(sized)


def audited_rows(place: Path, operation: Operation, by: Actor) -> list[dict[str, Any]]:
    """The rows of one operation."""
    found: list[dict[str, Any]] = []

    async def scene(up: Up) -> None:
        with contextlib.suppress(NoSuch):  # the rows say what it was
            await perform(up.operations, operation, by)
        found.extend(rows_of(up))

    play(place, scene)
    return found


def test_an_operation_has_a_row_before_and_one_with_what_it_changed(tmp_path: Path) -> None:
    asked, done = audited_rows(tmp_path, ScaleGroup(group=WEB, size=3), ADA)
    assert (asked["who"], asked["way"], asked["peer"]) == ("ada", "socket", "uid 1000")
    assert (asked["on"], asked["given"], asked["result"]) == ("PUT /groups/web/size", '{"size": 3}', "asked")
    assert (done["of"], done["result"], done["groups"]) == (asked["number"], "done", ["web"])
    assert done["outcome"].endswith("→ 3: scaled_out")


@pytest.mark.parametrize(
    ("operation", "outcome"),
    [(ScaleGroup(group=WEB, size=99), "size"), (PauseGroup(group=GroupId("wbe")), "there is no group wbe")],
    ids=["beyond max", "no such group"],
)
def test_what_the_daemon_would_not_do_is_there_with_the_reason(
    tmp_path: Path, operation: Operation, outcome: str
) -> None:
    rows = audited_rows(tmp_path, operation, ADA)
    assert [row["result"] for row in rows] == ["asked", "refused"]
    assert outcome in rows[1]["outcome"]


def test_an_attempt_without_the_right_is_there_with_the_token_that_was_shown(tmp_path: Path) -> None:
    async def scene(up: Up) -> None:
        with pytest.raises(Forbidden):
            await perform(up.operations, PauseGroup(group=WEB), BOB)
        with pytest.raises(NoSuch):
            await perform(up.operations, ObserveGroup(group=GroupId("db")), BOB)
        first, second = rows_of(up)
        assert (first["who"], first["credential"], first["peer"]) == ("bob", "laptop", "10.0.0.7")
        assert (first["result"], first["because"]) == ("forbidden", "a try")
        assert (second["result"], second["on"]) == ("forbidden", "POST /groups/db/observe")

    play(tmp_path, scene)


@pytest.mark.parametrize("operation", [ObserveGroup(group=WEB), ConvergeGroup(group=WEB, dry_run=True)])
def test_what_only_looks_has_no_row(tmp_path: Path, operation: Operation) -> None:
    assert audited_rows(tmp_path, operation, ADA) == []


def test_a_failure_is_there_and_a_process_that_ends_in_between_leaves_the_row_that_asked(tmp_path: Path) -> None:
    async def scene(up: Up) -> None:
        async def fails() -> Any:
            raise OSError("the cable")

        begun = asyncio.Event()

        async def never() -> Any:
            begun.set()
            await asyncio.Event().wait()

        engine, operation = up.engine, PauseFleet()
        with pytest.raises(OSError, match="the cable"):
            await audited(engine.trail, up.operations.now, operation, ADA, fails)
        assert [row["result"] for row in rows_of(up)] == ["asked", "failed"]
        going = asyncio.create_task(audited(engine.trail, up.operations.now, operation, ADA, never))
        await begun.wait()
        assert rows_of(up)[2]["result"] == "asked"
        going.cancel()
        await asyncio.gather(going, return_exceptions=True)
        assert rows_of(up)[3]["outcome"].startswith("CancelledError")

    play(tmp_path, scene)


def test_users_and_tokens_are_reported_with_before_and_after_and_without_a_secret(tmp_path: Path) -> None:
    async def scene(up: Up) -> None:
        await perform(up.operations, BeginUsers(name="ada", anonymous=Anonymous.NONE), ADA)
        made: Any = await perform(up.operations, NewToken(user="ada", name="laptop"), ADA)
        hook: Any = await perform(up.operations, MakeHook(name="alerts"), ADA)
        await up.operations.users.add("bob", UserRole.VIEWER, None, ROOT_ACCOUNT)
        await perform(up.operations, GiveRole(user="bob", role=UserRole.OPERATOR, groups=(WEB,)), ADA)
        rows = rows_of(up)
        assert json.loads(rows[-1]["outcome"]) == {
            "before": {"groups": None, "role": "viewer"},
            "groups": ["web"],
            "role": "operator",
        }
        text = json.dumps(rows)
        assert not [secret for secret in (made["token"], hook["token"]) if secret in text]

    play(tmp_path, scene)


def test_a_reload_is_reported_with_every_edit_and_a_start_with_what_was_edited_before(tmp_path: Path) -> None:
    house = EngineBed(tmp_path, model(interval="1h"))

    async def scene(up: Up) -> None:
        house.declare(model(interval="1h", maximum=7))
        await perform(up.operations, ReloadFile(), ADA)
        assert rows_of(up)[1]["outcome"] == "groups.web.max: 4 → 7"
        house.declare("groups: [")
        await perform(up.operations, ReloadFile(), ADA)
        assert rows_of(up)[3]["result"] == "refused"
        house.declare(model(interval="1h", maximum=9))

    house.run(scene)

    async def again(up: Up) -> None:
        start = dict(up.store.audit_after(5, 1)[0].fields)
        assert (start["act"], start["who"], start["outcome"]) == ("start", "start", "groups.web.max: 7 → 9")

    house.run(again)


def test_nothing_is_done_while_the_trail_cannot_be_written(tmp_path: Path) -> None:
    async def scene(up: Up) -> None:
        await up.engine.trail.stop()
        with pytest.raises(StoreError, match="closed"):
            await perform(up.operations, PauseGroup(group=WEB), ADA)
        assert up.runtime.state.pause is Pause.NO

    play(tmp_path, scene)
