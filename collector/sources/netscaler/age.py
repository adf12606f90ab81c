"""How long a NetScaler has counted, so that a restart is noticed even if a counter has passed its old value.

``timesincestart`` is useless: appliances answer 00:00:00. ``starttime`` is a date in the appliance's own time zone. So
it is only compared with its earlier value: while it stays the same, the appliance has counted since we first saw it.
That is never too long, and begins again with every restart, and when the other node of a pair takes over.
"""

from __future__ import annotations

import asyncio
import calendar
import math
import time

from collector.clients.nitro.async_client import AsyncNitroClient, TimedAnswer
from collector.clients.nitro.parsing import text, things
from collector.clients.nitro.session import NitroCall
from collector.targets import Round
from config.units import Seconds

_FRESH: Seconds = 10.0
"""How long an answer is reused: no appliance restarts faster."""
_WOBBLE: Seconds = 10.0
"""How far two dates of the same start may differ: some versions compute the date for each answer."""


class Age:
    """Remembers since when one appliance has reported its present start.

    Args:
        client: calls the appliance.
    """

    def __init__(self, client: AsyncNitroClient) -> None:
        self._client = client
        self._asking = asyncio.Lock()
        self._asked_at = -math.inf
        self._start = ""
        self._known: str | None = None
        self._since = math.nan

    async def at_least(self, poll: Round, *, within: Seconds) -> Seconds:
        """Return how many seconds it has counted, at least; NaN: it does not report its start."""
        async with self._asking:
            if poll.clock().steady - self._asked_at >= _FRESH:
                found = await self._client.get(NitroCall(path="stat/system"), poll, within=within)
                self._asked_at = poll.clock().steady
                self._start = _start(found) if isinstance(found, TimedAnswer) else ""
                if self._start and (self._known is None or not same_start(self._start, self._known)):
                    self._known, self._since = self._start, self._asked_at
            return poll.clock().steady - self._since if self._start else math.nan


def same_start(one: str, other: str) -> bool:
    """Return whether two of an appliance's dates mean the same start.

    >>> same_start("Mon May  8 14:58:53 2017", "Mon May  8 14:58:55 2017")
    True
    >>> same_start("Mon May  8 14:58:53 2017", "Mon May  8 15:20:01 2017")
    False
    """
    try:
        return abs(_seconds(one) - _seconds(other)) <= _WOBBLE
    except ValueError:
        return one == other


def _seconds(date: str) -> float:
    return calendar.timegm(time.strptime(date))


def _start(found: TimedAnswer) -> str:
    return next((text(thing, "starttime") for thing in things(found.document, "system")), "")
