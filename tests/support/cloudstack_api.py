"""A daemon that serves CloudStack's query API, over a cloud in memory, and a caller that signs by the book."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from handler.cloudstack_api.service import CloudstackCommands
from handler.identity.grants import Anonymous
from handler.identity.rights import UserRole
from tests.support.engines import EngineBed, Up

ZONE = "7c0a5a1e-4f5e-4c8b-9a43-2f4b7f0d2c11"
RULE = "1d1b4f6e-0a52-4c0e-8c4b-6a2b9f5d7e33"
OTHER_RULE = "2a6c9d10-7f11-4f0e-9a55-8d7a1c2b3e44"
TEXT = f"""\
counters: {{load: {{push: LOAD}}}}
conditions: {{high: {{counter: load, above: 80}}}}
policies: {{more: {{when: [high], add: 1}}}}
clouds:
  prod: {{cloudstack: {{endpoint: "https://cloud.example.org/client/api", api_key: {{env: K}}, secret: {{env: S}}}}}}
balancers:
  edge: {{haproxy: {{socket: /run/edge.sock, backend: web}}}}
  side: {{haproxy: {{socket: /run/side.sock, backend: web}}}}
profiles:
  file-made: {{cloud: prod, zone: par1, template: web, offering: small}}
groups:
  file-made: {{profile: file-made, min: 0, max: 1, policies: [more]}}
cloudstack_api:
  zones:
    {ZONE}: {{cloud: prod, networks: [tier]}}
  rules:
    {RULE}: {{name: web-https, use: edge, port: 8080, public_ip: 203.0.113.7, public_port: 443}}
    {OTHER_RULE}: {{name: shop, use: side, port: 8081}}
"""


def signed(parameters: Mapping[str, str], api_key: str, secret: str) -> dict[str, str]:
    """The parameters with a key and its signature, as the documentation says."""
    given = {**parameters, "apiKey": api_key, "response": parameters.get("response", "json")}
    text = "&".join(f"{name}={quote(value, safe='*').replace('~', '%7E')}" for name, value in sorted(given.items()))
    digest = hmac.new(secret.encode(), text.lower().encode(), hashlib.sha1).digest()
    return {**given, "signature": base64.b64encode(digest).decode()}


class ApiFault(Exception):
    """An answer that is an error."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code, self.text = code, text


@dataclass
class Caller:
    """A user with a key pair."""

    commands: CloudstackCommands
    api_key: str
    secret: str

    async def answer(self, command: str, **given: object) -> tuple[int, dict[str, Any]]:
        """The status and the whole document of an answer."""
        sent = {name.replace("__", "."): str(value) for name, value in given.items()}
        api = self.commands.api
        assert api is not None
        found = await self.commands.answer(
            api, signed({"command": command, **sent}, self.api_key, self.secret), "127.0.0.1"
        )
        return found.status, json.loads(found.body)

    async def call(self, command: str, **given: object) -> dict[str, Any]:
        """What is below the one key of an answer; an error is raised."""
        status, document = await self.answer(command, **given)
        (inner,) = document.values()
        if status != 200:
            raise ApiFault(inner["errorcode"], inner["errortext"])
        return dict(inner)

    async def done(self, command: str, **given: object) -> dict[str, Any]:
        """The result of a job; one that failed is raised."""
        first = await self.call(command, **given)
        job = await self.call("queryAsyncJobResult", jobid=first["jobid"])
        if job["jobstatus"] != 1:
            raise ApiFault(job["jobresultcode"], job["jobresult"]["errortext"])
        (inner,) = job["jobresult"].values()
        return inner if isinstance(inner, dict) else {"success": inner}

    async def listed(self, command: str, **given: object) -> list[dict[str, Any]]:
        """The objects of a list."""
        found = await self.call(command, **given)
        found.pop("count", None)
        return next(iter(found.values()), [])


@dataclass
class ApiScene:
    """A daemon that is up, and callers."""

    up: Up
    commands: CloudstackCommands
    admin: Caller

    async def user(self, name: str, role: UserRole = UserRole.TUNER, **more: Any) -> Caller:
        """One more user, with a key pair."""
        known = self.up.operations.users.known
        made = await known.add(name, role, None, **more)
        return await self.caller(made.name)

    async def caller(self, user: str) -> Caller:
        """A caller with a new key pair of a user."""
        pair = await self.up.engine.credentials.key_pairs.new(user, "api", None)
        return Caller(self.commands, pair.api_key, pair.secret_key)

    async def policies(self, by: Caller | None = None) -> tuple[str, str]:
        """A policy for each direction, on two counters."""
        by = by or self.admin
        found = []
        for action, operator in (("scaleup", "GT"), ("scaledown", "LT")):
            counter = await self.admin.done(
                "createCounter", name=f"{action} load", source="SNMP", value="1.3.6.1.4.1.2021.11.9.0"
            )
            condition = await by.done(
                "createCondition", counterid=counter["id"], relationaloperator=operator, threshold=50
            )
            policy = await by.done("createAutoScalePolicy", action=action, duration=60, conditionids=condition["id"])
            found.append(policy["id"])
        return found[0], found[1]

    async def group(self, by: Caller | None = None, **more: object) -> dict[str, Any]:
        """A whole group, with everything that it needs."""
        by = by or self.admin
        up, down = await self.policies(by)
        profile = await by.done("createAutoScaleVmProfile", zoneid=ZONE, serviceofferingid="small", templateid="web")
        wanted = {"lbruleid": RULE, "minmembers": 1, "maxmembers": 3, "scaleuppolicyids": up,
                  "scaledownpolicyids": down, "vmprofileid": profile["id"]}  # fmt: skip
        return await by.done("createAutoScaleVmGroup", **{**wanted, **more})


@contextlib.asynccontextmanager
async def serving(bed: EngineBed) -> AsyncIterator[ApiScene]:
    """One life of a daemon; the first life makes the first user."""
    async with bed.running() as up:
        known = up.operations.users.known
        if not known.exist:
            await known.begin("ada", Anonymous.NONE)
        commands = CloudstackCommands(up.engine, up.operations, lambda: up.bed.read().steady)
        scene = ApiScene(up, commands, Caller(commands, "", ""))
        pairs = up.engine.credentials.key_pairs.pairs("ada")
        if pairs:
            key = up.engine.credentials.key_pairs.signing_key(pairs[0].api_key)
            assert key is not None
            scene.admin = Caller(commands, key.api_key, key.secret)
        else:
            scene.admin = await scene.caller("ada")
        yield scene


def a_bed(folder: Path, text: str = TEXT) -> EngineBed:
    """A daemon's bed with the API declared."""
    return EngineBed(folder, text=text)
