"""Read what one counter of a group's members was, as the daemon measures it: one row for each value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from aggregator.rates import NO_BASELINE, Columns, SeriesReadings, columns_of, measure_all
from collector.samples import Bools, Floats, Layout, Reply, Series
from config.errors import Refused
from config.units import MemberName, Seconds, format_span
from handler.recording.reading import counter_rows
from handler.recording.rows import SampleRows, joined
from handler.replay.samples import Index, Samples, Words
from handler.replay.ticks import Ticks, ticks_of
from handler.what_if.member_question import MembersQuestion
from handler.what_if.question import Tell

_ROWS_AT_MOST = 12_000_000
"""A worker holds some hundred bytes for each."""
_TOGETHER = 256
"""Ticks that are measured together: members change seldom within them."""
Number = TypeVar("Number", np.float64, np.uint8)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Readings:
    """Values of members; the columns are (row,) unless they say otherwise."""

    at: Floats
    """(tick,) seconds since the epoch."""
    apart: Seconds
    """How far apart ticks usually are, or were thinned to."""
    names: tuple[MemberName, ...]
    tick: Index
    member: Index
    value: Floats
    """In the counter's unit."""
    counted: Bools
    """False: the member warmed up."""
    caveats: tuple[str, ...]


def readings(question: MembersQuestion, tell: Tell) -> Readings | None:
    """Read the recording; ``None``: it has no value of members in that time.

    Raises:
        Refused: the recording has more rows than one answer may take.
        Unreplayable: a member has two different readings of one instant.
    """
    damages: list[str] = []
    parts = list(_parts(question, damages, tell))
    if not parts:
        return None
    rows = joined(parts)
    thinned = float(rows.resolution.max())
    ticks = ticks_of(_samples(rows), question.interval)
    if thinned:
        damages.append(
            f"a part of the recording is thinned: its rows are averages of {format_span(thinned)}, "
            "and peaks within them are not shown"
        )
    return _measured(question, ticks, max(question.interval, ticks.cadence or 0.0, thinned), tuple(damages))


def _parts(question: MembersQuestion, damages: list[str], tell: Tell) -> Iterator[SampleRows]:
    """Yield the rows of members within the time."""
    span, rows = (question.since, question.until), 0
    for found in counter_rows(question.recording, question.group, question.counter.id, span, damages.append):
        tell(rows, _ROWS_AT_MOST)
        within = (found.timestamp >= question.since) & (found.timestamp < question.until)
        wanted = found.take(np.flatnonzero(within & (found.member.codes >= 0)))
        rows += len(wanted)
        if rows > _ROWS_AT_MOST:
            raise Refused(f"the recording has more than {_ROWS_AT_MOST:,} values of that time: choose a shorter one")
        if len(wanted):
            yield wanted


def _samples(rows: SampleRows) -> Samples:
    """Return the rows as replay reads them: a thinned row stands for one reading, its average."""
    heard = ~np.isnan(rows.value)
    reply = np.where(rows.resolution > 0, np.where(heard, Reply.OK, Reply.TIMEOUT), rows.reply).astype(np.uint8)
    return Samples(
        group=Words(codes=rows.group.codes, words=rows.group.words),
        member=Words(codes=rows.member.codes, words=rows.member.words),
        counter=Words(codes=rows.counter.codes, words=rows.counter.words),
        at=rows.timestamp,
        value=np.where(reply == Reply.OK, rows.value, 0.0),
        reply=reply,
        counted=rows.counted,
        steady=rows.steady,
        replied_at=rows.replied_at,
        uptime=rows.uptime,
    )


def _measured(question: MembersQuestion, ticks: Ticks, apart: Seconds, caveats: tuple[str, ...]) -> Readings | None:
    """Make values of readings by the very rules of the daemon: rates, units, and what is outside the range."""
    samples, starts = ticks.samples, ticks.starts
    tick = np.repeat(np.arange(len(starts)), ticks.ends - starts)
    steady = np.where(np.isnan(samples.steady), samples.at, samples.steady)
    replied_at = np.where(np.isnan(samples.replied_at), steady, samples.replied_at)
    value, usable = np.zeros(len(samples)), np.zeros(len(samples), dtype=np.bool_)
    before = NO_BASELINE
    for first, last in _bundles(steady[starts]):
        if first and steady[starts[first]] < steady[starts[first - 1]]:  # a daemon started
            before = NO_BASELINE
        rows = slice(int(starts[first]), int(ticks.ends[last - 1]))
        codes, series = np.unique(samples.member.codes[rows], return_inverse=True)
        place, shape = (tick[rows] - first, series), (last - first, len(codes))
        columns = _columns(question, [MemberName(samples.member.words[code]) for code in codes.tolist()])
        polls = SeriesReadings(
            value=_spread(samples.value[rows], place, np.zeros(shape)),
            reply=_spread(samples.reply[rows], place, np.full(shape, Reply.TIMEOUT, dtype=np.uint8)),
            replied_at=_spread(replied_at[rows], place, np.zeros(shape)),
            uptime=_spread(samples.uptime[rows], place, np.full(shape, np.nan)),
        )
        measured, before = measure_all(columns, before, polls)
        value[rows], usable[rows] = measured.value[place], measured.usable[place]
    kept = np.flatnonzero(usable)
    if not kept.size:
        return None
    return Readings(
        at=samples.at[starts],
        apart=apart,
        names=tuple(map(MemberName, samples.member.words)),
        tick=tick[kept],
        member=samples.member.codes[kept].astype(np.intp),
        value=value[kept],
        counted=samples.counted[kept],
        caveats=caveats,
    )


def _bundles(steady: Floats) -> Iterator[tuple[int, int]]:
    """Yield the first tick and the one after the last of those measured together; none spans a start of a daemon."""
    lives = np.flatnonzero(np.diff(steady) < 0) + 1
    for first, last in pairwise((0, *lives.tolist(), len(steady))):
        for begin in range(first, last, _TOGETHER):
            yield begin, min(begin + _TOGETHER, last)


def _columns(question: MembersQuestion, members: Sequence[MemberName]) -> Columns:
    series = tuple(Series(question.group, question.counter.id, member) for member in members)
    layout = Layout(series=series, counted=np.ones(len(series), dtype=np.bool_))
    return columns_of(layout, np.zeros(len(series), dtype=np.intp), (question.counter,), question.interval)


def _spread(column: npt.NDArray[Number], place: tuple[Index, Index], into: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Put values of rows at their places in (poll, series)."""
    into[place] = column
    return into
