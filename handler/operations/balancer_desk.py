"""The desk for balancers: a running group is put behind one more, or taken from behind one.

All is looked at first. What is to be so is then one write, between two passes; convergence does the rest.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

from config.errors import DriverError, NotFound, Refused
from config.model.balancers import Balancer
from config.model.catalogue import ManagedBalancer
from config.units import BalancerId, GroupId
from handler.engine.engine import Engine
from handler.operations.lookup import nearest, room_of
from handler.operations.outcomes import NoSuch
from handler.planning.attachments import (
    Attachment,
    AttachmentChange,
    Behind,
    Detached,
    GroupAttachments,
    behind_of,
    hindrance,
    left_behind,
    to_attach,
    to_detach,
    to_drop,
    unfit,
)
from handler.ports.balancer import ListsForeignMembers, Provisioner
from handler.ports.stored import Event, EventKind
from handler.runtime.group_runtime import GroupRuntime


class _Registered(enum.Enum):
    """Why members can leave a balancer."""

    YES = "yes"
    """It answers: they are drained there."""
    NOT_FOUND = "not found"
    """It is proved missing: there is nothing to drain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hindered:
    """Why members cannot leave a balancer now."""

    words: str
    may_force: bool = True


def _refuse_undeclared(room: GroupRuntime, *, is_declared: bool) -> None:
    if not is_declared:
        raise Refused(f"group {room.id} is no longer declared: its members stay where they are")


def _is_proved(room: GroupRuntime, balancer: BalancerId) -> bool:
    """Whether the last pass found the balancer to be missing for long enough."""
    seating = None if room.seen is None else room.seen.world.seatings.get(balancer)
    return seating is not None and seating.not_found


def _forced(room: GroupRuntime, balancer: BalancerId) -> str:
    return f"; to drop it without asking it: trimtab detach {room.id} {balancer} --force"


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

    async def detach(self, group: GroupId, balancer: BalancerId, *, force: bool = False, by: str) -> Detached:
        """Take all members from behind a balancer, drained, and make no more there.

        A balancer that is not found is left without draining. One that cannot be read is dropped with ``force`` alone:
        what it lists stays as it is, of which the answer warns. A group that is no longer declared is detached with
        ``force`` alone, too.

        Raises:
            Refused: they could not leave; nothing has changed.
        """
        async with self._changing(group, undeclared=force) as room:
            standing = await self._standing(room)
            change = to_drop(standing, balancer) if force else to_detach(standing, balancer)
            look = await asyncio.to_thread(self._looked, room, balancer) if change.records else _Registered.YES
            if isinstance(look, _Registered):
                _refuse_undeclared(room, is_declared=self._is_declared(room))
                change, warning = to_detach(standing, balancer), ""
            elif force and look.may_force:
                warning = left_behind(change, balancer)
            else:
                raise Refused(f"group {group} is not detached from {balancer}, and nothing has changed: {look.words}")
            said = f"{balancer}, by force: {warning}" if warning else balancer
            await self._write(room, "detach", by, said, change)
        return Detached(members=len(change.records), warning=warning)

    @contextlib.asynccontextmanager
    async def _changing(self, group: GroupId, *, undeclared: bool = False) -> AsyncIterator[GroupRuntime]:
        """Let neither a reload nor a pass of the group come between looking and writing."""
        room = room_of(self._engine, group)
        async with self._engine.changing, self._engine.keeper.between(room):
            _refuse_undeclared(room, is_declared=undeclared or self._is_declared(room))
            yield room

    def _is_declared(self, room: GroupRuntime) -> bool:
        return not (room.state.orphaned or room.deleting) and room.id in self._engine.catalogue().groups

    def _declared(self, balancer: BalancerId) -> Balancer:
        balancers = self._engine.catalogue().balancers
        if balancer not in balancers:
            raise NoSuch(f"there is no balancer {balancer}{nearest(balancer, balancers)}")
        return balancers[balancer]

    async def _standing(self, room: GroupRuntime) -> GroupAttachments:
        catalogue = self._engine.catalogue()
        places = (("groups", room.id, "balancers"), ("groups", room.id))
        site = next((catalogue.sites[place] for place in places if place in catalogue.sites), None)
        undeclared = replace(room.definition.group, balancers=())
        return GroupAttachments(
            declared=catalogue.groups.get(room.id, undeclared),
            where=f"{site.file}:{site.line}" if site else str(Path(self._engine.parts.file)),
            definition=room.definition,
            attachments=room.attachments,
            records=await asyncio.to_thread(self._engine.parts.store.members, room.id),
        )

    def _hindrance(self, change: AttachmentChange, declared: Balancer) -> str | None:
        """Look at the members and the balancer as they would be. Blocks."""
        parts, group = self._engine.parts, change.definition.group.id
        if isinstance(declared, ManagedBalancer):
            others = [room.id for room in self._engine.rooms.values() if room.id != group and self._has(room, declared)]
            if (why := unfit(declared, change.definition, others)) is not None:
                return why
        world = parts.converger.gather(group, change.definition)
        port = parts.balancer_for(declared)
        if not isinstance(port, ListsForeignMembers):
            return hindrance(change, world, declared.id)
        try:
            return hindrance(change, world, declared.id, port.occupants())
        except DriverError as error:
            return str(error)

    def _has(self, room: GroupRuntime, declared: ManagedBalancer) -> bool:
        """Whether a balancer is, or will be, made for a group. Blocks."""
        bound = (binding.balancer for binding in self._engine.parts.store.bindings(room.id))
        used = (use.balancer for use in room.definition.group.balancers)
        return declared.id in {*bound, *used}

    def _looked(self, room: GroupRuntime, balancer: BalancerId) -> _Registered | _Hindered:
        """Say whether members can leave a balancer now. Blocks."""
        declared = room.definition.balancers.get(balancer)
        if declared is None:
            return _Hindered(words=f"balancer {balancer} is no longer declared{_forced(room, balancer)}")
        try:
            port = self._engine.parts.balancer_for(declared)
            port.seats()
            strangers = port.strangers() if isinstance(port, Provisioner) else ()
        except NotFound as error:
            if _is_proved(room, balancer):
                return _Registered.NOT_FOUND
            wait = "it counts as not found once it was missing for three intervals"
            return _Hindered(words=f"{error}; {wait}{_forced(room, balancer)}")
        except DriverError as error:
            return _Hindered(words=f"{error}{_forced(room, balancer)}")
        if strangers:
            said = f"{strangers[0]} sits in it, and is none of ours: it could not be deleted"
            return _Hindered(words=said, may_force=False)
        return _Registered.YES

    async def _write(self, room: GroupRuntime, act: str, by: str, message: str, change: AttachmentChange) -> None:
        now = self._engine.parts.clock().wall
        line = Event(at=now, group=room.id, kind=EventKind.NOTE, name=act, by=by, message=message)
        store = self._engine.parts.store
        await asyncio.to_thread(store.attach, line, change.definition, change.attachments, change.records)
        room.definition, room.attachments = change.definition, change.attachments
