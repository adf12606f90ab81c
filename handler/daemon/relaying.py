"""Requests to a standby: put down for the holder, carried out there, answered here.

# Note [What travels is sealed]

A person who can write into the database can neither have a holder do something nor read a secret: only the machines of
workers have the key. Nor can a request be played again: it is sealed for its id and for the epoch in which it was put
down, and a holder carries out an id once, and only of its own epoch. One that still waits when the lease changes hands
is withdrawn, and put down anew.

Which socket a request came over is sealed with it: one over TCP cannot pass for the local administrator's.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, ParamSpec, TypeVar, assert_never

from config.errors import Refused, StoreError, TrimtabError
from config.units import Monotonic, Seconds
from handler import logs
from handler.daemon.waking import LookEvery, Wakes
from handler.leasing.relaying import A_REQUEST, AT_ONCE, PutDown, RelayOutcome, RelayProgress, outcome_of
from handler.runtime.loops import Guard
from handler.sealing.boxes import RowName
from handler.sealing.seal import Seal
from handler.web.relayed import (
    CannotRelay,
    Headers,
    HolderAnswer,
    Listener,
    RelayedAnswer,
    RelayedApps,
    RelayedRequest,
    answer_of,
    answered_by,
    text_of,
)

if TYPE_CHECKING:
    from handler.store.postgresql_relay import PostgresqlRelay

P = ParamSpec("P")
T = TypeVar("T")
_WITHIN: Mapping[Listener, Seconds] = MappingProxyType({Listener.UNIX: 100.0, Listener.TCP: 30.0})
"""How long a request waits: less than the command line does, more than a takeover takes."""
_LOOKS = LookEvery(heard=1.0, unheard=0.25)
"""Whether there is an answer, while a request waits, and whether the lease has changed hands."""
_TAKES_UP = LookEvery(heard=5.0, unheard=1.0)
"""Whether there are requests: all the time, so it must cost little."""
_FINISHES_WITHIN: Seconds = 5.0
"""How long requests under way have when the lease is given back."""
_AT_ONCE_OVER_TCP = 16
"""Requests that came over TCP and are carried out side by side; others wait, and those over unix sockets do not."""
_FORMAT = "2"
"""How requests and answers are written. Workers of other releases do not read what they would misunderstand."""
_THREADS = ThreadPoolExecutor(2, thread_name_prefix="relay")
"""For calls of the database: while that hangs, requests that wait take no thread from what keeps the lease."""
_UNKNOWN = (
    "the holder took the request and has not answered: it may have been carried out, so look before you repeat it"
)
_UNDONE = "no worker that holds the lease took the request: nothing was done; try again"

_FAILED = RelayedAnswer(
    status=500,
    headers=(("content-type", "application/json"),),
    body=b'{"error":"the holder failed, and the request may have been carried out in part: see its log"}',
)


@dataclass(slots=True)
class Asking:
    """The side of a standby.

    Args:
        rows: in the database.
        seal: returns the seal of this machine; it may block.
        worker: the name of this one.
        steady: a clock that is never set.
        wakes: what this worker hears of the holder.
    """

    rows: PostgresqlRelay
    seal: Callable[[], Seal]
    worker: str
    steady: Callable[[], Monotonic]
    wakes: Wakes
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    """This worker is no standby any more, or stops."""

    async def relay(self, request: RelayedRequest) -> HolderAnswer:
        """Have the holder carry a request out, this one or the next; at most once.

        Raises:
            CannotRelay: the keys of this machine and the holder's differ, or their releases.
            Refused: it was not carried out, or that is not known; the message says which.
            StoreError: it could not be put down.
        """
        seal, until = await asyncio.to_thread(self.seal), Monotonic(self.steady() + _WITHIN[request.listener])
        if seal.key is None:
            raise CannotRelay(
                f"worker {self.worker} is a standby, and cannot pass requests on without the key in {seal.where}: copy "
                "it from the holder's machine, or ask there (trimtab cluster status)"
            )
        while True:
            answer = await self._tried(request, seal, until)
            if answer is not None:
                return answer
            if self._is_over(until):
                raise Refused(_UNDONE)

    async def _tried(self, request: RelayedRequest, seal: Seal, until: Monotonic) -> HolderAnswer | None:
        """Put a request down for the holder of the lease as it is now; ``None``: that changed, and nothing was done."""
        name, epoch = secrets.token_hex(8), await _apart(self.rows.epoch)
        sealed = seal.seal(request.text, _row(name, epoch, "request"))
        put = PutDown(id=name, worker=self.worker, epoch=epoch, request=sealed)
        with self.wakes.expecting(name) as woken:
            await _apart(self.rows.put_down, put)
            try:
                return await self._answer(put, seal, until, woken)
            finally:
                with contextlib.suppress(StoreError):
                    await _apart(self.rows.forget, name)

    async def _answer(self, put: PutDown, seal: Seal, until: Monotonic, woken: asyncio.Event) -> HolderAnswer | None:
        """Wait for the answer; ``None``: the request is withdrawn."""
        while True:
            is_over = self._is_over(until)
            with contextlib.suppress(StoreError):  # the database may be back in time
                progress = await _apart(self.rows.progress, put.id)
                if (is_over or progress.epoch != put.epoch) and await _apart(self.rows.withdraw, put.id):
                    return None
                answer = _answer_of(put, progress, seal)
                if answer is not None:
                    return answer
            if is_over:
                raise Refused(_UNKNOWN)
            await self.wakes.next_look(woken, _LOOKS)

    def _is_over(self, until: Monotonic) -> bool:
        return self.ended.is_set() or self.steady() > until


def _answer_of(put: PutDown, progress: RelayProgress, seal: Seal) -> HolderAnswer | None:
    """Return what the holder answered; ``None``: nothing yet. Raises as `Asking.relay`."""
    match outcome_of(progress):
        case RelayOutcome.ANSWERED:
            return _opened(put, progress.answer or "", seal)
        case RelayOutcome.UNKNOWN:
            raise Refused(_UNKNOWN)
        case RelayOutcome.WAITING | RelayOutcome.UNDER_WAY:
            return None
        case unknown:
            assert_never(unknown)


def _opened(put: PutDown, sealed: str, seal: Seal) -> HolderAnswer:
    if not sealed:
        raise CannotRelay(
            f"the holder cannot read what this worker passes on: the key in {seal.where} is not the holder's (copy "
            "that here), or its release is another one; nothing was done"
        )
    return answer_of(seal.open(sealed, _row(put.id, put.epoch, "answer")))


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
    """

    rows: PostgresqlRelay
    seal: Seal
    apps: RelayedApps
    epoch: int
    wakes: Wakes
    origin: Callable[[], Headers]
    _under_way: set[asyncio.Task[None]] = field(default_factory=set)
    _seen: set[str] = field(default_factory=set)
    """Ids that were taken up before."""
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

    async def _look(self) -> None:
        guard = Guard("relay")
        with self.wakes.expecting(A_REQUEST) as woken:
            while True:
                rows = await guard.run(partial(_apart, self.rows.take_up, self.epoch)) or ()
                for row in rows:
                    task = asyncio.create_task(self._carried_out(row))
                    self._under_way.add(task)
                    task.add_done_callback(self._under_way.discard)
                if len(rows) < AT_ONCE:
                    await self.wakes.next_look(woken, _TAKES_UP)

    async def _carried_out(self, row: PutDown) -> None:
        await Guard("relay", worker=row.worker).run(partial(self._answered, row))

    async def _answered(self, row: PutDown) -> None:
        try:
            request = self._read(row)
        except TrimtabError as error:
            logs.warn("relayed_request_shut", worker=row.worker, error=str(error))
            await _apart(self.rows.answer, row.id, "")
            return
        turn = self._turns if request.listener is Listener.TCP else contextlib.nullcontext()
        async with turn:
            work = partial(answered_by, self.apps, request, row.worker)
            answer = await Guard("relay", worker=row.worker).run(work) or _FAILED
        if isinstance(answer, RelayedAnswer):
            answer = replace(answer, headers=(*answer.headers, *self.origin()))
        sealed = self.seal.seal(text_of(answer), _row(row.id, self.epoch, "answer"))
        await _apart(self.rows.answer, row.id, sealed)

    def _read(self, row: PutDown) -> RelayedRequest:
        """Raise `TrimtabError` for what no worker has put down in this epoch, and for what was taken up before."""
        text = self.seal.open(row.request, _row(row.id, self.epoch, "request"))
        if row.id in self._seen:
            raise Refused(f"request {row.id} was taken up before")
        self._seen.add(row.id)
        return RelayedRequest.of(text)


def _row(name: str, epoch: int, column: str) -> RowName:
    return "relayed", name, str(epoch), f"{column} {_FORMAT}"


async def _apart(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a call of the database in a thread that is for those of relays alone."""
    return await asyncio.get_running_loop().run_in_executor(_THREADS, partial(call, *args, **kwargs))
