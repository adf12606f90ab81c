"""Counts the creations that budgets ask for, in memory: to count them in the store takes longer the more there were.

A group's part is read anew after every transaction that may have changed its members, before it counts again. So the
counts are those that the store would give now.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from config.units import CloudId, GroupId, Instant
from handler.ports.stored import Creates

HOUR = 3600.0


class Creation(NamedTuple):
    """One member that counts against a budget."""

    group: GroupId
    cloud: CloudId
    intended_at: Instant
    outstanding: bool
    """It was intended, or made, and has not been in service."""


Read = Callable[[GroupId | None], Iterable[Creation]]
"""Returns the creations of one group, or of all, that are outstanding or of the past hour."""


class CreateTally:
    """Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stale: set[GroupId] | None = None
        """Groups whose part has to be read anew; ``None``: all."""
        self._parts: dict[GroupId, Collection[Creation]] = {}
        self._outstanding: Counter[CloudId] = Counter()
        self._times: defaultdict[CloudId, list[Instant]] = defaultdict(list)
        """When each was intended, sorted."""

    def forget(self, groups: Collection[GroupId]) -> None:
        """Have these groups read anew: their members may have changed."""
        with self._lock:
            if self._stale is not None:
                self._stale.update(groups)

    def counts(self, group: GroupId, cloud: CloudId, now: Instant, read: Read) -> Creates:
        """Return how much of the budgets of a group and a cloud is used.

        Raises:
            StoreError: the store cannot be read; the next call tries again.
        """
        since = Instant(now - HOUR)
        with self._lock:
            self._refresh(read)
            own, times = self._parts.get(group, ()), self._times[cloud]
            return Creates(
                group_outstanding=sum(each.outstanding for each in own),
                group_past_hour=sum(each.intended_at > since for each in own),
                cloud_outstanding=self._outstanding[cloud],
                cloud_past_hour=len(times) - bisect_right(times, since),
            )

    def _refresh(self, read: Read) -> None:
        if self._stale is None:
            parts = defaultdict[GroupId, list[Creation]](list)
            for each in read(None):
                parts[each.group].append(each)
            self._parts, self._outstanding, self._times = {}, Counter(), defaultdict(list)
            for group, part in parts.items():
                self._replace(group, part)
            self._stale = set()
        while self._stale:
            group = next(iter(self._stale))
            self._replace(group, tuple(read(group)))
            self._stale.discard(group)

    def _replace(self, group: GroupId, part: Collection[Creation]) -> None:
        for each in self._parts.pop(group, ()):
            self._outstanding[each.cloud] -= each.outstanding
            times = self._times[each.cloud]
            del times[bisect_left(times, each.intended_at)]
        for each in part:
            self._outstanding[each.cloud] += each.outstanding
            insort(self._times[each.cloud], each.intended_at)
        if part:
            self._parts[group] = part
