from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from config.units import Instant
from handler.identity.actors import Actor, Origin, Way
from handler.identity.grants import Anonymous
from handler.identity.rights import UserRole
from handler.ports.identity import StoredToken
from handler.users.known import KnownUsers
from handler.users.sessions import Sessions
from handler.web import gate
from handler.web.callers import Access
from handler.web.gate import ACTOR, BODY_AT_MOST, Gate, Message, Receive, Scope, Send
from tests.support.memory_users import MemoryUsers

TOKEN = "s3cret-token"
TCP = Access(trusted=False, port=8460, token=TOKEN)
UNIX = Access(trusted=True)
HERE = {"host": "127.0.0.1:8460"}
BEARER = {"authorization": f"Bearer {TOKEN}"}


async def _echo(scope: Scope, receive: Receive, send: Send) -> None:
    body = (await receive())["body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def request(
    access: Access, method: str, headers: dict[str, str], body: bytes = b"", chunks: int = 1, path: str = "/"
) -> tuple[int, bytes]:
    sent: list[Message] = []
    size = -(-len(body) // chunks) or 1
    parts = [body[start : start + size] for start in range(0, len(body), size)] or [b""]
    waiting: list[Message] = [
        {"type": "http.request", "body": part, "more_body": index < len(parts) - 1} for index, part in enumerate(parts)
    ]

    async def receive() -> Message:
        return waiting.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    scope: dict[str, Any] = {
        "type": "http",
        "method": method,
        "path": path,
        "headers": [(key.encode(), value.encode("latin-1")) for key, value in headers.items()],
    }
    asyncio.run(Gate(_echo, access)(scope, receive, send))
    return sent[0]["status"], sent[1]["body"]


def actor_of(access: Access, headers: dict[str, str], client: tuple[str, int] | None) -> Actor:
    """Return the actor that the application behind the gate sees."""
    seen: list[Actor] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope[ACTOR])

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        raise AssertionError(message)

    raw = [(key.encode(), value.encode()) for key, value in headers.items()]
    scope: Scope = {"type": "http", "method": "GET", "path": "/", "headers": raw, "client": client}
    asyncio.run(Gate(app, access)(scope, receive, send))
    return seen[0]


@pytest.mark.parametrize(
    ("access", "headers", "client", "origin"),
    [
        (UNIX, {}, ("uid 1000", 0), Origin(way=Way.SOCKET, peer="uid 1000")),
        (UNIX, BEARER, None, Origin(way=Way.SOCKET)),
        (TCP, {**HERE, **BEARER}, ("127.0.0.1", 4), Origin(way=Way.TOKEN, peer="127.0.0.1", credential="local admin")),
        (TCP, HERE, ("127.0.0.1", 4), Origin(way=Way.NONE, peer="127.0.0.1")),
        (TCP, {**HERE, "authorization": "Bearer wrong"}, ("::1", 4), Origin(way=Way.NONE, peer="::1")),
    ],
)
def test_the_application_learns_where_a_request_came_from(
    access: Access, headers: dict[str, str], client: tuple[str, int] | None, origin: Origin
) -> None:
    assert actor_of(access, headers, client).origin == origin


def test_reading_over_tcp_needs_no_token() -> None:
    assert request(TCP, "GET", HERE)[0] == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example:8460", "", "[::1]", "10.0.0.1:8460"],
)
def test_a_host_header_of_another_name_is_misdirected_even_with_the_token(host: str) -> None:
    assert request(TCP, "GET", {"host": host, **BEARER})[0] == 421


@pytest.mark.parametrize("host", ["127.0.0.1:8460", "localhost:8460", "[::1]:8460"])
def test_this_machine_may_be_named_in_three_ways(host: str) -> None:
    assert request(TCP, "GET", {"host": host})[0] == 200


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer ", "Bearer wrong", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}"],
)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_a_change_over_tcp_without_the_right_token_is_refused(method: str, authorization: str) -> None:
    status, body = request(TCP, method, {**HERE, "authorization": authorization})
    assert status == 401
    assert TOKEN not in body.decode()


def test_a_change_over_tcp_with_the_token_passes() -> None:
    headers = {**HERE, **BEARER, "content-type": "application/json", "content-length": "2"}
    assert request(TCP, "POST", headers, b"{}") == (200, b"{}")


def test_no_token_opens_nothing_where_no_token_is_set() -> None:
    assert request(Access(trusted=False, port=8460), "POST", {**HERE, "authorization": "Bearer None"})[0] == 401


@pytest.mark.parametrize("authorization", ["", "Bearer", "Bearer ", "Bearer  "])
def test_an_empty_token_opens_nothing(authorization: str) -> None:
    access = Access(trusted=False, port=8460, token="")
    assert request(access, "POST", {**HERE, "authorization": authorization})[0] == 401


def test_the_unix_socket_needs_neither_token_nor_host() -> None:
    assert request(UNIX, "DELETE", {"host": "trimtab"})[0] == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_body_that_a_web_page_could_send_is_refused(kind: str) -> None:
    headers = {**HERE, **BEARER, "content-type": kind, "content-length": "2"}
    assert request(TCP, "POST", headers, b"{}")[0] == 415


def test_a_charset_beside_the_content_type_is_no_obstacle() -> None:
    headers = {"content-type": "application/json; charset=utf-8", "content-length": "2"}
    assert request(UNIX, "POST", headers, b"{}")[0] == 200


@pytest.mark.parametrize("length", [str(BODY_AT_MOST + 1), "-1", "1e3", "\xb2"])
def test_a_promised_length_that_is_too_much_or_no_number_is_refused(length: str) -> None:
    headers = {"content-type": "application/json", "content-length": length}
    assert request(UNIX, "POST", headers)[0] == 413


def test_a_body_that_turns_out_longer_than_promised_is_refused() -> None:
    headers = {"content-type": "application/json", "content-length": "2"}
    assert request(UNIX, "POST", headers, b"x" * (BODY_AT_MOST + 1), chunks=7)[0] == 413


def test_a_whole_file_may_be_long_over_the_unix_socket_and_nowhere_else() -> None:
    body = b'{"text":"' + b"x" * (5 * 1024 * 1024) + b'"}'
    headers = {"content-type": "application/json", "transfer-encoding": "chunked"}
    assert request(UNIX, "PUT", headers, body, chunks=9, path="/api/v1/file")[0] == 200
    assert request(UNIX, "PUT", headers, body, chunks=9)[0] == 413
    assert request(TCP, "PUT", {**headers, **HERE, **BEARER}, body, chunks=9, path="/api/v1/file")[0] == 413


def test_a_body_in_many_parts_arrives_whole() -> None:
    body = json.dumps({"size": 3}).encode()
    headers = {"content-type": "application/json", "transfer-encoding": "chunked"}
    assert request(UNIX, "POST", headers, body, chunks=4) == (200, body)


def test_half_a_body_of_a_client_that_is_gone_reaches_nothing() -> None:
    """``load=1`` is not what a member said that was about to send ``load=100``."""
    reached: list[bytes] = []
    sent: list[Message] = []
    waiting: list[Message] = [
        {"type": "http.request", "body": b"load=1", "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        reached.append((await receive())["body"])

    async def receive() -> Message:
        return waiting.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"content-type", b"application/x-www-form-urlencoded"), (b"content-length", b"8")]
    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": "/push", "headers": headers}
    asyncio.run(Gate(app, UNIX, app)(scope, receive, send))
    assert (reached, sent) == ([], [])


def test_a_webhook_that_is_refused_is_answered_though_its_body_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "BODY_WITHIN", 0.01)
    sent: list[Message] = []

    async def receive() -> Message:
        return await asyncio.Future()

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"host", b"127.0.0.1:8460"), (b"content-type", b"text/html"), (b"content-length", b"8")]
    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": "/hooks/alerts", "headers": headers}
    asyncio.run(Gate(_echo, TCP, _echo)(scope, receive, send))
    assert sent[0]["status"] == 415


def test_the_token_is_not_in_the_description_of_an_access() -> None:
    assert TOKEN not in repr(TCP)


async def _bob() -> KnownUsers:
    """Users: ada, the first admin, and bob, an operator."""
    users = KnownUsers(MemoryUsers(), lambda: Instant(0.0))
    await users.load()
    await users.begin("ada", Anonymous.NONE)
    await users.add("bob", UserRole.OPERATOR, None)
    return users


async def _answered(
    users: KnownUsers, sessions: Sessions, shown: dict[str, str], meanwhile: Callable[[], Awaitable[None]]
) -> int:
    """Return the status of a change whose body comes in after something else has happened."""
    sent: list[Message] = []

    async def receive() -> Message:
        await meanwhile()
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    headers = {**HERE, **shown, "content-type": "application/json", "content-length": "2"}
    raw = [(key.encode(), value.encode()) for key, value in headers.items()]
    scope: Scope = {"type": "http", "method": "PUT", "path": "/api/v1/groups/web/size", "headers": raw}
    await Gate(_echo, TCP, users=users, sessions=sessions)(scope, receive, send)
    return int(sent[0]["status"])


async def _nothing() -> None:
    """Nothing happens."""


@pytest.mark.parametrize(
    ("meanwhile", "status"),
    [
        (lambda users: _nothing(), 200),
        (lambda users: users.revoke("bob", "ci"), 401),
        (lambda users: users.disable("bob", disabled=True), 401),
        (lambda users: users.delete("bob"), 401),
    ],
    ids=["nothing", "revoked", "disabled", "deleted"],
)
def test_a_token_that_ends_while_the_body_comes_in_has_nothing_done(
    meanwhile: Callable[[KnownUsers], Awaitable[None]], status: int
) -> None:
    async def scene() -> int:
        users = await _bob()
        token = await users.new_token(StoredToken(user="bob", name="ci", digest="", created_at=Instant(0.0)))
        shown = {"authorization": f"Bearer {token}"}
        return await _answered(users, Sessions(lambda: 0.0), shown, lambda: meanwhile(users))

    assert asyncio.run(scene()) == status


def test_a_session_that_ends_while_the_body_comes_in_has_nothing_done() -> None:
    async def scene() -> list[int]:
        users, sessions = await _bob(), Sessions(lambda: 0.0)
        cookie, session = sessions.begin("bob")

        async def ended() -> None:
            sessions.end(cookie)

        shown = {"cookie": f"trimtab-8460={cookie}", "x-trimtab-csrf": session.csrf}
        return [await _answered(users, sessions, shown, meanwhile) for meanwhile in (_nothing, ended)]

    assert asyncio.run(scene()) == [200, 401]
