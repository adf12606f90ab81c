"""Read spans of history by instant, whether they are rows or packed in blocks.

# Note [A tick may begin before a request that was decided before it]

A poll takes seconds. A request that comes meanwhile is decided first, and its span lies within that of the tick, which
begins with the poll. So of the spans that cover an instant the one that began last is meant; and one that ended before
the instant does not hide another that goes on.
"""

from __future__ import annotations

import math
from heapq import nlargest
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, select

from config.units import GroupId, Instant
from handler.ports.stored import TickSpan
from handler.store.block_schema import span_blocks
from handler.store.codec import from_text
from handler.store.row_blocks import unpack
from handler.store.rows import named
from handler.store.schema import every, spans
from trigger.explain.explanation import Explanation

_BLOCKS = (
    select(span_blocks.c.id, span_blocks.c.last_begun)
    .where(
        span_blocks.c.group == bindparam("of"),
        span_blocks.c.first_at < bindparam("end"),
        span_blocks.c.last_begun >= bindparam("begin"),
    )
    .order_by(span_blocks.c.last_begun.desc(), span_blocks.c.id.desc())
)
_BODY = select(span_blocks.c.body).where(span_blocks.c.id == bindparam("row"))
_FIRST = Instant(-math.inf)
_DURING_A_POLL = 4
"""Spans of requests that are looked past for one of a tick that began before them."""


class SpanRow(NamedTuple):
    """A span as a block has it (`handler.store.packing.SPAN`); ``first``, ``least`` and ``greatest`` are JSON."""

    first_at: float
    last_at: float
    ticks: int
    first: str
    least: str
    greatest: str


def read_span(connection: Connection, group: GroupId, at: Instant, last: TickSpan | None = None) -> TickSpan | None:
    """The span that covers ``at``, or the last one before it.

    See Note [A tick may begin before a request that was decided before it]. ``last``: the group's last span, since its
    row may be behind.
    """
    found = read_spans(connection, group, _FIRST, Instant(math.nextafter(at, math.inf)), _DURING_A_POLL)
    known = found if last is None or last.first_at > at else (last, *found)
    latest = sorted(known, key=lambda span: span.first_at, reverse=True)
    return next((span for span in latest if span.last_at >= at), latest[0] if latest else None)


def read_spans(
    connection: Connection, group: GroupId, begin: Instant, end: Instant, limit: int
) -> tuple[TickSpan, ...]:
    """The newest spans that began at ``begin`` or later and before ``end``, newest first."""
    wanted = every(spans).where(spans.c.group == group, spans.c.first_at >= begin, spans.c.first_at < end)
    rows = connection.execute(wanted.order_by(spans.c.first_at.desc(), spans.c.id.desc()).limit(limit)).mappings()
    found = [
        _Found(row["first_at"], math.inf, -place, TickSpan(**named(row, leaving_out=("id",))))
        for place, row in enumerate(rows)
    ]
    for block, last_begun in connection.execute(_BLOCKS, {"of": group, "begin": begin, "end": end}).all():
        if len(found) == limit and last_begun < found[-1].begun:
            break
        packed = enumerate(SpanRow(*row) for row in unpack(connection.execute(_BODY, {"row": block}).scalar_one()))
        some = (_Found(row.first_at, block, place, row) for place, row in packed if begin <= row.first_at < end)
        found = nlargest(limit, (*found, *some), key=_newest)
    return tuple(each.span if isinstance(each.span, TickSpan) else _span(group, each.span) for each in found)


def last_tick(connection: Connection, group: GroupId) -> Instant | None:
    """The newest instant that the group's spans cover; ``None``: there is none."""
    ends = select(spans.c.last_at).where(spans.c.group == group)
    return connection.execute(ends.order_by(spans.c.first_at.desc(), spans.c.id.desc()).limit(1)).scalar()


class _Found(NamedTuple):
    """A span that was found, and where; of those that began at one instant, the one written last is the newest."""

    begun: float
    block: float
    """Infinite: it is a row."""
    place: int
    span: TickSpan | SpanRow


def _newest(found: _Found) -> tuple[float, float, int]:
    return found.begun, found.block, found.place


def _span(group: GroupId, row: SpanRow) -> TickSpan:
    values = tuple[float | None, ...]
    return TickSpan(
        group=group,
        first_at=Instant(row.first_at),
        last_at=Instant(row.last_at),
        ticks=row.ticks,
        first=from_text(row.first, Explanation),
        least=from_text(row.least, values),
        greatest=from_text(row.greatest, values),
    )
