"""Which requests need the token: all that change something, and every GET that makes the daemon send requests."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from collector.targets import Round
from handler.web.api import build
from handler.web.callers import Access
from handler.web.gate import Gate, Message
from tests.support.daemon import Daemon
from tests.support.engines import EngineBed, Readings, Up, model
from tests.support.fake_cloud import Faults

API = "/api/v1"
TOKEN = "a-token-of-the-tests"
ASKING = {f"{API}/groups/{{group}}/probe", f"{API}/garbage"}
"""GETs that send requests to members, clouds or balancers."""
USERS = {f"{API}/users", f"{API}/tokens", f"{API}/keys", f"{API}/seal", f"{API}/audit"}
SECRETS = {f"{API}/declarations/document"}
"""The declaration as one file would say it, with the secrets that it writes out."""
TUNING = {f"{API}/groups/{{group}}/settings", f"{API}/groups/{{group}}/canary"}
"""What was applied, and what could be."""


@dataclass
class CountedCalls(Faults):
    """Calls to the cloud, which all succeed."""

    calls: list[str] = field(default_factory=list)

    @contextmanager
    def around(self, call: str) -> Iterator[None]:
        self.calls.append(call)
        yield


@dataclass
class CountedReadings(Readings):
    """Questions to members, which are all answered."""

    rounds: int = 0

    async def fetch(self, asked: Round) -> None:
        self.rounds += 1
        await super().fetch(asked)


def reading_paths(daemon: Daemon) -> list[str]:
    """Every path of the API that is served to a GET, and the other pages and documents."""
    served = daemon.get(f"{API}/openapi.json").json["paths"]
    return [path for path, methods in served.items() if "get" in methods] + ["/", "/groups/{group}"]


async def answered(gate: Gate, path: str, token: str | None) -> None:
    """Send one GET through the gate, and let it be answered."""
    headers = [(b"host", b"127.0.0.1:8460")]
    if token is not None:
        headers.append((b"authorization", f"Bearer {token}".encode()))

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        """What is answered does not matter here."""

    scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": headers}
    await gate(scope, receive, send)


def test_without_the_token_every_get_is_answered_but_those_that_send_requests_or_show_users_or_secrets(
    daemon: Daemon, group: str
) -> None:
    refused = {path for path in reading_paths(daemon) if daemon.get(path.replace("{group}", group)).status == 401}
    assert refused == ASKING | USERS | SECRETS | TUNING


def test_a_get_that_sends_requests_says_what_it_needs_and_is_answered_to_the_token_and_over_the_unix_socket(
    daemon: Daemon, group: str
) -> None:
    for path in (f"{API}/groups/{group}/probe", f"{API}/garbage"):
        refused = daemon.get(path)
        assert (refused.status, refused.headers["www-authenticate"]) == (401, "Bearer")
        assert "token of the state directory" in refused.json["error"]
        assert daemon.token not in refused.text
        assert daemon.ask("GET", path, bearer="wrong").status == 401
        assert daemon.ask("GET", path, bearer=daemon.token).status == 200
        assert daemon.ask("GET", path, unix=True).status == 200


def test_the_commands_still_probe_and_look_for_garbage(daemon: Daemon, group: str) -> None:
    assert daemon.trimtab("garbage", "--json").json["garbage"] == []
    assert {each["counter"] for each in daemon.trimtab("probe", group, "--json").json} == {"load"}


@pytest.mark.parametrize("token", [None, TOKEN], ids=["without the token", "with the token"])
def test_gets_without_the_token_cause_no_request_to_members_or_clouds(tmp_path: Path, token: str | None) -> None:
    readings = CountedReadings()
    bed = EngineBed(tmp_path, model(interval="1h"), readings)
    calls = bed.cloud.faults = CountedCalls()

    async def scene(up: Up) -> int:
        await up.grown(2)
        await up.operations.pauses.pause(up.runtime.id, decisions_only=False, by="test")
        app = build(up.operations)
        served = [path for path, methods in app.openapi()["paths"].items() if "get" in methods]
        gate = Gate(app, Access(trusted=False, port=8460, token=TOKEN))
        async with contextlib.AsyncExitStack() as stack:
            if token is None:  # nothing that is answered needs the group's turn, so no pass asks the cloud meanwhile
                await stack.enter_async_context(up.engine.keeper.between(up.runtime))
            before = len(calls.calls) + readings.rounds
            for path in [*served, "/", "/groups/{group}"]:
                await answered(gate, path.replace("{group}", "web"), token)
            return len(calls.calls) + readings.rounds - before

    sent = bed.run(scene)
    assert sent == 0 if token is None else sent > 0
