"""Counters whose readings are pushed: read where they wait, nobody is asked.

A number is an answer of the moment at which it arrived: the same one again is no new answer, so a rising counter has
no rate until the next one comes. A gauge stands until it is as old as the group's freshness allows, then it is STALE.
Under a name that nothing has been pushed under yet there is nothing, and no zero is made up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from collector.boards.pushes import Pushed, Pushes
from collector.samples import Reply, Sheet, one_line
from collector.source import Round
from collector.targets import whole_rows
from config.model.catalogue import Catalogue
from config.model.counters import PushedValue
from config.units import CounterId, GroupId, MemberName, Moment, Seconds, format_span

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
