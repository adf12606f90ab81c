"""Parse long answers beside the event loop, one at a time, each user within its share of the processor.

A parsing thread holds Python's lock half of the time. There is one such thread, not thirty, so the event loop always
gets the other half. The cost of each user is recorded, and a user that exceeds its share is postponed until time has
paid for it. So a group whose members show pages of many megabytes is late itself, and delays no other group.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

from collector.clients.http.failures import HttpFailure
from collector.samples import Reply
from config.units import Moment, Seconds

T = TypeVar("T")

SHARE = 0.05
"""The share of one processor that a user may take in the long run."""
ALLOWED: Seconds = 0.25
"""Processor time that a user may owe before it is postponed."""
FREE: Seconds = 0.005
"""Processor time; cheaper answers are never counted, however many there are."""
INLINE = 16 * 1024
"""Bytes; shorter answers are parsed directly on the event loop, in a few milliseconds at most."""


class Debt(NamedTuple):
    """Processor time that a user owes."""

    owed: Seconds
    at: float
    """When it owed this much, in steady seconds."""

    def now(self, at: float) -> Seconds:
        """Return the debt at a later moment.

        >>> Debt(1.0, at=100.0).now(110.0)
        0.5
        """
        return max(self.owed - SHARE * max(at - self.at, 0.0), 0.0)

    def wait(self, at: float) -> Seconds:
        """Return for how long the user is postponed; 0.0: not at all.

        >>> Debt(1.25, at=100.0).wait(100.0), Debt(0.25, at=100.0).wait(100.0)
        (20.0, 0.0)
        """
        return max(self.now(at) - ALLOWED, 0.0) / SHARE


NOTHING = Debt(0.0, 0.0)


class Parser:
    """Parses answers; for one event loop.

    Args:
        clock: its steady time pays the debts.
    """

    def __init__(self, clock: Callable[[], Moment]) -> None:
        self._clock = clock
        self._debts: dict[str, Debt] = {}
        self._turn = asyncio.Lock()
        self._thread: ThreadPoolExecutor | None = None

    def put_off(self, user: str) -> HttpFailure | None:
        """Return why a user must wait; ``None``: it need not."""
        debt = self._debts.get(user, NOTHING)
        wait = debt.wait(self._clock().steady)
        if wait <= 0.0:
            return None
        detail = (
            f"parsing its answers took {debt.owed:.1f} s of processor time, more than its share; "
            f"the next request is in {wait:.0f} s"
        )
        return HttpFailure(reply=Reply.PUT_OFF, detail=detail)

    async def run(self, user: str, size: int, parse: Callable[[], T]) -> T | HttpFailure:
        """Parse an answer.

        Args:
            user: the name that the cost is charged to.
            size: of the answer, in bytes.
            parse: does the work; shares no mutable state.

        Returns:
            The result of ``parse``, or a failure if the user is postponed.
        """
        if size < INLINE:
            return parse()
        async with self._turn:
            if (late := self.put_off(user)) is not None:
                return late
            if self._thread is None:
                self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="parser")
            found, cost = await asyncio.get_running_loop().run_in_executor(self._thread, _timed, parse)
            if cost > FREE:
                self._charge(user, cost)
            return found

    def close(self) -> None:
        """Release the thread, after the last answer."""
        if self._thread is not None:
            self._thread.shutdown(wait=False)
            self._thread = None

    def _charge(self, user: str, cost: Seconds) -> None:
        at = self._clock().steady
        self._debts = {name: debt for name, debt in self._debts.items() if debt.now(at) > 0.0}
        self._debts[user] = Debt(self._debts.get(user, NOTHING).now(at) + cost, at)


def _timed(parse: Callable[[], T]) -> tuple[T, Seconds]:
    began = time.thread_time()
    return parse(), time.thread_time() - began
