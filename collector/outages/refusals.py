"""Answers that were not heard, since what they say cannot be: a scrape in which they are failures with a reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from collector.samples import Reply, Scrape, one_line
from config.model.counters import Counter
from config.units import CounterId


def without(scrape: Scrape, outside: Mapping[int, float], counters: Mapping[CounterId, Counter]) -> Scrape:
    """Take the values out of a scrape that lie outside their counter's range, and say so of each.

    Args:
        scrape: as it was polled.
        outside: the value of each such row, in the counter's unit; of a counter that rises, the rate.
        counters: as they are declared.

    Returns:
        A scrape of the same layout; the very same one where there is nothing to take out.
    """
    if not outside:
        return scrape
    rows = list(outside)
    reply, value, replied_at = scrape.reply.copy(), scrape.value.copy(), scrape.replied_at.copy()
    reply[rows], value[rows], replied_at[rows] = Reply.OUTSIDE_RANGE, 0.0, 0.0
    layout = scrape.layout
    said = {row: one_line(words(counters[layout.series[row].counter], value)) for row, value in outside.items()}
    return replace(
        scrape, reply=reply, value=value, replied_at=replied_at, said=MappingProxyType({**scrape.said, **said})
    )


def words(counter: Counter, value: float) -> str:
    """Say why a value was not heard.

    Args:
        counter: that it is of.
        value: in the counter's unit.
    """
    if counter.range is None or not np.isfinite(value):
        return f"{value:g} is not a number to count with"
    low, high = counter.range
    return f"{value:g} is outside range {low:g}..{high:g}" + (f" {counter.unit}" if counter.unit else "")
