"""Requests to a standby: put down for the holder, and answered when it has carried them out (`carrying_out`).

# Note [What travels is sealed]

A person who can write into the database can neither have a holder do something nor read a secret: only the machines of
workers have the key. Nor can a request be played again: it is sealed for its id and for the epoch in which it was put
down, and a holder carries out an id once, and only of its own epoch (`handler.leasing.relaying.TakenUp`). One that
still waits when the lease changes hands is withdrawn, and put down anew.

Which socket a request came over is sealed with it: one over TCP cannot pass for the local administrator's.

A kept alert is sealed for no epoch. It could be played again by a person who can write into the database, and who could
as well write there what the alert does.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import secrets
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, ParamSpec, TypeVar, assert_never

from config.errors import Refused, StoreError
from config.units import Monotonic, Seconds
from handler.daemon.waking import LookEvery, Wakes
from handler.leasing.relaying import PutDown, RelayOutcome, RelayProgress, numbered_id, outcome_of
from handler.sealing.boxes import RowName
from handler.sealing.seal import Seal
from handler.web.relayed import (
    CannotRelay,
    HolderAnswer,
    Listener,
    RelayedRequest,
    answer_of,
)

if TYPE_CHECKING:
    from handler.store.postgresql_relay import PostgresqlRelay

P = ParamSpec("P")
T = TypeVar("T")
_WITHIN: Mapping[Listener, Seconds] = MappingProxyType({Listener.UNIX: 100.0, Listener.TCP: 30.0})
"""How long a request waits: less than the command line does, more than a takeover takes."""
_LOOKS = LookEvery(heard=1.0, unheard=0.25)
"""Whether there is an answer, while a request waits, and whether the lease has changed hands."""
_FORMAT = "2"
"""How requests and answers are written. Workers of other releases do not read what they would misunderstand."""
_AT_ONCE = 2
"""Calls of the database."""
_UNKNOWN = (
    "the holder took the request and has not answered: it may have been carried out, so look before you repeat it"
)
_UNSAID = (
    "the store did not say whether it has the request: it may have been carried out, or may still be, so look before "
    "you repeat it"
)
_UNDONE = "no worker that holds the lease took the request: nothing was done; try again"


class NotTaken(Refused):
    """No holder took a request up in time. Nothing was done."""


class OutcomeUnknown(Refused):
    """A holder may have carried the request out, or may still do so."""


class RelayThreads:
    """Those in which the relays of one worker call the database.

    While that hangs, requests that wait take no thread from anything else, nor from the relays of another shard.
    """

    def __init__(self) -> None:
        """Prepare; a thread begins with the first call."""
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="relay")

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call in one of them."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(call, *args, **kwargs))

    def close(self) -> None:
        """Have them end once nothing is left to do."""
        self._threads.shutdown(wait=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waits:
    """How long a request waits, by a clock that is never set."""

    taken_by: Monotonic
    """From then on it is withdrawn if no holder has taken it up."""
    until: Monotonic
    """From then on its caller learns that the outcome is not known."""


@dataclass(slots=True)
class Asking:
    """The side of a standby.

    Args:
        rows: in the database.
        seal: returns the seal of this machine; it may block.
        worker: the name of this one.
        steady: a clock that is never set.
        wakes: what this worker hears of the holder.
        threads: for calls of the database.
    """

    rows: PostgresqlRelay
    seal: Callable[[], Seal]
    worker: str
    steady: Callable[[], Monotonic]
    wakes: Wakes
    threads: RelayThreads
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    """This worker is no standby any more, or stops."""
    _sender: str = field(default_factory=partial(secrets.token_hex, 8))
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    async def relay(self, request: RelayedRequest, taken_within: Seconds | None = None) -> HolderAnswer:
        """Have the holder carry a request out, this one or the next; at most once.

        Args:
            request: what is asked.
            taken_within: how long to wait until a holder takes it up; ``None``: as long as for the answer.

        Raises:
            NotTaken: no holder took it up in time, and nothing was done.
            CannotRelay: the keys of this machine and the holder's differ, or their releases.
            Refused: it was not carried out, or that is not known; the message says which.
            StoreError: it could not be put down, and nothing was done.
        """
        seal, now, within = await asyncio.to_thread(self.seal), self.steady(), _WITHIN[request.listener]
        waits = _Waits(taken_by=Monotonic(now + (taken_within or within)), until=Monotonic(now + within))
        if seal.key is None:
            raise CannotRelay(
                f"worker {self.worker} is a standby, and cannot pass requests on without the key in {seal.where}: copy "
                "it from the holder's machine (none there yet: make it there, as docs/workers.md says), or ask there "
                "(trimtab cluster status)"
            )
        while True:
            answer = await self._tried(request, seal, waits)
            if answer is not None:
                return answer
            if self._is_over(waits.taken_by):
                raise NotTaken(_UNDONE)

    async def _tried(self, request: RelayedRequest, seal: Seal, waits: _Waits) -> HolderAnswer | None:
        """Put a request down for the holder of the lease as it is now; ``None``: that changed, and nothing was done."""
        epoch = await self.threads.run(self.rows.epoch)
        name = numbered_id(self._sender, next(self._numbers))
        sealed = seal.seal(request.text, row_of(name, epoch, "request"))
        put = PutDown(id=name, worker=self.worker, epoch=epoch, request=sealed)
        with self.wakes.expecting(name) as woken:
            await self.written(self.rows.put_down, put)
            try:
                return await self._answer(put, seal, waits, woken)
            finally:
                with contextlib.suppress(StoreError):
                    await self.threads.run(self.rows.forget, name)

    async def _answer(self, put: PutDown, seal: Seal, waits: _Waits, woken: asyncio.Event) -> HolderAnswer | None:
        """Wait for the answer; ``None``: the request is withdrawn."""
        while True:
            is_over = self._is_over(waits.until)
            with contextlib.suppress(StoreError):  # the database may be back in time
                progress = await self.threads.run(self.rows.progress, put.id)
                is_late = self._is_over(waits.taken_by) or progress.epoch != put.epoch
                if is_late and await self.threads.run(self.rows.withdraw, put.id):
                    return None
                answer = _answer_of(put, progress, seal)
                if answer is not None:
                    return answer
            if is_over:
                raise OutcomeUnknown(_UNKNOWN)
            await self.wakes.next_look(woken, _LOOKS)

    async def written(self, write: Callable[[PutDown], T], put: PutDown) -> T:
        """Write a request, and return what ``write`` does.

        Raises:
            StoreError: it is not there, and nothing was done.
            OutcomeUnknown: it may be there, since the database's answer was lost.
        """
        try:
            return await self.threads.run(write, put)
        except StoreError as error:
            is_withdrawn = False
            with contextlib.suppress(StoreError):
                is_withdrawn = await self.threads.run(self.rows.withdraw, put.id)
            if is_withdrawn:
                raise
            raise OutcomeUnknown(_UNSAID) from error

    def _is_over(self, until: Monotonic) -> bool:
        return self.ended.is_set() or self.steady() > until


def _answer_of(put: PutDown, progress: RelayProgress, seal: Seal) -> HolderAnswer | None:
    """Return what the holder answered; ``None``: nothing yet. Raises as `Asking.relay`."""
    match outcome_of(progress):
        case RelayOutcome.ANSWERED:
            return _opened(put, progress.answer or "", seal)
        case RelayOutcome.UNKNOWN:
            raise OutcomeUnknown(_UNKNOWN)
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
    return answer_of(seal.open(sealed, row_of(put.id, put.epoch, "answer")))


def row_of(name: str, epoch: int, column: str) -> RowName:
    """Return the name that a request or an answer is sealed for."""
    return "relayed", name, str(epoch), f"{column} {_FORMAT}"
