"""Read counters whose values members, applications or alerts send: nothing is requested.

A pushed number is an answer at its time of arrival: reading it again gives no new answer, so a rising counter has no
rate until the next push. A gauge counts until it is as old as the group's freshness allows; then it is STALE. A name
without a push has no value, never a made-up zero.

An alert's number counts from its arrival until its time to live is over. Until then it is a fresh answer at every poll,
since the alert still fires. Without an alert the row stays TIMEOUT: the absence of an alert is not a measurement.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from collector.boards.alerts import Board
from collector.boards.pushes import Pushed, Pushes
from collector.samples import Reply, Sheet, one_line
from collector.targets import Round, whole_rows
from config.model.catalogue import Catalogue
from config.model.counters import AlertedValue, PushedValue
from config.units import AlertId, CounterId, GroupId, MemberName, Moment, Seconds, format_span

_AT_ONCE = 2_000
"""Members that are read before the event loop gets a turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """One counter of one group."""

    name: str
    """The name of its pushes."""
    longest: Seconds
    """The age at which a number is still fresh."""
    missing: str
    stale: str


class PushedSource:
    """Reads pushed values.

    Args:
        pushes: the endpoint for pushes writes to it.
    """

    def __init__(self, pushes: Pushes) -> None:
        self._pushes = pushes

    async def fetch(self, poll: Round) -> None:
        """Fill the rows of pushed counters, of members and of whole groups."""
        counters = dict(_counters(poll.catalogue))
        if not counters:
            return
        now, sheet = poll.clock(), poll.sheet
        groups: dict[GroupId, Mapping[CounterId, _Reading]] = {}
        for row, group, counter in whole_rows(sheet.layout, counters):
            reading = _of(groups, poll.catalogue, group, counters)[counter]
            _fill(sheet, row, reading, self._pushes.of(group, None), now)
        for place, target in enumerate(poll.targets):
            here = [counter for counter in target.rows if counter in counters]
            if here:
                readings = _of(groups, poll.catalogue, target.group, counters)
                pushes = self._pushes.of(target.group, MemberName(target.member.name))
                for counter in here:
                    _fill(sheet, target.rows[counter], readings[counter], pushes, now)
            if place % _AT_ONCE == _AT_ONCE - 1:
                await asyncio.sleep(0)

    async def close(self) -> None:
        """Nothing to give back."""


def _counters(catalogue: Catalogue) -> Iterator[tuple[CounterId, PushedValue]]:
    for counter in catalogue.counters.values():
        if isinstance(counter.source, PushedValue):
            yield counter.id, counter.source


def _of(
    groups: dict[GroupId, Mapping[CounterId, _Reading]],
    catalogue: Catalogue,
    group: GroupId,
    counters: Mapping[CounterId, PushedValue],
) -> Mapping[CounterId, _Reading]:
    """Return a group's pushed counters; called once a round."""
    known = groups.get(group)
    if known is None:
        declared = catalogue.groups[group]
        fresh = declared.freshness * declared.interval
        known = groups[group] = {
            counter: _reading(source.name, fresh + catalogue.counters[counter].lag)
            for counter, source in counters.items()
        }
    return known


def _reading(name: str, longest: Seconds) -> _Reading:
    return _Reading(
        name=name,
        longest=longest,
        missing=one_line(f"no value has been pushed under {name} yet"),
        stale=one_line(f"no new value has been pushed under {name} for more than {format_span(longest)}"),
    )


def _fill(sheet: Sheet, row: int, reading: _Reading, pushes: Mapping[str, Pushed], now: Moment) -> None:
    pushed = pushes.get(reading.name)
    if pushed is None:
        sheet.reply[row], sheet.details[row] = Reply.TIMEOUT, reading.missing
    elif pushed.age(now) > reading.longest:
        sheet.reply[row], sheet.details[row] = Reply.STALE, reading.stale
    else:
        sheet.put(row, pushed.value, at=pushed.at.steady)


class AlertedSource:
    """Reads the numbers of alerts.

    Args:
        board: the endpoint for alerts writes to it.
    """

    def __init__(self, board: Board) -> None:
        self._board = board

    async def fetch(self, poll: Round) -> None:
        """Fill the rows of whole groups whose alert has a number that is not over."""
        now, alerts = poll.clock(), _alerts(poll.catalogue)
        for row, group, counter in whole_rows(poll.sheet.layout, alerts):
            value = self._board.value(group, alerts[counter], now)
            if value is None:
                poll.sheet.fail(row, Reply.TIMEOUT, f"the alert {alerts[counter]} has no number now")
            else:
                poll.sheet.put(row, value, at=now.steady)

    async def close(self) -> None:
        """Nothing to give back."""


def _alerts(catalogue: Catalogue) -> Mapping[CounterId, AlertId]:
    sources = ((counter.id, counter.source) for counter in catalogue.counters.values())
    return {counter: source.alert for counter, source in sources if isinstance(source, AlertedValue)}
