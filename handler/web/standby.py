"""What a worker answers while another one has the lease: how it is itself. All else it relays to the holder.

The holder carries a request out under the rules of the socket that it came over, and this worker passes the answer on.
What cannot be relayed over TCP, such as a stream of events, is sent on to the holder (307: the same method and body),
if it is known.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import assert_never

from config.errors import Refused, StoreError
from handler.ingest.addresses import is_ingest
from handler.leasing.workers import ClusterStatus, standby_words
from handler.operations.address import BASE
from handler.web.callers import Access
from handler.web.edge import address_of
from handler.web.gate import BODY_WITHIN, STREAM, Receive, Scope, Send, body_at_most, read_body
from handler.web.problems import ProblemType, send_problem
from handler.web.relay_room import RelayRoom
from handler.web.relayed import (
    ANSWER_AT_MOST,
    AnswerTooLong,
    CannotRelay,
    Listener,
    Relay,
    RelayedAnswer,
    request_of,
)
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
        relay: has the holder carry out what is asked.
        room: how much of that there may be at once over TCP.
    """

    access: Access
    status: Callable[[], ClusterStatus]
    metrics: Callable[[], bytes]
    relay: Relay
    room: RelayRoom = field(default_factory=RelayRoom)

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
        elif scope["path"] == STREAM:
            await self._sent_on(status, standby_words(status), scope, send)
        elif (body := await self._body(scope, receive, send)) is None:
            return
        elif self.access.trusted:
            await self._relayed(status, scope, body, send)
        else:
            with self.room.taken(address_of(scope)) as refusal:
                if refusal is None:
                    await self._relayed(status, scope, body, send)
                else:
                    await send_problem(send, *refusal)

    async def _sent_on(self, status: ClusterStatus, why: str, scope: Scope, send: Send) -> None:
        """Have the caller ask the holder itself, if it can: over the unix socket it has no credential for that."""
        if self.access.trusted or not status.api or status.holder == status.worker:
            await send_problem(send, ProblemType.STANDBY, why)
            return
        query = scope.get("query_string", b"")
        path = scope.get("raw_path") or scope["path"].encode("ascii", "backslashreplace")
        target = status.api.encode() + path + (b"?" + query if query else b"")
        body = {"error": why, "holder": status.holder, "api": status.api}
        await _send(send, 307, _JSON, json.dumps(body).encode(), (b"location", target))

    async def _body(self, scope: Scope, receive: Receive, send: Send) -> bytes | None:
        """Return the body of a request; ``None``: it is answered already."""
        at_most = body_at_most(scope["path"], trusted=self.access.trusted, hooked=is_ingest(scope["path"]))
        try:
            async with asyncio.timeout(BODY_WITHIN):
                body = await read_body(receive, at_most)
        except TimeoutError:
            await send_problem(send, ProblemType.TOO_SLOW, f"the body was not complete within {BODY_WITHIN:.0f} s")
            return None
        if isinstance(body, bytes):
            return body
        await send_problem(send, ProblemType.TOO_LONG, f"the body was cut off, or is longer than {at_most} bytes")
        return None

    async def _relayed(self, status: ClusterStatus, scope: Scope, body: bytes, send: Send) -> None:
        listener = Listener.UNIX if self.access.trusted else Listener.TCP
        try:
            answer = await self.relay(request_of(scope, body, listener))
        except CannotRelay as error:
            await self._sent_on(status, str(error), scope, send)
            return
        except (Refused, StoreError) as error:
            await send_problem(send, ProblemType.STANDBY, str(error))
            return
        match answer:
            case AnswerTooLong():
                why = f"the answer is longer than {ANSWER_AT_MOST} bytes, which a standby does not pass on"
                await self._sent_on(status, why, scope, send)
            case RelayedAnswer():
                headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers]
                await send({"type": "http.response.start", "status": answer.status, "headers": headers})
                await send({"type": "http.response.body", "body": answer.body})
            case _:
                assert_never(answer)


async def _send(send: Send, status: int, kind: bytes, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    all_headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": all_headers})
    await send({"type": "http.response.body", "body": body})
