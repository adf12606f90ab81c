"""Counters whose readings are brought, pushed or by alerts: read where they wait, nobody is asked.

A pushed number is an answer of the moment at which it arrived: the same one again is no new answer, so a rising counter
has no rate until the next one comes. A gauge stands until it is as old as the group's freshness allows; then it is
STALE. Under a name that nothing has been pushed under yet there is nothing, and no zero is made up.

A number of an alert stands from the moment that the alert brought it until its time to live is over. For that long it
is a fresh answer at every poll: the alert still says so. Without one, and once it is over, the row stays TIMEOUT: that
nobody complains is not a measurement, and no zero is made up.
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
"""Members between two breaths: the event loop is not held for longer than that takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """One counter of one group."""

    name: str
    """Under which it is pushed."""
    longest: Seconds
    """The age at which a number is still fresh."""
    missing: str
    stale: str


class PushedSource:
    """Reads what was pushed.

    Args:
        pushes: written to by whoever takes pushes in.
    """

    def __init__(self, pushes: Pushes) -> None:
        self._pushes = pushes

    async def fetch(self, asked: Round) -> None:
        """Fill the rows of pushed counters, of members and of whole groups."""
        counters = dict(_counters(asked.catalogue))
        if not counters:
            return
        now, sheet = asked.clock(), asked.sheet
        groups: dict[GroupId, Mapping[CounterId, _Asked]] = {}
        for row, group, counter in whole_rows(sheet.layout, counters):
            wanted = _of(groups, asked.catalogue, group, counters)[counter]
            _fill(sheet, row, wanted, self._pushes.of(group, None), now)
        for place, target in enumerate(asked.targets):
            here = [counter for counter in target.rows if counter in counters]
            if here:
                wanteds = _of(groups, asked.catalogue, target.group, counters)
                said = self._pushes.of(target.group, MemberName(target.member.name))
                for counter in here:
                    _fill(sheet, target.rows[counter], wanteds[counter], said, now)
            if place % _AT_ONCE == _AT_ONCE - 1:
                await asyncio.sleep(0)

    async def close(self) -> None:
        """Nothing to give back."""


def _counters(catalogue: Catalogue) -> Iterator[tuple[CounterId, PushedValue]]:
    for counter in catalogue.counters.values():
        if isinstance(counter.source, PushedValue):
            yield counter.id, counter.source


def _of(
    groups: dict[GroupId, Mapping[CounterId, _Asked]],
    catalogue: Catalogue,
    group: GroupId,
    counters: Mapping[CounterId, PushedValue],
) -> Mapping[CounterId, _Asked]:
    """What a group asks for, worked out once a round."""
    known = groups.get(group)
    if known is None:
        declared = catalogue.groups[group]
        fresh = declared.freshness * declared.interval
        known = groups[group] = {
            counter: _asked(source.name, fresh + catalogue.counters[counter].lag)
            for counter, source in counters.items()
        }
    return known


def _asked(name: str, longest: Seconds) -> _Asked:
    return _Asked(
        name=name,
        longest=longest,
        missing=one_line(f"nothing has been pushed under {name} yet"),
        stale=one_line(f"nothing new has been pushed under {name} for more than {format_span(longest)}"),
    )


def _fill(sheet: Sheet, row: int, asked: _Asked, said: Mapping[str, Pushed], now: Moment) -> None:
    pushed = said.get(asked.name)
    if pushed is None:
        sheet.reply[row], sheet.said[row] = Reply.TIMEOUT, asked.missing
    elif pushed.age(now) > asked.longest:
        sheet.reply[row], sheet.said[row] = Reply.STALE, asked.stale
    else:
        sheet.put(row, pushed.value, at=pushed.at.steady)


class AlertedSource:
    """Reads the board.

    Args:
        board: written to by whoever takes alerts in.
    """

    def __init__(self, board: Board) -> None:
        self._board = board

    async def fetch(self, asked: Round) -> None:
        """Fill the rows of whole groups whose alert has brought a number that is not over."""
        now, alerts = asked.clock(), _alerts(asked.catalogue)
        for row, group, counter in whole_rows(asked.sheet.layout, alerts):
            value = self._board.value(group, alerts[counter], now)
            if value is None:
                asked.sheet.fail(row, Reply.TIMEOUT, f"no number of the alert {alerts[counter]} stands now")
            else:
                asked.sheet.put(row, value, at=now.steady)

    async def close(self) -> None:
        """Nothing to give back."""


def _alerts(catalogue: Catalogue) -> Mapping[CounterId, AlertId]:
    sources = ((counter.id, counter.source) for counter in catalogue.counters.values())
    return {counter: source.alert for counter, source in sources if isinstance(source, AlertedValue)}
