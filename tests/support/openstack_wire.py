"""An OpenStack on loopback: Keystone's tokens and catalogue, and the services that are put behind it.

The shapes and texts were read off a real one (Zed); openstacksdk, which we did not write, must be content with it.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import threading
import time
import urllib.parse
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from tests.support.wire_server import Befallen, Fault, WireHandler, served

CREDENTIAL, SECRET = "a4e4974655284d8b84021ef3ddd5b281", "s3cret of the wire"
PROJECT, PASSWORD = "3f5243e1a4f2406aac456116aad52b73", "osbed"
UNAUTHORISED = "The request you have made requires authentication."
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    """Below the service."""
    query: Mapping[str, str]
    body: Any
    headers: Mapping[str, str]
    fields: frozenset[str] = frozenset()
    """What entries of a listing are to be shown by; none: all that there is."""

    @property
    def label(self) -> str:
        """What faults are scripted for, such as ``GET /servers/{id}``."""
        return f"{self.method} {_UUID.sub('{id}', self.path)}"


class Refused(Exception):
    def __init__(self, status: int, body: Any) -> None:
        super().__init__(status)
        self.status, self.body = status, body


class Service(Protocol):
    """One service behind the catalogue."""

    kind: str
    """Its type in the catalogue."""
    root: str
    """The version's path, such as ``/v2.1``."""

    def versions(self, url: str) -> Any:
        """The version document."""
        ...

    def answer(self, request: Request) -> tuple[int, Any]: ...


def error(status: int, message: str, *, obeyed: bool = False, key: str = "computeFault") -> Fault:
    body = {key: {"code": status, "message": message}}
    return Fault(status=status, body=json.dumps(body).encode(), obeyed=obeyed)


def mint(what: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, what))


def at(instant: float) -> str:
    return datetime.fromtimestamp(instant, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class OpenstackWire(Befallen):
    """Keystone, and what it knows of."""

    services: tuple[Service, ...] = ()
    secrets: dict[str, str] = field(default_factory=lambda: {CREDENTIAL: SECRET, "demo": PASSWORD})
    tokens: set[str] = field(default_factory=set)
    calls: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    """As `calls`, whole: ``GET /compute/v2.1/servers/{id}``."""
    before: Callable[[str], None] = lambda label: None
    url: str = ""
    token_life: float = 86400.0
    """Seconds."""
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    lock: threading.RLock = field(default_factory=threading.RLock)

    def expire(self) -> None:
        """No token is good any more."""
        self.tokens.clear()

    def count(self, label: str) -> int:
        return self.calls.count(label)

    def called(self, method: str, target: str, body: bytes, headers: Mapping[str, str]) -> tuple[Fault, bytes, str]:
        """Answer one request; the fault that befalls the answer, the answer, and a new token if one is given."""
        parts = urllib.parse.urlsplit(target)
        asked = urllib.parse.parse_qsl(parts.query, keep_blank_values=True)
        query, fields = dict(asked), frozenset(value for key, value in asked if key == "fields")
        given = json.loads(body) if body else None
        service, path = self._addressed(parts.path)
        request = Request(method, path, query, given, headers, fields)
        with self.lock:
            self.calls.append(request.label)
            self.asked.append(f"{method} {parts.path}")
            queue = self.faults[request.label]
            fault = queue.popleft() if queue else Fault(obeyed=True, status=200)
            if not fault.obeyed:
                return fault, fault.body, ""
        self.before(request.label)
        with self.lock:
            status, answer, token = self._answered(service, request)
        if fault.status == 200:
            fault = Fault(status=status, obeyed=True)
        return fault, fault.body or (b"" if answer is None else json.dumps(answer).encode()), token

    def _addressed(self, path: str) -> tuple[Service | None, str]:
        for service in self.services:
            base = f"/{service.kind}"
            if path == base or path.startswith(f"{base}/"):
                return service, path.removeprefix(base).removeprefix(service.root) or "/"
        return None, path.removeprefix("/identity/v3") or "/"

    def _answered(self, service: Service | None, request: Request) -> tuple[int, Any, str]:
        try:
            if service is None:
                return self._keystone(request)
            if request.path in {"/", "/v3/"}:
                return 200, service.versions(f"{self.url}/{service.kind}{service.root}"), ""
            if request.headers.get("X-Auth-Token") not in self.tokens:
                raise Refused(401, {"error": {"code": 401, "title": "Unauthorized", "message": UNAUTHORISED}})
            return (*service.answer(request), "")
        except Refused as refused:
            return refused.status, refused.body, ""

    def _keystone(self, request: Request) -> tuple[int, Any, str]:
        if request.path == "/":
            links = [{"rel": "self", "href": f"{self.url}/identity/v3/"}]
            return 200, {"version": {"id": "v3.14", "status": "stable", "links": links, "media-types": []}}, ""
        identity = request.body["auth"]["identity"]
        (method,) = identity["methods"]
        given = identity[method]
        if method == "application_credential":
            if given["id"] not in self.secrets:
                message = f"Could not find Application Credential: {given['id']}."
                raise Refused(404, {"error": {"code": 404, "message": message, "title": "Not Found"}})
            good = self.secrets[given["id"]] == given["secret"]
        else:
            good = self.secrets.get(given["user"]["name"]) == given["user"]["password"]
        if not good:
            raise Refused(401, {"error": {"code": 401, "message": UNAUTHORISED, "title": "Unauthorized"}})
        token = f"gAAAA-{next(self._numbers)}"
        self.tokens.add(token)
        return 201, {"token": self._token(method)}, token

    def _token(self, method: str) -> dict[str, Any]:
        domain = {"id": "default", "name": "Default"}
        now = time.time()
        return {
            "methods": [method],
            "user": {"domain": domain, "id": mint("demo"), "name": "demo", "password_expires_at": None},
            "expires_at": at(now + self.token_life).replace("Z", ".000000Z"),
            "issued_at": at(now).replace("Z", ".000000Z"),
            "project": {"domain": domain, "id": PROJECT, "name": "demo"},
            "is_domain": False,
            "roles": [{"id": mint("member"), "name": "member"}],
            "catalog": [self._listed(service) for service in self.services],
        }

    def _listed(self, service: Service) -> dict[str, Any]:
        url = f"{self.url}/{service.kind}" + (service.root if service.kind in {"compute", "volumev3"} else "")
        place = {"region_id": "RegionOne", "region": "RegionOne", "url": url}
        endpoints = [
            {**place, "id": mint(f"{service.kind} {each}"), "interface": each} for each in ("public", "internal")
        ]
        return {"endpoints": endpoints, "id": mint(service.kind), "type": service.kind, "name": service.kind}

    @contextlib.contextmanager
    def serving(self) -> Iterator[str]:
        """Serve it; the address of Keystone."""
        with served(_Handler, self) as self.url:
            yield f"{self.url}/identity/v3"


class _Handler(WireHandler):
    wire: OpenstackWire

    def answer(self) -> None:
        fault, answer, token = self.wire.called(self.command, self.path, self.asked(), dict(self.headers))
        self.give(fault, answer, *((("X-Subject-Token", token),) if token else ()))
