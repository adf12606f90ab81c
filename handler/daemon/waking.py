"""What a worker waits for, and is woken for by another one's notification.

Notifications spare the time between two looks, and are no promise: one may be lost, so what waits looks all the same,
more seldom while notifications are heard. When they are heard again after a loss, all is looked at once.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from config.errors import StoreError
from config.units import Seconds
from handler.runtime.loops import Guard, until_set, whole

_AGAIN: Seconds = 0.5
"""Between two attempts to listen; the sessions have a growing pause of their own (`PostgresqlSessions`)."""


class WakingSession(Protocol):
    """A session that hears notifications: `handler.store.postgresql_wakes.PostgresqlWakes`."""

    def connect(self) -> int:
        """Begin to hear; returns a descriptor. Raises `StoreError`."""
        ...

    def read(self) -> frozenset[str]:
        """Return what was notified, without blocking. Raises `StoreError`: the session is lost."""
        ...

    def close(self) -> None:
        """End it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LookEvery:
    """How often to look for what may have been notified."""

    heard: Seconds
    """While notifications are heard."""
    unheard: Seconds


class Wakes:
    """The notifications that one worker hears. Only the event loop calls."""

    def __init__(self, session: WakingSession) -> None:
        self._session = session
        self._expected: dict[str, asyncio.Event] = {}
        self.are_heard = False
        """Whether notifications arrive; what is lost is found out by keep-alives, within seconds."""

    @contextlib.contextmanager
    def expecting(self, what: str) -> Iterator[asyncio.Event]:
        """Have an event set by each notification of ``what``, while the block runs."""
        event = self._expected[what] = asyncio.Event()
        try:
            yield event
        finally:
            del self._expected[what]

    async def next_look(self, event: asyncio.Event, every: LookEvery) -> None:
        """Wait until an event was set since the last look, or it is time to look all the same."""
        await until_set(event, every.heard if self.are_heard else every.unheard)
        event.clear()

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Hear notifications while the block runs; after a loss, connect anew."""
        listening = asyncio.create_task(self._listen())
        try:
            yield
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
            self._session.close()

    async def _listen(self) -> None:
        guard = Guard("waking", without_store="interrupted")
        while True:
            descriptor = await guard.run(self._connected)
            if descriptor is not None:
                await guard.run(partial(self._hear, descriptor))
            await asyncio.sleep(_AGAIN)

    async def _connected(self) -> int:
        return await whole(asyncio.to_thread(self._session.connect))

    async def _hear(self, descriptor: int) -> None:
        """Wake what is expected until the session is lost, which raises `StoreError`."""
        loop = asyncio.get_running_loop()
        lost: asyncio.Future[None] = loop.create_future()

        def read() -> None:
            try:
                notified = self._session.read()
            except StoreError as error:
                loop.remove_reader(descriptor)
                lost.set_exception(error)
                return
            for each in notified & self._expected.keys():
                self._expected[each].set()

        loop.add_reader(descriptor, read)
        self.are_heard = True
        for event in self._expected.values():  # what was notified before is not heard any more
            event.set()
        try:
            await lost
        finally:
            self.are_heard = False
            loop.remove_reader(descriptor)
            self._session.close()
