"""Keeps the garbage collector from holding the event loop.

# Note [Settled memory]

A full collection walks everything that was ever loaded: a tenth of a second and more, every few seconds under load, and
nothing else is done meanwhile. Nearly all of it lives for ever. Once that is there it is moved out of the collector's
sight (`gc.freeze`), and a full collection then takes as long as what came since. Now and then all of it is looked
through after all, so that nothing that became garbage stays for ever.
"""

from __future__ import annotations

import asyncio
import gc
import itertools

from config.units import Seconds

_SOON: Seconds = 30.0
"""By then the first passes and ticks have filled what they fill."""
_LATER: Seconds = 6 * 3600.0

_THRESHOLDS = 10_000, 20, 1_000
"""Full rounds may be few: what comes and goes is freed by counting references, and cycles are few."""


async def keep_settled() -> None:
    """Settle now, soon, and then every few hours, until cancelled."""
    gc.set_threshold(*_THRESHOLDS)
    for pause in itertools.chain((_SOON,), itertools.repeat(_LATER)):
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        await asyncio.sleep(pause)
