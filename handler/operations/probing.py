"""Read counters now, outside the schedule and without any effect on decisions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from collector.sources.poll import Poller
from collector.targets import Roster
from config.model.catalogue import Catalogue
from config.units import CounterId, Moment, Seconds
from handler.operations.readings import Probed, probed, rises

_PATIENCE: Seconds = 8.0
_APART: Seconds = 1.0
"""Between two readings of a rising counter: long enough for a rate, short enough for a person to wait."""


async def probe(
    poller: Poller,
    clock: Callable[[], Moment],
    catalogue: Catalogue,
    roster: Roster,
    counters: Sequence[CounterId],
) -> tuple[Probed, ...]:
    """Read these counters of these members; twice if any of them is a rising counter.

    Args:
        poller: has the sources to read from.
        clock: gives the time for the ages of readings.
        catalogue: declares the roster's group and the counters.
        roster: the members to ask.
        counters: declared ones.
    """
    wanted = {roster.group: tuple(sorted(counters))}
    scrapes = [await poller.once(catalogue, {roster.group: roster}, wanted, timeout=_PATIENCE)]
    if rises(catalogue, scrapes[0]):
        await asyncio.sleep(_APART)
        scrapes.append(await poller.once(catalogue, {roster.group: roster}, wanted, timeout=_PATIENCE))
    return probed(catalogue, scrapes, clock().steady)
