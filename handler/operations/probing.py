"""Reads counters now, out of turn: nothing that decides is touched."""

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
"""Between two readings of what rises: long enough for a rate, short enough for a person."""


async def probe(
    poller: Poller,
    clock: Callable[[], Moment],
    catalogue: Catalogue,
    roster: Roster,
    counters: Sequence[CounterId],
) -> tuple[Probed, ...]:
    """Ask these members for these counters; a second time if any of them rises for ever.

    Args:
        poller: whose sources are asked.
        clock: for how old readings are.
        catalogue: declares the roster's group and the counters.
        roster: whom to ask.
        counters: declared ones.
    """
    wanted = {roster.group: tuple(sorted(counters))}
    scrapes = [await poller.once(catalogue, {roster.group: roster}, wanted, timeout=_PATIENCE)]
    if rises(catalogue, scrapes[0]):
        await asyncio.sleep(_APART)
        scrapes.append(await poller.once(catalogue, {roster.group: roster}, wanted, timeout=_PATIENCE))
    return probed(catalogue, scrapes, clock().steady)
