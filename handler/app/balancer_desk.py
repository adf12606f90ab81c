"""The desk for balancers: a running group is put behind one more, or taken from behind one.

All is looked at first. What is to be so is then one write, between two passes; convergence does the rest.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from config.errors import DriverError, Refused
from config.model import Balancer, ManagedBalancer
from config.units import BalancerId, GroupId
from handler.app.engine import Engine
from handler.app.finding import nearest, room_of
from handler.app.rooms import Room
from handler.attachments import (
    Attachment,
    Behind,
    Change,
    Standing,
    behind_of,
    hindrance,
    to_attach,
    to_detach,
    unfit,
)
from handler.balancers.interface import Attendance, Provisioner
from handler.store.interface import Event, EventKind
from handler.web.daemon import NoSuch


class BalancerDesk:
    """Every change is recorded in the group's history with who asked."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def behind(self, group: GroupId) -> tuple[Behind, ...]:
        """Behind what a group's members are or will be, and by whose word."""
        standing = await self._standing(room_of(self._engine, group))
        bindings = await asyncio.to_thread(self._engine.parts.store.bindings, group)
        return behind_of(standing, {binding.balancer: binding.parts for binding in bindings})

    async def attach(self, group: GroupId, balancer: BalancerId, port: int, *, by: str) -> int:
        """Put all members behind a balancer, now and from now on; returns how many are to join it.

        Raises:
            Refused: not all of them could; nothing has changed.
        """
        declared = self._declared(balancer)
        async with self._changing(group) as room:
            now = self._engine.parts.clock().wall
            wanted = Attachment(balancer=balancer, port=port, by=by, at=now)
            change = to_attach(await self._standing(room), wanted, declared)
            why = await asyncio.to_thread(self._hindrance, change, declared)
            if why is not None:
                raise Refused(f"group {group} is not attached to {balancer}, and nothing has changed: {why}")
            await self._write(room, "attach", by, f"{balancer} at port {port}", change)
        return len(change.records)

    async def detach(self, group: GroupId, balancer: BalancerId, *, by: str) -> int:
        """Take all members from behind a balancer, drained, and make no more there; returns how many are to leave it.

        Raises:
            Refused: they could not; nothing has changed.
        """
        async with self._changing(group) as room:
            change = to_detach(await self._standing(room), balancer)
            why = await asyncio.to_thread(self._unreadable, room, balancer) if change.records else None
            if why is not None:
                raise Refused(f"group {group} is not detached from {balancer}, and nothing has changed: {why}")
            await self._write(room, "detach", by, balancer, change)
        return len(change.records)

    @contextlib.asynccontextmanager
    async def _changing(self, group: GroupId) -> AsyncIterator[Room]:
        """Let neither a reload nor a pass of the group come between looking and writing."""
        room = room_of(self._engine, group)
        async with self._engine.changing, self._engine.keeper.between(room):
            if room.state.orphaned or room.deleting or group not in self._engine.catalogue().groups:
                raise Refused(f"group {group} is no longer declared: its members stay where they are")
            yield room

    def _declared(self, balancer: BalancerId) -> Balancer:
        balancers = self._engine.catalogue().balancers
        if balancer not in balancers:
            raise NoSuch(f"there is no balancer {balancer}{nearest(balancer, balancers)}")
        return balancers[balancer]

    async def _standing(self, room: Room) -> Standing:
        catalogue = self._engine.catalogue()
        places = (("groups", room.id, "balancers"), ("groups", room.id))
        site = next((catalogue.sites[place] for place in places if place in catalogue.sites), None)
        return Standing(
            declared=catalogue.groups.get(room.id, room.definition.group),
            where=f"{site.file}:{site.line}" if site else str(Path(self._engine.parts.file)),
            definition=room.definition,
            attachments=room.attachments,
            records=await asyncio.to_thread(self._engine.parts.store.members, room.id),
        )

    def _hindrance(self, change: Change, declared: Balancer) -> str | None:
        """Look at the members and the balancer as they would be. Blocks."""
        parts, group = self._engine.parts, change.definition.group.id
        if isinstance(declared, ManagedBalancer):
            others = [room.id for room in self._engine.rooms.values() if room.id != group and self._has(room, declared)]
            if (why := unfit(declared, change.definition, others)) is not None:
                return why
        world = parts.converger.gather(group, change.definition)
        port = parts.balancer_for(declared)
        if not isinstance(port, Attendance):
            return hindrance(change, world, declared.id)
        try:
            return hindrance(change, world, declared.id, port.occupants())
        except DriverError as error:
            return str(error)

    def _has(self, room: Room, declared: ManagedBalancer) -> bool:
        """Whether a balancer is, or will be, made for a group. Blocks."""
        bound = (binding.balancer for binding in self._engine.parts.store.bindings(room.id))
        used = (use.balancer for use in room.definition.group.balancers)
        return declared.id in {*bound, *used}

    def _unreadable(self, room: Room, balancer: BalancerId) -> str | None:
        """Say why nobody could be taken out of a balancer now. Blocks."""
        declared = room.definition.balancers.get(balancer)
        if declared is None:
            return f"balancer {balancer} is no longer declared"
        try:
            port = self._engine.parts.balancer_for(declared)
            port.seats()
            strangers = port.strangers() if isinstance(port, Provisioner) else ()
        except DriverError as error:
            return str(error)
        return f"{strangers[0]} sits in it, and is none of ours: it could not be deleted" if strangers else None

    async def _write(self, room: Room, act: str, by: str, message: str, change: Change) -> None:
        now = self._engine.parts.clock().wall
        line = Event(at=now, group=room.id, kind=EventKind.NOTE, name=act, by=by, message=message)
        store = self._engine.parts.store
        await asyncio.to_thread(store.attach, line, change.definition, change.attachments, change.records)
        room.definition, room.attachments = change.definition, change.attachments
