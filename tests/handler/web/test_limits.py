"""Limits of what one token may ask for, and the end of streams whose caller has lost its rights."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from config.units import Instant
from handler.identity.actors import Way
from handler.identity.grants import Anonymous
from handler.identity.rights import UserRole
from handler.ports.identity import StoredToken
from handler.web.api import build
from handler.web.callers import Access
from handler.web.gate import DEPTH_AT_MOST, Gate, Message
from handler.web.pages.streams import STREAMS_OF_TOKEN
from handler.web.problems import ProblemType, uri_of
from tests.support.engines import EngineBed, Up
from tests.support.waiting import PATIENT

HOST = (b"host", b"127.0.0.1:8460")


@dataclass
class Client:
    """One request over TCP with a token, through the gate, for as long as the test likes."""

    gate: Gate
    token: str
    sent: list[Message] = field(default_factory=list)
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    async def ask(self, path: str, method: str = "GET", body: bytes = b"") -> Client:
        waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Message:
            return waiting.pop() if waiting else await asyncio.Future()

        async def send(message: Message) -> None:
            self.sent.append(message)
            if message["type"] == "http.response.body":
                self.begun.set()

        headers = [HOST, (b"authorization", f"Bearer {self.token}".encode()), (b"content-type", b"application/json")]
        scope: dict[str, Any] = {
            "type": "http", "method": method, "path": path, "query_string": b"", "headers": headers, "client": None,
        }  # fmt: skip
        async with asyncio.timeout(PATIENT):
            await self.gate(scope, receive, send)
        return self

    @property
    def status(self) -> int:
        status: int = self.sent[0]["status"]
        return status

    @property
    def json(self) -> Any:
        return json.loads(b"".join(message.get("body", b"") for message in self.sent[1:]))


async def users_of(up: Up) -> str:
    """Make the users ``root`` and ``ada``, and return a token of the latter."""
    known = up.operations.users.known
    await known.begin("root", Anonymous.NONE)
    await known.add("ada", UserRole.OPERATOR, None)
    return await known.new_token(StoredToken(user="ada", name="t", digest="", created_at=Instant(0.0)))


def a_gate(up: Up, wait: Callable[[object], int | None] = lambda token: None) -> Gate:
    access = Access(trusted=False, port=8460)
    return Gate(build(up.operations), access, None, up.operations.users.known, token_wait=wait)


async def _revoked(up: Up) -> None:
    await up.operations.users.known.revoke("ada", "t")


async def _removed(up: Up) -> None:
    await up.operations.users.known.delete("ada")


async def _disabled(up: Up) -> None:
    await up.operations.users.known.disable("ada", disabled=True)


async def _demoted(up: Up) -> None:
    await up.operations.users.known.give_role("ada", UserRole.VIEWER, ("db",))  # type: ignore[arg-type]


@pytest.mark.parametrize("lose", [_revoked, _removed, _disabled, _demoted])
@pytest.mark.parametrize("path", ["/events"])
def test_a_stream_ends_soon_after_its_caller_has_lost_its_rights(
    tmp_path: Path, lose: Callable[[Up], Awaitable[None]], path: str
) -> None:
    async def scene(up: Up) -> None:
        client = Client(a_gate(up), await users_of(up))
        stream = asyncio.create_task(client.ask(path))
        await client.begun.wait()
        await up.ticked()
        assert not stream.done()
        await lose(up)
        begun = asyncio.get_running_loop().time()
        await stream
        assert asyncio.get_running_loop().time() - begun < PATIENT / 2
        assert client.sent[-1].get("more_body", False) is False

    EngineBed(tmp_path).run(scene)


def test_a_token_has_a_limited_number_of_streams_and_gets_them_back(tmp_path: Path) -> None:
    async def scene(up: Up) -> None:
        gate, token = a_gate(up), await users_of(up)
        clients = [Client(gate, token) for _ in range(STREAMS_OF_TOKEN)]
        streams = [asyncio.create_task(client.ask("/events")) for client in clients]
        for client in clients:
            await client.begun.wait()
        late = await Client(gate, token).ask("/events")
        assert (late.status, late.json["type"]) == (429, uri_of(ProblemType.TOO_MANY))
        for stream in streams:
            stream.cancel()
        await asyncio.gather(*streams, return_exceptions=True)
        again = Client(gate, token)
        stream = asyncio.create_task(again.ask("/events"))
        await again.begun.wait()
        assert again.status == 200
        stream.cancel()

    EngineBed(tmp_path).run(scene)


def test_the_answer_to_a_token_that_asks_too_often_says_when_to_ask_again_also_when_it_reads(tmp_path: Path) -> None:
    asked: list[object] = []

    def wait(token: object) -> int | None:
        asked.append(token)
        return None if len(asked) < 3 else 4

    async def scene(up: Up) -> None:
        gate, token = a_gate(up, wait), await users_of(up)
        replies = [await Client(gate, token).ask("/api/v1/groups") for _ in range(3)]
        assert [reply.status for reply in replies] == [200, 200, 429]
        assert dict(replies[2].sent[0]["headers"])[b"retry-after"] == b"4"
        assert set(asked) == {("ada", Way.TOKEN, "t")}
        assert (await Client(gate, "").ask("/healthz")).status == 200

    EngineBed(tmp_path).run(scene)


def test_a_body_that_is_nested_too_deep_is_refused_with_the_reason(tmp_path: Path) -> None:
    async def scene(up: Up) -> None:
        gate, token = a_gate(up), await users_of(up)
        for depth, status in ((DEPTH_AT_MOST + 1, 400), (DEPTH_AT_MOST, 422), (20_000, 400)):
            reply = await Client(gate, token).ask("/api/v1/groups/web/pause", "POST", b"[" * depth + b"]" * depth)
            assert reply.status == status, depth
            assert str(DEPTH_AT_MOST) in reply.json["error"] or status == 422

    EngineBed(tmp_path).run(scene)
