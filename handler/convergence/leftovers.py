"""What earlier passes left behind: lines of history that a daemon's end left open, and failures that an order lifts."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from config.errors import StoreError
from config.units import CloudId, GroupId, Instant, MemberName
from handler.planning.desired import Builds
from handler.planning.member_plans import OpenStep, closing
from handler.planning.removals import retried
from handler.planning.world import World
from handler.ports.store import Store
from handler.ports.stored import StoredGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """What is open of each group was left by an earlier daemon: this one looks before it begins any call."""

    store: Store
    clock: Callable[[], Instant]
    _open: dict[GroupId, tuple[OpenStep, ...]] = field(default_factory=dict, init=False, repr=False)

    def is_closed(self, group: GroupId) -> bool:
        """Return whether no call of the group is known to be open."""
        return not self._open.get(group)

    def close(self, group: GroupId, cloud: CloudId, world: World) -> None:
        """Write down what this look shows of the calls that were left open.

        What cannot be written is tried again with the next pass: nothing depends on it.

        Raises:
            StoreError: what was left open cannot be read.
        """
        if group not in self._open:
            self._open[group] = self.store.open_steps(group)
        left: list[OpenStep] = []
        for step in self._open[group]:
            ended = closing(step, world)
            if ended is None:
                left.append(step)
                continue
            try:
                self.store.end_step(step.line, *ended, self.clock(), (), cloud)
            except StoreError:
                left.append(step)
        self._open[group] = tuple(left)


def lifted(
    store: Store, stored: StoredGroup, world: World, only: MemberName | None, now: Instant, *, ordered: bool
) -> tuple[StoredGroup, World]:
    """Return group and world without stuck removals and, unless one member alone was named, without failed builds.

    Without an order they are as they were.

    If it cannot be stored, it is lifted for this pass only: the first failed write ends the pass with a message.
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
