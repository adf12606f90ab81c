"""Requests at random, by every role, on every route: none is answered with an error of the server."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from config.units import GroupId
from handler.identity.rights import UserRole
from tests.handler.web.test_rights import API, CALLERS, WEB, play, routes, user
from tests.support.asked import asked
from tests.support.engines import Up

ODD = (
    "web",
    "db",
    "",
    "..",
    "a" * 300,
    "0",
    "-1",
    "nan",
    "1e999",
    "null",
    "é",
    "\x00",
    "%2e",
    "' OR 1=1",
    "web,db",
    "9" * 30,
)
QUERIES = (
    "at",
    "until",
    "before",
    "since",
    "limit",
    "kind",
    "port",
    "counter",
    "group",
    "hook",
    "user",
    "after",
    "force",
)
VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1,
    3,
    10**30,
    1.5,
    "",
    "web",
    "viewer",
    "none",
    "x" * 500,
    [],
    ["web"],
    {},
    {"a": [1]},
)
REQUESTS = 400


def a_body(chance: random.Random) -> Any:
    names = (
        "size",
        "id",
        "policy",
        "name",
        "role",
        "groups",
        "verbs",
        "lasts",
        "finish",
        "named",
        "port",
        "on",
        "for_s",
        "surge",
        "to",
    )
    if chance.random() < 0.2:
        return chance.choice(VALUES)
    return {name: chance.choice(VALUES) for name in chance.sample(names, chance.randint(0, 4))}


@pytest.mark.parametrize("seed", [1, 2])
def test_no_request_gives_an_error_of_the_server(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311  # reproducible, no secret

    async def scene(up: Up, app: FastAPI) -> None:
        served = sorted({(method, path) for path, route in routes(app) for method in route.methods})
        for _ in range(REQUESTS):
            method, path = chance.choice(served)
            while "{" in path:
                name = path[path.index("{") : path.index("}") + 1]
                path = path.replace(name, chance.choice(ODD).replace("/", ""), 1)
            query = "&".join(f"{name}={chance.choice(ODD[:12])}" for name in chance.sample(QUERIES, 2))
            body = None if method == "GET" else a_body(chance)
            reply = await asked(app, method, path, chance.choice(CALLERS), body, query.replace("\x00", "%00"))
            assert reply.status < 500 or reply.status == 503, (method, path, query, body, reply)

    play(tmp_path, scene)


@pytest.mark.parametrize(
    ("path", "body", "groups"),
    [
        ("/users", {"name": "eve", "role": "viewer", "account": "\ud800"}, ()),
        ("/domains", {"name": "shops", "parent": "\ud800"}, ()),
        ("/store/adopt", {"group": "\ud800"}, (WEB,)),
    ],
    ids=["an account", "a domain", "a group"],
)
def test_half_of_a_character_in_a_name_names_nothing(
    tmp_path: Path, path: str, body: Any, groups: tuple[GroupId, ...]
) -> None:
    async def scene(up: Up, app: FastAPI) -> None:
        reply = await asked(app, "POST", f"{API}{path}", user(UserRole.ADMIN, *groups), body)
        assert (reply.status, "\\ud800" in reply.json["detail"]) == (404, True)

    play(tmp_path, scene)
