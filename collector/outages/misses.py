"""Gather the values that one poll lacks or refuses, by counter and kind of failure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from collector.outages.outages import OutageLayout
from collector.samples import Reply, Scrape, one_line
from config.model.counters import Counter
from config.units import CounterId, GroupId, MemberName


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """One kind of failure of one counter, for some members or for the group."""

    counter: CounterId
    reply: Reply
    count: int
    """Number of members; 1 for the whole group."""
    member: MemberName | None
    """One of them; ``None``: the whole group."""
    detail: str
    """The source's own words for this member, if any."""


UNBELIEVED = frozenset({Reply.OUTSIDE_RANGE, Reply.FUTURE})
"""Well-formed answers that are refused because they cannot be true."""


def misses_of(scrape: Scrape, hearing: OutageLayout, group: GroupId) -> tuple[Miss, ...]:
    """Return one group's failures of a scrape, in the order of counters, the most frequent of each first.

    >>> from collector.outages.outages import hearing_of
    >>> from collector.samples import Layout, Series, Sheet
    >>> from config.units import Instant, Moment, Monotonic
    >>> series = tuple(Series(GroupId("web"), CounterId("cpu"), MemberName(name)) for name in "abc")
    >>> sheet = Sheet(Layout(series=series, counted=np.ones(3, dtype=np.bool_)))
    >>> sheet.put(0, 42.0, at=1.0)
    >>> scrape = sheet.close(Moment(wall=Instant(0.0), steady=Monotonic(0.0)))
    >>> [(miss.reply.name, miss.count, miss.member) for miss in misses_of(scrape, hearing_of(scrape.layout, {}), "web")]
    [('TIMEOUT', 2, 'b')]
    """
    rows = hearing.rows.get(group, slice(0, 0))
    failed = rows.start + np.flatnonzero(scrape.reply[rows] != Reply.OK)
    if not failed.size:
        return ()
    kinds = hearing.counter[failed] * len(Reply) + scrape.reply[failed]
    found, first, counts = np.unique(kinds, return_index=True, return_counts=True)
    misses = [
        _miss(scrape, int(failed[place]), int(count)) for _, place, count in zip(found, first, counts, strict=True)
    ]
    return tuple(sorted(misses, key=lambda miss: (miss.counter, -miss.count, miss.reply)))


def whose(miss: Miss) -> str:
    """Name the counter and the members, in words: ``cpu of web-1 and 2 others``."""
    of = "" if miss.member is None else f" of {miss.member}"
    others = miss.count - 1
    return f"{miss.counter}{of}" + (f" and {others} other{'s' if others > 1 else ''}" if others > 0 else "")


def _miss(scrape: Scrape, row: int, count: int) -> Miss:
    series = scrape.layout.series[row]
    return Miss(
        counter=series.counter,
        reply=Reply(int(scrape.reply[row])),
        count=count,
        member=series.member,
        detail=scrape.details.get(row, ""),
    )


def without(scrape: Scrape, outside: Mapping[int, float], counters: Mapping[CounterId, Counter]) -> Scrape:
    """Remove values outside their counter's range from a scrape, with the reason for each.

    Args:
        scrape: as polled.
        outside: the value of each such row, in the counter's unit; for a counter that rises, the rate.
        counters: as declared.

    Returns:
        A scrape with the same layout; the same object if there is nothing to remove.
    """
    if not outside:
        return scrape
    rows = list(outside)
    reply, value, replied_at = scrape.reply.copy(), scrape.value.copy(), scrape.replied_at.copy()
    reply[rows], value[rows], replied_at[rows] = Reply.OUTSIDE_RANGE, 0.0, 0.0
    layout = scrape.layout
    details = {row: one_line(words(counters[layout.series[row].counter], value)) for row, value in outside.items()}
    return replace(
        scrape, reply=reply, value=value, replied_at=replied_at, details=MappingProxyType({**scrape.details, **details})
    )


def words(counter: Counter, value: float) -> str:
    """Return why a value is refused.

    Args:
        counter: the value's counter.
        value: in the counter's unit.
    """
    if counter.range is None or not np.isfinite(value):
        return f"{value:g} is not a finite number"
    low, high = counter.range
    return f"{value:g} is outside range {low:g}..{high:g}" + (f" {counter.unit}" if counter.unit else "")
