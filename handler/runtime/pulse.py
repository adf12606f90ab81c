"""Notify listeners of groups with news. A slow listener gets one notification for several changes of a group."""

from __future__ import annotations

import asyncio
from types import TracebackType

from config.errors import Refused
from config.units import GroupId, Seconds

HEARTBEAT: Seconds = 10.0
LISTENERS_AT_MOST = 64


class PulseListener:
    """One subscription, for as long as its block runs. `Pulse.listen` creates it."""

    def __init__(self, pulse: Pulse, group: GroupId | None) -> None:
        self._pulse = pulse
        self._group = group
        self._news: set[GroupId] = set()
        self._woken = asyncio.Event()

    def __enter__(self) -> PulseListener:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pulse.leave(self)

    def hear(self, group: GroupId) -> None:
        """There is news of a group."""
        if self._group in {None, group}:
            self._news.add(group)
            self.wake()

    def wake(self) -> None:
        """Look whether it is all over."""
        self._woken.set()

    async def news(self, within: Seconds | None = None) -> frozenset[GroupId] | None:
        """Wait so long, or a heartbeat, for news and take them, if there are any; ``None`` once all is over."""
        try:
            async with asyncio.timeout(self._pulse.heartbeat if within is None else within):
                await self._woken.wait()
        except TimeoutError:
            return frozenset()
        if self._pulse.closed:
            return None
        self._woken.clear()
        news, self._news = frozenset(self._news), set()
        return news


class Pulse:
    """Lives on the event loop."""

    def __init__(self, *, heartbeat: Seconds = HEARTBEAT, listeners_at_most: int = LISTENERS_AT_MOST) -> None:
        self.heartbeat = heartbeat
        self.closed = False
        self._at_most = listeners_at_most
        self._listeners: set[PulseListener] = set()
        self._serial = 0
        self._beats: dict[GroupId, int] = {}

    def beat(self, group: GroupId) -> None:
        """Notify listeners that a group has news."""
        self._serial += 1
        self._beats[group] = self._serial
        for listener in self._listeners:
            listener.hear(group)

    @property
    def serial(self) -> int:
        """The number of the last beat of any group."""
        return self._serial

    def beats(self, group: GroupId) -> int:
        """The number of a group's last beat: what was made of the group at the same number is still good."""
        return self._beats.get(group, 0)

    def since(self, serial: int) -> frozenset[GroupId]:
        """The groups with news after the beat of this number, also those that are gone."""
        return frozenset(group for group, beat in self._beats.items() if beat > serial)

    def listen(self, group: GroupId | None = None) -> PulseListener:
        """Listen to one group, or to all; use as a context.

        Raises:
            Refused: too many listen already, or the daemon stops.
        """
        if self.closed or len(self._listeners) >= self._at_most:
            because = "the daemon stops" if self.closed else f"{self._at_most} listen already: close a page"
            raise Refused(f"no more listeners are accepted now: {because}")
        listener = PulseListener(self, group)
        self._listeners.add(listener)
        return listener

    def leave(self, listener: PulseListener) -> None:
        """Stop listening."""
        self._listeners.discard(listener)

    def close(self) -> None:
        """End all listening: the daemon stops."""
        self.closed = True
        for listener in self._listeners:
            listener.wake()
