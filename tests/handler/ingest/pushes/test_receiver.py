"""What requests become. The requests of OneGate's clients are as the real ones sent them to a recorder."""

from __future__ import annotations

import asyncio
import base64
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from handler.ingest.pushes.judging import PushRefusal, PushResult
from handler.ingest.pushes.pushed_values import PushedEntry, PushShape, UnreadablePush
from handler.ingest.pushes.receiver import Push, PushReceiver, is_push, read
from handler.ingest.pushes.replies import PushReply, refused
from tests.support.pushes import sent

FORM = {"content-type": "application/x-www-form-urlencoded"}
ONEGATE = {**FORM, "x-onegate-token": "tok", "x-onegate-vmid": "42"}


_ACCEPTED = PushReply(result=PushResult.ACCEPTED, taken=1)


@dataclass
class Taker:
    """Remembers what came."""

    reply: PushReply = _ACCEPTED
    came: list[Push] = field(default_factory=list)

    def take(self, push: Push) -> PushReply:
        self.came.append(push)
        return self.reply


def ask(
    taker: Taker, method: str, path: str, headers: dict[str, str], body: bytes = b""
) -> tuple[int, dict[str, str], bytes]:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path,
             "headers": [(key.encode(), value.encode()) for key, value in headers.items()]}  # fmt: skip
    asyncio.run(PushReceiver(taker)(scope, receive, send))
    return sent[0]["status"], {key.decode(): value.decode() for key, value in sent[0]["headers"]}, sent[1]["body"]


def came(path: str, headers: dict[str, str], body: bytes = b"", method: str = "PUT") -> Push:
    taker = Taker()
    assert ask(taker, method, path, headers, body)[0] == 200
    return taker.came[0]


@pytest.mark.parametrize(
    ("path", "headers", "body", "expected"),
    [
        pytest.param(
            "/vm", {**ONEGATE, "authorization": "Basic Og=="}, b"data=CPU%3D42%0AJOBS%3D7+&type=1",
            (sent("CPU", 42.0, member="42"), sent("JOBS", 7.0, member="42")), id="onegate-vm-update",
        ),
        pytest.param(
            "/vms/43", {**ONEGATE, "authorization": "Basic Og=="}, b"data=CPU%3D42&type=1",
            (sent("CPU", 42.0, member="43"),), id="onegate-vm-update-43",
        ),
        pytest.param(
            "/vm", {**ONEGATE, "authorization": "Basic Og=="}, b"data=CPU&type=2",
            (sent("CPU", None, member="42"),), id="onegate-vm-update-erase",
        ),
        pytest.param("/onegate/vm", ONEGATE, b"READY = YES", (), id="report-ready-by-curl"),
        pytest.param("/onegate/vm", ONEGATE, b"A=1&B=2", (sent("A", 1.0, member="42"), sent("B", 2.0, member="42")),
                     id="curl"),
        pytest.param(
            "/onegate/vm", {"x-onegate-token": "tok", "x-onegate-vmid": "42"}, b"READY=YES", (), id="ready-of-windows"
        ),
        pytest.param("/vm", {**FORM, "x-onegate-token": "tok"}, b"A=1", (sent("A", 1.0),), id="without-an-id"),
    ],
)  # fmt: skip
def test_requests_of_onegates_clients_are_understood(
    path: str, headers: dict[str, str], body: bytes, expected: tuple[PushedEntry, ...]
) -> None:
    push = came(path, headers, body)
    assert (push.token, push.shape, read(push)) == ("tok", PushShape.LINES, expected)


@pytest.mark.parametrize(
    ("path", "kind", "body", "shape", "expected"),
    [
        pytest.param("/push", "application/json; charset=utf-8", b'{"values": {"A": 1}}',
                     PushShape.JSON, (sent("A", 1.0),),
                     id="json"),
        pytest.param("/push", "application/x-www-form-urlencoded", b"A=1",
                     PushShape.LINES, (sent("A", 1.0),), id="curl-d"),
        pytest.param("/push", "text/plain; version=0.0.4", b"A 1", PushShape.TEXT, (sent("A", 1.0),), id="text"),
        pytest.param("/push", "application/openmetrics-text; version=1.0.0", b"A 1\n# EOF", PushShape.OPENMETRICS,
                     (sent("A", 1.0),), id="openmetrics"),
        pytest.param("/push/metrics/job/x/member/m", "text/plain", b"A 1",
                     PushShape.TEXT, (sent("A", 1.0, member="m"),),
                     id="of-a-pushgateway"),
        pytest.param("/push/metrics/group/g/job@base64/eC95", "text/plain", b"A 1", PushShape.TEXT,
                     (sent("A", 1.0, group="g"),), id="with-base64"),
        pytest.param("/push/metrics/job/x", "application/x-www-form-urlencoded", b"A 1",
                     PushShape.TEXT, (sent("A", 1.0),),
                     id="data-binary-of-curl"),
    ],
)  # fmt: skip
def test_the_shape_follows_from_path_and_content_type(
    path: str, kind: str, body: bytes, shape: PushShape, expected: tuple[PushedEntry, ...]
) -> None:
    push = came(path, {"content-type": kind, "authorization": "Bearer tok"}, body, "POST")
    assert (push.token, push.shape, read(push)) == ("tok", shape, expected)


def test_an_address_that_contradicts_the_body_is_not_understood() -> None:
    push = came("/push/metrics/job/x/member/a", {"content-type": "text/plain"}, b'A{member="b"} 1')
    assert read(push) == UnreadablePush(message='"A" names a member or group other than the request does')


@pytest.mark.parametrize(
    ("authorization", "token"),
    [
        ("Bearer tok", "tok"),
        ("bearer  tok ", "tok"),
        ("Basic " + base64.b64encode(b"anybody:tok").decode(), "tok"),
        ("Basic " + base64.b64encode(b":a:b").decode(), "a:b"),
        ("Basic Og==", ""),
        ("Basic !", ""),
        ("Basic \xe4", ""),
        ("Digest tok", ""),
        ("tok", ""),
        ("", ""),
    ],
)
def test_a_token_is_a_bearers_or_a_basic_authorizations_password(authorization: str, token: str) -> None:
    assert came("/push", {**FORM, "authorization": authorization}).token == token


@pytest.mark.parametrize(
    ("method", "path", "status", "allow"),
    [
        ("GET", "/vm", 405, "PUT"),
        ("POST", "/onegate/vm", 405, "PUT"),
        ("GET", "/push", 405, "POST, PUT"),
        ("DELETE", "/push/metrics/job/x", 405, "POST, PUT"),
        ("PUT", "/onegate", 404, None),
        ("PUT", "/onegate/service/role/web", 404, None),
        ("PUT", "/push/elsewhere", 404, None),
        ("PUT", "/push/metrics/job/x/member", 404, None),
        ("PUT", "/push/metrics/member/x", 404, None),
    ],
)
def test_a_path_that_is_not_served_takes_nothing(method: str, path: str, status: int, allow: str | None) -> None:
    taker = Taker()
    answer = ask(taker, method, path, ONEGATE, b"A=1")
    assert (answer[0], answer[1].get("allow"), taker.came) == (status, allow, [])


def test_a_compressed_body_is_refused_with_what_to_do() -> None:
    taker = Taker()
    answer = ask(taker, "PUT", "/push", {**FORM, "content-encoding": "gzip"}, b"\x1f\x8b")
    assert (answer[0], answer[2], taker.came) == (415, b'{"error": "the body is compressed: send it as it is"}', [])


@pytest.mark.parametrize(
    ("path", "ours"),
    [
        ("/push", True), ("/push/metrics/job/x", True), ("/vm", True), ("/vms/7", True), ("/onegate/vm", True),
        ("/pushy", False), ("/vmware", False), ("/hooks/alerts", False), ("/api/v1/push", False), ("/", False),
    ],
)  # fmt: skip
def test_only_these_paths_are_for_values(path: str, ours: bool) -> None:
    assert is_push(path) is ours


def test_the_answer_counts_the_values_in_json_and_is_empty_for_onegate() -> None:
    assert ask(Taker(), "PUT", "/push", FORM)[2] == b'{"taken": 1}'
    status, headers, body = ask(Taker(), "PUT", "/vm", ONEGATE)
    assert (status, headers["content-type"], body) == (200, "text/plain; charset=utf-8", b"")


@pytest.mark.parametrize(
    ("result", "status", "header"),
    [
        (PushResult.UNKNOWN_NAME, 400, None),
        (PushResult.NOT_PERMITTED, 403, None),
        (PushResult.UNKNOWN_TOKEN, 401, ("www-authenticate", "Bearer")),
        (PushResult.NOT_READY, 503, ("retry-after", "2")),
        (PushResult.OVERLOADED, 503, ("retry-after", "2")),
    ],
)
def test_a_refusal_is_worded_for_its_sender(result: PushResult, status: int, header: tuple[str, str] | None) -> None:
    taker = Taker(reply=refused(PushRefusal(result=result, message="no ü")))
    answer = ask(taker, "PUT", "/push", FORM)
    assert (answer[0], json.loads(answer[2])) == (status, {"error": "no ü"})
    assert header is None or header in answer[1].items()
    assert ask(taker, "PUT", "/vm", ONEGATE)[2] == "no ü".encode()


def test_too_much_and_unreadable_bodies_have_a_status_of_their_own() -> None:
    assert [refused(UnreadablePush(message="x", too_large=large)).status for large in (True, False)] == [413, 400]


def test_every_result_has_a_status() -> None:
    assert {PushReply(result=result).status for result in PushResult} == {200, 400, 401, 403, 413, 503}


def test_a_push_says_nothing_of_its_token_or_body() -> None:
    assert "tok" not in repr(came("/vm", ONEGATE, b"secret=1"))
