"""What a standby answers: how it is itself, and for all else where the holder is."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from config.errors import Refused
from handler.leasing.workers import ClusterStatus, WorkerRole, WorkerStatus
from handler.web.callers import Access
from handler.web.gate import Message
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


def asked(
    method: str, path: str, *, unix: bool = False, host: bytes = b"localhost:8460", status: Any = STATUS
) -> Answer:
    answer = Answer()

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            answer.status, answer.headers = message["status"], dict(message["headers"])
        answer.body += message.get("body", b"")

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

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
    }
    asyncio.run(Standby(access, known, lambda: b"up 1.0\n")(scope, receive, send))
    return answer


@pytest.mark.parametrize("unix", [False, True])
def test_a_standby_is_alive_is_not_ready_and_has_metrics_of_its_own(unix: bool) -> None:
    assert asked("GET", "/healthz", unix=unix).status == 200
    assert asked("GET", "/readyz", unix=unix).status == 503
    assert asked("GET", "/metrics", unix=unix).body == b"up 1.0\n"


@pytest.mark.parametrize(
    "request_", ["GET /api/v1/groups?limit=3", "POST /hooks/v1/alerts/token", "GET /api/v1/cluster"]
)
def test_what_needs_the_holder_is_sent_on_to_it_as_it_is(request_: str) -> None:
    method, _, path = request_.partition(" ")
    answer = asked(method, path)
    assert (answer.status, answer.headers[b"location"]) == (307, f"https://a.example:8460{path}".encode())
    assert json.loads(answer.body)["holder"] == "a"


def test_over_the_unix_socket_it_is_refused_with_the_address_of_the_holder() -> None:
    answer = asked("PUT", "/api/v1/groups/web/size", unix=True)
    assert (answer.status, json.loads(answer.body)["type"]) == (503, "/api/v1/problems#standby")
    assert "worker a holds the lease (epoch 4): ask it at https://a.example:8460" in json.loads(answer.body)["error"]


def test_the_workers_are_shown_to_the_administrator_of_a_standby() -> None:
    answer = asked("GET", "/api/v1/cluster", unix=True)
    assert (answer.status, json.loads(answer.body)["workers"][0]["role"]) == (200, "standby")


@pytest.mark.parametrize("status", [None, NOT_HELD])
@pytest.mark.parametrize("unix", [False, True])
def test_without_a_known_holder_a_caller_is_to_try_again(unix: bool, status: ClusterStatus | None) -> None:
    answer = asked("GET", "/api/v1/groups", unix=unix, status=status)
    assert (answer.status, answer.headers[b"retry-after"]) == (503, b"2")


def test_a_request_for_another_machine_is_not_answered() -> None:
    assert asked("GET", "/metrics", host=b"evil.example").status == 421
