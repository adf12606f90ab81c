"""What loops are made of: a guard that catches everything, waiting with an end to it, and work that is done whole."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from config.errors import StoreError
from config.units import Seconds
from handler import logs

_Result = TypeVar("_Result")


class Guard:
    """Guards one loop, and says what goes wrong when it begins and when it ends, not at every round in between."""

    def __init__(self, what: str, **fields: object) -> None:
        self._what = what
        self._fields = fields
        self._trouble: str | None = None

    async def run(self, work: Callable[[], Awaitable[_Result]]) -> _Result | None:
        """Run one round; ``None`` if it failed. The next round comes as planned."""
        try:
            result = await work()
        except StoreError as error:
            self._began("not_recorded", str(error))
            return None
        except Exception as error:  # the guard itself: a defect must cost one round, not the daemon
            self._began("failed", f"{type(error).__name__}: {error}")
            logging.getLogger("trimtab").debug("%s", logs.logfmt("traceback", what=self._what), exc_info=True)
            return None
        if self._trouble is not None:
            self._trouble = None
            logs.say(f"{self._what}_works_again", **self._fields)
        return result

    def _began(self, how: str, trouble: str) -> None:
        if trouble != self._trouble:
            self._trouble = trouble
            logs.warn(f"{self._what}_{how}", error=trouble, **self._fields)


async def until_set(event: asyncio.Event, within: Seconds) -> None:
    """Wait until an event is set, or a span is over.

    Not by ``asyncio.wait_for``: before Python 3.12 it forgets a cancellation that comes in the same turn as the event,
    and a loop that is stopped just when it is woken would then go on for ever.
    """
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(within):
            await event.wait()


async def whole(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Run ``work`` to its end. Whoever is cancelled meanwhile is cancelled only after that.

    A lock that is held around it therefore stays held until the work, in its thread, really is over.
    """
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # nobody is left to hear it
        raise
