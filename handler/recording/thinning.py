"""Make one row of many: for each series and span the average, least and greatest value, and their number.

A series that warms up and then counts has a row for each: values that decisions leave out are not mixed with the
others. Ticks of groups without samples (`NONE_ASKED`, `MISSED`) are counted under their name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from collector.samples import Floats
from config.units import Seconds
from handler.recording.chunks import CHUNK
from handler.recording.rows import NO_REPLY, Index, SampleRows, joined, nothing, same


def thin(rows: SampleRows, resolution: Seconds) -> SampleRows:
    """Make one row for each series and span; at least one row.

    A row that stands for several samples weighs as much as they do, so parts may be thinned first, and then their
    results.

    Args:
        rows: in any order.
        resolution: length of a span, in seconds. Spans begin at its multiples since the epoch.
    """
    reply = np.where(rows.counter.codes < 0, rows.reply, NO_REPLY).astype(np.uint8)
    begins = np.floor_divide(rows.timestamp, resolution) * resolution
    series = rows.series()
    order = np.lexsort((reply, rows.counted, series, begins))
    starts = _starts(order, (begins, series, rows.counted, reply))
    answered = ~np.isnan(rows.value)
    asked = np.where(np.isnan(rows.asked), 1.0, rows.asked)[order]
    count = np.where(np.isnan(rows.count), answered, rows.count)[order]
    least = np.fmin.reduceat(np.where(np.isnan(rows.minimum), rows.value, rows.minimum)[order], starts)
    most = np.fmax.reduceat(np.where(np.isnan(rows.maximum), rows.value, rows.maximum)[order], starts)
    first, blank = rows.take(order[starts]), nothing(len(starts))
    return SampleRows(
        group=first.group,
        member=first.member,
        counter=first.counter,
        timestamp=begins[order[starts]],
        value=_averages(rows.value[order], count, starts, (least, most)),
        reply=reply[order[starts]],
        counted=first.counted,
        steady=blank,
        replied_at=blank,
        uptime=blank,
        resolution=same(resolution, len(starts)),
        asked=np.add.reduceat(asked, starts),
        count=np.add.reduceat(count, starts),
        minimum=least,
        maximum=most,
    )


def thinned(pieces: Iterable[SampleRows], resolution: Seconds) -> Iterator[SampleRows]:
    """Thin pieces that come in the order of time; holds the unfinished span and one chunk."""
    pending: list[SampleRows] = []
    over: list[SampleRows] = []
    for piece in pieces:
        known = thin(joined([*pending, piece]), resolution)
        ended = known.timestamp + resolution <= piece.timestamp[-1]
        over.append(known.take(np.flatnonzero(ended)))
        pending = [known.take(np.flatnonzero(~ended))]
        if sum(map(len, over)) >= CHUNK:
            yield joined(over)
            over = []
    if rest := [rows for rows in (*over, *pending) if len(rows)]:
        yield joined(rest)


def _starts(order: Index, keys: tuple[np.ndarray[tuple[int], np.dtype[np.generic]], ...]) -> Index:
    """Return where, in this order, a row differs from the one before it."""
    differs = np.ones(len(order), dtype=np.bool_)
    differs[1:] = False
    for key in keys:
        in_order = key[order]
        differs[1:] |= in_order[1:] != in_order[:-1]
    return np.flatnonzero(differs)


def _averages(value: Floats, count: Floats, starts: Index, bounds: tuple[Floats, Floats]) -> Floats:
    """Divide the sums; where a sum overflows, add up shares. Rounding puts no average outside the values."""
    total = np.add.reduceat(count, starts)
    number = np.maximum(total, 1.0)
    share = count / np.repeat(number, np.diff(np.append(starts, len(value))))
    heard = np.where(count > 0, value, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        divided = np.add.reduceat(heard * count, starts) / number
    added = np.where(np.isfinite(divided), divided, np.add.reduceat(heard * share, starts))
    average: Floats = np.where(total > 0, np.clip(added, *bounds), np.nan)
    return average
