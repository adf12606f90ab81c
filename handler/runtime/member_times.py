"""Learn from the store how long the members of each group take to boot and to drain."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from itertools import islice

from config.units import GroupId, Instant
from handler.ports.store import Store
from handler.runtime.group_runtime import GroupRuntime, LastPass
from trigger.forecast.leads import NEWEST, MemberTimes, Took, learned_time

_AT_ONCE = 200
"""Groups that are learned in one go; the others come next."""
_Newest = tuple[str, Instant | None]
"""Digest of the profile of new members, and when the newest member came into service."""


class MemberTimesWatch:
    """Keeps `GroupRuntime.times`: it asks the store for the groups in which another member came into service.

    Args:
        store: has the members, also those that are gone, as long as history is kept.
        runtimes: all groups.
    """

    def __init__(self, store: Store, runtimes: Mapping[GroupId, GroupRuntime]) -> None:
        self._store, self._runtimes = store, runtimes
        self._passes: dict[GroupId, LastPass] = {}
        """The pass that was last looked at, and brought nothing that is not learned."""
        self._newest: dict[GroupId, _Newest] = {}

    async def look(self) -> None:
        """Learn what the last passes of all groups may have brought. Raises as `learn`; the next look does it then."""
        self._passes = {group: seen for group, seen in self._passes.items() if group in self._runtimes}
        self._newest = {group: newest for group, newest in self._newest.items() if group in self._runtimes}
        due = dict(islice((due for each in self._runtimes.values() if (due := self._due(each))), _AT_ONCE))
        if due:
            await self.learn(due)
            self._newest |= due  # not before: what the store could not tell now is asked next time

    async def learn(self, groups: Iterable[GroupId]) -> None:
        """Learn the times of groups from all that the store has of them.

        Raises:
            StoreError: it cannot be read.
        """
        of = {group: self._runtimes[group].definition.profile_digest for group in groups if group in self._runtimes}
        found = await asyncio.to_thread(lambda: {group: self._times(group, profile) for group, profile in of.items()})
        for group, times in found.items():
            if group in self._runtimes:
                self._runtimes[group].times = times

    def _due(self, runtime: GroupRuntime) -> tuple[GroupId, _Newest] | None:
        """Return what a group's times are to be learned for; ``None``: they are learned."""
        seen = runtime.seen
        if seen is None or seen is self._passes.get(runtime.id):
            return None
        entered = [member.record.in_service_at for member in seen.world.members if member.record is not None]
        newest = runtime.definition.profile_digest, max((at for at in entered if at is not None), default=None)
        if newest != self._newest.get(runtime.id):
            return runtime.id, newest
        self._passes[runtime.id] = seen
        return None

    def _times(self, group: GroupId, profile: str) -> MemberTimes:
        members = self._store.member_spans(group, NEWEST)
        drains = [Took(each.profile, each.drain) for each in members if each.drain is not None]
        return MemberTimes(
            boot=learned_time([Took(each.profile, each.boot) for each in members], profile),
            drain=learned_time(drains, profile),
        )
