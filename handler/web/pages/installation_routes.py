"""``/garbage`` and ``/audit``: pages about all groups at once, for those who may read them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from config.errors import Refused
from config.units import MemberName
from handler.operations.address import BECAUSE_AT_MOST, right_of
from handler.operations.daemon_operations import AbandonGarbage
from handler.operations.facade import Operations
from handler.operations.lookup import NoSuch
from handler.operations.registry import perform
from handler.web.needs import EXAMINES, READS_AUDIT, actor_of, grants_of
from handler.web.pages.declared_routes import visitor_of
from handler.web.pages.garbage import GarbageFacts, garbage_page
from handler.web.pages.login_routes import LoginDesk
from handler.web.pages.trail import AUDIT, TrailChoice, trail_markup
from handler.web.session_cookie import GARBAGE, form_of

_SEE_OTHER: Final = 303
_CONFLICT: Final = 409
_REQUESTS: Final = 100
"""Of the audit trail, on one page."""
_Words = Annotated[str, Query(max_length=80)]


def build_installation(operations: Operations) -> APIRouter:
    """Make the routes."""
    routes, pages = APIRouter(include_in_schema=False), _InstallationPages(operations)

    @routes.get(GARBAGE, dependencies=[EXAMINES])
    async def garbage(request: Request) -> Response:
        return await pages.garbage(request)

    @routes.post(GARBAGE, dependencies=[EXAMINES])
    async def abandon(request: Request) -> Response:
        return await pages.abandon(request)

    @routes.get(AUDIT, dependencies=[READS_AUDIT])
    async def audit(
        request: Request,
        who: _Words = "",
        group: _Words = "",
        before: Annotated[int | None, Query(ge=1, le=2**62)] = None,
    ) -> Response:
        return await pages.audit(request, TrailChoice(who=who.strip(), group=group.strip()), before)

    return routes


class _InstallationPages:
    def __init__(self, operations: Operations) -> None:
        self._operations, self._desk = operations, LoginDesk(operations)

    async def garbage(self, request: Request, message: str = "") -> Response:
        """Answer with the garbage of the visitor's groups; ``message``: why a form was refused."""
        found = await self._operations.garbage.shown(grants_of(request))
        visitor, known = visitor_of(request), frozenset(self._operations.groups())
        abandons = self._operations.authorising.allows(actor_of(request), right_of(AbandonGarbage(name=MemberName(""))))
        facts = GarbageFacts(
            items=found.items,
            unseen=tuple(each.words for each in found.unseen),
            now=self._operations.now(),
            is_there=known.__contains__,
            csrf=visitor.csrf if abandons else "",
            message=message,
        )
        page = await asyncio.to_thread(garbage_page, facts)
        return self._desk.framed("Garbage · Trimtab", page, _CONFLICT if message else 200, visitor=visitor)

    async def abandon(self, request: Request) -> Response:
        """Forget what a form names, or say why not."""
        form = form_of(await request.body())
        by = replace(actor_of(request), because=form.get("because", "").strip()[:BECAUSE_AT_MOST])
        try:
            await perform(self._operations, AbandonGarbage(name=MemberName(form.get("name", ""))), by)
        except (Refused, NoSuch) as error:
            return await self.garbage(request, str(error))
        return RedirectResponse(GARBAGE, _SEE_OTHER)

    async def audit(self, request: Request, choice: TrailChoice, before: int | None) -> Response:
        """Answer with a page of the trail."""
        found = await self._operations.trail.page(before, _REQUESTS, choice.fits)
        known = frozenset(self._operations.groups())
        page = await asyncio.to_thread(trail_markup, found, choice, known.__contains__, before)
        return self._desk.framed("Audit trail · Trimtab", page, 200, visitor=visitor_of(request))
