"""What every route answers: a daemon of values with every field set stands behind the real routes."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, cast, get_type_hints

from config.document.entities import Entity
from handler.engine.declaring import Redeclared
from handler.identity.actors import local
from handler.operations.account_admin import AccountAdmin
from handler.operations.adoption import MemberAdoption
from handler.operations.authorising import Authorising
from handler.operations.balancer_admin import BalancerAdmin
from handler.operations.canary_admin import CanaryAdmin
from handler.operations.declaration_admin import DeclarationAdmin
from handler.operations.facade import Operations
from handler.operations.forecast_admin import ForecastAdmin
from handler.operations.freeze_admin import FreezeAdmin
from handler.operations.garbage_admin import GarbageAdmin
from handler.operations.key_admin import KeyAdmin
from handler.operations.member_admin import MemberAdmin
from handler.operations.member_course_admin import MemberCourseAdmin
from handler.operations.pause_admin import PauseAdmin
from handler.operations.roll_admin import RollAdmin
from handler.operations.setting_admin import SettingAdmin
from handler.operations.store_admin import ClusterAdmin, StoreAdmin
from handler.operations.user_admin import UserAdmin
from handler.operations.webhook_admin import WebhookAdmin
from handler.ports.declarations import EntityChange, EntityRevision
from handler.runtime.series import SeriesRecorder
from handler.snapshots.writing import laid_out
from handler.users.attempts import RefusedAttempts
from handler.web.api import build
from handler.web.gate import ACTOR, BEARER, Message
from tests.support.filled import filled
from trigger.explain.explanation import Explanation

BODIES: Final[Mapping[str, object]] = {
    "PUT /api/v1/groups/{group}/size": {"size": 3},
    "POST /api/v1/groups/{group}/alarms": {"id": "alarm-1", "policy": "out"},
    "POST /api/v1/groups/{group}/pause": {},
    "POST /api/v1/groups/{group}/freeze": {"lasts": 3600},
    "POST /api/v1/groups/{group}/converge": {},
    "POST /api/v1/groups/{group}/members": {"named": "web-1"},
    "POST /api/v1/groups/{group}/members/{member}/protect": {"protected": True},
    "PUT /api/v1/groups/{group}/balancers/{balancer}": {"port": 8080},
    "POST /api/v1/groups/{group}/forecasts/{policy}/loads": {"since": 90, "loads": [1.5, None]},
    "POST /api/v1/pause": {},
    "PUT /api/v1/file": {"text": "groups: {}", "source": "fleet.yaml"},
    "POST /api/v1/declarations": {"sections": {"policies": {"more": {"add": 1}}}},
    "POST /api/v1/declarations/{section}": {"name": "more", "declared": {"add": 1}},
    "PUT /api/v1/declarations/{section}/{id}": {"declared": {"add": 1}},
    "POST /api/v1/groups/{group}/settings": {"values": {"conditions.busy.above": "70"}},
    "POST /api/v1/groups/{group}/canary": {"values": {"conditions.busy.above": "70"}},
    "POST /api/v1/hooks": {"name": "grafana"},
    "POST /api/v1/hooks/{name}/rotate": {},
    "POST /api/v1/member-tokens/rotate": {},
    "PUT /api/v1/recording": {"on": True},
    "POST /api/v1/domains": {"name": "shops"},
    "POST /api/v1/accounts": {"name": "books"},
    "PUT /api/v1/accounts/{account}/quota": {"max_groups": 3},
    "PUT /api/v1/accounts/{account}/uses": {"uses": ["profiles.web"]},
    "POST /api/v1/users/first": {"name": "ada", "anonymous": "none"},
    "PUT /api/v1/anonymous": {"anonymous": "metrics"},
    "POST /api/v1/users": {"name": "bob", "role": "viewer"},
    "PUT /api/v1/users/{user}/role": {"role": "operator"},
    "POST /api/v1/users/{user}/disable": {},
    "PUT /api/v1/users/{user}/password": {"password": "correct horse battery"},
    "POST /api/v1/users/{user}/tokens": {"name": "laptop"},
    "POST /api/v1/users/{user}/keys": {"name": "ci"},
}
"""What is sent where a body must be."""

PARTS: Final[Mapping[str, type]] = {
    "members": MemberAdmin,
    "adoption": MemberAdoption,
    "courses": MemberCourseAdmin,
    "pauses": PauseAdmin,
    "rolling": RollAdmin,
    "forecasts": ForecastAdmin,
    "balancers": BalancerAdmin,
    "freezes": FreezeAdmin,
    "garbage": GarbageAdmin,
    "settings": SettingAdmin,
    "canaries": CanaryAdmin,
    "stores": StoreAdmin,
    "cluster": ClusterAdmin,
    "webhooks": WebhookAdmin,
    "declarations": DeclarationAdmin,
    "accounts": AccountAdmin,
    "users": UserAdmin,
    "keys": KeyAdmin,
    "authorising": Authorising,
    "attempts": RefusedAttempts,
}
"""The parts of `Operations`, by attribute."""

QUERIES: Final[Mapping[str, str]] = {
    "GET /sd/prometheus/{group}": "port=9100",
    "GET /api/v1/groups/{group}/why": "at=1",
}


class Filled:
    """Stands for `Operations`: every method answers a value with every field set, and changes nothing."""

    def __init__(self, operations: type) -> None:
        self._operations = operations

    def __getattr__(self, name: str) -> Any:
        if name in PARTS:
            return Filled(PARTS[name])
        member = inspect.getattr_static(self._operations, name)
        if isinstance(member, property):
            return Filled(get_type_hints(member.fget)["return"])
        kind = get_type_hints(member)["return"]
        made = {SeriesRecorder: _series, tuple[EntityRevision, ...]: _revisions, Redeclared: _redeclared}
        value = made[kind]() if kind in made else filled(kind)
        return _later(value) if inspect.iscoroutinefunction(member) else lambda *_, **__: value


def _later(value: object) -> Callable[..., Any]:
    async def answer(*_: object, **__: object) -> object:
        return value

    return answer


def _series() -> SeriesRecorder:
    series, explained = SeriesRecorder(30.0), filled(Explanation)
    series.sized(explained.at, desired=3, in_service=2, minimum=1, maximum=4)
    series.judged(explained)
    return series


def _change() -> EntityChange:
    made = replace(filled(Entity), text='{"profile": "word"}')
    return EntityChange(key=made.key, before=None, after=made)


def _revisions() -> tuple[EntityRevision, ...]:
    return (replace(filled(EntityRevision), changes=(_change(),)),)


def _redeclared() -> Redeclared:
    return replace(filled(Redeclared), problems=(), changes=(_change(),))


def answers() -> str:
    """The answer of every route that is described, by method and path; and of each the body that it takes."""
    app = build(cast("Operations", Filled(Operations)))
    described = app.openapi()
    routes = [(method.upper(), path) for path, methods in described["paths"].items() for method in methods]
    answered = dict(asyncio.run(_asked(app, sorted(routes))))
    bodies = {name: sorted(schema.get("properties", ())) for name, schema in described["components"]["schemas"].items()}
    return laid_out({"answers": answered, "fields of bodies": bodies}) + "\n"


async def _asked(app: Any, routes: list[tuple[str, str]]) -> list[tuple[str, object]]:
    return [(f"{method} {path}", await _answer(app, method, path)) for method, path in routes]


async def _answer(app: Any, method: str, path: str) -> dict[str, object]:
    name, sent = f"{method} {path}", list[Message]()
    body = b"" if name not in BODIES else json.dumps(BODIES[name]).encode()

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    spelt = path.replace("{section}", "groups").replace("{number}", "1").translate({ord("{"): None, ord("}"): None})
    scope = {
        "type": "http",
        "method": method,
        "path": spelt,
        "query_string": QUERIES.get(name, "").encode(),
        "headers": [(b"content-type", b"application/json")],
        BEARER: True,
        ACTOR: local(),
    }
    await app(scope, receive, send)
    text = b"".join(message.get("body", b"") for message in sent[1:]).decode()
    return {"status": sent[0]["status"], "body": json.loads(text) if text else None}
