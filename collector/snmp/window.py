"""How many requests may be under way at once."""

from __future__ import annotations

import asyncio
from collections import deque

from config.units import Seconds

_SOON: Seconds = 0.1
"""An agent that is going to answer does so within this time; after it, others may go."""


class Turns:
    """So many places; tasks that find none free come in turn, first come, first served. For one event loop."""

    __slots__ = ("_free", "_waiting")

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: deque[asyncio.Future[None]] | None = None

    def take(self, most: int = 1) -> int:
        """Take as many places as are free, and say how many that is; 0: there is none."""
        taken = min(self._free, most)
        self._free -= taken
        return taken

    async def wait(self) -> None:
        """Take one, when its time has come."""
        if self.take():
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting = self._waiting or deque()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give_back()
            raise

    def give_back(self, places: int = 1) -> None:
        """Let the next tasks in."""
        for _ in range(places):
            self._let_in()

    @property
    def idle(self) -> bool:
        """Whether there is a place."""
        return self._free > 0

    def _let_in(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


class RequestWindow:
    """At most so many requests in flight; for one event loop.

    One that is not answered soon gives up its place, though not its wait: otherwise as many silent agents as there
    are places would hold all others back. All places are held for the same time, so one timer does for all of them.
    """

    def __init__(self, places: int) -> None:
        self._turns = Turns(places)
        self._held: deque[FlightSlot] = deque()
        self._timer: asyncio.TimerHandle | None = None

    async def enter(self, most: int = 1) -> FlightSlot:
        """Wait for a place, and take up to so many, if more are free by then."""
        places = self._turns.take(most)
        if not places:
            await self._turns.wait()
            places = 1 + self._turns.take(most - 1)
        loop = asyncio.get_running_loop()
        slot = FlightSlot(self._turns, places, loop.time() + _SOON)
        self._held.append(slot)
        if self._timer is None:
            self._timer = loop.call_at(slot.until, self._sweep)
        return slot

    def close(self) -> None:
        """Stop the clock."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        while self._held and (self._held[0].left or self._held[0].until <= now):
            self._held.popleft().leave()
        self._timer = loop.call_at(self._held[0].until, self._sweep) if self._held else None


class FlightSlot:
    """Some of the places, until they are left; at the latest soon."""

    __slots__ = ("_turns", "places", "until")

    def __init__(self, turns: Turns, places: int, until: float) -> None:
        self._turns = turns
        self.places = places
        """Those that are not left yet."""
        self.until = until

    @property
    def left(self) -> bool:
        """Whether all are left."""
        return not self.places

    def leave(self) -> None:
        """Let the next ones in to all of them; only the first time counts."""
        places, self.places = self.places, 0
        self._turns.give_back(places)

    def leave_one(self) -> None:
        """Let the next one in, if any place is held still."""
        if self.places:
            self.places -= 1
            self._turns.give_back()
