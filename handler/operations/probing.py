"""Read counters now, outside the schedule and without any effect on decisions.

This is where to look first when a number is missing or strange. `probe` asks; everything else here is pure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from aggregator.rates import NO_BASELINE, Measured, columns_of, measure
from collector.outages.misses import words
from collector.outages.remedies import remedy
from collector.samples import Reply, Scrape
from collector.sources.poll import Poller
from collector.targets import Roster
from config.model.catalogue import Catalogue
from config.model.counters import CounterKind, source_word
from config.units import CounterId, MemberName, Moment, Seconds

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """One counter of one member, or (``member`` is ``None``) of the group."""

    counter: CounterId
    member: MemberName | None
    source: str
    kind: CounterKind
    unit: str
    reading: float | None
    """As read, even outside the range; ``None``: there was no answer."""
    value: float | None
    """In the counter's unit; for a rising counter its rate, which needs two readings."""
    age: Seconds | None
    """The reading's age when the poll ended: large for pushed values, and for sources with a lag."""
    took: Seconds | None
    """From the request to the response."""
    reply: Reply
    detail: str = field(metadata={"wire": "said"})
    """Why it did not answer, in the words of the source; empty: nothing more is known."""
    remedy: str | None
    """What to do; ``None``: the source answered."""


def rises(catalogue: Catalogue, scrape: Scrape) -> bool:
    """Tell whether a second reading adds something: some counter is a rising one."""
    return any(catalogue.counters[series.counter].kind is CounterKind.RISING for series in scrape.layout.series)


def probed(catalogue: Catalogue, scrapes: Sequence[Scrape], ended: float) -> tuple[Probed, ...]:
    """Return every reading, in the order of counters and members.

    Args:
        catalogue: declares every counter.
        scrapes: one, or two of one layout: with two, rates are known.
        ended: steady seconds when the last of them was done.
    """
    last = scrapes[-1]
    measured = _measured(catalogue, scrapes)
    return tuple(_probed(catalogue, last, row, measured, ended) for row in range(len(last.layout.series)))


def _probed(catalogue: Catalogue, scrape: Scrape, row: int, measured: Measured, ended: float) -> Probed:
    series, reply = scrape.layout.series[row], Reply(int(scrape.reply[row]))
    counter = catalogue.counters[series.counter]
    answered = reply is Reply.OK
    source, at = source_word(counter), float(scrape.replied_at[row])
    value, detail = float(measured.value[row]), scrape.details.get(row, "")
    if measured.outside[row]:
        reply, detail = Reply.OUTSIDE_RANGE, words(counter, value)
    return Probed(
        counter=counter.id,
        member=series.member,
        source=source,
        kind=counter.kind,
        unit=counter.unit,
        reading=float(scrape.value[row]) if answered else None,
        value=value if measured.usable[row] else None,
        age=max(ended - at, 0.0) if answered else None,
        took=max(at - scrape.at.steady, 0.0) if answered else None,
        reply=reply,
        detail=detail,
        remedy=None if reply is Reply.OK else remedy(source, reply),
    )


def _measured(catalogue: Catalogue, scrapes: Sequence[Scrape]) -> Measured:
    """Return the last scrape's measured values, by the aggregator's rules."""
    layout = scrapes[0].layout
    counters = sorted({series.counter for series in layout.series})
    places = {counter: place for place, counter in enumerate(counters)}
    runs = np.array([places[series.counter] for series in layout.series], dtype=np.intp)
    interval = scrapes[-1].at.steady - scrapes[0].at.steady or 1.0
    columns = columns_of(layout, runs, [catalogue.counters[counter] for counter in counters], interval)
    measured, baseline = measure(columns, NO_BASELINE, scrapes[0])
    for scrape in scrapes[1:]:
        measured, baseline = measure(columns, baseline, scrape)
    return measured
