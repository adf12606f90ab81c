"""``/groups/{group}/tune``: a person tries other settings over the past; dialogs and a patch to have them declared."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, assert_never
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup

from config.errors import Refused
from config.units import GroupId, format_span
from handler.identity.actors import Actor
from handler.operations.address import right_of
from handler.operations.facade import Operations
from handler.operations.setting_changes import SettingChange
from handler.web.needs import TUNES, actor_of, session_of
from handler.web.pages.acts import dialog_of, refusing
from handler.web.pages.addresses import TimeAsked
from handler.web.pages.frame import PAGE_HEADERS, href
from handler.web.pages.offer import Offer
from handler.web.pages.setting_offers import applied_words, apply_offer, canary_offer, end_canary_offer, return_offer
from handler.web.pages.setting_shown import CanaryShown, SettingActions, canary_of
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

_OTHERS = frozenset({"span", "from", "to", "asked", "act"})
_MOST_VALUES, _LONGEST_VALUE = 64, 40


def build_tuning(operations: Operations) -> APIRouter:
    """Make the route of answers, which pages ask for when a value changes."""
    routes, tuning = APIRouter(include_in_schema=False), TuningPages(operations)

    @routes.get("/groups/{group}/tune/answer", dependencies=[TUNES])
    async def answer(request: Request, group: str, asked: Annotated[TimeAsked, Query()]) -> Response:
        looker = Looker(actor_of(request), acts=session_of(request) is not None)
        found = await tuning.answer(GroupId(group), tuning.window(asked), values_of(request), looker)
        return HTMLResponse(found, headers=PAGE_HEADERS)

    @routes.get("/groups/{group}/tune/dialog", dependencies=[TUNES])
    async def dialog(request: Request, group: str, act: SettingAct = SettingAct.APPLY) -> Response:
        found = await tuning.dialog(GroupId(group), act, values_of(request), actor_of(request))
        return HTMLResponse(found, headers=PAGE_HEADERS)

    @routes.get("/groups/{group}/tune/patch", dependencies=[TUNES])
    async def patch(request: Request, group: str) -> Response:
        text = await tuning.patch(GroupId(group), values_of(request), actor_of(request))
        name = quote(f"{group}.patch", safe="")
        headers = {**PAGE_HEADERS, "Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
        return Response(text, headers=headers, media_type="text/x-diff; charset=utf-8")

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


class SettingAct(enum.Enum):
    """What a dialog is about; the value is in its address."""

    APPLY = "apply"
    BACK = "back"
    CANARY = "canary"
    STOP = "stop"

    @property
    def title(self) -> str:
        """How its dialog begins."""
        return {"apply": "Apply to", "back": "Go back in", "canary": "A canary of", "stop": "Stop the canary of"}[
            self.value
        ]


@dataclass(frozen=True, slots=True)
class Looker:
    """Who looks at a page."""

    person: Actor
    acts: bool
    """It is logged in, so that its page can send requests."""


@dataclass(frozen=True, slots=True)
class PageAsked:
    """Who asks for a page, and with how much of it."""

    looker: Looker
    answer: bool
    """The values of the address are to be replayed, since no script asks for that."""


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

    async def page(self, group: GroupId, window: Window, values: Mapping[str, str], asked: PageAsked) -> Markup:
        """Return the page's content; with the answer, if it is asked for where no script runs.

        Raises:
            NoSuch: there is no such group.
            StoreError: the store cannot be read.
        """
        refused, answer, applied = tuple[str, ...](), Markup(), None
        try:
            applied = (await self._operations.settings.current(group, asked.looker.person.grants)).applied
            parameters = self._operations.tuning.parameters(group)
        except Refused as error:
            parameters, refused = (), tuple(str(error).splitlines())
        if asked.answer and not refused:
            answer = await self.answer(group, window, values, asked.looker)
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
                applied="" if applied is None else applied_words(applied),
                dialog=f"{href(group)}/tune/dialog?act=back" if asked.looker.acts else "",
                canary=await self._canary(group, asked.looker),
            )
        )

    async def _canary(self, group: GroupId, looker: Looker) -> CanaryShown | None:
        try:
            status = await self._operations.canaries.status(group, looker.person.grants)
        except Refused:
            return None
        return canary_of(status, acts=looker.acts)

    async def answer(self, group: GroupId, window: Window, values: Mapping[str, str], looker: Looker) -> Markup:
        """Return what would have happened, or why that is not known."""
        try:
            answer = await self._operations.tuning.what_if(group, window.begin, window.end, values, looker.person.name)
        except Refused as error:
            return refusal_part(str(error))
        changed: SettingChange | str | None
        try:
            changed = await self._operations.settings.change(group, values, looker.person.grants)
        except Refused as error:
            changed = str(error)
        applying = SettingActions(
            path=f"{href(group)}/tune",
            query=urlencode(values),
            acts=looker.acts,
            writable=self._operations.settings.writable(),
        )
        return answer_part(answer, changed, applying)

    async def dialog(self, group: GroupId, act: SettingAct, values: Mapping[str, str], person: Actor) -> Markup:
        """Return the dialog of one act, as things are now.

        Raises:
            NoSuch: there is no such group.
            StoreError: the store cannot be read.
        """
        authorising = self._operations.authorising
        try:
            offer = await self._offer(group, act, values, person)
        except Refused as error:
            return refusing(f"{act.title} {group}", str(error))
        return dialog_of(
            f"{act.title} {group}", (offer,), lambda operation: authorising.allows(person, right_of(operation))
        )

    async def _offer(self, group: GroupId, act: SettingAct, values: Mapping[str, str], person: Actor) -> Offer:
        settings = self._operations.settings
        match act:
            case SettingAct.APPLY | SettingAct.CANARY:
                change = await settings.change(group, values, person.grants)
                if change is None:
                    raise Refused("These values are declared.")
                made = apply_offer if act is SettingAct.APPLY else canary_offer
                return made(group, values, change)
            case SettingAct.BACK:
                change = await settings.return_change(group, person.grants)
                applied = (await settings.current(group, person.grants)).applied
                if change is None or applied is None:
                    raise Refused("Nothing was applied here.")
                return return_offer(group, applied, change)
            case SettingAct.STOP:
                return end_canary_offer(group)
            case _:
                assert_never(act)

    async def patch(self, group: GroupId, values: Mapping[str, str], person: Actor) -> str:
        """Return the lines of the file that values change; empty: none does.

        Raises:
            NoSuch: there is no such group.
            Refused: why they cannot be declared.
        """
        change = await self._operations.settings.change(group, values, person.grants)
        return "" if change is None else "".join(f"{line}\n" for line in change.patch)
