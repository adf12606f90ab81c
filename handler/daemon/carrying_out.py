"""The holder carries out what standbys put down for it, and writes the answers (`relaying`).

# Note [A kept alert is carried out or left to the next holder]

The sender of a kept alert has its answer, so the alert must not stay taken up and undone. It is taken up by this epoch
in the database, and this process knows which alerts it has; all others of the epoch are put back: those of which the
ingest said that nothing was done, and those whose taking up was committed though its answer was lost. At the end of the
lease only those stay taken up that the ingest was asked for and has not refused. What cannot be opened here waits until
then, too: the next holder may have the key.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING

from config.errors import Refused, StoreError, TrimtabError
from config.units import Seconds
from handler import logs
from handler.daemon.relaying import RelayThreads, row_of
from handler.daemon.waking import LookEvery, Wakes
from handler.leasing.relaying import A_REQUEST, ANY_EPOCH, AT_ONCE, PutDown, TakenUp
from handler.runtime.loops import Guard, whole
from handler.sealing.seal import Seal
from handler.web.relayed import (
    Headers,
    Listener,
    RelayedAnswer,
    RelayedApps,
    RelayedRequest,
    answered_by,
    text_of,
)

if TYPE_CHECKING:
    from handler.store.postgresql_relay import PostgresqlRelay

_TAKES_UP = LookEvery(heard=5.0, unheard=1.0)
"""Whether there are requests: all the time, so it must cost little."""
_AGAIN: Seconds = 5.0
"""After which alerts are tried again that could not be decided."""
_FINISHES_WITHIN: Seconds = 5.0
"""How long requests under way have when the lease is given back."""
_AT_ONCE_OVER_TCP = 16
"""Requests that came over TCP and are carried out side by side; others wait, and those over unix sockets do not."""
_LATER = frozenset({HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS})
"""Answers that say that nothing was done, and that the same may be asked again."""
_FAILED = RelayedAnswer(
    status=500,
    headers=(("content-type", "application/json"),),
    body=b'{"error":"the holder failed, and the request may have been carried out in part: see its log"}',
)


@dataclass(slots=True)
class CarryingOut:
    """The side of the holder, for as long as it has the lease.

    Args:
        rows: in the database.
        seal: of the daemon that runs.
        apps: what answers, as over the sockets of this worker.
        epoch: of the lease.
        wakes: what this worker hears of standbys.
        origin: returns headers that tell which worker answered, and from what.
        threads: for calls of the database.
    """

    rows: PostgresqlRelay
    seal: Seal
    apps: RelayedApps
    epoch: int
    wakes: Wakes
    origin: Callable[[], Headers]
    threads: RelayThreads
    _under_way: set[asyncio.Task[None]] = field(default_factory=set)
    _seen: TakenUp = field(default_factory=TakenUp)
    _kept: int = 0
    """Kept alerts under way. Only as many are taken up as are carried out: others may be left to the next holder."""
    _taken: set[str] = field(default_factory=set)
    """Ids of kept alerts that were taken up: under way, unreadable here, or perhaps carried out."""
    _asked: set[str] = field(default_factory=set)
    """Of these, the ids of those that the ingest was asked for."""
    _puts_back: bool = False
    """Kept alerts of this epoch that are not in ``_taken`` are to be put back."""
    _kept_from: Seconds = 0.0
    """By the loop's clock: before, no kept alerts are taken up."""
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE_OVER_TCP))

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Carry out what other workers put down, while the block runs; what is under way then is finished."""
        looking = asyncio.create_task(self._look())
        try:
            yield
        finally:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)
            if self._under_way:
                await asyncio.wait(self._under_way, timeout=_FINISHES_WITHIN)
            for task in self._under_way:
                task.cancel()
            await whole(self._left_to_the_next())

    async def _look(self) -> None:
        guard = Guard("relay")
        with self.wakes.expecting(A_REQUEST) as woken:
            while True:
                taken_up = await guard.run(lambda: whole(self._begun(woken)))  # what is taken up is carried out
                if (taken_up or 0) < AT_ONCE:
                    await self.wakes.next_look(woken, _TAKES_UP)

    async def _begun(self, woken: asyncio.Event) -> int:
        """Take requests up, and begin to carry them out; returns how many."""
        try:
            rows = await self._taken_up()
        except StoreError:
            self._puts_back = True  # the database may have taken up what this process has not
            raise
        for row in rows:
            if row.epoch == ANY_EPOCH:
                self._taken.add(row.id)
            work = partial(self._delivered, row, woken) if row.epoch == ANY_EPOCH else partial(self._answered, row)
            task = asyncio.create_task(self._guarded(row, work))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)
        return len(rows)

    async def _taken_up(self) -> tuple[PutDown, ...]:
        """Take requests up, after kept alerts of which nothing was done are put back. Raises `StoreError`."""
        if self._puts_back:
            self._puts_back = False
            await self.threads.run(self.rows.put_back, self.epoch, but=frozenset(self._taken))
        kept = self._kept < _AT_ONCE_OVER_TCP and asyncio.get_running_loop().time() >= self._kept_from
        return await self.threads.run(self.rows.take_up, self.epoch, kept=kept)

    async def _left_to_the_next(self) -> None:
        """Put back the kept alerts that the ingest was not asked for, or that it can be asked for again."""
        put_back = partial(self.threads.run, self.rows.put_back, self.epoch, but=frozenset(self._asked))
        await Guard("kept_alerts", without_store="not_put_back").run(put_back)

    async def _guarded(self, row: PutDown, work: Callable[[], Awaitable[None]]) -> None:
        await Guard("relay", worker=row.worker).run(work)

    async def _answered(self, row: PutDown) -> None:
        """Carry out a request that a standby waits for."""
        request = self._read(row)
        if request is None:
            await self.threads.run(self.rows.answer, row.id, "")
            return
        turn = self._turns if request.listener is Listener.TCP else contextlib.nullcontext()
        async with turn:
            work = partial(answered_by, self.apps, request, row.worker)
            answer = await Guard("relay", worker=row.worker).run(work) or _FAILED
        if isinstance(answer, RelayedAnswer):
            answer = replace(answer, headers=(*answer.headers, *self.origin()))
        sealed = self.seal.seal(text_of(answer), row_of(row.id, self.epoch, "answer"))
        await self.threads.run(self.rows.answer, row.id, sealed)

    async def _delivered(self, row: PutDown, woken: asyncio.Event) -> None:
        """Carry out an alert whose sender has an answer already; later, if nothing can be done of it now.

        See Note [A kept alert is carried out or left to the next holder].
        """
        request = self._read(row)
        if request is None:
            return
        self._kept += 1
        try:
            async with self._turns:
                self._asked.add(row.id)
                answer = await answered_by(self.apps, request, row.worker)
        finally:
            self._kept -= 1
            woken.set()
        status = answer.status if isinstance(answer, RelayedAnswer) else 0
        if status in _LATER:
            self._kept_from = asyncio.get_running_loop().time() + _AGAIN
            self._puts_back = True
        else:
            tell = logs.say if status == HTTPStatus.ACCEPTED else logs.warn
            tell("kept_alert_carried_out", worker=row.worker, status=status)
            await self.threads.run(self.rows.forget, row.id)
        self._taken.discard(row.id)
        self._asked.discard(row.id)

    def _read(self, row: PutDown) -> RelayedRequest | None:
        """Open a request; ``None``, and logged: no worker has put it down so, or it was taken up before."""
        epoch = row.epoch if row.epoch == ANY_EPOCH else self.epoch
        try:
            text = self.seal.open(row.request, row_of(row.id, epoch, "request"))
            if epoch == self.epoch and not self._seen.is_new(row.id):
                raise Refused(f"request {row.id} was taken up before")
        except TrimtabError as error:
            logs.warn("relayed_request_shut", worker=row.worker, error=str(error))
            return None
        return RelayedRequest.of(text)
