"""``/groups/{group}/tune``: a person tries other settings over the past. Nothing is changed by it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup

from config.errors import Refused
from config.units import GroupId, format_span
from handler.identity.actors import Actor
from handler.operations.facade import Operations
from handler.operations.setting_changes import SettingChange
from handler.web.needs import TUNES, actor_of
from handler.web.pages.addresses import TimeAsked
from handler.web.pages.frame import PAGE_HEADERS, href
from handler.web.pages.tuning import (
    USUAL,
    TunePage,
    answer_part,
    entries_of,
    refusal_part,
    span_links,
    tune_page,
)
from handler.web.pages.windows import Window, field_text, window_of

_OTHERS = frozenset({"span", "from", "to", "asked"})
_MOST_VALUES, _LONGEST_VALUE = 64, 40


def build_tuning(operations: Operations) -> APIRouter:
    """Make the route of answers, which pages ask for when a value changes."""
    routes, tuning = APIRouter(include_in_schema=False), TuningPages(operations)

    @routes.get("/groups/{group}/tune/answer", dependencies=[TUNES])
    async def answer(request: Request, group: str, asked: Annotated[TimeAsked, Query()]) -> Response:
        found = await tuning.answer(GroupId(group), tuning.window(asked), values_of(request), actor_of(request))
        return HTMLResponse(found, headers=PAGE_HEADERS)

    return routes


def values_of(request: Request) -> Mapping[str, str]:
    """Return the values that an address asks about, by name of a parameter.

    Raises:
        Refused: there are too many, or one is too long.
    """
    values = {name: value for name, value in request.query_params.items() if name not in _OTHERS}
    if len(values) > _MOST_VALUES or any(len(value) > _LONGEST_VALUE for value in values.values()):
        raise Refused(f"expected at most {_MOST_VALUES} values of at most {_LONGEST_VALUE} characters")
    return values


class TuningPages:
    """Asks what would have happened, and lays it out."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    def window(self, asked: TimeAsked) -> Window:
        """Return the time of an address; without one, the last week. Raises `Refused`."""
        now = self._operations.now()
        if asked.span or asked.begin:
            return asked.window(now)
        return window_of(now, span=format_span(USUAL))

    async def page(self, group: GroupId, window: Window, values: Mapping[str, str], person: Actor | None) -> Markup:
        """Return the page's content; with the answer, if a ``person`` asks where no script runs.

        Raises:
            NoSuch: there is no such group.
        """
        refused, answer = tuple[str, ...](), Markup()
        try:
            parameters = self._operations.tuning.parameters(group)
        except Refused as error:
            parameters, refused = (), tuple(str(error).splitlines())
        if person is not None and not refused:
            answer = await self.answer(group, window, values, person)
        return tune_page(
            TunePage(
                group=group,
                href=href(group),
                spans=span_links(self._operations.now(), window, values),
                begin=field_text(window.begin),
                end=field_text(window.end),
                entries=tuple(entries_of(parameters, values)),
                refused=refused,
                answer=answer,
            )
        )

    async def answer(self, group: GroupId, window: Window, values: Mapping[str, str], person: Actor) -> Markup:
        """Return what would have happened, or why that is not known."""
        try:
            answer = await self._operations.tuning.what_if(group, window.begin, window.end, values, person.name)
        except Refused as error:
            return refusal_part(str(error))
        return answer_part(answer, await self._change(group, values, person))

    async def _change(self, group: GroupId, values: Mapping[str, str], person: Actor) -> SettingChange | str | None:
        try:
            return await self._operations.settings.change(group, values, person.grants)
        except Refused as error:
            return str(error)
