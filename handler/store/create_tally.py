"""Counts the creations that budgets ask for, in memory: to count them in the store takes longer the more there were.

What transactions write of members is taken in; a group whose members changed otherwise is read anew before it counts
again. So the counts are those that the store would give now.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from config.units import CloudId, GroupId, Instant, MemberName
from handler.ports.stored import Creates

HOUR = 3600.0


class Creation(NamedTuple):
    """One member that may count against a budget."""

    group: GroupId
    member: MemberName
    cloud: CloudId
    intended_at: Instant
    outstanding: bool
    """It was intended, or made, and has not been in service."""

    def counts(self, now: Instant) -> bool:
        """Whether it counts, or would if the clock were set back by an hour."""
        return self.outstanding or self.intended_at > now - 2 * HOUR


Read = Callable[[GroupId | None], Iterable[Creation]]
"""Returns the creations of one group, or of all, that are outstanding or of the past hour."""


class CreateTally:
    """Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stale: set[GroupId] | None = None
        """Groups whose part has to be read anew; ``None``: all."""
        self._written: dict[GroupId, list[Creation]] = {}
        """What was written of other groups, and is not counted yet, in its order."""
        self._parts: defaultdict[GroupId, dict[MemberName, Creation]] = defaultdict(dict)
        self._outstanding: Counter[CloudId] = Counter()
        self._times: defaultdict[CloudId, list[Instant]] = defaultdict(list)
        """When each was intended, sorted."""

    def forget(self, groups: Collection[GroupId]) -> None:
        """Have these groups read anew: their members may have changed."""
        with self._lock:
            if self._stale is not None:
                self._stale.update(groups)
                for group in groups:
                    self._written.pop(group, None)

    def take(self, group: GroupId, written: Iterable[Creation]) -> None:
        """Take in what was written of members of a group; no other member of it changed."""
        with self._lock:
            if self._stale is not None and group not in self._stale:
                self._written.setdefault(group, []).extend(written)

    def counts(self, group: GroupId, cloud: CloudId, now: Instant, read: Read) -> Creates:
        """Return how much of the budgets of a group and a cloud is used.

        Raises:
            StoreError: the store cannot be read; the next call tries again.
        """
        since = Instant(now - HOUR)
        with self._lock:
            self._refresh(read)
            self._take_in(now)
            own, times = self._parts.get(group, {}).values(), self._times[cloud]
            return Creates(
                group_outstanding=sum(each.outstanding for each in own),
                group_past_hour=sum(each.intended_at > since for each in own),
                cloud_outstanding=self._outstanding[cloud],
                cloud_past_hour=len(times) - bisect_right(times, since),
            )

    def _refresh(self, read: Read) -> None:
        """Read what is not known."""
        if self._stale is None:
            self._parts, self._outstanding, self._times = defaultdict(dict), Counter(), defaultdict(list)
            for each in read(None):
                self._add(each)
            self._stale = set()
        while self._stale:
            group = next(iter(self._stale))
            found = tuple(read(group))
            for each in tuple(self._parts.pop(group, {}).values()):
                self._subtract(each)
            for each in found:
                self._add(each)
            self._stale.discard(group)

    def _take_in(self, now: Instant) -> None:
        """Count what was written since, and of those groups nothing any more that is long ago."""
        for group, written in self._written.items():
            part = self._parts[group]
            for each in written:
                before = part.pop(each.member, None)
                if before is not None:
                    self._subtract(before)
                self._add(each)
            for each in [each for each in part.values() if not each.counts(now)]:
                self._subtract(part.pop(each.member))
        self._written.clear()

    def _add(self, each: Creation) -> None:
        self._parts[each.group][each.member] = each
        self._outstanding[each.cloud] += each.outstanding
        insort(self._times[each.cloud], each.intended_at)

    def _subtract(self, each: Creation) -> None:
        self._outstanding[each.cloud] -= each.outstanding
        times = self._times[each.cloud]
        del times[bisect_left(times, each.intended_at)]
