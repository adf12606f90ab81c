"""Attach a running group to one more balancer, or detach it from one.

All checks come first. Then one transaction between two passes writes the change; convergence does the rest.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from config.errors import DriverError, NotFound, Refused
from config.model.balancers import Balancer
from config.model.catalogue import ManagedBalancer
from config.units import BalancerId, GroupId
from handler.engine.engine import Engine
from handler.operations.lookup import NoSuch, nearest, runtime_of
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
    """It answers: members are drained there."""
    NOT_FOUND = "not found"
    """It is proved missing: no member needs draining."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hindered:
    """Why members cannot leave a balancer now."""

    words: str
    may_force: bool = True


def _refuse_undeclared(runtime: GroupRuntime, *, is_declared: bool) -> None:
    if not is_declared:
        raise Refused(f"group {runtime.id} is no longer declared: its members stay where they are")


def _is_proved(runtime: GroupRuntime, balancer: BalancerId) -> bool:
    """Tell whether the last pass found the balancer missing for long enough."""
    balancer_view = None if runtime.seen is None else runtime.seen.world.balancer_views.get(balancer)
    return balancer_view is not None and balancer_view.not_found


def _forced(runtime: GroupRuntime, balancer: BalancerId) -> str:
    return f"; to detach without draining: trimtab detach {runtime.id} {balancer} --force"


class BalancerAdmin:
    """Attaches and detaches balancers; the group's history records every change and the person who asked."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def behind(self, group: GroupId) -> tuple[Behind, ...]:
        """Return a group's balancers and who attached them."""
        standing = await self._standing(runtime_of(self._engine, group))
        bindings = await asyncio.to_thread(self._engine.parts.store.bindings, group)
        return behind_of(standing, {binding.balancer: binding.parts for binding in bindings})

    async def attach(self, group: GroupId, balancer: BalancerId, port: int, *, by: str) -> int:
        """Attach all members, present and future, to a balancer; return how many are to join it.

        Raises:
            Refused: some member could not join; nothing has changed.
        """
        declared = self._declared(balancer)
        async with self._changing(group) as runtime:
            now = self._engine.parts.clock().wall
            wanted = Attachment(balancer=balancer, port=port, by=by, at=now)
            change = to_attach(await self._standing(runtime), wanted, declared)
            why = await asyncio.to_thread(self._hindrance, change, declared)
            if why is not None:
                raise Refused(f"group {group} is not attached to {balancer}, and nothing has changed: {why}")
            await self._write(runtime, "attach", by, f"{balancer} at port {port}", change)
        return len(change.records)

    async def detach(self, group: GroupId, balancer: BalancerId, *, force: bool = False, by: str) -> Detached:
        """Drain all members, take them out of a balancer, and add no new ones to it.

        Nothing is drained at a balancer that is not found. One that cannot be read needs ``force``: its entries then
        stay, and the answer warns of them. A group that is no longer declared needs ``force``, too.

        Raises:
            Refused: members could not leave; nothing has changed.
        """
        async with self._changing(group, undeclared=force) as runtime:
            standing = await self._standing(runtime)
            change = to_drop(standing, balancer) if force else to_detach(standing, balancer)
            look = await asyncio.to_thread(self._looked, runtime, balancer) if change.records else _Registered.YES
            if isinstance(look, _Registered):
                _refuse_undeclared(runtime, is_declared=self._is_declared(runtime))
                change, warning = to_detach(standing, balancer), ""
            elif force and look.may_force:
                warning = left_behind(change, balancer)
            else:
                raise Refused(f"group {group} is not detached from {balancer}, and nothing has changed: {look.words}")
            message = f"{balancer}, by force: {warning}" if warning else balancer
            await self._write(runtime, "detach", by, message, change)
        return Detached(members=len(change.records), warning=warning)

    @contextlib.asynccontextmanager
    async def _changing(self, group: GroupId, *, undeclared: bool = False) -> AsyncIterator[GroupRuntime]:
        """Keep reloads and passes of the group out between the checks and the write."""
        runtime = runtime_of(self._engine, group)
        async with self._engine.changing, self._engine.keeper.between(runtime):
            _refuse_undeclared(runtime, is_declared=undeclared or self._is_declared(runtime))
            yield runtime

    def _is_declared(self, runtime: GroupRuntime) -> bool:
        return not (runtime.state.orphaned or runtime.deleting) and runtime.id in self._engine.catalogue().groups

    def _declared(self, balancer: BalancerId) -> Balancer:
        balancers = self._engine.catalogue().balancers
        if balancer not in balancers:
            raise NoSuch(f"there is no balancer {balancer}{nearest(balancer, balancers)}")
        return balancers[balancer]

    async def _standing(self, runtime: GroupRuntime) -> GroupAttachments:
        catalogue = self._engine.catalogue()
        places = (("groups", runtime.id, "balancers"), ("groups", runtime.id))
        site = next((catalogue.sites[place] for place in places if place in catalogue.sites), None)
        undeclared = replace(runtime.definition.group, balancers=())
        return GroupAttachments(
            declared=catalogue.groups.get(runtime.id, undeclared),
            where=f"{site.file}:{site.line}" if site else str(self._engine.declared().path),
            definition=runtime.definition,
            attachments=runtime.attachments,
            records=await asyncio.to_thread(self._engine.parts.store.members, runtime.id),
        )

    def _hindrance(self, change: AttachmentChange, declared: Balancer) -> str | None:
        """Check the members and the balancer as they would be after the change. Blocks."""
        parts, group = self._engine.parts, change.definition.group.id
        if isinstance(declared, ManagedBalancer):
            others = [
                runtime.id
                for runtime in self._engine.runtimes.values()
                if runtime.id != group and self._has(runtime, declared)
            ]
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

    def _has(self, runtime: GroupRuntime, declared: ManagedBalancer) -> bool:
        """Tell whether convergence has made, or will make, a balancer for a group. Blocks."""
        bound = (binding.balancer for binding in self._engine.parts.store.bindings(runtime.id))
        used = (use.balancer for use in runtime.definition.group.balancers)
        return declared.id in {*bound, *used}

    def _looked(self, runtime: GroupRuntime, balancer: BalancerId) -> _Registered | _Hindered:
        """Tell whether members can leave a balancer now. Blocks."""
        declared = runtime.definition.balancers.get(balancer)
        if declared is None:
            return _Hindered(words=f"balancer {balancer} is no longer declared{_forced(runtime, balancer)}")
        try:
            port = self._engine.parts.balancer_for(declared)
            port.registrations()
            foreign = port.foreign() if isinstance(port, Provisioner) else ()
        except NotFound as error:
            if _is_proved(runtime, balancer):
                return _Registered.NOT_FOUND
            wait = "it counts as not found after it is missing for three intervals"
            return _Hindered(words=f"{error}; {wait}{_forced(runtime, balancer)}")
        except DriverError as error:
            return _Hindered(words=f"{error}{_forced(runtime, balancer)}")
        if foreign:
            words = f"{foreign[0]} is registered with it and is not ours, so the balancer could not be deleted"
            return _Hindered(words=words, may_force=False)
        return _Registered.YES

    async def _write(self, runtime: GroupRuntime, act: str, by: str, message: str, change: AttachmentChange) -> None:
        now = self._engine.parts.clock().wall
        line = Event(at=now, group=runtime.id, kind=EventKind.NOTE, name=act, by=by, message=message)
        store = self._engine.parts.store
        await asyncio.to_thread(store.attach, line, change.definition, change.attachments, change.records)
        runtime.definition, runtime.attachments = change.definition, change.attachments
