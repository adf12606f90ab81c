"""The page of garbage: what bears our mark and is not needed. Pure, with every value as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from config.units import GroupId, Instant
from handler.planning.garbage import GarbageKind, Item
from handler.web.pages.figures import ABSENT, span
from handler.web.pages.frame import href
from handler.web.pages.layout import PageTemplate

_TEMPLATE = PageTemplate("garbage.html")
_KINDS: Final = {
    GarbageKind.STUCK: "stuck",
    GarbageKind.OPEN_INTENT: "open intent",
    GarbageKind.NO_GROUP: "no group",
    GarbageKind.RETURNED: "returned",
    GarbageKind.DUPLICATE: "duplicate",
    GarbageKind.ABANDONED: "abandoned",
    GarbageKind.PART: "part",
    GarbageKind.REGISTRATION: "registration",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GarbageFacts:
    """What the page is made of."""

    items: Iterable[Item]
    unseen: tuple[str, ...]
    """What could not be read completely, in words."""
    now: Instant
    is_there: Callable[[GroupId], bool]
    """Whether a group has a page."""
    csrf: str = ""
    """What a form must show; empty: the visitor may abandon nothing."""
    message: str = ""
    """Why the last try was refused; empty: there was none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    name: str
    kind: str
    group: str
    group_href: str
    where: str
    there: str
    age: str
    because: str
    can_be_abandoned: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Garbage:
    pieces: tuple[_Piece, ...]
    unseen: tuple[str, ...]
    csrf: str
    message: str


def garbage_page(facts: GarbageFacts) -> Markup:
    """Lay out the page's content."""
    pieces = tuple(_piece(item, facts) for item in facts.items)
    return _TEMPLATE("page", _Garbage(pieces=pieces, unseen=facts.unseen, csrf=facts.csrf, message=facts.message))


def _piece(item: Item, facts: GarbageFacts) -> _Piece:
    return _Piece(
        name=item.name,
        kind=_KINDS[item.kind],
        group=item.group,
        group_href=href(item.group) if facts.is_there(item.group) else "",
        where=item.where,
        there=" ".join(filter(None, (item.server_id, item.raw_state))) or ABSENT,
        age=span(None if item.since is None else max(facts.now - item.since, 0.0)),
        because=item.because,
        can_be_abandoned=bool(facts.csrf) and item.can_be_abandoned,
    )
