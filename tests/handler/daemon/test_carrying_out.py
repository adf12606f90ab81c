"""An alert whose sender has an answer is carried out by a holder, or left to the next one, and never stays undone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from config.errors import StoreError
from config.units import Instant
from handler.daemon import carrying_out as carrying_out_module
from handler.daemon.carrying_out import CarryingOut
from handler.daemon.relaying import row_of
from handler.daemon.waking import LookEvery
from handler.ingest.alerts.receiver import AlertReceiver, WebhookRequest
from handler.ingest.alerts.replies import UNKNOWN_TOKEN, AlertReply
from handler.leasing.relaying import ANY_EPOCH, PutDown
from handler.sealing.seal import Seal
from handler.web.gate import App, Receive, Scope, Send
from handler.web.relayed import Listener
from tests.support.relayed import REQUEST, Echo, Rows, carrying_out, seal
from tests.support.waiting import PATIENT

ALERT = replace(REQUEST, listener=Listener.TCP, method="POST", path="/hooks/alerts/token", peer="192.0.2.7")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carrying_out_module, "_TAKES_UP", LookEvery(heard=PATIENT, unheard=0.001))
    monkeypatch.setattr(carrying_out_module, "_AGAIN", 0.001)
    monkeypatch.setattr(carrying_out_module, "_FINISHES_WITHIN", 0.001)


@pytest.fixture
def own(tmp_path: Path) -> Seal:
    return seal(tmp_path / "key")


@dataclass
class AwayRows(Rows):
    """Rows of a database that is away, or goes away before its answer is there, in some calls."""

    away: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    failed: list[str] = field(default_factory=list)

    def put_back(self, epoch: int, *, but: Collection[str]) -> None:
        self._may_fail("put_back", self.away)
        super().put_back(epoch, but=but)

    def take_up(self, epoch: int, *, kept: bool = True) -> tuple[PutDown, ...]:
        rows = super().take_up(epoch, kept=kept)
        if rows:
            self._may_fail("take_up", self.lost)
        return rows

    def _may_fail(self, call: str, calls: set[str]) -> None:
        if call in calls:
            self.failed.append(call)
            raise StoreError("the store cannot be reached")


def keep(rows: Rows, own: Seal, name: str = "k1", proved_at: Instant | None = None) -> None:
    text = replace(ALERT, proved_at=proved_at).text
    sealed = own.seal(text, row_of(name, ANY_EPOCH, "request"))
    rows.keep(PutDown(id=name, worker="b", epoch=ANY_EPOCH, request=sealed))


@dataclass
class Ingest:
    """What answers alerts: with these statuses, of which the last stays; ``None``: with none, ever."""

    statuses: list[int | None]
    asked: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked += 1
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        if status is None:
            await asyncio.Event().wait()
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b""})


@asynccontextmanager
async def held(rows: Rows, own: Seal, ingest: App, epoch: int = 4) -> AsyncIterator[CarryingOut]:
    rows.now = epoch
    holder = carrying_out(rows, own, Echo(), epoch, ingest)
    async with holder.running():
        yield holder


async def comes(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENT):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


def carried_out_once_the_database_is_there(rows: AwayRows, own: Seal, ingest: Ingest) -> None:
    """Keep an alert, end the trouble once a holder has met it, and wait until the alert is forgotten."""
    keep(rows, own)

    async def play() -> None:
        async with held(rows, own, ingest):
            await comes(lambda: rows.failed)
            rows.away.clear()
            rows.lost.clear()
            await comes(lambda: not rows.put)

    asyncio.run(play())


def test_an_alert_that_cannot_be_put_back_while_the_database_is_away_is_put_back_once_it_is_there(own: Seal) -> None:
    rows, ingest = AwayRows(away={"put_back"}), Ingest([503, 202])
    carried_out_once_the_database_is_there(rows, own, ingest)
    assert ingest.asked == 2


def test_an_alert_that_the_database_took_up_before_its_answer_was_lost_is_carried_out(own: Seal) -> None:
    rows, ingest = AwayRows(lost={"take_up"}), Ingest([202])
    carried_out_once_the_database_is_there(rows, own, ingest)
    assert ingest.asked == 1


def test_an_alert_that_waits_for_its_turn_when_the_lease_ends_is_carried_out_by_the_next_holder(own: Seal) -> None:
    rows, slow, following = Rows(), Ingest([None]), Ingest([202])
    request = replace(REQUEST, listener=Listener.TCP)

    async def play() -> None:
        async with held(rows, own, slow):
            for name in (f"r{number}" for number in range(16)):  # as many as are carried out side by side
                sealed = own.seal(request.text, row_of(name, 4, "request"))
                rows.put_down(PutDown(id=name, worker="b", epoch=4, request=sealed))
            await comes(lambda: slow.asked == 16)
            keep(rows, own)
            await comes(lambda: rows.progresses["k1"].taken_up)
        async with held(rows, own, following, epoch=5):
            await comes(lambda: "k1" not in rows.put)

    asyncio.run(play())
    assert (slow.asked, following.asked) == (16, 1)


def test_an_alert_that_the_ingest_had_when_the_lease_ended_may_be_carried_out_and_is_not_repeated(own: Seal) -> None:
    rows, slow = Rows(), Ingest([None])
    keep(rows, own)

    async def play() -> None:
        async with held(rows, own, slow):
            await comes(lambda: slow.asked)

    asyncio.run(play())
    assert rows.progresses["k1"].taken_up == 4


def test_an_alert_that_this_holder_cannot_open_is_left_to_the_next_one(own: Seal, tmp_path: Path) -> None:
    rows, ingest = Rows(), Ingest([202])
    keep(rows, own)

    async def play() -> None:
        async with held(rows, seal(tmp_path / "another"), ingest):
            await comes(lambda: rows.progresses["k1"].taken_up)
        async with held(rows, own, ingest, epoch=5):
            await comes(lambda: not rows.put)

    asyncio.run(play())
    assert ingest.asked == 1


@dataclass
class Intake:
    """Takes alerts in, and keeps what it was asked."""

    requests: list[WebhookRequest] = field(default_factory=list)

    async def take(self, request: WebhookRequest) -> AlertReply:
        self.requests.append(request)
        return UNKNOWN_TOKEN


@pytest.mark.parametrize("proved_at", [Instant(100.5), None])
def test_the_ingest_learns_when_a_standby_proved_an_alert(own: Seal, proved_at: Instant | None) -> None:
    rows, intake = Rows(), Intake()
    keep(rows, own, proved_at=proved_at)

    async def play() -> None:
        async with held(rows, own, AlertReceiver(intake)):
            await comes(lambda: not rows.put)

    asyncio.run(play())
    assert [request.proved_at for request in intake.requests] == [proved_at]
