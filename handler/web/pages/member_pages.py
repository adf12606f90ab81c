"""A member's page and the form for its log: gathered, and the log read, on the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from markupsafe import Markup

from config.errors import Refused
from config.units import GroupId, MemberName
from handler.identity.actors import Actor
from handler.operations.address import right_of
from handler.operations.facade import Operations
from handler.operations.member_log import MemberLog
from handler.operations.member_operations import ReadMemberLog
from handler.operations.registry import perform
from handler.web.pages.frame import Visitor
from handler.web.pages.member import EVENTS, LINES, LogAsked, MemberFacts, member_page

_CONFLICT: Final = 409


class MemberPages:
    """Makes the page; reads a log for a person with the right, by the operation that the audit trail has."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    async def page(self, group: GroupId, member: MemberName, visitor: Visitor) -> Markup:
        """Return the page. Raises `NoSuch` and `StoreError`."""
        return await self._page(group, member, self._asked(group, member, visitor))

    async def log(
        self, group: GroupId, member: MemberName, visitor: Visitor, actor: Actor, form: Mapping[str, str]
    ) -> tuple[Markup, int]:
        """Return the page with the log that a form asks for, or with why it is refused, and the answer's status.

        Raises:
            Forbidden: the actor may not read it.
            NoSuch: the group has and had no such member.
            StoreError: the store cannot be read or written.
        """
        asked = self._asked(group, member, visitor)
        try:
            asked = replace(asked, lines=_lines(form.get("lines", "")))
            found = await perform(self._operations, ReadMemberLog(group=group, member=member, lines=asked.lines), actor)
        except Refused as error:
            return await self._page(group, member, replace(asked, answer=str(error))), _CONFLICT
        answer = found if isinstance(found, MemberLog) else None
        return await self._page(group, member, replace(asked, answer=answer)), 200

    def _asked(self, group: GroupId, member: MemberName, visitor: Visitor) -> LogAsked:
        actor, right = visitor.actor, right_of(ReadMemberLog(group=group, member=member))
        may = actor is not None and self._operations.authorising.allows(actor, right)
        return LogAsked(csrf=visitor.csrf if may else "")

    async def _page(self, group: GroupId, member: MemberName, log: LogAsked) -> Markup:
        operations = self._operations
        recorded = await operations.members.recorded(group, member, EVENTS)
        revisions = await operations.rolling.revisions(group)
        members = {each.name: each for each in operations.group(group).members}
        facts = MemberFacts(
            group=group,
            member=member,
            recorded=recorded,
            status=members.get(member),
            world=operations.last_world(group),
            revisions=revisions,
            now=operations.now(),
            log=log,
        )
        return await asyncio.to_thread(member_page, facts)


def _lines(text: str) -> int:
    """Return how many lines a form asks for. Raises `Refused`."""
    if text not in map(str, LINES):
        raise Refused(f"lines: choose {', '.join(map(str, LINES[:-1]))} or {LINES[-1]}")
    return int(text)
