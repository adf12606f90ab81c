"""An alert that no holder takes up is kept for the next one, if its webhook may bring it, and carried out once."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from config.errors import Refused, StoreError
from config.model.access import SecretRef
from config.units import HookId, Instant, Monotonic
from handler.daemon import carrying_out as carrying_out_module
from handler.daemon import relaying
from handler.daemon.alert_keeping import AlertKeeping
from handler.daemon.relaying import Asking, RelayThreads
from handler.daemon.waking import LookEvery, Wakes
from handler.ingest.alerts import tokens
from handler.leasing.relaying import ANY_EPOCH, PutDown
from handler.ports.alerts import StoredHook
from handler.web.gate import Receive, Scope, Send
from handler.web.relayed import Listener, RelayedAnswer, RelayedRequest
from tests.support.hooks import alertmanager, an_alert, body
from tests.support.relayed import Echo, Rows, carrying_out, seal
from tests.support.waiting import PATIENT
from tests.support.wakes import NoSession

TOKEN, SIGNED, PUSHING, REVOKED = "plain", "signed", "pushing", "revoked"
SECRET = "of-the-hook"
BODY = body(alertmanager(an_alert()))
FRAMED = (("content-type", "application/json"), ("content-length", str(len(BODY))))
ALERT = RelayedRequest(
    listener=Listener.TCP,
    scheme="http",
    method="POST",
    path="/hooks/alerts",
    query="",
    peer="192.0.2.7",
    headers=(*FRAMED, ("Authorization", f"Bearer {TOKEN}")),
    body=BODY,
)


def a_hook(token: str, **rest: object) -> StoredHook:
    made: Mapping[str, object] = {"id": HookId(token), "name": token, "token": tokens.hashed(token), **rest}
    return StoredHook(groups=(), effects=(), directions=(), created_at=Instant(0.0), **made)  # type: ignore[arg-type]


HOOKS = (
    a_hook(TOKEN),
    a_hook(SIGNED, hmac_secret=SecretRef(env="SECRET")),
    a_hook(PUSHING, pushes=True),
    a_hook(REVOKED, revoked_at=Instant(1.0)),
)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = LookEvery(heard=PATIENT, unheard=0.001)
    monkeypatch.setattr(relaying, "_LOOKS", at_once)
    monkeypatch.setattr(carrying_out_module, "_TAKES_UP", at_once)
    monkeypatch.setattr(carrying_out_module, "_AGAIN", 0.001)


def standby(rows: Rows, place: Path, *, step: int = 1) -> AlertKeeping:
    """A standby whose clock moves on by a second, or another ``step``, with each look."""
    own, seconds = seal(place / "key"), itertools.count(step=step)
    asking = Asking(rows, lambda: own, "b", lambda: Monotonic(float(next(seconds))), Wakes(NoSession()), RelayThreads())  # type: ignore[arg-type]
    return AlertKeeping(rows=rows, asking=asking, secret=lambda ref: SECRET, now=lambda: Instant(100.0))  # type: ignore[arg-type]


def signed(secret: str) -> RelayedRequest:
    signature = hmac.new(secret.encode(), ALERT.body, hashlib.sha256).hexdigest()
    headers = (*FRAMED, ("x-grafana-alerting-signature", signature))
    return replace(ALERT, path=f"/hooks/alerts/{SIGNED}", headers=headers)


@pytest.mark.parametrize(
    "request_", [ALERT, replace(ALERT, path=f"/hooks/alerts/{TOKEN}"), signed(SECRET)], ids=["bearer", "path", "signed"]
)
def test_an_alert_that_its_webhook_may_bring_is_stored_and_its_sender_reads_so(
    tmp_path: Path, request_: RelayedRequest
) -> None:
    rows = Rows(webhooks=HOOKS)
    answer = asyncio.run(standby(rows, tmp_path).relay(request_))
    assert isinstance(answer, RelayedAnswer)
    shown = json.loads(answer.body)
    assert (answer.status, shown["sender"], shown["alerts"], shown["stored"]) == (202, "alertmanager", 1, True)
    (kept,) = rows.put.values()
    assert (kept.epoch, kept.worker, TOKEN in kept.request) == (ANY_EPOCH, "b", False)
    text = seal(tmp_path / "key").open(kept.request, relaying.row_of(kept.id, ANY_EPOCH, "request"))
    assert RelayedRequest.of(text) == replace(request_, proved_at=Instant(100.0))


@pytest.mark.parametrize(
    "request_",
    [
        replace(ALERT, path="/hooks/alerts/other", headers=FRAMED),
        replace(ALERT, path=f"/hooks/alerts/{REVOKED}"),
        replace(ALERT, path=f"/hooks/alerts/{PUSHING}"),
        signed("another"),
        replace(ALERT, path=f"/hooks/alerts/{SIGNED}"),
        replace(ALERT, body=b"{}"),
        replace(ALERT, headers=(("content-type", "text/html"), *ALERT.headers[1:])),
        replace(ALERT, method="GET"),
        replace(ALERT, path="/push"),
    ],
    ids=["token", "revoked", "values", "forged", "unsigned", "unreadable", "content", "method", "push"],
)
def test_what_is_not_proved_to_be_such_an_alert_waits_for_a_holder_and_is_not_stored(
    tmp_path: Path, request_: RelayedRequest
) -> None:
    rows = Rows(webhooks=HOOKS)
    with pytest.raises(Refused, match="nothing was done; try again"):
        asyncio.run(standby(rows, tmp_path).relay(request_))
    assert not rows.put


def test_where_there_is_no_room_an_alert_is_not_stored(tmp_path: Path) -> None:
    rows = Rows(webhooks=HOOKS, has_room=False)
    with pytest.raises(Refused, match="nothing was done; try again"):
        asyncio.run(standby(rows, tmp_path).relay(ALERT))
    assert not rows.put


@dataclass
class LostAnswers(Rows):
    """Rows of a database that keeps an alert, and is away before it has said so."""

    is_taken_up: bool = False

    def keep(self, request: PutDown) -> bool:
        super().keep(request)
        if self.is_taken_up:
            assert request in self.take_up(self.now)
        raise StoreError("the store cannot be reached")


@pytest.mark.parametrize(("is_taken_up", "words"), [(False, "nothing was done"), (True, "may have been carried out")])
def test_an_alert_that_may_be_stored_is_not_passed_on_beside_that(
    tmp_path: Path, is_taken_up: bool, words: str
) -> None:
    rows = LostAnswers(webhooks=HOOKS, is_taken_up=is_taken_up)
    with pytest.raises(Refused, match=words):
        asyncio.run(standby(rows, tmp_path).relay(ALERT))
    assert len(rows.put) == is_taken_up


def test_an_alert_that_a_holder_takes_up_has_the_holders_answer(tmp_path: Path) -> None:
    rows, tcp = Rows(webhooks=HOOKS), Echo()

    async def play() -> None:
        async with carrying_out(rows, seal(tmp_path / "key"), Echo(), 4, tcp).running():
            await asyncio.wait_for(standby(rows, tmp_path, step=0).relay(ALERT), PATIENT)

    asyncio.run(play())
    assert (len(tcp.scopes), rows.put) == (1, {})


@dataclass
class Busy:
    """An ingest that cannot decide the first alerts that it gets."""

    first: int = 503
    statuses: list[int] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.statuses.append(202 if self.statuses else self.first)
        await send({"type": "http.response.start", "status": self.statuses[-1], "headers": []})
        await send({"type": "http.response.body", "body": b""})


@pytest.mark.parametrize(("first", "statuses"), [(202, [202]), (503, [503, 202]), (429, [429, 202]), (400, [400])])
def test_the_next_holder_carries_a_kept_alert_out_once_and_again_only_if_nothing_was_done(
    tmp_path: Path, first: int, statuses: list[int]
) -> None:
    rows, ingest = Rows(webhooks=HOOKS), Busy(first)

    async def play() -> None:
        await standby(rows, tmp_path).relay(ALERT)
        rows.now = 7
        async with asyncio.timeout(PATIENT), carrying_out(rows, seal(tmp_path / "key"), Echo(), 7, ingest).running():
            while rows.put:  # noqa: ASYNC110
                await asyncio.sleep(0.001)

    asyncio.run(play())
    assert ingest.statuses == statuses


def test_a_request_of_one_epoch_cannot_be_made_one_of_every_epoch(tmp_path: Path) -> None:
    rows, own, unix, tcp = Rows(), seal(tmp_path / "key"), Echo(), Echo()
    sealed = own.seal(ALERT.text, relaying.row_of("r1", 4, "request"))
    rows.put_down(PutDown(id="r1", worker="b", epoch=ANY_EPOCH, request=sealed))

    async def play() -> None:
        async with carrying_out(rows, own, unix, 5, tcp).running():
            while rows.progresses["r1"].taken_up is None:  # noqa: ASYNC110
                await asyncio.sleep(0.001)

    rows.now = 5
    asyncio.run(play())
    assert (unix.scopes, tcp.scopes) == ([], [])
