"""Numbers that members and applications have pushed, until the source of such counters reads them.

It is written as pushes come in and read at every poll, both on the event loop, so nothing guards it. It is not kept
over a restart: until a value is pushed again it is absent, and absence decides nothing.

What it holds is bounded by whoever writes to it: values only of groups, members and names that somebody reads.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import NamedTuple

from config.units import GroupId, MemberName, Moment, Seconds

_Speaker = MemberName | None
"""A member, or (``None``) the group as a whole."""


class Pushed(NamedTuple):
    """The last number that came under one name."""

    value: float
    """Before rates and scale; finite."""
    at: Moment
    """When it arrived, by our clocks."""

    def age(self, now: Moment) -> Seconds:
        """How long ago it arrived, by the clock that says longer.

        The steady clock stands still while the machine is suspended, and the wall clock may be set back.
        """
        return max(now.steady - self.at.steady, now.wall - self.at.wall)


_NOTHING: Mapping[str, Pushed] = MappingProxyType({})


class Pushes:
    """The last number of every name, by group and by who said it."""

    def __init__(self) -> None:
        self._held: dict[GroupId, dict[_Speaker, dict[str, Pushed]]] = {}
        self._count = 0

    @property
    def count(self) -> int:
        """How many numbers are held; may be asked from any thread."""
        return self._count

    def put(self, group: GroupId, member: MemberName | None, name: str, pushed: Pushed) -> None:
        """Have a number in place of the one before it."""
        said = self._held.setdefault(group, {}).setdefault(member, {})
        self._count += name not in said
        said[name] = pushed

    def drop(self, group: GroupId, member: MemberName | None, name: str) -> None:
        """Take a number away: whoever said it does not say it any more."""
        if self._held.get(group, {}).get(member, {}).pop(name, None) is not None:
            self._count -= 1

    def of(self, group: GroupId, member: MemberName | None) -> Mapping[str, Pushed]:
        """All that a member (or, ``None``, somebody for the whole group) has said, by name. Not to be kept."""
        return self._held.get(group, {}).get(member, _NOTHING)

    def keep(self, group: GroupId, members: Collection[MemberName], names: Collection[str]) -> None:
        """Forget what members have said that are there no more, and what nobody reads any more."""
        held = self._held.pop(group, {})
        kept: dict[_Speaker, dict[str, Pushed]] = {}
        for member, said in held.items():
            wanted = {name: pushed for name, pushed in said.items() if name in names}
            if wanted and (member is None or member in members):
                kept[member] = wanted
        if kept:
            self._held[group] = kept
        self._count += _size(kept) - _size(held)

    def forget(self, group: GroupId) -> None:
        """Forget a group."""
        self.keep(group, (), ())


def _size(held: Mapping[_Speaker, Mapping[str, Pushed]]) -> int:
    return sum(map(len, held.values()))
