"""A group's sizes and conditions over any time that is kept: of its history, and at the end of its last half hour.

Pure. History has ticks of one shape as one span (`handler.ports.stored.TickSpan`): the values of its first tick, and
the least and greatest of all of them. A span is two rows here, at its first and its last tick. Where no tick was taken
for long, a row without values stands between, so that nothing is joined over it.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from types import MappingProxyType
from typing import TypeVar

from config.units import Instant, PolicyId, Seconds
from handler.ports.stored import Served, TickSpan
from handler.runtime.series import ConditionLine, Curve, ForeseenCurve, Picture, Sizes, foreseen_row, line_of

SPANS_AT_MOST = 10_000
"""That one picture is made of; of a longer time the oldest are left out."""
PARTS = 800
"""Of a picture: a screen can hardly tell more apart."""
_GAP = 2.5
"""Intervals without a tick after which nothing is known."""

_Sized = tuple[float | None, float | None, float | None, float | None]
"""Desired, in service, minimum, maximum."""
_Value = tuple[float | None, float | None, float | None, float | None]
"""Value, threshold, least and greatest value of one condition."""
_Judged = Mapping[ConditionLine, _Value]
_UNKNOWN: tuple[None, None, None, None] = (None, None, None, None)
_NOTHING: _Judged = MappingProxyType({})
T = TypeVar("T")


def past_picture(
    spans: Sequence[TickSpan], served: Sequence[Served], recent: Picture, begin: Instant, end: Instant
) -> Picture:
    """Return the picture of a time; its gaps are rows without values.

    Args:
        spans: those of that time, oldest first; the first may have begun before it.
        served: when the members were in service that were so in that time.
        recent: the last half hour, tick by tick; from its first row on it is used instead of the spans.
        begin: seconds since the epoch.
        end: likewise, and later.
    """
    first = min((*recent.sizes.at[:1], *recent.at[:1]), default=end)
    until = min(first, end)
    within = [each for each in spans if each.last_at >= begin and each.first_at < until]
    width = Seconds((end - begin) / PARTS)
    gaps = tuple(_gaps(within, recent, max(_GAP * recent.interval, width)))
    sizes = _sizes(within, served, begin, until) | _recent_sizes(recent) | dict.fromkeys(gaps, _UNKNOWN)
    judged = _judged(within, begin, until) | _recent_judged(recent) | dict.fromkeys(gaps, _NOTHING)
    sized_rows = [row for rows in _parts(sizes, begin, end, width) for row in _peaks(rows)]
    judged_rows = [_together(rows) for rows in _parts(judged, begin, end, width)]
    began = min((*sizes, *judged), default=None)
    return Picture(
        interval=max(recent.interval, Seconds(end - begin)),
        began=began,
        sizes=_columns(sized_rows),
        at=tuple(at for at, _ in judged_rows),
        curves=tuple(_curves(judged_rows)),
        foreseen=tuple(_foreseen(within, recent, begin, end)),
    )


def _sizes(spans: Iterable[TickSpan], served: Sequence[Served], begin: Instant, end: Instant) -> dict[Instant, _Sized]:
    """Return sizes at both ends of each span, and within it whenever a member came into service or left."""
    entered, left = sorted(each.begin for each in served), sorted(each.end for each in served)
    changes = sorted({*entered, *left})
    rows: dict[Instant, _Sized] = {}
    for span in spans:
        first, last = max(span.first_at, begin), min(span.last_at, end)
        between = changes[bisect_right(changes, first) : bisect_right(changes, last)]
        for at in (first, *between, last):
            in_service = bisect_right(entered, at) - bisect_right(left, at)
            rows[at] = (span.first.desired_to, in_service, span.first.minimum, span.first.maximum)
    return rows


def _judged(spans: Iterable[TickSpan], begin: Instant, end: Instant) -> dict[Instant, _Judged]:
    """Return conditions at both ends of each span: the value is known at its first tick, and all the range."""
    rows: dict[Instant, _Judged] = {}
    for span in spans:
        values = _values(span)
        ranges = {line: (None, *ranged[1:]) for line, ranged in values.items()}
        rows[min(span.last_at, end)] = ranges
        rows[max(span.first_at, begin)] = values if span.first_at >= begin else ranges
    return rows


def _values(span: TickSpan) -> dict[ConditionLine, _Value]:
    places = {id(each): place for place, each in enumerate(span.first.measured)}
    found: dict[ConditionLine, _Value] = {}
    for policy in span.first.policies:
        for each in policy.conditions:
            least, greatest = (kept[places[id(each)]] for kept in (span.least, span.greatest))
            found[line_of(each)] = (each.value, each.threshold, least, greatest)
    return found


def _recent_sizes(recent: Picture) -> dict[Instant, _Sized]:
    sizes = recent.sizes
    columns = zip(sizes.desired, sizes.in_service, sizes.minimum, sizes.maximum, strict=True)
    return dict(zip(sizes.at, columns, strict=True))


def _recent_judged(recent: Picture) -> dict[Instant, _Judged]:
    return {
        at: {each.line: (each.values[place], each.thresholds[place], None, None) for each in recent.curves}
        for place, at in enumerate(recent.at)
    }


def _foreseen(spans: Sequence[TickSpan], recent: Picture, begin: Instant, end: Instant) -> Iterator[ForeseenCurve]:
    """Yield what forecasts said at the first tick of each span, and at each tick of the last half hour."""
    said: dict[PolicyId, dict[Instant, Sequence[float | None]]] = {}
    for span in spans:
        for judged in span.first.policies:
            if judged.foreseen is not None:
                said.setdefault(judged.policy, {})[span.first_at] = foreseen_row(judged.foreseen)
    for curve in recent.foreseen:
        columns = zip(curve.within, curve.load, curve.coming, curve.at_most, strict=True)
        said.setdefault(curve.policy, {}).update(zip(curve.at, columns, strict=True))
    for policy, rows in said.items():
        kept = [part[-1] for part in _parts(rows, begin, end, Seconds((end - begin) / PARTS))]
        if kept:
            within, load, coming, at_most = zip(*(row for _, row in kept), strict=True)
            at = tuple(at for at, _ in kept)
            yield ForeseenCurve(policy=policy, at=at, within=within, load=load, coming=coming, at_most=at_most)


def _gaps(spans: Iterable[TickSpan], recent: Picture, at_least: Seconds) -> Iterator[Instant]:
    """Yield an instant of each time of this length without a tick, soon after the last one before it."""
    covered = [(span.first_at, span.last_at) for span in spans]
    covered += [(at, at) for at in {*recent.sizes.at, *recent.at}]
    for (_, last), (following, _) in pairwise(sorted(covered)):
        if following - last > at_least:
            yield Instant(last + recent.interval)


def _parts(
    rows: Mapping[Instant, T], begin: Instant, end: Instant, width: Seconds
) -> Iterator[list[tuple[Instant, T]]]:
    """Yield the rows from ``begin`` to ``end`` by parts of this width, within which a screen cannot tell them apart."""
    within = ((at, rows[at]) for at in sorted(rows) if begin <= at <= end)
    for _, part in groupby(within, key=lambda row: math.floor((row[0] - begin) / width)):
        yield list(part)


def _peaks(rows: Sequence[tuple[Instant, _Sized]]) -> Iterator[tuple[Instant, _Sized]]:
    """Yield the last row, and before it those with the least and the greatest desired size and members in service."""
    kept = {rows[-1][0]}
    for column in (0, 1):
        known = [(row[column], at) for at, row in rows if row[column] is not None]
        kept |= {at for _, at in (min(known), max(known))} if known else set()
    yield from (row for row in rows if row[0] in kept)


def _together(rows: Sequence[tuple[Instant, _Judged]]) -> tuple[Instant, _Judged]:
    """Return one row for all: the last values, and the least and greatest of all."""
    at, last = rows[-1]
    if len(rows) == 1 or not last:
        return rows[-1]
    return at, {
        line: _ranged(value, [judged[line] for _, judged in rows if line in judged]) for line, value in last.items()
    }


def _ranged(last: _Value, values: Sequence[_Value]) -> _Value:
    known = [
        number for value, _, least, greatest in values for number in (value, least, greatest) if number is not None
    ]
    return (last[0], last[1], min(known, default=None), max(known, default=None))


def _columns(rows: Sequence[tuple[Instant, _Sized]]) -> Sizes:
    desired, in_service, minimum, maximum = zip(*(row for _, row in rows), strict=True) if rows else ((), (), (), ())
    return Sizes(
        at=tuple(at for at, _ in rows), desired=desired, in_service=in_service, minimum=minimum, maximum=maximum
    )


def _curves(rows: Sequence[tuple[Instant, _Judged]]) -> Iterator[Curve]:
    for line in dict.fromkeys(line for _, judged in rows for line in judged):
        values, thresholds, least, greatest = zip(*(judged.get(line, _UNKNOWN) for _, judged in rows), strict=True)
        yield Curve(line=line, values=values, thresholds=thresholds, least=least, greatest=greatest)
