"""Keep the numbers that members and applications have pushed until the source of such counters reads them.

Pushes write and polls read, both on the event loop, so no lock is needed. Nothing survives a restart: until a value is
pushed again it is absent, and an absent value decides nothing.

The writer bounds the size: it accepts only values of groups, members and names that some counter reads.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from config.units import GroupId, Instant, MemberName, Moment, Seconds

_Sender = MemberName | None
"""A member, or (``None``) the whole group."""


class Pushed(NamedTuple):
    """The last number that arrived under one name."""

    value: float
    """Before rates and scale; finite."""
    at: Moment
    """When it arrived, by our clocks."""

    def age(self, now: Moment) -> Seconds:
        """Return the time since its arrival, by the clock that shows more.

        The steady clock stands still while the machine is suspended, and the wall clock may be set back.
        """
        return max(now.steady - self.at.steady, now.wall - self.at.wall)


_NOTHING: Mapping[str, Pushed] = MappingProxyType({})


class Pushes:
    """The last number of every name, by group and sender."""

    def __init__(self) -> None:
        self._held: dict[GroupId, dict[_Sender, dict[str, Pushed]]] = {}
        self._count = 0

    @property
    def count(self) -> int:
        """Return how many numbers are held; any thread may call."""
        return self._count

    def put(self, group: GroupId, member: MemberName | None, name: str, pushed: Pushed) -> None:
        """Record a number in place of the previous one."""
        pushes = self._held.setdefault(group, {}).setdefault(member, {})
        self._count += name not in pushes
        pushes[name] = pushed

    def drop(self, group: GroupId, member: MemberName | None, name: str) -> None:
        """Remove a number: its sender has withdrawn it."""
        if self._held.get(group, {}).get(member, {}).pop(name, None) is not None:
            self._count -= 1

    def of(self, group: GroupId, member: MemberName | None) -> Mapping[str, Pushed]:
        """Return all numbers of a member, or (``None``) of the whole group, by name. The caller must not keep it."""
        return self._held.get(group, {}).get(member, _NOTHING)

    def keep(self, group: GroupId, members: Collection[MemberName], names: Collection[str]) -> None:
        """Forget numbers of members that are gone, and names that no counter reads any more."""
        held = self._held.pop(group, {})
        kept: dict[_Sender, dict[str, Pushed]] = {}
        for member, pushes in held.items():
            wanted = {name: pushed for name, pushed in pushes.items() if name in names}
            if wanted and (member is None or member in members):
                kept[member] = wanted
        if kept:
            self._held[group] = kept
        self._count += _size(kept) - _size(held)

    def follow(self, step: Seconds) -> None:
        """Keep the age of each number: the wall clock was set by ``step``."""
        for pushes in (pushes for held in self._held.values() for pushes in held.values()):
            for name, pushed in pushes.items():
                at = replace(pushed.at, wall=Instant(pushed.at.wall + step))
                pushes[name] = pushed._replace(at=at)

    def forget(self, group: GroupId) -> None:
        """Forget a group."""
        self.keep(group, (), ())


def _size(held: Mapping[_Sender, Mapping[str, Pushed]]) -> int:
    return sum(map(len, held.values()))
