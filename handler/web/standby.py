"""What a worker answers while another one has the lease: how it is itself, and where the holder is.

Over TCP every other request is sent on to the holder (307: the same method and body), if it is known. Over the unix
socket, whose callers have no credential that the holder would take, it is relayed: the holder carries it out, and this
worker passes the answer on.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass

from config.errors import Refused, StoreError
from handler.leasing.workers import ClusterStatus, standby_words
from handler.operations.address import BASE
from handler.web.callers import Access
from handler.web.gate import BODY_WITHIN, FILE_AT_MOST, STREAM, Receive, Scope, Send, read_body
from handler.web.problems import ProblemType, send_problem
from handler.web.relayed import Relay, request_of
from handler.web.render import plain

_TEXT = b"text/plain; version=0.0.4; charset=utf-8"
_JSON = b"application/json"
CLUSTER = f"{BASE}/cluster"


@dataclass(frozen=True, slots=True)
class Standby:
    """The application of a standby on one socket.

    Args:
        access: what the socket allows.
        status: returns the lease and the workers; raises `Refused` if they are not known.
        metrics: returns this process's metrics. No group and no member is in them, and they need no credential.
        relay: has the holder carry out what is asked over the unix socket; ``None``: over TCP.
    """

    access: Access
    status: Callable[[], ClusterStatus]
    metrics: Callable[[], bytes]
    relay: Relay | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        host = next((value.decode("latin-1") for key, value in scope["headers"] if key == b"host"), "")
        if not (self.access.trusted or self.access.serves(host)):
            words = "the Host header does not name this machine; use 127.0.0.1 or localhost with the port"
            await send_problem(send, ProblemType.MISDIRECTED, words)
            return
        match scope["method"], scope["path"]:
            case "GET" | "HEAD", "/healthz":
                await _send(send, 200, _JSON, b'{"alive":true}')
            case "GET" | "HEAD", "/readyz":
                await _send(send, 503, _JSON, b'{"ready":false,"standby":true}')
            case "GET" | "HEAD", "/metrics":
                await _send(send, 200, _TEXT, self.metrics())
            case _:
                await self._elsewhere(scope, receive, send)

    async def _elsewhere(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what only the holder can do, or a person on this machine asks about all workers."""
        try:
            status = self.status()
        except Refused as error:
            await send_problem(send, ProblemType.STANDBY, str(error))
            return
        if self.access.trusted and (scope["method"], scope["path"]) == ("GET", CLUSTER):
            await _send(send, 200, _JSON, json.dumps(plain(status)).encode())
        elif self.relay is not None and scope["path"] != STREAM:
            await self._relayed(self.relay, scope, receive, send)
        elif self.access.trusted or not status.api or status.holder == status.worker:
            await send_problem(send, ProblemType.STANDBY, standby_words(status))
        else:
            query = scope.get("query_string", b"")
            path = scope.get("raw_path") or scope["path"].encode("ascii", "backslashreplace")
            target = status.api.encode() + path + (b"?" + query if query else b"")
            body = {"error": standby_words(status), "holder": status.holder, "api": status.api}
            await _send(send, 307, _JSON, json.dumps(body).encode(), (b"location", target))

    async def _relayed(self, relay: Relay, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with asyncio.timeout(BODY_WITHIN):
                body = await read_body(receive, FILE_AT_MOST)
        except TimeoutError:
            await send_problem(send, ProblemType.TOO_SLOW, f"the body was not complete within {BODY_WITHIN:.0f} s")
            return
        if not isinstance(body, bytes):
            await send_problem(
                send, ProblemType.TOO_LONG, f"the body was cut off, or is longer than {FILE_AT_MOST} bytes"
            )
            return
        try:
            answer = await relay(request_of(scope, body))
        except (Refused, StoreError) as error:
            await send_problem(send, ProblemType.STANDBY, str(error))
            return
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})


async def _send(send: Send, status: int, kind: bytes, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    all_headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": all_headers})
    await send({"type": "http.response.body", "body": body})
