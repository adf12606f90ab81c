"""Simulated members: in service as soon as they have booted, and gone as soon as they are surplus."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor

from collector.targets import MemberTarget, Roster
from config.model.catalogue import Group, Victims
from config.units import MemberName, Seconds
from trigger.forecast.leads import LEAST_MEMBERS, LearnedTime, time_of
from trigger.requests import Fleet

_GOLDEN = 0.6180339887498949
"""The fractional parts of its multiples fill the time between 0 and 1 evenly, however many there are."""


@dataclass(frozen=True, slots=True)
class BootTimes:
    """How long members take from their order until they serve: each of these times is as likely as the others."""

    times: tuple[Seconds, ...]
    """At least one."""

    def of(self, number: int) -> Seconds:
        """Return the time of one member. Members take all times evenly, in an order that is always the same.

        >>> [BootTimes((30.0, 60.0, 240.0)).of(number) for number in range(6)]
        [30.0, 60.0, 30.0, 240.0, 60.0, 30.0]
        """
        ordered = sorted(self.times)
        return ordered[floor(number * _GOLDEN % 1.0 * len(ordered))]

    @property
    def learned(self) -> LearnedTime:
        """What a forecast knows of them that has seen many members."""
        return time_of(self.times * LEAST_MEMBERS, of_profile=True)

    @property
    def mean(self) -> Seconds:
        """What a boot costs on average."""
        return sum(self.times) / len(self.times)


def always(boot: Seconds) -> BootTimes:
    """Return one time for every member."""
    return BootTimes((boot,))


class ReplayMembers:
    """The members of one group on a virtual clock.

    Args:
        group: sets the removal order.
        boot: time from the order until a member is in service.
        count: the number of members at first.
        since: the start; the first members are in service, and warm.
    """

    def __init__(self, group: Group, boot: BootTimes, count: int, since: float) -> None:
        self.group = group
        self.members = [(number, since - group.warm_up) for number in range(count)]
        """(number, instant from which it is in service), sorted by number."""
        self.left = 0
        """Members in service that have left."""
        self._boot = boot
        self._next = count
        self._all_ready = since
        """From then on all members are in service."""

    def serving(self, at: float) -> int:
        """Return how many are in service."""
        if at >= self._all_ready:
            return len(self.members)
        return sum(ready <= at for _, ready in self.members)

    def seen(self, at: float, creates_left: int) -> Fleet:
        """Return the fleet that decisions see."""
        return Fleet(
            listed=True,
            marked=len(self.members),
            in_service=self.serving(at),
            creates_left=creates_left,
            back_off_until=None,
        )

    def roster(self, at: float) -> Roster:
        """Return the members in service; a member that warms up does not count yet."""
        names = (
            MemberTarget(
                name=MemberName(f"{self.group.id}-{number:06}"), address="", counted=at - ready >= self.group.warm_up
            )
            for number, ready in self.members
            if ready <= at
        )
        return Roster(group=self.group.id, members=tuple(names))

    def follow(self, desired: int | None, at: float) -> int:
        """Order missing members and return how many; remove surplus ones, building first, then by the removal order."""
        if desired is None:
            return 0
        missing = max(desired - len(self.members), 0)
        for _ in range(missing):
            ready = at + self._boot.of(self._next)
            self.members.append((self._next, ready))
            self._all_ready = max(self._all_ready, ready)
            self._next += 1
        surplus = max(len(self.members) - desired, 0)
        sign = -1 if self.group.victims is Victims.NEWEST else 1
        leaving = sorted(self.members, key=lambda member: (member[1] <= at, sign * member[0]))[:surplus]
        self.left += sum(ready <= at for _, ready in leaving)
        self.members = [member for member in self.members if member not in leaving]
        return missing
