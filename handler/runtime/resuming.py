"""Save windows and holds at every tick, and go on with them after a restart that no tick was lost by.

# Note [Going on after a restart]

Windows and holds count in steady time, which goes on over a restart of the daemon and ends with the boot of the
machine. A group goes on where its checkpoint ends if its next tick comes at most 1.5 intervals after the checkpoint's;
otherwise its windows are empty and it is blind until they refill. A tick that came due while no daemon ran is made up
for at once, so that a restart of some seconds does not cost a tick. A hold counts only if the size has not changed
since the checkpoint, because a decision restarts holds, and if the policy still judges by the same rules. Source:
DESIGN.md "Time".
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Protocol

from aggregator.aggregate import Aggregator
from config.errors import StoreError
from config.model.catalogue import Catalogue
from config.units import GroupId, PolicyId
from handler import logs
from handler.runtime.group_runtime import GroupRuntime
from handler.runtime.loops import Guard
from handler.store.checkpoint_codec import SavedHolds, SavedSlot
from trigger.conditions.timers import LONGEST_GAP


class CheckpointKeeper(Protocol):
    """Where checkpoints are: files, or the store. Each call raises `OSError` or `StoreError` if it fails."""

    def write(self, slot: SavedSlot) -> None:
        """Save a slot after a tick; rows of earlier ticks that it lacks must have been written before."""
        ...

    def read(self) -> Sequence[SavedSlot]:
        """Read every slot that is complete; what is damaged is left out."""
        ...

    def keep_only(self, slots: Sequence[Sequence[GroupId]]) -> None:
        """Delete the checkpoints of slots other than these."""
        ...


class WindowCheckpoints:
    """The checkpoints of one daemon.

    Args:
        folder: where they are.
        boot: id of the steady clock that they count by, such as that of this boot of the machine; empty, unknown: no
            checkpoint of another process counts.
    """

    def __init__(self, folder: CheckpointKeeper, boot: str) -> None:
        self._folder = folder
        self._boot = boot
        self._guard = Guard("checkpoint")
        self._written: dict[tuple[GroupId, ...], int] = {}
        """Slot → number of the newest tick whose rows are in the files."""
        self._rules: tuple[Catalogue, dict[PolicyId, str]] | None = None

    def recall(
        self, catalogue: Catalogue, runtimes: Mapping[GroupId, GroupRuntime], due: Callable[[GroupId, float], float]
    ) -> Sequence[Aggregator]:
        """Return the windows to go on with, and put back the holds of their groups.

        Args:
            catalogue: now in force.
            runtimes: all groups.
            due: returns the steady seconds of a group's next tick, given those of its newest one; `math.inf`: it has
                none.
        """
        found = []
        for slot in self._saved():
            going = [
                group for group in slot.windows.groups if group in runtimes and _goes_on(slot, catalogue, group, due)
            ]
            if not going or slot.boot != self._boot or not self._boot:
                continue
            aggregator = Aggregator(catalogue, going)
            aggregator.resume(slot.windows, slot.rows)
            found.append(aggregator)
            for group in going:
                self._put_back(catalogue, runtimes[group], slot.holds.get(group))
        if found:
            resumed = [runtime for runtime in runtimes.values() if runtime.resumed]
            logs.say("windows_resumed", groups=len(resumed), holding=sum(1 for runtime in resumed if runtime.holds))
        return found

    def arrange(self, slots: Iterable[tuple[GroupId, ...]]) -> None:
        """Begin anew with these slots: the next checkpoint of each is complete."""
        self._written = {}
        try:
            self._folder.keep_only(list(slots))
        except (OSError, StoreError) as error:
            logs.warn("checkpoints_not_cleared", error=str(error))

    async def save(
        self, catalogue: Catalogue, slot: tuple[GroupId, ...], aggregator: Aggregator, runtimes: Iterable[GroupRuntime]
    ) -> None:
        """Save a slot after a tick. A disk that refuses is logged; decisions go on, and the next tick tries again."""
        windows = aggregator.checkpoint()
        if windows is None:
            return
        saved = SavedSlot(
            boot=self._boot,
            windows=windows,
            rows=tuple(aggregator.rows(self._written.get(slot, windows.tick - windows.longest))),
            holds={runtime.id: self._holds(catalogue, runtime) for runtime in runtimes if runtime.holds},
        )
        if await self._guard.run(partial(self._write, saved)):
            self._written[slot] = windows.tick

    async def _write(self, saved: SavedSlot) -> bool:
        await asyncio.to_thread(self._folder.write, saved)
        return True

    def _saved(self) -> Sequence[SavedSlot]:
        try:
            return self._folder.read()
        except (OSError, StoreError) as error:
            logs.warn("checkpoints_not_read", error=str(error))
            return ()

    def _holds(self, catalogue: Catalogue, runtime: GroupRuntime) -> SavedHolds:
        kept = {policy: (self._rules_of(catalogue, policy), progress) for policy, progress in runtime.holds.items()}
        return SavedHolds(revision=runtime.state.revision, kept=kept)

    def _put_back(self, catalogue: Catalogue, runtime: GroupRuntime, saved: SavedHolds | None) -> None:
        runtime.resumed = True
        runtime.holds_anew = saved is not None and saved.revision != runtime.state.revision
        if saved is None or runtime.holds_anew:
            return
        runtime.holds = {
            policy: progress
            for policy, (rules, progress) in saved.kept.items()
            if policy in catalogue.policies and rules == self._rules_of(catalogue, policy)
        }

    def _rules_of(self, catalogue: Catalogue, policy: PolicyId) -> str:
        """Digest everything that a policy judges by."""
        if self._rules is None or self._rules[0] is not catalogue:
            self._rules = catalogue, {}
        known = self._rules[1]
        if policy not in known:
            rules = repr(rules_of(catalogue, (policy,))).encode()
            known[policy] = hashlib.blake2b(rules, digest_size=12).hexdigest()
        return known[policy]


def rules_of(catalogue: Catalogue, policies: Iterable[PolicyId]) -> tuple[object, ...]:
    """Everything that policies judge by: equal rules judge equal counters equally."""
    declared = [catalogue.policies[policy] for policy in policies]
    conditions = [catalogue.conditions[condition] for policy in declared for condition in policy.when]
    counters = (catalogue.counters[counter] for condition in conditions for counter in condition.counters)
    return (*declared, *conditions, *counters)


def _goes_on(slot: SavedSlot, catalogue: Catalogue, group: GroupId, due: Callable[[GroupId, float], float]) -> bool:
    declared = catalogue.groups.get(group)
    if declared is None or declared.interval != slot.windows.interval:
        return False
    newest_at = slot.windows.newest_at
    return 0 < due(group, newest_at) - newest_at <= LONGEST_GAP * declared.interval
