"""Building blocks of loops: a guard that catches everything, waiting with a limit, and work that runs to its end.

The garbage collector, too, is kept from holding the event loop.

# Note [Settled memory]

A full collection walks everything that was ever loaded: a tenth of a second and more, and nothing else is done
meanwhile. Nearly all of it lives for ever. Once that is there it is moved out of the collector's sight (`gc.freeze`),
and a collection then takes as long as what came since. What the first passes and ticks fill joins it a little later,
unsearched but for the youngest: by then a flood may be on its way. Every few hours all of it is looked through after
all, so that no garbage stays for ever; it waits for a moment at which no request is delayed.

The young are looked through often, a few at a time: rounds cost what they look through, and most of that is the work
in hand, which is freed by counting references soon after. Rare and large, one round would take as long as a tick.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import math
import zlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from config.errors import StoreError
from config.units import Moment, Seconds
from handler import logs

_Result = TypeVar("_Result")


class Guard:
    """Guard one loop, and log a failure when it begins and when it ends, not at every round in between.

    Args:
        what: the loop.
        without_store: what the log says became of it where the store fails.
        fields: what the log has beside that.
    """

    def __init__(self, what: str, *, without_store: str = "not_recorded", **fields: object) -> None:
        self._what = what
        self._without_store = without_store
        self._fields = fields
        self._trouble: str | None = None

    async def run(self, work: Callable[[], Awaitable[_Result]]) -> _Result | None:
        """Run one round; ``None`` if it failed. The next round comes as planned."""
        try:
            result = await work()
        except StoreError as error:
            self._began(self._without_store, str(error))
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


BEAT: Seconds = 0.1
"""Between the instants at which the event loop of a daemon runs in any case: it measures how late it is there."""


def until_beat(after: Seconds, now: Seconds) -> Seconds:
    """Return how long until the first beat that is so far away, at least; ``now`` is by the loop's clock.

    >>> [round(until_beat(0.25, now), 3) for now in (50.0, 50.04, 50.051)]
    [0.3, 0.26, 0.349]
    """
    return math.ceil(round((now + after) / BEAT, 3)) * BEAT - now


async def on_beat(after: Seconds) -> None:
    """Wait so long, and then for the next beat.

    A daemon at rest does little else than wake up, whatever for. What looks again and again, and may look a little
    later, does so when the loop runs in any case.
    """
    await asyncio.sleep(until_beat(after, asyncio.get_running_loop().time()))


async def until_set(event: asyncio.Event, within: Seconds) -> None:
    """Wait until an event is set, or a span is over.

    Not by ``asyncio.wait_for``: before Python 3.12 it forgets a cancellation that comes in the same turn as the event,
    and a loop that is stopped just when it is woken would then go on for ever.
    """
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(within):
            await event.wait()


def until_routine(name: str, interval: Seconds, steady: float) -> Seconds:
    """Return how long until a thing is looked at though nothing calls for it: once per interval, at its own instant.

    Things that were woken together, by a start or a reload, would else be looked at together for ever.
    """
    phase = zlib.crc32(name.encode()) / 2**32 * interval
    return interval - (steady - phase) % interval


async def whole(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Run ``work`` to its end. A cancellation meanwhile takes effect only after that.

    A lock that is held around it therefore stays held until the work, in its thread, really is over.
    """
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # no caller is left to get it
        raise


_LOOKS = 20
_LOOKS_PER_SECOND = 10.0


class RefusalLooks:
    """How many refusals may have their group looked at: a flood of refused alarms must not become one of listings.

    Those beyond it are looked at when it is their turn. What changes a size is looked after at once.
    """

    def __init__(self) -> None:
        self._left = float(_LOOKS)
        self._at: float | None = None

    def granted(self, at: Moment) -> bool:
        """Whether there is one left; if so it is used."""
        since = 0.0 if self._at is None else max(at.steady - self._at, 0.0)
        self._left, self._at = min(self._left + since * _LOOKS_PER_SECOND, _LOOKS), at.steady
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


_SOON: Seconds = 30.0
"""By then the first passes and ticks have filled what they fill."""
_LATER: Seconds = 6 * 3600.0
_LOOK: Seconds = 1.0
_QUIET_LOOKS = 3600
"""For how long a quiet moment is waited for."""

_THRESHOLDS = 2_000, 4, 25_000
"""A round of the second generation looks at some 10,000 things, which takes milliseconds; at twice as many, it took
longer than a request may wait. Full rounds may be few: what comes and goes is freed by counting references, and cycles
are few."""


async def keep_settled(busy: Callable[[], bool], pause: Callable[[Seconds], Awaitable[None]] = asyncio.sleep) -> None:
    """Settle now, soon, and then every few hours, until cancelled; ``busy`` returns whether a request waits."""
    gc.set_threshold(*_THRESHOLDS)
    _settle()
    await pause(_SOON)
    gc.collect(1)
    gc.freeze()
    while True:
        await pause(_LATER)
        for _ in range(_QUIET_LOOKS):
            if not busy():
                break
            await pause(_LOOK)
        _settle()


def _settle() -> None:
    gc.unfreeze()
    gc.collect()
    gc.freeze()
