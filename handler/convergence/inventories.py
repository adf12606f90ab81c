"""Read the shared inventory of a cloud, and compare it with the groups that have nothing to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from config.errors import DriverError
from config.model.catalogue import Cloud
from config.units import GroupId, Instant
from handler.convergence.evidence import Witnesses
from handler.convergence.idle_groups import IdleGroup, IdleState, idle_state
from handler.convergence.inventory import AskedListing, Inventory, inventory_of
from handler.convergence.traffic import CloudTraffic
from handler.planning.world import Listing
from handler.ports.orchestrator import Orchestrator, Proving
from handler.ports.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What an inventory says about idle groups; a missing group: nothing."""

    asked_at: Instant
    found: Mapping[GroupId, IdleState]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventories:
    """Reads inventories, and changes nothing in clouds or in the store."""

    installation: str
    store: Store
    orchestrator_for: Callable[[Cloud], Orchestrator]
    clock: Callable[[], Instant]
    traffic: CloudTraffic
    witnesses: Witnesses

    def compare(self, cloud: Cloud, idle: Sequence[IdleGroup]) -> Compared:
        """Read an inventory of one cloud, and return what it says about groups on it.

        Groups that it shows as they were count as seen, so that losses elsewhere are judged together with theirs.

        Raises:
            StoreError: the store cannot be read.
        """
        orchestrator = self.orchestrator_for(cloud)
        inventory = self._read(cloud, partial(self._listing, orchestrator, idle))
        if inventory is None:
            return Compared(asked_at=self.clock(), found={})
        found = dict(self._findings(orchestrator, inventory, idle))
        same = [group for group, what in found.items() if what is IdleState.SAME]
        self.witnesses.seen_unchanged(same, inventory.asked_at)
        return Compared(asked_at=inventory.asked_at, found=found)

    def listings(self, cloud: Cloud, groups: Sequence[GroupId]) -> Mapping[GroupId, AskedListing]:
        """List several groups of one cloud by one inventory; a missing group has to be listed by itself.

        A partial inventory lists no group: another group's trouble is not theirs.
        """
        inventory = self._read(cloud, self.orchestrator_for(cloud).list_all)
        if inventory is None or not inventory.complete:
            return {}
        return {group: inventory.listing(group) for group in groups}

    def _read(self, cloud: Cloud, ask: Callable[[], Listing]) -> Inventory | None:
        """Return an inventory; ``None``: the cloud does not answer, or is left alone for a while."""
        asked_at = self.clock()
        try:
            with self.traffic.look(cloud, self.clock) as may:
                return inventory_of(cloud.id, ask(), self.installation, asked_at) if may else None
        except DriverError:
            return None

    @staticmethod
    def _listing(orchestrator: Orchestrator, idle: Sequence[IdleGroup]) -> Listing:
        """A cloud may find the machines of one group faster than those of all."""
        return orchestrator.list(idle[0].group) if len(idle) == 1 else orchestrator.list_all()

    def _findings(
        self, orchestrator: Orchestrator, inventory: Inventory, idle: Sequence[IdleGroup]
    ) -> Iterator[tuple[GroupId, IdleState]]:
        proof = isinstance(orchestrator, Proving) and orchestrator.proves_absence
        now = self.clock()
        used = self.store.creates(idle[0].group, inventory.cloud, now)
        for each in idle:
            what = idle_state(each, inventory)
            quiet = each.has_room(used) and self.witnesses.are_idle(each.definition, now, proof=proof)
            yield each.group, what if quiet or what is not IdleState.SAME else IdleState.OTHER
