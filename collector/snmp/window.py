"""How many requests may be under way at once."""

from __future__ import annotations

import asyncio
from collections import deque

from config.units import Seconds

_SOON: Seconds = 0.1
"""An agent that is going to answer does so within this time; after it, others may go."""


class RequestWindow:
    """At most so many requests in flight; for one event loop.

    One that is not answered soon gives up its place, though not its wait: otherwise as many silent agents as there
    are places would hold all others back. All places are held for the same time, so one timer does for all of them.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._held: deque[FlightSlot] = deque()
        self._timer: asyncio.TimerHandle | None = None

    async def enter(self) -> FlightSlot:
        """Wait for a place; first come, first served."""
        loop = asyncio.get_running_loop()
        if self._free:
            self._free -= 1
        else:
            turn = loop.create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self.give_back()
                raise
        place = FlightSlot(self, loop.time() + _SOON)
        self._held.append(place)
        if self._timer is None:
            self._timer = loop.call_at(place.until, self._sweep)
        return place

    def give_back(self) -> None:
        """Let the next one in."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1

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
    """One of the places, until it is left; at the latest soon."""

    __slots__ = ("_window", "left", "until")

    def __init__(self, window: RequestWindow, until: float) -> None:
        self._window = window
        self.until = until
        self.left = False

    def leave(self) -> None:
        """Let the next one in; only the first time counts."""
        if not self.left:
            self.left = True
            self._window.give_back()
