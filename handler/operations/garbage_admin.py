"""List garbage, and forget single pieces of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from config.errors import Refused
from config.units import CloudId, GroupId, Instant, MemberName
from handler.convergence.sweep import GarbageSweep
from handler.engine.engine import Engine
from handler.identity.grants import Grants
from handler.operations.lookup import NoSuch, nearest
from handler.planning.garbage import Abandoned, GarbageKind, GarbageReport, Item
from handler.planning.records import gone
from handler.planning.world import Record
from handler.ports.stored import Event, EventKind


class GarbageAdmin:
    """Finds garbage with one listing of each cloud and one of each balancer."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def look(self, group: GroupId | None) -> GarbageReport:
        """Return everything that has our mark and is not wanted; of one group only, known or not, if it is named."""
        parts = self._engine.parts
        sweep = GarbageSweep(
            installation=parts.converger.installation,
            store=parts.store,
            orchestrator_for=parts.converger.cloud,
            balancer_for=parts.balancer_for,
            clock=lambda: parts.clock().wall,
        )
        found = await asyncio.to_thread(sweep.look, self._engine.catalogue())
        if group is None:
            return found
        return replace(found, items=tuple(item for item in found.items if item.group == group))

    async def shown(self, grants: Grants, group: GroupId | None = None) -> GarbageReport:
        """Return what a caller may know of `look`: what is of its groups, and places that its groups are on."""
        found = await self.look(group)
        return replace(
            found,
            items=tuple(item for item in found.items if grants.sees(item.group)),
            unseen=tuple(each for each in found.unseen if grants.groups is None or any(map(grants.sees, each.groups))),
        )

    async def abandon(self, name: MemberName, *, by: str) -> None:
        """Forget a piece of garbage: its record is closed, and its machine is never touched again.

        Raises:
            NoSuch: no garbage has this name.
            Refused: it was abandoned before, or only parts or a registration are left of it.
        """
        found = await self.look(None)
        item = next((item for item in found.items if item.name == name and item.can_be_abandoned), None)
        if item is None:
            raise _unfit(name, found)
        runtime = self._engine.runtimes.get(item.group)
        now = self._engine.parts.clock().wall
        if runtime is None:
            await asyncio.to_thread(self._forget, item, by, now)
        else:
            await self._engine.keeper.alter(runtime, lambda: self._forget(item, by, now))

    def _forget(self, item: Item, by: str, now: Instant) -> None:
        """Write it between two passes of its group, if it is still garbage then."""
        store, group = self._engine.parts.store, self._engine.runtimes.get(item.group)
        records = store.members(item.group) if group is not None else ()
        record = next((record for record in records if record.name == item.name), None)
        if (record is None) == (item.kind in {GarbageKind.STUCK, GarbageKind.OPEN_INTENT}):
            raise Refused(f"{item.name} is not garbage any more")
        act = Event(at=now, group=item.group, kind=EventKind.NOTE, name="abandon", by=by, message=str(item.name))
        store.abandon(act, _let_go(item, by, now), _ended(record, item, now))


def _ended(record: Record | None, item: Item, now: Instant) -> tuple[Record, ...]:
    if record is None:
        return ()
    if item.kind is GarbageKind.OPEN_INTENT and record.made_at is not None:
        raise Refused(f"{item.name} has been found meanwhile")
    return (gone(record, now),)


def _let_go(item: Item, by: str, now: Instant) -> Abandoned:
    return Abandoned(
        name=item.name, group=item.group, cloud=CloudId(item.where), server_id=item.server_id, at=now, by=by
    )


def _unfit(name: MemberName, found: GarbageReport) -> Exception:
    kinds = {item.kind for item in found.items if item.name == name}
    if GarbageKind.ABANDONED in kinds:
        return Refused(f"{name} is abandoned already")
    if GarbageKind.DUPLICATE in kinds:
        return Refused(f"a second machine is under the name of member {name}: delete it in the cloud, by its id")
    if GarbageKind.PART in kinds:
        return Refused(f"only parts of {name} are left: delete them in the cloud")
    if GarbageKind.REGISTRATION in kinds:
        return Refused(f"only a registration of {name} is left: delete it at the balancer")
    names = [item.name for item in found.items if item.can_be_abandoned]
    return NoSuch(f"there is no garbage named {name}{nearest(name, names)}")
