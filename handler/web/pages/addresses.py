"""What the addresses of pages ask for."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from config.units import Instant
from handler.web.pages.choosing import STATES, FleetFilter, Sort
from handler.web.pages.freeze_offers import AT_FIRST
from handler.web.pages.offers import Topic
from handler.web.pages.windows import Window, window_of
from handler.what_if.member_question import SHOWN


class ChoiceAsked(BaseModel):
    """The groups that the first page shows."""

    q: str = Field("", max_length=200)
    state: str = Field("", pattern=f"^({'|'.join(STATES)})$")
    sort: Sort = Sort.WORST

    @property
    def choice(self) -> FleetFilter:
        """What a person wants to see."""
        return FleetFilter(words=self.q, state=self.state, sort=self.sort)


class TimeAsked(BaseModel):
    """The time that an address asks for."""

    span: str = Field("", max_length=20)
    begin: str = Field("", max_length=40, alias="from")
    end: str = Field("", max_length=40, alias="to")

    def window(self, now: Instant) -> Window:
        """Return it. Raises `Refused`."""
        return window_of(now, span=self.span, begin=self.begin, end=self.end)


class ValuesAsked(TimeAsked):
    """The values of members that an address asks for."""

    counter: str = Field("", max_length=255)
    """Empty: the first one."""
    member: list[Annotated[str, Field(max_length=255)]] = Field([], max_length=SHOWN)
    """Only these; none: those farthest from the others."""


class EventsAsked(TimeAsked):
    """The events that an address asks for."""

    group: str | None = None
    since: str = ""
    """The mark of a page of all groups."""


class ActAsked(BaseModel):
    """The dialog that an address asks for."""

    topic: Topic = Topic.SCALE
    size: int | None = Field(None, ge=0, le=1_000_000)
    """The size that a person has entered; ``None``: none yet."""
    lasts: float = Field(AT_FIRST, gt=0, le=366 * 86400)
    """Seconds that a freeze is to last."""
    member: str = Field("", max_length=255)
    """Instead of a topic: the member that it is about."""
