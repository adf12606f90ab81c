"""A worker's lease in time: waits for it, renews it, and answers at any instant whether it may act.

The rule is `handler.leasing.lease`; here are the clock and the calls. Whether this worker may act is read from a clock
and one value, by any thread, so it does not depend on the database or on this loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from config.document.places import ParsedText
from config.errors import Refused, StoreError
from config.units import Monotonic, Seconds, WorkerName
from handler import logs
from handler.engine.file_digest import declaration_digest
from handler.leasing.lease import ObservedLease, OwnLease, held, may_act, may_take, observed
from handler.leasing.workers import (
    REGAINED,
    SETTLED,
    ClusterStatus,
    Looked,
    Presence,
    WorkerRole,
    cluster_status,
    preferred,
)
from handler.runtime.loops import Guard, whole
from handler.store.schema import HEAD

if TYPE_CHECKING:
    from handler.store.postgresql_database import LeaseTerm
    from handler.store.postgresql_lease import PostgresqlLease

P = ParamSpec("P")
T = TypeVar("T")
_LOOKS_EVERY: Seconds = 1.0
_RENEWALS = 4
"""In each span: two may fail, and the lease lasts."""
_QUICKLY: Seconds = 0.25
_PROMPT: Seconds = 0.5
"""A look of the lease that took longer does not tell what time the database has, if an earlier one did."""
_PRECEDENCE: Seconds = 2.0
"""For how long a lease that could be taken is left to a worker of a higher priority: it looks each second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ahead:
    """By how much the database's clock is ahead of this machine's steady one."""

    seconds: Seconds
    took: Seconds
    """The look at the lease that tells: it is exact by half of that."""


class LeaseKeeper:
    """The lease, as one process has it or waits for it.

    Args:
        lease: in the database.
        own: this process; its problem is found out here.
        span: how long the lease lasts from each renewal.
        steady: a clock that is never set, and counts while the machine is suspended.
        file_problem: returns why this machine could not go on with the file in force, by the lease as it was read;
            empty: it could. It may block.
        wants_it_back: `REGAINED` after the lease was lost, this process has its priority again.
        lost_at: when it was lost before, in this process; ``None``: it was not.
        shard: which of several that this process works for; empty: there is one.
    """

    def __init__(  # noqa: PLR0913  # the lease, this process, its clock, and what it wants
        self,
        lease: PostgresqlLease,
        own: Presence,
        span: Seconds,
        steady: Callable[[], Monotonic],
        file_problem: Callable[[Looked], str],
        *,
        wants_it_back: bool = False,
        lost_at: Monotonic | None = None,
        shard: str = "",
    ) -> None:
        self._lease = lease
        self._own = own if lost_at is None else replace(own, priority=0)
        self._span = span
        self._steady = steady
        self._file_problem = file_problem
        self.shard = shard
        self._priority = own.priority
        self._wants_it_back = wants_it_back
        self._regains_at = Monotonic(math.inf if lost_at is None else lost_at + REGAINED)
        """When it has its priority again."""
        self._state: OwnLease | ObservedLease | None = None
        self._seen: Looked | None = None
        self._read_at = Monotonic(0.0)
        """When that was seen."""
        self._ahead = _Ahead(seconds=0.0, took=math.inf)
        self._guard = Guard("lease")
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="lease")
        """Its own: no request or look of a cloud that hangs may delay a renewal."""
        self.handing_over = asyncio.Event()
        """The lease is to be given back."""
        self.overtaken = asyncio.Event()
        """The store was changed by another one: this worker can write nothing under its lease."""
        self._rests_until = Monotonic(0.0)
        self._held_since = Monotonic(0.0)
        self._renewing = asyncio.Lock()
        self._coming = ""
        """Digest of the file that is being brought into force; empty: none is."""
        self._is_stranded = False
        self.taken = 0
        """How often this process has taken the lease."""

    @property
    def worker(self) -> WorkerName:
        """The name of this worker."""
        return WorkerName(self._own.name)

    @property
    def left(self) -> Seconds:
        """How long this worker may act if the lease is not renewed; 0 or below: it may not."""
        state = self._state
        return state.until - self._steady() if isinstance(state, OwnLease) else 0.0

    @property
    def ahead(self) -> Seconds:
        """By how much the database's clock is ahead of this machine's steady one."""
        return self._ahead.seconds

    def held_back(self) -> str:
        """Return why nothing may be begun now; empty: this worker may act. Any thread may call."""
        if may_act(self._state, self._steady()):
            return ""
        return "this worker's lease is over, and another one may be acting"

    def status(self) -> ClusterStatus:
        """Return the lease and the workers, as they were read last, and for how long they have not been read.

        Raises:
            Refused: they have not been read yet.
        """
        if self._seen is None:
            raise Refused("the lease has not been read yet")
        return cluster_status(self._own.name, self._seen, self._steady() - self._read_at)

    def hand_over(self) -> None:
        """Begin to give the lease back.

        Raises:
            Refused: no other worker could take it, or that is not known.
        """
        status = self.status()
        if status.unread_s or not status.standbys:
            raise Refused("no other worker could take over now (trimtab cluster): this one goes on")
        self._wants_it_back = False  # a person has the lease elsewhere
        self.handing_over.set()

    async def start(self) -> None:
        """Make the tables if need be, and look for the first time.

        Raises:
            Refused: another process runs under this name.
            StoreError: the database cannot be reached, or a daemon that is no worker holds it.
        """
        await self._in_thread(self._lease.prepare)
        await self._outlast_namesake()
        await self._look()

    async def _outlast_namesake(self) -> None:
        """Wait until a process that was killed under this name has been silent for a span. Raises as `start`."""
        before = 0.0
        while True:
            seen = await self._in_thread(self._lease.read)
            other = next((each for each in seen.workers if each.presence.name == self._own.name), None)
            if other is None or other.age >= self._span:
                return
            if other.age < before:
                also = ", and each shard a database or schema" if self.shard else ""
                where = other.presence.url
                raise Refused(
                    f"a worker {self._own.name} runs already, at {where}: give each one a name of its own{also}"
                )
            if not before:
                logs.say("waits_for_namesake", worker=self._own.name, seconds=f"{self._span - other.age:.0f}")
            before = other.age
            await asyncio.sleep(_QUICKLY)

    async def obtain(self) -> LeaseTerm:
        """Wait until the lease is this process's."""
        while True:
            term = await self._guard.run(self._tried)
            if term is not None:
                return term
            await asyncio.sleep(min(_LOOKS_EVERY, self._span / _RENEWALS))

    async def keep(self, term: LeaseTerm, declaration: Callable[[], str]) -> None:
        """Renew the lease until another worker has taken it, and note if nothing can be written under it any more.

        ``declaration`` returns the digest of the file in force; empty: there is none yet.
        """
        while True:
            if await self._guard.run(partial(self._renewed, declaration)) is False:
                return
            if term.overtaken.is_set():
                self.overtaken.set()
            self._hand_on()
            await asyncio.sleep(self._span / _RENEWALS if self.left > self._span / 2 else _QUICKLY)

    def _hand_on(self) -> None:
        """Begin to give the lease back if a worker of a higher priority has come; at most once a minute."""
        if self._seen is None or self.handing_over.is_set() or self._steady() - self._held_since < SETTLED:
            return
        other = preferred(self._own, self._seen, up=SETTLED)
        if other:
            logs.say("hands_over", worker=self._own.name, to=other, because="its priority is higher")
            self.handing_over.set()

    @contextlib.asynccontextmanager
    async def announced(self, file: ParsedText) -> AsyncIterator[None]:
        """Write which file is in force from now on, before the block has the store take what it declares.

        A worker that takes over at any instant then cannot go back to the file before. If the block fails, the next
        renewal writes the file that stays in force.

        Raises:
            StoreError: it cannot be written, or another worker has taken the lease.
        """
        self._coming = await asyncio.to_thread(declaration_digest, file)
        try:
            if not await self._renewed(str):
                raise StoreError("another worker has taken the lease: nothing is brought into force here")
            yield
        finally:
            self._coming = ""

    async def give_back(self) -> None:
        """Give the lease back, if it is still this process's, and leave it to others for one span.

        This process has no priority from then on, whatever took the lease from it: it would go to and fro. One that
        wants the lease back has it again after a while, unless a person handed the lease over.
        """
        state, self._state = self._state, None
        self.handing_over.clear()
        self.overtaken.clear()
        if self.taken:
            self._own = replace(self._own, priority=0)
        now = self._steady()
        self._regains_at = Monotonic(now + REGAINED if self._wants_it_back else math.inf)
        self._rests_until = Monotonic(now + self._span)
        if isinstance(state, OwnLease):
            try:
                await self._in_thread(self._lease.release, state.epoch, self._own)
            except StoreError as error:
                logs.warn("lease_not_given_back", epoch=state.epoch, error=str(error))

    async def leave(self) -> None:
        """Give back a lease that was taken while this process was to stop, leave the list, and close the session."""
        await self.give_back()
        try:
            await self._in_thread(self._lease.leave, self._own)
        except StoreError as error:
            logs.warn("worker_not_taken_off", worker=self._own.name, error=str(error))
        self._lease.close()
        self._thread.shutdown(wait=False)

    async def _in_thread(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, partial(call, *args, **kwargs))

    async def _tried(self) -> LeaseTerm | None:
        """Look, and take the lease if that may be."""
        seen = await self._look()
        now, state = self._steady(), self._state
        after = _PRECEDENCE if preferred(self._own, seen) else 0.0
        if self._own.problem or not isinstance(state, ObservedLease) or not may_take(state, now, after):
            return None
        if now < self._rests_until and cluster_status(self._own.name, seen).standbys > 1:
            return None  # it has just handed the lease over
        return await whole(self._taken(seen, now))

    async def _taken(self, seen: Looked, now: Monotonic) -> LeaseTerm | None:
        """Take the lease. A process that is to stop meanwhile has it all the same, and gives it back."""
        term = await self._in_thread(self._lease.take, seen.row, self._own, self._span)
        if term is not None:
            self._state, self._held_since = held(term.epoch, now, self._span), now
            self.taken += 1
            logs.say("lease_taken", worker=self._own.name, epoch=term.epoch, before=seen.worker or None)
        return term

    async def _look(self) -> Looked:
        seen = await self._in_thread(self._looked)
        self._state = observed(
            self._state if isinstance(self._state, ObservedLease) else None, seen.row, self._steady()
        )
        return seen

    def _looked(self) -> Looked:
        """Read the lease; find out whether this worker could take it, and have that written."""
        asked = self._steady()
        if asked >= self._regains_at:
            self._own = replace(self._own, priority=self._priority)
        seen = self._lease.look(self._own)
        self._take_in(seen, asked)
        problem = self._problem(seen)
        if problem != self._own.problem:
            self._own = replace(self._own, problem=problem)
            if problem:
                logs.warn("cannot_take_over", worker=self._own.name, problem=problem)
            else:
                logs.say("can_take_over", worker=self._own.name)
            seen = self._lease.look(self._own)
            self._take_in(seen, None)
        self._note_stranded(seen)
        return seen

    def _note_stranded(self, seen: Looked) -> None:
        """Log when no worker that is there may act any more, and when one may again."""
        status = cluster_status(self._own.name, seen)
        if status.is_stranded is self._is_stranded:
            return
        self._is_stranded = status.is_stranded
        if self._is_stranded:
            barred = ", ".join(each.name for each in status.workers if each.role is WorkerRole.BARRED)
            logs.warn("no_worker_may_act", barred=barred, remedy="trimtab cluster status says why each may not")
        else:
            logs.say("a_worker_may_act")

    def _problem(self, seen: Looked) -> str:
        if seen.schema > HEAD:
            return f"its release is older than the store (schema {seen.schema}, and this one knows up to {HEAD})"
        return self._file_problem(seen)

    async def _renewed(self, declaration: Callable[[], str]) -> bool:
        async with self._renewing:
            state = self._state
            if not isinstance(state, OwnLease):
                return False
            digest = await self._in_thread(declaration)
            asked = self._steady()
            digest = self._coming or digest
            if not await self._in_thread(self._lease.renew, state.epoch, self._own, self._span, digest):
                self._state = None
                return False
            self._state = held(state.epoch, asked, self._span)
            self._take_in(await self._in_thread(self._lease.read), None)
            return True

    def _take_in(self, seen: Looked, asked: Monotonic | None) -> None:
        self._seen, self._read_at = seen, self._steady()
        if asked is not None:
            took = self._read_at - asked
            if took <= _PROMPT or took < self._ahead.took:
                self._ahead = _Ahead(seconds=seen.clock - (asked + self._read_at) / 2, took=took)
