"""What a standby answers: how it is itself, and for all else what the holder answers, or where the holder is."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from config.errors import Refused
from handler.leasing.workers import ClusterStatus, WorkerRole, WorkerStatus
from handler.web.callers import Access
from handler.web.gate import BODY_AT_MOST, PAYLOAD_AT_MOST, Message
from handler.web.relayed import AnswerTooLong, CannotRelay, HolderAnswer, Listener, RelayedAnswer, RelayedRequest
from handler.web.standby import Standby

OWN = WorkerStatus(name="b", role=WorkerRole.STANDBY, api="http://b", version="1", age_s=0.5, up_s=60.0, problem="")
STATUS = ClusterStatus(
    worker="b", holder="a", api="https://a.example:8460", epoch=4, left_s=8.0, span_s=10.0, workers=(OWN,)
)
NOT_HELD = ClusterStatus(worker="b", holder="", api="", epoch=4, left_s=0.0, span_s=10.0, workers=(OWN,))


@dataclass
class Answer:
    status: int = 0
    headers: dict[bytes, bytes] = field(default_factory=dict)
    body: bytes = b""


ANSWER = RelayedAnswer(status=200, headers=(("x-of", "a"),), body=b"answered")


@dataclass
class Holder:
    """What a standby relays to; what it answers, or why it cannot be asked."""

    outcome: HolderAnswer | Exception = ANSWER
    asked: list[RelayedRequest] = field(default_factory=list)

    async def relay(self, request: RelayedRequest) -> HolderAnswer:
        self.asked.append(request)
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


CANNOT = Holder(CannotRelay("without the key"))


def asked(
    method: str,
    path: str,
    *,
    unix: bool = False,
    host: bytes = b"localhost:8460",
    status: Any = STATUS,
    holder: Holder | None = None,
    body: bytes = b"",
) -> Answer:
    answer = Answer()

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            answer.status, answer.headers = message["status"], dict(message["headers"])
        answer.body += message.get("body", b"")

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    def known() -> ClusterStatus:
        if status is None:
            raise Refused("the lease has not been read yet")
        return status  # type: ignore[no-any-return]

    access = Access(trusted=True) if unix else Access(trusted=False, port=8460)
    path, _, query = path.partition("?")
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [(b"host", host)],
        "client": ("uid 7" if unix else "192.0.2.7", 0),
    }
    asyncio.run(Standby(access, known, lambda: b"up 1.0\n", (holder or Holder()).relay)(scope, receive, send))
    return answer


@pytest.mark.parametrize("unix", [False, True])
def test_a_standby_is_alive_is_not_ready_and_has_metrics_of_its_own(unix: bool) -> None:
    assert asked("GET", "/healthz", unix=unix).status == 200
    assert asked("GET", "/readyz", unix=unix).status == 503
    assert asked("GET", "/metrics", unix=unix).body == b"up 1.0\n"


@pytest.mark.parametrize(
    "request_", ["GET /", "GET /api/v1/groups?limit=3", "POST /hooks/alerts/token", "GET /api/v1/cluster"]
)
def test_what_needs_the_holder_is_relayed_as_what_came_over_tcp(request_: str) -> None:
    method, _, target = request_.partition(" ")
    holder = Holder()
    answer = asked(method, target, holder=holder, body=b"{}")
    assert (answer.status, answer.headers, answer.body) == (200, {b"x-of": b"a"}, b"answered")
    (request,) = holder.asked
    path, _, query = target.partition("?")
    assert (request.method, request.path, request.query, request.body) == (method, path, query, b"{}")
    assert (request.listener, request.peer, request.headers) == (
        Listener.TCP, "192.0.2.7", (("host", "localhost:8460"),),
    )  # fmt: skip


def test_what_comes_over_the_unix_socket_is_relayed_as_such() -> None:
    holder = Holder()
    assert asked("PUT", "/api/v1/groups/web/size", unix=True, holder=holder).status == 200
    assert (holder.asked[0].listener, holder.asked[0].peer) == (Listener.UNIX, "uid 7")


@pytest.mark.parametrize(
    ("path", "holder"), [("/events", Holder()), ("/a?b=c", CANNOT), ("/a", Holder(AnswerTooLong()))], ids=str
)
def test_what_cannot_be_relayed_is_sent_on_to_the_holder(path: str, holder: Holder) -> None:
    answer = asked("GET", path, holder=holder)
    assert (answer.status, answer.headers[b"location"]) == (307, f"https://a.example:8460{path}".encode())
    assert json.loads(answer.body)["holder"] == "a"


def test_what_cannot_be_relayed_over_the_unix_socket_is_refused_with_what_to_do() -> None:
    answer = asked("PUT", "/api/v1/groups/web/size", unix=True, holder=CANNOT)
    assert (answer.status, json.loads(answer.body)["type"]) == (503, "/api/v1/problems#standby")
    assert json.loads(answer.body)["error"] == "without the key"


@pytest.mark.parametrize(
    ("path", "length", "status"),
    [
        ("/api/v1/groups", BODY_AT_MOST + 1, 413),
        ("/hooks/alerts", BODY_AT_MOST + 1, 200),
        ("/hooks/alerts", PAYLOAD_AT_MOST + 1, 413),
    ],
)
def test_a_body_has_the_bounds_of_the_holders_own_socket(path: str, length: int, status: int) -> None:
    assert asked("POST", path, body=bytes(length)).status == status


def test_the_workers_are_shown_to_the_administrator_of_a_standby() -> None:
    answer = asked("GET", "/api/v1/cluster", unix=True)
    assert (answer.status, json.loads(answer.body)["workers"][0]["role"]) == (200, "standby")


@pytest.mark.parametrize(("status", "holder"), [(None, Holder()), (NOT_HELD, CANNOT), (STATUS, Holder(Refused("x")))])
@pytest.mark.parametrize("unix", [False, True])
def test_where_no_holder_is_known_or_has_answered_a_caller_is_to_try_again(
    unix: bool, status: ClusterStatus | None, holder: Holder
) -> None:
    answer = asked("GET", "/api/v1/groups", unix=unix, status=status, holder=holder)
    assert (answer.status, answer.headers[b"retry-after"]) == (503, b"2")


def test_a_request_for_another_machine_is_not_answered() -> None:
    assert asked("GET", "/metrics", host=b"evil.example").status == 421
