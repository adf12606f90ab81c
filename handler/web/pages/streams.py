"""Events of pages: what has changed, as markup that a page puts in its place."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import cast

from fastapi import Request
from fastapi.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from config.errors import Refused, StoreError
from config.units import GroupId, Instant, Seconds
from handler.identity.actors import Actor, Way
from handler.identity.grants import Grants
from handler.operations.facade import Operations
from handler.operations.lookup import NoSuch
from handler.runtime.pulse import PulseListener
from handler.web.gate import AGAIN
from handler.web.needs import actor_of, grants_of
from handler.web.pages.addresses import TimeAsked
from handler.web.pages.facts import PageGatherer
from handler.web.pages.frame import Parts, banner
from handler.web.pages.group import chart_parts
from handler.web.pages.overview import fleet_parts
from handler.web.pages.rows import FleetRows
from handler.web.pages.windows import Window
from handler.web.problems import ProblemType, problem_response

News = frozenset[GroupId]
EventData = dict[str, object]
"""The data of an event: ``parts`` by name; on the first page also ``rows`` of groups with news, and groups ``gone``."""

_TOGETHER: Seconds = 0.25
"""Changes within this time are one event."""
_RETRY_MS = 2000
_LOOKS: Seconds = 1.0
"""How often a stream looks whether its caller may still see it."""
_LOOKS_ALIKE = 200
"""A chart that is older than its length by less than one part of so many looks as it did."""
_CHARTS = frozenset({"sizes", "conditions"})
STREAMS_OF_TOKEN = 8
"""Streams of events with one token."""


class PageStreams:
    """Opens streams, and counts those of each token."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations
        self._streams = Counter[tuple[str, str]]()

    def open(
        self, request: Request, group: GroupId | None, data_of: Callable[[News], Awaitable[EventData]], first: News
    ) -> Response:
        """Return a stream that ends when the group or the daemon ends, or soon after its caller's rights.

        Args:
            request: what asks for it.
            group: the only one that it is about; ``None``: all.
            data_of: returns an event's data, given the groups with news. Raises `NoSuch` and `StoreError`.
            first: groups whose news the page has missed.
        """
        actor, grants = actor_of(request), grants_of(request)
        token = (actor.name, actor.origin.credential)
        if actor.origin.way is Way.TOKEN and self._streams[token] >= STREAMS_OF_TOKEN:
            words = f"this token has {STREAMS_OF_TOKEN} streams of events already: close a page"
            return problem_response(ProblemType.TOO_MANY, words, {"Retry-After": "10"})
        try:
            listener = self._operations.pulse.listen(group)
        except Refused as error:
            return problem_response(ProblemType.BUSY, str(error), {"Retry-After": "10"})
        for each in first:
            listener.hear(each)
        texts = self._events(listener, data_of, request.scope.get(AGAIN, lambda: actor), grants)
        return _Stream(listener, texts, self._counted(token))

    @contextlib.contextmanager
    def _counted(self, token: tuple[str, str]) -> Iterator[None]:
        self._streams[token] += 1
        try:
            yield
        finally:
            self._streams[token] -= 1
            if not self._streams[token]:
                del self._streams[token]

    async def _events(
        self,
        listener: PulseListener,
        data_of: Callable[[News], Awaitable[EventData]],
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
                data = await data_of(news) if news else {"every": every}
            except NoSuch:
                yield _event("gone", {"now": self._operations.now()})
                return
            except StoreError:
                continue  # the next tick may succeed; until then the page shows its age
            yield _event("tick" if news else "beat", {"now": self._operations.now(), **data})
            await asyncio.sleep(_TOGETHER if news else 0)


class FleetNews:
    """The events of one page of all groups: lines of groups with news, and parts that have changed."""

    def __init__(self, operations: Operations, rows: FleetRows, grants: Grants) -> None:
        self._operations = operations
        self._rows = rows
        self._grants = grants
        self._parts: Parts = {}

    async def __call__(self, news: News) -> EventData:
        """Return the data of an event."""
        mark = self._rows.mark()
        there = tuple(filter(self._grants.sees, self._operations.groups()))
        gone = news - frozenset(self._operations.groups())
        self._rows.forget(gone)
        rows = await self._rows.of(there)
        outlines = [made.outline for made in rows.values()]
        parts = {"fleet": banner(self._operations.pauses.fleet_pause())} | await asyncio.to_thread(
            fleet_parts, outlines
        )
        changed = {name: markup for name, markup in parts.items() if self._parts.get(name) != markup}
        self._parts = parts
        return {
            "parts": changed,
            "rows": {group: rows[group].markup for group in sorted(news) if group in rows},
            "gone": sorted(filter(self._grants.sees, gone)),
            "mark": mark,
        }


class OtherTime:
    """The events of one page of a group that shows another time than the last half hour."""

    def __init__(
        self, gatherer: PageGatherer, asked: TimeAsked, recent: Callable[[GroupId], Awaitable[EventData]]
    ) -> None:
        self._gatherer = gatherer
        self._asked = asked
        self._recent = recent
        self._drawn: Instant | None = None

    async def __call__(self, group: GroupId) -> EventData:
        """Return the data of an event: how the group is now, and charts only once they look different."""
        data = await self._recent(group)
        window = self._asked.window(self._gatherer.now())
        kept = _CHARTS if window.span is not None else {*_CHARTS, "decisions"}
        parts = {name: markup for name, markup in cast("Parts", data["parts"]).items() if name not in kept}
        if window.span is not None and self._is_old(window):
            self._drawn = window.end
            facts = await self._gatherer.facts(group, window)
            parts |= await asyncio.to_thread(chart_parts, facts)
        return data | {"parts": parts}

    def _is_old(self, window: Window) -> bool:
        return self._drawn is None or window.end - self._drawn >= window.length / _LOOKS_ALIKE


class _Stream(StreamingResponse):
    """A stream of events; however it ends, the listener's place is free again."""

    def __init__(
        self, listener: PulseListener, texts: AsyncIterator[str], counted: contextlib.AbstractContextManager[None]
    ) -> None:
        super().__init__(texts, media_type="text/event-stream", headers={"Cache-Control": "no-store"})
        self._listener = listener
        self._counted = counted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._listener, self._counted:
            await super().__call__(scope, receive, send)


def _event(name: str, data: Mapping[str, object]) -> str:
    return f"event: {name}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n"
