"""The page of the audit trail. Pure, with every value as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlencode

from markupsafe import Markup

from config.units import GroupId, Instant
from handler.users.trail_pages import Line, TrailPage
from handler.web.pages.figures import minute
from handler.web.pages.frame import href
from handler.web.pages.layout import PageTemplate

AUDIT: Final = "/audit"
_TEMPLATE = PageTemplate("trail.html")
_ENDED: Final = "not known: the daemon ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailChoice:
    """Which requests a person wants to see; empty: all."""

    who: str = ""
    group: str = ""

    def fits(self, line: Line) -> bool:
        """Tell whether a request is wanted."""
        return self.who in ("", line["who"]) and (not self.group or self.group in line.get("groups", ()))

    def path(self, before: int | None = None) -> str:
        """Return the address of the newest requests, or of those before a number."""
        asked = {"who": self.who, "group": self.group, "before": "" if before is None else str(before)}
        query = urlencode({name: value for name, value in asked.items() if value}, quote_via=quote)
        return f"{AUDIT}?{query}" if query else AUDIT


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    number: str
    at: str
    who: str
    whence: str
    what: str
    given: str
    groups: tuple[tuple[str, str], ...]
    """Name and address of each group that it names."""
    result: str
    is_trouble: bool
    outcome: str
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trail:
    choice: TrailChoice
    requests: tuple[_Request, ...]
    newest: str
    """The address of the newest requests; empty: these are."""
    older: str
    """The address of older requests; empty: there are none."""


def trail_markup(page: TrailPage, choice: TrailChoice, sees: Callable[[GroupId], bool], before: int | None) -> Markup:
    """Lay out the page's content; ``sees``: whether a group's page is there for the visitor."""
    shown = _Trail(
        choice=choice,
        requests=tuple(_request(line, sees) for line in page.lines),
        newest="" if before is None else choice.path(),
        older="" if page.older is None else choice.path(page.older),
    )
    return _TEMPLATE("page", shown)


def _request(line: Line, sees: Callable[[GroupId], bool]) -> _Request:
    result = str(line["result"])
    return _Request(
        number=str(line["number"]),
        at=minute(Instant(line["at"])),
        who=str(line["who"]),
        whence=" ".join(str(line[key]) for key in ("way", "credential", "peer") if line.get(key)),
        what=str(line.get("on") or line["act"]),
        given=str(line.get("given", "")),
        groups=tuple((each, href(GroupId(each)) if sees(GroupId(each)) else "") for each in line.get("groups", ())),
        result=_ENDED if result == "asked" else result,
        is_trouble=result not in {"done", "refused"},
        outcome=str(line.get("outcome", "")),
        because=str(line.get("because", "")),
    )
