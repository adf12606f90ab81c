"""What an order to converge lifts: a person who gives it waits for nothing that failed before."""

from __future__ import annotations

import contextlib
from dataclasses import replace

from config.errors import StoreError
from config.units import Instant, MemberName
from handler.planning.desired import Builds
from handler.planning.removals import retried
from handler.planning.world import World
from handler.ports.store import Store
from handler.ports.stored import StoredGroup


def lifted(
    store: Store, stored: StoredGroup, world: World, only: MemberName | None, now: Instant, *, ordered: bool
) -> tuple[StoredGroup, World]:
    """Return group and world without stuck removals and, unless one member alone was named, without failed builds.

    Without an order they are as they were.

    What cannot be written down is lifted for this pass alone: its first write that fails ends the pass and says so.
    """
    if not ordered:
        return stored, world
    tried = retried(world, stored.definition.group.grace, only, now)
    known = {member.name: member.record for member in world.members}
    records = [member.record for member in tried.members if member.record is not None]
    changed = tuple(record for record in records if record is not known[record.name])
    resets = only is None and stored.builds != Builds()
    with contextlib.suppress(StoreError):
        if changed:
            store.save(changed, stored.definition.cloud.id)
        if resets:
            store.save_builds(stored.id, Builds())
    if resets:
        stored = replace(stored, failed_builds=0, back_off_until=None, builds_of=None)
    return stored, tried
