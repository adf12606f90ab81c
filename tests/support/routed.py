"""Every route and every operation of the application, asked for one target: a group, a webhook, a user and so on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from typing import Any, get_type_hints

from fastapi import FastAPI
from fastapi.routing import APIRoute

from config.model.sections import Section
from config.units import AccountId
from handler.identity.actors import Actor
from handler.identity.rights import INSTALLATION, OWN, OWN_ACCOUNT, OnAccount, OnEntity, OnUser, OnWebhook, Reach, Verb
from handler.operations.address import call_of, right_of
from handler.operations.registry import Operation
from tests.support.asked import Reply, asked
from tests.support.filled import filled

API = "/api/v1"
A_MEMBER = "/groups/{group}/members/{member}"
"""The page of one that no group has."""
A_GROUP = None
"""The group that the path names, or the query."""
AN_ACCOUNT = OnAccount(AccountId("root"))
"""Stands for the one that the path names."""
A_USER = OnUser("root")
"""Likewise."""
AN_ENTITY = OnEntity(Section.POLICIES, "out")
"""Likewise."""
READING: dict[str, tuple[Verb, Reach | None]] = {
    "/": (Verb.READ, OWN),
    "/acts": (Verb.READ, INSTALLATION),
    "/audit": (Verb.AUDIT, INSTALLATION),
    "/declared": (Verb.READ, OWN_ACCOUNT),
    "/declared/revisions": (Verb.READ, OWN_ACCOUNT),
    "/declared/{section}/at/{id}": (Verb.READ, AN_ENTITY),
    "/declared/{section}/new": (Verb.TUNE, OWN_ACCOUNT),
    "/events": (Verb.READ, A_GROUP),
    "/garbage": (Verb.EXAMINE, A_GROUP),
    "/groups/{group}": (Verb.READ, A_GROUP),
    "/groups/{group}/acts": (Verb.READ, A_GROUP),
    A_MEMBER: (Verb.READ, A_GROUP),
    "/groups/{group}/tune": (Verb.TUNE, A_GROUP),
    "/groups/{group}/tune/answer": (Verb.TUNE, A_GROUP),
    "/groups/{group}/tune/dialog": (Verb.TUNE, A_GROUP),
    "/groups/{group}/tune/patch": (Verb.TUNE, A_GROUP),
    "/groups/{group}/setup": (Verb.READ, A_GROUP),
    "/groups/{group}/values": (Verb.READ, A_GROUP),
    "/metrics": (Verb.METRICS, OWN),
    "/users": (Verb.USERS, OWN_ACCOUNT),
    "/users/{user}": (Verb.USERS, A_USER),
    "/webhooks": (Verb.HOOKS, OWN),
    "/sd/prometheus/{group}": (Verb.METRICS, A_GROUP),
    f"{API}/accounts": (Verb.READ, OWN),
    f"{API}/accounts/{{account}}": (Verb.READ, AN_ACCOUNT),
    f"{API}/audit": (Verb.AUDIT, INSTALLATION),
    f"{API}/cluster": (Verb.READ, INSTALLATION),
    f"{API}/declarations": (Verb.READ, OWN_ACCOUNT),
    f"{API}/declarations/document": (Verb.TUNE, OWN_ACCOUNT),
    f"{API}/declarations/revisions": (Verb.READ, OWN_ACCOUNT),
    f"{API}/declarations/{{section}}": (Verb.READ, OWN_ACCOUNT),
    f"{API}/declarations/{{section}}/{{id}}": (Verb.READ, AN_ENTITY),
    f"{API}/domains": (Verb.READ, OWN),
    f"{API}/endpoints": (Verb.READ, INSTALLATION),
    f"{API}/garbage": (Verb.EXAMINE, A_GROUP),
    f"{API}/groups": (Verb.READ, OWN),
    f"{API}/groups/{{group}}": (Verb.READ, A_GROUP),
    f"{API}/groups/{{group}}/balancers": (Verb.READ, A_GROUP),
    f"{API}/groups/{{group}}/canary": (Verb.TUNE, A_GROUP),
    f"{API}/groups/{{group}}/definitions": (Verb.READ, A_GROUP),
    f"{API}/groups/{{group}}/forecasts": (Verb.READ, A_GROUP),
    f"{API}/groups/{{group}}/history": (Verb.READ, A_GROUP),
    f"{API}/groups/{{group}}/members": (Verb.READ, A_GROUP),
    f"{API}/groups/{{group}}/probe": (Verb.EXAMINE, A_GROUP),
    f"{API}/groups/{{group}}/settings": (Verb.TUNE, A_GROUP),
    f"{API}/groups/{{group}}/size": (Verb.READ, A_GROUP),
    f"{API}/groups/{{group}}/series": (Verb.READ, A_GROUP),
    f"{API}/groups/{{group}}/values": (Verb.READ, A_GROUP),
    f"{API}/groups/{{group}}/why": (Verb.READ, A_GROUP),
    f"{API}/hooks": (Verb.READ, OWN),
    f"{API}/hooks/check": (Verb.HOOKS, INSTALLATION),
    f"{API}/keys": (Verb.USERS, OWN_ACCOUNT),
    f"{API}/pause": (Verb.READ, OWN),
    f"{API}/recording": (Verb.READ, INSTALLATION),
    f"{API}/seal": (Verb.USERS, INSTALLATION),
    f"{API}/store": (Verb.READ, INSTALLATION),
    f"{API}/tokens": (Verb.USERS, OWN_ACCOUNT),
    f"{API}/users": (Verb.USERS, OWN_ACCOUNT),
}
"""Every route that is no operation's and needs a right: a new one needs a row. Of what a path names, `looked_at`."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """What a request names."""

    group: str = "web"
    hook: str = "pager"
    account: str = "root"
    user: str = "ada"
    policy: str = "out"

    @property
    def names(self) -> tuple[str, ...]:
        """All of it, the longest first."""
        found = (self.group, self.hook, self.account, self.user, self.policy)
        return tuple(sorted(found, key=lambda name: -len(name)))


def routes(served: FastAPI) -> Iterator[tuple[str, APIRoute]]:
    """Path and route of everything that is served."""
    return ((route.path, route) for route in served.routes if isinstance(route, APIRoute))


def operation(kind: type[Operation], target: Target) -> Operation:
    """One operation of a kind, on a target."""
    hints = get_type_hints(kind)
    given: dict[str, Any] = {each.name: filled(hints[each.name]) for each in fields(kind) if each.default is MISSING}
    named = {"group": target.group, "groups": (target.group,), "account": target.account, "user": target.user}
    given |= {name: value for name, value in named.items() if name in hints}
    given |= {"section": Section.POLICIES, "id": target.policy} if {"section", "id"} <= hints.keys() else {}
    given |= {"name": target.hook} if isinstance(right_of(kind(**given)).on, OnWebhook) else {}
    made: Operation = kind(**given)
    return made


async def performed(app: FastAPI, kind: type[Operation], target: Target, actor: Actor) -> Reply:
    """Ask for an operation on a target."""
    call = call_of(operation(kind, target))
    path, _, query = call.path.partition("?")
    body = None if call.body is None else json.loads(call.body)
    return await asked(app, call.method, path, actor, body, query)


async def looked_at(app: FastAPI, path: str, target: Target, actor: Actor) -> Reply:
    """Look at one route of a target, in the path or in the query."""
    method, body = ("POST", {}) if path.endswith("/check") else ("GET", None)
    query = f"group={target.group}" if READING[path][1] is A_GROUP and "{group}" not in path else ""
    named = {"group": target.group, "account": target.account, "user": target.user}
    placed = {**named, "section": "policies", "id": target.policy, "member": "web-1"}
    return await asked(app, method, path.format_map(placed), actor, body, query)
