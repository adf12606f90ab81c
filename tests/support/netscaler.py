"""A NetScaler of our own, speaking NITRO over HTTP on the loopback: login, cookie, codes, statistics, text numbers.

It answers as appliances do in the vendor's reference and in recorded answers: counters and gauges as text, rates and
ports as numbers, ``errorcode`` in every body. `tests/collector/sources/netscaler/test_source.py` has it meet a client
that we did not write.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import unquote

from aiohttp import web

from config.model.access import NetscalerStats, SecretRef
from config.units import SourceId
from tests.support.netscaler_config import Configuration
from tests.support.waiting import PATIENT

USER, PASSWORD = "trimtab", "s3cret-ns"
Fields = Mapping[str, object]


def a_source(*, service_group: str | None = "web", virtual_server: str | None = "web-vip") -> NetscalerStats:
    """Its address is not known before it listens."""
    return NetscalerStats(
        id=SourceId("ns"),
        url="",
        user=USER,
        password=SecretRef(env="NS"),
        virtual_server=virtual_server,
        service_group=service_group,
        timeout=PATIENT,
    )


def a_statistic(**over: object) -> dict[str, object]:
    """What a service and a group member have in common."""
    return {
        "primaryport": 80,
        "state": "UP",
        "avgsvrttfb": "12",
        "curclntconnections": "8",
        "cursrvrconnections": "5",
        "totalrequests": "1000",
        "requestsrate": 3,
        **over,
    }


def a_group_member(server: str, address: str, *, group: str = "web", port: int = 80, **over: object) -> Fields:
    named = {"servicegroupname": f"{group}?{server}?{port}", "primaryipaddress": address, "primaryport": port}
    return {**a_statistic(), **named, **over}


def a_service(name: str, address: str, **over: object) -> Fields:
    return {"name": name, "primaryipaddress": address, **a_statistic(), "activetransactions": "2", **over}


def a_virtual_server(name: str = "web-vip", **over: object) -> Fields:
    known = {"name": name, "primaryipaddress": "192.0.2.80", "primaryport": 443, "type": "HTTP", "state": "UP"}
    counts = {"actsvcs": "2", "inactsvcs": "0", "vslbhealth": "100", "tothits": "5000", "hitsrate": 7}
    return {**known, **counts, "curclntconnections": "20", **over}


@dataclass(slots=True, kw_only=True)
class FakeNetscaler:
    """What it has, and what was asked of it."""

    members: dict[str, list[Fields]] = field(default_factory=dict)
    """Service group → members."""
    virtual_servers: dict[str, Fields] = field(default_factory=dict)
    bound: dict[str, dict[str, list[Fields]]] = field(default_factory=dict)
    """Virtual server → ``service`` or ``servicegroupmember`` → what is bound."""
    password: str = PASSWORD
    started: str = "Mon May  8 14:58:53 2017"
    sessions: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    """Paths with their query, below ``/nitro/v1``, in order."""
    methods: list[str] = field(default_factory=list)
    """Those of the paths."""
    logins: int = 0
    instead: Callable[[str], web.StreamResponse | None] = lambda path: None
    """Answers in its place, where it likes; given the path."""
    configuration: Configuration | None = None
    """What clients may change; ``None``: only statistics are asked for."""
    hold: asyncio.Event | None = None
    """Nothing but logins is answered before it is set."""
    url: str = ""

    def paths(self, part: str) -> list[str]:
        return [path for path in self.asked if part in path]

    def expire(self) -> None:
        """End all sessions, as time does."""
        self.sessions.clear()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        path = request.raw_path.removeprefix("/nitro/v1/")
        self.asked.append(path)
        self.methods.append(request.method)
        if (other := self.instead(path)) is not None:
            return other
        if path == "config/login" and request.method == "POST":
            return await self._login(request)
        if _token(request) not in self.sessions:
            return nitro(401, 444, "Session expired or killed. Please login again")
        if path == "config/logout" and request.method == "POST":
            self.sessions.discard(_token(request))
            return nitro(201, 0, "Done")
        if self.hold is not None:
            await self.hold.wait()
        if self.configuration is not None and (answer := await self._configured(request, self.configuration)):
            return answer
        return self._stat(unquote(path.split("?")[0]), bindings=request.query.get("statbindings") == "yes")

    async def _configured(self, request: web.Request, there: Configuration) -> web.StreamResponse | None:
        """Answer from the configuration what is kept there; ``None``: it is not."""
        path = request.raw_path.removeprefix("/nitro/v1/").split("?")[0]
        if path == "stat/system":
            return nitro(200, 0, "Done", system={"starttime": there.started})
        if path.startswith("stat/servicegroup/") and (name := unquote(path.split("/")[2])) in there.groups:
            members = there.statistics(name)
            group = {
                "servicegroupname": name,
                "state": "ENABLED",
                **({"servicegroupmember": members} if members else {}),
            }
            return nitro(200, 0, "Done", servicegroup=[group])
        body = await request.json() if request.can_read_body else {}
        found = there.answer(request.method, path.removeprefix("config/"), request.query, body)
        return None if found is None else nitro(found[0], found[1], found[2], **found[3])

    async def _login(self, request: web.Request) -> web.StreamResponse:
        self.logins += 1
        given = (await request.json())["login"]
        if given["username"] != USER:
            return nitro(401, 354, "Invalid username or password")
        if given["password"] != self.password:
            return nitro(401, 355, "Invalid username or password")
        token = f"##{self.logins:064X}"
        self.sessions.add(token)
        response = nitro(201, 0, "Done", sessionid=token)
        response.set_cookie("sessionid", token.replace("#", "%23"), path="/nitro/v1")
        return response

    def _stat(self, path: str, *, bindings: bool) -> web.StreamResponse:
        found: dict[str, object] | None = None
        match path.split("/"):
            case ["stat", "system"]:
                times = {"starttime": self.started, "timesincestart": "00:00:00"}
                found = {"system": {"cpuusagepcnt": 26.7, "numcpus": "1", **times}}
            case ["stat", "servicegroup"]:
                found = {"servicegroup": [{"servicegroupname": name, "state": "ENABLED"} for name in self.members]}
            case ["stat", "servicegroup", *rest] if (name := "/".join(rest)) in self.members:
                group = {"servicegroupname": name, "state": "ENABLED", "servicetype": "HTTP"}
                within = {"servicegroupmember": self.members[name]} if bindings and self.members[name] else {}
                found = {"servicegroup": [{**group, **within}]}
            case ["stat", "lbvserver"]:
                found = {"lbvserver": list(self.virtual_servers.values())}
            case ["stat", "lbvserver", name] if name in self.virtual_servers:
                within = self.bound.get(name, {}) if bindings else {}
                found = {"lbvserver": [{**self.virtual_servers[name], **within}]}
        if found is None:
            return nitro(404, 258, f"No such resource [name, {path.rpartition('/')[2]}]")
        return nitro(200, 0, "Done", **found)


def nitro(status: int, code: int, message: str, **more: Any) -> web.Response:
    """One body as NITRO wraps it."""
    severity = "NONE" if code == 0 else "ERROR"
    return web.json_response({"errorcode": code, "message": message, "severity": severity, **more}, status=status)


@contextlib.asynccontextmanager
async def running(netscaler: FakeNetscaler) -> AsyncIterator[FakeNetscaler]:
    """Let it listen on a port of the loopback until the block ends."""
    application = web.Application()
    application.router.add_route("*", "/nitro/v1/{path:.*}", netscaler.handle)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        netscaler.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield netscaler
    finally:
        if netscaler.hold is not None:
            netscaler.hold.set()
        await runner.cleanup()


@contextlib.contextmanager
def in_the_background(netscaler: FakeNetscaler) -> Iterator[FakeNetscaler]:
    """Let it listen while the block does what blocks."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = running(netscaler)
    try:
        asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(10)
        yield netscaler
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _token(request: web.Request) -> str:
    """By either of the two names under which clients return it, escaped or not, and in either header."""
    cookies = {**SimpleCookie(request.headers.get("Set-Cookie", "")), **SimpleCookie(request.headers.get("Cookie", ""))}
    token = cookies.get("NITRO_AUTH_TOKEN") or cookies.get("sessionid")
    return "" if token is None else unquote(token.value)
