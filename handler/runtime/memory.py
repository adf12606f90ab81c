"""Keeps the garbage collector from holding the event loop.

# Note [Settled memory]

A full collection walks everything that was ever loaded: a tenth of a second and more, and nothing else is done
meanwhile. Nearly all of it lives for ever. Once that is there it is moved out of the collector's sight (`gc.freeze`),
and a collection then takes as long as what came since. What the first passes and ticks fill joins it a little later,
unsearched but for the youngest: by then a flood may be on its way. Every few hours all of it is looked through after
all, so that nothing that became garbage stays for ever; that waits for a moment at which nobody is held up.

The young are looked through often, a few at a time: rounds cost what they look through, and most of that is the work
in hand, which is freed by counting references soon after. Rare and large, one round would take as long as a tick.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable

from config.units import Seconds

_SOON: Seconds = 30.0
"""By then the first passes and ticks have filled what they fill."""
_LATER: Seconds = 6 * 3600.0
_LOOK: Seconds = 1.0
_LOOKS = 3600
"""For how long a quiet moment is waited for."""

_THRESHOLDS = 2_000, 10, 10_000
"""Full rounds may be few: what comes and goes is freed by counting references, and cycles are few."""


async def keep_settled(busy: Callable[[], bool], pause: Callable[[Seconds], Awaitable[None]] = asyncio.sleep) -> None:
    """Settle now, soon, and then every few hours, until cancelled; ``busy`` says whether anybody waits."""
    gc.set_threshold(*_THRESHOLDS)
    _settle()
    await pause(_SOON)
    gc.collect(1)
    gc.freeze()
    while True:
        await pause(_LATER)
        for _ in range(_LOOKS):
            if not busy():
                break
            await pause(_LOOK)
        _settle()


def _settle() -> None:
    gc.unfreeze()
    gc.collect()
    gc.freeze()
