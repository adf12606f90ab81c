"""Operations on one member by name, and on a machine that is to become a member."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Le, Len

from config.units import GroupId, MemberName
from handler.identity.rights import Verb
from handler.operations.address import one_group, over, shared_resource

if TYPE_CHECKING:
    from handler.identity.actors import Actor
    from handler.operations.facade import Operations
    from handler.operations.member_log import MemberLog
    from handler.operations.outcomes import MemberPass, Shown
    from handler.planning.member_details import CloseUp
    from trigger.requests import Decision

LINES_AT_MOST = 10_000


@over("POST", "/groups/{group}/members/{member}/replace", "replace", status=202, verb=Verb.MEMBERS, on=one_group)
class ReplaceMember:
    """Replace a member: the new one is in service before this one leaves."""

    group: GroupId
    member: MemberName

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        await operations.members.replace(self.group, self.member, by=by.name)
        return {"group": self.group, "member": self.member, "replaced": True}


@over("DELETE", "/groups/{group}/members/{member}", "dismiss", verb=Verb.MEMBERS, on=one_group)
class DeleteMember:
    """Lower the size by one and have this member leave, or do neither."""

    group: GroupId
    member: MemberName
    force: bool = False

    async def perform(self, operations: Operations, by: Actor) -> Decision:
        return await operations.members.dismiss(self.group, self.member, force=self.force, by=by.name)


@over(
    "POST",
    "/groups/{group}/members",
    "adopt",
    body="handler.web.members.AdoptBody",
    verb=Verb.ADOPT,
    on=shared_resource,
)
class AdoptMember:
    """Raise the size by one and have an existing machine, named by its cloud's name or id, join; or do neither."""

    group: GroupId
    named: Annotated[str, Len(1, 255)]
    force: bool = False

    async def perform(self, operations: Operations, by: Actor) -> Decision:
        return await operations.adoption.adopt(self.group, self.named, force=self.force, by=by.name)


@over(
    "POST",
    "/groups/{group}/members/{member}/evict",
    "evict",
    body="EvictBody",
    may_be_bare=True,
    status=202,
    verb=Verb.ADOPT,
    on=one_group,
)
class EvictMember:
    """Have a member leave without its mark, and keep its machine; lower the size by one unless it is replaced."""

    group: GroupId
    member: MemberName
    replace: bool = False
    force: bool = False

    async def perform(self, operations: Operations, by: Actor) -> Decision | Shown:
        if not self.replace:
            return await operations.adoption.evict(self.group, self.member, force=self.force, by=by.name)
        await operations.adoption.exchange(self.group, self.member, force=self.force, by=by.name)
        return {"group": self.group, "member": self.member, "evicted": True, "replaced": True}


@over(
    "POST", "/groups/{group}/members/{member}/protect", "protect", body="ProtectBody", verb=Verb.MEMBERS, on=one_group
)
class ProtectMember:
    """Protect this member from being chosen as surplus, or end its protection."""

    group: GroupId
    member: MemberName
    protected: bool = True

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        await operations.members.protect(self.group, self.member, protected=self.protected, by=by.name)
        return {"group": self.group, "member": self.member, "protected": self.protected}


@over("POST", "/groups/{group}/members/{member}/observe", "observe", verb=Verb.EXAMINE, on=one_group)
class ObserveMember:
    """Gather now and show what is known of one member."""

    group: GroupId
    member: MemberName

    async def perform(self, operations: Operations, by: Actor) -> CloseUp:
        return await operations.members.observe(self.group, self.member)


@over(
    "POST",
    "/groups/{group}/members/{member}/log",
    "read_log",
    body="LogBody",
    may_be_bare=True,
    secret=True,
    verb=Verb.EXAMINE,
    on=one_group,
)
class ReadMemberLog:
    """Show the end of what a member wrote on its console, where its cloud keeps that; the audit trail has who asked."""

    group: GroupId
    member: MemberName
    lines: Annotated[int, Ge(1), Le(LINES_AT_MOST)] = 100

    async def perform(self, operations: Operations, by: Actor) -> MemberLog:
        return await operations.members.log(self.group, self.member, self.lines)


@over("POST", "/groups/{group}/members/{member}/converge", "converge", verb=Verb.CONVERGE, on=one_group)
class ConvergeMember:
    """Make a pass for one member alone, and show what was done."""

    group: GroupId
    member: MemberName

    async def perform(self, operations: Operations, by: Actor) -> MemberPass:
        from handler.operations.outcomes import MemberPass

        outcomes = await operations.members.converge(self.group, self.member, by=by.name)
        return MemberPass(group=self.group, member=self.member, outcomes=outcomes)


MemberOperation = (
    ReplaceMember
    | DeleteMember
    | AdoptMember
    | EvictMember
    | ProtectMember
    | ObserveMember
    | ReadMemberLog
    | ConvergeMember
)
