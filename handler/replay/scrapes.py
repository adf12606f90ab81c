"""Turn ticks back into scrapes: the aggregator's input at the time of the recording."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from collector.samples import Layout, Reply, Scrape, Series
from config.model.catalogue import Catalogue, Mode
from config.units import CounterId, GroupId, Instant, MemberName, Moment, Monotonic, Seconds
from handler.replay.samples import Column, Index, Places, Samples, Words, compact, joined, ranks, taken
from handler.replay.ticks import Ticks, ticks_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordedCohort:
    """Groups of one interval that were polled at the same instants: their polls, and the sizes in these."""

    interval: Seconds
    ticks: Mapping[GroupId, Ticks]
    """Groups come sorted."""
    sizes: Mapping[GroupId, Index]
    """(tick,) members that were asked. Only groups with recorded members."""

    @property
    def groups(self) -> tuple[GroupId, ...]:
        """Return the groups."""
        return tuple(self.ticks)

    @property
    def first_at(self) -> Instant:
        """Return when the first poll began."""
        return Instant(float(next(iter(self.ticks.values())).samples.at[0]))

    def __len__(self) -> int:
        """Return the number of polls."""
        return len(next(iter(self.ticks.values())).starts)


class Poll(NamedTuple):
    """One tick of a cohort."""

    number: int
    scrape: Scrape
    start: Instant | None = None
    """When a daemon started since the tick before; ``None``: none did."""


def ticks_by_group(catalogue: Catalogue, samples: Samples) -> Mapping[GroupId, Ticks]:
    """Divide the rows of each group into polls; groups come sorted.

    Args:
        catalogue: declares all groups of the samples.
        samples: any rows, in any order.

    Raises:
        Unreplayable: as `handler.replay.ticks.ticks_of`.
    """
    if not len(samples):
        return {}
    if (samples.group.codes[1:] < samples.group.codes[:-1]).any():
        samples = samples.take(np.argsort(samples.group.codes, kind="stable"))
    codes, words = samples.group.codes, samples.group.words
    begins = [0, *(np.flatnonzero(codes[1:] != codes[:-1]) + 1).tolist()]
    ends = [*begins[1:], len(samples)]
    rows = sorted((GroupId(words[codes[first]]), first, last) for first, last in zip(begins, ends, strict=True))
    ticks: dict[GroupId, Ticks] = {}
    for group, first, last in rows:
        ticks[group] = ticks_of(samples.between(first, last).compact(), catalogue.groups[group].interval)
    return ticks


def alike(
    catalogue: Catalogue, ticks: Mapping[GroupId, Ticks], parts: int
) -> Iterator[tuple[Seconds, Mapping[GroupId, Ticks]]]:
    """Put groups that were polled together into cohorts, one for each of ``parts`` processes.

    Groups of one service take turns, so they stay in one cohort; any other division gives the same result.

    Yields:
        The interval, and the groups of one cohort.
    """
    together: dict[tuple[Seconds, bytes], list[GroupId]] = {}
    for group, each in ticks.items():
        if catalogue.groups[group].mode is not Mode.OFF:
            together.setdefault(beat_of(catalogue, group, each), []).append(group)
    for (interval, _), groups in together.items():
        units = _units(catalogue, groups)
        for dealt in (units[part::parts] for part in range(parts)):
            if dealt:
                yield interval, {group: ticks[group] for group in sorted(chain.from_iterable(dealt))}


def beat_of(catalogue: Catalogue, group: GroupId, ticks: Ticks) -> tuple[Seconds, bytes]:
    """Return the interval and the instants of a group's polls: groups with equal ones were polled together."""
    stamps = ticks.samples.at[ticks.starts].tobytes() + ticks.samples.steady[ticks.starts].tobytes()
    return catalogue.groups[group].interval, stamps


def _units(catalogue: Catalogue, groups: Sequence[GroupId]) -> list[list[GroupId]]:
    """Return the groups that stay together: those of a service, and every other group alone."""
    units: dict[tuple[str | None, GroupId | None], list[GroupId]] = {}
    for group in groups:
        service = catalogue.groups[group].service
        units.setdefault((service, group if service is None else None), []).append(group)
    return list(units.values())


def cohort_of(interval: Seconds, parts: Mapping[GroupId, Ticks]) -> RecordedCohort:
    """Make a cohort of groups that were polled together."""
    sizes = {group: size for group, part in parts.items() if (size := _sizes(part)) is not None}
    return RecordedCohort(interval=interval, ticks=parts, sizes=sizes)


def _put_together(parts: Sequence[Ticks]) -> tuple[Samples, Places]:
    if len(parts) == 1:
        return parts[0].samples, parts[0].starts
    number = np.concatenate([np.repeat(np.arange(len(part.starts)), part.ends - part.starts) for part in parts])
    order = np.argsort(number, kind="stable")  # groups are sorted, and so is each group's poll
    starts = np.flatnonzero(np.diff(number[order], prepend=-1)).astype(np.int32)
    return _joined([part.samples for part in parts], order), starts


def _joined(parts: Sequence[Samples], order: Index) -> Samples:
    """Concatenate rows of one file, then order them, column by column; their words are the same."""

    def column(of: Callable[[Samples], Column]) -> Column:
        return taken(joined([of(part) for part in parts]), order)

    first = parts[0]
    return Samples(
        group=Words(codes=column(lambda part: part.group.codes), words=first.group.words),
        member=Words(codes=column(lambda part: part.member.codes), words=first.member.words),
        counter=Words(codes=column(lambda part: part.counter.codes), words=first.counter.words),
        at=column(lambda part: part.at),
        value=column(lambda part: part.value),
        reply=column(lambda part: part.reply),
        counted=column(lambda part: part.counted),
        steady=column(lambda part: part.steady),
        replied_at=column(lambda part: part.replied_at),
        uptime=column(lambda part: part.uptime),
    )


def _sizes(ticks: Ticks) -> Index | None:
    """Return (tick,) how many members were asked; ``None``: no row names a member."""
    if not (ticks.samples.member.codes >= 0).any():
        return None
    spans = _spans(len(ticks.starts), len(ticks.samples))
    return compact(np.concatenate([_asked(ticks.part(first, last)) for first, last in spans]))


def _asked(ticks: Ticks) -> Index:
    member = ranks(ticks.samples.member)
    tick = np.repeat(np.arange(len(ticks.starts)), ticks.ends - ticks.starts)
    named = member > 0
    pairs = np.unique(tick[named] * (len(ticks.samples.member.words) + 1) + member[named])
    return np.bincount(pairs // (len(ticks.samples.member.words) + 1), minlength=len(ticks.starts)).astype(np.intp)


_ROWS = 2**16
"""Rows that are worked on together: a month of some groups has millions."""


def _spans(polls: int, rows: int) -> Iterator[tuple[int, int]]:
    """Divide polls, with so many rows in all, into spans: the first poll of each, and the one after its last."""
    length = max(_ROWS * polls // rows, 1)
    return ((first, min(first + length, polls)) for first in range(0, polls, length))


def polls_of(cohort: RecordedCohort, begun: Sequence[Instant] = ()) -> Iterator[Poll]:
    """Rebuild every scrape; the layout is the same object while the members do not change.

    Args:
        cohort: what was recorded.
        begun: when daemons started, oldest first.
    """
    lives, layouts = 0, dict[bytes, Layout]()
    rows = sum(len(each.samples) for each in cohort.ticks.values())
    for first, last in _spans(len(cohort), rows):
        parts = [each.part(first, last) for each in cohort.ticks.values()]
        for number, scrape in enumerate(_scrapes(*_put_together(parts), layouts), first):
            before, lives = lives, bisect_left(begun, scrape.at.wall)
            yield Poll(number, scrape, begun[lives - 1] if lives > before else None)


def _scrapes(samples: Samples, starts: Places, layouts: dict[bytes, Layout]) -> Iterator[Scrape]:
    keys = (samples.group.codes.astype(np.int64) << 42) + ((samples.counter.codes.astype(np.int64) + 1) << 26)
    keys += ((samples.member.codes.astype(np.int64) + 1) << 1) + samples.counted
    steady = np.where(np.isnan(samples.steady), samples.at, samples.steady)
    replied_at = np.where(np.isnan(samples.replied_at), steady, samples.replied_at)
    replied_at[samples.reply != Reply.OK] = 0.0
    asked, places = samples.counter.codes >= 0, starts.tolist()
    every, began, steadily = bool(asked.all()), samples.at[starts].tolist(), steady[starts].tolist()
    for start, end, wall, now in zip(places, [*places[1:], len(samples)], began, steadily, strict=True):
        rows = slice(start, end) if every else start + np.flatnonzero(asked[start:end])
        key = keys[rows].tobytes()
        layout = layouts.get(key)
        if layout is None:
            layout = _remembered(layouts, key, _layout(samples, rows))
        yield Scrape(
            layout=layout,
            at=Moment(wall=Instant(wall), steady=Monotonic(now)),
            value=samples.value[rows],
            replied_at=replied_at[rows],
            uptime=samples.uptime[rows],
            reply=samples.reply[rows],
        )


_TOGETHER = 1024
"""Polls: enough that the array operations of a poll cost almost nothing."""

_READINGS = 2**17
"""A megabyte for each of some twenty arrays."""


def bundles_of(cohort: RecordedCohort, begun: Sequence[Instant] = ()) -> Iterator[Sequence[Poll]]:
    """Divide the polls, in order, into bundles that are computed together.

    Bundles are bounded, to save memory; steady time never goes back within one, and none spans a start.
    """
    bundle: list[Poll] = []
    for poll in polls_of(cohort, begun):
        if bundle and (_full(bundle) or poll.start is not None or poll.scrape.at.steady < bundle[-1].scrape.at.steady):
            yield bundle
            bundle = []
        bundle.append(poll)
    if bundle:
        yield bundle


def _full(bundle: Sequence[Poll]) -> bool:
    readings = len(bundle) * len(bundle[-1].scrape.layout.series)
    return len(bundle) >= _TOGETHER or readings >= _READINGS


_LAYOUTS = 64
"""The most layouts kept: a fleet that flaps returns to a few of them."""


def _remembered(layouts: dict[bytes, Layout], key: bytes, layout: Layout) -> Layout:
    if len(layouts) >= _LAYOUTS:
        layouts.pop(next(iter(layouts)))
    layouts[key] = layout
    return layout


def _layout(samples: Samples, rows: Index | slice) -> Layout:
    columns = zip(
        samples.group.codes[rows].tolist(),
        samples.counter.codes[rows].tolist(),
        samples.member.codes[rows].tolist(),
        strict=True,
    )
    return Layout(
        series=tuple(
            Series(
                GroupId(samples.group.words[group]),
                CounterId(samples.counter.words[counter]),
                MemberName(samples.member.words[member]) if member >= 0 else None,
            )
            for group, counter, member in columns
        ),
        counted=np.array(samples.counted[rows]),
    )
