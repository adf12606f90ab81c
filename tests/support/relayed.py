"""What a standby and a holder need to relay requests, without a database and without a daemon."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from handler.daemon.carrying_out import CarryingOut
from handler.daemon.relaying import RelayThreads
from handler.daemon.waking import Wakes
from handler.leasing.relaying import ANY_EPOCH, PutDown, RelayProgress
from handler.ports.alerts import StoredHook
from handler.sealing.key_sources import OwnKeyFile
from handler.sealing.seal import Seal
from handler.web.gate import App, Receive, Scope, Send
from handler.web.relayed import Listener, RelayedApps, RelayedRequest
from tests.support.waiting import PATIENT
from tests.support.wakes import NoSession

REQUEST = RelayedRequest(
    listener=Listener.UNIX,
    scheme="http",
    method="PUT",
    path="/api/v1/groups/web%20a/size",
    query="x=1",
    peer="uid 7",
    headers=(("a", "b"),),
    body=b"\x00{}",
)


@dataclass
class Rows:
    """The part of the database that has the requests."""

    now: int = 4
    """The epoch of the lease."""
    put: dict[str, PutDown] = field(default_factory=dict)
    progresses: dict[str, RelayProgress] = field(default_factory=dict)
    arrived: SimpleQueue[PutDown] = field(default_factory=SimpleQueue)
    webhooks: tuple[StoredHook, ...] = ()
    has_room: bool = True
    """For kept alerts."""

    def epoch(self) -> int:
        return self.now

    async def arrives(self) -> PutDown:
        """Wait for the next request."""
        return await asyncio.to_thread(self.arrived.get, timeout=PATIENT)

    def put_down(self, request: PutDown) -> None:
        assert request.epoch in {self.now, ANY_EPOCH}
        self.put[request.id] = request
        self.progresses[request.id] = RelayProgress(taken_up=None, answer=None, epoch=self.now)
        self.arrived.put(request)

    def take_up(self, epoch: int, *, kept: bool = True) -> tuple[PutDown, ...]:
        epochs = {epoch, ANY_EPOCH} if kept else {epoch}
        free = [each for each in self.put.values() if self.progresses[each.id].taken_up is None]
        waiting = [each for each in free if each.epoch in epochs]
        if epoch != self.now:
            return ()
        for each in waiting:
            self.progresses[each.id] = replace(self.progresses[each.id], taken_up=epoch)
        return tuple(waiting)

    def answer(self, row: str, answer: str) -> None:
        self.progresses[row] = replace(self.progresses[row], answer=answer)

    def progress(self, row: str) -> RelayProgress:
        return replace(self.progresses[row], epoch=self.now)

    def withdraw(self, row: str) -> bool:
        waits = row in self.put and self.progresses[row].taken_up is None
        if waits:
            del self.put[row]
        return waits

    def forget(self, row: str) -> None:
        self.put.pop(row, None)

    def hooks(self) -> tuple[StoredHook, ...]:
        return self.webhooks

    def keep(self, request: PutDown) -> bool:
        if self.has_room:
            self.put_down(request)
        return self.has_room

    def put_back(self, epoch: int, *, but: Collection[str]) -> None:
        for row, progress in self.progresses.items():
            if row in self.put and self.put[row].epoch == ANY_EPOCH and progress.taken_up == epoch and row not in but:
                self.progresses[row] = replace(progress, taken_up=None)


@dataclass
class Echo:
    """An application that shows what it was asked."""

    scopes: list[Scope] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scopes.append(scope)
        body = (await receive())["body"]
        await send({"type": "http.response.start", "status": 202, "headers": [(b"x-of", b"echo")]})
        await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b"!"})


def seal(place: Path) -> Seal:
    found = Seal(OwnKeyFile(place))
    found.load()
    found.prepare(holds_secrets=False)
    return found


ORIGIN = (("trimtab-worker", "a"),)


def carrying_out(rows: Any, own: Seal, app: Echo, epoch: int, tcp: App | None = None) -> CarryingOut:
    apps = RelayedApps(unix=app, tcp=tcp or Echo())
    return CarryingOut(rows, own, apps, epoch, Wakes(NoSession()), lambda: ORIGIN, RelayThreads())
