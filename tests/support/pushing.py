"""A daemon in this process that takes pushed values over a real socket; its members are on a cloud in memory."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from config.units import MemberName
from handler.daemon.serving import bind_tcp, bind_unix, serving
from handler.ingest.alerts.tokens import NewWebhook
from tests.support.engines import WEB, EngineBed, Up
from tests.support.waiting import PATIENT

MODEL = """\
counters:
  jobs: {push: JOBS}
  done: {push: DONE, kind: counter}
  orders: {push: ORDERS, per: group}
conditions:
  busy: {counter: jobs, across: max, above: 10}
  fast: {counter: done, across: max, above: 10}
  full: {counter: orders, above: 10}
policies:
  out: {when: [busy], add: 1, quiet_time: 1h}
  more: {when: [fast], add: 1, quiet_time: 1h}
  most: {when: [full], add: 1, quiet_time: 1h}
clouds: {box: {process: {}}}
profiles: {web: {cloud: box, command: [serve]}}
groups:
  web: {profile: web, min: 2, max: 4, interval: 0.1s, warm_up: 0s, freshness: 100, policies: [out, more, most]}
  api: {profile: web, min: 0, max: 4, interval: 1h, policies: [out]}
"""

ONE, TWO = MemberName("web-k3f9ab-1"), MemberName("web-k3f9ab-2")
JSON = "application/json"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: str

    @property
    def document(self) -> Any:
        return json.loads(self.body)


@dataclass
class Senders:
    """Senders of values, and the answers that they get."""

    up: Up
    port: int

    def token(self, member: MemberName) -> str:
        """As the member has it in its environment."""
        return self.up.engine.parts.inbox.member_keys.token(member)

    async def group_token(self, *groups: str, name: str = "shop") -> str:
        return await self.up.operations.webhooks.make(
            NewWebhook(name=name, groups=groups or (WEB,), effects=(), pushes=True)
        )  # type: ignore[arg-type]

    async def send(
        self,
        body: object,
        token: str | None = None,
        *,
        path: str = "/push",
        method: str = "POST",
        kind: str = JSON,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """A body that is no bytes is sent as JSON."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"Content-Type": kind} | ({"Authorization": f"Bearer {token}"} if token is not None else {})
        return await asyncio.to_thread(self._send, method, path, data, {**sent, **(headers or {})})

    def _send(self, method: str, path: str, data: bytes, headers: Mapping[str, str]) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENT)
        try:
            connection.request(method, path, data, dict(headers))
            answer = connection.getresponse()
            headers = {key.lower(): value for key, value in answer.getheaders()}
            return Answer(answer.status, headers, answer.read().decode())
        finally:
            connection.close()

    def held(self, member: MemberName | None) -> dict[str, float]:
        """What waits for the next poll."""
        return {name: one.value for name, one in self.up.engine.parts.inbox.pushes.of(WEB, member).items()}

    def counted(self, shape: str, result: str) -> float:
        line = f'trimtab_push_requests_total{{shape="{shape}",result="{result}"}} '
        text = self.up.operations.metrics().decode()
        return float(next(each for each in text.splitlines() if each.startswith(line)).removeprefix(line))


def play(
    place: Path, scene: Callable[[Senders], Awaitable[None]], *, text: str = MODEL, bed: EngineBed | None = None
) -> None:
    """Play a scene once the group's two members serve; on the same bed again it is after a restart."""
    bed = bed or EngineBed(place, text)

    async def whole() -> None:
        bed.readings.value = None
        with bind_unix(place / "s") as unix, bind_tcp("127.0.0.1", 0) as tcp:
            async with bed.running() as up:
                await up.until(lambda: up.serving() == 2)
                async with _served(up, unix, tcp):
                    await scene(Senders(up, tcp.getsockname()[1]))

    asyncio.run(whole())


def _served(up: Up, unix: socket.socket, tcp: socket.socket) -> Any:
    return serving(up.operations, up.engine, unix, tcp, "the-daemons-own")
