"""Role × every route and every operation × own, other and missing groups, made from the router itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from itertools import product
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from config.units import GroupId
from handler.identity.actors import Actor, Origin, Way
from handler.identity.grants import NOTHING, Anonymous, Grants
from handler.identity.rights import (
    VERBS,
    OnAccount,
    OnCredentials,
    OnEntity,
    OnGroups,
    OnInstallation,
    OnUser,
    OnWebhook,
    Reach,
    UserRole,
    Verb,
)
from handler.ingest.alerts.tokens import NewWebhook
from handler.operations.address import address_of, right_of
from handler.operations.registry import OPERATIONS
from handler.web.api import build
from handler.web.gate import PUBLIC
from tests.support.asked import asked
from tests.support.engines import MODEL, EngineBed, Up
from tests.support.routed import A_MEMBER, API, READING, Target, looked_at, operation, performed, routes

OTHERS = """\
  db: {profile: web, min: 0, max: 1}
  dbs: {profile: web, min: 0, max: 1}
"""
TWO_OWNERS = MODEL + OTHERS
WEB, DB = GroupId("web"), GroupId("db")


def user(role: UserRole, *groups: GroupId) -> Actor:
    """A user's actor; of every group if none is named."""
    grants = Grants(VERBS[role], frozenset(groups) if groups else None)
    return Actor(name=role.value, origin=Origin(way=Way.TOKEN, credential="t"), grants=grants, is_user=True)


ANONYMOUS = Actor(name="", origin=Origin(way=Way.NONE), grants=NOTHING)
ROLES = [(role, groups) for role in UserRole for groups in ((), (WEB,))]
CALLERS = [user(role, *groups) for role, groups in ROLES]


def play(place: Path, scene: Callable[[Up, FastAPI], Coroutine[Any, Any, None]]) -> None:
    async def whole(up: Up) -> None:
        await up.operations.users.begin(Target().user, Anonymous.NONE)
        for name, groups in (("pager", (WEB,)), ("of-db", (DB,)), ("of-all", ())):
            await up.operations.webhooks.make(NewWebhook(name=name, groups=groups))
        await scene(up, build(up.operations))

    EngineBed(place, TWO_OWNERS).run(whole)


def test_every_route_is_an_operation_s_or_has_its_row_or_is_public(tmp_path: Path) -> None:
    async def scene(up: Up, app: FastAPI) -> None:
        operations = {(address_of(kind).method, API + address_of(kind).path) for kind in OPERATIONS}
        served = {(method, path) for path, route in routes(app) for method in route.methods}
        assert {path for method, path in served if (method, path) not in operations} == READING.keys() | PUBLIC
        assert operations <= served

    play(tmp_path, scene)


def expected(actor: Actor, verb: Verb, reach: Reach, group: GroupId) -> set[int]:
    """The statuses that refuse, by rules written anew here; empty: it is not refused."""
    whole, own = actor.grants.groups is None, actor.grants.groups or set()
    if isinstance(reach, OnGroups) and not whole and group not in own:
        return {404}
    has = verb in actor.grants.verbs and (
        whole or not isinstance(reach, OnInstallation | OnAccount | OnUser | OnCredentials | OnEntity)
    )
    return set() if has else {403}


def test_a_reading_route_shows_what_is_the_caller_s_and_nothing_else(tmp_path: Path) -> None:
    async def scene(up: Up, app: FastAPI) -> None:
        for actor, path, group in product(CALLERS, READING, (WEB, DB)):
            verb, given = READING[path]
            reply = await looked_at(app, path, Target(group=group), actor)
            refused = expected(actor, verb, OnGroups(frozenset({group})) if given is None else given, group)
            answered = {404} if path == A_MEMBER else {200, 202, 400, 409, 422, 503}
            assert reply.status in (refused or answered), (
                actor.name,
                path,
                group,
                reply,
            )
            if actor.grants.groups == {WEB}:
                assert not DISCLOSED.search(_without_the_question(reply.text)), (actor.name, path, group, reply)

    play(tmp_path, scene)


DISCLOSED = re.compile(r"\bdbs?\b|of-db|of-all")


def _timeless(page: str) -> str:
    """A page without the instant at which it was made, and the digests of its files, which may hold any letters."""
    return re.sub(r'data-now="[^"]*"|as of [0-9:]+ UTC|\?v=[0-9a-f]+', "", page)


def _without_the_question(text: str) -> str:
    """An answer without what the caller itself said."""
    return text.replace("there is no group db", "")


def test_an_operation_is_refused_without_its_verb_and_hidden_of_another_s_group(tmp_path: Path) -> None:
    async def scene(up: Up, app: FastAPI) -> None:
        for kind, actor, (group, hook) in product(OPERATIONS, CALLERS, ((WEB, "pager"), (DB, "of-db"))):
            right = right_of(operation(kind, Target(group=group, hook=hook)))
            reach = OnGroups(frozenset({group})) if isinstance(right.on, OnWebhook) else right.on
            refused = expected(actor, right.verb, reach, group)
            if refused:
                reply = await performed(app, kind, Target(group=group, hook=hook), actor)
                assert reply.status in refused, (kind, actor.name, group, reply)

    play(tmp_path, scene)


def test_another_s_group_or_webhook_is_answered_exactly_as_one_that_does_not_exist(tmp_path: Path) -> None:
    async def scene(up: Up, app: FastAPI) -> None:
        actor = user(UserRole.ADMIN, WEB)
        for kind in OPERATIONS:
            right = right_of(operation(kind, Target(group=DB, hook="of-db")))
            if isinstance(right.on, OnGroups | OnWebhook):
                other = await performed(app, kind, Target(group=DB, hook="of-db"), actor)
                missing = await performed(app, kind, Target(group="dx", hook="of-dx"), actor)
                assert other.status == missing.status == 404, kind
                assert other.text.replace("db", "dx") == missing.text, kind
        for path in READING:
            if "{group}" in path:
                other = await asked(app, "GET", path.replace("{group}", "db"), actor)
                missing = await asked(app, "GET", path.replace("{group}", "dx"), actor)
                assert other.status == 404, path
                assert _timeless(other.text).replace("db", "dx") == _timeless(missing.text), path

    play(tmp_path, scene)


def test_without_a_credential_everything_but_health_is_refused_with_a_challenge(tmp_path: Path) -> None:
    async def scene(up: Up, app: FastAPI) -> None:
        for path in READING:
            method = "POST" if path.endswith("/check") else "GET"
            reply = await asked(app, method, path.replace("{group}", "web"), ANONYMOUS)
            assert (reply.status, reply.headers.get("www-authenticate")) == (401, "Bearer"), (path, reply)
        assert (await asked(app, "GET", "/readyz", ANONYMOUS)).json.keys() == {"ready"}
        assert (await asked(app, "GET", "/healthz", ANONYMOUS)).status == 200

    play(tmp_path, scene)


def test_the_events_of_a_caller_are_of_its_own_groups(tmp_path: Path) -> None:
    async def scene(up: Up, app: FastAPI) -> None:
        reply = await asked(app, "GET", "/events", user(UserRole.VIEWER, WEB))
        assert reply.status == 200
        assert not DISCLOSED.search(reply.text)

    play(tmp_path, scene)


def test_what_a_user_does_is_in_the_history_under_its_name(tmp_path: Path) -> None:
    async def scene(up: Up, app: FastAPI) -> None:
        actor = user(UserRole.OPERATOR, WEB)
        reply = await asked(app, "POST", f"{API}/groups/web/pause", actor, {"decisions_only": True})
        assert reply.status == 200
        history = await up.operations.history(WEB, before=None, limit=5)
        assert {event.by for event in history if event.name == "pause"} == {"operator"}

    play(tmp_path, scene)


def test_an_alarm_that_a_user_raises_is_in_the_history_under_the_user_s_name(tmp_path: Path) -> None:
    async def scene(up: Up, app: FastAPI) -> None:
        alarm = {"id": "a1", "policy": "out", "by": "ada"}
        reply = await asked(app, "POST", f"{API}/groups/web/alarms", user(UserRole.OPERATOR, WEB), alarm)
        assert reply.status in {202, 403}, reply
        told = str(await up.operations.history(WEB, before=None, limit=5)) + str(await up.operations.why(WEB, None))
        assert ("operator" in told, "ada" in told) == (True, False)

    play(tmp_path, scene)
