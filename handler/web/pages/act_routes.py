"""``/groups/{group}/acts`` and ``/acts``: dialogs that say what will happen. Their requests go to the API."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup

from config.units import GroupId, MemberName
from handler.identity.actors import Actor
from handler.identity.rights import Right, Verb, on_groups
from handler.operations.address import right_of
from handler.operations.facade import Operations
from handler.operations.group_operations import ConvergeGroup
from handler.operations.lookup import NoSuch, nearest
from handler.operations.plan_text import plan_lines
from handler.operations.registry import perform
from handler.planning.status import GroupStatus
from handler.planning.steps import Plan
from handler.web.needs import READS, READS_ALL, actor_of
from handler.web.pages.acts import (
    ACTS,
    AUDITED_REASON,
    SHOWN_REASON,
    ActBar,
    Allowed,
    DialogField,
    act_bar,
    dialog_of,
    fleet_bar,
    fleet_dialog,
    size_asked,
    span_asked,
)
from handler.web.pages.addresses import ActAsked
from handler.web.pages.frame import PAGE_HEADERS
from handler.web.pages.offer import Offer
from handler.web.pages.offers import Entered, Topic, member_offers, offers_of, size_now
from handler.web.pages.pause_offers import pausing_fleet
from handler.web.render import planned


def build_acts(operations: Operations) -> APIRouter:
    """Make the routes."""
    routes, acts = APIRouter(include_in_schema=False), ActDialogs(operations)

    @routes.get("/groups/{group}/acts", dependencies=[READS])
    async def dialog(request: Request, group: str, asked: Annotated[ActAsked, Query()]) -> Response:
        return HTMLResponse(await acts.dialog(GroupId(group), asked, actor_of(request)), headers=PAGE_HEADERS)

    @routes.get(ACTS, dependencies=[READS_ALL])
    async def of_all_groups(request: Request) -> Response:
        return HTMLResponse(acts.of_fleet(actor_of(request)), headers=PAGE_HEADERS)

    return routes


class ActDialogs:
    """Asks for every offer whether its operation is the person's: `Authorising` alone decides."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    def bar(self, status: GroupStatus, actor: Actor | None) -> ActBar | None:
        """Return what a page offers; ``None``: nothing."""
        if actor is None:
            return None
        tunes = self._operations.authorising.allows(actor, Right(Verb.TUNE, on_groups((status.group,))))
        return act_bar(status, self._allowed(actor), tunes=tunes)

    def fleet_bar(self, actor: Actor | None) -> ActBar | None:
        """Return what the page of all groups offers; ``None``: nothing."""
        return None if actor is None else fleet_bar(self._allowed(actor))

    def of_fleet(self, actor: Actor) -> Markup:
        """Return the dialog of the pause of all groups, as things are now."""
        offers = pausing_fleet(self._operations.pauses.fleet_pause(), len(self._operations.groups()))
        return fleet_dialog(offers, self._allowed(actor))

    async def dialog(self, group: GroupId, asked: ActAsked, actor: Actor) -> Markup:
        """Return one dialog, as things are now. Raises `NoSuch` and `StoreError`."""
        status, allowed = self._operations.group(group), self._allowed(actor)
        if asked.member:
            return dialog_of(f"{asked.member} of {group}", self._of_member(status, asked.member), allowed)
        plan = await self._plan(group, actor) if asked.topic is Topic.CONVERGE else ()
        revisions = await self._operations.rolling.revisions(group) if asked.topic is Topic.ROLL else ()
        becomes_quiet = self._operations.definition(group).group.quiet_time > 0
        entered = Entered(size=asked.size, lasts=asked.lasts)
        offers = offers_of(asked.topic, status, entered, plan, revisions, becomes_quiet=becomes_quiet)
        title, reason = f"{asked.topic.value.capitalize()} {group}", AUDITED_REASON
        if asked.topic is Topic.FREEZE:
            reason = SHOWN_REASON
        return dialog_of(title, offers, allowed, _question(asked, status), reason=reason)

    def _allowed(self, actor: Actor) -> Allowed:
        authorising = self._operations.authorising
        return lambda operation: authorising.allows(actor, right_of(operation))

    def _of_member(self, status: GroupStatus, name: str) -> Iterable[Offer]:
        members = {member.name: member for member in status.members}
        found = members.get(MemberName(name))
        if found is None:
            raise NoSuch(f"group {status.group} has no member {name}{nearest(name, members)}")
        return member_offers(status, found)

    async def _plan(self, group: GroupId, actor: Actor) -> tuple[str, ...]:
        """Return what a pass would do now, if the person may order one."""
        dry_run = ConvergeGroup(group=group, dry_run=True)
        if not self._allowed(actor)(dry_run):
            return ()
        plan = await perform(self._operations, dry_run, actor)
        return tuple(plan_lines(planned(plan))) if isinstance(plan, Plan) else ()


def _question(asked: ActAsked, status: GroupStatus) -> DialogField | None:
    match asked.topic:
        case Topic.SCALE:
            return size_asked(size_now(status) if asked.size is None else asked.size)
        case Topic.FREEZE:
            return span_asked(asked.lasts)
        case _:
            return None
