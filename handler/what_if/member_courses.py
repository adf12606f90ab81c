"""What one counter of each member was over time, and which members were far from the others. Pure but for reading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from collector.samples import Floats
from config.errors import Refused
from config.units import Instant
from handler.replay.samples import Index
from handler.what_if.counter_readings import Readings, readings
from handler.what_if.member_question import PARTS, SHOWN, Column, Farthest, MemberCourse, MemberCourses, MembersQuestion
from handler.what_if.question import Tell


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Judged:
    """The rows that count: a member that warms up is left out, as in decisions."""

    row: Index
    """Their places among all."""
    median: Floats
    """(tick,) NaN: no row counted."""
    average: Floats
    distance: Floats
    """(row,) from the median of its tick."""


def member_courses(question: MembersQuestion, tell: Tell) -> MemberCourses:
    """Answer a question.

    Raises:
        Refused: nothing was recorded of this counter's members then, or too much for one answer.
        Unreplayable: a member has two different readings of one instant.
    """
    found = readings(question, tell)
    if found is None:
        raise Refused(f"no value of {question.counter.id} of {question.group}'s members was recorded in that time")
    judged, part = _judged(found), _parts(found.at, question.since, question.until)
    parts, starts = np.unique(part, return_index=True)
    place = np.searchsorted(parts, part)  # (tick,) of its part
    of_row = place[found.tick]
    everyone = np.arange(len(found.value), dtype=np.intp)
    low, high = _extremes(found, everyone, of_row, len(parts))
    return MemberCourses(
        group=question.group,
        counter=question.counter.id,
        unit=question.counter.unit,
        begin=question.since,
        end=question.until,
        apart=found.apart,
        exact=len(parts) == len(found.at),
        at=tuple(map(Instant, found.at[starts].tolist())),
        average=_averages(judged.average, place, len(parts)),
        median=_averages(judged.median, place, len(parts)),
        low=low,
        high=high,
        of=len(found.names),
        members=tuple(_courses(question, found, judged, of_row, len(parts))),
        caveats=found.caveats,
    )


def _parts(at: Floats, since: Instant, until: Instant) -> Index:
    """Return (tick,) the part of the time that it is in."""
    part: Index = np.minimum(PARTS * (at - since) / (until - since), PARTS - 1).astype(np.intp)
    return part


def _judged(found: Readings) -> _Judged:
    """Return the median and the average of each tick; rows come tick by tick."""
    row = np.flatnonzero(found.counted)
    tick, value = found.tick[row], found.value[row]
    median, average = np.full(len(found.at), np.nan), np.full(len(found.at), np.nan)
    ticks, starts, counts = np.unique(tick, return_index=True, return_counts=True)
    for count in np.unique(counts).tolist():  # ticks of as many members at once
        alike = counts == count
        values = value[starts[alike][:, np.newaxis] + np.arange(count)]
        median[ticks[alike]], average[ticks[alike]] = np.median(values, axis=1), values.mean(axis=1)
    return _Judged(row=row, median=median, average=average, distance=np.abs(value - median[tick]))


def _courses(
    question: MembersQuestion, found: Readings, judged: _Judged, of_row: Index, parts: int
) -> Sequence[MemberCourse]:
    """Return the courses of the members that are asked for, or of those farthest from the others."""
    farthest = _farthest_rows(found, judged)
    wanted = question.members or found.names
    codes = [code for code, name in enumerate(found.names) if name in wanted]

    def rank(code: int) -> tuple[float, str]:
        return -farthest[code][1] if code in farthest else 1.0, found.names[code]

    return [_course(found, judged, farthest, code, of_row, parts) for code in sorted(codes, key=rank)[:SHOWN]]


def _farthest_rows(found: Readings, judged: _Judged) -> dict[int, tuple[int, float]]:
    """Return by member the row that is farthest from the median of its tick (the first one), and how far."""
    member, farthest = found.member[judged.row], np.full(len(found.names), -np.inf)
    np.maximum.at(farthest, member, judged.distance)
    places = np.flatnonzero(judged.distance == farthest[member])
    codes, firsts = np.unique(member[places], return_index=True)
    rows = judged.row[places[firsts]].tolist()
    return dict(zip(codes.tolist(), zip(rows, farthest[codes].tolist(), strict=True), strict=True))


def _course(
    found: Readings, judged: _Judged, farthest: dict[int, tuple[int, float]], code: int, of_row: Index, parts: int
) -> MemberCourse:
    rows = np.flatnonzero(found.member == code)
    low, high = _extremes(found, rows, of_row[rows], parts)
    top = rows[int(np.argmax(found.value[rows]))]
    return MemberCourse(
        member=found.names[code],
        low=low,
        high=high,
        least=float(found.value[rows].min()),
        greatest=float(found.value[top]),
        greatest_at=Instant(float(found.at[found.tick[top]])),
        farthest=_farthest(found, judged, farthest[code][0]) if code in farthest else None,
    )


def _farthest(found: Readings, judged: _Judged, row: int) -> Farthest:
    tick, value = found.tick[row], float(found.value[row])
    median = float(judged.median[tick])
    same = judged.row[found.tick[judged.row] == tick]
    others = found.value[same[same != row]]
    return Farthest(
        at=Instant(float(found.at[tick])),
        value=value,
        median=median,
        among=len(same),
        beside=int(np.count_nonzero(np.abs(others - value) < np.abs(others - median))),
    )


def _extremes(found: Readings, rows: Index, of_row: Index, parts: int) -> tuple[Column, Column]:
    """Return the least and the greatest value of rows, by part."""
    low, high = np.full(parts, np.inf), np.full(parts, -np.inf)
    np.minimum.at(low, of_row, found.value[rows])
    np.maximum.at(high, of_row, found.value[rows])
    return _column(low), _column(high)


def _averages(value: Floats, place: Index, parts: int) -> Column:
    """Return the average over the ticks of each part that have a value."""
    known = ~np.isnan(value)
    count = np.bincount(place[known], minlength=parts)
    total = np.bincount(place[known], weights=value[known], minlength=parts)
    with np.errstate(invalid="ignore"):
        return _column(np.where(count > 0, total / np.maximum(count, 1), np.nan))


def _column(values: Floats) -> Column:
    return tuple(each if np.isfinite(each) else None for each in values.tolist())
