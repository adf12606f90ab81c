"""``/``, ``/groups/{group}``, their events, and their files. All of them only read."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response, StreamingResponse
from markupsafe import Markup
from starlette.types import Receive, Scope, Send

from config.errors import Refused, StoreError
from config.units import GroupId, Seconds
from handler.identity.actors import Actor, Way
from handler.identity.grants import Grants
from handler.operations.facade import Operations
from handler.operations.lookup import NoSuch, no_group
from handler.planning.status import GroupStatus
from handler.runtime.pulse import PulseListener
from handler.web.gate import AGAIN
from handler.web.needs import READS, READS_OWN, actor_of, grants_of
from handler.web.pages.facts import Glance, PageGatherer
from handler.web.pages.frame import Parts, banner, document, not_here, page_of
from handler.web.pages.group import group_page
from handler.web.pages.group import parts_of as group_parts
from handler.web.pages.overview import first_page, order, overview, summary
from handler.web.pages.overview import parts_of as row_parts
from handler.web.problems import Problem, problem_response

News = frozenset[GroupId]
_TOGETHER: Seconds = 0.25
"""Changes within this time are one event."""
_RETRY_MS = 2000
_LOOKS: Seconds = 1.0
"""How often a stream looks whether its caller may still see it."""
STREAMS_OF_TOKEN = 8
"""Streams of events with one token."""
_GLANCES_AT_ONCE = 25
_POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def build_pages(operations: Operations) -> APIRouter:
    """Make the routes; reads the files once, now."""
    console, routes = Console(operations), APIRouter(include_in_schema=False)

    @routes.get("/", dependencies=[READS_OWN])
    async def first(request: Request) -> Response:
        return await console.overview(grants_of(request))

    @routes.get("/groups/{group}", dependencies=[READS_OWN])
    async def group(request: Request, group: str) -> Response:
        return await console.group(GroupId(group), grants_of(request))

    @routes.get("/events", dependencies=[READS])
    async def events(request: Request, group: str | None = None) -> Response:
        return console.events(GroupId(group) if group is not None else None, request)

    @routes.get("/static/{name}")
    async def static(name: str) -> Response:
        return console.asset(name)

    return routes


class Console:
    """Gathers, renders and sends pages. Rendering is pure and runs in a thread, so that no loop waits for it."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations
        self._gatherer = PageGatherer(operations)
        self._assets = _read(Path(__file__).with_name("static"))
        self._version = hashlib.sha256(b"".join(self._assets.values())).hexdigest()[:12]
        self._streams = Counter[tuple[str, str]]()
        self._rendered: dict[GroupId, tuple[int, Parts]] = {}

    async def overview(self, grants: Grants) -> Response:
        """Return the page of all groups that are the caller's."""
        glances = await self._glances(filter(grants.sees, self._operations.groups()))
        main = await asyncio.to_thread(first_page, glances)
        return self._page("Trimtab", None, main, "/events")

    async def group(self, group: GroupId, grants: Grants) -> Response:
        """Return one group's page, or a page that says that there is no such group."""
        try:
            if not grants.sees(group):
                raise NoSuch(no_group(group, [known for known in self._operations.groups() if grants.sees(known)]))
            facts = await self._gatherer.facts(group)
        except NoSuch as error:
            return self._page("Not here", None, not_here(str(error)), "", status=404)
        main = await asyncio.to_thread(group_page, facts)
        return self._page(f"{group} · Trimtab", group, main, f"/events?group={facts.status.group}")

    def events(self, group: GroupId | None, request: Request) -> Response:
        """Return a stream that ends when the group or the daemon ends, or soon after its caller's rights."""
        actor, grants = actor_of(request), grants_of(request)
        token = (actor.name, actor.origin.credential)
        if actor.origin.way is Way.TOKEN and self._streams[token] >= STREAMS_OF_TOKEN:
            words = f"this token has {STREAMS_OF_TOKEN} streams of events already: close a page"
            return problem_response(Problem.TOO_MANY, words, {"Retry-After": "10"})
        try:
            if group is not None:
                self._operations.group(group)
            listener = self._operations.pulse.listen(group)
        except NoSuch as error:
            return problem_response(Problem.NOT_FOUND, str(error))
        except Refused as error:
            return problem_response(Problem.BUSY, str(error), {"Retry-After": "10"})
        parts = self._news_of_all(grants) if group is None else lambda _: self._group(group)
        told = self._told(listener, parts, request.scope.get(AGAIN, lambda: actor), grants)
        return _Stream(listener, told, self._counted(token))

    @contextlib.contextmanager
    def _counted(self, token: tuple[str, str]) -> Iterator[None]:
        self._streams[token] += 1
        try:
            yield
        finally:
            self._streams[token] -= 1
            if not self._streams[token]:
                del self._streams[token]

    def asset(self, name: str) -> Response:
        """Return a file of the pages; its path changes with its content."""
        if name not in self._assets:
            return problem_response(Problem.NOT_FOUND, f"there is no {name}")
        headers = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
        return Response(self._assets[name], headers=headers, media_type=_KINDS[Path(name).suffix])

    def _page(self, title: str, group: GroupId | None, main: Markup, stream: str, status: int = 200) -> Response:
        stopped, now = self._operations.fleet_pause(), self._operations.now()
        page = page_of(title, group=group, stopped=stopped, now=now, stream=stream, assets=self._version)
        return HTMLResponse(document(page, main), status, _HEADERS)

    async def _told(
        self,
        listener: PulseListener,
        parts_of: Callable[[News], Awaitable[Parts]],
        again: Callable[[], Actor | None],
        grants: Grants,
    ) -> AsyncIterator[str]:
        every = self._operations.pulse.heartbeat
        look, quiet = min(_LOOKS, every), 0.0
        yield f"retry: {_RETRY_MS}\n\n"
        yield _event("beat", {"now": self._operations.now(), "every": every})
        while (news := await listener.news(look)) is not None:
            now = again()
            if now is None or now.grants != grants:
                return  # the token, the user, or its role is gone: a new request has what it may see now
            quiet = 0.0 if news or quiet >= every else quiet + look
            if not news and quiet < every:
                continue
            try:
                on_all = {"fleet": banner(self._operations.fleet_pause())}
                told = {"parts": await parts_of(news) | on_all} if news else {"every": every}
            except NoSuch:
                yield _event("gone", {"now": self._operations.now()})
                return
            except StoreError:
                continue  # the next tick may succeed; until then the page shows its age
            yield _event("tick" if news else "beat", {"now": self._operations.now(), **told})
            await asyncio.sleep(_TOGETHER if news else 0)

    async def _group(self, group: GroupId) -> Parts:
        """Render a group once for all its listeners."""
        beats = self._operations.pulse.beats(group)
        if group not in self._rendered or self._rendered[group][0] != beats:
            facts = await self._gatherer.facts(group)
            self._rendered[group] = (beats, await asyncio.to_thread(group_parts, facts))
        return self._rendered[group][1]

    def _news_of_all(self, grants: Grants) -> Callable[[News], Awaitable[Parts]]:
        """Return one listener's parts: the complete list when groups come, go or move, else the changed rows."""
        known: dict[GroupId, GroupStatus] = {}

        async def parts(news: News) -> Parts:
            there, before = tuple(filter(grants.sees, self._operations.groups())), order(known.values())
            glances = await self._glances(sorted(filter(grants.sees, news))) if set(there) == known.keys() else []
            known.update({glance.status.group: glance.status for glance in glances})
            whole = set(there) != known.keys() or order(known.values()) != before
            if whole:
                known.clear()
                glances = await self._glances(there)
            known.update({glance.status.group: glance.status for glance in glances})
            top: Parts = {"summary": summary([known[group] for group in sorted(known)])}
            if whole:
                return top | {"groups": await asyncio.to_thread(overview, glances)}
            return top | await asyncio.to_thread(row_parts, glances)

        return parts

    async def _glances(self, groups: Iterable[GroupId]) -> list[Glance]:
        glances = []
        for count, group in enumerate(groups):
            if count % _GLANCES_AT_ONCE == _GLANCES_AT_ONCE - 1:
                await asyncio.sleep(0)  # a thousand groups must not hold the loop
            with contextlib.suppress(NoSuch):  # deleted meanwhile
                glances.append(self._gatherer.glance(group))
        return glances


class _Stream(StreamingResponse):
    """A stream of events; however it ends, the listener's place is free again."""

    def __init__(
        self, listener: PulseListener, told: AsyncIterator[str], counted: contextlib.AbstractContextManager[None]
    ) -> None:
        super().__init__(told, media_type="text/event-stream", headers={"Cache-Control": "no-store"})
        self._listener = listener
        self._counted = counted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._listener, self._counted:
            await super().__call__(scope, receive, send)


def _event(name: str, told: Mapping[str, object]) -> str:
    return f"event: {name}\ndata: {json.dumps(told, separators=(',', ':'))}\n\n"


def _read(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.suffix in _KINDS}
