"""The readiness probe of each member, by the profile that it was made of: a changed file moves no member that runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from config.model.catalogue import Profile, ReadyProbe
from config.units import GroupId, MemberName
from handler.planning.desired import Definition
from handler.planning.world import Member
from handler.ports.store import Store


class OwnProbes:
    """Find probes among the revisions of a group that are kept. Of one group, one thread asks at a time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._profiles: dict[GroupId, Mapping[str, Profile | None]] = {}
        """Of each group, by digest; ``None``: its revision is not kept."""

    def of(self, definition: Definition, members: Iterable[Member]) -> Mapping[MemberName, ReadyProbe | None]:
        """Return the probe of each member; ``None``: its profile declares none. An unknown profile is that of now.

        Raises:
            StoreError: the store cannot be read.
        """
        made_of = {member.name: _digest(member) for member in members}
        now = definition.profile_digest
        profiles = self._known(
            definition.group.id, {digest for digest in made_of.values() if digest is not None} - {now}
        )
        return {
            name: ((profiles.get(digest) if digest is not None else None) or definition.profile).ready
            for name, digest in made_of.items()
        }

    def _known(self, group: GroupId, digests: set[str]) -> Mapping[str, Profile | None]:
        known = self._profiles.get(group, {})
        if not digests <= known.keys():
            kept = {each.definition.profile_digest: each.definition.profile for each in self._store.revisions(group)}
            self._profiles[group] = known = {digest: kept.get(digest) for digest in digests}
        return known


def _digest(member: Member) -> str | None:
    return None if member.record is None else member.record.profile
