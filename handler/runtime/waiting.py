"""Waiting for an event, with an end to it."""

from __future__ import annotations

import asyncio
import contextlib

from config.units import Seconds


async def until_set(event: asyncio.Event, within: Seconds) -> None:
    """Wait until an event is set, or a span is over.

    Not by ``asyncio.wait_for``: before Python 3.12 it forgets a cancellation that comes in the same turn as the event,
    and a loop that is stopped just when it is woken would then go on for ever.
    """
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(within):
            await event.wait()
