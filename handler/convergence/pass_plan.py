"""Planning a pass: the gathered world, the stored group and what budgets and quotas leave become one plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from config.gc_pause import uncollected
from config.units import Instant, MemberName
from handler.convergence.passes import Pass, all_stopped, budgets_left, rolling_of, seen_only
from handler.convergence.quotas import QuotaReading, Quotas
from handler.convergence.traffic import CloudTraffic
from handler.planning.desired import DesiredState, Limits
from handler.planning.plan import Snapshot
from handler.planning.steps import Create, MakePart, Plan
from handler.planning.world import Phase, World
from handler.ports.store import Store
from handler.ports.stored import Creates, StoredGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPass:
    """A plan, the snapshot that it was made from, and the creates used so far."""

    snapshot: Snapshot
    plan: Plan
    used: Creates

    def only(self, stored: StoredGroup) -> Pass:
        """Return the pass that ends here, without any step."""
        return seen_only(stored, self.snapshot.world, self.plan, self.used)

    def intended(self) -> Iterator[MemberName]:
        """Yield the members with an intent that are about to be created, or wait for their parts."""
        yield from (step.member for step in self.plan.steps if isinstance(step, Create | MakePart) and step.member)
        for member in self.snapshot.world.members:
            record = member.record
            if record is not None and record.phase is Phase.INTENDED and record.parts and member.server is None:
                yield member.name


class PassPlanner:
    """Plans passes within the limits that hold at that moment."""

    def __init__(self, store: Store, quotas: Quotas, traffic: CloudTraffic, clock: Callable[[], Instant]) -> None:
        self._store = store
        self._quotas = quotas
        self._traffic = traffic
        self._clock = clock

    def look(
        self,
        stored: StoredGroup,
        world: World,
        *,
        accept_vanished: bool = False,
        only: MemberName | None = None,
        reading: QuotaReading | None = None,
    ) -> PlannedPass:
        """Plan a pass for all members, or for one alone, from what was gathered.

        Raises:
            StoreError: the store cannot be read.
        """
        used = self._store.creates(stored.id, stored.definition.cloud.id, self._clock())
        snapshot = self._snapshot(stored, world, used, accept_vanished=accept_vanished, only=only)
        headroom = self._quotas.left(stored.id, reading)
        if headroom is not None:
            snapshot = replace(snapshot, limits=replace(snapshot.limits, headroom=headroom))
        planned = _planned(snapshot)
        return PlannedPass(snapshot=snapshot, plan=planned if only is None else planned.of(only), used=used)

    def _snapshot(
        self,
        stored: StoredGroup,
        world: World,
        used: Creates,
        *,
        accept_vanished: bool = False,
        only: MemberName | None = None,
    ) -> Snapshot:
        left, _ = budgets_left(stored, used)
        now = self._clock()
        return Snapshot(
            desired=DesiredState(
                size=stored.state.desired,
                revision=stored.state.revision,
                deleting=stored.deleting,
                paused=all_stopped(stored),
                roll=rolling_of(stored),
                unconfirmed=stored.state.older is not None,
                earlier=stored.state.earlier,
            ),
            world=world,
            definition=stored.definition,
            limits=Limits(
                creates=left.creates,
                budget=left.words,
                back_off_until=None if only is not None else stored.builds.back_off_until,
                accept_vanished=accept_vanished,
                calls=self._traffic.left(stored.definition.cloud, now),
                full=self._traffic.is_full(stored.definition.cloud, now),
                accept_members=() if only is None else (only,),
            ),
            at=now,
        )


def _planned(snapshot: Snapshot) -> Plan:
    with uncollected(len(snapshot.world.members)):
        return snapshot.plan()
