"""The members to ask: each group's roster, the layout of the next poll, and the port to sources."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from collector.samples import Layout, Series, Sheet
from config.model.access import SecretRef
from config.model.catalogue import Catalogue
from config.model.counters import Per
from config.units import CounterId, GroupId, MemberName, Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberTarget:
    """A member that should answer."""

    name: MemberName
    address: str
    counted: bool
    """False while warming up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Roster:
    """A group's members, as the last convergence pass saw them, sorted by name."""

    group: GroupId
    members: tuple[MemberTarget, ...]


def counters_of(catalogue: Catalogue, group: GroupId) -> tuple[CounterId, ...]:
    """Return the counters that a group needs: those of its policies' conditions, sorted."""
    policies = (catalogue.policies[policy] for policy in catalogue.groups[group].policies)
    conditions = (catalogue.conditions[condition] for policy in policies for condition in policy.when)
    wanted = {counter for condition in conditions for counter in condition.counters}
    return tuple(sorted(wanted))


def measured_counters(catalogue: Catalogue, group: GroupId) -> tuple[CounterId, ...]:
    """Return the counters that are measured for a group, sorted: those that it needs, and those that it observes."""
    return tuple(sorted({*counters_of(catalogue, group), *catalogue.groups[group].observed}))


def layout_for(
    catalogue: Catalogue, rosters: Iterable[Roster], wanted: Mapping[GroupId, Sequence[CounterId]] | None = None
) -> Layout:
    """Lay out one poll over these groups: each (group, counter) is one run of its members.

    Args:
        catalogue: declares the groups and counters.
        rosters: the members to ask.
        wanted: each group's counters, sorted; ``None``: those that are measured for it.
    """
    rows: list[tuple[Series, bool]] = []
    for roster in sorted(rosters, key=lambda roster: roster.group):
        for counter in measured_counters(catalogue, roster.group) if wanted is None else wanted[roster.group]:
            if catalogue.counters[counter].per is Per.GROUP:
                rows.append((Series(roster.group, counter, None), True))
                continue
            rows.extend((Series(roster.group, counter, member.name), member.counted) for member in roster.members)
    return Layout(
        series=tuple(series for series, _ in rows),
        counted=np.array([counted for _, counted in rows], dtype=np.bool_),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One member and the rows of the layout that its answers belong to."""

    group: GroupId
    member: MemberTarget
    rows: Mapping[CounterId, int]


def targets_of(layout: Layout, rosters: Mapping[GroupId, Roster]) -> tuple[Target, ...]:
    """Return each member's counters and the rows of their answers."""
    members = {(group, member.name): member for group, roster in rosters.items() for member in roster.members}
    rows: dict[tuple[GroupId, MemberName], dict[CounterId, int]] = {}
    for index, series in enumerate(layout.series):
        if series.member is not None:
            rows.setdefault((series.group, series.member), {})[series.counter] = index
    return tuple(
        Target(group=key[0], member=members[key], rows=counters) for key, counters in rows.items() if key in members
    )


def whole_rows(layout: Layout, counters: Collection[CounterId]) -> Iterator[tuple[int, GroupId, CounterId]]:
    """Yield the rows of these counters for whole groups, as (row, group, counter).

    The layout is sorted, so members' rows are skipped.
    """
    series, start = layout.series, 0
    while counters and start < len(series):
        group = series[start].group
        end = bisect_right(series, group, lo=start, key=lambda one: one.group)
        for counter in counters:
            row = bisect_left(series, counter, lo=start, hi=end, key=lambda one: one.counter)
            if row < end and series[row].counter == counter and series[row].member is None:
                yield row, group, counter
        start = end


def rows_of(
    layout: Layout, targets: Iterable[Target], counters: Collection[CounterId]
) -> Iterator[tuple[int, CounterId, GroupId, MemberTarget | None]]:
    """Yield every row of these counters, as (row, counter, group, member); ``None``: the whole group."""
    for row, group, counter in whole_rows(layout, counters):
        yield row, counter, group, None
    for target in targets if counters else ():
        for counter, row in target.rows.items():
            if counter in counters:
                yield row, counter, target.group, target.member


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One round of polling, as each source receives it."""

    catalogue: Catalogue
    targets: Sequence[Target]
    """Every member to ask, with the row of the sheet for each of its counters, of any source."""
    sheet: Sheet
    """Where the answers go; its layout is that of the targets' rows."""
    clock: Callable[[], Moment]
    """Read when an answer arrives, to stamp it."""
    read_secret: Callable[[SecretRef], str]
    """Raises `TrimtabError` or `OSError` if the secret is missing."""


class Source(Protocol):
    """Answers for the counters of its own kind and leaves all other rows alone.

    `fetch` writes each answer to the sheet when it arrives: the caller may cancel it at any moment, and keeps the
    answers so far. Rows without an answer stay TIMEOUT. A failing member or source is a `Reply`, never an exception.
    Rounds of different groups may run side by side.
    """

    async def fetch(self, poll: Round) -> None:
        """Ask every target for the counters of this source's kind."""
        ...

    async def close(self) -> None:
        """Close every socket. No round is running, and none follows."""
        ...
