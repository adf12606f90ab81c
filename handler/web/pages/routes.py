"""``/``, ``/groups/{group}``, pages about one group, their events, and their files. None of them changes anything."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup

from config.errors import Refused
from config.model.counters import Counter
from config.units import CounterId, GroupId, MemberName
from handler.identity.grants import Grants
from handler.operations.facade import Operations
from handler.operations.lookup import NoSuch, no_group
from handler.operations.member_course_admin import LivedCourses
from handler.web.gate import COOKIE
from handler.web.needs import EXAMINES, READS, READS_OWN, TUNES, actor_of, grants_of, session_of
from handler.web.pages.act_routes import ActDialogs
from handler.web.pages.addresses import ChoiceAsked, EventsAsked, TimeAsked, ValuesAsked
from handler.web.pages.assets import read_assets
from handler.web.pages.choosing import FleetFilter, order
from handler.web.pages.courses import CoursesAsked, courses_page
from handler.web.pages.facts import PageGatherer
from handler.web.pages.frame import NO_LOGIN, PAGE_HEADERS, Parts, Visitor, banner, document, not_here, page_of
from handler.web.pages.group import group_page
from handler.web.pages.group import parts_of as group_parts
from handler.web.pages.member_pages import MemberPages
from handler.web.pages.messages import why
from handler.web.pages.overview import first_page
from handler.web.pages.rows import FleetRows
from handler.web.pages.setup import setup_page
from handler.web.pages.streams import EventData, FleetNews, OtherTime, PageStreams
from handler.web.pages.tuning_routes import Looker, PageAsked, TuningPages, values_of
from handler.web.pages.windows import RECENT, window_of
from handler.web.problems import ProblemType, problem_response
from handler.web.session_cookie import form_of

_FLEET = ("console.js", "fleet.js")
_GROUP = ("uplot.js", "charts.js", "console.js")


def build_pages(operations: Operations) -> APIRouter:
    """Make the routes; reads the files once, now."""
    console, routes = Console(operations), APIRouter(include_in_schema=False)

    @routes.get("/", dependencies=[READS_OWN])
    async def first(request: Request, asked: Annotated[ChoiceAsked, Query()]) -> Response:
        return await console.overview(grants_of(request), asked.choice, console.visitor(request))

    @routes.get("/groups/{group}", dependencies=[READS_OWN])
    async def group(request: Request, group: str, asked: Annotated[TimeAsked, Query()]) -> Response:
        return await console.group(GroupId(group), grants_of(request), asked, console.visitor(request))

    @routes.get("/groups/{group}/setup", dependencies=[READS_OWN])
    async def setup(request: Request, group: str) -> Response:
        return await console.setup(GroupId(group), grants_of(request), console.visitor(request))

    @routes.get("/groups/{group}/tune", dependencies=[TUNES])
    async def tune(request: Request, group: str, asked: Annotated[TimeAsked, Query()]) -> Response:
        return await console.tune(GroupId(group), asked, request)

    @routes.get("/groups/{group}/values", dependencies=[READS_OWN])
    async def values(request: Request, group: str, asked: Annotated[ValuesAsked, Query()]) -> Response:
        return await console.values(GroupId(group), grants_of(request), asked, console.visitor(request))

    @routes.get("/events", dependencies=[READS])
    async def events(request: Request, asked: Annotated[EventsAsked, Query()]) -> Response:
        return console.events(request, asked)

    @routes.get("/static/{name}")
    async def static(name: str) -> Response:
        return console.asset(name)

    _build_members(routes, console)
    return routes


def _build_members(routes: APIRouter, console: Console) -> None:
    path = "/groups/{group}/members/{member}"

    @routes.get(path, dependencies=[READS_OWN])
    async def member(request: Request, group: str, member: str) -> Response:
        return await console.member(GroupId(group), MemberName(member), request)

    @routes.post(path, dependencies=[EXAMINES])
    async def log(request: Request, group: str, member: str) -> Response:
        return await console.member(GroupId(group), MemberName(member), request, form_of(await request.body()))


class Console:
    """Gathers, renders and sends pages. Rendering is pure and runs in a thread, so that no loop waits for it."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations
        self._gatherer = PageGatherer(operations)
        self._rows = FleetRows(operations, self._gatherer)
        self._streams = PageStreams(operations)
        self._acts = ActDialogs(operations)
        self._tuning = TuningPages(operations)
        self._members = MemberPages(operations)
        self._assets = read_assets()
        self._rendered: dict[GroupId, tuple[int, Parts]] = {}

    def visitor(self, request: Request) -> Visitor:
        """Return who looks at a page."""
        session = session_of(request)
        if session is not None:
            return Visitor(name=session.user, csrf=session.csrf, actor=actor_of(request))
        return Visitor(may_log_in=request.scope.get(COOKIE) is not None and self._operations.users.known.exist)

    async def overview(self, grants: Grants, choice: FleetFilter, visitor: Visitor = NO_LOGIN) -> Response:
        """Return the page of all groups that are the caller's."""
        mark = self._rows.mark()
        rows = await self._rows.of(filter(grants.sees, self._operations.groups()))
        outlines = [made.outline for made in rows.values()]
        ordered = [rows[group] for group in order(outlines, choice.sort)]
        shown = [(made.markup, choice.shows(made.outline, why(made.outline))) for made in ordered]
        acts = self._acts.fleet_bar(visitor.actor)
        main = await asyncio.to_thread(first_page, outlines, shown, choice, acts)
        scripts = _FLEET if acts is None else (*_FLEET, "acts.js")
        return self._page("Trimtab", main, f"/events?since={mark}", scripts=scripts, visitor=visitor)

    async def group(self, group: GroupId, grants: Grants, asked: TimeAsked, visitor: Visitor = NO_LOGIN) -> Response:
        """Return one group's page, or a page that says that there is no such group, or no such time."""
        try:
            window = asked.window(self._operations.now())
        except Refused as error:
            return self._page("Not a time", not_here(str(error)), "", status=422, visitor=visitor)
        try:
            if not grants.sees(group):
                raise NoSuch(self._no_group(group, grants))
            facts = await self._gatherer.facts(group, window)
        except NoSuch as error:
            return self._page("Not here", not_here(str(error)), "", status=404, visitor=visitor)
        acts = self._acts.bar(facts.status, visitor.actor)
        main = await asyncio.to_thread(group_page, facts, acts)
        stream = "&".join(part for part in (f"/events?{urlencode({'group': group})}", window.query) if part)
        scripts = _GROUP if acts is None else (*_GROUP, "acts.js")
        return self._page(f"{group} · Trimtab", main, stream, group=group, scripts=scripts, visitor=visitor)

    async def setup(self, group: GroupId, grants: Grants, visitor: Visitor = NO_LOGIN) -> Response:
        """Return the page of how one group is set up, as of now."""
        try:
            if not grants.sees(group):
                raise NoSuch(self._no_group(group, grants))
            facts = await self._gatherer.setup(group)
        except NoSuch as error:
            return self._page("Not here", not_here(str(error)), "", status=404, visitor=visitor)
        main = await asyncio.to_thread(setup_page, facts)
        return self._page(f"{group}: set-up · Trimtab", main, "", group=group, visitor=visitor)

    async def values(self, group: GroupId, grants: Grants, asked: ValuesAsked, visitor: Visitor = NO_LOGIN) -> Response:
        """Return the page of what a group's members showed by themselves over time."""
        now = self._operations.now()
        try:
            window = asked.window(now)
        except Refused as error:
            return self._page("Not a time", not_here(str(error)), "", status=422, visitor=visitor)
        found: LivedCourses | str
        counters: tuple[Counter, ...] = ()
        counter, members = CounterId(asked.counter) if asked.counter else None, tuple(map(MemberName, asked.member))
        try:
            if not grants.sees(group):
                raise NoSuch(self._no_group(group, grants))
            counters = self._operations.courses.counters(group)
            found = await self._operations.courses.over(group, counter, (window.begin, window.end), members)
        except NoSuch as error:
            return self._page("Not here", not_here(str(error)), "", status=404, visitor=visitor)
        except Refused as error:
            found = str(error)
        wanted = CoursesAsked(
            group=group,
            counters=tuple(each.id for each in counters),
            counter=counter,
            window=window,
            members=members,
            now=now,
        )
        main = await asyncio.to_thread(courses_page, wanted, found)
        return self._page(f"{group}: members · Trimtab", main, "", group=group, scripts=_GROUP, visitor=visitor)

    async def member(
        self, group: GroupId, member: MemberName, request: Request, form: Mapping[str, str] | None = None
    ) -> Response:
        """Return one member's page, also of one that is gone, as long as it is remembered.

        Args:
            group: of the member.
            member: its name.
            request: the visitor's.
            form: what asks for its log; ``None``: nothing does.
        """
        visitor, grants, status = self.visitor(request), grants_of(request), 200
        try:
            if not grants.sees(group):
                raise NoSuch(self._no_group(group, grants))
            if form is None:
                main = await self._members.page(group, member, visitor)
            else:
                main, status = await self._members.log(group, member, visitor, actor_of(request), form)
        except NoSuch as error:
            return self._page("Not here", not_here(str(error)), "", status=404, visitor=visitor)
        return self._page(f"{member} · Trimtab", main, "", group=group, status=status, visitor=visitor)

    async def tune(self, group: GroupId, asked: TimeAsked, request: Request) -> Response:
        """Return the page on which a person tries settings; with an answer if it is asked for without a script."""
        visitor = self.visitor(request)
        looker = Looker(actor_of(request), acts=visitor.actor is not None)
        page_asked = PageAsked(looker, answer="asked" in request.query_params)
        try:
            main = await self._tuning.page(group, self._tuning.window(asked), values_of(request), page_asked)
        except Refused as error:
            return self._page("Not a time", not_here(str(error)), "", status=422, visitor=visitor)
        scripts = ("uplot.js", "charts.js", "console.js", "tuning.js", *(("acts.js",) if looker.acts else ()))
        return self._page(f"{group}: try settings · Trimtab", main, "", group=group, scripts=scripts, visitor=visitor)

    def events(self, request: Request, asked: EventsAsked) -> Response:
        """Return the stream of one group's page, or of the page of all groups since its mark."""
        if asked.group is None:
            lines = FleetNews(self._operations, self._rows, grants_of(request))
            return self._streams.open(request, None, lines, self._rows.since(asked.since))
        group = GroupId(asked.group)
        if group not in self._operations.groups():
            return problem_response(ProblemType.NOT_FOUND, self._no_group(group, grants_of(request)))
        try:
            window = asked.window(self._operations.now())
        except Refused as error:
            return problem_response(ProblemType.INVALID, str(error))
        news = self._group if window.span == RECENT else OtherTime(self._gatherer, asked, self._group)
        return self._streams.open(request, group, lambda _: news(group), frozenset())

    def asset(self, name: str) -> Response:
        """Return a file of the pages; its path changes with its content."""
        if name not in self._assets.files:
            return problem_response(ProblemType.NOT_FOUND, f"there is no {name}")
        headers = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
        return Response(self._assets.files[name], headers=headers, media_type=self._assets.kind_of(name))

    def _no_group(self, group: GroupId, grants: Grants) -> str:
        return no_group(group, [known for known in self._operations.groups() if grants.sees(known)])

    def _page(  # noqa: PLR0913  # what differs between pages
        self,
        title: str,
        main: Markup,
        stream: str,
        *,
        visitor: Visitor,
        group: GroupId | None = None,
        scripts: tuple[str, ...] = ("console.js",),
        status: int = 200,
    ) -> Response:
        stopped, now = self._operations.pauses.fleet_pause(), self._operations.now()
        page = page_of(
            title,
            group=group,
            stopped=stopped,
            now=now,
            stream=stream,
            assets=self._assets.version,
            scripts=scripts if not visitor.name else (*scripts, "acting.js"),
            visitor=visitor,
        )
        return HTMLResponse(document(page, main), status, PAGE_HEADERS)

    async def _group(self, group: GroupId) -> EventData:
        """Render the last half hour of a group once for all who look."""
        beats = self._operations.pulse.beats(group)
        if group not in self._rendered or self._rendered[group][0] != beats:
            facts = await self._gatherer.facts(group, window_of(self._operations.now()))
            self._rendered[group] = (beats, await asyncio.to_thread(group_parts, facts))
        return {"parts": self._rendered[group][1] | {"fleet": banner(self._operations.pauses.fleet_pause())}}
