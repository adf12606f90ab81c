"""Where long answers are parsed: beside the event loop, one at a time, and for no user of it more than its share.

A thread that parses holds Python's lock for half of the time, so there is one and not thirty: beside it the event loop
gets the other half, however many answers wait. What each user of it has cost is remembered, and who has used up its
share is put off until time has paid for it. So one group whose members show pages of many megabytes is late itself, and
no other group is.
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
"""Of one processor: what a user may cost for long."""
ALLOWED: Seconds = 0.25
"""Of processor time: what a user may owe before it is put off."""
FREE: Seconds = 0.005
"""Of processor time: an answer that costs no more is never counted, however many members give one."""
INLINE = 16 * 1024
"""Bytes of an answer that is parsed at once, on the event loop: a few milliseconds at most."""


class Debt(NamedTuple):
    """What one user has cost and time has not paid for yet."""

    owed: Seconds
    at: float
    """Steady seconds at which it was so much."""

    def now(self, at: float) -> Seconds:
        """What is left of it.

        >>> Debt(1.0, at=100.0).now(110.0)
        0.5
        """
        return max(self.owed - SHARE * max(at - self.at, 0.0), 0.0)

    def wait(self, at: float) -> Seconds:
        """For how long its user is put off; 0.0: it is not.

        >>> Debt(1.25, at=100.0).wait(100.0), Debt(0.25, at=100.0).wait(100.0)
        (20.0, 0.0)
        """
        return max(self.now(at) - ALLOWED, 0.0) / SHARE


NOTHING = Debt(0.0, 0.0)


class Parser:
    """Parses answers; for one event loop.

    Args:
        clock: by whose steady time debts are paid.
    """

    def __init__(self, clock: Callable[[], Moment]) -> None:
        self._clock = clock
        self._debts: dict[str, Debt] = {}
        self._turn = asyncio.Lock()
        self._thread: ThreadPoolExecutor | None = None

    def put_off(self, user: str) -> HttpFailure | None:
        """Why a user must wait; ``None``: it need not."""
        debt = self._debts.get(user, NOTHING)
        wait = debt.wait(self._clock().steady)
        if wait <= 0.0:
            return None
        said = (
            f"reading its answers has taken {debt.owed:.1f} s of processor time, more than its share: "
            f"it is asked again in {wait:.0f} s"
        )
        return HttpFailure(reply=Reply.PUT_OFF, said=said)

    async def run(self, user: str, size: int, parse: Callable[[], T]) -> T | HttpFailure:
        """Parse an answer.

        Args:
            user: who pays for it.
            size: of the answer, in bytes.
            parse: does the work; touches nothing that others touch.

        Returns:
            What ``parse`` returns, or that the user is put off.
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
        """Give back the thread, after the last answer."""
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
